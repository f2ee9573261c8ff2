"""CSV, with a header; and CORE's csv, whose columns a declaration names.

With a ``type`` column (or one event type for all rows) the header names the attributes. Without
one, and with a schema, the file is CORE's: the first field is the event type, the others are its
attributes in the order of their declaration, and the first line is skipped unless it begins with
a declared event type.

Cells are apart by commas; by semicolons, tabs or bars where the header has no comma and has those.
Lines before the header that begin with ``#`` are comments, unless one is the header itself.

An empty cell is NULL. Without a schema each cell is read by itself: integer, decimal, TRUE, FALSE,
NULL, else text; so a column of numbers with one word in it stays what it is, cell by cell.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import NamedTuple

from cerlab.errors import BadData
from cerlab.io.conversion import (
    Place,
    Reading,
    check_text,
    convert,
    declared_event,
    duplicate_column,
    infer,
    no_type,
    no_type_column,
    typed_event,
)
from cerlab.io.sources import empty
from cerlab.model.event import AttributeType, Event, TypeColumn, Value, type_of_all

csv.field_size_limit(1 << 27)


class Header(NamedTuple):
    """The names of the columns, and how to read the rows below."""

    names: tuple[str, ...]
    positional: bool
    """Whether a row is an event type and its attributes in the order of their declaration."""
    begins: tuple[int, list[str]] | None = None
    """The row that stands where a header would be, and its number."""
    delimiter: str = ","


def read_lines(lines: Iterable[str], reading: Reading) -> Iterator[Event]:
    """The events of a CSV text; raises `BadData` with file, row (the line) and column."""
    counter = _LineCounter(lines)
    header = read_header(counter, reading)
    yield from read_rows(counter, header, reading, before=counter.number)


class _LineCounter:
    """Lines, and how many were taken."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = iter(lines)
        self.number = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        self.number += 1
        return line


def read_header(lines: Iterable[str], reading: Reading) -> Header:
    """The header of a CSV text, without the lines below it; raises as `read_lines`."""
    file, schema, type_name = reading.file, reading.schema, reading.type_name
    type_column = type_name if isinstance(type_name, TypeColumn) else "type"
    row, first, delimiter = _header_line(iter(lines), type_column)
    again = chain([first], lines)
    strict = Reading(file)
    header: list[str] = next(_rows(again, strict, before=row - 1, delimiter=delimiter), (0, []))[1]
    if not header:
        raise empty(file)
    check_text("".join(header), reading.place(row))
    header = [name.strip() for name in header]
    if isinstance(type_name, TypeColumn):
        if type_name not in header:
            raise no_type_column(type_name, header, reading.place(row))
        header = type_name.renamed(header)
    elif "type" not in header and type_name is None:
        if schema is None:
            raise no_type(header, reading.place(row))
        is_row = schema.event(header[0]) is not None
        return Header(tuple(header), True, (row, header) if is_row else None, delimiter)
    if len(set(header)) < len(header):
        raise duplicate_column(header, file, row)
    return Header(tuple(header), False, None, delimiter)


def _header_line(lines: Iterator[str], type_column: str) -> tuple[int, str, str]:
    """The number of the line with the header, its text, and what its cells are apart by.

    A comment with a cell that is `type_column` is the header.
    """
    for row, line in enumerate(lines, start=1):
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
    return 1, "", ","


def read_rows(
    lines: Iterable[str],
    header: Header,
    reading: Reading,
    *,
    before: int = 0,
    enough: Callable[[], bool] = lambda: False,
) -> Iterator[Event]:
    """The events of the lines below a header, after `before` lines; until there are `enough`.

    That is asked after each row, which may have several lines. Raises as `read_lines`.
    """
    first = [header.begins] if header.begins else []
    apart = header.delimiter
    rows = _rows(lines, reading, before=before, enough=enough, delimiter=apart)
    for row, cells in chain(first, rows):
        try:
            reading.check("".join(cells), row)
            if header.positional:
                yield _event_by_position(cells, reading, row)
            else:
                yield _event_by_header(header.names, cells, reading, row)
        except BadData as error:
            reading.reject(apart.join(cells), error)


def _rows(
    lines: Iterable[str],
    reading: Reading,
    *,
    before: int = 0,
    enough: Callable[[], bool] = lambda: False,
    delimiter: str = ",",
) -> Iterator[tuple[int, list[str]]]:
    """The lines where rows begin, and their cells; bad rows go to `on_bad_row`."""
    row_lines: list[str] = []
    source = lines if reading.on_bad_row is None else _recording(lines, row_lines)
    reader = csv.reader(source, strict=True, delimiter=delimiter)
    line = before + 1
    while not enough():
        row_lines.clear()
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            bad = BadData(
                "CER0737",
                f"this is no CSV: {error}",
                place=reading.place(line),
                hint="a quote inside quotes is written twice",
            )
            bad.__suppress_context__ = True
            reading.reject("".join(row_lines), bad)
        else:
            if cells:
                yield line, cells
        line = before + reader.line_num + 1


def _recording(lines: Iterable[str], record: list[str]) -> Iterator[str]:
    for line in lines:
        record.append(line)
        yield line


def _check_length(cells: Sequence[str], names: Sequence[str], reading: Reading, row: int) -> None:
    if len(cells) < len(names):
        raise BadData(
            "CER0738",
            f"the row is cut short: {len(cells)} cells for {len(names)} columns",
            place=reading.place(row, names[len(cells)]),
            hint="a missing value is an empty cell, with its comma",
        )
    if len(cells) > len(names):
        raise BadData(
            "CER0739",
            f"the row is too long: {len(cells)} cells for {len(names)} columns",
            place=reading.place(row),
            hint="quote cells that hold a comma",
        )


def _event_by_position(cells: list[str], reading: Reading, row: int) -> Event:
    assert reading.schema is not None
    declaration = declared_event(reading.schema, cells[0].strip(), None, lambda: reading.place(row))
    names = [attribute.name for attribute in declaration.attributes]
    _check_length(cells, ["type", *names], reading, row)
    raw = dict(zip(names, cells[1:], strict=True))
    return _declared_event(declaration.name, None, raw, reading, row)


def _event_by_header(header: Sequence[str], cells: list[str], reading: Reading, row: int) -> Event:
    _check_length(cells, header, reading, row)
    raw = dict(zip(header, cells, strict=True))
    event_type = raw.pop("type", "") or type_of_all(reading.type_name)
    if not event_type:
        raise BadData(
            "CER0701",
            "the event has no type",
            place=reading.place(row, "type"),
            hint="use --type NAME for those rows, or --quarantine FILE to go on without them",
        )
    stream = raw.pop("stream", "") or None
    if reading.schema is not None:
        return _declared_event(event_type, stream, raw, reading, row)
    attributes = {n: infer(cell, partial(reading.place, row, n)) for n, cell in raw.items()}
    return Event(event_type, attributes, stream)


def _declared_event(
    event_type: str, stream: str | None, raw: dict[str, str], reading: Reading, row: int
) -> Event:
    return typed_event(event_type, stream, raw, _value_of, reading, row, column="type", blank="")


def _value_of(cell: str, kind: AttributeType, place: Place) -> Value:
    return None if cell == "" else convert(cell.strip(), kind, place)
