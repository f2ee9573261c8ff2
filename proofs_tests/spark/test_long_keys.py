"""A bucket of keys goes through in pieces, and only one window of it is kept."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import cerlab
from cerlab.automata.plan import plan_to_bytes
from cerlab.spark.evaluation import Job, Positions
from cerlab.spark.packets import _packets, evaluate_buckets
from cerlab.spark.plan import attributes_read

ROWS = 6_000
SIZE = 100


def events() -> Any:
    """Nine events in ten have the key "x"."""
    rng = Random(5)
    keys = ["x" if rng.random() < 0.9 else f"k{rng.randrange(9)}" for _ in range(ROWS)]
    times = np.cumsum([rng.choice((0, 1, 2)) for _ in range(ROWS)])
    return pa.table(
        {
            "type": rng.choices("ABC", k=ROWS),
            "k": keys,
            "t": times,
            "position": np.cumsum([rng.choice((1, 2, 9)) for _ in range(ROWS)]),
        }
    )


def match_by_key(
    text: str, table: Any, monkeypatch: pytest.MonkeyPatch
) -> tuple[set[tuple[int, ...]], int]:
    """The positions of all answers by key, and the most positions that a run kept."""
    most = 0
    right = Positions.append

    def append(self: Positions, positions: Any) -> None:
        nonlocal most
        right(self, positions)
        most = max(most, self.size)

    monkeypatch.setattr(Positions, "append", append)
    plan = cerlab.parse_query(text).plan
    names = attributes_read(plan, None)
    job = Job(plan_to_bytes(plan), None, names)
    columns = {f"a{n}": table.column(name) for n, name in enumerate(names)}
    rows = pa.table({"k0": table["position"], **columns}).combine_chunks()
    units = [
        next(_packets(run, [0], batch))
        for run, start in enumerate(range(0, ROWS, 37))
        for batch in rows.slice(start, 37).to_batches()
    ]
    answers = _rows(evaluate_buckets(units, job, size=SIZE))
    return {tuple(row["positions"]) for row in answers}, most


def _rows(batches: Any) -> Iterator[dict[str, Any]]:
    for batch in batches:
        yield from batch.to_pylist()


def expected(text: str, table: Any) -> set[tuple[int, ...]]:
    at = table.column("position").to_pylist()
    matches = cerlab.evaluate(text, table, evaluator="tecs")
    return {tuple(at[p] for p in answer.positions) for answer in matches}


WITHIN = ["WITHIN 9 [t]", "WITHIN 9 [t] CONSUME BY PARTITION"]


@pytest.mark.parametrize("clauses", WITHIN)
@pytest.mark.parametrize("select", ["*", "MAX *"])
def test_one_window_of_positions_is_kept(
    clauses: str, select: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f"SELECT {select} WHERE A ; B ; C PARTITION BY [k] {clauses}"
    table = events()
    places, most = match_by_key(text, table, monkeypatch)
    assert places == expected(text, table)
    assert places
    assert most < 10 * SIZE


def test_without_a_window_all_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "SELECT * WHERE A : B : C PARTITION BY [k]"
    table = events()
    places, most = match_by_key(text, table, monkeypatch)
    assert places == expected(text, table)
    assert most > ROWS / 4


def test_positions_forgotten_too_early_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Positions.forget
    monkeypatch.setattr(Positions, "forget", lambda self, n: right(self, self._read))
    text = "SELECT * WHERE A ; B ; C PARTITION BY [k] WITHIN 9 [t]"
    with pytest.raises((AssertionError, IndexError)):
        assert match_by_key(text, events(), monkeypatch)[0] == expected(text, events())
