"""Phase two by chains of records: where arrays grow and full buffers are handed over."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cerlab.automata.plan import Plan
from cerlab.engine.answers import AnswerBatch, Buffer
from cerlab.engine.batches import paces
from cerlab.engine.general.tecs import CONSUMES, limit_of
from cerlab.engine.growth import double_room
from cerlab.engine.kernels import arrays as k
from cerlab.engine.kernels.windowed import chains as c
from cerlab.kernel_cache import RepeatedCalls


class Chains:
    """The answers of a chained `Program`; `records` and `answers` are starting sizes."""

    def __init__(self, plan: Plan, *, records: int, answers: int) -> None:
        self._limits = k.Limits(limit_of(plan), CONSUMES[plan.consume], k.NONE)
        self._records = _records(records)
        self._search = c.Search(np.zeros(64, np.int32), np.zeros(64, np.int64))
        self._answers = Buffer(answers)
        self._list_chains = RepeatedCalls(c.list_chains)
        self.steps = 0
        """Records visited so far."""

    def read(self, moves: k.Moves, events: c.Events, partitions: int) -> Iterator[AnswerBatch]:
        """The answers at the `ends`, as `kernels.windowed.chains.list_chains` lists them."""
        reg = np.zeros(c.REGISTERS, np.int64)
        heads = np.full(partitions * moves.states, k.NONE, np.int32)
        epoch = np.zeros(partitions, np.int64)
        for part in paces(len(events.ends)):
            some = events._replace(ends=events.ends[: part.stop])
            yield from self._list(moves, some, heads, epoch, reg)
        self.steps += int(reg[c.STEPS])
        if reg[c.ANSWERS]:
            yield self._answers.flush(reg, c.ANSWERS, c.POSITIONS)

    def _list(
        self, moves: k.Moves, events: c.Events, heads: k.Int32s, epoch: k.Int64s, reg: k.Int64s
    ) -> Iterator[AnswerBatch]:
        """The answers at some more ends, but for the last ones, which are in the buffer."""
        while True:
            chains = c.Chains(self._records, heads, epoch, self._search, self._answers.arrays, reg)
            status = self._list_chains(moves, events, self._limits, chains)
            if status == k.DONE:
                return
            if status == k.NEED_ARENA:
                self._records = double_room(self._records)
            elif status == k.NEED_STACK:
                self._search = double_room(self._search)
            else:
                yield from self._answers.make_room(reg, c.ANSWERS, c.POSITIONS)


def _records(count: int) -> c.Records:
    return c.Records(*(np.empty(count, np.int32) for _ in range(4)))
