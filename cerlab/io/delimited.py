"""CSV with a header, and CORE's CSV without a header, whose columns a schema names.

With a ``type`` column (or one event type for all rows) the header names the attributes. Without
one, and with a schema, the file is CORE's: the first field is the event type, the others are its
attributes in the order of their declaration, and the first line is skipped unless it begins with
a declared event type.

The delimiter is a comma; if the header contains no comma, a semicolon, tab or bar in it. Lines
before the header that begin with ``#`` are comments, unless one is the header itself. An empty cell
is NULL, even in quotes.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from cerlab.errors import BadData, by_door
from cerlab.io.cells import CellReader
from cerlab.io.conversion import (
    RowReading,
    check_text,
    declared_event,
    duplicate_column,
    no_type,
    no_type_column,
    warn_of_column,
)
from cerlab.io.formats import Format, Head, register
from cerlab.io.options import empty
from cerlab.io.parts import (
    Refused,
    RowPart,
    TextRow,
    has_plain_quotes,
    line_offset,
    lone_returns,
    new_lines,
    one_array,
)
from cerlab.io.text_writer import cells_of, csv_rows
from cerlab.io.written import cannot_hold, check_names, checked_cells, place_of
from cerlab.model.arrays import numbers_of
from cerlab.model.columns import constant_text, decoded, encode_text
from cerlab.model.event import TypeColumn, type_of_all

# Python's default limit of 131,072 characters is too small for some texts in cells
csv.field_size_limit(1 << 27)


if TYPE_CHECKING:
    from cerlab.io.column_types import ColumnTypes
    from cerlab.model.stream import Stream


class Header(NamedTuple):
    """The column names of a CSV text, and how to read the rows below."""

    names: tuple[str, ...]
    positional: bool
    """True if a row is an event type and its attributes in their declared order."""
    lines: int
    """Number of lines above the first row."""
    delimiter: str = ","
    keys: tuple[str | None, ...] = ()
    """Cells of additional columns, equal in all rows: the keys of the file's folders."""

    @property
    def written(self) -> tuple[str, ...]:
        """The column names as they are written in the text."""
        return self.names[: len(self.names) - len(self.keys)]


def read_header(lines: Iterable[str], reading: RowReading, *, before: int = 0) -> Header:
    """Return the header of a CSV text, after lines to skip; raises `BadData` with its place."""
    file, schema, type_name = reading.file, reading.schema, reading.type_name
    type_column = type_name if isinstance(type_name, TypeColumn) else "type"
    row, first, delimiter = _header_line(lines := iter(lines), type_column, before + 1)
    reader = csv.reader(chain([first], lines), strict=True, delimiter=delimiter)
    try:
        names = next(reader, [])
    except csv.Error as error:
        raise _no_csv(error, reading, row) from None
    if not names:
        raise empty(file)
    check_text("".join(names), reading.place(row))
    names = [*(name.strip() for name in names), *reading.keys]
    keys = tuple(key.text for key in reading.keys.values())
    below = row - 1 + reader.line_num
    if isinstance(type_name, TypeColumn):
        if type_name not in names:
            raise no_type_column(type_name, names, reading.place(row))
        names = type_name.renamed(names)
    else:
        warn_of_column(type_name, names)
    if "type" not in names and type_name is None:
        if schema is None:
            raise no_type(names, reading.place(row))
        is_row = schema.event(names[0]) is not None
        return Header(tuple(names), True, row - 1 if is_row else below, delimiter, keys)
    if len(set(names)) < len(names):
        raise duplicate_column(names, file, row, type_name)
    return Header(tuple(names), False, below, delimiter, keys)


def _header_line(lines: Iterator[str], type_column: str, start: int) -> tuple[int, str, str]:
    """Return the number of the line with the header, its text, and the delimiter.

    A comment with a cell equal to `type_column` is the header. The first line has number `start`.
    """
    for row, line in enumerate(lines, start=start):
        # the byte order mark, which spreadsheets write
        text = line.removeprefix("\ufeff")
        if text.startswith("#"):
            names = re.split(r"[,;|\t]", text[1:].strip())
            if type_column not in [name.strip() for name in names]:
                continue
            text = text[1:].lstrip()
        if text.strip():
            counts = {each: text.count(each) for each in ";\t|"}
            separator = max(counts, key=counts.__getitem__)
            return row, text, separator if counts[separator] and "," not in text else ","
    return start, "", ","


def _no_csv(error: csv.Error, reading: RowReading, row: int) -> BadData:
    return BadData(
        "CER0737",
        f"this is not CSV: {error}",
        place=reading.place(row),
        hint="write a quote inside quotes twice",
    )


