"""``cerlab run --language rows``."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from cerlab.cli import main
from proofs_tests.command import Cli

QUERY = """MATCH_RECOGNIZE (PARTITION BY s ORDER BY t MEASURES LAST(UP.p) AS top, COUNT(*) AS n
    PATTERN (A UP+) DEFINE UP AS p > PREV(p))"""
CSV = "s,t,p\na,1,5\nb,1,7\na,2,6\na,3,9\nb,2,3\na,4,1\n"


@pytest.fixture
def ticks(tmp_path: Path) -> str:
    path = tmp_path / "ticks.csv"
    path.write_text(CSV)
    return str(path)


def test_rows_of_a_file(ticks: str, cli: Cli) -> None:
    lines = cli("run", "--language", "rows", QUERY, ticks).rows
    assert lines == [{"s": "a", "top": 9, "n": 3}]


def test_the_query_in_a_file_and_the_result_in_one(ticks: str, tmp_path: Path) -> None:
    query, out = tmp_path / "q.sql", tmp_path / "out.parquet"
    query.write_text(f"SELECT top FROM ticks {QUERY}")
    arguments = [str(query), ticks, "--format", "parquet", "-o", str(out)]
    assert main(["run", "--language", "rows", *arguments]) == 0
    assert pq.read_table(out).to_pydict() == {"top": [9]}


def test_ndjson_and_a_table(tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "ticks.ndjson"
    path.write_text('{"s": "a", "t": 1, "p": 1}\n{"s": "a", "t": 2, "p": 2.5}\n')
    assert "2.5" in cli("run", "--language", "rows", QUERY, path, "--format", "table").out


def test_an_error_has_status_2(ticks: str, cli: Cli) -> None:
    error = cli("run", "--language", "rows", QUERY.replace("UP.p", "UP.q"), ticks, status=2).err
    assert "unknown-column" in error
    assert "--labels" in cli("run", "--language", "rows", QUERY, ticks, "--labels", status=2).err


def test_a_limit_of_no_rows(ticks: str, cli: Cli) -> None:
    assert cli("run", "--language", "rows", QUERY, ticks, "--limit", "0").out == ""
