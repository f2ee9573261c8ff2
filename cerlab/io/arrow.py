"""Arrow tables, data frames, Parquet and Arrow IPC files: columns to events."""

from __future__ import annotations

import json
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from functools import partial
from threading import Lock
from typing import Any

from cerlab.budget import poll
from cerlab.errors import BadData, DataPlace, by_door
from cerlab.io.conversion import (
    RowReading,
    conform_event,
    duplicate_column,
    no_type,
    no_type_column,
    warn_of_column,
)
from cerlab.io.nested import Nested, NestedColumns, RowPaths, engine_column, event_values
from cerlab.model.columns import (
    Columns,
    PartsOf,
    as_arrow,
    constant_text,
    encode_text,
    is_moment,
    is_text,
    slice_rows,
    without_views,
)
from cerlab.model.event import Event, PartlyReadable, TypeColumn, Value, no_value, type_of_all
from cerlab.model.paths import column_of_path, field_column, fields_of, has_field
from cerlab.model.stream import Between
from cerlab.threads import in_threads

_ROWS = 1 << 16
"""Number of rows that are read together."""


def table_events(table: Any, reading: RowReading, *, before: int = 0) -> Iterator[Event]:
    """Yield the rows of a pyarrow Table as events; errors count rows from `before` + 1.

    Raises `BadData` for a missing type column, two columns with one name, and columns of nested
    types; also for rows without a type, or against the schema, unless `on_bad_row` accepts them.
    """
    from pyarrow import types

    type_name = reading.type_name
    names = names_of(table, type_name, reading.file)
    if len(set(names)) < len(names):
        raise duplicate_column(names, reading.file, None, type_name)
    if "type" not in names and type_name is None:
        raise no_type(names, reading.place())
    row = before
    for batch in table.to_batches(max_chunksize=_ROWS):
        columns, errors = {}, {}
        kinds = zip(names, batch.columns, strict=True)
        nested = NestedColumns({n: Nested(c) for n, c in kinds if types.is_nested(c.type)})
        for k, name in enumerate(names):
            try:
                columns[name] = event_values(batch.column(k), reading.place(None, name))
            except BadData as error:
                # unreadable columns are allowed as long as no query reads them
                if reading.schema is not None or name in ("type", "stream"):
                    raise
                errors[name] = error
        kind_of_all = [type_of_all(type_name)] * batch.num_rows
        event_types = columns.pop("type", None) or kind_of_all
        streams = columns.pop("stream", None) or [None] * batch.num_rows
        rows = zip(*columns.values(), strict=True) if columns else [()] * batch.num_rows
        in_order, first = [name for name in names if name not in ("type", "stream")], row + 1
        for n, (event_type, stream, values) in enumerate(
            zip(event_types, streams, rows, strict=True)
        ):
            row += 1
            readable = dict(zip(columns, values, strict=True))
            attributes: Mapping[str, Value] = readable
            if errors:
                attributes = PartlyReadable(in_order, readable, errors, RowPaths(nested, n))
            try:
                event = _event(event_type, stream, attributes, reading, row)
                yield conform_event(event, reading, row)
            except BadData as error:
                reading.reject(_row_text(batch, row - first), error)


def events_between(table: Any, reading: RowReading, *, before: int = 0) -> Between:
    """Return a function of two row numbers that yields the events between them."""
    return lambda start, stop: table_events(
        table.slice(start, stop - start), reading, before=before + start
    )


def _row_text(batch: Any, row: int) -> str:
    """Return a row as JSON, or in Python's notation if JSON has none."""
    values = {f.name: batch.column(k)[row].as_py() for k, f in enumerate(batch.schema)}
    return json.dumps(values, ensure_ascii=False, default=str)


def names_of(table: Any, type_name: str | None, file: str) -> list[str]:
    """Return the column names, with the column of event types as ``type``; raises `BadData`."""
    names: list[str] = table.column_names
    if not isinstance(type_name, TypeColumn):
        warn_of_column(type_name, names)
        return names
    if type_name not in names:
        raise no_type_column(type_name, names, DataPlace(file))
    return type_name.renamed(names)


