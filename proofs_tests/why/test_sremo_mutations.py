"""A match of a SREMO, one change, and the blame: it is true, and one repair of it is enough."""

from __future__ import annotations

import json
from random import Random

from cerlab.errors import IllFormed
from cerlab.logic.sremo import Sremo, check_sremo
from cerlab.testing import Shape
from cerlab.why import Why, why
from cerlab.why.encoding import why_to_json
from proofs_tests.suite import Suite
from proofs_tests.why.sremo_facts import check_facts
from proofs_tests.why.sremo_mending import mended
from proofs_tests.why.sremo_mutations import MUTATIONS, Question
from proofs_tests.why.test_mutations import RIGHT
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


def is_right(q: Question, found: Why) -> bool:
    """Whether one of the repairs that are said to be enough makes the positions match."""
    return any(each.holds() for repair in found.repairs for each in mended(q, repair))


def test_one_change_is_blamed(suite: Suite) -> None:
    """Every statement is true, and nearly every blame has one repair that is enough."""
    asked: list[bool] = []

    def case(rng: Random) -> bool:
        q = changed(rng, SHAPE)
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
