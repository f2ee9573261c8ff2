"""Written events are read back: every format, every kind of value."""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cerlab
from cerlab import Event, Stream, Timestamp
from cerlab.cli import main
from cerlab.compile.pattern import any_pattern
from cerlab.engine.answers import batched_answers
from cerlab.evaluate.labelled import event_texts
from cerlab.io import arrow_table, core_text
from cerlab.io.answers import table_of_batches
from cerlab.io.conversion import RowReading
from cerlab.io.sink import open_sink
from cerlab.io.source import text_events
from cerlab.io.text_writer import ndjson_rows
from cerlab.testing import stocks

NAMES = st.from_regex(r"[A-Za-z_]\w{0,5}", fullmatch=True)
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=8),
)
EVENTS = st.lists(
    st.builds(Event, NAMES, st.dictionaries(NAMES, VALUES, max_size=4), st.none() | NAMES),
    max_size=5,
)


def written(events: list[Event]) -> str:
    with redirect_stdout(io.StringIO()) as file, open_sink(None, "core") as out:
        out.events(Stream(events))
    return file.getvalue()


@given(EVENTS)
def test_core_text(events: list[Event]) -> None:
    try:
        text = written(events)
    except cerlab.BadData:
        with pytest.raises(cerlab.BadData, match="cannot hold"):  # a column of several types
            written(events)
        return
    assert not events or text_events(text, "core") == events


@given(EVENTS)
def test_arrow_tables_of_streams(events: list[Event]) -> None:
    """Values of a table are read back; values that it cannot hold are refused by name."""
    usable = [e for e in events if not {"type", "stream"} & set(e.attributes)]
    stream = Stream.from_events(usable)
    try:
        table = stream.to_arrow()
    except cerlab.BadData:
        with pytest.raises(cerlab.BadData, match="several types"):
            stream.to_arrow()
        return
    back = Stream.from_arrow(table)
    assert [(e.type, e.stream) for e in back] == [(e.type, e.stream) for e in usable]
    for e, again in zip(usable, back, strict=True):
        attributes = {name: value for name, value in e.attributes.items() if value is not None}
        assert {k: v for k, v in again.attributes.items() if v is not None} == attributes
    assert len(stream.to_polars()) == len(stream.to_pandas()) == len(usable)


@given(EVENTS)
def test_ndjson(events: list[Event]) -> None:
    from cerlab.io import ndjson

    usable = [e for e in events if not {"type", "stream"} & set(e.attributes)]
    lines = [json.dumps({"type": e.type, "stream": e.stream, **e.attributes}) for e in usable]
    assert list(ndjson.read_lines(lines, RowReading("-"))) == usable


ROWS = [
    {"type": "A", "v": 1, "w": 2.5, "n": "x", "b": True},
    {"type": "B", "v": 2, "w": None, "n": "y, z", "b": False},
]
EXPECTED = [
    Event("A", {"v": 1, "w": 2.5, "n": "x", "b": True}),
    Event("B", {"v": 2, "w": None, "n": "y, z", "b": False}),
]


def _csv(path: Path) -> None:
    path.write_text('type,v,w,n,b\r\nA,1,2.5,x,TRUE\r\nB,2,,"y, z",false\r\n', newline="")


def _ndjson(path: Path) -> None:
    path.write_text("\n".join(map(json.dumps, ROWS)))  # no final newline


def _core(path: Path) -> None:
    path.write_text(
        "# a comment\n\nA(v=1,w=2.5,n=x,b=TRUE)\nB( v = 2, w =, n = 'y, z', b = false )\n"
    )


def _parquet(path: Path) -> None:
    parquet.write_table(pa.Table.from_pylist(ROWS), path)


def _arrow(path: Path) -> None:
    feather.write_feather(pa.Table.from_pylist(ROWS), path)


def _arrow_stream(path: Path) -> None:
    table = pa.Table.from_pylist(ROWS)
    with pa.OSFile(str(path), "wb") as raw, pa.ipc.new_stream(raw, table.schema) as writer:
        writer.write_table(table, max_chunksize=1)


@pytest.mark.parametrize("suffix", ["own", "none"])
@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("csv", _csv),
        ("ndjson", _ndjson),
        ("core", _core),
        ("parquet", _parquet),
        ("arrow", _arrow),
        ("arrows", _arrow_stream),
    ],
)
def test_every_format_by_suffix_and_by_content(
    tmp_path: Path, name: str, write: Callable[[Path], None], suffix: str
) -> None:
    path = tmp_path / (f"events.{name}" if suffix == "own" else "events")
    write(path)
    assert list(Stream.read(path)) == EXPECTED
    assert [event for batch in cerlab.io.batches(path) for event in batch] == EXPECTED
    assert cerlab.io.Source(path).length in (2, None)


