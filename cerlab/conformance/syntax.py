"""The abstract syntax of a query as JSON, with events, for engines that do not parse CEQL.

``docs/reference/ast.md`` describes the format.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from cerlab.conformance.values import encode
from cerlab.logic.ceql.syntax import CeqlQuery
from cerlab.model.event import Duration, Event, Timestamp
from cerlab.model.stream import Stream, TimeAxis, only_timestamp
from cerlab.predicates.condition import UserPredicate

FORMAT, VERSION = "cerlab-ast", 2
"""Name of the format and its version, which is increased with each change of a node."""


def document(query: CeqlQuery, stream: Stream | None = None) -> dict[str, Any]:
    """Return a query as JSON, with the events of a stream, if given.

    Raises `BadData` for an attribute without a value.

    >>> from cerlab.logic.ceql.parser import parse_ceql
    >>> document(parse_ceql("SELECT * WHERE A+")[0])["query"]["formula"]
    {'node': 'Plus', 'body': {'node': 'Atom', 'type': 'A', 'stream': None}}
    """
    axis = None if stream is None else stream.time or only_timestamp(stream)
    return {
        "format": FORMAT,
        "version": VERSION,
        "query": tree(query),
        "time": None if axis is None else _axis(axis),
        "until": None if stream is None else encode(stream.until),
        "events": None if stream is None else [_event(event) for event in stream],
    }


def tree(part: Any) -> Any:
    """Return a part of a query as JSON; a node is an object with its name and its fields."""
    match part:
        case Timestamp() | Duration():
            return encode(part)
        case Enum():
            return part.value
        case UserPredicate():
            return part.name
        case frozenset():
            return sorted(map(tree, part))
        case tuple():
            return [tree(each) for each in part]
        case _ if is_dataclass(part):
            parts = {field.name: tree(getattr(part, field.name)) for field in fields(part)}
            return {"node": type(part).__name__, **parts}
    return encode(part)


def _axis(axis: TimeAxis) -> dict[str, Any]:
    return {
        "attribute": axis.attribute,
        "unit": None if axis.unit is None else axis.unit.name.lower(),
    }


def _event(event: Event) -> dict[str, Any]:
    values = {name: encode(event.attributes[name]) for name in event.attributes}
    return {"type": event.type, "stream": event.stream, "attributes": values}
