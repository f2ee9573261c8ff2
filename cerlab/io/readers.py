"""Readers of sources: pipes as data arrives, short streams, and texts too short for Arrow."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from functools import partial
from typing import TypeVar, Unpack

from cerlab.budget import poll
from cerlab.errors import BadData, UsageError, lists_options
from cerlab.io import arrow
from cerlab.io.conversion import RowReading
from cerlab.io.declared import table_columns
from cerlab.io.file import File
from cerlab.io.names import Named
from cerlab.io.options import FileOptions, HowToReadFile, open_quarantine
from cerlab.io.parts import (
    Part,
    RowPart,
    batched,
    in_sizes,
    part_groups,
    stream_of,
    with_keys,
)
from cerlab.io.source import KEPT, SIZE, Source, as_source, widened_part
from cerlab.io.text_reader import Blocks, plain_events, text_parts
from cerlab.logic.ceql.parser import as_schema
from cerlab.model.event import Event, Timestamp, TypeColumn, Value, readable
from cerlab.model.stream import Stream, TimeAxis

SHORT = 1 << 13
"""Bytes of a text that Python reads alone: 3 ms, against 200 ms to load NumPy and pyarrow."""

FEW = 32
"""Up to this many events of a pipe are pushed one by one, which costs less than columns."""

S = TypeVar("S", bound=Stream)


def arriving_parts(
    file: File,
    options: FileOptions,
    before_reading: Callable[[], None] | None = None,
) -> Iterator[Part]:
    """Yield the events of a pipe as they arrive; the first events settle the column types.

    `before_reading` is called when all arrived events were consumed and the next read may wait.
    """
    from cerlab.io.column_types import ColumnTypes

    types = ColumnTypes()
    with (
        open_quarantine(options.quarantine, [file.path]) as on_bad_row,
        file.arriving(before_reading or (lambda: None)) as read,
    ):
        reading = replace(options.reading(file.name, on_bad_row), records=file.records)
        for part in text_parts(Blocks(read), file.stated_format, reading, types):
            types.settle()
            yield widened_part(part, types)
        types.warn()


@lists_options(HowToReadFile)
def short_streams(
    kind: type[S],
    sources: Source | Named,
    *,
    size: int = SIZE,
    attributes: Collection[str] | None = None,
    before_reading: Callable[[], None] | None = None,
    **how: Unpack[HowToReadFile],
) -> Iterator[S]:
    """Yield the events of files (or ``-``) as streams of class `kind`, as `cerlab.io.batches`."""
    options = FileOptions(**how)
    axis, schema = options.axis, as_schema(options.schema)
    source = as_source(sources, options.format, options.records)
    if source.is_pipe:
        for part in in_sizes(arriving_parts(source.files[0], options, before_reading), size):
            some = [*part.events()] if isinstance(part, RowPart) and part.count <= FEW else part
            yield stream_of([some], axis, schema, kind)
        return
    if source.holds_columns:
        source.check_columns()
        with open_quarantine(options.quarantine, source.paths) as on_bad_row:
            whole = schema is not None or on_bad_row is not None or attributes is None
            types = options.type if isinstance(options.type, TypeColumn) else "type"
            names = None if whole else {types, "stream", *(attributes or ())}
            for file in source.files:
                reading = source.reading(file, options, on_bad_row)
                yield from _of_columns(kind, file.columns, reading, axis, size, names)
        return
    sized = in_sizes(source.parts(options, keep=KEPT), size)
    for group in part_groups(sized, size):
        yield stream_of(group, axis, schema, kind)


def _of_columns(
    kind: type[S],
    file: arrow.ColumnFile,
    reading: RowReading,
    axis: TimeAxis | None,
    size: int,
    names: Collection[str] | None,
) -> Iterator[S]:
    """Yield batches of a column file: by columns if that is exact, otherwise row by row."""
    before = 0
    # raises an error if the events have no type
    next(arrow.table_events(with_keys(arrow.no_rows(file.fields), reading), reading), None)
    to_read = None if names is None else arrow.columns_to_read(file.fields, names)
    for batch in file.batches(size, to_read or None):
        poll()
        table = with_keys(arrow.as_table(batch, reading.file), reading)

        load = partial(arrow.table_events, table, reading, before=before)
        between = arrow.events_between(table, reading, before=before)
        before += batch.num_rows
        columns = table_columns(table, reading)
        if columns is not None:
            length, schema = batch.num_rows, reading.schema
            yield kind.from_columns(
                columns, length, load, time=axis, schema=schema, between=between
            )
            continue
        for part in batched(load(), size):
            yield kind(part, time=axis, schema=reading.schema)


def short_events(file: File, options: FileOptions) -> list[Event] | None:
    """Return the events of a text that is too short to load Arrow for; None for other texts.

    Also None for an unreadable text, whose error the readers of files report, and for a text with
    dates or large numbers.
    """
    if file.keys or file.size > SHORT or "pyarrow" in sys.modules or file.holds_columns:
        return None
    with file.text() as read:
        data = read(SHORT)
    try:
        reading = replace(options.reading(file.name, None), records=file.records)
        events = plain_events(data, file.format, reading)
    except (BadData, UsageError):
        return None
    # Arrow keeps the zones of moments, and warns about other dates and large numbers
    odd = any(_is_odd(value) for event in events for value in readable(event).values())
    return None if odd or not events else events


def _is_odd(value: Value) -> bool:
    if isinstance(value, str):
        return value[:4].strip().isdecimal()
    return type(value) is Timestamp or (type(value) is float and abs(value) >= 2**53)
