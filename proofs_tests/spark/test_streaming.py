"""Streams on Spark: in any order up to the lateness, killed anywhere, the answers of the batch."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import cerlab
from cerlab.cli import main
from cerlab.spark.stream_files import Done, write_stream
from cerlab.spark.streaming import PROVIDER
from proofs_tests.spark.test_reorder import Model

pytestmark = pytest.mark.filterwarnings("default")  # those of PySpark are not ours

Answers = list[tuple[int, int, tuple[int, ...]]]
LATENESS = 6
END = 1_000_000
"""The time of rows that come after all others, so that none of those waits."""


def events(count: int = 240, seed: int = 3) -> list[dict[str, Any]]:
    """In order, with ties in time and keys of many types; positions have gaps."""
    rng = Random(seed)
    rows, now = [], 100
    for n in range(count):
        now += rng.choice((0, 0, 1, 2))
        rows.append(
            {
                "type": rng.choice("ABC"),
                "k": rng.choice(("x", "y", "z", None)),
                "double": rng.choice((0.0, -0.0, 1.0, float("nan"), None)),
                "decimal": rng.choice((Decimal("1.10"), Decimal("2.00"), None)),
                "long": rng.choice((2**60 + 1, 2**60, None)),
                "flag": rng.choice((True, None)),
                "v": rng.choice((0, 1, None)),
                "t": now,
                "id": 3 * n,
            }
        )
    return rows


def disordered(rows: Sequence[dict[str, Any]], slack: int, seed: int = 1) -> list[dict[str, Any]]:
    """In an order in which no row is older than one before it by more than the slack."""
    rng = Random(seed)
    return sorted(rows, key=lambda row: row["t"] + rng.random() * slack)


def table_of(rows: Sequence[dict[str, Any]]) -> Any:
    schema = pa.schema(
        [
            ("type", pa.string()),
            ("k", pa.string()),
            ("double", pa.float64()),
            ("decimal", pa.decimal128(10, 2)),
            ("long", pa.int64()),
            ("flag", pa.bool_()),
            ("v", pa.int64()),
            ("t", pa.int64()),
            ("id", pa.int64()),
        ]
    )
    made = pa.Table.from_pylist(list(rows), schema)
    moments = [1_600_000_000_000_000 + 1_000_000 * row["t"] for row in rows]
    return made.append_column("at", pa.array(moments, pa.timestamp("us", "UTC")))


def put(folder: Path, *files: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Write files, each younger than those before it: they are read in this order."""
    folder.mkdir(exist_ok=True)
    for rows in files:
        number = len(list(folder.iterdir()))
        unfinished = folder / f".{number}"
        parquet.write_table(table_of(rows), unfinished)
        os.utime(unfinished, (1_700_000_000 + number, 1_700_000_000 + number))
        unfinished.rename(folder / f"{number:03}.parquet")
    return [list(rows) for rows in files]


def cut(rows: Sequence[dict[str, Any]], size: int = 60) -> list[Sequence[dict[str, Any]]]:
    return [rows[n : n + size] for n in range(0, len(rows), size)]


NINES = {"double": 9.0, "long": 9, "decimal": Decimal("9.00")}


def marker(key: str | None, number: int) -> dict[str, Any]:
    return {"type": "Z", "k": key, "t": END, "id": END + number, **NINES}


def arriving(spark: Any, folder: Path) -> Any:
    reader = spark.readStream.schema(spark.read.parquet(str(folder)).schema)
    return reader.option("maxFilesPerTrigger", 1).parquet(str(folder))


@dataclass(frozen=True)
class Found:
    answers: Answers
    late: list[int]
    done: Done


def streamed(spark: Any, answers: Any, place: Path) -> Found:
    done = write_stream(answers, str(place / "out"), str(place / "checkpoint"))
    return Found(*in_sink(spark, place), done)


def in_sink(spark: Any, place: Path) -> tuple[Answers, list[int]]:
    rows = spark.read.parquet(str(place / "out")).collect()
    answers = [row for row in rows if row["late"] is None]
    late = [row for row in rows if row["late"] is not None]
    assert all(row["start"] is row["end"] is row["positions"] is None for row in late)
    return (
        sorted((row["start"], row["end"], tuple(row["positions"])) for row in answers),
        sorted(row["late"] for row in late),
    )