def _event(
    event_type: Value, stream: Value, attributes: Mapping[str, Value], reading: RowReading, row: int
) -> Event:
    if not isinstance(event_type, str) or not event_type:
        raise BadData(
            "CER0701",
            f"expected a text as event type, got {event_type!r}",
            place=reading.place(row, "type"),
            hint=by_door(
                "every row needs one; quarantine= skips such rows",
                "every row needs one; --quarantine FILE skips such rows",
            ),
        )
    if stream is not None and not isinstance(stream, str):
        raise BadData(
            "CER0702",
            f"expected a text as stream, got {stream!r}",
            place=reading.place(row, "stream"),
            hint="rename the column if it is an attribute",
        )
    return Event(event_type, attributes, stream)


def plain_columns(table: Any, reading: RowReading) -> Columns | None:
    """Return the columns of a table, each built on first use; None if rows must be read one by one.

    None if some event has no type. Raises `BadData` on use of a column whose values are not values
    of events.
    """
    import pyarrow as pa

    type_name, names = reading.type_name, names_of(table, reading.type_name, "the table")
    if len(set(names)) < len(names):
        return None
    places = {name: n for n, name in enumerate(names)}
    kinds = {name: table.schema.field(n).type for name, n in places.items()}
    if not is_text(kinds.get("type", pa.null() if type_name is None else pa.string())):
        return None
    of_streams = kinds.get("stream", pa.null())
    if not (is_text(of_streams) or pa.types.is_null(of_streams)):
        return None
    columns = Columns(
        dict.fromkeys([*names, "type"]),
        partial(_plain_column, table, places, reading),
        _renamed_schema(table, names),
        has_path=partial(_has_path, kinds),
    )
    if "type" in places and isinstance(table, FileTable) and table.has_texts(places["type"]):
        return columns
    types = _types(table, places, reading)
    if not _are_types(types):
        return None
    columns.keep("type", types)
    return columns


def _plain_column(
    table: Any, places: Mapping[str, int], reading: RowReading, name: str, *, before: int = 0
) -> Any:
    """Return one column of a table whose first row is number `before` + 1; raises `BadData`."""
    if name in places and name != "type":
        return engine_column(table.column(places[name]), reading.place(None, name))
    if name != "type":
        fields = fields_of(name)
        assert fields is not None
        column = field_column(table.column(places[fields[0]]), fields, name)
        return engine_column(column, reading.place(None, name))
    column = _types(table, places, reading)
    if not _are_types(column):
        for row, text in enumerate(column.to_pylist(), before + 1):
            _event(text, None, {}, reading, row)
    return column


def _has_path(kinds: Mapping[str, Any], name: str) -> bool:
    """Return whether a name is a path into a nested column, judged by the column types."""
    fields = fields_of(name)
    return fields is not None and fields[0] in kinds and has_field(kinds[fields[0]], fields, name)


def _types(table: Any, places: Mapping[str, int], reading: RowReading) -> Any:
    """Return the event types of the rows of a table, dictionary-encoded."""
    if "type" not in places:
        return constant_text(str(reading.type_name), table.num_rows)
    return encode_text(without_views(table.column(places["type"])))


def _are_types(column: Any) -> bool:
    """Return whether each value of a dictionary-encoded column is a valid event type."""
    return not (column.null_count or _has_text(column, ""))


def parts_of(table: Any, columns: Columns, reading: RowReading) -> PartsOf | None:
    """Return a reader of a table in parts, for columns that are built on first use.

    `columns` are those of `plain_columns`; columns that exist already are reused.
    """
    if not isinstance(table, FileTable):
        return None
    names = names_of(table, reading.type_name, "the table")
    places = {name: n for n, name in enumerate(names)}

    def parts(size: int) -> Iterator[tuple[Columns, int]]:
        start = 0
        for part in table.parts(size):
            yield _part(part, start), part.num_rows
            start += part.num_rows

    def _part(part: FileTable, start: int) -> Columns:
        def column(name: str) -> Any:
            if name in columns.made:
                return slice_rows(columns[name], start, part.num_rows)
            return _plain_column(part, places, reading, name, before=start)

        return Columns(columns, lambda name: as_arrow(column(name)), columns.source, column)

    return parts


