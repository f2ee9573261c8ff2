"""Bad input: each kind is a `BadData` with file, row and column; on the command line, exit 2."""

from __future__ import annotations

import gzip
import io
import json
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as parquet
import pytest

import cerlab
from cerlab import Schema
from cerlab.io import text_reader
from cerlab.testing import STOCK_SCHEMA
from proofs_tests.command import Cli

NUMBERS = cerlab.parse_schema("CREATE STREAM S { EVENT A { v:int, w:double?, n:string } }")

BAD: list[tuple[str, bytes, Schema | None, str, str, int | None, str | None]] = [
    # name of the case's file, content, schema, code, words, row, column
    ("empty.csv", b"", None, "CER0744", "empty", None, None),
    ("blank.csv", b"\n\n", None, "CER0744", "empty", None, None),
    ("untyped.csv", b"name,price\nX,1\n", None, "CER0736", "no column 'type'", 1, None),
    ("short.csv", b"type,v,w\nA,1,2\nA,1\n", None, "CER0738", "too short", 3, "w"),
    ("long.csv", b"type,v\nA,1\nA,1,2\n", None, "CER0739", "too long", 3, None),
    ("twice.csv", b"type,v,v\nA,1,2\n", None, "CER0732", "occurs twice", 1, "v"),
    ("notype.csv", b"type,v\n,1\n", None, "CER0701", "no type", 2, "type"),
    ("text.csv", b"type,v,w,n\nA,1,2,x\nA,many,2,x\n", NUMBERS, "CER0721", "no int", 3, "v"),
    ("null.csv", b"type,v,w,n\nA,,2,x\n", NUMBERS, "CER0724", "missing or NULL", 2, "v"),
    ("extra.csv", b"type,v,w,n,q\nA,1,2,x,3\n", NUMBERS, "CER0723", "no attribute 'q'", 2, "q"),
    ("unknown.csv", b"type,v,w,n\nB,1,2,x\n", NUMBERS, "CER0722", "not declared", 2, "type"),
    ("core.csv", b"type_,v\nA,1,2,x\nA,1,2\n", NUMBERS, "CER0738", "too short", 3, "n"),
    ("latin.csv", "type,n\nA,x\nA,é\n".encode("latin-1"), None, "CER0745", "not UTF-8", 3, None),
    ("nul.csv", b"type,n\nA,\0\n", None, "CER0746", "NUL", 2, None),
    ("large.csv", b"type,v,n\nA,99999999999999999999,x\n", NUMBERS, "CER0720", "64", 2, "v"),
    ("float.csv", b"type,v,w,n\nA,1,1e400,x\n", NUMBERS, "CER0720", "64 bits", 2, "w"),
    ("digits.csv", b"type,v,n\nA," + b"9" * 5000 + b",x\n", NUMBERS, "CER0720", "64", 2, "v"),
    ("large.ndjson", b'{"type": "A", "v": 99999999999999999999}', None, "CER0720", "64", 1, "v"),
    ("quote.csv", b'type,v\nA,"x\n', None, "CER0737", "not CSV", 2, None),
    ("bad.ndjson", b'{"type": "A"}\n{"type": \n', None, "CER0733", "not JSON", 2, None),
    ("array.ndjson", b"[1]\n", None, "CER0734", "JSON object", 1, None),
    (
        "nested.ndjson",
        b'{"type": ["A"], "v": 1}\n',
        None,
        "CER0701",
        "'type' of an event",
        1,
        "type",
    ),
    ("notype.ndjson", b'{"v": 1}\n', None, "CER0701", "'type'", 1, "type"),
    ("twice.ndjson", b'{"type": "A", "v": 1, "v": 2}\n', None, "CER0732", "twice", 1, "v"),
    ("kind.ndjson", b'{"type": "A", "v": "1", "n": ""}\n', NUMBERS, "CER0721", "no int", 1, "v"),
    ("float.ndjson", b'{"type": "A", "v": 1.5, "n": ""}\n', NUMBERS, "CER0721", "no int", 1, "v"),
    ("range.ndjson", b'{"type": "A", "v": -1e400}\n', None, "CER0720", "64 bits", 1, "v"),
    ("digits.ndjson", b'{"type": "A", "v": ' + b"9" * 5000 + b"}", None, "CER0720", "64", 1, None),
    ("cut.core", b"A(v=1)\nA(v=1,w=\nA(v=1)\n", None, "CER0730", "expected an event", 2, None),
    ("pair.core", b"A(v=1,2)\n", None, "CER0731", "name=value", 1, None),
    ("twice.core", b"A(v=1,v=2)\n", None, "CER0732", "occurs twice", 1, "v"),
    ("large.core", b"A(v=99999999999999999999,n=x)\n", NUMBERS, "CER0720", "64 bits", 1, "v"),
    ("range.core", b"A(v=1,w=1e999,n=x)\n", NUMBERS, "CER0720", "64 bits", 1, "w"),
    ("text.core", b"A(v=x,n=y)\n", NUMBERS, "CER0721", "no int", 1, "v"),
    ("missing.core", b"A(v=1)\n", NUMBERS, "CER0724", "needs 'n'", 1, "n"),
    (
        "cut.csv.gz",
        gzip.compress(b"type,v\nA,1\n" * 99)[:-9],
        None,
        "CER0742",
        "as compressed",
        None,
        None,
    ),
    ("no.csv.gz", b"type\nA\n", None, "CER0742", "incorrect header", None, None),
    ("cut.json", b'[{"type": "A"},\n{"type": "B"', None, "CER0733", "line 2", 2, None),
    ("begun.json", b"[", None, "CER0733", "not JSON", 1, None),
    ("comma.json", b'[{"type": "A"} {"type": "B"}]', None, "CER0733", "comma", 1, None),
    ("parquet.csv", b"PAR1\0\0", None, "CER0742", "pipe", None, None),
    ("no.parquet", b"PAR1 no", None, "CER0742", "as parquet", None, None),
    ("no.arrow", b"ARROW1 no", None, "CER0742", "as arrow", None, None),
]


