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
"""Rows that are read at once."""


def table_events(table: Any, reading: RowReading, *, before: int = 0) -> Iterator[Event]:
    """The rows of a pyarrow Table as events; rows count from 1, after `before` others.

    Raises `BadData` for a missing type column, two columns of a name, and columns of nested types;
    for rows without a type, or not as the schema says, where `on_bad_row` does not take them.
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
                # other columns may hold no values of events, as long as nobody reads them
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
    """Return a function that makes events of the rows between two places, as `table_events`."""
    return lambda start, stop: table_events(
        table.slice(start, stop - start), reading, before=before + start
    )


def _row_text(batch: Any, row: int) -> str:
    """Return a row as JSON, in the words of Python where JSON has none."""
    values = {f.name: batch.column(k)[row].as_py() for k, f in enumerate(batch.schema)}
    return json.dumps(values, ensure_ascii=False, default=str)


def names_of(table: Any, type_name: str | None, file: str) -> list[str]:
    """The names of the columns, that of event types as ``type``; raises `BadData` without it."""
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
            f"an event type is a text, not {event_type!r}",
            place=reading.place(row, "type"),
            hint=by_door(
                "every row needs one; quarantine= goes on without",
                "every row needs one; --quarantine FILE goes on without",
            ),
        )
    if stream is not None and not isinstance(stream, str):
        raise BadData(
            "CER0702",
            f"a stream is a text, not {stream!r}",
            place=reading.place(row, "stream"),
            hint="rename the column if it is an attribute",
        )
    return Event(event_type, attributes, stream)


def plain_columns(table: Any, reading: RowReading) -> Columns | None:
    """Return the columns of a table, each made at its first use; None for rows read one by one.

    The latter where some event has no type. Raises `BadData` at the use of a column that holds no
    values of events.
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
    """Return a column of the rows of a table, after `before` others; raises `BadData`."""
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
    """Return whether a name is a path in a column, by the types of the columns."""
    fields = fields_of(name)
    return fields is not None and fields[0] in kinds and has_field(kinds[fields[0]], fields, name)


def _types(table: Any, places: Mapping[str, int], reading: RowReading) -> Any:
    """Return the types of the rows of a table, coded."""
    if "type" not in places:
        return constant_text(str(reading.type_name), table.num_rows)
    return encode_text(without_views(table.column(places["type"])))


def _are_types(column: Any) -> bool:
    """Return whether each value of a coded column is the type of an event."""
    return not (column.null_count or _has_text(column, ""))


def parts_of(table: Any, columns: Columns, reading: RowReading) -> PartsOf | None:
    """Return what reads a table by parts, where its columns are made at their first use.

    `columns` are those of `plain_columns`. What they have made already is not made again.
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
    """Return the schema of a table with other names, and what pandas keeps in it."""
    import pyarrow as pa

    fields = [field.with_name(name) for field, name in zip(table.schema, names, strict=True)]
    return pa.schema(fields, table.schema.metadata)


def _has_text(column: Any, text: str) -> bool:
    """Whether a coded column has a text, or perhaps NULL in its dictionary."""
    if not {text, None} & set(column.dictionary.to_pylist()):
        return False
    return bool({text, None} & set(column.unique().to_pylist()))


_MAX_SCALE = {32: 9, 64: 18, 128: 38, 256: 76}
"""Largest scale of decimals by their bits; pyarrow converts no others."""


def sound_table(table: Any, file: str) -> Any:
    """Return a table whose offsets, codes and texts are within what it holds.

    pyarrow reads buffers as they are: a wrong offset would end the process, or show other memory.
    Raises `BadData` for a table that is not sound.
    """
    import pyarrow as pa

    name = None
    try:
        for n, column in enumerate(table.columns):
            name = table.schema.field(n).name
            column.validate(full=True)
            kind = getattr(column.type, "value_type", column.type)
            getattr(kind, "tz", None)  # which may be no text
            if pa.types.is_decimal(kind) and abs(kind.scale) > _MAX_SCALE[kind.bit_width]:
                raise pa.ArrowInvalid(f"{kind} has a scale that no number has")
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise BadData(
            "CER0747",
            f"a column is not sound: {error}",
            place=DataPlace(file, None, name),
            hint="write the file again, or make the table anew",
        ) from None
    return table


def unreadable(file: str, kind: str, error: Exception) -> BadData:
    """Return the error that a file is not of its kind."""
    return BadData(
        "CER0742",
        f"this is no {kind} file: {' '.join(str(error).split())}",
        place=DataPlace(file),
        hint="write or copy a damaged file again; another format needs its own suffix, or format=",
    )


def as_table(frame: Any, file: str = "the table") -> Any | None:
    """A pyarrow Table of a Table, record batch, polars or pandas data frame; None of others.

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
    # A lazy frame, a series; mixed types, no Unicode: these are no table, or one row by row.
    except (TypeError, ValueError, OverflowError, pa.ArrowException):
        return None


