"""Queries with windows inside and waits, as `cerlab.testing` draws them, by all evaluators."""

from __future__ import annotations

import warnings
from collections import Counter
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

import cerlab
from cerlab.errors import CerlabWarning, Unsupported
from cerlab.logic.cel import syntax as cel
from cerlab.logic.ceql.parser import parse_ceql
from cerlab.logic.ceql.syntax import CeqlQuery, query_text
from cerlab.model.answer import by_end
from cerlab.model.clauses import AttributeWindow, TimeWindow
from cerlab.model.stream import Stream, time_axis
from cerlab.testing import Case, Shape, cases, random_events, random_query
from proofs_tests.suite import Suite

TIMED = Shape(depth=2, timed=True)


def is_timed(query: CeqlQuery) -> bool:
    return bool(cel.windows(query.formula) or cel.waits(query.formula))


def test_every_evaluator_that_takes_it_agrees(suite: Suite) -> None:
    def case(rng: Random) -> bool:
        query = random_query(rng, TIMED)
        while not is_timed(query):
            query = random_query(rng, TIMED)
        text = query_text(query)
        assert parse_ceql(text)[0] == query, text
        stream = Stream(random_events(rng, query.formula, TIMED), time=time_axis("t", "s"))
        until = None if rng.random() < 0.5 else "end"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CerlabWarning)
            expected = list(cerlab.evaluate(text, stream, evaluator="reference", until=until))
            for evaluator in ("automaton", "tecs", "registers", "compiled", "lists"):
                try:
                    found = list(cerlab.evaluate(text, stream, evaluator=evaluator, until=until))
                except Unsupported:
                    continue
                assert found == expected, (evaluator, text, list(stream), until)
        return bool(expected)

    suite.run(case, deep_count=20_000, needs_answers=0.3)


def test_both_operators_are_drawn_often() -> None:
    drawn = Counter(
        type(phi)
        for seed in range(300)
        for phi in cel.subformulas(random_query(Random(seed), Shape(timed=True)).formula)
    )
    assert drawn[cel.Within] > 80
    assert drawn[cel.Wait] > 40
    plain = [random_query(Random(seed), Shape()) for seed in range(300)]
    assert not any(map(is_timed, plain)), "on request only"


@given(st.booleans().flatmap(lambda times: cases(TIMED, times=times)))
@settings(max_examples=25, deadline=None)
def test_cases_are_ones_that_anyone_can_ask(case: Case) -> None:
    """Windows of a case are on one axis, which its events have: the reference answers each."""
    query = parse_ceql(case.query)[0]
    lengths = (query.window, *cel.windows(query.formula), *cel.waits(query.formula))
    kinds = {type(each) for each in lengths} & {AttributeWindow, TimeWindow}
    assert len(kinds) < 2, query
    assert sorted(case.answers, key=by_end) == case.answers
