"""``cerlab run --columns``: rows with names in every format."""

from __future__ import annotations

import csv
import io
import json
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import cerlab
from cerlab.cli import main
from cerlab.cli import run as run_command
from proofs_tests.cli.run_cases import Lines, Pieces
from proofs_tests.command import Cli

QUERY = "SELECT a[price], b[name] WHERE BUY AS a ; SELL+ AS b"
EVENTS = [
    {"type": "BUY", "price": 3, "name": "x, y"},
    {"type": "SELL", "price": 4, "name": "z"},
    {"type": "SELL", "price": 5.5, "name": None},
]
ROWS = [
    {"start": 0, "end": 1, "a.price": 3.0, "b.name": ["z"]},
    {"start": 0, "end": 2, "a.price": 3.0, "b.name": ["z", None]},
    {"start": 0, "end": 2, "a.price": 3.0, "b.name": [None]},
]


@pytest.fixture
def events(tmp_path: Path) -> str:
    path = tmp_path / "events.ndjson"
    path.write_text("\n".join(map(json.dumps, EVENTS)))
    return str(path)


def test_csv_is_of_what_select_names(events: str, cli: Cli) -> None:
    lines = list(csv.DictReader(io.StringIO(cli("run", QUERY, events, "--format", "csv").out)))
    assert [{k: json.loads(v) for k, v in line.items()} for line in lines] == ROWS


@pytest.mark.parametrize("evaluator", ["auto", "compiled", "reference", "tecs"])
def test_ndjson_by_every_evaluator(evaluator: str, events: str, cli: Cli) -> None:
    columns = ["--columns", "a.price, b.name", "--evaluator", evaluator]
    rows = cli("run", QUERY, events, *columns).rows
    assert sorted(rows, key=str) == sorted(ROWS, key=str)


def test_parquet_and_a_limit(events: str, tmp_path: Path, cli: Cli) -> None:
    out = str(tmp_path / "rows.parquet")
    to = ["--format", "parquet", "-o", out, "--columns", "count(b)", "--limit", "2"]
    cli("run", QUERY, events, *to)
    assert parquet.read_table(out).column_names == ["start", "end", "count(b)"]
    assert parquet.read_table(out).num_rows == 2


def test_a_table_of_columns(events: str, cli: Cli) -> None:
    output = cli("run", QUERY, events, "--format", "table", "--columns", "last(b.price)").out
    assert "last(b.price)" in output
    assert "5.5" in output


def test_a_table_has_durations_as_json_has_them(tmp_path: Path, cli: Cli) -> None:
    path = str(tmp_path / "durations.parquet")
    lengths = [timedelta(seconds=4), timedelta(minutes=90)]
    parquet.write_table(pa.table({"type": ["A", "B"], "d": lengths}), path)
    output = cli("run", "A ; B", path, "--format", "table", "--columns", "A.d, B.d, A").out
    assert "│ 0     │ 1   │ PT4S │ PT1H30M │ 0 │" in output


def test_rows_of_a_pipe_are_out_before_the_next_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    pieces, out = [json.dumps(event).encode() + b"\n" for event in EVENTS], Lines()
    rows_after = {0: 0, 1: 0, 2: 1, 3: 3}

    def check(piece: int) -> None:
        assert out.flushed.count("\n") == (piece > 0) + rows_after[piece]

    monkeypatch.setattr("sys.stdin", Pieces(pieces, check))
    monkeypatch.setattr("sys.stdout", out)
    assert main(["run", QUERY, "-", "--columns", "b", "--format", "csv"]) == 0
    assert out.flushed == 'start,end,b\n0,1,[1]\n0,2,"[1, 2]"\n0,2,[2]\n'


