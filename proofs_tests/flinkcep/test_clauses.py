"""FlinkCEP's constructs by hand: the examples of its documentation, then extra cases of its NFA.

The examples are those of "Combining Patterns", "Contiguity within looping patterns" and "After
Match Skip Strategy" of the documentation of FlinkCEP; the rest was seen with Flink 2.3
(`test_flink`).
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import cerlab
from cerlab import flinkcep as flink
from cerlab.errors import IllFormed, Unsupported
from cerlab.flinkcep import begin, semantics
from cerlab.flinkcep.pattern import FlinkPattern
from proofs_tests.mutants.driver import Judge, check_killed, each_of, mutant, on_rows
from proofs_tests.suite import Suite


def matches_text(pattern: FlinkPattern, text: str) -> str:
    """The matches, as the events of each by type and number: ``a1 b2``, one after the other.

    ``a1@5`` is at 5; without, an event is at its position.
    """
    words = [word.partition("@")[0] for word in text.split()]
    times = [int(word.partition("@")[2] or i) for i, word in enumerate(text.split())]
    events = [
        {"type": word[0].upper(), "v": int(word[1:] or 0), "t": t}
        for word, t in zip(words, times, strict=True)
    ]
    matches = (
        " ".join(words[i] for i in sorted(i for positions in m.labels.values() for i in positions))
        for m in flink.matches(pattern, events)
    )
    return ", ".join(sorted(matches))


A, AB, BC = begin("A"), begin("A").followedBy("B"), begin("B").oneOrMore().consecutive().next("C")
LOOP = begin("A").followedByAny("B").oneOrMore()
LOOP_OF_A = begin("C").followedBy("A").oneOrMore()
BS = "a b1 d1 b2 d2 b3 c"
AS = "c d a1 a2 a3 d a4 b"


def case(pattern: FlinkPattern, text: str, expected: str, id: str) -> Any:
    return pytest.param(pattern, text, expected, id=id)


DOCUMENTATION = [
    case(A.next("B"), "a c b1 b2", "", "next"),
    case(AB, "a c b1 b2", "a b1", "followedBy"),
    case(A.followedByAny("B"), "a c b1 b2", "a b1, a b2", "followedByAny"),
    case(LOOP.consecutive().followedBy("C"), BS, "a b1 c, a b2 c, a b3 c", "consecutive"),
    case(
        LOOP.followedBy("C"),
        BS,
        "a b1 b2 b3 c, a b1 b2 c, a b1 c, a b2 b3 c, a b2 c, a b3 c",
        "relaxed-inside",
    ),
    case(
        LOOP.allowCombinations().followedBy("C"),
        BS,
        "a b1 b2 b3 c, a b1 b2 c, a b1 b3 c, a b1 c, a b2 b3 c, a b2 c, a b3 c",
        "allowCombinations",
    ),
    case(
        LOOP_OF_A.consecutive().followedBy("B"),
        AS,
        "c a1 a2 a3 b, c a1 a2 b, c a1 b",
        "consecutive-after-followedBy",
    ),
    case(
        LOOP_OF_A.followedBy("B"),
        AS,
        "c a1 a2 a3 a4 b, c a1 a2 a3 b, c a1 a2 b, c a1 b",
        "relaxed-after-followedBy",
    ),
    case(A.oneOrMore().until("B"), "a1 c a2 b a3", "a1, a1 a2, a2, a3", "until"),
    case(BC, "b1 b2 b3 c", "b1 b2 b3 c, b2 b3 c, b3 c", "noSkip"),
    case(BC.after("skipToNext"), "b1 b2 b3 c", "b1 b2 b3 c, b2 b3 c, b3 c", "skipToNext"),
    case(BC.after("skipPastLastEvent"), "b1 b2 b3 c", "b1 b2 b3 c", "skipPastLastEvent"),
    case(BC.after("skipToFirst", "B"), "b1 b2 b3 c", "b1 b2 b3 c, b2 b3 c, b3 c", "skipToFirst"),
    case(BC.after("skipToLast", "B"), "b1 b2 b3 c", "b1 b2 b3 c, b3 c", "skipToLast"),
    case(AB.oneOrMore(), "a b1 b2 b3", "a b1, a b1 b2, a b1 b2 b3", "noSkip-of-a-loop"),
    case(AB.oneOrMore().after("skipToNext"), "a b1 b2 b3", "a b1", "skipToNext-of-a-loop"),
]
COUNTS = [
    case(A.times(2), "a1 b a2 a3", "a1 a2, a2 a3", "times"),
    case(A.times(2).consecutive(), "a1 b a2 a3", "a2 a3", "times-consecutive"),
    case(A.times(1, 2), "a1 a2", "a1, a1 a2, a2", "times-from-to"),
    case(A.followedBy("B").times(0, 1), "a b", "a, a b", "times-from-0"),
    case(A.timesOrMore(2), "a1 a2 a3", "a1 a2, a1 a2 a3, a2 a3", "timesOrMore"),
    case(AB.optional().followedBy("C"), "a b c", "a b c, a c", "optional"),
    case(A.optional().next("B"), "a b", "a b, b", "optional-first"),
    case(AB.optional(), "a b", "a, a b", "optional-last"),
    case(AB.oneOrMore().greedy().followedBy("C"), "a b1 b2 c", "a b1 b2 c", "greedy"),
    case(AB.times(1, 2).greedy().followedBy("C"), "a b1 b2 c", "a b1 b2 c", "greedy-times"),
    case(AB.oneOrMore().optional().greedy().followedBy("C"), "a b c", "a b c", "greedy-optional"),
]
NOTS = [
    case(A.notNext("N").followedBy("B"), "a n b", "", "notNext"),
    case(A.notNext("N").followedBy("B"), "a x n b", "a b", "notNext-is-of-one-event"),
    case(A.notFollowedBy("N").followedBy("B"), "a x n b", "", "notFollowedBy"),
    case(A.notFollowedBy("N").followedBy("B"), "a b n", "a b", "notFollowedBy-until-the-next"),
    case(A.notNext("N"), "a x", "a", "notNext-last-waits-for-an-event"),
    case(A.notNext("N"), "a", "", "notNext-last-at-the-end"),
    case(
        A.notFollowedBy("N").followedBy("B").optional().followedBy("C"),
        "a b n c",
        "a b c",
        "an-optional-part-that-takes-ends-a-notFollowedBy",
    ),
]
OBSERVATIONS = [
    case(A.oneOrMore().notNext("N").next("B"), "a1 n a2 b", "a2 b", "a-notNext-ends-the-loop"),
    case(A.oneOrMore().greedy(), "a1 a2", "a1, a1 a2, a2", "greedy-last-is-nothing"),
    case(AB.times(2).greedy().followedBy("C"), "a b1 b2 b3 c", "a b1 b2 c", "greedy-of-a-count"),
    case(AB.times(1, 2).greedy().followedBy("C"), "a b1 b2 b3 c", "", "greedy-withholds-a-third"),
    case(A.notFollowedBy("N").notNext("M").followedBy("C"), "a n c", "a c", "a-lost-notFollowedBy"),
    case(A.oneOrMore().notFollowedBy("N").next("B"), "a1 n a2 b", "a2 b", "inside-the-loop-before"),
    case(A.times(1, 2).notFollowedBy("N").next("B"), "a1 x n a2 b", "a1 a2 b, a2 b", "forgotten"),
    case(A.times(1, 2).notFollowedBy("N").next("B"), "a1 n a2 b", "a2 b", "not-forgotten"),
]
PREVIOUS = "PREVIOUS_AND_CURRENT"
B_SOON = A.followedByAny("B").within(3, "t", PREVIOUS)
LATE = "a@0 b1@2 b2@3 b3@4"
B_THEN_C = B_SOON.followedByAny("C").within(2, "t", PREVIOUS)
OPTIONAL = AB.optional().within(3, "t", PREVIOUS).followedBy("C")
GAPS = [
    case(B_SOON, LATE, "a b1", "exclusive"),
    case(B_THEN_C, "a@0 b1@1 b2@2 c1@2 c2@3 c3@9", "a b1 c1, a b2 c1, a b2 c2", "each-gap"),
    case(B_THEN_C.within(3, "t"), "a@0 b1@1 b2@2 c1@2 c2@3", "a b1 c1, a b2 c1", "and-the-whole"),
    case(A.followedByAny("B").within(0, "t", PREVIOUS), LATE, "a b1, a b2, a b3", "0-is-none"),
    case(A.followedByAny("B").within(0, "t"), LATE, "a b1, a b2, a b3", "0-of-the-match-is-none"),
    case(A.within(1, "t", PREVIOUS).next("B"), "a@0 b@9", "a b", "none-before-the-first"),
    case(LOOP.within(1, "t", PREVIOUS), "a@0 b1@2 b2@9", "a b1, a b1 b2, a b2", "none-of-a-loop"),
    case(
        A.times(2).next("B").within(2, "t", PREVIOUS), "a1@0 a2@5 b@6", "a1 a2 b", "from-the-last"
    ),
    case(A.times(2).next("B").within(2, "t", PREVIOUS), "a1@0 a2@5 b@7", "", "from-the-last-late"),
    case(OPTIONAL, "a@0 b@3 c@3", "", "a-skipped-part-too"),
    case(OPTIONAL, "a@0 x@2 b@3 c@9", "a b c, a c", "forgotten-once-ignored"),
    case(A.oneOrMore().next("B").within(2, "t", PREVIOUS), "a@0 b@9", "a b", "not-after-a-loop"),
    case(
        A.oneOrMore().followedBy("B").within(2, "t", PREVIOUS),
        "a@0 x@1 b@9",
        "",
        "after-a-loop-once-ignored",
    ),
    case(A.notNext("N").within(2, "t", PREVIOUS).next("B"), "a@0 b@2", "", "at-a-notNext"),
    case(
        A.notFollowedBy("N").followedBy("B").optional().followedBy("C").within(2, "t", PREVIOUS),
        "a@0 b@1 c@9",
        "a b c",
        "lost-after-an-optional-part-that-ended-a-notFollowedBy",
    ),
]
CASES = [*DOCUMENTATION, *COUNTS, *NOTS, *OBSERVATIONS, *GAPS]


@pytest.mark.parametrize(("pattern", "text", "expected"), CASES)
def test_each_construct_by_hand(pattern: FlinkPattern, text: str, expected: str) -> None:
    assert matches_text(pattern, text) == expected


def test_within_is_exclusive() -> None:
    stream = [{"type": "A", "t": 0}, {"type": "B", "t": 3}]
    assert flink.matches(AB.within(4, "t"), stream)
    assert not flink.matches(AB.within(3, "t"), stream)
    assert not flink.matches(AB.within(9, "t").within(3, "t"), stream)
    with pytest.raises(cerlab.BadData, match="time goes backwards at position 1"):
        flink.matches(AB.within(3, "t"), [{"type": "A", "t": 1}, {"type": "B", "t": 0}])


def test_conditions_on_an_event() -> None:
    pattern = begin("a", "A").where("v > 1").or_("v = 0").followedBy("b", "B").where("v > 1")
    assert matches_text(pattern, "a1 a2 b1 a0 b2") == "a0 b2, a2 b2"
    for each in (pattern, pattern.within(2, "t", PREVIOUS).within(4, "t")):
        assert eval(str(each)).parts == each.parts
        assert eval(str(each)).window == each.window


ILL_FORMED: list[Any] = [
    lambda: AB.followedBy("A"),
    lambda: AB.greedy(),
    lambda: AB.oneOrMore().times(2),
    lambda: AB.times(0),
    lambda: AB.optional().notNext("N"),
    lambda: AB.notNext("N").oneOrMore(),
    lambda: AB.oneOrMore().consecutive().allowCombinations(),
    lambda: AB.oneOrMore().allowCombinations().greedy(),
    lambda: AB.times(2).until("U"),
    lambda: A.oneOrMore().greedy().next("B").optional(),
    lambda: AB.after("skipToLast"),
    lambda: AB.after("skipToLast", "X"),
    lambda: AB.where("v > w.v"),
    lambda: AB.within(5, "t", PREVIOUS).within(4, "t"),
    lambda: AB.within(5, "t", PREVIOUS).within(9, "u"),
]


@pytest.mark.parametrize("build", ILL_FORMED)
def test_what_the_builder_refuses(build: Any) -> None:
    with pytest.raises((IllFormed, cerlab.QuerySyntaxError)):
        build()


GROUP: Any = BC
FUNCTION: Any = lambda event, context: True  # noqa: E731
DURATION: Any = timedelta(seconds=5)
NOT_READ: list[Any] = [
    lambda: begin(GROUP),
    lambda: A.next(GROUP),
    lambda: A.notFollowedBy(GROUP).next("D"),
    lambda: AB.where(FUNCTION),
    lambda: AB.oneOrMore().until("U", FUNCTION),
    lambda: AB.times(2, DURATION),
    lambda: AB.times(2, 3, 5),
    lambda: AB.times(2, window=5),
    lambda: AB.timesOrMore(2, 5),
    lambda: AB.oneOrMore(5),
]


@pytest.mark.parametrize("build", NOT_READ)
def test_groups_functions_and_windows_of_loops_are_refused_by_name(build: Any) -> None:
    words = r"CER0457: (groups of|iterative conditions of|a window between)"
    with pytest.raises(Unsupported, match=words):
        build()


def test_a_shortest_stream_on_which_they_differ() -> None:
    assert flink.difference(AB, flink.to_cel(AB)) is None
    shortest = flink.difference(AB.oneOrMore(), "A ; B+")
    assert shortest is not None
    assert [event["type"] for event in shortest.events] == ["A", "B", "B"]
    assert shortest.of_cel == [(0, 2)]


BESIDE = [
    (A.followedByAny("B"), "A ; B"),
    (A.next("B"), "A : B"),
    (AB, "A : (B OR NOT(B):+ : B)"),
    (AB, "(A ; B) UNLESS (B ; B)"),
    (A.notFollowedBy("B").followedByAny("C"), "(A ; C) UNLESS B"),
]


@pytest.mark.parametrize(("pattern", "formula"), BESIDE, ids=lambda each: str(each)[:60])
def test_the_page_for_those_who_come_from_flinkcep(pattern: FlinkPattern, formula: str) -> None:
    page = (Path(__file__).parents[2] / "docs" / "coming_from.md").read_text()
    assert f"`{pattern}`" in page
    assert f"`{formula}`" in page
    assert flink.difference(pattern, formula, at_most=4) is None


def every(pattern: FlinkPattern, text: str, expected: str) -> bool:
    return matches_text(pattern, text) == expected


def every_gap(pattern: FlinkPattern, at: semantics.Partial) -> Any:
    return pattern.parts[at.k].gap


TABLE: Judge = on_rows(lambda row: every(*row), [each.values for each in CASES])
MUTANTS = [
    mutant(TABLE, semantics, "_is_withheld", lambda pattern, at, t: False, id="no-greed"),
    mutant(TABLE, semantics, "_stops", lambda pattern, at: [], id="nothing-stops"),
    mutant(TABLE, semantics, "_gap", lambda pattern, at: None, id="no-gaps"),
    mutant(TABLE, semantics, "_gap", every_gap, id="no-gap-forgotten"),
    mutant(TABLE, semantics, "_may_leave", lambda part, count: count >= part.lo, id="no-optional"),
    mutant(TABLE, semantics, "_pruned_before", lambda pattern, match: 0, id="nothing-pruned"),
]


@each_of(MUTANTS)
def test_the_table_kills(mutant: Any, monkeypatch: pytest.MonkeyPatch, suite: Suite) -> None:
    check_killed(mutant, monkeypatch, suite)
