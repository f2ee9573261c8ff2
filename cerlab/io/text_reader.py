"""Events of a text, block by block: by pyarrow where it reads what single lines say, else by line.

A block is some whole lines. What pyarrow refuses is halved, down to blocks short enough to be read
line by line: so one odd line costs little, and what is wrong has its row.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from io import StringIO
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, TypeAlias

from cerlab.budget import poll
from cerlab.errors import BadData, UsageError
from cerlab.io import core_text, delimited, ndjson
from cerlab.io.conversion import Place, Reading, check_text, convert, typed_cells, typed_event
from cerlab.io.declared import declared_rows, declared_types
from cerlab.io.parts import Part, Quoted, Refused, Rows, TextRow, batched, lone_returns, new_lines
from cerlab.io.sources import (
    FEATHER_1,
    FORMATS,
    STREAM_MAGIC,
    empty,
    looks_like,
    telling_line,
)
from cerlab.model.columns import constant_text, decoded, encode_text, is_text, values_of
from cerlab.model.event import AttributeType, Event, TypeColumn, Value, type_of_all

if TYPE_CHECKING:
    from cerlab.io.column_types import ColumnTypes

BLOCK = 1 << 22
"""Bytes of a block: larger ones are not faster, and limits are polled between two."""

SHORT = 1 << 16
"""Bytes of a block that is not halved: some milliseconds line by line."""

LINES = 1 << 12
"""Rows that are typed at once where lines are read one by one."""

_MARK = b"\xef\xbb\xbf"  # of the byte order
_TEXT = re.compile(rb"[^\r\n]")  # `strip` would copy the block
_LINE_END = re.compile(rb"\r\n|\n|\r")


LONGEST = 1 << 26
"""Bytes of a line, or of a row of CSV with line breaks, at most."""


class LongLine(Exception):
    """The next line has more than `LONGEST` bytes."""


class Blocks:
    """Whole lines of a source, some at a time; lines end with ``\\n``, ``\\r\\n`` or ``\\r``."""

    def __init__(self, read: Callable[[int], bytes]) -> None:
        """`read` gives at most so many bytes, and none at the end of the source."""
        self._read = read
        self._rest = b""
        self._begun = self.over = False

    def next(self) -> bytes | None:
        """Return the next lines, None at the end; raises `LongLine` and `ResourceLimit`."""
        while not self.over:
            poll(len(self._rest))
            # as much as is there already: a line of many blocks is not searched anew for each
            fresh = self._read(max(BLOCK, len(self._rest)))
            self.over = not fresh
            end = fresh.rfind(b"\n") + 1
            if end and self._begun and len(self._rest) + end <= LONGEST:
                # the usual block, copied once
                block = b"".join((self._rest, memoryview(fresh)[:end]))
                self._rest = fresh[end:]
                return block
            self._rest += fresh
            if not self._begun:
                if len(self._rest) < len(_MARK) and fresh:
                    continue
                self._rest, self._begun = self._rest.removeprefix(_MARK), True
            if len(self._rest) > LONGEST:
                first = _LINE_END.search(self._rest)
                if (len(self._rest) if first is None else first.start()) > LONGEST:
                    raise LongLine
            # not at the last byte, which may be the first half of \r\n
            end = max(self._rest.rfind(b"\n"), self._rest.rfind(b"\r", 0, -1)) + 1
            if end and not self.over:
                block, self._rest = self._rest[:end], self._rest[end:]
                return block
        block, self._rest = self._rest, b""
        return block or None

    def put_back(self, rest: bytes) -> None:
        """Let the next block begin with these lines, the last ones that were taken."""
        self._rest = rest + self._rest


def text_parts(
    blocks: Blocks, kind: str | None, reading: Reading, types: ColumnTypes
) -> Iterator[Part]:
    """Yield the events of a text of CSV, NDJSON or CORE's form, of a `kind` if it is known.

    `types` are those of its columns. An error comes after the events before it. Raises `BadData`
    with file, row and column, `UsageError` for a `kind` that there is not, and `ResourceLimit`.
    """
    before = 0

    def next_block() -> bytes | None:
        try:
            return blocks.next()
        except LongLine:
            raise _too_long(reading, before + 1) from None

    some: list[bytes] = []
    lines, first = 0, None
    while first is None and (fresh := next_block()) is not None:
        if not some and fresh.startswith((b"PAR1", b"ARROW1", FEATHER_1, STREAM_MAGIC)):
            raise BadData(
                "CER0742",
                "Parquet and Arrow IPC are not read from a pipe, or as text",
                place=reading.place(),
                hint="they are read from their end: write the file to a disk, and name it",
            )
        if _TEXT.search(fresh) is not None:
            first = telling_line(_lines(fresh, before + lines, reading))
        elif not some:  # blank lines may be very many
            before += _line_count(fresh)
            continue
        some.append(fresh)
        lines += _line_count(fresh)
    data = b"".join(some)
    if not data.strip():
        raise empty(reading.file)
    kind = kind or looks_like(next(_lines(data, before, reading)) if first is None else first)
    if kind == "ndjson" and first is not None and ndjson.begins_array(first):
        while (more := next_block()) is not None:
            data += more
        text = "".join(_lines(data, before, reading))
        yield from batched(ndjson.read_array(text, reading), LINES)
        return
    match kind:
        case "csv":
            header, data = _header(data, blocks, reading, before)
            before = header.lines
            types.header.update(dict.fromkeys(header.names))
            format: _Format = _Csv(header, reading, types)
        case "core":
            format = _Core(reading, types)
        case "ndjson":
            format = _Ndjson(reading)
        case _:
            formats = ", ".join(sorted(set(FORMATS.values())))
            raise UsageError("CER0811", f"unknown format '{kind}'", hint=f"known: {formats}")
    block: bytes | None = data
    head = data.find(b"\n", SHORT) + 1
    if 0 < head < len(data) and format.may_be_cut(data):
        # the first lines tell types, by which pyarrow reads the others without a detour by text
        yield from _parts(format, data[:head], before, last=False)
        before += _line_count(data[:head])
        block = data[head:]
    while block is not None:
        try:
            yield from _parts(format, block, before, last=blocks.over)
        except delimited.Unfinished as error:
            rest = block[_offset(block, error.lines) :]
            before += error.lines
            if len(rest) > LONGEST:
                raise _too_long(reading, before + 1) from None
            blocks.put_back(rest)
        else:
            before += _line_count(block)
        block = next_block()


def _too_long(reading: Reading, row: int) -> BadData:
    return BadData(
        "CER0735",
        f"the line has more than {LONGEST >> 20} MiB",
        place=reading.place(row),
        hint="is a quotation left open? Parquet and Arrow IPC hold longer texts",
    )


def plain_events(data: bytes, kind: str, reading: Reading) -> list[Event]:
    """Return the events of a short text as `text_parts`, without NumPy and Arrow.

    Moments lose their zone. Raises `BadData` for a row that cannot be read, or for no lines.
    """
    lines = [*_lines(data.removeprefix(_MARK), 0, reading)]
    if kind == "ndjson":
        return [*ndjson.read_lines(lines, reading)]
    if kind == "core":
        rows = [*core_text.text_rows(lines, reading, before=0)]
    else:
        header = delimited.read_header(lines, reading)
        below, before = lines[header.lines :], header.lines
        rows = [*delimited.text_rows(below, header, reading, before=before, last=True)]
    columns: dict[str, Iterator[Value]] = {}
    for name in dict.fromkeys(chain.from_iterable(row.cells for row in rows)):
        cells = [row.cells.get(name) for row in rows]
        quoted = any(type(cell) is Quoted for cell in cells)
        columns[name] = iter(typed_cells(cells, quoted=quoted))
    events = []
    for row in rows:
        values = {name: next(column) for name, column in columns.items()}
        events.append(Event(row.type, {name: values[name] for name in row.cells}, row.stream))
    return events


def _header(
    data: bytes, blocks: Blocks, reading: Reading, before: int
) -> tuple[delimited.Header, bytes]:
    """Return the header of a CSV after some lines, and the lines of its first blocks below."""
    while True:
        try:
            lines = _lines(data, before, reading)
            header = delimited.read_header(lines, reading, before=before)
        except BadData as error:
            if error.code != "CER0737":
                raise
            try:
                more = blocks.next()
            except LongLine:
                raise _too_long(reading, before + 1) from None
            if more is None:  # perhaps a quotation goes on
                raise
            data += more
        else:
            return header, data[_offset(data, header.lines - before) :]


def _parts(format: _Format, data: bytes, before: int, *, last: bool) -> Iterator[Part]:
    """Yield the events of whole lines after `before` others."""
    poll(2 * len(data))
    if _TEXT.search(data) is None:
        return
    try:
        rows = format.rows(data)
    except Refused:
        pass
    else:
        yield rows
        return
    middle = data.find(b"\n", len(data) // 2) + 1
    if len(data) > SHORT and 0 < middle < len(data) and format.may_be_cut(data):
        yield from _parts(format, data[:middle], before, last=False)
        before += _line_count(data[:middle])
        yield from _parts(format, data[middle:], before, last=last)
        return
    yield from format.lines(data, before, last=last)


def _lines(data: bytes, before: int, reading: Reading) -> Iterator[str]:
    """Yield the lines after the first `before`; raises `BadData` for bytes that are not text.

    Where bad rows are set aside, that is left to the readers, who know which lines are a row.
    """
    number, begin = before, 0
    while begin < len(data):
        end = data.find(b"\n", begin + SHORT) + 1 or len(data)
        text = data[begin:end].decode("utf-8", "surrogateescape")
        for line in StringIO(text, newline=""):
            number += 1
            if reading.on_bad_row is None:
                check_text(line, reading.place(number))
            yield line
        begin = end


def _line_count(data: bytes) -> int:
    ends = new_lines(data) + lone_returns(data)
    return ends if data.endswith((b"\n", b"\r")) or not data else ends + 1


def _offset(data: bytes, lines: int) -> int:
    """Return where the line after so many begins."""
    ends = [match.end() for match in islice(_LINE_END.finditer(data), lines)]
    return len(data) if len(ends) < lines else (ends[-1] if ends else 0)


class _Ndjson:
    """Objects by line."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._reader = ndjson.Reader(reading)

    def rows(self, data: bytes) -> Rows:
        rows = self._reader.rows(data)
        schema = self._reading.schema
        return rows if schema is None else declared_rows(rows, schema)

    def may_be_cut(self, data: bytes) -> bool:
        return True

    def lines(self, data: bytes, before: int, *, last: bool) -> Iterator[Part]:
        lines = _lines(data, before, self._reading)
        return batched(ndjson.read_lines(lines, self._reading, before=before), LINES)