def text_columns(data: bytes, header: Header, known: Mapping[str, Any]) -> dict[str, Any]:
    """Return the cells of whole lines as Arrow arrays of text, by column.

    Columns `known` to be numbers or moments may have these types already, and text may be encoded:
    reading them as text first takes 50 % longer. Raises `Refused` for lines that pyarrow cannot
    read, or accepts although Python's reader refuses them.
    """
    import pyarrow as pa

    quotes = b'"' in data
    if header.positional or b"\0" in data or lone_returns(data):
        raise Refused
    if quotes and not has_plain_quotes(data, b'"', header.delimiter.encode()):
        raise Refused
    if not data.endswith(b"\n"):
        data += b"\n"
    texts = dict.fromkeys(header.written, pa.string())
    known = {**known, "type": pa.string(), "stream": pa.string()}
    types = {name: _direct(known.get(name), data) for name in header.written}
    table = None if types == texts else _table(data, header, types)
    if table is None or _has_large(table):
        table = _table(data, header, texts)
    if table is None:
        raise Refused
    if not table.num_rows:
        raise Refused
    columns = {name: one_array(table.column(name)) for name in header.written}
    if quotes:  # pyarrow accepts a quotation that is open at the end
        last = columns[header.written[-1]][-1:].cast(pa.string())
        if table.num_rows < new_lines(data) or str(last[-1]).endswith("\n"):
            raise Refused
    for name, key in zip(header.names[len(columns) :], header.keys, strict=True):
        columns[name] = pa.repeat(pa.scalar(key, pa.string()), table.num_rows)
    return columns


def _direct(known: Any, data: bytes) -> Any:
    """Return the type as which pyarrow can read a column's cells directly, otherwise text.

    pyarrow also accepts hexadecimals as integers.
    """
    import pyarrow as pa

    is_moment = known is not None and pa.types.is_timestamp(known) and known.unit == "ns"
    is_integer = known == pa.int64() and b"x" not in data and b"X" not in data
    if is_moment or is_integer or known == pa.float64():
        return known
    return pa.dictionary(pa.int32(), pa.string()) if known == pa.string() else pa.string()


