"""Queries: CEL between the clauses of CEQL (CORE Sec. 2.2; DESIGN 2.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cerlab.display import drawable
from cerlab.logic.cel.syntax import Formula, Select, projection
from cerlab.model.clauses import Consume, Limit, Strategy, Window


@dataclass(frozen=True, slots=True)
class SelectItem:
    """``x``, ``S>x`` or ``x[attr, ..]``: a label to keep; the attributes choose what is shown.

    With a `stream`, of its events only those of that stream are kept.
    """

    label: str
    attributes: tuple[str, ...] = ()
    stream: str | None = None


@dataclass(frozen=True, slots=True)
class Aggregate:
    """``COUNT(*)``, which has neither label nor attribute, or ``SUM(x.attr)``, AVG, MIN, MAX."""

    function: str
    label: str | None = None
    attribute: str | None = None


@drawable
@dataclass(frozen=True, slots=True)
class CeqlQuery:
    """A whole query; every clause but the formula may be absent.

    `items` is None for ``SELECT *`` and empty for ``SELECT NONE``; `streams` is empty without
    FROM; `partition` holds one tuple of attributes per bracket. `aggregates` are over the answers
    of ``SELECT *``, for each group of `groups`: ``(attr,)`` or ``(x, attr)``.
    """

    formula: Formula
    items: tuple[SelectItem, ...] | None = None
    strategy: Strategy | None = None
    streams: tuple[str, ...] = ()
    partition: tuple[tuple[str, ...], ...] = ()
    window: Window | None = None
    consume: Consume = Consume.NONE
    limit: Limit | None = None
    aggregates: tuple[Aggregate, ...] = ()
    groups: tuple[tuple[str, ...], ...] = ()


def selected_formula(query: CeqlQuery) -> Formula:
    """The WHERE formula under the projection that SELECT stands for."""
    if query.items is None:
        return query.formula
    return projection(((item.stream, item.label) for item in query.items), query.formula)


def strategy_and_body(query: CeqlQuery) -> tuple[Strategy | None, Formula]:
    """The strategy of the answers and the formula under it.

    A strategy around the whole formula is that of SELECT, if SELECT has none.
    """
    formula = selected_formula(query)
    if query.strategy is None and isinstance(formula, Select):
        return formula.strategy, formula.body
    return query.strategy, formula


def partition_attributes(query: CeqlQuery) -> tuple[str, ...]:
    """All attributes of PARTITION BY: brackets only group."""
    return tuple(attribute for bracket in query.partition for attribute in bracket)


def plan_clauses(query: CeqlQuery) -> dict[str, Any]:
    """The clauses beside the formula, by the names that a plan has for them."""
    return {
        "streams": query.streams,
        "partition": partition_attributes(query),
        "window": query.window,
        "consume": query.consume,
        "limit": query.limit,
        "strategy": strategy_and_body(query)[0],
    }
