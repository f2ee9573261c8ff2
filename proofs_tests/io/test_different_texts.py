"""Text of Parquet that hardly repeats is coded where it is used, and has the types of all text."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow as pa
from pyarrow import parquet

import cerlab
from cerlab.io.source import as_source

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
    kinds = [field.type for field in file.columns.table(lazily=True).schema]
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
