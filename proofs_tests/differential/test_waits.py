"""Answers that wait: whole streams by every evaluator that takes them, against the reference."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, TypeAlias

import pytest

import cerlab
from cerlab import Event, Stream
from cerlab.compile.pattern import Pattern
from cerlab.engine import answers
from cerlab.engine.registers import evaluation
from cerlab.engine.waits import bodies, whole
from cerlab.evaluate import choose, names_that_take
from cerlab.evaluate.labelled import has_labels
from cerlab.logic.cel import syntax as cel
from cerlab.logic.ceql.semantics import query_answers, query_valuations
from cerlab.logic.ceql.syntax import CeqlQuery, SelectItem, selected_formula
from cerlab.model.answer import by_end
from cerlab.model.clauses import AttributeWindow, EventWindow, Strategy, TimeWindow, Window
from cerlab.model.event import is_of_streams
from cerlab.model.stream import Until, time_axis
from cerlab.predicates import syntax as pred
from cerlab.predicates.condition import Correlation, On
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


def compared(rng: Random, depth: int) -> cel.Formula:
    """A formula that compares the labels x and y, which at most one event sets twice."""
    some = cel.Or(cel.Atom("A"), cel.Atom("B"))
    x, y = (cel.As(rng.choice((some, some, cel.Atom(rng.choice(TYPES)))), X) for X in "xy")
    if rng.random() < 0.2:
        x = cel.As(cel.Plus(cel.Atom(rng.choice(TYPES))), "x")
    between: cel.Formula = x
    if depth and rng.random() < 0.3:
        between = rng.choice((cel.Seq, cel.Concat))(x, plain(rng, 0))
    f: cel.Formula = rng.choice((cel.Seq, cel.Seq, cel.Concat))(between, y)
    if rng.random() < 0.1:
        f = cel.Or(f, cel.Seq(y, x))
    return cel.Filter(f, comparison(rng))


def comparison(rng: Random) -> Correlation:
    """A comparison of x and y, which adds to a value, or computes of both."""
    operator = rng.choice(list(pred.Operator))
    x, y = (pred.LabelAttribute(X, "v") for X in "xy")
    match rng.randrange(4):
        case 0:
            more = pred.Computed(pred.Arithmetic.ADD, x, pred.Constant(rng.choice((0, 1))))
            return Correlation(operator, y, more)
        case 1:
            apart = pred.Computed(pred.Arithmetic.SUB, y, x)
            return Correlation(operator, apart, pred.Constant(rng.choice((0, 1))))
        case _:
            return Correlation(operator, x, y)


def held(rng: Random, depth: int) -> cel.Formula:
    """A formula with a window in time around a part that another step follows."""
    width = rng.choice((1, 3, 5, 8))
    window = rng.choice((TimeWindow(width * 10**9), AttributeWindow(width, "t")))
    atoms = (cel.Atom(rng.choice(TYPES)) for _ in range(3))
    part = rng.choice((cel.Seq, cel.Seq, cel.Seq, cel.Concat))(next(atoms), next(atoms))
    inside: cel.Formula = cel.Within(part, window)
    if depth and rng.random() < 0.3:
        inside = rng.choice((cel.Plus(inside), cel.Unless(inside, cel.Atom("C"))))
    return rng.choice((cel.Seq, cel.Seq, cel.Concat, cel.All))(inside, next(atoms))


def selected(rng: Random, depth: int) -> cel.Formula:
    """A strategy over a formula whose answers have to start late enough."""
    f: cel.Formula = plain(rng, depth)
    if rng.random() < 0.5:  # rivals with other starts
        f = cel.Or(cel.Seq(cel.Plus(cel.Atom(rng.choice(TYPES))), cel.Atom(rng.choice(TYPES))), f)
    f = cel.Within(f, length(rng))
    for _ in range(rng.choice((0, 0, 1, 2))):
        f = rng.choice(
            (
                cel.Unless(f, plain(rng, rng.choice((0, 0, 1)))),
                cel.Within(f, window(rng)),
                cel.Filter(f, On("A", _predicate(rng))),
                cel.Project(frozenset({"A", rng.choice(TYPES)}), f),
            )
        )
    return cel.Select(rng.choice((Strategy.MAX, Strategy.NXT, Strategy.LAST)), f)


Body: TypeAlias = Callable[[Random, int], cel.Formula]


def rival(rng: Random, depth: int, body: Body) -> cel.Formula:
    """A formula that must have no answer; one that has few where answers are few already."""
    if body is not plain and rng.random() < 0.6:
        return cel.Concat(cel.Atom("C"), cel.Atom("C"))
    return plain(rng, depth)


def waiting(rng: Random, depth: int, body: Body = plain) -> cel.Formula:
    """A formula with a wait at its end, of a body of some kind."""
    if depth == 0:
        return cel.Wait(body(rng, rng.choice((0, 0, 1, 2))), length(rng))
    f = waiting(rng, depth - 1, body)
    match rng.randrange(10):
        case 0 | 1 | 2:
            return cel.Unless(f, rival(rng, rng.choice((0, 0, 1, 2)), body))
        case 3:
            return cel.Within(f, window(rng))
        case 4:
            return cel.Or(f, rng.choice((body, plain, waiting))(rng, rng.randint(0, 1)))
        case 5:
            return cel.Wait(f, length(rng))
        case 6:
            return rng.choice((cel.As(f, "x"), cel.Project(frozenset({"A"}), f)))
        case 7:
            return cel.Filter(f, On("A", _predicate(rng)))
        case _:
            # Most right sides have one event, since bounds on others take registers.
            last = cel.Wait(plain(rng, rng.choice((0, 0, 0, 1))), length(rng))
            kept = rng.choice(
                (cel.Unless(last, rival(rng, 1, body)), cel.Within(last, window(rng)))
            )
            return rng.choice((cel.Seq, cel.Concat))(body(rng, 1), rng.choice((f, kept, kept)))


def waiting_query(rng: Random, body: Body = plain) -> CeqlQuery:
    """A query with a wait at the end of its formula, and clauses."""
    if body is selected:
        formula, partition = selected(rng, rng.choice((1, 2, 2, 3))), rng.choice(((), (("k",),)))
        return CeqlQuery(formula, streams=rng.choice(((), (), ("S",))), partition=partition)
    formula = waiting(rng, rng.choice((0, 0, 1, 1, 2, 3)), body)
    if body is compared and rng.random() < 0.05:
        formula = cel.Filter(formula, comparison(rng))
    return CeqlQuery(
        formula,
        items=rng.choice((None, None, None, (SelectItem("B"),))),
        strategy=rng.choice((None, None, None, None, None, Strategy.STRICT)),
        streams=rng.choice(((), (), ("S",))),
        partition=rng.choice(((), (("k",),))),
        window=window(rng) if rng.random() < 0.2 else None,
    )


def taken_query(rng: Random, body: Body, *, live: bool = False) -> cerlab.Query:
    """A query that has stages that wait, on registers where its body is; for sessions if `live`."""
    while True:
        pattern = cerlab.Query(waiting_query(rng, body))
        if pattern.machine_kind != "waits":
            continue
        assert pattern.waits is not None
        if pattern.waits.is_live or not live:
            assert pattern.waits.plan.compares >= (body in (compared, held))
            return pattern


def many(rng: Random, body: Body) -> int:
    """The number of events: enough for answers."""
    if body in (plain, selected):
        return rng.randint(4, 11)
    return rng.randint(10, 13) if body is compared else rng.randint(14, 17)


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


def redrawn(case: Callable[[Random], bool], body: Body) -> Callable[[Random], bool]:
    """The case, up to four of them where few have answers."""
    return lambda rng: any(case(rng) for _ in range(4 if body is held else 1))


BODIES = pytest.mark.parametrize("body", [plain, compared, held, selected])


def agree(pattern: Pattern, stream: Stream) -> bool:
    """All that take a query have the answers and labels of the reference, in the order of ends."""
    takers = [name for name in names_that_take(pattern) if name != "reference"]
    assert {"compiled", "registers"} <= {*takers}
    expected = query_answers(pattern.ast, stream)
    about = (str(pattern), stream.events, stream.until)
    for by in (choose(pattern, name) for name in takers):
        got = [*by.answers(stream)]
        assert sorted(got, key=by_end) == expected, (by, about)
        assert [answer.end for answer in got] == [answer.end for answer in expected], (by, about)
        assert by.count(stream) == len(expected), (by, about)
        access = by.by_number(stream)
        assert [access.answer(k) for k in range(len(got))] == got, (by, about)
    if has_labels(pattern):
        labelled = {*choose(pattern, "compiled").valuations(stream)}
        assert labelled == {*query_valuations(pattern.ast, stream)}, about
    return bool(expected)


def columns_agree(pattern: Pattern, stream: Stream) -> bool:
    """Runs on registers, or windows read again, have by columns the answers of runs as written."""
    written = sorted(choose(pattern, "registers").answers(stream), key=by_end)
    got = [*choose(pattern, "compiled").answers(stream)]
    about = (str(pattern), stream.events, stream.until)
    assert sorted(got, key=by_end) == written, about
    assert [answer.end for answer in got] == [answer.end for answer in written], about
    assert choose(pattern, "compiled").count(stream) == len(written), about
    return bool(written)


@BODIES
def test_evaluators_agree_with_the_reference(suite: Suite, body: Body) -> None:
    def case(rng: Random) -> bool:
        pattern = taken_query(rng, body)
        events = timed_events(rng, many(rng, body))
        return agree(pattern, Stream(events, time=AXIS, until=promise(rng, events, pattern.ast)))

    suite.run(lambda rng: case(rng) or case(rng), deep_count=20_000)  # half of the first have none


@pytest.mark.parametrize("body", [compared, held, selected])
def test_longer_streams_in_small_batches(
    suite: Suite, monkeypatch: pytest.MonkeyPatch, body: Body
) -> None:
    for module in (answers, bodies, whole, evaluation):
        monkeypatch.setattr(module, "BATCH", 16)
    monkeypatch.setattr(bodies, "SELECTED", 8)
    monkeypatch.setattr(bodies, "READ_TOGETHER", 20)

    def case(rng: Random) -> bool:
        pattern: Pattern = taken_query(rng, body)
        if body is not selected:  # a strategy compares before this window
            pattern = pattern.replaced(window=TimeWindow(rng.randint(6, 9) * 10**9))
        events = timed_events(rng, rng.randint(30, 60))
        until = promise(rng, events, pattern.ast)
        return columns_agree(pattern, Stream(events, time=AXIS, until=until))

    suite.run(case, deep_count=1_000)


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


def follow(rng: Random, pattern: cerlab.Query, events: list[Event], *, in_order: bool) -> bool:
    """Compare a session, after each push and promise, with the reference on what it has read.

    A step gives what the reference gives up to there and did not give before, by end or `in_order`.
    States are saved in between. Return whether there are answers.
    """
    query = pattern.ast
    has_waits = bool(cel.waits(query.formula))
    session = pattern.open(time="t", unit="s")
    given, read = set(query_answers(query, Stream((), time=AXIS))), 0
    until: Until | None = None
    while read < len(events) or (has_waits and until != "end"):
        if rng.random() < 0.3:
            session = pattern.open(state=session.state())
        is_push = not has_waits or (read < len(events) and (not read or rng.random() < 0.6))
        promised = None if is_push else next_promise(rng, events, read, query)
        if promised is None:
            after = rng.randint(read, len(events))
            got, read = session.push(Stream(events[read:after])), after
        else:
            got, until = session.advance(promised), later(until, promised)
        expected = set(query_answers(query, prefix(events[:read], until, query)))
        about = (str(pattern), events, read, until)
        assert given <= expected, about
        steps = got if in_order else sorted(got, key=by_end)
        assert steps == sorted(expected - given, key=by_end), about
        given |= expected
    return bool(given)


@BODIES
def test_sessions_give_what_is_certain_when_it_is(suite: Suite, body: Body) -> None:
    """Batches of any size, promises between them, states saved: the reference on each prefix.

    A step gives, by end, what the reference gives up to there and did not give before.
    """

    def case(rng: Random) -> bool:
        pattern = taken_query(rng, body, live=True)
        return follow(rng, pattern, timed_events(rng, many(rng, body)), in_order=True)

    suite.run(redrawn(case, body), deep_count=20_000, needs_answers=0.5)


GROUPS: tuple[list[str], ...] = ([], ["end"], ["start", "k"], ["k"])


@BODIES
def test_running_totals_are_those_of_each_prefix(suite: Suite, body: Body) -> None:
    """Counts and sums after each push and promise: those of the answers that are certain then."""

    def case(rng: Random) -> bool:
        pattern = taken_query(rng, body, live=True)
        while not has_labels(pattern, live=True):
            pattern = taken_query(rng, body, live=True)
        groups = rng.choice(GROUPS if pattern.ast.partition else GROUPS[:2])
        labels = sorted(cel.defined_labels(selected_formula(pattern.ast)))
        how: dict[str, Any] = {"group_by": groups, "sum": [f"{label}.v" for label in labels[:1]]}
        session = pattern.aggregating(time="t", unit="s", **how)
        events = timed_events(rng, many(rng, body))
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

    deep_count = 4_000 if body is plain else 1_000
    suite.run(redrawn(case, body), deep_count=deep_count, needs_answers=0.4)


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
