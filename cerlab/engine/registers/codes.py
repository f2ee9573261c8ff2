"""Values of whole columns as small numbers that compare as the values do (DESIGN 3.3).

All values that some guard may compare with each other are ranked together, for the whole stream at
once: a number has the kind of the value in its high bits and its rank among the values of that kind
below. Two values compare if their kinds are equal, and then as their numbers; NULL, NaN and what is
missing is -1, which compares with nothing. Ranks are by exact value, so that 1 and 1.0 are one.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cerlab.engine.kernels.arrays import Int64s
from cerlab.engine.kernels.registers.arrays import KIND
from cerlab.model.columns import Column, values_of
from cerlab.model.event import Timestamp, Value
from cerlab.predicates.columns.pieces import DictionaryCodes, Numbers, Piece, pieces
from cerlab.predicates.truth import kind_of

KINDS = ("boolean", "number", "text", "timestamp")

NOTHING = -1
"""The code of what compares with nothing."""

_Distinct: TypeAlias = tuple[Sequence[Value], NDArray[np.integer[Any]]]
"""Some values, and for each event the place of its own among them."""


def codes_of(
    columns: Mapping[str, Column], names: Sequence[str], constants: Sequence[Value], length: int
) -> tuple[list[Int64s], list[int]]:
    """The codes of some columns, each int64 (length,), and of constants; all are comparable.

    A name without a column is missing in every event. Raises `BadData` for columns of types that
    hold no values of events.

    >>> a, b = [True, 2, 0.5, None], [0.5, 2.0, "x", float("nan")]
    >>> (of_a, of_b), _ = codes_of({"a": a, "b": b}, ["a", "b"], [], 4)
    >>> [int(x) & 7 for x in of_a], [int(x) & 7 for x in of_b]
    ([0, 1, 0, 7], [0, 1, 0, 7])
    """
    parts = [
        list(pieces(columns[n], n, numeric=True)) if n in columns and length else [] for n in names
    ]
    if not constants and (whole := _of_one_dtype(parts)) is not None:
        return _with_nothing(whole, length), []
    pairs = zip(parts, names, strict=True)
    distinct = [[_distinct(piece, name) for piece in part] for part, name in pairs]
    every = (value for part in distinct for values, _ in part for value in values)
    rank = _ranks([*every, *constants])
    codes = [_column_codes(part, rank) for part in distinct]
    return _with_nothing(codes, length), [_code(value, rank) for value in constants]


def _with_nothing(codes: list[Int64s | None], length: int) -> list[Int64s]:
    return [np.full(length, NOTHING, np.int64) if c is None else c for c in codes]


def _of_one_dtype(parts: Sequence[Sequence[Piece]]) -> list[Int64s | None] | None:
    """The codes where all columns are numbers of one dtype, or all moments; None if not."""
    whole = [piece for part in parts for piece in part if isinstance(piece, Numbers)]
    if len(whole) < sum(map(len, parts)) or not whole:
        return None
    if len({(piece.values.dtype, piece.moments) for piece in whole}) > 1:
        return None
    values = np.concatenate([piece.values for piece in whole])
    _, rank = np.unique(values, return_inverse=True)
    kind = KINDS.index("timestamp" if whole[0].moments else "number")
    codes = (kind << KIND) + rank.astype(np.int64)
    codes[values != values] = NOTHING
    codes[np.concatenate([_nulls(piece) for piece in whole])] = NOTHING
    ends = np.cumsum([sum(len(piece.values) for piece in part) for part in map(_numbers, parts)])
    by_column = np.split(codes, ends[:-1])
    return [each if part else None for each, part in zip(by_column, parts, strict=True)]


def _numbers(part: Iterable[Piece]) -> list[Numbers]:
    return [piece for piece in part if isinstance(piece, Numbers)]


def _nulls(piece: Numbers) -> NDArray[np.bool_]:
    return np.zeros(len(piece.values), np.bool_) if piece.nulls is None else piece.nulls


def _distinct(piece: Piece, name: str) -> _Distinct:
    """The values of a piece, each once where that is known, and where each event's is."""
    match piece:
        case Numbers(values, nulls, moments):
            distinct, inverse = np.unique(values, return_inverse=True)
            inverse = inverse.astype(np.int64)
            if nulls is not None:
                inverse[nulls] = len(distinct)
            objects = distinct.tolist()
            return [*(map(Timestamp, objects) if moments else objects), None], inverse
        case DictionaryCodes(codes, dictionary):
            return [*values_of(dictionary, name), None], codes
        case _:
            return piece.values, np.arange(len(piece.values))


def _key(value: Value) -> tuple[str, Hashable] | None:
    kind = kind_of(value)
    return None if kind is None else (kind, value)


def _ranks(values: Iterable[Value]) -> dict[tuple[str, Hashable], int]:
    """The code of each value, by kind and value."""
    keys = {key for value in values if (key := _key(value)) is not None}
    rank: dict[tuple[str, Hashable], int] = {}
    for n, kind in enumerate(KINDS):
        of_kind: list[Any] = sorted(key[1] for key in keys if key[0] == kind)
        rank |= {(kind, value): (n << KIND) + place for place, value in enumerate(of_kind)}
    return rank


def _code(value: Value, rank: Mapping[tuple[str, Hashable], int]) -> int:
    key = _key(value)
    return NOTHING if key is None else rank[key]


def _column_codes(
    part: Sequence[_Distinct], rank: Mapping[tuple[str, Hashable], int]
) -> Int64s | None:
    """The codes of a column in pieces; None of a column that is not there."""
    arrays = [np.array([_code(v, rank) for v in values], np.int64)[at] for values, at in part]
    return np.concatenate(arrays) if arrays else None
