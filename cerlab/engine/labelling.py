"""The labels of answers that are known: a row for each way to give an answer its labels.

Answers come from any engine, so strategies, CONSUME BY and LIMIT are done; here each is read once
more, by the automaton with labels, which takes the answer's positions and passes over the others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple, TypeAlias

import numpy as np

from cerlab.automata.automaton import Vcea
from cerlab.automata.labelled import LabelledMoves, LabelledStates
from cerlab.automata.plan import PlanClauses
from cerlab.engine.answers import AnswerBatch
from cerlab.engine.kernels import labelling as k
from cerlab.engine.kernels.arrays import NONE, Answers, Int64s
from cerlab.engine.labelled_rows import LabelledAnswers, Substreams, labelled_rows, list_rows
from cerlab.model.stream import Stream
from cerlab.predicates.columns import SymbolStage

Label: TypeAlias = Callable[[AnswerBatch], LabelledAnswers]
"""Gives the rows of some answers, in their order; at least one for each."""

MOST_CHANGES = 1 << 26
"""So many events are kept by state, to pass over the others; beyond it they are read one by one."""


class Labelling:
    """The automaton with labels of a plan on one stream, for batches of its answers."""

    def __init__(
        self, vcea: Vcea, plan: PlanClauses, stream: Stream, labels: Collection[str] | None = None
    ) -> None:
        """`labels` are those that are told apart, None for all."""
        self.machine = LabelledStates(vcea, labels)
        stage = SymbolStage(self.machine.predicates)
        self._symbols = stage.symbols(stream.columns, len(stream))
        self._substreams = Substreams(plan, stream)
        if (order := self._substreams.order) is not None:
            self._symbols = self._symbols[order]
        self._vectors = list(stage.vectors)
        self._changes = 0
        self._rows: dict[int, _Row] = {0: self._row(0)}
        self._table = _table(self._rows, self.machine)

    def of(self, answers: AnswerBatch) -> LabelledAnswers:
        """The rows of some answers, in their order; at least one for each."""
        rows = self._label_rows(self._substreams.in_substreams(answers))
        return labelled_rows(answers, rows, self.machine.marks)

    def _label_rows(self, answers: Answers) -> k.Rows:
        reg = np.zeros(k.REGISTERS, np.int64)
        longest = int(np.diff(answers.offsets).max(initial=0)) + 1
        descent = _descent(longest, len(self._table.has_row))

        def read(some: Answers, rows: k.Rows) -> int:
            return k.label_answers(self._table, self._symbols, some, descent, rows, reg)

        def provide() -> None:
            nonlocal descent
            self._fill(int(reg[k.STATE]))
            descent = _descent(longest, len(self._table.has_row))

        return list_rows(answers, reg, read, provide)

    def _fill(self, state: int) -> None:
        """A row for a state, and for as many others as there are, so the table is seldom copied."""
        enough = 2 * len(self._rows)
        for q in (state, *range(len(self.machine.final))):
            if q not in self._rows and len(self._rows) < enough:
                self._rows[q] = self._row(q)
        self._table = _table(self._rows, self.machine)

    def _row(self, state: int) -> _Row:
        moves = [self.machine.step(state, vector) for vector in self._vectors]
        elsewhere = np.array([m.skip != state for m in moves])
        if not elsewhere.any():
            return _Row(moves, np.zeros(0, np.int64), passes=True)
        if elsewhere.all() or self._changes > MOST_CHANGES:
            return _Row(moves, np.zeros(0, np.int64), passes=False)
        changes = np.flatnonzero(elsewhere[self._symbols])
        self._changes += len(changes)
        return _Row(moves, changes, passes=True)


class _Row(NamedTuple):
    """The moves of a state by symbol, and where skips lead elsewhere if events are passed over."""

    moves: list[LabelledMoves]
    changes: Int64s  # increasing
    passes: bool


def _table(rows: dict[int, _Row], machine: LabelledStates) -> k.LabelTable:
    """The rows filled so far, as arrays with room for every state."""
    states, symbols = len(machine.final), len(rows[0].moves)
    takes = np.zeros((states, symbols), np.int32)
    skip = np.full((states, symbols), NONE, np.int32)
    has_row = np.zeros(states, np.uint8)
    changes = np.zeros(states, np.int64)
    for q, row in rows.items():
        has_row[q] = 1
        skip[q] = [NONE if m.skip is None else m.skip for m in row.moves]
        takes[q] = [len(m.takes) for m in row.moves]
        changes[q] = len(row.changes) if row.passes else k.EVERYWHERE
    order = sorted(rows)
    flat = [pair for q in order for m in rows[q].moves for pair in m.takes]
    counts = np.maximum(changes, 0)
    return k.LabelTable(
        has_row=has_row,
        final=np.array(machine.final, np.uint8),
        skip=skip,
        first=(np.cumsum(takes) - takes.ravel()).reshape(takes.shape).astype(np.int32),
        takes=takes,
        mark=np.array([mark for mark, _ in flat], np.int32),
        target=np.array([target for _, target in flat], np.int32),
        changes=changes,
        change_first=np.cumsum(counts) - counts,
        change_at=np.concatenate([rows[q].changes for q in order]),
    )


def _descent(longest: int, states: int) -> k.Descent:
    return k.Descent(
        state=np.zeros(longest, np.int32),
        move=np.zeros(longest, np.int32),
        before=np.zeros(longest, np.int64),
        mark=np.zeros(longest, np.int32),
        dead=np.full(longest * states, NONE, np.int64),
    )
