"""The events of a text by blocks: by pyarrow if it gives the same events, else line by line.

A block consists of whole lines. A block that pyarrow refuses is halved, down to blocks short enough
to be read line by line: so one odd line costs little, and its error names its row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from io import StringIO
from itertools import chain
from typing import TYPE_CHECKING

from cerlab.budget import poll
from cerlab.errors import BadData, UsageError
from cerlab.io import core_text, delimited, json_lists, ndjson
from cerlab.io.conversion import RowReading, check_text, typed_cells
from cerlab.io.declared import declared_rows
from cerlab.io.foreign_files import check_binary, check_xml
from cerlab.io.formats import (
    FORMATS,
    Head,
    TextReader,
    format_by_magic,
    looks_like,
    telling_line,
)
from cerlab.io.options import empty, no_records
from cerlab.io.parts import (
    LINE_END,
    Part,
    Quoted,
    Refused,
    batched,
    line_offset,
    lone_returns,
    new_lines,
)
from cerlab.model.event import Event, Value

if TYPE_CHECKING:
    from cerlab.io.column_types import ColumnTypes

BLOCK = 1 << 21
"""Bytes of a block: larger blocks slow CSV by 10 %, smaller ones slow CORE's text by as much."""

SHORT = 1 << 16
"""Bytes of a block that is not halved: reading it line by line takes some milliseconds."""

LINES = 1 << 12
"""Rows that are typed together when lines are read one by one."""

_MARK = b"\xef\xbb\xbf"  # byte order mark
_TEXT = re.compile(rb"[^\r\n]")  # a regular expression copies nothing, `strip` would copy the block


LONGEST = 1 << 26
"""Most bytes in a line, or in a CSV row with line breaks."""


class LongLine(Exception):
    """The error that the next line has more than `LONGEST` bytes."""


class Blocks:
    """Blocks of whole lines of a source; lines end with ``\\n``, ``\\r\\n`` or ``\\r``."""

    def __init__(self, read: Callable[[int], bytes]) -> None:
        """Wrap a function `read` that returns up to a given number of bytes, none at the end."""
        self._read = read
        self._rest = b""
        self._begun = self.over = False

    def next(self) -> bytes | None:
        """Return the next lines, or None at the end; raises `LongLine` and `ResourceLimit`."""
        while not self.over:
            poll(len(self._rest))
            # read as much as is held already, so that a line of many blocks is not searched again
            # for each
            fresh = self._read(max(BLOCK, len(self._rest)))
            self.over = not fresh
            end = fresh.rfind(b"\n") + 1
            if end and self._begun and len(self._rest) + end <= LONGEST:
                # the common case: a block is copied once
                block = b"".join((self._rest, memoryview(fresh)[:end]))
                self._rest = fresh[end:]
                return block
            self._rest += fresh
            if not self._begun:
                if len(self._rest) < len(_MARK) and fresh:
                    continue
                self._rest, self._begun = self._rest.removeprefix(_MARK), True
            if len(self._rest) > LONGEST:
                first = LINE_END.search(self._rest)
                if (len(self._rest) if first is None else first.start()) > LONGEST:
                    raise LongLine
            # the last byte does not count: it may be the \r of \r\n
            end = max(self._rest.rfind(b"\n"), self._rest.rfind(b"\r", 0, -1)) + 1
            if end and not self.over:
                block, self._rest = self._rest[:end], self._rest[end:]
                return block
        block, self._rest = self._rest, b""
        return block or None

    def put_back(self, rest: bytes) -> None:
        """Put back the last lines that were read; the next block begins with them."""
        self._rest = rest + self._rest


