"""Operands of programs: operators for a stack, columns and labels, and where these are read."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from cerlab.compile.row_columns import WHOLE, NotColumnar, Values
from cerlab.engine.kernels import row_values as do
from cerlab.logic.rows import expressions as ex

Kind: TypeAlias = Literal["boolean", "integer", "double", "ranked", "null"]


class Code(NamedTuple):
    """Operators with their arguments, the kind of their value and, of integers, the greatest."""

    ops: tuple[tuple[int, int], ...]
    kind: Kind
    most: int = 0


class Landing(NamedTuple):
    """Where a column is read: at the row under test, or at a first or last row of a name."""

    where: int
    name: str | None = None
    offset: int = 0


class Read(NamedTuple):
    """A column or constant, and where it is read."""

    values: Values
    landing: Landing


class Label(NamedTuple):
    """What each variable has for its label, the row whose label it is, and the step from there."""

    values: Values
    landing: Landing
    step: int


OWN = Landing(do.OWN)


def label_read(e: ex.Expression) -> tuple[ex.Edge, int] | None:
    """The FIRST or LAST row of the match whose label an expression reads, and the step from it."""
    match e:
        case ex.Classifier():
            return ex.Last(e), 0
        case ex.First(ex.Classifier()) | ex.Last(ex.Classifier()):
            return e, 0
        case ex.Prev(body, j) | ex.Next(body, j):
            inner = label_read(body)
            return None if inner is None else (inner[0], -j if isinstance(e, ex.Prev) else j)
        case _:
            return None


def operator_code(kind: Kind, *codes: Code, op: tuple[int, int], most: int = 0) -> Code:
    """An operator after its operands."""
    return Code((*(each for code in codes for each in code.ops), op), kind, most)


def common(codes: list[Code]) -> tuple[Any, ...]:
    """The kind that results have in common, and the codes."""
    kinds = {code.kind for code in codes} - {"null"}
    if len(kinds) > 1:
        raise NotColumnar
    return (kinds.pop() if kinds else "null", *codes)


def within(most: int) -> None:
    """Refuse integers that are no doubles."""
    if most > WHOLE:
        raise NotColumnar


def kind_of(values: Values) -> tuple[Kind, int]:
    """The kind of a column of numbers, and a bound of its integers."""
    kind = values.type
    if pa.types.is_null(kind):
        return "null", 0
    if pa.types.is_boolean(kind):
        return "boolean", 1
    if pa.types.is_float64(kind):
        return "double", 0
    if not pa.types.is_int64(kind):
        raise NotColumnar
    most = greatest(values)
    within(most)
    return "integer", most


def greatest(values: Values) -> int:
    """The greatest magnitude of integers."""
    ends = pc.min_max(pa.array([values]) if isinstance(values, pa.Scalar) else values).as_py()
    return max(abs(int(ends["min"] or 0)), abs(int(ends["max"] or 0)))


def by_rank(left: Values, right: Values) -> bool:
    """Whether two columns are compared by ranks: texts, and integers that are no doubles."""
    if pa.types.is_null(left.type) or pa.types.is_null(right.type):
        return False
    if left.type != right.type:
        return False
    if pa.types.is_int64(left.type):
        return max(greatest(left), greatest(right)) > WHOLE
    return bool(pa.types.is_large_string(left.type))