def local(query: Any, rows: Sequence[dict[str, Any]], **time: Any) -> Answers:
    """The answers of the local engine on the rows in order."""
    ordered = sorted(rows, key=lambda row: (row["t"], row["id"]))
    at = [row["id"] for row in ordered]
    stream = cerlab.Stream.from_arrow(table_of(ordered), **time)
    found = cerlab.evaluate(query, stream, evaluator="compiled")
    return sorted((at[a.start], at[a.end], tuple(at[p] for p in a.positions)) for a in found)


def same(found: Answers, expected: Answers) -> None:
    assert expected
    if found != expected:
        lost, more = set(expected) - set(found), set(found) - set(expected)
        pytest.fail(f"lost {sorted(lost)[:9]}, more {sorted(more)[:9]}, of {len(found)}")


def late_of(files: Sequence[Sequence[dict[str, Any]]], lateness: int = LATENESS) -> list[int]:
    """The late rows of each key by the definition, with a file as what comes at once."""
    keys = {row["k"] for rows in files for row in rows} - {None}
    late = []
    for key in keys:
        model = Model(lateness)
        for rows in files:
            batch = [(row["t"], row["id"]) for row in rows if row["k"] == key]
            if batch:
                model.take(batch)
        late += model.late
    return sorted(late)


# -- any order ----------------------------------------------------------------------------------


def test_rows_in_any_order_have_the_answers_of_rows_in_order(spark: Any, tmp_path: Path) -> None:
    """And when all keys have passed their window no key has a state."""
    query = "SELECT * WHERE A ; B PARTITION BY [double], [decimal], [long] WITHIN 40 [t]"
    rows = events()
    end = [{**marker("end", 1), "t": END - 99}], [marker("end", 2)]
    put(tmp_path / "in", *cut(disordered(rows, LATENESS), 80), *end)
    answers = cerlab.spark.match_stream(
        arriving(spark, tmp_path / "in"), query, position="id", lateness=LATENESS, lag=40
    )
    found = streamed(spark, answers, tmp_path)
    assert found.late == []
    same(found.answers, local(query, rows))
    assert found.done.answers == len(found.answers)
    assert found.done.events == len(rows) + 2
    assert states(spark, tmp_path) == 1, "that of the key of the last row"


def states(spark: Any, place: Path) -> int:
    """How many keys have a state in the last version that the checkpoint has."""
    reader = spark.read.format("statestore").option("stateVarName", "cerlab")
    return int(reader.load(str(place / "checkpoint")).count())


@pytest.mark.parametrize(
    "query",
    [
        "SELECT NEXT * WHERE A ; B ; C WITHIN 9 SECONDS",
        "SELECT * WHERE A ; B ; C PARTITION BY [k] WITHIN 9 EVENTS CONSUME BY ANY",
    ],
)
def test_one_task_for_what_is_not_exact_by_key(spark: Any, tmp_path: Path, query: str) -> None:
    """By moments, with the lateness as a length of time, and the key of each answer."""
    rows = events(150)
    put(tmp_path / "in", *cut(disordered(rows, LATENESS), 75), [marker("end", 1)])
    partition = "PARTITION" in query
    with pytest.warns(cerlab.CerlabWarning, match="CER0950"):
        answers = arriving(spark, tmp_path / "in").transform(
            cerlab.spark.matching_stream(
                query, position="id", time="at", lateness=f"{LATENESS} seconds", partition=partition
            )
        )
    found = streamed(spark, answers, tmp_path)
    assert found.late == []
    same(found.answers, local(query, rows, time="at"))
    if partition:
        given = spark.read.parquet(str(tmp_path / "out")).collect()
        keys = {row["id"]: row["k"] for row in rows}
        assert all(row["partition"]["k"] == keys[row["end"]] for row in given)


def test_rows_wait_until_they_are_released_and_not_longer(spark: Any, tmp_path: Path) -> None:
    """A run ends with rows that wait; the next one, and rows that come, release them."""
    query = "SELECT * WHERE A ; B PARTITION BY [k] WITHIN 30 [t]"
    rows = events(120)

    def run() -> Found:
        frame = arriving(spark, tmp_path / "in")
        options: dict[str, Any] = {"position": "id", "lateness": "6", "partition": True}
        return streamed(spark, cerlab.spark.match_stream(frame, query, **options), tmp_path)

    put(tmp_path / "in", *cut(rows))
    newest = {row["k"]: row["t"] for row in rows}
    waiting = {row["id"] for row in rows if newest[row["k"]] - row["t"] <= LATENESS}
    expected = local(query, rows)
    same(run().answers, [answer for answer in expected if answer[1] not in waiting])
    put(tmp_path / "in", [marker(key, n) for n, key in enumerate("xyz")])
    same(run().answers, expected)


