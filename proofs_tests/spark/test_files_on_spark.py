"""Spark over files that its tasks read themselves: plans beyond a bare scan are refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cerlab
from cerlab.spark import footers
from cerlab.spark.batch import answers, write
from cerlab.spark.files import files_below, why_not_files
from cerlab.spark.first_pass import RowRanges, first_pass
from cerlab.spark.footers import NoProof
from cerlab.spark.ranges import FileRanges
from cerlab.spark.request import request_of
from cerlab.spark.scans import bare_scan
from proofs_tests.spark.streams import Answers, triples

ROWS = 400
QUERY = "SELECT * WHERE A AS a ; B AS b FILTER a[v > 1] WITHIN 7 [t]"


def table(rows: int = ROWS, seed: int = 1) -> Any:
    rng = Random(seed)
    times = sorted(rng.randrange(2 * rows) for _ in range(rows))
    return pa.table(
        {
            "type": [rng.choice("ABC") for _ in range(rows)],
            "t": times,
            "v": [rng.randrange(4) for _ in range(rows)],
            "id": list(range(rows)),
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Three files of a stream, the last written first."""
    place = tmp_path_factory.mktemp("a folder")
    for n, (start, end) in enumerate(((300, ROWS), (100, 300), (0, 100))):
        rows = table().slice(start, end - start)
        pq.write_table(rows, place / f"{n}.parquet", row_group_size=40)
    return str(place)


def expected() -> Answers:
    return triples(cerlab.evaluate(QUERY, table()))


@pytest.mark.parametrize("order", [{"position": "id"}, {"order_by": ["t", "id"]}])
def test_tasks_read_the_files_and_find_the_same(spark: Any, folder: str, order: Any) -> None:
    frame = spark.read.parquet(folder)
    request = request_of(frame, QUERY, **order)
    ranges = first_pass(request)
    assert isinstance(ranges, FileRanges)
    assert "which the tasks read themselves" in cerlab.spark.explain(frame, QUERY, **order)
    assert triples(answers(request, ranges).collect()) == expected() != []
    filtered_frame = frame.where("t >= 0")
    assert triples(cerlab.spark.match(filtered_frame, QUERY, **order).collect()) == expected()


