"""Files of events, one or several, and pipes: as parts of a stream, or as short streams.

A column of text has one type in all of its files. So a text is read once to settle the types and,
where it is too long to be kept, or a column turned out to be text late, once more with these types.
A pipe is read once: its first events settle the types.
"""

from __future__ import annotations

import glob
import math
import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, Unpack

from cerlab.budget import poll
from cerlab.errors import BadData, DataPlace, UsageError
from cerlab.io import arrow
from cerlab.io.conversion import OnBadRow, Reading
from cerlab.io.declared import table_columns
from cerlab.io.parts import Part, Rows, batched, events_of, in_sizes, part_groups, stream_of
from cerlab.io.sources import (
    COLUMNAR,
    COMPRESSED,
    FileOptions,
    HowToReadFile,
    existing,
    format_of,
    is_pipe,
    looks_like,
    name_of,
    open_quarantine,
    telling_line,
)
from cerlab.io.text_reader import Blocks, plain_events, text_parts
from cerlab.logic.ceql.parser import as_schema
from cerlab.model.columns import is_moment
from cerlab.model.event import AttributeType, Event, Schema, Timestamp, TypeColumn, Value
from cerlab.model.stream import Stream, TimeAxis

if TYPE_CHECKING:
    from cerlab.io.column_types import ColumnTypes

SIZE = 1 << 16
"""Events of a batch at most, by default."""

CHUNK = 1 << 18
"""Bytes that are taken from a pipe at once at most; it holds less."""

KEPT = 1 << 26
"""Bytes of text that are kept while their types are settled; longer ones are read twice."""

_SHORT = 1 << 13
"""Bytes of a text that is read in Python: 3 ms, and NumPy and pyarrow take 200 to load."""

_SAMPLE = 1 << 16
"""Bytes of a text that are read to see how long its lines are, and what its columns may be."""

Source: TypeAlias = str | PathLike[str]
Sources: TypeAlias = Source | Iterable[Source]
"""A file, a glob (``day-*.csv``), ``-`` for standard input, or several of them."""

S = TypeVar("S", bound=Stream)
Watch: TypeAlias = Callable[[Iterator[Part]], Iterable[Part]]


def paths_of(sources: Sources) -> list[Source]:
    """Return the files that are named, those of a glob by name; raises `BadData` for none.

    >>> paths_of(["b.csv", "a.csv"])
    ['b.csv', 'a.csv']
    """
    if not isinstance(sources, str | PathLike):
        if not isinstance(sources, list | tuple | set | Iterator):
            hint = "Stream.from_events and Stream.from_arrow take events that are in memory"
            raise UsageError("CER0812", f"{type(sources).__name__} names no files", hint=hint)
        return [path for source in sources for path in paths_of(source)]
    text = os.fspath(sources)
    if not glob.has_magic(text) or os.path.exists(sources):
        return [sources]
    if not (found := sorted(glob.glob(text, recursive=True))):
        raise BadData(
            "CER0743", "no file has such a name", place=DataPlace(text), hint="check the pattern"
        )
    return [*found]


def text_events(text: str, format: str) -> list[Event]:
    """Return the events of a text of a format.

    >>> [event.attributes["v"] for event in text_events("A(v=1)\\nB(v=2)", "core")]
    [1, 2]
    """
    options, contents = FileOptions(format=format), {"the text": text.encode()}
    parts = read_parts([*contents], options, contents=contents)
    return [event for part in parts for event in events_of(part)]


