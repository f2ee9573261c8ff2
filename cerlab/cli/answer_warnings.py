"""Warnings of ``cerlab run`` about properties that the events lack, found while they pass."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterable, Iterator
from warnings import warn

from cerlab.cli.options import source_of, time_option
from cerlab.compile.pattern import AnyPattern, Pattern
from cerlab.errors import AnswerWarning
from cerlab.evaluate.missing_names import requirements_of
from cerlab.model.event import TypeColumn
from cerlab.model.stream import Stream, axis_of_options

_WHY_OPTIONS = ("language", "schema", "type", "time", "until")
"""Options of ``run`` that the suggested ``cerlab why`` repeats."""

MANY = 1 << 20
"""Warn above this many events without a window: 280 MB at 270 bytes each, measured for A ; B."""


class AnswerWarnings:
    """An observer of the events of a run, which warns after the last event."""

    def __init__(self, query: AnyPattern, arguments: argparse.Namespace) -> None:
        self._query = query
        self._arguments = arguments
        self._requirements = requirements_of(query, axis_of_options(*time_option(arguments)))
        self._some = False
        self._read = 0 if _holds_events(query) else None

    def batches(self, batches: Iterable[Stream]) -> Iterator[Stream]:
        """Yield the batches of events unchanged, and observe each."""
        for batch in batches:
            self.read(batch)
            yield batch

    def read(self, stream: Stream) -> None:
        """Observe a part of the stream, or the whole stream."""
        self._some = self._some or bool(len(stream))
        self._requirements.read(stream)
        self._count(len(stream))

    def _count(self, events: int) -> None:
        if self._read is None:
            return
        self._read += events
        if self._read > MANY:
            self._read = None  # warn once
            text = "CER0914: without WITHIN the events of all unfinished answers stay in memory"
            warn(AnswerWarning(f"{text}, and {MANY:,} were read"), stacklevel=2)

    def finish(self, answers: int | None) -> None:
        """Warn about the events of the run; `answers` is their number, None if it is unknown."""
        arguments = self._arguments
        source = source_of(arguments)
        if source.holds_columns:  # the run may have read only the columns that the query needs
            names, kind = source.column_names, arguments.type
            self._requirements.note(kind.renamed(names) if isinstance(kind, TypeColumn) else names)
        values = {name: value for name in _WHY_OPTIONS if (value := getattr(arguments, name))}
        if isinstance(values.get("type"), TypeColumn):
            values["type-column"] = values.pop("type")
        options = [f"--{name}={value}" for name, value in values.items()]
        events = ["EVENTS"] if arguments.events == ["-"] else arguments.events
        command = shlex.join(["cerlab", "why", arguments.query, *events, *options])
        if not isinstance(self._query, Pattern):
            command += " --positions .."
        self._requirements.warn(self._some, answers, f"{command} says why")


def _holds_events(query: AnyPattern) -> bool:
    """Return whether answers may stay open for ever: the query has a loop and no window."""
    if not isinstance(query, Pattern) or query.ast.window is not None:
        return False
    match query.machine_kind:
        case "automaton":
            return any(t.source == t.target for t in query.plan.vcea.Delta)
        case "registers":
            return any(t.source == t.target for t in query.registers.srt.Delta)
    return False