@pytest.mark.parametrize(
    ("name", "content", "schema", "code", "words", "row", "column"),
    BAD,
    ids=[case[0] for case in BAD],
)
def test_bad_data_says_where(
    tmp_path: Path,
    name: str,
    content: bytes,
    schema: Schema | None,
    code: str,
    words: str,
    row: int | None,
    column: str | None,
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(cerlab.BadData) as caught:
        cerlab.Stream.read(path, schema=schema)
    error = caught.value
    assert error.code == code
    assert words in error.message
    place = error.place
    assert isinstance(place, cerlab.errors.DataPlace)
    assert place.file.endswith(name)
    assert place.row == row
    assert place.column == column
    assert (error.file, error.row, error.column) == (place.file, row, column)
    assert error.hint


@pytest.mark.parametrize("name", [case[0] for case in BAD])
def test_no_traceback_reaches_a_user(tmp_path: Path, name: str, cli: Cli) -> None:
    case = next(case for case in BAD if case[0] == name)
    (tmp_path / name).write_bytes(case[1])
    arguments = ["run", "A", str(tmp_path / name)]
    if case[2] is not None:
        (tmp_path / "schema").write_text(str(case[2]))
        arguments += ["--schema", str(tmp_path / "schema")]
    output = cli(*arguments, status=2)
    assert output.out == ""
    assert case[3] in output.err
    assert "Traceback" not in output.err


def test_a_header_alone_is_an_empty_stream(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("type,v\n")
    assert len(cerlab.Stream.read(tmp_path / "e.csv")) == 0


def test_a_missing_file(cli: Cli) -> None:
    assert "CER0743" in cli("run", "A", "no/such/file.csv", status=2).err


def test_a_folder_without_files(tmp_path: Path) -> None:
    (tmp_path / "_SUCCESS").touch()
    with pytest.raises(cerlab.BadData, match="CER0743: the folder contains no files"):
        cerlab.Stream.read(tmp_path)


@pytest.mark.parametrize(
    ("suffix", "rows"),
    [
        ("csv", ["type,v", "A,1", "A", "B,2"]),
        ("ndjson", ['{"type": "A", "v": 1}', '{"type"', '{"type": "B", "v": 2}']),
        ("core", ["A(v=1)", "A(v=", "B(v=2)"]),
    ],
)
def test_quarantine_writes_bad_rows_aside_and_goes_on(
    tmp_path: Path, suffix: str, rows: list[str], cli: Cli
) -> None:
    path, aside = tmp_path / f"e.{suffix}", tmp_path / "aside.ndjson"
    path.write_text("\n".join(rows) + "\n")
    output = cli("run", "A ; B", path, "--quarantine", aside)
    assert json.loads(output.out) == {"start": 0, "end": 1, "positions": [0, 1]}
    assert "1 rows could not be read" in output.err
    (record,) = map(json.loads, aside.read_text().splitlines())
    assert record["row"] == rows[-2]
    assert record["code"] in ("CER0738", "CER0733", "CER0730")


LATIN = "é".encode("latin-1")
RAW = [
    # name of the case's file, content, code of the one bad row, its text
    ("latin.csv", b"type,n\nA,x\nB," + LATIN + b"\nB,y\n", "CER0745", "B,\udce9"),
    (
        "latin.ndjson",
        b'{"type": "A"}\n{"type": "' + LATIN + b'"}\n{"type": "B"}\n',
        "CER0745",
        None,
    ),
    ("latin.core", b"A(n=x)\nB(n=" + LATIN + b")\nB(n=y)\n", "CER0745", "B(n=\udce9)"),
    ("lines.csv", b'type,n\nA,x\nB,"1\n' + LATIN + b'2"\nB,y\n', "CER0745", 'B,"1\n\udce92"'),
    ("nul.csv", b"type,n\nA,x\nB,\0\nB,y\n", "CER0746", "B,\0"),
    ("nul.core", b"A(n=x)\nB(n=\0)\nB(n=y)\n", "CER0746", "B(n=\0)"),
    ("quote.csv", b'type,n\nA,x\nB,"x"y\nB,y\n', "CER0737", 'B,"x"y'),
    ("open.csv", b'type,n\nA,x\nB,y\nB,"x\nB,y\n', "CER0737", 'B,"x\nB,y'),
]


@pytest.mark.parametrize("from_pipe", [False, True])
@pytest.mark.parametrize(("name", "content", "code", "text"), RAW, ids=[case[0] for case in RAW])
def test_a_row_that_is_no_text_is_written_aside_too(
    tmp_path: Path,
    name: str,
    content: bytes,
    code: str,
    text: str | None,
    from_pipe: bool,
    monkeypatch: pytest.MonkeyPatch,
    cli: Cli,
) -> None:
    """The row as a whole, lines in quotes included; the rows before and after it are read."""
    path, aside = tmp_path / name, tmp_path / "aside.ndjson"
    path.write_bytes(content)
    if from_pipe:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    events = "-" if from_pipe else str(path)
    assert code in cli("run", "A ; B", events, status=2).err
    if from_pipe:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    output = cli("run", "A ; B", events, "--quarantine", aside)
    assert json.loads(output.out) == {"start": 0, "end": 1, "positions": [0, 1]}
    assert "1 rows could not be read" in output.err
    (record,) = map(json.loads, aside.read_text(encoding="utf-8").splitlines())
    assert record["code"] == code
    assert text is None or record["row"] == text


@pytest.mark.parametrize("evaluator", ["tecs", "compiled"])
@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_rows_of_tables_are_written_aside(
    tmp_path: Path, suffix: str, evaluator: str, cli: Cli
) -> None:
    path, aside = tmp_path / f"e.{suffix}", tmp_path / "aside.ndjson"
    write = parquet.write_table if suffix == "parquet" else feather.write_feather
    write(pa.table({"type": ["A", None, "", "B"], "v": [1, 2, 3, 4]}), path)
    arguments = ["run", "A ; B", str(path), "--evaluator", evaluator]
    assert "row 2, column 'type'" in cli(*arguments, status=2).err
    output = cli(*arguments, "--quarantine", aside)
    assert json.loads(output.out) == {"start": 0, "end": 1, "positions": [0, 1]}
    assert "2 rows could not be read" in output.err
    records = [json.loads(line) for line in aside.read_text().splitlines()]
    assert [json.loads(record["row"])["v"] for record in records] == [2, 3]
    assert [record["code"] for record in records] == ["CER0701", "CER0701"]


def test_a_table_that_is_not_as_the_schema_says_is_written_aside_by_rows(tmp_path: Path) -> None:
    path, aside = tmp_path / "e.parquet", tmp_path / "aside.ndjson"
    parquet.write_table(pa.table({"type": ["A", "A", "B"], "v": [1, None, 3]}), path)
    schema = "CREATE STREAM S { EVENT A { v:int } }"
    stream = cerlab.Stream.read(path, schema=schema, quarantine=aside)
    assert [event.attributes["v"] for event in stream] == [1]
    codes = [json.loads(line)["code"] for line in aside.read_text().splitlines()]
    assert codes == ["CER0724", "CER0722"]


@pytest.mark.parametrize("content", [b'type,"v\nA,1\n', b"type,\xe9\nA,1\n", b"type,v,v\nA,1,1\n"])
def test_a_header_is_never_written_aside(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "e.csv").write_bytes(content)
    with pytest.raises(cerlab.BadData):
        cerlab.Stream.read(tmp_path / "e.csv", quarantine=tmp_path / "aside")


def test_time_going_backwards_and_sort(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "e.csv").write_text("type,t\nB,2\nA,1\n")
    arguments = ["run", "SELECT * WHERE A ; B WITHIN 5 SECONDS", str(tmp_path / "e.csv")]
    assert "goes backwards at position 1" in cli(*arguments, "--time", "t:s", status=2).err
    assert json.loads(cli(*arguments, "--time", "t:s", "--sort").out)["positions"] == [0, 1]
    assert "unknown time unit" in cli(*arguments, "--time", "t:seconds", status=2).err


@pytest.mark.parametrize(
    ("bad", "column"),
    [
        ({"v": 1}, "type"),
        ({"type": 3}, "type"),
        ({"type": "A", "v": object()}, "v"),
        ({"type": "A", "stream": 3}, "stream"),
        ({"type": "A", "v": "\ud800"}, "v"),
        (3, None),
        ("A", None),
    ],
)
def test_bad_dicts_say_which_one_and_which_key(bad: object, column: str | None) -> None:
    with pytest.raises(cerlab.BadData) as caught:
        cerlab.evaluate("A", [{"type": "A"}, bad])
    assert (caught.value.file, caught.value.row, caught.value.column) == ("the events", 2, column)
    assert caught.value.hint


@pytest.mark.parametrize("value", [3, None, {"type": "A"}, b"e.csv", pl.LazyFrame({"type": ["A"]})])
def test_what_holds_no_events_is_refused(value: object) -> None:
    with pytest.raises(cerlab.UsageError, match="CER0812"):
        cerlab.evaluate("A", value)


@pytest.mark.parametrize("value", [3, None, b"A", ["A"]])
def test_what_is_no_query_is_refused(value: Any) -> None:
    for ask in (cerlab.evaluate, cerlab.count, cerlab.valuations, cerlab.matches):
        with pytest.raises(cerlab.UsageError, match="CER0838"):
            ask(value, [])
    with pytest.raises(cerlab.UsageError, match="CER0838"):
        cerlab.satisfiable(value)


@pytest.mark.parametrize("text", ["SELECT * WHERE A", 3])
def test_a_text_is_no_syntax_tree(text: Any) -> None:
    with pytest.raises(cerlab.UsageError, match="CER0838") as caught:
        cerlab.Query(text)
    assert "cerlab.parse_query(" in str(caught.value.hint)


def test_two_columns_of_one_name_are_refused() -> None:
    columns = [pa.array(["A"]), pa.array([1]), pa.array([2])]
    table = pa.table(columns, names=["type", "v", "v"])
    frame = pd.DataFrame([["A", 1, 2]], columns=["type", "v", "v"])
    for source in (table, frame):
        for evaluator in ("tecs", "compiled"):
            with pytest.raises(cerlab.BadData, match="'v' occurs twice") as caught:
                cerlab.evaluate("A", source, evaluator=evaluator)
            assert caught.value.column == "v"


def test_a_unit_without_its_attribute_is_refused(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "e.csv").write_text("type,t\nA,1\n")
    with pytest.raises(cerlab.UsageError, match="CER0837"):
        cerlab.Stream.read(tmp_path / "e.csv", unit="s")
    with pytest.raises(cerlab.UsageError, match="CER0837"):
        cerlab.parse_query("SELECT * WHERE A").open(unit="s")
    assert "CER0837" in cli("run", "A", tmp_path / "e.csv", "--time", ":s", status=2).err


def test_the_stock_schema_is_declared_as_core_does() -> None:
    text = str(STOCK_SCHEMA)
    assert cerlab.parse_schema(text) == STOCK_SCHEMA


LONG = {"csv": ("type,v", "A,{}"), "core": ("# v", "A(v={})")}
LONG |= {"ndjson": ('{"type":"A"}', '{"type":"A","v":"{}"}')}


@pytest.mark.parametrize("suffix", LONG)
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("block", [100, 5_000])
def test_a_line_that_is_too_long_is_refused_by_its_row(
    suffix: str, block: int, *, packed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line of as many bytes as are allowed is read, one of one more is not."""
    monkeypatch.setattr(text_reader, "LONGEST", 1_000)
    monkeypatch.setattr(text_reader, "BLOCK", block)
    first, form = LONG[suffix]
    at_most, longer = (form.replace("{}", "x" * (n + 2 - len(form))) for n in (1_000, 1_001))
    path = tmp_path / (f"e.{suffix}.gz" if packed else f"e.{suffix}")
    # the short file is read at once, so the long line is behind many others
    lines = [first, *[at_most] * 9]
    for some, row in ((lines, None), ([*lines, longer, at_most], 11)):
        data = "\n".join([*some, ""]).encode()
        path.write_bytes(gzip.compress(data) if packed else data)
        if row is None:
            assert len(cerlab.Stream.read(path)) == 9 + (suffix == "ndjson")
            continue
        with pytest.raises(cerlab.BadData, match="CER0735") as caught:
            cerlab.Stream.read(path)
        assert (caught.value.row, caught.value.file) == (row, str(path))


def test_a_quotation_that_is_left_open_ends_at_the_longest_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_reader, "LONGEST", 1_000)
    monkeypatch.setattr(text_reader, "BLOCK", 100)
    (tmp_path / "e.csv").write_text('type,v\nA,"open\n' + "A,1\n" * 10_000)
    with pytest.raises(cerlab.BadData, match="CER0735") as caught:
        cerlab.Stream.read(tmp_path / "e.csv")
    assert caught.value.row == 2


@pytest.mark.parametrize("suffix", LONG)
def test_blank_lines_count_and_cost_nothing_else(suffix: str, tmp_path: Path) -> None:
    """One look at a block, where single lines took a microsecond each."""
    calls: list[int] = []
    path = tmp_path / f"e.{suffix}.gz"
    first, form = LONG[suffix]
    bad = {"csv": "A", "core": "A(", "ndjson": "{"}[suffix]
    blank = "\n" * 1_000_000
    path.write_bytes(gzip.compress(f"{blank}{first}\n{blank}{form}\n{bad}\n".encode()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_reader, "_line_count", lambda data: calls.append(1) or _LINES_OF(data))  # type: ignore[func-returns-value]
        with pytest.raises(cerlab.BadData) as caught:
            cerlab.Stream.read(path)
    assert caught.value.row == 2_000_003
    assert len(calls) < 100


_LINES_OF = text_reader._line_count


def test_want_of_memory_is_said_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    def none(*_: object) -> None:
        raise MemoryError

    (tmp_path / "e.csv").write_text("type\nA\n" * 9_000)
    monkeypatch.setattr(text_reader.Blocks, "next", none)
    assert "CER0621" in cli("run", "A", tmp_path / "e.csv", status=2).err
