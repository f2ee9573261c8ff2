"""FlinkCEP's pattern sequences in CEL: the same events by the same names, or a refusal by name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

import cerlab
from cerlab import Unsupported
from cerlab import flinkcep as flink
from cerlab.flinkcep import FlinkPattern, begin, semantics
from cerlab.flinkcep import translation as compiled
from cerlab.flinkcep.pattern import SkipTo
from proofs_tests.flinkcep.drawn import (
    random_compared_pattern,
    random_flink_pattern,
    random_flink_stream,
    with_keys,
)
from proofs_tests.mutants.driver import Judge, kills, mutant, on_rows, on_seeds
from proofs_tests.suite import Suite


def events_of_parts(pattern: FlinkPattern, valuations: Any) -> set[Any]:
    """Intervals, and the events of each part by its name."""
    names = {part.name for part in pattern.parts}
    return {
        (v.start, v.end, tuple(sorted((x, D) for x, D in v.labels.items() if x in names)))
        for v in valuations
    }


def agree(rng: Random) -> bool:
    """The answers are the matches, on three streams."""
    while True:
        pattern = random_flink_pattern(rng, skips=False)
        try:
            query = flink.to_cel(pattern)
        except Unsupported:
            continue
        break
    has_matches = False
    for _ in range(2):
        stream = random_flink_stream(rng, pattern)
        matches = flink.matches(pattern, stream)
        answers = cerlab.valuations(query, stream, evaluator="reference")
        assert events_of_parts(pattern, answers) == events_of_parts(pattern, matches), (
            str(pattern),
            query,
            stream,
        )
        has_matches |= bool(matches)
    return has_matches


def test_the_answers_are_the_matches(suite: Suite) -> None:
    suite.run(agree, deep_count=2_000)


def agree_by_key(rng: Random) -> bool:
    """Comparisons with earlier events, absence to the end of a window, keys and a promised time."""
    while True:
        pattern, key_by = random_compared_pattern(rng), rng.choice(((), "k", "k"))
        try:
            query = flink.to_cel(pattern, key_by=key_by)
        except Unsupported:
            continue
        break
    has_matches = False
    for _ in range(2):
        stream = with_keys(rng, random_flink_stream(rng, pattern, 7))
        last = stream[-1]["t"] if stream else 0
        until = (
            rng.choice((None, "end", last, last + 1, last + 2))
            if "notFollow" in str(pattern)
            else None
        )
        matches = flink.matches(pattern, stream, key_by=key_by, until=until)
        answers = cerlab.valuations(query, stream, evaluator="reference", until=until)
        assert events_of_parts(pattern, answers) == events_of_parts(pattern, matches), (
            str(pattern),
            query,
            stream,
            until,
        )
        has_matches |= bool(matches)
    return has_matches


@pytest.mark.filterwarnings("ignore::cerlab.AnswerWarning")
def test_the_answers_by_key_are_the_matches(suite: Suite) -> None:
    suite.run(agree_by_key, deep_count=2_000)


def test_most_patterns_are_cel(suite: Suite) -> None:
    refusals: dict[str, int] = {}
    patterns = [random_flink_pattern(Random(seed), skips=False) for seed in range(200)]
    for pattern in patterns:
        try:
            flink.to_cel(pattern)
        except Unsupported as error:
            refusals[error.message] = refusals.get(error.message, 0) + 1
    of_windows = sum(n for message, n in refusals.items() if "window" in message)
    assert sum(refusals.values()) - of_windows < 60, refusals
    assert of_windows < 60, refusals


WORDS = (
    *("begin", "next", "followedBy", "followedByAny", "notNext", "notFollowedBy", "times"),
    *("oneOrMore", "timesOrMore", "greedy", "optional", "allowCombinations", "consecutive"),
    *("until", "within"),
)
"""Words of the pattern API; its skip strategies are refused with a shortest stream."""


def test_every_word_has_a_row_of_the_page_and_a_case() -> None:
    page = (Path(__file__).parents[2] / "docs" / "language" / "flinkcep.md").read_text()
    table = "".join(line for line in page.splitlines() if line.startswith("|"))
    cases = " ".join(str(pattern) for pattern, _ in (*SAYS, *REFUSALS))
    for word in WORDS:
        assert f"{word}(" in table, word
        assert f"{word}(" in cases, word
    assert all(f'"{to.value}"' in page for to in SkipTo if to is not SkipTo.NO_SKIP)


A = begin("A")
PREVIOUS = "PREVIOUS_AND_CURRENT"
WINDOWS = A.followedByAny("B").within(5, "t", PREVIOUS).next("C").within(3, "t", PREVIOUS)
SAYS = [
    (A.followedByAny("B").within(5, "t", PREVIOUS), "(A ; B WITHIN 4 [t])"),
    (WINDOWS, "(A ; B WITHIN 4 [t]) : C AND A ; (B : C WITHIN 2 [t])"),
    (WINDOWS.next("D"), "(A ; B WITHIN 4 [t]) : C : D AND A ; (B : C WITHIN 2 [t]) : D"),
    (
        A.times(3).followedByAny("B").within(5, "t", PREVIOUS),
        "A : (A OR NOT(A):+ : A) : ((A ; B WITHIN 4 [t]) OR NOT(A):+ : (A ; B WITHIN 4 [t]))",
    ),
    (A.times(3).consecutive().next("B").within(5, "t", PREVIOUS), "A:{2} : (A : B WITHIN 4 [t])"),
    (
        A.times(2).allowCombinations().followedByAny("B").within(5, "t", PREVIOUS),
        "A ; (A ; B WITHIN 4 [t])",
    ),
    (
        A.notFollowedBy("N").followedByAny("B").within(5, "t", PREVIOUS),
        "(A : (B OR NOT(N):+ : B) WITHIN 4 [t])",
    ),
    (A.next("B"), "A : B"),
    (A.followedBy("B"), "A : (B OR NOT(B):+ : B)"),
    (A.followedByAny("B"), "A ; B"),
    (A.next("b", "B").where("v > 1"), "A : (B AS b FILTER b[v > 1])"),
    (A.oneOrMore(), "A OR A : (A OR NOT(A):+ : A):+"),
    (A.oneOrMore().consecutive(), "A:+"),
    (A.oneOrMore().allowCombinations(), "A+"),
    (A.timesOrMore(2).consecutive(), "A:{2,}"),
    (A.times(2).allowCombinations(), "A{2}"),
    (A.times(2, 5).allowCombinations(), "A{2,5}"),
    (A.timesOrMore(3).allowCombinations(), "A{3,}"),
    (A.timesOrMore(1).allowCombinations(), "A+"),
    (A.times(1), "A"),
    (A.times(2), "A : (A OR NOT(A):+ : A)"),
    (A.times(4), "A : (A OR NOT(A):+ : A):{3}"),
    (A.times(1, 3), "A OR A : (A OR NOT(A):+ : A):{1,2}"),
    (A.timesOrMore(3), "A : (A OR NOT(A):+ : A):{2,}"),
    (A.times(1, 2).consecutive(), "A:{1,2}"),
    (A.optional().next("B"), "B OR A : B"),
    (A.notNext("N").followedByAny("B"), "A : (B OR (NOT(N) ; B))"),
    (A.notFollowedBy("N").followedByAny("B"), "A : (B OR NOT(N):+ : B)"),
    (A.notNext("N"), "A : NOT(N)"),
    (A.oneOrMore().consecutive().notNext("N"), "A:+ : NOT(N)"),
    (A.oneOrMore().greedy().consecutive(), "A:+"),
    (
        A.oneOrMore().notFollowedBy("N").next("B"),
        "(A OR A : (A OR (NOT(A) AND NOT(N)):+ : A):+) : B",
    ),
    (A.oneOrMore().consecutive().greedy().followedByAny("B"), "A:+ : (B OR NOT(A):+ : B)"),
    (A.oneOrMore().consecutive().until("A", "v > 1"), "(A FILTER A[NOT v > 1]):+"),
    (A.notFollowedBy("N").within(10, "t"), "(A WAIT 9 [t]) UNLESS N"),
    (
        begin("a", "A").notFollowedBy("n", "A").within(10, "t"),
        "(A AS a WAIT 9 [t]) UNLESS (A AS a ; A)",
    ),
    (A.followedByAny("B").where("B.v > A.v"), "A ; B FILTER B.v > A.v"),
    (A.next("B").where("B.v > A.v").where("v < 9"), "A : B FILTER (B.v > A.v AND B[v < 9])"),
    (A.next("B").where("v < 9").or_("B.v > A.v"), "A : B FILTER (B[v < 9] OR B.v > A.v)"),
    (
        begin("a", "A")
        .oneOrMore()
        .allowCombinations()
        .where("v > 0")
        .next("B")
        .where("B.v > MAX(a.v)"),
        "(A AS a FILTER a[v > 0])+ : B FILTER B.v > MAX(a.v)",
    ),
]


@pytest.mark.parametrize(("pattern", "formula"), SAYS, ids=lambda each: str(each)[:60])
def test_each_construct_in_cel(pattern: FlinkPattern, formula: str) -> None:
    assert flink.to_cel(pattern) == str(cerlab.parse_formula(formula))


def _says(pattern: FlinkPattern, formula: str) -> bool:
    return flink.to_cel(pattern) == str(cerlab.parse_formula(formula))


def test_the_window_of_cel_includes_its_end() -> None:
    query = flink.to_cel(A.followedByAny("B").within(3, "t"))
    stream = [{"type": "A", "t": 0}, {"type": "B", "t": 2}, {"type": "B", "t": 3}]
    assert query.split("\n")[-1] == "WITHIN 2 [t]"
    assert len(cerlab.evaluate(query, stream)) == 1


REFUSALS = [
    (A.followedByAny("B").after("skipToNext"), "on A B B the query 'A ; B' has \\(0, 2\\)"),
    (A.next("B").after("skipPastLastEvent"), "drops matches because of others"),
    (A.followedBy("B", "A"), "is the type of another part"),
    (A.within(0, "t"), "a window of 0 has no effect"),
    (A.next("B").within(0, "t", PREVIOUS), "a window of 0 has no effect"),
    (A.within(2, "t", PREVIOUS).next("B"), "before the first has no effect"),
    (A.next("B").times(2).within(2, "t", PREVIOUS), "at a quantifier has no effect"),
    (A.next("B").optional().within(2, "t", PREVIOUS).next("C"), "forgets in part"),
    (A.oneOrMore().next("B").within(2, "t", PREVIOUS), "forgets in part"),
    (A.notNext("N").next("B").within(2, "t", PREVIOUS), "forgets in part"),
    (A.notNext("N").within(2, "t", PREVIOUS).next("B"), "at a negative part"),
    (begin("a", "A").notFollowedBy("n", "B").next("b", "B"), "may be both n and b"),
    (A.notFollowedBy("N").notNext("M").next("B"), "has no effect in FlinkCEP"),
    (begin("a", "A").oneOrMore().notFollowedBy("n", "A").next("B"), "may be both n and a"),
    (A.oneOrMore().notFollowedBy("N").notFollowedBy("M").next("B"), "parts after a loop"),
    (A.notNext("N").next("B").optional(), "reads the event before it"),
    (begin("a", "A").oneOrMore().greedy().next("b", "A"), "may be both a and b"),
    (A.oneOrMore().greedy().until("U").next("B"), "greedy part with an until"),
    (A.oneOrMore().greedy().notNext("N").next("B"), "notNext after a greedy part"),
    (A.times(1, 2).notFollowedBy("N").next("B"), "FlinkCEP forgets it in part"),
    (A.oneOrMore().notNext("N").next("B"), "ends where the loop could go on"),
    (A.times(1, 2).notNext("M").notNext("N").next("B"), "ends where the loop could go on"),
    (begin("a", "A").oneOrMore().consecutive().notNext("n", "A").next("B"), "may be both n and a"),
    (A.notNext("n", "B").notNext("N").next("b", "B"), "may be both n and b"),
    (A.notFollowedBy("n", "C").next("B").optional().next("c", "C"), "both n and c"),
    (A.oneOrMore().until("A"), "every event of the part satisfies"),
    (A.notFollowedBy("N"), "when time has passed: without a window"),
    (A.notFollowedBy("N").within(0, "t"), "without a window"),
    (A.notFollowedBy("N").within(5, "t", PREVIOUS), "without a window"),
    (A.notFollowedBy("N").within(5, "t").after("skipToNext"), "a skip strategy does not act"),
    (A.oneOrMore().notFollowedBy("N").within(5, "t"), "a part that matches one event"),
    (A.notNext("M").notFollowedBy("N").within(5, "t"), "a part that matches one event"),
    (A.next("B").notFollowedBy("N").within(5, "t"), "waits from the first event"),
    (A.followedBy("B").where("B.v > A.v"), "followedBy skips by a condition"),
    (A.next("B").where("B.v > A.v").oneOrMore(), "a loop skips by a condition"),
    (A.notNext("N").where("N.v > A.v").next("B"), "a negative part with a condition"),
    (
        A.next("B").where("B.v > A.v").or_("B.v = A.v").oneOrMore().consecutive(),
        "an OR of conditions on earlier events in a loop",
    ),
    (
        A.next("B").where("B.v > AVG(B.v)").oneOrMore().consecutive(),
        "a group of the events of B up to each",
    ),
]


@pytest.mark.parametrize(("pattern", "why"), REFUSALS, ids=lambda each: str(each)[:60])
def test_what_cel_has_no_word_for(pattern: FlinkPattern, why: str) -> None:
    with pytest.raises(Unsupported, match=why):
        flink.to_cel(pattern)


WITH_GAP, BODY, INCLUSIVE = compiled._with_gap, compiled._body, compiled._inclusive
WITHOUT = compiled._without_event


def first_may_be_any(left: Any, away: Any, at_once: Any, right: Any) -> Any:
    return WITH_GAP(left, away, (), right)


def one_too_few(part: Any, lo: int, hi: Any, away: Any) -> Any:
    return BODY(part, max(1, lo - 1), hi, away)


def not_away(part: Any, lo: int, hi: Any, away: Any) -> Any:
    return BODY(part, lo, hi, ())


def inclusive(window: Any) -> Any:
    return INCLUSIVE(replace(window, width=window.width + 1))


def hands_over(pattern: Any, k: int, part: Any, prefix: Any) -> Any:
    return prefix


def one_event_longer(pattern: Any, absent: Any) -> Any:
    return WITHOUT(
        replace(pattern, window=replace(pattern.window, width=pattern.window.width + 1)), absent
    )


AGREEMENT: Judge = on_seeds(agree, 1_500)
BY_KEY: Judge = on_seeds(agree_by_key, 1_500)
TABLE: Judge = on_rows(lambda row: _says(*row), SAYS)
MUTANTS = [
    mutant(AGREEMENT, compiled, "_withhold", hands_over),
    mutant(AGREEMENT, compiled, "_inclusive", inclusive),
    mutant(AGREEMENT, compiled, "_check_gaps", lambda pattern: None, id="no-gap-refused"),
    mutant(BY_KEY, compiled, "_check_comparisons", lambda pattern: None, id="no-gap-compares"),
    mutant(BY_KEY, compiled, "_without_event", one_event_longer),
    mutant(BY_KEY, semantics, "_is_pending", lambda pattern, at: False, id="nothing-by-time"),
    mutant(BY_KEY, semantics, "partition_key", lambda t, keys: (), id="one-key"),
    mutant(TABLE, compiled, "_with_gap", first_may_be_any),
    mutant(TABLE, compiled, "_body", one_too_few),
    mutant(TABLE, compiled, "_body", not_away),
]


test_the_reference_kills = kills(MUTANTS)
