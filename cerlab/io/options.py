"""Options of the readers of events, and the handling of unreadable rows."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TypeAlias, TypedDict

from cerlab.errors import BadData, DataPlace, UsageError, by_door
from cerlab.io.conversion import OnBadRow, RowReading
from cerlab.io.output import AnyPath, refuse_same, whole_text
from cerlab.logic.ceql.parser import as_schema
from cerlab.model.event import Schema, TypeColumn
from cerlab.model.stream import TimeAxis, TimeUnit, Until, axis_of_options


def empty(file: str) -> BadData:
    """Return the error for an empty source."""
    return BadData(
        "CER0744",
        "the file is empty",
        place=DataPlace(file),
        hint="an empty stream is a header without rows",
    )


def no_records(file: str) -> UsageError:
    """Return the error for a file with the option `records` that is not JSON."""
    hint = by_door(
        "leave records= out: it is for lists inside an object of JSON",
        "leave --records out: it is for lists inside an object of JSON",
    )
    return UsageError("CER0837", f"{file} is not JSON, and has no list of records", hint=hint)


class HowToRead(TypedDict, total=False):
    """Options for events that are not a stream yet.

    `type` is the type of events without one, `type_column` the column of event types; `time` and
    `unit` name the time attribute. `sort` orders the events by it, stably; positions count in that
    order. `until` declares that all events before it have arrived, for answers that wait: a time on
    the axis of the waits, or "end".
    """

    type: str | None
    type_column: str | None
    time: str | None
    unit: str | TimeUnit | None
    until: Until | None
    sort: bool


class HowToReadTable(HowToRead, total=False):
    """The options of `HowToRead`, and a schema against which rows are checked."""

    schema: Schema | str | None


class HowToReadFile(HowToReadTable, total=False):
    """The options of `HowToReadTable`, and those of files.

    `format` is one of `cerlab.io.formats`, if the name of the file does not show it. `quarantine`
    is a file for unreadable rows, as NDJSON of their text and error, or a function of these two;
    without it the first such row raises its error. `records` is the path of the list of rows inside
    a JSON object, such as ``Records``.
    """

    format: str | None
    records: str | None
    quarantine: Quarantine | None


def type_option(type: str | None, type_column: str | None) -> str | None:
    """Return the event type from one of the two options; raises `UsageError` if both are given."""
    if type_column is None:
        return type
    if type is None:
        return TypeColumn(type_column)
    hint = "give one of them"
    raise UsageError("CER0837", "expected type= or type_column=, got both", hint=hint)


@dataclass(frozen=True, slots=True)
class TableOptions:
    """`HowToReadTable` with `type_column` turned into `type`.

    An unknown keyword raises TypeError.
    """

    type: str | None = None
    type_column: str | None = None
    time: str | None = None
    unit: str | TimeUnit | None = None
    schema: Schema | str | None = None
    until: Until | None = None
    sort: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "type", type_option(self.type, self.type_column))
        object.__setattr__(self, "type_column", None)

    @property
    def axis(self) -> TimeAxis | None:
        """The time attribute; raises as `axis_of_options`."""
        return axis_of_options(self.time, self.unit)

    def reading(self, source: str, on_bad_row: OnBadRow | None = None) -> RowReading:
        """Return the options for readers of rows, with `source` as the name in errors."""
        return RowReading(source, as_schema(self.schema), on_bad_row, self.type)


@dataclass(frozen=True, slots=True)
class FileOptions(TableOptions):
    """The options of `HowToReadFile` as a dataclass, with `type_column` turned into `type`."""

    format: str | None = None
    records: str | None = None
    quarantine: Quarantine | None = None


Quarantine: TypeAlias = AnyPath | OnBadRow
"""A file for unreadable rows, or a function that is called with each row and its error."""


@contextmanager
def open_quarantine(to: Quarantine | None, sources: Iterable[AnyPath]) -> Iterator[OnBadRow | None]:
    """Open a handler that writes bad rows to a file, as NDJSON; yield None without a file.

    After success the file exists, and stderr shows the number of rows; after an error there is no
    file. Bytes that are not text are written as lone surrogates (``\\udce9`` for 0xe9). Raises
    `UsageError` if the file is one of the sources.
    """
    if to is None or callable(to):
        yield to
        return
    for source in sources:
        refuse_same({"the quarantine": to}, {"the source": source})
    count = 0

    def on_bad_row(row: str, error: BadData) -> None:
        nonlocal count
        count += 1
        record = {"row": row.rstrip("\r\n"), "code": error.code, "error": str(error)}
        file.write(json.dumps(record, ensure_ascii=False) + "\n")

    with whole_text(to) as file, suppress(GeneratorExit):  # the reader stopped early
        yield on_bad_row
    if count:
        print(f"{count:,} rows could not be read; they are in {to}", file=sys.stderr)
