"""Conditions on groups: the evaluators, and a second reading of their values, agree."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import cerlab
from cerlab import evaluate
from cerlab.api.sessions import Session
from cerlab.evaluate import answers_of, names_that_take, valuations_of
from cerlab.logic.cel import syntax as cel
from cerlab.logic.ceql.semantics import query_answers, query_valuations
from cerlab.model.answer import by_end
from cerlab.model.clauses import Strategy
from cerlab.model.event import Event
from cerlab.model.stream import Stream
from cerlab.testing import Shape, random_group_condition
from cerlab.testing.choices import likely
from proofs_tests.differential.test_evaluators import require
from proofs_tests.random_cases import Case, random_case
from proofs_tests.suite import Suite

ODD = (None, float("nan"), True, "a", 2**63, 1.5, 2**53, 2.0**53, float("inf"))
"""Values of events that conditions on groups tell apart, or leave out."""


def case_of_groups(rng: Random) -> Case:
    """Return a query whose outermost filters are conditions on groups, and a stream.

    A case without answers is often drawn again.
    """
    case = _drawn(rng)
    while likely(rng, 0.5) and not query_answers(case.ast, case.stream):
        case = _drawn(rng)
    return case


def _drawn(rng: Random) -> Case:
    case = random_case(rng, Shape(depth=2, events=7))
    ast = case.ast
    if likely(rng, 0.6):
        ast = replace(ast, window=None, strategy=None)
    labels = sorted({*cel.defined_labels(ast.formula), *("xyz" if likely(rng, 0.05) else "")})
    formula: cel.Formula = ast.formula
    if not labels:
        formula, labels = cel.Plus(cel.As(cel.Atom("A"), "x")), ["A", "x"]
    if likely(rng, 0.4):
        formula = cel.As(cel.Plus(formula), "x")
        labels = [*labels, "x", "x", "x"]
    if likely(rng, 0.15):
        formula = cel.Select(rng.choice(list(Strategy)), formula)
    for _ in range(1 + likely(rng, 0.1)):
        formula = cel.Filter(formula, random_group_condition(rng, labels))
    events = [_with_odd_values(rng, event) for event in case.stream]
    return Case(replace(ast, formula=formula), Stream(events, time=case.stream.time))


def _with_odd_values(rng: Random, event: Event) -> Event:
    names = [name for name in event.attributes if name in ("v", "w") and likely(rng, 0.04)]
    odd = {name: rng.choice(ODD) for name in names}
    return Event(event.type, {**event.attributes, **odd}, event.stream)


def agree(rng: Random) -> bool | None:
    """All that take a query give the answers and the valuations of the reference."""
    case = case_of_groups(rng)
    expected = query_answers(case.ast, case.stream)
    valuations = set(query_valuations(case.ast, case.stream))
    if len(valuations) > 3_000:
        return None
    takers = names_that_take(case.query)
    assert "compiled" in takers, case.describe()
    for name in takers:
        if name == "reference":
            continue
        answers = list(answers_of(case.query, case.stream, name))
        require(len(answers) == len(set(answers)), f"{name} repeats", case)
        require(sorted(answers, key=by_end) == expected, name, case)
        require([A.end for A in answers] == [A.end for A in expected], f"order of {name}", case)
        if name in ("tecs", "lists"):  # which give no labels
            continue
        labels = list(valuations_of(case.query, case.stream, name))
        require(len(labels) == len(set(labels)), f"{name} repeats labels", case)
        require(set(labels) == valuations, f"labels of {name}", case)
    require(cerlab.count(case.query, case.stream) == len(expected), "count", case)
    return bool(expected)


def test_all_that_take_a_query_agree_with_the_reference(suite: Suite) -> None:
    suite.run(agree, deep_count=20_000)


def test_sessions_give_the_same_however_events_are_pushed(suite: Suite) -> None:
    def case(rng: Random) -> bool | None:
        sample = case_of_groups(rng)
        query, stream = sample.query, sample.stream
        expected = evaluate(query, stream, evaluator="reference")
        try:
            session = Session(query, stream.time, None)
        except cerlab.Unsupported:
            return None
        answers: list[cerlab.ComplexEvent] = []
        at = 0
        while at < len(stream):
            batch = stream[at : at + rng.choice((1, 1, 2, 3, 99))]
            answers += session.push(batch)
            at += len(batch)
            if likely(rng, 0.3):
                session = Session(query, stream.time, session.state())
        require(sorted(answers, key=by_end) == expected, "session", sample)
        return bool(expected)

    suite.run(case, deep_count=4_000)
