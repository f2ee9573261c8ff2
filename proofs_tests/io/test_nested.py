"""Nested values: what no query reads stops nothing, and a path reads a field of them."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import cerlab
from cerlab import Stream
from cerlab.cli import main
from cerlab.io import batches

ROWS: list[dict[str, Any]] = [
    {"type": "A", "n": 1, "user": {"id": 3, "name": "ann", "home": {"city": "Ulm"}}, "tags": ["x"]},
    {"type": "B", "n": 2, "user": {"id": 4, "name": "bob", "home": {"city": None}}, "tags": []},
    {"type": "A", "n": 3, "user": None, "tags": [{"k": 1}]},
    {"type": "B", "n": 4, "user": {"id": 3, "labels": {"app.name": "web"}}},
]


def written(path: Path, rows: list[dict[str, Any]]) -> Path:
    if path.suffix == ".parquet":
        simple = [{**row, "tags": [1]} for row in rows]
        parquet.write_table(pa.Table.from_pylist(simple), path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture(params=["ndjson", "json.zst", "parquet", "long.ndjson"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The rows as a file; a long one is read by columns."""
    path = tmp_path / f"e.{request.param.removeprefix('long.')}"
    rows = ROWS * 200 if request.param.startswith("long") else ROWS
    if path.suffix == ".zst":
        text = "".join(json.dumps(row) + "\n" for row in rows)
        with pa.CompressedOutputStream(str(path), "zstd") as out:
            out.write(text.encode())
        return path
    return written(path, rows)


def test_a_nested_value_that_no_query_reads_stops_nothing(source: Path) -> None:
    events = Stream.read(source)
    copies = len(events) // len(ROWS)
    assert cerlab.count("A FILTER A[n < 3]", events) == copies
    assert cerlab.count("A : B", source) == 2 * copies
    assert sum(len(batch) for batch in batches(source, size=3)) == len(events)
    assert [event.type for event in events] == [row["type"] for row in ROWS * copies]


def test_a_nested_column_itself_is_refused_by_its_name(source: Path) -> None:
    for query in ("A FILTER A[user = 3]", "A FILTER A[tags = 'x']"):
        with pytest.raises(cerlab.BadData, match=r"CER0741: column '(user|tags)'") as caught:
            cerlab.count(query, source)
        if "user" in query:
            assert "such as user.id" in caught.value.hint
    with pytest.raises(cerlab.BadData, match="column 'user'"):
        dict(Stream.read(source)[0].attributes)


@pytest.mark.parametrize("kind", ["csv", "ndjson", "core", "parquet", "arrow"])
def test_what_would_write_a_nested_column_is_refused_by_its_name(
    kind: str, source: Path, tmp_path: Path
) -> None:
    with pytest.raises(cerlab.BadData, match="'user'"):
        Stream.read(source).to_arrow()
    target = tmp_path / f"out.{kind}"
    assert main(["convert", str(source), str(target)]) == 2
    assert not target.exists()


def test_paths_are_attributes_of_events_and_columns_of_streams(source: Path) -> None:
    events = Stream.read(source)
    assert [events[n].attributes.get("user.id") for n in range(4)] == [3, 4, None, 3]
    assert list(events.columns["user.id"].to_pylist())[:4] == [3, 4, None, 3]
    assert events.columns["user.home.city"].to_pylist()[:4] == ["Ulm", None, None, None]
    assert events.columns["user.labels.`app.name`"].to_pylist()[:4] == [None, None, None, "web"]
    for name in ("user.nobody", "user.id.x", "n.x", "user..id", "user.labels.app.name"):
        assert name not in events.columns
        assert events[0].attributes.get(name) is None
    # an object at the end of a path is nothing
    assert events[0].attributes.get("user.home") is None
    assert events.columns["user.home"].null_count == len(events)


def test_a_path_into_a_list_is_refused_by_its_name(source: Path) -> None:
    with pytest.raises(cerlab.BadData, match=r"'tags\.k' goes into a list: 'tags'"):
        Stream.read(source).columns["tags.k"]


def test_a_column_with_dots_wins_over_a_path(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"type": "A", "user.id": 1, "user": {"id": 2}},
        {"type": "B", "user": {"id": 5}},
    ]
    events = Stream.read(written(tmp_path / "e.ndjson", rows))
    assert [event.attributes.get("user.id") for event in events] == [1, 5]
    assert events.columns["user.id"].to_pylist() == [1, 5]
    one = Stream.read(written(tmp_path / "e.parquet", rows[:1]))
    assert one.columns["user.id"].to_pylist() == [1] == [one[0].attributes["user.id"]]


def test_events_with_nested_values_survive_a_pickle(source: Path) -> None:
    events = pickle.loads(pickle.dumps(Stream.read(source)))
    assert events[1].attributes["user.id"] == 4
    assert events.columns["user.id"].to_pylist()[:2] == [3, 4]


def test_types_of_events_may_be_at_a_path(tmp_path: Path) -> None:
    rows = [{"event": {"action": "in"}, "n": 1}, {"event": {"action": "out"}, "n": 2}]
    for name in ("e.ndjson", "e.parquet"):
        path = written(tmp_path / name, rows) if name.endswith("n") else tmp_path / name
        if name == "e.parquet":
            parquet.write_table(pa.Table.from_pylist(rows), path)
        events = Stream.read(path, type_column="event.action")
        assert [event.type for event in events] == ["in", "out"]
        assert cerlab.count("`in` : out", events) == 1
        assert cerlab.count("`in` : out", path, type_column="event.action") == 1
    with pytest.raises(cerlab.BadData, match="CER0736"):
        Stream.read(path, type_column="event.nothing")


def test_numbers_and_moments_of_ndjson_stay_as_they_are_written(tmp_path: Path) -> None:
    """pyarrow would round integers beside doubles, and read texts as moments."""
    values = [2.5, 9007199254740993, 3, "2024-01-01T00:00:00Z", None, True]
    for some in ([2.5, 9007199254740993, 3, 3.0], [2.5, 4.25], values[3:4] * 3, values):
        rows = [{"type": "A", "v": {"w": value}} for value in some]
        events = Stream.read(written(tmp_path / "e.ndjson", rows * 100))
        read = [event.attributes["v.w"] for event in events]
        assert [*map(repr, read)] == [*map(repr, some)] * 100
