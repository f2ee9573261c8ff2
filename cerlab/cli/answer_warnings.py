"""The warnings on standard error after the last event: names that none has, no answers."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterable, Iterator

from cerlab import io
from cerlab.compile.pattern import AnyPattern, Pattern
from cerlab.errors import CerlabError
from cerlab.evaluate.requirements import requirements_of
from cerlab.io.sources import is_pipe
from cerlab.model.event import Event, TypeColumn
from cerlab.model.stream import Stream

_WHY_OPTIONS = ("language", "schema", "type", "time")
"""Options that the question why is to be asked with too."""


class AnswerWarnings:
    """Looks at the events of a run as they pass; silent before their end."""

    def __init__(self, query: AnyPattern, arguments: argparse.Namespace) -> None:
        self._query = query
        self._arguments = arguments
        self._requirements = requirements_of(query)
        self._some = False

    def batches(self, batches: Iterable[Stream]) -> Iterator[Stream]:
        """The same batches."""
        for batch in batches:
            self.read(batch)
            yield batch

    def read(self, stream: Stream) -> None:
        """Read a part of the stream, or all of it."""
        self._some = self._some or bool(len(stream))
        self._requirements.read(stream)

    def arriving(self, events: Iterator[Event]) -> Iterator[Event]:
        """The same events, one by one."""
        for event in self._requirements.observing(events):
            self._some = True
            yield event
            break
        yield from self._requirements.observing(events)

    def finish(self, answers: int | None) -> None:
        """Say what there is to say; all events were read. None for answers that nobody counted."""
        arguments = self._arguments
        if self._requirements.attributes and not is_pipe(arguments.events):
            self._all_names(arguments.events)
        values = {name: value for name in _WHY_OPTIONS if (value := getattr(arguments, name))}
        if isinstance(values.get("type"), TypeColumn):
            values["type-column"] = values.pop("type")
        options = [f"--{name}={value}" for name, value in values.items()]
        events = "EVENTS" if arguments.events == "-" else arguments.events
        command = shlex.join(["cerlab", "why", arguments.query, events, *options])
        if not isinstance(self._query, Pattern):
            command += " --positions .."
        self._requirements.warn(self._some, answers, f"{command} says why")

    def _all_names(self, path: str) -> None:
        """Note the names of all columns, of which the needed ones alone may have been read."""
        try:
            first = next(io.batches(path, type=self._arguments.type, size=1), None)
        except CerlabError:
            return  # the rows that could be read were
        if first is not None:
            self._requirements.note(first.columns)
