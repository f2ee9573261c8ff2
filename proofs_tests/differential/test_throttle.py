"""THROTTLE: every evaluator, session, count and number against the reference."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from random import Random
from typing import Any

import pytest

import cerlab
from cerlab import Query, Stream
from cerlab.compile.pattern import any_pattern
from cerlab.engine import whole_stream
from cerlab.engine.registers import evaluation as register_runs
from cerlab.evaluate import choose, names_that_take
from cerlab.evaluate.physical import compiled
from cerlab.logic.ceql.parser import parse_ceql
from cerlab.logic.ceql.semantics import query_answers, query_valuations
from cerlab.logic.ceql.syntax import query_text
from cerlab.model.answer import by_end
from cerlab.model.clauses import AttributeWindow, EventWindow, Limit, TimeWindow, Window
from cerlab.model.event import with_values
from cerlab.testing import Shape
from cerlab.testing.choices import likely
from proofs_tests.differential.test_evaluators import agree, session_answers
from proofs_tests.differential.test_groups import case_of_groups
from proofs_tests.differential.test_waits import (
    AXIS,
    follow,
    plain,
    promise,
    taken_query,
    timed_events,
)
from proofs_tests.random_cases import Case, random_case
from proofs_tests.suite import Suite, random_suite


def throttle(rng: Random) -> Window:
    """A length that leaves out some ends of a few events."""
    widths = EventWindow(rng.randint(1, 5)), AttributeWindow(rng.choice((0.5, 1, 2, 4)), "t")
    return rng.choice((*widths, TimeWindow(rng.randint(1, 4) * 10**9)))


def throttled_case(rng: Random, shape: Shape) -> Case:
    """A random query under THROTTLE, and perhaps LIMIT."""
    case = random_case(rng, shape)
    limit = Limit(rng.choice((1, 2))) if rng.random() < 0.3 else None
    return Case(replace(case.ast, throttle=throttle(rng), limit=limit), case.stream)


@random_suite(20_000)
def test_evaluators_agree(rng: Random) -> bool | None:
    sample = throttled_case(rng, Shape(depth=3, events=8))
    assert parse_ceql(query_text(sample.ast))[0] == sample.ast
    return agree(sample)


@random_suite(4_000)
def test_sessions_go_on_from_states(rng: Random) -> bool:
    sample = throttled_case(rng, Shape(depth=2, events=14))
    expected = query_answers(sample.ast, sample.stream)
    answers = session_answers(sample, rng)
    assert sorted(answers, key=by_end) == expected, sample.describe()
    assert [A.end for A in answers] == [A.end for A in expected], sample.describe()
    return bool(expected)


def test_ends_that_come_too_soon_are_left_out_of_the_list(
    suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is given of a few events tells which ends of the next ones are listed."""
    for module in (register_runs, whole_stream):
        monkeypatch.setattr(module, "PART_OF_LISTED", 3)

    def case(rng: Random) -> bool:
        if likely(rng, 0.5):
            sample = throttled_case(rng, Shape(depth=2, events=12))
        else:
            drawn = case_of_groups(rng)
            events = [with_values(event, {"t": n // 2}) for n, event in enumerate(drawn.stream)]
            ast = replace(drawn.ast, throttle=rng.choice((EventWindow(2), AttributeWindow(2, "t"))))
            sample = Case(ast, type(drawn.stream)(events, time=drawn.stream.time))
        expected = query_answers(sample.ast, sample.stream)
        if len(expected) > 2_000:
            return False
        way = compiled(sample.query)
        answers = list(way.answers(sample.stream))
        assert sorted(answers, key=by_end) == expected, sample.describe()
        assert [A.end for A in answers] == [A.end for A in expected], sample.describe()
        assert way.count(sample.stream) == len(expected), sample.describe()
        return bool(expected)

    suite.run(case, deep_count=1_000)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * WHERE A WITHIN 9 EVENTS",
        "SELECT * WHERE (A OR A ; A) WITHIN 9 EVENTS",
        "SELECT * WHERE A ; A WITHIN 9 EVENTS",
        "A AS x ; A AS y FILTER x.v = y.v",
        "SELECT MAX * WHERE (A+ WITHIN 3 [v])",
        "SELECT * WHERE A{2} AS a FILTER SUM(a.v) = 2 WITHIN 9 EVENTS",
        "SELECT * WHERE A+ AS a FILTER SUM(a.v) > 0 WITHIN 9 EVENTS LIMIT 1",
        "MAX(A+ AS a WITHIN 3 [v]) FILTER SUM(a.v) > 0",
    ],
)
def test_the_compiled_engine_lists_the_ends_that_are_asked_for(text: str) -> None:
    stream = Stream.from_events([{"type": "A", "v": 1}] * 6)
    way = compiled(any_pattern(text))
    found = [*way.answers_at(stream, lambda ends: ends % 3 == 2)]
    assert {A.end for A in found} == {2, 5}
    every = [A for A in way.answers(stream) if A.end % 3 == 2]
    assert sorted(found, key=by_end) == sorted(every, key=by_end)


@random_suite(4_000)
def test_files_in_batches(rng: Random) -> bool:
    """The run of a file may hold answers back, also those of ends that are given."""
    sample = throttled_case(rng, Shape(depth=2, events=30))
    expected = query_answers(sample.ast, sample.stream)
    way = compiled(sample.query)
    run = way.run_of_file(sample.stream.time)
    assert run is not None
    whole, size = sample.stream, rng.choice((1, 3, 10))
    answers = []
    for n in range(0, len(whole), size):
        answers += [answer for part in run.push(whole[n : n + size]) for answer in part]
    answers += [answer for part in run.finish() for answer in part]
    assert sorted(answers, key=by_end) == expected, sample.describe()
    return bool(expected)


@random_suite(4_000)
def test_numbers_and_samples(rng: Random) -> bool:
    """``m[k]`` is the k-th of the iteration, by each way that lists or counts."""
    sample = throttled_case(rng, Shape(depth=3, events=10))
    matches = sample.query.run(sample.stream)
    for name in ("tecs", "compiled", "auto"):
        way = choose(sample.query, name)
        listed = [*way.answers(sample.stream)]
        access = way.by_number(sample.stream)
        assert access.total == len(listed) == way.count(sample.stream), sample.describe()
        assert [access.answer(k) for k in range(len(listed))] == listed, sample.describe()
        assert [*reversed(listed)] == [access.answer(k) for k in range(len(listed))][::-1]
    assert {*matches.sample(3, seed=1)} <= {*matches} if matches else True
    return bool(matches.count())


def throttled_wait(rng: Random, *, live: bool) -> Query:
    query = taken_query(rng, plain, live=live)
    return Query(replace(query.ast, throttle=throttle(rng)))


def test_answers_that_wait(suite: Suite) -> None:
    def case(rng: Random) -> bool:
        pattern = throttled_wait(rng, live=False)
        events = timed_events(rng, rng.randint(4, 11))
        stream = Stream(events, time=AXIS, until=promise(rng, events, pattern.ast))
        expected = query_answers(pattern.ast, stream)
        for name in names_that_take(pattern):
            got = [*choose(pattern, name).answers(stream)]
            assert sorted(got, key=by_end) == expected, (name, str(pattern), events, stream.until)
            assert choose(pattern, name).count(stream) == len(expected), (name, str(pattern))
        return bool(expected)

    suite.run(lambda rng: case(rng) or case(rng), deep_count=10_000)


def test_sessions_of_answers_that_wait(suite: Suite) -> None:
    """Each push and promise gives what the reference gives up to there, and did not give before."""

    def case(rng: Random) -> bool:
        pattern = throttled_wait(rng, live=True)
        return follow(rng, pattern, timed_events(rng, rng.randint(4, 11)), in_order=False)

    suite.run(lambda rng: case(rng) or case(rng), deep_count=10_000)


def test_deciders_are_exact_or_refuse() -> None:
    text = "SELECT * WHERE A PARTITION BY [k] THROTTLE 9 [t]"
    assert cerlab.satisfiable(text).holds
    assert cerlab.equivalent(text, text).holds
    assert not cerlab.equivalent(text, "SELECT * WHERE A PARTITION BY [k]").holds
    undecided = cerlab.contained(text, "SELECT * WHERE A PARTITION BY [k]")
    assert undecided.holds is None
    assert "THROTTLE" in str(undecided)


@random_suite(4_000, needs_answers=0.1)
def test_laws(rng: Random) -> bool:
    """The first end with answers is given, and two given ends of a key are d apart, or more."""
    sample = throttled_case(rng, Shape(depth=3, events=8))
    every = query_answers(replace(sample.ast, throttle=None), sample.stream)
    given = query_answers(sample.ast, sample.stream)
    ends = {A.end for A in given}
    assert [A for A in every if A.end in ends] == given, "answers of an end go together"
    assert given[:1] == every[:1], "the first is given"
    assert {V.end for V in query_valuations(sample.ast, sample.stream)} == ends
    return len(given) < len(every)


@pytest.mark.parametrize("evaluator", ["auto", "tecs", "compiled", "reference"])
@pytest.mark.parametrize("length", ["1 SECONDS", "1 [n]"])
@pytest.mark.parametrize("formula", ["A WITHIN 1 SECONDS", "(A WITHIN 1 SECONDS)", "A"])
def test_the_only_timestamp_is_the_time_of_every_window(
    formula: str, length: str, evaluator: Any
) -> None:
    events = [{"type": "A", "n": n, "t": datetime(2024, 1, 1, 0, 0, n)} for n in range(4)]
    query = f"SELECT * WHERE {formula} THROTTLE {length}"
    answers = cerlab.evaluate(query, events, evaluator=evaluator)
    assert [m.end for m in answers] == [0, 1, 2, 3]
