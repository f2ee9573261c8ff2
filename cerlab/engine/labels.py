"""Rows of answers with their labels, as flat arrays, and what those are made of."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cache
from operator import itemgetter
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cerlab.automata.automaton import Vcea
from cerlab.automata.labelled import LabelledMoves, LabelledSrt, LabelledStates
from cerlab.automata.plan import PlanClauses
from cerlab.engine.answers import (
    SOME_OBJECTS,
    AnswerBatch,
    cut,
    double_room,
    paces,
    rows_of_streams,
)
from cerlab.engine.kernels import labels as k
from cerlab.engine.kernels.arrays import DONE, FULL, NONE, Answers, Int32s, Int64s
from cerlab.engine.kernels.labels import EVERYWHERE, MARKS, ROWS, Rows
from cerlab.engine.kernels.registers import Events
from cerlab.engine.registers.codes import ValueCodes
from cerlab.engine.registers.evaluation import MAX_RULES
from cerlab.engine.registers.program import NotTaken, labelling_program, mixes
from cerlab.engine.registers.rules import Names, event_atoms, labelling_tables, names_of
from cerlab.model.answer import (
    ComplexEvent,
    Positions,
    Valuation,
    valuations_of_columns,
    without_collection,
)
from cerlab.model.columns import order_of
from cerlab.model.stream import Stream
from cerlab.predicates.columns import SymbolStage
from cerlab.predicates.columns.key_codes import KeyCodes

Ways: TypeAlias = Callable[[ComplexEvent], Iterable[Sequence[frozenset[str]]]]
"""The ways to give the positions of an answer their labels."""


_Getter: TypeAlias = Callable[[Positions], Positions]


class LabelledAnswers(NamedTuple):
    """The rows of some answers: number n is a way to label answer ``answer[n]``.

    It has the positions ``positions[offsets[n] : offsets[n + 1]]``, and at the same places in
    `marks` the numbers of their sets of labels in `labels`.
    """

    start: Int64s  # (rows,)
    end: Int64s  # (rows,)
    answer: Int64s  # (rows,), increasing
    offsets: Int64s  # (rows + 1,)
    positions: Int64s
    marks: Int32s
    labels: tuple[frozenset[str], ...]


class Substreams:
    """The events of all substreams of a plan, one substream after the other."""

    def __init__(self, plan: PlanClauses, stream: Stream) -> None:
        self.order = _substreams(plan, stream)
        """The positions of these events: int64, None where they are those of the stream."""
        self._rank = None
        if self.order is not None:
            self._rank = np.full(len(stream), NONE, np.int64)
            self._rank[self.order] = np.arange(len(self.order))

    def in_substreams(self, answers: AnswerBatch) -> Answers:
        """Some answers, their positions counted in these events."""
        offsets, positions = _flat(answers)
        if (rank := self._rank) is None:
            return Answers(answers.start, answers.end, offsets, positions)
        return Answers(rank[answers.start], rank[answers.end], offsets, rank[positions])


def list_rows(
    answers: Answers, reg: Int64s, read: Callable[[Answers, Rows], int], provide: Callable[[], None]
) -> Rows:
    """The rows that a kernel lists for some answers; `read` calls it until all are done.

    `provide` gives it what it lacks, other than room for rows; `reg` are its registers.
    """
    rows = Rows(
        np.empty(len(answers.start) + 1, np.int64), np.empty(len(answers.positions) + 1, np.int32)
    )
    for part in paces(len(answers.start)):
        some = answers._replace(start=answers.start[: part.stop])
        while (status := read(some, rows)) != DONE:
            if status == FULL:
                rows = double_room(rows)
            else:
                provide()
    return Rows(rows.answer[: reg[ROWS]], rows.marks[: reg[MARKS]])


def labelled_rows(
    answers: AnswerBatch, rows: Rows, labels: tuple[frozenset[str], ...]
) -> LabelledAnswers:
    """The rows that a kernel lists for some answers; `labels` are those of the marks."""
    offsets, flat = _flat(answers)
    if len(rows.answer) == len(answers):  # one row each
        start, end = answers.start, answers.end
        return LabelledAnswers(start, end, rows.answer, offsets, flat, rows.marks, labels)
    lengths = np.diff(offsets)[rows.answer]
    row_offsets = np.concatenate([[0], np.cumsum(lengths)])
    shifts = np.repeat(row_offsets[:-1] - offsets[rows.answer], lengths)
    positions = flat[np.arange(row_offsets[-1]) - shifts]
    start, end = answers.start[rows.answer], answers.end[rows.answer]
    return LabelledAnswers(start, end, rows.answer, row_offsets, positions, rows.marks, labels)


def valuations_of_rows(rows: LabelledAnswers) -> Iterator[Valuation]:
    """A valuation for each row."""
    getters_of = cache(lambda marks: _getters([rows.labels[mark] for mark in marks]))
    for begin in range(0, len(rows.start), SOME_OBJECTS):
        offsets = rows.offsets[begin : begin + SOME_OBJECTS + 1]
        lengths, part = np.diff(offsets), slice(offsets[0], offsets[-1])
        starts, ends = (x[begin : begin + len(lengths)].tolist() for x in (rows.start, rows.end))
        with without_collection():
            each = zip(
                cut(rows.positions[part].tolist(), lengths),
                cut(rows.marks[part].tolist(), lengths),
                strict=True,
            )
            labels = [
                {label: get(positions) for label, get in getters_of(marks)}
                for positions, marks in each
            ]
            valuations = valuations_of_columns(starts, ends, labels)
        yield from valuations


def _getters(labels: Sequence[frozenset[str]]) -> list[tuple[str, _Getter]]:
    """Return functions from the positions of an answer to those of each label, by name."""
    getters: list[tuple[str, _Getter]] = []
    for label in sorted(frozenset[str]().union(*labels)):
        at = [n for n, L in enumerate(labels) if label in L]
        together = at[-1] - at[0] == len(at) - 1
        # one slice is faster than many items, and `itemgetter` of one item gives no tuple
        places = [slice(at[0], at[-1] + 1)] if together else at
        getters.append((label, itemgetter(*places)))
    return getters


def _flat(answers: AnswerBatch) -> tuple[Int64s, Int64s]:
    """The offsets of some answers from 0 on, and their positions."""
    first, last = int(answers.offsets[0]), int(answers.offsets[-1])
    return answers.offsets.astype(np.int64) - first, answers.positions[first:last]


def _substreams(plan: PlanClauses, stream: Stream) -> Int64s | None:
    """The positions of the events of all substreams, one substream after the other.

    None where they are those of the stream.
    """
    columns, length = stream.columns, len(stream)
    inside: Int64s | None = rows_of_streams(plan.streams, columns)
    if not plan.partition:
        return inside
    codes = KeyCodes(plan.partition).codes(columns, length)
    if inside is None:
        return order_of(codes)
    return inside[order_of(codes[inside])]


def rows_of_ways(
    answers: AnswerBatch, ways: Ways, labels: Collection[str] | None
) -> LabelledAnswers:
    """The rows of some answers by a function that lists the labels of each answer's positions."""
    numbers: dict[frozenset[str], int] = {}
    answer: list[int] = []
    positions: list[int] = []
    marks: list[int] = []
    offsets = [0]
    for n, complex_event in enumerate(answers):
        for way in dict.fromkeys(
            tuple(L if labels is None else L.intersection(labels) for L in way)
            for way in ways(complex_event)
        ):
            answer.append(n)
            positions += complex_event.positions
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


