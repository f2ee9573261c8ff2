"""Instants of events by columns, exact; and the events inside a window or a wait of each.

Times do not decrease, so a search by value finds where a window begins and where a wait ends.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, TypeAlias, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from cerlab.budget import poll
from cerlab.engine.kernels.arrays import Int32s, Int64s
from cerlab.engine.kernels.windowed import (
    wait_ends_by_group,
    window_starts,
    window_starts_by_group,
)
from cerlab.model.stream import Instant

# the difference of two such instants, less such a width, is below 2^63
SAFE = 1 << 61
"""Beyond this, sums of instants and widths are left to Python's integers."""

Float64s: TypeAlias = NDArray[np.float64]


class Doubles(Sequence[Instant]):
    """Instants that are doubles times a whole number; exact, by columns."""

    def __init__(self, values: Float64s, factor: int, *, whole: bool = False) -> None:
        """`values` are finite, (events,), `whole` ones integers; `factor` is the units in 1."""
        self.values = values
        self.factor = factor
        self.whole = whole

    @property
    def kind(self) -> tuple[int, bool]:
        """The factor, and whether the values are integers: instants of one array share both."""
        return self.factor, self.whole

    def __len__(self) -> int:
        return len(self.values)

    @overload
    def __getitem__(self, index: int) -> Instant: ...
    @overload
    def __getitem__(self, index: slice | NDArray[np.integer[Any]]) -> Doubles: ...
    def __getitem__(self, index: int | slice | NDArray[np.integer[Any]]) -> Instant | Doubles:
        if isinstance(index, slice) or np.ndim(index):
            return Doubles(self.values[index], self.factor, whole=self.whole)
        return self._exact(float(self.values[index])) * self.factor

    @property
    def _exact(self) -> Callable[[float], Instant]:
        return int if self.whole else Fraction

    def tolist(self) -> list[Instant]:
        """Return the instants as Python's numbers."""
        return [self._exact(value) * self.factor for value in self.values.tolist()]

    def shifted(self, width: Instant) -> tuple[Float64s, Float64s] | None:
        """Return the least doubles not below each instant plus `width`, and the greatest not above.

        None where the width, in the unit of the values, is no double. The sum s of two doubles is
        off by a double, which is exact as Knuth's two-sum computes it: then no double is between s
        and what it stands for, so the next one is the bound.
        """
        exact = Fraction(width) / self.factor
        try:
            if exact != (w := float(exact)):
                return None
        except OverflowError:
            return None
        with np.errstate(invalid="ignore", over="ignore"):
            s = self.values + w
            rest = s - self.values
            off = (self.values - (s - rest)) + (w - rest)
            least = np.where(off > 0, np.nextafter(s, np.inf), s)
            return least, np.where(off < 0, np.nextafter(s, -np.inf), s)

    def below(self, time: Instant) -> NDArray[np.bool_]:
        """Whether each instant is before a time."""
        exact = Fraction(time) / self.factor
        try:
            nearest = float(exact)
        except OverflowError:
            return np.full(len(self), exact > 0)
        return self.values <= nearest if nearest < exact else self.values < nearest


Instants: TypeAlias = Int64s | Doubles | list[Instant]
"""Exact instants, in an array where they are whole and 64 bits hold them, or are doubles."""

Scalar = TypeVar("Scalar", bound=np.generic)


def instant_at(times: Int64s | Doubles, index: int) -> Instant:
    """Return one instant as Python's number."""
    return int(times[index]) if isinstance(times, np.ndarray) else times[index]


def join_instants(parts: Sequence[Instants]) -> Instants:
    """Instants one after the other: by columns if all of them are of one kind."""
    some = [part for part in parts if len(part)] or parts[:1]
    arrays = [part for part in some if isinstance(part, np.ndarray)]
    doubles = [part for part in some if isinstance(part, Doubles)]
    if arrays and len(arrays) == len(some):
        return join_arrays(arrays)
    if doubles and len(doubles) == len(some) and len({part.kind for part in doubles}) == 1:
        factor, whole = doubles[0].kind
        return Doubles(join_arrays([part.values for part in doubles]), factor, whole=whole)
    return [time for part in parts for time in list_of(part)]


def list_of(times: Instants) -> list[Instant]:
    """Return instants as Python's numbers."""
    return times if isinstance(times, list) else times.tolist()


def take_instants(times: Instants, indices: NDArray[np.integer[Any]]) -> Instants:
    """Return the instants at some indices."""
    return [times[n] for n in indices.tolist()] if isinstance(times, list) else times[indices]


def join_arrays(parts: Sequence[NDArray[Scalar]]) -> NDArray[Scalar]:
    """Arrays one after the other; not copied where only one holds anything."""
    some = [part for part in parts if len(part)] or parts[:1]
    return some[0] if len(some) == 1 else np.concatenate(some)


def first_inside(times: Instants, width: Instant, begin: int) -> Int32s:
    """The index of the first event not more than `width` before each event from `begin` on.

    `times` do not decrease. Shape (events - begin,).
    """
    first = np.empty(len(times) - begin, np.int32)
    if isinstance(times, np.ndarray):
        window_starts(times, int(width), begin, first)
    elif isinstance(times, Doubles) and (bounds := times[begin:].shifted(-width)) is not None:
        first[:] = np.searchsorted(times.values, bounds[0])
    else:
        some = list_of(times)
        first[:] = [bisect_left(some, time - width) for time in some[begin:]]
    return first


def first_in_group(groups: Int64s, times: Instants, width: Instant) -> tuple[Int64s, int]:
    """The index of the first event of its group not more than `width` before each event.

    Shape (events,); events lie group by group. With the index of one whose time is before that of
    the one before it in its group, or -1.
    """
    first = np.empty(len(times), np.int64)
    if isinstance(times, np.ndarray) and isinstance(width, int):
        return first, int(window_starts_by_group(groups, times, width, first))
    for group in _each(groups):
        if (back := back_at(times[group])) >= 0:
            return first, group.start + back
        first[group] = first_inside(times[group], width, 0) + group.start
    return first, -1


def last_in_group(groups: Int64s, times: Instants, width: Instant) -> Int64s:
    """The index of the last event of its group not more than `width` after each event.

    Shape (events,); events lie group by group, where times do not decrease.
    """
    last = np.empty(len(times), np.int64)
    if isinstance(times, np.ndarray) and isinstance(width, int):
        wait_ends_by_group(groups, times, width, last)
        return last
    for group in _each(groups):
        some = times[group]
        if isinstance(some, Doubles) and (bounds := some.shifted(width)) is not None:
            ends = np.searchsorted(some.values, bounds[1], "right")
        else:
            every = list_of(some)
            ends = np.array([bisect_right(every, time + width) for time in every], np.int64)
        last[group] = ends - 1 + group.start
    return last


def _each(groups: Int64s) -> Iterator[slice]:
    """Yield the events of each group."""
    bounds = [0, *(np.flatnonzero(np.diff(groups)) + 1).tolist(), len(groups)]
    for start, end in pairwise(bounds if len(groups) else ()):
        poll()
        yield slice(start, end)


def back_at(times: Instants) -> int:
    """The index of the first instant that is before the one before it, or -1."""
    if isinstance(times, Doubles):
        back = np.flatnonzero(times.values[1:] < times.values[:-1])
        return int(back[0]) + 1 if len(back) else -1
    pairs = enumerate(pairwise(list_of(times)), 1)
    return next((n for n, (before, after) in pairs if after < before), -1)
