"""THROTTLE: after an end with answers, a substream yields no answers for some time.

It applies after all other clauses, to the ends of answers alone. So one filter serves every
evaluator: it reads keys and times of each batch of events, and decides end by end.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from math import ceil
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from cerlab.engine.answers import AnswerBatch, events_of_streams
from cerlab.engine.codec import AXIS, Layout
from cerlab.engine.instants import TimeColumn, list_of
from cerlab.engine.kernels.arrays import NONE, Int64s
from cerlab.engine.state import number_keys
from cerlab.engine.state_checks import check_times, expect, is_whole
from cerlab.model.answer import ComplexEvent, Valuation
from cerlab.model.clauses import EventWindow, Window
from cerlab.model.event import is_of_streams
from cerlab.model.stream import Instant, Stream, TimeAxis
from cerlab.predicates.columns.key_codes import KeyCodes

Answer = TypeVar("Answer", ComplexEvent, Valuation)

THROTTLE = Layout(
    "cerlab-throttle",
    1,
    {"time": AXIS, "read": int, "now": tuple, "keys": tuple, "given": tuple, "last": tuple},
    {"run": "|u1 bytes"},
)
"""The saved values: the axis of a throttle in hours, minutes or seconds; the number of events; the
time of the last event, if measured; the keys of the substreams; for each substream the last given
end and its time, then its last event and the time of that. The array is the state of the run whose
answers are filtered."""


class _Rows(NamedTuple):
    """The events of a batch that are in FROM: positions, substreams and times."""

    positions: Any
    keys: Sequence[int]
    times: Any


class _Latest(NamedTuple):
    """The times of a batch's events, and the time of the last end in each substream."""

    keys: Int64s  # (events,)
    times: Int64s  # (events,)
    time: Int64s  # (substreams,)
    is_given: NDArray[np.bool_]  # (substreams,): whether THROTTLE has kept an end of the substream


MOST = np.iinfo(np.int64).max
"""The largest distance in 64 bits."""

_NO_ROWS = _Rows((), (), [])


