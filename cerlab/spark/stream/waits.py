"""Queries that wait or look back, on keys that arrive.

The watermark or later events of a key end a wait.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from cerlab.automata.plan import PlanClauses
from cerlab.compile.pattern import Pattern
from cerlab.engine.answers import AnswerBatch, batched_answers
from cerlab.engine.reorder import Instant
from cerlab.engine.row_order import MICROSECOND
from cerlab.evaluate.labelled import answer_tables
from cerlab.io import as_stream
from cerlab.io.answers import ROWS
from cerlab.logic.cel.syntax import Lookback, subformulas, waits, windows
from cerlab.logic.ceql.syntax import plan_clauses
from cerlab.model.answer import ComplexEvent, by_end
from cerlab.model.clauses import AttributeWindow, EventWindow, TimeWindow, Window
from cerlab.model.event import Timestamp
from cerlab.model.stream import Stream, TimeAxis, Until
from cerlab.spark.evaluation import way_of
from cerlab.spark.plan import Mode, why_not, window_width
from cerlab.spark.stream.engine import EventTable


def clauses_of(pattern: Pattern) -> PlanClauses:
    """Return the clauses of a query without automaton and registers."""
    return PlanClauses(**plan_clauses(pattern.ast))


def why_not_by_watermark(pattern: Pattern, *, ends: bool) -> str | None:
    """Return why a query that waits or looks back does not run on a stream; None if it does.

    Each answer has to be decided by the events of one window and one wait. `ends` says whether a
    watermark ends the waits of a silent key.
    """
    plan, formula = clauses_of(pattern), pattern.ast.formula
    if plan.window is None or isinstance(plan.window, EventWindow):
        return "on streams they need WITHIN with a length of time"
    if plan.limit is not None:
        return "on streams they need all answers of an end, without LIMIT"
    # without THROTTLE, which filters the ends after all windows are evaluated
    if (reason := why_not(replace(plan, throttle=None), Mode.RANGES)) is not None:
        return f"on streams they are evaluated window by window: {reason}"
    lengths = (plan.window, plan.throttle, *windows(formula))
    timed = (each for each in lengths if isinstance(each, AttributeWindow | TimeWindow))
    axes = {getattr(length, "attribute", None) for length in timed}
    if len(axes) > 1:
        return "on streams all windows and waits have to measure one time"
    if plan.partition and waits(formula) and not ends:
        return "on streams the watermark ends the waits of a silent key: give lag="
    return None


def reach_of_answers(pattern: Pattern, time: TimeAxis | None) -> Fraction:
    """Return the greatest age, in units of the time column, of an event that can still matter.

    An answer that is not known at a clock ends at most one wait before it, and begins at most one
    window before its end. A look-back begins at the first event inside its length; if this one were
    missing, it would begin later, and a window would hold too much. So the look-backs, which may
    nest, are added.
    """
    formula = pattern.ast.formula
    longest = max((_width(wait, time) for wait in waits(formula)), default=Fraction(0))
    lengths = (psi.length for psi in subformulas(formula) if isinstance(psi, Lookback))
    window = _width(clauses_of(pattern).window, time)
    return window + longest + sum(_width(length, time) for length in lengths)


def _width(length: Window | None, time: TimeAxis | None) -> Fraction:
    return window_width(length, time, MICROSECOND)


class WaitSequences:
    """The evaluation of a query that waits or looks back on some sequences of events.

    Of each sequence, the events in the `reach_of_answers` before the clock are kept. New answers
    are those on these and the new events that were not known on the kept ones at the clock before.
    """

    def __init__(
        self, query: Pattern, time: TimeAxis | None, *, read: int, are_moments: bool
    ) -> None:
        """Continue after `read` events; `query` is for one sequence."""
        self._query, self._time, self._are_moments = query, time, are_moments
        self._waits = sorted({_width(wait, time) for wait in waits(query.ast.formula)})
        self._reach = reach_of_answers(query, time)
        self._clocks: dict[int, Instant] = {}
        self._lowest: dict[int, int] = {}
        self.read = read

    def push(
        self, rows: Any, attributes: Sequence[str], floor: Instant | None
    ) -> Iterator[AnswerBatch]:
        """Read events; return the new answers, with the numbers of events.

        Args:
            rows: All kept and new events, with ``number``, ``time``, ``sequence`` and ``a0 a1 ..``.
            attributes: The names of ``a0 a1 ..``.
            floor: A time before which all events of all sequences have come; None without one.
        """
        self._rows, before = rows, self.read
        self.read = max(before, int(rows.column("number")[-1].as_py()) + 1 if rows.num_rows else 0)
        number, sequence = (rows.column(name).to_numpy() for name in ("number", "sequence"))
        order = np.lexsort((number, sequence))
        names = [f"a{n}" for n in range(len(attributes))]
        for numbers in np.split(order, np.flatnonzero(np.diff(sequence[order])) + 1):
            if not len(numbers):
                continue
            some = rows.take(numbers)
            answers = self._of_sequence(
                int(sequence[numbers[0]]),
                some.select(names).rename_columns(list(attributes)),
                some.column("time").to_pylist(),
                int(np.searchsorted(number[numbers], before)),
                floor,
            )
            self._keep_from(int(sequence[numbers[0]]), number[numbers])
            for batch in batched_answers(sorted(answers, key=by_end), ROWS):
                yield batch.with_positions(number[numbers])

    def _of_sequence(
        self, sequence: int, rows: Any, times: list[Instant], old: int, floor: Instant | None
    ) -> set[ComplexEvent]:
        """Return the new answers of a sequence, whose first `old` events were read before."""
        before = self._clocks.get(sequence)
        clock = times[-1] if floor is None else max(times[-1], floor)
        self._clocks[sequence] = clock
        self._least = clock - self._reach
        self._times = times
        if old == len(times) and not self._is_due(times, before, clock):
            return set()
        now = self._answers(rows, times, clock)
        return now - self._answers(rows.slice(0, old), times[:old], before) if old else now

    def _is_due(self, times: Iterable[Instant], before: Instant | None, clock: Instant) -> bool:
        """Return whether a wait after some event ends between two times of the clock."""
        if before is None or before >= clock:
            return False
        ends = (Fraction(time) + wait for wait in self._waits for time in times)
        return any(before <= end < clock for end in ends)

    def _answers(self, rows: Any, times: list[Instant], clock: Instant | None) -> set[ComplexEvent]:
        """Return the answers that are known at a time of the clock."""
        return set(way_of(self._query).answers(self._stream(rows, times[-1], clock)))

    def _stream(self, rows: Any, last: Instant, clock: Instant | None) -> Stream:
        """Return events as a stream; `last` is the time of the last event."""
        stream = as_stream(rows)
        stream = stream if self._time is None else stream.on_time(self._time)
        until: Until | None = None
        if clock is not None and clock > last:
            whole = int(clock) if clock == int(clock) else float(clock)
            until = Timestamp(int(whole * MICROSECOND)) if self._are_moments else whole
        return stream.up_to(until)

    def tables(
        self, batch: AnswerBatch, query: Pattern, texts: Sequence[str], attributes: Sequence[str]
    ) -> Iterator[Any]:
        """Yield answers of `push` as rows with named columns, in pyarrow Tables."""
        columns = (self._rows.column(name) for name in ("number", "sequence", "position"))
        number, sequence, position = (column.to_numpy() for column in columns)
        of = int(sequence[np.searchsorted(number, batch.end[0])])
        mine = np.flatnonzero(sequence == of)
        rows = self._rows.take(mine)
        events = rows.select([f"a{n}" for n in range(len(attributes))])
        events = events.rename_columns(list(attributes))
        stream = self._stream(events, rows.column("time")[-1].as_py(), self._clocks[of])
        start, end, places = (
            np.searchsorted(number[mine], each)
            for each in (batch.start, batch.end, batch.positions)
        )
        answers = AnswerBatch(start, end, batch.offsets, places)
        return answer_tables(query, stream, [answers], texts, positions=position[mine])

    def _keep_from(self, sequence: int, number: Any) -> None:
        kept = [n for n, time in zip(number, self._times, strict=True) if time >= self._least]
        self._lowest[sequence] = int(kept[0]) if kept else int(number[-1]) + 1

    def positions(self, numbers: Any) -> Any:
        """Return the positions of events by number, for the events of the last `push`."""
        number, position = (self._rows.column(n).to_numpy() for n in ("number", "position"))
        return position[np.searchsorted(number, numbers)]

    def next_end(self, sequences: Any) -> Fraction | None:
        """Return the first time at which a wait of some sequence may end, or None."""
        if not self._rows.num_rows:
            return None
        rows = zip(
            self._rows.column("sequence").to_pylist(),
            self._rows.column("time").to_pylist(),
            strict=True,
        )
        alive = {n: self._clocks[n] for n in sequences.tolist() if n in self._clocks}
        ends = (
            Fraction(time) + wait
            for sequence, time in rows
            if sequence in alive
            for wait in self._waits
            if Fraction(time) + wait >= alive[sequence]
        )
        return min(ends, default=None)

    def arrays(self, partitions: int) -> Mapping[str, Any]:
        """Return the clocks of the sequences that `keep` has left, for `resume`."""
        return {"run": self._kept}

    def resume(self, arrays: Mapping[str, Any]) -> None:
        """Restore the clocks from the result of `arrays`."""
        texts = enumerate(arrays["run"])
        self._clocks = {n: _number(text.decode()) for n, text in texts if text}

    def keep(self, partitions: int, sequences: Any) -> tuple[Any, EventTable]:
        """Drop all but some sequences; return these, and the events to keep, numbered from 0."""
        columns = (self._rows.column(name) for name in ("sequence", "number", "position"))
        sequence, number, position = (column.to_numpy() for column in columns)
        lowest = np.array([self._lowest.get(n, 0) for n in sequences.tolist()], np.int64)
        at = np.minimum(np.searchsorted(sequences, sequence), max(0, len(sequences) - 1))
        kept = np.flatnonzero((sequences[at] == sequence) & (number >= lowest[at]))
        kept = kept[np.lexsort((number[kept], at[kept]))]
        zeros = np.zeros(len(kept), np.int64)
        clocks = (self._clocks.get(n) for n in sequences.tolist())
        self._kept = [b"" if clock is None else repr(clock).encode() for clock in clocks]
        return sequences, EventTable(at[kept], number[kept], position[kept], zeros)


def _number(text: str) -> Instant:
    return float(text) if set(text) & set(".en") else int(text)
