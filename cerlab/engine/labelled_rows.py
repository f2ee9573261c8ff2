"""Rows of answers with their labels, as flat arrays, and what those are made of."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cache
from operator import itemgetter
from typing import NamedTuple, TypeAlias

import numpy as np

from cerlab.automata.plan import PlanClauses
from cerlab.engine.answers import SOME_OBJECTS, AnswerBatch, cut
from cerlab.engine.batches import paces
from cerlab.engine.columns import rows_of_streams
from cerlab.engine.growth import double_room
from cerlab.engine.kernels.arrays import DONE, FULL, NONE, Answers, Int32s, Int64s
from cerlab.engine.kernels.labelling import MARKS, ROWS, Rows
from cerlab.model.answer import (
    ComplexEvent,
    Positions,
    Valuation,
    valuations_of_columns,
    without_collection,
)
from cerlab.model.stream import Stream
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
    """What a kernel lists for some answers, called by `read` until all are done.

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
    """What takes from the positions of an answer those of each label, by name."""
    getters: list[tuple[str, _Getter]] = []
    for label in sorted(frozenset[str]().union(*labels)):
        at = [n for n, L in enumerate(labels) if label in L]
        together = at[-1] - at[0] == len(at) - 1
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
        return np.argsort(codes, kind="stable")
    return inside[np.argsort(codes[inside], kind="stable")]


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
