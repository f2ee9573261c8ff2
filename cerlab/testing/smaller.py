"""A failing case made smaller: fewer events, fewer clauses, a smaller formula, plainer values."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias, TypeVar

from cerlab.errors import CerlabError
from cerlab.logic.cel import syntax as cel
from cerlab.logic.ceql.syntax import CeqlQuery
from cerlab.model.clauses import AttributeWindow, Consume, EventWindow, TimeWindow
from cerlab.model.event import Event
from cerlab.predicates import syntax as pred
from cerlab.predicates.condition import Condition, On

_SECOND = 10**9

T = TypeVar("T")
Case: TypeAlias = tuple[CeqlQuery, tuple[Event, ...]]
Fails: TypeAlias = Callable[[CeqlQuery, tuple[Event, ...]], bool]


def smallest(query: CeqlQuery, events: Sequence[Event], fails: Fails) -> Case:
    """A case that fails too, and of which nothing can be left out or made plainer any more.

    `fails` is asked of smaller and smaller cases; one that raises a `CerlabError` does not fail. It
    is a local minimum: no single step of `smaller` leads on.

    >>> from cerlab.logic.ceql.parser import parse_ceql
    >>> query, _, _ = parse_ceql("SELECT * WHERE (A ; B+ AS x) OR C FILTER A[v > 1]")
    >>> events = [Event(kind, {"v": 3}) for kind in "CABAB"]
    >>> def fails(query, events):  # an engine that cannot iterate
    ...     plus = any(isinstance(phi, cel.Plus) for phi in cel.subformulas(query.formula))
    ...     return plus and "B" in {event.type for event in events}
    >>> case = smallest(query, events, fails)
    >>> print(case[0].formula, case[1])
    B+ (Event(type='B', attributes={}, stream=None),)
    """
    case = (query, tuple(events))
    while (next_case := _next(case, fails)) is not None:
        case = next_case
    return case


def _next(case: Case, fails: Fails) -> Case | None:
    return next((each for each in smaller(*case) if _fails(fails, each)), None)


def _fails(fails: Fails, case: Case) -> bool:
    try:
        return fails(*case)
    except CerlabError:
        return False


def smaller(query: CeqlQuery, events: tuple[Event, ...]) -> Iterator[Case]:
    """Cases that are smaller in one thing, the largest steps first."""
    for rest in fewer(events):
        yield query, rest
    for plainer in _plainer_queries(query):
        yield plainer, events
    for narrower in _narrower(query):
        yield narrower, events
        for n in range(len(events)):
            yield narrower, events[:n] + events[n + 1 :]
            yield narrower, events[:n] + tuple(_sooner(each) for each in events[n:])
    for i, event in enumerate(events):
        for less in _plainer_events(event):
            yield query, (*events[:i], less, *events[i + 1 :])


def fewer(events: tuple[T, ...]) -> Iterator[tuple[T, ...]]:
    """Without a half, a quarter, .. and at last without one event."""
    width = len(events)
    while width:
        for start in range(0, len(events), width):
            yield events[:start] + events[start + width :]
        width //= 2


def _plainer_queries(query: CeqlQuery) -> Iterator[CeqlQuery]:
    plain = CeqlQuery(query.formula)
    if query != plain:
        yield plain
    for name in ("items", "strategy", "streams", "partition", "window", "consume", "limit"):
        if getattr(query, name) != getattr(plain, name):
            yield replace(query, **{name: getattr(plain, name)})
    if query.consume is Consume.PARTITION:
        yield replace(query, consume=Consume.ANY)
    if len(query.partition) > 1:
        yield replace(query, partition=query.partition[:1])
    if isinstance(query.window, TimeWindow | AttributeWindow):
        yield replace(query, window=EventWindow(1))
    for formula in _plainer_formulas(query.formula):
        yield replace(query, formula=formula)


def _narrower(query: CeqlQuery) -> Iterator[CeqlQuery]:
    """With a window of half the width, and of one less; the events have to be nearer then too."""
    match query.window:
        case EventWindow(width):
            yield from (replace(query, window=EventWindow(n)) for n in _less(width))
        case TimeWindow(nanoseconds):
            seconds = -(-nanoseconds // _SECOND)
            yield from (replace(query, window=TimeWindow(n * _SECOND)) for n in _less(seconds))
        case AttributeWindow(width, attribute):
            smaller = (*_less(int(width)), *([int(width)] if width != int(width) else []))
            yield from (replace(query, window=AttributeWindow(n, attribute)) for n in smaller)
        case _:
            return


def _less(number: int) -> tuple[int, ...]:
    """Numbers nearer to 0: none, the half, and one less."""
    if number < 0:
        return (0, -number)
    return tuple(dict.fromkeys(n for n in (0, number // 2, number - 1) if 0 <= n < number))


def _sooner(event: Event) -> Event:
    """One unit of time earlier."""
    time = event.attributes.get("t")
    if isinstance(time, bool) or not isinstance(time, int | float) or time < 1:
        return event
    return replace(event, attributes={**event.attributes, "t": time - 1})


def _plainer_formulas(phi: cel.Formula) -> Iterator[cel.Formula]:
    """A part for the whole, or something plainer in one place."""
    below = cel.children(phi)
    if not isinstance(phi, cel.Not):
        yield from below
    match phi:
        case cel.Filter(body, condition):
            yield from (cel.Filter(body, each) for each in _plainer_conditions(condition))
        case cel.Atom(name, stream) if stream is not None:
            yield cel.Atom(name)
        case _:
            pass
    for n, psi in enumerate(below):
        for plainer in _plainer_formulas(psi):
            if not isinstance(phi, cel.Not) or isinstance(plainer, cel.Atom | cel.Filter):
                yield cel.with_child(phi, n, plainer)


def _plainer_conditions(condition: Condition) -> Iterator[Condition]:
    match condition:
        case pred.And(left, right) | pred.Or(left, right):
            yield from (left, right)
            yield from (replace(condition, left=each) for each in _plainer_conditions(left))
            yield from (replace(condition, right=each) for each in _plainer_conditions(right))
        case On(label, predicate):
            if isinstance(predicate, pred.And | pred.Or):
                yield from (On(label, predicate.left), On(label, predicate.right))
            yield from (On(label, each) for each in _plainer_predicates(predicate))
        case _:
            return


def _plainer_predicates(P: pred.Predicate) -> Iterator[pred.Predicate]:
    """With a plainer constant in one place, or one value of a set less."""
    match P:
        case pred.And(left, right) | pred.Or(left, right):
            yield from (replace(P, left=each) for each in _plainer_predicates(left))
            yield from (replace(P, right=each) for each in _plainer_predicates(right))
        case pred.Not(inner):
            yield inner
            yield from (pred.Not(each) for each in _plainer_predicates(inner))
        case pred.Comparison(_, left, right):
            yield from (replace(P, left=each) for each in _plainer_constants(left))
            yield from (replace(P, right=each) for each in _plainer_constants(right))
        case pred.Member(_, values) if len(values) > 1:
            for n in range(len(values)):
                yield replace(P, values=values[:n] + values[n + 1 :])
        case _:
            return


def _plainer_constants(expression: pred.Expression) -> Iterator[pred.Expression]:
    match expression:
        case pred.Constant(bool()):
            return
        case pred.Constant(int(number)):
            yield from (pred.Constant(n) for n in _less(number))
        case pred.Constant(float(number)) if math.isfinite(number):
            yield from (pred.Constant(n) for n in dict.fromkeys((int(number), *_less(int(number)))))
        case pred.Constant(str(text)) if len(text) > 1:
            yield pred.Constant(text[:1])
        case _:
            return


def _plainer_events(event: Event) -> Iterator[Event]:
    """Without its stream, without an attribute, or with a 0 for a value."""
    if event.stream is not None:
        yield replace(event, stream=None)
    for name, value in event.attributes.items():
        rest = {other: v for other, v in event.attributes.items() if other != name}
        yield replace(event, attributes=rest)
        if type(value) is not int or value > 1:
            yield replace(event, attributes={**event.attributes, name: 0})