class _Cells(ABC):
    """A format whose cells are text until their columns have types."""

    sparse: bool
    """Whether all rows have all columns, and those of other event types are empty."""

    def __init__(self, reading: Reading, types: ColumnTypes) -> None:
        self._reading = reading
        self._types = types
        self._declared = None if reading.schema is None else declared_types(reading.schema)

    def lines(self, data: bytes, before: int, *, last: bool) -> Iterator[Part]:
        rows = self._text_rows(_lines(data, before, self._reading), before, last=last)
        if self._reading.schema is not None:
            yield from batched(self._events(rows), LINES)
            return
        for some in batched(rows, LINES):
            yield from self._of_cells(some)

    @abstractmethod
    def _text_rows(self, lines: Iterable[str], before: int, *, last: bool) -> Iterator[TextRow]:
        """Yield the rows of lines."""

    def _events(self, rows: Iterable[TextRow]) -> Iterator[Event]:
        """Yield rows as the schema declares them."""
        column = "type" if self.sparse else None
        for row in rows:
            try:
                yield typed_event(
                    row.type,
                    row.stream,
                    row.cells,
                    _value_of,
                    self._reading,
                    row.number,
                    column=column,
                    sparse=self.sparse,
                )
            except BadData as error:
                self._reading.reject(row.text, error)

    def _of_cells(self, rows: Sequence[TextRow]) -> Iterator[Part]:
        """Yield rows by columns; rows that do not fit settled types are bad rows."""
        from cerlab.io.column_types import Misfit, is_quoted, text_array

        while rows:
            names = dict.fromkeys(chain.from_iterable(row.cells for row in rows))
            cells = {name: [row.cells.get(name) for row in rows] for name in names}
            try:
                with self._types.attempt():
                    columns = {
                        name: self._types.read(name, text_array(c), quoted=is_quoted(c))
                        for name, c in cells.items()
                    }
            except Misfit:
                at, name = self._types.first_misfit(cells)
                yield from self._of_cells(rows[:at])
                row = rows[at]
                place = self._reading.place(row.number, name)
                self._reading.reject(row.text, self._types.misfit(name, row.cells[name], place))
                rows = rows[at + 1 :]
                continue
            if {"type", "stream"} & set(names):  # in CORE's text form they are names as others
                yield _events_with(columns, rows)
                return
            columns["type"] = encode_text(text_array([row.type for row in rows]))
            if any(row.stream is not None for row in rows):
                columns["stream"] = encode_text(text_array([row.stream for row in rows]))
            yield Rows(columns, len(rows), *_shapes(rows))
            return

    def _with_types(self, columns: dict[str, Any], quoted: set[str]) -> dict[str, Any]:
        """Return columns of text with types; raises `Refused` for cells that do not fit."""
        from cerlab.io.column_types import Misfit, typed

        if self._reading.schema is None:
            try:
                return {
                    name: self._types.read(name, column, quoted=name in quoted)
                    if is_text(column.type)
                    else column
                    for name, column in columns.items()
                }
            except Misfit:
                raise Refused from None
        if self._declared is None:  # declarations of a name differ
            raise Refused
        texts = {n for n, kind in self._declared.items() if kind is AttributeType.STRING}
        if quoted - texts:
            raise Refused
        return {n: encode_text(c) if n in texts else typed(c) for n, c in columns.items()}


