"""Queries with WITHIN after a strategy, and the similar query with the window inside the strategy.

`SELECT MAX * WHERE F+ ; O WITHIN 5 [t]` compares all answers with the same end, and then drops
those longer than the window. If the longest answer is too long, no shorter one is given instead.

`F+ AS f FILTER COUNT(f) < 3 WITHIN 5 [t]` counts the chosen events of each answer, so every window
with an F has answers. `MAX(F+ AS f WITHIN 5 [t]) FILTER COUNT(f) < 3` counts all events F.
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from cerlab.logic.cel import syntax as cel
from cerlab.logic.ceql.syntax import CeqlQuery
from cerlab.model.clauses import AttributeWindow, EventWindow, Strategy, TimeWindow, Window
from cerlab.predicates import syntax as pred
from cerlab.predicates.condition import Condition, Correlation, atomics


def compared_inside(query: CeqlQuery) -> tuple[Strategy, CeqlQuery] | None:
    """Return the strategy and the query with WITHIN moved inside it; None if the answers are equal.

    Return None where no strategy compares before WITHIN, or where no answer is longer than it.

    >>> from cerlab.logic.ceql.parser import parse_ceql
    >>> strategy, inside = compared_inside(parse_ceql("SELECT MAX * WHERE A+ WITHIN 5 [t]")[0])
    >>> print(inside)
    SELECT MAX *
    WHERE (A+ WITHIN 5 [t])
    >>> compared_inside(parse_ceql("SELECT MAX * WHERE A : B WITHIN 5 EVENTS")[0])
    """
    window, filters, body = query.window, list[cel.Filter](), query.formula
    if window is None:
        return None
    strategy = query.strategy
    if strategy is None:
        while isinstance(body, cel.Filter):
            filters.append(body)
            body = body.body
        if not isinstance(body, cel.Select):
            return None
        strategy, body = body.strategy, body.body
    longest = _longest(body, window)
    if strategy is Strategy.STRICT or (longest is not None and longest <= window.width):
        return None
    formula: cel.Formula = cel.Within(body, window)
    if query.strategy is None:
        formula = cel.Select(strategy, formula)
    for each in reversed(filters):
        formula = replace(each, body=formula)
    return strategy, replace(query, formula=formula, window=None)


SOME_TIME = TimeWindow(600 * 10**9)
"""Length of windows, waits and look-backs in hints: ten minutes."""


def counted_in_window(query: CeqlQuery, phi: cel.Filter) -> tuple[pred.OfGroup, cel.Filter] | None:
    """Return a count of chosen events, and the filter that counts all events of the window.

    Return None for conditions other than upper bounds and ratios of counts: a lower bound has an
    answer with chosen events if and only if it has one with all events.

    >>> from cerlab.logic.ceql.parser import parse_ceql
    >>> query = parse_ceql("SELECT * WHERE F+ AS f FILTER COUNT(f) < 3 WITHIN 5 [t]")[0]
    >>> count, inside = counted_in_window(query, query.formula)
    >>> print(inside)
    MAX(F+ AS f WITHIN 5 [t]) FILTER COUNT(f) < 3
    """
    counts = _bounded_or_divided(phi.condition)
    if not counts or counts[0].label not in _chosen_labels(phi.body):
        return None
    is_within = isinstance(phi.body, cel.Within)
    body = phi.body if is_within else cel.Within(phi.body, query.window or SOME_TIME)
    return counts[0], replace(phi, body=cel.Select(Strategy.MAX, body))


def _bounded_or_divided(condition: Condition) -> tuple[pred.OfGroup, ...]:
    """Return the counts in the first comparison that bounds a count, or computes with counts."""
    for each in atomics(condition):
        if not isinstance(each, Correlation):
            continue
        counts = tuple(x for x in each.operands if isinstance(x, pred.OfGroup))
        if len(counts) != len(each.operands) or not counts or any(not _counts(x) for x in counts):
            continue
        sides = (each.left, each.right)
        if len(counts) > 1 and any(isinstance(x, pred.Computed) for x in sides):
            return counts
        bounded = {"<": each.left, "<=": each.left, ">": each.right, ">=": each.right}
        if len(counts) == 1 and bounded.get(each.operator.value) == counts[0]:
            return counts
    return ()


def _counts(x: pred.OfGroup) -> bool:
    return x.function in (pred.Group.COUNT, pred.Group.DISTINCT)


def _chosen_labels(phi: cel.Formula) -> frozenset[str]:
    """Return the labels of iterations with gaps that no strategy selects."""
    match phi:
        case cel.Plus(body) | cel.Count(body, _, None, True):
            return cel.defined_labels(body)
        case cel.As(body, label):
            inside = _chosen_labels(body)
            return inside | {label} if inside else inside
        case cel.Rename(old, new, body):
            return frozenset(new if x == old else x for x in _chosen_labels(body))
        case cel.Project(_, body):
            return _chosen_labels(body) & cel.kept_labels(phi)
        case cel.Unless(left, _):
            return _chosen_labels(left)
        case cel.Select():
            return frozenset()
        case _:
            return frozenset[str]().union(*map(_chosen_labels, cel.children(phi)))


def _longest(phi: cel.Formula, window: Window) -> int | float | None:
    """Return an upper bound on a formula's interval in the unit of a window; None if unknown."""

    def of(psi: cel.Formula) -> int | float | None:
        return _longest(psi, window)

    match phi:
        case cel.Atom() | cel.Not():
            return 0
        case cel.As(body) | cel.Filter(body) | cel.Project(_, body) | cel.Rename(_, _, body):
            return of(body)
        case cel.Select(_, body) | cel.Unless(body, _):
            return of(body)
        case cel.Or(left, right):
            sides = [of(left), of(right)]
            return max(side for side in sides if side is not None) if None not in sides else None
        case cel.And(left, right):
            return min((side for side in (of(left), of(right)) if side is not None), default=None)
        case cel.Within(body, inner):
            bounds = [of(body), inner.width if axis_of(inner) == axis_of(window) else None]
            return min((bound for bound in bounds if bound is not None), default=None)
        case cel.Wait(body, length) | cel.Lookback(body, length):
            inside = of(body)
            return (
                None
                if inside is None or axis_of(length) != axis_of(window)
                else (inside + length.width)
            )
        case cel.Concat(left, right) if isinstance(window, EventWindow):
            before, after = of(left), of(right)
            return None if before is None or after is None else before + after + 1
        case cel.Count(body, _, most, False) if isinstance(window, EventWindow) and most:
            inside = of(body)
            return None if inside is None else most * (inside + 1) - 1
        case cel.Concat() | cel.Seq() | cel.All() | cel.Plus() | cel.ConcatPlus() | cel.Count():
            return None
        case _:
            assert_never(phi)


def axis_of(window: Window) -> object:
    """Return what two windows have in common if their widths can be compared."""
    return window.attribute if isinstance(window, AttributeWindow) else type(window)