Label: TypeAlias = Callable[[AnswerBatch], LabelledAnswers]
"""Gives the rows of some answers, in their order; at least one for each."""


# 512 MB of positions
MOST_CHANGES = 1 << 26
"""The number of events that are indexed by state; above it, events are read one by one."""


class Labelling:
    """The automaton with labels of a plan on one stream, for batches of its answers."""

    def __init__(
        self, vcea: Vcea, plan: PlanClauses, stream: Stream, labels: Collection[str] | None = None
    ) -> None:
        """`labels` are the labels to distinguish, None for all."""
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
        # a state that every event may leave has nothing to pass over
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


ROOM = 64
"""The initial room for configurations of one answer."""


class RegisterLabelling:
    """A transducer with labels on one stream, for batches of the answers of its plan."""

    def __init__(
        self,
        A: LabelledSrt,
        plan: PlanClauses,
        stream: Stream,
        labels: Collection[str] | None = None,
    ) -> None:
        """`labels` are the labels to distinguish, None for all; raises `NotTaken`."""
        if any(mixes(t.guard) for t in A.Delta):
            raise NotTaken("one side of a comparison computes with values of two events")
        program, of_moves = labelling_program(A)
        label_sets = [
            None if not L else L if labels is None else L.intersection(labels) for L in of_moves
        ]
        self.marks = tuple(sorted({L for L in label_sets if L is not None}, key=sorted))
        mark = [NONE if L is None else self.marks.index(L) for L in label_sets]
        atoms, names = event_atoms(program), names_of(program)
        stage = SymbolStage(atoms)
        symbols = stage.symbols(stream.columns, len(stream))
        self._substreams = Substreams(plan, stream)
        order = self._substreams.order
        read = (symbols if order is None else symbols[order]).astype(np.int32)
        if max(len(program.moves), program.states) * len(stage.vectors) > MAX_RULES:
            raise NotTaken("there are too many kinds of events")
        self._rules, waits = labelling_tables(program, names, atoms, stage.vectors)
        self._events = _events(names, stream, read, order)
        self._labels = _labels(A, mark, waits, read)
        self._runs = _empty_trellis(len(names.slots))

    def of(self, answers: AnswerBatch) -> LabelledAnswers:
        """The rows of some answers, in their order: by marks, as `marks` has them."""
        local = self._substreams.in_substreams(answers)
        reg = np.zeros(k.ALL, np.int64)
        self._runs.bucket_of[:] = self._runs.inside[:] = 0

        def read(some: Answers, rows: Rows) -> int:
            return k.label_by_registers(
                self._rules, self._labels, self._events, some, self._runs, rows, reg
            )

        def provide() -> None:
            self._runs = double_room(self._runs)

        return labelled_rows(answers, list_rows(local, reg, read, provide), self.marks)