def test_a_byte_order_mark_is_no_part_of_the_header(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_bytes("\ufefftype,v\nA,1\n".encode())
    assert list(Stream.read(tmp_path / "e.csv")) == [Event("A", {"v": 1})]


def test_one_type_for_all_rows(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("v\n1\n")
    assert list(Stream.read(tmp_path / "e.csv", type="A")) == [Event("A", {"v": 1})]


def test_core_csv_with_its_declaration_with_and_without_a_header(tmp_path: Path) -> None:
    schema = "CREATE STREAM S { EVENT A { v:int, n:string }, EVENT B { w:double } }"
    for head in ("whatever,here\n", ""):
        (tmp_path / "e.csv").write_text(head + "A,1,x\nB,2\n")
        assert list(Stream.read(tmp_path / "e.csv", schema=schema)) == [
            Event("A", {"v": 1, "n": "x"}),
            Event("B", {"w": 2.0}),
        ]


def test_streams_are_read_and_matched(tmp_path: Path) -> None:
    (tmp_path / "e.core").write_text("S>A(v=1)\nT>A(v=2)\n")
    stream = Stream.read(tmp_path / "e.core")
    assert [answer.start for answer in cerlab.evaluate("T>A", stream)] == [1]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_timestamps_of_any_unit_are_exact(unit: str) -> None:
    moment = 1_600_000_000 * {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit] + 1
    column = pa.array([moment], pa.timestamp(unit, "Europe/Paris"))
    (event,) = Stream.from_arrow(pa.table({"type": ["A"], "t": column}))
    scale = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}[unit]
    assert event.attributes["t"] == Timestamp(moment * scale)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.1", 0.1),
        ("123456789012.45", 123456789012.45),
        ("12345678901234567.89", None),
        ("0.1000000000000000001", None),
        ("12345678901234567890123", 12345678901234567890123),
        ("1E-400", None),
        ("1E+999999999", None),
        ("-Infinity", -math.inf),
        ("sNaN", math.nan),
    ],
)
def test_a_decimal_is_what_it_prints_as_or_refused(text: str, value: float | None) -> None:
    decimal = Decimal(text)
    in_arrow = decimal.is_finite() and "E" not in text
    tables = [pa.table({"type": ["A"], "p": pa.array([decimal])})] if in_arrow else []
    sources: list[Any] = [[{"type": "A", "p": decimal}], *tables]
    for events in sources:
        if value is None:
            with pytest.raises(cerlab.BadData, match="CER0720: the decimal"):
                cerlab.evaluate("A FILTER A[p > 0]", events)
            assert all(cerlab.count("A", each) == 1 for each in tables), "a column nobody reads"
        else:
            read = cerlab.io.as_stream(events).events[0].attributes["p"]
            assert repr(read) == repr(value)
            if isinstance(value, float) and math.isfinite(value):
                assert cerlab.count(f"A FILTER A[p = {text}]", events) == 1


def test_arrow_dictionaries_decimals_and_chunks() -> None:
    types = pa.chunked_array(
        [pa.array(["A"]).dictionary_encode(), pa.array(["B"]).dictionary_encode()]
    )
    prices = pa.array([Decimal("27.5"), Decimal("3.0")], pa.decimal128(5, 2))
    events = list(Stream.from_arrow(pa.table({"type": types, "price": prices})))
    assert events == [Event("A", {"price": 27.5}), Event("B", {"price": 3})]


def test_nested_columns_and_null_types_are_errors() -> None:
    with pytest.raises(cerlab.BadData, match="holds no values"):
        cerlab.evaluate("A FILTER A[v = 1]", pa.table({"type": ["A"], "v": [[1]]}))
    with pytest.raises(cerlab.BadData, match="row 2"):
        Stream.from_arrow(pa.table({"type": ["A", None]}))


def _categories(rows: Any) -> Any:
    return pl.DataFrame(rows, schema_overrides={"type": pl.Categorical})


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame,
        pl.DataFrame,
        _categories,
        pa.Table.from_pylist,
        pa.RecordBatch.from_pylist,
        list,
        iter,
        Stream.from_events,
    ],
)
@pytest.mark.parametrize("evaluator", ["tecs", "compiled"])
def test_everything_that_holds_events(frame: Callable[[Any], Any], evaluator: Any) -> None:
    rows = [{"type": "A", "v": 1}, {"type": "B", "v": 2}]
    answers = cerlab.evaluate("A ; B FILTER B[v = 2]", frame(rows), evaluator=evaluator)
    assert answers == [cerlab.ComplexEvent(0, 1, (0, 1))]
    if frame not in (list, iter, Stream.from_events):
        assert [event.type for event in Stream.from_arrow(frame(rows))] == ["A", "B"]


