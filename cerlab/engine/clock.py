"""Where the window begins, for each event of a batch: exact, and by columns where they are whole.

Time does not decrease, so the first position that a window in time still allows only moves forward.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from cerlab.engine.kernels.window import window_starts
from cerlab.model.clauses import AttributeWindow, EventWindow, TimeWindow, Window
from cerlab.model.clock import Instant, TimeAxis, check_order, clock_for
from cerlab.model.event import Event, Timestamp

SAFE = 1 << 61
"""Beyond this, sums of instants and widths are left to Python's integers."""


class WindowStarts:
    """The position of the first event inside the window of each event, batch by batch.

    Without a window, and for windows in events, it is -1 everywhere.
    """

    def __init__(self, window: Window | None, axis: TimeAxis | None) -> None:
        self._window = window
        self._axis = axis
        self._times: list[Instant] | Any = []
        self._positions: Any = np.zeros(0, np.int64)
        if isinstance(window, TimeWindow):
            clock_for(window, axis)

    def read(self, columns: Mapping[str, Any], positions: Any) -> Any:
        """For each event the first position inside its window: int64 (events,).

        `positions` are those in the stream, int64 (events,). Raises `BadData` for a time that is
        missing or goes back.
        """
        window = self._window
        if window is None or isinstance(window, EventWindow):
            return np.full(len(positions), -1, np.int64)
        if not len(positions):
            return np.zeros(0, np.int64)
        width, attribute = self._width(window)
        times = self._whole(columns.get(attribute))
        exact = (
            times is not None
            and isinstance(width, int)
            and width < SAFE
            and isinstance(self._times, np.ndarray | list)
            and (isinstance(self._times, np.ndarray) or not self._times)
        )
        if exact:
            return self._by_columns(times, width, positions)
        return self._by_events(columns, positions, width)

    def lowest(self) -> int:
        """The lowest start that an event at the present time would still allow; -1 for any."""
        return int(self._positions[0]) if len(self._positions) else -1

    def inside(self) -> tuple[Any, Any]:
        """The instants and positions of the events inside the window, for `resume`."""
        return self._times, self._positions

    def resume(self, times: list[Instant], positions: list[int]) -> None:
        """Go on after these events."""
        self._times = times
        self._positions = np.array(positions, np.int64)
        if all(isinstance(t, int) and abs(t) < SAFE for t in times):
            self._times = np.array(times, np.int64)

    def _width(self, window: TimeWindow | AttributeWindow) -> tuple[Any, str]:
        if isinstance(window, TimeWindow):
            assert self._axis is not None
            return window.nanoseconds, self._axis.attribute
        return window.width, window.attribute

    def _whole(self, column: Any) -> Any | None:
        """The instants as int64, where the column is one of integers or moments without NULL."""
        import pyarrow as pa

        if not isinstance(column, pa.Array | pa.ChunkedArray) or column.null_count:
            return None
        moment = pa.types.is_timestamp(column.type)
        if moment != isinstance(self._window, TimeWindow) and not self._has_unit():
            return None
        if moment:
            column = column.cast(pa.timestamp("ns")).cast(pa.int64())
        elif not pa.types.is_signed_integer(column.type):
            return None
        values = (
            column.to_numpy(zero_copy_only=False)
            if isinstance(column, pa.Array)
            else (column.combine_chunks().to_numpy())
        )
        values = values.astype(np.int64)
        factor = self._axis.unit.value if not moment and self._has_unit() else 1  # type: ignore[union-attr]
        if len(values) and max(abs(int(values[0])), abs(int(values[-1]))) >= SAFE // factor:
            return None
        return values * factor

    def _has_unit(self) -> bool:
        return (
            isinstance(self._window, TimeWindow)
            and self._axis is not None
            and self._axis.unit is not None
        )

    def _by_columns(self, times: Any, width: int, positions: Any) -> Any:
        carried = np.asarray(self._times, np.int64)
        whole = np.concatenate((carried, times))
        where = np.concatenate((self._positions, positions))
        first = np.zeros(len(times), np.int64)
        back = window_starts(whole, width, len(carried), first)
        if back >= 0:
            check_order(int(whole[back - 1]), int(whole[back]), int(where[back]))
        self._keep(whole, where, int(first[-1]))
        return where[first]

    def _by_events(self, columns: Mapping[str, Any], positions: Any, width: Any) -> Any:
        from fractions import Fraction

        assert isinstance(self._window, TimeWindow | AttributeWindow)
        clock = clock_for(self._window, self._axis)
        _, attribute = self._width(self._window)
        values = _values(columns, attribute, len(positions))
        carried = (
            [int(t) for t in self._times]
            if isinstance(self._times, np.ndarray)
            else (list(self._times))
        )
        times = [
            clock(Event("?", {attribute: value}), position)
            for value, position in zip(values, positions.tolist(), strict=True)
        ]
        whole = [*carried, *times]
        where = np.concatenate((self._positions, positions))
        for n, (before, now) in enumerate(pairwise(whole)):
            check_order(before, now, int(where[n + 1]))
        exact = width if isinstance(width, int) else Fraction(width)
        first = [bisect_left(whole, time - exact) for time in times]
        self._keep(whole, where, first[-1])
        return where[np.array(first, np.int64)]

    def _keep(self, times: Any, positions: Any, first: int) -> None:
        """What later events may still have in their window."""
        self._times, self._positions = times[first:], positions[first:]


def _values(columns: Mapping[str, Any], attribute: str, length: int) -> Sequence[Any]:
    """A column as values of events; NULL where there is no such column."""
    column = columns.get(attribute)
    if column is None:
        return [None] * length
    if not hasattr(column, "type"):
        values: Sequence[Any] = column
        return values
    import pyarrow as pa

    if pa.types.is_timestamp(column.type) or pa.types.is_date(column.type):
        whole = column.cast(pa.timestamp("ns")).cast(pa.int64())
        return [None if n is None else Timestamp(n) for n in whole.to_pylist()]
    listed: Sequence[Any] = column.to_pylist()
    return listed