def _is_frame(value: Any, library: str) -> bool:
    """Return whether a value is a data frame of a library, which is imported then."""
    return isinstance(value, getattr(sys.modules.get(library), "DataFrame", ()))


def _of_pandas(frame: Any) -> Any:
    import pyarrow as pa

    if not frame.columns.is_unique:
        raise duplicate_column([str(name) for name in frame.columns], "the table")
    kinds = list(frame.dtypes.items())
    for name, kind in kinds:
        if type(kind).__name__ == "PeriodDtype":  # pyarrow would give the number of each period
            raise no_value("Period", str(name))
    sparse = {name: kind.subtype for name, kind in kinds if type(kind).__name__ == "SparseDtype"}
    frame = frame.astype(sparse) if sparse else frame
    index = index_of_values(frame)
    if index is None:
        return pa.Table.from_pandas(frame, preserve_index=False)
    return pa.Table.from_pandas(frame.set_axis(index), preserve_index=True)


def _of_polars(frame: Any) -> Any:
    """Return a table; integers of 128 bits, which pyarrow does not have, are decimals."""
    import pyarrow as pa

    if any("\0" in name for name in frame.columns):
        raise BadData(
            "CER0746",
            "the name of a column holds a NUL byte",
            place=DataPlace("the table"),
            hint="rename it: polars cannot give such a column to others",
        )
    wide = [name for name, kind in frame.schema.items() if str(kind) in ("Int128", "UInt128")]
    others = frame.drop(wide) if wide else frame
    # polars has the stream from 1.3 on
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
    """Return the rows of a data frame of pandas or polars as dicts; None of another value."""
    if _is_frame(frame, "polars"):
        rows: list[dict[str, Any]] = frame.to_dicts()
        return rows
    if not (hasattr(frame, "to_dict") and hasattr(frame, "columns")):
        return None
    index = index_of_values(frame)
    frame = frame if index is None else frame.set_axis(index).reset_index()
    return [*frame.rename(columns=str).to_dict(orient="records")]


def index_of_values(frame: Any) -> Any | None:
    """Return the index of a pandas data frame if it has a name or holds times, else None.

    Others only number the rows, or are a column as well.
    """
    index = frame.index
    if hasattr(index, "tz") and index.name is None:
        index = index.rename("index")  # as pandas itself names the column
    names = set(index.names)
    return None if None in names or not names.isdisjoint(frame.columns) else index


def kind_of(arrow_type: Any) -> str | None:
    """Return what a column of a type holds, in words; None of NULL, which is of every type."""
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
    """The table without rows that has these columns; pyarrow's `empty_table` loads pandas."""
    import pyarrow as pa

    return pa.Table.from_batches([], schema=fields)


def repeated(value: Any, count: int) -> Any:
    """Return the value of an Arrow array `count` times."""
    import pyarrow as pa

    return value.take(pa.repeat(0, count))


def columns_to_read(fields: Any, names: Collection[str]) -> list[str] | None:
    """Return those of some `names` that a file has, columns of paths among them.

    None where two columns have one name.
    """
    if len(set(fields.names)) < len(fields):
        return None
    read = {*names, *map(column_of_path, names)}
    return [field.name for field in fields if field.name in read]


