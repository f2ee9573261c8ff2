"""Rows with names: of any cut tasks make the rows of `Matches.table` on the whole stream."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from cerlab import Stream
from cerlab.engine.tecs_run import GeneralEvaluation
from cerlab.evaluate.labelled import named_columns, repeatable_labels, selected_labels
from cerlab.logic.ceql.syntax import partition_attributes
from cerlab.model.stream import Until
from cerlab.spark.footers import NoProof
from cerlab.spark.plan import Mode
from cerlab.spark.stream.step import BucketStep
from cerlab.spark.task_outputs import RowNames
from cerlab.testing import Shape
from proofs_tests.spark.buckets import buckets_of, feed, job_of, plan_of
from proofs_tests.spark.cases import SparkCase, register_case, typed_case
from proofs_tests.spark.layouts import in_packets
from proofs_tests.spark.test_any_split import case_for, fails
from proofs_tests.spark.test_files import batches_in_files
from proofs_tests.spark.test_stream_waits import waiting_case
from proofs_tests.suite import Suite, random_suite

ATTRIBUTES = ("v", "w", "k", "t", "type")


def random_columns(rng: Random, case: SparkCase) -> list[str]:
    """A few columns of every kind."""
    columns = []
    for label in sorted(selected_labels(case.query)):
        of = f"{label}.{rng.choice(ATTRIBUTES)}"
        kinds = (of, label, f"first({of})", f"last({label})", f"count({of})", f"count({label})")
        columns += rng.sample(kinds, rng.choice((0, 1, 2, 3)))
    return columns


def names_of(case: SparkCase, columns: list[str]) -> RowNames:
    result_columns = named_columns(case.query, columns, case.table.column_names)
    key = tuple(dict.fromkeys(partition_attributes(case.ast)))
    return RowNames(tuple(result_columns), key, repeatable_labels(case.query))


def expected(case: SparkCase, names: RowNames) -> list[str]:
    """The rows of the local engine, at the given positions."""
    rows = case.query.run(case.stream).table([c.name for c in names.columns]).to_pylist()
    if case.positions is not None:
        place(rows, names, case.positions)
    return sorted(map(repr, rows))


def place(rows: list[dict[str, Any]], names: RowNames, at: tuple[int, ...]) -> None:
    """Give rows other positions."""
    places = [c.name for c in names.columns if c.attribute is None and c.function != "count"]
    for row in rows:
        for name in ("start", "end", *places):
            value = row[name]
            row[name] = [at[p] for p in value] if isinstance(value, list) else _at(at, value)


def _at(at: tuple[int, ...], position: int | None) -> int | None:
    return None if position is None else at[position]


def rows_of(batches: Any) -> list[str]:
    return sorted(repr(row) for batch in batches for row in batch.to_pylist())


def check(rng: Random, mode: Mode) -> bool:
    case = case_for(rng, mode)
    names = names_of(case, random_columns(rng, case))
    reference = expected(case, names)
    rows = rows_of(in_packets(case, mode, rng, names, ordered=rng.random() < 0.5))
    if rows != reference:
        pytest.fail(f"{mode}: {names}\n{reference[:3]}\n{rows[:3]}\n{case.describe()}")
    return bool(reference)


@pytest.mark.parametrize("mode", list(Mode))
def test_a_stream_in_parts_has_the_rows_of_the_whole(suite: Suite, mode: Mode) -> None:
    suite.run(lambda rng: check(rng, mode), deep_count=1_000)


@random_suite(500)
def test_a_stream_in_files_has_the_rows_of_the_whole(rng: Random, tmp_path: Path) -> bool:
    mode = rng.choice((Mode.RANGES, Mode.ONE))
    while True:
        example = case_for(rng, mode)
        names = names_of(example, random_columns(rng, example))
        try:
            rows = rows_of(batches_in_files(example, mode, rng, tmp_path, names))
        except NoProof:
            continue
        assert rows == expected(example, names), example.describe()
        return bool(rows)


def check_stream(
    rng: Random,
    draw: Callable[[Random, Shape], SparkCase] = typed_case,
    events: int = 30,
    *,
    until: Until | None = None,
) -> bool:
    """Micro-batches of keys in any order give all rows but the waiting ones."""
    case = draw(rng, Shape(depth=2, events=events))
    if plan_of(case).limit is not None:
        case = replace(case, ast=replace(case.ast, limit=None))
    plan, names = plan_of(case), names_of(case, random_columns(rng, case))
    lateness = rng.choice((0, 1, 4))
    lag = lateness + 5 if until else rng.choice((None, lateness + 5))
    job = job_of(case, plan, lateness, lag, rng.choice((1, 1, 3)), names)
    groups = buckets_of(case, plan, job, rng.choice((1, 1, 2)))
    output = feed(rng, job, groups, lateness * rng.choice((1, 1, 4)), lag)
    at = case.positions or tuple(range(case.table.num_rows))
    rest = [row for row, position in enumerate(at) if position not in set(output.late)]
    stream = Stream.from_arrow(case.table.take(pa.array(rest, pa.int64())), time="t", unit="s")
    found = case.query.run(stream.up_to(until))
    rows = found.table([c.name for c in names.columns]).to_pylist()
    place(rows, names, tuple(at[row] for row in rest))
    complete = [row for row in rows if row["end"] not in output.waiting]
    assert sorted(map(repr, output.rows)) == sorted(map(repr, complete)), case.describe()
    return bool(complete)


def test_a_stream_that_arrives_has_the_rows_of_the_whole(suite: Suite) -> None:
    suite.run(check_stream, deep_count=1_000)


def test_a_stream_whose_labels_are_compared_has_the_rows_of_the_whole(suite: Suite) -> None:
    suite.run(lambda rng: check_stream(rng, register_case, 12), deep_count=1_000)


@random_suite(500)
def test_a_stream_whose_query_waits_has_the_rows_of_the_whole(rng: Random) -> bool:
    return check_stream(rng, lambda rng, _: waiting_case(rng), until="end")


def test_rows_that_a_bucket_gives_up_too_early_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    right = BucketStep._still_needed

    def fewer(self: BucketStep, alive: Any, events: Any) -> Any:
        return right(self, alive, events).slice(1)

    monkeypatch.setattr(BucketStep, "_still_needed", fewer)
    assert any(fails(check_stream, seed) for seed in range(60))


def test_events_that_are_given_up_too_early_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    right: Any = GeneralEvaluation.__dict__["lowest"]
    later = property(lambda self: right.fget(self) + 2)
    monkeypatch.setattr(GeneralEvaluation, "lowest", later)

    def check_or_fail(rng: Random) -> bool:
        try:
            return check(rng, Mode.RANGES)
        except (IndexError, ValueError, pytest.fail.Exception):
            raise AssertionError from None

    assert any(fails(check_or_fail, seed) for seed in range(150))
