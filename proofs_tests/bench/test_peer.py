"""CORE beside the engine: the subprocess and its lines, against a stand-in for its package."""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest

from cerlab.api import parse_query
from cerlab.bench import peer
from cerlab.bench.measure import measure
from cerlab.bench.peer import Peer, strict_text
from cerlab.bench.queries import catalogue
from cerlab.bench.streams import SCHEMAS, synthetic
from cerlab.bench.table import write_table
from cerlab.bench.timing import Against
from cerlab.cli import main
from cerlab.errors import Unsupported, UsageError
from cerlab.evaluate import answers_of

pytestmark = pytest.mark.services

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
def stocks_peer(stand_in: Path) -> Iterator[Peer]:
    with Peer(synthetic("stocks", EVENTS), SCHEMAS["stocks"], str(stand_in)) as process:
        yield process


def against(process: Peer, text: str) -> tuple[int, Against]:
    query, stream = parse_query(text), synthetic("stocks", EVENTS)
    ours = measure("", query, stream, 1)
    return ours.answers, process.measure(query, ours)


@pytest.mark.parametrize("name", ["S3", "S3 ANY", "S3'", "Q1", "Q3 ANY", "Q4"])
def test_its_answers_are_ours_though_its_windows_are_strict(stocks_peer: Peer, name: str) -> None:
    ours, theirs = against(stocks_peer, catalogue("stocks")[name])
    assert theirs.result == ours
    assert theirs.error is None
    assert theirs.times is not None
    assert theirs.times > 0
    assert theirs.cpu is not None
    assert theirs.wall is not None


def test_the_edge_of_the_window_decides(stocks_peer: Peer) -> None:
    """In a window that some answers just fit, strict and inclusive differ."""
    stream, s3 = synthetic("stocks", EVENTS), parse_query(catalogue("stocks")["S3"])
    times = stream.columns["stock_time"].to_pylist()
    widths = sorted(times[a.end] - times[a.start] for a in answers_of(s3, stream))
    edge = widths[len(widths) // 2]
    ours, theirs = against(stocks_peer, s3.text.replace("10000", str(edge)))
    assert theirs.result == ours == sum(width <= edge for width in widths)
    assert ours > sum(width < edge for width in widths)


def test_a_strategy_does_nothing_there_and_the_counts_show_it(stocks_peer: Peer) -> None:
    ours, theirs = against(stocks_peer, catalogue("stocks")["S3 LAST"])
    everything, _ = against(stocks_peer, catalogue("stocks")["S3"])
    assert theirs.result == everything
    assert ours < everything


def test_a_query_that_it_does_not_take_is_said_so(stocks_peer: Peer) -> None:
    text = catalogue("stocks")["S3"].replace("FROM S", "FROM Refused")
    _, theirs = against(stocks_peer, text)
    assert theirs == Against(error="ValueError: Syntax error: Refused")
    ours, theirs = against(stocks_peer, catalogue("stocks")["S3"])
    assert theirs.result == ours, "it goes on"


def test_more_answers_than_it_can_print_are_not_asked_for(
    stocks_peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peer, "MOST_ANSWERS", 3)
    _, theirs = against(stocks_peer, catalogue("stocks")["S3"])
    assert theirs == Against(error="not run: more than 3 answers")


def test_a_peer_that_dies_is_an_error(stand_in: Path) -> None:
    fatal = catalogue("stocks")["S3"].replace("FROM S", "FROM Fatal")
    with (
        Peer(synthetic("stocks", 10), SCHEMAS["stocks"], str(stand_in)) as process,
        pytest.raises(UsageError) as caught,
    ):
        against(process, fatal)
    assert caught.value.code == "CER0817"


@pytest.mark.parametrize("stream", ["homes", "taxi"])
def test_every_attribute_of_every_stream_arrives(
    stand_in: Path, stream: str, capsys: pytest.CaptureFixture[str]
) -> None:
    letter = {"homes": "H3", "taxi": "T3"}[stream]
    arguments = ["--stream", stream, "--events", "400", "--runs", "1", "--queries", letter]
    peer_options = ["--against", "pycer", "--pycer-python", str(stand_in), "--format", "ndjson"]
    assert main(["bench", *arguments, *peer_options]) == 0
    (row,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert row["pycer_result"] == row["answers"]


def test_the_table_shows_both_counts_and_what_was_refused(stocks_peer: Peer) -> None:
    rows = []
    for name in ("S3", "S3 LAST"):
        query, stream = parse_query(catalogue("stocks")[name]), synthetic("stocks", EVENTS)
        ours = measure(name, query, stream, 1)
        row = {"stream": "stocks"} | asdict(ours) | stocks_peer.measure(query, ours).row("pycer")
        rows.append(row)
    rows.append(rows[0] | Against(error="ValueError: no").row("pycer"))
    output = io.StringIO()
    write_table(rows, output)
    for text in ("times pycer", "its answers", str(rows[1]["pycer_result"]), "ValueError: no"):
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
    assert main(["bench", *arguments, "--pycer-python", python]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert "CER0817" in output.err
    assert "pip install pycer" in output.err


def test_only_windows_over_whole_numbers_are_made_strict() -> None:
    assert strict_text(parse_query("SELECT * WHERE A")) == "SELECT *\nWHERE A"
    with pytest.raises(Unsupported):
        strict_text(parse_query("SELECT * WHERE A ; B WITHIN 3 EVENTS"))


def test_core_itself_where_it_is_there() -> None:
    """With ``CERLAB_PYCER`` the path of a Python that has the package."""
    python = os.environ.get("CERLAB_PYCER")
    if python is None:
        pytest.skip("CERLAB_PYCER names no Python that has the package pycer")
    stream = synthetic("stocks", 20_000)
    with Peer(stream, SCHEMAS["stocks"], python) as process:
        for name in ("S3", "S6 ANY", "Q1 ANY 1000", "Q3", "Q7 ANY"):
            query = parse_query(catalogue("stocks")[name])
            ours = measure(name, query, stream, 1)
            assert ours.answers > 0
            assert process.measure(query, ours).result == ours.answers
