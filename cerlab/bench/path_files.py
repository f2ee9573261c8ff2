"""The files that paths of a user begin with, and what pyarrow alone needs to read them."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import Any

from cerlab.io import core_text
from cerlab.model.stream import Stream

FORMATS = ("core", "csv", "ndjson", "parquet", "arrow")


def write_events(stream: Stream, files: dict[str, Path]) -> None:
    """The events of a stream as a file of each format."""
    import pyarrow.csv as csv
    import pyarrow.feather as feather
    import pyarrow.parquet as parquet

    table = plain(stream)
    csv.write_csv(table, files["csv"], csv.WriteOptions(quoting_style="none"))
    parquet.write_table(table, files["parquet"])
    feather.write_feather(table, files["arrow"])
    with files["core"].open("w", encoding="utf-8") as file:
        file.writelines(core_text.format_event(event) + "\n" for event in stream)
    with files["ndjson"].open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in table.to_pylist())


def start_of(file: Path, target: Path, events: int) -> None:
    """The header of a CSV and its first rows, as a file of their own."""
    with file.open(encoding="utf-8") as lines:
        target.write_text("".join(islice(lines, 1 + events)), encoding="utf-8")


def plain(stream: Stream) -> Any:
    """The events as a table without dictionaries, and without a stream that none of them has."""
    import pyarrow as pa

    from cerlab.model.columns import decoded

    columns = {}
    for name, column in stream.columns.items():
        is_coded = pa.types.is_dictionary(column.type)
        columns[name] = decoded(column) if is_coded else column
    table = pa.table(columns)
    empty = "stream" in columns and columns["stream"].null_count == len(stream)
    return table.drop_columns("stream") if empty else table


def floor(file: Path) -> None:
    """Read a file by pyarrow, and add up its columns of numbers."""
    import pyarrow as pa
    import pyarrow.compute as pc

    table = _read_table(file)
    for column in table.columns:
        if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
            pc.sum(column)


def _read_table(file: Path) -> Any:
    match file.suffix:
        case ".csv":
            import pyarrow.csv as csv

            return csv.read_csv(file)
        case ".ndjson":
            import pyarrow.json as ndjson

            return ndjson.read_json(file)
        case ".parquet":
            import pyarrow.parquet as parquet

            return parquet.read_table(file)
    import pyarrow.feather as feather

    return feather.read_table(file)
