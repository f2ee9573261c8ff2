"""Evaluation of plans with a window: find the events that end answers, then list the answers.

`window_scan` reads a stream by batches, each with the window before it; `flat_program` is the
machine as flat arrays; this module lists answers, by `Chains` if runs only gather; `whole_stream`
uses several threads for one stream.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator

import numpy as np

from cerlab.automata.plan import Plan
from cerlab.computed import cached_property
from cerlab.engine.answers import AnswerBatch, Buffer, ListsAt, double_room, paces
from cerlab.engine.flat_program import Program
from cerlab.engine.kernels import arrays as k
from cerlab.engine.kernels import chains as c
from cerlab.engine.kernels import windowed as e
from cerlab.engine.kernels.chains import Events as ChainEvents
from cerlab.engine.kernels.tecs import NO_IDLE_STATES
from cerlab.engine.kernels.tecs import Events as Batch
from cerlab.engine.kernels.windowed import Events
from cerlab.engine.symbol_tables import LearnedTables
from cerlab.engine.tecs_run import CONSUMES, Tecs, limit_of
from cerlab.engine.window_scan import RelevantEvents, WindowScan
from cerlab.kernel_cache import RepeatedCalls
from cerlab.model.stream import TimeAxis

NO_TIMES = np.zeros(0, np.int64)

RECORDS_PER_NODE = 16
"""The room for records, in multiples of nodes: unused room costs nothing and is not kept."""


FEW_ENDS = 16
"""If fewer than one event in 16 is an end, their windows are searched one by one."""


class WindowedEvaluation(WindowScan[AnswerBatch]):
    """An evaluation in two phases: the events that end answers, then the answers themselves.

    `arena` nodes and `answers` of a batch are starting sizes, which grow.
    """

    def __init__(
        self,
        plan: Plan,
        tables: LearnedTables,
        time: TimeAxis | None = None,
        *,
        arena: int = 1 << 14,
        answers: int = 1 << 15,
        lists: ListsAt | None = None,
    ) -> None:
        """Create the evaluation; answers at ends that `lists` excludes may be missing."""
        super().__init__(plan, tables, time)
        self._lists = lists
        self._sizes = (arena, answers)

    def begin(self, position: int, end: int) -> None:
        """Restart, keeping the room for nodes, records and answers."""
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
        """The number of entries, nodes and records that listing answers has visited."""
        return self._tecs.steps + self._chains.steps

    def _evaluate(
        self, program: Program | None, events: RelevantEvents, again: int
    ) -> Generator[AnswerBatch, None, k.Int32s]:
        if program is None:
            yield from self._by_tecs_alone(events, again)
            return np.zeros(0, np.int32)
        ends, idles = self._ends(program, events, again)
        # chains may list the answers of an end in another order than LIMIT
        in_order = program.latest_first or self._plan.limit is None
        if self._lists is not None and len(ends):
            kept = self._lists(events.positions[ends])
            ends = ends[kept]
        if len(ends) and program.is_chained and in_order:
            yield from self._by_chains(program, events, ends)
        elif len(ends):
            yield from self._by_tecs(events, ends, idles, again)
        return ends

    def _ends(
        self, program: Program, events: RelevantEvents, again: int
    ) -> tuple[k.Int32s, k.Int32s]:
        """Return the events that end answers, and the idle state at each event."""
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
            best=np.zeros(0, np.int32),
        )
        latest.idle[0] = program.idle_of[self._idle]
        times, width, first = events.times, 0, NO_IDLE_STATES
        if isinstance(times, np.ndarray):
            # kernels compare the times of ends: computing `first` for all events takes 1.25 times
            # as long
            width = int(self._width)
        else:
            times, first = NO_TIMES, events.first
        ends = np.empty(count, np.int32)
        batch = Events(events.actions, events.codes, times, first, again)
        limits = k.Limits(k.NO_LIMIT, self._consume, width)
        counters = np.zeros(e.REGISTERS, np.int64)
        for part in paces(count):
            read = batch._replace(actions=events.actions[: part.stop])
            e.find_ends(moves, read, limits, latest, ends, counters)
        return ends[: counters[e.ENDS]], np.array(program.idles, np.int32)[latest.idle_before]

    def _ends_by_copies(
        self, program: Program, steps: k.CopySteps, events: RelevantEvents, again: int
    ) -> k.Int32s:
        ends = np.empty(events.count, np.int32)
        latest = np.full(3 + program.moves.states, k.NONE, np.int32)
        times, index = events.times_by_index
        assert isinstance(times, np.ndarray)
        batch = e.TimedEvents(events.actions, times, index, again)
        counters = np.zeros(e.REGISTERS, np.int64)
        for part in paces(events.count):
            read = batch._replace(actions=events.actions[: part.stop])
            e.find_ends_by_copies(steps, read, int(self._width), latest, ends, counters)
        return ends[: counters[e.ENDS]]

    def _by_chains(
        self, program: Program, events: RelevantEvents, ends: k.Int32s
    ) -> Iterator[AnswerBatch]:
        """Yield the answers of a chained program."""
        positions, offset = events.positions_and_offset
        first = self._first(events, ends)
        chain_events = ChainEvents(events.actions, events.codes, positions, offset, ends, first)
        return self._chains.read(program.moves, chain_events, self._partitions)

    def _first(self, events: RelevantEvents, ends: k.Int32s) -> k.Int32s:
        """Return the first event in the window of each end."""
        # with many ends, one pass over all events costs less than one search per end
        if len(ends) * FEW_ENDS > events.count or len(events.parts) > 1:
            return events.first[ends]
        times, index = events.times_by_index
        if not isinstance(times, np.ndarray):
            return events.first[ends]
        lowest = times[index[ends]] - int(self._width)
        return np.searchsorted(index, np.searchsorted(times, lowest)).astype(np.int32)

    def _by_tecs(
        self, events: RelevantEvents, ends: k.Int32s, idles: k.Int32s, again: int
    ) -> Iterator[AnswerBatch]:
        """Yield the answers by the general engine, which restarts after gaps between windows."""
        count = events.count
        first = events.first
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
        """Yield the answers by the general engine on all events, if there is no program."""
        first = events.first
        at = again if self._alone else 0
        restarts = np.zeros(events.count - at, np.uint8)
        if not self._alone:
            # only at the first call: the tECS has then read all earlier events
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


class Chains:
    """The answers of a chained `Program`; `records` and `answers` are initial sizes."""

    def __init__(self, plan: Plan, *, records: int, answers: int) -> None:
        self._limits = k.Limits(limit_of(plan), CONSUMES[plan.consume], k.NONE)
        self._records = _records(records)
        self._search = c.ChainSearch(np.zeros(64, np.int32), np.zeros(64, np.int64))
        self._answers = Buffer(answers)
        self._list_chains = RepeatedCalls(c.list_chains)
        self.steps = 0
        """Records visited so far."""

    def read(self, moves: k.Moves, events: c.Events, partitions: int) -> Iterator[AnswerBatch]:
        """Yield the answers at the given ends."""
        counters = np.zeros(c.REGISTERS, np.int64)
        heads = np.full(partitions * moves.states, k.NONE, np.int32)
        epoch = np.zeros(partitions, np.int64)
        for part in paces(len(events.ends)):
            some = events._replace(ends=events.ends[: part.stop])
            yield from self._list(moves, some, heads, epoch, counters)
        self.steps += int(counters[c.STEPS])
        if counters[c.ANSWERS]:
            yield self._answers.flush(counters, c.ANSWERS, c.POSITIONS)

    def _list(
        self, moves: k.Moves, events: c.Events, heads: k.Int32s, epoch: k.Int64s, counters: k.Int64s
    ) -> Iterator[AnswerBatch]:
        """Yield the full buffers of answers at more ends; the last buffer keeps the rest."""
        while True:
            chains = c.Chains(
                self._records, heads, epoch, self._search, self._answers.arrays, counters
            )
            status = self._list_chains(moves, events, self._limits, chains)
            if status == k.DONE:
                return
            if status == k.NEED_ARENA:
                self._records = double_room(self._records)
            elif status == k.NEED_STACK:
                self._search = double_room(self._search)
            else:
                yield from self._answers.make_room(counters, c.ANSWERS, c.POSITIONS)


def _records(count: int) -> c.Records:
    return c.Records(*(np.empty(count, np.int32) for _ in range(4)))