# -- killed -------------------------------------------------------------------------------------

QUERY = "SELECT * WHERE A ; B ; C FILTER A[v >= 0] PARTITION BY [k] WITHIN 25 [t]"


def with_late_rows(size: int = 50) -> list[list[dict[str, Any]]]:
    """Files in which some rows are far later than allowed, and that release all at the end."""
    rows = disordered(events(300), LATENESS)
    stragglers = [row for row in rows[:150] if row["id"] % 11 == 0]
    others = [row for row in rows if row not in stragglers]
    files = [list(each) for each in cut(others, size)]
    files[-2] += stragglers[: len(stragglers) // 2]
    files[-1] += stragglers[len(stragglers) // 2 :]
    return [*files, [marker(key, n) for n, key in enumerate("xyz")]]


def command(place: Path, query: str = QUERY) -> list[str]:
    options = ["--position", "id", "--lateness", str(LATENESS), "--files", "1", "--parts", "3"]
    paths = ["--input", str(place / "in"), "--output", str(place / "out")]
    checkpoint = ["--checkpoint", str(place / "checkpoint")]
    return ["spark", query, "--stream", *options, *paths, *checkpoint]


def killed(place: Path, at: Callable[[], bool]) -> None:
    """Run the command in processes of its own, and kill all of them as soon as `at` says so."""
    child = subprocess.Popen(
        [sys.executable, "-m", "cerlab", *command(place), "--master", "local[1]"],
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        deadline = time.monotonic() + 300
        while not at():
            if child.poll() is not None:
                pytest.fail(f"it ended: {child.stderr.read().decode() if child.stderr else ''}")
            assert time.monotonic() < deadline
            time.sleep(0.002)
    finally:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
        child.communicate()


def in_batch(place: Path, batch: int) -> bool:
    return (place / "checkpoint" / "offsets" / str(batch)).exists()


def in_state_checkpoint(place: Path, batch: int) -> bool:
    """One of the partitions has written its state after the batch, and no other."""
    return any((place / "checkpoint" / "state" / "0").glob(f"[0-9]*/{batch + 1}.zip"))


def committed(place: Path) -> list[int]:
    folder = place / "checkpoint" / "commits"
    return sorted(int(path.name) for path in folder.iterdir() if path.name.isdigit())


def test_killed_anywhere_nothing_is_lost_or_doubled(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = put(tmp_path / "in", *with_late_rows())
    late = late_of(files)
    assert len(late) > 5
    taken = [row for rows in files for row in rows if row["id"] not in late]
    expected = local(QUERY, taken)

    killed(tmp_path, lambda: in_batch(tmp_path, 1))
    assert committed(tmp_path) == [0]
    killed(tmp_path, lambda: in_state_checkpoint(tmp_path, 3))
    assert committed(tmp_path) == [0, 1, 2]
    assert main(command(tmp_path)) == 0, capsys.readouterr().err
    assert in_sink(spark, tmp_path) == (expected, late)

    last = tmp_path / "checkpoint" / "commits" / str(committed(tmp_path)[-1])
    last.unlink()
    (last.parent / f".{last.name}.crc").unlink(missing_ok=True)
    assert main(command(tmp_path)) == 0, capsys.readouterr().err
    assert last.exists()
    assert in_sink(spark, tmp_path) == (expected, late)

    assert main(command(tmp_path, QUERY.replace("25", "24"))) == 2
    assert "CER0776" in capsys.readouterr().err
    assert in_sink(spark, tmp_path) == (expected, late)


# -- late rows, and a checkpoint of something else ------------------------------------------------


def test_late_rows_leave_tagged_and_are_counted(spark: Any, tmp_path: Path) -> None:
    from pyspark.errors import StreamingQueryException

    files = put(tmp_path / "in", *with_late_rows(100))
    late = late_of(files)

    def answers(query: str, lateness: int = LATENESS) -> Any:
        frame = arriving(spark, tmp_path / "in")
        options: dict[str, Any] = {"position": "id", "lateness": lateness, "partition": True}
        return cerlab.spark.match_stream(frame, query, **options)

    found = streamed(spark, answers(QUERY), tmp_path)
    assert (found.late, found.done.late) == (late, len(late))
    keys = {row["id"]: row["k"] for rows in files for row in rows}
    tagged = spark.read.parquet(str(tmp_path / "out")).where("late IS NOT NULL").collect()
    assert all(row["partition"]["k"] == keys[row["late"]] for row in tagged)
    same(found.answers, local(QUERY, [r for f in files for r in f if r["id"] not in late]))

    put(tmp_path / "in", [{**marker("x", 9), "t": END + 50}])
    for other in (answers(QUERY.replace("25", "24")), answers(QUERY, LATENESS + 1)):
        with pytest.raises(StreamingQueryException, match="CER0776"):
            streamed(spark, other, tmp_path)
    assert in_sink(spark, tmp_path) == (found.answers, late)


def test_a_key_behind_the_others_by_more_than_the_lag_is_late(spark: Any, tmp_path: Path) -> None:
    """Its rows are in order among themselves."""
    rows = [row for row in events(160) if row["k"] in ("x", "y")]
    x, y = ([row for row in rows if row["k"] == key] for key in "xy")
    query = "SELECT * WHERE A ; B PARTITION BY [k] WITHIN 9 [t]"
    put(tmp_path / "in", x, y, [marker("x", 1), marker("y", 2)])
    frame = arriving(spark, tmp_path / "in")
    answers = cerlab.spark.match_stream(frame, query, position="id", lateness=LATENESS, lag=20)
    found = streamed(spark, answers, tmp_path)
    assert found.late == [row["id"] for row in y if row["t"] < x[-1]["t"] - 20]
    assert found.late
    same(found.answers, local(query, [row for row in rows if row["id"] not in found.late]))


@pytest.mark.parametrize(("row", "code"), [({"type": None}, "CER0701")])
def test_what_is_no_event_stops_the_query(
    spark: Any, tmp_path: Path, row: dict[str, Any], code: str
) -> None:
    from pyspark.errors import StreamingQueryException

    rows = [
        {"type": "A", "k": "x", "t": 1, "id": 5},
        {"type": "B", "k": "x", "t": 2, "id": 6} | row,
    ]
    folder = tmp_path / "in"
    folder.mkdir()
    parquet.write_table(pa.Table.from_pylist(rows), folder / "rows.parquet")
    query = "SELECT * WHERE A ; B PARTITION BY [k] WITHIN 9 [t]"
    frame = arriving(spark, folder)
    answers = cerlab.spark.match_stream(frame, query, position="id", lateness=0)
    with pytest.raises(StreamingQueryException, match=code):
        streamed(spark, answers, tmp_path)


# -- what is refused before anything runs ----------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"lateness": "soon"}, "CER0882"),
        ({"lateness": "10 seconds"}, "CER0882"),
        ({"lateness": -1}, "CER0882"),
        ({"lag": 1}, "CER0883"),
        ({"time": "at"}, "CER0884"),
        ({"time": "t", "query": "SELECT * WHERE A ; B WITHIN 9 SECONDS"}, "CER0803"),
        ({"position": "k"}, "CER0875"),
        ({"mode": "ranges"}, "CER0491"),
        ({"mode": "keys", "query": "SELECT * WHERE A ; B WITHIN 9 [t]"}, "CER0490"),
        ({"partition": True, "query": "SELECT * WHERE A ; B WITHIN 9 [t]"}, "CER0876"),
        ({"time": "k", "query": "SELECT * WHERE A ; B PARTITION BY [k]"}, "CER0885"),
    ],
)
def test_what_makes_no_sense_is_refused_at_once(
    spark: Any, tmp_path: Path, options: dict[str, Any], code: str
) -> None:
    put(tmp_path / "in", events(3))
    defaults = {"position": "id", "lateness": LATENESS}
    query = "SELECT * WHERE A ; B PARTITION BY [k] WITHIN 9 [t]"
    asked: dict[str, Any] = defaults | {"query": query} | options
    with pytest.raises(cerlab.CerlabError) as caught:
        cerlab.spark.match_stream(arriving(spark, tmp_path / "in"), **asked)
    assert caught.value.code == code


def test_a_batch_and_another_state_store_are_refused(spark: Any, tmp_path: Path) -> None:
    put(tmp_path / "in", events(3))
    frame = arriving(spark, tmp_path / "in")
    with pytest.raises(cerlab.UsageError, match="CER0881"):
        cerlab.spark.match_stream(
            spark.read.parquet(str(tmp_path / "in")), "A ; B", position="id", lateness=0
        )
    before = spark.conf.get(PROVIDER, "")
    spark.conf.set(PROVIDER, "org.example.AnotherProvider")
    try:
        with pytest.raises(cerlab.UsageError, match="CER0880"):
            cerlab.spark.match_stream(frame, "A ; B", position="id", lateness=0)
    finally:
        if before:
            spark.conf.set(PROVIDER, before)
        else:
            spark.conf.unset(PROVIDER)


def test_explain_says_what_waits_what_is_late_and_what_is_kept(spark: Any, tmp_path: Path) -> None:
    put(tmp_path / "in", events(3))
    frame = arriving(spark, tmp_path / "in")
    query = "SELECT * WHERE A ; B PARTITION BY [k] WITHIN 9 [t]"
    told = cerlab.spark.explain_stream(frame, query, position="id", lateness=2, lag=30)
    assert "mode     keys" in told
    assert "order    t, id" in told
    assert "waits    a row, for one of its key that is more than 2 [t] after it, or" in told
    assert "more than 30 older than the newest of all keys" in told
    assert "kept     the state of a key, until one of any key is 39 [t] after its last row" in told
    told = cerlab.spark.explain_stream(frame, "A ; B", position="id", lateness=2)
    assert "not by   keys: there is no PARTITION BY" in told
    assert "kept     the state of each key, for ever" in told


# -- the command line ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["csv", "ndjson"])
def test_the_command_goes_on_with_files_that_are_new(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    folder, output = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    header = "type,k,v,t,n\n"
    lines = [f"{'AB'[n % 2]},{'xy'[n % 3 % 2]},{n % 5 or ''},{n},{n}\n" for n in range(60)]
    options = ["--position", "n", "--lateness", "0", "--parts", "2", "--input-format", kind]
    query = "SELECT * WHERE A ; B FILTER B[v > 1] PARTITION BY [k] WITHIN 7 [t]"
    files = ["--input", str(folder), "--output", str(output)]
    counts: list[int] = []
    for part in (lines[:40], lines[40:]):
        name = folder / f"{len(counts)}.{kind}"
        text = header + "".join(part)
        name.write_text(text if kind == "csv" else _objects(text))
        assert main(["spark", query, "--stream", *files, *options]) == 0, capsys.readouterr().err
        told = capsys.readouterr().err.strip().splitlines()[-1]
        assert told.startswith(f"{len(part)} events")
        assert told.endswith("0 late rows in 1 micro-batches")
        counts.append(int(told.split(", ")[1].split()[0]))
    whole = tmp_path / "whole.csv"
    whole.write_text(header + "".join(lines))
    found = {(r["end"], tuple(r["positions"])) for r in spark.read.parquet(str(output)).collect()}
    held = {max(n for n in range(60) if n % 3 % 2 == key) for key in (0, 1)}
    expected = {
        (a.end, a.positions) for a in cerlab.evaluate(query, str(whole)) if a.end not in held
    }
    assert found == expected
    assert sum(counts) == len(found) > 0
    assert min(counts) > 0


def _objects(text: str) -> str:
    import csv
    import io
    import json

    numbers = {"v", "t", "n"}
    made = []
    for row in csv.DictReader(io.StringIO(text)):
        cells = {k: (int(c) if c else None) if k in numbers else c for k, c in row.items()}
        made.append(json.dumps(cells) + "\n")
    return "".join(made)


def test_options_of_the_other_kind_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    whole = ["spark", "A ; B", "--input", "in", "--output", "out", "--position", "n"]
    assert main([*whole, "--lateness", "3"]) == 2
    assert "--lateness has a meaning for --stream only" in capsys.readouterr().err
    assert main([*whole, "--stream", "--order-by", "t", "--lateness", "3"]) == 2
    assert "--order-by has a meaning for a batch only" in capsys.readouterr().err
    assert main([*whole, "--stream"]) == 2
    assert "missing: --lateness" in capsys.readouterr().err
