"""Counting: the events that end answers, and how many each ends (CORE Sec. 4.3)."""

from __future__ import annotations

from collections.abc import Generator, Iterator

import numpy as np

from cerlab.automata.plan import Plan
from cerlab.budget import poll
from cerlab.engine.batches import paces, whole
from cerlab.engine.clock import first_inside
from cerlab.engine.general.tecs import limit_of
from cerlab.engine.kernels import arrays as k
from cerlab.engine.kernels.windowed.counts import Counts, count_ends
from cerlab.engine.kernels.windowed.ends import ENDS, REGISTERS, Events
from cerlab.engine.learned import LearnedTables
from cerlab.engine.windowed.program import Program
from cerlab.engine.windowed.relevant_events import RelevantEvents
from cerlab.engine.windowed.scan import WindowScan, why_not_windowed
from cerlab.model.stream import Stream, TimeAxis

MAX_COUNTS = 1 << 24
"""How many numbers are kept at most: for each partition, state and start in the window."""

NO_TIMES = np.zeros(0, np.int64)


class CountOverflow(Exception):
    """The numbers are too large, or too many, for the kernel; Python's integers can do it."""


class EndCounts(WindowScan[tuple[k.Int64s, k.Int64s]]):
    """The ends of the answers of a plan and their numbers, positions and counts.

    Counts are at most the LIMIT. Raises `CountOverflow` where they need more than 64 bits.
    """

    def __init__(
        self, plan: Plan, tables: LearnedTables, time: TimeAxis | None = None, *, starts: int = 64
    ) -> None:
        super().__init__(plan, tables, time)
        self._starts = starts

    def _evaluate(
        self, program: Program | None, events: RelevantEvents, again: int
    ) -> Generator[tuple[k.Int64s, k.Int64s], None, k.Int32s]:
        if program is None:
            raise CountOverflow("the machine is too large for a program")
        first = first_inside(events.times, self._width, 0)
        count = events.count
        ends, numbers = np.empty(count, np.int32), np.empty(count, np.int64)
        batch = Events(events.actions, events.codes, NO_TIMES, first, again)
        while (size := self._count(program, batch, ends, numbers)) is None:
            self._starts *= 2
        if size:
            at_most = np.minimum(numbers[:size], limit_of(self._plan))
            yield events.positions[ends[:size]], at_most
        return ends[:size]

    def _count(
        self, program: Program, events: Events, ends: k.Int32s, numbers: k.Int64s
    ) -> int | None:
        """How many events end answers; None where the rings are too small."""
        counts, reg = self._counts(program), np.zeros(REGISTERS, np.int64)
        limits = k.Limits(k.NO_LIMIT, self._consume, k.NONE)
        for part in paces(len(events.actions), careful=True):
            read = events._replace(actions=events.actions[: part.stop])
            status = count_ends(program.moves, read, limits, counts, ends, numbers, reg)
            if status == k.FULL:
                raise CountOverflow("there are more answers of one end than 2^53")
            if status != k.DONE:
                return None
        return int(reg[ENDS])

    def _counts(self, program: Program) -> Counts:
        """Empty rings with room for so many starts."""
        partitions, size, moves = self._partitions, self._starts, program.moves
        if partitions * moves.states * size > MAX_COUNTS:
            raise CountOverflow("there are too many starts in the window, and partitions")
        poll(8 * partitions * moves.states * size)
        counts = Counts(
            starts=np.zeros((partitions, size), np.int32),
            live=np.zeros((partitions, 2), np.int64),
            runs=np.zeros((partitions, moves.states, size), np.int64),
            scratch=np.zeros((max(1, len(moves.move.source)), size), np.int64),
            epoch=np.zeros(partitions, np.int64),
            idle=np.zeros(partitions, np.int32),
        )
        counts.idle[0] = program.idle_of[self._idle]
        return counts


def end_counts(
    plan: Plan, tables: LearnedTables, stream: Stream, time: TimeAxis | None
) -> Iterator[tuple[k.Int64s, k.Int64s]]:
    """The ends of a whole stream and their numbers, in order, as `EndCounts` gives them.

    Raises `CountOverflow` also for plans that `why_not_windowed` objects to.
    """
    if (reason := why_not_windowed(plan)) is not None:
        raise CountOverflow(reason)
    yield from whole(EndCounts(plan, tables, time), stream)
