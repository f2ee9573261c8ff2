"""Columns as arrays of numbers or codes, and operations on arrays of codes."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cerlab.model.arrays import allocate, array_from, numbers_of
from cerlab.model.columns import (
    Chunks,
    Column,
    array_of,
    is_arrow,
    is_duration,
    is_moment,
    nanoseconds,
    values_of,
)
from cerlab.model.decimals import Decimals, decimals_of
from cerlab.model.event import Duration, Timestamp, Value
from cerlab.predicates.columns.lookup_tables import Codes, T

MAX_KEY = 2**62
"""The limit on combined codes, within int64 with a bit to spare."""


def operations() -> Any:
    """Return the kernels, or their NumPy versions if Numba is switched off."""
    if os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0"):
        from cerlab.predicates.columns import kernels

        return kernels
    from cerlab.predicates.columns import lookup_tables as twins

    return twins


def narrowest(largest: int) -> Any:
    """Return the smallest of the types uint8, uint16 and uint32 that holds `largest`."""
    if largest < 2**8:
        return np.uint8
    return np.uint16 if largest < 2**16 else np.uint32


def narrow(numbers: Sequence[int]) -> Codes:
    """Return nonnegative numbers as an array of the smallest sufficient type."""
    return np.array(numbers, narrowest(max(numbers, default=0)))


def concatenate(parts: Sequence[Codes]) -> Codes:
    """Return arrays concatenated, in the widest of their types."""
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return np.zeros(0, np.uint8)
    return np.concatenate(parts, out=allocate(sum(map(len, parts)), np.result_type(*parts)))


def look_up(codes: NDArray[np.uint32], table: NDArray[T]) -> NDArray[T]:
    """Return ``table[codes]`` in the type of `table`."""
    out: NDArray[T] = allocate(codes.size, table.dtype)
    operations().translate(codes, table, out)
    return out


def relevant_indices(symbols: Codes, keep: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the indices of events whose symbol s has ``keep[s]``, ascending.

    `symbols` has shape (n,) and an integer dtype, `keep` has one boolean for each symbol. Raises
    IndexError for a symbol beyond `keep`.
    """
    if symbols.size and int(symbols.max()) >= keep.size:
        raise IndexError(f"symbol {symbols.max()} is not below {keep.size}, the number of symbols")
    out = np.empty(symbols.size, np.int64)
    count = operations().compact(symbols, keep, out)
    return out[:count].copy()


def combinations(
    parts: Sequence[Codes], counts: Sequence[int]
) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    """Return the first event of each distinct combination of codes, and each event's combination.

    ``parts[k]`` has shape (n,) and values below ``counts[k]``. Rows are numbered in order of their
    first event; exact for any number of columns.
    """
    key, radix = parts[0].astype(np.int64), counts[0]
    for part, count in zip(parts[1:], counts[1:], strict=True):
        # renumber before the product exceeds 64 bits
        if radix * count > MAX_KEY:
            key = _codes_of(key).astype(np.int64)
            radix = int(key.max(initial=0)) + 1
        key = key * count + part.astype(np.int64)
        radix *= count
    code = _codes_of(key)
    first = np.empty(int(code.max(initial=0)) + 1 if code.size else 0, np.int64)
    # written backwards: for equal indices the last assignment, the first event, wins
    first[code[::-1]] = np.arange(code.size - 1, -1, -1)
    return first, code


def _codes_of(key: NDArray[np.int64]) -> NDArray[np.uint32]:
    """Return, for each event, the number of its value, in order of first occurrence."""
    return numbers_of(array_from(key).dictionary_encode().indices).view(np.uint32)


OfTime: TypeAlias = type[Timestamp] | type[Duration] | None
"""Type of values given in nanoseconds; None for numbers."""


class Numbers(NamedTuple):
    """A piece of a column: numbers, or nanoseconds of timestamps or durations, in an array."""

    values: NDArray[Any]
    """Array of int64, uint64 or float64; arbitrary values for NULL."""
    nulls: NDArray[np.bool_] | None
    of_time: OfTime


class DictionaryCodes(NamedTuple):
    """A piece of a column: indices into a dictionary; NULL is the index after its end."""

    codes: NDArray[np.uint32]
    dictionary: Any


class ValueList(NamedTuple):
    """A piece of a column: a list with a value for each event."""

    values: Sequence[Value]


Piece: TypeAlias = Numbers | DictionaryCodes | ValueList


def columns_of(
    columns: Mapping[str, Column], names: Sequence[str], length: int
) -> dict[str, Column]:
    """Return the columns of those attributes that exist.

    Raises ValueError for a column of another length.
    """
    present = {name: columns[name] for name in names if name in columns}
    for name, column in present.items():
        if len(column) != length:
            raise ValueError(f"column {name!r} has {len(column)} values for {length} events")
    return present


def pieces(column: Column, name: str, *, numeric: bool) -> Iterator[Piece]:
    """Yield a column in pieces of arrays or lists; `Numbers` only if `numeric`.

    Decimals of up to 15 digits become doubles. Raises `BadData` for Arrow types that are not values
    of events, and for timestamps outside the years 1 to 9999.
    """
    import pyarrow as pa

    if isinstance(column, Chunks):
        for chunk in column.chunks:
            yield from pieces(chunk, name, numeric=numeric)
        return
    if isinstance(column, Decimals):
        if len(column):
            yield _numbers(column.doubles) if numeric else ValueList(column.values)
        return
    if not is_arrow(column):
        array = array_of(column)
        if array is None:
            yield ValueList(column)
            return
        column = array
    for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else (column,):
        if len(chunk):
            yield _piece(chunk, name, numeric)


