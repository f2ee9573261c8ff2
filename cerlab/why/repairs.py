"""Repairs, tested by answering the repaired question.

A repair of one failure may not suffice: no values of an event may satisfy the query, and the
clauses after the formula are checked only for matches of the formula.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from itertools import combinations, islice, product
from typing import Any, assert_never, cast

from cerlab.errors import CerlabError
from cerlab.logic.cel import syntax as cel
from cerlab.logic.ceql.inner_window import compared_inside
from cerlab.logic.ceql.syntax import CeqlQuery, partition_attributes
from cerlab.logic.sremo import syntax as sre
from cerlab.model.clauses import AttributeWindow
from cerlab.model.event import Event, Value, with_values
from cerlab.model.stream import Stream
from cerlab.predicates import syntax as pred
from cerlab.predicates.condition import SetOf
from cerlab.why import failure as mend
from cerlab.why.clauses import match
from cerlab.why.failure import Failure, Kind, Path, Repair, single_repairs
from cerlab.why.question import (
    AnyQuestion,
    Question,
    SremoQuestion,
    out_of_stream,
)

MAX_TRIES = 400
"""Most questions tried to find another event, those with the fewest changes first."""

PLACES = 8
"""Most places tried for one more event, the last possible place included."""


def right_repairs(question: AnyQuestion, failures: Sequence[Failure]) -> tuple[Repair, ...]:
    """Return the repairs that each make the positions an answer.

    A repair that needs another event, or one more, is kept only if a short search finds such an
    event.
    """

    def is_enough(repair: Repair) -> bool:
        if _derivation_stands(question, failures, repair):
            return True
        return any(map(holds, islice(apply(question, repair), MAX_TRIES)))

    return tuple(filter(is_enough, single_repairs(failures)))


def _derivation_stands(question: AnyQuestion, failures: Sequence[Failure], repair: Repair) -> bool:
    """Return whether the repaired derivation proves the answer without a new search.

    This holds if events are unchanged and no clause compares the answer with others. A part that no
    longer waits ends earlier, and weaker parts of an expression may store or skip other events.
    """
    known: tuple[type, ...] = (mend.Give, mend.Drop, mend.Reach)
    if isinstance(question, Question):
        if question.first_order or question.compares:
            return False
        waits = any(failure.kind is Kind.CLOCK for failure in failures)
        known += (mend.Widen, mend.End, *(() if waits else (mend.Relax,)))
    if isinstance(repair, mend.Drop) and (repair.position,) == question.positions:
        return False
    return isinstance(repair, known)


def holds(question: AnyQuestion) -> bool:
    """Return whether the positions are an answer; an error counts as False."""
    ends = tuple(p for p in (question.start, question.end) if p is not None)
    if out_of_stream((*question.positions, *ends), question.stream):
        return False
    try:
        question.check()
        found = match(question)
    except CerlabError:
        return False
    return found is not None and not found[0].failures


def apply(question: AnyQuestion, repair: Repair) -> Iterator[AnyQuestion]:
    """Yield the repaired questions: one, or one for each event that the repair may use."""
    S, P = question.stream, question.positions
    match repair:
        case mend.Retype(p, name):
            yield _with_events(question, p, 1, replace(S[p], type=name))
        case mend.Alter(p):
            for t in _variants(question, S[p]):
                yield _with_events(question, p, 1, t)
        case mend.Insert(path, after, before):
            yield from _with_one_more(question, path, after, before)
        case mend.Remove(positions):
            # from the last position on, so that earlier positions stay valid
            for p in reversed(positions):
                question = _with_events(question, p, 1)
            yield question
        case mend.Give(p):
            yield replace(question, positions=tuple(sorted({*P, p})))
        case mend.Drop(p):
            yield replace(question, positions=tuple(i for i in P if i != p))
        case mend.Reach(start, end):
            yield replace(question, start=start, end=end)
        case mend.Relax(path, into) | mend.Remark(path, into) if isinstance(
            question, SremoQuestion
        ):
            yield replace(question, e=sre.with_part(question.e, path, cast(sre.Sremo, into)))
        case mend.Relax() | mend.Remark() | mend.Widen() | mend.Without() | mend.Inside():
            assert isinstance(question, Question)
            yield replace(question, ast=repaired(question.ast, repair))
        case mend.End():
            yield replace(question, stream=S.up_to("end"))
        case _:
            assert_never(repair)


def _with_events(question: AnyQuestion, p: int, n: int, *events: Event) -> AnyQuestion:
    """Return the question with n events from position p on replaced by other events."""
    S = question.stream
    changed = (*S.events[:p], *events, *S.events[p + n :])
    stream = Stream(changed, time=S.time, until=S.until)
    more = len(events) - n

    def shift(i: int) -> int:
        return i + more if i >= p + n else i

    positions = tuple(shift(i) for i in question.positions if events or not p <= i < p + n)
    start, end = (None if i is None else shift(i) for i in (question.start, question.end))
    return replace(question, stream=stream, positions=positions, start=start, end=end)


def repaired(
    query: CeqlQuery,
    repair: mend.Relax | mend.Remark | mend.Widen | mend.Without | mend.Inside,
) -> CeqlQuery:
    """Return the query after a repair."""
    match repair:
        case mend.Relax(path, into) | mend.Remark(path, into):
            formula = cel.with_part(query.formula, path, cast(cel.Formula, into))
            return replace(query, formula=formula)
        case mend.Widen(window):
            return replace(query, window=window)
        case mend.Inside():
            inside = compared_inside(query)
            assert inside is not None, "a strategy compares before the window"
            return inside[1]
        case mend.Without(clause):
            name = "streams" if clause == "from" else clause
            return replace(query, **{name: getattr(CeqlQuery(query.formula), name)})
        case _:
            assert_never(repair)


def _with_one_more(
    question: AnyQuestion, path: Path, after: int | None, before: int | None
) -> Iterator[AnyQuestion]:
    """Yield questions with one more event for a part, at each possible place."""
    ends = {p for p in (*question.positions, question.start, question.end) if p is not None}
    low = min(ends) if after is None else after + 1
    high = max(ends) + 1 if before is None else before
    places = sorted({*range(low, high + 1)[:PLACES], high})
    part = cel.part_at(question.ast.formula, path) if isinstance(question, Question) else None
    for p in places:
        like = question.stream[max(0, p - 1)]
        if isinstance(part, cel.Atom):
            like = replace(like, type=part.type, stream=part.stream)
        variants = (
            t
            for t in _variants(question, like)
            if not isinstance(part, cel.Atom) or t.type == part.type
        )
        # at most two questions per place, so that all together stay within `MAX_TRIES`
        for t in islice(variants, MAX_TRIES // len(places) // 2):
            longer = _with_events(question, p, 0, t)
            yield replace(longer, positions=tuple(sorted({*longer.positions, p})))
            yield longer


def _variants(question: AnyQuestion, t: Event) -> Iterator[Event]:
    """Yield variants of an event with other values that the query reads, fewest changes first."""
    types, streams, attributes = _alternatives(question, t)
    every: list[list[tuple[str, Value]]] = [[("type", name) for name in types]]
    every.append([("stream", name) for name in streams])
    every += [[(name, value) for value in values] for name, values in attributes.items()]
    for n in range(len(every) + 1):
        for group in combinations(every, n):
            for pairs in product(*group):
                changes: dict[str, Any] = dict(pairs)
                kind, stream = changes.pop("type", t.type), changes.pop("stream", t.stream)
                yield replace(with_values(t, changes), type=kind, stream=stream)


def _alternatives(
    question: AnyQuestion, t: Event
) -> tuple[list[str], list[str | None], dict[str, list[Value]]]:
    """Return other types, streams and values that a repaired event may have."""
    query = question.ast if isinstance(question, Question) else question.e
    nodes = list(_nodes(query))
    constants = [node.value for node in nodes if isinstance(node, pred.Constant)]
    types = [node.type for node in nodes if isinstance(node, cel.Atom)]
    types += [value for value in constants if isinstance(value, str)]
    others = (other.type for other in question.stream if other.type not in types)
    streams: list[str | None] = [None]
    names = {node.name for node in nodes if isinstance(node, pred.Attribute)}
    readers = pred.LabelAttribute | pred.OfGroup | pred.Previous | pred.RegisterAttribute | SetOf
    names |= {node.attribute or "" for node in nodes if isinstance(node, readers)}
    if isinstance(question, Question):
        streams += [*question.ast.streams, *(a.stream for a in nodes if isinstance(a, cel.Atom))]
        names |= {*partition_attributes(question.ast)}
    time = question.stream.time
    names -= {"type", "stream", "", *([] if time is None else [time.attribute])}
    names -= {node.attribute for node in nodes if isinstance(node, AttributeWindow | sre.Within)}
    near = [question.stream[p] for p in question.positions]
    values = {
        name: _near([*constants, *(each.attributes.get(name) for each in near)])
        for name in sorted(names)
    }
    return (
        _distinct([*types, next(others, "_")], t.type),
        _distinct(streams, t.stream),
        {name: _distinct(each, t.attributes.get(name)) for name, each in values.items()},
    )


def _near(values: Iterable[Value]) -> list[Value]:
    """Return the values, None, and for each number also the number plus and minus one."""
    every = list(values)
    numbers = [v for v in every if isinstance(v, int | float) and not isinstance(v, bool)]
    return [*every, None, *(v + 1 for v in numbers), *(v - 1 for v in numbers)]


def _distinct(values: Iterable[Any], own: Any) -> list[Any]:
    """Return the values without repetitions and without `own`; 1, 1.0 and TRUE are distinct."""
    distinct: dict[Hashable, Any] = {(type(value), value): value for value in values}
    distinct.pop((type(own), own), None)
    return list(distinct.values())


def _nodes(value: object) -> Iterator[object]:
    """Yield all dataclasses and tuples nested in a value, outermost first."""
    yield value
    if is_dataclass(value):
        parts: Iterable[object] = (getattr(value, field.name) for field in fields(value))
    else:
        parts = value if isinstance(value, tuple) else ()
    for part in parts:
        yield from _nodes(part)
