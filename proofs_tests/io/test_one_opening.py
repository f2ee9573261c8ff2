"""A command opens the file of its events once, whatever it wants to know of it."""

from __future__ import annotations

import gzip
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as parquet
import pytest

from cerlab import Stream
from cerlab.cli import main
from cerlab.io.sink import open_sink

OPENED: list[str] = []
QUERY = "SELECT * WHERE A ; B FILTER A[v = 3] AND B[v = 4] WITHIN 5 SECONDS"
ROWS = "MATCH_RECOGNIZE (MEASURES FIRST(x.v) AS v PATTERN (x y) DEFINE y AS v < PREV(v))"
FORMATS = ("csv", "ndjson", "core", "csv.gz", "parquet", "arrow", "arrows", "feather")


def note(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open" and isinstance(arguments[0], str | os.PathLike):
        OPENED.append(os.fspath(arguments[0]))


# A hook cannot be taken away again.
sys.addaudithook(note)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The paths that are opened, by Python and by pyarrow, which reads from open files alone."""
    file = pa.OSFile

    def open_by_arrow(path: str, *mode: str) -> Any:
        OPENED.append(path)
        return file(path, *mode)

    def of_open_files(read: Any) -> Any:
        def checked(source: Any, *arguments: Any, **options: Any) -> Any:
            assert not isinstance(source, str | os.PathLike), source
            return read(source, *arguments, **options)

        return checked

    monkeypatch.setattr(pa, "OSFile", open_by_arrow)
    for module, names in (
        (pa, ("input_stream", "memory_map", "CompressedInputStream")),
        (pa.ipc, ("open_file", "open_stream")),
        (parquet, ("ParquetFile",)),
    ):
        for name in names:
            monkeypatch.setattr(module, name, of_open_files(getattr(module, name)))
    OPENED.clear()
    yield OPENED
    OPENED.clear()


def write(path: Path, count: int) -> None:
    """Write so many events, with moments where the format has them."""
    moments = pa.array(range(count), pa.timestamp("s"))
    table = pa.table({"type": ["A", "B", "C"] * (count // 3), "v": range(count), "t": moments})
    match path.name.partition(".")[2]:
        case "parquet":
            parquet.write_table(table, path)
        case "arrow" | "feather":
            feather.write_feather(table, path)
        case "arrows":
            with pa.ipc.new_stream(path, table.schema) as writer:
                writer.write_table(table)
        case kind:
            texts = table if "csv" in kind else table.drop_columns("t")
            plain = path.with_suffix("") if "gz" in kind else path
            with open_sink(plain, kind.partition(".")[0]) as out:
                out.events(Stream(texts))
            if "gz" in kind:
                path.write_bytes(gzip.compress(plain.read_bytes(), mtime=0))


@pytest.mark.parametrize("count", [30, 30_000])
@pytest.mark.parametrize("name", FORMATS)
def test_a_command_opens_a_file_once(
    name: str, count: int, tmp_path: Path, opened: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / f"e.{name}"
    write(path, count)
    time = ["--time", "v:s"] if name in ("ndjson", "core") else []
    commands = {
        "run": ["run", QUERY, str(path), *time],
        "columns": ["run", QUERY, str(path), *time, "--columns", "A.v,B.v"],
        "no such attribute": ["run", "SELECT * WHERE A FILTER A[w = 3]", str(path)],
        "sort": ["run", QUERY, str(path), "--sort", *(time or ["--time", "t"])],
        "totals": ["run", "SELECT COUNT(*) WHERE A ; B WITHIN 2 EVENTS", str(path)],
        "rows": ["run", ROWS, str(path)],
        "sql": ["sql", f"SELECT * FROM e {ROWS}", f"e={path}"],
        "why": ["why", QUERY, str(path), "--positions", "3,4", *time],
        "convert": ["convert", str(path), str(tmp_path / "to.csv")],
    }
    for command, words in commands.items():
        opened.clear()
        assert main(words) in (0, 1), (command, capsys.readouterr().err)
        assert opened.count(str(path)) == 1, command


@pytest.mark.parametrize("form", ["parquet", "arrow", "csv"])
def test_a_file_without_a_suffix_is_opened_once(
    form: str, tmp_path: Path, opened: list[str]
) -> None:
    for count in (30, 30_000):
        path = tmp_path / f"e{count}"
        write(tmp_path / f"f.{form}", count)
        (tmp_path / f"f.{form}").rename(path)
        opened.clear()
        assert main(["run", QUERY, str(path)]) == 0
        assert opened.count(str(path)) == 1
