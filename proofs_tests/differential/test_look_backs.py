"""LOOKBACK: every evaluator that takes it, and sessions, against the reference; and its laws."""

from __future__ import annotations

from random import Random

import pytest

import cerlab
from cerlab import ComplexEvent, Stream
from cerlab.engine import answers
from cerlab.engine.registers import evaluation
from cerlab.engine.waits import bodies, whole
from cerlab.evaluate import names_that_take
from cerlab.logic.cel import syntax as cel
from cerlab.logic.ceql.parser import parse_ceql
from cerlab.logic.ceql.semantics import query_valuations
from cerlab.logic.ceql.syntax import CeqlQuery, SelectItem, query_text
from cerlab.model.answer import by_end
from cerlab.model.clauses import Strategy, TimeWindow
from cerlab.predicates.condition import On
from proofs_tests.differential.test_waits import (
    AXIS,
    Body,
    _predicate,
    agree,
    columns_agree,
    compared,
    follow,
    length,
    many,
    plain,
    promise,
    rival,
    timed_events,
    window,
)
from proofs_tests.suite import Suite, random_suite

BODIES = pytest.mark.parametrize("body", [plain, compared])


def looking(rng: Random, depth: int, body: Body) -> cel.Formula:
    """A formula with a look-back at its end, or left of an outermost UNLESS."""
    if depth == 0:
        return cel.Lookback(body(rng, rng.choice((0, 0, 1, 2))), length(rng))
    f = looking(rng, depth - 1, body)
    match rng.randrange(12):
        case 0 | 1 | 2 | 3:
            return cel.Unless(f, rival(rng, rng.choice((0, 0, 0, 1)), body))
        case 4:
            return cel.Within(f, window(rng))
        case 5:
            other = looking(rng, 0, body) if rng.random() < 0.4 else plain(rng, rng.randint(0, 1))
            return cel.Or(f, other)
        case 6:
            return cel.Lookback(f, length(rng))
        case 7:
            return cel.Wait(f, length(rng))
        case 8:
            return rng.choice((cel.As(f, "x"), cel.Project(frozenset({"A"}), f)))
        case 9:
            return cel.Filter(f, On("A", _predicate(rng)))
        case _:
            # the left side of a sequence may look back, if no bound is between
            first = cel.Lookback(plain(rng, rng.choice((0, 0, 1))), length(rng))
            return cel.Unless(rng.choice((cel.Seq, cel.Concat))(first, body(rng, 0)), cel.Atom("C"))


def looking_query(rng: Random, body: Body, *, live: bool = False) -> cerlab.Query:
    """A query that machines take, with clauses; without waits before other steps if `live`."""
    while True:
        query = CeqlQuery(
            looking(rng, rng.choice((1, 1, 1, 2, 3)), body),
            items=rng.choice((None, None, None, (SelectItem("B"),))),
            strategy=rng.choice((None, None, None, None, None, Strategy.STRICT)),
            streams=rng.choice(((), (), ("S",))),
            partition=rng.choice(((), (("k",),))),
            window=window(rng) if rng.random() < 0.2 else None,
            throttle=TimeWindow(rng.randint(1, 3) * 10**9) if rng.random() < 0.1 else None,
        )
        pattern = cerlab.Query(query)
        if "compiled" in names_that_take(pattern):
            assert pattern.waits is not None
            if pattern.waits.is_live or not live:
                return pattern


@BODIES
def test_evaluators_agree_with_the_reference(suite: Suite, body: Body) -> None:
    def case(rng: Random) -> bool:
        pattern = looking_query(rng, body)
        query, events = pattern.ast, timed_events(rng, many(rng, body))
        assert parse_ceql(query_text(query))[0] == query
        until = promise(rng, events, query) if cel.waits(query.formula) else None
        return agree(pattern, Stream(events, time=AXIS, until=until))

    suite.run(lambda rng: case(rng) or case(rng), deep_count=20_000)


@BODIES
def test_longer_streams_in_small_batches(
    suite: Suite, monkeypatch: pytest.MonkeyPatch, body: Body
) -> None:
    for module in (answers, bodies, whole, evaluation):
        monkeypatch.setattr(module, "BATCH", 16)

    def case(rng: Random) -> bool:
        query = looking_query(rng, body)
        pattern = query.replaced(window=TimeWindow(rng.randint(4, 7) * 10**9))
        events = timed_events(rng, rng.randint(30, 60))
        until = promise(rng, events, pattern.ast) if cel.waits(query.formula) else None
        return columns_agree(pattern, Stream(events, time=AXIS, until=until))

    suite.run(case, deep_count=1_000)


