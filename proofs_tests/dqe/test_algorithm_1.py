"""Algorithm 1, corrected, after each insertion: the join, and its tables (DQE Alg. 1; DQE Thm. 1).

P13 of the specification; without a window too (DQE Sec. 4).
"""

from __future__ import annotations

from random import Random

import pytest

from cerlab import BadData, Unsupported, UsageError, parse_gcq
from cerlab.engine.reference.dqe import Row, WindowEvaluation, WindowQuery
from cerlab.logic.gcq import answers_after_each
from cerlab.model.event import Value
from proofs_tests.dqe.cases import (
    random_stream,
    same_answers,
    updates,
    window_gcq,
)
from proofs_tests.suite import Suite, random_suite


def test_p13_the_output_is_the_join_recomputed(suite: Suite) -> None:
    suite.run(lambda rng: same_answers(random_stream(rng)), deep_count=20_000)


@random_suite(20_000)
def test_p13_with_any_window_and_without_one(rng: Random) -> bool:
    return same_answers(random_stream(rng), rng.choice((None, None, 3, 4, 6, 7, 9)))


def test_the_tables_hold_what_section_4_says(suite: Suite) -> None:
    """H_R, H_S and T after each element, by their definitions (DQE Sec. 4)."""
    last = parse_gcq("x, ts1 <- r(x, ts1)")
    best = parse_gcq("y, ts1 <- r(x, ts1), s(x, y, ts2) | ts1 < ts2")

    def greatest(rows: frozenset[Row]) -> dict[Value, int]:
        return {z: max(ts for y, ts in rows if y == z and isinstance(ts, int)) for z, _ in rows}

    def case(rng: Random) -> bool:
        S = random_stream(rng)
        evaluation = WindowEvaluation()
        queries = (last, best, window_gcq())
        expected = zip(S, *(answers_after_each(Q, S) for Q in queries), strict=True)
        for update, in_r, in_r_and_s, T in expected:
            evaluation.process(update.relation, update.row)
            assert evaluation.H_R.entries() == greatest(in_r)
            assert evaluation.H_S.entries() == greatest(in_r_and_s)
            assert set(evaluation.T) == T
        return bool(evaluation.H_S.entries())

    suite.run(case, deep_count=5_000)


def test_the_window_query_joins_three_different_relations() -> None:
    with pytest.raises(UsageError, match="three different relations"):
        WindowQuery("r", "r", "t")


def test_a_deletion_is_refused_by_name() -> None:
    evaluation = WindowEvaluation()
    evaluation.process("r", (1, 1))
    with pytest.raises(Unsupported, match="assumes no deletions") as caught:
        evaluation.process("r", (1, 1), insertion=False)
    assert caught.value.code == "CER0460"


@pytest.mark.parametrize(
    ("relation", "row", "code"),
    [
        ("r", (1, 5), "CER0764"),
        ("t", (7, 4), "CER0764"),
        ("q", (1, 6), "CER0763"),
        ("s", (1, 6), "CER0761"),
        ("r", (1, 7, 6), "CER0761"),
        ("r", (1, "6"), "CER0765"),
        ("r", (1, 6.0), "CER0765"),
        ("r", (1, 2**63), "CER0765"),
        ("r", (None, 6), "CER0760"),
        ("r", (True, 6), "CER0760"),
        ("r", (float("nan"), 6), "CER0760"),
    ],
)
def test_what_is_refused_says_why_and_changes_nothing(relation: str, row: Row, code: str) -> None:
    evaluation = WindowEvaluation()
    for update in updates("+r(1, 3) +s(1, 7, 5)"):
        evaluation.process(update.relation, update.row)
    before = evaluation.operations
    with pytest.raises(BadData) as caught:
        evaluation.process(relation, row)
    assert caught.value.code == code
    assert evaluation.operations == before
    evaluation.process("t", (7, 6))
    assert list(evaluation.enumerate()) == [(7, 6)]
