"""Row patterns and queries read the same rows from a file, or refuse it by the same code.

They have two readers. The cases that the weaker one fails are expected failures until "One of each,
part 2" removes it.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import cerlab
from cerlab.errors import CerlabError

EVERY_ROW = "MATCH_RECOGNIZE (MEASURES 1 AS m ALL ROWS PER MATCH PATTERN (A))"

FAILING = {
    "semicolons": ("e.csv", b"v;w\n1;2\n3;4\n"),
    "an open quote": ("e.csv", b'v,w\n1,"a\n2,b\n3,c\n'),
    "a key twice": ("e.ndjson", b'{"v": 1, "v": 2}\n'),
    "beyond doubles": ("e.ndjson", b'{"v": 1e400}\n'),
    "integers beside doubles": (
        "e.ndjson",
        b'{"v": 9007199254740993}\n{"v": 9007199254740992}\n{"v": 1.5}\n',
    ),
    "compressed": ("e.csv.gz", gzip.compress(b"v,w\n1,2\n", mtime=0)),
    "an array": ("e.json", b'[{"v": 1}, {"v": 2}]\n'),
    "blank lines": ("e.ndjson", b'{"v": 1}\n\n{"v": 2}\n'),
    "comments": ("e.csv", b"# made by hand\nv,w\n1,2\n"),
}
SAME = {
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


@pytest.mark.parametrize(
    "name",
    [
        *SAME,
        *(
            pytest.param(name, marks=pytest.mark.xfail(strict=True, reason="One of each, part 2"))
            for name in FAILING
        ),
    ],
)
def test_a_file_has_the_same_rows(name: str, tmp_path: Path) -> None:
    file, content = {**SAME, **FAILING}[name]
    path = tmp_path / file
    path.write_bytes(content)
    assert outcome(by_row_patterns, path) == outcome(by_queries, path)
