"""A package ``pycer`` for tests: the classes that `pycer_child` uses, by cerlab itself.

As there, windows over an attribute are strict, strategies do nothing, and the answers come back
as one text with a line for each. A query of a stream ``Refused`` is not taken, one of ``Fatal``
ends the process.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from cerlab import Event, Query, parse_query, parse_schema
from cerlab.evaluate import answers_of
from cerlab.model.clauses import AttributeWindow
from cerlab.model.event import AttributeType
from cerlab.model.stream import Stream


class PyValueTypes(Enum):
    INT64 = AttributeType.INT
    DOUBLE = AttributeType.DOUBLE
    STRING_VIEW = AttributeType.STRING


@dataclass
class PyIntValue:
    value: int


@dataclass
class PyDoubleValue:
    value: float


@dataclass
class PyStringValue:
    value: str


@dataclass
class PyEvent:
    id: int
    values: list[Any]


@dataclass
class Attribute:
    name: str
    value_type: PyValueTypes


@dataclass
class StreamDeclaration:
    id: int
    name: str
    attributes_info: list[Attribute]


@dataclass
class StreamInfo:
    events_info: list[StreamDeclaration]


class PyOfflineServer:
    def __init__(self) -> None:
        os.write(1, b"to standard output, as the package does\n")
        self.declarations: list[StreamDeclaration] = []
        self.query: Query | None = None
        self.events: list[PyEvent] = []

    def declare_stream(self, text: str) -> StreamInfo:
        (stream,) = parse_schema(text).streams
        for k, event in enumerate(stream.events):
            attributes = [Attribute(a.name, PyValueTypes(a.type)) for a in event.attributes]
            self.declarations.append(StreamDeclaration(k, event.name, attributes))
        return StreamInfo(self.declarations)

    def add_query(self, text: str) -> int:
        self.query = query = parse_query(text)
        if "Refused" in (query.ast.streams or ()):
            raise ValueError("Syntax error: Refused")
        if "Fatal" in (query.ast.streams or ()):
            os._exit(3)
        return 0

    def send_events(self, events: list[PyEvent]) -> None:
        self.events += events

    def get_output(self) -> str:
        if self.query is None:
            return ""
        window = self.query.ast.window
        assert isinstance(window, AttributeWindow)
        strict = replace(window, width=window.width - 1)
        ast = replace(self.query.ast, window=strict, strategy=None)
        query = Query(ast, source=self.query.source)
        stream = Stream(map(self.event, self.events))
        return "".join(f"{answer.positions}\n" for answer in answers_of(query, stream, "tecs"))

    def event(self, py_event: PyEvent) -> Event:
        declaration = self.declarations[py_event.id]
        names = [attribute.name for attribute in declaration.attributes_info]
        return Event(
            declaration.name, dict(zip(names, (v.value for v in py_event.values), strict=True))
        )
