"""Lower bounds on the starts of answers at each event, from rivals and windows in events."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from cerlab.automata.deterministic import Deterministic
from cerlab.automata.plan import (
    Plan,
)
from cerlab.automata.strategy import name_of_state, state_of_name
from cerlab.engine.answers import (
    paces,
)
from cerlab.engine.kernels import arrays as k
from cerlab.engine.kernels import waits as on_arrays
from cerlab.engine.kernels import windowed as e
from cerlab.engine.kernels.arrays import NONE, Int64s
from cerlab.engine.kernels.tecs import NO_IDLE_STATES
from cerlab.engine.reference.driver import WindowPointer
from cerlab.engine.state_checks import expect, is_whole
from cerlab.engine.symbol_tables import LearnedTables
from cerlab.engine.waits.relevance import AutomatonTests
from cerlab.engine.waits.stage import NO_PLACES, Ends
from cerlab.model.arrays import order_of
from cerlab.model.clauses import EventWindow
from cerlab.model.event import Event


class LatestStart:
    """The latest start among the answers of a machine so far."""

    def __init__(self, machine: Deterministic) -> None:
        self._machine = machine
        self._idle = machine.idle
        self.runs: dict[int, int] = {}
        """The latest start of the runs in each state, without runs that an answer has overtaken."""
        self.latest = NONE

    def read(self, vector: int, position: int) -> int:
        """Read an event by its truth vector; return the latest start of the answers so far."""
        machine, runs = self._machine, dict[int, int]()
        moves = [(position, machine.begin(self._idle, vector))]
        moves += [(start, machine.step(q, vector)) for q, start in self.runs.items()]
        for start, targets in moves:
            for q in targets:
                if q is not None:
                    runs[q] = max(start, runs.get(q, start))
        self._idle = machine.wait(self._idle, vector)
        ended = (start for q, start in runs.items() if machine.final[q])
        self.latest = max((self.latest, *ended))
        self.runs = {q: start for q, start in runs.items() if start > self.latest}
        return self.latest


class RivalBound:
    """The bound of a rival: an answer must start after the start of every rival answer so far."""

    def __init__(self, plan: Plan, tables: LearnedTables) -> None:
        self._tests = AutomatonTests(plan, tables)
        self._tables = tables
        self._readers: dict[int, LatestStart] = {}
        self._latest = np.full(1, NONE, np.int64)

    def read(
        self, columns: Mapping[str, Any], positions: Int64s, keys: Int64s, *, whole: bool
    ) -> Int64s:
        """Return the lowest permitted start at each event of a batch."""
        bounds = np.zeros(len(keys), np.int64)
        partitions = int(keys.max(initial=0)) + 1
        if partitions > len(self._latest):
            more = np.full(2 * partitions - len(self._latest), NONE, np.int64)
            self._latest = np.concatenate((self._latest, more))
        program = None
        if whole:
            symbols = self._tables.symbols(columns, len(keys))
            program = self._tables.program()
        if program is not None and partitions * program.moves.states <= MAX_STARTS:
            starts = np.full(len(keys), NONE, np.int64)
            some = np.flatnonzero(program.read[symbols])
            some = some[keys[some] != NONE]
            of_some = _latest_starts(
                program.moves, program.action[symbols[some]], keys[some], partitions
            )
            ends = np.flatnonzero(of_some != NONE)
            starts[some[ends]] = positions[some[of_some[ends]]]
        else:
            starts = np.full(len(keys), NONE, np.int64)
            at, of_ends = self._tests.ends(columns, keys)
            rows = zip(at.tolist(), of_ends.tolist(), strict=True)
            for n, symbol in rows:
                starts[n] = self.read_one(int(keys[n]), symbol, int(positions[n])) - 1
        on_arrays.bounds_of_rivals(keys, starts, self._latest, bounds)
        return bounds

    def read_event(self, event: Event, key: int, position: int) -> int:
        """Return the lowest permitted start at an event."""
        symbol = self._tables.symbol(event)
        if self._tests.matters()[symbol]:
            return self.read_one(key, symbol, position)
        reader = self._readers.get(key)
        return 0 if reader is None else reader.latest + 1

    def read_one(self, key: int, symbol: int, position: int) -> int:
        """Return the lowest permitted start at an event, given by its symbol."""
        if (reader := self._readers.get(key)) is None:
            reader = self._readers[key] = LatestStart(self._tables.machine)
        return reader.read(self._tables.vectors[symbol], position) + 1

    def state(self) -> Any:
        """Return the states by name, as nested tuples, for `resume`."""
        name_of = partial(name_of_state, self._tables.machine)
        return [
            (key, reader.latest, [(name_of(q), start) for q, start in reader.runs.items()])
            for key, reader in self._readers.items()
        ]

    def resume(self, state: Any, keys: int, read: int) -> None:
        """Restore the result of `state`; damaged values raise `BadData` or another error."""
        machine = self._tables.machine
        self._latest = np.full(keys + 1, NONE, np.int64)
        for key, latest, runs in state:
            expect(is_whole(key, 0, keys) and key not in self._readers, "the substream of a rival")
            expect(is_whole(latest, NONE, read), "the latest start of a rival")
            reader = self._readers[key] = LatestStart(machine)
            reader.latest = self._latest[key] = latest
            for name, start in runs:
                expect(is_whole(start, 0, read), "the start of a rival")
                reader.runs[state_of_name(machine, [*name])] = start


MAX_STARTS = 1 << 24
"""The most cells of starts, one for each substream and state: above it, keys use a dict."""

_NO_LIMITS = k.Limits(k.NO_LIMIT, k.KEEP, 0)


def _latest_starts(moves: k.Moves, actions: k.Symbols, keys: Int64s, partitions: int) -> Int64s:
    """Return the latest start of the answers that end at each event; NONE without answers."""
    counters, best = np.zeros(e.REGISTERS, np.int64), np.full(len(keys), NONE, np.int32)
    latest = e.Latest(
        start=np.full(partitions * moves.states, NONE, np.int32),
        epoch=np.zeros(partitions, np.int64),
        idle=np.zeros(partitions, np.int32),
        scratch=np.empty(len(moves.move.source), np.int32),
        idle_before=NO_IDLE_STATES,
        best=best,
    )
    first = np.zeros(len(keys), np.int32)
    events = e.Events(actions, keys.astype(np.int32), NO_PLACES, first, 0)
    ends = np.empty(len(keys), np.int32)
    for part in paces(len(keys)):
        some = events._replace(actions=actions[: part.stop])
        e.find_ends(moves, some, _NO_LIMITS, latest, ends, counters)
    return best.astype(np.int64)


class EventWindowBound:
    """The bound set by a window in events: the first event of the substream inside it."""

    def __init__(self, window: EventWindow) -> None:
        self._window = window
        self._pointers: dict[int, WindowPointer] = {}

    def read(self, positions: Int64s, keys: Int64s, *, whole: bool) -> Int64s:
        """Return the first event in the window of each event of a batch."""
        bounds = np.zeros(len(keys), np.int64)
        if not whole:
            rows = enumerate(zip(keys.tolist(), positions.tolist(), strict=True))
            for n, (key, position) in rows:
                bounds[n] = self.read_one(key, position) if key != NONE else 0
            return bounds
        order = grouped(keys)
        first = np.arange(len(order)) - min(self._window.width, len(order))
        first = np.maximum(begins_of(keys[order]), first)
        bounds[order] = positions[order[first]]
        return bounds

    def read_one(self, key: int, position: int) -> int:
        """Return the first event in the window of an event."""
        if (pointer := self._pointers.get(key)) is None:
            pointer = self._pointers[key] = WindowPointer(self._window)
        return pointer.advance(0, position)

    def state(self) -> Any:
        """Return the state as nested tuples, for `resume`."""
        return [(key, pointer.state()) for key, pointer in self._pointers.items()]

    def resume(self, state: Any, keys: int, read: int) -> None:
        """Restore the result of `state`; damaged values raise `BadData` or another error."""
        for key, of_key in state:
            expect(is_whole(key, 0, keys) and key not in self._pointers, "a substream")
            pointer = self._pointers[key] = WindowPointer(self._window)
            pointer.resume(of_key, read)


def grouped(keys: Int64s) -> Int64s:
    """Return the indices of the events in substreams, one substream after the other."""
    order = order_of(keys)
    return order[np.count_nonzero(keys == NONE) :]


def begins_of(groups: Int64s) -> Int64s:
    """Return the index of the first event in each event's group, where groups are contiguous."""
    is_first = np.ones(len(groups), np.bool_)
    is_first[1:] = groups[1:] != groups[:-1]
    return np.maximum.accumulate(np.where(is_first, np.arange(len(groups)), 0))


def first_starts(ends: Ends) -> Int64s:
    """Return, for each end, the index of the first permitted start in its substream.

    It is after the end itself if no start is late enough. The ends are grouped by substream.
    """
    begins = begins_of(ends.keys)
    if not ends.lowest.any():
        return begins
    span = int(max(ends.of.max(), ends.lowest.max())) + 1
    return np.searchsorted(ends.keys * span + ends.of, ends.keys * span + ends.lowest)
