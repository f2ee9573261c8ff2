"""CONSUME BY: after an answer at j, as if the stream began after j (CORE App. G)."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

import cerlab
from cerlab import ComplexEvent
from cerlab.engine.general import CONSUMES
from cerlab.model.clauses import Consume
from cerlab.testing import random_query
from proofs_tests.clauses.tables import answer_rows, c, check_answers, word

CASES = [
    *answer_rows("""
# all that end at 2; then B alone is left
all-answers-of-one-end-are-given | SELECT * WHERE A ; B CONSUME BY ANY | AABB | 0-2 0,2; 1-2 1,2
none-is-no-consumption | SELECT * WHERE A ; B CONSUME BY NONE | AABB | 0-2 0,2; 1-2 1,2; 0-3 0,3;
    1-3 1,3
none-is-the-default | SELECT * WHERE A ; B | AABB | 0-2 0,2; 1-2 1,2; 0-3 0,3; 1-3 1,3
# the A at 1 is used up; the suffix begins at 2
the-last-event-begins-nothing | SELECT * WHERE A ; A CONSUME BY ANY | AAAA | 0-1 0,1; 2-3 2,3
contiguous-pairs-become-disjoint | SELECT * WHERE A : A CONSUME BY ANY | AAAAA | 0-1 0,1; 2-3 2,3
# each A completes, so none is left to go on from
an-iteration-never-grows | SELECT * WHERE A+ CONSUME BY ANY | AAA | 0-0 0; 1-1 1; 2-2 2
an-iteration-at-the-end-is-cut | SELECT * WHERE A ; B+ CONSUME BY ANY | ABBAB | 0-1 0,1; 3-4 3,4
# [0,3] {0} would hold the consumed 0
an-unmarked-end-consumes | SELECT A WHERE A ; B CONSUME BY ANY | ABAB | 0-1 0; 2-3 2
an-empty-answer-consumes | SELECT NONE WHERE A ; B CONSUME BY ANY | AABB | 0-2; 1-2
# 0 and 1 are marked nowhere and are used up all the same
unmarked-events-are-consumed | SELECT B WHERE NOT(B) ; B CONSUME BY ANY | CABB | 0-2 2; 1-2 2
without-partitions-the-stream-is-one | SELECT * WHERE A ; B CONSUME BY PARTITION | AABBAB | 0-2 0,2;
    1-2 1,2; 4-5 4,5
none-restarts-none | SELECT * WHERE A ; B PARTITION BY [k] CONSUME BY NONE | AABAB k=21122 |
    1-2 1,2; 0-4 0,4; 3-4 3,4
"""),
    pytest.param(
        "SELECT * WHERE (A ; B) OR (B ; C) WITHIN 1 EVENTS CONSUME BY ANY",
        word("ADBC"),
        [c(2, 3, 2, 3)],  # [0,2] is too long, so its B is still there
        id="what-the-window-rejects-does-not-consume",
    ),
    pytest.param(
        "SELECT * WHERE A ; B PARTITION BY [k] CONSUME BY ANY",
        word("AABAB", k="21122"),
        [c(1, 2, 1, 2), c(3, 4, 3, 4)],  # 2 ends a match of k = 1 and the A at 0 of k = 2
        id="any-restarts-every-partition",
    ),
    pytest.param(
        "SELECT * WHERE A ; B PARTITION BY [k] CONSUME BY PARTITION",
        word("AABAB", k="21122"),
        [c(1, 2, 1, 2), c(0, 4, 0, 4), c(3, 4, 3, 4)],
        id="partition-restarts-its-own",
    ),
    pytest.param(
        "SELECT * WHERE A ; B PARTITION BY [k] WITHIN 1 EVENTS CONSUME BY PARTITION",
        word("AACBBAB", k="1212121"),
        [c(1, 3, 1, 3)],  # of k = 1: A C B B, whose B is 2 after A; of k = 2: A B A, then no B
        id="with-a-window-inside-partitions",
    ),
    pytest.param(
        "SELECT * WHERE A ; B PARTITION BY [k] WITHIN 100 [t] CONSUME BY ANY",
        word("AABAB", k="01011", t="01234"),
        [c(0, 2, 0, 2), c(3, 4, 3, 4)],  # {1, 4} would hold an event before the answer at 2
        id="any-restarts-every-partition-inside-a-window-in-time",
    ),
    pytest.param(
        "SELECT * WHERE A ; B PARTITION BY [k] WITHIN 100 [t] CONSUME BY PARTITION",
        word("AABAB", k="01011", t="01234"),
        [c(0, 2, 0, 2), c(1, 4, 1, 4), c(3, 4, 3, 4)],
        id="partition-restarts-its-own-inside-a-window-in-time",
    ),
]


@pytest.mark.parametrize(("query", "events", "expected"), CASES)
def test_clause(query: str, events: list[dict[str, Any]], expected: list[ComplexEvent]) -> None:
    check_answers(query, events, expected)


@pytest.mark.parametrize("policy", Consume)
def test_a_policy_crosses_partitions_or_answers_key_by_key(policy: Consume) -> None:
    query = f"SELECT * WHERE A ; B PARTITION BY [k] CONSUME BY {policy.value}"
    events = word("AABB", k="1212")
    answers = cerlab.evaluate(query, events, evaluator="reference")
    of_a_key = f"SELECT * WHERE A ; B FILTER A[k = {{}}] AND B[k = {{}}] CONSUME BY {policy.value}"
    by_keys = [a for k in (1, 2) for a in cerlab.evaluate(of_a_key.format(k, k), events)]
    assert policy.crosses_partitions == (answers != by_keys)


def test_random_queries_and_engines_have_every_policy() -> None:
    assert {random_query(Random(seed)).consume for seed in range(200)} == set(Consume)
    assert CONSUMES.keys() == set(Consume)
