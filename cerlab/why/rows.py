"""Why rows of a table are a match of a row pattern, and why not (rows.md 5, 7)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cerlab.compile.rows_to_prioritised import prioritised_automaton
from cerlab.compile.rows_to_search import Machine, machine, partitions, search_of
from cerlab.errors import UsageError
from cerlab.io.tables import as_table, column_kinds, value_columns
from cerlab.logic.rows.types import Binding
from cerlab.logic.rows.syntax import RowPattern
from cerlab.logic.rows.types import bind
from cerlab.logic.rows.evaluation import Partition
from cerlab.logic.rows.text import expression_text, name_text, skip_text
from cerlab.model.event import Value
from cerlab.why.row_answer import MappedRow, RowKind, WhyRows, Without, cell_text, read_text
from cerlab.why.row_reading import Attempt, Labels, Reader


def why_rows(query: str | RowPattern, table: Any, rows: Iterable[int] | None = None) -> WhyRows:
    """Why these rows of a table, and no others, are a match of a row pattern, or why not.

    Rows count from 0 as they stand in the table. Without `rows` it is why there is no match at all,
    or which is the first. A match has the variable that takes each row, with what its condition
    reads; rows that are none have the conditions that fail in the reading that comes farthest, or,
    where conditions let them be read, the match that is preferred to them or was found before.
    Raises as `cerlab.match_recognize`.

    >>> clause = "MATCH_RECOGNIZE (MEASURES 1 AS m PATTERN (A+ B) DEFINE A AS x > 1, B AS x < {})"
    >>> table = [{"x": 3}, {"x": 2}, {"x": 1}]
    >>> print(why_rows(clause.format(2), table, [0, 1, 2]))
    a match: rows 0, 1, 2
      0 A: x > 1, x is 3
      1 A: x > 1, x is 2
      2 B: x < 2, x is 1
    >>> print(why_rows(clause.format(3), table, [0, 1]))
    no match: rows 0, 1
      the match at row 0 is another: A takes row 1 where B is only tried after it
      0 A: x > 1, x is 3
      1 B: x < 3, x is 2
    the match:
      0 A: x > 1, x is 3
      1 A: x > 1, x is 2
      2 B: x < 3, x is 1
    >>> print(why_rows(clause.format(1), table))
    no match
      A cannot take row 2: x > 1 does not hold, x is 1
      B cannot take row 2: x < 1 does not hold, x is 1
      0 A: x > 1, x is 3
      1 A: x > 1, x is 2
    without the condition of B: rows 0, 1, 2
    """
    if isinstance(query, str):
        from cerlab.logic.rows.parser import parse_rows  # loads sqlglot

        query = parse_rows(query)
    scope = _Scope.of(query, as_table(table))
    if rows is None:
        return _why_none(scope)
    numbers = tuple(sorted(set(rows)))
    if not numbers:
        message = "no rows are given"
        raise UsageError("CER0835", message, hint="leave them out, for why there is no match")
    return _out_of_place(scope, numbers) or _why_these(scope, numbers)


@dataclass(frozen=True, slots=True)
class _Scope:
    """A query on a table: what runs it, its partitions, and the values of its columns."""

    M: Machine
    columns: Mapping[str, Sequence[Value]]
    length: int
    partitions: Sequence[Sequence[int]]

    @staticmethod
    def of(query: RowPattern, table: Any) -> _Scope:
        M = machine(query, bind(query, column_kinds(table)))
        columns = value_columns(table, M.names.values())
        return _Scope(M, columns, table.num_rows, partitions(M, columns, table.num_rows))

    @property
    def query(self) -> RowPattern:
        return self.M.query

    def without(self, variable: str) -> _Scope:
        """The query without the condition of a variable."""
        define = tuple(d for d in self.query.define if d.variable != variable)
        M = machine(replace(self.query, define=define), Binding(self.M.names, ()))
        return replace(self, M=M)

    def scan_matches(self, positions: Sequence[int]) -> Iterator[tuple[int, Labels | None, int]]:
        """Where the scan stands, the match there or None, and its number (rows.md 7.1)."""
        for result in search_of(self.M, self.columns, positions).scan():
            yield result.s, None if result.labels is None else tuple(result.labels), result.number

    def reader(self, positions: Sequence[int], s: int, N: int, until: int | None) -> Reader:
        """The readings of a partition from its row s on; until row `until`, or however far."""
        rows = [{name: column[i] for name, column in self.columns.items()} for i in positions]
        automaton = prioritised_automaton(self.query.pattern, every=until is not None)
        return Reader(self.query, automaton, Partition(rows, self.M.names), s, N, until)


def _out_of_place(scope: _Scope, rows: tuple[int, ...]) -> WhyRows | None:
    """Rows that no match can have: not in the table, in several partitions, with gaps."""
    if outside := [row for row in rows if not 0 <= row < scope.length]:
        words = f"row {outside[0]} is out of the table, which has {scope.length:,} rows"
        return WhyRows(False, rows, kind=RowKind.ROW, reasons=(words,))
    positions = _partition_of(scope, rows[0])
    if away := [row for row in rows if row not in positions]:
        keys = ", ".join(
            f"{c.name} is {cell_text(column[rows[0]])} and {cell_text(column[away[0]])}"
            for c in scope.query.partition_by
            for column in (scope.columns[scope.M.names[c.name]],)
        )
        words = f"rows {rows[0]} and {away[0]} are in different partitions: {keys}"
        return WhyRows(False, rows, kind=RowKind.PARTITION, reasons=(words,))
    places = [i for i, row in enumerate(positions) if row in rows]
    between = positions[places[0] : places[-1] + 1]
    if gaps := [row for row in between if row not in rows]:
        words = f"row {gaps[0]} stands between them, and the rows of a match are consecutive"
        return WhyRows(False, rows, kind=RowKind.GAP, reasons=(words,))
    return None


def _partition_of(scope: _Scope, row: int) -> Sequence[int]:
    return next(positions for positions in scope.partitions if row in positions)


def _why_these(scope: _Scope, rows: tuple[int, ...]) -> WhyRows:
    """Whether consecutive rows of a partition are a match."""
    positions = _partition_of(scope, rows[0])
    s = min(positions.index(row) for row in rows)
    before, here, number = _scan_to(scope, positions, s)
    if here is not None and len(here) == len(rows):
        return WhyRows(True, rows, _mapped_rows(scope, positions, s, here, number))
    reader = scope.reader(positions, s, number, s + len(rows))
    labels = reader.reading()
    if labels is None:
        reasons = tuple(_words(attempt, reader, positions) for attempt in reader.dead_ends)
        mapped_rows = _mapped_rows(scope, positions, s, reader.labels, number)
        return WhyRows(False, rows, mapped_rows, RowKind.CONDITION, reasons)
    mapped_rows = _mapped_rows(scope, positions, s, labels, number)
    if here is not None:
        others = _mapped_rows(scope, positions, s, here, number)
        words = _preference_words(mapped_rows, others)
        return WhyRows(False, rows, mapped_rows, RowKind.PREFERRED, (words,), others)
    assert before is not None, "the search and the readings disagree on the match at a row"
    first, earlier, of = before
    others = _mapped_rows(scope, positions, first, earlier, of)
    words = (
        f"the match at row {others[0].row} is found before, and AFTER MATCH SKIP "
        f"{skip_text(scope.query.skip)} does not go on at row {positions[s]}"
    )
    return WhyRows(False, rows, mapped_rows, RowKind.SKIPPED, (words,), others)


def _scan_to(
    scope: _Scope, positions: Sequence[int], s: int
) -> tuple[tuple[int, Labels, int] | None, Labels | None, int]:
    """The last match before s that has rows, the match at s, and what number it gets or would."""
    before, number = None, 0
    for at, labels, N in scope.scan_matches(positions):
        if at == s:
            return before, labels, N + (labels is None)
        if at > s:
            break
        number = N
        if labels:
            before = at, labels, N
    return before, None, number + 1


def _preference_words(mapped_rows: tuple[MappedRow, ...], others: tuple[MappedRow, ...]) -> str:
    """Where the match takes a choice that stands before the one of the rows."""
    at = f"the match at row {mapped_rows[0].row} is another:"
    for ours, theirs in zip(mapped_rows, others, strict=False):
        if ours.variable != theirs.variable:
            order = f"where {name_text(ours.variable)} is only tried after it"
            return f"{at} {name_text(theirs.variable)} takes row {theirs.row} {order}"
    if len(others) > len(mapped_rows):
        more = others[len(mapped_rows)]
        return f"{at} to go on, {name_text(more.variable)} takes row {more.row}, is preferred"
    more = mapped_rows[len(others)]
    return f"{at} to end before row {more.row} is preferred to {name_text(more.variable)}"


def _mapped_rows(
    scope: _Scope, positions: Sequence[int], s: int, labels: Labels, N: int
) -> tuple[MappedRow, ...]:
    """The rows of a reading, each with its condition and what that reads."""
    reader = scope.reader(positions, s, N, None)
    conditions = {d.variable: expression_text(d.condition) for d in scope.query.define}
    rows = []
    for j, variable in enumerate(labels):
        read = reader.attempt(list(labels[:j]), variable).read
        rows.append(MappedRow(positions[s + j], variable, conditions.get(variable), read))
    return tuple(rows)


def _why_none(scope: _Scope) -> WhyRows:
    """Why there is no match with a row, or the first one."""
    for positions in scope.partitions:
        for s, labels, N in scope.scan_matches(positions):
            if labels:
                mapped_rows = _mapped_rows(scope, positions, s, labels, N)
                return WhyRows(True, tuple(row.row for row in mapped_rows), mapped_rows)
    nearest: tuple[Reader, Sequence[int]] | None = None
    for positions in scope.partitions:
        for s, labels, N in scope.scan_matches(positions):
            reader = scope.reader(positions, s, N + 1, None)
            if labels is not None or reader.reading() is not None:
                continue
            if nearest is None or len(reader.labels) > len(nearest[0].labels):
                nearest = reader, positions
    changes = tuple(_changes(scope))
    if nearest is None:
        words = "every match is empty" if scope.length else "the table has no rows"
        return WhyRows(False, (), kind=RowKind.CONDITION, reasons=(words,), changes=changes)
    reader, positions = nearest
    reasons = tuple(_words(attempt, reader, positions) for attempt in reader.dead_ends)
    mapped_rows = _mapped_rows(scope, positions, reader.s, reader.labels, reader.N)
    return WhyRows(False, (), mapped_rows, RowKind.CONDITION, reasons, changes=changes)


def _changes(scope: _Scope) -> Iterator[Without]:
    """The conditions without each of which there is a match."""
    for definition in scope.query.define:
        weaker = scope.without(definition.variable)
        matches = (
            tuple(positions[s : s + len(labels)])
            for positions in scope.partitions
            for s, labels, _ in weaker.scan_matches(positions)
            if labels
        )
        if (rows := next(matches, None)) is not None:
            yield Without(definition.variable, rows)


def _words(attempt: Attempt, reader: Reader, positions: Sequence[int]) -> str:
    """What an attempt fails by."""
    variable, row = attempt.variable, attempt.row
    if variable is None:
        if row is None:
            return "an anchor, ^ or $, does not stand at the edge of the partition"
        return f"the pattern is complete before row {positions[row]}"
    name = name_text(variable)
    if row is None:
        at_end = reader.until is None or reader.until == len(positions)
        return (
            f"{name} is to take one more row, and {'there is none' if at_end else 'none is asked'}"
        )
    cannot = f"{name} cannot take row {positions[row]}:"
    read = f", {read_text(attempt.read)}" if attempt.read else ""
    if not reader.admits(row):
        return f"{cannot} WITHIN ends before it{read}"
    condition = next(d.condition for d in reader.query.define if d.variable == variable)
    how = "is NULL" if attempt.holds is None else "does not hold"
    return f"{cannot} {expression_text(condition)} {how}{read}"