@BODIES
def test_sessions_give_what_is_certain_when_it_is(suite: Suite, body: Body) -> None:
    """Batches of any size, promises between them, states saved: the reference on each prefix."""

    def case(rng: Random) -> bool:
        pattern = looking_query(rng, body, live=True)
        return follow(rng, pattern, timed_events(rng, many(rng, body)), in_order=False)

    suite.run(lambda rng: case(rng) or case(rng), deep_count=20_000)


@pytest.mark.parametrize(
    "formula",
    [
        "(A ; B WITHIN 5 [t])",
        "(A ; B WITHIN 5 [t]) OR C",
        "(A LOOKBACK 5 [t]) UNLESS B",
        "((A LOOKBACK 5 [t]) UNLESS C UNLESS C) WAIT 0 [t]",
    ],
)
def test_states_hold_all_keys_where_nothing_waits(formula: str) -> None:
    """The stage keeps nothing of substreams then, which the state has to say for each of them."""
    query = cerlab.parse_query(f"SELECT * WHERE {formula} PARTITION BY [k]")
    events = [{"type": kind, "t": t, "k": k} for t, kind in enumerate("AB") for k in (1, 2)]
    session = query.open()
    first = session.push(events[:2])
    assert first + query.open(state=session.state()).push(events[2:]) == [*query.run(events)]


@random_suite(100)
def test_a_long_session_forgets_events(rng: Random) -> bool:
    """What is kept does not grow with the stream, and the answers are those of the whole stream."""
    rare = rng.choice(("C", "(C ; C)", "Z"))
    text = f"SELECT * WHERE (A LOOKBACK {rng.randint(1, 9)} SECONDS) UNLESS {rare}"
    query = cerlab.parse_query(text + rng.choice(("", " PARTITION BY [k]")))
    events = timed_events(rng, 600)
    expected = [*query.run(Stream(events, time=AXIS))]
    session, got = query.open(time="t", unit="s"), list[ComplexEvent]()
    sizes = []
    for n in range(0, len(events), 30):
        got += session.push(Stream(events[n : n + 30]))
        state = session.state()
        sizes.append(len(state))
        session = query.open(state=state)
    assert got == sorted(expected, key=by_end)
    assert max(sizes[10:]) < 2 * max(sizes[:10]), sizes
    return bool(got)


def _formula(rng: Random) -> cel.Formula:
    return plain(rng, rng.choice((0, 1, 1, 2)))


@random_suite(4_000)
def test_laws(rng: Random) -> bool:
    """LOOKBACK distributes over OR, moves to the left of a sequence, and commutes with the rest."""
    f, g, d = _formula(rng), _formula(rng), length(rng)
    stream = Stream(timed_events(rng, 8), time=AXIS)

    def back(phi: cel.Formula) -> cel.Formula:
        return cel.Lookback(phi, d)

    sequence, strategy = rng.choice((cel.Seq, cel.Concat)), rng.choice(list(Strategy))
    wait = length(rng)
    condition = On("A", _predicate(rng))
    laws: list[tuple[cel.Formula, cel.Formula]] = [
        (back(cel.Or(f, g)), cel.Or(back(f), back(g))),
        (back(sequence(f, g)), sequence(back(f), g)),
        (back(cel.Plus(f)), cel.Or(back(f), cel.Seq(back(f), cel.Plus(f)))),
        (back(cel.As(f, "x")), cel.As(back(f), "x")),
        (back(cel.Filter(f, condition)), cel.Filter(back(f), condition)),
        (back(cel.Project(frozenset({"A"}), f)), cel.Project(frozenset({"A"}), back(f))),
        (back(cel.Select(strategy, f)), cel.Select(strategy, back(f))),
        (back(cel.Wait(f, wait)), cel.Wait(back(f), wait)),
    ]
    found = False
    for left, right in laws:
        ours, theirs = (query_valuations(CeqlQuery(phi), stream) for phi in (left, right))
        assert ours == theirs, (str(left), str(right), stream.events)
        found = found or bool(ours)
    return found
