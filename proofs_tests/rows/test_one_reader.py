"""Row patterns and queries read the same rows from a file, or refuse it by the same code."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import cerlab
from cerlab import CerlabError

EVERY_ROW = "MATCH_RECOGNIZE (MEASURES 1 AS m ALL ROWS PER MATCH PATTERN (A))"

SAME = {
    "semicolons": ("e.csv", b"v;w\n1;2\n3;4\n"),
    "an open quote": ("e.csv", b'v,w\n1,"a\n2,b\n3,c\n'),
    "a key twice": ("e.ndjson", b'{"v": 1, "v": 2}\n'),
    "beyond doubles": ("e.ndjson", b'{"v": 1e400}\n'),
    "compressed": ("e.csv.gz", gzip.compress(b"v,w\n1,2\n", mtime=0)),
    "an array": ("e.json", b'[{"v": 1}, {"v": 2}]\n'),
    "blank lines": ("e.ndjson", b'{"v": 1}\n\n{"v": 2}\n'),
    "comments": ("e.csv", b"# made by hand\nv,w\n1,2\n"),
    "commas": ("e.csv", b'v,w\n1,"a, b"\n,\n2.5,c\n'),
    "lines of JSON": ("e.ndjson", b'{"v": 1, "w": "a"}\n{"w": null}\n'),
    "no JSON": ("e.ndjson", b'{"v": 1}\n{"v": \n'),
    "two columns of one name": ("e.csv", b"v,v\n1,2\n"),
}


def outcome(read: Callable[[Path], list[dict[str, Any]]], path: Path) -> Any:
    """Return the rows that are read, without NULL, or the code of the error."""
    try:
        return [{n: v for n, v in row.items() if v is not None} for row in read(path)]
    except CerlabError as error:
        return error.code


def by_queries(path: Path) -> list[dict[str, Any]]:
    return [dict(event.attributes) for event in cerlab.Stream.read(path, type="row")]


def by_row_patterns(path: Path) -> list[dict[str, Any]]:
    return cerlab.match_recognize(EVERY_ROW, path).drop_columns("m").to_pylist()  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", SAME)
def test_a_file_has_the_same_rows(name: str, tmp_path: Path) -> None:
    file, content = SAME[name]
    path = tmp_path / file
    path.write_bytes(content)
    assert outcome(by_row_patterns, path) == outcome(by_queries, path)


def test_integers_are_not_rounded_beside_doubles(tmp_path: Path) -> None:
    """Events hold values of several types under one name; a column of a table has one type."""
    (tmp_path / "e.ndjson").write_text('{"v": 9007199254740993}\n{"v": 1.5}\n')
    assert outcome(by_queries, tmp_path / "e.ndjson") == [{"v": 9007199254740993}, {"v": 1.5}]
    for rows in (tmp_path / "e.ndjson", [{"v": 9007199254740993}, {"v": 1.5}]):
        with pytest.raises(cerlab.TypeMismatch, match="9007199254740993 would be rounded"):
            cerlab.match_recognize(EVERY_ROW, rows)
    exact = [{"v": 9007199254740992}, {"v": 1.5}]
    assert cerlab.match_recognize(EVERY_ROW, exact).column("v").to_pylist() == [2.0**53, 1.5]


def test_a_column_called_type_has_the_type_of_its_cells(tmp_path: Path) -> None:
    """A row needs no event type, and may have one."""
    (tmp_path / "e.csv").write_text("v,type,stream\n1,7,x\n2,,\n")
    (tmp_path / "e.ndjson").write_text('{"v": 1, "type": "A"}\n{"v": 2}\n')
    (tmp_path / "e.core").write_text("S>A(v=1)\nB(v=2)\n")
    expected: dict[str, list[dict[str, Any]]] = {
        "e.csv": [{"v": 1, "type": 7, "stream": "x"}, {"v": 2, "type": None, "stream": None}],
        "e.ndjson": [{"type": "A", "v": 1}, {"type": None, "v": 2}],
        "e.core": [{"type": "A", "stream": "S", "v": 1}, {"type": "B", "stream": None, "v": 2}],
    }
    for name, rows in expected.items():
        result = cerlab.match_recognize(EVERY_ROW, tmp_path / name).drop_columns("m").to_pylist()
        assert [list(row.items()) for row in result] == [list(row.items()) for row in rows], name
