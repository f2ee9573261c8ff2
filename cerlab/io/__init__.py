"""Edges: events in, answers out, synthetic streams."""

from cerlab.io.read import as_stream, from_arrow, read, read_events
from cerlab.io.write import arrow_table, record, row_text, write_ndjson, write_parquet

__all__ = [
    "arrow_table",
    "as_stream",
    "from_arrow",
    "read",
    "read_events",
    "record",
    "row_text",
    "write_ndjson",
    "write_parquet",
]
