"""The answer to "why" about rows of a table and a row pattern, as a value, text and JSON."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

from cerlab import display
from cerlab.display import drawable
from cerlab.logic.rows import expressions as ex
from cerlab.logic.rows.text import expression_text, name_text
from cerlab.model.event import Value


class RowKind(Enum):
    """What stands between rows and a match; the value is its name in JSON."""

    ROW = "row"
    """The table has no such row."""
    PARTITION = "partition"
    """The rows are in several partitions."""
    GAP = "gap"
    """Another row of the partition stands between them."""
    CONDITION = "condition"
    """A condition does not hold, or the pattern wants more rows, or fewer."""
    SKIPPED = "skipped"
    """The scan does not begin there: an earlier match is found first."""
    PREFERRED = "preferred"
    """The match at the first row is another one, which the pattern prefers."""


class MappedRow(NamedTuple):
    """A row of the table that a variable takes, its condition, and what that reads."""

    row: int
    variable: str
    condition: str | None
    read: tuple[tuple[str, Value], ...]


class Without(NamedTuple):
    """A variable without whose condition there is a match, and the first one."""

    variable: str
    rows: tuple[int, ...]


@drawable
@dataclass(frozen=True, slots=True)
class WhyRows:
    """Whether rows are a match of a row pattern, and why or why not.

    `taken` is which variable takes which row: of a match all of it, else the reading that comes
    farthest. `reasons` say why there is no match, of the `kind`. `others` is the match that the
    pattern prefers, or that the scan finds first. Of no given rows `changes` are the conditions
    each of which stands between the whole table and a match.
    """

    holds: bool
    rows: tuple[int, ...]
    taken: tuple[MappedRow, ...] = ()
    kind: RowKind | None = None
    reasons: tuple[str, ...] = ()
    others: tuple[MappedRow, ...] = ()
    changes: tuple[Without, ...] = ()


def read_text(read: Iterable[tuple[str, Value]]) -> str:
    """``x is 1, PREV(x) is 2``."""
    return ", ".join(f"{name} is {cell_text(value)}" for name, value in read)


def cell_text(value: Value) -> str:
    """A value as SQL writes it."""
    return expression_text(ex.Literal(value))


def why_rows_text(why: WhyRows) -> str:
    """The verdict in a line, the reasons, then the rows of the reading."""
    numbers = f"rows {', '.join(map(str, why.rows))}" if why.rows else ""
    lines = [f"{'a match' if why.holds else 'no match'}{': ' if numbers else ''}{numbers}"]
    lines += [f"  {reason}" for reason in why.reasons]
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
    """All of it, as plain JSON values."""

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
