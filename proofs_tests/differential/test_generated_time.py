"""Queries with windows inside and waits, as `cerlab.testing` draws them, by all evaluators."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cerlab
from cerlab import CerlabWarning, Unsupported
from cerlab.logic.cel import syntax as cel
from cerlab.logic.ceql.parser import parse_ceql
from cerlab.logic.ceql.syntax import CeqlQuery, query_text
from cerlab.model.answer import by_end
from cerlab.model.clauses import AttributeWindow, Consume, TimeWindow
from cerlab.model.stream import Stream, time_axis
from cerlab.testing import Case, Shape, cases, random_events, random_query
from proofs_tests.suite import Suite

TIMED = Shape(depth=2, timed=True)


def is_timed(query: CeqlQuery) -> bool:
    return bool(cel.windows(query.formula) or cel.waits(query.formula))


def test_every_evaluator_that_takes_it_agrees(suite: Suite) -> None:
    """Registers and the compiled engine take most, and valuations are those of the reference."""
    asked, taken = Counter[str](), Counter[str]()

    def case(rng: Random) -> bool:
        query = random_query(rng, TIMED)
        while not is_timed(query):
            query = random_query(rng, TIMED)
        text = query_text(query)
        assert parse_ceql(text)[0] == query, text
        stream = Stream(random_events(rng, query.formula, TIMED), time=time_axis("t", "s"))
        until = None if rng.random() < 0.5 else "end"
        with warnings.catch_warnings(action="ignore", category=CerlabWarning):
            expected = list(cerlab.evaluate(text, stream, evaluator="reference", until=until))
            for evaluator in ("automaton", "tecs", "registers", "compiled", "lists"):
                # look-backs inside a formula are the reference's alone
                counted = not cel.look_backs(query.formula)
                asked[evaluator] += counted
                try:
                    found = list(cerlab.evaluate(text, stream, evaluator=evaluator, until=until))
                except Unsupported:
                    continue
                taken[evaluator] += counted
                assert found == expected, (evaluator, text, list(stream), until)
            promised = stream.up_to(until)
            meant = cerlab.valuations(text, promised, evaluator="reference")
            assert labelled_by_a_machine(text, promised) in (meant, None), (text, promised)
        return bool(expected)

    suite.run(case, deep_count=20_000, needs_answers=0.3)
    for evaluator in ("registers", "compiled"):
        assert taken[evaluator] >= 0.8 * asked[evaluator]


def labelled_by_a_machine(text: str, stream: Stream) -> set[cerlab.Valuation] | None:
    """The valuations of the compiled engine; None where it does not take the query."""
    try:
        return cerlab.valuations(text, stream, evaluator="compiled")
    except Unsupported:
        return None


def test_the_operators_are_drawn_often() -> None:
    drawn = Counter(
        type(phi)
        for seed in range(300)
        for phi in cel.subformulas(random_query(Random(seed), Shape(timed=True)).formula)
    )
    assert drawn[cel.Within] > 80
    assert drawn[cel.Wait] > 40
    assert drawn[cel.Lookback] > 40
    plain = [random_query(Random(seed), Shape()) for seed in range(300)]
    assert not any(map(is_timed, plain)), "on request only"


DRAWS = 1_000


def drawn_with(query: CeqlQuery) -> list[str]:
    """The clauses and operators that a query has beside or around a wait; empty without one."""
    if not cel.waits(query.formula):
        return []
    around = [
        type(phi).__name__
        for phi in cel.subformulas(query.formula)
        if any(isinstance(child, cel.Wait) for child in cel.children(phi))
    ]
    clauses = {
        "PARTITION BY": query.partition,
        "WITHIN": query.window,
        "SELECT": query.strategy,
        "CONSUME BY": query.consume is not Consume.NONE,
    }
    return [*around, *(name for name, clause in clauses.items() if clause)]


def draws_all(query_of: Any = random_query) -> bool:
    """Whether waits are drawn with each clause, and under the operators that matter to them."""
    queries = [query_of(Random(seed), TIMED) for seed in range(DRAWS)]
    drawn = Counter(words for query in queries for words in drawn_with(query))
    often = ("PARTITION BY", "WITHIN", "SELECT", "CONSUME BY", "Unless")
    sometimes = ("Seq", "Or", "Within")
    return all(drawn[words] >= 5 for words in often) and all(map(drawn.__getitem__, sometimes))


def test_waits_are_drawn_with_each_clause_and_as_absence() -> None:
    assert draws_all()


@pytest.mark.parametrize(
    "never",
    [
        {"partition": ()},
        {"window": None},
        {"strategy": None},
        {"consume": Consume.NONE},
        {"formula": cel.Atom("A")},
    ],
    ids=lambda never: next(iter(never)),
)
def test_a_generator_that_never_draws_waits_with_it_is_seen(never: dict[str, Any]) -> None:
    def without(rng: Random, shape: Shape) -> CeqlQuery:
        query = random_query(rng, shape)
        return replace(query, **never) if cel.waits(query.formula) else query

    assert not draws_all(without)


@given(st.booleans().flatmap(lambda times: cases(TIMED, times=times)))
@settings(max_examples=25)
def test_cases_are_ones_that_anyone_can_ask(case: Case) -> None:
    """Windows of a case are on one axis, which its events have: the reference answers each."""
    query = parse_ceql(case.query)[0]
    lengths = (query.window, *cel.windows(query.formula), *cel.waits(query.formula))
    kinds = {type(each) for each in lengths} & {AttributeWindow, TimeWindow}
    assert len(kinds) < 2, query
    assert sorted(case.answers, key=by_end) == case.answers
