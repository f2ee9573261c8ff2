"""Checks of each statement in a failure, against the events and the reference."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any, assert_never

from cerlab import Formula, Valuation, Why
from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.semantics import holds, valuations
from cerlab.logic.ceql.semantics import query_answers
from cerlab.logic.ceql.syntax import partition_attributes
from cerlab.model.answer import complex_event
from cerlab.model.clauses import (
    AttributeWindow,
    Consume,
    EventWindow,
    Strategy,
    TimeWindow,
    Window,
)
from cerlab.model.event import value_of
from cerlab.predicates.condition import labels_of
from cerlab.predicates.truth import partition_key
from cerlab.why import Derivation, Failure, Kind
from cerlab.why.deduction import CelDerivation
from cerlab.why.failure import Path, Widen
from proofs_tests.why.checker import Substream, width_of
from proofs_tests.why.mutations import Question


def nodes(why: Why, path: Path) -> list[CelDerivation]:
    assert isinstance(why.derivation, Derivation)
    return [node for node in why.derivation if node.path == path]


def is_true(q: Question, why: Why, failure: Failure) -> bool:
    """Whether the stream, the query and the derivation are as the failure says."""
    part: Any = cel.part_at(q.ast.formula, failure.path)
    events = q.stream.events
    match failure.kind:
        case Kind.POSITION:
            (p,) = failure.positions
            return not 0 <= p < len(events)
        case Kind.FROM:
            (p,) = failure.positions
            return events[p].stream is not None and events[p].stream not in q.ast.streams
        case Kind.PARTITION:
            (p,) = failure.positions
            attributes = partition_attributes(q.ast)
            others = {partition_key(events[i], attributes) for i in positions_of(q)}
            return partition_key(events[p], attributes) is None or len(others) > 1
        case Kind.TYPE:
            (p,) = failure.positions
            assert isinstance(part, cel.Atom)
            return events[p].type != part.type and f"is {events[p].type}," in failure.words
        case Kind.STREAM:
            (p,) = failure.positions
            assert isinstance(part, cel.Atom)
            return events[p].stream not in (None, part.stream)
        case Kind.NOT:
            (p,) = failure.positions
            assert isinstance(part, cel.Not)
            return bool(valuations(part.body, (events[p],)))
        case Kind.FILTER:
            return _filter_fails(q, why, failure, part)
        case Kind.GAP:
            first, last = failure.positions
            at = Substream(q.ast, q.stream, first).at
            n = sum(1 for p in at if first < p < last)
            return n > 0 and f"gap of {n} event" in failure.words
        case Kind.COUNT:
            assert isinstance(part, cel.Count)
            rounds = {len(node.children) for node in nodes(why, failure.path)}
            return any(n < part.least or n > (part.most or n) for n in rounds)
        case Kind.MISSING:
            return any(node.valuation is None for node in nodes(why, failure.path))
        case Kind.UNMARKED:
            (p,) = failure.positions
            return p not in q.positions and isinstance(part, cel.Atom)
        case Kind.LEFTOVER:
            (p,) = failure.positions
            return p in q.positions
        case Kind.AND:
            assert isinstance(part, cel.And)
            return any(len(node.children) == 1 for node in nodes(why, failure.path))
        case Kind.UNLESS:
            return _counter_example(q, why, failure, part)
        case Kind.INTERVAL:
            V = _valuation(why)
            return V is not None and not (q.start in (None, V.start) and q.end in (None, V.end))
        case Kind.WINDOW:
            is_clause = isinstance(failure.repairs[0], Widen)
            return _too_wide(q, failure, q.ast.window if is_clause else part.window)
        case Kind.CLOCK:
            return _waits(q, why, failure, part)
        case Kind.CONSUME:
            rival = failure.rival
            assert rival is not None
            V = _valuation(why)
            assert V is not None
            answers = query_answers(replace(q.ast, throttle=None), q.stream, q.meaning)
            return V.start <= rival.end < V.end and rival in answers
        case Kind.STRATEGY:
            return _is_preferred(q, failure, part)
        case Kind.VARIABLE:
            assert isinstance(part, cel.As)
            bound = [node for node in _all_nodes(why) if _binds(node, part.label)]
            others_of = {node.valuation.start for node in bound if node.valuation is not None}
            return len(set(failure.positions)) == 2 and set(failure.positions) <= others_of
        case Kind.LIMIT:
            return q.ast.limit is not None
        case Kind.THROTTLE:
            given, every = (
                query_answers(ast, q.stream, q.meaning)
                for ast in (q.ast, replace(q.ast, throttle=None))
            )
            V = _valuation(why)
            assert V is not None
            left_out = {answer.end for answer in every} - {answer.end for answer in given}
            return failure.rival in given and V.end in left_out
        case Kind.GUARD | Kind.NEGATION | Kind.EMPTY | Kind.FAR:
            return False
        case _:
            assert_never(failure.kind)


def _all_nodes(why: Why) -> list[CelDerivation]:
    assert isinstance(why.derivation, Derivation)
    return list(why.derivation)


def _binds(node: CelDerivation, x: str) -> bool:
    return isinstance(node.part, cel.As) and node.part.label == x


def _valuation(why: Why) -> Valuation | None:
    return why.derivation.valuation if isinstance(why.derivation, Derivation) else None


def positions_of(q: Question) -> tuple[int, ...]:
    ends = {p for p in (q.start, q.end) if p is not None}
    return tuple(sorted({*q.positions, *ends}))


def _filter_fails(q: Question, why: Why, failure: Failure, part: Formula) -> bool:
    assert isinstance(part, cel.Filter)
    if q.first_order:
        return _fails_on_variables(q, why, failure, part)
    fails = False
    for node in nodes(why, failure.path):
        V = node.valuation
        if V is not None and not holds(part.condition, V, q.stream.events):
            marks = {p for D in V.labels.values() for p in D}
            fails = fails or set(failure.positions) <= marks
    return fails


def _fails_on_variables(q: Question, why: Why, failure: Failure, part: cel.Filter) -> bool:
    """Some events that the variables have in the derivation do not satisfy the filter."""
    names = sorted(labels_of(part.condition))
    events = [
        {node.valuation.start for node in _all_nodes(why) if _binds(node, x) and node.valuation}
        for x in names
    ]
    return any(
        set(failure.positions) <= set(places)
        and not holds(
            part.condition,
            Valuation(0, 0, {x: (p,) for x, p in zip(names, places, strict=True)}),
            q.stream.events,
        )
        for places in product(*events)
    )


def _counter_example(q: Question, why: Why, failure: Failure, part: Formula) -> bool:
    assert isinstance(part, cel.Unless)
    rival = failure.rival
    assert rival is not None
    S = Substream(q.ast, q.stream, rival.start)
    events = q.stream.events
    there = {i: n for n, i in enumerate(S.at)}
    answers = {complex_event(W) for W in valuations(part.right, S.events)}
    local = replace(
        rival,
        start=there[rival.start],
        end=there[rival.end],
        positions=tuple(there[p] for p in rival.positions),
    )
    inside = any(
        V is not None and V.start <= rival.start and rival.end <= V.end
        for V in (node.valuation for node in nodes(why, failure.path))
    )
    return local in answers and inside and rival.end < len(events)


def _waits(q: Question, why: Why, failure: Failure, part: Formula) -> bool:
    """The wait is not over, or goes on to a later event; or a rival's wait is not over."""
    if not failure.positions:
        bare = replace(
            q.ast, strategy=None, window=None, consume=Consume.NONE, limit=None, throttle=None
        )
        later = set(query_answers(bare, q.stream.up_to("end")))
        return q.ast.limit is not None or failure.rival in later - {*query_answers(bare, q.stream)}
    assert isinstance(part, cel.Wait)
    p, *goes_on = failure.positions
    S = Substream(q.ast, q.stream, p)
    below = [child.valuation for n in nodes(why, failure.path) for child in n.children]
    begun = {V.end for V in below if V is not None}
    until = S.time(S.at.index(p), part.length) + width_of(part.length)
    last = max(i for n, i in enumerate(S.at) if S.time(n, part.length) <= until)
    is_over = S.is_over(S.at.index(p), part.length)
    return p in begun and (goes_on == [last] if goes_on else not is_over)


