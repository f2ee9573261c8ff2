"""Plans: all that an engine needs to know of a query."""

from __future__ import annotations

from dataclasses import dataclass

from cerlab.automata.automaton import IntervalCea, Vcea
from cerlab.display import displayed
from cerlab.model.clauses import Consume, Limit, Strategy, Window


@displayed
@dataclass(frozen=True, slots=True)
class Plan:
    """A query, compiled: its automaton (with and without labels) and its clauses.

    `vcea` gives valuations, `cea` complex events; `partition` is the flat list of key attributes,
    empty for none; `streams` is empty for all.
    """

    vcea: Vcea
    cea: IntervalCea
    streams: tuple[str, ...] = ()
    partition: tuple[str, ...] = ()
    window: Window | None = None
    consume: Consume = Consume.NONE
    limit: Limit | None = None
    strategy: Strategy | None = None
