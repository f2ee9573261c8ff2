"""Sources of events: files, opened once, and pipes.

A source tells its formats, length, columns and time, and reads its events as parts of a stream or
as short streams, and its rows as columns. A column of text has one type in all of its files. So a
text is read once to settle the types and, where it is too long to be kept, or a column turned out
to be text late, once more with these types. A pipe is read once: its first events settle the types.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from io import BytesIO
from os.path import exists, isdir, isfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias, TypeVar, Unpack

from cerlab.budget import poll
from cerlab.computed import cached_property
from cerlab.errors import BadData, DataPlace, UsageError
from cerlab.io import arrow, arrow_ipc, parquet  # noqa: F401  (they register their formats)
from cerlab.io.conversion import Key, OnBadRow, Reading, twice
from cerlab.io.declared import AS_WRITTEN, declared_types, table_columns
from cerlab.io.formats import (
    COMPRESSED,
    FORMATS,
    format_by_magic,
    format_by_suffix,
    looks_like,
    telling_line,
)
from cerlab.io.names import AnyPath, Named, files_of
from cerlab.io.options import FileOptions, HowToReadFile, empty, open_quarantine
from cerlab.io.parts import (
    Part,
    Rows,
    batched,
    column_names,
    column_of,
    events_of,
    in_sizes,
    length,
    part_groups,
    stream_of,
    with_keys,
)
from cerlab.io.text_reader import Blocks, plain_events, text_parts
from cerlab.logic.ceql.parser import as_schema
from cerlab.model.columns import (
    Column,
    concat_columns,
    decoded,
    encode_text,
    is_arrow,
    is_moment,
    values_of,
)
from cerlab.model.event import AttributeType, Event, Schema, Timestamp, TypeColumn, Value
from cerlab.model.stream import Stream, TimeAxis

if TYPE_CHECKING:
    from cerlab.io.column_types import ColumnTypes

SIZE = 1 << 16
"""Events of a batch at most, by default."""

CHUNK = 1 << 20
"""Bytes that are taken from a pipe at once at most, and that it holds where the system allows it.