def read_parts(
    sources: Sources,
    options: FileOptions,
    *,
    watch: Watch = iter,
    keep: float = math.inf,
    contents: Mapping[str, bytes] | None = None,
) -> Iterator[Part]:
    """Yield the events of files (or ``-``) in parts; an error comes after the events before it.

    `watch` sees parts pass while they are read; texts of more than `keep` bytes are read twice;
    `contents` are those of sources that are no files. Raises `BadData` with file, row and column,
    and `ResourceLimit`.
    """
    paths = paths_of(sources)
    pipes = {str(path): whole_pipe(path) for path in paths if is_pipe(path)} | {**(contents or {})}
    with open_quarantine(options.quarantine, paths) as on_bad_row:
        from cerlab.io.column_types import ColumnTypes

        types = ColumnTypes()
        if options.schema is not None or not any(_has_cells(p, options, pipes) for p in paths):
            yield from watch(_parts(paths, options, types, on_bad_row, pipes))
            return
        kept: list[Part] = []
        bad_rows: list[tuple[str, BadData]] = []
        error = None
        keeps = sum(_length(path, pipes) for path in paths) <= keep
        # a text may be read twice, and its bad rows are reported once
        aside = None if on_bad_row is None else lambda row, error: bad_rows.append((row, error))
        try:
            for part in watch(_parts(paths, options, types, aside, pipes)):
                if keeps:
                    kept.append(part)
        except BadData as caught:
            error = caught
        if not keeps or types.read_again:
            kept.clear()
            types.begin_again()
            yield from _parts(paths, options, types, on_bad_row, pipes)
            types.warn()
            return
        types.settle()
        for bad in bad_rows:
            assert on_bad_row is not None
            on_bad_row(*bad)
        for part in kept:
            yield _widened(part, types)
        types.warn()
        if error is not None:
            raise error


def _widened(part: Part, types: ColumnTypes) -> Part:
    if isinstance(part, list):
        return [replace(e, attributes=types.widened_values(e.attributes)) for e in part]
    return Rows(types.widened(part.columns), part.count, part.names, part.shape)


def _parts(
    paths: Sequence[Source],
    options: FileOptions,
    types: ColumnTypes,
    on_bad_row: OnBadRow | None,
    pipes: dict[str, bytes],
) -> Iterator[Part]:
    """Yield the events of files in parts; `pipes` are the contents of those."""
    for path in paths:
        reading = options.reading(name_of(path), on_bad_row)
        kind = _kind(path, options, pipes)
        if kind in COLUMNAR:
            assert kind is not None
            yield from _table_parts(Path(path), kind, reading)
            continue
        with _open(path, pipes) as read:
            yield from text_parts(Blocks(read), kind, reading, types)


def _kind(path: Source, options: FileOptions, pipes: dict[str, bytes]) -> str | None:
    """Return the format of a source; None if the first line of its text has to tell."""
    return options.format if str(path) in pipes else format_of(existing(path), options.format)


def _has_cells(path: Source, options: FileOptions, pipes: dict[str, bytes]) -> bool:
    """Whether a source is a text whose values have the types of their columns."""
    kind = _kind(path, options, pipes)
    if kind is None:
        with _open(path, pipes) as read:
            kind = _kind_of_text(read(_SAMPLE))
    return kind in ("csv", "core")


def _kind_of_text(data: bytes) -> str:
    lines = data.decode("utf-8", "replace").splitlines()
    return looks_like(telling_line(lines) or next(filter(str.strip, lines), ""))


def _length(path: Source, pipes: dict[str, bytes]) -> float:
    if str(path) in pipes:
        return len(pipes[str(path)])
    file = Path(path)
    return math.inf if file.suffix.lower() in COMPRESSED else file.stat().st_size


def whole_pipe(path: Source) -> bytes:
    """Return all bytes of standard input or a FIFO."""
    chunks: list[bytes] = []
    with _arriving(path, lambda: poll()) as read:
        while chunk := read(CHUNK):
            chunks.append(chunk)
    return b"".join(chunks)


@contextmanager
def _open(path: Source, pipes: dict[str, bytes]) -> Iterator[Callable[[int], bytes]]:
    """Open a source of text, decompressed by its suffix, to read at most so many bytes of it.

    Raises `BadData` where it cannot be decompressed.
    """
    if (content := pipes.get(str(path))) is not None:
        yield BytesIO(content).read
    elif Path(path).suffix.lower() in COMPRESSED:
        import pyarrow as pa

        with pa.input_stream(str(path), compression="detect") as raw:

            def read(size: int) -> bytes:
                try:
                    data: bytes = raw.read(size)
                except OSError as error:
                    raise arrow.unreadable(str(path), "compressed", error) from None
                return data

            yield read
    else:
        with open(path, "rb") as raw:
            yield raw.read


@contextmanager
def _arriving(path: Source, before_reading: Callable[[], None]) -> Iterator[Callable[[int], bytes]]:
    """Open standard input or a FIFO: the bytes that have arrived, perhaps after a wait."""

    def read(size: int) -> bytes:
        before_reading()
        if raw is None:  # not a real file, as in a notebook
            return sys.stdin.readline().encode("utf-8", "surrogatepass")
        # what has arrived: `read` would wait until there is as much
        data: bytes = raw.read1(min(size, CHUNK))
        return data

    with nullcontext() if str(path) == "-" else open(path, "rb") as file:
        raw = getattr(sys.stdin, "buffer", None) if file is None else file
        yield read


