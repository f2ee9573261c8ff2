"""Every repair that is offered alone is enough: carried out, the reference finds the answer."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

from cerlab import Why
from cerlab.model.clauses import Consume, EventWindow
from cerlab.testing import Shape
from proofs_tests.suite import Suite, random_suite
from proofs_tests.why import mending, sremo_mending
from proofs_tests.why import test_first_order as first_order
from proofs_tests.why import test_mutations as cel
from proofs_tests.why import test_sremo_mutations as sremo
from proofs_tests.why.mutations import Question, has_strategy

SHAPE = Shape(depth=2, events=6)


def narrow(rng: Random, q: Question) -> Question:
    """The question with one clause more, which a repair of the formula has to pass too."""
    ast = q.ast
    match rng.randrange(3):
        case 0 if not has_strategy(ast.formula):
            ast = replace(ast, consume=rng.choice((Consume.ANY, Consume.PARTITION)))
        case 1:
            ast = replace(ast, window=EventWindow(rng.randrange(3)))
        case _:
            pass
    return replace(q, ast=ast)


def all_right(q: Any, explanation: Why, questions_of: Any) -> bool:
    for repair in explanation.repairs:
        enough = any(each.holds() for each in questions_of(q, repair))
        assert enough, f"{repair}\nof {q}\n{explanation}"
    return bool(explanation.repairs)


def of_a_query(rng: Random, shape: Shape) -> bool:
    q = cel.wrong_question(rng, shape)
    if q is None or (q := narrow(rng, q)).holds():
        return False
    return all_right(q, cel.explain(q), mending.mend)


def test_repairs_of_queries(suite: Suite) -> None:
    suite.run(lambda rng: of_a_query(rng, SHAPE), deep_count=2_000)


def test_repairs_in_the_whole_family(suite: Suite) -> None:
    shape = replace(SHAPE, family=True)
    suite.run(lambda rng: of_a_query(rng, shape), deep_count=2_000)


@random_suite(2_000)
def test_repairs_of_first_order_queries(rng: Random) -> bool:
    q = first_order.wrong_question(rng)
    if q is None:
        return False
    explanation = first_order.explain(q.ast, q.stream, q.positions, q.start, q.end)
    return all_right(q, explanation, first_order.mended_and_well_formed)


@random_suite(2_000)
def test_repairs_of_sremo(rng: Random) -> bool:
    q = sremo.wrong_question(rng, sremo.SHAPE)
    return q is not None and all_right(q, sremo.explain(q), sremo_mending.mend)