def text_parts(
    blocks: Blocks, kind: str | None, reading: RowReading, types: ColumnTypes
) -> Iterator[Part]:
    """Yield the events of a text in CSV, NDJSON or CORE's form, or of the format `kind`.

    `types` are those of its columns. An error comes after the events before it. Raises `BadData`
    with file, row and column, `UsageError` for an unknown `kind`, and `ResourceLimit`.
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
        if not some and format_by_magic(fresh) is not None:
            raise BadData(
                "CER0742",
                "cannot read Parquet, ORC or Arrow IPC from a pipe, or as text",
                place=reading.place(),
                hint="such files are read from their end: save the file, and give its name",
            )
        if not some:
            check_binary(fresh, reading.place().file)
            check_xml(fresh, reading.place().file)
        if _TEXT.search(fresh) is not None:
            first = telling_line(_lines(fresh, before + lines, reading))
        elif not some:  # a file may begin with very many blank lines
            before += _line_count(fresh)
            continue
        some.append(fresh)
        lines += _line_count(fresh)
    data = b"".join(some)
    if not data.strip():
        raise empty(reading.file)
    kind = kind or looks_like(next(_lines(data, before, reading)) if first is None else first)
    if reading.records is not None and kind != "ndjson":
        raise no_records(reading.file)
    is_array = kind == "ndjson" and first is not None and json_lists.begins_array(first)
    if is_array or reading.records is not None:
        while (more := next_block()) is not None:
            data += more
        text = "".join(_lines(data, before, reading))
        read = json_lists.read_array if reading.records is None else json_lists.read_records
        yield from batched(read(text, reading), LINES)
        return
    if kind == "ndjson" and first is not None and json_lists.begins_object_of_lines(first):
        # an object over several lines is an error, whose hint depends on the whole object
        while len(data) < LONGEST and (more := next_block()) is not None:
            data += more
        json_lists.refuse_one_object("".join(_lines(data, before, reading)), reading)
        blocks.put_back(data)
        data = next_block() or b""
    if kind not in FORMATS or (open_text := FORMATS[kind].reader) is None:
        raise UsageError(
            "CER0811", f"unknown format '{kind}'", hint=f"known: {', '.join(sorted(FORMATS))}"
        )
    head = Head(data, before, next_block, lambda data: _lines(data, before, reading))
    format, data, before = open_text(head, reading, types)
    block: bytes | None = data
    cut = data.find(b"\n", SHORT) + 1
    if 0 < cut < len(data) and format.may_be_cut(data):
        # once the first lines determine the types, pyarrow reads the others directly
        yield from _parts(format, reading, data[:cut], before, last=False)
        before += _line_count(data[:cut])
        block = data[cut:]
    while block is not None:
        try:
            yield from _parts(format, reading, block, before, last=blocks.over)
        except delimited.Unfinished as error:
            rest = block[line_offset(block, error.lines) :]
            before += error.lines
            if len(rest) > LONGEST:
                raise _too_long(reading, before + 1) from None
            blocks.put_back(rest)
        else:
            before += _line_count(block)
        block = next_block()


def _too_long(reading: RowReading, row: int) -> BadData:
    return BadData(
        "CER0735",
        f"the line has more than {LONGEST >> 20} MiB",
        place=reading.place(row),
        hint="check for an open quotation; Parquet and Arrow IPC support longer texts",
    )


def plain_events(data: bytes, kind: str, reading: RowReading) -> list[Event]:
    """Return the events of a short text as `text_parts` does, without NumPy and Arrow.

    Moments lose their zone. Raises `BadData` for an unreadable row, or for no lines.
    """
    lines = [*_lines(data.removeprefix(_MARK), 0, reading)]
    if kind == "ndjson" and reading.records is not None:
        return [*json_lists.read_records("".join(lines), reading)]
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


def _parts(
    format: TextReader, reading: RowReading, data: bytes, before: int, *, last: bool
) -> Iterator[Part]:
    """Yield the events of whole lines; the first line is number `before` + 1."""
    poll(2 * len(data))
    if _TEXT.search(data) is None:
        return
    try:
        rows = format.rows(data)
        if reading.schema is not None:
            rows = declared_rows(rows, reading.schema, sparse=format.sparse)
    except Refused:
        pass
    else:
        yield rows
        return
    middle = data.find(b"\n", len(data) // 2) + 1
    if len(data) > SHORT and 0 < middle < len(data) and format.may_be_cut(data):
        yield from _parts(format, reading, data[:middle], before, last=False)
        before += _line_count(data[:middle])
        yield from _parts(format, reading, data[middle:], before, last=last)
        return
    lines = _lines(data, before, reading)
    yield from format.lines(lines, before, last=last, size=LINES)


def _lines(data: bytes, before: int, reading: RowReading) -> Iterator[str]:
    """Yield the lines after the first `before` lines; raises `BadData` for bytes that are not text.

    If bad rows are set aside, the readers check this, because they know which lines form a row.
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
