"""Predicates on an event (CORE Sec. 2.2), and guards that also read registers (SRT Def. 10).

Both are Boolean combinations of atoms. The comparisons (`Comparison`, `Member`, `Between`, `Like`)
are false on an event without a comparable value. `Not` is set complement, so it holds
there. A guard may also compare with attributes of stored events; the paper calls guards conditions,
a word used here for FILTER (`cerlab.predicates.condition`). At the end: the atoms, attributes and
registers of each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import reduce
from typing import Any, Generic, TypeAlias, TypeGuard, TypeVar, assert_never, overload

from cerlab.model.event import Value

A = TypeVar("A")
T_co = TypeVar("T_co", covariant=True)


class Operator(Enum):
    """The six comparison operators; the value is their canonical text."""

    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="
    EQ = "="
    NE = "!="


CONVERSE = {
    Operator.LT: Operator.GT,
    Operator.LE: Operator.GE,
    Operator.GT: Operator.LT,
    Operator.GE: Operator.LE,
    Operator.EQ: Operator.EQ,
    Operator.NE: Operator.NE,
}
"""Converse of each operator, with its sides exchanged."""


class Arithmetic(Enum):
    """The five arithmetic operators; the value is their text."""

    ADD = "+"
    SUB = "-"
    MUL = "*"
    DIV = "/"
    MOD = "%"


@dataclass(frozen=True, slots=True, eq=False)
class Constant:
    """A constant: ``3``, ``-1.5e3``, ``'text'``, ``TRUE``.

    Python's 1, 1.0 and True are equal; as constants they differ.
    """

    value: Value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Constant):
            return NotImplemented
        return type(self.value) is type(other.value) and self.value == other.value

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute of the event: ``price``."""

    name: str


