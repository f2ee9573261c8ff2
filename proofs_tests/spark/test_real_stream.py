"""The real stock stream at 1, 4 and 37 parts: S3, Q1, Q3 and Q6 of the CORE paper (CORE App. G)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import cerlab
import cerlab.spark
from cerlab import Stream
from cerlab.io.answers import table_of_batches
from cerlab.spark.batch import answers
from cerlab.spark.first_pass import RowRanges, first_pass
from cerlab.spark.request import request_of
from proofs_tests.benchmarks.queries import catalogue
from proofs_tests.suite import Suite

pytestmark = pytest.mark.filterwarnings("default")

COUNTS = {"S3": 345_816, "Q3": 7_209, "Q6": 81_799}
PARTS = (1, 4, 37)


@pytest.fixture(scope="module")
def stocks(spark: Any, stock_file: Path) -> tuple[Stream, Any]:
    """The stream, and its DataFrame with a column of positions."""
    stream = Stream.read(stock_file)
    columns = {name: list(column) for name, column in stream.columns.items() if name != "stream"}
    table = pa.table({**columns, "position": range(len(stream))})
    return stream, spark.createDataFrame(table).repartition(4).cache()


def digest(answers: Any) -> tuple[int, int]:
    """Return the number of answers, and a sum over all that ignores their order."""
    from pyspark.sql import functions as fn

    each = fn.xxhash64("start", "end", "positions").cast("decimal(38,0)")
    row = answers.agg(fn.count("*"), fn.sum(each)).first()
    return row[0], int(row[1])


@pytest.fixture(scope="module")
def local(spark: Any, stocks: tuple[Stream, Any]) -> Callable[[str], tuple[int, int]]:
    """The digest of what the local engine answers, of each query once."""
    from cerlab.engine.whole_stream import compiled_answers

    @cache
    def of_local(name: str) -> tuple[int, int]:
        query = cerlab.parse_query(catalogue("stocks")[name])
        batches = compiled_answers(query.plan, query.machine, stocks[0], None)
        pair = digest(spark.createDataFrame(table_of_batches(batches)))
        assert pair[0] == COUNTS[name]
        return pair

    return of_local


def parts_of(name: str, request: pytest.FixtureRequest) -> tuple[int, ...]:
    """All of them in the deep profile, another one for each query in the quick one."""
    deep = request.config.getoption("--profile") == "deep"
    return PARTS if deep else {"S3": (37,), "Q3": (4,), "Q6": (1,), "Q1": (4,)}[name]


@pytest.mark.parametrize("name", ["Q3", "Q6", pytest.param("S3", marks=pytest.mark.long)])
def test_counts_and_digests_are_those_of_the_local_engine(
    stocks: tuple[Stream, Any],
    local: Callable[[str], tuple[int, int]],
    name: str,
    request: pytest.FixtureRequest,
) -> None:
    query = catalogue("stocks")[name]
    for parts in parts_of(name, request):
        frame = cerlab.spark.match(stocks[1], query, position="position", parts=parts)
        assert digest(frame) == local(name), parts


def test_q1_has_as_many_answers_for_each_end(
    stocks: tuple[Stream, Any], request: pytest.FixtureRequest
) -> None:
    """13 million of them: up to twenty for each end, counted."""
    stream, frame = stocks
    query = cerlab.parse_query(f"{catalogue('stocks')['Q1']}\nLIMIT 20")
    ends: dict[int, int] = {}
    for answer in query.run(stream):
        ends[answer.end] = ends.get(answer.end, 0) + 1
    for parts in parts_of("Q1", request):
        result = cerlab.spark.match(frame, query, position="position", parts=parts)
        assert {row["end"]: row["count"] for row in result.groupBy("end").count().collect()} == ends


def test_q3_by_ranges_is_q3_by_keys(stocks: tuple[Stream, Any]) -> None:
    _, frame = stocks
    query = catalogue("stocks")["Q3"]
    result = cerlab.spark.match(frame, query, position="position", parts=2, mode="ranges")
    assert digest(result)[0] == COUNTS["Q3"]


def test_rows_in_order_have_the_same_answers_in_packets(
    spark: Any, stocks: tuple[Stream, Any], local: Callable[[str], tuple[int, int]], suite: Suite
) -> None:
    """As they lie, in two tasks; Q3 without a column of positions, so they are counted."""
    if not suite.deep:
        pytest.skip("with --profile deep only: smaller streams are in units elsewhere")
    for name in ("S3", "Q3"):
        _in_units(spark, stocks[0], name, local(name))


def _in_units(spark: Any, stream: Stream, name: str, expected: tuple[int, int]) -> None:
    columns = {key: list(column) for key, column in stream.columns.items() if key != "stream"}
    frame = spark.createDataFrame(pa.table({**columns, "position": range(len(stream))}))
    query = catalogue("stocks")[name]
    order: dict[str, Any] = {"position": "position"} if name == "S3" else {"order_by": "position"}
    request = request_of(frame, query, parts=37, **order)
    ranges = first_pass(request)
    assert isinstance(ranges, RowRanges)
    assert ranges.in_order
    assert digest(answers(request, ranges)) == expected