def _renamed_schema(table: Any, names: Sequence[str]) -> Any:
    """Return the schema of a table with new column names, keeping the metadata of pandas."""
    import pyarrow as pa

    fields = [field.with_name(name) for field, name in zip(table.schema, names, strict=True)]
    return pa.schema(fields, table.schema.metadata)


def _has_text(column: Any, text: str) -> bool:
    """Return whether a dictionary-encoded column contains a text, or NULL in its dictionary."""
    if not {text, None} & set(column.dictionary.to_pylist()):
        return False
    return bool({text, None} & set(column.unique().to_pylist()))


_MAX_SCALE = {32: 9, 64: 18, 128: 38, 256: 76}
"""Largest scale of decimals by their bits; pyarrow converts no larger scale."""


def sound_table(table: Any, file: str) -> Any:
    """Return a table after checking that its offsets, codes and texts are in range.

    pyarrow trusts buffers: a wrong offset would crash the process or expose other memory. Raises
    `BadData` for an invalid table.
    """
    import pyarrow as pa

    name = None
    try:
        for n, column in enumerate(table.columns):
            name = table.schema.field(n).name
            column.validate(full=True)
            kind = getattr(column.type, "value_type", column.type)
            getattr(kind, "tz", None)  # may be invalid text
            if pa.types.is_decimal(kind) and abs(kind.scale) > _MAX_SCALE[kind.bit_width]:
                raise pa.ArrowInvalid(f"{kind} has an invalid scale")
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise BadData(
            "CER0747",
            f"a column is damaged: {error}",
            place=DataPlace(file, None, name),
            hint="write the file again, or create the table again",
        ) from None
    return table


def unreadable(file: str, kind: str, error: Exception) -> BadData:
    """Return the error for a file whose content does not fit its format."""
    return BadData(
        "CER0742",
        f"cannot be read as {kind}: {' '.join(str(error).split())}",
        place=DataPlace(file),
        hint="write or copy a damaged file again; for another format, use its suffix or format=",
    )


def as_table(frame: Any, file: str = "the table") -> Any | None:
    """Return a table, record batch or data frame as a pyarrow Table; None for any other value.

    Raises as `sound_table`.
    """
    table = _as_table(frame)
    return None if table is None else sound_table(table, file)


def _as_table(frame: Any) -> Any | None:
    module = type(frame).__module__.partition(".")[0]
    if module not in ("pyarrow", "polars", "pandas") and not hasattr(frame, "__arrow_c_stream__"):
        return None
    import pyarrow as pa

    if isinstance(frame, pa.Table):
        return frame
    if isinstance(frame, pa.RecordBatch):
        return pa.Table.from_batches([frame])
    try:
        if _is_frame(frame, "pandas"):
            return _of_pandas(frame)
        return _of_polars(frame) if _is_frame(frame, "polars") else pa.table(frame)
    # A lazy frame or a series is no table; mixed types or invalid Unicode are read row by row.
    except (TypeError, ValueError, OverflowError, pa.ArrowException):
        return None


def _is_frame(value: Any, library: str) -> bool:
    """Return whether a value is a data frame of a library, importing it only then."""
    return isinstance(value, getattr(sys.modules.get(library), "DataFrame", ()))


def _of_pandas(frame: Any) -> Any:
    import pyarrow as pa

    if not frame.columns.is_unique:
        raise duplicate_column([str(name) for name in frame.columns], "the table")
    kinds = list(frame.dtypes.items())
    for name, kind in kinds:
        if type(kind).__name__ == "PeriodDtype":  # pyarrow would return the number of each period
            raise no_value("Period", str(name))
    sparse = {name: kind.subtype for name, kind in kinds if type(kind).__name__ == "SparseDtype"}
    frame = frame.astype(sparse) if sparse else frame
    index = index_of_values(frame)
    if index is None:
        return pa.Table.from_pandas(frame, preserve_index=False)
    return pa.Table.from_pandas(frame.set_axis(index), preserve_index=True)