@dataclass(frozen=True, slots=True)
class Computed:
    """An arithmetic operation: ``left op right``."""

    operator: Arithmetic
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Negated:
    """A negation of a number or duration: ``- operand``."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class LabelAttribute:
    """An attribute of an event of label x, in conditions of FILTER: ``x.price``."""

    label: str
    attribute: str


@dataclass(frozen=True, slots=True)
class RegisterAttribute:
    """An attribute of the event in register r, in guards: ``r.price``."""

    register: str
    attribute: str


class Group(Enum):
    """Functions of all events of a label, such as SUM; the value is their text."""

    COUNT = "COUNT("
    DISTINCT = "COUNT(DISTINCT "
    SUM = "SUM("
    AVG = "AVG("
    MIN = "MIN("
    MAX = "MAX("
    FIRST = "FIRST("
    LAST = "LAST("


@dataclass(frozen=True, slots=True)
class OfGroup:
    """A value of all events of label x: ``SUM(x.price)``; ``COUNT(x)`` has no attribute."""

    function: Group
    label: str
    attribute: str | None = None


@dataclass(frozen=True, slots=True)
class Previous:
    """The value in the previous event of label x: ``PREV(x.price)``."""

    label: str
    attribute: str


LabelLeaf: TypeAlias = LabelAttribute | Previous | OfGroup
"""Operand with a label in a comparison of FILTER."""

Leaf: TypeAlias = Constant | Attribute | RegisterAttribute | LabelLeaf
Expression: TypeAlias = Leaf | Computed | Negated
"""Expression with a value; in a predicate, it reads only the current event."""


@dataclass(frozen=True, slots=True)
class Everything:
    """The predicate TRUE, which all events satisfy."""


@dataclass(frozen=True, slots=True)
class TypeIs:
    """The predicate ``P_R``, which events of type R satisfy."""

    type: str


@dataclass(frozen=True, slots=True)
class StreamIs:
    """The predicate of stream S, which its events and those without a stream satisfy."""

    stream: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison: ``left op right``."""

    operator: Operator
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Member:
    """Membership: ``operand IN {v, ..}``, or ``NOT IN`` if `negated`: different from each value."""

    operand: Expression
    values: tuple[Constant, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Between:
    """A range: ``operand IN {low..high}`` or ``IN RANGE(low, high)``, both ends included.

    A bound of None is open. If `negated`: below `low` or above `high`.
    """

    operand: Expression
    low: Expression | None
    high: Expression | None
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Like:
    """A search: ``operand LIKE 'regex'``, unanchored, in RE2 syntax."""

    operand: Expression
    pattern: str


@dataclass(frozen=True, slots=True)
class RegisterComparison:
    """A comparison with a register, such as ``price > 2 * r.price`` or ``r.price = s.price``."""

    operator: Operator
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class And(Generic[T_co]):
    """A conjunction: ``left AND right``."""

    left: T_co
    right: T_co


@dataclass(frozen=True, slots=True)
class Or(Generic[T_co]):
    """A disjunction: ``left OR right``."""

    left: T_co
    right: T_co


@dataclass(frozen=True, slots=True)
class Not(Generic[T_co]):
    """A negation: ``NOT operand``."""

    operand: T_co


Boolean: TypeAlias = Everything | A | And["Boolean[A]"] | Or["Boolean[A]"] | Not["Boolean[A]"]
Atom: TypeAlias = TypeIs | StreamIs | Comparison | Member | Between | Like
Predicate: TypeAlias = Boolean[Atom]
Guard: TypeAlias = Boolean[Atom | RegisterComparison]
EVERYTHING = Everything()

FALSE: Predicate = Not(EVERYTHING)
"""Predicate that no event satisfies."""

P = TypeVar("P", Predicate, Guard)


@overload
def conjunction(left: Predicate, right: Predicate) -> Predicate: ...


@overload
def conjunction(left: Guard, right: Guard) -> Guard: ...


def conjunction(left: Guard, right: Guard) -> Guard:
    """Return ``left AND right``, simplified if one side is TRUE or FALSE.

    >>> conjunction(EVERYTHING, TypeIs("A")), conjunction(TypeIs("A"), FALSE) == FALSE
    (TypeIs(type='A'), True)
    """
    if left == FALSE or right == FALSE:
        return FALSE
    if left == EVERYTHING:
        return right
    return left if right in (EVERYTHING, left) else And(left, right)


def disjunction(left: P, right: P) -> P:
    """Return ``left OR right``, simplified if one side is TRUE or FALSE."""
    if EVERYTHING in (left, right):
        return EVERYTHING
    if left == FALSE:
        return right
    return left if right in (FALSE, left) else Or(left, right)


def negation(operand: P) -> P:
    """Return ``NOT operand``; a double negation is removed."""
    return operand.operand if isinstance(operand, Not) else Not(operand)


def if_of_stream(stream: str, predicate: Predicate) -> Predicate:
    """Return the predicate of ``S>X[P]``: the event is not of stream S, or satisfies P."""
    return Or(Not(StreamIs(stream)), predicate)


def split_stream(predicate: Predicate) -> tuple[str | None, Predicate]:
    """Return stream S and P of a predicate made by `if_of_stream`; (None, predicate) for others."""
    match predicate:
        case Or(Not(StreamIs(stream)), inner):
            return stream, inner
        case _:
            return None, predicate


def all_of(guards: Iterable[Guard]) -> Guard:
    """Return the conjunction of some guards; TRUE for none."""
    start: Guard = EVERYTHING
    return reduce(conjunction, guards, start)


def conjuncts(guard: P) -> Iterator[P]:
    """Yield the conjuncts of a predicate or guard from left to right; none for TRUE."""
    pending = [guard]
    while pending:
        match pending.pop():
            case And(left, right):
                pending += (right, left)
            case Everything():
                pass
            case part:
                yield part


@overload
def atoms(predicate: Predicate) -> tuple[Atom, ...]: ...


@overload
def atoms(predicate: Guard) -> tuple[Atom | RegisterComparison, ...]: ...


def atoms(predicate: Guard) -> tuple[Atom | RegisterComparison, ...]:
    """Return the distinct atoms of a predicate or guard, from left to right."""
    return tuple(dict.fromkeys(occurrences(predicate)))


def occurrences(predicate: Guard) -> Iterator[Atom | RegisterComparison]:
    """Yield the atoms of a predicate or guard from left to right, with repetitions."""
    pending: list[Guard] = [predicate]
    while pending:
        match pending.pop():
            case Everything():
                pass
            case And(left, right) | Or(left, right):
                pending += (right, left)
            case Not(operand):
                pending.append(operand)
            case atom:
                yield atom


def with_atoms(guard: P, change: Callable[[Any], P]) -> P:
    """Return the predicate or guard with each atom replaced, simplified if one becomes constant."""
    match guard:
        case Everything():
            return guard
        case And(left, right):
            return conjunction(with_atoms(left, change), with_atoms(right, change))
        case Or(left, right):
            return disjunction(with_atoms(left, change), with_atoms(right, change))
        case Not(operand):
            return negation(with_atoms(operand, change))
        case atom:
            return change(atom)


def holds(predicate: Predicate, atom_holds: Callable[[Atom], bool]) -> bool:
    """Return whether a predicate holds, given the truth value of each atom."""
    match predicate:
        case Everything():
            return True
        case And(left, right):
            return holds(left, atom_holds) and holds(right, atom_holds)
        case Or(left, right):
            return holds(left, atom_holds) or holds(right, atom_holds)
        case Not(operand):
            return not holds(operand, atom_holds)
        case atom:
            return atom_holds(atom)


def attributes_of(group: Iterable[Atom]) -> tuple[str, ...]:
    """Return the attributes that some atoms mention, from left to right."""
    return attributes_in(operand for atom in group for operand in operands(atom))


def attributes_in(expressions: Iterable[Expression]) -> tuple[str, ...]:
    """Return the attributes of the current event in some expressions, from left to right."""
    leaves = (leaf for each in expressions for leaf in leaves_of(each))
    return tuple(dict.fromkeys(leaf.name for leaf in leaves if isinstance(leaf, Attribute)))


def constants(group: Iterable[Atom]) -> tuple[Value, ...]:
    """Return the constants that some atoms compare or compute with, from left to right."""
    leaves = (leaf for atom in group for operand in operands(atom) for leaf in leaves_of(operand))
    return tuple(leaf.value for leaf in leaves if isinstance(leaf, Constant))


def leaves_of(expression: Expression) -> Iterator[Leaf]:
    """Yield the attributes and constants of an expression, from left to right."""
    match expression:
        case (
            Constant()
            | Attribute()
            | LabelAttribute()
            | RegisterAttribute()
            | OfGroup()
            | Previous()
        ):
            yield expression
        case Computed(_, left, right):
            yield from leaves_of(left)
            yield from leaves_of(right)
        case Negated(inner):
            yield from leaves_of(inner)
        case _:
            assert_never(expression)


def with_leaves(expression: Expression, change: Callable[[Leaf], Expression]) -> Expression:
    """Return the expression with each attribute and constant replaced by a function."""
    match expression:
        case Computed(op, left, right):
            return Computed(op, with_leaves(left, change), with_leaves(right, change))
        case Negated(inner):
            return Negated(with_leaves(inner, change))
        case leaf:
            return change(leaf)


def operands(atom: Atom) -> tuple[Expression, ...]:
    """Return the expressions that an atom compares, including constants."""
    match atom:
        case TypeIs(name):
            return (Attribute("type"), Constant(name))
        case StreamIs(name):
            return (Attribute("stream"), Constant(name))
        case Comparison(_, left, right):
            return (left, right)
        case Member(operand, values):
            return (operand, *values)
        case Between(operand, low, high):
            return (operand, *(bound for bound in (low, high) if bound is not None))
        case Like(operand, _):
            return (operand,)
        case _:
            assert_never(atom)


def components(every: Sequence[Atom]) -> tuple[tuple[Atom, ...], ...]:
    """Return the finest grouping of atoms in which atoms with a common attribute are together.

    >>> more, zero = Operator.GT, Constant(0)
    >>> v, w = (Comparison(more, Attribute(name), zero) for name in "vw")
    >>> components([v, w, TypeIs("A")]) == ((v,), (w,), (TypeIs("A"),))
    True
    """
    groups: list[tuple[set[str], list[Atom]]] = []
    for atom in every:
        names = set(attributes_of([atom]))
        touching = [group for group in groups if not names.isdisjoint(group[0])]
        groups = [group for group in groups if names.isdisjoint(group[0])]
        touching_atoms = [each for _, group in touching for each in group]
        groups.append((names.union(*(own for own, _ in touching)), [*touching_atoms, atom]))
    number = {atom: n for n, atom in enumerate(every)}
    sorted_groups = [tuple(sorted(group, key=number.__getitem__)) for _, group in groups]
    return tuple(sorted(sorted_groups, key=lambda group: number[group[0]]))


Whereabouts: TypeAlias = Callable[[str], str | None]
"""Function from a register to the one that now has its content; None for an empty register."""


def registers_of(guard: Guard) -> frozenset[str]:
    """Return the registers that a guard reads."""
    return frozenset(each.register for each in register_attributes(guard))


def register_attributes(guard: Guard) -> Iterator[RegisterAttribute]:
    """Yield the attributes of registers that a guard reads, in order, with repetitions."""
    for atom in register_comparisons(guard):
        for leaf in (*leaves_of(atom.left), *leaves_of(atom.right)):
            if isinstance(leaf, RegisterAttribute):
                yield leaf


def register_comparisons(guard: Guard) -> Iterator[RegisterComparison]:
    """Yield the comparisons with registers in a guard, from left to right, with repetitions."""
    return (atom for atom in occurrences(guard) if isinstance(atom, RegisterComparison))


def may_hold(guard: Guard, comparison: Predicate = EVERYTHING) -> Predicate:
    """Return what a guard requires of the event, with `comparison` in place of register atoms.

    >>> r = RegisterComparison(Operator.EQ, Attribute("v"), RegisterAttribute("r", "v"))
    >>> may_hold(And(TypeIs("A"), Not(r))), may_hold(And(TypeIs("A"), r))
    (TypeIs(type='A'), TypeIs(type='A'))
    """
    match guard:
        case RegisterComparison():
            return comparison
        case And(left, right):
            return conjunction(may_hold(left, comparison), may_hold(right, comparison))
        case Or(left, right):
            return disjunction(may_hold(left, comparison), may_hold(right, comparison))
        case Not(operand):
            return negation(may_hold(operand, negation(comparison)))
        case predicate:
            return predicate


def reads_no_register(guard: Guard) -> TypeGuard[Predicate]:
    """Return whether a guard reads only the event, no register."""
    return not any(isinstance(atom, RegisterComparison) for atom in occurrences(guard))


def redirect_registers(guard: Guard, where: Whereabouts) -> Guard:
    """Return the guard with registers renamed; comparisons with an empty register become false.

    It holds for the same events and registers as the original guard (SRT Def. 13).

    >>> stored = RegisterAttribute("r", "id")
    >>> same = RegisterComparison(Operator.EQ, Attribute("id"), stored)
    >>> redirect_registers(same, {"r": "b1"}.get).right
    RegisterAttribute(register='b1', attribute='id')
    >>> redirect_registers(Not(same), lambda r: None)
    Everything()
    """

    def redirect(atom: Atom | RegisterComparison) -> Guard:
        if not isinstance(atom, RegisterComparison):
            return atom
        if any(where(register) is None for register in registers_of(atom)):
            return FALSE
        left, right = (with_leaves(side, now) for side in (atom.left, atom.right))
        return RegisterComparison(atom.operator, left, right)

    def now(leaf: Leaf) -> Leaf:
        if not isinstance(leaf, RegisterAttribute):
            return leaf
        return RegisterAttribute(where(leaf.register) or "", leaf.attribute)

    return with_atoms(guard, redirect)
