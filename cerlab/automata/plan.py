"""Plans: all that an engine needs to know of a query."""

from __future__ import annotations

from dataclasses import dataclass

from cerlab.automata.automaton import IntervalCea, Vcea
from cerlab.display import rich_display
from cerlab.model.clauses import Consume, Limit, Strategy, Window


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanClauses:
    """The clauses of a query beside its formula.

    `partition` is the flat list of key attributes, empty for none; `streams` is empty for all.
    """

    streams: tuple[str, ...] = ()
    partition: tuple[str, ...] = ()
    window: Window | None = None
    consume: Consume = Consume.NONE
    limit: Limit | None = None
    strategy: Strategy | None = None


@rich_display
@dataclass(frozen=True, slots=True)
class Plan(PlanClauses):
    """A query, compiled: its automaton (with and without labels) and its clauses.

    `vcea` gives valuations, `cea` complex events.
    """

    vcea: Vcea
    cea: IntervalCea
