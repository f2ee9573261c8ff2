"""Aggregates by end on standard input: the row of an end is out before the next wait."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, TextIO

from cerlab import io
from cerlab.cli.answer_warnings import AnswerWarnings
from cerlab.cli.options import input_options, output, time_option
from cerlab.cli.streaming import Enough, arriving
from cerlab.compile.pattern import Pattern
from cerlab.errors import BadData, TypeMismatch
from cerlab.evaluate.aggregates import Request, check_attributes
from cerlab.evaluate.running import RunningTotals
from cerlab.io.writers import csv_rows, ndjson_rows
from cerlab.model.event import Event
from cerlab.model.stream import axis_of_options


def run(query: Pattern, request: Request, arguments: argparse.Namespace) -> None:
    """Read to the end; raises `BadData` after the rows of what came before.

    An attribute that no event has had is a `UsageError` after all rows.
    """
    warnings = AnswerWarnings(query, arguments)
    axis = axis_of_options(*time_option(arguments)) or io.time_of_schema(query.schema)
    options = {"path": arguments.events, **input_options(arguments, query)}
    options["watch"] = warnings.arriving
    with output(arguments.output) as file, suppress(Enough):
        rows = _Rows(RunningTotals(query, request, axis), file, arguments)
        try:
            for event in arriving(options, rows.give_out, None):
                rows.waiting.append(event)
        except BadData:
            rows.give_out()
            raise
        rows.give_out()
        if rows.names:
            check_attributes(request, query, rows.names)
        warnings.finish(rows.count)


class _Rows:
    """The rows of the events so far, as many as are asked for."""

    def __init__(self, totals: RunningTotals, file: TextIO, arguments: argparse.Namespace) -> None:
        self.waiting: list[Event] = []
        self.names: set[str] = set()
        self.count = 0
        self._totals = totals
        self._file = file
        self._in_csv = arguments.format == "csv"
        self._limit = arguments.limit
        self._write(totals.push(()), first=True)

    def give_out(self) -> None:
        """Read the events that have come, and let the rows of their ends be seen."""
        events, self.waiting = self.waiting, []
        self.names.update(*(event.attributes for event in events))
        before = self._totals.position
        try:
            self._write(self._totals.push(events))
        except BadData as error:
            if self._totals.position != before:
                self._write(error.matches)
                raise
            self._one_by_one(events)
        except TypeMismatch:
            self._one_by_one(events)

    def _one_by_one(self, events: Iterable[Event]) -> None:
        """The same up to the event that has no total, of which nothing has been read."""
        for event in events:
            self._write(self._totals.push([event]))

    def _write(self, table: Any, *, first: bool = False) -> None:
        left = None if self._limit is None else self._limit - self.count
        table = table.slice(0, left)
        if self._in_csv:
            csv_rows([table], self._file, header=first)
        else:
            ndjson_rows([table], self._file)
        self._file.flush()
        self.count += table.num_rows
        if self.count == self._limit:
            raise Enough
