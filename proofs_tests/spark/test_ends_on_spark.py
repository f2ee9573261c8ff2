"""`ends_in` on Spark: the answers of the whole stream that end between two times."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import cerlab
from cerlab.cli import main
from cerlab.spark.first_pass import first_pass
from cerlab.spark.ranges import FileRanges
from cerlab.spark.request import request_of
from proofs_tests.spark.streams import Answers, triples

BASE = "SELECT * WHERE A AS a ; B AS b FILTER a[v > 3] AND b[v < 9] {}WITHIN 9 MINUTES"
BY_RANGE, BY_KEY = BASE.format(""), BASE.format("PARTITION BY [k] ")
OF_STREAM = BASE.format("PARTITION BY [k] ").replace("WHERE", "FROM s WHERE")
HOW: list[dict[str, Any]] = [{"order_by": ["ts", "id"]}, {"order_by": "ts", "position": "id"}]
START = datetime(2024, 2, 28, 23, tzinfo=UTC)


def table(rng: Random, rows: int = 240) -> Any:
    minutes = sorted(rng.choices(range(rows // 2), k=rows))
    return pa.table(
        {
            "type": rng.choices("ABC", k=rows),
            "stream": rng.choices(["s", "s", "s", "other", None], k=rows),
            "ts": pa.array(
                [START + timedelta(minutes=m) for m in minutes], pa.timestamp("us", "UTC")
            ),
            "t": pa.array(minutes, pa.int64()),
            "x": pa.array(minutes, pa.float64()),
            "id": pa.array([3 * n for n in range(rows)], pa.int64()),
            "k": rng.choices("xyz", k=rows),
            "v": pa.array([rng.randrange(12) for _ in range(rows)], pa.int64()),
        }
    )


def here(
    query: str, events: Any, first: int, stop: int, *, ids: bool, time: str | None = "ts"
) -> Answers:
    """Return the answers on one machine whose end is from one minute to before another."""
    minutes, places = events.column("t").to_pylist(), events.column("id").to_pylist()
    matches = cerlab.evaluate(query, events, time=time)
    answers = [m for m in matches if first <= minutes[m.end] < stop]
    return triples(answers, places if ids else None)


def write(events: Any, folder: Path, rng: Random, kind: str) -> None:
    """Write files in order, in order as INT96, or with each row in one of three files."""
    folder.mkdir()
    rows = list(range(events.num_rows))
    parts = [rows[start : start + 60] for start in range(0, len(rows), 60)]
    if kind == "none":
        rng.shuffle(rows)
        parts = [rows[n::3] for n in range(3)]
    for n, part in enumerate(parts):
        pq.write_table(
            events.take(pa.array(part, pa.int64())),
            folder / f"{n}.parquet",
            row_group_size=20,
            use_deprecated_int96_timestamps=kind == "int96",
        )


@pytest.mark.parametrize("kind", ["order", "int96", "none", "filter"])
def test_answers_are_those_of_all_rows_that_end_in_time(
    spark: Any, tmp_path: Path, kind: str
) -> None:
    rng = Random(kind)
    events = table(rng)
    write(events, tmp_path / "in", rng, kind)
    frame = spark.read.parquet(str(tmp_path / "in"))
    frame = frame.where("v >= 0").repartition(3) if kind == "filter" else frame
    some = 0
    for query in (BY_RANGE, BY_KEY, OF_STREAM):
        for first, stop in ((0, 7), (50, 71), (119, 300), (200, 300)):
            pair = (START + timedelta(minutes=first), START + timedelta(minutes=stop))
            for how in rng.sample(HOW, rng.choice((1, 2))):
                for mode in (None, "keys") if query is BY_KEY else (None,):
                    answers = cerlab.spark.match(
                        frame, query, time="ts", mode=mode, parts=3, ends_in=pair, **how
                    )
                    expected = here(query, events, first, stop, ids="position" in how)
                    assert triples(answers.collect()) == expected, (query, first, stop, how, mode)
                    some += bool(expected)
    assert some > 5


@pytest.mark.parametrize("time", ["t", "x"])
def test_times_are_numbers_too(spark: Any, tmp_path: Path, time: str) -> None:
    events = table(rng := Random(time))
    write(events, tmp_path / "in", rng, "order")
    query = BY_KEY.replace("9 MINUTES", f"9 [{time}]")
    for frame in (spark.read.parquet(str(tmp_path / "in")), spark.createDataFrame(events)):
        for pair in ((50, 71), (49.5, 70.5)):
            answers = cerlab.spark.match(frame, query, [time, "id"], ends_in=pair)
            expected = here(query, events, 50, 71, ids=False, time=None)
            assert triples(answers.collect()) == expected
            assert expected


def test_files_and_row_groups_outside_are_not_opened(spark: Any, tmp_path: Path) -> None:
    events = table(rng := Random(4))
    write(events, tmp_path / "in", rng, "order")
    frame = spark.read.parquet(str(tmp_path / "in"))
    pair = ("2024-02-29T00:00", "2024-02-29T00:10")  # minutes 60 to 70
    ranges = first_pass(request_of(frame, BY_RANGE, ["ts", "id"], time="ts", ends_in=pair))
    assert isinstance(ranges, FileRanges)
    minutes = events.column("t").to_pylist()
    kept = [group for cluster in ranges.clusters for group in cluster]
    inside = [n // 20 for n, minute in enumerate(minutes) if 51 <= minute < 70]
    assert len(kept) == len(set(inside)) < 6
    text = cerlab.spark.explain(frame, BY_RANGE, ["ts", "id"], time="ts", ends_in=pair)
    assert "from 2024-02-29T00:00:00Z to before 2024-02-29T00:10:00Z" in text
    assert "rows from 2024-02-28T23:51:00Z on are read" in text
    expected = here(BY_RANGE, events, 60, 70, ids=False)
    answers = cerlab.spark.match(frame, BY_RANGE, ["ts", "id"], time="ts", ends_in=pair)
    broken = {group.path for group in kept}
    for path in (tmp_path / "in").iterdir():
        if str(path) not in broken:  # only its footer is left whole
            content = bytearray(path.read_bytes())
            content[4:2000] = bytes(1996)
            path.write_bytes(bytes(content))
    assert triples(answers.collect()) == expected
    assert expected


def test_rows_with_names_aggregates_and_compared_labels(spark: Any) -> None:
    events = table(Random(9))
    frame = spark.createDataFrame(events).repartition(2)
    pair = (START + timedelta(minutes=50), START + timedelta(minutes=71))
    options: dict[str, Any] = {"position": "id", "time": "ts", "ends_in": pair}
    compared = BY_KEY.replace("b[v < 9]", "a.v < b.v")
    for query in (BY_KEY, compared):
        expected = here(query, events, 50, 71, ids=True)
        assert triples(cerlab.spark.match(frame, query, **options).collect()) == expected
        rows = cerlab.spark.match(frame, query, columns=["a.v", "end.t"], **options)
        assert sorted(r["end"] for r in rows.collect()) == sorted(end for _, end, _ in expected)
        assert all(50 <= r["end.t"] < 71 for r in rows.collect())
    for query in (BY_RANGE, BY_KEY):
        expected = here(query, events, 50, 71, ids=True)
        for mode in (None, "keys") if query is BY_KEY else (None,):
            counted = query.replace("SELECT *", "SELECT COUNT(*)")
            (row,) = cerlab.spark.match(frame, counted, mode=mode, **options).collect()
            assert row["count"] == len(expected) > 0
    with pytest.raises(cerlab.Unsupported, match="CER0488"):
        cerlab.spark.match(frame, "SELECT * WHERE A ; B", position="id", ends_in=(1, 2))


@pytest.mark.parametrize("wrong", [None, float("nan")])
def test_an_event_without_a_time_is_refused_as_ever(spark: Any, wrong: float | None) -> None:
    events = table(Random(2), 40)
    times = [wrong if n == 7 else time for n, time in enumerate(events.column("x").to_pylist())]
    frame = spark.createDataFrame(events.set_column(4, "x", pa.array(times, pa.float64())))
    query = BY_RANGE.replace("9 MINUTES", "2 [x]")
    with pytest.raises(cerlab.BadData, match="CER0712"):
        cerlab.spark.match(frame, query, position="id", ends_in=(15, 17)).collect()


def test_the_command_has_the_times_and_the_column_of_types(spark: Any, tmp_path: Path) -> None:
    events = table(Random(6)).rename_columns({"type": "kind"})
    for day in ("day=2024-02-28", "day=2024-02-29"):
        (tmp_path / "in" / day).mkdir(parents=True)
    pq.write_table(events.slice(0, 120), tmp_path / "in" / "day=2024-02-28" / "a.parquet")
    pq.write_table(events.slice(120), tmp_path / "in" / "day=2024-02-29" / "a.parquet")
    words = ["spark", BY_KEY, "--input", str(tmp_path / "in"), "--output", str(tmp_path / "out")]
    words += ["--order-by", "ts,id", "--time", "ts", "--type-column", "kind", "--quiet"]
    times = ["--ends-in", "2024-02-28T23:50", "2024-02-29T00:11Z", "--master", "local[2]"]
    assert main([*words, *times]) == 0
    rows = ds.dataset(tmp_path / "out", format="parquet").to_table().to_pylist()
    expected = here(BY_KEY, events.rename_columns({"kind": "type"}), 50, 71, ids=False)
    assert sorted((r["start"], r["end"], tuple(r["positions"])) for r in rows) == expected
    assert expected
    assert main([*words, "--stream", *times]) == 2