def _stamp(path: str) -> tuple[int, int, int] | None:
    """Return the number, size and last change of a file; None for a path without a file."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


_LOOKS = 16
"""So many columns of a file are read one by one, then all others: a look takes 5 ms of a file of
1,000 columns, to read all of them 100 ms (2026-11-28)."""

SHORT_FILE = 1 << 15
"""Rows of a file, one of several, that are read whole: a thousand files of 1,000 rows then take the
time of one file of all rows (2026-11-29)."""


class FileTable:
    """The rows of a file, or of a part of it, as a pyarrow Table has them.

    Each column is read at its first use. Threads may share it.
    """

    def __init__(self, file: ColumnFile, *, coded: bool, part: Any = None) -> None:
        """Text is `coded` as in `ColumnFile.table`; `part` is one of `ColumnFile.parts`."""
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
        """Yield tables of consecutive rows, of at least `size` rows where the file has so many.

        Columns that were read are shared. A part reads the others for itself.
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
        """Return whether the file says that each value of a column is a text, and none is empty."""
        name = self.column_names[column]
        own = {*self._columns, *self._constants}
        return name not in own and self._file.has_texts(name)

    def append_column(self, field: Any, column: Any) -> FileTable:
        """Return the rows with one column more, of a field or a name."""
        import pyarrow as pa

        field = pa.field(field, column.type) if isinstance(field, str) else field
        more = self._with_field(field)
        more._columns[field.name] = column
        return more

    def append_constant(self, name: str, value: Any) -> FileTable:
        """Return the rows with one column more: an Arrow array of one value, in each row.

        The rows of the column are made at its first use, those of a part for the part alone.
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
        """Return the column of a number or a name, of a table without two columns of one name.

        Raises `BadData` for a column that cannot be read.
        """
        name = column if isinstance(column, str) else self.column_names[column]
        with self._lock:
            self._looks += name not in self._columns
            alone = self._file.reads_by_column and self._looks <= _LOOKS
            self._load([name] if alone else self.column_names)
            return self._columns[name]

    def _load(self, names: Sequence[str]) -> None:
        """Read those of some columns that were not read yet."""
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
    """A file of columns, opened once; raises `BadData` for what cannot be read.

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
            # names that are text
            self.fields = pa.schema([(field.name, field.type) for field in self._schema])

    @abstractmethod
    def _open(self) -> Any:
        """Return the schema of the file."""

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
        """Yield the rows as record batches, or those of a part.

        Columns `texts` may be codes of a dictionary.
        """

    def _shares(self, part: Any) -> Sequence[Any]:
        """Return the parts of a part that threads read."""
        return [part]

    def parts(self, size: int) -> Sequence[Any]:
        """Return parts of consecutive rows, each of at least `size` where the file has so many.

        None is the whole file.
        """
        return [None]

    def rows_of(self, part: Any) -> int:
        """Return the number of rows of a part."""
        return self.length

    def batches(self, size: int, names: Sequence[str] | None = None) -> Iterator[Any]:
        """Yield the rows as record batches of at most `size`, or those columns of them.

        Parquet is read by pages; of Arrow IPC one of its own batches is in memory at a time.
        """
        texts = None if names is None else self._texts
        with self._reading():
            for batch in self._batches(size, names, texts):
                for start in range(0, batch.num_rows, size):
                    yield batch.slice(start, size)

    def table(
        self, names: Sequence[str] | None = None, *, coded: bool = True, part: Any = None
    ) -> Any:
        """Return all rows, or those of a part, or the columns `names`; text of Parquet `coded`.

        Text that hardly repeats is left as it is: whoever uses it codes it. Raises `ResourceLimit`
        where a limit is reached.
        """
        import pyarrow as pa

        def read(part: Any) -> list[Any]:
            batches = []
            for batch in self._batches(_ROWS, names, texts, part):
                poll(batch.get_total_buffer_size())  # `nbytes` lacks views before pyarrow 26
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
            # Parquet reads the column `a.b` together with `a`
            table = table if names is None else table.select(names)
            return sound_table(table, self.file)

    def rows(self, *, coded: bool = True) -> FileTable:
        """Return the rows, whose columns are read at their first use, text `coded` as `table`."""
        return FileTable(self, coded=coded)

    @property
    def schema(self) -> Any:
        """The schema of the columns once they are used."""
        return self._schema

    @property
    def reads_by_column(self) -> bool:
        """Whether one column can be read without the others."""
        return True

    def has_texts(self, name: str) -> bool:
        """Return whether the file says that each value of a column is a text, and none is empty."""
        return False

    def check_unchanged(self) -> None:
        """Raise `BadData` if the file was written to after it was opened.

        A file that was replaced or deleted stays readable: it is open.
        """
        now = _stamp(self.file)
        if self._stamp is None or now is None or now[0] != self._stamp[0] or now == self._stamp:
            return
        raise BadData(
            "CER0742",
            "the file was written to while it was read",
            place=DataPlace(self.file),
            hint="run the query again, or read the file whole by cerlab.Stream.read",
        )

    def _differs(self, name: str) -> bool:
        """Return whether most values of a column are different, so that codes do not pay."""
        return False

    @property
    def _texts(self) -> list[str]:
        return [field.name for field in self._schema if is_text(field.type)]

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Raise pyarrow's error about an unreadable file as `BadData` with the file."""
        import pyarrow as pa

        try:
            yield
        except (pa.ArrowException, OSError, ValueError, OverflowError, RecursionError) as error:
            raise unreadable(self.file, self.format, error) from None
