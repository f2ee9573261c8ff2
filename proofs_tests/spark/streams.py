"""Files that arrive, streamed by Spark, and the answers that the local engine has on their rows."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import cerlab
from cerlab.spark import write_stream
from cerlab.spark.stream.match import Done
from proofs_tests.spark.lateness import Model

Row = dict[str, Any]
Answers = list[tuple[int, int, tuple[int, ...]]]

LATENESS = 6
END = 1_000_000
"""The time of rows that come after all others, so that none of those waits."""

QUERY = "SELECT * WHERE A ; B ; C FILTER A[v >= 0] PARTITION BY [k] WITHIN 25 [t]"
ANOTHER = QUERY.replace("25", "24")

SCHEMA = pa.schema(
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
        ("at", pa.timestamp("us", "UTC")),
    ]
)
COLUMNS = (
    "type string, k string, double double, decimal decimal(10, 2), long bigint, flag boolean, "
    "v bigint, t bigint, id bigint, at timestamp"
)


def events(count: int = 240, seed: int = 3) -> list[Row]:
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


def out_of_order(rows: Sequence[Row], slack: int, seed: int = 1) -> list[Row]:
    """In an order in which no row is older than one before it by more than the slack."""
    rng = Random(seed)
    return sorted(rows, key=lambda row: row["t"] + rng.random() * slack)


def with_late_rows(size: int) -> list[list[Row]]:
    """Files in which some rows are far later than allowed, and that release all at the end."""
    rows = out_of_order(events(300), LATENESS)
    stragglers = [row for row in rows[:150] if row["id"] % 11 == 0]
    others = [row for row in rows if row not in stragglers]
    files = split(others, size)
    files[-2] += stragglers[: len(stragglers) // 2]
    files[-1] += stragglers[len(stragglers) // 2 :]
    return [*files, markers("xyz")]


def split(rows: Sequence[Row], size: int) -> list[list[Row]]:
    return [list(rows[n : n + size]) for n in range(0, len(rows), size)]


def marker(key: str | None, number: int, time: int = END) -> Row:
    """A row of no meaning to any query."""
    nines = {"double": 9.0, "long": 9, "decimal": Decimal("9.00")}
    return {"type": "Z", "k": key, "t": time, "id": time + number, **nines}


def markers(keys: str) -> list[Row]:
    return [marker(key, n) for n, key in enumerate(keys)]


def table_of(rows: Sequence[Row]) -> Any:
    moments = [1_600_000_000_000_000 + 1_000_000 * row["t"] for row in rows]
    at = pa.array(moments, pa.timestamp("us", "UTC"))
    return pa.Table.from_pylist(list(rows), SCHEMA.remove(len(SCHEMA) - 1)).append_column("at", at)


def write_files(folder: Path, *files: Sequence[Row]) -> None:
    """Write files, each younger than those before it: they are read in this order."""
    folder.mkdir(exist_ok=True)
    for rows in files:
        number = len(list(folder.iterdir()))
        draft = folder / f".{number}"
        parquet.write_table(table_of(rows), draft)
        os.utime(draft, (1_700_000_000 + number, 1_700_000_000 + number))
        draft.rename(folder / f"{number:03}.parquet")


def arriving(spark: Any, folder: Path) -> Any:
    return spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1).parquet(str(folder))


@dataclass(frozen=True)
class StreamResult:
    answers: Answers
    late: list[int]
    done: Done


def stream_result(spark: Any, answers: Any, place: Path) -> StreamResult:
    """All that is there through a query that goes on from the checkpoint in a place."""
    done = write_stream(answers, str(place / "out"), str(place / "checkpoint"))
    return StreamResult(*in_sink(spark, place), done)


def triples(answers: Iterable[Any], at: Any = None) -> Answers:
    """Return answers, or rows of Spark, as sorted triples; `at` has the positions of events."""
    found = ((a.start, a.end, tuple(a.positions)) for a in answers)
    if at is not None:
        found = ((at[i], at[j], tuple(at[p] for p in positions)) for i, j, positions in found)
    return sorted(found)


def in_sink(spark: Any, place: Path) -> tuple[Answers, list[int]]:
    rows = spark.read.parquet(str(place / "out")).collect()
    answers = [row for row in rows if row["late"] is None]
    late = [row for row in rows if row["late"] is not None]
    assert all(row["start"] is row["end"] is row["positions"] is None for row in late)
    return triples(answers), sorted(row["late"] for row in late)


def local(query: Any, rows: Sequence[Row], **time: Any) -> Answers:
    """The answers of the local engine on the rows in order."""
    in_order = sorted(rows, key=lambda row: (row["t"], row["id"]))
    at = [row["id"] for row in in_order]
    stream = cerlab.Stream.from_arrow(table_of(in_order), **time)
    return triples(cerlab.evaluate(query, stream, evaluator="compiled"), at)


def same(answers: Answers, expected: Answers) -> None:
    assert expected
    if answers != expected:
        missing, more = set(expected) - set(answers), set(answers) - set(expected)
        pytest.fail(f"lost {sorted(missing)[:9]}, more {sorted(more)[:9]}, of {len(answers)}")


def late_of(files: Sequence[Sequence[Row]], lateness: int = LATENESS) -> list[int]:
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
