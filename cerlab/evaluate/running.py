"""Aggregates over answers whose events are still arriving, without listing the answers.

The totals of runs are carried from event to event (`engine.reference.totals`), so an event costs as
many totals as there are transitions, starts in the window and groups, however many answers it
completes. Since later values are not known, all numbers are exact: integers, and doubles as
multiples of the least one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from cerlab.automata.labelled import LabelledMachine
from cerlab.budget import polled
from cerlab.compile.pattern import Pattern
from cerlab.engine import codec
from cerlab.engine.codec import AXIS, Layout, axis_of_state
from cerlab.engine.measures import infinite, no_sum
from cerlab.engine.reference.driver import Driver
from cerlab.engine.reference.totals import (
    ANY_START,
    Gain,
    Greatest,
    Place,
    RunTotals,
    Sliding,
    Total,
    add_totals,
    sums,
)
from cerlab.engine.run import AtOnce
from cerlab.engine.state_checks import (
    check_key,
    expect,
    is_value,
    is_whole,
    reading_state,
)
from cerlab.engine.windows import SlidingEnds
from cerlab.errors import BadData, TypeMismatch, Unsupported
from cerlab.evaluate import thresholds
from cerlab.evaluate.aggregates import (
    EXPONENT,
    PLACES,
    Measure,
    Request,
    check_running,
    duration_column,
    integer_column,
    sum_column,
)
from cerlab.evaluate.groups import Groups
from cerlab.evaluate.labelled import has_labels
from cerlab.evaluate.physical import compiled
from cerlab.evaluate.recent import WithEvents
from cerlab.evaluate.runs import pattern_digest
from cerlab.io.named_columns import arrow_column, is_double, one_array, several_types
from cerlab.model.columns import as_arrow, values_of
from cerlab.model.event import Duration, Event, Value, value_of
from cerlab.model.stream import Stream, TimeAxis, Until
from cerlab.predicates.columns import SymbolStage
from cerlab.predicates.truth import Key, kind_of, partition_key

if TYPE_CHECKING:
    from cerlab.evaluate.running_batches import Batches, Ending, Listed

SUMMED = ("number", "duration")
"""Kinds of values that can be summed."""


class Row(NamedTuple):
    """One group of answers in a result; fields that do not group are None."""

    end: int | None
    start: int | None
    key: Key | None
    group: int


TOTALS = Layout("cerlab-totals", 5, {"time": AXIS, "body": tuple})


class RunningTotals(AtOnce[Any]):
    """A run that yields tables of totals over the answers on an arriving stream."""

    def __init__(
        self,
        pattern: Pattern,
        request: Request,
        time: TimeAxis | None,
        state: bytes | None = None,
    ) -> None:
        """Open a run, from a `state` if there is one; raise `BadData` for an invalid state.

        If filters compare labels, or answers wait, the answers are listed. Raise `Unsupported` for
        queries that have neither an automaton nor a transducer, and as `Compiled.run`.
        """
        self._waits = pattern.stages is not None
        """True if an answer may come after one with a later end, so that no end is ever final."""
        if self._waits:
            _check_waits(pattern, request)
        else:
            check_running(pattern)
        self._has_runs = pattern.machine_kind == "automaton"
        self._of, body = f"{pattern_digest(pattern)} {request!r}", None
        if state is not None:
            values, _ = codec.read(TOTALS, self._of, state)
            time, body = axis_of_state(time, values["time"]), values["body"]
        self._time = time
        self._request = request
        self._summands, self._extremes = request.summands, request.extremes
        self._summed = [attribute for _, attribute in self._summands]
        compared = (measure.place[1] for measure in self._extremes)
        self._attributes = tuple(dict.fromkeys((*self._summed, *compared)))
        """The attributes that are summed or compared."""
        self.asked = pattern, request
        """The query and the request."""
        self._keys: dict[Key | None, tuple[Value, ...]] = {}
        self._ends = None
        if request.window is not None:
            self._ends = SlidingEnds(request.window, pattern.ast.streams, time)
        self._listed: Listed | None = None
        self._batches: Batches | None = None
        if self._has_runs:
            self._begin_runs(pattern, request, time)
        self._groups = Groups([None] for _ in request.labelled)
        self._kinds: dict[str, str] = {}
        self._doubles: set[str] = set()
        self._rows: dict[Row, Total] = {}
        self._queues: dict[Row, Sliding] = {}
        self.position = 0
        """The number of events read."""
        if state is not None:
            with reading_state():
                self._resume(body)
        elif not self._has_runs:
            self._list(None)

    def _begin_runs(self, pattern: Pattern, request: Request, time: TimeAxis | None) -> None:
        plan = pattern.plan
        self._machine = LabelledMachine(
            pattern.machine, plan.vcea, {column.label for column in request.columns}
        )
        self._stage = SymbolStage(self._machine.predicates)
        by_start = plan.window is not None or "start" in request.groups
        algebra = sums(self._gain, 3 * len(self._summands), len(self._extremes))
        reader = partial(RunTotals[Total], self._machine, self._symbol, algebra, by_start=by_start)
        self._driver = Driver[RunTotals[Total]](plan, reader, time)

    def _list(self, state: bytes | None) -> None:
        from cerlab.evaluate.running_batches import Listed  # Numba loads here

        pattern, request = self.asked
        run = WithEvents(pattern, compiled(pattern).run, self._time, state)
        self._listed = Listed(pattern, request, self._groups, run)
        expect(run.position == self.position, "how many events were read")

    def state(self) -> bytes:
        """Return the state from which another session can continue, as bytes."""
        if self._listed is None:
            self._leave_arrays()
        body = (
            self.position,
            self._listed.run.state() if self._listed else self._driver.state(RunTotals.state),
            self._groups.state(),
            list(self._kinds.items()),
            sorted(self._doubles),
            list(self._keys.items()),
            list(self._rows.items()),
            [(row, queue.state()) for row, queue in self._queues.items()],
            self._ends and self._ends.state(),
        )
        return codec.write(TOTALS, self._of, {"time": self._time, "body": body}, {})

    def _resume(self, body: Any) -> None:
        self.position, driver, columns, kinds, doubles, keys, rows, queues, ends = body
        expect(is_whole(self.position), "how many events were read")
        self._groups = Groups(columns)
        self._groups.check(len(self._request.labelled))
        expect(all(isinstance(name, str) for name in doubles), "an attribute with doubles")
        self._kinds, self._doubles, self._keys = dict(kinds), set(doubles), dict(keys)
        for key, names in self._keys.items():
            check_key(key, len(self._request.key))
            expect(len(names) == len(self._request.key), "the values of a key")
            expect(all(map(is_value, names)), "the values of a key")
        total = self._read_total
        if self._has_runs:
            into = partial(RunTotals.resume, place=self._read_place, total=total)
            self._driver.resume(driver, into, self.position)
        else:
            self._list(driver)
        self._rows = {self._read_row(*row): total(*values) for row, values in rows}
        for row, queue in queues:
            sliding = self._queues[self._read_row(*row)] = Sliding()
            sliding.resume(queue, total, self.position)
        if self._ends is not None:
            self._ends.resume(ends, self.position)

    def _read_place(self, start: Any, group: Any) -> tuple[int, int]:
        """Return a start and a group from a saved state; raise `BadData` if they are invalid."""
        expect(is_whole(start, 0, max(1, self.position)), "the start of runs")
        self._groups.check_group(group)
        return start, group

    def _read_total(self, runs: Any, sums: Any, least: Any) -> Total:
        """Return a total from a saved state; raise `BadData` if it is invalid."""
        extremes, summands = self._extremes, self._summands
        expect(type(runs) is int and runs > 0, "a number of runs")
        expect(len(sums) == 3 * len(summands) and len(least) == len(extremes), "a total")
        expect(all(type(part) is int for part in sums), "a sum")
        expect(all(count >= 0 for count in sums[::3]), "a number of values")
        for measure, value in zip(extremes, least, strict=True):
            if value is not None:
                expect(isinstance(value, Greatest) == (measure.function == "max"), "an extreme")
                plain = value.value if isinstance(value, Greatest) else value
                kind = kind_of(plain)
                known = self._kinds.get(measure.place[1])
                expect(kind is not None and kind == known, "an extreme")
        return Total(runs, sums, least)

    def _read_row(self, end: Any, start: Any, key: Any, group: Any) -> Row:
        """Return a group of answers from a saved state; raise `BadData` if it is invalid."""
        by_end = self._waits and "end" in self._request.groups
        expect(is_whole(end, 0, self.position) if by_end else end is None, "the end of a group")
        expect((start is None) == ("start" not in self._request.groups), "a group")
        expect(key in self._keys if self._request.key else not key, "the key of a group")
        self._read_place(start or 0, group)
        return Row(end, start, key, group)

    def push(self, events: Stream) -> Iterator[Any]:
        """Read more events; yield a pyarrow Table of the groups that they changed.

        Raise `TypeMismatch` and `BadData` for values that have no total, before any event is read;
        raise `BadData` for a time that is missing or goes back, after the table of the earlier
        events.
        """
        rows: dict[Row, Total] = {}
        try:
            self._read(events, rows)
        except BadData:
            yield self._table(rows)
            raise
        yield self._table(rows)

    def _read(self, stream: Stream, rows: dict[Row, Total]) -> None:
        large = len(stream) >= thresholds.FEWEST
        in_arrays = large if self._batches is None else self._batches.takes(large=large)
        has_totals = (large or in_arrays) and self._check_columns(stream)
        if not has_totals:
            self._check(stream.events)  # reading event by event finds the value without a total
        if self._listed is not None:
            self._read_listed(self._listed, stream, rows)
        elif not (in_arrays and has_totals and self._read_batch(stream, rows)):
            self._leave_arrays()
            for event in stream.events:
                self._read_event(event, rows)

    def _leave_arrays(self) -> None:
        """Move the totals from arrays back to the substreams of the driver."""
        if self._batches is not None:
            self._batches.write_back()
            self._batches = None

    def _read_batch(self, stream: Stream, rows: dict[Row, Total]) -> bool:
        """Read all events by the kernel or none of them; return whether they were read."""
        from cerlab.engine.flat_program import TooLarge  # NumPy loads here

        try:
            ends, lowest = self._ends_after(stream)
            endings = self._read_arrays(stream)
        except (BadData, TypeMismatch, TooLarge):
            return False  # reading event by event finds the bad event, if there is one
        self._ends = ends
        self._take(endings, lowest, rows)
        self.position += len(stream)
        return True

    def _read_arrays(self, stream: Stream) -> Iterator[Ending]:
        """Read events into arrays; if these cannot represent the values, into new arrays."""
        from cerlab.evaluate.numbering import Unfit
        from cerlab.evaluate.running_batches import Batches, Query

        doubles = self._doubles
        if self._batches is not None:
            try:
                return self._batches.read(stream, self.position, doubles)
            except Unfit:
                self._leave_arrays()
        query = Query(self._machine, self._stage, self._request, self._groups, self._time)
        batches = Batches(self._driver, query, stream, doubles)
        endings = batches.read(stream, self.position, doubles)
        self._batches = batches
        return endings

    def _read_listed(self, listed: Listed, stream: Stream, rows: dict[Row, Total]) -> None:
        """Read events, and list the answers that end at them to add up totals."""
        parts = [stream]
        try:
            self._ends_after(stream)
        except BadData:  # reading event by event finds the bad event
            parts = [Stream([event]) for event in stream.events]
        for part in parts:
            ends, lowest = self._ends_after(part)
            try:
                self._take(listed.read(part, self._doubles), lowest, rows)
            except BadData:
                read = part[: listed.run.position - self.position]
                ends, _ = self._ends_after(read)
                raise
            finally:
                self._ends, self.position = ends, listed.run.position

    def _ends_after(self, stream: Stream) -> tuple[SlidingEnds | None, list[int] | None]:
        """Return the sliding window after a batch, and the window's first end at each event.

        Raise as `SlidingEnds.read`.
        """
        if self._ends is None:
            return None, None
        after = self._ends.copy()
        return after, after.read(stream.columns, len(stream), self.position).tolist()

    def _take(
        self, endings: Iterable[Ending], lowest: Sequence[int] | None, rows: dict[Row, Total]
    ) -> None:
        for end, key, of_key, place, total in endings:
            self._note_key(key, of_key)
            self._add(end, key, place, total, lowest[end - self.position] if lowest else None, rows)

    def advance(self, until: Until) -> Iterator[Any]:
        """Declare that all events before a time were pushed; yield the groups whose totals change.

        Raise as `WaitRun.advance`; warn if no answer can wait.
        """
        rows: dict[Row, Total] = {}
        if self._listed is None:
            super().advance(until)
        else:
            self._take(self._listed.advance(until, self._doubles), None, rows)
        yield self._table(rows)

    def waiting(self) -> int:
        """Return the number of answers that wait for the clock."""
        return 0 if self._listed is None else self._listed.run.waiting()

    def _check_columns(self, stream: Stream) -> bool:
        """Return whether columns show that all values can be added up; store their kinds."""
        import pyarrow as pa
        import pyarrow.compute as pc

        kinds, doubles = dict(self._kinds), set(self._doubles)
        for name in self._attributes:
            try:
                column = one_array(stream, name).drop_null()
            except (BadData, TypeMismatch):
                return False
            summed = name in self._summed
            if pa.types.is_floating(column.type) and len(column):
                # NaN is a double too: a column of integers with NaN becomes one of doubles
                doubles.add(name)
                column = column.filter(pc.invert(pc.is_nan(column)))
                if summed and pc.any(pc.is_inf(column)).as_py():
                    return False
            kind = kind_of(next(iter(values_of(column.slice(0, 1), name)), None))
            if kind is None:
                continue
            if kinds.setdefault(name, kind) != kind or (summed and kind not in SUMMED):
                return False
        self._kinds, self._doubles = kinds, doubles
        return True

    def _check(self, events: Iterable[Event]) -> None:
        """Store the kinds of values; raise `BadData` or `TypeMismatch` for one without totals."""
        kinds, doubles = dict(self._kinds), set(self._doubles)
        for event in polled(events):
            for name in self._attributes:
                value = value_of(event, name)
                if isinstance(value, float):
                    doubles.add(name)
                kind = None if value != value else kind_of(value)
                if kind is None:
                    continue
                if name in self._summed:
                    if kind not in SUMMED:
                        raise no_sum(name, kind)
                    if isinstance(value, float) and math.isinf(value):
                        raise infinite(name)
                if kinds.setdefault(name, kind) != kind:
                    raise several_types(name)
        self._kinds, self._doubles = kinds, doubles

    def _read_event(self, event: Event, rows: dict[Row, Total]) -> None:
        ends, lowest = self._ends, None
        now = None if ends is None else ends.instant(event, self.position)
        read = self._driver.read(event, self.position)
        if ends is not None and now is not None:
            lowest = ends.take_event(now, self.position)
        end, self.position = self.position, self.position + 1
        if read is None:
            return
        reader, lowest_start = read
        if not (totals := reader.totals_of_end(lowest_start)):
            return
        self._driver.consume(reader)
        key = partition_key(event, self._request.key)
        self._note_key(key, [value_of(event, name) for name in self._request.key])
        ending: dict[Place, Total] = {}
        for (first, group), total in totals.items():
            place = (first if "start" in self._request.groups else ANY_START, group)
            ending[place] = add_totals(ending[place], total) if place in ending else total
        for place, total in ending.items():
            self._add(end, key, place, total, lowest, rows)

    def _note_key(self, key: Key | None, values: Sequence[Value]) -> None:
        if self._request.key and key not in self._keys:
            self._keys[key] = tuple(values)

    def _add(
        self,
        end: int,
        key: Key | None,
        place: Place,
        total: Total,
        lowest: int | None,
        rows: dict[Row, Total],
    ) -> None:
        """Add the answers of one end, start and group to the row of their group."""
        names, (first, group) = self._request.groups, place
        start = first if "start" in names else None
        if lowest is not None:
            queue = self._queues.setdefault(Row(None, start, key, group), Sliding())
            rows[Row(end, start, key, group)] = queue.add(end, total, lowest)
        elif "end" in names and not self._waits:
            rows[Row(end, start, key, group)] = total
        else:
            row = Row(end if "end" in names else None, start, key, group)
            before = self._rows.get(row)
            self._rows[row] = rows[row] = total if before is None else add_totals(before, total)

    def _symbol(self, event: Event, _: int) -> int:
        return self._stage.vectors[self._stage.symbol(event)]

    def _gain(self, event: Event, _: int, mark: int) -> Gain:
        labels = self._machine.marks[mark]
        sums: list[int] = []
        for label, attribute in self._summands:
            sums += _parts(value_of(event, attribute) if label in labels else None)
        extremes = self._extremes
        least = [self._lower(m, event) if m.place[0] in labels else None for m in extremes]
        values = [
            value_of(event, str(column.attribute)) if column.label in labels else None
            for column in self._request.labelled
        ]
        return Gain(sums, least, self._groups.group_of(values))

    def _lower(self, measure: Measure, event: Event) -> Any:
        value = value_of(event, measure.place[1])
        if value is None or value != value:
            return None
        return value if measure.function == "min" else Greatest(value)

    def _table(self, rows: dict[Row, Total]) -> Any:
        """Return result rows as a table with the columns of `aggregated`."""
        import pyarrow as pa

        totals = list(rows.values())
        columns: dict[str, Any] = {}
        for name in self._request.groups:
            if name in PLACES:
                columns[name] = pa.array([getattr(row, name) for row in rows], pa.int64())
            elif name in self._request.key:
                at = self._request.key.index(name)
                values = [self._keys[row.key][at] for row in rows]
                columns[name] = arrow_column(as_arrow(values), name)
            else:
                names = [column.name for column in self._request.labelled]
                values = [self._groups.value_of(row.group, names.index(name)) for row in rows]
                columns[name] = arrow_column(as_arrow(values), name)
        if self._request.count:
            columns["count"] = integer_column([total.runs for total in totals], "count")
        for measure in self._request.measures:
            columns[measure.name] = self._measure_column(measure, totals)
        return pa.table(columns)

    def _measure_column(self, measure: Measure, totals: Iterable[Total]) -> Any:
        if measure in self._extremes:
            at = self._extremes.index(measure)
            extreme_values = [total.least[at] for total in totals]
            values = [x.value if isinstance(x, Greatest) else x for x in extreme_values]
            if measure.place[1] in self._doubles:
                # batches do not distinguish the values 3 and 3.0
                values = [float(v) if type(v) is int and is_double(v) else v for v in values]
            return arrow_column(as_arrow(values), measure.name)
        at = 3 * self._summands.index(measure.place)
        parts = [total.sums[at : at + 3] for total in totals]
        if self._kinds.get(measure.place[1]) == "duration":
            return duration_column(measure, [(whole, n) for n, whole, _ in parts])
        if measure.place[1] not in self._doubles:
            return sum_column(measure, [(whole, n) for n, whole, _ in parts], 0, whole=True)
        exact = [((whole << EXPONENT) + rest, n) for n, whole, rest in parts]
        return sum_column(measure, exact, -EXPONENT, whole=False)


class TotalsUpToBadValues(RunningTotals):
    """Totals of a stream up to its first bad value, for callers that cannot repeat events."""

    def push(self, events: Stream) -> Iterator[Any]:
        """Read more events; raise as `RunningTotals` after the tables of the earlier events."""
        before = self.position
        try:
            yield from super().push(events)
        except (BadData, TypeMismatch):
            if self.position != before:
                raise
            for event in events.events:
                yield from super().push(Stream([event]))


def _check_waits(pattern: Pattern, request: Request) -> None:
    """Raise `Unsupported` if running totals do not support the waiting answers."""
    if not has_labels(pattern, live=True):
        raise Unsupported(
            "CER0418",
            "an answer that waits may be found twice: by two parts of the formula, or two ends",
            hint="aggregate a whole stream: query.run(..).aggregate(..)",
        )
    if request.window is not None:
        raise Unsupported(
            "CER0418",
            "sliding= needs answers by end, but answers that wait come when their wait is over",
            hint="aggregate a whole stream: query.run(..).aggregate(..)",
        )


def _parts(value: Value) -> tuple[int, int, int]:
    """Return a number as (1, integer, 0), or a double as (1, 0, multiple of the least double).

    Return zeros for NULL and NaN. A duration is the integer of its nanoseconds.
    """
    if value is None or value != value:
        return 0, 0, 0
    if isinstance(value, Duration):
        return 1, value.nanoseconds, 0
    if isinstance(value, int):
        return 1, value, 0
    assert isinstance(value, float), "the attribute has only numbers"
    mantissa, divisor = value.as_integer_ratio()
    # divisors of doubles are powers of two up to 2^1074, so this is exact
    return 1, 0, mantissa * ((1 << EXPONENT) // divisor)