def one_array(column: Column, name: str) -> Numbers | None:
    """Return a column of numbers as one array; None for other columns.

    Decimals count as other columns: products of whole decimals are exact, those of doubles are not.
    """
    chunks = column.chunks if isinstance(column, Chunks) else [column]
    if any(_are_decimals(chunk) for chunk in chunks):
        return None
    parts = [*pieces(column, name, numeric=True)]
    numbers = [part for part in parts if isinstance(part, Numbers)]
    kinds = {(part.values.dtype, part.of_time) for part in numbers}
    if len(kinds) != 1 or len(numbers) < len(parts):
        return None
    if len(numbers) == 1:
        return numbers[0]
    nulls = None
    if any(part.nulls is not None for part in numbers):
        nulls = np.concatenate(
            [
                np.zeros(part.values.size, np.bool_) if part.nulls is None else part.nulls
                for part in numbers
            ]
        )
    return Numbers(np.concatenate([part.values for part in numbers]), nulls, numbers[0].of_time)


def _are_decimals(column: Column) -> bool:
    import pyarrow as pa

    if is_arrow(column):
        return bool(pa.types.is_decimal(column.type))
    return isinstance(column, Decimals)


def _piece(chunk: Any, name: str, numeric: bool) -> Piece:
    import pyarrow as pa

    if chunk.type == pa.float16():  # pyarrow before 26 cannot dictionary-encode float16
        chunk = chunk.cast(pa.float32())
    types, kind = pa.types, chunk.type
    if types.is_dictionary(kind):
        return _dictionary_codes(chunk)
    if types.is_null(kind):
        return DictionaryCodes(np.zeros(len(chunk), np.uint32), chunk.slice(0, 0))
    if types.is_integer(kind) or types.is_floating(kind) or is_moment(kind) or is_duration(kind):
        return _numbers(chunk) if numeric else _dictionary_codes(chunk.dictionary_encode())
    if types.is_string_view(kind):
        chunk = chunk.cast(pa.large_string())
    if numeric and types.is_decimal(kind) and (decimals := decimals_of(chunk)) is not None:
        return _numbers(decimals.doubles)
    by_value = types.is_boolean(kind) or types.is_decimal(kind)
    if types.is_string(chunk.type) or types.is_large_string(chunk.type) or by_value:
        return _dictionary_codes(chunk.dictionary_encode())
    return ValueList(values_of(chunk, name))


def _dictionary_codes(chunk: Any) -> DictionaryCodes:
    import pyarrow as pa

    codes, nulls = numbers_of(chunk.indices.cast(pa.int32())), _nulls(chunk.indices)
    if nulls is not None:
        codes = np.where(nulls, np.int32(len(chunk.dictionary)), codes)
    return DictionaryCodes(codes.view(np.uint32), chunk.dictionary)


def _nulls(chunk: Any) -> NDArray[np.bool_] | None:
    """Return a mask of NULL; None for an array without NULL."""
    import pyarrow as pa

    if not chunk.null_count:
        return None
    return numbers_of(chunk.is_null().cast(pa.uint8())).view(np.bool_)


def _numbers(chunk: Any) -> Numbers | DictionaryCodes:
    import pyarrow as pa

    of_time: OfTime = None
    if is_moment(chunk.type) or is_duration(chunk.type):
        of_time = Timestamp if is_moment(chunk.type) else Duration
        # nanoseconds beyond 64 bits: treat the values as a dictionary
        if (whole := nanoseconds(chunk)) is None:
            return _dictionary_codes(chunk.dictionary_encode())
        chunk = whole
    values, nulls = numbers_of(chunk), _nulls(chunk)
    if nulls is not None:  # ``fill_null`` would import pandas
        values = np.where(nulls, values.dtype.type(0), values)
    if values.dtype != np.uint64:
        wide = np.float64 if pa.types.is_floating(chunk.type) else np.int64
        values = values.astype(wide, copy=False)
    return Numbers(np.ascontiguousarray(values), nulls, of_time)


def same(value: Value) -> tuple[type, Value] | None:
    """Return a key that values share only if no predicate distinguishes them."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    # include the type, because 1, 1.0 and TRUE are equal in Python
    return type(value), value


NumbersOf: TypeAlias = Callable[[Sequence[Value]], list[int]]


class Lookup:
    """A cache of a function on values, evaluated once per value of a dictionary.

    The function `numbers_of` is not stored, since that would create a reference cycle.
    """

    def __init__(self) -> None:
        self._last: tuple[Any, Codes] | None = None

    def numbers(
        self, piece: DictionaryCodes | ValueList, name: str, numbers_of: NumbersOf
    ) -> Codes:
        """Return the function's number for each event."""
        if isinstance(piece, ValueList):
            return narrow(numbers_of(piece.values))
        return look_up(piece.codes, self._table(piece.dictionary, name, numbers_of))

    def _table(self, dictionary: Any, name: str, numbers_of: NumbersOf) -> Codes:
        """Return the numbers of a dictionary's values and of NULL, cached for the next batch."""
        # compare contents: slices and batches of a file have distinct objects for one dictionary
        if self._last is not None and self._last[0].equals(dictionary):
            return self._last[1]
        values = [*values_of(dictionary, name), None]
        table = narrow(numbers_of(values))
        self._last = (dictionary, table)
        return table
