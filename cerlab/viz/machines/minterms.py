"""The kinds of events that the tests of a query tell apart, as a list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cerlab.display import shown
from cerlab.model.schema import Schema
from cerlab.predicates.minterms import Minterm, minterms
from cerlab.predicates.syntax import Predicate
from cerlab.predicates.text import predicate_text
from cerlab.viz.graph import Cell, Graph, Node, NodeKind, registered
from cerlab.viz.html import block, note, table
from cerlab.viz.words import counted, event_text

EXAMPLE = 200
"""How many characters of an example are shown."""


@shown
@dataclass(frozen=True, slots=True)
class MintermList:
    """All truth vectors of some predicates that events can have, each with such an event."""

    predicates: tuple[Predicate, ...]
    minterms: tuple[Minterm, ...]


def listed_minterms(predicates: Sequence[Predicate], schema: Schema | None = None) -> MintermList:
    """The list; raises as `minterms`."""
    return MintermList(tuple(predicates), minterms(predicates, schema=schema))


def minterm_rows(listed: MintermList, limit: int | None = None) -> list[list[str]]:
    """The list as words, head first: a column for each predicate, and an event."""
    rows = [[*map(predicate_text, listed.predicates), "such as"]]
    for m in listed.minterms[:limit]:
        holds = ["holds" if m.symbol >> bit & 1 else "-" for bit in range(len(listed.predicates))]
        rows.append([*holds, event_text(m.example, EXAMPLE) if m.example else "(not decided)"])
    return rows


def minterms_text(listed: MintermList, limit: int | None = None) -> str:
    """The list in columns.

    >>> from cerlab.predicates.syntax import TypeIs
    >>> print(minterms_text(listed_minterms([TypeIs("A")])))
    2 minterms of 1 predicate
    type = 'A'  such as
    -           other()
    holds       A()
    """
    rows = minterm_rows(listed, limit)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [_title(listed)]
    for row in rows:
        padded = (text.ljust(width) for text, width in zip(row, widths, strict=True))
        lines.append("  ".join(padded).rstrip())
    note = _left_out(listed, limit)
    return "\n".join([*lines, *[f".. {note}"] * bool(note)])


def minterms_html(listed: MintermList, limit: int | None = None) -> str:
    """The list as a table of HTML."""
    head, *rows = minterm_rows(listed, limit)
    return block(table(_title(listed), head, rows), note(_left_out(listed, limit)))


def _title(listed: MintermList) -> str:
    predicates = counted(len(listed.predicates), "predicate")
    return f"{counted(len(listed.minterms), 'minterm')} of {predicates}"


def _left_out(listed: MintermList, limit: int | None) -> str:
    if limit is None or len(listed.minterms) <= limit:
        return ""
    return f"showing {limit:,} of {len(listed.minterms):,}"


@registered(MintermList)
def minterms_graph(listed: MintermList, limit: int | None = None) -> Graph:
    """The list as a table."""
    rows = tuple(
        tuple(Cell(text, is_head=r == 0) for text in row)
        for r, row in enumerate(minterm_rows(listed, limit))
    )
    node = Node("minterms", "", NodeKind.TABLE, rows=rows)
    return Graph("minterms", _title(listed), (node,), (), note=_left_out(listed, limit))
