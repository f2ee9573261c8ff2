"""Evaluation of the part before a wait, which reads an end only when its answers are decided."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cerlab.automata.labelled import PLACE, first_place
from cerlab.automata.plan import (
    CorrelatedPlan,
    HoldWithin,
    Plan,
)
from cerlab.engine.answers import (
    BATCH,
    PART_OF_LISTED,
    AnswerBatch,
    ListsAt,
    join_answers,
)
from cerlab.engine.kernels.arrays import NONE, Bytes, Int64s
from cerlab.engine.kernels.tecs import NO_IDLE_STATES, NO_RESTARTS, Events
from cerlab.engine.reference.registers import IntervalRuns, event_of, values_of
from cerlab.engine.state import check_nodes, heads, with_names, with_numbers
from cerlab.engine.state_checks import expect, is_inside, is_whole
from cerlab.engine.symbol_tables import LearnedTables
from cerlab.engine.tecs_run import FEW, Tecs
from cerlab.engine.waits.bounds import first_starts
from cerlab.engine.waits.look_back import Source
from cerlab.engine.waits.stage import Ends, ends_at
from cerlab.model.answer import ComplexEvent
from cerlab.model.arrays import order_of
from cerlab.model.clauses import EventWindow
from cerlab.model.event import Event, with_values


class AutomatonBody:
    """The tECS of an automaton before a wait; it reads an end of answers when the wait is over."""

    def __init__(self, plan: Plan, tables: LearnedTables) -> None:
        self._tables = tables
        self._tecs = Tecs(plan, tables, NONE, arena=1 << 14, answers=1 << 15)
        self._least = np.zeros(1, np.int64)

    def read(self, ends: Ends, keys: int) -> Iterator[AnswerBatch]:
        """Yield the answers at ends whose waits are over, each moved to its later end."""
        self._make_room(keys)
        if len(ends.of) <= FEW:
            yield from self._read_few(ends)
            return
        for start in range(0, len(ends.of), BATCH):
            some = ends.some(slice(start, start + BATCH))
            events = Events(
                some.symbols.astype(self._tables.symbol_type),
                *(some.keys, some.of, some.lowest, NO_RESTARTS, NO_IDLE_STATES),
                (~some.given).astype(np.uint8),
            )
            order = np.arange(len(some.of))
            if (np.diff(some.of) < 0).any():
                order = order_of(some.of)
            places = some.of[order]
            for batch in self._tecs.read(events, self._least):
                at = order[np.searchsorted(places, batch.end)]
                yield AnswerBatch(batch.start, some.to[at], batch.offsets, batch.positions)
            np.maximum.at(self._least, some.keys, some.lowest)

    def _read_few(self, ends: Ends) -> Iterator[AnswerBatch]:
        """Yield the answers at a few ends, reading each as a single event."""
        for row in zip(*(column.tolist() for column in ends), strict=True):
            yield from self.read_one(*row)

    def read_one(
        self, of: int, key: int, symbol: int, to: int, lowest: int, given: bool
    ) -> Iterator[AnswerBatch]:
        """Yield the answers at one end, moved to the later end `to`."""
        self._make_room(key + 1)
        for batch in self._tecs.read_one(
            symbol, key, of, lowest, least=self._least, is_silent=not given
        ):
            end = np.full(len(batch), to, np.int64)
            yield AnswerBatch(batch.start, end, batch.offsets, batch.positions)
        self._least[key] = max(self._least[key], lowest)

    def _make_room(self, keys: int) -> None:
        self._tecs.partitions(keys)
        if keys > len(self._least):
            more = np.zeros(2 * keys - len(self._least), np.int64)
            self._least = np.concatenate((self._least, more))

    def state(self, keys: int) -> tuple[Any, dict[str, Any]]:
        """Return the names of macro-states, and the arrays of `TECS`, for saving."""
        self._make_room(keys)
        self._tecs.forget(self._least[: len(self._tecs.parts.start)])
        names, arrays = with_names(self._tables.machine, self._tecs.arrays(keys))
        return [*names.values()], arrays

    def resume(
        self, state: Any, arrays: Mapping[str, Any], waiting: Sequence[Ends], read: int
    ) -> None:
        """Restore the result of `state`; damaged values raise `BadData` or another error.

        The events of a substream that the tECS has read come before the ends that wait.
        """
        states, idle = state
        expect(is_inside(arrays["seen"], 0, read + 1), "how many events a partition has seen")
        latest = check_nodes(arrays, read, read)
        named = with_numbers(self._tables.machine, {"states": states, "idle": idle}, arrays)
        last = _latest_nodes(arrays, latest).tolist()
        for some in waiting:
            for of, key in zip(some.of.tolist(), some.keys.tolist(), strict=True):
                expect(last[key] < of, "the order of the ends that wait")
                last[key] = of
        self._tecs.resume(named)


def _latest_nodes(arrays: Mapping[str, Any], latest: Int64s) -> Int64s:
    """Return the latest position below the nodes of each partition; NONE without nodes."""
    pool, lengths = arrays["pool"], arrays["length"]
    is_node = np.ones(len(pool), np.bool_)
    head = heads(pool)
    is_node[head] = is_node[head + 1] = False
    # a bottom has no position, only a start
    of_node = np.maximum(latest, arrays["max_start"])[pool[is_node]]
    last = np.full(len(lengths), NONE, np.int64)
    np.maximum.at(last, np.repeat(np.arange(len(lengths)), lengths)[is_node], of_node)
    return last


SELECTED = 1 << 16
"""The most ends that a strategy selects at together, because their answers are sorted by end."""

READ_TOGETHER = 1 << 22
"""About how many events of windows are read together; each takes 40 bytes."""


class SelectingBody:
    """An automaton whose strategy selects among the answers that the steps leave.

    Rivals have to start late enough too. So the tECS reads, for each end, the events from its least
    start on, beginning in the initial state; ends with equal least starts are read together.
    """

    def __init__(self, plan: Plan, tables: LearnedTables) -> None:
        self._cea, self._tables = plan.cea, tables
        self._tecs = Tecs(plan, tables, NONE, arena=1 << 14, answers=1 << 15)
        self._recent: dict[int, list[tuple[int, int]]] = {}
        """The events of each substream that a later answer may contain, with their symbols."""
        self._accepting: list[bool] = []

    @property
    def steps(self) -> int:
        """The number of entries and nodes visited, which measures the cost."""
        return self._tecs.steps

    def read(self, ends: Ends, keys: int) -> Iterator[AnswerBatch]:
        """Yield the answers at more ends of the substreams; store the events in their windows."""
        stored = [
            (of, key, symbol)
            for key in np.unique(ends.keys).tolist()
            for of, symbol in self._recent.get(key, ())
        ]
        before = ends_at(*np.array(stored, np.int64).reshape(-1, 3).T)
        before.given[:] = False
        columns: list[Any] = [*map(np.concatenate, zip(before, ends, strict=True))]
        every = Ends(*columns)
        every = every.some(order_of(every.keys))
        yield from self.answers(every)
        first = first_starts(every)
        for last in np.flatnonzero(np.diff(every.keys, append=NONE)).tolist():
            inside = slice(first[last], last + 1)
            rows = zip(every.of[inside].tolist(), every.symbols[inside].tolist(), strict=True)
            self._recent[int(every.keys[last])] = [*rows]

    def read_one(
        self, of: int, key: int, symbol: int, to: int, lowest: int, given: bool
    ) -> Iterator[AnswerBatch]:
        """Yield the answers at one end, which no step moves."""
        rows = self._recent.setdefault(key, [])
        del rows[: bisect_left(rows, (lowest,))]
        rows.append((of, symbol))
        if not given or not self._accepts()[symbol]:
            return iter(())
        positions, symbols = np.array(list(zip(*rows, strict=True)))
        silent, restarts = np.ones(len(rows), np.uint8), np.zeros(len(rows), np.uint8)
        restarts[0], silent[-1] = 1, 0
        starts = np.full(len(rows), positions[0])
        return self._tecs.read(self._events(symbols, positions, starts, restarts, silent))

    def answers(self, ends: Ends, lists: ListsAt | None = None) -> Iterator[AnswerBatch]:
        """Yield the answers at ends that are grouped by substream, by end.

        Answers of ends that `lists` excludes may be missing.
        """
        first, accepts = first_starts(ends), np.array(self._accepts(), np.bool_)
        at = np.flatnonzero(ends.given & accepts[ends.symbols])
        read = np.where(_differ(first[at]), at - first[at] + 1, np.diff(at, prepend=0))
        order = order_of(ends.of[at])
        at, read = at[order], np.cumsum(read[order])
        most = SELECTED if lists is None else PART_OF_LISTED
        start, before = 0, 0
        while start < len(at):
            stop = int(np.searchsorted(read, before + READ_TOGETHER, "right"))
            stop = min(max(stop, start + 1), start + most)
            some = at[start:stop]
            if lists is not None:
                some = some[lists(ends.of[some])]
            if len(some):
                yield from self._selected(ends, first, some)
            start, before = stop, int(read[min(stop, len(at)) - 1])

    def _selected(self, ends: Ends, first: Int64s, at: Int64s) -> Iterator[AnswerBatch]:
        """Yield the answers at the ends with some indices, by end."""
        at = np.sort(at)
        is_new = _differ(first[at])
        begins = first[at[is_new]]
        lengths = at[np.append(is_new[1:], True)] - begins + 1
        shift = np.cumsum(lengths) - lengths - begins
        rows = np.arange(lengths.sum()) - np.repeat(shift, lengths)
        silent, restarts = np.ones(len(rows), np.uint8), np.zeros(len(rows), np.uint8)
        silent[at + shift[np.cumsum(is_new) - 1]] = 0
        restarts[begins + shift] = 1
        lowest = np.repeat(ends.of[begins], lengths)
        events = self._events(ends.symbols[rows], ends.of[rows], lowest, restarts, silent)
        batches = self._tecs.read(events)
        if ends.keys[at[0]] == ends.keys[at[-1]]:
            yield from batches
            return
        found = join_answers([*batches])
        yield found.take(order_of(found.end))

    def _events(
        self, symbols: Int64s, positions: Int64s, lowest: Int64s, restarts: Bytes, silent: Bytes
    ) -> Events:
        """Return events of one substream after the other for the tECS, as one partition."""
        codes = np.zeros(len(symbols), np.int64)
        named = symbols.astype(self._tables.symbol_type)
        return Events(named, codes, positions, lowest, restarts, NO_IDLE_STATES, silent)

    def _accepts(self) -> list[bool]:
        """Return, for each symbol seen, whether its events may end an answer."""
        bits = {P: bit for bit, P in enumerate(self._tables.machine.predicates)}
        final = [t.predicate for t in self._cea.Delta if t.target in self._cea.F]
        for vector in self._tables.vectors[len(self._accepting) :]:
            accepts = any(P not in bits or vector >> bits[P] & 1 for P in final)
            self._accepting.append(accepts)
        return self._accepting

    def state(self) -> Any:
        """Return the stored events with their truth vectors for `resume`, as nested tuples."""
        vectors = self._tables.vectors
        return [
            (key, [(of, vectors[symbol]) for of, symbol in rows])
            for key, rows in self._recent.items()
        ]

    def resume(self, state: Any, waiting: Sequence[Ends], keys: int, read: int) -> None:
        """Restore the result of `state`; damaged values raise `BadData` or another error."""
        most = 1 << len(self._tables.machine.predicates)
        for key, rows in state:
            expect(is_whole(key, 0, keys) and key not in self._recent, "the substream of events")
            last = NONE
            for of, vector in rows:
                expect(is_whole(of, last + 1, read), "the order of events")
                expect(is_whole(vector, 0, most), "the symbol of an event")
                last = of
            self._recent[key] = [(of, self._tables.know(vector)) for of, vector in rows]


def _differ(first: Int64s) -> NDArray[np.bool_]:
    """Return where a least start differs from the one before; each substream has its own."""
    differs: NDArray[np.bool_] = np.diff(first, prepend=NONE) != 0
    return differs


class TransducerBody:
    """The runs of a transducer before a wait; they read an end of answers when the wait is over."""

    def __init__(self, plan: CorrelatedPlan) -> None:
        self._first = IntervalRuns(plan)
        self._places: list[tuple[str, Source]] = []
        for step in plan.timed:
            assert isinstance(step, HoldWithin), "no session looks ahead"
            assert not isinstance(step.window, EventWindow), "automata count events"
            self._places.append((first_place(step.window).name, step.window))
        self._runs: dict[int, IntervalRuns] = {}
        self._events: dict[int, Event] = {}

    def keep(self, event: Event, position: int, bounds: Mapping[Source, int]) -> None:
        """Store an event and the positions that the transducer compares, until its wait is over."""
        if self._places:
            places = {name: bounds[window] for name, window in self._places}
            event = with_values(event, {PLACE.name: position, **places})
        self._events[position] = event

    def read(self, ends: Ends, keys: int) -> Iterator[Iterator[ComplexEvent]]:
        """Yield the answers at ends whose waits are over, each moved to its later end."""
        for row in zip(*(column.tolist() for column in ends), strict=True):
            yield from self.read_one(*row)

    def read_one(
        self, of: int, key: int, symbol: int, to: int, lowest: int, given: bool
    ) -> Sequence[Iterator[ComplexEvent]]:
        """Return the answers at one end, moved to the later end `to`."""
        if (runs := self._runs.get(key)) is None:
            runs = self._runs[key] = self._first.fresh()
        runs.advance(self._events.pop(of), of)
        runs.forget(lowest)
        if not given:
            return ()
        return [(ComplexEvent(a.start, to, a.positions) for a in runs.answers(lowest))]

    def state(self) -> Any:
        """Return the stored events and the runs for `resume`, as nested tuples."""
        events = [(position, *values_of(t)) for position, t in self._events.items()]
        return [(key, runs.state()) for key, runs in self._runs.items()], events

    def resume(self, state: Any, waiting: Sequence[Ends], keys: int, read: int) -> None:
        """Restore the result of `state`; damaged values raise `BadData` or another error."""
        runs, events = state
        first, last = dict[int, int](), dict[int, int]()
        for some in waiting:
            for of, key in zip(some.of.tolist(), some.keys.tolist(), strict=True):
                expect(last.get(key, NONE) < of, "the order of the ends that wait")
                first.setdefault(key, of)
                last[key] = of
        for key, of_key in runs:
            expect(is_whole(key, 0, keys) and key not in self._runs, "the substream of runs")
            each = self._runs[key] = self._first.fresh()
            each.resume(of_key, first.get(key, read))
        self._events = {position: event_of(*values) for position, *values in events}
        wanted = {of for some in waiting for of in some.of.tolist()}
        expect(self._events.keys() == wanted, "the events that wait")


def body_of(
    plan: Plan | CorrelatedPlan, tables: LearnedTables | None
) -> AutomatonBody | SelectingBody | TransducerBody:
    """Return the evaluation of a plan in a session; an automaton has `tables`."""
    if isinstance(plan, CorrelatedPlan):
        return TransducerBody(plan)
    assert tables is not None, "the tables of an automaton"
    return AutomatonBody(plan, tables) if plan.strategy is None else SelectingBody(plan, tables)
