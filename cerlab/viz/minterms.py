"""The kinds of events that the tests of a query tell apart, as a list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cerlab.display import shown
from cerlab.model.event import Event
from cerlab.model.schema import Schema
from cerlab.predicates.minterms import Minterm, minterms
from cerlab.predicates.syntax import Predicate
from cerlab.predicates.text import predicate_text
from cerlab.viz.graph import Cell, Graph, Node, NodeKind, registered


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
        rows.append([*holds, _event_text(m.example)])
    return rows


def _event_text(event: Event | None) -> str:
    if event is None:
        return "(not decided)"
    values = ", ".join(f"{name}={value!r}" for name, value in event.attributes.items())
    return f"{event.type}({values})"


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


def _title(listed: MintermList) -> str:
    counted = (len(listed.minterms), "minterm"), (len(listed.predicates), "predicate")
    return " of ".join(f"{n:,} {what}{'' if n == 1 else 's'}" for n, what in counted)


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