def _of_polars(frame: Any) -> Any:
    """Return a polars frame as a pyarrow Table; integers of 128 bits become decimals."""
    import pyarrow as pa

    if any("\0" in name for name in frame.columns):
        raise BadData(
            "CER0746",
            "the name of a column contains a NUL byte",
            place=DataPlace("the table"),
            hint="rename the column, which polars cannot export",
        )
    wide = [name for name, kind in frame.schema.items() if str(kind) in ("Int128", "UInt128")]
    others = frame.drop(wide) if wide else frame
    # polars exports the stream interface from 1.3 on
    table = pa.table(others) if hasattr(frame, "__arrow_c_stream__") else others.to_arrow()
    if not wide:
        return table
    return pa.table(
        {name: _decimals(frame[name]) if name in wide else table[name] for name in frame.columns}
    )


def _decimals(integers: Iterable[int | None]) -> Any:
    import pyarrow as pa

    values = [None if value is None else Decimal(value) for value in integers]
    return pa.array(values, pa.decimal256(39))


def rows_of_frame(frame: Any) -> list[dict[str, Any]] | None:
    """Return the rows of a pandas or polars data frame as dicts; None for any other value."""
    if _is_frame(frame, "polars"):
        rows: list[dict[str, Any]] = frame.to_dicts()
        return rows
    if not (hasattr(frame, "to_dict") and hasattr(frame, "columns")):
        return None
    index = index_of_values(frame)
    frame = frame if index is None else frame.set_axis(index).reset_index()
    return [*frame.rename(columns=str).to_dict(orient="records")]


def index_of_values(frame: Any) -> Any | None:
    """Return the index of a pandas data frame if it has a name or contains times, otherwise None.

    Other indexes only number the rows, or repeat a column.
    """
    index = frame.index
    if hasattr(index, "tz") and index.name is None:
        index = index.rename("index")  # pandas names the column of an unnamed index "index"
    names = set(index.names)
    return None if None in names or not names.isdisjoint(frame.columns) else index


def kind_of(arrow_type: Any) -> str | None:
    """Return the kind of a column's values, in words.

    None for NULL, which belongs to every type.
    """
    from pyarrow import types

    if types.is_dictionary(arrow_type):
        return kind_of(arrow_type.value_type)
    if types.is_null(arrow_type):
        return None
    if (
        types.is_integer(arrow_type)
        or types.is_floating(arrow_type)
        or types.is_decimal(arrow_type)
    ):
        return "numbers"
    for what, holds in {"text": is_text, "moments": is_moment, "truths": types.is_boolean}.items():
        if holds(arrow_type):
            return what
    return str(arrow_type)


def no_rows(fields: Any) -> Any:
    """Return an empty table with the columns of this one.

    Pyarrow's `empty_table` loads pandas.
    """
    import pyarrow as pa

    return pa.Table.from_batches([], schema=fields)


def repeated(value: Any, count: int) -> Any:
    """Return an array with the value of an Arrow scalar `count` times."""
    import pyarrow as pa

    return value.take(pa.repeat(0, count))


def columns_to_read(fields: Any, names: Collection[str]) -> list[str] | None:
    """Return the columns among `names` that a file has, including columns of paths.

    None if two columns have the same name.
    """
    if len(set(fields.names)) < len(fields):
        return None
    read = {*names, *map(column_of_path, names)}
    return [field.name for field in fields if field.name in read]