@pytest.mark.parametrize("mode", ["keys", "ranges"])
def test_tasks_read_files_in_no_order_and_spark_moves_their_rows(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setattr(footers, "LONGEST", 50)
    order = Random(5).sample(range(ROWS), ROWS)
    for n in range(3):
        rows = table().take(pa.array(order[n::3], pa.int64()))
        pq.write_table(rows, tmp_path / f"{n}.parquet", row_group_size=40)
    frame = spark.read.parquet(str(tmp_path))
    query = QUERY.replace("WITHIN", "PARTITION BY [v] WITHIN")
    options: dict[str, Any] = {"order_by": ["t", "id"], "mode": mode}
    ranges = first_pass(request_of(frame, query, **options))
    assert isinstance(ranges, RowRanges)
    assert ranges.files is not None
    assert "read by tasks, and their rows moved" in cerlab.spark.explain(frame, query, **options)
    local = cerlab.evaluate(query, table())
    answers = cerlab.spark.match(frame, query, **options)
    assert triples(answers.collect()) == triples(local) != []
    keyed = cerlab.spark.match(frame, query, partition=True, **options).collect()
    values = table().column("v").to_pylist()
    assert all(row["partition"]["v"] == values[row["end"]] for row in keyed)
    named = cerlab.spark.match(frame, query, columns=["a.id", "b.id"], **options).collect()
    pairs = sorted((a.positions[0], a.positions[-1]) for a in local)
    assert sorted((row["a.id"], row["b.id"]) for row in named) == pairs


@pytest.mark.parametrize("order", [{"position": "id"}, {"order_by": ["t", "id"]}])
@pytest.mark.parametrize("mode", ["keys", "ranges"])
def test_a_file_of_many_texts_beside_files_of_few(
    spark: Any, tmp_path: Path, mode: str, order: dict[str, Any]
) -> None:
    rows, files = 6_000, 3
    ids = np.random.default_rng(1).permutation(rows)
    parts = []
    for n, some in enumerate(np.split(ids, files)):
        names = [f"stock {each * 7 % 1_500 if n == 0 else each % 5}" for each in some]
        kinds = ["B" if each % 3 else "A" for each in some]
        parts.append(pa.table({"type": kinds, "name": names, "id": some, "t": some // 2}))
        pq.write_table(parts[-1], tmp_path / f"{n}.parquet")
    query = "SELECT * WHERE A ; B PARTITION BY [name] WITHIN 100 [t]"
    frame = spark.read.parquet(str(tmp_path))
    found = triples(cerlab.spark.match(frame, query, mode=mode, **order).collect())
    assert found == triples(cerlab.evaluate(query, pa.concat_tables(parts).sort_by("id"))) != []


def test_some_rows_of_files_are_in_order_as_the_files_are(spark: Any, folder: str) -> None:
    """Tasks read what orders the files; Spark reads relevant events, and sorts none."""
    some = spark.read.parquet(folder).where("v < 3 AND id % 7 != 2").withColumnRenamed("v", "w")
    some = some.selectExpr("type", "t", "id", "w + 0 AS v")
    request = request_of(some, QUERY, position="id")
    ranges = first_pass(request)
    assert isinstance(ranges, RowRanges)
    assert ranges.some
    every = table()
    mask = np.less(every.column("v").to_numpy(), 3) & (np.arange(ROWS) % 7 != 2)
    rows = every.filter(pa.array(mask))
    ids = rows.column("id").to_pylist()
    local = triples(cerlab.evaluate(QUERY, rows), ids)
    assert triples(answers(request, ranges).collect()) == local != []
    explanation = cerlab.spark.explain(some, QUERY, position="id")
    assert "stream   some of 400 events in Parquet files, by id" in explanation
    assert "events   those that a test of the query holds for" in explanation


@pytest.mark.parametrize("row", [None, 5])
def test_some_rows_of_files_in_no_order(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, row: int | None
) -> None:
    """Tasks read what orders the files, and move it in packets; a row that no stream has is left
    out by the DataFrame, which the files do not know.
    """
    monkeypatch.setattr(footers, "LONGEST", 100)
    every = table()
    if row is not None:
        every = every.set_column(3, "id", pa.array([row if n == 9 else n for n in range(ROWS)]))
    in_no_order = every.take(pa.array(np.random.default_rng(3).permutation(ROWS)))
    for n, start in enumerate((0, 100, 200)):
        rows = in_no_order.slice(start, 100 if n < 2 else ROWS)
        pq.write_table(rows, tmp_path / f"{n}.parquet", row_group_size=60)
    frame = spark.read.parquet(str(tmp_path)).where("NOT (id = 5 AND v >= 0 AND t >= 0)")
    request = request_of(frame, QUERY, position="id")
    ranges = first_pass(request)
    assert isinstance(ranges, RowRanges)
    assert (ranges.some, ranges.in_order) == (row is None, False)
    ids = [id for id in every.column("id").to_pylist() if id != 5]
    rest = every.filter(pa.array(every.column("id").to_numpy() != 5))
    local = triples(cerlab.evaluate(QUERY, rest), ids)
    assert triples(answers(request, ranges).collect()) == local != []


def test_rows_of_other_files_are_asked_for(spark: Any, folder: str, tmp_path: Path) -> None:
    """An order that files do not prove is checked by Spark, also where it is the same."""
    back = table().set_column(1, "t", pa.array([0, 1] * (ROWS // 2)))
    pq.write_table(back, tmp_path / "back.parquet")
    some = spark.read.parquet(str(tmp_path)).where("t = 0")
    ranges = first_pass(request_of(some, QUERY, position="id"))
    assert isinstance(ranges, RowRanges)
    assert (ranges.some, ranges.in_order) == (False, True)
    all_of_it = spark.read.parquet(str(tmp_path)).where("v < 9")
    with pytest.raises(cerlab.BadData, match="CER0714"):
        first_pass(request_of(all_of_it, QUERY, position="id"))
    with pytest.raises(NoProof, match="computed"):
        files_below(request_of(some.selectExpr("type", "t", "v", "id + 1 AS id"), QUERY, [], "id"))


def test_no_task_runs_for_the_names_of_many_files(spark: Any, tmp_path: Path) -> None:
    """Spark would look up over 32 files by a task each, which takes as long as a file's rows."""
    rows = pa.table({"type": ["A"], "t": [1], "v": [1], "id": [1]})
    for n in range(40):
        pq.write_table(rows.set_column(1, "t", [[n]]), tmp_path / f"{n}.parquet")
    threshold = "spark.sql.sources.parallelPartitionDiscovery.threshold"
    before, context = spark.conf.get(threshold), spark.sparkContext
    context.setJobGroup("files", "files of a folder")
    frame = cerlab.spark.read(spark, str(tmp_path))
    jobs = context.statusTracker().getJobIdsForGroup("files")
    context.setLocalProperty("spark.jobGroup.id", None)
    assert not jobs
    assert spark.conf.get(threshold) == before
    assert frame.count() == 40


def test_renamed_columns_are_still_a_scan(spark: Any, folder: str) -> None:
    from pyspark.sql import functions as fn

    selection = spark.read.parquet(folder).select(
        fn.col("v").alias("w"), "id", fn.col("t").alias("v"), fn.col("type")
    )
    again = selection.toDF("v", "id", "t", "type")
    found = bare_scan(again)
    assert len(found.paths) == 3
    assert found.names == {"v": "v", "id": "id", "t": "t", "type": "type"}
    assert triples(cerlab.spark.match(again, QUERY, position="id").collect()) == expected()


SHAPES: dict[str, Callable[[Any, str], Any]] = {
    "where": lambda spark, path: spark.read.parquet(path).where("v < 3"),
    "limit": lambda spark, path: spark.read.parquet(path).limit(10),
    "sample": lambda spark, path: spark.read.parquet(path).sample(0.5, 1),
    "union": lambda spark, path: spark.read.parquet(path).union(spark.read.parquet(path)),
    "distinct": lambda spark, path: spark.read.parquet(path).distinct(),
    "computed": lambda spark, path: spark.read.parquet(path).selectExpr("type", "t", "v + 1 AS v"),
    "cast": lambda spark, path: spark.read.parquet(path).selectExpr("CAST(v AS string) v", "type"),
    "order": lambda spark, path: spark.read.parquet(path).orderBy("t"),
    "csv": lambda spark, path: spark.createDataFrame([(1,)], "v int"),
    "range": lambda spark, path: spark.range(5),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_plan_but_a_bare_scan_is_refused(spark: Any, folder: str, shape: str) -> None:
    with pytest.raises(NoProof):
        bare_scan(SHAPES[shape](spark, folder))


def test_a_filter_of_folders_leaves_files(spark: Any, tmp_path: Path) -> None:
    place = str(tmp_path / "by_v")
    rows = spark.createDataFrame(table().to_pandas()).coalesce(1)
    rows.withColumn("v", rows.v - 1).write.partitionBy("v").parquet(place)
    frame = spark.read.parquet(place)
    for condition, values in ((None, [-1, 0, 1, 2]), ("v > 0", [1, 2]), ("abs(v) = 1", [-1, 1])):
        some = frame if condition is None else frame.where(condition).selectExpr("v AS w", "type")
        found = bare_scan(some)
        assert found.names["v" if condition is None else "w"] == "v"
        assert sorted(keys["v"].as_py() for keys in found.keys) == values
        assert len(found.paths) == len(values)
    for condition in ("v > 0 AND t > 3", "rand() > 0.5", "v + rand() > 0"):
        with pytest.raises(NoProof, match="filter"):
            bare_scan(frame.where(condition))


def test_another_format_than_sparks_own_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Delta's format is a class derived from Spark's: it is recognised by its exact name."""
    from cerlab.spark import scans

    class Class:
        def __init__(self, name: str) -> None:
            self.getName = lambda: name

    class Node:
        def __init__(self, name: str, **parts: Any) -> None:
            self.getClass = lambda: Class(name)
            for part, value in parts.items():
                setattr(self, part, lambda value=value: value)

    class Nothing:
        def size(self) -> int:
            return 0

    index = Node(scans._INDEX, inputFiles=Nothing())
    delta = Node("org.apache.spark.sql.delta.DeltaParquetFileFormat")
    relation = Node(scans._FILES, fileFormat=delta, location=index)
    plan = Node(scans._RELATION, relation=relation, output=Nothing())
    java = Node("", queryExecution=Node("", analyzed=plan))
    with pytest.raises(NoProof, match="own format"):
        bare_scan(SimpleNamespace(_jdf=java))


def test_a_schema_that_reads_another_type_is_refused(spark: Any, folder: str) -> None:
    frame = spark.read.schema("type string, t bigint, v double, id bigint").parquet(folder)
    request = request_of(frame, QUERY, position="id")
    assert "another type" in str(why_not_files(request))


def test_answers_on_rows_that_spark_reads_never_replace_the_events(spark: Any, folder: str) -> None:
    request = request_of(spark.read.parquet(folder).where("id >= 0"), QUERY, position="id")
    before = sorted(Path(folder).iterdir())
    with pytest.raises(cerlab.UsageError, match="CER0890"):
        write(request, first_pass(request), folder, overwrite=True)
    assert sorted(Path(folder).iterdir()) == before


def test_what_tasks_write_is_there_as_a_whole_or_not_at_all(
    spark: Any, folder: str, tmp_path: Path
) -> None:
    request = request_of(spark.read.parquet(folder), QUERY, position="id", parts=3)
    ranges = first_pass(request)
    assert isinstance(ranges, FileRanges)
    out = str(tmp_path / "out")
    assert write(request, ranges, out) == len(expected())
    assert triples(spark.read.parquet(out).collect()) == expected()
    assert (tmp_path / "out" / "_SUCCESS").exists()
    with pytest.raises(cerlab.UsageError, match="CER0889"):
        write(request, ranges, out)
    assert write(request, ranges, out, overwrite=True) == len(expected())
    assert triples(spark.read.parquet(out).collect()) == expected()
    bad = pa.table({**{n: table().column(n) for n in ("type", "v", "id")}, "t": [0, 1] * 200})
    pq.write_table(bad, tmp_path / "bad.parquet")
    again = request_of(spark.read.parquet(str(tmp_path / "bad.parquet")), QUERY, position="id")
    wrong = first_pass(again)
    assert isinstance(wrong, FileRanges)
    with pytest.raises(Exception, match="CER0714"):
        write(again, wrong, str(tmp_path / "never"))
    assert {p.name for p in tmp_path.iterdir()} == {"out", "bad.parquet"}
