"""The labels of answers that are known: a row for each way to give an answer its labels.

Answers come from any engine, so strategies, CONSUME BY and LIMIT are done; here each is read once
more, by the automaton with labels, which takes the answer's positions and passes over the others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from cerlab.automata.automaton import Vcea
from cerlab.automata.labelled import LabelledMoves, LabelledStates
from cerlab.automata.plan import PlanClauses
from cerlab.engine.answers import AnswerBatch, joined_answers
from cerlab.engine.batches import paces
from cerlab.engine.columns import rows_of_streams
from cerlab.engine.growth import doubled
from cerlab.engine.kernels import labelling as k
from cerlab.engine.kernels.arrays import DONE, FULL, NONE
from cerlab.model.answer import ComplexEvent
from cerlab.model.stream import Stream
from cerlab.predicates.columns import SymbolStage
from cerlab.predicates.columns.key_codes import KeyCodes

Ways: TypeAlias = Callable[[ComplexEvent], Iterable[Sequence[frozenset[str]]]]
"""The ways to give the positions of an answer their labels."""

MOST_CHANGES = 1 << 26
"""So many events are kept by state, to pass over the others; beyond it they are read one by one."""


class LabelledAnswers(NamedTuple):
    """The rows of some answers: number n is a way to label answer ``answer[n]``.

    It has the positions ``positions[offsets[n] : offsets[n + 1]]``, and at the same places in
    `marks` the numbers of their sets of labels in `labels`.
    """

    start: Any  # int64 (rows,)
    end: Any  # int64 (rows,)
    answer: Any  # int64 (rows,), increasing
    offsets: Any  # int64 (rows + 1,)
    positions: Any  # int64
    marks: Any  # int32
    labels: tuple[frozenset[str], ...]


EVERY_WAY = 1 << 62
"""As many rows of an answer as there are."""


class Labelling:
    """The automaton with labels of a plan on one stream, for batches of its answers."""

    def __init__(
        self,
        vcea: Vcea,
        plan: PlanClauses,
        stream: Stream,
        labels: Collection[str] | None = None,
        *,
        most: int = EVERY_WAY,
    ) -> None:
        """`labels` are those that are told apart, None for all; `most` rows are of one answer."""
        self.machine = LabelledStates(vcea, labels)
        self._most = most
        stage = SymbolStage(self.machine.predicates)
        self._symbols = stage.symbols(stream.columns, len(stream))
        self._rank = None
        if (order := _substreams(plan, stream)) is not None:
            self._symbols = self._symbols[order]
            self._rank = np.full(len(stream), NONE, np.int64)
            self._rank[order] = np.arange(len(order))
        self._vectors = list(stage.vectors)
        self._changes = 0
        self._rows: dict[int, _Row] = {0: self._row(0)}
        self._table = _table(self._rows, self.machine)

    def of(self, answers: AnswerBatch) -> LabelledAnswers:
        """The rows of some answers, in their order; at least one for each."""
        used = answers.positions[int(answers.offsets[0]) : int(answers.offsets[-1])]
        offsets = answers.offsets - answers.offsets[0]
        given = k.Given(answers.start, answers.end, offsets, used)
        if (rank := self._rank) is not None:
            given = k.Given(rank[given.start], rank[given.end], offsets, rank[used])
        rows = self._listed(given)
        labels = self.machine.marks
        if len(rows.answer) == len(answers):  # one row each
            start, end = answers.start, answers.end
            return LabelledAnswers(start, end, rows.answer, offsets, used, rows.marks, labels)
        lengths = np.diff(offsets)[rows.answer]
        made = np.concatenate([[0], np.cumsum(lengths)])
        positions = used[np.arange(made[-1]) - np.repeat(made[:-1] - offsets[rows.answer], lengths)]
        start, end = answers.start[rows.answer], answers.end[rows.answer]
        return LabelledAnswers(start, end, rows.answer, made, positions, rows.marks, labels)

    def _listed(self, given: k.Given) -> k.Rows:
        rows = k.Rows(
            np.empty(len(given.start) + 1, np.int64), np.empty(len(given.positions) + 1, np.int32)
        )
        reg = np.zeros(k.REGISTERS, np.int64)
        reg[k.MOST] = self._most
        longest = int(np.diff(given.offsets).max(initial=0)) + 1
        descent = _descent(longest, len(self._table.known))
        for part in paces(len(given.start)):
            some = given._replace(start=given.start[: part.stop])
            while True:
                status = k.label_answers(self._table, self._symbols, some, descent, rows, reg)
                if status == DONE:
                    break
                if status == FULL:
                    rows = doubled(rows)
                else:
                    self._fill(int(reg[k.STATE]))
                    descent = _descent(longest, len(self._table.known))
        return k.Rows(rows.answer[: reg[k.LISTED]], rows.marks[: reg[k.TAKEN]])

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
    changes: Any  # int64, increasing
    passes: bool


def _substreams(plan: PlanClauses, stream: Stream) -> Any | None:
    """The positions of the events of all substreams, one substream after the other: int64.

    None where they are those of the stream.
    """
    columns, length = stream.columns, len(stream)
    inside = rows_of_streams(plan.streams, columns, length)
    if not plan.partition:
        return inside
    codes = KeyCodes(plan.partition).codes(columns, length)
    if inside is None:
        return np.argsort(codes, kind="stable")
    return inside[np.argsort(codes[inside], kind="stable")]


def _table(rows: dict[int, _Row], machine: LabelledStates) -> k.LabelTable:
    """The rows filled so far, as arrays with room for every state."""
    states, symbols = len(machine.final), len(rows[0].moves)
    takes = np.zeros((states, symbols), np.int32)
    skip = np.full((states, symbols), NONE, np.int32)
    known = np.zeros(states, np.uint8)
    changes = np.zeros(states, np.int64)
    for q, row in rows.items():
        known[q] = 1
        skip[q] = [NONE if m.skip is None else m.skip for m in row.moves]
        takes[q] = [len(m.takes) for m in row.moves]
        changes[q] = len(row.changes) if row.passes else k.EVERYWHERE
    order = sorted(rows)
    flat = [pair for q in order for m in rows[q].moves for pair in m.takes]
    kept = np.maximum(changes, 0)
    return k.LabelTable(
        known=known,
        final=np.array(machine.final, np.uint8),
        skip=skip,
        first=(np.cumsum(takes) - takes.ravel()).reshape(takes.shape).astype(np.int32),
        takes=takes,
        mark=np.array([mark for mark, _ in flat], np.int32),
        target=np.array([target for _, target in flat], np.int32),
        changes=changes,
        change_first=np.cumsum(kept) - kept,
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


class UnlessAmbiguous:
    """A labelling by an automaton that has the runs of a plan, and perhaps others.

    An answer that it labels in one way only has that one, for it has one. The ways of others are
    listed by `ways`.
    """

    def __init__(
        self,
        vcea: Vcea,
        plan: PlanClauses,
        stream: Stream,
        ways: Ways,
        labels: Collection[str] | None = None,
    ) -> None:
        self._labelling = Labelling(vcea, plan, stream, labels, most=2)
        self._ways = ways
        self._labels = labels

    def of(self, answers: AnswerBatch) -> LabelledAnswers:
        """The rows of some answers, in their order; at least one for each."""
        rows = self._labelling.of(answers)
        number = np.bincount(rows.answer, minlength=len(answers))
        if (number == 1).all():
            return rows
        several = np.flatnonzero(number > 1)
        some = joined_answers([answers.after(n).first(1) for n in several.tolist()])
        listed = rows_of_ways(some, self._ways, self._labels)
        listed = listed._replace(answer=several[listed.answer])
        return _in_order(_taken(rows, np.flatnonzero(number[rows.answer] == 1)), listed)


def _taken(rows: LabelledAnswers, at: Any) -> LabelledAnswers:
    """Some of the rows, by number."""
    lengths = np.diff(rows.offsets)[at]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    flat = np.arange(offsets[-1]) - np.repeat(offsets[:-1] - rows.offsets[at], lengths)
    start, end, answer = rows.start[at], rows.end[at], rows.answer[at]
    return LabelledAnswers(
        start, end, answer, offsets, rows.positions[flat], rows.marks[flat], rows.labels
    )


def _in_order(first: LabelledAnswers, second: LabelledAnswers) -> LabelledAnswers:
    """The rows of both, by answer."""
    joined = LabelledAnswers(
        start=np.concatenate([first.start, second.start]),
        end=np.concatenate([first.end, second.end]),
        answer=np.concatenate([first.answer, second.answer]),
        offsets=np.concatenate([first.offsets, first.offsets[-1] + second.offsets[1:]]),
        positions=np.concatenate([first.positions, second.positions]),
        marks=np.concatenate([first.marks, second.marks + np.int32(len(first.labels))]),
        labels=first.labels + second.labels,
    )
    return _taken(joined, np.argsort(joined.answer, kind="stable"))


def rows_of_ways(
    answers: AnswerBatch,
    ways: Ways,
    labels: Collection[str] | None,
) -> LabelledAnswers:
    """The rows of some answers by a function that lists the labels of each answer's positions."""
    numbers: dict[frozenset[str], int] = {}
    answer: list[int] = []
    positions: list[int] = []
    marks: list[int] = []
    offsets = [0]
    for n, given in enumerate(answers):
        for way in dict.fromkeys(
            tuple(L if labels is None else L.intersection(labels) for L in way)
            for way in ways(given)
        ):
            answer.append(n)
            positions += given.positions
            marks += [numbers.setdefault(L, len(numbers)) for L in way]
            offsets.append(len(positions))
    number = np.array(answer, np.int64)
    return LabelledAnswers(
        start=answers.start[number],
        end=answers.end[number],
        answer=number,
        offsets=np.array(offsets, np.int64),
        positions=np.array(positions, np.int64),
        marks=np.array(marks, np.int32),
        labels=tuple(numbers),
    )