def _table_parts(path: Path, kind: str, reading: Reading) -> Iterator[Part]:
    """Yield the rows of a file of columns: by columns where all can be, else row by row."""
    table = arrow.read_file(path, kind)
    columns = table_columns(table, reading)
    try:
        arrays = None if columns is None else dict(columns)
    except BadData:  # a column that perhaps nobody reads
        arrays = None
    if arrays is None:
        yield from batched(arrow.table_events(table, reading), SIZE)
        return
    names = tuple(name for name in arrays if name not in ("type", "stream"))
    yield Rows(arrays, table.num_rows, (names,))


def arriving_parts(
    path: Source,
    options: FileOptions,
    before_reading: Callable[[], None] | None = None,
) -> Iterator[Part]:
    """Yield the events of standard input or a FIFO as they come; the first ones settle the types.

    `before_reading` is called whenever the events of all that has arrived were taken and the next
    one may have to be waited for.
    """
    from cerlab.io.column_types import ColumnTypes

    types = ColumnTypes()
    with (
        open_quarantine(options.quarantine, [path]) as on_bad_row,
        _arriving(path, before_reading or (lambda: None)) as read,
    ):
        reading = options.reading(name_of(path), on_bad_row)
        for part in text_parts(Blocks(read), options.format, reading, types):
            types.settle()
            yield _widened(part, types)
        types.warn()


def read_events(
    path: Source,
    *,
    before_reading: Callable[[], None] | None = None,
    watch: Callable[[Iterator[Event]], Iterable[Event]] = iter,
    **how: Unpack[HowToReadFile],
) -> Iterator[Event]:
    """Return the events of a file (or ``-``) as they are read; events have no time axis.

    `before_reading` is as in `arriving_parts`; on standard input and FIFOs `watch` sees the events
    pass.
    """
    options = FileOptions(**how)
    if not is_pipe(path):
        parts = read_parts(path, options, keep=KEPT)
        return (event for part in parts for event in events_of(part))
    parts = arriving_parts(path, options, before_reading)
    return iter(watch(event for part in parts for event in events_of(part)))


def short_streams(
    kind: type[S],
    sources: Sources,
    *,
    size: int = SIZE,
    attributes: Collection[str] | None = None,
    before_reading: Callable[[], None] | None = None,
    **how: Unpack[HowToReadFile],
) -> Iterator[S]:
    """Yield the events of files (or ``-``) as streams of a `kind`, as `cerlab.io.batches`."""
    options = FileOptions(**how)
    axis, paths = options.axis, paths_of(sources)
    schema = as_schema(options.schema)
    if len(paths) == 1 and is_pipe(paths[0]):
        parts = in_sizes(arriving_parts(paths[0], options, before_reading), size)
        yield from (stream_of([part], axis, schema, kind) for part in parts)
        return
    kinds = [format_of(existing(path), options.format) for path in paths if not is_pipe(path)]
    if len(kinds) == len(paths) and all(each in COLUMNAR for each in kinds):
        with open_quarantine(options.quarantine, paths) as on_bad_row:
            whole = schema is not None or on_bad_row is not None or attributes is None
            types = options.type if isinstance(options.type, TypeColumn) else "type"
            names = None if whole else {types, "stream", *(attributes or ())}
            for path, form in zip(paths, kinds, strict=True):
                assert form is not None
                reading = options.reading(str(path), on_bad_row)
                yield from _of_columns(kind, Path(path), form, reading, axis, size, names)
        return
    sized = in_sizes(read_parts(paths, options, keep=KEPT), size)
    for group in part_groups(sized, size):
        yield stream_of(group, axis, schema, kind)


