"""Input and output: readers of events, writers of answers, synthetic streams."""

from cerlab.io.answers import arrow_table, record, row_text
from cerlab.io.options import HowToRead
from cerlab.io.read import Stream, as_stream, batches, from_arrow, read
from cerlab.io.source import Source, time_of_schema

__all__ = [
    "HowToRead",
    "Source",
    "Stream",
    "answers",
    "arrow_table",
    "as_stream",
    "batches",
    "conversion",
    "from_arrow",
    "machines",
    "named_columns",
    "names",
    "read",
    "record",
    "row_text",
    "sink",
    "synthetic",
    "time_of_schema",
]
