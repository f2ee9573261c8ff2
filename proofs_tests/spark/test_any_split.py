"""Any split is no split: tasks of `cerlab.spark` on random cuts against the local engine.

Random queries over every clause, streams with ties, several streams and keys, positions given or
counted, parts without rows, batches of any length. A mode that is not exact for a query is left to
`test_modes`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

import cerlab
from cerlab.spark.plan import assignment as dealing
from cerlab.spark.plan import cuts, runs
from cerlab.spark.plan.cuts import Halo
from cerlab.spark.plan.modes import Mode, why_not
from cerlab.spark.tasks import evaluation
from cerlab.spark.tasks import ranges_and_keys as tasks
from cerlab.spark.tasks import shuffle_units as packs
from cerlab.testing import with_limit
from proofs_tests.spark.dealt import Typed, dealt, random_cut, typed_case
from proofs_tests.spark.packed import dealt_in_packs, random_files, random_layout
from proofs_tests.suite import Suite

MANY = 3_000
"""Cases with more answers are passed over: they are about the engine."""


def case_for(rng: Random, mode: Mode) -> Typed:
    """A case that the mode takes, with an answer more often than not."""
    least = rng.choice((0, 1, 1))
    while True:
        case = typed_case(rng)
        if why_not(case.query.plan, mode) is not None:
            continue
        if least <= cerlab.count(case.query, case.stream) < MANY:
            return case


def check(rng: Random, mode: Mode) -> bool:
    case = case_for(rng, mode)
    expected = case.expected()
    cut = random_cut(rng, case.table.num_rows)
    found = dealt(case, mode, cut)
    if found != expected:  # an assert would compare long lists piece by piece
        lost, more = Counter(expected) - Counter(found), Counter(found) - Counter(expected)
        pytest.fail(f"{mode}: lost {lost}, more {more}\n{cut}\n{case.describe()}")
    return bool(expected)


@pytest.mark.parametrize("mode", list(Mode))
def test_a_stream_in_parts_has_the_answers_of_the_whole(suite: Suite, mode: Mode) -> None:
    suite.run(lambda rng: check(rng, mode), deep_count=3_000)


def check_packs(rng: Random, mode: Mode) -> bool:
    """A case whose rows lie in order, read by other tasks in the second pass than in the first."""
    found = None
    while found is None:
        case = case_for(rng, mode)
        files = random_files(rng, case.table.num_rows)
        first, second = random_layout(rng, files), random_layout(rng, files)
        found = dealt_in_packs(case, mode, first, second, rng)
    expected = case.expected()
    if found != expected:
        lost, more = Counter(expected) - Counter(found), Counter(found) - Counter(expected)
        pytest.fail(f"{mode}: lost {lost}, more {more}\n{first}\n{second}\n{case.describe()}")
    return bool(expected)


@pytest.mark.parametrize("mode", list(Mode))
def test_a_stream_in_packs_has_the_answers_of_the_whole(suite: Suite, mode: Mode) -> None:
    suite.run(lambda rng: check_packs(rng, mode), deep_count=3_000)


def test_limit_is_per_end_in_every_mode(suite: Suite) -> None:
    def case(rng: Random) -> bool:
        mode = rng.choice(list(Mode))
        drawn = case_for(rng, mode)
        limited = Typed(with_limit(drawn.ast, 2), drawn.table, drawn.positions)
        found = dealt(limited, mode, random_cut(rng, drawn.table.num_rows))
        assert set(found) == set(limited.expected())
        assert len(found) == len(set(found))
        return bool(found)

    suite.run(case, deep_count=1_000)


def narrow_halo(made: Halo) -> Halo:
    return Halo(made.by_time, tuple(bound + 1 for bound in made.bounds), made.rows)


def seen(mode: Mode, check: Callable[[Random, Mode], bool] = check) -> bool:
    """Whether one of 150 cases fails."""
    return any(fails(lambda rng: check(rng, mode), seed) for seed in range(150))


def fails(check: Callable[[Random], bool], seed: int) -> bool:
    try:
        check(Random(seed))
    except (pytest.fail.Exception, cerlab.CerlabError, AssertionError):
        return True
    return False


@pytest.mark.parametrize("halo", ["halo_in_time", "halo_in_events"])
def test_a_window_that_is_too_short_is_seen(monkeypatch: pytest.MonkeyPatch, halo: str) -> None:
    right = getattr(cuts, halo)
    monkeypatch.setattr(cuts, halo, lambda *a, **k: narrow_halo(right(*a, **k)))
    assert seen(Mode.RANGES)


def test_answers_that_end_before_the_range_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def given(self: Any, answers: Any, rows: Any, begins: int) -> Any:
        yield self._record_batch(answers, 0, rows, begins)

    monkeypatch.setattr(evaluation.Evaluation, "_given", given)
    assert seen(Mode.RANGES)


def test_groups_that_split_a_key_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    right = tasks._together

    def split(rows: Any, job: Any) -> Any:
        half = rows.num_rows // 2
        yield from right(rows.slice(0, half), job)
        yield from right(rows.slice(half), job)

    monkeypatch.setattr(tasks, "_together", split)
    assert seen(Mode.KEYS)


@pytest.mark.parametrize("begins", ["begins_in_time", "begins_in_events"])
def test_a_run_that_a_window_needs_is_missed(monkeypatch: pytest.MonkeyPatch, begins: str) -> None:
    right = getattr(dealing, begins)

    def late(runs: Any, starts: Any, width: Any) -> list[int]:
        return [
            min(n + 1, start) for n, start in zip(right(runs, starts, width), starts, strict=True)
        ]

    monkeypatch.setattr(dealing, begins, late)
    assert seen(Mode.RANGES, check=check_packs)


def test_places_that_forget_the_rows_of_other_packs_are_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    right = packs._placed
    monkeypatch.setattr(packs, "_placed", lambda rows, before, **k: right(rows, 0, **k))
    assert seen(Mode.RANGES, check=check_packs)
    assert seen(Mode.KEYS, check=check_packs)


def test_runs_that_overlap_would_be_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """What `in_order` refuses has to be: a gap that is not cut, and runs that are only sorted."""
    monkeypatch.setattr(runs, "_follows", lambda *a, **k: True)
    monkeypatch.setattr(runs, "_gaps", lambda column: [])
    assert seen(Mode.ONE, check=check_packs)
