"""The streams of the benchmark as columns in memory, which is where every measurement starts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cerlab import io
from cerlab.io.synthetic import (
    HOMES_SCHEMA,
    STOCK_SCHEMA,
    TAXI_SCHEMA,
    event_batches,
    homes,
    stock_batches,
    taxis,
)
from cerlab.model.event import Schema
from cerlab.model.stream import Stream

SCHEMAS: dict[str, Schema] = {
    "stocks": STOCK_SCHEMA,
    "homes": HOMES_SCHEMA,
    "taxi": TAXI_SCHEMA,
}
"""The streams by name, each with its schema."""


def synthetic(name: str, events: int) -> Stream:
    """A generated stream, one Arrow array for each column, texts as dictionaries.

    >>> len(synthetic("homes", 100))
    100
    """
    import pyarrow as pa

    match name:
        case "stocks":
            batches = stock_batches(events)
        case "homes":
            batches = event_batches(homes(events), HOMES_SCHEMA)
        case "taxi":
            batches = event_batches(taxis(events), TAXI_SCHEMA)
        case _:
            raise KeyError(name)
    return in_memory(pa.Table.from_batches(list(batches)))


def from_file(path: str) -> Stream:
    """A stock stream from a file of any format that `cerlab.io` reads, in the same form."""
    import pyarrow as pa

    table = pa.table(dict(io.read(path).columns))
    if "stream" in table.column_names and table["stream"].null_count == table.num_rows:
        table = table.drop_columns("stream")  # no event says where it is from
    return in_memory(table)


_DECOYS: dict[str, dict[str, Any]] = {
    "stocks": {"type": "BUY", "name": "NotExists"},
    "homes": {"household_id": 1000, "value": 100.0},
    "taxi": {"pickup_loc": "NotExists"},
}


def with_decoy(name: str, stream: Stream) -> Stream:
    """The stream after one event more: the one that the queries without output wait for.

    It comes before everything, so it completes nothing; but an engine cannot tell from the values
    of a column that there will be no output, and has to follow the sequences. Else it may see
    that the last event of ``P'`` never occurs, and rightly do nothing.
    """
    import pyarrow as pa

    table = pa.table(dict(stream.columns))
    first = table.slice(0, 1).to_pylist()[0] | _DECOYS[name]
    row = pa.Table.from_pylist([first], schema=table.schema)
    return in_memory(pa.concat_tables([row, table]))


def in_memory(table: Any) -> Stream:
    """The rows of a table as a stream, one array for each column, texts as dictionaries."""
    import pyarrow as pa

    columns = {
        name: column.dictionary_encode() if pa.types.is_string(column.type) else column
        for name, column in zip(table.column_names, table.columns, strict=True)
    }
    return io.from_arrow(pa.table(columns).unify_dictionaries().combine_chunks())


def read_columns(stream: Stream, names: Iterable[str]) -> list[Any]:
    """Those columns of a stream that are there, as flat Arrow arrays without dictionaries."""
    arrays = []
    for name in names:
        if name in stream.columns:
            column = stream.columns[name]
            whole = column.combine_chunks() if hasattr(column, "combine_chunks") else column
            arrays.append(getattr(whole, "indices", whole))
    return arrays
