"""Moments beyond 64 bits of nanoseconds, such as the open end 9999-12-31, at every door."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as parquet
import pytest

import cerlab
from cerlab import explain_rows, parse_rows
from cerlab.cli import main
from cerlab.evaluate import EvaluatorName
from cerlab.rows.recognise import RowEvaluator
from cerlab.rows.why import why_rows

TYPES = ["A", "B", "A", "B", "A"]
DAYS: list[date | None] = [date(2006, 1, 2), date(9999, 12, 31), date(1, 1, 1), date(9999, 12, 31)]
DAYS += [None]
MOMENTS = [None if day is None else datetime(day.year, day.month, day.day) for day in DAYS]
EXPECTED = [
    None if m is None else cerlab.Timestamp((m - datetime(1970, 1, 1)).days * 86_400 * 10**9)
    for m in MOMENTS
]
TABLE = pa.table({"type": TYPES, "ts": pa.array(MOMENTS, pa.timestamp("us"))})


def _with(column: Any) -> Any:
    return pa.table({"type": TYPES, "ts": column})


def _parquet(table: Any, **options: Any) -> Callable[[Path], Any]:
    def write(folder: Path) -> Path:
        parquet.write_table(table, folder / "e.parquet", **options)
        return folder / "e.parquet"

    return write


def _arrow(folder: Path) -> Path:
    feather.write_feather(TABLE, folder / "e.arrow", chunksize=2)
    return folder / "e.arrow"


def _text(name: str, text: str) -> Callable[[Path], Any]:
    def write(folder: Path) -> Path:
        (folder / name).write_text(text)
        return folder / name

    return write


CSV = "type,ts\n" + "".join(f"{t},{d or ''}\n" for t, d in zip(TYPES, DAYS, strict=True))
CORE = "".join(f"{t}(ts={d or ''})\n" for t, d in zip(TYPES, DAYS, strict=True))
DOORS: dict[str, Callable[[Path], Any]] = {
    "dicts": lambda _: [{"type": t, "ts": m} for t, m in zip(TYPES, MOMENTS, strict=True)],
    "a table of microseconds": lambda _: TABLE,
    "a table of seconds with a zone": lambda _: _with(pa.array(MOMENTS, pa.timestamp("s", "UTC"))),
    "a table of dates": lambda _: _with(pa.array(DAYS, pa.date32())),
    "a table of milliseconds": lambda _: _with(pa.array(DAYS, pa.date64())),
    "a dictionary": lambda _: _with(TABLE.column("ts").dictionary_encode()),
    "pandas": lambda _: pd.DataFrame(
        {"type": TYPES, "ts": pd.Series(MOMENTS, dtype="datetime64[us]")}
    ),
    "polars": lambda _: pl.DataFrame({"type": TYPES, "ts": MOMENTS}),
    "Parquet": _parquet(TABLE, row_group_size=2),
    "INT96": _parquet(TABLE, use_deprecated_int96_timestamps=True, version="1.0"),
    "Arrow IPC": _arrow,
    "CSV": _text("e.csv", CSV),
    "CORE's form": _text("e.core", CORE),
}
EVALUATORS: tuple[EvaluatorName, ...] = ("reference", "automaton", "tecs", "compiled", "registers")
QUERIES = {
    "A AS a ; B AS b FILTER a.ts < b.ts": [(0, 1), (0, 3), (2, 3)],
    "B FILTER B[ts = TIMESTAMP '9999-12-31']": [(1,), (3,)],
    "A FILTER A[ts IN {DATE '0001-01-01', DATE '2006-01-02'}]": [(0,), (2,)],
    "B FILTER B[ts > TIMESTAMP '9999-12-30 23:59:59.999999']": [(1,), (3,)],
    "A FILTER A[ts < DATE '1677-01-01']": [(2,)],
    "B FILTER B[ts - 1 DAY < DATE '9999-12-31']": [],
    "SELECT * WHERE B ; B PARTITION BY [ts]": [(1, 3)],
}


ROWS_OF_OTHERS = ("CORE's form",)
"""Doors that row patterns do not have."""


QUERY = "SELECT * WHERE A AS a ; B AS b FILTER a.ts < b.ts"


@pytest.mark.parametrize("door", DOORS)
def test_a_value_like_any_other(door: str, tmp_path: Path) -> None:
    """It is read exactly, compared, a key, in tables, aggregates, states and files."""
    events = DOORS[door](tmp_path)
    stream = cerlab.Stream(events)
    assert [event.attributes["ts"] for event in stream] == EXPECTED
    for query, answers in QUERIES.items():
        for evaluator in EVALUATORS:
            try:
                found = cerlab.evaluate(query, events, evaluator=evaluator)
            except cerlab.Unsupported:
                continue
            assert [answer.positions for answer in found] == answers, (query, evaluator)
    for again in (stream.to_arrow(), stream.to_pandas(), stream.to_polars()):
        assert [event.attributes["ts"] for event in cerlab.Stream(again)] == EXPECTED
    matches = cerlab.parse_query("SELECT a[ts], b[ts] WHERE A AS a ; B AS b").run(events)
    rows = [(r["a.ts"], r["b.ts"]) for r in matches.table().to_pylist()]
    assert {tuple(map(cerlab_moment, row)) for row in rows} == {
        (EXPECTED[0], EXPECTED[1]),
        (EXPECTED[2], EXPECTED[1]),
    }
    session = cerlab.parse_query(QUERY).open()
    session.push(stream[:1])
    session = cerlab.parse_query(QUERY).open(state=session.state())
    assert [answer.positions for answer in session.push(stream[1:])] == [(0, 1), (0, 3), (2, 3)]


def cerlab_moment(value: Any) -> Any:
    return cerlab.Stream([{"type": "A", "v": value}])[0].attributes["v"]


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("suffix", ["parquet", "arrow", "csv", "core"])
def test_it_is_written_and_read_again(door: str, suffix: str, tmp_path: Path) -> None:
    source, target = DOORS[door](tmp_path), tmp_path / f"again.{suffix}"
    if isinstance(source, Path):
        assert main(["convert", str(source), str(target)]) == 0
        assert [event.attributes["ts"] for event in cerlab.Stream.read(target)] == EXPECTED


@pytest.mark.parametrize("door", DOORS)
def test_a_time_axis_refuses_it_by_its_row(door: str, tmp_path: Path) -> None:
    events = DOORS[door](tmp_path)
    for query in ("SELECT * WHERE A ; B WITHIN 1 DAY", "B WAIT 1 DAY", "(A ; B WITHIN 1 DAY) ; A"):
        for evaluator in ("auto", *EVALUATORS):
            try:
                with pytest.raises(cerlab.BadData, match=r"position 1.*9999-12-31") as caught:
                    cerlab.evaluate(query, events, evaluator=evaluator)
            except cerlab.Unsupported:
                continue
            assert caught.value.code == "CER0740", evaluator
    with pytest.raises(cerlab.BadData, match=r"CER07(40|12)"):
        cerlab.Stream(events, time="ts", sort=True)


def test_a_moment_beyond_the_calendar_is_refused() -> None:
    for column in (pa.array([2**40], pa.timestamp("s")), pa.array([10**7], pa.date32())):
        with pytest.raises(cerlab.BadData, match="CER0740") as caught:
            cerlab.Stream(pa.table({"type": ["A"], "ts": column}))[0].attributes["ts"]
        assert caught.value.column == "ts"
    for text in ("9999-12-31 23:59:59-01:00", "0001-01-01 00:00+01:00"):
        with pytest.raises(cerlab.QuerySyntaxError, match="CER0102"):
            cerlab.parse_formula(f"A FILTER A[ts < TIMESTAMP '{text}']")


def test_int96_keeps_nanoseconds_and_refuses_what_no_unit_holds(tmp_path: Path) -> None:
    """Impala writes nanoseconds in INT96, Spark microseconds."""
    old: dict[str, Any] = {"use_deprecated_int96_timestamps": True, "version": "1.0"}
    fine = pa.array([1, -1, None], pa.timestamp("ns"))
    parquet.write_table(pa.table({"type": ["A"] * 3, "ts": fine}), tmp_path / "f.parquet", **old)
    assert [e.attributes["ts"] for e in cerlab.Stream.read(tmp_path / "f.parquet")] == [
        cerlab.Timestamp(1),
        cerlab.Timestamp(-1),
        None,
    ]
    paths = [tmp_path / "f.parquet", _parquet(TABLE, **old)(tmp_path)]
    assert [e.attributes["ts"] for e in cerlab.Stream.read(paths)][3:] == EXPECTED


def test_moments_and_nanoseconds_in_one_column() -> None:
    """Events hold both, Arrow has no unit for both."""
    day = datetime(9999, 12, 31, tzinfo=UTC)
    stream = cerlab.Stream([{"type": "A", "t": day}, {"type": "A", "t": cerlab.Timestamp(1)}])
    assert cerlab.count("A AS a ; A AS b FILTER a.t > b.t", stream) == 1
    with pytest.raises(cerlab.BadData, match="CER0740"):
        stream.to_arrow()


def test_durations_of_more_than_64_bits_are_compared() -> None:
    table = pa.table({"type": ["A", "A"], "d": pa.array([2**62, 1], pa.duration("s"))})
    for evaluator in EVALUATORS[:4]:
        found = cerlab.evaluate("A FILTER A[d > 2 SECONDS]", table, evaluator=evaluator)
        assert [answer.positions for answer in found] == [(0,)]
    assert cerlab.Stream(table)[0].attributes["d"] == cerlab.Duration(2**62 * 10**9)
    assert cerlab.Stream(table).to_arrow().equals(table)
    with pytest.raises(cerlab.BadData, match="CER0740"):
        cerlab.parse_query("SELECT * WHERE A AS a").run(table).aggregate(sum="a.d")


MEASURED: dict[str, list[tuple[int, ...]]] = {
    "FIRST(A.ts) AS a, LAST(B.ts) AS b PATTERN (A B) DEFINE B AS ts > A.ts": [(0, 1), (2, 3)],
    "MAX(A.ts) AS a, MIN(A.ts) AS b PATTERN (A+) DEFINE A AS v < 5": [(1, 2)],
    "A.ts AS a PATTERN (A) DEFINE A AS ts = TIMESTAMP '9999-12-31 00:00:00'": [(1,), (3,)],
    "A.ts AS a PATTERN (A) DEFINE A AS ts < DATE '1000-01-01'": [(2,)],
    "CAST('9999-12-31' AS TIMESTAMP) AS a PATTERN (A) DEFINE A AS v = 1": [(1,)],
    "A.ts AS a PATTERN (A) DEFINE A AS ts - INTERVAL '1' DAY >= DATE '2006-01-01'": [(0,)],
}


@pytest.mark.parametrize("clause", MEASURED)
@pytest.mark.parametrize("evaluator", ["auto", "reference"])
def test_in_row_patterns(clause: str, evaluator: Any) -> None:
    """They are ordered, partitioned, compared and measured; nothing computes with them."""
    table = TABLE.append_column("v", pa.array(range(1, 6)))

    def rows(text: str) -> list[tuple[Any, ...]]:
        query = f"SELECT * FROM t MATCH_RECOGNIZE ({text})"
        found: Any = cerlab.match_recognize(query, table, evaluator=evaluator).to_pylist()
        return [tuple(map(cerlab_moment, row.values())) for row in found]

    expected = [tuple(EXPECTED[n] for n in each) for each in MEASURED[clause]]
    assert rows(f"ORDER BY v MEASURES {clause}") == expected
    pairs = "PARTITION BY ts ORDER BY v MEASURES COUNT(*) AS n PATTERN (A A) DEFINE A AS v > 0"
    assert rows(pairs) == [(EXPECTED[1], 2)]
    first = "ORDER BY ts, v MEASURES FIRST(A.ts) AS a PATTERN (A+) DEFINE A AS ts IS NOT NULL"
    assert rows(first) == [(EXPECTED[2],)]


ROWS_WITHIN = """MATCH_RECOGNIZE (ORDER BY ts MEASURES COUNT(*) AS n
    PATTERN (A+) WITHIN INTERVAL '2' DAY)"""


@pytest.mark.parametrize("door", [door for door in DOORS if door not in ROWS_OF_OTHERS])
@pytest.mark.parametrize("how", ["auto", "search", "compiled", "reference", "why", "explain"])
def test_within_of_row_patterns_refuses_it_by_its_row(door: str, how: Any, tmp_path: Path) -> None:
    table = DOORS[door](tmp_path)

    def ask() -> object:
        if how == "why":
            return why_rows(parse_rows(ROWS_WITHIN), table)
        if how == "explain":
            return explain_rows(ROWS_WITHIN, table)
        return cerlab.match_recognize(ROWS_WITHIN, table, evaluator=how)

    with pytest.raises(
        cerlab.BadData, match=r"time of the row is outside .* 'ts' is 9999"
    ) as caught:
        ask()
    assert (caught.value.code, caught.value.row, caught.value.column) == ("CER0740", 2, "ts")


def test_within_of_row_patterns_reads_no_other_column() -> None:
    """Another column may hold it, and a time may be NULL; so may one at each end of 64 bits."""
    ends = pa.array([None, -(2**63), 2**63 - 1], pa.int64()).cast(pa.timestamp("ns"))
    table = pa.table({"ts": ends, "other": TABLE.column("ts").slice(0, 3)})
    evaluators: tuple[RowEvaluator, ...] = ("auto", "search", "reference")
    for evaluator in evaluators:
        found: Any = cerlab.match_recognize(ROWS_WITHIN, table, evaluator=evaluator).to_pylist()
        assert found == [{"n": 1}, {"n": 1}]
    by_number = ROWS_WITHIN.replace("INTERVAL '2' DAY", "2").replace("ts", "v")
    table = TABLE.append_column("v", pa.array(range(5)))
    assert cerlab.match_recognize(by_number, table).to_pylist() == [{"n": 2}, {"n": 2}, {"n": 1}]
