"""The kinds of events that the tests of a query tell apart, as a list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cerlab.display import drawable
from cerlab.model.schema import Schema
from cerlab.predicates.minterms import Minterm, minterms
from cerlab.predicates.syntax import Predicate
from cerlab.predicates.text import predicate_text
from cerlab.predicates.words import count_text, event_text
from cerlab.viz.graph import Graph, picture
from cerlab.viz.machines.grid import Grid, grid_graph

EXAMPLE = 200
"""How many characters of an example are shown."""


@drawable
@dataclass(frozen=True, slots=True)
class MintermList:
    """All truth vectors of some predicates that events can have, each with such an event."""

    predicates: tuple[Predicate, ...]
    minterms: tuple[Minterm, ...]


def listed_minterms(predicates: Sequence[Predicate], schema: Schema | None = None) -> MintermList:
    """The list; raises as `minterms`."""
    return MintermList(tuple(predicates), minterms(predicates, schema=schema))


def minterms_grid(vectors: MintermList, limit: int | None = None) -> Grid:
    """The list as words: a column for each predicate, and an event.

    >>> from cerlab.predicates.syntax import TypeIs
    >>> from cerlab.viz.machines.grid import grid_text
    >>> print(grid_text(minterms_grid(listed_minterms([TypeIs("A")]))))
    2 minterms of 1 predicate
    type = 'A'  such as
    -           other()
    holds       A()
    """
    every, predicates = vectors.minterms, vectors.predicates
    rows = [(*map(predicate_text, predicates), "such as")]
    for m in every[:limit]:
        holds = ("holds" if m.symbol >> bit & 1 else "-" for bit in range(len(predicates)))
        rows.append((*holds, event_text(m.example, EXAMPLE) if m.example else "(not decided)"))
    title = f"{count_text(len(every), 'minterm')} of {count_text(len(predicates), 'predicate')}"
    cut = limit is not None and len(every) > limit
    note = f"showing {limit:,} of {len(every):,}" if cut else ""
    return Grid(title, tuple(rows), note=note)


@picture.register(MintermList)
def minterms_graph(vectors: MintermList, limit: int | None = None) -> Graph:
    """The list as one node."""
    grid = minterms_grid(vectors, limit)
    return grid_graph("minterms", grid.title, grid)
