"""Bit fields: the integers of an event as one, so that it crosses as one column.

Each is what it is above its least, in bits of its own; the keys come first, so that the order of
the whole is that of the events. What an event costs between the JVM and Python, in a shuffle and in
a sort is by the number of its columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

import numpy as np

from cerlab.model.columns import array_from, numbers_of
from cerlab.spark.plan.assignment import RangeAssignment
from cerlab.spark.plan.runs import is_whole

BITS = 63
"""So many bits there are: an int64 that is not negative."""


@dataclass(frozen=True, slots=True)
class BitField:
    """A column of integers from `least` to `greatest`, that many bits from the right."""

    name: str
    least: int
    greatest: int
    shift: int


@dataclass(frozen=True, slots=True)
class BitFields:
    """The columns that are in the column ``k0``; the first of them are the `keys`."""

    fields: tuple[BitField, ...]
    keys: int

    @property
    def names(self) -> list[str]:
        """The columns by name."""
        return [field.name for field in self.fields]

    def least_at(self, place: Sequence[int]) -> int:
        """The least value of events at a place: `place` has the keys."""
        pairs = zip(place, self.fields, strict=False)
        return sum((key - field.least) << field.shift for key, field in pairs)

    def greatest_at(self, place: Sequence[int]) -> int:
        """The greatest value of events at a place."""
        return self.least_at(place) + (1 << self.fields[self.keys - 1].shift) - 1

    def over(self, assignment: RangeAssignment) -> RangeAssignment:
        """The same runs of rows whose only key is the column."""
        first = tuple((self.least_at(place),) for place in assignment.first)
        last = tuple((self.greatest_at(place),) for place in assignment.last)
        return replace(assignment, first=first, last=last)

    def encode(self, columns: Mapping[str, Any]) -> Any:
        """Arrow arrays as one of int64; NULL where one is NULL or outside of its field."""
        first = columns[self.fields[0].name]
        values, outside = np.zeros(len(first), np.int64), np.zeros(len(first), bool)
        for field in self.fields:
            column = columns[field.name]
            outside |= column.is_null().to_numpy(zero_copy_only=False)
            numbers = numbers_of(column.fill_null(field.least))
            outside |= (numbers < field.least) | (numbers > field.greatest)
            values |= (numbers - field.least) << field.shift
        return array_from(values, outside)

    def decode(self, rows: Any) -> Any:
        """The same rows with the columns by their names; all NULL where a row has no place."""
        import pyarrow as pa

        values = rows.column("k0")
        columns = {}
        for n, field in enumerate(self.fields):
            above = self.fields[n - 1].shift if n else BITS
            if is_whole(values):
                mask = (1 << (above - field.shift)) - 1
                columns[field.name] = array_from(
                    ((numbers_of(values) >> field.shift) & mask) + field.least
                )
            else:
                columns[field.name] = pa.nulls(len(values), pa.int64())
        others = [name for name in rows.schema.names if name != "k0"]
        return pa.RecordBatch.from_pydict(
            {**columns, **{name: rows.column(name) for name in others}}
        )


def bit_fields(
    keys: Sequence[tuple[str, int, int]], others: Iterable[tuple[str, int, int]]
) -> BitFields | None:
    """Fields for keys, and for those of some other columns that find room beside them.

    A column is its name, its least and its greatest value. None where there is no room for the
    keys and one more.

    >>> bit_fields([("k0", 100, 107)], [("a", 0, 1), ("b", 0, 2**62)]).names
    ['k0', 'a']
    """
    columns = list(keys)
    for column in others:
        if sum(map(_width, (*columns, column))) <= BITS:
            columns.append(column)
    widths = [*map(_width, columns)]
    if len(columns) < 2 or sum(widths) > BITS:
        return None
    shifts = [*accumulate(reversed(widths), initial=0)][-2::-1]
    fields = tuple(BitField(*column, shift) for column, shift in zip(columns, shifts, strict=True))
    return BitFields(fields, len(keys))


def _width(column: tuple[str, int, int]) -> int:
    _, least, greatest = column
    return (greatest - least).bit_length()
