"""Filters on all events of a label, such as SUM(a.v), tested by columns on labelled answers.

Each operand becomes a column with one value for each row. `SymbolStage` then evaluates the
condition over these columns, as a predicate over events. Values outside the domain of a column form
are computed by `cerlab.predicates.groups`, which defines all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, assert_never

import numpy as np
from numpy.typing import NDArray

from cerlab.budget import poll
from cerlab.engine.answers import AnswerBatch
from cerlab.engine.kernels import groups as k
from cerlab.engine.kernels.arrays import NONE, Int64s
from cerlab.engine.kernels.labels import hold
from cerlab.engine.labels import LabelledAnswers
from cerlab.engine.tested import holds
from cerlab.model.answer import Positions
from cerlab.model.arrays import array_from
from cerlab.model.columns import Column, is_arrow, values_of
from cerlab.model.stream import Stream
from cerlab.predicates import syntax as pred
from cerlab.predicates.columns import SymbolStage
from cerlab.predicates.columns.key_codes import KeyCodes
from cerlab.predicates.columns.pieces import one_array
from cerlab.predicates.columns.ranks import Ranks
from cerlab.predicates.condition import Atomic, Condition, Correlation
from cerlab.predicates.groups import group_value

EXACT_INTEGERS = 1 << 62
"""Below this bound no partial sum of integers leaves 64 bits."""

EXACT_DOUBLES = 1 << 53
"""Up to this bound a double holds every integer, so sums of whole doubles are exact."""

FRACTIONS = 1 << 10
"""Doubles are added exactly if all are multiples of 1/1024, such as halves or quarters."""


class _Held(NamedTuple):
    """The events of one label; those of row n are ``events[offsets[n] : offsets[n + 1]]``."""

    offsets: Int64s  # (rows + 1,)
    events: Int64s

    @property
    def lengths(self) -> Int64s:
        """The number of the label's events in each row."""
        return np.diff(self.offsets)


_Values = Callable[[_Held], Column]
"""A function from the events of a label to the value of an operand for each row."""


class RowTests:
    """Tests of a filter on labelled answers."""

    def __init__(self, condition: Condition, stream: Stream) -> None:
        self._stream = stream
        self._operands: dict[pred.OfGroup, tuple[str, _Values]] = {}
        self._others: dict[Atomic, str] = {}
        self._stage = SymbolStage([self._predicate(condition)])

    def passing(self, rows: LabelledAnswers) -> LabelledAnswers:
        """Return the rows that satisfy the filter."""
        return take_rows(rows, np.flatnonzero(self.pass_rows(rows)))

    def pass_rows(self, rows: LabelledAnswers) -> NDArray[np.bool_]:
        """Return whether each row satisfies the filter."""
        length = len(rows.start)
        if not length:
            return np.zeros(0, np.bool_)
        poll(16 * len(rows.positions))
        held = {x.label: _held(rows, x.label) for x in self._operands}
        columns: dict[str, Column] = {"type": [""] * length}
        for x, (name, values) in self._operands.items():
            columns[name] = values(held[x.label])
        for atomic, name in self._others.items():
            columns[name] = self._by_events(atomic, rows)
        symbols = self._stage.symbols(columns, length)
        passes: NDArray[np.bool_] = np.array(self._stage.vectors, np.bool_)[symbols]
        return passes

    def _predicate(self, condition: Condition) -> pred.Predicate:
        """Return the filter as a predicate on columns, one for each operand."""
        match condition:
            case pred.And(left, right):
                return pred.And(self._predicate(left), self._predicate(right))
            case pred.Or(left, right):
                return pred.Or(self._predicate(left), self._predicate(right))
            case Correlation(op, left, right) if not condition.variables:
                sides = (pred.with_leaves(side, self._column) for side in (left, right))
                return pred.Comparison(op, *sides)
            case atomic:
                name = self._others.setdefault(atomic, f"condition {len(self._others)}")
                return pred.Comparison(pred.Operator.EQ, pred.Attribute(name), pred.Constant(True))

    def _column(self, x: pred.Leaf) -> pred.Leaf:
        if not isinstance(x, pred.OfGroup):
            return x
        if x not in self._operands:
            self._operands[x] = f"operand {len(self._operands)}", self._values(x)
        return pred.Attribute(self._operands[x][0])

    def _by_events(self, atomic: Atomic, rows: LabelledAnswers) -> list[bool]:
        """Return whether each row satisfies an atomic condition, from the events themselves."""
        offsets, positions, marks = (x.tolist() for x in (rows.offsets, rows.positions, rows.marks))
        event = self._stream.events.__getitem__

        def labels(n: int) -> dict[str, Positions]:
            result: dict[str, Positions] = {}
            for i in range(offsets[n], offsets[n + 1]):
                for label in rows.labels[marks[i]]:
                    result[label] = (*result.get(label, ()), positions[i])
            return result

        return [holds(atomic, labels(n), event) for n in range(len(rows.start))]

    def _values(self, x: pred.OfGroup) -> _Values:
        """Return a function that computes an operand, such as SUM(a.v), for each row."""
        columns, length, name = self._stream.columns, len(self._stream), x.attribute
        if name is None:
            return lambda held: array_from(held.lengths)
        column = columns[name] if name in columns else [None] * length
        function = x.function
        match function:
            case pred.Group.DISTINCT:
                return partial(_distinct, KeyCodes([name]).codes({name: column}, length))
            case pred.Group.FIRST | pred.Group.LAST:
                return partial(_at_an_end, column, function is pred.Group.FIRST)
            case pred.Group.MIN | pred.Group.MAX:
                codes = Ranks().of_column(column, name)
                return partial(_extremes, column, codes, 1 if function is pred.Group.MIN else -1)
            case pred.Group.SUM | pred.Group.AVG:
                numbers = _exact_numbers(column, name)
                slow = partial(self._one_by_one, x)
                return slow if numbers is None else partial(_totals, numbers, function, slow)
            case pred.Group.COUNT:
                raise AssertionError("COUNT has no attribute")
            case _:
                assert_never(function)

    def _one_by_one(self, x: pred.OfGroup, held: _Held) -> Column:
        """Return an operand's values row by row, computed by its definition on events."""
        events, offsets, at = self._stream.events, held.offsets.tolist(), held.events.tolist()
        return [
            group_value(x, [events[i] for i in at[offsets[n] : offsets[n + 1]]])
            for n in range(len(offsets) - 1)
        ]


