"""Sessions of row patterns: rows arrive, and matches are returned when they are certain.

Each partition has a search that continues where it waits for a row. A match is certain when the
search that found it has read only rows that have arrived. All pushes and ``advance("end")``
together return the result of `match_recognize` on all rows, in each partition in its order.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import NoneType
from typing import TYPE_CHECKING, Any

from cerlab.computed import cached_property
from cerlab.display import rich_display
from cerlab.engine import codec
from cerlab.engine.codec import Layout
from cerlab.engine.state_checks import bad_state, expect, is_whole, reading_state
from cerlab.errors import BadData, DataPlace, IllFormed, TypeMismatch, UsageError
from cerlab.model.answer import without_collection
from cerlab.model.event import Duration, Event, Timestamp, Value
from cerlab.model.paths import fields_of
from cerlab.model.stream import Stream, TimeAxis, Until
from cerlab.rows import expressions as ex
from cerlab.rows import syntax as rp
from cerlab.rows.compile import (
    Machine,
    machine,
    order_key,
    result_rows_of_match,
    resume_of,
    same_key,
    within_of,
    without_truths,
)
from cerlab.rows.kinds import Kind
from cerlab.rows.machine import GrowingMapping, MissingRow, OpenEnd, Refused, ScanResult, Search
from cerlab.rows.recognise import (
    as_table,
    check_far,
    column_kinds,
    exact_double,
    measure_array,
    parse_rows,
    value_columns,
    with_paths,
)
from cerlab.rows.syntax import RowPattern, mismatch
from cerlab.rows.text import row_pattern_text
from cerlab.rows.types import Binding, InputColumn, StaticType, bind, references

if TYPE_CHECKING:
    from cerlab.engine.late_events import InOrder, Length
    from cerlab.rows.batch_conditions import BatchConditions
    from cerlab.rows.live_columns import LivePartitions

FEWEST = 64
"""The least number of rows to drop; also at least half of the kept rows, so that moving the rest
costs constant time for each row."""


FEW, EARLY = 32, 10_000
"""Smaller batches, and rows before this number, have their conditions tested one by one: to load
Numba and the columns takes as long as so many rows, and to begin with a batch as long as so few."""


@dataclass(slots=True)
class _Partition:
    """The rows of a partition that later matches may read, and its search."""

    number: int
    columns: dict[Any, list[Any]]
    """The values of columns, and what is known of the conditions at each row."""
    positions: list[int]
    """The number of each row in the session."""
    search: Search = field(init=False)
    results: Iterator[ScanResult | None] = field(init=False)
    pending: ScanResult | None = None
    """A result whose measures read a row that has not arrived."""
    matched_end: int = 0
    """The row after the last matched row so far, counting dropped rows too."""
    reach: int = 0
    """The number of rows before a match that PREV can read."""

    def begin(self, M: Machine, reach: int, s: int = 0, number: int = 0, dropped: int = 0) -> None:
        """Begin the search at row s, after `number` matches and `dropped` rows."""
        mapping = GrowingMapping(self.columns, OpenEnd(len(self.positions)), M.names_of)
        within, resume = within_of(M, self.columns), resume_of(M.query, self.positions)
        conditions = M.automaton, mapping, M.at_row, M.of_mapping
        self.search = Search(*conditions, within, resume, M.memory, M.registers)
        self.search.s, self.search.number, self.search.dropped = s, number, dropped
        self.search.drop, self.reach = self._drop, reach
        self.results, self.pending = self.search.live_scan(), None

    def _drop(self, s: int) -> int:
        # keep the last row, to check the order of the next one
        count = min(s - self.reach, len(self.positions) - 1)
        if count < FEWEST or 2 * count < len(self.positions):
            return 0
        for column in self.columns.values():
            del column[:count]
        del self.positions[:count]
        self.set_length()
        return count

    def set_length(self, *, is_over: bool = False) -> None:
        """Tell the search the present number of rows, and whether more may come."""
        rows, mapping = len(self.positions), self.search.mapping
        if is_over:
            mapping.set_length(rows)
            self.search.drop = None
        elif isinstance(mapping.length, OpenEnd):
            mapping.length.rows = mapping.rows = rows

    def certain(self, M: Machine) -> Iterator[tuple[int, tuple[Any, ...]]]:
        """Yield each certain row of the result: a row of the partition, and measures."""
        search = self.search
        while True:
            result = self.pending or next(self.results, None)
            if result is None:
                return
            try:
                end = self.matched_end - search.dropped
                rows = [*result_rows_of_match(M, search.mapping, result, end)]
            except MissingRow:
                search.mapping.visible, self.pending = None, result
                return
            self.pending = None
            if result.labels:
                end = search.dropped + result.s + len(result.labels)
                self.matched_end = max(self.matched_end, end)
            yield from rows


ROW_SESSION = Layout(
    "cerlab-rowsession",
    1,
    {"over": bool, "taken": int, "columns": tuple, "partitions": tuple},
)
"""The saved values: whether the end was declared; the number of rows pushed; the names and types
of the columns; for each partition the number of dropped rows, the row of the scan, the row after
the last match, the number of matches, the numbers of its rows, and the values of its columns."""


@rich_display
class RowPatternSession:
    """A session of a row pattern, created by `cerlab.session`.

    In each partition the rows arrive in the order of ORDER BY. The session keeps the rows from the
    oldest open match on, and the rows before it that PREV can read. Use it from one thread at a
    time.
    """

    def __init__(
        self,
        query: str | RowPattern,
        state: bytes | None = None,
        lateness: Length | None = None,
        aside: Callable[[int, BadData], None] | None = None,
    ) -> None:
        """Open a session; raises as `parse_rows`, and `BadData` for a foreign or damaged state.

        `aside` receives the index of each late row in its push, which is otherwise an error.
        """
        self._query = parse_rows(query) if isinstance(query, str) else query
        self._over = self._stopped = False
        self.read = 0
        """The number of rows read, also before a state; rows that are held back are not read."""
        self._conditions: BatchConditions | None = None
        self._live: LivePartitions | None = None
        """The partitions in arrays, if they are; `_partitions` is empty then."""
        self._numbers: dict[tuple[Any, ...], int] = {}
        """The number of each partition in arrays, by its key."""
        self._stays = False
        """True if the partitions stay in lists until the columns change."""
        self._inputs: list[str] = []
        self._fields: dict[str, Any] = {}
        """The columns so far, and their types."""
        self._partitions: dict[tuple[Any, ...], _Partition] = {}
        self._reach = rows_before_match(self._query)
        self._has_paths = any(fields_of(column.name) for column in references(self._query))
        self._order: InOrder | None = None
        if lateness is not None or state is not None:
            from cerlab.engine.late_events import opened_order

            axis = _time_of(self._query, lateness)
            self._aside, self._arriving = aside, dict[int, int]()
            late = None if aside is None else self._set_aside
            self._order, state = opened_order(axis, lateness, state, late)
        if state is not None:
            self.resume(state)

    @property
    def pushed(self) -> int:
        """The number of rows pushed, including those before a saved state and those held back."""
        return self.read if self._order is None else self._order.taken

    @property
    def late(self) -> int:
        """The number of late rows, including those before a saved state; 0 without `lateness`."""
        return 0 if self._order is None else self._order.late

    # -- rows in ------------------------------------------------------------------------------

    def push(self, rows: Any) -> Any:
        """Read rows; return the rows of the result that are now certain, as a pyarrow Table.

        In each partition the returned rows are in the order of the result; partitions are in order
        of first appearance.

        Args:
            rows: anything that `match_recognize` accepts. The first rows determine the columns and
                their types; a column may be missing later, and a column of NULLs may get a type.

        Raises:
            BadData: for a row before its predecessor; the rows before it are read, and ``.matches``
                contains their part of the result.
            TypeMismatch: for a column of another type; no row is read.

        >>> clause = '''MATCH_RECOGNIZE (MEASURES FIRST(UP.x) AS low, LAST(UP.x) AS high
        ...     PATTERN (UP UP+) DEFINE UP AS COUNT(*) = 1 OR x > PREV(x))'''
        >>> session = RowPatternSession(clause)
        >>> session.push([{"x": 3}, {"x": 4}, {"x": 6}]).num_rows
        0
        >>> session.push([{"x": 5}]).to_pylist()
        [{'low': 3, 'high': 6}]
        """
        self._check()
        table = as_table(rows)
        if self._has_paths:
            table = with_paths(self._query, table)
        if not table.num_rows:
            return self._given([])
        # with 100,000 partitions, looking for circles among them took half of the time
        with without_collection():
            return self._push(table)

    def _push(self, table: Any) -> Any:
        self._bind(table)
        names = [name for name in self._kept if name in table.column_names]
        columns = dict(value_columns(table, names))
        for name in names:
            if self._kinds[name] is Kind.DOUBLE:
                columns[name] = [exact_double(value, name) for value in columns[name]]
        self._stopped = True
        if self._order is None:
            touched, error = self._take(columns, table.num_rows)
        else:
            touched, error = self._take_in_order(columns, table.num_rows)
        return self._given_by(touched, error)

    def _given_by(self, touched: Sequence[_Partition], error: BadData | None) -> Any:
        """Return the new rows of the result from some partitions; raise `error` with these rows."""
        result = self._given(sorted(touched, key=lambda part: part.number))
        self._stopped = False
        if error is not None:
            error.matches = result
            raise error
        return result

    def advance(self, until: Until) -> Any:
        """Declare that no more rows will come (``"end"``), or none before a time.

        Return the rows of the result this adds.

        Raises `UsageError` for another argument.
        """
        self._check()
        if self._order is not None:
            given = self._order.advance(until)
            self._stopped = True
            touched, error = self._take_given(given)
            if not (isinstance(until, str) and until == "end") or error is not None:
                return self._given_by(touched, error)
        elif until != "end":
            hint = 'rows of a partition come in its order; "end" says that no row will come'
            raise UsageError("CER0828", f"until={until!r} is not 'end'", hint=hint)
        self._stopped = True
        if self._live is not None:
            self._live.end()
        for part in self._partitions.values():
            part.set_length(is_over=True)
        result = self._given([*self._partitions.values()])
        self._stopped, self._over = False, True
        return result

    def _check(self) -> None:
        if self._stopped:
            raise UsageError(
                "CER0832",
                "a push was stopped in the middle of its batch",
                hint="open a session from an earlier state(): session(.., state=..)",
            )
        if self._over:
            message, hint = 'no row may come after "end"', "open a session again for others"
            raise UsageError("CER0829", message, hint=hint)

    def _set_aside(self, event: Event, error: BadData) -> None:
        assert self._aside is not None
        self._aside(self._arriving[id(event)], error)

    def _take_in_order(
        self, batch: Mapping[str, Sequence[Value]], count: int
    ) -> tuple[list[_Partition], BadData | None]:
        """Put rows into time order, and add the due ones; stop at a late row."""
        assert self._order is not None
        time = self._order.time.attribute
        nothing: Sequence[Value] = [None] * count
        names = {name: name for name in batch} | {time: self._binding.names[time]}
        columns = [(name, batch.get(of, nothing)) for name, of in names.items()]
        events = [Event("row", {name: c[i] for name, c in columns}) for i in range(count)]
        if self._aside is not None:
            self._arriving = {id(event): n for n, event in enumerate(events)}
        touched, error = list[_Partition](), None
        try:
            for given in self._order.push(Stream(events)):
                touched, error = self._take_given(given)
        except BadData as late:
            error = error or late
        except (UsageError, TypeMismatch):  # the type of the first row, which is the type of all
            self._stopped = False
            raise
        return touched, error

    def _take_given(self, given: Stream) -> tuple[list[_Partition], BadData | None]:
        """Add rows that are due; put the rows after a bad one back."""
        assert self._order is not None
        if not given.events:
            return [], None
        rows, before = given.events, self.read
        batch = {name: [row.attributes.get(name) for row in rows] for name in self._kept}
        touched, error = self._take(batch, len(rows))
        if error is not None:
            self._order.put_back(self.read - before + 1)
        return touched, error

    def _take(
        self, batch: Mapping[str, Sequence[Value]], count: int
    ) -> tuple[list[_Partition], BadData | None]:
        """Add rows to their partitions, up to one that is before its predecessor."""
        if self._by_arrays(count):
            try:
                return self._take_by_arrays(batch, count)
            except Refused:
                self._leave_arrays()
        touched = dict[int, tuple[_Partition, int]]()
        keys, order, ordering = self._keys_and_order(batch, count)
        absent: Sequence[Value] = [None] * count
        values = [(name, batch.get(name, absent)) for name in self._kept]
        error = None
        for i, key in enumerate(keys):
            if (part := self._partitions.get(key)) is None:
                nothing: dict[Any, list[Any]] = {name: [] for name in self._kept}
                nothing |= without_truths(self._machine, 0)
                part = _Partition(len(self._partitions), nothing, [])
                part.begin(self._machine, self._reach)
                self._partitions[key] = part
            elif order and self._is_before([part.columns[n][-1] for n in ordering], order, i):
                error = self._before(i)
                break
            if part.number not in touched:
                touched[part.number] = part, len(part.positions)
            columns = part.columns
            for name, column in values:
                columns[name].append(column[i])
            part.positions.append(self.read)
            self.read += 1
        self._test([*touched.values()], count)
        return [part for part, _ in touched.values()], error

    def _keys_and_order(
        self, batch: Mapping[str, Sequence[Value]], count: int
    ) -> tuple[Iterable[tuple[Any, ...]], list[tuple[Sequence[Value], rp.OrderItem]], list[str]]:
        """Return the key of each row, the columns of ORDER BY, and their names in the table."""
        query, names = self._query, self._binding.names
        absent: Sequence[Value] = [None] * count
        keys = [map(same_key, batch.get(names[c.name], absent)) for c in query.partition_by]
        ordering = [names[o.column.name] for o in query.order_by]
        order = [(batch.get(n, absent), o) for n, o in zip(ordering, query.order_by, strict=True)]
        return zip(*keys, strict=True) if keys else [()] * count, order, ordering

    # -- rows in arrays -----------------------------------------------------------------------

    def _by_arrays(self, count: int) -> bool:
        """Return whether partitions are in arrays, after moving them there for a large batch."""
        if self._live is None and not self._stays and count >= FEW and self.read >= EARLY:
            from cerlab.rows import live_columns

            self._stays = not live_columns.is_taken(self._machine, self._batch_conditions())
            if not self._stays:
                conditions = self._batch_conditions()
                self._live = live_columns.LivePartitions(
                    self._machine,
                    self._binding,
                    conditions,
                    reach=self._reach,
                    few=FEW,
                    fewest=FEWEST,
                )
                saved = [live_columns.SavedPartition(*each) for each in self._saved_lists()]
                try:
                    self._live.add(saved, self.read)
                except Refused:
                    self._live, self._stays = None, True
                else:
                    self._numbers = {key: n for n, key in enumerate(self._partitions)}
                    self._partitions = {}
        return self._live is not None

    def _take_by_arrays(
        self, batch: Mapping[str, Sequence[Value]], count: int
    ) -> tuple[list[_Partition], BadData | None]:
        """Add rows to arrays, as `_take` does to lists; raise `Refused` before adding any."""
        assert self._live is not None
        self._live.hold(batch, count)
        keys, order, ordering = self._keys_and_order(batch, count)
        numbers, last, begin = self._numbers, self._live.last, self._live.count
        columns = [self._live.columns[name] for name in ordering]
        partition, error = list[int](), None
        for i, key in enumerate(keys):
            number = numbers.setdefault(key, len(last))
            if number == len(last):
                last.append(begin + i)
            else:
                row = last[number]
                if order and self._is_before([column[row] for column in columns], order, i):
                    error = self._before(i)
                    break
                last[number] = begin + i
            partition.append(number)
        first, self.read = self.read, self.read + len(partition)
        try:
            self._live.read(partition, first)
        except Refused:
            self._leave_arrays()
            parts = [*self._partitions.values()]
            return [parts[number] for number in sorted({*partition})], error
        return [], error

    def _leave_arrays(self) -> None:
        """Move the partitions from arrays to lists, where they stay until the columns change."""
        if self._live is not None:
            live, self._live, self._stays = self._live, None, True
            for saved in live.saved():
                self._resume_partition(*saved)

    def _batch_conditions(self) -> BatchConditions:
        if self._conditions is None:
            from cerlab.rows.batch_conditions import BatchConditions

            self._conditions = BatchConditions(self._machine, self._binding, self._reach)
        return self._conditions

    # -- conditions and order -----------------------------------------------------------------

    def _test(self, touched: Sequence[tuple[_Partition, int]], count: int) -> None:
        """Evaluate conditions on the new rows of some partitions."""
        names = [*without_truths(self._machine, 0)]
        for part, first in touched:
            part.set_length()
            for name in names:
                part.columns[name] += [None] * (len(part.positions) - first)
        if count >= FEW and self.read >= EARLY:
            conditions = self._batch_conditions()
            conditions.evaluate([(part.columns, first) for part, first in touched])

    def _is_before(
        self, lasts: Sequence[Value], order: Sequence[tuple[Any, rp.OrderItem]], i: int
    ) -> bool:
        """Return whether row i comes before its partition's last row, whose values are `lasts`."""
        for last, (column, item) in zip(lasts, order, strict=True):
            now = column[i]
            if isinstance(last, Timestamp) and isinstance(now, Timestamp):
                # comparing integers takes a tenth of the time of comparing timestamps
                last, now = last.nanoseconds, now.nanoseconds
            if last == now:
                continue
            if type(last) is type(now) is int:
                return last < now if item.descending else now < last
            before, after = order_key(last, item), order_key(now, item)
            if before != after:
                return before < after if item.descending else after < before
        return False

    def _before(self, i: int) -> BadData:
        return BadData(
            "CER0714",
            "a row comes before the last row of its partition, by ORDER BY",
            place=DataPlace("the rows", i + 1),
            hint="push the rows of a partition in its order",
        )

    # -- columns ------------------------------------------------------------------------------

    def _bind(self, table: Any) -> None:
        """Add the columns of a table to the known ones; raise `TypeMismatch` if a kind differs."""
        fields = dict(self._fields)
        for name, kind in column_kinds(table).items():
            before = _kind_of(fields[name]) if name in fields else Kind.NULL
            if before is Kind.NULL:
                fields[name] = _plain_type(table.schema.field(name).type, kind)
            elif kind not in (before, Kind.NULL) and (before, kind) != (Kind.DOUBLE, Kind.INTEGER):
                hint = "the first rows settle the types: write 1.0 for a column of doubles"
                message = f"column '{name}' was of {before.value}, and now is of {kind.value}"
                raise mismatch(message, hint=hint)
        if fields != self._fields:
            self._set_columns(fields)
        check_far(self._query, self._binding, table)

    def _set_columns(self, fields: dict[str, Any]) -> None:
        import pyarrow as pa

        self._leave_arrays()
        self._kinds = {name: _kind_of(kind) for name, kind in fields.items()}
        self._binding: Binding = bind(self._query, self._kinds)
        self._machine = machine(self._query, self._binding)
        self._conditions, self._stays = None, False
        self._fields, self._schema = fields, pa.schema([*fields.items()])
        self._kept, self._inputs = self._binding.read, self._binding.inputs
        # most pushes of a row add nothing: making this table took a quarter of their time
        self._empty = self._table({n: [] for n in self._inputs}, [[] for _ in self._query.measures])
        for part in self._partitions.values():
            for name in self._kept:
                part.columns.setdefault(name, [None] * len(part.positions))
            part.columns |= without_truths(self._machine, len(part.positions))
            search = part.search
            part.begin(self._machine, self._reach, search.s, search.number, search.dropped)

    # -- rows out -----------------------------------------------------------------------------

    def _given(self, parts: Sequence[_Partition]) -> Any:
        """Return the rows of the result that later rows of these partitions cannot change."""
        if self._live is not None:
            found = self._live.certain()
            return self._empty if found is None else self._table(*found)
        measures: list[list[Value]] = [[] for _ in self._query.measures]
        inputs: dict[str, list[Value]] = {name: [] for name in self._inputs}
        try:
            for part in parts:
                for j, values in part.certain(self._machine):
                    for column, value in zip(measures, values, strict=True):
                        column.append(value)
                    for name, column in inputs.items():
                        column.append(part.columns[name][j])
        except BadData as error:
            error.matches = self._table(inputs, measures)
            raise
        is_empty = not any(map(len, (*measures[:1], *inputs.values())))
        return self._empty if self._fields and is_empty else self._table(inputs, measures)

    def _table(self, inputs: Mapping[str, Any], measures: Sequence[Any]) -> Any:
        import pyarrow as pa

        if not self._fields:
            return pa.table({})
        arrays, names = [], []
        for column in self._binding.output:
            names.append(column.name)
            if isinstance(column, InputColumn):
                static = StaticType(self._kinds[column.column], column.column)
                values = inputs[column.column]
            else:
                static, values = column.type, measures[column.index]
            arrays.append(measure_array(values, column.name, static, self._schema))
        return pa.Table.from_arrays(arrays, names=names)

    # -- state --------------------------------------------------------------------------------

    def state(self) -> bytes:
        """Return the state as bytes, with which `cerlab.session` can continue.

        The format is documented and versioned; reading it runs no code.
        """
        if self._stopped:
            self._check()
        state = self._state_with([*self._saved()])
        return state if self._order is None else self._order.state(state)

    def states(self) -> Iterator[tuple[int, bytes]]:
        """Yield the number of the last row of each partition, and a state of that partition."""
        for saved in self._saved():
            yield saved[4][-1], self._state_with([saved])

    def _saved(self) -> Iterator[Sequence[Any]]:
        """Yield each partition in the form that a saved state contains."""
        return self._saved_lists() if self._live is None else self._live.saved()

    def _saved_lists(self) -> Iterator[Sequence[Any]]:
        return map(self._state_of, self._partitions.values())

    def _state_with(self, parts: Sequence[Sequence[Any]]) -> bytes:
        values = {
            "over": self._over,
            "taken": self.read,
            "columns": [(name, str(kind)) for name, kind in self._fields.items()],
            "partitions": [[*part] for part in parts],
        }
        return codec.write(ROW_SESSION, self._of, values, {})

    @cached_property
    def _of(self) -> str:
        return hashlib.sha256(row_pattern_text(self._query).encode()).hexdigest()

    def _state_of(self, part: _Partition) -> list[Any]:
        search = part.search
        first = max(0, search.s - self._reach)
        # the last row is needed for the order of the next one, even if no match reads it
        first = min(first, max(0, len(part.positions) - 1))
        columns = [part.columns[name][first:] for name in self._kept]
        numbers = [search.dropped + first, search.s - first, part.matched_end, search.number]
        return [*numbers, part.positions[first:], columns]

    def resume(self, state: bytes) -> None:
        """Add the partitions of a saved state; raise `BadData` for other bytes."""
        values, _ = codec.read(ROW_SESSION, self._of, state)
        self._leave_arrays()
        with reading_state():
            self._over, self.read = values["over"], max(self.read, values["taken"])
            fields = {name: _type_of(kind) for name, kind in values["columns"]}
            try:
                if fields and fields != self._fields:
                    self._set_columns(fields)
            except (IllFormed, TypeMismatch) as error:
                raise bad_state(str(error)) from None
            for part in values["partitions"]:
                self._resume_partition(*part)

    def _resume_partition(
        self, dropped: int, s: int, matched_end: int, number: int, positions: Any, columns: Any
    ) -> None:
        expect(all(map(is_whole, (dropped, s, matched_end, number))), "a number of rows")
        expect(len(positions) > 0 and s <= len(positions), "the rows of a partition")
        expect(all(is_whole(position, 0, self.read) for position in positions), "a row")
        expect(all(len(column) == len(positions) for column in columns), "the rows of a partition")
        kept: dict[Any, list[Any]] = dict(zip(self._kept, map(list, columns), strict=True))
        for name, column in kept.items():
            kinds = {_VALUES.get(self._kinds[name], NoneType), NoneType}
            expect({*map(type, column)} <= kinds, "a value")
        truths = without_truths(self._machine, len(positions))
        columns = kept | truths
        part = _Partition(len(self._partitions), columns, [*positions], matched_end=matched_end)
        part.begin(self._machine, self._reach, s, number, dropped)
        names = [self._binding.names[column.name] for column in self._query.partition_by]
        key = tuple(same_key(kept[name][0]) for name in names)
        expect(key not in self._partitions, "equal keys")
        self._partitions[key] = part

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the parts to copy or pickle: the copy continues from the state."""
        return type(self), (self._query, self.state())

    def __repr__(self) -> str:
        rows = sum(len(part.positions) for part in self._partitions.values())
        rows += 0 if self._live is None else self._live.count
        return f"<RowPatternSession: {self.read:,} rows pushed, {rows:,} kept>"


_VALUES = {
    Kind.BOOLEAN: bool,
    Kind.INTEGER: int,
    Kind.DOUBLE: float,
    Kind.TEXT: str,
    Kind.MOMENT: Timestamp,
    Kind.DURATION: Duration,
}
"""The type of the values of each kind."""


def rows_before_match(query: RowPattern) -> int:
    """Return the number of rows before a match that PREV can read."""
    bodies = (
        *(each.condition for each in query.define),
        *(each.expression for each in query.measures),
    )
    parts = [part for body in bodies for part in ex.subexpressions(body)]
    return max((part.offset for part in parts if isinstance(part, ex.Prev)), default=0)


def _time_of(query: RowPattern, lateness: Length | None) -> TimeAxis | None:
    """Return the time by which late rows are sorted; raise `UsageError` without one."""
    if query.order_by and not query.order_by[0].descending:
        return TimeAxis(query.order_by[0].column.name)
    if lateness is not None:
        hint = "begin ORDER BY with the time, in ascending order"
        raise UsageError("CER0802", "lateness needs a time that orders the rows", hint=hint)
    return None


def _kind_of(arrow_type: Any) -> Kind:
    import pyarrow as pa

    return column_kinds(pa.schema([("", arrow_type)]).empty_table())[""]


def _plain_type(arrow_type: Any, kind: Kind) -> Any:
    """Return the type of a result column, without dictionaries for numbers and texts."""
    import pyarrow as pa

    plain = {Kind.TEXT: pa.string(), Kind.INTEGER: pa.int64(), Kind.DOUBLE: pa.float64()}
    return plain.get(kind, getattr(arrow_type, "value_type", arrow_type))


def _type_of(text: str) -> Any:
    """Return the Arrow type with a name; raises ValueError for other names."""
    import pyarrow as pa

    head, comma, zone = text.partition(", tz=")
    if comma:
        return pa.timestamp(head.removeprefix("timestamp["), zone.removesuffix("]"))
    return pa.type_for_alias(text)
