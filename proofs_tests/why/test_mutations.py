"""An answer, one change, and the blame: its statements are true, and one repair of it is enough."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from cerlab import IllFormed, Query, Unsupported, UsageError, Why
from cerlab.logic.ceql.parser import Source
from cerlab.logic.ceql.semantics import query_answers
from cerlab.model.clauses import Consume
from cerlab.testing import Shape
from cerlab.why import why
from proofs_tests.random_cases import Case, random_case
from proofs_tests.suite import Suite
from proofs_tests.why.blames import Blames
from proofs_tests.why.facts import is_true
from proofs_tests.why.mending import mend
from proofs_tests.why.mutations import (
    MUTATIONS,
    TIMED_MUTATIONS,
    Question,
    has_strategy,
    question,
)
from proofs_tests.why.test_agreement import some_promise


def wrong_question(rng: Random, shape: Shape) -> Question | None:
    """A question that an answer became by one change, and that the reference denies."""
    for _ in range(40):
        case = random_case(rng, shape)
        if shape.timed:
            case = Case(case.ast, case.stream.up_to(some_promise(rng, case)))
        answers = query_answers(case.ast, case.stream)
        if not answers:
            continue
        m = rng.choice(answers)
        right = question(case.ast, case.stream, m, interval=not m.positions or rng.random() < 0.5)
        mutations = (*MUTATIONS, *TIMED_MUTATIONS) if shape.timed else MUTATIONS
        wrong = rng.choice(mutations)(rng, right, m)
        if has_strategy(wrong.ast.formula):
            wrong = replace(wrong, ast=replace(wrong.ast, consume=Consume.NONE))
        if wrong != right and not (shape.timed and is_refused(wrong)) and not wrong.holds():
            return wrong
    return None


def is_refused(q: Question) -> bool:
    """Whether a wait may take an answer away once it is over, or times have no clock in common."""
    try:
        explain(q)
    except (Unsupported, UsageError, IllFormed):
        return True
    return False


def explain(q: Question) -> Why:
    query = Query(q.ast, source=Source("", {}, ()))
    return why(query, q.stream, q.positions, q.start, q.end)


def blames(shape: Shape) -> Blames[Question]:
    return Blames(lambda rng: wrong_question(rng, shape), explain, is_true, mend)


def test_one_change_is_blamed(suite: Suite) -> None:
    blames(Shape(depth=2, events=6)).check(suite)


def test_one_change_is_blamed_in_the_whole_family(suite: Suite) -> None:
    blames(Shape(depth=2, events=6, family=True)).check(suite)


def test_one_change_is_blamed_where_answers_wait(suite: Suite) -> None:
    blames(Shape(depth=2, events=6, timed=True)).check(suite)
