"""Text of Parquet and CSV that hardly repeats is coded where it is used."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import cerlab
from cerlab.io.options import FileOptions
from cerlab.io.parts import column_of
from cerlab.io.source import as_source
from cerlab.model import columns

TABLE = pa.table(
    {
        "type": ["A", "B"] * 5_000,
        "user": [f"user number {n}" for n in range(10_000)],
        "note": pa.array([None if n % 3 else f"é {n}" for n in range(10_000)], pa.large_string()),
    }
)


def test_different_texts_are_codes_once_they_are_used(tmp_path: Path) -> None:
    path = tmp_path / "e.parquet"
    parquet.write_table(TABLE, path, row_group_size=3_000)
    (file,) = as_source(path).files
    kinds = [field.type for field in file.columns.table().schema]
    assert pa.types.is_dictionary(kinds[0])
    assert kinds[1:] == [pa.string(), pa.large_string()]
    stream = cerlab.Stream.read(path)
    assert all(pa.types.is_dictionary(stream.columns[name].type) for name in TABLE.column_names)
    assert [event.attributes["user"] for event in stream] == TABLE["user"].to_pylist()
    frame = stream.to_pandas()
    assert all(isinstance(frame[name].dtype, pd.CategoricalDtype) for name in TABLE.column_names)
    assert frame["note"].astype(object).where(frame["note"].notna(), None).tolist() == (
        TABLE["note"].to_pylist()
    )


def test_answers_on_different_texts(tmp_path: Path) -> None:
    path = tmp_path / "e.parquet"
    parquet.write_table(TABLE, path)
    text = "SELECT * WHERE A AS a ; B FILTER a[user LIKE 'user number 1.*'] WITHIN 2 EVENTS"
    query = cerlab.parse_query(text)
    from_file, from_table = (query.run(each).table(["a.user"]) for each in (path, TABLE))
    assert from_file.num_rows > 500
    assert from_file.to_pylist() == from_table.to_pylist()
    by_key = cerlab.parse_query("SELECT * WHERE A : B PARTITION BY [note]").run(path)
    assert by_key.count() == 0


QUERIES = (
    "SELECT * WHERE A ; B PARTITION BY [user] WITHIN 99 [t]",
    "SELECT * WHERE A AS a ; B AS b FILTER b.v > a.v PARTITION BY [user] WITHIN 99 [t]",
)


@pytest.mark.parametrize("verb", ["count", "by key", "to_arrow"])
@pytest.mark.parametrize("text", QUERIES)
def test_keys_of_events_that_matter_are_coded(
    text: str, verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One event in ten is an A or a B: few texts are put into codes, by a count of them."""
    rows = 40_000
    table = pa.table(
        {
            "type": ["A" if n % 20 == 0 else "B" if n % 20 == 11 else "C" for n in range(rows)],
            "user": [f"user number {n * 7919 % 9001}" for n in range(rows)],
            "t": range(rows),
            "v": [n % 13 for n in range(rows)],
        }
    )
    path = tmp_path / "e.parquet"
    parquet.write_table(table.append_column("note", table["user"]), path)
    coded: list[int] = []
    encode_text = columns.encode_text

    def counted(column: Any) -> Any:
        if pa.types.is_string(column.type):
            coded.append(len(column))
        return encode_text(column)

    monkeypatch.setattr(columns, "encode_text", counted)
    verbs: dict[str, Callable[[cerlab.Matches], Any]] = {
        "count": lambda matches: matches.count(),
        "by key": lambda matches: matches.aggregate(group_by="key").to_pylist(),
        "to_arrow": lambda matches: matches.to_arrow().to_pylist(),
    }
    query = cerlab.parse_query(text)
    found = verbs[verb](query.run(path))
    assert 0 < sum(coded) <= rows // 4
    numbers = table.set_column(1, "user", [[n * 7919 % 9001 for n in range(rows)]])
    expected = verbs[verb](query.run(numbers))
    if verb == "by key":
        expected = [{**row, "user": f"user number {row['user']}"} for row in expected]
    assert found == expected


def test_different_texts_of_csv_are_codes_once_they_are_used(tmp_path: Path) -> None:
    path = tmp_path / "e.csv"
    notes = ["" if n % 3 else f"note {n % 7}" for n in range(10_000)]
    rows = (f"{'AB'[n % 2]},user number {n},{note}\n" for n, note in enumerate(notes))
    path.write_text("type,user,note\n" + "".join(rows))
    *_, last = as_source(path).parts(FileOptions())
    kinds = {name: column_of(last, name).type for name in ("type", "user", "note")}
    assert kinds.pop("user") == pa.string()
    assert all(map(pa.types.is_dictionary, kinds.values()))
    stream = cerlab.Stream.read(path)
    assert [event.attributes["user"] for event in stream] == TABLE["user"].to_pylist()
    for table in (cerlab.Stream.read(path).to_arrow(), pa.table(dict(stream.columns))):
        assert table.schema.field("user").type == pa.dictionary(pa.int32(), pa.string())
        assert table["user"].to_pylist() == TABLE["user"].to_pylist()
        assert table["note"].to_pylist() == [note or None for note in notes]
    rows_of = cerlab.match_recognize("MATCH_RECOGNIZE (ALL ROWS PER MATCH PATTERN (A))", path)
    assert rows_of["user"].to_pylist() == TABLE["user"].to_pylist()
