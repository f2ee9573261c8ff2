"""Evaluation of the part before a wait, which reads an end only when its answers are decided."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from cerlab.automata.labelled import PLACE, first_place
from cerlab.automata.plan import (
    CorrelatedPlan,
    HoldWithin,
    Plan,
)
from cerlab.engine.answers import (
    BATCH,
    AnswerBatch,
)
from cerlab.engine.kernels.arrays import NONE, Int64s
from cerlab.engine.kernels.tecs import NO_IDLE_STATES, NO_RESTARTS, Events
from cerlab.engine.reference.registers import IntervalRuns, event_of, values_of
from cerlab.engine.state import check_nodes, heads, with_names, with_numbers
from cerlab.engine.state_checks import expect, is_inside, is_whole
from cerlab.engine.symbol_tables import LearnedTables
from cerlab.engine.tecs_run import FEW, Tecs
from cerlab.engine.waits.look_back import Source
from cerlab.engine.waits.stage import Ends
from cerlab.model.answer import ComplexEvent
from cerlab.model.arrays import order_of
from cerlab.model.clauses import EventWindow
from cerlab.model.event import Event, with_values


class AutomatonBody:
    """An automaton before a wait: the tECS reads an end when its answers are decided."""

    def __init__(self, plan: Plan, tables: LearnedTables) -> None:
        self._tables = tables
        self._tecs = Tecs(plan, tables, NONE, arena=1 << 14, answers=1 << 15)
        self._least = np.zeros(1, np.int64)

    def read(self, ends: Ends, keys: int) -> Iterator[AnswerBatch]:
        """Yield the answers at decided ends, each moved to its later end."""
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


class TransducerBody:
    """A transducer before a wait: explicit runs read an end when its answers are decided."""

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
        """Store an event until it is decided, with the positions that the transducer compares."""
        if self._places:
            places = {name: bounds[window] for name, window in self._places}
            event = with_values(event, {PLACE.name: position, **places})
        self._events[position] = event

    def read(self, ends: Ends, keys: int) -> Iterator[Iterator[ComplexEvent]]:
        """Yield the answers at decided ends, each moved to its later end."""
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
