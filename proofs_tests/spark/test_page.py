"""The blocks of the manual's page on Spark run."""

from __future__ import annotations

import json
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
    monkeypatch.setattr("cerlab.spark.session", lambda *_: spark)
    trades = tmp_path / "trades"  # the JVM has a folder of its own that relative paths are of
    trades.mkdir()
    batches = synthetic.event_batches(synthetic.stocks(200, seed=3), synthetic.STOCK_SCHEMA)
    pq.write_table(pa.Table.from_batches(batches), trades / "0.parquet")
    namespace: dict[str, Any] = {}
    text = PAGE.read_text(encoding="utf-8").replace('format("kafka")', 'format("memory")')
    for folder in ("trades", "matches", "checkpoint", "checkpoint-kafka"):
        text = re.sub(rf'"{folder}"(?!: )', f'"{tmp_path / folder}"', text)
    for block in BLOCK.findall(text):
        exec(compile(block, "spark.md", "exec"), namespace)
        if "answers.count()" in block:
            assert namespace["answers"].count() > 0
    assert namespace["rows"].count() > 0
    counts, found = namespace["counts"], namespace["found"].count()
    assert counts["answers"] == found > 0  # the second start has doubled nothing
    assert counts["waiting"] > 0
    records = spark.table("found").where("topic = 'found'").collect()
    assert len(records) == found
    values = [json.loads(record["value"]) for record in records]
    assert [each["partition"]["name"] for each in values] == [record["key"] for record in records]
