"""Files larger than memory: the events of a file as a sequence of short streams.

Only one of them is in memory at a time. Their events, one after the other, are those of `read`:
the same conversions, the same errors with the row of the whole file. Text is read by the same line
readers, a cell at a time; pyarrow's reader of CSV gives a column one type, which is not what a CSV
without a schema means here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from os import PathLike
from pathlib import Path
from typing import Any, Unpack

from cerlab.io import arrow
from cerlab.io import arrow as columnar
from cerlab.io.conversion import Reading
from cerlab.io.declared import table_columns
from cerlab.io.read import Stream, read_parts
from cerlab.io.rows import batched, part_groups, stream_of
from cerlab.io.sources import (
    COLUMNAR,
    FileOptions,
    HowToReadFile,
    existing,
    format_of,
    is_pipe,
    open_quarantine,
)
from cerlab.logic.ceql.parser import as_schema
from cerlab.model.columns import is_moment
from cerlab.model.event import AttributeType, Event, Schema, TypeColumn
from cerlab.model.stream import TimeAxis

SIZE = 1 << 16
"""How many events a batch has at most, by default."""

_SAMPLE = 1 << 16
"""So many bytes of a text are read to see how long its lines are."""


def batches(
    path: str | PathLike[str],
    *,
    size: int = SIZE,
    attributes: Collection[str] | None = None,
    **how: Unpack[HowToReadFile],
) -> Iterator[Stream]:
    """The events of a file (or ``-``) as streams of at most `size` events, none of them empty.

    `attributes` says which are needed, besides ``type`` and ``stream``: of files that hold columns
    others may be missing. The other arguments are those of `read`. Raises `BadData` with file, row
    and column, after the events before that row.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "e.core").write_text("A(v=1)\\nB(v=2)\\nA(v=3)\\n")
    ...     [len(batch) for batch in batches(Path(folder) / "e.core", size=2)]
    [2, 1]
    """
    options = FileOptions(**how)
    axis = options.axis
    kind = None if is_pipe(path) else format_of(existing(path), options.format)
    if kind in COLUMNAR:
        with open_quarantine(options.quarantine, path) as on_bad_row:
            reading = options.reading(str(path), on_bad_row)
            whole = reading.schema is not None or on_bad_row is not None or attributes is None
            types = options.type if isinstance(options.type, TypeColumn) else "type"
            names = None if whole else {types, "stream", *(attributes or ())}
            yield from _of_columns(Path(path), kind, reading, axis, size, names)
        return
    schema = as_schema(options.schema)
    for parts in part_groups(read_parts(path, options, size), size):
        yield stream_of(parts, axis, schema, Stream)


def _of_columns(
    path: Path,
    kind: str,
    reading: Reading,
    axis: TimeAxis | None,
    size: int,
    names: Collection[str] | None,
) -> Iterator[Stream]:
    """By columns where that is safe, else row by row, for each batch anew."""
    before = 0
    fields = columnar.arrow_schema(path, kind)
    next(arrow.table_events(columnar.no_rows(fields), reading), None)  # is there a type?
    to_read = None if names is None else columnar.readable_apart(fields, names)
    for batch in columnar.record_batches(path, kind, size, to_read or None):
        table = arrow.as_table(batch, reading.file)

        def load(table: Any = table, before: int = before) -> Iterator[Event]:
            return arrow.table_events(table, reading, before=before)

        before += batch.num_rows
        columns = table_columns(table, reading)
        if columns is not None:
            length, schema = batch.num_rows, reading.schema
            yield Stream.from_columns(columns, length, load, time=axis, schema=schema)
            continue
        for part in batched(load(), size):
            yield Stream(part, time=axis, schema=reading.schema)


def known_length(path: str | PathLike[str], format: str | None = None) -> int | None:
    """How many events a file says that it has; None for text, which would have to be read.

    Raises `BadData` for a file that is not there or empty, or whose metadata cannot be read.
    """
    file = existing(path)
    kind = format_of(file, format)
    return columnar.row_count(file, kind) if kind in COLUMNAR else None


def estimated_length(path: str | PathLike[str], format: str | None = None) -> int:
    """About how many events a file has, by its first lines; raises as `known_length`."""
    if (length := known_length(path, format)) is not None:
        return length
    with Path(path).open("rb") as raw:
        sample = raw.read(_SAMPLE)
    return Path(path).stat().st_size * (sample.count(b"\n") + 1) // (len(sample) + 1)


def time_of_file(
    path: str | PathLike[str], schema: Schema | None = None, format: str | None = None
) -> TimeAxis | None:
    """The axis of the only attribute that is declared to hold moments, None for none or several.

    Declared by `schema`, else by the columns of the file; text without a schema has no moments.
    """
    if schema is not None or is_pipe(path):
        return time_of_schema(schema)
    if (kind := format_of(existing(path), format)) not in COLUMNAR:
        return None
    fields = columnar.arrow_schema(Path(path), kind)
    return _only({field.name for field in fields if is_moment(field.type)})


def time_of_schema(schema: Schema | None) -> TimeAxis | None:
    """The axis of the only attribute that a schema declares to hold moments, None for others."""
    if schema is None:
        return None
    return _only({a.name for a in schema.attributes() if a.type is AttributeType.TIMESTAMP})


def _only(names: set[str]) -> TimeAxis | None:
    attributes = names - {"type", "stream"}
    return TimeAxis(attributes.pop()) if len(attributes) == 1 else None
