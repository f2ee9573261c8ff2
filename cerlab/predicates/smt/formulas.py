"""z3 variables for the attributes of an event, the axioms on them, and the formulas of atoms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from typing import Any, NamedTuple, TypeAlias, TypeGuard, assert_never

import z3

from cerlab.model.event import AttributeType, Duration, Timestamp, Value
from cerlab.predicates import syntax as pred
from cerlab.predicates.domains import INT64, KIND_OF_TYPE, Domain, is_finite
from cerlab.predicates.like import LAST_MENTIONED, least, parse
from cerlab.predicates.smt.texts import Cell, Places, cells, every_of, places, some_of
from cerlab.predicates.syntax import Atom, Attribute, Like, attributes_of, constants, operands
from cerlab.predicates.truth import RELATIONS, kind_of, kind_of_result

KINDS = {"number": 1, "text": 2, "boolean": 3, "timestamp": 4, "duration": 5}
"""Number of each kind; 0 is for values that never compare."""


class Variables(NamedTuple):
    """The z3 variables of an attribute; `truth`, for Boolean values, is 0 or 1."""

    kind: Any
    number: Any
    place: Any
    cell: Any
    truth: Any
    moment: Any
    length: Any


@dataclass(frozen=True, slots=True)
class Encoding:
    """Atoms as z3 formulas over variables of their attributes."""

    group: tuple[Atom, ...]
    domains: Mapping[str, Domain]
    context: Any
    variables: Mapping[str, Variables]
    order: Places
    patterns: tuple[str, ...]
    """Patterns in the subset."""
    cells: tuple[Cell, ...]
    infinity: Fraction | None
    """Number that encodes infinity, if it is among the constants."""
    text_operands: tuple[str, ...]
    """Attributes that are compared with each other as texts, if there are cells."""


def encode(group: Sequence[Atom], of: Sequence[tuple[str, Domain]]) -> Encoding:
    """Return z3 variables and orders for some atoms, whose attributes have the given domains."""
    context = z3.Context()
    values = constants(group)
    order = places((value for value in values if is_plain(value)), len(of))
    likes = dict.fromkeys(atom.pattern for atom in group if isinstance(atom, Like))
    patterns = tuple(pattern for pattern in likes if parse(pattern) is not None)
    numbers = [value for value in values if kind_of(value) == "number"]
    finite = [Fraction(abs(n)) for n in numbers if isinstance(n, int | float) and is_finite(n)]
    text_operands = dict.fromkeys(
        operand.name
        for atom in group
        if len(attributes_of([atom])) > 1
        for operand in operands(atom)
        if isinstance(operand, Attribute)
    )
    if patterns and text_operands:
        # more intervals, because texts are also compared with each other
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
                length=z3.Int(f"length {name}", context),
            )
            for name, domain in of
        },
        order,
        patterns,
        cells(order, patterns, context) if patterns else (),
        max([Fraction(2**65), *finite]) * 2 if len(finite) < len(numbers) else None,
        tuple(text_operands) if patterns else (),
    )


def is_plain(value: Value) -> TypeGuard[str]:
    """Return whether z3 can represent all characters of a text."""
    return isinstance(value, str) and all(ord(c) <= LAST_MENTIONED for c in value)


def world(E: Encoding) -> Iterator[Any]:
    """Yield the axioms of events: attributes are in their domains, and texts in cells."""
    for name, x in E.variables.items():
        domain = E.domains[name]
        kinds = [*KINDS.values(), 0]
        if domain.type is not None:
            # a double may be NaN, which like NULL compares with nothing
            kinds = [KINDS[KIND_OF_TYPE[domain.type]]]
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
    for one, other in combinations([E.variables[name] for name in E.text_operands], 2):
        yield z3.Implies(one.place == other.place, one.cell == other.cell)


def rational(number: Fraction, E: Encoding) -> Any:
    """Return a number as a z3 constant."""
    if number.denominator == 1:
        return z3.IntVal(number.numerator, E.context)
    return z3.RealVal(f"{number.numerator}/{number.denominator}", E.context)


Cases: TypeAlias = dict[str, tuple[Any, Any]]
"""Condition and value of each kind that an expression can have."""


def cases(expression: pred.Expression, E: Encoding) -> Cases:
    """Return the kinds that an expression may have, each with its condition and z3 term."""
    match expression:
        case pred.Constant(value):
            kind = kind_of(value)
            always = z3.BoolVal(True, E.context)
            return {} if kind is None else {kind: (always, constant_term(value, E))}
        case pred.Attribute(name):
            x = E.variables[name]
            terms = {"number": x.number, "text": x.place, "boolean": x.truth}
            terms |= {"timestamp": x.moment, "duration": x.length}
            return {kind: (x.kind == KINDS[kind], term) for kind, term in terms.items()}
        case pred.Computed(op, left, right):
            return arithmetic(op, operand_of(left, E), operand_of(right, E), E)
        case pred.Negated(inner):
            operand = operand_of(inner, E)
            always, zero = z3.BoolVal(True, E.context), z3.IntVal(0, E.context)
            negated: Cases = {}
            for kind in {"number", "duration"} & set(operand):
                of_kind = {kind: operand[kind]}
                negated |= arithmetic(pred.Arithmetic.SUB, {kind: (always, zero)}, of_kind, E)
            return negated
        case _:
            raise AssertionError("predicates read only one event")


def operand_of(expression: pred.Expression, E: Encoding) -> Cases:
    """Return the kinds of an arithmetic operand; {} for a constant beyond 64 bits."""
    if isinstance(expression, pred.Constant):
        value = expression.value
        if isinstance(value, int) and value not in INT64:
            return {}
    return cases(expression, E)


def arithmetic(op: pred.Arithmetic, left: Cases, right: Cases, E: Encoding) -> Cases:
    """Return the kinds of ``left op right``, exact on rationals and times."""
    results: Cases = {}
    for (kind, (here, one)), (other_kind, (there, other)) in product(left.items(), right.items()):
        result = kind_of_result(op, kind, other_kind)
        if result is None:
            continue
        times = {kind, other_kind} - {"number"}
        when, term = z3.And(here, there), _result(op, one, other)
        if op in (pred.Arithmetic.DIV, pred.Arithmetic.MOD):
            when = z3.And(when, other != 0)
        if times:
            nanoseconds = [n for n, k in ((one, kind), (other, other_kind)) if k != "number"]
            if result != "number":
                term = term if z3.is_int(term) else half_even(term)
                nanoseconds.append(term)
            when = z3.And(when, *(_in_64_bits(n) for n in nanoseconds))
        if result in results:  # a side has one kind at a time, so the cases are disjoint
            before, value = results[result]
            if z3.is_int(value) != z3.is_int(term):
                value, term = real(value), real(term)
            when, term = z3.Or(before, when), z3.If(before, value, term)
        results[result] = (when, term)
    return results


def _result(op: pred.Arithmetic, one: Any, other: Any) -> Any:
    match op:
        case pred.Arithmetic.ADD:
            return one + other
        case pred.Arithmetic.SUB:
            return one - other
        case pred.Arithmetic.MUL:
            return one * other
        case pred.Arithmetic.DIV:
            return real(one) / real(other)
        case pred.Arithmetic.MOD:
            return remainder(one, other)
        case _:
            assert_never(op)


def _in_64_bits(nanoseconds: Any) -> Any:
    return z3.And(nanoseconds >= INT64.start, nanoseconds < INT64.stop)


def half_even(term: Any) -> Any:
    """Return a real number rounded half to even, as a z3 term."""
    above = z3.ToInt(term + z3.Q(1, 2, term.ctx))
    is_tie = z3.ToReal(above) == term + z3.Q(1, 2, term.ctx)
    return z3.If(z3.And(is_tie, above % 2 == 1), above - 1, above)


def real(term: Any) -> Any:
    """Return a number as a real z3 term, since z3 divides integers as integers."""
    return z3.ToReal(term) if z3.is_int(term) else term


def remainder(one: Any, other: Any) -> Any:
    """Return ``one % other`` with the sign of `other`, unlike z3's remainder."""
    if z3.is_int(one) and z3.is_int(other):
        rest = one % other
        return z3.If(z3.Or(other > 0, rest == 0), rest, rest + other)
    return real(one) - real(other) * z3.ToReal(z3.ToInt(real(one) / real(other)))


