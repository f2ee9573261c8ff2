"""SRT-E7: acceptance must not require that the last event is marked (SRT Def. 24; SRT Def. 18).

The definition of runs requires this, but the definition of matches does not. With this condition, a
transducer and its expression differ (SRT Thm. 27), transducers are not closed under concatenation
(SRT Thm. 31), and no transducer has a complement (SRT Def. 33). In cerlab, the condition is a
filter on the answers in a stream, not a part of acceptance.
"""

from __future__ import annotations

from random import Random

import pytest

from cerlab import Event, Sremo, parse_sremo
from cerlab.logic.sremo import matches
from cerlab.testing import Shape, random_sremo, random_sremo_events
from proofs_tests.sremo.tables import Match


def as_printed(e: Sremo, S: list[Event]) -> Match:
    """The matches of runs whose last transition marks."""
    return frozenset(M for M in matches(e, S) if len(S) - 1 in M)


def word(types: str) -> list[Event]:
    return [Event(kind) for kind in types]


@pytest.mark.parametrize(
    ("text", "types"), [("<TRUE>", "A"), ("<type = 'A'>^ . <TRUE>*", "AB"), ("EPS", "")]
)
def test_expressions_whose_language_the_condition_empties(text: str, types: str) -> None:
    e, S = parse_sremo(text), word(types)
    assert matches(e, S)
    assert as_printed(e, S) == frozenset()


def test_concatenation_breaks_with_the_condition() -> None:
    """``<A> . <B>^``: the first operand would have no match at all."""
    left, right = parse_sremo("<type = 'A'>"), parse_sremo("<type = 'B'>^")
    both, S = parse_sremo("<type = 'A'> . <type = 'B'>^"), word("AB")

    def compose(of: object) -> Match:
        assert callable(of)
        return frozenset(
            M + tuple(p + m for p in N)
            for m in range(len(S) + 1)
            for M in of(left, S[:m])
            for N in of(right, S[m:])
        )

    assert as_printed(both, S) == {(1,)}
    assert compose(as_printed) == frozenset()
    assert compose(matches) == matches(both, S) == {(1,)}


def test_no_complement_exists_with_the_condition() -> None:
    """The empty match would have to be of the one or of the other, and can be of neither."""
    for text in ("<TRUE>*", "!(<TRUE>*)", "(<TRUE> | <TRUE>^)*"):
        assert () not in as_printed(parse_sremo(text), word("A"))


def test_random_expressions_meet_it() -> None:
    differ = 0
    for seed in range(400):
        rng = Random(seed)
        e = random_sremo(rng, Shape(events=5), "core")
        S = random_sremo_events(rng, e, Shape(events=5))
        differ += matches(e, S) != as_printed(e, S)
    assert differ > 40
