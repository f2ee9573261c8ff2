"""Whatever holds rows goes in, Arrow comes out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cerlab
from cerlab import BadData, UsageError

CLAUSE = "MATCH_RECOGNIZE (ALL ROWS PER MATCH PATTERN (A B) DEFINE B AS x > PREV(x))"
ROWS: list[dict[str, Any]] = [{"x": 1, "s": "a"}, {"x": 3, "s": None}, {"x": 2, "s": "c"}]
EXPECTED = pa.table({"x": [1, 3], "s": ["a", None]})


def test_dicts_a_table_and_data_frames() -> None:
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    for table in (ROWS, tuple(ROWS), pa.Table.from_pylist(ROWS), pd.DataFrame(ROWS)):
        assert cerlab.match_recognize(CLAUSE, table).equals(EXPECTED)
    of_polars = cerlab.match_recognize(CLAUSE, pl.DataFrame(ROWS))
    assert of_polars.to_pylist() == EXPECTED.to_pylist()
    clause = CLAUSE.replace("ALL ROWS", "MEASURES FIRST(s) AS f ALL ROWS")
    assert cerlab.match_recognize(clause, pl.DataFrame(ROWS)).column("f").to_pylist() == [
        "a",
        "a",
    ]
    assert cerlab.match_recognize(cerlab.parse_rows(CLAUSE), ROWS).equals(EXPECTED)


def test_a_clause_reads_files(tmp_path: Path) -> None:
    lines, table, text = (tmp_path / name for name in ("r.ndjson", "r.parquet", "r.csv"))
    lines.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    pq.write_table(pa.Table.from_pylist(ROWS), table)
    text.write_text("x,s\n1,a\n3,\n2,c\n")
    for path in (lines, table):
        assert cerlab.match_recognize(CLAUSE, path).equals(EXPECTED)
    assert cerlab.match_recognize(CLAUSE, str(text)).column("x").to_pylist() == [1, 3]


def test_a_stream() -> None:
    stream = cerlab.Stream.from_events([{"type": "T", **row} for row in ROWS])
    result = cerlab.match_recognize(CLAUSE, stream)
    assert result.column_names == ["type", "x", "s"]
    assert result.column("x").to_pylist() == [1, 3]


def test_integers_and_doubles_in_one_column_are_doubles() -> None:
    rows = [{"x": 1}, {"x": 2.5}, {"x": None}]
    result = cerlab.match_recognize("MATCH_RECOGNIZE (ALL ROWS PER MATCH PATTERN (A))", rows)
    assert result.schema.field("x").type == pa.float64()


def test_what_holds_no_rows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="expected rows, got"):
        cerlab.match_recognize(CLAUSE, 7)
    with pytest.raises(BadData, match="a row is a dict"):
        cerlab.match_recognize(CLAUSE, [1])
    with pytest.raises(BadData, match="no such file"):
        cerlab.match_recognize(CLAUSE, tmp_path / "none.csv")
    with pytest.raises(UsageError, match="unknown evaluator"):
        cerlab.match_recognize(CLAUSE, ROWS, evaluator="serch")  # type: ignore[arg-type]