def test_a_pipe_whose_columns_are_all_of_an_event_is_read_to_its_end(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The header has ``late``, which the last event alone has."""
    data = b'{"type": "A"}\n', b'{"type": "A", "late": 1}\n'
    monkeypatch.setattr("sys.stdin", Pieces([*data], lambda piece: None))
    output = cli("run", "SELECT * WHERE A AS a", "-", "--format", "csv").out
    assert output == "start,end,a.late\n0,0,\n1,1,1\n"


@pytest.mark.parametrize("form", ["ndjson", "csv", "parquet", "table"])
def test_a_column_of_several_types_is_refused_where_it_changes(
    form: str, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = [b'{"type": "A", "v": 1}\n', b'{"type": "A", "v": "x"}\n']
    monkeypatch.setattr("sys.stdin", Pieces(data, lambda piece: None))
    out = tmp_path / "out"
    to = [] if form == "csv" else ["-o", str(out)]
    output = cli("run", "A", "-", "--columns", "A.v", "--format", form, *to, status=2)
    assert "CER0747" in output.err
    assert "'A.v'" in output.err
    assert output.out == ("start,end,A.v\n0,0,1\n" if form == "csv" else "")
    assert not out.exists()


@pytest.mark.parametrize("source", ["-", "file"])
def test_a_column_that_no_event_has_is_an_error_without_rows(
    source: str, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "e.ndjson"
    path.write_text('{"type": "A", "v": 1}\n' * 3)
    monkeypatch.setattr("sys.stdin", Pieces([path.read_bytes()], lambda piece: None))
    source = "-" if source == "-" else str(path)
    how = ["--columns", "A.w,A.v", "--evaluator", "compiled"]
    output = cli("run", "A", source, *how, status=2)
    assert "CER0864" in output.err
    assert output.out == ""


def test_columns_of_a_pipe_without_events_have_a_header(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", Pieces([b"type,v\n"], lambda piece: None))
    assert cli("run", "A", "-", "--columns", "A.v", "--format", "csv").out == "start,end,A.v\n"


@pytest.mark.parametrize("form", ["ndjson", "csv", "parquet"])
def test_csv_by_batches_has_the_columns_of_the_whole(
    form: str, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a column holds, and that it holds something, shows in the last batch alone."""
    cells = [("1", "", "7"), ("2", "", "x"), ("3", "5", "7"), ("4.5", "", "7")]
    middle = "".join(f"{kind},1,,\n" for kind in ["A", "B"] * 40_000)
    lines = [f"{kind},{','.join(row)}\n" for row in cells for kind in "AB"]
    path, out = tmp_path / "e.csv", str(tmp_path / "rows")
    path.write_text("type,v,late,mixed\n" + "".join([*lines[:2], middle, *lines[2:]]))
    query = "SELECT * WHERE A AS a ; B AS b FILTER a[v > 1] WITHIN 1 EVENTS"
    names = ["a.v", "b.late", "a.mixed"]
    expected = cerlab.parse_query(query).run(cerlab.Stream.read(path)).table(names)
    assert len(expected) == 3
    monkeypatch.setattr(run_command, "_run_on_all", None)
    cli("run", query, path, "--columns", ",".join(names), "--format", form, "-o", out)
    match form:
        case "parquet":
            assert parquet.read_table(out).to_pylist() == expected.to_pylist()
        case "ndjson":
            rows = [json.loads(line) for line in Path(out).read_text().splitlines()]
            assert rows == expected.to_pylist()
        case _:
            assert Path(out).read_text().splitlines()[1:] == [
                "80002,80003,2.0,,x",
                "80004,80005,3.0,5,7",
                "80006,80007,4.5,,7",
            ]


def test_moments_are_text(tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "events.ndjson"
    path.write_text('{"type": "A", "t": "2024-05-01T12:00:00"}')
    query = "CREATE STREAM S { EVENT A { t:timestamp } } SELECT * WHERE A AS x"
    assert "2024-05-01T12:00:00Z" in cli("run", query, path, "--format", "csv").out


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--columns", "c.price"], "CER0863"),
        (["--columns", "a.prize"], "CER0864"),
        (["--columns", "a price"], "CER0862"),
        (["--columns", "a", "--labels"], "CER0865"),
        (["--format", "csv", "--events"], "CER0813"),
        (["--columns", "a", "--format", "parquet"], "CER0809"),
    ],
)
def test_what_does_not_go_together(options: list[str], code: str, events: str, cli: Cli) -> None:
    assert code in cli("run", QUERY, events, *options, status=2).err


def test_a_sremo_has_no_columns(events: str, cli: Cli) -> None:
    assert "CER0482" in cli("run", "<type = 'BUY'>^", events, "--columns", "a", status=2).err


@pytest.mark.parametrize("events", ["-", "file"])
def test_a_query_that_asks_for_aggregates_has_a_row_for_each_group(
    events: str, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "type,v\nA,1\nB,2\nB,3\n"
    path = tmp_path / "e.csv"
    path.write_text(text)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    query = "SELECT COUNT(*), SUM(b.v) WHERE A ; B AS b GROUP BY end"
    source = "-" if events == "-" else str(path)
    assert cli("run", query, source, "--format", "csv").out == "end,count,sum(b.v)\n1,1,2\n2,1,3\n"
    out = cli("run", query, path, "--limit", "1").out
    assert json.loads(out) == {"end": 1, "count": 1, "sum(b.v)": 2}
    for option in (["--columns", "b.v"], ["--evaluator", "tecs"], ["--labels"]):
        assert "CER0865" in cli("run", query, path, *option, status=2).err
