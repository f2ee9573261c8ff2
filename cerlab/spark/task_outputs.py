"""Outputs of a task other than positions: rows with named columns, and aggregates."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cerlab import io
from cerlab.automata.plan import Plan
from cerlab.automata.strategy import Machine
from cerlab.compile.pattern import Pattern
from cerlab.engine.answers import AnswerBatch
from cerlab.engine.labels import LabelMachine
from cerlab.errors import ResourceLimit
from cerlab.evaluate.labelled import label_of
from cerlab.io.named_columns import AnswerColumns, NamedColumn
from cerlab.model.columns import decoded
from cerlab.model.stream import Stream, TimeAxis, axis_for
from cerlab.spark.ends import EndsIn, OwnRows
from cerlab.spark.plan import (
    Mode,
    attributes_computed,
    attributes_labelled,
    engine_column,
    why_not,
)

if TYPE_CHECKING:
    from cerlab.evaluate.aggregates import GroupTotals, Request


@dataclass(frozen=True, slots=True)
class RowNames:
    """The requested columns of rows, as plain values for tasks."""

    columns: tuple[NamedColumn, ...]
    key: tuple[str, ...]
    """The attributes of PARTITION BY."""
    list_labels: frozenset[str]
    """The labels that may contain several events."""
    schema: Any = None
    """The Arrow types that Spark expects of the columns; None for the types of the events."""

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes of events that the columns read."""
        names = (column.attribute for column in self.columns)
        return tuple(dict.fromkeys((*self.key, *(name for name in names if name is not None))))

    @property
    def lists(self) -> frozenset[NamedColumn]:
        """The columns that contain lists."""
        return frozenset(c for c in self.columns if not c.function and c.label in self.list_labels)


class EventBuffer:
    """The events of a run that later answers may contain, as tables of columns ``a0 a1 ..``."""

    def __init__(self) -> None:
        self._tables: deque[Any] = deque()
        self._first = 0

    def append(self, rows: Any) -> None:
        """Add the next events of the run."""
        self._tables.append(rows)

    def forget(self, before: int) -> None:
        """Drop the tables whose events all have numbers below `before`."""
        while self._tables and self._first + self._tables[0].num_rows <= before:
            self._first += self._tables.popleft().num_rows

    def of(self, begin: int, end: int) -> Any:
        """Return the events from one number to before another, as one table."""
        import pyarrow as pa

        return pa.concat_tables(self._tables).slice(begin - self._first, end - begin)


class RowTables:
    """Tables of answers as rows; the positions of answers are row numbers of `events`.

    `events` has columns by the names of attributes, `positions` are those of its rows in the
    stream.
    """

    def __init__(self, query: Plan | Pattern, names: RowNames, events: Any, positions: Any) -> None:
        """Prepare the columns, for a plan or for a query whose filters compare labels."""
        labels = {column.label for column in names.columns}
        if isinstance(query, Plan):
            read = attributes_labelled(query)
            computed = attributes_computed(t.predicate for t in query.vcea.Delta)
            columns = {name: engine_column(events.column(name), name, computed) for name in read}
            stream = _stream(columns, events.num_rows)
            self._label = LabelMachine(query.vcea).label(query, stream, labels)
        else:
            self._label = label_of(query, io.as_stream(events), labels)
        self._columns = AnswerColumns(
            names.columns,
            _stream({name: events.column(name) for name in names.attributes}, events.num_rows),
            key=names.key,
            repeatable=names.list_labels,
            positions=positions,
        )
        self._schema = names.schema

    def of(self, answers: AnswerBatch) -> Any:
        """Return one row for each labelling of an answer, as a pyarrow Table."""
        return in_types(self._columns.table(self._label(answers)), self._schema)


def _stream(columns: dict[str, Any], rows: int) -> Stream:
    return Stream.from_columns(columns, rows, tuple)


def in_types(table: Any, schema: Any) -> Any:
    """Return the rows with texts not encoded, in the types of a schema if there is one."""
    import pyarrow as pa

    plain = {name: _plain(table.column(name)) for name in table.column_names}
    if schema is None:
        return pa.table(plain)
    columns = [_cast(plain[name], field.type) for name, field in zip(plain, schema, strict=True)]
    return pa.Table.from_arrays(columns, schema=schema)


