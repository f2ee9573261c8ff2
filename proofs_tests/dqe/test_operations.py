"""Operations counted, not seconds: three per tuple, one per answer (DQE Thm. 1; DQE Def. 2)."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from random import Random
from types import FrameType
from typing import Any

import pytest

from cerlab.engine.reference import dqe
from cerlab.engine.reference.dqe import WindowEvaluation, WindowQuery
from proofs_tests.dqe.cases import window_stream

LENGTHS = (10, 1_000, 10_000)
WINDOWS = (5, 1_000, None)


def after_long_stream(length: int, window: int | None) -> tuple[WindowEvaluation, list[int]]:
    """A long stream, over a domain that grows with it, and the operations of each tuple."""
    evaluation = WindowEvaluation(WindowQuery(window=window))
    costs = []
    for update in window_stream(Random(1), length, values=max(2, length // 100)):
        before = evaluation.operations
        evaluation.process(update.relation, update.row)
        costs.append(evaluation.operations - before)
    return evaluation, costs


@pytest.mark.parametrize("window", WINDOWS)
def test_a_tuple_costs_the_same_at_any_length(window: int | None) -> None:
    assert [max(after_long_stream(length, window)[1]) for length in LENGTHS] == [3, 3, 3]


def lines_of(call: Callable[[], object]) -> int:
    """Return the number of lines of the evaluation that a call executes."""
    lines = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal lines
        if frame.f_code.co_filename != dqe.__file__:
            return None
        lines += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return lines


@pytest.mark.parametrize("window", WINDOWS)
def test_nothing_that_grows_is_done_beside_the_operations(window: int | None) -> None:
    updates, delays = set(), set()
    for length in LENGTHS:
        S = list(window_stream(Random(1), length + 20, values=max(2, length // 100)))
        evaluation = WindowEvaluation(WindowQuery(window=window))
        for update in S[:length]:
            evaluation.process(update.relation, update.row)
        process, answers = evaluation.process, evaluation.enumerate()
        updates.add(max(lines_of(partial(process, u.relation, u.row)) for u in S[length:]))
        delays.add(max(lines_of(partial(next, answers, None)) for _ in range(20)))
    assert len(updates) == 1
    assert max(delays) <= 4


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("length", LENGTHS)
def test_an_answer_costs_one_operation_and_comes_once(length: int, window: int | None) -> None:
    evaluation, _ = after_long_stream(length, window)
    for _ in range(2):  # enumerating changes nothing, so a second time gives the same
        before, delays, rows = evaluation.operations, [], []
        for row in evaluation.enumerate():
            rows.append(row)
            delays.append(evaluation.operations - before)
            before = evaluation.operations
        delays.append(evaluation.operations - before)
        assert set(delays) == {1}
        assert len(set(rows)) == len(rows)
        assert rows or length == 10 or window == 5


def test_the_operations_of_a_relation_by_hand() -> None:
    """One to insert a row, even one that is there; one before each row read, and one at the end."""
    rows = dqe.Relation()
    for row in ((0, 1), (0, 2), (0, 1)):
        rows.insert(row)
    assert rows.operations == 3
    assert list(rows) == [(0, 1), (0, 2)]
    assert rows.operations == 6
