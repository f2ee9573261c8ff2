"""The window scan: each batch is read together with the events of one window before it.

An answer inside a window depends on the events of one window. So a batch is read together with the
last window before it, and only the idle state is carried over: no run, no node. All events of that
window are kept, including those without effect, since a later, new symbol can make them relevant.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from cerlab.automata.plan import Plan
from cerlab.budget import poll
from cerlab.computed import cached_property
from cerlab.engine.answers import (
    rows_of_streams,
    until_bad,
)
from cerlab.engine.flat_program import Program, Read
from cerlab.engine.instants import (
    Instants,
    clock_of,
    first_inside,
    join_arrays,
    join_instants,
    take_instants,
)
from cerlab.engine.kernels import arrays as k
from cerlab.engine.kernels.arrays import Int32s, Int64s, Symbols
from cerlab.engine.kernels.windowed import idle_after, relevant, relevant_once
from cerlab.engine.run import AtOnce
from cerlab.engine.symbol_tables import LearnedTables
from cerlab.engine.tecs_run import CONSUMES, KEYS_KEPT
from cerlab.errors import BadData
from cerlab.model.arrays import allocate
from cerlab.model.clauses import EventWindow, Strategy
from cerlab.model.columns import slice_columns, some_columns, take_columns
from cerlab.model.stream import Instant, Stream, TimeAxis
from cerlab.predicates.columns.key_codes import KeyCodes

Result = TypeVar("Result")


def why_not_windowed(plan: Plan) -> str | None:
    """Return why a plan needs the general engine; None if the window scan supports it."""
    if plan.window is None:
        return "without WITHIN an answer may begin at any time, so nothing can be left out"
    if plan.partition and isinstance(plan.window, EventWindow):
        return "WITHIN n EVENTS counts all events of a partition, also those that change nothing"
    if plan.partition and plan.strategy not in (None, Strategy.STRICT):
        return f"{plan.strategy.value} remembers, in each partition, what came before the window"
    return None


class ScanResult(NamedTuple):
    """The input of the last scan, and the events that ended answers."""

    program: Program | None
    batches: list[Batch]
    events: RelevantEvents
    ends: k.Int32s  # indices of events that ended answers


class WindowScan(AtOnce[Result], ABC, Generic[Result]):
    """A plan on one stream, evaluated by window scans.

    Results may be held back until the unread events are as many as one window; `finish` returns the
    rest. Subclasses define `_evaluate`.
    """

    def __init__(self, plan: Plan, tables: LearnedTables, time: TimeAxis | None = None) -> None:
        self._plan = plan
        self._tables = tables
        assert plan.window is not None
        self._clock = clock_of(plan.window, time)
        self._width = self._clock.width
        self._consume = CONSUMES[plan.consume]
        self.begin(0, 0)

    def begin(self, position: int, end: int) -> None:
        """Restart at position `position`; report only results at event `end` or later.

        The events before `position` must be outside their window. Do not start in the middle of a
        stream for strategies and CONSUME BY, which depend on more than a window.
        """
        self._position = position
        self._end = end
        self._pending: list[Batch] = []
        self._last_scan: ScanResult | None = None
        self._window_before: Batch | None = None
        self._idle = self._tables.machine.idle
        self._keys = KeyCodes(self._plan.partition) if self._plan.partition else None
        self._clock.last = None

    def push_columns(self, columns: Mapping[str, Any], length: int) -> Iterator[Result]:
        """Read a batch of `length` events, given as columns.

        Yield the results that they complete. Exhaust it before the next call.

        `columns` are in the form of `SymbolStage.symbols`. Raises `BadData` for a time that is
        missing or goes back, after all results of the events before it, and `ResourceLimit` if
        determinisation does.
        """
        try:
            yield from until_bad(self._push, columns, length, slice_columns)
        except BadData:
            yield from self.finish()
            raise

    def push(self, events: Stream) -> Iterator[Result]:
        """Read the events of a stream; yield the results."""
        return self.push_columns(events.columns, len(events))

    def _push(self, columns: Mapping[str, Any], length: int) -> Iterator[Result]:
        """Return the results of a batch; if it has a bad event, raise before reading any."""
        batch = self._batch(columns, length)
        return iter(()) if batch is None else self._append(batch)

    def _append(self, batch: Batch) -> Iterator[Result]:
        self._carry_over()
        self._pending.append(batch)
        before = len(self._window_before.symbols) if self._window_before else 0
        # a scan rereads the window: with as many new events, each event is read twice on average
        if sum(len(batch.symbols) for batch in self._pending) >= before:
            yield from self._scan()

    def _batch(self, columns: Mapping[str, Any], length: int) -> Batch | None:
        """Return the next events in FROM, or None."""
        start, read = self._position, length
        inside = rows_of_streams(self._plan.streams, columns)
        positions = None
        if inside is not None:
            columns = take_columns(columns, inside)
            positions, length = inside + start, len(inside)
        if not length:
            self._position += read
            return None
        symbols = self._tables.symbols(columns, length)
        keys = some_columns(columns, self._plan.partition)
        batch = Batch(symbols, [], start, positions, keys, None)
        times = self._clock.read(columns, length, lambda i: int(batch.at(i)))
        self._position += read
        return batch._replace(times=times)

    def _batches(self) -> list[Batch]:
        """Return the events of the last window and the unread batches."""
        return [*([self._window_before] if self._window_before else []), *self._pending]

    @property
    def position(self) -> int:
        """The number of events read, which is the position of the next event."""
        return self._position

    @property
    def lowest(self) -> int:
        """The lowest start position that a later answer may have; 0 if unknown."""
        batches = self._batches() if self._last_scan is None else self._last_scan.batches
        first = next((batch for batch in batches if len(batch.symbols)), None)
        return 0 if first is None else int(first.at(np.zeros(1, np.int64))[0])

    def finish(self) -> Iterator[Result]:
        """Yield the results that waited for more events."""
        if self._pending:
            yield from self._scan()

    def _scan(self) -> Iterator[Result]:
        """Scan the last window together with the unread batches; yield the results."""
        poll()
        batches = self._batches()
        program = self._tables.program()
        events = relevant_events(program, batches, self._keys, self._width)
        again = events.before(max(self._end, self._pending[0].start))
        ends = yield from self._evaluate(program, events, again)
        self._pending = []
        self._last_scan = ScanResult(program, batches, events, ends)

    @abstractmethod
    def _evaluate(
        self, program: Program | None, events: RelevantEvents, again: int
    ) -> Generator[Result, None, k.Int32s]:
        """Yield results at events from index `again` on; return the indices of all final events."""

    @property
    def _partitions(self) -> int:
        return max(1, self._keys.count) if self._keys else 1

    def _carry_over(self) -> None:
        """Keep the events that may be in a later window and are not consumed."""
        if self._last_scan is None:
            return
        program, batches, events, ends = self._last_scan
        again = last_window(batches, self._width, self._keys)
        at, codes = again.positions, again.codes
        assert at is not None
        assert codes is not None
        # events up to the last consumed one are in no later answer
        over = np.full(self._partitions, -1, np.int64)
        if self._consume == k.RESET_ALL and len(ends):
            over[:] = events.positions[ends[-1]]
        elif self._consume == k.RESET_PARTITION and len(ends):
            over[events.codes[ends]] = events.positions[ends]
        live = np.flatnonzero((codes != k.NONE) & (at > over[codes]))
        if program is not None and len(program.idle_of) > 1:
            stop = int(at[live[0]]) if len(live) else self._position
            self._idle = self._idle_at(program, batches, stop, int(over[0]))
        self._window_before = again.take(live)
        self._last_scan = None
        if program is not None:  # without a program, partitions keep their numbers
            self._forget_keys()

    def _forget_keys(self) -> None:
        """Renumber partitions if most of them have no event in the window."""
        if self._keys is None or self._window_before is None:
            return
        assert self._window_before.codes is not None
        live, codes = np.unique(self._window_before.codes, return_inverse=True)
        if self._keys.count > KEYS_KEPT + 2 * len(live):
            self._keys = self._keys.only(live.tolist())
            self._window_before = self._window_before._replace(codes=codes.astype(np.int32))

    def _idle_at(self, program: Program, batches: list[Batch], position: int, restart: int) -> int:
        """Return the idle state before a position, after a restart at `restart`."""
        idle = self._idle if restart < 0 else self._tables.machine.idle
        for batch in batches:
            at = batch.at(np.arange(len(batch.symbols)))
            between = batch.symbols[(restart < at) & (at < position)]
            idle = idle_after(between, program.waits, idle)
        return int(idle)


class Batch(NamedTuple):
    """A batch of events of the stream, as arrays."""

    symbols: Symbols  # of the predicate stage
    times: Instants  # (events,): in the unit of the window
    start: int  # the position of the first event
    positions: Int64s | None  # (events,); None if consecutive from `start`
    keys: Mapping[str, Any]  # the columns of PARTITION BY
    codes: Int32s | None  # (events,): the partition or NONE, if known

    def at(self, indices: Any) -> Any:
        """Return the positions of the events at some indices."""
        return indices + np.int64(self.start) if self.positions is None else self.positions[indices]

    def take(self, indices: NDArray[np.integer[Any]]) -> Batch:
        """Return the events at some indices; their partitions must be known."""
        assert self.codes is not None
        times = take_instants(self.times, indices)
        codes = self.codes[indices]
        return Batch(self.symbols[indices], times, 0, self.at(indices), {}, codes)


class RelevantPart(NamedTuple):
    """The relevant events of one batch."""

    batch: Batch
    indices: Int32s  # (events,), in the batch
    actions: Symbols  # (events,): the action in the program
    codes: Int32s | None  # (events,); None for a single partition


class RelevantEvents:
    """The relevant events of several batches, as joined arrays.

    Most properties are computed only if there are answers.
    """

    def __init__(self, parts: Sequence[RelevantPart], width: Instant) -> None:
        self.parts = parts
        self._width = width
        self.count = sum(len(part.indices) for part in parts)

    def before(self, position: int) -> int:
        """Return the number of relevant events before a position."""
        return sum(bisect_left(part.indices, position, key=part.batch.at) for part in self.parts)

    @cached_property
    def actions(self) -> Symbols:
        """The action of each event."""
        return join_arrays([part.actions for part in self.parts])

    @cached_property
    def symbols(self) -> Symbols:
        """The symbol of each event."""
        return join_arrays([part.batch.symbols[part.indices] for part in self.parts])

    @cached_property
    def codes(self) -> Int32s:
        """The partition of each event, or NONE."""
        codes = [part.codes for part in self.parts if part.codes is not None]
        return (
            join_arrays(codes) if len(codes) == len(self.parts) else np.zeros(self.count, np.int32)
        )

    @cached_property
    def positions(self) -> Int64s:
        """The position of each event."""
        return join_arrays([part.batch.at(part.indices) for part in self.parts])

    @property
    def positions_and_offset(self) -> tuple[NDArray[np.signedinteger[Any]], int]:
        """The positions minus a common offset in 32 bits, and the offset.

        In 32 bits, whatever the batches: kernels are compiled for one width of integers.
        """
        only = self.parts[0]
        if len(self.parts) == 1 and only.batch.positions is None:
            return only.indices, only.batch.start
        positions = self.positions
        if not len(positions) or positions[-1] - positions[0] > np.iinfo(np.int32).max:
            return positions, 0
        offset = int(positions[0])
        return (positions - offset).astype(np.int32), offset

    @cached_property
    def times(self) -> Instants:
        """The instants of the events, in the unit of the window."""
        return join_instants([take_instants(part.batch.times, part.indices) for part in self.parts])

    @cached_property
    def first(self) -> Int32s:
        """The index of the first event in the window of each event."""
        return first_inside(self.times, self._width, 0)

    @property
    def times_by_index(self) -> tuple[Instants, Int32s]:
        """An array of times, and the index of each event's time in it."""
        if len(self.parts) == 1:
            return self.parts[0].batch.times, self.parts[0].indices
        return self.times, np.arange(self.count, dtype=np.int32)