def _stamp(path: str) -> tuple[int, int, int] | None:
    """Return the number, size and last change of a file, to detect changes; None without a file."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


_LOOKS = 16
"""The number of columns of a file to read one by one before reading all others: one costs 5 ms in a
file of 1,000 columns, all of them 100 ms (2026-11-28)."""

SHORT_FILE = 1 << 15
"""The most rows of one of several files that is read whole: then 1,000 files of 1,000 rows take the
time of one file with all rows (2026-11-29)."""


class FileTable:
    """The rows of a file, or of a part of it, with the interface of a pyarrow Table.

    Each column is read on first use. Threads may share it.
    """

    def __init__(self, file: ColumnFile, *, coded: bool, part: Any = None) -> None:
        """Wrap a file; `coded` text is dictionary-encoded, as in `ColumnFile.table`.

        `part` is one of `ColumnFile.parts`.
        """
        self._file, self._coded, self._part = file, coded, part
        self.schema = file.schema if coded else file._schema
        self.column_names: list[str] = self.schema.names
        self._columns: dict[str, Any] = {}
        self._constants: dict[str, Any] = {}
        self._looks = 0
        self._lock = Lock()
        self._whole: Any = None

    @property
    def num_rows(self) -> int:
        """The number of rows."""
        return self._file.length if self._part is None else self._file.rows_of(self._part)

    def parts(self, size: int) -> Iterator[FileTable]:
        """Yield tables of consecutive rows, each of at least `size` rows if the file has that many.

        Columns that were already read are shared; a part reads the others itself.
        """
        start = 0
        for part in self._file.parts(size):
            table = FileTable(self._file, coded=self._coded, part=part)
            table.schema, table.column_names = self.schema, self.column_names
            table._constants = self._constants
            rows = table.num_rows
            with self._lock:
                read = self._columns.items()
                table._columns = {name: column.slice(start, rows) for name, column in read}
            start += rows
            yield table

    def has_texts(self, column: int) -> bool:
        """Return whether the file states that every value of a column is a non-empty text."""
        name = self.column_names[column]
        own = {*self._columns, *self._constants}
        return name not in own and self._file.has_texts(name)

    def append_column(self, field: Any, column: Any) -> FileTable:
        """Return the rows with one more column, for a field or a name."""
        import pyarrow as pa

        field = pa.field(field, column.type) if isinstance(field, str) else field
        more = self._with_field(field)
        more._columns[field.name] = column
        return more

    def append_constant(self, name: str, value: Any) -> FileTable:
        """Return the rows with one more column: an Arrow array of one value, repeated in each row.

        The column is built on first use, for a part only in that part.
        """
        import pyarrow as pa

        more = self._with_field(pa.field(name, value.type))
        more._constants[name] = value
        return more

    def _with_field(self, field: Any) -> FileTable:
        more = FileTable(self._file, coded=self._coded)
        more.schema = self.schema.append(field)
        more.column_names = [*self.column_names, field.name]
        more._columns, more._constants = {**self._columns}, {**self._constants}
        return more

    def column(self, column: int | str) -> Any:
        """Return the column with this number or name.

        The table must not have two columns of that name.

        Raises `BadData` for a column that cannot be read.
        """
        name = column if isinstance(column, str) else self.column_names[column]
        with self._lock:
            self._looks += name not in self._columns
            alone = self._file.reads_by_column and self._looks <= _LOOKS
            self._load([name] if alone else self.column_names)
            return self._columns[name]

    def _load(self, names: Sequence[str]) -> None:
        """Read the named columns that were not read yet."""
        import pyarrow as pa

        for name in self._constants.keys() & {*names} - self._columns.keys():
            self._columns[name] = repeated(self._constants[name], self.num_rows)
        if not (missing := [name for name in names if name not in self._columns]):
            return
        self._file.check_unchanged()
        table = self._file.table(missing, coded=self._coded, part=self._part)
        self._file.check_unchanged()
        if table.num_rows != self.num_rows:
            error = pa.ArrowInvalid(f"it has {table.num_rows:,} of {self.num_rows:,} rows")
            raise unreadable(self._file.file, self._file.format, error)
        self._columns |= dict(zip(table.column_names, table.columns, strict=True))

    def whole(self) -> Any:
        """Return all rows as a pyarrow Table; raises as `column`."""
        import pyarrow as pa

        names = self.column_names
        with self._lock:
            if self._whole is None:
                if len(set(names)) == len(names):
                    self._load(names)
                    columns = [self._columns[name] for name in names]
                else:
                    self._load([*self._constants])
                    self._file.check_unchanged()
                    columns = self._file.table(coded=self._coded, part=self._part).columns
                    columns += [self._columns[name] for name in names[len(columns) :]]
                whole = pa.Table.from_arrays(columns, names)
                self._whole = whole.replace_schema_metadata(self.schema.metadata)
            return self._whole

    def slice(self, start: int, length: int) -> Any:
        """Return some rows as a pyarrow Table; raises as `column`."""
        return self.whole().slice(start, length)

    def to_batches(self, max_chunksize: int) -> Any:
        """Return the rows as record batches; raises as `column`."""
        return self.whole().to_batches(max_chunksize)


class ColumnFile(ABC):
    """A file of columns that is opened once; raises `BadData` for unreadable contents.

    `open_raw` opens the file by pyarrow, `file` is its name in errors.
    """

    format: str

    def __init__(self, open_raw: Callable[[Any], Any], file: str) -> None:
        import pyarrow as pa

        self.file = file
        with self._reading():
            self._raw = open_raw(pa)
            self._schema = self._open()
            self._stamp = _stamp(file)
            # names are texts
            self.fields = pa.schema([(field.name, field.type) for field in self._schema])

    @abstractmethod
    def _open(self) -> Any:
        """Open the file and return its schema."""

    @property
    @abstractmethod
    def length(self) -> int:
        """The number of rows."""

    @abstractmethod
    def _batches(
        self,
        size: int,
        names: Sequence[str] | None,
        texts: Sequence[str] | None,
        part: Any = None,
    ) -> Iterator[Any]:
        """Yield the rows of the file, or of one part, as record batches.

        Columns `texts` may be dictionary-encoded.
        """

    def _shares(self, part: Any) -> Sequence[Any]:
        """Return the pieces of a part that threads read in parallel."""
        return [part]

    def parts(self, size: int) -> Sequence[Any]:
        """Return parts of consecutive rows, each of at least `size` if the file has that many.

        None is the whole file.
        """
        return [None]

    def rows_of(self, part: Any) -> int:
        """Return the number of rows in a part."""
        return self.length

    def batches(self, size: int, names: Sequence[str] | None = None) -> Iterator[Any]:
        """Yield the rows as record batches of at most `size`, or only some columns.

        Parquet is read by pages; for Arrow IPC, one batch of the file is in memory at a time.
        """
        texts = None if names is None else self._texts
        with self._reading():
            for batch in self._batches(size, names, texts):
                for start in range(0, batch.num_rows, size):
                    yield batch.slice(start, size)

    def table(
        self, names: Sequence[str] | None = None, *, coded: bool = True, part: Any = None
    ) -> Any:
        """Return all rows, a part, or some columns as a table; `coded` Parquet text stays encoded.

        Text with few repetitions is not encoded here, but by its user if needed. Raises
        `ResourceLimit`.
        """
        import pyarrow as pa

        def read(part: Any) -> list[Any]:
            batches = []
            for batch in self._batches(_ROWS, names, texts, part):
                poll(batch.get_total_buffer_size())  # `nbytes` leaves out views before pyarrow 26
                batches.append(batch)
            return batches

        with self._reading():
            texts = [
                name
                for name in (self._texts if coded else ())
                if (names is None or name in names) and not self._differs(name)
            ]
            batches = [batch for of in in_threads(read, self._shares(part)) for batch in of]
            table = pa.Table.from_batches(batches, None if batches else self._schema)
            # Parquet reads the column `a.b` whenever it reads `a`
            table = table if names is None else table.select(names)
            return sound_table(table, self.file)

    def rows(self, *, coded: bool = True) -> FileTable:
        """Return the rows of the file as a `FileTable`, whose columns are read on first use."""
        return FileTable(self, coded=coded)

    @property
    def schema(self) -> Any:
        """The schema of the file's columns, with the types that events have."""
        return self._schema

    @property
    def reads_by_column(self) -> bool:
        """True if one column can be read without the others."""
        return True

    def has_texts(self, name: str) -> bool:
        """Return whether the file states that every value of a column is a non-empty text."""
        return False

    def check_unchanged(self) -> None:
        """Raise `BadData` if the file was changed after it was opened.

        A file that was replaced or deleted stays readable, because it is open.
        """
        now = _stamp(self.file)
        if self._stamp is None or now is None or now[0] != self._stamp[0] or now == self._stamp:
            return
        raise BadData(
            "CER0742",
            "the file was changed while it was read",
            place=DataPlace(self.file),
            hint="run the query again, or read the whole file with cerlab.Stream.read",
        )

    def _differs(self, name: str) -> bool:
        """Return whether most values of a column differ, so that encoding them is wasteful."""
        return False

    @property
    def _texts(self) -> list[str]:
        return [field.name for field in self._schema if is_text(field.type)]

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Turn pyarrow's error about an unreadable file into `BadData` with the file."""
        import pyarrow as pa

        try:
            yield
        except (pa.ArrowException, OSError, ValueError, OverflowError, RecursionError) as error:
            raise unreadable(self.file, self.format, error) from None