def answers_of_rows(rows: LabelledAnswers) -> AnswerBatch:
    """Return the answers of labelled rows, each once."""
    firsts = np.flatnonzero(np.diff(rows.answer, prepend=NONE))
    some = take_rows(rows, firsts) if len(firsts) < len(rows.answer) else rows
    return AnswerBatch(some.start, some.end, some.offsets, some.positions)


def take_rows(rows: LabelledAnswers, numbers: Int64s) -> LabelledAnswers:
    """Return the rows with the given indices, in that order."""
    lengths = np.diff(rows.offsets)[numbers]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    at = np.arange(offsets[-1]) + np.repeat(rows.offsets[numbers] - offsets[:-1], lengths)
    return rows._replace(
        start=rows.start[numbers],
        end=rows.end[numbers],
        answer=rows.answer[numbers],
        offsets=offsets,
        positions=rows.positions[at],
        marks=rows.marks[at],
    )


def _held(rows: LabelledAnswers, label: str) -> _Held:
    inside = np.array([label in each for each in rows.labels], np.uint8)
    offsets = np.zeros(len(rows.offsets), np.int64)
    events = np.empty(len(rows.positions), np.int64)
    if not inside.any():
        return _Held(offsets, events[:0])
    first = rows.offsets - rows.offsets[0]
    count = hold(inside, rows.marks, first, rows.positions, offsets, events)
    return _Held(offsets, events[:count])


def _distinct(codes: Int64s, held: _Held) -> Column:
    counts = np.zeros(len(held.offsets) - 1, np.int64)
    seen = np.full(int(codes.max(initial=NONE)) + 1, NONE, np.int64)
    k.count_distinct(codes, held.offsets, held.events, seen, counts)
    return array_from(counts)


def _at_an_end(column: Column, is_first: bool, held: _Held) -> Column:
    places = np.full(len(held.offsets) - 1, NONE, np.int64)
    some = np.flatnonzero(held.lengths)
    places[some] = held.events[held.offsets[some] if is_first else held.offsets[some + 1] - 1]
    return _values_at(column, places)


def _extremes(column: Column, codes: Int64s, sign: int, held: _Held) -> Column:
    places = np.empty(len(held.offsets) - 1, np.int64)
    k.find_extremes(codes, held.offsets, held.events, sign, places)
    return _values_at(column, places)


def _values_at(column: Column, places: Int64s) -> Column:
    """Return the values of a column at the given indices, NULL for NONE."""
    if is_arrow(column):
        return column.take(array_from(places, places == NONE))
    values = values_of(column, "?")
    return [None if n == NONE else values[n] for n in places.tolist()]


class _Numbers(NamedTuple):
    """A column of integers or doubles whose sums are exact."""

    values: NDArray[Any]  # (events,), int64 or float64
    lacks: NDArray[np.uint8]  # (events,)
    most: int
    """The largest number of events whose sum is exact."""


def _exact_numbers(column: Column, name: str) -> _Numbers | None:
    """Return a column as numbers if their sums need no rounding; otherwise None."""
    numbers = one_array(column, name)
    if numbers is None or numbers.of_time is not None or numbers.values.dtype == np.uint64:
        return None
    whole = numbers.values.dtype.kind == "i"
    values = numbers.values.astype(np.int64 if whole else np.float64)
    lacks = np.zeros(len(values), np.bool_) if numbers.nulls is None else numbers.nulls.copy()
    if not whole:
        lacks |= np.isnan(values)
    values[lacks] = 0
    if whole:
        largest = max(-int(values.min(initial=0)), int(values.max(initial=0)), 1)
        return _Numbers(values, lacks.view(np.uint8), EXACT_INTEGERS // largest)
    with np.errstate(over="ignore", invalid="ignore"):
        parts = values * FRACTIONS
    if not (np.abs(parts) <= EXACT_DOUBLES).all() or (parts != np.rint(parts)).any():
        return None
    most = EXACT_DOUBLES // max(1, int(np.abs(parts).max(initial=0)))
    return _Numbers(values, lacks.view(np.uint8), most)


def _totals(numbers: _Numbers, function: pred.Group, by_definition: _Values, held: _Held) -> Column:
    if int(held.lengths.max()) > numbers.most:
        return by_definition(held)
    sums = np.zeros(len(held.offsets) - 1, numbers.values.dtype)
    counts = np.zeros(len(sums), np.int64)
    k.add_up(numbers.values, numbers.lacks, held.offsets, held.events, sums, counts)
    if function is pred.Group.SUM:
        return array_from(sums, counts == 0)
    if sums.dtype == np.int64 and not (np.abs(sums) <= EXACT_DOUBLES).all():
        return by_definition(held)  # the sum would be rounded, and then the quotient again
    return array_from(sums / np.maximum(counts, 1), counts == 0)