class _Csv(_Cells):
    sparse = True

    def __init__(self, header: delimited.Header, reading: Reading, types: ColumnTypes) -> None:
        super().__init__(reading, types)
        self._header = header

    def may_be_cut(self, data: bytes) -> bool:
        return b'"' not in data

    def rows(self, data: bytes) -> Rows:
        known = self._types.kinds if self._reading.schema is None else {}
        columns = delimited.text_columns(data, self._header, known)
        count = len(next(iter(columns.values())))
        types = _event_types(columns.pop("type", None), type_of_all(self._reading.type_name), count)
        streams = columns.pop("stream", None)
        with self._types.attempt():
            columns = self._with_types(columns, set())
            names = tuple(columns)
            if streams is not None:
                columns["stream"] = encode_text(streams)
            rows = Rows({**columns, "type": types}, count, (names,))
            schema = self._reading.schema
            return rows if schema is None else declared_rows(rows, schema, sparse=True)

    def _text_rows(self, lines: Iterable[str], before: int, *, last: bool) -> Iterator[TextRow]:
        return delimited.text_rows(lines, self._header, self._reading, before=before, last=last)


class _Core(_Cells):
    sparse = False

    def __init__(self, reading: Reading, types: ColumnTypes) -> None:
        super().__init__(reading, types)
        if isinstance(reading.type_name, TypeColumn):
            message = "in CORE's text form types stand before the brackets, not in a column"
            raise UsageError("CER0859", message, hint="leave --type-column out")

    def may_be_cut(self, data: bytes) -> bool:
        return True

    def rows(self, data: bytes) -> Rows:
        from cerlab.io.column_types import text_array

        read = core_text.line_columns(data)
        keys = self._reading.keys
        if not keys.keys().isdisjoint(read.columns):
            raise Refused
        head = encode_text(read.columns.pop(core_text.HEAD))
        types, streams = core_text.heads(head.dictionary)
        for name, key in keys.items():
            read.columns[name] = text_array([key.text] * len(head))
        names = tuple((*each, *keys) for each in read.names)
        with self._types.attempt():
            columns = self._with_types(read.columns, read.quoted)
            if any(map(_has_margin, columns.values())):
                raise Refused
            columns["type"] = encode_text(text_array(types).take(head.indices))
            if any(streams):
                columns["stream"] = encode_text(text_array(streams).take(head.indices))
            rows = Rows(columns, len(head), names, read.shape)
            schema = self._reading.schema
            return rows if schema is None else declared_rows(rows, schema)

    def _text_rows(self, lines: Iterable[str], before: int, *, last: bool) -> Iterator[TextRow]:
        return core_text.text_rows(lines, self._reading, before=before)


