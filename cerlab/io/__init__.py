"""Edges: events in, answers out, synthetic streams."""

from cerlab.io.answers import arrow_table, record, row_text
from cerlab.io.files import (
    estimated_length,
    has_whole_columns,
    known_length,
    read_events,
    time_of_file,
    time_of_schema,
)
from cerlab.io.read import Stream, as_stream, batches, from_arrow, read
from cerlab.io.sources import HowToRead

__all__ = [
    "HowToRead",
    "Stream",
    "arrow_table",
    "as_stream",
    "batches",
    "estimated_length",
    "from_arrow",
    "has_whole_columns",
    "known_length",
    "read",
    "read_events",
    "record",
    "row_text",
    "time_of_file",
    "time_of_schema",
]
