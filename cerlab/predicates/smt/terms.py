"""Expressions as terms of z3: constants, attributes, arithmetic over the rationals."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, TypeAlias, assert_never

import z3

from cerlab.model.event import Timestamp, Value
from cerlab.predicates import syntax as pred
from cerlab.predicates.domains import INT64, is_finite
from cerlab.predicates.smt.encoding import KINDS, Encoding, rational
from cerlab.predicates.truth import kind_of

Cases: TypeAlias = dict[str, tuple[Any, Any]]
"""For each kind that an expression can have: when it has it, and its value then."""


def cases(expression: pred.Expression, E: Encoding) -> Cases:
    """The kinds that an expression can have, when it has them, and its value then."""
    match expression:
        case pred.Constant(value):
            kind = kind_of(value)
            always = z3.BoolVal(True, E.context)
            return {} if kind is None else {kind: (always, constant_term(value, E))}
        case pred.Attribute(name):
            x = E.variables[name]
            terms = {"number": x.number, "text": x.place, "boolean": x.truth, "timestamp": x.moment}
            return {kind: (x.kind == KINDS[kind], term) for kind, term in terms.items()}
        case pred.Computed(op, left, right):
            return arithmetic(op, operand_of(left, E), operand_of(right, E), E)
        case pred.Negated(inner):
            zero = (z3.BoolVal(True, E.context), z3.IntVal(0, E.context))
            return arithmetic(pred.Arithmetic.SUB, zero, operand_of(inner, E), E)
        case _:
            assert_never(expression)


def operand_of(expression: pred.Expression, E: Encoding) -> tuple[Any, Any] | None:
    """The number that arithmetic takes, None if it is never one (of 64 bits)."""
    if isinstance(expression, pred.Constant):
        value = expression.value
        if isinstance(value, int) and value not in INT64:
            return None
    return cases(expression, E).get("number")


def arithmetic(
    op: pred.Arithmetic, left: tuple[Any, Any] | None, right: tuple[Any, Any] | None, E: Encoding
) -> Cases:
    """``left op right`` over the rationals; no number where one is divided by zero."""
    if left is None or right is None:
        return {}
    (here, one), (there, other) = left, right
    both = z3.And(here, there)
    match op:
        case pred.Arithmetic.ADD:
            return {"number": (both, one + other)}
        case pred.Arithmetic.SUB:
            return {"number": (both, one - other)}
        case pred.Arithmetic.MUL:
            return {"number": (both, one * other)}
        case pred.Arithmetic.DIV:
            return {"number": (z3.And(both, other != 0), real(one) / real(other))}
        case pred.Arithmetic.MOD:
            return {"number": (z3.And(both, other != 0), remainder(one, other))}
        case _:
            assert_never(op)


def real(term: Any) -> Any:
    """A number as a real one, because z3 divides integers as integers."""
    return z3.ToReal(term) if z3.is_int(term) else term


def remainder(one: Any, other: Any) -> Any:
    """``one % other`` with the sign of `other`; the integers of z3 have a remainder from 0 on."""
    if z3.is_int(one) and z3.is_int(other):
        rest = one % other
        return z3.If(z3.Or(other > 0, rest == 0), rest, rest + other)
    return real(one) - real(other) * z3.ToReal(z3.ToInt(real(one) / real(other)))


def constant_term(value: Value, E: Encoding) -> Any:
    """A constant as a term of z3."""
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
