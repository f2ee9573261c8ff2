"""Predicates as Spark columns, with the same truth values.

Only predicates that agree with Spark in every corner case become columns: comparisons of integers,
floats, text and booleans with constants, and with others of their own type. Spark compares text by
bytes of UTF-8, which is the order of code points, and treats NaN as equal to itself and larger than
all numbers; these expressions correct for NaN. Decimals of up to 15 digits are the doubles nearest
to them, in Spark too. LIKE, arithmetic, longer decimals, moments, integers against floats, collated
and padded text are not supported.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, assert_never

from cerlab.model.event import Duration, Event, Timestamp, Value
from cerlab.predicates import syntax as pred
from cerlab.predicates.truth import compare, evaluate, kind_of
from cerlab.spark.frame import FLOATS, WHOLE, Source
from cerlab.spark.plan import SHORT_DECIMALS

if TYPE_CHECKING:
    from pyspark.sql import Column


_LEAST, _GREATEST = -(2**63), 2**63 - 1

_MIRROR = {
    pred.Operator.LT: pred.Operator.GT,
    pred.Operator.LE: pred.Operator.GE,
    pred.Operator.GT: pred.Operator.LT,
    pred.Operator.GE: pred.Operator.LE,
    pred.Operator.EQ: pred.Operator.EQ,
    pred.Operator.NE: pred.Operator.NE,
}

_NOTHING = Event("nothing")


class Inexact(Exception):
    """The reason why no Spark column agrees with a predicate in every corner case."""


@dataclass(frozen=True)
class _Values:
    """The values of an attribute as a Spark column, of the kind in which they are compared."""

    column: Column
    kind: str
    """The kind: ``whole``, ``float``, ``text`` or ``boolean``."""


def column_where(predicate: pred.Predicate, source: Source) -> Column:
    """Return a column that is true if an event satisfies a predicate, else false or NULL.

    For WHERE and CASE: this short form is faster, and in WHERE Spark skips row groups by it. Raises
    `Inexact` if Spark might disagree.
    """
    return _where(predicate, lambda atom, _: _atom(atom, source), above=True)


def column_above(predicate: pred.Predicate, source: Source) -> Column:
    """Return a column that is true for all events that satisfy a predicate, and maybe others."""
    from pyspark.sql import functions as fn

    def of_atom(atom: pred.Atom, above: bool) -> Column:
        try:
            return _atom(atom, source)
        except Inexact:
            return fn.lit(above)

    return _where(predicate, of_atom, above=True)


def _where(
    predicate: pred.Predicate, of_atom: Callable[[pred.Atom, bool], Column], *, above: bool
) -> Column:
    """Return the column of a predicate; `above`: it may be true too often, otherwise too rarely."""
    from pyspark.sql import functions as fn

    match predicate:
        case pred.Everything():
            return fn.lit(True)
        case pred.And(left, right):
            return _where(left, of_atom, above=above) & _where(right, of_atom, above=above)
        case pred.Or(left, right):
            return _where(left, of_atom, above=above) | _where(right, of_atom, above=above)
        case pred.Not(operand):
            # NOT of NULL is NULL in SQL; here a comparison with NULL is false, and its NOT true
            return ~_two_valued(_where(operand, of_atom, above=not above))
        case atom:
            return of_atom(atom, above)


def _two_valued(column: Column) -> Column:
    from pyspark.sql import functions as fn

    return fn.coalesce(column, fn.lit(False))


def _atom(atom: pred.Atom, source: Source) -> Column:
    """Return a column that is true if an event satisfies an atom, else false or NULL."""
    match atom:
        case pred.TypeIs(name):
            return _comparison(pred.Operator.EQ, pred.Attribute("type"), name, source)
        case pred.StreamIs(name):
            of_every = source.column("stream").isNull()
            return of_every | _comparison(pred.Operator.EQ, pred.Attribute("stream"), name, source)
        case pred.Comparison(op, left, right) if _is_constant(right):
            return _comparison(op, left, _value(right), source)
        case pred.Comparison(op, left, right) if _is_constant(left):
            return _comparison(_MIRROR[op], right, _value(left), source)
        case pred.Comparison(op, left, right):
            return _between_attributes(op, _values(left, source), _values(right, source))
        case pred.Member(operand, values, negated):
            op = pred.Operator.NE if negated else pred.Operator.EQ
            each = [_comparison(op, operand, value.value, source) for value in values]
            return _all(each) if negated else _any(each)
        case pred.Between(operand, low, high, negated):
            ends = [(low, pred.Operator.LT if negated else pred.Operator.GE)]
            ends += [(high, pred.Operator.GT if negated else pred.Operator.LE)]
            parts: Iterable[pred.Atom] = [
                pred.Comparison(op, operand, end) for end, op in ends if end is not None
            ]
            each = [_atom(part, source) for part in parts]
            return _any(each) if negated else _all(each)
        case pred.Like():
            raise Inexact("LIKE is in the syntax of RE2")
        case _:
            assert_never(atom)


def _any(columns: list[Column]) -> Column:
    from pyspark.sql import functions as fn

    return reduce(lambda left, right: left | right, columns, fn.lit(False))


def _all(columns: list[Column]) -> Column:
    from pyspark.sql import functions as fn

    return reduce(lambda left, right: left & right, columns, fn.lit(True))


def _is_constant(expression: pred.Expression) -> bool:
    return not any(isinstance(leaf, pred.Attribute) for leaf in pred.leaves_of(expression))


def _value(expression: pred.Expression) -> Value:
    return evaluate(_NOTHING, expression)


def _values(operand: pred.Expression, source: Source) -> _Values | None:
    """Return the values of an attribute; None if no event has comparable values."""
    if not isinstance(operand, pred.Attribute):
        raise Inexact("arithmetic is in 64 bits, and undefined beyond them")
    kind, column = source.kind(operand.name), source.column(operand.name)
    if kind in (None, "void"):
        return None
    if kind in WHOLE:
        return _Values(column.cast("bigint"), "whole")
    if kind in FLOATS:
        return _Values(column.cast("double"), "float")
    if kind == "decimal" and source.type_of(operand.name).precision <= SHORT_DECIMALS:
        return _Values(column.cast("double"), "float")
    if kind == "string" and source.is_plain_text(operand.name):
        return _Values(column, "text")
    if kind == "boolean":
        return _Values(column, kind)
    raise Inexact(f"'{operand.name}' is {kind}: long, padded, collated, or a moment")


def _between_attributes(op: pred.Operator, left: _Values | None, right: _Values | None) -> Column:
    from pyspark.sql import functions as fn

    if left is None or right is None:
        return fn.lit(False)
    if left.kind != right.kind:
        raise Inexact(f"{left.kind} against {right.kind}")
    return _by(op, left.column, right.column) & _is_number(left) & _is_number(right)


def _is_number(values: _Values) -> Column:
    """Return a column that is false for NaN, which cannot be compared."""
    from pyspark.sql import functions as fn

    if values.kind != "float":
        return fn.lit(True)
    return ~fn.coalesce(fn.isnan(values.column), fn.lit(False))


def _by(op: pred.Operator, left: Any, right: Any) -> Column:
    comparisons: dict[pred.Operator, Callable[[], Column]] = {
        pred.Operator.LT: lambda: left < right,
        pred.Operator.LE: lambda: left <= right,
        pred.Operator.GT: lambda: left > right,
        pred.Operator.GE: lambda: left >= right,
        pred.Operator.EQ: lambda: left == right,
        pred.Operator.NE: lambda: left != right,
    }
    return comparisons[op]()


def _comparison(
    op: pred.Operator, operand: pred.Expression, constant: Value, source: Source
) -> Column:
    """Return the column ``operand op constant``."""
    from pyspark.sql import functions as fn

    kind = kind_of(constant)
    if _is_constant(operand):
        return fn.lit(compare(op, _value(operand), constant))
    values = _values(operand, source)
    if isinstance(constant, Timestamp | Duration):
        raise Inexact("a time has more digits here than in Spark")
    kinds = {"number": ("whole", "float"), "text": ("text",), "boolean": ("boolean",)}
    if values is None or kind is None or values.kind not in kinds[kind]:
        return fn.lit(False)
    if values.kind == "whole":
        assert isinstance(constant, int | float)
        op, constant = _on_integers(op, constant)
    elif values.kind == "float":
        assert isinstance(constant, int | float)
        op, constant = _on_floats(op, constant)
    if constant is None:  # the comparison holds for all numbers, or for no number
        return values.column.isNotNull() & _is_number(values) & fn.lit(op is pred.Operator.NE)
    if isinstance(constant, str):
        _check_unicode(constant)
    test = _by(op, values.column, _literal(constant))
    # floats must not skip row groups: writers differ in their statistics of NaN and zeros
    return test if values.kind != "float" else _two_valued(test) & _is_number(values)


def _check_unicode(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Inexact("text that is not Unicode") from None


def _literal(constant: Value) -> Column:
    from pyspark.sql import functions as fn

    if isinstance(constant, float):
        infinity = "Infinity" if constant > 0 else "-Infinity"
        return fn.lit(constant if math.isfinite(constant) else infinity).cast("double")
    if isinstance(constant, int) and not isinstance(constant, bool):
        return fn.lit(constant).cast("bigint")
    return fn.lit(constant)


_ALL, _NONE = (pred.Operator.NE, None), (pred.Operator.EQ, None)
"""Comparisons that hold for all numbers, and for no number."""


def _on_integers(op: pred.Operator, constant: int | float) -> tuple[pred.Operator, int | None]:
    """Return an equivalent comparison with an int64 constant."""
    if isinstance(constant, float) and not math.isinf(constant):
        below = math.floor(constant)
        if below != constant:  # between two integers
            if op in (pred.Operator.EQ, pred.Operator.NE):
                return _NONE if op is pred.Operator.EQ else _ALL
            op = (
                pred.Operator.LE if op in (pred.Operator.LT, pred.Operator.LE) else pred.Operator.GT
            )
        constant = below
    if _LEAST <= constant <= _GREATEST:
        return op, int(constant)
    upwards = (pred.Operator.LT, pred.Operator.LE, pred.Operator.NE)
    downwards = (pred.Operator.GT, pred.Operator.GE, pred.Operator.NE)
    return _ALL if op in (upwards if constant > 0 else downwards) else _NONE


def _on_floats(op: pred.Operator, constant: int | float) -> tuple[pred.Operator, float | None]:
    """Return an equivalent comparison with a float constant."""
    try:
        near = float(constant)
    except OverflowError:
        near = math.inf if constant > 0 else -math.inf
    if near == constant:
        return op, near
    if op in (pred.Operator.EQ, pred.Operator.NE):
        return _NONE if op is pred.Operator.EQ else _ALL
    if op in (pred.Operator.LT, pred.Operator.LE):
        # no double lies between the constant and its nearest double
        return (pred.Operator.LT if near > constant else pred.Operator.LE), near
    return (pred.Operator.GE if near > constant else pred.Operator.GT), near
