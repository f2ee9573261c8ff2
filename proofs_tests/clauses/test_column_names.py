"""Attributes that have the name of a column of the result: kept apart or refused, at every door."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import cerlab
from cerlab.cli import main

REFUSED = [
    # attribute of PARTITION BY, aggregates, columns
    ("end", {"group_by": "key"}, ["b.v"]),
    ("end", {"group_by": "end"}, None),
    ("start", {"group_by": ["key"]}, ["b.v"]),
    ("count", {"group_by": "key"}, None),
    ("sum(b.v)", {"group_by": "key", "sum": "b.v"}, None),
    ("max(b.v)", {"group_by": "key", "max": "b.v"}, None),
    ("a.v", {"group_by": "key"}, "SELECT"),
    ("a.v", {"group_by": ["key", "a.v"]}, ["a.v"]),
    ("count(b)", {"group_by": "key"}, ["count(b)"]),
    ("b", None, ["b"]),
]
KEPT: list[tuple[str, dict[str, Any], list[str] | None, dict[str, int]]] = [
    ("count", {"group_by": "key", "count": False, "sum": "b.v"}, None, {"count": 7, "sum(b.v)": 2}),
    ("sum(b.v)", {"group_by": "key"}, None, {"sum(b.v)": 7, "count": 1}),
    ("end", {"sum": "b.v"}, None, {"count": 1, "sum(b.v)": 2}),
    ("key", {"group_by": "key"}, ["b.v"], {"key": 7, "count": 1}),
    ("positions", {"group_by": "key"}, ["b.v"], {"positions": 7, "count": 1}),
    ("c.v", {"group_by": "key"}, ["a.v"], {"c.v": 7, "count": 1}),
]


def query(attribute: str, select: str = "*") -> str:
    return f"SELECT {select} WHERE A AS a ; B AS b PARTITION BY [`{attribute}`]"


def events(attribute: str) -> list[dict[str, Any]]:
    return [{"type": kind, "v": v, attribute: 7} for v, kind in enumerate("AB", 1)]


def doors(
    attribute: str, aggregates: dict[str, Any] | None, columns: Any
) -> dict[str, Callable[[], Any]]:
    """Return what gives a result with these columns, by name; each calls for its first rows."""
    rows = events(attribute)
    text = query(attribute, "a[v]" if columns == "SELECT" else "*")
    names = None if columns == "SELECT" else columns
    read = cerlab.parse_query(text)
    found: dict[str, Callable[[], Any]] = {}
    if aggregates is not None:
        found["aggregate"] = lambda: read.run(rows).aggregate(**aggregates)
        found["aggregating"] = lambda: read.aggregating(**aggregates).push(rows)
    if columns is not None:
        found["table"] = lambda: read.run(rows).table(names)
        found["head"] = lambda: read.run(rows).head() if names is None else found["table"]()
        found["tabulating"] = lambda: read.tabulating(names).push(rows)
    return found


@pytest.mark.parametrize(("attribute", "aggregates", "columns"), REFUSED)
def test_refused(attribute: str, aggregates: dict[str, Any] | None, columns: Any) -> None:
    for door, ask in doors(attribute, aggregates, columns).items():
        with pytest.raises(cerlab.UsageError, match="CER0862") as caught:
            ask()
        assert caught.value.hint, door


@pytest.mark.parametrize(("attribute", "aggregates", "columns", "row"), KEPT)
def test_kept_apart(
    attribute: str, aggregates: dict[str, Any], columns: Any, row: dict[str, int]
) -> None:
    expected = {"aggregate": row, "aggregating": row}
    if columns is not None:
        whole = {"start": 0, "end": 1, attribute: 7, columns[0]: 1 + (columns[0] == "b.v")}
        expected |= dict.fromkeys(("table", "head", "tabulating"), whole)
    found = {d: ask().to_pylist() for d, ask in doors(attribute, aggregates, columns).items()}
    assert found == {door: [row] for door, row in expected.items()}


@pytest.mark.parametrize(("clause", "name"), [("COUNT(*)", "count"), ("SUM(b.v)", "sum(b.v)")])
def test_aggregates_in_select(clause: str, name: str) -> None:
    text = f"SELECT {clause} WHERE A AS a ; B AS b PARTITION BY [`{name}`] GROUP BY `{name}`"
    with pytest.raises(cerlab.UsageError, match="CER0862"):
        cerlab.parse_query(text).run(events(name)).aggregate()


@pytest.mark.parametrize("form", ["ndjson", "csv", "table", "parquet"])
@pytest.mark.parametrize("attribute", ["positions", "labels", "events"])
def test_formats_of_the_command_line(
    form: str, attribute: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A column with the name of what other forms of answers show is one like others."""
    file, out = tmp_path / "e.ndjson", tmp_path / "out"
    file.write_text("".join(json.dumps(row) + "\n" for row in events(attribute)))
    command = ["run", query(attribute), str(file), "--columns", "b.v", "--format", form]
    assert main([*command, "-o", str(out)]) == 0
    row = {"start": 0, "end": 1, attribute: 7, "b.v": 2}
    if form == "parquet":
        assert pq.read_table(out).to_pylist() == [row]
    elif form == "ndjson":
        assert json.loads(out.read_text()) == row
    elif form == "csv":
        (found,) = csv.DictReader(io.StringIO(out.read_text()))
        assert found == {name: str(value) for name, value in row.items()}
    else:
        assert all(name in out.read_text() for name in row)
    capsys.readouterr()
