"""Streams as columns in memory, where most measurements start, and as files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.feather as feather
import pyarrow.parquet as parquet

from cerlab import Schema, io
from cerlab.io import core_text
from cerlab.io.synthetic import HOMES_SCHEMA, TAXI_SCHEMA, event_batches, homes, taxis
from cerlab.model.columns import decoded
from cerlab.model.stream import Stream
from cerlab.testing import STOCK_SCHEMA, stock_batches

SCHEMAS: dict[str, Schema] = {"stocks": STOCK_SCHEMA, "homes": HOMES_SCHEMA, "taxi": TAXI_SCHEMA}
"""The streams by name, each with its schema."""

FORMATS = ("core", "csv", "ndjson", "parquet", "arrow")

_DECOYS: dict[str, dict[str, Any]] = {
    "stocks": {"type": "BUY", "name": "NotExists"},
    "homes": {"household_id": 1000, "value": 100.0},
    "taxi": {"pickup_loc": "NotExists"},
}


def synthetic(name: str, events: int) -> Stream:
    """Return a generated stream, one Arrow array for each column, texts as dictionaries.

    >>> len(synthetic("homes", 100))
    100
    """
    if name == "stocks":
        batches = stock_batches(events)
    else:
        generate = {"homes": homes, "taxi": taxis}[name]
        batches = event_batches(generate(events), SCHEMAS[name])
    return in_memory(pa.Table.from_batches(list(batches)))


def from_file(path: str) -> Stream:
    """Read a stock stream from a file of any format that `cerlab.io` reads, in the same form."""
    return in_memory(_without_stream(pa.table(dict(io.read(path).columns))))


def with_decoy(name: str, stream: Stream) -> Stream:
    """Return the stream after one more event, for which queries without output wait.

    It comes before everything, so it completes nothing; but an engine cannot tell from the values
    of a column that there will be no output, and has to follow the sequences. Otherwise it may see
    that the last event of ``P'`` never occurs, and rightly do nothing.
    """
    table = pa.table(dict(stream.columns))
    first = table.slice(0, 1).to_pylist()[0] | _DECOYS[name]
    row = pa.Table.from_pylist([first], schema=table.schema)
    return in_memory(pa.concat_tables([row, table]))


def in_memory(table: Any) -> Stream:
    """Return the rows of a table as a stream, one array for each column, texts as dictionaries."""
    columns = {
        name: column.dictionary_encode() if pa.types.is_string(column.type) else column
        for name, column in zip(table.column_names, table.columns, strict=True)
    }
    return io.from_arrow(pa.table(columns).unify_dictionaries().combine_chunks())


def head(stream: Stream, length: int) -> Stream:
    """Return the first events, as columns."""
    return io.from_arrow(pa.table(dict(stream.columns)).slice(0, length))


def save(stream: Stream, path: Path) -> None:
    """Write a stream for another process, which gets it back by `load`."""
    feather.write_feather(pa.table(dict(stream.columns)), str(path), compression="uncompressed")


def load(path: str) -> Stream:
    """Read a stream that `save` wrote; what it needs in memory is its columns."""
    with pa.OSFile(path) as file:
        return in_memory(pa.ipc.open_file(file).read_all())


def plain(stream: Stream) -> Any:
    """Return the events as a table without dictionaries, and without an empty stream column."""
    columns = {
        name: decoded(column) if pa.types.is_dictionary(column.type) else column
        for name, column in stream.columns.items()
    }
    return _without_stream(pa.table(columns))


def _without_stream(table: Any) -> Any:
    empty = "stream" in table.column_names and table["stream"].null_count == table.num_rows
    return table.drop_columns("stream") if empty else table


def write_events(stream: Stream, folder: Path) -> dict[str, Path]:
    """Write the events of a stream as a file of each format."""
    files = {kind: folder / f"events.{kind}" for kind in FORMATS}
    table = plain(stream)
    pa_csv.write_csv(table, files["csv"], pa_csv.WriteOptions(quoting_style="none"))
    parquet.write_table(table, files["parquet"])
    feather.write_feather(table, files["arrow"])
    with files["core"].open("w", encoding="utf-8") as file:
        file.writelines(core_text.format_event(event) + "\n" for event in stream)
    with files["ndjson"].open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in table.to_pylist())
    return files
