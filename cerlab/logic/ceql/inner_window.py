"""Queries with WITHIN after a strategy, and the similar query with the window inside the strategy.

`SELECT MAX * WHERE F+ ; O WITHIN 5 [t]` compares all answers with the same end, and then drops
those longer than the window. If the longest answer is too long, no shorter one is given instead.
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from cerlab.logic.cel import syntax as cel
from cerlab.logic.ceql.syntax import CeqlQuery
from cerlab.model.clauses import AttributeWindow, EventWindow, Strategy, TimeWindow, Window


def compared_inside(query: CeqlQuery) -> tuple[Strategy, CeqlQuery] | None:
    """Return the strategy and the query with WITHIN inside the strategy; None if equivalent.

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
    if strategy is Strategy.STRICT or (longest is not None and longest <= _width(window)):
        return None
    formula: cel.Formula = cel.Within(body, window)
    if query.strategy is None:
        formula = cel.Select(strategy, formula)
    for each in reversed(filters):
        formula = replace(each, body=formula)
    return strategy, replace(query, formula=formula, window=None)


def _width(window: Window) -> int | float:
    return window.nanoseconds if isinstance(window, TimeWindow) else window.width


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
            bounds = [of(body), _width(inner) if _axis(inner) == _axis(window) else None]
            return min((bound for bound in bounds if bound is not None), default=None)
        case cel.Wait(body, length) | cel.Lookback(body, length):
            inside = of(body)
            return (
                None
                if inside is None or _axis(length) != _axis(window)
                else (inside + _width(length))
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


def _axis(window: Window) -> object:
    return window.attribute if isinstance(window, AttributeWindow) else type(window)
