"""The blocks of the manual's page on Spark run, its streams through a kill and a restart."""

from __future__ import annotations

import json
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from threading import Thread
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cerlab
from cerlab.io import synthetic
from cerlab.spark.stream.match import STARTS
from proofs_tests.spark.streams import triples
from proofs_tests.spark.test_stream_killed import Phase, commits, kill, phase

PAGE = Path(__file__).parents[2] / "docs" / "how_to" / "spark.md"
BLOCK = re.compile(r"^```\{code-block\} python\n(.*?)^```", re.DOTALL | re.MULTILINE)
FILES = 40
"""Files of events: three micro-batches of the page's 16."""


def write_trades(folder: Path) -> Any:
    """Write files that arrive in order, with a last row of each key; return all their rows."""
    batches = synthetic.event_batches(synthetic.stocks(200, seed=3), synthetic.STOCK_SCHEMA)
    events = pa.Table.from_batches(batches)
    rows = events.to_pylist()
    names = sorted({row["name"] for row in rows})
    end = {"type": "END", "stock_time": 10**9}
    last = [rows[0] | end | {"id": 10**9 + n, "name": name} for n, name in enumerate(names)]
    events = pa.concat_tables([events, pa.Table.from_pylist(last, events.schema)])
    folder.mkdir()
    size = -(-events.num_rows // FILES)
    for n in range(FILES):
        path = folder / f"{n:02}.parquet"
        pq.write_table(events.slice(n * size, size), path)
        os.utime(path, (1_700_000_000 + n,) * 2)
    return events


def blocks(place: Path) -> list[str]:
    """The page's code, its folders in one place, with `produce` for Kafka."""
    text = PAGE.read_text(encoding="utf-8").replace('format("kafka")', "foreachBatch(produce)")
    folders = {name: name for name in ("trades", "checkpoint", "checkpoint-kafka")}
    for name, folder in (folders | {"matches": "out"}).items():  # as `phase` has it
        text = re.sub(rf'"{name}"(?!: )', f'"{place / folder}"', text)
    return BLOCK.findall(text)


def producer(place: Path, stop: int | None = None) -> Callable[[Any, int], None]:
    """A sink of records with topic, key and value; it never returns from the micro-batch `stop`."""

    def produce(records: Any, batch: int) -> None:
        kinds = {field.name: field.dataType.simpleString() for field in records.schema}
        assert kinds == dict.fromkeys(("topic", "key", "value"), "string")  # as Kafka's sink wants
        with (place / "topics").open("a") as file:
            file.writelines(json.dumps(each.asDict()) + "\n" for each in records.collect())
        (place / f"produced-{batch}").touch()
        while batch == stop:
            time.sleep(1)

    return produce


def until_killed(place: Path) -> None:
    """Run both streams of the page, that to Kafka until it has its second micro-batch unconfirmed.

    Then that to Parquet begins, which is where the process is killed.
    """
    code = blocks(place)
    stream = next(each for each in code if "match_stream" in each)
    to_kafka = next(each for each in code if "to_kafka" in each)
    namespace: dict[str, Any] = {"produce": producer(place, stop=1)}
    for block in (code[0].split("query =")[0], stream.split("def start")[0]):
        run_block(block, namespace)
    thread = Thread(target=run_block, args=(to_kafka, namespace), daemon=True)
    thread.start()
    while thread.is_alive() and not (place / "produced-1").exists():
        time.sleep(0.05)
    run_block(stream, namespace)


def run_block(block: str, namespace: dict[str, Any]) -> None:
    """Run a block; a stream whose worker came too late for Spark is started again."""
    from pyspark.errors import StreamingQueryException

    for start in range(1, STARTS + 1):
        try:
            exec(compile(block, "spark.md", "exec"), namespace)
            break
        except StreamingQueryException as error:
            if start == STARTS or "failed to connect back" not in str(error):
                raise


def answers_in(rows: Iterable[Any]) -> list[tuple[int, int, tuple[int, ...]]]:
    return sorted((row["start"], row["end"], tuple(row["positions"])) for row in rows)


def test_the_python_of_the_page_on_spark_runs(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its streams are killed in a micro-batch, go on, and one is started once more."""
    events = write_trades(tmp_path / "trades")
    child = [f"from {__name__} import Path, until_killed", f"until_killed(Path({str(tmp_path)!r}))"]
    kill(["-c", "\n".join(child)], tmp_path / "log", lambda: phase(tmp_path, 1) is Phase.OFFSETS)
    assert (commits(tmp_path), phase(tmp_path, 1)) == (1, Phase.OFFSETS)
    assert "FileNotFoundException" not in (tmp_path / "log").read_text()  # no stack at first

    monkeypatch.setattr("cerlab.spark.session", lambda *_: spark)
    namespace: dict[str, Any] = {"produce": producer(tmp_path)}
    partitions = spark.conf.get("spark.sql.shuffle.partitions")
    try:
        for block in blocks(tmp_path):
            run_block(block, namespace)
            if "answers.count()" in block:
                assert namespace["answers"].count() > 0
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", partitions)
    assert namespace["rows"].count() > 0
    assert all(seconds >= 0 for seconds in cerlab.spark.time_spent(spark).values())

    at = events.column("id").to_pylist()
    expected = triples(cerlab.evaluate(namespace["keyed"], events), at)
    assert expected
    assert answers_in(namespace["found"].collect()) == expected  # nothing lost, nothing doubled
    assert namespace["counts"]["waiting"] > 0

    produced = Counter((tmp_path / "topics").read_text().splitlines())
    assert max(produced.values()) == 2  # the micro-batch that was not confirmed
    records = [json.loads(each) for each in produced]
    values = [json.loads(each["value"]) for each in records]
    assert {each["topic"] for each in records} == {"found"}
    assert answers_in(values) == expected
    assert [each["partition"]["name"] for each in values] == [each["key"] for each in records]
