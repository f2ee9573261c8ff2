"""Streams: finite sequences of events, with a time axis and a schema if they are known.

`cerlab.io.stream` has them as users hold them, with the ways to read files and tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from itertools import islice
from typing import Any, Self, overload

from cerlab.display import drawable
from cerlab.errors import BadData, DataPlace
from cerlab.model.clock import TimeAxis, TimeUnit, axis_of_options
from cerlab.model.columns import Columns, as_arrow
from cerlab.model.event import Event, TypeColumn, Value, event_from_dict, value_of
from cerlab.model.schema import Schema


@drawable
class Stream:
    """An immutable finite stream ``t_0 t_1 ..``; positions count from 0.

    It is events, or columns with a way to make events of them when they are asked for; the compiled
    engine reads the columns.
    """

    __slots__ = ("_columns", "_events", "_length", "_lists", "_load", "schema", "time")

    def __init__(
        self,
        events: Iterable[Event],
        *,
        time: TimeAxis | None = None,
        schema: Schema | None = None,
    ) -> None:
        self._events: tuple[Event, ...] | None = tuple(events)
        self._columns: Columns | None = None
        self._lists: Mapping[str, Sequence[Value]] | None = None  # no columns before they are used
        self._load: Callable[[], Iterable[Event]] | None = None
        self._length = len(self._events)
        self.time = time
        self.schema = schema

    @classmethod
    def from_columns(
        cls,
        columns: Mapping[str, Any],
        length: int,
        load: Callable[[], Iterable[Event]],
        *,
        time: TimeAxis | None = None,
        schema: Schema | None = None,
    ) -> Self:
        """A stream of columns that are known to hold events; `load` makes the events of them."""
        stream = cls((), time=time, schema=schema)
        made_of = Columns(columns, lambda name: as_arrow(columns[name]))
        stream._events, stream._columns, stream._load, stream._length = None, made_of, load, length
        return stream

    @property
    def events(self) -> tuple[Event, ...]:
        """The events, made of the columns when they are first asked for."""
        if self._events is None:
            assert self._load is not None
            self._events = tuple(self._load())
        return self._events

    @property
    def is_columnar(self) -> bool:
        """Whether there are columns already, so that reading them makes none of events."""
        return self._columns is not None

    def head(self, n: int) -> tuple[Event, ...]:
        """The first n events, or all if there are fewer; of columns no more are made."""
        if self._events is None:
            assert self._load is not None
            return tuple(islice(self._load(), n))
        return self._events[:n]

    @property
    def columns(self) -> Columns:
        """``type``, ``stream`` and the attributes, each of the length of the stream.

        What an event lacks is NULL. Each is Arrow, text coded, from its first use on, unless its
        values are of several types (`cerlab.model.columns`).
        """
        if self._columns is None:
            if (lists := self._lists) is not None:
                self._columns = Columns(lists, lambda name: as_arrow(lists[name]))
                return self._columns
            events = self.events
            names = dict.fromkeys(name for event in events for name in event.attributes)
            self._columns = Columns(
                (*names, "type", "stream"),
                lambda name: as_arrow([value_of(event, name) for event in events]),
            )
        return self._columns

    @classmethod
    def from_events(
        cls,
        events: Iterable[Event | Mapping[str, Any]],
        *,
        type: str | None = None,
        time: str | None = None,
        unit: str | TimeUnit | None = None,
    ) -> Self:
        """A stream of dicts with a ``type`` key (and, optionally, ``stream``), or of events.

        `type` is that of events that have none; `time` and `unit` name the time attribute. Raises
        `BadData` with the number of the event, from 1, and the key.

        >>> len(Stream.from_events([{"type": "A"}, {"type": "B", "v": 1}]))
        2
        """
        axis = axis_of_options(time, unit)
        return cls(events_of_dicts(events, type), time=axis)

    def on_time(self, axis: TimeAxis) -> Self:
        """The same events, with another time attribute."""
        stream = copy(self)
        stream.time = axis
        return stream

    @overload
    def __getitem__(self, index: int) -> Event: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: int | slice) -> Event | Self:
        if isinstance(index, slice):
            return type(self)(self.events[index], time=self.time, schema=self.schema)
        return self.events[index]

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)

    def __len__(self) -> int:
        return self._length

    def __repr__(self) -> str:
        return f"<Stream of {len(self)} events>"


def events_of_dicts(
    events: Iterable[Event | Mapping[str, Any]], type: str | None = None
) -> tuple[Event, ...]:
    """Events of dicts; `type` is that of those that have none. Raises as `Stream.from_events`."""
    return tuple(_event(each, n, type) for n, each in enumerate(events, 1))


def _event(event: Event | Mapping[str, Any], number: int, type: str | None) -> Event:
    if isinstance(event, Event):
        return event
    if isinstance(type, TypeColumn) and isinstance(event, Mapping):
        event = dict(zip(type.renamed(event), event.values(), strict=True))
    elif type is not None and isinstance(event, Mapping) and event.get("type") is None:
        event = {**event, "type": type}
    try:
        return event_from_dict(event)
    except BadData as error:
        error.place = DataPlace("the events", number, error.column)
        raise
