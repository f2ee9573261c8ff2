"""Values of events as plain JSON and back, exact for each of them.

    null    true    false    "text"    {"int": 3}    {"float": 1.5}    {"timestamp": 0}

Numbers say which kind they are: 1, 1.0 and TRUE are three values, and JSON tools turn 1.0 into
1. Integers beyond 2^53, which such tools would round, are texts of digits; the floats that JSON
lacks are ``"nan"``, ``"inf"`` and ``"-inf"``; a timestamp counts nanoseconds since 1970.
"""

from __future__ import annotations

import math
import re
from typing import Any, assert_never

from cerlab.errors import ResourceLimit
from cerlab.model.event import Timestamp, Value
from cerlab.model.json_document import JsonNode, unicode

MAX_DIGITS = 4300
"""The longest integer that is written or read; Python's own limit for integers as text."""

_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def value_to_json(value: Value) -> Any:
    """A value of an event as JSON, exactly.

    Raises `ResourceLimit` above `MAX_DIGITS`, `BadData` for text that is not Unicode.

    >>> value_to_json(2.0), value_to_json(2**60)
    ({'float': 2.0}, {'int': '1152921504606846976'})
    """
    match value:
        case None | bool():
            return value
        case str():
            return unicode(value)
        case int():
            return {"int": _integer_json(value)}
        case float():
            return {"float": value if math.isfinite(value) else repr(value)}
        case Timestamp(nanoseconds):
            return {"timestamp": _integer_json(nanoseconds)}
        case _:
            assert_never(value)


def _integer_json(value: int) -> int | str:
    if abs(value) <= 2**53:
        return value
    if abs(value) >= 10**MAX_DIGITS:
        raise ResourceLimit(
            "CER0661",
            f"an integer has more than {MAX_DIGITS:,} digits",
            hint="no value of an event is so large",
        )
    return str(value)


def value_from_json(value: Any, path: str = "$") -> Value:
    """The value again; raises `BadData` with its place in the document."""
    return value_at(JsonNode(value, path))


def value_at(node: JsonNode) -> Value:
    """The value that a part of a document is; raises `BadData` at its path."""
    value = node.value
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return node.text()
    if len(node.of(dict)) == 1:
        match next(iter(value)):
            case "int":
                return _integer(node.key("int"))
            case "float":
                return _float(node.key("float"))
            case "timestamp":
                return Timestamp(_integer(node.key("timestamp")))
    raise node.error("CER0752", "a number has one of the keys 'int', 'float', 'timestamp'")


def _integer(node: JsonNode) -> int:
    if not isinstance(node.value, str):
        return node.of(int)
    if len(node.value) > MAX_DIGITS + 1 or not re.fullmatch("-?[0-9]+", node.value):
        raise node.error("CER0755", f"{node.value[:40]!r} is no integer of {MAX_DIGITS:,} digits")
    return int(node.value)


def _float(node: JsonNode) -> float:
    if isinstance(node.value, str):
        return node.one_of(_FLOATS, "float")
    try:
        value = float(node.of(int)) if type(node.value) is int else node.of(float)
    except OverflowError:
        value = math.inf
    if not math.isfinite(value):
        raise node.error(
            "CER0755", "the float needs more than 64 bits", "write 'nan', 'inf', '-inf'"
        )
    return value
