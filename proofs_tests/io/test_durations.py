"""Durations from every source to every output: values, files, schemas, sums, warnings, types."""

from __future__ import annotations

import json
import warnings
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import cerlab
from cerlab import Duration
from cerlab.cli import main
from cerlab.io.sink import open_sink
from cerlab.model.event import duration_of_text, to_value
from proofs_tests.suite import random_suite

SECOND = 10**9


@pytest.mark.parametrize(
    ("raw", "nanoseconds"),
    [
        (timedelta(days=-1, microseconds=1), -86_400 * SECOND + 1000),
        (np.timedelta64(3, "ms"), 3_000_000),
        (np.timedelta64("NaT"), None),
        (pd.Timedelta(-1, "ns"), -1),
        (pd.Timedelta("1 days 00:00:00.000001001"), 86_400 * SECOND + 1001),
        (pa.scalar(5, pa.duration("s")), 5 * SECOND),
        (Duration(2**70), 2**70),
    ],
)
def test_values_of_python_are_durations(raw: Any, nanoseconds: int | None) -> None:
    assert to_value(raw) == (None if nanoseconds is None else Duration(nanoseconds))


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("PT30S", 30 * SECOND),
        ("-P1DT2H3M4.5S", -(93_784 * SECOND + SECOND // 2)),
        ("pt0.000000001s", 1),
        ("+PT5M", 300 * SECOND),
        ("PT1,5S", 3 * SECOND // 2),
        *((text, None) for text in ("P1M", "P1Y", "PT", "P", "PT1.5M", "30S", "PT1S ", "P-1D")),
    ],
)
def test_text_of_iso_8601(text: str, nanoseconds: int | None) -> None:
    assert duration_of_text(text) == (None if nanoseconds is None else Duration(nanoseconds))


@random_suite(2_000)
def test_text_of_a_duration_reads_back(rng: Random) -> bool:
    duration = Duration(rng.choice((1, -1)) * rng.randrange(10 ** rng.randrange(1, 22)))
    assert duration_of_text(str(duration)) == duration
    return duration.nanoseconds != 0


EVENTS = [
    {
        "type": "A",
        "d": timedelta(seconds=n),
        "t": datetime(2024, 1, 31, 10, n),
        "n": n,
        "x": "of 2024",
    }
    for n in range(4)
]
SCHEMA = "CREATE STREAM S { EVENT A { d:duration, t:timestamp, n:int, x:string } }"


@pytest.mark.parametrize("kind", ["csv", "ndjson", "core", "parquet", "arrow"])
def test_files_give_back_what_they_hold(kind: str, tmp_path: Path) -> None:
    last = {**EVENTS[-1], "t": cerlab.Timestamp(1_706_695_800_800_000_001)}
    stream = cerlab.Stream([*EVENTS, last], schema=cerlab.parse_schema(SCHEMA))
    path = tmp_path / f"e.{kind}"
    with open_sink(path, kind) as out:
        out.events(stream)
    back = cerlab.Stream.read(path, schema=SCHEMA, format=kind)
    assert list(back) == list(stream)
    assert cerlab.count("A FILTER A[d > 1 SECOND]", back) == 3


def test_a_cell_that_is_no_duration_is_refused(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("type,d\nA,PT1S\nA,1 second\n")
    with pytest.raises(cerlab.BadData) as caught:
        list(
            cerlab.Stream.read(
                tmp_path / "e.csv", schema="CREATE STREAM S { EVENT A { d:duration } }"
            )
        )
    assert (caught.value.code, caught.value.row) == ("CER0721", 3)


AGGREGATES: dict[str, Any] = {"sum": "a.d", "avg": "a.d", "min": "a.d", "max": ["a.d", "a.t"]}


def nanoseconds(table: pa.Table) -> list[int]:
    assert all(pa.types.is_duration(table.schema.field(n).type) for n in table.column_names[1:5])
    return [table.column(name).cast(pa.int64())[0].as_py() for name in table.column_names[1:5]]


def test_sums_and_means_by_hand() -> None:
    """Durations of 0 to 3 seconds; the mean of 1 and 2 nanoseconds is rounded to the even one."""
    query = cerlab.parse_query("SELECT * WHERE A AS a")
    table = query.run(EVENTS).aggregate(**AGGREGATES)
    assert nanoseconds(table) == [6 * SECOND, 3 * SECOND // 2, 0, 3 * SECOND]
    tiny = [{"type": "A", "d": Duration(n)} for n in (1, 2)]
    assert query.run(tiny).aggregate(avg="a.d")["avg(a.d)"].cast(pa.int64()).to_pylist() == [2]
    tiny = [{"type": "A", "d": Duration(n)} for n in (2, 3)]
    assert query.run(tiny).aggregate(avg="a.d")["avg(a.d)"].cast(pa.int64()).to_pylist() == [2]


def test_a_session_has_the_same_sums_also_from_its_state() -> None:
    query = cerlab.parse_query("SELECT * WHERE A AS a")
    session = query.aggregating(**AGGREGATES)
    session.push(EVENTS[:2])
    again = query.aggregating(**AGGREGATES, state=session.state())
    assert nanoseconds(again.push(EVENTS[2:])) == [6 * SECOND, 3 * SECOND // 2, 0, 3 * SECOND]


def test_a_sum_beyond_64_bits_is_refused() -> None:
    events = [{"type": "A", "d": Duration(2**62)}] * 2
    with pytest.raises(cerlab.ResourceLimit):
        cerlab.parse_query("SELECT SUM(a.d) WHERE A AS a").run(events).aggregate()


@pytest.mark.parametrize(
    ("predicate", "said"),
    [
        ("d > 5", "write 5 SECONDS"),
        ("d IN {0.5, 1.5}", "write 1.5 SECONDS"),
        ("t > '2024-01-31'", "write TIMESTAMP '2024-01-31'"),
        ("t = 5", "write TIMESTAMP '2024-01-31 10:00'"),
        ("n > 5 SECONDS", "times 1 SECOND"),
        ("t - t > 5", "write 5 SECONDS"),
        ("t > d", "+ 5 SECONDS"),
        ("x - t > 0 SECONDS", "no such arithmetic: 't' holds moments, 'x' holds text"),
        ("d + 1 > 0 SECONDS", "write 1 SECONDS"),
        ("t - t > 5 SECONDS", ""),
        ("t > TIMESTAMP '2024-01-31'", ""),
        ("d * n > 100 SECONDS", ""),
        ("d / d > 3", ""),
    ],
)
@pytest.mark.parametrize("columns", [False, True])
def test_a_warning_names_the_literal(predicate: str, said: str, columns: bool) -> None:
    events: Any = EVENTS
    if columns:
        events = pa.table({name: [each[name] for each in EVENTS] for name in EVENTS[0]})
    with warnings.catch_warnings(record=True, action="always") as caught:
        cerlab.evaluate(f"A FILTER A[{predicate}]", events)
    never = [str(w.message) for w in caught if "CER0907" in str(w.message)]
    assert len(never) == bool(said)
    assert all(said in message for message in never)


@pytest.mark.parametrize(
    ("comparison", "said"),
    [
        ("b.t - a.t < 300", "b.t - a.t < 300 never holds: it compares durations with numbers; "),
        ("b.t - a.t < '5 minutes'", "write 5 MINUTES"),
        ("b.t > a.d", "+ 5 SECONDS"),
        ("b.x > a.n", "it compares text with numbers"),
        ("b.x - a.t > 0 SECONDS", "no such arithmetic: 't' holds moments, 'x' holds text"),
        ("b.type > a.n", "it compares text with numbers"),
        ("b.t - a.t < 5 MINUTES", ""),
        ("b.only_b > 2 * a.only_a", ""),
        ("b.n > a.nothing", ""),
    ],
)
@pytest.mark.parametrize("columns", [False, True])
def test_a_warning_of_compared_labels_names_the_literal(
    comparison: str, said: str, columns: bool
) -> None:
    events: Any = [{**EVENTS[0], "only_a": 1}, {**EVENTS[-1], "type": "B", "only_b": 3}]
    if columns:
        events = pa.Table.from_pylist([{"only_a": None, "only_b": None, **each} for each in events])
    with warnings.catch_warnings(record=True, action="always") as caught:
        cerlab.evaluate(f"A AS a ; B AS b FILTER {comparison}", events)
    never = [str(w.message) for w in caught if "CER0907" in str(w.message)]
    assert len(never) == bool(said)
    assert all(said in message for message in never)


@pytest.mark.parametrize(
    ("predicate", "hint"),
    [
        ("d > 5", "write 5 SECONDS"),
        ("t > '2024'", "write TIMESTAMP '2024'"),
        ("t - t > 5", "write 5 SECONDS"),
        ("t + t > t", "both sides"),
        ("x - t > 0 SECONDS", "both sides"),
        ("n > 5 SECONDS", "times 1 SECOND"),
        ("t - t > 5 SECONDS AND d * n > d AND d / d > 1 AND t + d > t AND -d < d", None),
    ],
)
def test_types_by_a_schema(predicate: str, hint: str | None) -> None:
    text = f"SELECT * WHERE A FILTER A[{predicate}]"
    if hint is None:
        cerlab.parse_query(text, SCHEMA)
        return
    with pytest.raises(cerlab.TypeMismatch) as caught:
        cerlab.parse_query(text, SCHEMA)
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("predicate", "satisfiable"),
    [
        ("t - s > 5 SECONDS AND t > DATE '2024-01-31' AND s < t", True),
        ("t - s > 5 SECONDS AND s > DATE '2024-01-31' AND t < DATE '2024-01-31'", False),
        ("d > 5 SECONDS AND d < 5 SECONDS", False),
        ("d > 5 SECONDS AND d < 5.000000001 SECONDS", False),
        ("d > 5 SECONDS AND d < 5.000000002 SECONDS", True),
        ("d > 5 SECONDS AND d > 5", False),
        ("d * 2 = 5 SECONDS AND d < 3 SECONDS", True),
        ("d * 2 = 0.000000005 SECONDS", False),
        ("d / 2 = 0.000000002 SECONDS AND d > 0.000000004 SECONDS", True),
        ("d + d > d AND d < 0 SECONDS", False),
        ("t IN {DATE '2024-01-31'..DATE '2024-02-01'} AND t > DATE '2024-02-01'", False),
    ],
)
def test_deciders_know_moments_and_durations(predicate: str, satisfiable: bool) -> None:
    verdict = cerlab.satisfiable(f"SELECT * WHERE A FILTER A[{predicate}]")
    assert verdict.holds is satisfiable


def test_the_command_line_writes_iso_8601(tmp_path: Path, capsys: Any) -> None:
    with open_sink(tmp_path / "e.parquet", "parquet") as out:
        out.events(cerlab.Stream(EVENTS))
    path = str(tmp_path / "e.parquet")
    main(["run", "SELECT * WHERE A AS a FILTER a[d > 2 SECONDS]", path, "--events"])
    line = json.loads(capsys.readouterr().out)
    assert line["events"][0]["d"] == "PT3S"
    main(["run", "MATCH_RECOGNIZE (MEASURES SUM(d) AS s PATTERN (A+))", path])
    assert json.loads(capsys.readouterr().out) == {"s": "PT6S"}
    main(["run", "SELECT SUM(a.d) WHERE A AS a", path, "--format", "csv"])
    assert capsys.readouterr().out.split() == ["sum(a.d)", "PT6S"]
