"""Timestamps and durations as integers, for columns and compiled programs.

An expression over nanoseconds is the same expression with integers for literals, whenever that is
exact; a product with a fraction and a quotient of durations are not. Programs compute in doubles,
which hold integers up to 2**53: `scaled` counts moments from the earliest one, in the largest unit
in which all times are whole.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from cerlab.model.event import Duration, Timestamp
from cerlab.rows import expressions as ex
from cerlab.rows.column_forms import NotColumnar
from cerlab.rows.columns import OrderedRows, at_rows, spread
from cerlab.rows.kinds import TIMES, Kind


def over_integers(e: ex.Expression, R: OrderedRows) -> ex.Expression:
    """Return an expression with timestamps and durations replaced by integers.

    They are in nanoseconds, or in the origin and unit of `R`. Raises `NotColumnar` if integers
    would give another result.
    """
    if not any(True for _ in _times(e, R)):
        return e
    whole: ex.Expression = _integers(e, R)
    return whole


def row_truths(e: ex.Expression, R: OrderedRows) -> NDArray[np.bool_]:
    """Return where a condition is TRUE, by row; raises one of `REFUSALS`."""
    values = spread(at_rows(over_integers(e, R), R), len(R))
    truths: NDArray[np.bool_] = pc.fill_null(values, False).to_numpy(zero_copy_only=False)
    return truths


def _times(e: ex.Expression, R: OrderedRows) -> Iterator[ex.Column | ex.Literal]:
    """Yield the timestamps and durations that an expression reads, as columns and literals."""
    leaves = (part for part in ex.subexpressions(e) if isinstance(part, ex.Column | ex.Literal))
    yield from (leaf for leaf in leaves if R.kind_of(leaf) in TIMES)


def _integers(e: Any, R: OrderedRows) -> Any:
    match e:
        case ex.Literal(Timestamp(n)):
            return ex.Literal(_whole(n - R.base, R))
        case ex.Literal(Duration(n)):
            return ex.Literal(_whole(n, R))
        case ex.Arithmetic(operator, left, right):
            _check(operator, R.kind_of(left), R.kind_of(right))
        case ex.Call("EXTRACT EPOCH", (part,)) if (R.base, R.unit) == (0, 1):
            seconds = ex.Literal(10**9)
            return ex.Arithmetic(ex.ArithmeticOperator.DIV, _integers(part, R), seconds)
        case ex.Call(name, (part,)) if name.startswith(("EXTRACT ", "DATE_TRUNC ")):
            if (R.base, R.unit) != (0, 1) or R.kind_of(part) is Kind.DURATION:
                raise NotColumnar  # calendar functions need nanoseconds since 1970
        case ex.Aggregate(ex.AggregateFunction.AVG) if R.kind_of(e) in TIMES:
            raise NotColumnar  # means are rounded to a nanosecond
        case _:
            pass
    return _with_parts(e, lambda part: _integers(part, R))


def _whole(nanoseconds: int, R: OrderedRows) -> int:
    units, rest = divmod(nanoseconds, R.unit)
    if rest or not -(2**63) <= nanoseconds + R.base < 2**63:
        raise NotColumnar
    return units


def _check(operator: ex.ArithmeticOperator, left: Kind, right: Kind) -> None:
    """Raise `NotColumnar` if integers cannot compute an operation exactly."""
    if not {left, right} & set(TIMES):
        return
    rounds = operator is ex.ArithmeticOperator.DIV and right is not Kind.DURATION
    if rounds or {left, right} & {Kind.DOUBLE, Kind.NULL}:
        raise NotColumnar


def _with_parts(e: Any, change: Callable[[Any], Any]) -> Any:
    """Return an expression whose operands are replaced by a function."""

    def changed(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(changed, value))
        return change(value) if isinstance(value, _NODES) else value

    return type(e)(*(changed(getattr(e, field.name)) for field in fields(e)))


_NODES = (*ex.Expression.__args__, ex.AllRows)


def scaled(R: OrderedRows, conditions: Iterable[ex.Expression]) -> OrderedRows:
    """Return the rows with times relative to a base, in a unit that keeps doubles exact."""
    every = [part for e in conditions for part in _times(e, R)]
    names = dict.fromkeys(part.name for part in every if isinstance(part, ex.Column))
    columns = [(R.column(name), R.kind_of(ex.Column(name))) for name in names]
    ends = [pc.min_max(column).as_py()["min"] for column, kind in columns if kind is Kind.MOMENT]
    base = min((least for least in ends if least is not None), default=0)
    if abs(base) >= 1 << 62:  # the difference may exceed 64 bits
        return R
    unit = 0
    for column, kind in columns:
        whole = pc.fill_null(column, base if kind is Kind.MOMENT else 0).to_numpy()
        shift = base if kind is Kind.MOMENT else 0
        unit = math.gcd(unit, int(np.gcd.reduce(whole - shift, initial=0)))
    for part in every:
        match part:
            case ex.Literal(Timestamp(n)):
                unit = math.gcd(unit, n - base)
            case ex.Literal(Duration(n)):
                unit = math.gcd(unit, n)
    return replace(R, base=base, unit=unit or 1, read={})
