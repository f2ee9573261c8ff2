"""A file in batches is the file: the same events, the same errors, however it is cut."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Generator
from datetime import date, datetime
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as parquet
import pytest
from pyarrow import csv

import cerlab
from cerlab import Event, Schema, Stream, Timestamp
from cerlab.io import Source, batches, core_text
from cerlab.io.options import FileOptions
from cerlab.model.columns import values_of
from cerlab.model.stream import TimeAxis, only_timestamp
from proofs_tests.io.test_bad_data import BAD
from proofs_tests.suite import random_suite

SCHEMA = "CREATE STREAM S { EVENT A { v:int?, n:string?, t:timestamp? }, EVENT B { v:double? } }"


def in_batches(path: Path, size: int, **options: Any) -> list[Event]:
    events: list[Event] = []
    for batch in batches(path, size=size, **options):
        assert 1 <= len(batch) <= size
        assert isinstance(batch, Stream)
        events += batch.events
    return events


def length_of(path: Path) -> int | None:
    return Source(path).length


def estimate_of(path: Path) -> int:
    return Source(path).estimated_length


def time_of(path: Path | str, schema: str | None = None) -> TimeAxis | None:
    return Source(path).time_axis(FileOptions(type="?", schema=schema))


def event_texts(events: list[Event] | Stream) -> list[str]:
    """Events with their exact values: 1 is not 1.0, and NaN is NaN."""
    return [repr((e.type, dict(e.attributes), e.stream)) for e in events]


# -- random files ------------------------------------------------------------------------------


def write_csv(rng: Random, path: Path) -> dict[str, Any]:
    cells = ("", "1", "-2.5", "TRUE", "word", '"two, words"', '"two\nlines"', '"a ""quote"""')
    end = rng.choice(("\n", "\r\n"))
    lines = ["type,v,n"]
    for _ in range(rng.randrange(12)):
        lines.append(",".join((rng.choice("AB"), rng.choice(cells), rng.choice(cells))))
        if rng.random() < 0.1:
            lines.append("")
    text = end.join(lines) + end * rng.randrange(2)
    path.write_bytes((rng.choice(("", "\ufeff")) + text).encode())
    return {}


def write_csv_of_core(rng: Random, path: Path) -> dict[str, Any]:
    rows = [
        rng.choice(("A,1,x,2020-01-01", "A,,,", "B,2.5", "B,")) for _ in range(rng.randrange(12))
    ]
    path.write_text("\n".join([*rng.choice(([], ["any,header"])), *rows, "B,1"]))
    return {"schema": SCHEMA}


def write_ndjson(rng: Random, path: Path) -> dict[str, Any]:
    values = (None, 1, 2.5, True, "é", "\u2028", "x\ny")
    lines = []
    for _ in range(rng.randrange(12)):
        row = {"v": rng.choice(values), "n": rng.choice(values), "stream": rng.choice((None, "S"))}
        if rng.random() < 0.3:
            del row["n"]
        lines.append(json.dumps({**row, "type": rng.choice("AB")}, ensure_ascii=rng.random() < 0.5))
    path.write_text("\n".join([*lines, '{"type": "B"}', ""]), encoding="utf-8")
    return {"type": "Z"} if rng.random() < 0.2 else {}


def write_core(rng: Random, path: Path) -> dict[str, Any]:
    values = (None, 1, 2.5, True, "it's", "a,b")
    lines = ["# a comment", ""]
    for _ in range(rng.randrange(12)):
        event = Event(rng.choice("AB"), {"v": rng.choice(values)}, rng.choice((None, "S")))
        lines += [core_text.format_event(event)] + ["--"] * rng.randrange(2)
    path.write_text("\n".join(lines))
    return {}


def random_table(rng: Random) -> pa.Table:
    rows = rng.randrange(20)

    def column(values: tuple[Any, ...], kind: Any) -> Any:
        return pa.array([rng.choice(values) for _ in range(rows)], kind)

    types = column(("A", "B"), pa.string())
    table = pa.table({"type": types.dictionary_encode() if rng.random() < 0.5 else types})
    choices: dict[str, Callable[[], Any]] = {
        "v": lambda: column((1, -2, None), pa.int64()),
        "w": lambda: column((0.5, float("nan"), None), pa.float64()),
        "b": lambda: column((True, None), pa.bool_()),
        "n": lambda: column(("x", "", None), pa.string()).dictionary_encode(),
        "t": lambda: column((0, 10**18, None), pa.timestamp("ns")),
        "d": lambda: column((0, 19_000, None), pa.date32()),
        "s": lambda: column((0, 10**12), pa.timestamp("ms", "UTC")),
        "u": lambda: column((2**63, 1), pa.uint64()),
        "stream": lambda: column(("S", None), pa.string()),
    }
    for name in rng.sample(sorted(choices), rng.randrange(4)):
        table = table.append_column(name, choices[name]())
    return table.drop_columns("type") if rng.random() < 0.2 else table