def _events(names: Names, stream: Stream, symbols: Int32s, order: Int64s | None) -> Events:
    """The events of all substreams, with the codes of what they bring."""
    codes = ValueCodes(names.of_constants())
    values = codes.of_columns(stream.columns, names.values, len(stream))
    rows = np.stack(values, axis=1) if values else np.zeros((len(stream), 0), np.int64)
    nothing = np.zeros(0, np.int64)
    return Events(
        symbol=symbols,
        values=rows if order is None else rows[order],
        position=nothing,
        order=nothing,
        lowest=nothing,
        constants=codes.constants,
    )


def _labels(A: LabelledSrt, mark: list[int], waits: NDArray[np.bool_], symbols: Int32s) -> k.Labels:
    changes, at, total = [], [np.zeros(0, np.int64)], 0
    for q in range(A.states):
        elsewhere = ~waits[:, q]
        if elsewhere.all() or total > MOST_CHANGES:
            changes.append(EVERYWHERE)
            continue
        at.append(np.flatnonzero(elsewhere[symbols]))
        changes.append(len(at[-1]))
        total += len(at[-1])
    room = np.maximum(changes, 0)
    return k.Labels(
        begin=A.q0,
        final=np.array([q in A.F for q in range(A.states)], np.uint8),
        mark=np.array(mark, np.int32),
        changes=np.array(changes, np.int64),
        change_first=np.cumsum(room) - room,
        change_at=np.concatenate(at),
    )


def _empty_trellis(slots: int) -> k.Trellis:
    def ints(size: int) -> Int32s:
        return np.zeros(size, np.int32)

    return k.Trellis(
        state=ints(ROOM),
        slots=np.zeros((ROOM, slots), np.int64),
        first=ints(ROOM + 1),
        accepts=np.zeros(ROOM, np.uint8),
        layer=ints(ROOM + 1),
        mark=ints(4 * ROOM),
        target=ints(4 * ROOM),
        bucket=ints(2 * ROOM),
        bucket_of=np.zeros(2 * ROOM, np.int64),
        next=ints(ROOM),
        members=ints(ROOM),
        inside=np.zeros(ROOM, np.int64),
        begin=ints(ROOM + 1),
        mark_of=ints(ROOM),
    )