def constant_term(value: Value, E: Encoding) -> Any:
    """Return a constant as a z3 term."""
    if isinstance(value, str):
        return z3.IntVal(E.order.of(value), E.context)
    if isinstance(value, bool):
        return z3.IntVal(int(value), E.context)
    if isinstance(value, Timestamp | Duration):
        return z3.IntVal(value.nanoseconds, E.context)
    assert isinstance(value, int | float)
    if not is_finite(value):
        assert E.infinity is not None
        return rational(E.infinity if value > 0 else -E.infinity, E)
    return rational(Fraction(value), E)


def formula(atom: pred.Atom, E: Encoding) -> Any:
    """Return the z3 formula of an atom; None if z3 cannot represent the atom."""
    if not can_be_encoded(atom, E):
        return None
    match atom:
        case pred.TypeIs(name):
            return comparison(
                pred.Operator.EQ, cases(pred.Attribute("type"), E), cases(pred.Constant(name), E), E
            )
        case pred.StreamIs(name):
            stream = cases(pred.Attribute("stream"), E)
            is_stream = comparison(pred.Operator.EQ, stream, cases(pred.Constant(name), E), E)
            return z3.Or(E.variables["stream"].kind == 0, is_stream)
        case pred.Comparison(op, left, right):
            return comparison(op, cases(left, E), cases(right, E), E)
        case pred.Member(operand, values, negated):
            op = pred.Operator.NE if negated else pred.Operator.EQ
            value = cases(operand, E)
            each = [comparison(op, value, cases(one, E), E) for one in values]
            return every_of(each, E.context) if negated else some_of(each, E.context)
        case pred.Between(operand, low, high, negated):
            value = cases(operand, E)
            inside = (
                pred.Operator.LT if negated else pred.Operator.GE,
                pred.Operator.GT if negated else pred.Operator.LE,
            )
            each = [
                comparison(op, value, cases(bound, E), E)
                for op, bound in zip(inside, (low, high), strict=True)
                if bound is not None
            ]
            return some_of(each, E.context) if negated else every_of(each, E.context)
        case pred.Like(pred.Attribute(name), pattern):
            x = E.variables[name]
            bit = E.patterns.index(pattern)
            holding = [x.cell == n for n, cell in enumerate(E.cells) if cell.bits[bit]]
            return z3.And(x.kind == KINDS["text"], some_of(holding, E.context))
        case pred.Like():
            return z3.BoolVal(False, E.context)
        case _:
            assert_never(atom)


def can_be_encoded(atom: pred.Atom, E: Encoding) -> bool:
    """Return whether z3 can represent the constants and the pattern of an atom."""
    texts_have_places = all(
        is_plain(value) for value in constants([atom]) if isinstance(value, str)
    )
    computes = any(isinstance(operand, pred.Computed | pred.Negated) for operand in operands(atom))
    all_finite = E.infinity is None or not computes
    return (
        texts_have_places
        and all_finite
        and (not isinstance(atom, pred.Like) or is_decided(atom, E))
    )


def is_decided(atom: pred.Like, E: Encoding) -> bool:
    """Return whether z3 can decide a LIKE atom: by its pattern, or as the operand is never text."""
    return atom.pattern in E.patterns or isinstance(atom.operand, pred.Computed | pred.Negated)


def comparison(op: pred.Operator, left: Cases, right: Cases, E: Encoding) -> Any:
    """Return the formula of ``left op right``: both sides have one kind, for which it holds."""
    ways = []
    for kind, (here, one) in left.items():
        if kind in right:
            there, other = right[kind]
            ways.append(z3.And(here, there, RELATIONS[op](one, other)))
    return some_of(ways, E.context)
