"""Truth vectors of atoms that share attributes, by z3: arithmetic, several attributes, LIKE.

An attribute is a tagged value: a kind (0: nothing that compares), and for each kind a variable.
Numbers are real variables, exact for comparisons and the rationals' arithmetic; a solution that is
no rational is never found as an event, so it leaves its vector undecided. Texts are variables over
places in the order of texts: the constants have a place each, and each gap between them as many
as it has texts, but no more than there are attributes to tell apart.

Where there is LIKE, a text also has a cell: an interval between constants and a truth vector of the
patterns that some text in that interval has, which z3 decides by intersecting regular languages.
Only if such texts are compared with each other too are texts themselves asked for.

Each atom is a formula by the rules of DESIGN 3.3. One that is outside what can be encoded is an
unknown bit: then a vector is listed with an event that has it, or as undecided. So it is where z3
reaches its limit, which is counted in steps, so that the outcome seldom depends on the clock.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, pairwise, product
from random import Random
from typing import Any, NamedTuple, TypeAlias, TypeGuard, assert_never

from cerlab.errors import ResourceLimit
from cerlab.model.event import Timestamp, Value
from cerlab.model.schema import AttributeType
from cerlab.predicates.like import (
    LAST_MENTIONED,
    between,
    characters,
    every_text,
    found_in,
    least,
    literal,
    parse,
    samples,
)
from cerlab.predicates.minterms import (
    INT64,
    MAX_MINTERMS,
    Choice,
    Domain,
    candidates,
    constants,
    event_of,
    is_finite,
    mentioned,
    operands,
    text_after,
)
from cerlab.predicates.syntax import (
    Arithmetic,
    Atom,
    Attribute,
    Between,
    Comparison,
    Computed,
    Constant,
    Expression,
    Like,
    Member,
    Negated,
    Operator,
    StreamIs,
    TypeIs,
)
from cerlab.predicates.truth import kind_of, satisfies, search

STEPS = 1_000_000
"""How many steps z3 takes for one question before the answer is "unknown"."""

MILLISECONDS = 2_000
"""How long it takes at most: a second limit, for the few questions that take time but no steps."""

MAX_CELLS = 1_000
"""How many combinations of patterns are looked at."""

MAX_REFUTED = 200
"""How often texts are asked for in vain before a vector is undecided."""

MAX_TEXTS = 6
"""How many texts of a cell are tried in a comparison before z3 is asked for all texts at once."""

MAX_UNKNOWN = 20
"""How many such answers are accepted before what is left is undecided."""

MAX_TRIED = 1_024
"""How many events are tried before z3 is asked."""

_KINDS = {"number": 1, "text": 2, "boolean": 3, "timestamp": 4}
_KIND_OF_TYPE = {
    AttributeType.INT: "number",
    AttributeType.DOUBLE: "number",
    AttributeType.STRING: "text",
    AttributeType.BOOLEAN: "boolean",
    AttributeType.TIMESTAMP: "timestamp",
}

Vector: TypeAlias = tuple[bool, ...]
Values: TypeAlias = tuple[tuple[str, Value], ...]
Coded: TypeAlias = dict[str, tuple[Any, Any]]
"""For each kind that an expression can have: when it has it, and its value then."""


def by_solver(group: Sequence[Atom], of: Sequence[tuple[str, Domain]]) -> tuple[Choice, ...]:
    """One choice for each truth vector of some atoms that events have, or that is undecided.

    `of` has the domain of each attribute that the atoms mention. Raises `ResourceLimit` above
    `MAX_MINTERMS` vectors.

    >>> less = Comparison(Operator.LT, Attribute("v"), Attribute("w"))
    >>> more = Comparison(Operator.GT, Attribute("v"), Attribute("w"))
    >>> [choice.vector for choice in by_solver([less, more], [("v", Domain()), ("w", Domain())])]
    [(False, False), (False, True), (True, False)]
    """
    return _decided(tuple(group), tuple(of))


@lru_cache(maxsize=4_096)
def _decided(group: tuple[Atom, ...], of: tuple[tuple[str, Domain], ...]) -> tuple[Choice, ...]:
    found = Found(group, {})
    for values in _tried(group, of):
        found.verified(values)
    if len(found.values) < 2 ** len(group):
        Search(encoded(group, of), found).run()
    return tuple(Choice(vector, found.values[vector]) for vector in sorted(found.values))


@dataclass(frozen=True, slots=True)
class Found:
    """The truth vectors listed so far, with values where some are known."""

    group: tuple[Atom, ...]
    values: dict[Vector, Values | None]

    def verified(self, values: Values) -> Vector:
        """List the vector that these values have, and say which it is."""
        event = event_of(dict(values))
        vector = tuple(satisfies(event, atom) for atom in self.group)
        if self.values.get(vector) is None:
            self.put(vector, values)
        return vector

    def put(self, vector: Vector, values: Values | None) -> None:
        """List a vector; raises `ResourceLimit` above `MAX_MINTERMS`."""
        self.values[vector] = values
        if len(self.values) > MAX_MINTERMS:
            raise ResourceLimit("CER0608", f"more than {MAX_MINTERMS:,} minterms")


def _tried(group: Sequence[Atom], of: Sequence[tuple[str, Domain]]) -> Iterator[Values]:
    """Events that are likely to differ in the atoms: all combinations, or some of them."""
    patterns = [text for atom in group if isinstance(atom, Like) for text in samples(atom.pattern)]
    listed = (0, 1, *constants(group), *patterns)
    lists = [[(name, value) for value in candidates(name, domain, listed)] for name, domain in of]
    if math.prod(map(len, lists)) <= MAX_TRIED:
        return product(*lists)
    rng = Random(0)
    return (tuple(map(rng.choice, lists)) for _ in range(MAX_TRIED))


# -- the order of texts ------------------------------------------------------------------------


class Places(NamedTuple):
    """The order of texts as integers: the place of each constant, and room between them."""

    texts: tuple[str, ...]
    """The constants in order; the first is the empty text, at place 0."""
    at: tuple[int, ...]
    last: int

    def of(self, text: str) -> int:
        """The place of a constant."""
        return self.at[self.texts.index(text)]

    def text(self, place: int) -> str:
        """A text at a place, larger at larger places."""
        n = max(n for n, start in enumerate(self.at) if start <= place)
        following = self.texts[n + 1] if n + 1 < len(self.texts) else None
        nth = place - self.at[n]
        return self.texts[n] if nth == 0 else text_after(self.texts[n], following, nth - 1)


def places(texts: Iterable[str], room: int) -> Places:
    """The places of some texts, with room for so many different texts in each gap.

    >>> places(["a", "a\\0"], 2)
    Places(texts=('', 'a', 'a\\x00'), at=(0, 3, 4), last=6)
    """
    ordered = sorted({"", *texts})
    at = [0]
    for low, high in pairwise(ordered):
        # Between a text and itself with zeros after it, there are only fewer zeros.
        zeros = len(high) - len(low)
        finite = high == low + "\0" * zeros
        at.append(at[-1] + 1 + (min(zeros - 1, room) if finite else room))
    return Places(tuple(ordered), tuple(at), at[-1] + room)


class Cell(NamedTuple):
    """The texts in an interval of places that some patterns find and the others do not."""

    first: int
    last: int
    held: tuple[bool, ...]
    language: Any
    text: str | None
    """One of them, None if z3 did not find out whether there is one."""


def cells(order: Places, patterns: Sequence[str], context: Any) -> tuple[Cell, ...]:
    """All cells that texts are in. Raises `ResourceLimit` above `MAX_CELLS`."""
    import z3

    languages = [found_in(tree, context) for tree in map(parse, patterns) if tree is not None]
    found: list[Cell] = []

    def split(
        interval: tuple[int, int], held: tuple[bool, ...], language: Any, one: OneText
    ) -> None:
        if not one.possible:
            return
        if len(held) == len(patterns):
            found.append(Cell(*interval, held, language, one.text))
            if len(found) > MAX_CELLS:
                raise ResourceLimit("CER0608", f"more than {MAX_CELLS:,} combinations of LIKE")
            return
        n = len(held)
        inside = None if one.text is None else search(patterns[n], one.text)
        for bit in (True, False):
            part = z3.Intersect(language, languages[n] if bit else z3.Complement(languages[n]))
            # The text that is known is on one of the two sides; the other has to be asked for.
            split(interval, (*held, bit), part, one if inside is bit else member(part, context))

    for n, (text, at) in enumerate(zip(order.texts, order.at, strict=True)):
        held = tuple(search(pattern, text) for pattern in patterns)
        found.append(Cell(at, at, held, z3.Re(literal(text, context)), text))
        following = order.texts[n + 1] if n + 1 < len(order.texts) else None
        last = order.at[n + 1] - 1 if following is not None else order.last
        if at < last:
            gap = between(text, following, context)
            split((at + 1, last), (), gap, member(gap, context))
    return tuple(found)


class OneText(NamedTuple):
    """Whether a language may have a text, and one if z3 found one."""

    possible: bool
    text: str | None


def member(language: Any, context: Any) -> OneText:
    """A text of a language, of printable ASCII characters where there is one."""
    import z3

    x = z3.String("x", context)
    plain = z3.Star(characters(((32, 126),), context))
    for languages in ((language, plain), (language, every_text(context))):
        solver = limited(z3.Solver(ctx=context))
        solver.add(z3.InRe(x, z3.Intersect(*languages)))
        answer = solver.check()
        if answer == z3.sat:
            return OneText(True, text_in(solver.model(), x))
    return OneText(answer == z3.unknown, None)


def limited(solver: Any) -> Any:
    """The solver, which gives up after `STEPS` steps."""
    solver.set("rlimit", STEPS)
    solver.set("timeout", MILLISECONDS)
    return solver


def text_in(model: Any, x: Any) -> str:
    """The value of a text variable."""
    written = model.eval(x, model_completion=True).as_string()
    return re.sub(r"\\u\{([0-9a-fA-F]+)\}", lambda code: chr(int(code[1], 16)), written)


# -- atoms as formulas -------------------------------------------------------------------------


class Variables(NamedTuple):
    """The variables of z3 that stand for an attribute; `truth` is 0 or 1."""

    kind: Any
    number: Any
    place: Any
    cell: Any
    truth: Any
    moment: Any


@dataclass(frozen=True, slots=True)
class Encoding:
    """Atoms as formulas of z3 over the variables of their attributes."""

    group: tuple[Atom, ...]
    domains: Mapping[str, Domain]
    context: Any
    variables: Mapping[str, Variables]
    order: Places
    patterns: tuple[str, ...]
    """The patterns that are in the subset."""
    cells: tuple[Cell, ...]
    infinity: Fraction | None
    """What stands for the infinite, if that is among the constants."""
    compared: tuple[str, ...]
    """Attributes that are compared with each other as texts, where there are cells."""


def encoded(group: Sequence[Atom], of: Sequence[tuple[str, Domain]]) -> Encoding:
    """The encoding of some atoms over attributes of these domains."""
    import z3

    context = z3.Context()
    listed = constants(group)
    order = places((value for value in listed if is_plain(value)), len(of))
    likes = dict.fromkeys(atom.pattern for atom in group if isinstance(atom, Like))
    patterns = tuple(pattern for pattern in likes if parse(pattern) is not None)
    numbers = [value for value in listed if kind_of(value) == "number"]
    finite = [Fraction(abs(n)) for n in numbers if isinstance(n, int | float) and is_finite(n)]
    compared = dict.fromkeys(
        operand.name
        for atom in group
        if len(mentioned([atom])) > 1
        for operand in operands(atom)
        if isinstance(operand, Attribute)
    )
    if patterns and compared:
        # More intervals tell apart more texts that are compared with each other.
        order = places((*order.texts, *map(least, patterns)), len(of))
    return Encoding(
        tuple(group),
        dict(of),
        context,
        {
            name: Variables(
                kind=z3.Int(f"kind {name}", context),
                number=(z3.Int if domain.type is AttributeType.INT else z3.Real)(
                    f"number {name}", context
                ),
                place=z3.Int(f"place {name}", context),
                cell=z3.Int(f"cell {name}", context),
                truth=z3.Int(f"truth {name}", context),
                moment=z3.Int(f"moment {name}", context),
            )
            for name, domain in of
        },
        order,
        patterns,
        cells(order, patterns, context) if patterns else (),
        max([Fraction(2**65), *finite]) * 2 if len(finite) < len(numbers) else None,
        tuple(compared) if patterns else (),
    )


def is_plain(value: Value) -> TypeGuard[str]:
    """Whether a value is a text whose characters can be encoded (see `like`)."""
    return isinstance(value, str) and all(ord(c) <= LAST_MENTIONED for c in value)


def every_of(parts: Sequence[Any], context: Any) -> Any:
    """The conjunction of formulas."""
    import z3

    return z3.And(*parts) if parts else z3.BoolVal(True, context)


def some_of(parts: Sequence[Any], context: Any) -> Any:
    """The disjunction of formulas."""
    import z3

    return z3.Or(*parts) if parts else z3.BoolVal(False, context)


def world(E: Encoding) -> Iterator[Any]:
    """What is so of every event: each attribute is in its domain, each text in a cell."""
    import z3

    for name, x in E.variables.items():
        domain = E.domains[name]
        kinds = [*_KINDS.values(), 0]
        if domain.type is not None:
            # A double may be NaN, and that compares with nothing, as NULL does.
            kinds = [_KINDS[_KIND_OF_TYPE[domain.type]]]
            kinds += [0] if domain.nullable or domain.type is AttributeType.DOUBLE else []
        yield z3.Or(*(x.kind == kind for kind in kinds))
        yield z3.And(x.truth >= 0, x.truth <= 1)
        yield z3.And(x.place >= (1 if name == "type" else 0), x.place <= E.order.last)
        if domain.type is AttributeType.INT:
            yield z3.And(x.number >= INT64.start, x.number < INT64.stop)
        elif E.infinity is not None:
            yield z3.And(x.number >= rational(-E.infinity, E), x.number <= rational(E.infinity, E))
        if E.cells:
            yield z3.Or(
                *(
                    z3.And(x.cell == n, x.place >= cell.first, x.place <= cell.last)
                    for n, cell in enumerate(E.cells)
                )
            )
    for one, other in combinations([E.variables[name] for name in E.compared], 2):
        yield z3.Implies(one.place == other.place, one.cell == other.cell)


def rational(number: Fraction, E: Encoding) -> Any:
    """A number constant."""
    import z3

    if number.denominator == 1:
        return z3.IntVal(number.numerator, E.context)
    return z3.RealVal(f"{number.numerator}/{number.denominator}", E.context)


def formula(atom: Atom, E: Encoding) -> Any:
    """When an atom holds (DESIGN 3.3); None for an atom that cannot be encoded."""
    import z3

    if not can_be_encoded(atom, E):
        return None
    match atom:
        case TypeIs(name):
            return related(Operator.EQ, coded(Attribute("type"), E), coded(Constant(name), E), E)
        case StreamIs(name):
            stream = coded(Attribute("stream"), E)
            known = related(Operator.EQ, stream, coded(Constant(name), E), E)
            return z3.Or(E.variables["stream"].kind == 0, known)
        case Comparison(op, left, right):
            return related(op, coded(left, E), coded(right, E), E)
        case Member(operand, values, negated):
            op = Operator.NE if negated else Operator.EQ
            value = coded(operand, E)
            each = [related(op, value, coded(one, E), E) for one in values]
            return every_of(each, E.context) if negated else some_of(each, E.context)
        case Between(operand, low, high, negated):
            value = coded(operand, E)
            inside = (
                Operator.LT if negated else Operator.GE,
                Operator.GT if negated else Operator.LE,
            )
            each = [
                related(op, value, coded(bound, E), E)
                for op, bound in zip(inside, (low, high), strict=True)
                if bound is not None
            ]
            return some_of(each, E.context) if negated else every_of(each, E.context)
        case Like(Attribute(name), pattern):
            x = E.variables[name]
            bit = E.patterns.index(pattern)
            holding = [x.cell == n for n, cell in enumerate(E.cells) if cell.held[bit]]
            return z3.And(x.kind == _KINDS["text"], some_of(holding, E.context))
        case Like():
            return z3.BoolVal(False, E.context)
        case _:
            assert_never(atom)


def can_be_encoded(atom: Atom, E: Encoding) -> bool:
    """Whether all constants of an atom have a place, and its pattern is in the subset."""
    texts_have_places = all(
        is_plain(value) for value in constants([atom]) if isinstance(value, str)
    )
    computes = any(isinstance(operand, Computed | Negated) for operand in operands(atom))
    all_finite = E.infinity is None or not computes
    return texts_have_places and all_finite and (not isinstance(atom, Like) or is_decided(atom, E))


def is_decided(atom: Like, E: Encoding) -> bool:
    """Whether a pattern is in the subset, or its operand never a text."""
    return atom.pattern in E.patterns or isinstance(atom.operand, Computed | Negated)


def related(op: Operator, left: Coded, right: Coded, E: Encoding) -> Any:
    """``left op right``: both have the same kind, and their values are so related."""
    import z3

    ways = []
    for kind, (here, one) in left.items():
        if kind in right:
            there, other = right[kind]
            ways.append(z3.And(here, there, _RELATIONS[op](one, other)))
    return some_of(ways, E.context)


_RELATIONS: dict[Operator, Callable[[Any, Any], Any]] = {
    Operator.LT: operator.lt,
    Operator.LE: operator.le,
    Operator.GT: operator.gt,
    Operator.GE: operator.ge,
    Operator.EQ: operator.eq,
    Operator.NE: operator.ne,
}


def coded(expression: Expression, E: Encoding) -> Coded:
    """The kinds that an expression can have, when it has them, and its value then."""
    import z3

    match expression:
        case Constant(value):
            kind = kind_of(value)
            always = z3.BoolVal(True, E.context)
            return {} if kind is None else {kind: (always, constant_term(value, E))}
        case Attribute(name):
            x = E.variables[name]
            terms = {"number": x.number, "text": x.place, "boolean": x.truth, "timestamp": x.moment}
            return {kind: (x.kind == _KINDS[kind], term) for kind, term in terms.items()}
        case Computed(op, left, right):
            return computed(op, operand_of(left, E), operand_of(right, E), E)
        case Negated(inner):
            zero = (z3.BoolVal(True, E.context), z3.IntVal(0, E.context))
            return computed(Arithmetic.SUB, zero, operand_of(inner, E), E)
        case _:
            assert_never(expression)


def operand_of(expression: Expression, E: Encoding) -> tuple[Any, Any] | None:
    """The number that arithmetic takes, None if it is never one (of 64 bits)."""
    if isinstance(expression, Constant):
        value = expression.value
        if isinstance(value, int) and value not in INT64:
            return None
    return coded(expression, E).get("number")


def computed(
    op: Arithmetic, left: tuple[Any, Any] | None, right: tuple[Any, Any] | None, E: Encoding
) -> Coded:
    """``left op right`` over the rationals; no number where one is divided by zero."""
    import z3

    if left is None or right is None:
        return {}
    (here, one), (there, other) = left, right
    both = z3.And(here, there)
    match op:
        case Arithmetic.ADD:
            return {"number": (both, one + other)}
        case Arithmetic.SUB:
            return {"number": (both, one - other)}
        case Arithmetic.MUL:
            return {"number": (both, one * other)}
        case Arithmetic.DIV:
            return {"number": (z3.And(both, other != 0), real(one) / real(other))}
        case Arithmetic.MOD:
            return {"number": (z3.And(both, other != 0), remainder(one, other))}
        case _:
            assert_never(op)


def real(term: Any) -> Any:
    """A number as a real one, because z3 divides integers as integers."""
    import z3

    return z3.ToReal(term) if z3.is_int(term) else term


def remainder(one: Any, other: Any) -> Any:
    """``one % other`` with the sign of `other`; the integers of z3 have a remainder from 0 on."""
    import z3

    if z3.is_int(one) and z3.is_int(other):
        rest = one % other
        return z3.If(z3.Or(other > 0, rest == 0), rest, rest + other)
    return real(one) - real(other) * z3.ToReal(z3.ToInt(real(one) / real(other)))


def constant_term(value: Value, E: Encoding) -> Any:
    """A constant as a term of z3."""
    import z3

    if isinstance(value, str):
        return z3.IntVal(E.order.of(value), E.context)
    if isinstance(value, bool):
        return z3.IntVal(int(value), E.context)
    if isinstance(value, Timestamp):
        return z3.IntVal(value.nanoseconds, E.context)
    assert isinstance(value, int | float)
    if not is_finite(value):
        assert E.infinity is not None
        return rational(E.infinity if value > 0 else -E.infinity, E)
    return rational(Fraction(value), E)


# -- all truth vectors -------------------------------------------------------------------------


class Search:
    """Lists the truth vectors that are not yet found."""

    def __init__(self, E: Encoding, found: Found) -> None:
        import z3

        self.E = E
        self.found = found
        self.unknown = 0
        self.refuted = 0
        self.solver = limited(z3.Solver(ctx=E.context))
        self.bits = [z3.Bool(f"bit {n}", E.context) for n in range(len(E.group))]
        self.solver.add(*world(E))
        for bit, atom in zip(self.bits, E.group, strict=True):
            if (holds := formula(atom, E)) is not None:
                self.solver.add(bit == holds)
            elif isinstance(atom, Like) and isinstance(atom.operand, Attribute):
                x = E.variables[atom.operand.name]
                is_text = x.kind == _KINDS["text"]
                self.solver.add(z3.Implies(bit, is_text))
                for text, at in zip(E.order.texts, E.order.at, strict=True):
                    found_in_text = bit == search(atom.pattern, text)
                    self.solver.add(z3.Implies(z3.And(is_text, x.place == at), found_in_text))
        for vector in found.values:
            self.block(vector)

    def block(self, vector: Vector) -> None:
        """Ask for other vectors from now on."""
        import z3

        self.solver.add(z3.Not(every_of(self.literals(vector), self.E.context)))

    def literals(self, vector: Vector) -> list[Any]:
        """The bits as a vector says."""
        return [bit == holds for bit, holds in zip(self.bits, vector, strict=False)]

    def run(self, prefix: Vector = ()) -> None:
        """List all vectors that begin with the prefix; where z3 gives up, longer prefixes."""
        import z3

        if self.unknown <= MAX_UNKNOWN:
            while (answer := self.solver.check()) == z3.sat:
                self.settle(self.solver.model())
            if answer == z3.unsat:
                return
            self.unknown += 1
        if self.unknown > MAX_UNKNOWN or len(prefix) == len(self.bits):
            for rest in product((False, True), repeat=len(self.bits) - len(prefix)):
                if (*prefix, *rest) not in self.found.values:
                    self.found.put((*prefix, *rest), None)
            return
        for holds in (False, True):
            self.solver.push()
            self.solver.add(self.bits[len(prefix)] == holds)
            self.run((*prefix, holds))
            self.solver.pop()

    def settle(self, model: Any) -> None:
        """List the vector of a model, with an event that has it if one is found."""
        import z3

        vector = tuple(z3.is_true(model.eval(bit, model_completion=True)) for bit in self.bits)
        texts = texts_of(model, self.E)
        if isinstance(texts, Refuted) and self.refuted < MAX_REFUTED:
            self.refuted += 1
            self.solver.add(texts.formula)
            return
        if not self.verified(model, texts, vector) and not self.verified_otherwise(vector):
            self.found.put(vector, None)
        self.block(vector)

    def verified(self, model: Any, texts: Texts, vector: Vector) -> bool:
        """Whether the event of a model is one, and has the vector; then it is listed."""
        if texts is None or isinstance(texts, Refuted):
            return False
        values = values_of(model, texts, self.E)
        return values is not None and self.found.verified(values) == vector

    def verified_otherwise(self, vector: Vector) -> bool:
        """The same for other models: small integers, then binary fractions."""
        import z3

        numbers = [(x.kind == _KINDS["number"], x.number) for x in self.E.variables.values()]
        if self.unknown > MAX_UNKNOWN:
            return False
        for scale, bound in ((1, 1_000), (1_024, 2**20), (1, 2**65)):
            self.solver.push()
            self.solver.add(*self.literals(vector))
            for is_number, x in numbers:
                is_round = [] if z3.is_int(x) else [z3.IsInt(x * scale)]
                round_enough = z3.And(*is_round, x >= -bound, x <= bound)
                self.solver.add(z3.Implies(is_number, round_enough))
            done = False
            answer = self.solver.check()
            if answer == z3.sat:
                model = self.solver.model()
                done = self.verified(model, texts_of(model, self.E), vector)
            self.unknown += answer == z3.unknown
            self.solver.pop()
            if done:
                return True
        return False


# -- models as events --------------------------------------------------------------------------


class Refuted(NamedTuple):
    """No texts are as a model says, and this formula, true of all events, says so."""

    formula: Any


Texts: TypeAlias = dict[str, str] | Refuted | None
"""The texts of a model, None if z3 does not find them."""


def texts_of(model: Any, E: Encoding) -> Texts:
    """The texts of the attributes that are texts in a model."""
    import z3

    def number(term: Any) -> int:
        return int(model.eval(term, model_completion=True).as_long())

    texts = {n: x for n, x in E.variables.items() if number(x.kind) == _KINDS["text"]}
    if not E.cells:
        return {name: E.order.text(number(x.place)) for name, x in texts.items()}
    cell = {name: number(x.cell) for name, x in texts.items()}
    place = {name: number(texts[name].place) for name in E.compared if name in texts}
    chain = [name for _, name in sorted({at: name for name, at in place.items()}.items())]
    possible, ascending = ascending_texts([E.cells[cell[name]] for name in chain], E)
    if not possible:
        one_each = [texts[name].cell == cell[name] for name in chain]
        are_texts = [texts[name].kind == _KINDS["text"] for name in chain]
        in_order = [texts[low].place < texts[high].place for low, high in pairwise(chain)]
        return Refuted(z3.Not(z3.And(*one_each, *are_texts, *in_order)))
    found = {name: E.cells[n].text for name, n in cell.items()}
    at = {place[name]: text for name, text in zip(chain, ascending, strict=True)}
    found |= {name: at[place[name]] for name in place}
    return {name: text for name, text in found.items() if text is not None}


def ascending_texts(chain: Sequence[Cell], E: Encoding) -> tuple[bool, Sequence[str | None]]:
    """Whether there may be ascending texts in a sequence of cells, and such texts if found."""
    import z3

    if len(chain) < 2:
        return True, [cell.text for cell in chain]
    ascending: list[str | None] = []
    for cell in chain:
        above = ascending[-1] if ascending else None
        larger = (text for text in some_texts(cell, E.context) if above is None or text > above)
        ascending.append(min(larger, default=None))
        if ascending[-1] is None:
            break
    else:
        return True, ascending
    solver = limited(z3.Solver(ctx=E.context))
    words = [z3.String(f"word {n}", E.context) for n in range(len(chain))]
    for word, cell in zip(words, chain, strict=True):
        solver.add(z3.InRe(word, z3.Intersect(cell.language, every_text(E.context))))
    for low, high in pairwise(words):
        solver.add(low < high)
    answer = solver.check()
    if answer != z3.sat:
        return answer == z3.unknown, [None] * len(chain)
    return True, [text_in(solver.model(), word) for word in words]


def some_texts(cell: Cell, context: Any) -> list[str]:
    """A few texts of a cell, found one after the other."""
    import z3

    found = [] if cell.text is None else [cell.text]
    language = cell.language
    while found and len(found) < MAX_TEXTS:
        language = z3.Intersect(language, z3.Complement(z3.Re(literal(found[-1], context))))
        one = member(language, context)
        if one.text is None:
            break
        found.append(one.text)
    return found


def values_of(model: Any, texts: Mapping[str, str], E: Encoding) -> Values | None:
    """The values of the attributes in a model, None if a text is not known."""
    values: list[tuple[str, Value]] = []
    for name, x in E.variables.items():
        kind = model.eval(x.kind, model_completion=True).as_long()
        if kind == _KINDS["text"] and name not in texts:
            return None
        match kind:
            case 1:
                number = model.eval(x.number, model_completion=True)
                values.append((name, number_in(number, E.domains[name], E.infinity)))
            case 2:
                values.append((name, texts[name]))
            case 3:
                values.append((name, model.eval(x.truth, model_completion=True).as_long() == 1))
            case 4:
                moment = model.eval(x.moment, model_completion=True)
                values.append((name, Timestamp(moment.as_long())))
            case _:
                values.append((name, None if E.domains[name].nullable else math.nan))
    return tuple(values)


def number_in(numeral: Any, domain: Domain, infinity: Fraction | None) -> int | float:
    """An integer where it is one and may be, else the nearest float.

    A float stands for an integer of more than 64 bits if it is equal.
    """
    import z3

    if z3.is_int_value(numeral):
        return int(numeral.as_long())
    near = numeral.approx(30) if z3.is_algebraic_value(numeral) else numeral
    number = Fraction(near.as_fraction())
    if infinity is not None and abs(number) == infinity:
        return math.inf if number > 0 else -math.inf
    try:
        rounded = float(number)
    except OverflowError:
        rounded = math.inf if number > 0 else -math.inf
    whole = number.denominator == 1 and domain.type is not AttributeType.DOUBLE
    fits = INT64.start <= number < INT64.stop or rounded != number
    return int(number) if whole and fits else rounded
