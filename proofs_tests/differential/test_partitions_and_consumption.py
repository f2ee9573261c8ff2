"""Few keys, 10 to 35 events, windows in time, every CONSUME BY: where partitions meet in time.

Random queries reach such streams rarely: a consumed event of one partition matters to another only
if both have open runs, and time only if the window is wider than the gaps between events of a key.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from random import Random

import cerlab
from cerlab import ComplexEvent, Event
from cerlab.engine.reference import driver
from cerlab.engine.reference.runs import RunsOfAnswer
from cerlab.evaluate import answers_of
from cerlab.logic.ceql.semantics import query_answers
from cerlab.logic.ceql.syntax import CeqlQuery
from cerlab.model.answer import by_end
from cerlab.model.clauses import AttributeWindow, Consume, TimeWindow
from cerlab.model.stream import Stream, time_axis
from cerlab.testing import Shape, random_formula
from proofs_tests.random_cases import Case
from proofs_tests.suite import random_suite


def interleaved_case(rng: Random) -> Case:
    """A small formula by key, within a window in time, on a stream where keys interleave."""
    ast = CeqlQuery(random_formula(rng, Shape(depth=rng.choice((1, 1, 2)))))
    width = rng.choice((0, 3, 8, 20, 100))
    ast = replace(
        ast,
        partition=(("k",),),
        consume=rng.choice(list(Consume)),
        window=rng.choice((AttributeWindow(width, "t"), TimeWindow(width * 10**9))),
    )
    time, keys, events = 0, rng.choice((2, 3)), []
    for _ in range(rng.randrange(10, 36 if width < 20 else 19)):
        time += rng.choice((0, 1, 1, 3))
        attributes = {"t": time, "k": rng.randrange(keys), "v": rng.randrange(2)}
        events.append(Event(rng.choice("AABBC"), attributes))
    return Case(ast, Stream(events, time=time_axis("t", "s")))


def in_pieces(case: Case, rng: Random) -> list[cerlab.ComplexEvent]:
    """The answers of sessions, each resumed from the state of the one before."""
    events, answers = case.stream.events, []
    session = case.query.open(time="t", unit="s")
    cuts = sorted(rng.randrange(len(events) + 1) for _ in range(rng.randrange(4)))
    for start, end in zip([0, *cuts], [*cuts, len(events)], strict=True):
        answers += session.push(events[start:end])
        session = case.query.open(time="t", unit="s", state=session.state())
    return answers


def neighbours(answer: ComplexEvent, rng: Random) -> set[ComplexEvent]:
    """The answer, and others that are almost the same: of one more, one less, another start."""
    flipped = answer.positions and {rng.choice(answer.positions)}
    more = {rng.randrange(answer.start, answer.end + 1)}
    changed = [set(answer.positions) ^ set(each) for each in ((), flipped, more)]
    starts = (answer.start, max(answer.start - 1, 0))
    return {ComplexEvent(i, answer.end, tuple(sorted(D))) for i in starts for D in changed}


@random_suite(4_000)
def test_the_runs_that_give_an_answer(rng: Random) -> bool | None:
    """An answer has such runs, and of its neighbours those that are answers."""
    sample = interleaved_case(rng)
    if sample.ast.consume is not Consume.NONE:
        sample = Case(replace(sample.ast, consume=Consume.NONE), sample.stream)
    try:
        expected = query_answers(sample.ast, sample.stream)
    except cerlab.ResourceLimit:
        return None
    plan = sample.query.plan
    near = {c for answer in expected[:6] for c in neighbours(answer, rng)}
    for candidate in near:
        recogniser = partial(RunsOfAnswer, plan.cea, candidate)
        runs = driver.run(plan, recogniser, sample.stream, sample.stream.time)
        found = list(runs)
        assert found == [candidate] * (candidate in expected), (candidate, sample.describe())
    return bool(expected) and not near <= set(expected)


@random_suite(10_000)
def test_partitions_that_interleave_agree(rng: Random) -> bool | None:
    sample = interleaved_case(rng)
    try:
        expected = query_answers(sample.ast, sample.stream)
    except cerlab.ResourceLimit:
        return None
    for evaluator in ("automaton", "tecs", "compiled"):
        answers = sorted(answers_of(sample.query, sample.stream, evaluator), key=by_end)
        assert answers == expected, (evaluator, sample.describe())
    assert sorted(in_pieces(sample, rng), key=by_end) == expected, sample.describe()
    return bool(expected)
