"""``cerlab run`` on files in batches: the answers of `cerlab.evaluate`, and no file in memory."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import cerlab
from cerlab import ComplexEvent
from cerlab.cli import main
from cerlab.cli import options as progress
from cerlab.evaluate import thresholds
from cerlab.io.answers import table_of_batches
from cerlab.logic.ceql.syntax import query_text
from proofs_tests.cli.run_cases import answers_of_lines, compilable, ndjson_lines
from proofs_tests.command import Cli
from proofs_tests.suite import random_suite

TABLE = pa.table({"type": ["A", "B", "C", "A"] * 250, "v": range(1000), "k": [1, 2] * 500})
QUERY = "SELECT * WHERE A ; B FILTER A[v > 10] WITHIN 5 [v]"


@random_suite(4_000)
def test_random_queries_on_files_in_batches(
    rng: Random, tmp_path: Path, small_batches: None, cli: Cli
) -> bool:
    path = tmp_path / "e.ndjson"
    example = compilable(rng)
    path.write_text("".join(ndjson_lines(example)))
    text = query_text(example.ast)
    arguments = [text, str(path), "--time", "t:s", "--evaluator", "compiled"]
    out = cli("run", *arguments, status=0 if len(example.stream) else 2).out
    answers = answers_of_lines(out)
    expected = cerlab.evaluate(example.query, example.stream, evaluator="tecs")
    assert len(answers) == len(set(answers))
    assert set(answers) == set(expected), example.describe()
    return bool(expected)


@pytest.mark.usefixtures("small_batches", "never_whole")
class TestOneTable:
    """One stream in every format, in and out."""

    @pytest.fixture
    def file(self, tmp_path: Path) -> str:
        parquet.write_table(TABLE, tmp_path / "e.parquet", row_group_size=7)
        return str(tmp_path / "e.parquet")

    @pytest.fixture
    def expected(self) -> list[ComplexEvent]:
        expected = cerlab.evaluate(QUERY, TABLE, evaluator="tecs")
        assert len(expected) > 100
        return expected

    def test_ndjson(self, file: str, expected: list[ComplexEvent], cli: Cli) -> None:
        out = cli("run", QUERY, file, "--evaluator", "compiled").out
        assert out.splitlines()[0] == json.dumps(json.loads(out.splitlines()[0]))
        assert sorted(map(repr, answers_of_lines(out))) == sorted(map(repr, expected))

    def test_parquet_in_several_row_groups(
        self,
        file: str,
        expected: list[ComplexEvent],
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr("cerlab.io.sink.ROWS", 50)
        out = str(tmp_path / "out.parquet")
        arguments = ["run", QUERY, file, "--evaluator", "compiled", "--format", "parquet"]
        assert main([*arguments, "-o", out]) == 0
        assert parquet.read_metadata(out).num_row_groups > 2
        rows = parquet.read_table(out).to_pylist()
        answers = [ComplexEvent(r["start"], r["end"], tuple(r["positions"])) for r in rows]
        assert sorted(map(repr, answers)) == sorted(map(repr, expected))
        assert parquet.read_schema(out).equals(cerlab.io.arrow_table([]).schema)
        assert main([*arguments, "-o", out, "--limit", "7"]) == 0
        assert parquet.read_metadata(out).num_rows == 7

    def test_a_table_of_answers_over_batches(self, file: str, cli: Cli) -> None:
        arguments = ["run", "A : B FILTER A[v = 40]", file, "--evaluator", "compiled"]
        assert "40, 41" in cli(*arguments, "--format", "table").out

    @pytest.mark.parametrize("limit", [0, 1, 5, 10_000])
    def test_a_limit_of_answers_over_batches(
        self, file: str, expected: list[ComplexEvent], limit: int, cli: Cli
    ) -> None:
        arguments = ["run", QUERY, file, "--evaluator", "compiled", "--limit", str(limit)]
        answers = answers_of_lines(cli(*arguments).out)
        assert len(answers) == min(limit, len(expected))
        assert set(answers) <= set(expected)

    def test_enough_answers_end_the_reading(
        self, file: str, monkeypatch: pytest.MonkeyPatch, cli: Cli
    ) -> None:
        batches_read = 0
        original = cerlab.io.batches

        def count_batches(*arguments: Any, **options: Any) -> Iterator[Any]:
            nonlocal batches_read
            for batch in original(*arguments, **options):
                batches_read += 1
                yield batch

        monkeypatch.setattr(cerlab.io, "batches", count_batches)
        out = cli("run", "A", file, "--evaluator", "compiled", "--limit", "2").out
        assert len(out.splitlines()) == 2
        assert batches_read <= 3

    def test_auto_is_by_batches_beyond_some_length(
        self, file: str, monkeypatch: pytest.MonkeyPatch, cli: Cli
    ) -> None:
        assert "the whole file was read" in cli("run", "A", file, status=70).err
        monkeypatch.setattr(thresholds, "SHORT", 999)
        assert len(cli("run", "A", file).lines) == 500


def test_the_time_of_a_file_in_batches(tmp_path: Path, small_batches: None, cli: Cli) -> None:
    """The only timestamp by declaration; where several are, the error asks for --time."""
    moments = pa.array([0, 1000, 9000, 9500], pa.timestamp("ms"))
    one = pa.table({"type": ["A", "B", "A", "B"], "t": moments})
    parquet.write_table(one, tmp_path / "one.parquet")
    parquet.write_table(one.append_column("u", moments), tmp_path / "two.parquet")
    query = "SELECT * WHERE A ; B WITHIN 2 SECONDS"
    by_batches = ["--evaluator", "compiled"]
    expected = [ComplexEvent(0, 1, (0, 1)), ComplexEvent(2, 3, (2, 3))]
    out = cli("run", query, tmp_path / "one.parquet", *by_batches).out
    assert answers_of_lines(out) == expected
    err = cli("run", query, tmp_path / "two.parquet", *by_batches, status=2).err
    assert "CER0802" in (error := err)
    assert "--time" in error
    arguments = [str(tmp_path / "two.parquet"), "--time", "u", *by_batches]
    assert answers_of_lines(cli("run", query, *arguments).out) == expected


IN_STEPS = "SELECT * WHERE MAX(A) ; B CONSUME BY ANY"


@pytest.mark.parametrize("query", ["A", IN_STEPS, "SELECT * WHERE A WITHIN 3 SECONDS"])
def test_what_cannot_be_run_leaves_the_output_alone(query: str, tmp_path: Path, cli: Cli) -> None:
    out = tmp_path / "out"
    out.write_text("kept")
    file = tmp_path / "e.core"
    if query != "A":
        file.write_text("A()\n")
    arguments = [str(file), "--evaluator", "compiled", "-o", str(out)]
    assert "Traceback" not in cli("run", query, *arguments, status=2).err
    assert out.read_text() == "kept"


def test_answers_before_a_bad_row_are_given(tmp_path: Path, small_batches: None, cli: Cli) -> None:
    (tmp_path / "e.core").write_text("A()\nB()\nA()\nB()\nC(\nB()\n")
    arguments = ["run", "A : B", str(tmp_path / "e.core"), "--evaluator", "compiled"]
    output = cli(*arguments, status=2)
    assert len(output.out.splitlines()) == 2
    assert "row 5" in output.err


PEAK = """
import re, sys
from cerlab.cli import main
assert main(["run", *sys.argv[1:]]) == 0
status = open("/proc/self/status").read()
print(re.search(r"VmHWM:\\s+(\\d+) kB", status).group(1), file=sys.stderr)
"""


def peak_of(path: Path, events: int) -> tuple[int, int]:
    """The peak of the resident set in MiB of a run on a file, and how many answers it gave."""
    rng = Random(3)
    rows = 1 << 15
    columns = {"type": pa.array(rng.choices("ABCD", k=rows)), "v": pa.array(range(rows))}
    for name in ("w", "w1", "w2", "w3", "w4"):
        columns[name] = pa.array([rng.random() for _ in range(rows)])
    schema = pa.table(columns).schema
    with parquet.ParquetWriter(path, schema, compression="none", use_dictionary=False) as writer:
        for start in range(0, events, rows):
            columns["v"] = pa.array(range(start, start + rows))
            writer.write_table(pa.table(columns))
    query = "SELECT * WHERE A ; B ; C FILTER A[w > 0.999] WITHIN 100 [v] LIMIT 3"
    done = subprocess.run(
        [sys.executable, "-c", PEAK, query, str(path)], capture_output=True, text=True, check=True
    )
    path.unlink()
    return int(done.stderr.split()[-1]) >> 10, done.stdout.count("\n")


@pytest.mark.night
@pytest.mark.skipif(not Path("/proc/self/status").is_file(), reason="peaks are read from /proc")
def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    short, few = peak_of(tmp_path / "short.parquet", 1 << 19)
    long, many = peak_of(tmp_path / "long.parquet", 1 << 21)
    assert 3 * few < many < 5 * few
    assert few > 1000
    report = f"{short} MiB for 0.5 million events, {long} MiB for 2 million, 75 MiB more of data"
    assert long < short + 32, report


@pytest.mark.night
@pytest.mark.skipif(not Path("/proc/self/status").is_file(), reason="peaks are read from /proc")
@pytest.mark.parametrize(("source", "events"), [("-", 1 << 17), ("file", 1 << 19)])
def test_rows_of_a_pipe_and_of_ndjson_take_the_memory_of_a_window(
    source: str, events: int, tmp_path: Path
) -> None:
    """Below 2^19 events of a file the peak still grows, by what the allocator keeps."""

    def peak(events: int) -> tuple[int, int]:
        rows = ({"type": "ABCD"[n % 4], "v": n, "w": n % 997} for n in range(events))
        path = tmp_path / "e.ndjson"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        query = "SELECT * WHERE A AS a ; B ; C AS c FILTER a[w = 5] WITHIN 100 [v] LIMIT 3"
        where = source if source == "-" else str(path)
        command = [sys.executable, "-c", PEAK, query, where, "--columns", "a.v,c.w"]
        with path.open() as data:
            done = subprocess.run(command, stdin=data, capture_output=True, text=True, check=True)
        return int(done.stderr.split()[-1]) >> 10, done.stdout.count("\n")

    (short, few), (long, many) = peak(events), peak(4 * events)
    assert 3 * few < many < 5 * few
    assert few > 1000
    assert long < short + 32, f"{short} MiB for {events} events, {long} MiB for four times as many"


class Terminal(io.StringIO):
    """A stderr that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("patience", "has_bar"), [(-1.0, True), (3600.0, False)])