def _cast(column: Any, kind: Any) -> Any:
    """Return a column in another type; whole decimals of up to 19 digits become integers."""
    import pyarrow as pa

    if pa.types.is_decimal(kind) and pa.types.is_integer(column.type):
        column = column.cast(pa.decimal128(38 - kind.scale, 0)).cast(pa.decimal128(38, kind.scale))
    return column.cast(kind)


def _plain(column: Any) -> Any:
    """Return a column of values, or of lists of values, that is not dictionary-encoded."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        return decoded(column)
    if pa.types.is_list(kind) and pa.types.is_dictionary(kind.value_type):
        (lists,) = column.combine_chunks().chunks if column.num_chunks != 1 else column.chunks
        return pa.ListArray.from_arrays(lists.offsets, decoded(lists.values))
    return column


@dataclass(frozen=True, slots=True)
class GroupRows:
    """The requested aggregates, as plain values for tasks."""

    request: Request
    schema: Any = None
    """The Arrow types of a task's rows; None for the types of the events."""

    @property
    def are_final(self) -> bool:
        """True if one task has all answers of a group, as for groups by end.

        Otherwise parts are merged.
        """
        return "end" in self.request.groups

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes of events that the aggregates read."""
        names = (str(column.attribute) for column in self.request.columns)
        return tuple(dict.fromkeys((*self.request.key, *names)))


ROWS_TOGETHER = 1 << 20
"""Rows that a task aggregates together: enough to make the cost of a part small."""


class GroupEvaluation(OwnRows):
    """A run of a plan that aggregates; unlike `PlanEvaluation`, it keeps its events.

    Answers that end before `first_own` do not count. If an answer depends only on the events of its
    window, the run aggregates `ROWS_TOGETHER` rows at a time and then keeps those of one window.
    """

    def __init__(
        self,
        rows: GroupRows,
        plan: Plan,
        machine: Machine,
        time: TimeAxis | None,
        attributes: tuple[str, ...],
        ends: EndsIn | None = None,
    ) -> None:
        super().__init__(ends, attributes)
        self._rows = rows
        self._plan = plan
        self._machine = machine
        self._time = time
        self._attributes = attributes
        self._tables: list[Any] = []
        self._begin = 0  # the number of the first row in `_tables`
        self._done = 0  # the number of rows that were aggregated
        self._in_parts = rows.request.window is None and why_not(plan, Mode.RANGES) is None

    def push(self, rows: Any) -> Iterator[Any]:
        """Read a table; yield the rows of the groups so far, if enough rows have been read."""
        self._tables.append(self.take(rows))
        # with a long window many rows are read again: so no more than are new
        enough = max(ROWS_TOGETHER, self._done - self._begin)
        if self._in_parts and self.own is not None and self.read - self._done >= enough:
            yield from self._aggregate()

    def finish(self) -> Iterator[Any]:
        """Yield the rows of the groups, as record batches."""
        if self.read > self._done:
            yield from self._aggregate()

    def _aggregate(self) -> Iterator[Any]:
        """Yield the rows of the groups of answers that end in rows not aggregated before."""
        import pyarrow as pa

        from cerlab.evaluate.aggregates import GroupTotals  # loads the query languages

        rows = pa.concat_tables(self._tables)
        computed = attributes_computed(t.predicate for t in self._plan.vcea.Delta)
        columns = {
            name: _values(rows.column(f"a{n}"), name, computed)
            for n, name in enumerate(self._attributes)
        }
        stream = io.as_stream(pa.table(columns))
        stream = stream if self._time is None else stream.on_time(self._time)
        positions = self.first + np.arange(self._begin, self.read)
        if "position" in rows.column_names:
            positions = rows.column("position").combine_chunks().to_numpy()
        totals = GroupTotals(
            self._rows.request,
            self._plan,
            self._machine,
            stream,
            own=max(self.first_own, self._done) - self._begin,
            positions=positions,
        )
        self._keep(rows, self._first_needed(stream))
        result = totals.table() if self._rows.are_final else _parts(totals, self._rows.request)
        yield from _fitting(result, self._rows.schema).to_batches()

    def _first_needed(self, stream: Stream) -> int:
        """Return the first row of a stream that an answer after its last row can contain."""
        from cerlab.engine.windows import SlidingEnds

        window = self._plan.window
        if not self._in_parts or window is None:
            return len(stream)
        ends = SlidingEnds(window, (), axis_for(window, stream, stream.time))
        return max(0, int(ends.read(stream.columns, len(stream), 0)[-1]))

    def _keep(self, rows: Any, begin: int) -> None:
        """Drop the rows before a number; the others are copied, since a slice keeps the whole."""
        self._tables = [rows.take(np.arange(begin, rows.num_rows))]
        self._begin, self._done = self._begin + begin, self.read


def _values(column: Any, name: str, computed: Collection[str]) -> Any:
    """Return a column for the engine; a column of only NULL has no type."""
    import pyarrow as pa

    if column.null_count == len(column):
        return pa.nulls(len(column))
    return engine_column(column, name, computed)


def _parts(totals: GroupTotals, request: Request) -> Any:
    """Return the partial aggregates of all groups, as columns."""
    import pyarrow as pa

    from cerlab.evaluate.aggregates import EXPONENT

    columns = {f"g{n}": totals.group(name) for n, name in enumerate(request.groups)}
    columns["runs"] = _binary(totals.totals.runs.tolist())
    for n, place in enumerate(request.summands):
        pairs, of = totals.sums(place)
        columns[f"s{n}"] = _binary(total << of.exponent + EXPONENT for total, _ in pairs)
        columns[f"p{n}"] = _binary(present for _, present in pairs)
    for n, measure in enumerate(request.extremes):
        columns[f"m{n}"] = totals.extreme(measure)
    return pa.table(columns)


def _binary(integers: Iterable[int]) -> Any:
    import pyarrow as pa

    # one more bit than the length, for the sign
    sizes = (n.to_bytes(n.bit_length() // 8 + 1, "little", signed=True) for n in integers)
    return pa.array(list(sizes), pa.binary())


def merge_parts(batches: Iterable[Any], rows: GroupRows) -> Iterator[Any]:
    """Yield the rows of groups, from the parts of all tasks.

    Each input row has the lists of all its parts, except ``m0 m1 ..``.
    """
    import pyarrow as pa

    from cerlab.evaluate.aggregates import EXPONENT, integer_column, sum_column

    request = rows.request
    for batch in batches:
        columns = {name: batch.column(f"g{n}") for n, name in enumerate(request.groups)}
        if request.count:
            columns["count"] = integer_column(_sums(batch.column("runs")), "count")
        for measure in request.measures:
            if measure in request.extremes:
                columns[measure.name] = batch.column(f"m{request.extremes.index(measure)}")
                continue
            at, kind = request.summands.index(measure.place), rows.schema.field(measure.name).type
            totals, present = (_sums(batch.column(f"{name}{at}")) for name in "sp")
            whole = not pa.types.is_floating(kind)
            exponent = 0 if whole else -EXPONENT
            totals = [total >> EXPONENT for total in totals] if whole else totals
            pairs = zip(totals, present, strict=True)
            columns[measure.name] = sum_column(measure, pairs, exponent, whole=whole)
        yield from _fitting(pa.table(columns), rows.schema).to_batches()


def _sums(lists: Any) -> list[int]:
    """Return the sum of each list of integers that `_binary` wrote."""
    return [
        sum(int.from_bytes(each, "little", signed=True) for each in some)
        for some in lists.to_pylist()
    ]


def _fitting(table: Any, schema: Any) -> Any:
    """Return the rows in the types of a schema.

    Raises `ResourceLimit` for integers beyond 64 bits.
    """
    import pyarrow as pa

    for field in () if schema is None else schema:
        if pa.types.is_int64(field.type) and pa.types.is_decimal(table.column(field.name).type):
            raise ResourceLimit(
                "CER0619",
                f"'{field.name}' needs more than the 64 bits of a bigint",
                hint="use Matches.aggregate, or make sums smaller by GROUP BY end or WITHIN",
            )
    return in_types(table, schema)
