"""Files that tasks read themselves: any layout has the answers of the local engine, or is refused.

A stream is written to Parquet files in row groups of any size, in order or not, with statistics or
without, by random queries over every clause. What runs in tasks is the code of `cerlab.spark`;
Spark itself is in `test_files_on_spark`, and what is made by hand in `test_footers`.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from itertools import count
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cerlab import ComplexEvent
from cerlab.automata.plan import plan_to_bytes
from cerlab.engine.row_order import ColumnNames
from cerlab.model.clauses import EventWindow
from cerlab.spark import packets
from cerlab.spark import ranges as plans
from cerlab.spark import tasks as task_files
from cerlab.spark.evaluation import Job, PlanEvaluation
from cerlab.spark.footers import Columns, NoProof, RowGroups, layout, row_groups
from cerlab.spark.packets import Placing, survey_packets
from cerlab.spark.plan import Mode, attributes_of_job, time_attribute
from cerlab.spark.ranges import UnorderedFiles, ranges_in_files
from cerlab.spark.relevant_events import relevant_tests, why_all_events
from cerlab.spark.runs import SortedRun, in_order, quantiles, runs_in, runs_of_survey
from cerlab.spark.task_outputs import GroupRows, RowNames
from cerlab.spark.tasks import (
    GroupedRows,
    answers_of_range,
    packets_of_files,
    packets_of_groups,
    sample_of_files,
)
from cerlab.testing import with_limit
from proofs_tests.spark.cases import TIME, SparkCase, _answers, _place
from proofs_tests.spark.layouts import (
    BUCKETS,
    assign,
    by_part,
    evaluate,
    random_files,
    random_layout,
)
from proofs_tests.spark.test_any_split import case_for, fails
from proofs_tests.suite import Suite, random_suite


def write(rng: Random, table: Any, folder: Path) -> list[str]:
    """The rows in files and row groups, pieces of the stream that may lie in any order."""
    rows = table.num_rows
    order = list(range(rows))
    for _ in range(rng.choice((0, 0, 2, 20)) if rows else 0):  # rows near each other change places
        i = rng.randrange(rows)
        j = min(rows - 1, i + rng.randrange(3))
        order[i], order[j] = order[j], order[i]
    cuts = sorted(rng.randrange(rows + 1) for _ in range(rng.choice((0, 1, 3, 6))))
    pieces = [order[a:b] for a, b in zip([0, *cuts], [*cuts, rows], strict=True)]
    rng.shuffle(pieces)
    if rng.random() < 0.1 and len(pieces) > 1:
        pieces[0], pieces[1] = pieces[0][::2] + pieces[1][::2], pieces[0][1::2] + pieces[1][1::2]
    paths = []
    for n, piece in enumerate(pieces):
        path = folder / f"{n}.parquet"
        statistics: Any = rng.random() > 0.02 or ["v", "k"]
        length = rng.choice((1, 2, 5, 100))
        whole = table.take(pa.array(piece, pa.int64()))
        pq.write_table(whole, path, row_group_size=length, write_statistics=statistics)
        paths.append(str(path))
    return paths


def in_files(case: SparkCase, mode: Mode, rng: Random, folder: Path) -> list[ComplexEvent]:
    """The answers by the tasks of all ranges; raises `NoProof` where the footers do not do."""
    return sorted(_answers(batches_in_files(case, mode, rng, folder)), key=_place)


def batches_in_files(
    case: SparkCase,
    mode: Mode,
    rng: Random,
    folder: Path,
    names: RowNames | GroupRows | None = None,
) -> list[Any]:
    """The record batches of answers, or of rows with names; raises as `in_files`."""
    plan = case.query.plan
    if plan.streams:
        raise NoProof("FROM")
    rows = case.table.num_rows
    ids = range(rows) if case.positions is None else case.positions
    table = case.table.append_column("id", pa.array(ids, pa.int64()))
    paths = write(rng, table, folder)
    attributes = attributes_of_job(plan, TIME, None if names is None else names.attributes)
    time = None if plan.window is None or isinstance(plan.window, EventWindow) else "t"
    keys = rng.choice((("id",), ("t", "id")))
    columns = Columns(keys, case.positions is not None, time, attributes, None)
    lie = layout(row_groups(paths, columns), columns)
    parts = rng.choice((1, 2, 5, 40))
    labels = ColumnNames(keys, time_attribute(plan.window, TIME))
    ranges = ranges_in_files(lie, columns, labels, plan, TIME, mode, parts)
    job = Job(plan_to_bytes(plan), TIME, attributes, names=names)
    return [batch for part in range(ranges.parts) for batch in answers_of_range(part, job, ranges)]


def check(rng: Random, mode: Mode, folder: Path) -> bool:
    """A case in files; of drawn ones the first that the footers prove."""
    while True:
        case = case_for(rng, mode)
        expected = case.expected()
        try:
            answers = in_files(case, mode, rng, folder)
        except NoProof:
            continue
        break
    if answers != expected:
        missing, more = Counter(expected) - Counter(answers), Counter(answers) - Counter(expected)
        pytest.fail(f"{mode}: lost {missing}, more {more}\n{case.describe()}")
    return bool(expected)


@pytest.mark.parametrize("mode", [Mode.RANGES, Mode.ONE])
def test_a_stream_in_files_has_the_answers_of_the_whole(
    suite: Suite, mode: Mode, tmp_path: Path
) -> None:
    suite.run(lambda rng: check(rng, mode, tmp_path), deep_count=3_000)


@random_suite(400)
def test_limit_is_per_end(rng: Random, tmp_path: Path) -> bool:
    while True:
        example = case_for(rng, Mode.RANGES)
        limited = SparkCase(with_limit(example.ast, 2), example.table, example.positions)
        try:
            answers = in_files(limited, Mode.RANGES, rng, tmp_path)
        except NoProof:
            continue
        break
    assert set(answers) == set(limited.expected())
    assert len(answers) == len(set(answers))
    return bool(answers)


def runs_of_clusters(
    case: SparkCase, footers: RowGroups, columns: Columns, rng: Random
) -> tuple[SortedRun, ...]:
    """The runs as tasks tell of row groups that hardly overlap; raises as `layout`."""
    plan = case.query.plan
    labels = ColumnNames(columns.keys, time_attribute(plan.window, TIME))
    lie = layout(footers, columns)
    ranges = ranges_in_files(lie, columns, labels, plan, TIME, Mode.KEYS, rng.choice((1, 3)))
    rows = [
        r for b in task_files.runs_of_files(numbers(ranges.parts), ranges) for r in b.to_pylist()
    ]
    assert not any(row["text"] for row in rows)
    runs = in_order(runs_in(rows, 1) or [], positions=True)
    assert runs is not None
    return runs


def runs_of_unordered(
    case: SparkCase, footers: RowGroups, columns: Columns, rng: Random, *, positions: bool = True
) -> tuple[SortedRun, ...]:
    """The runs of row groups that may lie in any order, by a survey of what tasks read of them."""
    files, tasks, parts = UnorderedFiles(footers.groups, columns), rng.choice((1, 2, 3)), 2
    cuts = quantiles(sample_of_files(files, 20), rng.choice((1, 3, 10))) if footers.groups else []
    files_packets = [*packets_of_files(numbers(tasks), files, tasks, cuts, parts)]
    labels = ColumnNames(columns.keys, columns.time)
    sent = (
        sent
        for part in by_part(files_packets, rng)
        for sent in survey_packets(part, labels, positions=positions, fields=files.fields)
    )
    rows = [row for packet in sent for row in packet.to_pylist()]
    return runs_of_survey(rows, labels, positions=positions)


def numbers(tasks: int) -> list[pa.RecordBatch]:
    """Return the rows that Spark hands to tasks: their numbers."""
    return [pa.RecordBatch.from_pydict({"id": pa.array(range(tasks), pa.int64())})]


def some_of_files(rng: Random, mode: Mode, folder: Path) -> bool:
    """Some rows of files, which Spark reads; of drawn cases the first that the footers prove."""
    while True:
        case = case_for(rng, mode)
        plan = case.query.plan
        if case.positions is None or why_all_events(plan) is not None:
            continue
        ids = pa.array(case.positions, pa.int64())
        paths = write(rng, case.table.append_column("id", ids), folder)
        time = None if plan.window is None else "t"
        columns = Columns(("id",), True, time, ("type",), None)
        try:
            footers = row_groups(paths, columns)
            runs = rng.choice((runs_of_clusters, runs_of_unordered))(case, footers, columns, rng)
        except NoProof:
            continue
        rows = sorted(rng.sample(range(len(ids)), rng.randrange(len(ids) + 1)))
        break
    places = tuple(case.positions[row] for row in rows)
    some = SparkCase(case.ast, case.table.take(pa.array(rows, pa.int64())), places)
    spread = random_layout(rng, random_files(rng, len(rows), ordered=True))
    keys = {"k0": pa.array(places, pa.int64())}
    parts = assign(some, mode, runs, spread)
    assert evaluate(some, mode, keys, parts, spread, rng) == some.expected()
    return bool(some.expected())


@pytest.mark.parametrize("mode", list(Mode))
def test_some_rows_of_files_have_the_answers_of_those(
    suite: Suite, mode: Mode, tmp_path: Path
) -> None:
    suite.run(lambda rng: some_of_files(rng, mode, tmp_path), deep_count=1_000, needs_answers=0.3)


def all_of_files(rng: Random, mode: Mode, folder: Path) -> bool:
    """All rows of files in any order, which tasks read and Spark only moves."""
    while True:
        case = case_for(rng, mode)
        plan, numbered = case.query.plan, case.positions is None
        if plan.streams:
            continue
        ids = pa.array(range(case.table.num_rows) if numbered else case.positions, pa.int64())
        paths = write(rng, case.table.append_column("id", ids), folder)
        time = None if plan.window is None or isinstance(plan.window, EventWindow) else "t"
        keys = rng.choice((("id",), ("t", "id")))
        attributes = attributes_of_job(plan, TIME, None)
        columns = Columns(keys, not numbered, time, attributes, None)
        try:
            footers = row_groups(paths, columns)
            runs = runs_of_unordered(case, footers, columns, rng, positions=not numbered)
        except NoProof:
            continue
        break
    parts, tasks = assign(case, mode, runs, random_layout(rng, [])), rng.choice((1, 2, 3))
    buckets = BUCKETS if mode is Mode.KEYS else None
    is_numbered = numbered and mode is Mode.KEYS
    partition = tuple(attributes.index(name) for name in dict.fromkeys(plan.partition))
    fields = UnorderedFiles(footers.groups, columns).key_fields if numbered else None
    is_one = fields is not None or len(keys) == 1 or not numbered
    tests = relevant_tests(plan) if is_one and rng.random() < 0.8 else None
    counts = numbered and tests is not None
    files = GroupedRows(
        footers.groups, columns, tasks, partition, buckets, attributes, tests, counts, fields
    )
    parts = parts if fields is None else fields.over(parts)
    spread: Any = partial(packets.packets_of_ranges, assignment=parts)
    if buckets is not None and not is_numbered:
        spread = partial(packets.packets_of_buckets, assignment=parts, buckets=buckets)
    sent = [*packets_of_groups(numbers(tasks), files, spread)]
    placing = Placing(not numbered, is_numbered or counts, whole=numbered or tests is None)
    job = Job(plan_to_bytes(plan), TIME, attributes)
    evaluate: Any = partial(packets.evaluate_ranges, assignment=parts, placing=placing)
    if buckets is not None:
        evaluate = packets.evaluate_buckets
    if is_numbered and buckets is not None:
        number = partial(packets.number_packets, assignment=parts, buckets=buckets)
        sent = [each for some in by_part(sent, rng) for each in number(some, placing=placing)]
    batches = [each for some in by_part(sent, rng) for each in evaluate(some, job=job)]
    assert sorted(_answers(batches), key=_place) == case.expected(), case.describe()
    return bool(case.expected())


@pytest.mark.parametrize("mode", list(Mode))
@random_suite(1_000)
def test_files_in_any_order_have_the_answers_of_the_whole(
    rng: Random, mode: Mode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> bool:
    """Some files have long dictionaries of text, and others short ones."""
    monkeypatch.setattr(packets, "_LONG_DICTIONARY", rng.choice((0, 1, 2, 1024)))
    return all_of_files(rng, mode, tmp_path)


def test_units_have_one_type_however_many_texts_a_column_has() -> None:
    """And none has the texts of rows that are in others."""
    few = ["a", "b", None] * 1_000
    many = [f"text {n % 2_500}" for n in range(3_000)]
    lengths, kinds = [], set()
    for texts in (few, many):
        column = pa.array(texts, pa.string()).dictionary_encode()
        rows = pa.RecordBatch.from_pydict({"k0": pa.array(range(3_000)), "a0": column})
        for start in (0, 2_000):
            sent = packets._packets(0, [0], rows.slice(start, 1_000))
            for packet in (each.column("packet")[0].as_buffer() for each in sent):
                table = pa.ipc.open_stream(packet).read_all()
                kinds.add(table.schema.field("a0").type)
                lengths.append(len(table.column("a0").chunk(0).dictionary))
                assert table.column("a0").to_pylist() == texts[start : start + 1_000]
    assert kinds == {pa.dictionary(pa.int32(), pa.string())}
    assert lengths == [2, 2, 1_000, 1_000]


@pytest.mark.parametrize("wrong", ["bucket", "kept"])
def test_rows_in_a_wrong_bucket_and_relevant_ones_left_out_are_seen(
    monkeypatch: pytest.MonkeyPatch, wrong: str, tmp_path: Path
) -> None:
    if wrong == "bucket":
        calls = count()

        def by_group(_: Any, rows: int, buckets: int) -> Any:
            return pa.array([next(calls) % buckets] * rows, pa.int64())

        monkeypatch.setattr(task_files, "buckets_of_keys", by_group)
    else:
        stage = SimpleNamespace(symbols=lambda _, length: [n % 3 for n in range(length)])
        monkeypatch.setattr(task_files, "stage_of_tests", lambda _: stage)
    cases = range(40)
    assert any(fails(lambda rng: all_of_files(rng, Mode.KEYS, tmp_path), seed) for seed in cases)


def some_case_fails(folder: Path) -> bool:
    """Whether one of 80 cases fails."""
    return any(fails(lambda rng: check(rng, Mode.RANGES, folder), seed) for seed in range(80))


@pytest.mark.parametrize("begins", ["begins_in_time", "begins_in_events"])
def test_a_cluster_that_a_window_needs_is_missed(
    monkeypatch: pytest.MonkeyPatch, begins: str, tmp_path: Path
) -> None:
    right = getattr(plans, begins)

    def late(runs: Any, starts: Any, width: Any) -> list[int]:
        return [
            min(n + 1, start) for n, start in zip(right(runs, starts, width), starts, strict=True)
        ]

    monkeypatch.setattr(plans, begins, late)
    assert some_case_fails(tmp_path)


def test_rows_that_are_not_sorted_inside_a_cluster_are_seen(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(task_files, "increase", lambda _: True)
    assert some_case_fails(tmp_path)


def test_answers_of_the_window_before_a_range_are_seen(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def all_batches(self: Any, answers: Any, rows: Any, begins: int) -> Any:
        yield self._record_batch(answers, 0, rows, begins)

    monkeypatch.setattr(PlanEvaluation, "_own_batches", all_batches)
    assert some_case_fails(tmp_path)