def test_a_terminal_gets_a_bar_once_it_lasts(
    patience: float,
    has_bar: bool,
    tmp_path: Path,
    small_batches: None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    parquet.write_table(TABLE, tmp_path / "e.parquet")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(progress, "_PATIENCE_SECONDS", patience)
    monkeypatch.setenv("TERM", "xterm")
    assert main(["run", "A", str(tmp_path / "e.parquet"), "--evaluator", "compiled"]) == 0
    assert ("evaluating" in terminal.getvalue()) is has_bar
    assert ("/1000" in terminal.getvalue()) is has_bar, "the file says how long it is"
    assert len(capsys.readouterr().out.splitlines()) == 500


def test_answers_of_a_sorted_file_go_out_in_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table for each answer costs 65 microseconds, four times the rest of the command."""
    file, out = str(tmp_path / "e.parquet"), str(tmp_path / "out.parquet")
    backwards = TABLE.take(list(reversed(range(len(TABLE)))))
    parquet.write_table(backwards, file)
    tables = Counter[str]()

    def counted(batches: Any) -> Any:
        tables["written"] += 1
        return table_of_batches(batches)

    monkeypatch.setattr("cerlab.cli.answers.table_of_batches", counted)
    how = ["--sort", "--time", "v:s", "--evaluator", "compiled", "--format", "parquet", "-o", out]
    assert main(["run", QUERY, file, *how]) == 0
    expected = cerlab.evaluate(QUERY, TABLE, evaluator="tecs")
    rows = parquet.read_table(out).to_pylist()
    assert {(r["start"], r["end"], tuple(r["positions"])) for r in rows} == {
        (answer.start, answer.end, answer.positions) for answer in expected
    }
    assert tables["written"] <= 2 < len(rows)
