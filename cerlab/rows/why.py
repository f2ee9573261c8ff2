"""Explanations of why rows of a table are a match of a row pattern, or why they are not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, NamedTuple

from cerlab import display
from cerlab.budget import poll
from cerlab.display import drawable
from cerlab.errors import ResourceLimit, UsageError
from cerlab.model.event import Value
from cerlab.rows import expressions as ex
from cerlab.rows import syntax as rp
from cerlab.rows.compile import Machine, machine, partitions, prioritised_automaton, search_of
from cerlab.rows.expression_semantics import Context, Partition, value
from cerlab.rows.machine import Accept, PrioritisedAutomaton, ReadRow
from cerlab.rows.recognise import as_table, bound, value_columns, with_paths
from cerlab.rows.syntax import RowPattern
from cerlab.rows.text import expression_text, name_text, skip_text
from cerlab.rows.types import Binding


def why_rows(query: RowPattern, table: Any, rows: Iterable[int] | None = None) -> WhyRows:
    """Explain why the given rows of a table are a match of a row pattern, or why they are not.

    Rows are counted from 0 in the table. Without `rows`, the result explains why there is no match
    at all, or shows the first one. For a match it lists the variable of each row, with the values
    that its condition reads. For other rows it lists the conditions that fail in the reading that
    gets farthest; if no condition fails, the match that is preferred to them or was found before.
    Raises as `cerlab.match_recognize`.

    >>> from cerlab.rows.parser import parse_rows
    >>> clause = "MATCH_RECOGNIZE (MEASURES 1 AS m PATTERN (A+ B) DEFINE A AS x > 1, B AS x < {})"
    >>> table = [{"x": 3}, {"x": 2}, {"x": 1}]
    >>> print(why_rows(parse_rows(clause.format(3)), table, [0, 1]))
    no match: rows 0, 1
      the match at row 0 differs: row 1 is A, which is tried before B
      0 A: x > 1, x is 3
      1 B: x < 3, x is 2
    the match:
      0 A: x > 1, x is 3
      1 A: x > 1, x is 2
      2 B: x < 3, x is 1
    >>> print(why_rows(parse_rows(clause.format(1)), table))
    no match
      A cannot take row 2: x > 1 does not hold, x is 1
      B cannot take row 2: x < 1 does not hold, x is 1
      0 A: x > 1, x is 3
      1 A: x > 1, x is 2
    without the condition of B: rows 0, 1, 2
    """
    scope = _Scope.of(query, with_paths(query, as_table(table)))
    if rows is None:
        return _why_none(scope)
    numbers = tuple(sorted(set(rows)))
    if not numbers:
        message = "expected at least one row, got none"
        raise UsageError(
            "CER0835", message, hint="call why without rows to learn why there is no match"
        )
    return _out_of_place(scope, numbers) or _why_these(scope, numbers)


@dataclass(frozen=True, slots=True)
class _Scope:
    """A row pattern on a table: its machine, partitions and column values."""

    M: Machine
    columns: Mapping[str, Sequence[Value]]
    length: int
    partitions: Sequence[Sequence[int]]

    @staticmethod
    def of(query: RowPattern, table: Any) -> _Scope:
        M = machine(query, bound(query, table))
        columns = value_columns(table, M.names.values())
        return _Scope(M, columns, table.num_rows, partitions(M, columns, table.num_rows))

    @property
    def query(self) -> RowPattern:
        return self.M.query

    def without(self, variable: str) -> _Scope:
        """Return the row pattern without the condition of a variable."""
        define = tuple(d for d in self.query.define if d.variable != variable)
        M = machine(replace(self.query, define=define), Binding(self.M.names, ()))
        return replace(self, M=M)

    def scan_matches(self, positions: Sequence[int]) -> Iterator[tuple[int, Labels | None, int]]:
        """Yield each row where the scan looks for a match, the match or None, and its number."""
        for result in search_of(self.M, self.columns, positions).scan():
            yield result.s, None if result.labels is None else tuple(result.labels), result.number

    def reader(self, positions: Sequence[int], s: int, N: int, until: int | None) -> Reader:
        """Return a reader of possible matches from row s of a partition."""
        rows = [{name: column[i] for name, column in self.columns.items()} for i in positions]
        automaton = prioritised_automaton(self.query.pattern, every=until is not None)
        return Reader(self.query, automaton, Partition(rows, self.M.names), s, N, until)


def _out_of_place(scope: _Scope, rows: tuple[int, ...]) -> WhyRows | None:
    """Return why rows cannot be a match: they are outside the table, or have gaps."""
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
        words = f"row {gaps[0]} lies between them, and the rows of a match are consecutive"
        return WhyRows(False, rows, kind=RowKind.GAP, reasons=(words,))
    return None


def _partition_of(scope: _Scope, row: int) -> Sequence[int]:
    return next(positions for positions in scope.partitions if row in positions)


def _why_these(scope: _Scope, rows: tuple[int, ...]) -> WhyRows:
    """Return whether consecutive rows of a partition are a match, and why."""
    positions = _partition_of(scope, rows[0])
    s = min(positions.index(row) for row in rows)
    before, match, number = _scan_to(scope, positions, s)
    # both begin at s and are consecutive, so equal lengths mean equal rows
    if match is not None and len(match) == len(rows):
        return WhyRows(True, rows, _mapped_rows(scope, positions, s, match, number))
    reader = scope.reader(positions, s, number, s + len(rows))
    labels = reader.reading()
    if labels is None:
        reasons = tuple(_words(attempt, reader, positions) for attempt in reader.dead_ends)
        mapped_rows = _mapped_rows(scope, positions, s, reader.labels, number)
        return WhyRows(False, rows, mapped_rows, RowKind.CONDITION, reasons)
    mapped_rows = _mapped_rows(scope, positions, s, labels, number)
    if match is not None:
        others = _mapped_rows(scope, positions, s, match, number)
        words = _preference_words(mapped_rows, others)
        return WhyRows(False, rows, mapped_rows, RowKind.PREFERRED, (words,), others)
    assert before is not None, "the search and the readings disagree on the match at a row"
    first, earlier, of = before
    others = _mapped_rows(scope, positions, first, earlier, of)
    words = (
        f"the match at row {others[0].row} is found first, and AFTER MATCH SKIP "
        f"{skip_text(scope.query.skip)} does not continue at row {positions[s]}"
    )
    return WhyRows(False, rows, mapped_rows, RowKind.SKIPPED, (words,), others)


def _scan_to(
    scope: _Scope, positions: Sequence[int], s: int
) -> tuple[tuple[int, Labels, int] | None, Labels | None, int]:
    """Return the last nonempty match before row s, the match at row s, and its number."""
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
    """Return as text the choice by which the match is preferred to the given rows."""
    at = f"the match at row {mapped_rows[0].row} differs:"
    for ours, theirs in zip(mapped_rows, others, strict=False):
        if ours.variable != theirs.variable:
            order = f"which is tried before {name_text(ours.variable)}"
            return f"{at} row {theirs.row} is {name_text(theirs.variable)}, {order}"
    if len(others) > len(mapped_rows):
        more = others[len(mapped_rows)]
        return f"{at} it continues with row {more.row}, which is {name_text(more.variable)}"
    more = mapped_rows[len(others)]
    return (
        f"{at} it ends before row {more.row}, as the pattern prefers to {name_text(more.variable)}"
    )


def _mapped_rows(
    scope: _Scope, positions: Sequence[int], s: int, labels: Labels, N: int
) -> tuple[MappedRow, ...]:
    """Return the rows of a possible match, with their conditions and the values that these read."""
    reader = scope.reader(positions, s, N, None)
    conditions = {d.variable: expression_text(d.condition) for d in scope.query.define}
    rows = []
    for j, variable in enumerate(labels):
        read = reader.attempt(list(labels[:j]), variable).read
        rows.append(MappedRow(positions[s + j], variable, conditions.get(variable), read))
    return tuple(rows)


def _why_none(scope: _Scope) -> WhyRows:
    """Return the first nonempty match, or why the table has none."""
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
    """Yield the conditions whose removal, each alone, gives a match."""
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
    """Return as text why a row cannot have a variable."""
    variable, row = attempt.variable, attempt.row
    if variable is None:
        if row is None:
            return "an anchor, ^ or $, is not at the edge of the partition"
        return f"the pattern is complete before row {positions[row]}"
    name = name_text(variable)
    if row is None:
        at_end = reader.until is None or reader.until == len(positions)
        return (
            f"{name} has to take one more row, and {'none is left' if at_end else 'none is given'}"
        )
    cannot = f"{name} cannot take row {positions[row]}:"
    read = f", {read_text(attempt.read)}" if attempt.read else ""
    if not reader.admits(row):
        return f"{cannot} WITHIN ends before it{read}"
    condition = next(d.condition for d in reader.query.define if d.variable == variable)
    how = "is NULL" if attempt.holds is None else "does not hold"
    return f"{cannot} {expression_text(condition)} {how}{read}"


MAX_STEPS = 100_000
"""The most steps that the search for a reading tries."""

Labels = tuple[str, ...]


class Attempt(NamedTuple):
    """An attempt to read a row as a variable: its condition is True, False or NULL.

    `read` are the values that the condition reads. Without `variable` the pattern is complete
    before the row; without `row` the partition, or the given rows, end before it; without both an
    anchor does not hold.
    """

    variable: str | None
    row: int | None
    holds: Value = None
    read: tuple[tuple[str, Value], ...] = ()


@dataclass(slots=True)
class Reader:
    """A reader of possible matches from row s of a partition.

    `until` is the row before which a reading must end, None for no limit. `labels` belong to the
    farthest reading so far, `dead_ends` are the attempts after it.
    """

    query: rp.RowPattern
    automaton: PrioritisedAutomaton[Any]
    T: Partition
    s: int
    N: int
    until: int | None = None
    labels: Labels = ()
    dead_ends: list[Attempt] = field(default_factory=list)
    _conditions: Mapping[str, ex.Expression] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._conditions = {d.variable: d.condition for d in self.query.define}

    def reading(self) -> Labels | None:
        """Return the preferred way to read exactly the given rows as a match, or None."""
        labels: list[str] = []
        path = [self._steps(self.automaton.initial, labels)]
        for _ in range(MAX_STEPS):
            step = next(path[-1], None)
            if step is None:
                path.pop()
                if not path:
                    return None
                labels.pop()
            # a match that ends at another row does not consist of the given rows
            elif isinstance(step, Accept):
                if self.until in (None, self.s + len(labels)):
                    return tuple(labels)
                self._dead_end(labels, Attempt(None, self.s + len(labels)))
            else:
                attempt = self.attempt(labels, step.variable)
                if attempt.holds is True:
                    labels.append(step.variable)
                    path.append(self._steps(step.target, labels))
                else:
                    self._dead_end(labels, attempt)
        raise ResourceLimit(
            "CER0697",
            f"the explanation would try more than {MAX_STEPS:,} steps from a row",
            hint="use a part of the table or of the pattern",
        )

    def _steps(self, q: int, labels: list[str]) -> Iterator[ReadRow | Accept]:
        """Return the steps of a state; record a failure if anchors leave no step."""
        poll()
        row = self.s + len(labels)
        steps = self.automaton.steps(q, row == 0, row == len(self.T.rows))
        if not steps:
            self._dead_end(labels, Attempt(None, None))
        return iter(steps)

    def attempt(self, labels: list[str], variable: str) -> Attempt:
        """Try to read the next row as a variable."""
        i = self.s + len(labels)
        if i >= (len(self.T.rows) if self.until is None else self.until):
            return Attempt(variable, None)
        if not self.admits(i):
            return Attempt(variable, i, False, self._times(i))
        condition = self._conditions.get(variable, ex.Literal(True))
        k = len(labels) + 1
        c = Context(self.T, self.s, [*labels, variable], k, k, self.N, rp.members(self.query))
        read = ((expression_text(e), value(e, c)) for e in _readings(condition))
        return Attempt(variable, i, value(condition, c), tuple(dict(read).items()))

    def admits(self, i: int) -> bool:
        """Return whether WITHIN permits row i."""
        if self.query.within is None:
            return True
        now, then = (row for _, row in self._times(i))
        if now is None or then is None:
            return False
        width: Any = self.query.within
        span: Any = getattr(now, "nanoseconds", now)
        return bool(
            span - getattr(then, "nanoseconds", then) < getattr(width, "nanoseconds", width)
        )

    def _times(self, i: int) -> tuple[tuple[str, Value], ...]:
        """Return the times of row i and of the first row."""
        name = self.query.order_by[0].column.name
        return ((name, self.T.value(i, name)), (f"FIRST({name})", self.T.value(self.s, name)))

    def _dead_end(self, labels: list[str], attempt: Attempt) -> None:
        """Store an attempt if it comes after the longest reading so far."""
        if len(labels) > len(self.labels) or not self.dead_ends:
            self.labels, self.dead_ends = tuple(labels), []
        if tuple(labels) == self.labels and attempt not in self.dead_ends:
            self.dead_ends.append(attempt)


def _readings(e: ex.Expression | ex.AllRows) -> Iterator[ex.Expression]:
    """Yield the outermost parts of a condition that read rows."""
    match e:
        case ex.Column() | ex.Classifier() | ex.MatchNumber() | ex.First() | ex.Last():
            yield e
        case ex.Prev() | ex.Next() | ex.Aggregate():
            yield e
        case _:
            for child in ex.children(e):
                yield from _readings(child)


class RowKind(Enum):
    """The reason why rows are not a match; the value is its name in JSON."""

    ROW = "row"
    """The table has no such row."""
    PARTITION = "partition"
    """The rows are in several partitions."""
    GAP = "gap"
    """Another row of the partition is between them."""
    CONDITION = "condition"
    """A condition does not hold, or the pattern needs more rows, or fewer."""
    SKIPPED = "skipped"
    """The scan does not begin there, because an earlier match is found first."""
    PREFERRED = "preferred"
    """The match at the first row is another one, which the pattern prefers."""


class MappedRow(NamedTuple):
    """A row of a match: its variable, the condition, and the values that the condition reads."""

    row: int
    variable: str
    condition: str | None
    read: tuple[tuple[str, Value], ...]


class Without(NamedTuple):
    """A variable whose condition prevents a match, and the first match without the condition."""

    variable: str
    rows: tuple[int, ...]


@drawable
@dataclass(frozen=True, slots=True, repr=False)
class WhyRows:
    """The answer whether rows are a match of a row pattern, and why.

    `taken` maps rows to variables: all rows of a match, otherwise those of the reading that gets
    farthest. `reasons` explain why there is no match, of the `kind`. `others` is the match that the
    pattern prefers, or that the scan finds first. Without given rows, `changes` are the conditions
    whose removal alone makes a match possible.
    """

    holds: bool
    rows: tuple[int, ...]
    taken: tuple[MappedRow, ...] = ()
    kind: RowKind | None = None
    reasons: tuple[str, ...] = ()
    others: tuple[MappedRow, ...] = ()
    changes: tuple[Without, ...] = ()

    def __repr__(self) -> str:
        """Return the verdict; `str` also shows the reasons and the rows."""
        return f"<WhyRows, {_verdict_text(self)}>"


def read_text(read: Iterable[tuple[str, Value]]) -> str:
    """Return the values that a condition reads as text: ``x is 1, PREV(x) is 2``."""
    return ", ".join(f"{name} is {cell_text(value)}" for name, value in read)


def cell_text(value: Value) -> str:
    """Return a value as text in SQL syntax."""
    return expression_text(ex.Literal(value))


def _verdict_text(why: WhyRows) -> str:
    numbers = f": rows {', '.join(map(str, why.rows))}" if why.rows else ""
    return f"{'a match' if why.holds else 'no match'}{numbers}"


def why_rows_text(why: WhyRows) -> str:
    """Return the verdict, the reasons and the rows as text."""
    lines = [_verdict_text(why), *(f"  {reason}" for reason in why.reasons)]
    lines += map(_row_text, why.taken)
    if why.others:
        lines += ["the match:", *map(_row_text, why.others)]
    for change in why.changes:
        rows = ", ".join(map(str, change.rows))
        lines.append(f"without the condition of {name_text(change.variable)}: rows {rows}")
    return "\n".join(lines)


def _row_text(row: MappedRow) -> str:
    head = f"  {row.row} {name_text(row.variable)}"
    if row.condition is None:
        return head
    return f"{head}: {row.condition}" + (f", {read_text(row.read)}" if row.read else "")


def why_rows_to_json(why: WhyRows) -> dict[str, Any]:
    """Return the explanation as JSON."""

    def of(row: MappedRow) -> dict[str, Any]:
        read = {name: cell_text(value) for name, value in row.read}
        return {**row._asdict(), "read": read}

    return {
        "holds": why.holds,
        "rows": list(why.rows),
        "kind": None if why.kind is None else why.kind.value,
        "reasons": list(why.reasons),
        "taken": [of(row) for row in why.taken],
        "others": [of(row) for row in why.others],
        "changes": [change._asdict() for change in why.changes],
    }


display.register(WhyRows, "text/plain", why_rows_text)
