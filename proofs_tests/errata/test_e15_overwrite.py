"""E15: line 6 of the printed algorithm overwrites a value that is still needed (DQE Alg. 1)."""

from __future__ import annotations

from random import Random

import pytest

from cerlab.engine.reference.dqe import Row, WindowEvaluation
from proofs_tests.dqe.cases import random_stream, same_answers, updates


def as_printed(self: WindowEvaluation, row: Row, ts2: int) -> None:
    """``if x in H_R then H_S(y) <- H_R(x)``."""
    x, y = row[0], row[1]
    ts1 = self.H_R.get(x)
    if ts1 is not None:
        self.H_S.put(y, ts1)


COUNTEREXAMPLE = updates("+r('x2', 2) +r('x1', 3) +s('x1', 'y', 4) +s('x2', 'y', 5) +t('y', 7)")


def evaluation_and_rows() -> tuple[WindowEvaluation, list[Row]]:
    evaluation = WindowEvaluation()
    for update in COUNTEREXAMPLE:
        evaluation.process(update.relation, update.row)
    return evaluation, list(evaluation.enumerate())


def test_the_printed_algorithm_loses_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WindowEvaluation, "_s", as_printed)
    evaluation, rows = evaluation_and_rows()
    assert evaluation.H_S.entries() == {"y": 2}
    assert rows == []


def test_the_corrected_one_does_not() -> None:
    evaluation, rows = evaluation_and_rows()
    assert evaluation.H_S.entries() == {"y": 3}
    assert rows == [("y", 7)]


def test_random_streams_meet_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WindowEvaluation, "_s", as_printed)
    wrong = 0
    for seed in range(1_000):
        try:
            same_answers(random_stream(Random(seed)))
        except AssertionError:
            wrong += 1
    assert wrong >= 5
