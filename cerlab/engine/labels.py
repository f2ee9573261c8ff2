"""Answers with labels: rows in flat arrays, and the machines that assign the labels."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cache, partial
from operator import itemgetter
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cerlab.automata.automaton import Vcea
from cerlab.automata.explore import reachable, successors_by
from cerlab.automata.labelled import LabelledSrt, merged, of_vcea
from cerlab.automata.plan import PlanClauses
from cerlab.computed import cached_property
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
from cerlab.engine.kernels.labels import EVERYWHERE, LabelledRows
from cerlab.engine.kernels.registers import Events
from cerlab.engine.reference.registers import labels_of_answer
from cerlab.engine.registers.evaluation import MAX_RULES
from cerlab.engine.registers.program import (
    LabellingProgram,
    NotTaken,
    labelling_program,
    mixes,
)
from cerlab.engine.registers.rules import Names, event_atoms, labelling_tables, names_of
from cerlab.model.answer import (
    ComplexEvent,
    Positions,
    Valuation,
    valuations_of_columns,
    without_collection,
)
from cerlab.model.arrays import order_of
from cerlab.model.stream import Stream
from cerlab.predicates.columns import SymbolStage
from cerlab.predicates.columns.key_codes import KeyCodes
from cerlab.predicates.columns.lookup_tables import Codes
from cerlab.predicates.columns.ranks import Ranks
from cerlab.predicates.syntax import FALSE, may_hold

Ways: TypeAlias = Callable[[ComplexEvent], Iterable[Sequence[frozenset[str]]]]
"""A function from an answer to the labellings of its positions."""


_Getter: TypeAlias = Callable[[Positions], Positions]


class LabelledAnswers(NamedTuple):
    """Labelled answers in flat arrays: row n is one way to label answer ``answer[n]``.

    Its positions are ``positions[offsets[n] : offsets[n + 1]]``; the same slice of `marks` has the
    numbers of their label sets in `labels`.
    """

    start: Int64s  # (rows,)
    end: Int64s  # (rows,)
    answer: Int64s  # (rows,), increasing
    offsets: Int64s  # (rows + 1,)
    positions: Int64s
    marks: Int32s
    labels: tuple[frozenset[str], ...]


def _labelled_rows(
    answers: AnswerBatch, rows: LabelledRows, labels: tuple[frozenset[str], ...]
) -> LabelledAnswers:
    """Return labelled answers from a kernel's rows; `labels` are the label sets of marks."""
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
    """Yield the valuation of each row."""
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
    """Return, for each label, its name and a function that picks its positions from an answer."""
    getters: list[tuple[str, _Getter]] = []
    for label in sorted(frozenset[str]().union(*labels)):
        at = [n for n, L in enumerate(labels) if label in L]
        together = at[-1] - at[0] == len(at) - 1
        # a slice is faster than many indices, and `itemgetter` of a single index returns no tuple
        places = [slice(at[0], at[-1] + 1)] if together else at
        getters.append((label, itemgetter(*places)))
    return getters


def _flat(answers: AnswerBatch) -> tuple[Int64s, Int64s]:
    """Return where each answer's positions begin, counted from 0, and all positions."""
    first, last = int(answers.offsets[0]), int(answers.offsets[-1])
    return answers.offsets.astype(np.int64) - first, answers.positions[first:last]


def rows_of_ways(
    answers: AnswerBatch, ways: Ways, labels: Collection[str] | None
) -> LabelledAnswers:
    """Return rows for answers; the function lists the ways to label one answer."""
    numbers: dict[frozenset[str], int] = {}
    answer: list[int] = []
    positions: list[int] = []
    marks: list[int] = []
    offsets = [0]
    for n, complex_event in enumerate(answers):
        asked = {tuple(_asked(L, labels) for L in way) for way in ways(complex_event)}
        for way in sorted(asked, key=lambda way: [sorted(L) for L in way]):
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
"""A function from answers to their rows, in order, at least one for each."""


class LabelMachine:
    """A machine that labels answers, with its compiled program, which later streams reuse."""

    def __init__(self, A: Vcea | LabelledSrt) -> None:
        self.A = of_vcea(A) if isinstance(A, Vcea) else A
        self._places: dict[frozenset[str] | None, Places] = {}

    def label(self, plan: PlanClauses, stream: Stream, labels: Collection[str] | None) -> Label:
        """Return a function that labels the answers of a plan on one stream.

        `labels` are the labels to separate, None for all. Runs over an answer are computed only if
        the places of its positions do not determine the labels.
        """
        key = None if labels is None else frozenset(labels)
        places = self._places.get(key)
        if places is None:
            places = self._places[key] = Places(self.A, key)
        stage = SymbolStage(places.predicates)
        symbols = stage.symbols(stream.columns, len(stream))
        by_place = np.stack([places.of(vector) for vector in stage.vectors])
        if (by_place != k.SEVERAL).all():
            return partial(_label_by_place, by_place, symbols, places.marks)
        try:
            return Runs(places, plan, stream, stage, symbols, by_place).label
        except NotTaken:
            ways = partial(labels_of_answer, self.A, plan, stream.events)
            return lambda answers: rows_of_ways(answers, ways, key)


