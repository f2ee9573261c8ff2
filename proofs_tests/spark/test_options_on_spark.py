"""Options of `cerlab.spark.match` that name columns: orders, types, rows with names; decimals."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cerlab

QUERY = "SELECT * WHERE A AS a ; B+ AS b PARTITION BY [k] WITHIN 9 [t]"


def table(rows: int = 100) -> Any:
    rng = Random(8)
    cents = [None if n % 7 == 0 else rng.randrange(-999, 999) for n in range(rows)]
    prices = [None if n is None else Decimal(n).scaleb(-2) for n in cents]
    weights = [Decimal(rng.randrange(10**6)) for _ in range(rows)]
    return pa.table(
        {
            "type": rng.choices("AB", k=rows),
            "t": range(rows),
            "id": range(rows),
            "k": rng.choices("xy", k=rows),
            "p": pa.array(prices, pa.decimal128(9, 2)),
            "w": pa.array(weights, pa.decimal128(12, 0)),
        }
    )


def places(frame: Any) -> list[tuple[int, int]]:
    return sorted((row["start"], row["end"]) for row in frame.collect())


def as_numbers(rows: Any) -> list[str]:
    """Return the texts of rows, sorted; decimals are doubles or integers on one machine."""
    cells = (row.values() for row in rows.to_pylist())
    kinds = int | float | Decimal
    return sorted(repr([float(v) if isinstance(v, kinds) else v for v in row]) for row in cells)


def here(query: str = QUERY) -> list[tuple[int, int]]:
    return sorted((m.start, m.end) for m in cerlab.evaluate(query, table()))


def test_columns_of_spark_and_nested_fields_order_a_stream(spark: Any, tmp_path: Path) -> None:
    from pyspark.sql import functions as fn

    pq.write_table(table(), place := str(tmp_path / "e.parquet"))
    frame = spark.read.parquet(place)
    nested = frame.withColumn("at", fn.struct(fn.col("t").alias("time"), fn.lit(1).alias("id")))
    orders = [
        (frame, fn.col("t")),
        (frame, [fn.col("t"), "id"]),
        (frame, (fn.col("t") * 2).alias("twice")),
        (frame, fn.col("t") + 1),
        (nested, "at.time"),
        (nested, [fn.col("at.id"), fn.col("at.time"), fn.col("id")]),
    ]
    for rows, order in orders:
        assert places(cerlab.spark.match(rows, QUERY, order)) == here()
        assert places(rows.transform(cerlab.spark.matching(QUERY, order))) == here()
    assert "which the tasks read themselves" in cerlab.spark.explain(frame, QUERY, fn.col("t"))
    for order in (fn.col("t").desc(), fn.col("t").asc(), "no", "at.no"):
        with pytest.raises(cerlab.UsageError, match="CER0874") as refused:
            cerlab.spark.match(nested, QUERY, order)
        assert refused.value.hint


def test_the_types_may_be_in_a_column_of_another_name(spark: Any) -> None:
    renamed = table().rename_columns({"type": "kind"})
    frame = spark.createDataFrame(renamed)
    assert places(cerlab.spark.match(frame, QUERY, "t", type_column="kind")) == here()
    with pytest.raises(cerlab.BadData, match="CER0736"):
        cerlab.spark.match(frame, QUERY, "t", type_column="no")
    with pytest.raises(cerlab.BadData, match="CER0732"):
        cerlab.spark.match(spark.createDataFrame(table()), QUERY, "t", type_column="k")


def test_rows_without_an_order_have_that_of_their_file(spark: Any, tmp_path: Path) -> None:
    """As the manual orders them: by the file and the row, and by their content."""
    from pyspark.sql import functions as fn

    ties = table().set_column(1, "t", pa.array([n // 4 for n in range(100)]))
    pq.write_table(ties.drop(["w"]), tmp_path / "e.parquet", row_group_size=30)
    frame = spark.read.parquet(str(tmp_path / "e.parquet"))
    order = ["t", "_metadata.file_path", "_metadata.row_index"]
    expected = sorted((m.start, m.end) for m in cerlab.evaluate(QUERY, ties))
    assert places(cerlab.spark.match(frame, QUERY, order)) == expected
    order = ["t", fn.xxhash64(*frame.columns)]
    assert len(places(cerlab.spark.match(frame.repartition(3), QUERY, order))) > 9


@pytest.mark.filterwarnings("ignore")  # of pandas-on-Spark
def test_frames_of_pandas_on_spark_are_accepted(spark: Any) -> None:
    pytest.importorskip("pyspark.pandas")
    rows = spark.createDataFrame(table().drop(["p", "w"]))
    plain, indexed = rows.pandas_api(), rows.pandas_api(index_col="id")
    for frame in (plain, indexed):
        assert places(cerlab.spark.match(frame, QUERY, position="id")) == here()
    assert "position" not in cerlab.spark.explain(plain, QUERY, "t", "id")
    clause = """MATCH_RECOGNIZE (PARTITION BY k ORDER BY t MEASURES COUNT(*) AS n
        PATTERN (A+) DEFINE A AS type = 'A')"""
    counts = cerlab.spark.match_recognize(plain, clause).toPandas()["n"].tolist()
    assert sorted(counts) == sorted(cerlab.match_recognize(clause, table())["n"].to_pylist())
    with pytest.raises(cerlab.UsageError, match="CER0881"):
        cerlab.spark.match_stream(plain, QUERY, position="id", lateness=0)


@pytest.mark.parametrize("compared", ["", " FILTER a.w < b.w"])
def test_rows_have_aliases_and_attributes_of_their_ends(spark: Any, compared: str) -> None:
    query = f"SELECT * WHERE (A AS a ; B+ AS b){compared} PARTITION BY [k] WITHIN 9 [t]"
    columns = ["a.p AS low", "count(b) as n", "end.w", "start.t AS `first t`", "last(b.p)"]
    frame = spark.createDataFrame(table()).repartition(3)
    rows = cerlab.spark.match(frame, query, position="id", columns=columns).toArrow()
    expected = cerlab.parse_query(query).run(table()).table(columns)
    assert rows.column_names == expected.column_names
    assert rows.num_rows
    assert rows.schema.field("end.w").type == pa.decimal128(12, 0)
    assert as_numbers(rows) == as_numbers(expected)


@pytest.mark.parametrize("group", ["", " GROUP BY b.k", " GROUP BY end"])
@pytest.mark.parametrize("files", [True, False])
def test_sums_of_decimals(spark: Any, tmp_path: Path, group: str, files: bool) -> None:
    measures = "COUNT(*), SUM(a.p), AVG(a.p), MIN(b.p), MAX(b.w), SUM(b.w), AVG(b.w)"
    query = f"SELECT {measures} WHERE A AS a ; B AS b WITHIN 9 [t]{group}"
    pq.write_table(table(), place := str(tmp_path / "e.parquet"), row_group_size=20)
    frame = spark.read.parquet(place)
    frame = frame if files else frame.where("t >= 0").repartition(3)
    rows = cerlab.spark.match(frame, query, "t").toArrow()
    expected = cerlab.parse_query(query).run(table()).aggregate()
    assert sorted(map(repr, rows.to_pylist())) == sorted(map(repr, expected.to_pylist()))


def test_a_lateness_of_moments_has_a_unit(spark: Any, tmp_path: Path) -> None:
    schema = "type string, id bigint, k string, ts timestamp"
    frame = spark.readStream.schema(schema).parquet(str(tmp_path))
    query = "SELECT * WHERE A ; B PARTITION BY [k] WITHIN 9 SECONDS"
    lengths: dict[str, Any]
    for lengths in ({"lateness": 10}, {"lateness": "10"}, {"lateness": 0, "lag": 10}):
        with pytest.raises(cerlab.UsageError, match=r"CER0882.*a number has no unit"):
            cerlab.spark.match_stream(frame, query, position="id", **lengths)
    for lengths in ({"lateness": 0}, {"lateness": timedelta(seconds=1), "lag": "9 s"}):
        cerlab.spark.match_stream(frame, query, position="id", **lengths)
