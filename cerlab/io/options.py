"""How events are read: the keywords that readers of lists, tables and files take, as one value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict

from cerlab.io.conversion import OnBadRow, Reading
from cerlab.io.quarantine import Quarantine
from cerlab.logic.ceql.parser import as_schema
from cerlab.model.clock import TimeAxis, TimeUnit, axis_of_options
from cerlab.model.schema import Schema


class HowToRead(TypedDict, total=False):
    """What verbs take beside events that are no stream yet.

    `type` is that of events that have none; `time` and `unit` name the time attribute.
    """

    type: str | None
    time: str | None
    unit: str | TimeUnit | None


class HowToReadTable(HowToRead, total=False):
    """The same, and the declarations that rows are checked against."""

    schema: Schema | str | None


class HowToReadFile(HowToReadTable, total=False):
    """The same, and what a file is.

    `format` is one of `cerlab.io.formats`, where the name of the file does not tell. `quarantine`
    is a file for the rows that cannot be read, as NDJSON of their text and error, or a function
    that takes these two; without it the first such row is an error.
    """

    format: str | None
    quarantine: Quarantine | None


@dataclass(frozen=True, slots=True)
class TableOptions:
    """`HowToReadTable`; a keyword that is none of its own raises TypeError."""

    type: str | None = None
    time: str | None = None
    unit: str | TimeUnit | None = None
    schema: Schema | str | None = None

    @property
    def axis(self) -> TimeAxis | None:
        """The time attribute; raises as `axis_of_options`."""
        return axis_of_options(self.time, self.unit)

    def reading(self, source: str, on_bad_row: OnBadRow | None = None) -> Reading:
        """What readers of rows take; `source` is named in errors."""
        return Reading(source, as_schema(self.schema), on_bad_row, self.type)


@dataclass(frozen=True, slots=True)
class FileOptions(TableOptions):
    """`HowToReadFile`."""

    format: str | None = None
    quarantine: Quarantine | None = None
