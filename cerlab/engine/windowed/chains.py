"""Phase two by chains of records: where arrays grow and full buffers are handed over."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from cerlab.automata.plan import Plan
from cerlab.engine.answers import AnswerBatch, Buffer
from cerlab.engine.general.tecs import CONSUMES, limit_of
from cerlab.engine.kernels import arrays as k
from cerlab.engine.kernels.windowed import chains as c
from cerlab.engine.windowed.program import Program


class Chains:
    """The answers of a chained `Program`; `records` and `answers` are starting sizes."""

    def __init__(self, plan: Plan, *, records: int, answers: int) -> None:
        self._limit = limit_of(plan)
        self._consume = CONSUMES[plan.consume]
        self._records = _records(records)
        self._search = c.Search(np.zeros(64, np.int32), np.zeros(64, np.int32))
        self._answers = Buffer(answers)
        self.steps = 0
        """Records visited so far."""

    def read(
        self,
        program: Program,
        taken: Any,
        codes: Any,
        positions: Any,
        offset: int,
        ends: Any,
        first: Any,
        partitions: int,
    ) -> Iterator[AnswerBatch]:
        """The answers at the events `ends`, as `kernels.windowed.chains.list_chains` lists them."""
        reg = np.zeros(c.REGISTERS, np.int64)
        heads = np.full(partitions * program.states, k.NONE, np.int32)
        epoch = np.zeros(partitions, np.int64)
        while True:
            status = c.list_chains(
                program.states,
                program.begin,
                program.move,
                taken,
                codes,
                positions,
                offset,
                ends,
                first,
                self._limit,
                self._consume,
                self._records,
                heads,
                epoch,
                self._search,
                self._answers.arrays,
                reg,
            )
            if status == k.DONE:
                break
            if status == k.NEED_ARENA:
                self._records = c.Records(*map(_doubled, self._records))
            elif status == k.NEED_STACK:
                self._search = c.Search(*map(_doubled, self._search))
            elif reg[c.LISTED]:
                yield self._handed_over(reg)
            else:  # one answer is longer than the buffer
                self._answers.longer()
        self.steps += int(reg[c.STEPS])
        if reg[c.LISTED]:
            yield self._handed_over(reg)

    def _handed_over(self, reg: Any) -> AnswerBatch:
        made = self._answers.taken(int(reg[c.LISTED]), int(reg[c.TAKEN]))
        reg[c.LISTED] = reg[c.TAKEN] = 0
        return made


def _records(count: int) -> c.Records:
    return c.Records(*(np.empty(count, np.int32) for _ in range(4)))


def _doubled(array: Any) -> Any:
    return np.concatenate((array, np.empty_like(array)))
