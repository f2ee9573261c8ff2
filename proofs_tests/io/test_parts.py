"""Files that are read part by part: one stream, whatever the parts.

`differential.test_keys` compares what every verb finds. Here are their errors, and what is read.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cerlab
from cerlab import BadData
from cerlab.io import arrow
from cerlab.io.names import NULL_KEY
from cerlab.io.parquet import ParquetColumns
from cerlab.model import stream

ROWS = 6_000
"""More events than are read without kernels."""

PART, ROW_GROUP = 1_000, 700
COUNTS = {
    "automaton": "SELECT * WHERE A ; B WITHIN 5 [ts]",
    "by key": "SELECT * WHERE A ; B PARTITION BY [v] WITHIN 5 [ts]",
    "registers": "SELECT * WHERE A AS a ; B AS b FILTER b.v >= a.v WITHIN 5 [ts]",
    "waits": "SELECT * WHERE (A WAIT 5 [ts]) UNLESS B",
}
"""A query for each way of counting."""

VERBS: dict[str, Callable[[str, Any], object]] = {
    "count": cerlab.count,
    "run": lambda text, events: list(cerlab.parse_query(text).run(events)),
    "aggregate": lambda text, events: cerlab.parse_query(text).run(events).aggregate(),
}


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "PART", PART)
    monkeypatch.setattr(arrow, "SHORT_FILE", 0)


def table(**changes: dict[int, Any]) -> Any:
    """Return the rows of a stream, with other values at some rows."""
    columns: dict[str, list[Any]] = {
        "type": ["AB"[n % 2] for n in range(ROWS)],
        "v": [n % 3 for n in range(ROWS)],
        "ts": [*range(ROWS)],
    }
    for name, cells in changes.items():
        for row, value in cells.items():
            columns[name][row] = value
    return pa.table(columns)


def file_of(rows: Any, folder: Path, **how: Any) -> Path:
    path = folder / "events.parquet"
    pq.write_table(rows, path, row_group_size=ROW_GROUP, **how)
    return path


CUTS = (0, 0, 400, 2_900, 4_700, ROWS)
"""Where files of a folder begin and end: one has no rows, and two are shorter than a part."""


def folder_of(rows: Any, folder: Path, **how: Any) -> Path:
    """Return a folder of files with these rows in order, in a folder with a key for each file."""
    for n, (a, b) in enumerate(pairwise(CUTS)):
        inner = folder / f"n={n}" / f"day={NULL_KEY if n == 2 else n}"
        inner.mkdir(parents=True)
        file_of(rows.slice(a, b - a), inner, **how)
    return folder


FILES = {"file": file_of, "folder": folder_of}


def row_in(source: Path, row: int) -> int:
    """Return the number of a row, from 1, in its file."""
    return row if source.is_file() else row - max(cut for cut in CUTS if cut < row)


def error_of(verb: Callable[[str, Any], object], text: str, events: Any) -> tuple[str, Any]:
    with pytest.raises(BadData) as caught:
        verb(text, events)
    place = caught.value.place
    return caught.value.code, (getattr(place, "row", None), getattr(place, "column", None))


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("kind", COUNTS)
@pytest.mark.parametrize("row", [1, 1_399, 1_400, ROWS - 1])
@pytest.mark.parametrize("value", [-1, None])
@pytest.mark.parametrize("files", FILES)
def test_a_bad_time_is_found_in_every_part(
    verb: str, kind: str, row: int, value: Any, files: str, tmp_path: Path
) -> None:
    """The error of a time that goes back, or is missing, is that of the table."""
    rows = table(ts={row: value})
    of_file = error_of(VERBS[verb], COUNTS[kind], FILES[files](rows, tmp_path))
    assert of_file == error_of(VERBS[verb], COUNTS[kind], rows)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("text", [None, ""])
@pytest.mark.parametrize("statistics", [True, False])
@pytest.mark.parametrize("files", FILES)
def test_an_event_without_a_type_is_found(
    verb: str, text: str | None, statistics: bool, files: str, tmp_path: Path
) -> None:
    path = FILES[files](table(type={4_741: text}), tmp_path, write_statistics=statistics)
    code, (row, column) = error_of(VERBS[verb], COUNTS["automaton"], path)
    assert (code, row, column) == ("CER0701", row_in(path, 4_742), "type")


@pytest.mark.parametrize("kind", COUNTS)
@pytest.mark.parametrize("files", FILES)
def test_a_footer_that_is_wrong_about_types_is_found(
    kind: str, files: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ParquetColumns, "has_texts", lambda self, name: True)
    path = FILES[files](table(type={4_741: None}), tmp_path)
    code, (row, column) = error_of(cerlab.count, COUNTS[kind], path)
    assert (code, row, column) == ("CER0701", row_in(path, 4_742), "type")


@pytest.mark.parametrize("kind", ["automaton", "by key", "registers"])
@pytest.mark.parametrize("files", FILES)
def test_counting_reads_no_column_whole(
    kind: str, files: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At no time more rows of a file are read together than a part has."""
    read = list[int]()
    whole = arrow.ColumnFile.table

    def table_of(*args: Any, **how: Any) -> Any:
        rows = whole(*args, **how)
        read.append(rows.num_rows)
        return rows

    monkeypatch.setattr(arrow.ColumnFile, "table", table_of)
    path = FILES[files](table(), tmp_path)
    assert cerlab.count(COUNTS[kind], path) == cerlab.count(COUNTS[kind], table())
    # parts are of whole row groups, so the first one that has enough ends a part
    assert max(read) < PART + ROW_GROUP


KEYED = "SELECT * WHERE A ; B FILTER A[day = 3] OR A[day = 4] PARTITION BY [v] WITHIN 5 [ts]"


def test_a_folder_by_parts_is_the_table_with_its_keys(tmp_path: Path) -> None:
    """A key that some folder has as NULL is a column of one type in all parts."""
    folder = folder_of(table(), tmp_path)
    files = [n for n, (a, b) in enumerate(pairwise(CUTS)) for _ in range(a, b)]
    keys = {"n": files, "day": [None if n == 2 else n for n in files]}
    rows = pa.table({**{name: table()[name] for name in ("type", "v", "ts")}, **keys})
    assert cerlab.Stream.read(folder).to_arrow().cast(rows.schema).equals(rows)
    assert cerlab.count(KEYED, folder) == cerlab.count(KEYED, rows) > 0
    by_key = [
        cerlab.parse_query(KEYED).run(events).aggregate(count=True, group_by="key").to_pylist()
        for events in (folder, rows)
    ]
    assert by_key[0] == by_key[1]