def relevant_events(
    program: Program | None, batches: Sequence[Batch], keys: KeyCodes | None, width: Instant
) -> RelevantEvents:
    """Return the relevant events of some batches; without a program, all events.

    `width` is that of the window.
    """
    if program is None:
        parts = [_every(batch, partitions(batch, keys)) for batch in batches]
    elif (program.read == Read.ONCE).any():
        parts = _parts_with_once(program, batches, keys)
    else:
        parts = [_relevant_part(program, batch, keys) for batch in batches]
    return RelevantEvents(parts, width)


def _every(batch: Batch, codes: Int32s) -> RelevantPart:
    every = np.arange(len(batch.symbols), dtype=np.int32)
    return RelevantPart(batch, every, batch.symbols, codes)


def _room(program: Program, batch: Batch) -> tuple[Int32s, Symbols]:
    size = len(batch.symbols) + 1
    return allocate(size, np.int32), allocate(size, program.action.dtype)


def _relevant_part(program: Program, batch: Batch, keys: KeyCodes | None) -> RelevantPart:
    index, actions = _room(program, batch)
    count = relevant(batch.symbols, program.read, program.action, index, actions)
    indices = index[:count]
    codes = None
    if batch.codes is not None:
        codes = batch.codes[indices]
    elif keys is not None:
        codes = keys.codes(take_columns(batch.keys, indices), count).astype(np.int32)
    return RelevantPart(batch, indices, actions[:count], codes)


