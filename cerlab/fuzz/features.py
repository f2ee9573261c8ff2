"""What a query is made of, so that an engine is asked only what it takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import assert_never

from cerlab.errors import UsageError, nearest
from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.syntax import Formula, subformulas
from cerlab.logic.ceql.syntax import CeqlQuery
from cerlab.model.clauses import AttributeWindow, Consume, EventWindow, TimeWindow
from cerlab.predicates.condition import Condition, Correlation, alternatives

CEL = (";", ":", "+", ":+", "OR", "AS", "FILTER", "NOT", "PROJECT", "RENAME", ">")
"""Operators that every automaton has; ``>`` is that of ``S>R``."""
FAMILY = ("AND", "ALL", "UNLESS", "STRICT()", "NEXT()", "LAST()", "MAX()", "x.v=y.v")
"""Operators of the rest of the family; the last is a comparison between labels."""
CLAUSES = (
    *("SELECT", "STRICT", "NEXT", "LAST", "MAX", "FROM", "PARTITION BY"),
    *("EVENTS", "SECONDS", "[t]", "CONSUME BY"),
)
"""Clauses: a projection, a strategy, .., and WITHIN in events, in time, and by an attribute."""
COMPOSITE = frozenset((";", ":", "+", ":+", "OR", "AND", "ALL", "UNLESS"))
"""Operators that join parts, or repeat one."""
FEATURES = (*CEL, *FAMILY, *CLAUSES)


def wanted(text: str) -> frozenset[str]:
    """Features from a list with commas, upper or lower case; raises `UsageError` for others."""
    names = set()
    for name in filter(None, (part.strip() for part in text.split(","))):
        by_name = {each.lower(): each for each in FEATURES}
        if name.lower() not in by_name:
            hint = nearest(name, FEATURES)
            raise UsageError("CER0850", f"there is no feature '{name}' of queries", hint=hint)
        names.add(by_name[name.lower()])
    return frozenset(names)


def features(query: CeqlQuery) -> frozenset[str]:
    """What a query has.

    >>> from cerlab.logic.ceql.parser import parse_ceql
    >>> sorted(features(parse_ceql("SELECT LAST * WHERE A AS x ; B WITHIN 3 EVENTS")[0]))
    [';', 'AS', 'EVENTS', 'LAST']
    """
    inside = (name for phi in subformulas(query.formula) for name in _operators(phi))
    return frozenset(inside) | frozenset(_clauses(query))


def _operators(phi: Formula) -> Iterable[str]:
    match phi:
        case cel.Atom(_, stream):
            return () if stream is None else (">",)
        case cel.Seq():
            return (";",)
        case cel.Concat():
            return (":",)
        case cel.Plus():
            return ("+",)
        case cel.ConcatPlus():
            return (":+",)
        case cel.Filter(_, condition):
            return ("FILTER", "x.v=y.v") if _compares(condition) else ("FILTER",)
        case cel.Select(strategy, _):
            return (f"{strategy.value}()",)
        case cel.Or() | cel.And() | cel.All() | cel.Unless() | cel.As() | cel.Not():
            return (type(phi).__name__.upper(),)
        case cel.Project() | cel.Rename():
            return (type(phi).__name__.upper(),)
        case _:
            assert_never(phi)


def _compares(condition: Condition) -> bool:
    return any(isinstance(each, Correlation) for group in alternatives(condition) for each in group)


def _clauses(query: CeqlQuery) -> Iterator[str]:
    if query.items is not None:
        yield "SELECT"
    if query.strategy is not None:
        yield query.strategy.value
    if query.streams:
        yield "FROM"
    if query.partition:
        yield "PARTITION BY"
    match query.window:
        case EventWindow():
            yield "EVENTS"
        case TimeWindow():
            yield "SECONDS"
        case AttributeWindow():
            yield "[t]"
        case None:
            pass
        case _:
            assert_never(query.window)
    if query.consume is not Consume.NONE:
        yield "CONSUME BY"
