"""Answers by looking ahead: most windows of most streams end none (PERFORMANCE.md, engine C).

Phase one (`kernels.scan`) finds the events that end an answer, from one number per state. Phase two
builds the tECS inside the windows of those only: as chains of records where runs only gather
(`kernels.chains`), by the general engine (`engine.tecs`) for every other machine.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from functools import cached_property
from typing import Any

import numpy as np

from cerlab.automata.plan import Plan
from cerlab.engine.answers import AnswerBatch
from cerlab.engine.chains import Chains
from cerlab.engine.clock import first_inside
from cerlab.engine.dense import Dense
from cerlab.engine.kernels import arrays as k
from cerlab.engine.kernels.scan import inside_windows, scan, scan_lanes
from cerlab.engine.lookahead import Lookahead
from cerlab.engine.prepared import Prepared
from cerlab.engine.program import Program
from cerlab.engine.tecs import NO_IDLE_STATES, Tecs
from cerlab.model.clock import TimeAxis

RECORDS_PER_NODE = 16
"""Room for records costs nothing until it is used, and is not kept; so there is more of it."""

FEW_ENDS = 16
"""With fewer ends than one in so many events, their windows are looked up one by one."""


class TwoPhases(Lookahead[AnswerBatch]):
    """The answers of a plan; `arena` nodes, `answers` of a batch: starting sizes, which grow."""

    def __init__(
        self,
        plan: Plan,
        known: Prepared,
        time: TimeAxis | None = None,
        *,
        arena: int = 1 << 14,
        answers: int = 1 << 15,
    ) -> None:
        super().__init__(plan, known, time)
        self._sizes = (arena, answers)
        self._alone = False

    @cached_property
    def _tecs(self) -> Tecs:
        arena, answers = self._sizes
        return Tecs(self._plan, self._known.table, k.NONE, arena=arena, answers=answers)

    @cached_property
    def _chains(self) -> Chains:
        nodes, answers = self._sizes
        return Chains(self._plan, records=RECORDS_PER_NODE * nodes, answers=answers)

    @property
    def steps(self) -> int:
        """Entries, nodes and records visited so far in phase two."""
        return self._tecs.steps + self._chains.steps

    def _found(
        self, program: Program | None, events: Dense, again: int
    ) -> Generator[AnswerBatch, None, Any]:
        if program is None:
            yield from self._by_tecs_alone(events, again)
            return np.zeros(0, np.int32)
        ends, idles = self._ends(program, events, again)
        if len(ends) and program.chained:
            yield from self._by_chains(program, events, ends)
        elif len(ends):
            yield from self._by_tecs(events, ends, idles, again)
        return ends

    def _ends(self, program: Program, events: Dense, again: int) -> tuple[Any, Any]:
        """Phase one: the events that end an answer, and the idle state that each event meets."""
        times = events.parts[0].batch.times if len(events.parts) == 1 else events.times
        plain = self._keys is None and self._consume == k.KEEP and isinstance(times, np.ndarray)
        if plain and program.lanes is not None:
            return self._ends_by_lanes(program.lanes, program.states, events, again), NO_IDLE_STATES
        count, partitions = events.count, self._partitions
        idle = np.zeros(partitions, np.int32)
        idle[0] = program.idle_of[self._idle]
        idle_before = np.zeros(count if len(program.idles) > 1 else 0, np.int32)
        ends = np.empty(count, np.int32)
        times, width, first = events.times, 0, NO_IDLE_STATES
        if isinstance(times, np.ndarray):
            width = int(self._width)
        else:
            times, first = np.zeros(0, np.int64), first_inside(times, self._width, 0)
        found = scan(
            program.states,
            program.actions,
            program.begin,
            program.move,
            program.leave_first,
            program.leave,
            program.wait,
            events.actions,
            events.codes,
            times,
            width,
            first,
            again,
            self._consume,
            np.full(partitions * program.states, k.NONE, np.int32),
            np.zeros(partitions, np.int64),
            idle,
            np.empty(len(program.move.source), np.int32),
            idle_before,
            ends,
        )
        return ends[:found], np.array(program.idles, np.int32)[idle_before]

    def _ends_by_lanes(self, lanes: k.Lanes, states: int, events: Dense, again: int) -> Any:
        times, index = events.times_by_index
        ends = np.empty(events.count, np.int32)
        latest = np.full(3 + states, k.NONE, np.int32)
        width = int(self._width)
        return ends[: scan_lanes(lanes, events.actions, times, index, width, again, latest, ends)]

    def _by_chains(self, program: Program, events: Dense, ends: Any) -> Iterator[AnswerBatch]:
        """Phase two where runs only gather."""
        positions, offset = events.positions_and_offset
        return self._chains.read(
            program,
            events.actions,
            events.codes,
            positions,
            offset,
            ends,
            self._first(events, ends),
            self._partitions,
        )

    def _first(self, events: Dense, ends: Any) -> Any:
        """The first event inside the window of each end, int32."""
        if len(ends) * FEW_ENDS > events.count or len(events.parts) > 1:
            return first_inside(events.times, self._width, 0)[ends]
        times, index = events.times_by_index
        if not isinstance(times, np.ndarray):
            return first_inside(events.times, self._width, 0)[ends]
        lowest = times[index[ends]] - int(self._width)
        return np.searchsorted(index, np.searchsorted(times, lowest)).astype(np.int32)

    def _by_tecs(self, events: Dense, ends: Any, idles: Any, again: int) -> Iterator[AnswerBatch]:
        """Phase two by the general engine, from the beginning in each stretch of windows."""
        count = events.count
        first = first_inside(events.times, self._width, 0)
        chosen, restarts = np.empty(count, np.int32), np.zeros(count, np.uint8)
        chosen = chosen[: inside_windows(first, ends, chosen, restarts)]
        self._tecs.partitions(self._partitions)
        return self._tecs.read(
            events.symbols[chosen],
            events.codes[chosen],
            events.positions[chosen],
            events.positions[first[chosen]],
            restarts=restarts[: len(chosen)],
            idles=idles[chosen] if len(idles) else NO_IDLE_STATES,
            unlisted=int(np.searchsorted(chosen, again)),
        )

    def _by_tecs_alone(self, events: Dense, again: int) -> Iterator[AnswerBatch]:
        """The general engine, which from now on goes on where it was: there is no program."""
        first = first_inside(events.times, self._width, 0)
        at = again if self._alone else 0
        restarts = np.zeros(events.count - at, np.uint8)
        if not self._alone:
            restarts[:1] = 1
        self._alone = True
        self._tecs.partitions(self._partitions)
        return self._tecs.read(
            events.symbols[at:],
            events.codes[at:],
            events.positions[at:],
            events.positions[first[at:]],
            restarts=restarts,
            idles=np.full(len(restarts), self._idle, np.int32),
            unlisted=again - at,
        )
