"""The blocks of the manual's page on Spark run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cerlab.io import synthetic

PAGE = Path(__file__).parents[2] / "docs" / "how_to" / "spark.md"
BLOCK = re.compile(r"^```\{code-block\} python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def test_the_python_of_the_page_on_spark_runs(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("cerlab.spark.session", lambda *_: spark)
    Path("trades").mkdir()
    batches = synthetic.event_batches(synthetic.stocks(200, seed=3), synthetic.STOCK_SCHEMA)
    pq.write_table(pa.Table.from_batches(batches), "trades/0.parquet")
    namespace: dict[str, Any] = {}
    first, second = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    exec(compile(first, "spark.md", "exec"), namespace)
    assert namespace["answers"].count() > 0
    exec(compile(second, "spark.md", "exec"), namespace)
    assert namespace["answers"].isStreaming