def _typed_frame() -> pd.DataFrame:
    index = pd.date_range("2026-01-01", periods=3, freq="s", tz="Europe/Berlin", name="when")
    columns = {
        "type": pd.Series(["A", "B", "A"], index, dtype="category"),
        "small": pd.array([1, None, 3], dtype="Int32"),
        "text": pd.array(["x", None, "z"], dtype="string"),
        "half": pd.array([1, 2, 3], dtype="float32"),
        "flag": pd.array([True, False, None], dtype="boolean"),
        "day": pd.date_range("2026-01-01", periods=3).date,
        "length": pd.to_timedelta([1, 2, 3], unit="s"),
        "there": pd.date_range("2026-01-01", periods=3, tz="America/New_York"),
        "naive": pd.date_range("2026-01-01", periods=3, unit="ms"),
    }
    return pd.DataFrame(columns, index=index)


def test_a_frame_has_its_types_zones_and_index_again(tmp_path: Path) -> None:
    frame = _typed_frame()
    for stream in (
        Stream(frame),
        Stream(frame, time="when"),
        pickle.loads(pickle.dumps(Stream(frame))),
    ):
        pd.testing.assert_frame_equal(stream.to_pandas(), frame, check_freq=False)
    polars_frame = pl.from_pandas(frame.reset_index())
    again = Stream(polars_frame).to_polars()
    assert again.select(polars_frame.columns).equals(polars_frame)
    assert dict(again.schema) == dict(polars_frame.schema)
    coded = frame.astype({"text": "category"})  # as it is read from a file
    parquet.write_table(pa.Table.from_pandas(frame), tmp_path / "e.parquet")
    read = Stream.read(tmp_path / "e.parquet").to_pandas()
    pd.testing.assert_frame_equal(read, coded, check_freq=False, check_categorical=False)
    shuffled = Stream(frame.iloc[[2, 0, 1]], time="when", sort=True)
    pd.testing.assert_frame_equal(shuffled.to_pandas(), frame, check_freq=False)


@pytest.mark.parametrize("part", [slice(1, None), slice(0, 2), slice(None, None, -2), slice(0)])
def test_a_part_of_a_stream_has_the_types_and_zones_of_the_whole(part: slice) -> None:
    frame, dicts = _typed_frame(), Stream([{"type": t, "v": 1} for t in "ABC"])
    stream = Stream(frame)
    assert stream[part].events == stream.events[part]
    assert dicts[part].events == dicts.events[part]
    pd.testing.assert_frame_equal(stream[part].to_pandas(), frame[part], check_freq=False)


def test_answers_have_the_zones_that_events_had(tmp_path: Path) -> None:
    frame = _typed_frame()
    query = cerlab.parse_query("SELECT a[when, day, naive], b[there] WHERE A AS a ; B AS b")
    table = query.run(frame).table()
    kinds = {name: str(table.schema.field(name).type) for name in table.column_names[2:]}
    assert kinds == {
        "a.when": "timestamp[ns, tz=Europe/Berlin]",
        "a.day": "date32[day]",
        "a.naive": "timestamp[ms]",
        "b.there": "timestamp[ns, tz=America/New_York]",
    }
    assert table.to_pandas()["b.there"][0] == frame["there"].iloc[1]
    totals = query.run(frame).aggregate(max="b.there", group_by="a.when")
    assert [str(kind) for kind in totals.schema.types] == [
        "timestamp[ns, tz=Europe/Berlin]",
        "int64",
        "timestamp[ns, tz=America/New_York]",
    ]
    parquet.write_table(pa.Table.from_pandas(frame), tmp_path / "e.parquet")
    command = ["run", query.text, str(tmp_path / "e.parquet"), "--columns", "a.when,b.there"]
    assert main([*command, "--format", "parquet", "-o", str(tmp_path / "o.parquet")]) == 0
    assert parquet.read_table(tmp_path / "o.parquet").equals(
        table.select(["start", "end", "a.when", "b.there"])
    )


def test_an_index_of_times_is_the_time() -> None:
    times = pd.date_range("2026-01-01", periods=2, freq="s")
    frame = pd.DataFrame({"type": ["A", "B"]}, index=times)
    assert cerlab.count("SELECT * WHERE A ; B WITHIN 1 SECOND", frame) == 1
    assert list(Stream(frame)[0].attributes) == ["index"]
    mixed = frame.assign(v=[1, "x"])
    assert set(Stream(mixed)[0].attributes) == {"index", "v"}
    numbered = pd.DataFrame({"type": ["A", "B"]}, index=[5, 3])
    assert not Stream(numbered)[0].attributes
    assert Stream(numbered.rename_axis("id"))[1].attributes == {"id": 3}


