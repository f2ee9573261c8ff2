"""A match of a SREMO, one change, and the blame: it is true, and one repair of it is enough."""

from __future__ import annotations

from random import Random

from cerlab import IllFormed, Sremo, Why
from cerlab.logic.sremo import check_sremo
from cerlab.testing import Shape
from cerlab.why import why
from proofs_tests.suite import Suite
from proofs_tests.why.blames import Blames
from proofs_tests.why.sremo_facts import is_true
from proofs_tests.why.sremo_mending import mend
from proofs_tests.why.sremo_mutations import MUTATIONS, Question
from proofs_tests.why.test_sremo_agreement import random_question

SHAPE = Shape(depth=3, events=6)


def wrong_question(rng: Random, shape: Shape) -> Question | None:
    """A question that a match became by one change, and that the reference denies."""
    for _ in range(40):
        e, stream, answers = random_question(rng, shape)
        if not answers:
            continue
        right = Question(e, stream, rng.choice(answers).positions)
        wrong = rng.choice(MUTATIONS)(rng, right)
        if wrong != right and is_well_formed(wrong.e) and not wrong.holds():
            return wrong
    return None


def is_well_formed(e: Sremo) -> bool:
    """Return whether a change of one side of & writes a register that the other side reads."""
    try:
        check_sremo(e)
    except IllFormed:
        return False
    return True


def explain(q: Question) -> Why:
    return why(q.e, q.stream, q.positions)


BLAMES = Blames(lambda rng: wrong_question(rng, SHAPE), explain, is_true, mend)


def test_one_change_is_blamed(suite: Suite) -> None:
    BLAMES.check(suite)
