"""A key that is most of the stream goes through in pieces, and only one window of it is kept."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import cerlab
from cerlab.automata.plan_json import plan_to_bytes
from cerlab.spark.plan.reads import attributes_read
from cerlab.spark.tasks import evaluation
from cerlab.spark.tasks import ranges_and_keys as tasks
from cerlab.spark.tasks.evaluation import Job
from cerlab.spark.tasks.positions import Positions

ROWS = 6_000
SIZE = 100


def skewed(others: int) -> Any:
    """Nine events in ten have the key "x"; the others share a group."""
    rng = Random(5)
    keys = ["x" if rng.random() < 0.9 else f"k{rng.randrange(10**others)}" for _ in range(ROWS)]
    times = np.cumsum([rng.choice((0, 1, 2)) for _ in range(ROWS)])
    return pa.table(
        {
            "type": rng.choices("ABC", k=ROWS),
            "k": keys,
            "t": times,
            "position": np.cumsum([rng.choice((1, 2, 9)) for _ in range(ROWS)]),
            "group": [min(len(key), 2) for key in keys],
        }
    )


def found_and_stretches(
    text: str, table: Any, monkeypatch: pytest.MonkeyPatch
) -> tuple[set[tuple[int, ...]], int]:
    """The positions of all answers by key, and the most stretches that a run kept."""
    most = 0
    right = Positions.append

    def counted(self: Positions, positions: Any) -> None:
        nonlocal most
        right(self, positions)
        most = max(most, self.stretches)

    monkeypatch.setattr(Positions, "append", counted)
    plan = cerlab.parse_query(text).plan
    names = attributes_read(plan, None)
    job = Job(plan_to_bytes(plan), None, names)
    rows = table.sort_by([("group", "ascending"), ("position", "ascending")])
    columns = {f"a{n}": rows.column(name) for n, name in enumerate(names)}
    sent = pa.table({"group": rows["group"], "position": rows["position"], **columns})
    batches = sent.to_batches(max_chunksize=37)
    answers = _rows(tasks.evaluate_keys(batches, job, SIZE))
    return {tuple(row["positions"]) for row in answers}, most


def _rows(batches: Any) -> Iterator[dict[str, Any]]:
    for batch in batches:
        yield from batch.to_pylist()


def expected(text: str, table: Any) -> set[tuple[int, ...]]:
    at = table.column("position").to_pylist()
    found = cerlab.evaluate(text, table, evaluator="tecs")
    return {tuple(at[p] for p in answer.positions) for answer in found}


WINDOWS = ["WITHIN 9 [t]", "WITHIN 6 EVENTS"]


@pytest.mark.parametrize("window", WINDOWS)
def test_one_window_of_positions_is_kept(window: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"SELECT * WHERE A ; B ; C PARTITION BY [k] {window}"
    table = skewed(3)
    found, most = found_and_stretches(text, table, monkeypatch)
    assert found == expected(text, table)
    assert found
    assert most < 10 * SIZE


def test_without_a_window_all_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "SELECT * WHERE A : B : C PARTITION BY [k]"
    table = skewed(3)
    found, most = found_and_stretches(text, table, monkeypatch)
    assert found == expected(text, table)
    assert most > ROWS / 4


def test_a_group_of_two_keys_keeps_more_than_the_window_of_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rows of other keys are no events of the window: their count forgets nothing."""
    text = "SELECT * WHERE A ; B ; C PARTITION BY [k] WITHIN 6 EVENTS"
    table = skewed(1)
    grouped = table.drop(["group"]).append_column("group", pa.array([7] * ROWS))
    found, _ = found_and_stretches(text, grouped, monkeypatch)
    assert found == expected(text, table)


@pytest.mark.parametrize("window", WINDOWS)
def test_positions_forgotten_too_early_are_seen(
    window: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = evaluation.Evaluation.forget
    monkeypatch.setattr(evaluation.Evaluation, "forget", lambda self, n: right(self, self.read))
    text = f"SELECT * WHERE A ; B ; C PARTITION BY [k] {window}"
    found, _ = found_and_stretches(text, skewed(3), monkeypatch)
    assert found != expected(text, skewed(3))


def test_keys_that_share_a_group_are_told_apart_when_forgetting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tasks._LongRun, "_has_one_key", lambda self, rows: True)
    text = "SELECT * WHERE A ; B ; C PARTITION BY [k] WITHIN 6 EVENTS"
    table = skewed(1)
    grouped = table.drop(["group"]).append_column("group", pa.array([7] * ROWS))
    found, _ = found_and_stretches(text, grouped, monkeypatch)
    assert found != expected(text, table)
