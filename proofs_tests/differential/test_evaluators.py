"""Every pair of evaluators that takes a query gives the same answers."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import pytest

import cerlab
from cerlab import Formula, count, evaluate
from cerlab.api import Session
from cerlab.engine import tecs_run as evaluation
from cerlab.evaluate import EvaluatorName, answers_of, valuations_of
from cerlab.logic.cel.syntax import Filter, defined_labels, subformulas
from cerlab.logic.ceql.parser import parse_ceql
from cerlab.logic.ceql.semantics import query_answers, query_valuations
from cerlab.logic.ceql.syntax import SelectItem, query_text, selected_formula
from cerlab.model.answer import by_end
from cerlab.model.clauses import Consume, Strategy
from cerlab.model.stream import Stream
from cerlab.predicates.condition import On
from cerlab.predicates.syntax import if_of_stream
from cerlab.testing import STREAMS, Shape, random_predicate, random_query, with_limit
from cerlab.testing.choices import likely
from proofs_tests.random_cases import Case, random_case
from proofs_tests.suite import Suite, random_suite

WITH_LABELS: tuple[EvaluatorName, ...] = ("compiled", "automaton")


def agree(case: Case) -> bool | None:
    """Oracle, all runs, tECS, compiled engine, the count, and the valuations by two of them."""
    query = case.query
    expected = query_answers(case.ast, case.stream)
    for evaluator in ("automaton", "tecs", "compiled"):
        answers = list(answers_of(query, case.stream, evaluator))
        assert len(answers) == len(set(answers)), f"{evaluator} repeats\n{case.describe()}"
        require(sorted(answers, key=by_end) == expected, evaluator, case)
        ends = [answer.end for answer in answers]
        assert ends == sorted(ends)
    assert count(query, case.stream) == len(expected), case.describe()
    valuations = set(query_valuations(case.ast, case.stream))
    for by in WITH_LABELS:
        try:
            labels = list(valuations_of(query, case.stream, by))
        except cerlab.ResourceLimit:  # one case in ten thousand has too many labelled runs
            return None
        assert len(labels) == len(set(labels)), f"{by} repeats\n{case.describe()}"
        require(set(labels) == valuations, f"labels of {by}", case)
    return bool(expected)


def session_answers(case: Case, rng: Random) -> list[cerlab.ComplexEvent]:
    """The answers of sessions that events are pushed to, one, a few or many at a time."""
    query, stream = case.query, case.stream
    session = Session(query, stream.time, None)
    answers: list[cerlab.ComplexEvent] = []
    at = 0
    while at < len(stream):
        batch = stream[at : at + rng.choice((1, 1, 2, 3, 4, 99))]
        answers += session.push(batch)
        at += len(batch)
        if likely(rng, 0.2):
            session = Session(query, stream.time, session.state())
    return answers


def test_sessions_give_the_same_however_events_are_pushed(
    suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluation, "FEW", 3)
    shape = Shape(depth=2, events=16)

    def case(rng: Random) -> bool | None:
        sample = random_case(rng, shape)
        if count(sample.query, sample.stream) > 2_000:
            return None
        expected = evaluate(sample.query, sample.stream, evaluator="tecs")
        answers = session_answers(sample, rng)
        require(sorted(answers, key=by_end) == expected, "session", sample)
        require([answer.end for answer in answers] == [A.end for A in expected], "order", sample)
        return bool(expected)

    suite.run(case, deep_count=4_000)


def require(agrees: bool, what: str, case: Case) -> None:
    """Fail with the case, not with a diff of two long lists, which may take minutes."""
    if not agrees:
        raise AssertionError(f"{what} differs\n{case.describe()}")


def test_reference_automaton_and_tecs_agree(suite: Suite) -> None:
    suite.run(lambda rng: agree(random_case(rng)), deep_count=20_000)


def test_they_agree_on_larger_formulas_and_longer_streams(suite: Suite) -> None:
    shape = Shape(depth=4, events=8)
    suite.run(lambda rng: agree(random_case(rng, shape)), deep_count=4_000)


@random_suite(20_000)
def test_they_agree_on_the_whole_family(rng: Random) -> bool | None:
    """AND, ALL, UNLESS, STRICT(..); every evaluator refuses a formula without an automaton.

    Runs of an automaton also list what outermost filters test.
    """
    shape = Shape(depth=3, events=6, family=True)
    sample = random_case(rng, shape)
    if sample.query.machine_kind == "automaton":
        return agree(sample)
    if sample.query.is_in_context:  # test_inside compares it
        return None
    is_listed = sample.query.machine_kind == "listed"
    refusing: tuple[EvaluatorName, ...] = ("tecs",) if is_listed else ("automaton", "tecs")
    for evaluator in refusing:
        with pytest.raises(cerlab.Unsupported):
            evaluate(sample.query, sample.stream, evaluator=evaluator)
    return bool(query_answers(sample.ast, sample.stream))


@random_suite(4_000, needs_answers=0.1)
def test_limit_gives_the_same_answers_of_each_end(rng: Random) -> bool:
    sample = random_case(rng, Shape(depth=3, events=8))
    limit_case = Case(with_limit(sample.ast, rng.choice((0, 1, 2, 5))), sample.stream)
    agree(limit_case)
    expected = query_answers(limit_case.ast, sample.stream)
    require(
        sorted(session_answers(limit_case, rng), key=by_end) == expected,
        "session",
        limit_case,
    )
    return len(expected) < len(query_answers(sample.ast, sample.stream))


@random_suite(4_000, needs_answers=0.3)
def test_labels_of_one_stream(rng: Random) -> bool | None:
    """``S>x`` in SELECT, PROJECT and filters, by every evaluator; and its text reads back."""
    sample = random_case(rng, Shape(depth=2))
    names = sorted(defined_labels(sample.ast.formula)) or ["A"]
    items = tuple(
        SelectItem(x, stream=rng.choice((None, *STREAMS))) for x in names for _ in range(2)
    )
    predicate = if_of_stream(rng.choice(STREAMS), random_predicate(rng, Shape()))
    formula: Formula = Filter(sample.ast.formula, On(rng.choice(names), predicate))
    if likely(rng, 0.5):
        formula = selected_formula(replace(sample.ast, formula=formula, items=items))
        ast = replace(sample.ast, formula=formula, items=None)
    else:
        ast = replace(sample.ast, formula=formula, items=items)
    streams = [replace(t, stream=rng.choice((None, *STREAMS))) for t in sample.stream]
    assert parse_ceql(query_text(ast))[0] == ast
    return agree(Case(ast, Stream(streams, time=sample.stream.time)))


def test_the_generator_covers_every_operator_and_clause() -> None:
    counts: Counter[str] = Counter()
    for seed in range(3_000):
        query = random_query(Random(seed))
        counts.update(type(phi).__name__ for phi in subformulas(query.formula))
        if query.strategy is not None:
            counts[query.strategy.name] += 1
        counts["items"] += query.items is not None
        counts["streams"] += bool(query.streams)
        counts["partition"] += bool(query.partition)
        counts[type(query.window).__name__] += 1
        counts[query.consume.name] += query.consume is not Consume.NONE
    operators = (
        "Atom",
        "Not",
        "As",
        "Filter",
        "Or",
        "Seq",
        "Concat",
        "Plus",
        "ConcatPlus",
        "Count",
        "Project",
    )
    strategies = tuple(strategy.name for strategy in Strategy)
    windows = ("EventWindow", "AttributeWindow", "TimeWindow", "NoneType")
    clauses = ("items", "streams", "partition", "ANY", "PARTITION")
    for name in (*operators, *strategies, *windows, *clauses):
        assert counts[name] >= 100, (name, counts[name])