def write_parquet(rng: Random, path: Path) -> dict[str, Any]:
    table = random_table(rng)
    parquet.write_table(table, path, row_group_size=rng.randrange(1, 8))
    return {} if "type" in table.column_names else {"type": "Z"}


def write_ipc(rng: Random, path: Path) -> dict[str, Any]:
    table = random_table(rng)
    feather.write_feather(table, path, chunksize=rng.randrange(1, 8))
    return {} if "type" in table.column_names else {"type": "Z"}


WRITERS: dict[str, Callable[[Random, Path], dict[str, Any]]] = {
    "csv": write_csv,
    "core.csv": write_csv_of_core,
    "ndjson": write_ndjson,
    "core": write_core,
    "parquet": write_parquet,
    "arrow": write_ipc,
}


@random_suite(10_000)
def test_the_batches_of_a_file_are_the_file(rng: Random, tmp_path: Path) -> bool:
    suffix = rng.choice(list(WRITERS))
    path = tmp_path / (f"e.{suffix}" if rng.random() < 0.7 else "e")
    options = WRITERS[suffix](rng, path)
    whole = Stream.read(path, **options)
    events = in_batches(path, rng.choice((1, 2, 3, 7, 100)), **options)
    assert event_texts(events) == event_texts(whole), (suffix, path.read_bytes())
    length = Source(path).length
    assert length == (len(events) if suffix in ("parquet", "arrow") else None)
    return bool(events)


def test_columns_stay_columns(tmp_path: Path) -> None:
    table = pa.table(
        {"type": ["A", "B"] * 5, "v": range(10), "t": pa.array([0] * 10, pa.timestamp("ns"))}
    )
    parquet.write_table(table, tmp_path / "e.parquet", row_group_size=4)
    parts = list(batches(tmp_path / "e.parquet", size=3, time="t"))
    assert [len(batch) for batch in parts] == [3, 3, 3, 1]
    assert all(batch._events is None for batch in parts), "no event was made"
    assert {batch.time for batch in parts} == {TimeAxis("t")}
    assert pa.chunked_array([c for b in parts for c in b.columns["v"].chunks]).to_pylist() == list(
        range(10)
    )


