"""Rows of a file in typed columns, as they come: what streams are put together from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeAlias, TypeVar

from cerlab.errors import BadData
from cerlab.model.columns import Column, as_arrow, concat_columns, values_of
from cerlab.model.event import Event, Schema, value_of
from cerlab.model.stream import Stream, TimeAxis


class UndecidedCells(Exception):
    """Some cells are for the reader of single rows: it knows what they are, or what is wrong."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Events by columns: ``type``, perhaps ``stream``, and attributes."""

    columns: dict[str, Column]
    count: int
    names: tuple[tuple[str, ...], ...]
    """The attributes that the events of each shape have, in order."""
    shape: Any = None
    """The shape of each event, uint8; None where there is one."""

    def events(self) -> Iterator[Event]:
        """The events."""
        values: dict[str, Any] = {
            name: column if isinstance(column, list) else values_of(column, name)
            for name, column in self.columns.items()
        }
        nothing = [None] * self.count
        types, streams = values["type"], values.get("stream", nothing)
        if self.shape is None:
            (names,) = self.names
            rows = zip(*(values[name] for name in names), strict=True) if names else nothing
            for kind, stream, row in zip(types, streams, rows, strict=True):
                yield Event(kind, dict(zip(names, row or (), strict=True)), stream)
            return
        for n, s in enumerate(self.shape.tolist()):
            yield Event(types[n], {name: values[name][n] for name in self.names[s]}, streams[n])


Part: TypeAlias = Rows | list[Event]
"""Some events, one after the other."""


def length(part: Part) -> int:
    """How many events there are in a part."""
    return part.count if isinstance(part, Rows) else len(part)


def events_of(part: Part) -> Iterable[Event]:
    """The events of a part."""
    return part.events() if isinstance(part, Rows) else part


def batched(events: Iterator[Event], size: int) -> Iterator[list[Event]]:
    """Lists of `size` events and a shorter last one; an error comes after the events before it."""
    while True:
        part: list[Event] = []
        try:
            for event in islice(events, size):
                part.append(event)
        except BadData:
            if part:
                yield part
            raise
        if not part:
            return
        yield part


def part_groups(parts: Iterable[Part], size: int) -> Iterator[list[Part]]:
    """Parts together, `size` events at most; an error comes after the events before it."""
    group: list[Part] = []
    count = 0
    iterator = iter(parts)
    while True:
        try:
            part = next(iterator, None)
        except BadData:
            if group:
                yield group
            raise
        if group and (part is None or count + length(part) > size):
            yield group
            group, count = [], 0
        if part is None:
            return
        group.append(part)
        count += length(part)


S = TypeVar("S", bound=Stream)


def stream_of(
    parts: Sequence[Part], axis: TimeAxis | None, schema: Schema | None, kind: type[S]
) -> S:
    """The stream of all events of some parts."""
    if all(isinstance(part, list) for part in parts):
        events = (event for part in parts if isinstance(part, list) for event in part)
        return kind(events, time=axis, schema=schema)

    def load() -> Iterator[Event]:
        for part in parts:
            yield from events_of(part)

    names = dict.fromkeys(name for part in parts for name in _names(part))
    columns = {name: concat_columns([_of(part, name) for part in parts]) for name in names}
    return kind.from_columns(columns, sum(map(length, parts)), load, time=axis, schema=schema)


def _names(part: Part) -> Iterable[str]:
    if isinstance(part, Rows):
        return part.columns
    names = dict.fromkeys(name for event in part for name in event.attributes)
    streams = ("stream",) if any(event.stream is not None for event in part) else ()
    return ["type", *streams, *names]


def _of(part: Part, name: str) -> Column:
    if isinstance(part, list):
        return as_arrow([value_of(event, name) for event in part])
    if name in part.columns:
        return part.columns[name]
    import pyarrow as pa

    return pa.nulls(part.count)