def _of_columns(
    kind: type[S],
    path: Path,
    form: str,
    reading: Reading,
    axis: TimeAxis | None,
    size: int,
    names: Collection[str] | None,
) -> Iterator[S]:
    """Yield batches of a file of columns: by columns where that is safe, else row by row."""
    before = 0
    fields = arrow.arrow_schema(path, form)
    next(arrow.table_events(arrow.no_rows(fields), reading), None)  # is there a type?
    to_read = None if names is None else arrow.columns_to_read(fields, names)
    for batch in arrow.record_batches(path, form, size, to_read or None):
        poll()
        table = arrow.as_table(batch, reading.file)

        def load(table: Any = table, before: int = before) -> Iterator[Event]:
            return arrow.table_events(table, reading, before=before)

        before += batch.num_rows
        columns = table_columns(table, reading)
        if columns is not None:
            length, schema = batch.num_rows, reading.schema
            yield kind.from_columns(columns, length, load, time=axis, schema=schema)
            continue
        for part in batched(load(), size):
            yield kind(part, time=axis, schema=reading.schema)


def short_events(file: Path, kind: str | None, options: FileOptions) -> list[Event] | None:
    """Return the events of a text so short that loading Arrow takes longer; None for others.

    None, too, for one that cannot be read, of which the readers of files say what is wrong, and for
    one with dates or large numbers.
    """
    if (
        file.suffix.lower() in COMPRESSED
        or file.stat().st_size > _SHORT
        or "pyarrow" in sys.modules
    ):
        return None
    data = file.read_bytes()
    kind = kind or _kind_of_text(data)
    if kind not in ("csv", "core", "ndjson"):
        return None
    try:
        events = plain_events(data, kind, options.reading(str(file), None))
    except (BadData, UsageError):
        return None
    # of moments Arrow keeps the zone, of other dates and large numbers it may warn
    odd = any(_is_odd(value) for event in events for value in event.attributes.values())
    return None if odd or not events else events


def _is_odd(value: Value) -> bool:
    if isinstance(value, str):
        return value[:4].strip().isdecimal()
    return type(value) is Timestamp or (type(value) is float and abs(value) >= 2**53)


def known_length(path: Source, format: str | None = None) -> int | None:
    """Return how many events a file says that it has; None for text, which would have to be read.

    Raises `BadData` for a file that is not there or empty, or whose metadata cannot be read.
    """
    file = existing(path)
    kind = format_of(file, format)
    return arrow.row_count(file, kind) if kind in COLUMNAR else None


def has_whole_columns(path: Source, format: str | None = None) -> bool:
    """Return whether all batches of a file have the same columns, each of one type.

    So it is in Parquet, Arrow and CSV, whose header names them; raises as `known_length`.
    """
    return format_of(existing(path), format) in (*COLUMNAR, "csv")


def estimated_length(path: Source, format: str | None = None) -> int:
    """Return about how many events a file has, by its first lines; raises as `known_length`."""
    if (length := known_length(path, format)) is not None:
        return length
    with _open(path, {}) as read:
        sample = read(_SAMPLE)
    return Path(path).stat().st_size * (sample.count(b"\n") + 1) // (len(sample) + 1)


def time_of_file(
    path: Source, schema: Schema | None = None, format: str | None = None
) -> TimeAxis | None:
    """Return the axis of the only attribute that holds moments, None for none or several.

    As `schema` declares it, else by the columns of the file; NDJSON has no moments.
    """
    if schema is not None or is_pipe(path):
        return time_of_schema(schema)
    if (kind := format_of(existing(path), format)) in COLUMNAR:
        fields = arrow.arrow_schema(Path(path), kind)
        return _only({field.name for field in fields if is_moment(field.type)})
    return _only(_moments_in(path, FileOptions(format=format, type="?")))


def _moments_in(path: Source, options: FileOptions) -> set[str]:
    """Return the columns of a text that hold moments; most often its first block tells."""
    if not _has_cells(path, options, {}):
        return set()
    from cerlab.io.column_types import NULL, ColumnTypes

    types = ColumnTypes()
    try:
        for _ in _parts([path], options, types, lambda *_: None, {}):
            if not any(is_moment(kind) or kind == NULL for kind in types.kinds.values()):
                return set()
    except BadData:
        pass  # who reads the events says so
    return {name for name, kind in types.kinds.items() if is_moment(kind)}


def time_of_schema(schema: Schema | None) -> TimeAxis | None:
    """Return the axis of the only attribute that a schema declares to hold moments, or None."""
    if schema is None:
        return None
    return _only({a.name for a in schema.attributes() if a.type is AttributeType.TIMESTAMP})


def _only(names: set[str]) -> TimeAxis | None:
    attributes = names - {"type", "stream"}
    return TimeAxis(attributes.pop()) if len(attributes) == 1 else None
