"""An answer, one change, and the blame: what is said is true, and one repair of it is enough."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from cerlab.api import Query
from cerlab.logic.ceql.parser import Source
from cerlab.logic.ceql.semantics import query_answers
from cerlab.model.clauses import Consume
from cerlab.testing import Shape
from cerlab.why import Why, why
from proofs_tests.random_cases import random_case
from proofs_tests.suite import Suite
from proofs_tests.why.blames import Blames
from proofs_tests.why.facts import check_facts
from proofs_tests.why.mending import mend
from proofs_tests.why.mutations import MUTATIONS, Question, has_strategy, question


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


def blames(shape: Shape) -> Blames[Question]:
    return Blames(lambda rng: changed(rng, shape), explained, check_facts, mend)


def test_one_change_is_blamed(suite: Suite) -> None:
    blames(Shape(depth=2, events=6)).check(suite)


def test_one_change_is_blamed_in_the_whole_family(suite: Suite) -> None:
    blames(Shape(depth=2, events=6, family=True)).check(suite)
