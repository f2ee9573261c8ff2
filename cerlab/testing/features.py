"""Features of queries that an engine may lack: operators and clauses by their usual names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import assert_never

from cerlab.errors import UsageError, keywords_by_name, nearest
from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.syntax import Formula, subformulas
from cerlab.logic.ceql.syntax import CeqlQuery
from cerlab.model.clauses import AttributeWindow, Consume, EventWindow, TimeWindow
from cerlab.predicates.condition import Condition, Correlation, atomics
from cerlab.predicates.syntax import LabelAttribute
from cerlab.predicates.text import expression_text

CEL = (
    *(";", ":", "+", ":+", "{n}", ":{n}", "OR"),
    *("AS", "FILTER", "NOT", "PROJECT", "RENAME", ">"),
)
"""Operators that every automaton supports; ``>`` stands for ``S>R``, and ``{n}`` for all counts."""


FAMILY = ("AND", "ALL", "UNLESS", "STRICT()", "NEXT()", "LAST()", "MAX()", "x.v=y.v", "x.v+y.v")
"""Other operators of the CEL family; the last two compare labels, plainly and with arithmetic."""


GROUPS = (
    *("COUNT(x)", "SUM(x)", "AVG(x)", "MIN(x)", "MAX(x)"),
    *("FIRST(x)", "LAST(x)", "PREV(x)"),
)
"""Aggregates over the events of a label; COUNT(x) includes COUNT(DISTINCT x.attr)."""


TIMED = ("WITHIN", "WAIT", "LOOKBACK")
"""Windows inside a formula, and waits."""


CLAUSES = (
    *("SELECT", "STRICT", "NEXT", "LAST", "MAX", "FROM", "PARTITION BY"),
    *("EVENTS", "SECONDS", "[t]", "CONSUME BY"),
)
"""Clauses of a query, such as strategies, and WITHIN in events, in time and by attribute."""


LIMITS = ("LIMIT", "THROTTLE")
"""Clauses that keep few answers; `random_query` draws them only for a shape that names them."""


USUAL = (*CEL, *CLAUSES, *LIMITS)
"""Features that `cases` and ``cerlab fuzz`` use by default."""


COMPOSITE = frozenset((";", ":", "+", ":+", "{n}", ":{n}", "OR", "AND", "ALL", "UNLESS"))
"""Operators that combine parts, or repeat a part."""


FEATURES = (*CEL, *FAMILY, *TIMED, *CLAUSES, *LIMITS)


ALONE: dict[str, str] = {
    ";": "A ; B",
    ":": "A : B",
    "+": "A+",
    ":+": "A:+",
    "{n}": "A{2}",
    ":{n}": "A:{2}",
    "OR": "A OR B",
    "AS": "A AS x",
    "FILTER": "A FILTER A[v = 1]",
    "NOT": "NOT (A)",
    "PROJECT": "PROJECT[A](A)",
    "RENAME": "RENAME[A -> x](A)",
    ">": "S>A",
    "AND": "A AND A",
    "ALL": "A ALL B",
    "UNLESS": "A UNLESS B",
    **{f"{each}()": f"{each}(A)" for each in ("STRICT", "NEXT", "LAST", "MAX")},
    "x.v=y.v": "(A AS x ; B AS y) FILTER x.v = y.v",
    "x.v+y.v": "(A AS x ; B AS y) FILTER x.v + y.v = 1",
    "WITHIN": "(A WITHIN 1 EVENTS)",
    "WAIT": "A WAIT 1 [t]",
    "LOOKBACK": "A LOOKBACK 1 [t]",
    "PARTITION BY": "A PARTITION BY [k]",
    "CONSUME BY": "A CONSUME BY ANY",
    "EVENTS": "A WITHIN 1 EVENTS",
    "SECONDS": "A WITHIN 1 SECONDS",
    "[t]": "A WITHIN 1 [t]",
    **{each: f"SELECT {each} * WHERE A" for each in ("STRICT", "NEXT", "LAST", "MAX")},
    "SELECT": "SELECT A WHERE A",
    "FROM": "SELECT * FROM S WHERE A",
    "LIMIT": "A LIMIT 1",
    "THROTTLE": "A THROTTLE 1 [t]",
}
"""A query for each feature that has this feature and as few others as possible."""


@keywords_by_name
def wanted(features: str | Iterable[str], known: Sequence[str] = FEATURES) -> frozenset[str]:
    """Return features from names, or a text with commas; raises `UsageError` for unknown ones.

    Args:
        features: Names of features.
        known: The features that are allowed.

    >>> sorted(wanted("or, Partition By")), sorted(wanted([";", "+"]))
    (['OR', 'PARTITION BY'], ['+', ';'])
    """
    names = set()
    by_name = {each.lower(): each for each in known}
    texts = features.split(",") if isinstance(features, str) else features
    for name in filter(None, (part.strip() for part in texts)):
        if name.lower() not in by_name:
            # "; +" lists two features without a comma
            is_list = any(word.lower() in by_name for word in name.split())
            hint = "separate features by commas" if is_list else nearest(name, known)
            raise UsageError("CER0850", f"there is no feature '{name}' of queries", hint=hint)
        names.add(by_name[name.lower()])
    return frozenset(names)


def features(query: CeqlQuery) -> frozenset[str]:
    """Return the features of a query.

    Args:
        query: A query.

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
        case cel.Count(_, _, _, gaps):
            return ("{n}",) if gaps else (":{n}",)
        case cel.Filter(_, condition):
            return ("FILTER", *_of_correlations(condition))
        case cel.Select(strategy, _):
            return (f"{strategy.value}()",)
        case cel.Or() | cel.And() | cel.All() | cel.Unless() | cel.As() | cel.Not():
            return (type(phi).__name__.upper(),)
        case cel.Project() | cel.Rename() | cel.Within() | cel.Wait() | cel.Lookback():
            return (type(phi).__name__.upper(),)
        case _:
            assert_never(phi)


def _of_correlations(condition: Condition) -> Iterator[str]:
    for each in atomics(condition):
        if isinstance(each, Correlation) and each.of_group is not None:
            read = (x for x in each.operands if not isinstance(x, LabelAttribute))
            words = (expression_text(x).split("(")[0] for x in read)
            yield from (f"{word}(x)" for word in words)
        elif isinstance(each, Correlation):
            plain = all(isinstance(side, LabelAttribute) for side in (each.left, each.right))
            yield "x.v=y.v" if plain else "x.v+y.v"


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
    if query.limit is not None:
        yield "LIMIT"
    if query.throttle is not None:
        yield "THROTTLE"
