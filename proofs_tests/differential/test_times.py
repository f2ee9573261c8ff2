"""Moments and durations: evaluators, sessions, SREMO and texts agree with the oracle."""

from __future__ import annotations

from random import Random

import cerlab
from cerlab import parse_sremo, satisfies
from cerlab.logic.ceql.parser import parse_ceql
from cerlab.logic.ceql.syntax import query_text
from cerlab.model.answer import by_end
from cerlab.predicates.minterms import minterms
from cerlab.testing import Shape, random_predicate, random_sremo, random_sremo_events
from cerlab.testing.choices import likely
from proofs_tests.differential.test_evaluators import agree, session_answers
from proofs_tests.random_cases import random_case
from proofs_tests.suite import random_suite

TEMPORAL = Shape(temporal=True)


@random_suite(20_000)
def test_every_evaluator_agrees(rng: Random) -> bool | None:
    case = random_case(rng, TEMPORAL)
    text = query_text(case.ast)
    assert parse_ceql(text)[0] == case.ast, text
    found = agree(case)
    if found and case.ast.limit is None and likely(rng, 0.5):
        expected = cerlab.evaluate(case.query, case.stream)
        pushed = sorted(session_answers(case, rng), key=by_end)
        assert pushed == sorted(expected, key=by_end), case.describe()
    return found


@random_suite(20_000, needs_answers=0.3)
def test_sremo_agrees(rng: Random) -> bool:
    e = random_sremo(rng, TEMPORAL)
    assert parse_sremo(str(e)) == e
    events = random_sremo_events(rng, e, TEMPORAL)
    expected = cerlab.evaluate(e, events, evaluator="reference")
    assert cerlab.evaluate(e, events) == expected, (str(e), events)
    return bool(expected)


@random_suite(2_000)
def test_minterms_have_every_event(rng: Random) -> bool:
    """The deciders miss no kind of event, by moments and durations that are computed."""
    predicates = [random_predicate(rng, TEMPORAL) for _ in range(rng.randrange(1, 3))]
    symbols = {m.symbol for m in minterms(predicates)}
    events = [e for _ in range(5) for e in random_case(rng, TEMPORAL).stream]
    for event in events:
        vector = sum(1 << k for k, P in enumerate(predicates) if satisfies(event, P))
        assert vector in symbols, (predicates, event)
    return len(symbols) > 1