_Format: TypeAlias = _Ndjson | _Csv | _Core


def _events_with(columns: dict[str, Any], rows: Sequence[TextRow]) -> list[Event]:
    """Return rows as events, with the values of their columns."""
    values = {name: values_of(column, name) for name, column in columns.items()}
    return [
        Event(row.type, {name: values[name][n] for name in row.cells}, row.stream)
        for n, row in enumerate(rows)
    ]


def _event_types(texts: Any, type_name: str | None, count: int) -> Any:
    """Return a column of event types; raises `Refused` where one is missing."""
    import pyarrow.compute as pc

    if texts is None or not texts.null_count:
        return constant_text(str(type_name), count) if texts is None else encode_text(texts)
    if type_name is None:
        raise Refused
    texts = decoded(encode_text(texts))
    return encode_text(pc.coalesce(texts, decoded(constant_text(type_name, count))))


def _has_margin(column: Any) -> bool:
    """Whether a text begins or ends with space, which `core_text.text_rows` leaves out."""
    from pyarrow import types

    texts = column.dictionary.to_pylist() if types.is_dictionary(column.type) else []
    return any(text != text.strip() for text in texts)


def _shapes(rows: Sequence[TextRow]) -> tuple[tuple[tuple[str, ...], ...], Any]:
    """Return the attributes of each shape of rows, and the shape of each row, None for one."""
    import numpy as np

    shapes: dict[tuple[str, ...], int] = {}
    numbers = [shapes.setdefault(tuple(row.cells), len(shapes)) for row in rows]
    return tuple(shapes), np.array(numbers) if len(shapes) > 1 else None


def _value_of(cell: str | None, kind: AttributeType, place: Place) -> Value:
    if cell is None:
        return None
    as_is = type(cell) is Quoted or kind is AttributeType.STRING
    return convert(str(cell) if as_is else cell.strip(), kind, place)
