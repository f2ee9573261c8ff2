"""CORE and Flink beside the engine: their subprocesses, against stand-ins for their packages."""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cerlab import parse_query
from cerlab.evaluate import answers_of
from proofs_tests.benchmarks import peers
from proofs_tests.benchmarks.__main__ import main
from proofs_tests.benchmarks.engine import throughput
from proofs_tests.benchmarks.peers import Core, beside_flink, strict_text
from proofs_tests.benchmarks.queries import catalogue
from proofs_tests.benchmarks.rows import measure_rows
from proofs_tests.benchmarks.streams import SCHEMAS, synthetic
from proofs_tests.benchmarks.timing import Row, write_table

pytestmark = pytest.mark.night

ROOT = Path(__file__).parents[2]
EVENTS = 900


@pytest.fixture(scope="module")
def stand_in(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter that has a package called pycer."""
    folder = tmp_path_factory.mktemp("peer")
    shutil.copy(Path(__file__).with_name("pycer_stand_in.py"), folder / "pycer.py")
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{folder}:{ROOT}" exec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    return python


@pytest.fixture(scope="module")
def core(stand_in: Path) -> Iterator[Core]:
    with Core(synthetic("stocks", EVENTS), SCHEMAS["stocks"], str(stand_in)) as process:
        yield process


def against(process: Core, text: str) -> tuple[int, Row]:
    query, stream = parse_query(text), synthetic("stocks", EVENTS)
    ours = throughput("", query, stream, 1)
    return ours["answers"], process.measure(query, ours)


def failure(row: Row) -> str:
    """The error of a row that has no figures."""
    message = row.pop("pycer_error")
    assert set(row.values()) == {None}
    assert isinstance(message, str)
    return message


@pytest.mark.parametrize("name", ["S3", "S3 ANY", "S3'", "Q1", "Q3 ANY", "Q4"])
def test_its_answers_are_ours_though_its_windows_are_strict(core: Core, name: str) -> None:
    ours, theirs = against(core, catalogue("stocks")[name])
    assert theirs["pycer_result"] == ours
    assert theirs["pycer_error"] is None
    assert all(theirs[f"pycer_{figure}"] > 0 for figure in ("times", "cpu", "wall"))


def test_the_edge_of_the_window_decides(core: Core) -> None:
    """In a window that some answers just fit, strict and inclusive differ."""
    stream, s3 = synthetic("stocks", EVENTS), parse_query(catalogue("stocks")["S3"])
    times = stream.columns["stock_time"].to_pylist()
    widths = sorted(times[a.end] - times[a.start] for a in answers_of(s3, stream))
    edge = widths[len(widths) // 2]
    ours, theirs = against(core, s3.text.replace("10000", str(edge)))
    assert theirs["pycer_result"] == ours == sum(width <= edge for width in widths)
    assert ours > sum(width < edge for width in widths)


def test_a_strategy_does_nothing_there_and_the_counts_show_it(core: Core) -> None:
    ours, theirs = against(core, catalogue("stocks")["S3 LAST"])
    everything, _ = against(core, catalogue("stocks")["S3"])
    assert theirs["pycer_result"] == everything
    assert ours < everything


def test_a_query_that_it_does_not_take_is_said_so(core: Core) -> None:
    text = catalogue("stocks")["S3"].replace("FROM S", "FROM Refused")
    _, theirs = against(core, text)
    assert failure(theirs) == "ValueError: Syntax error: Refused"
    ours, theirs = against(core, catalogue("stocks")["S3"])
    assert theirs["pycer_result"] == ours, "it goes on"


def test_more_answers_than_it_can_print_are_not_asked_for(
    core: Core, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peers, "MOST_ANSWERS", 3)
    _, theirs = against(core, catalogue("stocks")["S3"])
    assert failure(theirs) == "not run: more than 3 answers"


def test_a_peer_that_dies_is_an_error(stand_in: Path) -> None:
    fatal = catalogue("stocks")["S3"].replace("FROM S", "FROM Fatal")
    with (
        Core(synthetic("stocks", 10), SCHEMAS["stocks"], str(stand_in)) as process,
        pytest.raises(OSError, match="cannot run CORE"),
    ):
        against(process, fatal)


@pytest.mark.parametrize("stream", ["homes", "taxi"])
def test_every_attribute_of_every_stream_arrives(
    stand_in: Path, stream: str, capsys: pytest.CaptureFixture[str]
) -> None:
    letter = {"homes": "H3", "taxi": "T3"}[stream]
    arguments = ["--stream", stream, "--events", "400", "--runs", "1", "--queries", letter]
    peer_options = ["--against", "pycer", "--pycer-python", str(stand_in), "--format", "ndjson"]
    assert main([*arguments, *peer_options]) == 0
    (row,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert row["pycer_result"] == row["answers"]


def test_the_table_shows_both_counts_and_what_was_refused(core: Core) -> None:
    rows: list[Row] = []
    for name in ("S3", "S3 LAST"):
        query, stream = parse_query(catalogue("stocks")[name]), synthetic("stocks", EVENTS)
        ours = throughput(name, query, stream, 1)
        rows.append({"stream": "stocks"} | ours | core.measure(query, ours))
    rows.append(rows[0] | {"pycer_result": None, "pycer_error": "ValueError: no"})
    output = io.StringIO()
    write_table(rows, output)
    for text in ("pycer times", f"{rows[1]['pycer_result']:,}", "ValueError: no"):
        assert text in output.getvalue()


NO_PROGRAM = "no program"


@pytest.mark.parametrize("python", ["no-such-python", sys.executable, NO_PROGRAM])
def test_without_the_interpreter_or_the_package_there_is_a_hint(
    python: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    if python is NO_PROGRAM:
        python = str(tmp_path / "python")
        Path(python).write_bytes(b"\0 nothing that runs")
        Path(python).chmod(0o755)
    arguments = ["--events", "10", "--queries", "S3", "--against", "pycer"]
    with pytest.raises(SystemExit):
        main([*arguments, "--pycer-python", python])
    output = capsys.readouterr()
    assert output.out == ""
    assert "pip install pycer" in output.err or "--pycer-python" in output.err


def test_only_windows_over_whole_numbers_are_made_strict() -> None:
    assert strict_text(parse_query("SELECT * WHERE A")) == "SELECT *\nWHERE A"
    with pytest.raises(OSError, match="whole numbers"):
        strict_text(parse_query("SELECT * WHERE A ; B WITHIN 3 EVENTS"))


def test_core_itself_where_it_is_there() -> None:
    """With ``CERLAB_PYCER`` the path of a Python that has the package."""
    python = os.environ.get("CERLAB_PYCER")
    if python is None:
        pytest.skip("CERLAB_PYCER names no Python that has the package pycer")
    stream = synthetic("stocks", 20_000)
    with Core(stream, SCHEMAS["stocks"], python) as process:
        for name in ("S3", "S6 ANY", "Q1 ANY 1000", "Q3", "Q7 ANY"):
            query = parse_query(catalogue("stocks")[name])
            ours = throughput(name, query, stream, 1)
            assert process.measure(query, ours)["pycer_result"] == ours["answers"] > 0


FLINK = """#!{python}
import csv, json, sys
said = []
for asked in json.load(sys.stdin):
    with open(sys.argv[2] + "/" + asked["file"]) as file:
        rows = sum(len(row) == len(asked["columns"]) == 3 for row in csv.reader(file))
    assert "ORDER BY ts" in asked["clause"] and "SKIP PAST LAST ROW PATTERN" in asked["clause"]
    said.append({{"result": rows, "cpu": 3, "wall": 4, "reading": 1}})
said[-1] = {{"error": "no"}}
print(json.dumps(said))
"""


def test_what_flink_is_asked_and_says(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(FLINK.format(python=sys.executable))
    python.chmod(0o755)
    *runs, last = measure_rows(1, against_flink=True, python=str(python), share=0.001)
    assert [row["flink_result"] for row in runs] == [2_000, 2_000, 500]
    assert (last["flink_error"], last["flink_cpu"]) == ("no", None)
    reply = {"cpu": 3, "wall": 4, "reading": 1, "result": 5}
    assert beside_flink(reply, 0.5)["flink_times"] == 4


@pytest.mark.parametrize(
    ("python", "why"), [("/no/such/python", "there is no"), (sys.executable, "pyflink")]
)
def test_without_flink_the_reason_is_said(python: str, why: str) -> None:
    for row in measure_rows(1, against_flink=True, python=python, share=0.001):
        assert row["cpu"] > 0
        assert row["flink_cpu"] is None
        assert why in row["flink_error"]
