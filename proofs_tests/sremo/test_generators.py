"""Random expressions and their streams: well-formed, of their kind, with matches (SRT Def. 15)."""

from __future__ import annotations

from random import Random

from hypothesis import find, given, settings
from hypothesis import strategies as st

from cerlab import parse_sremo
from cerlab.logic.sremo import check_sremo, matches
from cerlab.logic.sremo import syntax as sre
from cerlab.logic.sremo.syntax import reads, writes
from cerlab.testing import (
    Shape,
    SremoKind,
    random_sremo,
    random_sremo_events,
    sremo_streams,
    sremos,
)

KINDS: tuple[SremoKind, ...] = ("all", "core", "unary")


@settings(max_examples=40)
@given(st.data(), st.sampled_from(KINDS))
def test_expressions_are_well_formed_and_of_their_kind(
    data: st.DataObject, kind: SremoKind
) -> None:
    e = data.draw(sremos(kind))
    check_sremo(e)
    assert parse_sremo(str(e)) == e
    if kind != "all":
        assert all(isinstance(each, sre.Core) for each in sre.subexpressions(e))
    if kind == "unary":
        assert not reads(e) | writes(e)
    assert len(data.draw(sremo_streams(e))) <= Shape().events


def test_every_operator_is_drawn() -> None:
    operators = {
        type(each) for seed in range(200) for each in sre.subexpressions(random_sremo(Random(seed)))
    }
    assert operators == set(sre.Sremo.__args__)


def test_most_streams_have_a_match() -> None:
    for kind in KINDS:
        with_match = 0
        for seed in range(400):
            rng = Random(seed)
            e = random_sremo(rng, Shape(events=5), kind)
            with_match += bool(matches(e, random_sremo_events(rng, e, Shape(events=5))))
        assert with_match > 200, kind


def test_the_same_seed_gives_the_same_case() -> None:
    first, again = (random_sremo(Random(7)) for _ in range(2))
    assert first == again
    S = [random_sremo_events(Random(8), first) for _ in range(2)]
    assert repr(S[0]) == repr(S[1]), "by text, since NaN is not equal to itself"


def test_failures_shrink() -> None:
    patient = settings(max_examples=500)
    small = Shape(depth=1, events=3)
    smallest = find(sremos(shape=small), lambda e: True, settings=patient)
    assert len(list(sre.subexpressions(smallest))) <= 2
    star = find(
        sremos(shape=small),
        lambda e: any(isinstance(each, sre.Star) for each in sre.subexpressions(e)),
        settings=patient,
    )
    assert len(list(sre.subexpressions(star))) <= 3
    assert find(sremo_streams(parse_sremo("<type = 'B'>^")), lambda S: True, settings=patient) == []
