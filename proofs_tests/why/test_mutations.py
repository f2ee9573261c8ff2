"""An answer, one change, and the blame: what is said is true, and one repair of it is enough."""

from __future__ import annotations

import json
from dataclasses import replace
from random import Random

from cerlab.api import Query
from cerlab.logic.ceql.parser import Source
from cerlab.logic.ceql.semantics import query_answers
from cerlab.model.clauses import Consume
from cerlab.testing import Shape
from cerlab.why import Why, why
from cerlab.why.encoding import why_to_json
from proofs_tests.random_cases import random_case
from proofs_tests.suite import Suite
from proofs_tests.why.facts import check_facts
from proofs_tests.why.mending import mended
from proofs_tests.why.mutations import MUTATIONS, Question, has_strategy, question

RIGHT = 0.95
"""The share of the blames of which one repair alone has to make the positions match."""


def changed(rng: Random, shape: Shape) -> Question | None:
    """A question that an answer became by one change, and that the reference denies."""
    for _ in range(40):
        drawn = random_case(rng, shape)
        answers = query_answers(drawn.ast, drawn.stream)
        if not answers:
            continue
        m = rng.choice(answers)
        asked = question(drawn.ast, drawn.stream, m, interval=not m.positions or rng.random() < 0.5)
        made = rng.choice(MUTATIONS)(rng, asked, m)
        if has_strategy(made.ast.formula):
            made = replace(made, ast=replace(made.ast, consume=Consume.NONE))
        if made != asked and not made.holds():
            return made
    return None


def explained(q: Question) -> Why:
    query = Query(q.ast, source=Source("", {}, ()))
    return why(query, q.stream, q.positions, q.start, q.end)


def is_right(q: Question, found: Why) -> bool:
    """Whether one of the repairs that are said to be enough makes the positions match."""
    return any(each.holds() for repair in found.repairs for each in mended(q, repair))


def blame(suite: Suite, shape: Shape) -> None:
    """Every statement is true, and nearly every blame has one repair that is enough."""
    asked: list[bool] = []

    def case(rng: Random) -> bool:
        q = changed(rng, shape)
        if q is None:
            return False
        found = explained(q)
        assert not found.holds, found
        assert found.failure is not None
        check_facts(q, found)
        assert json.loads(json.dumps(why_to_json(found)))["holds"] is False
        assert str(found.failure) in str(found)
        asked.append(is_right(q, found))
        return True

    suite.run(case, deep_count=2_000)
    assert sum(asked) >= RIGHT * len(asked), f"{sum(asked)} right of {len(asked)}"


def test_one_change_is_blamed(suite: Suite) -> None:
    blame(suite, Shape(depth=2, events=6))


def test_one_change_is_blamed_in_the_whole_family(suite: Suite) -> None:
    blame(suite, Shape(depth=2, events=6, family=True))