def _parts_with_once(
    program: Program, batches: Sequence[Batch], keys: KeyCodes | None
) -> list[RelevantPart]:
    codes = [partitions(batch, keys) for batch in batches]
    fresh = np.ones(keys.count if keys else 1, np.uint8)
    always = Read.ALWAYS.value
    parts = []
    for batch, its_codes in zip(batches, codes, strict=True):
        index, actions = _room(program, batch)
        count = relevant_once(
            batch.symbols, its_codes, program.read, program.action, always, fresh, index, actions
        )
        indices = index[:count]
        parts.append(RelevantPart(batch, indices, actions[:count], its_codes[indices]))
    return parts


def partitions(batch: Batch, keys: KeyCodes | None) -> Int32s:
    """Return the partition of each event of a batch, NONE for no partition."""
    if batch.codes is not None:
        return batch.codes
    if keys is None:
        return np.zeros(len(batch.symbols), np.int32)
    return keys.codes(batch.keys, len(batch.symbols)).astype(np.int32)


def last_window(batches: Sequence[Batch], width: Instant, keys: KeyCodes | None) -> Batch:
    """Return the events at most `width` before the last event, as one batch."""
    now = next(batch.times[-1] for batch in reversed(batches) if len(batch.symbols))
    parts: list[Batch] = []
    for batch in reversed(batches):
        # include irrelevant events, since a new symbol may make them relevant
        cut = bisect_left(batch.times, now - width)
        size = len(batch.symbols) - cut
        inside = np.arange(cut, cut + size)
        columns, positions = take_columns(batch.keys, inside), batch.at(inside)
        codes = None if batch.codes is None else batch.codes[cut:]
        part = Batch(batch.symbols[cut:], batch.times[cut:], 0, positions, columns, codes)
        parts.insert(0, part._replace(codes=partitions(part, keys)))
        if cut:
            break
    return Batch(
        np.concatenate([part.symbols for part in parts]),
        join_instants([part.times for part in parts]),
        0,
        np.concatenate([part.positions for part in parts]),
        {},
        np.concatenate([part.codes for part in parts]),
    )
