"""Answers that wait: whole streams by every evaluator that takes them, against the reference."""

from __future__ import annotations

from random import Random
from typing import Any

import cerlab
from cerlab import ComplexEvent, Event, Stream
from cerlab.compile.pattern import Pattern
from cerlab.evaluate import EVALUATORS, evaluators_for
from cerlab.evaluate.labelled import has_labels
from cerlab.logic.cel import syntax as cel
from cerlab.logic.ceql.semantics import query_answers
from cerlab.logic.ceql.syntax import CeqlQuery, SelectItem, selected_formula
from cerlab.model.answer import by_end
from cerlab.model.clauses import AttributeWindow, EventWindow, Strategy, TimeWindow, Window
from cerlab.model.event import is_of_streams
from cerlab.model.stream import Until, time_axis
from cerlab.predicates import syntax as pred
from cerlab.predicates.condition import On
from proofs_tests.suite import Suite

TYPES = ("A", "A", "B", "B", "C")
AXIS = time_axis("t", "s")


def length(rng: Random) -> TimeWindow | AttributeWindow:
    """A duration or ``n [t]``, of seconds as the times are."""
    width = rng.choice((0, 0.5, 1, 2, 3))
    if rng.random() < 0.5:
        return TimeWindow(int(width * 10**9))
    return AttributeWindow(width, "t")


def window(rng: Random) -> Window:
    return rng.choice((EventWindow(rng.randint(0, 3)), length(rng), length(rng)))


def plain(rng: Random, depth: int) -> cel.Formula:
    """A formula with an automaton."""
    if depth == 0 or rng.random() < 0.2:
        atom = cel.Atom(rng.choice(TYPES))
        return cel.Not(atom) if rng.random() < 0.1 else atom
    f, g = plain(rng, depth - 1), plain(rng, depth - 1)
    match rng.randrange(8):
        case 0 | 1 | 2:
            return cel.Seq(f, g)
        case 3:
            return cel.Concat(f, g)
        case 4:
            return cel.Or(f, g)
        case 5:
            return cel.Plus(f)
        case 6:
            return cel.Filter(f, On("A", _predicate(rng)))
        case _:
            return cel.Project(frozenset({rng.choice(TYPES)}), f)


def _predicate(rng: Random) -> pred.Predicate:
    operator = rng.choice((pred.Operator.LE, pred.Operator.GT))
    return pred.Comparison(operator, pred.Attribute("v"), pred.Constant(rng.randint(0, 2)))


def waiting(rng: Random, depth: int) -> cel.Formula:
    """A formula with a wait at its end."""
    if depth == 0:
        return cel.Wait(plain(rng, rng.choice((0, 0, 1, 2))), length(rng))
    f = waiting(rng, depth - 1)
    match rng.randrange(10):
        case 0 | 1 | 2:
            return cel.Unless(f, plain(rng, rng.choice((0, 0, 1, 2))))
        case 3:
            return cel.Within(f, window(rng))
        case 4:
            return cel.Or(f, rng.choice((plain, waiting))(rng, rng.randint(0, 1)))
        case 5:
            return cel.Wait(f, length(rng))
        case 6:
            return rng.choice((cel.As(f, "x"), cel.Project(frozenset({"A"}), f)))
        case 7:
            return cel.Filter(f, On("A", _predicate(rng)))
        case _:
            last = cel.Wait(cel.Atom(rng.choice(TYPES)), length(rng))
            kept = rng.choice((cel.Unless(last, plain(rng, 1)), cel.Within(last, window(rng))))
            return rng.choice((cel.Seq, cel.Concat))(plain(rng, 1), rng.choice((f, kept, kept)))


def waiting_query(rng: Random) -> CeqlQuery:
    """A query with a wait at the end of its formula, and clauses."""
    return CeqlQuery(
        waiting(rng, rng.choice((0, 0, 1, 1, 2, 3))),
        items=rng.choice((None, None, None, (SelectItem("B"),))),
        strategy=rng.choice((None, None, None, None, None, Strategy.STRICT)),
        streams=rng.choice(((), (), ("S",))),
        partition=rng.choice(((), (("k",),))),
        window=window(rng) if rng.random() < 0.2 else None,
    )


def timed_events(rng: Random, n: int) -> list[Event]:
    """Events with ties in time, one in some without a key, some of another stream."""
    step = rng.choice(((0, 1, 1, 2), (0, 0.25, 0.5, 1)))
    t: float = 0
    events = []
    for _ in range(n):
        t += rng.choice(step)
        values: dict[str, Any] = {"t": t, "v": rng.randint(0, 3)}
        if rng.random() < 0.95:
            values["k"] = rng.choice(("x", "x", "y"))
        events.append(Event(rng.choice(TYPES), values, rng.choice((None, "S", "S", "T"))))
    return events


def promise(rng: Random, events: list[Event], query: CeqlQuery) -> Until | None:
    """What the stream promises: nothing, the end, or a time not before the last event."""
    axes = {type(each) for each in cel.waits(query.formula)}
    last = events[-1].attributes["t"]
    later = last + rng.choice((0, 0.5, 1.5, 3)) if len(axes) == 1 else "end"  # type: ignore[operator]
    return rng.choice((None, "end", later))


