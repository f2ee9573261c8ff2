"""A match of a SREMO, one change, and the blame: it is true, and one repair of it is enough."""

from __future__ import annotations

from random import Random

from cerlab.errors import IllFormed
from cerlab.logic.sremo import Sremo, check_sremo
from cerlab.testing import Shape
from cerlab.why import Why, why
from proofs_tests.suite import Suite
from proofs_tests.why.blames import Blames
from proofs_tests.why.sremo_facts import check_facts
from proofs_tests.why.sremo_mending import mend
from proofs_tests.why.sremo_mutations import MUTATIONS, Question
from proofs_tests.why.test_sremo_agreement import drawn

SHAPE = Shape(depth=3, events=6)


def changed(rng: Random, shape: Shape) -> Question | None:
    """A question that a match became by one change, and that the reference denies."""
    for _ in range(40):
        e, stream, shown = drawn(rng, shape)
        if not shown:
            continue
        asked = Question(e, stream, rng.choice(shown).positions)
        made = rng.choice(MUTATIONS)(rng, asked)
        if made != asked and is_well_formed(made.e) and not made.holds():
            return made
    return None


def is_well_formed(e: Sremo) -> bool:
    """What changes one side of & may write what the other side uses."""
    try:
        check_sremo(e)
    except IllFormed:
        return False
    return True


def explained(q: Question) -> Why:
    return why(q.e, q.stream, q.positions)


BLAMES = Blames(lambda rng: changed(rng, SHAPE), explained, check_facts, mend)


def test_one_change_is_blamed(suite: Suite) -> None:
    BLAMES.check(suite)
