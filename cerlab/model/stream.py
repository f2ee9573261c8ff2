"""Streams: finite sequences of events, with a time axis and a schema if they are known.

Reading files and Arrow tables is the work of `cerlab.io`, which registers its readers here, so
that ``Stream.read`` is where users look for it and the model imports nothing above it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from os import PathLike
from typing import Any, overload

from cerlab.display import shown
from cerlab.model.clock import TimeAxis, TimeUnit, time_axis
from cerlab.model.event import Event, event_from_dict
from cerlab.model.schema import Schema

_readers: dict[str, Callable[..., Stream]] = {}


def register_reader(name: str, reader: Callable[..., Stream]) -> None:
    """Let ``Stream.<name>`` be done by `reader`."""
    _readers[name] = reader


@shown
class Stream:
    """An immutable finite stream ``t_0 t_1 ..``; positions count from 0."""

    __slots__ = ("events", "schema", "time")

    def __init__(
        self,
        events: Iterable[Event],
        *,
        time: TimeAxis | None = None,
        schema: Schema | None = None,
    ) -> None:
        self.events = tuple(events)
        self.time = time
        self.schema = schema

    @classmethod
    def from_events(
        cls,
        events: Iterable[Event | Mapping[str, Any]],
        *,
        time: str | None = None,
        unit: str | TimeUnit | None = None,
        schema: Schema | None = None,
    ) -> Stream:
        """A stream of dicts with a ``type`` key (and, optionally, ``stream``), or of events.

        >>> len(Stream.from_events([{"type": "A"}, {"type": "B", "v": 1}]))
        2
        """
        made = (each if isinstance(each, Event) else event_from_dict(each) for each in events)
        return cls(made, time=time_axis(time, unit) if time else None, schema=schema)

    @classmethod
    def from_arrow(cls, table: Any, **options: Any) -> Stream:
        """A stream of the rows of an Arrow table with a ``type`` column; options as `read`."""
        return _readers["from_arrow"](table, **options)

    @classmethod
    def read(
        cls,
        path: str | PathLike[str],
        *,
        type: str | None = None,
        time: str | None = None,
        unit: str | TimeUnit | None = None,
        schema: Schema | str | None = None,
        **options: Any,
    ) -> Stream:
        """Read CSV, NDJSON, Parquet, Arrow IPC or CORE's text form; see `cerlab.io.read`.

        `type` is the event type of all rows where the file has no ``type`` column; `time` and
        `unit` name the time attribute; `schema` is a `Schema` or the text of its declarations.
        """
        return _readers["read"](path, type=type, time=time, unit=unit, schema=schema, **options)

    @overload
    def __getitem__(self, index: int) -> Event: ...
    @overload
    def __getitem__(self, index: slice) -> Stream: ...
    def __getitem__(self, index: int | slice) -> Event | Stream:
        if isinstance(index, slice):
            return Stream(self.events[index], time=self.time, schema=self.schema)
        return self.events[index]

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)

    def __len__(self) -> int:
        return len(self.events)

    def __repr__(self) -> str:
        return f"<Stream of {len(self)} events>"
