"""The unit of a time that holds moments has no effect on Spark, in batches and on streams."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cerlab
import cerlab.spark
from cerlab.spark.stream.request import stream_request_of
from proofs_tests.spark.streams import same, stream_result

pytestmark = pytest.mark.filterwarnings("default")  # those of PySpark are not ours

QUERY = "SELECT * WHERE A ; B WITHIN 10 MINUTES"
START = datetime(2026, 1, 1, tzinfo=UTC)
ROWS = [
    {"id": n, "type": "AB"[n % 2], "k": n % 3 // 2, "ts": START + timedelta(minutes=n)}
    for n in range(20)
]


@pytest.mark.parametrize("key", ["", " PARTITION BY [k]"])
@pytest.mark.parametrize("mode", ["keys", "ranges", "one"])
def test_batches(spark: Any, mode: str, key: str) -> None:
    if mode == "keys" and not key:
        return  # no key to run by
    table = pa.Table.from_pylist(ROWS)
    frame, query = spark.createDataFrame(table), QUERY.replace(" WITHIN", f"{key} WITHIN")
    expected = cerlab.count(query, table, time="ts")
    plain = cerlab.spark.match(frame, query, "ts", time="ts", mode=mode, parts=4)
    assert plain.count() == expected
    for unit in ("ns", "ms", "d"):
        with pytest.warns(cerlab.CerlabWarning, match=f"CER0930: unit='{unit}' has no effect"):
            frame_of_unit = cerlab.spark.match(
                frame, query, "ts", time="ts", unit=unit, mode=mode, parts=4
            )
        assert frame_of_unit.count() == expected


def test_a_query_that_compares_labels(spark: Any) -> None:
    query = "SELECT * WHERE A AS a ; B AS b FILTER a.id < b.id PARTITION BY [k] WITHIN 4 MINUTES"
    table = pa.Table.from_pylist(ROWS)
    frame = spark.createDataFrame(table)
    with pytest.warns(cerlab.CerlabWarning, match="CER0930"):
        answers = cerlab.spark.match(frame, query, position="id", time="ts", unit="ms")
    assert answers.count() == cerlab.count(query, table, time="ts") > 0


def test_streams(spark: Any, tmp_path: Path) -> None:
    """The state of a key lives as long with a unit as without: tasks get the same job."""
    query = QUERY.replace(" WITHIN", " PARTITION BY [k] WITHIN")
    minutes = [("A", "quiet", 0), *(("X", "busy", n) for n in (3, 6, 8)), ("B", "quiet", 9)]
    minutes += [("X", "end", n) for n in (1_000, 2_000)]
    (tmp_path / "in").mkdir()
    for n, (kind, key, minute) in enumerate(minutes):
        row = {"id": n, "type": kind, "k": key, "ts": START + timedelta(minutes=minute)}
        pq.write_table(pa.Table.from_pylist([row]), place := tmp_path / "in" / f"{n}.parquet")
        os.utime(place, (1_700_000_000 + n, 1_700_000_000 + n))  # the order in which Spark reads
    columns = "id bigint, type string, k string, ts timestamp"
    reader = spark.readStream.schema(columns).option("maxFilesPerTrigger", 1)
    frame = reader.parquet(str(tmp_path / "in"))
    how: Any = {"position": "id", "time": "ts", "lateness": "0 seconds", "lag": "1 min"}
    plain = stream_request_of(frame, query, **how).job
    with pytest.warns(cerlab.CerlabWarning, match="CER0930"):
        assert stream_request_of(frame, query, unit="ms", **how).job == plain
    with pytest.warns(cerlab.CerlabWarning, match="CER0930"):
        answers = cerlab.spark.match_stream(frame, query, unit="ms", **how)
    same(stream_result(spark, answers, tmp_path).answers, [(0, 4, (0, 4))])