def test_events_from_python_take_the_options_of_files() -> None:
    schema = "CREATE STREAM S { EVENT A { v:double, t:timestamp? } }"
    rows = [{"v": 1, "t": "2020-01-01"}, {"type": "A", "v": 2.5}]
    first, second = Stream.from_events(rows, type="A", time="t", schema=schema)
    assert first.attributes["v"] == 1.0
    assert str(first.attributes["t"]) == "2020-01-01T00:00:00Z"
    assert second == Event("A", {"v": 2.5})
    with pytest.raises(cerlab.BadData, match="CER0721") as caught:
        Stream.from_events([*rows, {"type": "A", "v": "x"}], type="A", schema=schema)
    assert (caught.value.row, caught.value.column) == (3, "v")


def test_infinities_and_nan_are_read_where_they_are_written(tmp_path: Path) -> None:
    (tmp_path / "e.ndjson").write_text('{"type": "A", "v": -Infinity, "w": NaN, "x": 1e308}\n')
    (tmp_path / "e.csv").write_text("type,v,w,x\nA,-inf,nan,1e308\n")
    schema = "CREATE STREAM S { EVENT A { v:double, w:double, x:double } }"
    for path, file_schema in ((tmp_path / "e.ndjson", None), (tmp_path / "e.csv", schema)):
        (event,) = Stream.read(path, schema=file_schema)
        assert (event.attributes["v"], event.attributes["x"]) == (float("-inf"), 1e308)
        assert event.attributes["w"] != event.attributes["w"]


def test_zeros_before_a_number_are_no_digits_too_many(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text(f"type,v\nA,{'0' * 60}7\n")
    assert list(Stream.read(tmp_path / "e.csv")) == [Event("A", {"v": 7})]


def test_python_values() -> None:
    (event,) = Stream.from_events(
        [{"type": "A", "d": date(2020, 1, 1), "t": datetime(2020, 1, 1, tzinfo=UTC)}]
    )
    assert event.attributes["d"] == event.attributes["t"]
    assert str(event.attributes["t"]) == "2020-01-01T00:00:00Z"


def test_answers_to_ndjson_arrow_and_parquet(tmp_path: Path) -> None:
    events = [{"type": "A", "v": float("nan")}, {"type": "B", "t": datetime(2020, 1, 1)}]
    stream = Stream.from_events(events)
    answers = cerlab.evaluate("A ; B", stream)
    out = io.StringIO()
    (batch,) = batched_answers(answers, 5)
    ndjson_rows(table_of_batches([batch]), out)
    assert out.getvalue() == '{"start": 0, "end": 1, "positions": [0, 1]}\n'
    (objects,) = event_texts(any_pattern("A ; B"), stream, 0, batch, None).to_pylist()
    assert [json.loads(each) for each in objects] == [
        {"position": 0, "type": "A", "v": "nan"},
        {"position": 1, "type": "B", "t": "2020-01-01T00:00:00Z"},
    ]
    table = arrow_table(answers)
    assert table.schema.names == ["start", "end", "positions"]
    assert str(table.schema.field("positions").type).startswith("list<")
    valuations = sorted(cerlab.valuations("A AS x ; B", stream), key=str)
    parquet.write_table(arrow_table(valuations, labels=True), tmp_path / "v.parquet")
    assert parquet.read_table(tmp_path / "v.parquet").to_pylist() == [
        {"start": 0, "end": 1, "positions": [0, 1], "labels": [("A", [0]), ("B", [1]), ("x", [0])]}
    ]
    assert arrow_table([]).num_rows == 0


def test_the_synthetic_stream_is_the_same_everywhere() -> None:
    events = list(stocks(1_000))
    text = "\n".join(map(core_text.format_event, events))
    assert hashlib.sha256(text.encode()).hexdigest().startswith("22365be69810f1a9")
    times = [event.attributes["stock_time"] for event in events]
    assert times == sorted(times)  # type: ignore[type-var]  # they are integers
    ties = sum(a == b for a, b in pairwise(times))
    assert 0.4 < ties / 1_000 < 0.55
    assert len({event.attributes["name"] for event in events}) == 10
    assert list(stocks(10)) == events[:10]
    assert list(stocks(10, seed=8)) != events[:10]


def test_answers_appear_while_standard_input_is_still_open() -> None:
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        [sys.executable, "-m", "cerlab", "run", "A ; B", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for line in ("A(v=1)", "B(v=2)"):
            process.stdin.write(line + "\n")
            process.stdin.flush()
        assert json.loads(process.stdout.readline())["positions"] == [0, 1]
        process.stdin.write("B(v=3)\n")
        process.stdin.close()
        assert json.loads(process.stdout.readline())["positions"] == [0, 2]
        assert process.wait(timeout=600) == 0
