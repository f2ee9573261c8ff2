"""The clauses of CEQL around a CEL formula (CORE Sec. 2.2), and the canonical text of queries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cerlab import display
from cerlab.display import drawable, short_repr
from cerlab.logic.cel.syntax import Formula, Select, projection
from cerlab.logic.cel.text import formula_text, label_text, window_text
from cerlab.model.clauses import Consume, Limit, Strategy, Window
from cerlab.predicates.text import name_text


@dataclass(frozen=True, slots=True)
class SelectItem:
    """An item of SELECT: a label ``x`` or ``S>x`` to keep, and attributes to show, ``x[attr, ..]``.

    With a `stream`, only the label's events of that stream are kept.
    """

    label: str
    attributes: tuple[str, ...] = ()
    stream: str | None = None


@dataclass(frozen=True, slots=True)
class Aggregate:
    """An aggregate of SELECT: ``COUNT(*)``, or ``SUM(x.attr)``, AVG, MIN or MAX."""

    function: str
    label: str | None = None
    attribute: str | None = None


@short_repr
@drawable
@dataclass(frozen=True, slots=True)
class CeqlQuery:
    """A whole query: a formula and optional clauses.

    `items` is None for ``SELECT *`` and empty for ``SELECT NONE``; `streams` is empty without FROM;
    `partition` holds one tuple of attributes per bracket. `aggregates` are over the answers of
    ``SELECT *``, for each group of `groups`: ``(attr,)`` or ``(x, attr)``.
    """

    formula: Formula
    items: tuple[SelectItem, ...] | None = None
    strategy: Strategy | None = None
    streams: tuple[str, ...] = ()
    partition: tuple[tuple[str, ...], ...] = ()
    window: Window | None = None
    consume: Consume = Consume.NONE
    limit: Limit | None = None
    throttle: Window | None = None
    aggregates: tuple[Aggregate, ...] = ()
    groups: tuple[tuple[str, ...], ...] = ()


def selected_formula(query: CeqlQuery) -> Formula:
    """Return the formula of WHERE, projected to the labels of SELECT."""
    if query.items is None:
        return query.formula
    return projection(((item.stream, item.label) for item in query.items), query.formula)


def strategy_and_body(query: CeqlQuery) -> tuple[Strategy | None, Formula]:
    """Return the strategy in SELECT, or around the formula, and the formula below it.

    If SELECT has no strategy, a strategy around the whole formula is used.
    """
    formula = selected_formula(query)
    if query.strategy is None and isinstance(formula, Select):
        return formula.strategy, formula.body
    return query.strategy, formula


def partition_attributes(query: CeqlQuery) -> tuple[str, ...]:
    """Return all attributes of PARTITION BY, ignoring how brackets group them."""
    return tuple(attribute for bracket in query.partition for attribute in bracket)


def plan_clauses(query: CeqlQuery) -> dict[str, Any]:
    """Return the clauses other than the formula, as keyword arguments of a plan."""
    return {
        "streams": query.streams,
        "partition": partition_attributes(query),
        "window": query.window,
        "consume": query.consume,
        "limit": query.limit,
        "throttle": query.throttle,
        "strategy": strategy_and_body(query)[0],
    }


def query_text(query: CeqlQuery) -> str:
    """Return the canonical text of a query."""
    strategy = f"{query.strategy.value} " if query.strategy else ""
    lines = [f"SELECT {strategy}{_selection_text(query)}"]
    if query.streams:
        lines.append(f"FROM {_names(query.streams)}")
    lines.append(f"WHERE {formula_text(query.formula)}")
    if query.partition:
        lines.append("PARTITION BY " + ", ".join(f"[{_names(b)}]" for b in query.partition))
    if query.window is not None:
        lines.append(f"WITHIN {window_text(query.window)}")
    if query.consume is not Consume.NONE:
        lines.append(f"CONSUME BY {query.consume.value}")
    if query.groups:
        lines.append("GROUP BY " + ", ".join(map(group_text, query.groups)))
    if query.limit is not None:
        lines.append(f"LIMIT {query.limit.per_end}")
    if query.throttle is not None:
        lines.append(f"THROTTLE {window_text(query.throttle)}")
    return "\n".join(lines)


def _selection_text(query: CeqlQuery) -> str:
    items = query.items
    if query.aggregates:
        return ", ".join(map(aggregate_text, query.aggregates))
    if items is None:
        return "*"
    return ", ".join(map(_item_text, items)) if items else "NONE"


def aggregate_text(aggregate: Aggregate) -> str:
    """Return the text of an aggregate, as in a query.

    >>> aggregate_text(Aggregate("sum", "b", "price")), aggregate_text(Aggregate("count"))
    ('SUM(b.price)', 'COUNT(*)')
    """
    if aggregate.label is None or aggregate.attribute is None:
        return f"{aggregate.function.upper()}(*)"
    of = group_text((aggregate.label, aggregate.attribute))
    return f"{aggregate.function.upper()}({of})"


def group_text(group: tuple[str, ...]) -> str:
    """Return the text of a GROUP BY item, ``attr`` or ``x.attr``."""
    return ".".join(map(name_text, group))


def _item_text(item: SelectItem) -> str:
    brackets = f"[{_names(item.attributes)}]" if item.attributes else ""
    return label_text(item.stream, item.label) + brackets


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(map(name_text, names))


display.register(CeqlQuery, "text/plain", query_text)
