"""Schemas: which streams carry which event types with which attributes, as CREATE STREAM says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from cerlab.display import drawable


class AttributeType(Enum):
    """The declared type of an attribute; the value is its canonical name in a declaration."""

    INT = "int"
    DOUBLE = "double"
    STRING = "string"
    BOOLEAN = "boolean"
    TIMESTAMP = "timestamp"


TYPE_NAMES = {
    **{kind.value: kind for kind in AttributeType},
    "integer": AttributeType.INT,
    "long": AttributeType.INT,
    "primary_time": AttributeType.INT,
    "float": AttributeType.DOUBLE,
    "bool": AttributeType.BOOLEAN,
}
"""Every spelling of a type that declarations may use (CORE's own among them)."""


@dataclass(frozen=True, slots=True)
class AttributeDeclaration:
    """``name:type``, or ``name:type?`` where NULL is allowed."""

    name: str
    type: AttributeType
    nullable: bool = False


@dataclass(frozen=True, slots=True)
class EventDeclaration:
    """``EVENT name { attribute, .. }``."""

    name: str
    attributes: tuple[AttributeDeclaration, ...]

    def attribute(self, name: str) -> AttributeDeclaration | None:
        """The declaration of one attribute, None if there is none of that name."""
        return next((each for each in self.attributes if each.name == name), None)


@dataclass(frozen=True, slots=True)
class StreamDeclaration:
    """``CREATE STREAM name { event, .. }``."""

    name: str
    events: tuple[EventDeclaration, ...]


@drawable
@dataclass(frozen=True, slots=True)
class Schema:
    """All declarations together; the first declaration of an event type is the one that counts."""

    streams: tuple[StreamDeclaration, ...]

    def event(self, name: str, stream: str | None = None) -> EventDeclaration | None:
        """The declaration of an event type, in one stream or in any."""
        for declaration in self.streams:
            if stream in (None, declaration.name):
                for event in declaration.events:
                    if event.name == name:
                        return event
        return None

    def event_names(self) -> tuple[str, ...]:
        """The names of all declared event types."""
        return tuple(event.name for stream in self.streams for event in stream.events)

    def attributes(self) -> Iterator[AttributeDeclaration]:
        """All declared attributes of all event types."""
        return (a for stream in self.streams for event in stream.events for a in event.attributes)

    def attribute_names(self) -> tuple[str, ...]:
        """The names of all declared attributes of all event types."""
        return tuple(attribute.name for attribute in self.attributes())
