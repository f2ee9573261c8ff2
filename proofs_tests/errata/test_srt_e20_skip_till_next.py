"""SRT-E20: the printed skip-till-next allows two instances of the next part in a gap (SRT Def. 45).

In ``e1 . (!e2)* . e2``, ``!e2`` is the complement of e2. It matches two consecutive instances, and
one instance with other events around it. The corrected gap is ``!(<TRUE>* . e2 . <TRUE>*)``. In
this gap, e2 keeps its outputs, although they mark no events. Without outputs, a window on the span
of the marks and an intersection would allow more events.
The right matches are cases of ``cerlab/conformance/cases/errata.json``.
"""

from __future__ import annotations

from random import Random

import pytest

from cerlab import Event, Sremo
from cerlab.logic.sremo import matches
from cerlab.logic.sremo import syntax as sre
from cerlab.logic.sremo.syntax import SKIP, sequence
from cerlab.testing import Shape, random_sremo, random_sremo_events
from proofs_tests.sremo.tables import sre as read


def as_printed(e1: Sremo, e2: Sremo) -> Sremo:
    """``e1 . (!e2)* . e2``."""
    return sequence([e1, sre.Star(sre.Negation(e2)), e2])


def without_outputs(e1: Sremo, e2: Sremo) -> Sremo:
    """``e1 . !(skip . e2' . skip) . e2``, where e2' is e2 with nothing marked."""
    return sequence([e1, sre.Negation(sequence([SKIP, without_marks(e2), SKIP])), e2])


def without_marks(e: Sremo) -> Sremo:
    match e:
        case sre.Terminal(phi, _, W):
            return sre.Terminal(phi, False, W)
        case sre.Concat(left, right):
            return sre.Concat(without_marks(left), without_marks(right))
        case sre.Alternation(left, right):
            return sre.Alternation(without_marks(left), without_marks(right))
        case sre.Intersection(left, right):
            return sre.Intersection(without_marks(left), without_marks(right))
        case sre.Star(body):
            return sre.Star(without_marks(body))
        case sre.SpanWindow(body, w):
            return sre.SpanWindow(without_marks(body), w)
        case _:
            return e


def word(types: str) -> list[Event]:
    return [Event(kind) for kind in types]


@pytest.mark.parametrize("types", ["ABBB", "ACBCB"])
def test_instances_in_the_gap(types: str) -> None:
    S = word(types)
    assert matches(as_printed(read("A^"), read("B^")), S) == {(0, len(S) - 1)}


@pytest.mark.parametrize("types", ["AB", "ACB", "ABB"])
def test_where_both_agree(types: str) -> None:
    by_printed_form = matches(as_printed(read("A^"), read("B^")), word(types))
    assert by_printed_form == matches(read("@(A^, B^)"), word(types))


def test_random_sequences_meet_it() -> None:
    differ = 0
    for seed in range(500):
        rng = Random(seed)
        e1, e2 = (random_sremo(rng, Shape(depth=1), "core") for _ in range(2))
        S = random_sremo_events(rng, sre.SkipAny((e1, e2)), Shape(events=6))
        by_printed_form = matches(as_printed(e1, e2), S)
        differ += by_printed_form != matches(sre.SkipNext((e1, e2)), S)
    assert differ > 5


@pytest.mark.parametrize(
    ("e2", "types"),
    [("(A^ . _* . B^)[1..2]", "CAXBAB"), ("(A^ | B^) & (A^ | B)", "CBA")],
)
def test_an_instance_without_its_outputs_need_not_be_one(e2: str, types: str) -> None:
    """AXB has a span of three, so it is outside the window of two; B has no common marks."""
    S = word(types)
    assert matches(without_outputs(read("C^"), read(e2)), S) == frozenset()


def test_in_the_core_outputs_make_no_difference() -> None:
    for seed in range(200):
        rng = Random(seed)
        e1, e2 = (random_sremo(rng, Shape(depth=2), "core") for _ in range(2))
        S = random_sremo_events(rng, sre.SkipAny((e1, e2)), Shape(events=5))
        assert matches(without_outputs(e1, e2), S) == matches(sre.SkipNext((e1, e2)), S)
