"""Events of a text: line by line as they are read, or many lines at once where all have a shape.

Both give the same values, and what is wrong has its row. A run of lines that no known shape fits is
read line by line; it is twice as long as the last one if that was not followed by many lines of a
shape, so that neither one odd line nor a file of odd lines costs more than it must.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING

from cerlab.errors import DataPlace, UsageError
from cerlab.io import core_text, delimited, ndjson, shapes
from cerlab.io.conversion import Reading, check_text, not_utf_8
from cerlab.io.declared import AS_WRITTEN, declared_rows, declared_types
from cerlab.io.lines import Lines, row_of_bad_byte
from cerlab.io.rows import Part, Rows, UndecidedCells, batched
from cerlab.io.shapes import Shape
from cerlab.io.sources import FORMATS, empty, looks_like
from cerlab.model.event import AttributeType, Event, TypeColumn, type_of_all

if TYPE_CHECKING:
    from cerlab.io.typed import Layout

BY_SHAPE = 1 << 19
"""Text of fewer bytes is read line by line, which needs neither NumPy nor kernels."""

ROWS = 1 << 16
"""So many lines of a shape are read at once, at most."""

MANY = 1 << 10
"""After so many lines of a shape an odd one is the first of its run."""

LONGEST = 1 << 12
"""The most lines that are read line by line before a shape is looked for again."""


def text_events(lines: Iterable[str], kind: str | None, reading: Reading) -> Iterator[Event]:
    """The events of some lines of CSV, NDJSON or CORE's text form, whichever it is.

    Raises `BadData` with file, row and column; `UsageError` for a `kind` that there is not.
    """
    iterator = _valid_lines(lines, reading.file, strict=reading.on_bad_row is None)
    first: list[str] = []
    for line in iterator:
        first.append(line)
        if line.strip():
            break
    else:
        raise empty(reading.file)
    rest = chain(first, iterator)
    match known_kind(kind or looks_like(first[-1])):
        case "ndjson" if ndjson.begins_array(first[-1]):
            yield from ndjson.read_array(rest, reading)
        case "ndjson":
            yield from ndjson.read_lines(rest, reading)
        case "core":
            refuse_type_column(reading.type_name)
            yield from core_text.read_lines(rest, reading)
        case _:
            yield from delimited.read_lines(rest, reading)


def known_kind(kind: str) -> str:
    """The format of a text; raises `UsageError` for one that there is not."""
    if kind not in ("ndjson", "core", "csv"):
        formats = ", ".join(sorted(set(FORMATS.values())))
        raise UsageError("CER0811", f"unknown format '{kind}'", hint=f"known: {formats}")
    return kind


def refuse_type_column(type_name: str | None) -> None:
    """Raise `UsageError` for a column of event types in CORE's text form."""
    if isinstance(type_name, TypeColumn):
        message = "in CORE's text form types stand before the brackets, not in a column"
        raise UsageError("CER0859", message, hint="leave --type-column out")


def text_parts(lines: Lines, kind: str, reading: Reading, size: int, length: int) -> Iterator[Part]:
    """The events of a text of `length` bytes in parts of at most `size`; raises as `text_events`.

    An error comes after the events before it.
    """
    if kind == "core":
        refuse_type_column(reading.type_name)
    reader = _Reader(lines, kind, reading)
    types = {} if reading.schema is None else declared_types(reading.schema)
    by_shape = length >= BY_SHAPE and types is not None
    shape_reader = _KnownShapes(kind, reading, types or {}, reader.header) if by_shape else None
    run = 1 if shape_reader else size
    while lines.more():
        if shape_reader is not None and lines.begins:
            rows = shape_reader.rows(lines, min(size, ROWS))
            if isinstance(rows, int):
                yield from reader.parts(rows, size)
                continue
            if rows is not None:
                yield rows
                if rows.count >= MANY:
                    run = 1
                continue
            if shape_reader.learn(lines):
                continue
        yield from reader.parts(run, size)
        run = min(2 * run, LONGEST, size) if shape_reader else size


