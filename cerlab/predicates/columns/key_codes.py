"""Partition keys of whole columns: a small number for each substream.

The equality of keys is that of `cerlab.predicates.truth.partition_key`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from cerlab.budget import poll
from cerlab.model.columns import Column, array_from, numbers_of
from cerlab.model.event import Event, Value, value_of
from cerlab.predicates.columns.lookup_tables import Codes
from cerlab.predicates.columns.pieces import (
    Lookup,
    Numbers,
    columns_of,
    combinations,
    concatenate,
    look_up,
    pieces,
)
from cerlab.predicates.truth import kind_of

MAX_CELLS = 2**22
"""Above this many combinations of values, do not use a dense table."""

_UNKNOWN = -2


class KeyCodes:
    """Partition ids: 0, 1, .. in order of the first event of each substream, over all batches."""

    def __init__(self, attributes: Sequence[str]) -> None:
        self.attributes = tuple(attributes)
        self._values = [_Numbers() for _ in self.attributes]
        self._ids: dict[tuple[int, ...], int] = {}
        self._table: NDArray[np.int64] | None = None

    @property
    def count(self) -> int:
        """The number of substreams so far."""
        return len(self._ids)

    def keys(self) -> list[tuple[Value, ...]]:
        """The key of each substream, by id; reading them as a batch makes the same ids again."""
        values = [numbers.by_number() for numbers in self._values]
        return [
            tuple(column[n] for column, n in zip(values, key, strict=True)) for key in self._ids
        ]

    def only(self, ids: Sequence[int]) -> KeyCodes:
        """The substreams with these ids, which become 0, 1, .. in this order."""
        keys = self.keys()
        key_rows = [keys[n] for n in ids]
        result = KeyCodes(self.attributes)
        result.codes(
            {a: [key[n] for key in key_rows] for n, a in enumerate(self.attributes)}, len(ids)
        )
        return result

    def codes(self, columns: Mapping[str, Column], length: int) -> NDArray[np.int64]:
        """The partition id of each event, shape (length,); -1 where it is in no partition.

        An event with a missing, NULL or NaN attribute of the key is in none. Raises ValueError if
        a column has another length, and `BadData` for types that hold no values of events.
        """
        poll(8 * length * (1 + len(self.attributes)))
        present = columns_of(columns, self.attributes, length)
        if length == 0 or len(present) < len(set(self.attributes)):
            return np.full(length, -1, np.int64)
        parts = [
            numbers.of_column(present[name], name)
            for name, numbers in zip(self.attributes, self._values, strict=True)
        ]
        if not parts:
            return np.full(length, self._id(()), np.int64)
        counts = [numbers.count for numbers in self._values]
        # powers of two: a table that grows with each new value would be copied as often
        room = tuple(1 << (count - 1).bit_length() for count in counts)
        if len(parts) == 1 or prod(room) <= MAX_CELLS:
            return self._by_table(parts, room)
        first, code = combinations(parts, counts)
        rows = np.stack([part[first].astype(np.int64) for part in parts], axis=1).tolist()
        ids = [self._id(tuple(row)) if all(row) else -1 for row in rows]
        return look_up(code, np.array(ids, np.int64))

    def code(self, event: Event) -> int:
        """The partition id of one event, -1 where it is in no partition; without columns."""
        key = []
        for name, numbers in zip(self.attributes, self._values, strict=True):
            if not (number := numbers.of_value(value_of(event, name))):
                return -1
            key.append(number)
        return self._id(tuple(key))

    def _id(self, key: tuple[int, ...]) -> int:
        return self._ids.setdefault(key, len(self._ids))

    def _by_table(self, parts: Sequence[Codes], room: tuple[int, ...]) -> NDArray[np.int64]:
        """Through a table with a cell for each combination of values, filled as they occur."""
        table = self._with_room(room)
        cells = parts[0].astype(np.uint32)
        for part, radix in zip(parts[1:], room[1:], strict=True):
            cells = cells * np.uint32(radix) + part.astype(np.uint32)
        codes: NDArray[np.int64] = look_up(cells, table)
        unknown = codes == _UNKNOWN
        if unknown.any():
            fresh = numbers_of(array_from(cells[unknown]).unique()).astype(np.int64)  # as they come
            digits = [each.tolist() for each in np.unravel_index(fresh, room)]
            ids = self._ids
            table[fresh] = [ids.setdefault(row, len(ids)) for row in zip(*digits, strict=True)]
            codes = look_up(cells, table)
        return codes

    def _with_room(self, room: tuple[int, ...]) -> NDArray[np.int64]:
        """The table, flat, after growing to that many values of each attribute."""
        if self._table is None or self._table.shape != room:
            table = np.full(room, _UNKNOWN, np.int64)
            if self._table is not None:
                table[tuple(slice(size) for size in self._table.shape)] = self._table
            for axis in range(len(room)):
                # number 0 is NULL or NaN, and with one of them an event is in no partition
                np.moveaxis(table, axis, 0)[0] = -1
            self._table = table
        return self._table.reshape(-1)


class _Numbers:
    """Numbers of the values of one attribute, the same in all batches; 0 for NULL and NaN."""

    def __init__(self) -> None:
        self._number: dict[tuple[str, Value], int] = {}
        self._lookup = Lookup()

    @property
    def count(self) -> int:
        """One more than the largest number."""
        return len(self._number) + 1

    def by_number(self) -> list[Value]:
        """The value of each number."""
        return [None, *(value for _, value in self._number)]

    def _numbers_of(self, values: Sequence[Value]) -> list[int]:
        return [self.of_value(value) for value in values]

    def of_value(self, value: Value) -> int:
        """The number of a value."""
        # 1 and 1.0 are one key, 1 and TRUE are two: the kind stands beside the value
        kind = "number" if type(value) is int else kind_of(value)
        return self._number.setdefault((kind, value), len(self._number) + 1) if kind else 0

    def of_column(self, column: Column, name: str) -> Codes:
        """The number of each event's value."""
        return concatenate(
            [
                self._lookup.numbers(piece, name, self._numbers_of)
                for piece in pieces(column, name, numeric=False)
                if not isinstance(piece, Numbers)
            ]
        )