Each time costs a batch: 64 KB, as pipes hold by default, made 1 M events of NDJSON take six times
the time of a file."""

FEW = 32
"""Up to this many events of a pipe are pushed one by one, which costs less than columns."""

KEPT = 1 << 26
"""Bytes of text that are kept while their types are settled; longer ones are read twice."""

_SHORT = 1 << 13
"""Bytes of a text that is read in Python: 3 ms, and NumPy and pyarrow take 200 to load."""

_SAMPLE = 1 << 16
"""Bytes of a text that are read to see its format, and how long its lines are."""

S = TypeVar("S", bound=Stream)
Watch: TypeAlias = Callable[[Iterator[Part]], Iterable[Part]]


def _holds_columns(format: str | None) -> bool:
    return format in FORMATS and FORMATS[format].columns is not None


class File:
    """A file, standard input (``-``), a FIFO or a device: opened once, whatever is asked of it."""

    def __init__(
        self,
        path: AnyPath,
        format: str | None = None,
        content: bytes | None = None,
        keys: Mapping[str, str | None] | None = None,
    ) -> None:
        """`content` is that of what is no file; `keys` are those of the folders it is in."""
        self.path = path
        self.keys = keys or {}
        self.name = "standard input" if str(path) == "-" else str(path)
        self._format = format
        self._content = content
        self._raw: BinaryIO | None = None
        other = exists(path) and not isfile(path) and not isdir(path)
        self.is_pipe = content is None and (other or str(path) == "-")
        """Whether the bytes are read as they come, and once."""
        self._has_suffix = content is None and not self.is_pipe

    def __del__(self) -> None:
        if (raw := getattr(self, "_raw", None)) is not None:
            raw.close()

    @cached_property
    def _place(self) -> Path:
        """The path of a file that is there and holds something; raises `BadData` for others."""
        file = Path(self.path)
        if not isfile(file):
            raise BadData(
                "CER0743",
                "there is no such file",
                place=DataPlace(str(file)),
                hint="check the path",
            )
        if file.stat().st_size == 0:
            raise empty(str(file))
        return file

    @cached_property
    def stated_format(self) -> str | None:
        """The format by option, suffix or first bytes; None if the first line of a text tells.

        Raises `BadData` for columns in a compressed file.
        """
        if not self._has_suffix:
            return self._format
        file = self._place
        if file.suffix.lower() not in COMPRESSED:
            return self._format or format_by_suffix(file) or format_by_magic(self._head)
        kind = self._format or format_by_suffix(file.with_suffix(""))
        if _holds_columns(kind):
            raise BadData(
                "CER0742",
                f"a {kind} file is not read from inside {file.suffix}",
                place=DataPlace(str(file)),
                hint="decompress it: these formats compress their own columns",
            )
        return kind

    @cached_property
    def format(self) -> str:
        """The format; raises as `stated_format`."""
        return self.stated_format or format_of_text(self._head)

    @property
    def holds_columns(self) -> bool:
        """Whether the file holds columns and not text; raises as `stated_format`."""
        return _holds_columns(self.stated_format)

    @property
    def holds_cells(self) -> bool:
        """Whether the values of a text have the types of their columns."""
        return self.format in FORMATS and FORMATS[self.format].has_cells

    @cached_property
    def columns(self) -> arrow.ColumnFile:
        """The open file of columns; raises `BadData` for one that cannot be read."""
        assert self.stated_format is not None
        file = self._place
        kind = FORMATS[self.stated_format].columns
        assert kind is not None
        if self._content is not None:
            return kind(lambda pa: pa.BufferReader(self._content), str(file))
        if self._raw is not None:
            return kind(lambda pa: pa.PythonFile(self._raw, "r"), str(file))
        return kind(lambda pa: pa.OSFile(str(file)), str(file))

    @cached_property
    def length(self) -> int | None:
        """The number of events that the file states; None for text, which would have to be read."""
        return self.columns.length if self.holds_columns else None

    @property
    def estimated_length(self) -> int:
        """About how many events the file has, by its first lines."""
        if self.length is not None:
            return self.length
        head = self._head
        return self._place.stat().st_size * (head.count(b"\n") + 1) // (len(head) + 1)

    @property
    def size(self) -> float:
        """The bytes of a text, infinite where it is compressed."""
        if self._content is not None and not self._is_compressed:
            return len(self._content)
        return math.inf if self._is_compressed else self._place.stat().st_size

    @cached_property
    def _is_compressed(self) -> bool:
        return self._has_suffix and Path(self.path).suffix.lower() in COMPRESSED

    @cached_property
    def _head(self) -> bytes:
        """The first bytes of a text; a text that ends there is not read again."""
        head = b""
        with self.text() as read:
            while len(head) < _SAMPLE and (more := read(_SAMPLE - len(head))):
                head += more
        if self._content is None and len(head) < _SAMPLE:
            self._content = head
            if self._raw is not None:
                self._raw.close()
                self._raw = None
        return head

    def gather(self) -> None:
        """Read a pipe to its end, once; the bytes are kept."""
        if self._content is not None:
            return
        chunks: list[bytes] = []
        with self.arriving(lambda: poll()) as read:
            while chunk := read(CHUNK):
                chunks.append(chunk)
        self._content = b"".join(chunks)

    @contextmanager
    def text(self) -> Iterator[Callable[[int], bytes]]:
        """Read the text from its beginning, decompressed by its suffix, some bytes at a time.

        Raises `BadData` where it cannot be decompressed.
        """
        if self._content is not None:
            yield BytesIO(self._content).read
            return
        if self._raw is None:
            # without a buffer, so that no part of the file is read ahead of a new beginning
            self._raw = open(self._place, "rb", buffering=0)  # noqa: SIM115  (kept)
        self._raw.seek(0)
        if not self._is_compressed:
            yield self._raw.read
            return
        import pyarrow as pa

        codec = COMPRESSED[self._place.suffix.lower()]
        # a second descriptor, as pyarrow closes the one it is given
        with (
            open(os.dup(self._raw.fileno()), "rb") as own,
            pa.CompressedInputStream(own, codec) as raw,
        ):

            def read(size: int) -> bytes:
                try:
                    data: bytes = raw.read(size)
                except OSError as error:
                    raise arrow.unreadable(str(self.path), "compressed", error) from None
                return data

            yield read

    @contextmanager
    def arriving(self, before_reading: Callable[[], None]) -> Iterator[Callable[[int], bytes]]:
        """Open a pipe: the bytes that have arrived, perhaps after a wait."""

        def read(size: int) -> bytes:
            before_reading()
            if raw is None:  # not a real file, as in a notebook
                return sys.stdin.readline().encode("utf-8", "surrogatepass")
            # what has arrived: `read` would wait until there is as much
            data: bytes = raw.read1(min(size, CHUNK))
            return data

        with nullcontext() if str(self.path) == "-" else open(self.path, "rb") as file:
            raw = getattr(sys.stdin, "buffer", None) if file is None else file
            _widen(raw)
            yield read


def _widen(pipe: Any) -> None:
    """Let a pipe hold `CHUNK` bytes, where that is possible: not on macOS, not beyond a quota."""
    with suppress(ImportError, AttributeError, OSError, ValueError):
        import fcntl

        fcntl.fcntl(pipe.fileno(), fcntl.F_SETPIPE_SZ, CHUNK)


@dataclass
class _FirstPass:
    """The texts of a source, read once to settle the types of their columns."""

    key: object
    types: ColumnTypes
    kept: list[Part] | None = field(default_factory=list)
    """The events; None for texts too long to be kept."""
    bad_rows: list[tuple[str, BadData]] = field(default_factory=list)
    """The rows that cannot be read: a text may be read twice, and they are reported once."""
    error: BadData | None = None


class Source:
    """The files that a user names, or a pipe."""

    def __init__(
        self,
        named: Named,
        format: str | None = None,
        contents: Mapping[str, bytes] | None = None,
    ) -> None:
        """`contents` are those of names that are no files."""
        held = contents or {}
        self.files = [
            File(path, format, held.get(str(path)), keys) for path, keys in files_of(named)
        ]
        self._first_pass: _FirstPass | None = None
        self._header: dict[str, None] = {}

    @property
    def is_pipe(self) -> bool:
        """Whether the source is a pipe alone, whose events come one by one."""
        return len(self.files) == 1 and self.files[0].is_pipe

    @cached_property
    def holds_columns(self) -> bool:
        """Whether all files hold columns; raises `BadData` for a file that is not there."""
        holding = [not file.is_pipe and file.holds_columns for file in self.files]
        return all(holding)

    def check_columns(self) -> None:
        """Raise `BadData` for a column whose types in two files have no values in common."""
        seen: dict[str, tuple[str, str]] = {}
        for file in self.files if len(self.files) > 1 else ():
            for column in file.columns.fields:
                if (kind := arrow.kind_of(column.type)) is None:
                    continue
                before, where = seen.setdefault(column.name, (kind, file.name))
                if kind != before:
                    raise BadData(
                        "CER0784",
                        f"the column holds {kind}, and {before} in {where}",
                        place=DataPlace(file.name, None, column.name),
                        hint="write the column with one type in all files",
                    )

    @property
    def length(self) -> int | None:
        """The number of events that the files state; None for text, which would have to be read.

        Raises `BadData` for a file that is not there or empty, or whose metadata cannot be read.
        """
        return sum(file.length or 0 for file in self.files) if self.holds_columns else None

    @property
    def estimated_length(self) -> int:
        """About how many events there are, by the first lines of texts; raises as `length`."""
        return sum(file.estimated_length for file in self.files)

    @property
    def has_whole_columns(self) -> bool:
        """Whether all batches have the same columns, each of one type.

        So it is in one file of Parquet, Arrow or CSV, whose header names them; raises as `length`.
        """
        return len(self.files) == 1 and (
            self.files[0].holds_columns or self.files[0].format == "csv"
        )

    @property
    def column_names(self) -> list[str]:
        """The names of all columns of files that hold columns."""
        return list(
            dict.fromkeys(name for f in self.files for name in (*f.columns.fields.names, *f.keys))
        )

    def time_axis(self, options: FileOptions) -> TimeAxis | None:
        """Return the axis of the only attribute that holds moments, None for none or several.

        As the schema declares it, else by the columns of the files; NDJSON has no moments.
        """
        if options.schema is not None or any(file.is_pipe for file in self.files):
            return time_of_schema(as_schema(options.schema))
        if self.holds_columns:
            fields = (field for file in self.files for field in file.columns.fields)
            moments = {field.name for field in fields if is_moment(field.type)}
            moments |= {n for n, values in self._keys.items() if is_moment(values.type)}
            return _only(moments)
        if not any(file.holds_cells for file in self.files):
            return None
        kinds = self._settled(options, iter, KEPT).types.kinds
        return _only({name for name, kind in kinds.items() if is_moment(kind)})

    def parts(
        self, options: FileOptions, *, watch: Watch = iter, keep: float = math.inf
    ) -> Iterator[Part]:
        """Yield the events in parts; an error comes after the events before it.

        `watch` sees parts pass while they are read; texts of more than `keep` bytes are read twice.
        Raises `BadData` with file, row and column, and `ResourceLimit`.
        """
        for file in self.files:
            if file.is_pipe:
                file.gather()
        if self.holds_columns:
            self.check_columns()
        with open_quarantine(options.quarantine, self.paths) as on_bad_row:
            if options.schema is not None or not any(file.holds_cells for file in self.files):
                from cerlab.io.column_types import ColumnTypes

                yield from watch(self._parts(options, ColumnTypes(), on_bad_row))
                return
            first, self._first_pass = self._settled(options, watch, keep), None
            types = first.types
            if first.kept is None or types.read_again:
                first.kept = None
                types.begin_again()
                yield from self._parts(options, types, on_bad_row)
                types.warn()
                return
            types.settle()
            for bad in first.bad_rows:
                assert on_bad_row is not None
                on_bad_row(*bad)
            for part in first.kept:
                yield _widened(part, types)
            types.warn()
            if first.error is not None:
                raise first.error

    @cached_property
    def _keys(self) -> dict[str, Any]:
        """The values of each key in all files, which has one type as a column of text does."""
        if not any(file.keys for file in self.files):
            return {}
        from cerlab.io.column_types import typed_keys

        return typed_keys([file.keys for file in self.files])

    def reading(
        self, file: File, options: FileOptions, on_bad_row: OnBadRow | None = None
    ) -> Reading:
        """Return the options of readers for a file, with the keys of its folders.

        Under a schema a key is text where its attribute is written so.
        """
        reading = options.reading(file.name, on_bad_row)
        if not file.keys:
            return reading
        declared = {} if reading.schema is None else declared_types(reading.schema) or {}
        texts = {"type", "stream", *(n for n, kind in declared.items() if kind in AS_WRITTEN)}
        if isinstance(options.type, TypeColumn):
            texts.add(options.type)
        at = self.files.index(file)
        keys = {
            name: Key(text, text if name in texts else values_of(self._keys[name], name)[at])
            for name, text in file.keys.items()
        }
        return replace(reading, keys=keys)

    @property
    def paths(self) -> list[AnyPath]:
        """The paths of the files."""
        return [file.path for file in self.files]

    def _settled(self, options: FileOptions, watch: Watch, keep: float) -> _FirstPass:
        """Return the first pass over the texts, perhaps one that was made for their time."""
        from cerlab.io.column_types import ColumnTypes

        key = options.type, type(options.type), options.quarantine is None
        if self._first_pass is not None and self._first_pass.key == key:
            return self._first_pass
        first = self._first_pass = _FirstPass(key, ColumnTypes())
        if sum(file.size for file in self.files) > keep:
            first.kept = None

        def aside(row: str, error: BadData) -> None:
            first.bad_rows.append((row, error))

        on_bad_row = None if options.quarantine is None else aside
        try:
            for part in watch(self._parts(options, first.types, on_bad_row)):
                if first.kept is not None:
                    first.kept.append(part)
        except BadData as caught:
            first.error = caught
        return first

    def _parts(
        self, options: FileOptions, types: ColumnTypes, on_bad_row: OnBadRow | None
    ) -> Iterator[Part]:
        """Yield the events of the files in parts."""
        for file in self.files:
            reading = self.reading(file, options, on_bad_row)
            if file.holds_columns:
                yield from _table_parts(file, reading)
                continue
            with file.text() as read:
                yield from text_parts(Blocks(read), file.stated_format, reading, types)
            self._header.update(types.header)

    def tables(self) -> list[Any]:
        """Return the rows of files that hold columns as Arrow tables, with the keys of folders."""
        self.check_columns()
        options = FileOptions(type=_NO_TYPE)
        return [
            with_keys(file.columns.table(coded=False), self.reading(file, options).keys)
            for file in self.files
        ]

    def rows(self) -> tuple[dict[str, Column], int]:
        """Return the columns of texts whose rows need no event type, and the number of rows.

        Columns stand as in the headers of CSV, elsewhere as rows first name them, after the type
        and the stream. Raises as `parts`.
        """
        parts = [*self.parts(FileOptions(type=_NO_TYPE))]
        for event in (event for part in parts if isinstance(part, list) for event in part):
            if own := {"type", "stream"}.intersection(event.attributes):
                raise twice(own.pop(), DataPlace(self.files[0].name))
        found = [*self._header] or ["type", "stream"]
        found += [name for part in parts for name in column_names(part)]
        columns = {
            name: concat_columns([column_of(part, name) for part in parts])
            for name in dict.fromkeys(found)
        }
        if not any(file.holds_cells for file in self.files):
            columns = {name: _without_codes(column) for name, column in columns.items()}
        for name in ("type", "stream"):
            if name in columns and (texts := _row_texts(columns[name])) is not None:
                columns[name] = texts
            elif name not in self._header:
                columns.pop(name, None)
        return columns, sum(map(length, parts))


_NO_TYPE = "\0"
"""The type of rows without one: no text that is read holds a NUL."""


def _without_codes(column: Column) -> Column:
    """Return a column with its texts as they are."""
    from pyarrow import types

    return decoded(column) if is_arrow(column) and types.is_dictionary(column.type) else column


def _row_texts(column: Any) -> Any:
    """Return the types or streams of rows as values of the type that fits; None without any."""
    from pyarrow import types

    from cerlab.io.column_types import text_array, typed_rows

    if types.is_null(column.type):
        return None
    coded = encode_text(column)
    words = [None if word == _NO_TYPE else word for word in coded.dictionary.to_pylist()]
    return encode_text(typed_rows(text_array(words)).take(coded.indices)) if any(words) else None


def as_source(sources: Source | Named, format: str | None = None) -> Source:
    """Return the source that names of files stand for."""
    return sources if isinstance(sources, Source) else Source(sources, format)


def text_events(text: str, format: str) -> list[Event]:
    """Return the events of a text of a format.

    >>> [event.attributes["v"] for event in text_events("A(v=1)\\nB(v=2)", "core")]
    [1, 2]
    """
    source = Source("the text", format, {"the text": text.encode()})
    return [event for part in source.parts(FileOptions()) for event in events_of(part)]


def _widened(part: Part, types: ColumnTypes) -> Part:
    if isinstance(part, list):
        return [replace(e, attributes=types.widened_values(e.attributes)) for e in part]
    return Rows(types.widened(part.columns), part.count, part.names, part.shape)


def format_of_text(data: bytes) -> str:
    """Return the format of a text by its first bytes."""
    lines = data.decode("utf-8", "replace").splitlines()
    return looks_like(telling_line(lines) or next(filter(str.strip, lines), ""))


def _table_parts(file: File, reading: Reading) -> Iterator[Part]:
    """Yield the rows of a file of columns: by columns where all can be, else row by row."""
    table = with_keys(file.columns.table(), reading.keys)
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
    file: File,
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
        open_quarantine(options.quarantine, [file.path]) as on_bad_row,
        file.arriving(before_reading or (lambda: None)) as read,
    ):
        reading = options.reading(file.name, on_bad_row)
        for part in text_parts(Blocks(read), file.stated_format, reading, types):
            types.settle()
            yield _widened(part, types)
        types.warn()


def short_streams(
    kind: type[S],
    sources: Source | Named,
    *,
    size: int = SIZE,
    attributes: Collection[str] | None = None,
    before_reading: Callable[[], None] | None = None,
    **how: Unpack[HowToReadFile],
) -> Iterator[S]:
    """Yield the events of files (or ``-``) as streams of a `kind`, as `cerlab.io.batches`."""
    options = FileOptions(**how)
    axis, schema = options.axis, as_schema(options.schema)
    source = as_source(sources, options.format)
    if source.is_pipe:
        for part in in_sizes(arriving_parts(source.files[0], options, before_reading), size):
            some = [*part.events()] if isinstance(part, Rows) and part.count <= FEW else part
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
    reading: Reading,
    axis: TimeAxis | None,
    size: int,
    names: Collection[str] | None,
) -> Iterator[S]:
    """Yield batches of a file of columns: by columns where that is safe, else row by row."""
    before = 0
    # is there a type?
    next(arrow.table_events(with_keys(arrow.no_rows(file.fields), reading.keys), reading), None)
    to_read = None if names is None else arrow.columns_to_read(file.fields, names)
    for batch in file.batches(size, to_read or None):
        poll()
        table = with_keys(arrow.as_table(batch, reading.file), reading.keys)

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
    """Return the events of a text so short that loading Arrow takes longer; None for others.

    None, too, for one that cannot be read, of which the readers of files say what is wrong, and for
    one with dates or large numbers.
    """
    if file.keys or file.size > _SHORT or "pyarrow" in sys.modules or file.holds_columns:
        return None
    with file.text() as read:
        data = read(_SHORT)
    try:
        events = plain_events(data, file.format, options.reading(file.name, None))
    except (BadData, UsageError):
        return None
    # of moments Arrow keeps the zone, of other dates and large numbers it may warn
    odd = any(_is_odd(value) for event in events for value in event.attributes.values())
    return None if odd or not events else events


def _is_odd(value: Value) -> bool:
    if isinstance(value, str):
        return value[:4].strip().isdecimal()
    return type(value) is Timestamp or (type(value) is float and abs(value) >= 2**53)


def time_of_schema(schema: Schema | None) -> TimeAxis | None:
    """Return the axis of the only attribute that a schema declares to hold moments, or None."""
    if schema is None:
        return None
    return _only({a.name for a in schema.attributes() if a.type is AttributeType.TIMESTAMP})


def _only(names: set[str]) -> TimeAxis | None:
    attributes = names - {"type", "stream"}
    return TimeAxis(attributes.pop()) if len(attributes) == 1 else None