class _Reader:
    """The events of a text, line by line, some lines at a time."""

    def __init__(self, lines: Lines, kind: str, reading: Reading) -> None:
        self._lines = lines
        self._kind = kind
        self._reading = reading
        self.header = delimited.read_header(lines, reading) if kind == "csv" else None

    def parts(self, count: int, size: int) -> Iterator[list[Event]]:
        """The events of the next `count` lines, or of more where a row or ``\\r`` goes on."""
        return batched(self._events(count), size)

    def _events(self, count: int) -> Iterator[Event]:
        lines, reading, before = self._lines, self._reading, self._lines.number

        def enough() -> bool:
            return lines.number >= before + count and lines.begins

        if self.header is not None:
            header, self.header = self.header, self.header._replace(begins=None)
            return delimited.read_rows(lines, header, reading, before=before, enough=enough)
        by_line = core_text.read_lines if self._kind == "core" else ndjson.read_lines
        return by_line(_until(lines, enough), reading, before=before)


class _KnownShapes:
    """The shapes of lines that were seen, and the rows of lines that have one of them."""

    def __init__(
        self,
        kind: str,
        reading: Reading,
        types: Mapping[str, AttributeType],
        header: delimited.Header | None,
    ) -> None:
        self._kind = kind
        self._reading = reading
        self._texts = {name for name, each in types.items() if each in AS_WRITTEN}
        self._doubles = {name for name, each in types.items() if each is AttributeType.DOUBLE}
        self._shapes: list[Shape] = []
        self._layout: Layout | None = None
        if header is not None and header.delimiter == "," and not header.positional:
            self._add(shapes.of_csv(header.names, self._texts))

    def rows(self, lines: Lines, size: int) -> Rows | int | None:
        """The next lines, at most `size`, that have a shape; None if the next one has none.

        The number of lines instead, none of them taken, where they have to be read one by one.
        """
        if self._layout is None:
            return None
        import numpy as np

        from cerlab.io.kernels import scan
        from cerlab.io.typed import refuse_null_words, typed_rows

        data = np.frombuffer(lines.block, np.uint8)
        most = 1 + (lines.end - lines.at) // self._layout.shortest
        cells = self._layout.room(min(size, most))
        count, at = scan(data, lines.at, lines.utf_8(), self._layout.arrays, cells)
        if not count:
            return None
        kind, type_name = self._kind, type_of_all(self._reading.type_name)
        layout, doubles, lenient = self._layout, self._doubles, kind == "csv"
        try:
            rows = typed_rows(
                data, cells, count, layout, type_name, lenient=lenient, doubles=doubles
            )
            if (schema := self._reading.schema) is not None:
                if lenient:
                    refuse_null_words(data, cells, count)
                rows = declared_rows(rows, schema, lenient=lenient)
        except UndecidedCells:
            return int(count)
        lines.skip(count, at)
        return rows

    def learn(self, lines: Lines) -> bool:
        """Whether the next line has a shape that was not known."""
        if len(self._shapes) >= shapes.MAX_SHAPES or self._kind == "csv":
            return False
        if isinstance(self._reading.type_name, TypeColumn):  # which lines have under its own name
            return False
        line = lines.block[lines.at : lines.block.find(b"\n", lines.at) + 1 or lines.end]
        try:
            text = line.decode("utf-8").rstrip("\r\n")
        except UnicodeDecodeError:
            return False
        of_core = self._kind == "core"
        shape = shapes.of_core(text, self._texts) if of_core else shapes.of_json(text)
        if shape is None or shape in self._shapes:
            return False
        if "type" not in shape.names and self._reading.type_name is None:
            return False
        self._add(shape)
        return True

    def _add(self, shape: Shape) -> None:
        from cerlab.io.typed import layout

        self._shapes.append(shape)
        self._layout = layout(self._shapes)


def _until(lines: Iterator[str], enough: Callable[[], bool]) -> Iterator[str]:
    while not enough() and (line := next(lines, None)) is not None:
        yield line


def _valid_lines(lines: Iterable[str], file: str, *, strict: bool) -> Iterator[str]:
    """The lines; if `strict` what is no UTF-8, or holds NUL, is an error with its row.

    Else it is left to the readers, who know which lines are one row.
    """
    row = 0
    iterator = iter(lines)
    while True:
        row += 1
        try:
            line = next(iterator)
        except StopIteration:
            return
        except UnicodeDecodeError as error:
            raise not_utf_8(error.reason, DataPlace(file, row_of_bad_byte(file, row))) from None
        if strict and "\0" in line:
            check_text(line, DataPlace(file, row))
        yield line
