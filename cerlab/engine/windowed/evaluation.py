"""Answers in two phases: most windows of most streams end none (PERFORMANCE.md, engine C).

Phase one (`kernels.windowed.ends`) finds the events that end an answer, from one number per state.
Phase two builds the tECS inside the windows of those only: as chains of records where runs only
gather (`windowed.chains`), by the general engine (`general.tecs`) for every other machine.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from functools import cached_property

import numpy as np

from cerlab.automata.plan import Plan
from cerlab.engine.answers import AnswerBatch
from cerlab.engine.batches import paces
from cerlab.engine.clock import first_inside
from cerlab.engine.general.tecs import Tecs
from cerlab.engine.kernels import arrays as k
from cerlab.engine.kernels.tecs.batch import NO_IDLE_STATES
from cerlab.engine.kernels.tecs.batch import Events as Batch
from cerlab.engine.kernels.windowed import ends as e
from cerlab.engine.kernels.windowed.chains import Events as ChainEvents
from cerlab.engine.kernels.windowed.ends import Events
from cerlab.engine.learned import LearnedTables
from cerlab.engine.windowed.chains import Chains
from cerlab.engine.windowed.program import Program
from cerlab.engine.windowed.relevant_events import RelevantEvents
from cerlab.engine.windowed.scan import WindowScan
from cerlab.model.stream import TimeAxis

RECORDS_PER_NODE = 16
"""Room for records costs nothing until it is used, and is not kept; so there is more of it."""

FEW_ENDS = 16
"""With fewer ends than one in so many events, their windows are looked up one by one."""


class WindowedEvaluation(WindowScan[AnswerBatch]):
    """The answers of a plan; `arena` nodes, `answers` of a batch: starting sizes, which grow."""

    def __init__(
        self,
        plan: Plan,
        tables: LearnedTables,
        time: TimeAxis | None = None,
        *,
        arena: int = 1 << 14,
        answers: int = 1 << 15,
    ) -> None:
        super().__init__(plan, tables, time)
        self._sizes = (arena, answers)

    def begin(self, position: int, end: int) -> None:
        """Begin anew; room for nodes, records and answers is kept."""
        super().begin(position, end)
        self._alone = False

    @cached_property
    def _tecs(self) -> Tecs:
        arena, answers = self._sizes
        return Tecs(self._plan, self._tables, k.NONE, arena=arena, answers=answers)

    @cached_property
    def _chains(self) -> Chains:
        nodes, answers = self._sizes
        return Chains(self._plan, records=RECORDS_PER_NODE * nodes, answers=answers)

    @property
    def steps(self) -> int:
        """Entries, nodes and records visited so far in phase two."""
        return self._tecs.steps + self._chains.steps

    def _evaluate(
        self, program: Program | None, events: RelevantEvents, again: int
    ) -> Generator[AnswerBatch, None, k.Int32s]:
        if program is None:
            yield from self._by_tecs_alone(events, again)
            return np.zeros(0, np.int32)
        ends, idles = self._ends(program, events, again)
        in_order = program.latest_first or self._plan.limit is None
        if len(ends) and program.is_chained and in_order:
            yield from self._by_chains(program, events, ends)
        elif len(ends):
            yield from self._by_tecs(events, ends, idles, again)
        return ends

    def _ends(
        self, program: Program, events: RelevantEvents, again: int
    ) -> tuple[k.Int32s, k.Int32s]:
        """Phase one: the events that end an answer, and the idle state that each event meets."""
        times = events.parts[0].batch.times if len(events.parts) == 1 else events.times
        plain = self._keys is None and self._consume == k.KEEP and isinstance(times, np.ndarray)
        if plain and program.copy_steps is not None:
            return self._ends_by_copies(program, program.copy_steps, events, again), NO_IDLE_STATES
        moves, count, partitions = program.moves, events.count, self._partitions
        latest = e.Latest(
            start=np.full(partitions * moves.states, k.NONE, np.int32),
            epoch=np.zeros(partitions, np.int64),
            idle=np.zeros(partitions, np.int32),
            scratch=np.empty(len(moves.move.source), np.int32),
            idle_before=np.zeros(count if len(program.idles) > 1 else 0, np.int32),
        )
        latest.idle[0] = program.idle_of[self._idle]
        times, width, first = events.times, 0, NO_IDLE_STATES
        if isinstance(times, np.ndarray):
            width = int(self._width)
        else:
            times, first = np.zeros(0, np.int64), first_inside(times, self._width, 0)
        ends = np.empty(count, np.int32)
        batch = Events(events.actions, events.codes, times, first, again)
        limits = k.Limits(k.NO_LIMIT, self._consume, width)
        reg = np.zeros(e.REGISTERS, np.int64)
        for part in paces(count):
            read = batch._replace(actions=events.actions[: part.stop])
            e.find_ends(moves, read, limits, latest, ends, reg)
        return ends[: reg[e.ENDS]], np.array(program.idles, np.int32)[latest.idle_before]

    def _ends_by_copies(
        self, program: Program, steps: k.CopySteps, events: RelevantEvents, again: int
    ) -> k.Int32s:
        ends = np.empty(events.count, np.int32)
        latest = np.full(3 + program.moves.states, k.NONE, np.int32)
        times, index = events.times_by_index
        assert isinstance(times, np.ndarray)
        batch = e.TimedEvents(events.actions, times, index, again)
        reg = np.zeros(e.REGISTERS, np.int64)
        for part in paces(events.count):
            read = batch._replace(actions=events.actions[: part.stop])
            e.find_ends_by_copies(steps, read, int(self._width), latest, ends, reg)
        return ends[: reg[e.ENDS]]

    def _by_chains(
        self, program: Program, events: RelevantEvents, ends: k.Int32s
    ) -> Iterator[AnswerBatch]:
        """Phase two where runs only gather."""
        positions, offset = events.positions_and_offset
        first = self._first(events, ends)
        chain_events = ChainEvents(events.actions, events.codes, positions, offset, ends, first)
        return self._chains.read(program.moves, chain_events, self._partitions)

    def _first(self, events: RelevantEvents, ends: k.Int32s) -> k.Int32s:
        """The first event inside the window of each end."""
        if len(ends) * FEW_ENDS > events.count or len(events.parts) > 1:
            return first_inside(events.times, self._width, 0)[ends]
        times, index = events.times_by_index
        if not isinstance(times, np.ndarray):
            return first_inside(events.times, self._width, 0)[ends]
        lowest = times[index[ends]] - int(self._width)
        return np.searchsorted(index, np.searchsorted(times, lowest)).astype(np.int32)

    def _by_tecs(
        self, events: RelevantEvents, ends: k.Int32s, idles: k.Int32s, again: int
    ) -> Iterator[AnswerBatch]:
        """Phase two by the general engine, from the beginning in each stretch of windows."""
        count = events.count
        first = first_inside(events.times, self._width, 0)
        indices, restarts = np.empty(count, np.int32), np.zeros(count, np.uint8)
        indices = indices[: e.inside_windows(first, ends, indices, restarts)]
        self._tecs.partitions(self._partitions)
        inside = Batch(
            events.symbols[indices],
            events.codes[indices],
            events.positions[indices],
            events.positions[first[indices]],
            restarts=restarts[: len(indices)],
            idles=idles[indices] if len(idles) else NO_IDLE_STATES,
            report_from=int(np.searchsorted(indices, again)),
        )
        return self._tecs.read(inside)

    def _by_tecs_alone(self, events: RelevantEvents, again: int) -> Iterator[AnswerBatch]:
        """The general engine, which from now on goes on where it was: there is no program."""
        first = first_inside(events.times, self._width, 0)
        at = again if self._alone else 0
        restarts = np.zeros(events.count - at, np.uint8)
        if not self._alone:
            restarts[:1] = 1
        self._alone = True
        self._tecs.partitions(self._partitions)
        fresh = Batch(
            events.symbols[at:],
            events.codes[at:],
            events.positions[at:],
            events.positions[first[at:]],
            restarts=restarts,
            idles=np.full(len(restarts), self._idle, np.int32),
            report_from=again - at,
        )
        return self._tecs.read(fresh)