def test_files_without_rows(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("type,v\n")
    empty = pa.table({"type": pa.array([], pa.string())})
    parquet.write_table(empty, tmp_path / "e.parquet")
    feather.write_feather(empty, tmp_path / "e.arrow")
    for name in ("e.csv", "e.parquet", "e.arrow"):
        assert list(batches(tmp_path / name)) == []


def test_the_first_version_of_feather_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "e.feather"
    feather.write_feather(pa.table({"type": ["A", "B", "A"]}), path, version=1)
    for ask in (Stream.read, length_of, time_of, lambda path: list(batches(path))):
        with pytest.raises(cerlab.BadData, match="Feather version 1"):
            ask(path)


# -- what is wrong -----------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 100])
@pytest.mark.parametrize(
    ("name", "content", "schema", "code", "words", "row", "column"),
    BAD,
    ids=[case[0] for case in BAD],
)
def test_bad_data_is_the_same_error_at_the_same_place(
    tmp_path: Path,
    name: str,
    content: bytes,
    schema: Schema | None,
    code: str,
    words: str,
    row: int | None,
    column: str | None,
    size: int,
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(cerlab.BadData, match=words) as caught:
        in_batches(path, size, schema=schema)
    assert caught.value.code == code
    place = caught.value.place
    assert isinstance(place, cerlab.errors.DataPlace)
    assert (place.file, place.row, place.column) == (str(path), row, column)


def spoiled_table(path: Path, bad_row: int, rows: int, write: Callable[[Any, Path], None]) -> None:
    types = ["A"] * rows
    types[bad_row - 1] = ""
    write(pa.table({"type": types, "v": range(rows)}), path)


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_a_bad_row_of_a_table_counts_in_the_whole_file(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"e.{suffix}"

    def write(table: Any, path: Path) -> None:
        if suffix == "parquet":
            parquet.write_table(table, path, row_group_size=4)
        else:
            feather.write_feather(table, path, chunksize=4)

    for size in (1, 3, 5, 100):
        for bad_row in (1, 5, 10):
            spoiled_table(path, bad_row, 10, write)
            before: list[Event] = []
            with pytest.raises(cerlab.BadData) as caught:
                before.extend(event for batch in batches(path, size=size) for event in batch)
            assert caught.value.code == "CER0701"
            assert caught.value.place == cerlab.errors.DataPlace(str(path), bad_row, "type")
            expected = [Event("A", {"v": n}) for n in range(bad_row - 1)]
            assert before == expected, "the events before it come first"


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_a_table_without_a_type_is_refused_even_without_rows(suffix: str, tmp_path: Path) -> None:
    table = pa.table({"v": pa.array([], pa.int64())})
    path = tmp_path / f"e.{suffix}"
    if suffix == "parquet":
        parquet.write_table(table, path)
    else:
        feather.write_feather(table, path)
    with pytest.raises(cerlab.BadData, match="no column 'type'"):
        list(batches(path))
    assert list(batches(path, type="A")) == []


def test_a_parquet_file_that_is_cut_short_is_bad_data(tmp_path: Path) -> None:
    path = tmp_path / "e.parquet"
    table = pa.table({"type": ["A"] * 1000, "v": [Random(1).random() for _ in range(1000)]})
    parquet.write_table(table, path, row_group_size=100)
    whole = path.read_bytes()
    middle = len(whole) // 3
    path.write_bytes(whole[:middle] + b"\0" * 500 + whole[middle + 500 :])
    with pytest.raises(cerlab.BadData) as caught:
        list(batches(path))
    assert caught.value.code == "CER0742"


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    for ask in (length_of, estimate_of, time_of, lambda path: list(batches(path))):
        with pytest.raises(cerlab.BadData, match="no such file"):
            ask(tmp_path / "no.csv")


def test_quarantine_is_the_same(tmp_path: Path) -> None:
    path, aside = tmp_path / "e.csv", tmp_path / "aside"
    path.write_text("type,v\nA,1\nA\nB,2\nB,3,4\nA,5\n")
    whole = Stream.read(path, quarantine=aside)
    expected = aside.read_text()
    aside.unlink()
    assert in_batches(path, 2, quarantine=aside) == list(whole)
    assert aside.read_text() == expected
    assert len(expected.splitlines()) == 2


@pytest.mark.parametrize("form", ["core", "csv", "ndjson", "parquet", "arrow", "pipe"])
def test_a_reader_that_stops_early_keeps_the_quarantine(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file has the rows that could not be read until then."""
    path, aside = tmp_path / f"e.{form}", tmp_path / "aside"
    table = pa.table({"type": [None, "A", "B", "A"], "v": [0, 1, 2, 3]})
    if form == "parquet":
        parquet.write_table(table, path)
    elif form == "arrow":
        feather.write_feather(table, path)
    else:
        texts = {
            "csv": "type,v\n,0\nA,1\nB,2\nA,3\n",
            "ndjson": '{"v": 0}\n{"type": "A"}\n{"type": "B"}\n{"type": "A"}\n',
        }
        texts["pipe"] = texts["ndjson"]
        text = texts.get(form, "(v=0)\nA(v=1)\nB(v=2)\nA(v=3)\n")
        path.write_text(text)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    reader = batches("-" if form == "pipe" else path, size=1, quarantine=aside)
    assert [event.type for event in next(reader)] == ["A"]
    assert isinstance(reader, Generator)
    reader.close()
    assert len(aside.read_text().splitlines()) == 1


# -- what is known without reading -------------------------------------------------------------


def test_lengths(tmp_path: Path) -> None:
    table = pa.table({"type": ["A"] * 1234})
    parquet.write_table(table, tmp_path / "e.parquet", row_group_size=100)
    feather.write_feather(table, tmp_path / "e.arrow", chunksize=100)
    (tmp_path / "e.core").write_text("BUY(id=8,name='INTC',price=27.8500,volume=300)\n" * 1234)
    for name in ("e.parquet", "e.arrow"):
        assert length_of(tmp_path / name) == estimate_of(tmp_path / name) == 1234
    assert length_of(tmp_path / "e.core") is None
    assert 600 < estimate_of(tmp_path / "e.core") < 2500


def test_the_time_is_known_from_declarations(tmp_path: Path) -> None:
    moments = pa.array([0], pa.timestamp("ms"))
    tables = {
        "one": pa.table({"type": ["A"], "t": moments, "v": [1]}),
        "day": pa.table({"type": ["A"], "t": pa.array([0], pa.date32())}),
        "coded": pa.table({"type": ["A"], "t": moments.dictionary_encode()}),
        "two": pa.table({"type": ["A"], "t": moments, "u": moments}),
        "none": pa.table({"type": ["A"], "v": [1]}),
    }
    for name, table in tables.items():
        for suffix in ("parquet", "arrow"):
            path = tmp_path / f"{name}.{suffix}"
            if suffix == "parquet":
                parquet.write_table(table, path)
            else:
                feather.write_feather(table, path)
            time = time_of(path)
            assert time == (TimeAxis("t") if name in ("one", "day", "coded") else None), name
            has_moments = any(
                isinstance(value, Timestamp)
                for event in Stream.read(path)
                for value in event.attributes.values()
            )
            assert has_moments == (name != "none")
    (tmp_path / "e.csv").write_text("type,t\nA,2020-01-01\n")
    assert time_of(tmp_path / "e.csv") == TimeAxis("t")
    (tmp_path / "e.ndjson").write_text('{"type": "A", "t": "2020-01-01"}\n')
    assert time_of(tmp_path / "e.ndjson") is None, "without a schema it is text"
    for source in (tmp_path / "e.csv", "-", tmp_path / "two.parquet"):
        assert time_of(source, SCHEMA) == TimeAxis("t")


@random_suite(1_000)
def test_the_only_moments_are_found_in_columns(rng: Random, tmp_path: Path) -> bool:
    """A stream tells the time attribute that its events tell, and makes none of them."""
    count = rng.randrange(1, 4)
    kinds: dict[str, list[Any]] = {
        "day": [date(2020, 1, 1)],
        "moment": [datetime(2020, 1, 1), datetime(2020, 1, 2)],
        "number": [1, 2],
        "text": ["2020-01-01"],
        "list": [[datetime(2020, 1, 1)]],
    }
    likely = ("day", "moment", "moment", "number", "text", "list")
    drawn = {name: kinds[rng.choice(likely)] for name in rng.sample("tuv", 2)}
    columns = {
        name: [rng.choice([*values, None]) for _ in range(count)] for name, values in drawn.items()
    }
    table = pa.table({"type": ["A"] * count, **columns})
    path = tmp_path / f"e.{rng.choice(('parquet', 'arrow'))}"
    if path.suffix == ".parquet":
        parquet.write_table(table, path)
    else:
        feather.write_feather(table, path)
    dicts = [{n: v for n, v in row.items() if type(v) is not list} for row in table.to_pylist()]
    axes = set()
    for stream in (Stream.read(path), Stream(table), Stream(dicts)):
        made = stream._events
        axes.add(only_timestamp(stream))
        assert stream._events is made, columns
        axes.add(only_timestamp(iter(stream)))
    assert len(axes) == 1, columns
    return axes != {None}


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_a_window_of_seconds_on_a_file_makes_no_events(form: str, tmp_path: Path) -> None:
    moments = pa.array(range(10_000), pa.timestamp("s"))
    table = pa.table({"type": ["A", "B"] * 5_000, "t": moments, "v": range(10_000)})
    if form == "csv":
        csv.write_csv(table, tmp_path / "e.csv")
    else:
        parquet.write_table(table, tmp_path / "e.parquet")
    stream = Stream.read(tmp_path / f"e.{form}")
    query = cerlab.parse_query("SELECT * WHERE A ; B WITHIN 1 SECONDS")
    assert query.run(stream).count() == cerlab.count(query, stream) == 5_000
    assert stream._events is None


# -- columns that nobody needs -------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "arrows"])
def test_columns_that_are_not_needed_are_not_read(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"e.{suffix}"
    whole = pa.table({"type": ["A", "B"] * 5, "v": range(10), "w": ["x"] * 10, "n": [0.5] * 10})
    write_table(whole, path)
    parts = list(batches(path, attributes={"w", "none"}))
    assert [event.type for batch in parts for event in batch] == ["A", "B"] * 5
    if suffix != "arrows":
        assert {name for batch in parts for name in batch.columns} == {"type", "w"}
    assert [v for b in parts for v in values_of(b.columns["w"], "w")] == ["x"] * 10


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "arrows"])
@pytest.mark.parametrize(
    ("column", "code"),
    [(pa.array([[1]]), "CER0741"), (pa.array([2**53], pa.timestamp("s")), "CER0740")],
)
def test_what_is_wrong_with_a_column_is_said_to_who_reads_it(
    column: Any, code: str, suffix: str, tmp_path: Path
) -> None:
    path = tmp_path / f"e.{suffix}"
    write_table(pa.table({"type": ["A"], "v": [1], "w": column}), path)
    for attributes in (None, {"v"}, {"w"}):
        (batch,) = batches(path, attributes=attributes)
        assert values_of(batch.columns["type"], "type") == ["A"]
        if "w" in batch.columns:
            with pytest.raises(cerlab.BadData, match=code) as caught:
                batch.columns["w"]
            assert caught.value.place == cerlab.errors.DataPlace(str(path), None, "w")
            with pytest.raises(cerlab.BadData, match=code):
                batch.events[0].attributes["w"]


def write_table(table: Any, path: Path) -> None:
    if path.suffix == ".parquet":
        parquet.write_table(table, path, row_group_size=4, coerce_timestamps=None)
    elif path.suffix == ".arrow":
        feather.write_feather(table, path, chunksize=4)
    else:
        with pa.OSFile(str(path), "wb") as raw, pa.ipc.new_stream(raw, table.schema) as writer:
            writer.write_table(table, max_chunksize=4)