def _too_wide(q: Question, failure: Failure, window: Window | None) -> bool:
    first, last = failure.positions
    events = q.stream.events
    match window:
        case EventWindow(width):
            at = Substream(q.ast, q.stream, first).at
            return len([p for p in at if first < p <= last]) > width
        case AttributeWindow(width, name):
            here, there = value_of(events[first], name), value_of(events[last], name)
            assert isinstance(here, (int, float))
            assert isinstance(there, (int, float))
            return there - here > width
        case TimeWindow(nanoseconds):
            here, there = events[first].attributes["t"], events[last].attributes["t"]
            assert isinstance(here, int)
            assert isinstance(there, int)
            return (there - here) * 10**9 > nanoseconds
        case None:
            return False
        case _:
            assert_never(window)


def _is_preferred(q: Question, failure: Failure, part: Formula) -> bool:
    """The rival ends at the same event of the same partition, and the strategy takes it."""
    strategy = q.ast.strategy
    if isinstance(part, cel.Select) and (failure.path or strategy is None):
        strategy = part.strategy
    # a failure of STRICT has the two ends of a hole; another one is of the part inside
    if strategy is Strategy.STRICT and isinstance(part, cel.Select) and not failure.positions:
        strategy = part.strategy
    if strategy is Strategy.STRICT:
        first, last = failure.positions
        at = Substream(q.ast, q.stream, first).at
        return any(first < p < last for p in at)
    rival = failure.rival
    # A strategy inside the formula is compared with answers of its body.
    if rival is None or not isinstance(failure.of, str):
        return rival is not None
    bare = replace(q.ast, strategy=None, window=None, consume=Consume.NONE, limit=None)
    return rival in query_answers(bare, q.stream, q.meaning) and rival.positions != q.positions
