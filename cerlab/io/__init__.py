"""Edges: events in, answers out, synthetic streams."""

from cerlab.io.answers import arrow_table, record, row_text
from cerlab.io.batches import (
    batches,
    estimated_length,
    known_length,
    time_of_file,
    time_of_schema,
)
from cerlab.io.read import Stream, as_stream, from_arrow, read, read_events
from cerlab.io.sources import HowToRead

__all__ = [
    "HowToRead",
    "Stream",
    "arrow_table",
    "as_stream",
    "batches",
    "estimated_length",
    "from_arrow",
    "known_length",
    "read",
    "read_events",
    "record",
    "row_text",
    "time_of_file",
    "time_of_schema",
]