def _asked(labels: frozenset[str], some: Collection[str] | None) -> frozenset[str]:
    """Return the labels that are in `some`; all labels if `some` is None."""
    return labels if some is None else labels.intersection(some)


MOST_TAKEN = 8
"""The cap on the counted positions before and after a position.

It covers the fixed parts around an iteration; the table grows with its square.
"""


class Places:
    """The labels of a position, as its event and its place (first, inner, last) determine them.

    Since the answer has a run, the possible moves at the position determine the labels.
    """

    def __init__(self, A: LabelledSrt, labels: frozenset[str] | None) -> None:
        asked = {t.labels: _asked(t.labels, labels) for t in A.Delta if t.labels}
        self.marks = tuple(sorted(set(asked.values()), key=sorted))
        """The different sets of labels."""
        self._A = A
        self._number = {L: self.marks.index(those) for L, those in asked.items()}
        program, final, mark = labelling_program(A, self._number)
        moves = program.moves
        before = _taken(program.states, {0}, [(m.source, m.marks, m.target) for m in moves])
        after = _taken(program.states, final, [(m.target, m.marks, m.source) for m in moves])
        asks = [may_hold(m.guard) for m in moves]
        self.predicates = tuple(
            dict.fromkeys(P for P, m in zip(asks, moves, strict=True) if m.marks and P != FALSE)
        )
        """The tests on events of moves that take an event, regardless of registers."""
        self._moves = [
            (self.predicates.index(P), number, before[m.source][:, None] & after[m.target])
            for P, m, number in zip(asks, moves, mark, strict=True)
            if number != NONE and P != FALSE
        ]
        self._rows: dict[int, Int32s] = {}

    @cached_property
    def machine(self) -> LabellingProgram:
        """The register program for answers whose labels the places do not determine."""
        return labelling_program(merged(self._A), self._number)

    def of(self, vector: int) -> Int32s:
        """Return the labels of an event, with truth vector `vector`, by its place in the answer.

        Shape (`MOST_TAKEN` + 1, `MOST_TAKEN` + 1), by the numbers of positions before and after;
        NONE if no answer has such a position, SEVERAL if it may have two marks.
        """
        if (row := self._rows.get(vector)) is None:
            row = self._rows[vector] = self._row(vector)
        return row

    def _row(self, vector: int) -> Int32s:
        row = np.full((MOST_TAKEN + 1, MOST_TAKEN + 1), NONE, np.int32)
        for bit, mark, places in self._moves:
            if vector >> bit & 1:
                is_one = (row[places] == NONE) | (row[places] == mark)
                row[places] = np.where(is_one, mark, k.SEVERAL)
        return row


def _taken(
    states: int, first: Collection[int], edges: Sequence[tuple[int, bool, int]]
) -> NDArray[np.bool_]:
    """Return whether a path from `first` to each state takes n events: (states, `MOST_TAKEN` + 1).

    The last column is for `MOST_TAKEN` events and more.
    """
    after = successors_by(
        ((p, n), (q, min(n + takes, MOST_TAKEN)))
        for p, takes, q in edges
        for n in range(MOST_TAKEN + 1)
    )
    taken = np.zeros((states, MOST_TAKEN + 1), np.bool_)
    for place in reachable(((q, 0) for q in first), after):
        taken[place] = True
    return taken


def _label_by_place(
    by_place: Int32s, symbols: Codes, labels: tuple[frozenset[str], ...], answers: AnswerBatch
) -> LabelledAnswers:
    """Return one row for each answer, where the places of positions determine the labels."""
    offsets, positions = _flat(answers)
    marks = np.empty(len(positions), np.int32)
    k.label_by_place(by_place, symbols, offsets, positions, marks)
    number = np.arange(len(answers))
    return LabelledAnswers(answers.start, answers.end, number, offsets, positions, marks, labels)


# 512 MB of positions
MOST_CHANGES = 1 << 26
"""The most events that are indexed by state (512 MB); above it, events are read one by one."""


ROOM = 64
"""The initial room for configurations of one answer."""


