"""Predicates: unary, hence sets of events (CORE Sec. 2.2), as immutable trees.

`Comparison`, `Member`, `Between`, `Like` are the comparisons of DESIGN 3.3: each is false on an
event that gives it nothing to compare. `Complement` is set complement, so it holds there.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from cerlab.model.event import Value


class Operator(Enum):
    """The six comparison operators; the value is their canonical text."""

    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="
    EQ = "="
    NE = "!="


class Arithmetic(Enum):
    """The five arithmetic operators; the value is their text."""

    ADD = "+"
    SUB = "-"
    MUL = "*"
    DIV = "/"
    MOD = "%"


@dataclass(frozen=True, slots=True, eq=False)
class Constant:
    """``3``, ``-1.5e3``, ``'text'``, ``TRUE``.

    Python's 1, 1.0 and True are equal; as constants they are three.
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
    """``price``: the value of the attribute in the event."""

    name: str


@dataclass(frozen=True, slots=True)
class Computed:
    """``left op right``."""

    operator: Arithmetic
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Negated:
    """``- operand``."""

    operand: Expression


Expression: TypeAlias = Constant | Attribute | Computed | Negated


@dataclass(frozen=True, slots=True)
class Everything:
    """TRUE, the set of all events."""


@dataclass(frozen=True, slots=True)
class TypeIs:
    """``P_R``, the events of type R."""

    type: str


@dataclass(frozen=True, slots=True)
class StreamIs:
    """The events of stream S, among them those whose stream is not known."""

    stream: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """``left op right``."""

    operator: Operator
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Member:
    """``operand IN {v, ..}``, or ``NOT IN`` where `negated`: different from each of them."""

    operand: Expression
    values: tuple[Constant, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Between:
    """``operand IN {low..high}`` or ``IN RANGE(low, high)``, both ends included.

    A bound that is None is open. Where `negated`: below `low` or above `high`.
    """

    operand: Expression
    low: Expression | None
    high: Expression | None
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Like:
    """``operand LIKE 'regex'``: an unanchored search in RE2 syntax."""

    operand: Expression
    pattern: str


@dataclass(frozen=True, slots=True)
class Conjunction:
    """``left AND right``."""

    left: Predicate
    right: Predicate


@dataclass(frozen=True, slots=True)
class Disjunction:
    """``left OR right``."""

    left: Predicate
    right: Predicate


@dataclass(frozen=True, slots=True)
class Complement:
    """``NOT operand``."""

    operand: Predicate


Atom: TypeAlias = TypeIs | StreamIs | Comparison | Member | Between | Like
Predicate: TypeAlias = Everything | Atom | Conjunction | Disjunction | Complement

EVERYTHING = Everything()


def conjunction(left: Predicate, right: Predicate) -> Predicate:
    """``left AND right`` without a TRUE that says nothing.

    >>> conjunction(EVERYTHING, TypeIs("A"))
    TypeIs(type='A')
    """
    if left == EVERYTHING:
        return right
    if right == EVERYTHING or left == right:
        return left
    return Conjunction(left, right)


def atoms(predicate: Predicate) -> tuple[Atom, ...]:
    """The atoms of a predicate, each once, from left to right."""
    found: dict[Atom, None] = {}
    pending: list[Predicate] = [predicate]
    while pending:
        match pending.pop():
            case Everything():
                pass
            case Conjunction(left, right) | Disjunction(left, right):
                pending += (right, left)
            case Complement(operand):
                pending.append(operand)
            case atom:
                found[atom] = None
    return tuple(found)