def test_evaluators_agree_with_the_reference(suite: Suite) -> None:
    def case(rng: Random) -> bool | None:
        query = waiting_query(rng)
        events = timed_events(rng, rng.randint(4, 11))
        stream = Stream(events, time=AXIS, until=promise(rng, events, query))
        pattern = Pattern(query)
        takers = [name for name in evaluators_for(pattern) if name != "reference"]
        if "compiled" not in takers:
            return None
        expected = query_answers(query, stream)
        for name in takers:
            got = [*EVALUATORS[name].answers(pattern, stream)]
            about = (name, str(pattern), events, stream.until)
            assert sorted(got, key=by_end) == expected, about
            assert [answer.end for answer in got] == [answer.end for answer in expected], about
            assert EVALUATORS[name].count(pattern, stream) == len(expected), about
        return bool(expected)

    suite.run(case, deep_count=20_000, needs_answers=0.5)


def next_promise(rng: Random, events: list[Event], read: int, query: CeqlQuery) -> Until | None:
    """A promise that the events to come keep; None for none."""
    if read == len(events):
        return promise(rng, events, query) or "end"
    last, then = seconds(events[read - 1]), seconds(events[read])
    is_one_axis = len({type(each) for each in cel.waits(query.formula)}) == 1
    return rng.choice((last, (last + then) / 2, then)) if is_one_axis else None


def later(one: Until | None, other: Until) -> Until:
    """The promise that says more."""
    both = isinstance(one, int | float) and isinstance(other, int | float)
    return max(one, other) if both else other  # type: ignore[type-var, return-value]


def seconds(event: Event) -> float:
    t = event.attributes["t"]
    assert isinstance(t, int | float)
    return t


def prefix(events: list[Event], until: Until | None, query: CeqlQuery) -> Stream:
    """The events so far; the clock is that of their last one, or what was promised if later."""
    last = max((seconds(each) for each in events if is_of_streams(each, query.streams)), default=0)
    is_ahead = until == "end" or (isinstance(until, int | float) and until >= last)
    return Stream(events, time=AXIS, until=until if is_ahead else None)


def test_sessions_give_what_is_certain_when_it_is(suite: Suite) -> None:
    """Batches of any size, promises between them, states saved: the reference on each prefix.

    A step gives, by end, what the reference gives up to there and did not give before.
    """

    def case(rng: Random) -> bool | None:
        query = waiting_query(rng)
        pattern = cerlab.Query(query)
        if "compiled" not in evaluators_for(pattern):
            return None
        events = timed_events(rng, rng.randint(4, 11))
        session = pattern.open(time="t", unit="s")
        given, read = set[ComplexEvent](), 0
        until: Until | None = None
        while until != "end":
            if rng.random() < 0.3:
                session = pattern.open(state=session.state())
            is_push = read < len(events) and (not read or rng.random() < 0.6)
            promised = None if is_push else next_promise(rng, events, read, query)
            if promised is None:
                after = rng.randint(read, len(events))
                got, read = session.push(Stream(events[read:after])), after
            else:
                got, until = session.advance(promised), later(until, promised)
            expected = set(query_answers(query, prefix(events[:read], until, query)))
            about = (str(pattern), events, read, until)
            assert given <= expected, about
            assert got == sorted(expected - given, key=by_end), about
            given |= expected
        return bool(given)

    suite.run(case, deep_count=20_000, needs_answers=0.5)


GROUPS: tuple[list[str], ...] = ([], ["end"], ["start", "k"], ["k"])


def test_running_totals_are_those_of_each_prefix(suite: Suite) -> None:
    """Counts and sums after each push and promise: those of the answers that are certain then."""

    def case(rng: Random) -> bool:
        pattern = cerlab.Query(waiting_query(rng))
        while not has_labels(pattern):
            pattern = cerlab.Query(waiting_query(rng))
        groups = rng.choice(GROUPS if pattern.ast.partition else GROUPS[:2])
        labels = sorted(cel.defined_labels(selected_formula(pattern.ast)))
        how: dict[str, Any] = {"group_by": groups, "sum": [f"{label}.v" for label in labels[:1]]}
        session = pattern.aggregating(time="t", unit="s", **how)
        events = timed_events(rng, rng.randint(4, 9))
        given, read = dict[tuple[Any, ...], Any](), 0
        until: Until | None = None
        while until != "end":
            if rng.random() < 0.3:
                session = pattern.aggregating(state=session.state(), **how)
            is_push = read < len(events) and (not read or rng.random() < 0.6)
            promised = None if is_push else next_promise(rng, events, read, pattern.ast)
            if promised is None:
                after = rng.randint(read, len(events))
                table, read = session.push(Stream(events[read:after])), after
            else:
                table, until = session.advance(promised), later(until, promised)
            given |= by_group(table)
            whole = prefix(events[:read], until, pattern.ast)
            expected = by_group(pattern.run(whole).aggregate(**how))
            if not groups and not given:
                expected.clear()  # without groups there is a row of nothing, which is no change
            assert given == expected, (str(pattern), events, read, until, how)
        return bool(given)

    suite.run(case, deep_count=4_000, needs_answers=0.4)


def by_group(table: Any) -> dict[tuple[Any, ...], Any]:
    """The counts and sums of a table, by what its rows are grouped by."""
    values = {"count", *(name for name in table.column_names if name.startswith("sum("))}
    rows = table.to_pylist()
    return {
        tuple(v for name, v in row.items() if name not in values): [
            v for name, v in row.items() if name in values
        ]
        for row in rows
    }