class Throttle:
    """A filter that keeps the answers of an end if THROTTLE allows it."""

    def __init__(
        self,
        throttle: Window,
        streams: Sequence[str],
        partition: Sequence[str],
        time: TimeAxis | None,
        *,
        carried: bool,
    ) -> None:
        """Create the filter; `carried` means that an answer may end before the current batch.

        Raises `UsageError` for hours, minutes or seconds without a time axis.
        """
        self._streams = streams
        self._codes = KeyCodes(partition) if partition else None
        self._keeps_last = carried or isinstance(throttle, EventWindow)
        self._clock: TimeColumn | None = None
        if isinstance(throttle, EventWindow):
            self._width: Instant = throttle.width
        else:
            self._clock = TimeColumn(throttle, time)
            self._width = self._clock.width
        self.position = 0
        """The number of events read."""
        self._given: dict[int, tuple[int, Instant]] = {}
        self._last: dict[int, tuple[int, Instant]] = {}
        """By substream: its last event before the batch, and the time of that."""
        self._ends: dict[int, int] = {}
        """The substream of each of these events."""
        self._first, self._rows = 0, _NO_ROWS
        self._before: Instant | None = None
        self._latest: _Latest | None = None
        """The arrays of `may_give`, for the events of one batch."""

    def read(self, events: Stream) -> None:
        """Read the events of a batch; call this before `gives`.

        Raises `BadData` for a time that is missing or goes back; nothing is read then.
        """
        self._before = None if self._clock is None else self._clock.last
        self._rows = self._read_columns(events) if events.is_columnar else self._read_events(events)
        self._first, self.position = self.position, self.position + len(events)
        self._latest = None

    def read_numbered(
        self,
        columns: Mapping[str, Any],
        numbers: Int64s,
        keys: Int64s,
        counts: Int64s,
        place: Callable[[int], int],
        given: Mapping[int, tuple[int, Instant]],
    ) -> None:
        """Read only the events that the next ends may be, instead of a whole batch.

        Args:
            columns: the attributes of the events.
            numbers: the increasing numbers of the events, which ends are.
            keys: their substreams; the events of each are in order.
            counts: the number of each event in its substream.
            place: the position of an event, by its index, for errors.
            given: by substream, the end that was given last, and its time.

        Raises:
            BadData: for a missing time.
        """
        times: Any = counts
        if self._clock is not None:
            times = self._clock.instants(columns, len(numbers), place)
        self._rows = _Rows(numbers, keys.tolist(), times)
        self._first, self.position = int(numbers[0]), int(numbers[-1]) + 1
        self._given = dict(given)

    @property
    def given(self) -> Mapping[int, tuple[int, Instant]]:
        """The last end in each substream that THROTTLE kept, with its time."""
        return self._given

    def _read_columns(self, events: Stream) -> _Rows:
        columns, inside = events_of_streams(self._streams, events.columns, len(events))
        positions, count = inside + self.position, len(inside)
        times: Any = None
        if self._clock is not None:
            times = self._clock.read(columns, count, positions.item)
        keys = [0] * count
        if self._codes is not None:
            keys = self._codes.codes(columns, count).tolist()
        return _Rows(positions, keys, self._numbers(keys) if times is None else times)

    def _read_events(self, events: Stream) -> _Rows:
        pairs = [
            (n, event)
            for n, event in enumerate(events, self.position)
            if is_of_streams(event, self._streams)
        ]
        positions, some = [n for n, _ in pairs], [event for _, event in pairs]
        times: Any = None
        if self._clock is not None:
            times = self._clock.read_events(some, positions)
        keys = [0] * len(some)
        if self._codes is not None:
            keys = [*map(self._codes.code, some)]
        return _Rows(positions, keys, self._numbers(keys) if times is None else times)

    def _numbers(self, keys: Sequence[int]) -> list[int]:
        """Return the number of each event in its substream."""
        last: dict[int, Any] = {key: number for key, (_, number) in self._last.items()}
        numbers = []
        for key in keys:
            last[key] = last.get(key, -1) + 1
            numbers.append(last[key])
        return numbers

    def settle(self, read: int) -> None:
        """Mark the batch as read up to position `read`; forget its later events."""
        rows, self._rows = self._rows, _NO_ROWS
        every = len(rows.positions)
        count = every if read == self.position else bisect_left(rows.positions, read)
        self.position = read
        if self._clock is not None and count < every:
            self._clock.last = list_of(rows.times[count - 1 : count])[0] if count else self._before
        if not self._keeps_last:
            return
        places = zip(map(int, rows.positions[:count]), list_of(rows.times[:count]), strict=True)
        last = dict(zip(rows.keys[:count], places, strict=True))
        last.pop(NONE, None)
        for key, place in last.items():
            if key in self._last:
                del self._ends[self._last[key][0]]
            self._last[key] = place
            self._ends[place[0]] = key

    def gives(self, end: int) -> bool:
        """Return whether THROTTLE keeps the answers at `end`; ask in stream order.

        An end is an event of the batch, or the last event of its substream before the batch.
        """
        key, now = self._event(end)
        if (before := self._given.get(key)) is not None and before[0] != end:
            distance: Any = now - before[1]
            if distance < self._width:
                return False
        self._given[key] = end, now
        if self._latest is not None:
            self._latest.time[key], self._latest.is_given[key] = now, True
        return True

    def may_give(self, ends: Int64s) -> NDArray[np.bool_]:
        """Return, for each of `ends`, whether THROTTLE would keep it as the next end.

        An event is also included if the exact comparison needs more than 64 bits.
        """
        latest = self._latest = self._latest or self._latest_of_keys()
        if latest is None:
            return np.ones(len(ends), np.bool_)
        n, positions = ends - self._first, self._rows.positions
        if len(positions) != self.position - self._first:
            n = np.searchsorted(positions, ends)
        keys = latest.keys[n]
        distance = latest.times[n] - latest.time[keys]
        # a negative distance is an overflow of 64 bits, since times never go back
        far = (distance < 0) | (distance >= min(ceil(self._width), MOST))
        return np.array(far | ~latest.is_given[keys], np.bool_)

    def _latest_of_keys(self) -> _Latest | None:
        """Return the last kept end's time in each substream; None if times are not int64."""
        times: Any = self._rows.times
        # without a clock, times are the events' numbers in their substreams
        if isinstance(times, list) and self._clock is None:
            times = np.array(times, np.int64)
        if not isinstance(times, np.ndarray) or times.dtype != np.int64:
            return None
        keys = np.array(self._rows.keys, np.int64)
        many = 1 + int(keys.max(initial=0))
        latest = _Latest(keys, times, np.zeros(many, np.int64), np.zeros(many, np.bool_))
        for key, (_, now) in self._given.items():
            if key < many:
                latest.time[key], latest.is_given[key] = now, True
        return latest

    def _event(self, end: int) -> tuple[int, Instant]:
        """Return the substream and the time of the event at `end`."""
        if (key := self._ends.get(end)) is not None:
            return key, self._last[key][1]
        positions, keys, times = self._rows
        n = end - self._first
        if len(positions) != self.position - self._first:
            n = bisect_left(positions, end)
        return keys[n], list_of(times[n : n + 1])[0]

    def leave(self, answers: Iterable[Answer]) -> Iterator[Answer]:
        """Yield the answers that THROTTLE keeps; they must come by end."""
        for end, of_end in groupby(answers, key=_end):
            if self.gives(end):
                yield from of_end

    def leave_of_part(self, answers: Iterable[Answer], *, exhausts: bool) -> Iterable[Answer]:
        """Return the answers that THROTTLE keeps, in one part of a run's results.

        An iterator contains answers of one end. If the end is not given, its other answers are not
        listed, unless the filter `exhausts` them, because consumption acts after the last answer.
        """
        if isinstance(answers, AnswerBatch):
            return self.leave_of_batch(answers)
        if not isinstance(answers, Iterator):
            return tuple(self.leave(answers))
        first: Answer | None = next(answers, None)
        if first is not None and self.gives(first.end):
            return _with_first(first, answers)
        if exhausts:
            deque(answers, 0)
        return ()

    def leave_of_batch(self, batch: AnswerBatch) -> AnswerBatch:
        """Return the answers of a batch that THROTTLE keeps."""
        begins = np.flatnonzero(np.diff(batch.end, prepend=NONE))
        given = [self.gives(end) for end in batch.end[begins].tolist()]
        if all(given):
            return batch
        lengths = np.diff(begins, append=len(batch.end))
        return batch.take(np.flatnonzero(np.repeat(given, lengths)))

    def state(self) -> dict[str, Any]:
        """Return the state for saving (`THROTTLE`), except for the time axis."""
        self.settle(self.position)
        return {
            "read": self.position,
            "now": [] if self._clock is None or self._clock.last is None else [self._clock.last],
            "keys": [] if self._codes is None else self._codes.keys(),
            "given": [(key, *place) for key, place in self._given.items()],
            "last": [(key, *place) for key, place in self._last.items()],
        }

    def resume(self, values: Any) -> None:
        """Restore the result of `state`; damaged values raise `BadData` or another error."""
        self.position = read = values["read"]
        number_keys(self._codes, values["keys"])
        keys = 1 if self._codes is None else self._codes.count
        for name, places in (("given", self._given), ("last", self._last)):
            for key, end, now in values[name]:
                expect(is_whole(key, 0, keys) and key not in places, "the substream of an end")
                expect(is_whole(end, 0, read), "an end")
                check_times((now,))
                places[key] = end, now
        self._ends = {end: key for key, (end, _) in self._last.items()}
        expect(len(self._ends) == len(self._last), "the last events")
        if self._clock is not None and values["now"]:
            (self._clock.last,) = values["now"]
            check_times(values["now"])


def _with_first(first: Answer, others: Iterator[Answer]) -> Iterator[Answer]:
    yield first
    yield from others


def _end(answer: ComplexEvent | Valuation) -> int:
    return answer.end