class Runs:
    """A machine with labels, run over the events of each answer."""

    def __init__(
        self,
        places: Places,
        plan: PlanClauses,
        stream: Stream,
        stage: SymbolStage,
        symbols: Codes,
        by_place: Int32s,
    ) -> None:
        """Prepare the kernel; raise `NotTaken` if it does not support the machine.

        `stage` assigned the `symbols` to the events; `by_place` has their marks.
        """
        program = places.machine.program
        if any(mixes(move.guard) for move in program.moves):
            raise NotTaken("one side of a comparison computes with values of two events")
        atoms, by_atoms = event_atoms(program), symbols
        # the symbol decides guards with one atom, such as an event type
        if not set(atoms) <= set(places.predicates):
            stage = SymbolStage(atoms)
            by_atoms = stage.symbols(stream.columns, len(stream))
        if max(len(program.moves), program.states) * len(stage.vectors) > MAX_RULES:
            raise NotTaken("there are too many kinds of events")
        self._marks = places.marks
        self._rank = None
        if (order := _substreams(plan, stream)) is not None:
            self._rank = np.full(len(stream), NONE, np.int64)
            self._rank[order] = np.arange(len(order))
            symbols, by_atoms = symbols[order], by_atoms[order]
        names = names_of(program)
        read = by_atoms.astype(np.int32)
        self._rules, waits = labelling_tables(program, names, stage.predicates, stage.vectors)
        self._events = _events(names, stream, read, order)
        self._labels = _labels(places.machine, waits, read, by_place, symbols)
        self._trellis = _empty_trellis(len(names.slots))

    def label(self, answers: AnswerBatch) -> LabelledAnswers:
        """Return the labelled rows of answers, in order."""
        offsets, positions = _flat(answers)
        local = Answers(answers.start, answers.end, offsets, positions)
        if (rank := self._rank) is not None:
            local = Answers(rank[answers.start], rank[answers.end], offsets, rank[positions])
        rows = LabelledRows(
            np.empty(len(answers) + 1, np.int64), np.empty(len(positions) + 1, np.int32)
        )
        counters = np.zeros(k.ALL, np.int64)
        self._trellis.bucket_of[:] = self._trellis.inside[:] = 0
        for part in paces(len(answers)):
            some = local._replace(start=local.start[: part.stop])
            while True:
                tables = self._rules, self._labels, self._events
                status = k.label_by_runs(*tables, some, self._trellis, rows, counters)
                if status == DONE:
                    break
                if status == FULL:
                    rows = double_room(rows)
                else:
                    self._trellis = double_room(self._trellis)
        listed = LabelledRows(rows.answer[: counters[k.ROWS]], rows.marks[: counters[k.MARKS]])
        return _labelled_rows(answers, listed, self._marks)


def _substreams(plan: PlanClauses, stream: Stream) -> Int64s | None:
    """Return the positions of all events in substreams, one substream after the other.

    None if they are all events in stream order.
    """
    columns, length = stream.columns, len(stream)
    inside: Int64s | None = rows_of_streams(plan.streams, columns)
    if not plan.partition:
        return inside
    codes = KeyCodes(plan.partition).codes(columns, length)
    if inside is None:
        return order_of(codes)
    return inside[order_of(codes[inside])]


def _events(names: Names, stream: Stream, symbols: Int32s, order: Int64s | None) -> Events:
    """Return the events of all substreams, with codes for the values that rules compare."""
    codes = Ranks(names.of_constants())
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
        lists=np.zeros(0, np.uint8),
    )


def _labels(
    machine: LabellingProgram,
    waits: NDArray[np.bool_],
    symbols: Int32s,
    by_place: Int32s,
    place_symbols: Codes,
) -> k.LabelTables:
    changes, at, total = [], [np.zeros(0, np.int64)], 0
    states = range(machine.program.states)
    for q in states:
        elsewhere = ~waits[:, q]
        if elsewhere.all() or total > MOST_CHANGES:
            changes.append(EVERYWHERE)
            continue
        # most states never change, so their runs skip all events
        at.append(np.flatnonzero(elsewhere[symbols]) if elsewhere.any() else at[0])
        changes.append(len(at[-1]))
        total += len(at[-1])
    room = np.maximum(changes, 0)
    return k.LabelTables(
        final=np.array([q in machine.final for q in states], np.uint8),
        mark=np.array(machine.mark, np.int32),
        by_place=by_place,
        symbols=place_symbols.astype(np.int32),
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
        on=ints(ROOM),
        inside=np.zeros(ROOM, np.int64),
        begin=ints(ROOM + 1),
        mark_of=ints(ROOM),
    )
