"""Any split gives the unsplit answers: tasks of `cerlab.spark` on random cuts.

Random queries over every clause, streams with ties, several streams and keys, positions given or
counted, rows in order or in none, parts without rows, batches of any length, tests that Spark makes
or leaves to Python. A mode that is not exact for a query is left to `test_modes`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import cerlab
from cerlab.spark import evaluation, relevant_events, runs
from cerlab.spark import packets as tasks
from cerlab.spark import ranges as plans
from cerlab.spark.plan import Mode, why_not
from cerlab.testing import with_limit
from proofs_tests.spark import layouts
from proofs_tests.spark.cases import SparkCase, typed_case
from proofs_tests.spark.layouts import anywhere
from proofs_tests.suite import Suite, random_suite

MANY = 3_000
"""Cases with more answers are passed over: they are about the engine."""


def case_for(rng: Random, mode: Mode) -> SparkCase:
    """A case that the mode takes, with an answer more often than not."""
    least = rng.choice((0, 1, 1))
    while True:
        case = typed_case(rng)
        if why_not(case.query.plan, mode) is not None:
            continue
        if least <= cerlab.count(case.query, case.stream) < MANY:
            return case


def check(rng: Random, mode: Mode, *, ordered: bool = True) -> bool:
    case = case_for(rng, mode)
    expected = case.expected()
    answers = anywhere(case, mode, rng, ordered=ordered)
    if answers != expected:  # an assert would compare long lists piece by piece
        missing, more = Counter(expected) - Counter(answers), Counter(answers) - Counter(expected)
        pytest.fail(f"{mode}: lost {missing}, more {more}\n{case.describe()}")
    return bool(expected)


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("ordered", [True, False], ids=["in order", "in none"])
def test_a_stream_in_units_has_the_answers_of_the_whole(
    suite: Suite, mode: Mode, ordered: bool
) -> None:
    suite.run(lambda rng: check(rng, mode, ordered=ordered), deep_count=3_000)


@pytest.mark.parametrize("mode", list(Mode))
def test_units_of_few_rows_are_put_together(
    suite: Suite, mode: Mode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wide rows are moved in many small packets, which arrive in any order."""
    monkeypatch.setattr(tasks, "BYTES_OF_A_PACKET", 64)
    suite.run(lambda rng: check(rng, mode, ordered=False), deep_count=1_000)


@random_suite(1_000)
def test_limit_is_per_end_in_every_mode(rng: Random) -> bool:
    mode = rng.choice(list(Mode))
    example = case_for(rng, mode)
    limited = SparkCase(with_limit(example.ast, 2), example.table, example.positions)
    answers = anywhere(limited, mode, rng, ordered=rng.random() < 0.5)
    assert set(answers) == set(limited.expected())
    assert len(answers) == len(set(answers))
    return bool(answers)


def some_case_fails(mode: Mode, *, ordered: bool = True) -> bool:
    """Whether one of 150 cases fails."""
    return any(fails(lambda rng: check(rng, mode, ordered=ordered), seed) for seed in range(150))


def fails(check: Callable[[Random], bool], seed: int) -> bool:
    try:
        check(Random(seed))
    except (pytest.fail.Exception, cerlab.CerlabError, AssertionError):
        return True
    return False


def test_answers_that_end_before_the_range_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def all_batches(self: Any, answers: Any, rows: Any, begins: int) -> Any:
        yield self._record_batch(answers, 0, rows, begins)

    monkeypatch.setattr(evaluation.PlanEvaluation, "_own_batches", all_batches)
    assert some_case_fails(Mode.RANGES)


def test_buckets_that_split_a_key_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    right = layouts._groups
    monkeypatch.setattr(
        layouts,
        "_groups",
        lambda case: [g if g is None else n % 2 for n, g in enumerate(right(case))],
    )
    assert some_case_fails(Mode.KEYS)


def test_runs_of_a_bucket_in_another_order_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    right = tasks.runs_of_packets
    monkeypatch.setattr(tasks, "runs_of_packets", lambda batches: reversed(list(right(batches))))
    assert some_case_fails(Mode.KEYS)


@pytest.mark.parametrize("begins", ["begins_in_time", "begins_in_events"])
def test_a_run_that_a_window_needs_is_missed(monkeypatch: pytest.MonkeyPatch, begins: str) -> None:
    right = getattr(plans, begins)

    def late(runs: Any, starts: Any, width: Any) -> list[int]:
        return [
            min(n + 1, start) for n, start in zip(right(runs, starts, width), starts, strict=True)
        ]

    monkeypatch.setattr(plans, begins, late)
    assert some_case_fails(Mode.RANGES)


@pytest.mark.parametrize("mode", [Mode.RANGES, Mode.KEYS])
def test_places_that_forget_the_rows_before_are_seen(
    monkeypatch: pytest.MonkeyPatch, mode: Mode
) -> None:
    right = tasks._with_positions
    monkeypatch.setattr(
        tasks, "_with_positions", lambda rows, before, placing: right(rows, 0, placing)
    )
    assert some_case_fails(mode)


def test_units_that_are_not_put_in_order_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def as_they_come(table: Any, _: int = 0) -> Any:
        if isinstance(table, pa.RecordBatch):
            return table
        (rows,) = table.combine_chunks().to_batches()
        return rows

    monkeypatch.setattr(tasks, "_in_order", as_they_come)
    assert some_case_fails(Mode.ONE, ordered=False)


@pytest.mark.parametrize("clause", ["_goes_on", "EventWindow", "Strategy"])
def test_events_that_are_left_out_and_matter_are_seen(
    monkeypatch: pytest.MonkeyPatch, clause: str
) -> None:
    """Events that break contiguity, that a window counts, or that lie between are needed."""

    class Never:
        STRICT = None

    wrong: Any = (lambda A, state: False) if clause == "_goes_on" else Never
    monkeypatch.setattr(relevant_events, clause, wrong)
    assert some_case_fails(Mode.RANGES)


def test_runs_that_overlap_would_be_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """`in_order` is right to refuse: a gap that is not cut, and runs that are only sorted."""
    monkeypatch.setattr(runs, "_follows", lambda *a, **k: True)
    monkeypatch.setattr(runs, "_gaps", lambda column: [])
    assert some_case_fails(Mode.ONE)


@random_suite(4_000)
def test_integers_are_in_the_runs_that_a_search_finds(rng: Random) -> bool:
    size = rng.choice((1, 3, 50, 2**20, 2**40, 2**62, 2**63 - 1))
    draw = partial(rng.randint, rng.choice((0, -size)), size)
    keys = np.array([draw() for _ in range(rng.randint(1, 200))], np.int64)
    near = [key + step for key in keys.tolist() for step in (-1, 0, 1)]
    drawn = {rng.choice((draw(), rng.choice(near))) for _ in range(rng.randint(1, 40))}
    cuts = np.array(sorted(n for n in drawn if abs(n) < 2**63), np.int64)
    found = tasks.runs_of_integers(keys, cuts)
    assert found.tolist() == np.searchsorted(cuts, keys, "right").tolist()
    return len(set(found.tolist())) > 1
