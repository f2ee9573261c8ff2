"""Row patterns on Spark: the result of `cerlab.match_recognize`, partition by partition."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import cerlab

ONE = """MATCH_RECOGNIZE (PARTITION BY name, day ORDER BY t
    MEASURES MATCH_NUMBER() AS n, FIRST(UP.price) AS low, LAST(UP.at) AS at, AVG(UP.price) AS mean
    PATTERN (UP+ TOP) DEFINE UP AS price < NEXT(price))"""
ALL = """MATCH_RECOGNIZE (PARTITION BY day ORDER BY t DESC
    MEASURES CLASSIFIER() AS c, COUNT(UP.price) AS up ALL ROWS PER MATCH
    AFTER MATCH SKIP TO NEXT ROW PATTERN (UP{2,3} | DOWN)
    DEFINE UP AS price < PREV(price), DOWN AS name = 'x')"""


FUNCTIONS = """MATCH_RECOGNIZE (PARTITION BY name, day ORDER BY t
    MEASURES EXTRACT(YEAR FROM LAST(UP.at)) AS year, EXTRACT(JULIAN FROM LAST(UP.at)) AS julian,
        DATE_TRUNC('month', LAST(UP.at)) AS month, SUBSTRING(name, 1, 1) AS first,
        POSITION('x' IN name) AS place, SQRT(LAST(UP.price)) AS root,
        CAST(LAST(UP.price) AS DECIMAL(5, 1)) AS price, COUNT(DISTINCT UP.price) AS prices,
        ARRAY_AGG(UP.price) AS list, ARRAY_AGG(UP.at) AS times, LISTAGG(name, '-') AS names,
        VAR_POP(UP.price) AS variance, MAX_BY(UP.at, UP.price) AS best
    PATTERN (UP+ TOP) DEFINE UP AS price < NEXT(price))"""


DECIMALS = """MATCH_RECOGNIZE (PARTITION BY cost, day ORDER BY t
    MEASURES FIRST(A.cost) AS first, MIN(A.cost) AS least, MAX_BY(cents, t) AS cents,
        SUM(cents) AS sum, ARRAY_AGG(A.cents) AS list, AVG(cost) AS mean, PREV(A.cents) AS before
    PATTERN (A+) DEFINE A AS cents > 3 AND cost < 99.5)"""


def table(rows: int = 200) -> Any:
    rng = Random(6)
    day = datetime(2024, 3, 1, tzinfo=UTC)
    return pa.table(
        {
            "name": rng.choices(("x", "Y", None), k=rows),
            "day": rng.choices((1, 2, None), k=rows),
            "t": rng.sample(range(1_000), rows),
            "cost": pa.array(
                [Decimal(rng.randrange(9)) / 8 for _ in range(rows)], pa.decimal128(20, 3)
            ),
            "cents": pa.array(map(Decimal, rng.choices(range(9), k=rows)), pa.decimal128(9, 0)),
            "price": [rng.choice((1.5, 2.0, 7.25, None)) for _ in range(rows)],
            "at": pa.array(
                [day + timedelta(hours=n) for n in range(rows)], pa.timestamp("us", "UTC")
            ),
        }
    )


def in_files(spark: Any, folder: Path, rows: Any) -> Any:
    """Return a DataFrame of Parquet files of some row groups each, which tasks read themselves."""
    folder.mkdir()
    for number, start in enumerate(range(0, rows.num_rows, 70)):
        parquet.write_table(rows.slice(start, 70), folder / f"{number}.parquet", row_group_size=30)
    return spark.read.parquet(str(folder))


def sends_packets(frame: Any) -> bool:
    """Return whether tasks read the files and Spark moves packets."""
    return "packet" in str(frame._jdf.queryExecution().optimizedPlan().toString())


@pytest.mark.parametrize("files", [False, True])
@pytest.mark.parametrize("clause", [ONE, ALL, FUNCTIONS, DECIMALS])
def test_partitions_are_evaluated_where_they_are(
    spark: Any, clause: str, files: bool, tmp_path: Path
) -> None:
    from pyspark.sql.pandas.types import from_arrow_schema

    expected = cerlab.match_recognize(clause, table())
    frame = spark.createDataFrame(table()).repartition(3)
    if files:
        frame = in_files(spark, tmp_path / "rows", table())
    result = cerlab.spark.match_recognize(frame, clause)
    assert sends_packets(result) == files
    rows = result.toArrow()
    assert rows.column_names == expected.column_names
    kinds = [from_arrow_schema(each.schema).simpleString() for each in (rows, expected)]
    assert kinds[0] == kinds[1]
    # moments of Spark are microseconds
    expected = expected.cast(rows.schema)
    assert sorted(map(repr, rows.to_pylist())) == sorted(map(repr, expected.to_pylist()))
    assert rows.num_rows > 10


KEYS = {
    "a": pa.array([0.0, -0.0, float("nan"), 1.5, None]),
    "b": pa.array([Decimal("1.10"), Decimal("1.00"), None], pa.decimal128(9, 2)),
    "c": pa.array(["x", "", None]),
    "d": pa.array([True, False, None]),
    "e": pa.array([1, 2, None], pa.timestamp("us", "UTC")),
    "f": pa.array([1, 2, None], pa.date32()),
}


@pytest.mark.parametrize("files", [False, True])
@pytest.mark.parametrize("keys", ["a", "b", "c, d", "e", "f, a", "d, b, c"])
def test_keys_of_every_type_are_those_of_one_machine(
    spark: Any, keys: str, files: bool, tmp_path: Path
) -> None:
    rng = Random(keys)
    columns = {name: each.take(rng.choices(range(len(each)), k=200)) for name, each in KEYS.items()}
    numbers = {"t": rng.sample(range(999), 200), "v": rng.choices(range(9), k=200)}
    events = pa.table({**columns, **numbers})
    clause = f"""MATCH_RECOGNIZE (PARTITION BY {keys} ORDER BY t
        MEASURES COUNT(*) AS n, FIRST(U.t) AS low, LAST(U.v) AS last
        PATTERN (U+ D) DEFINE U AS v <= NEXT(v))"""
    frame = spark.createDataFrame(events).repartition(4)
    if files:
        frame = in_files(spark, tmp_path / "rows", events)
    rows = cerlab.spark.match_recognize(frame, clause).toArrow().select(["n", "low", "last"])
    expected = cerlab.match_recognize(clause, events).select(["n", "low", "last"])
    assert sorted(map(repr, rows.to_pylist())) == sorted(map(repr, expected.to_pylist()))
    assert rows.num_rows > 10


def test_lakes_of_spark_are_read_by_tasks(spark: Any, tmp_path: Path) -> None:
    """Files have moments of INT96, keys in the names of folders, and dictionaries of their own."""
    for folder, rows in enumerate((table().slice(0, 90), table().slice(90))):
        place = tmp_path / "lake" / f"part={folder}" / "rows.parquet"
        place.parent.mkdir(parents=True)
        rows = rows.append_column("long", pa.array([f"{folder}/{n}" for n in range(len(rows))]))
        parquet.write_table(rows, place, use_deprecated_int96_timestamps=True, row_group_size=50)
    clause = """MATCH_RECOGNIZE (PARTITION BY part, name ORDER BY t
        MEASURES LAST(long) AS long, LAST(at) AS at PATTERN (UP+) DEFINE UP AS price < NEXT(price))
    """
    frame = spark.read.parquet(str(tmp_path / "lake")).where("part < 5")
    result = cerlab.spark.match_recognize(frame, clause)
    assert sends_packets(result)
    whole = spark.read.parquet(str(tmp_path / "lake")).toArrow()
    expected = cerlab.match_recognize(clause, whole)
    assert sorted(map(repr, result.toArrow().to_pylist())) == sorted(
        map(repr, expected.to_pylist())
    )
    assert expected.num_rows > 10


def test_rows_that_spark_has_to_read_do_not_go_in_packets(spark: Any, tmp_path: Path) -> None:
    frame = in_files(spark, tmp_path / "rows", table())
    for other in (
        frame.where("t > 100"),
        frame.withColumn("t", frame["t"] + 1),
        frame.union(frame),
    ):
        assert not sends_packets(cerlab.spark.match_recognize(other, ONE))
    selected = frame.select("t", "price", "name", "day", "at").withColumnRenamed("price", "cost")
    result = cerlab.spark.match_recognize(selected, ONE.replace("price", "cost"))
    assert sends_packets(result)
    expected = cerlab.match_recognize(ONE, table())
    assert sorted(map(repr, result.toArrow().to_pylist())) == sorted(
        map(repr, expected.to_pylist())
    )


def test_columns_that_are_not_read_do_not_travel(spark: Any) -> None:
    """Spark cuts them off before the shuffle, whatever they hold."""
    frame = spark.createDataFrame(table()).selectExpr("*", "map(t, name) AS m", "t + 1 AS other")
    found = cerlab.spark.match_recognize(frame, ONE)
    plan = found._jdf.queryExecution().optimizedPlan().toString()
    assert "RepartitionByExpression" in plan
    assert "other" not in plan
    assert "map(" not in plan
    expected = cerlab.match_recognize(ONE, table())
    assert sorted(map(repr, found.toArrow().to_pylist())) == sorted(map(repr, expected.to_pylist()))
    assert "other" in cerlab.spark.match_recognize(frame.drop("m"), ALL).columns
    with pytest.raises(cerlab.UsageError, match="CER0872"):
        cerlab.spark.match_recognize(frame.selectExpr("*", "day AS name"), ONE)


def test_what_is_not_local_to_a_task_is_refused(spark: Any) -> None:
    frame = spark.createDataFrame(table())
    for clause in ("PARTITION BY name, day", "ORDER BY t"):
        with pytest.raises(cerlab.Unsupported, match="CER0494") as caught:
            cerlab.spark.match_recognize(frame, ONE.replace(clause, ""))
        assert caught.value.hint


@pytest.mark.parametrize("files", [False, True])
def test_rows_without_an_order_are_found(spark: Any, files: bool, tmp_path: Path) -> None:
    frame = spark.createDataFrame(table())
    if files:
        frame = in_files(spark, tmp_path / "rows", table())
    with pytest.raises(Exception, match="CER0781"):
        cerlab.spark.match_recognize(frame, ONE.replace("ORDER BY t", "ORDER BY price")).collect()


def test_a_stream_is_refused(spark: Any, tmp_path: Path) -> None:
    """Each micro-batch would be matched by itself, and matches over two of them be lost."""
    parquet.write_table(table(), tmp_path / "rows.parquet")
    frame = spark.read.parquet(str(tmp_path))
    stream = spark.readStream.schema(frame.schema).parquet(str(tmp_path))
    with pytest.raises(cerlab.UsageError, match="CER0873") as caught:
        cerlab.spark.match_recognize(stream, ONE)
    assert "match_recognize takes a batch" in caught.value.hint
    with pytest.raises(cerlab.UsageError, match="CER0873"):
        cerlab.spark.match(stream, "SELECT * WHERE A WITHIN 1 [t]", "t", type="A")


def test_functions_of_users_run_cerlab(spark: Any) -> None:
    """A worker imports the package that the script has imported at its top."""
    names = {"cerlab": cerlab, "pa": pa, "__name__": "__main__"}
    text = """
def count(batches):
    for batch in batches:
        rows = pa.Table.from_batches([batch])
        yield pa.RecordBatch.from_pydict({"n": [cerlab.count("A ; B", rows)]})
"""
    exec(text, names)
    frame = spark.createDataFrame([("A",), ("A",), ("B",)], "type string").coalesce(1)
    counts = frame.mapInArrow(names["count"], "n bigint").collect()
    assert sum(row["n"] for row in counts) == 2