def _table(data: bytes, header: Header, types: dict[str, Any]) -> Any | None:
    """Return the cells of whole lines, read by pyarrow; None if pyarrow cannot read them."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    try:
        return arrow_csv.read_csv(
            pa.py_buffer(data),
            read_options=arrow_csv.ReadOptions(
                column_names=header.written, use_threads=False, block_size=len(data) + 1
            ),
            parse_options=arrow_csv.ParseOptions(delimiter=header.delimiter),
            convert_options=arrow_csv.ConvertOptions(
                column_types=types, null_values=[""], strings_can_be_null=True
            ),
        )
    except pa.ArrowInvalid:
        return None


def _has_large(table: Any) -> bool:
    """Return whether a column of doubles contains numbers that may be rounded integers."""
    import numpy as np
    import pyarrow as pa

    doubles = (column for column in table.columns if column.type == pa.float64())
    return any((np.abs(numbers_of(one_array(c))) >= 2.0**53).any() for c in doubles)


class Unfinished(Exception):
    """The signal that the last row continues in later lines; `lines` are the complete rows."""

    def __init__(self, lines: int) -> None:
        super().__init__(lines)
        self.lines = lines


def text_rows(
    lines: Iterable[str], header: Header, reading: RowReading, *, before: int, last: bool
) -> Iterator[TextRow]:
    """Yield the rows of some lines, counted from `before` + 1; ``reading`` gets bad rows.

    Raises `BadData` with file, row and column, and `Unfinished` for an open quotation at the end,
    unless these are the `last` lines.
    """
    for row, cells, text in _rows(lines, header.delimiter, reading, before=before, last=last):
        try:
            reading.check(text, row)
            yield _text_row(cells, text, header, reading, row)
        except BadData as error:
            reading.reject(text, error)


def _rows(
    lines: Iterable[str], delimiter: str, reading: RowReading, *, before: int, last: bool
) -> Iterator[tuple[int, list[str], str]]:
    """Yield the line number, cells and text of each row; ``reading`` gets bad rows."""
    row_lines: list[str] = []
    reader = csv.reader(_recording(lines, row_lines), strict=True, delimiter=delimiter)
    line = before + 1
    while True:
        row_lines.clear()
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            if not last and "unexpected end of data" in str(error):
                raise Unfinished(line - before - 1) from None
            reading.reject("".join(row_lines), _no_csv(error, reading, line))
        else:
            if cells:
                yield line, cells, "".join(row_lines)
        line = before + reader.line_num + 1


def _recording(lines: Iterable[str], record: list[str]) -> Iterator[str]:
    for line in lines:
        record.append(line)
        yield line


def _text_row(
    cells: list[str], text: str, header: Header, reading: RowReading, row: int
) -> TextRow:
    if header.positional:
        return _row_by_position(cells, text, reading, row)
    _check_length(cells, header.written, reading, row)
    every = zip(header.names, (*cells, *header.keys), strict=True)
    values = {name: cell or None for name, cell in every}
    event_type = values.pop("type", None) or type_of_all(reading.type_name)
    if not event_type:
        raise BadData(
            "CER0701",
            "the event has no type",
            place=reading.place(row, "type"),
            hint=by_door(
                "use type= for such rows, or quarantine= to skip them",
                "use --type NAME for such rows, or --quarantine FILE to skip them",
            ),
        )
    return TextRow(row, text, event_type, values.pop("stream", None), values)


def _row_by_position(cells: list[str], text: str, reading: RowReading, row: int) -> TextRow:
    assert reading.schema is not None
    place = partial(reading.place, row)
    declaration = declared_event(reading.schema, cells[0].strip(), None, place)
    keys = {name: key.text for name, key in reading.keys.items()}
    names = [each.name for each in declaration.attributes if each.name not in keys]
    _check_length(cells, ["type", *names], reading, row)
    values = {name: cell or None for name, cell in zip(names, cells[1:], strict=True)}
    return TextRow(row, text, declaration.name, None, {**values, **keys})


def _check_length(
    cells: Sequence[str], names: Sequence[str], reading: RowReading, row: int
) -> None:
    if len(cells) < len(names):
        raise BadData(
            "CER0738",
            f"the row is too short: {len(cells)} cells for {len(names)} columns",
            place=reading.place(row, names[len(cells)]),
            hint="write a missing value as an empty cell, with its comma",
        )
    if len(cells) > len(names):
        raise BadData(
            "CER0739",
            f"the row is too long: {len(cells)} cells for {len(names)} columns",
            place=reading.place(row),
            hint="quote cells that contain a comma",
        )


class _CsvReader(CellReader):
    sparse = True

    def __init__(self, header: Header, reading: RowReading, types: ColumnTypes) -> None:
        super().__init__(reading, types)
        self._header = header

    def may_be_cut(self, data: bytes) -> bool:
        return b'"' not in data

    def rows(self, data: bytes) -> RowPart:
        columns = text_columns(data, self._header, self._known())
        count = len(next(iter(columns.values())))
        types = _event_types(columns.pop("type", None), type_of_all(self._reading.type_name), count)
        streams = columns.pop("stream", None)
        with self._types.attempt():
            columns = self.with_types(columns, set())
            names = tuple(columns)
            if streams is not None:
                columns["stream"] = encode_text(streams)
            return RowPart({**columns, "type": types}, count, (names,))

    def _known(self) -> dict[str, Any]:
        """Return the column types that pyarrow may read directly, or text as codes."""
        if self._reading.schema is not None:
            return {}
        differing = self._types.differing
        return {n: kind for n, kind in self._types.kinds.items() if n not in differing}

    def _text_rows(self, lines: Iterable[str], before: int, *, last: bool) -> Iterator[TextRow]:
        return text_rows(lines, self._header, self._reading, before=before, last=last)


def _event_types(texts: Any, type_name: str | None, count: int) -> Any:
    """Return a column of event types; raises `Refused` if one is missing."""
    import pyarrow.compute as pc

    if texts is None or not texts.null_count:
        return constant_text(str(type_name), count) if texts is None else encode_text(texts)
    if type_name is None:
        raise Refused
    texts = decoded(encode_text(texts))
    return encode_text(pc.coalesce(texts, decoded(constant_text(type_name, count))))


def _open(head: Head, reading: RowReading, types: ColumnTypes) -> tuple[_CsvReader, bytes, int]:
    """Return the reader of a CSV, and the lines of its first blocks below the header."""
    data = head.data
    while True:
        try:
            header = read_header(head.lines(data), reading, before=head.before)
        except BadData as error:
            if error.code != "CER0737":
                raise
            if (more := head.more()) is None:  # a quotation may continue
                raise
            data += more
        else:
            types.header.update(dict.fromkeys(header.names))
            below = data[line_offset(data, header.lines - head.before) :]
            return _CsvReader(header, reading, types), below, header.lines


def _write(stream: Stream, file: TextIO) -> None:
    import pyarrow as pa

    names = check_names(stream, "CSV")
    columns = {"type": _words(stream, "type")}
    if (streams := _words(stream, "stream")).null_count < len(streams):
        columns["stream"] = streams
    columns |= {name: checked_cells(stream, name, "CSV") for name in names}
    csv_rows(pa.table(columns), file)


def _words(stream: Stream, name: str) -> Any:
    """Return a column of event types, or of streams, as text.

    Raises `BadData` for one that CSV cannot hold.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if name not in stream.columns:
        return pa.nulls(len(stream), pa.large_string())
    words = cells_of(stream.columns[name], name)
    is_odd = pc.or_(pc.equal(words, ""), pc.match_substring(words, "\0"))
    if (n := pc.index(is_odd, True).as_py()) >= 0:
        raise cannot_hold("CSV", words[n].as_py(), place_of(n, name))
    return words


register(
    Format(
        "csv",
        (".csv", ".tsv"),
        has_cells=True,
        reader=_open,
        write=_write,
        write_rows=csv_rows,
    )
)
