"""Options of the readers of events, and rows that are set aside."""

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
    """The error that a source holds nothing at all."""
    return BadData(
        "CER0744",
        "the file is empty",
        place=DataPlace(file),
        hint="an empty stream is a header without rows",
    )


def no_records(file: str) -> UsageError:
    """Return the error that a file with an option `records` is not JSON."""
    hint = by_door(
        "leave records= out: it is for lists inside an object of JSON",
        "leave --records out: it is for lists inside an object of JSON",
    )
    return UsageError("CER0837", f"{file} is not JSON, and has no list of records", hint=hint)


class HowToRead(TypedDict, total=False):
    """Options of verbs for events that are not a stream yet.

    `type` is that of events that have none, `type_column` the column of event types; `time` and
    `unit` name the time attribute, by which `sort` orders the events, stably: positions count in
    that order; all events before `until` have come, for answers that wait: a time on the axis of
    the waits, or "end".
    """

    type: str | None
    type_column: str | None
    time: str | None
    unit: str | TimeUnit | None
    until: Until | None
    sort: bool


class HowToReadTable(HowToRead, total=False):
    """The same, and the declarations that rows are checked against."""

    schema: Schema | str | None


class HowToReadFile(HowToReadTable, total=False):
    """The same, and what a file is.

    `format` is one of `cerlab.io.formats`, where the name of the file does not tell. `quarantine`
    is a file for the rows that cannot be read, as NDJSON of their text and error, or a function
    that takes these two; without it the first such row is an error. `records` is the path of the
    list that holds the rows inside an object of JSON, such as ``Records``.
    """

    format: str | None
    records: str | None
    quarantine: Quarantine | None


def type_option(type: str | None, type_column: str | None) -> str | None:
    """Return the one option of both; raises `UsageError` if both are given."""
    if type_column is None:
        return type
    if type is None:
        return TypeColumn(type_column)
    hint = "give one of them"
    raise UsageError("CER0837", "type= and type_column= exclude each other", hint=hint)


@dataclass(frozen=True, slots=True)
class TableOptions:
    """`HowToReadTable`, its `type_column` as a `type`; an unknown keyword raises TypeError."""

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
        """Options of readers of rows; `source` is named in errors."""
        return RowReading(source, as_schema(self.schema), on_bad_row, self.type)


@dataclass(frozen=True, slots=True)
class FileOptions(TableOptions):
    """`HowToReadFile`."""

    format: str | None = None
    records: str | None = None
    quarantine: Quarantine | None = None


Quarantine: TypeAlias = AnyPath | OnBadRow
"""A file for unreadable rows, or a function called with each of them and its error."""


@contextmanager
def open_quarantine(to: Quarantine | None, sources: Iterable[AnyPath]) -> Iterator[OnBadRow | None]:
    """Open a handler that writes bad rows into a file, as NDJSON; None without a file.

    The file is there at the end, and stderr says how many there were; after an error there is none.
    Bytes that are no text are written as the lone surrogates that stand for them (``\\udce9`` for
    0xe9). Raises `UsageError` where the file is one of the sources.
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

    with whole_text(to) as file, suppress(GeneratorExit):  # of a reader that had enough
        yield on_bad_row
    if count:
        print(f"{count:,} rows could not be read; they are in {to}", file=sys.stderr)
