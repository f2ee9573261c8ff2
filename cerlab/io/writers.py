"""Streams of events as files of every format: equal when they are read again, or refused."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from typing import TextIO

from cerlab.errors import UsageError
from cerlab.io.formats import FORMATS
from cerlab.io.output import whole_columns, whole_text
from cerlab.io.read import events_table
from cerlab.model.event import Event, Schema
from cerlab.model.stream import Stream


def write_events(stream: Stream, path: str | PathLike[str], kind: str) -> None:
    """Write the events as a new file: ``csv``, ``ndjson``, ``core``, ``parquet`` or ``arrow``.

    Raises `BadData` for an event that the format cannot hold, and then there is no file.
    """
    if kind in ("parquet", "arrow"):
        table = events_table(stream)
        with whole_columns(path, table.schema, kind) as writer:
            writer.write_table(table)
        return
    with whole_text(path) as file:
        write_text(stream, file, kind, stream.schema)


def write_text(
    events: Iterable[Event], file: TextIO, kind: str, schema: Schema | None = None
) -> None:
    """Write events as lines of a format of text, to be read with the same `schema`.

    Raises as `write_events`.
    """
    write = FORMATS[kind].write if kind in FORMATS else None
    if write is None:
        hint = "csv, ndjson and core are text; parquet and arrow need a file"
        raise UsageError("CER0867", f"events are not written as {kind} here", hint=hint)
    write(list(events), file, schema)
