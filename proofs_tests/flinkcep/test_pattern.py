"""Patterns of FlinkCEP: their text, what the builder refuses, and wrong versions of the reference.

The hand-computed cases are in ``cerlab/conformance/cases/flinkcep-*.json``: examples of the
documentation of FlinkCEP, and what was seen with Flink 2.3 (`test_flink`).
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from cerlab import Unsupported
from cerlab import flinkcep as flink
from cerlab.conformance import cases
from cerlab.flinkcep import FlinkPattern, begin, semantics
from proofs_tests.mutants.driver import kills, mutant, on_cases

A, AB, BC = begin("A"), begin("A").followedBy("B"), begin("B").oneOrMore().consecutive().next("C")
CASES = [case for case in cases() if case.language == "flinkcep"]


def test_a_pattern_is_read_from_the_text_that_it_prints() -> None:
    for case in CASES:
        if case.kind != "error":
            pattern = flink.parse_pattern(case.query)
            assert flink.parse_pattern(str(pattern)) == pattern


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


def every_gap(pattern: FlinkPattern, at: semantics.Partial) -> Any:
    return pattern.parts[at.k].gap


TABLE = on_cases([case for case in CASES if case.kind == "groups"])
MUTANTS = [
    mutant(TABLE, semantics, "_is_withheld", lambda pattern, at, t: False, id="no-greed"),
    mutant(TABLE, semantics, "_stops", lambda pattern, at: [], id="nothing-stops"),
    mutant(TABLE, semantics, "_gap", lambda pattern, at: None, id="no-gaps"),
    mutant(TABLE, semantics, "_gap", every_gap, id="no-gap-forgotten"),
    mutant(TABLE, semantics, "_may_leave", lambda part, count: count >= part.lo, id="no-optional"),
    mutant(TABLE, semantics, "_pruned_before", lambda pattern, match: 0, id="nothing-pruned"),
]


test_the_table_kills = kills(MUTANTS)
