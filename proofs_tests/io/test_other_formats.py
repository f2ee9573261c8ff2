"""Compressed texts at every door, ORC, and what is refused with the command that converts it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import orc

import cerlab
from cerlab import Stream
from cerlab.cli import main
from cerlab.io import batches

TEXTS = {
    "csv": "type,v\nA,1\nB,2\n",
    "ndjson": '{"type": "A", "v": 1}\n{"type": "B", "v": 2}\n',
    "json": '[{"type": "A", "v": 1},\n{"type": "B", "v": 2}]',
    "core": "A(v=1)\nB(v=2)\n",
}
CLAUSE = "MATCH_RECOGNIZE (MEASURES U.v AS x PATTERN (U) DEFINE U AS U.v = 2)"
CODECS = {"zst": "zstd", "gz": "gzip"}


def compressed(path: Path, text: str) -> Path:
    with pa.CompressedOutputStream(str(path), CODECS[path.suffix[1:]]) as out:
        out.write(text.encode())
    return path


def check_doors(path: Path, out: Path) -> None:
    """Every way to read a file of an A, then a B, gives their answers."""
    assert [event.type for event in Stream.read(path)] == ["A", "B"]
    assert sum(map(len, batches(path, size=1))) == 2
    assert cerlab.count("A ; B", path) == 1
    assert cerlab.match_recognize(CLAUSE, path).to_pylist() == [{"x": 2}]
    assert cerlab.sql(f"SELECT x FROM t {CLAUSE}", {"t": path}).to_pylist() == [{"x": 2}]
    for argv in (["run", "A ; B"], ["run", CLAUSE], ["run", "SELECT COUNT(*) WHERE A ; B"]):
        assert main([*argv, str(path), "-o", str(out)]) == 0
        assert len(out.read_text().splitlines()) == 1
    assert main(["sql", f"SELECT x FROM t {CLAUSE}", f"t={path}", "-o", str(out)]) == 0
    assert main(["convert", str(path), str(out.with_suffix(".parquet"))]) == 0
    assert len(Stream.read(out.with_suffix(".parquet"))) == 2


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("kind", TEXTS)
def test_compressed_texts_are_read_at_every_door(kind: str, codec: str, tmp_path: Path) -> None:
    path = compressed(tmp_path / f"e.{kind}.{codec}", TEXTS[kind])
    check_doors(path, tmp_path / "out.ndjson")
    folder = tmp_path / "folder"
    folder.mkdir()
    path.rename(folder / path.name)
    assert len(Stream.read(folder)) == 2


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("query", ["A ; B", CLAUSE, "SELECT COUNT(*) WHERE A ; B"])
def test_a_pipe_may_be_compressed(query: str, codec: str, tmp_path: Path) -> None:
    data = compressed(tmp_path / f"e.{codec}", TEXTS["ndjson"]).read_bytes()
    argv = [sys.executable, "-m", "cerlab", "run", query, "-"]
    done = subprocess.run(argv, input=data, capture_output=True)
    assert len(done.stdout.splitlines()) == 1
    assert not done.stderr
    cut = subprocess.run(argv, input=data[:-6], capture_output=True)
    assert cut.returncode == 2
    assert b"CER0742" in cut.stderr


def test_orc_is_read_at_every_door(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"type": "A", "v": 1, "u": {"i": 1}, "l": [1]},
        {"type": "B", "v": 2, "u": {"i": 3}, "l": []},
    ]
    path = tmp_path / "e.orc"
    orc.write_table(pa.Table.from_pylist([{"type": r["type"], "v": r["v"]} for r in rows]), path)
    check_doors(path, tmp_path / "out.ndjson")
    orc.write_table(pa.Table.from_pylist(rows * 1_000), path)
    assert cerlab.count("A : B FILTER B[u.i = 3]", path) == 1_000
    assert sum(map(len, batches(path, size=7, attributes={"u.i"}))) == 2_000
    (tmp_path / "e.dat").write_bytes(path.read_bytes())
    assert len(Stream.read(tmp_path / "e.dat")) == 2_000
    path.write_bytes(b"ORC nonsense")
    with pytest.raises(cerlab.BadData, match="cannot be read as orc"):
        Stream.read(path)


XES = '<?xml version="1.0"?>\n<log xes.version="1.0"><trace><event/></trace></log>\n'


@pytest.mark.parametrize("name", ["e.xes", "e.xes.gz", "e.xes.zst", "e.dat"])
def test_xes_is_refused_with_the_command_that_converts_it(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    if path.suffix[1:] in CODECS:
        compressed(path, XES)
    else:
        path.write_text(XES)
    for read in (Stream.read, lambda path: cerlab.match_recognize(CLAUSE, path)):
        with pytest.raises(cerlab.BadData, match="CER0742: this is a log in XES") as caught:
            read(path)
        assert "pm4py.read_xes(" in caught.value.hint
        assert "--type-column concept:name" in caught.value.hint


def test_other_xml_is_named(tmp_path: Path) -> None:
    path = tmp_path / "e.xml"
    path.write_text('<?xml version="1.0"?><a/>')
    with pytest.raises(cerlab.BadData, match="CER0742: this is XML"):
        Stream.read(path)
    # a header of CSV may begin with the same sign
    path.with_suffix(".csv").write_text("<DATE>,type\n1,A\n")
    assert json.dumps([e.type for e in Stream.read(path.with_suffix(".csv"))]) == '["A"]'
