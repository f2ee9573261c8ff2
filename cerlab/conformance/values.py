"""Values of events, rows and tuples as JSON, without loss.

========================  ===============================================================
value                     JSON
========================  ===============================================================
NULL, Boolean, text       as it is
integer                   a number up to 2^53, beyond ``{"int": "9007199254740993"}``
double                    a number with a fraction, else ``{"double": "1.0"}``,
                          ``{"double": "NaN"}``, ``{"double": "inf"}``, ``{"double": "-inf"}``
moment                    ``{"moment": "2024-01-31T10:00:00Z"}``, to the nanosecond
duration                  ``{"duration": "PT30S"}``, to the nanosecond
list                      a list of values
========================  ===============================================================

A number that has a point or an exponent is read as a double. An absent key is a missing attribute.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from cerlab.errors import BadData
from cerlab.model.event import (
    Duration,
    Timestamp,
    duration_of_text,
    event_from_dict,
    moment_of_data,
)

EXACT = 2**53
"""Largest integer up to which every JSON reader keeps all integers distinct."""

_INTEGER = re.compile(r"-?\d+", re.ASCII)
_DOUBLE = re.compile(r"-?\d+(\.\d+)?(e[+-]?\d+)?|NaN|-?inf", re.ASCII)


def encode(value: Any) -> Any:
    """Return a value as JSON.

    Raises `BadData` for a value that no event, row or tuple holds.

    >>> encode(2**53 + 1), encode(1.0), encode(0.5), encode(Timestamp(0))
    ({'int': '9007199254740993'}, {'double': '1.0'}, 0.5, {'moment': '1970-01-01T00:00:00Z'})
    """
    match value:
        case None | bool() | str():
            return value
        case int():
            return value if abs(value) <= EXACT else {"int": str(value)}
        case float():
            # JSON has no NaN, and libraries of languages with one number type drop ".0"
            if math.isfinite(value) and not value.is_integer():
                return value
            return {"double": "NaN" if math.isnan(value) else repr(value)}
        case Timestamp():
            return {"moment": str(value)}
        case Duration():
            return {"duration": str(value)}
        case datetime() | timedelta():
            return encode(event_from_dict({"type": "E", "v": value}).attributes["v"])
        case list() | tuple():
            return [encode(each) for each in value]
    hint = "use NULL, a Boolean, text, a number, a timestamp or a duration"
    raise BadData("CER0791", f"a {type(value).__name__} has no JSON form", hint=hint)


def decode(json: Any) -> Any:
    """Return the value that JSON denotes; the inverse of `encode`.

    Raises `BadData` for JSON that does not denote a value.

    >>> decode({"double": "1.0"}), decode({"int": "-9007199254740993"}), decode([1, None])
    (1.0, -9007199254740993, [1, None])
    """
    match json:
        case None | bool() | str() | int() | float():
            return json
        case list():
            return [decode(each) for each in json]
        case {"int": str(text)} if len(json) == 1 and _INTEGER.fullmatch(text):
            return int(text)
        case {"double": str(text)} if len(json) == 1 and _DOUBLE.fullmatch(text):
            return float(text)
        case {"moment": str(text)} if len(json) == 1 and (moment := moment_of_data(text)):
            return moment
        case {"duration": str(text)} if len(json) == 1 and (span := duration_of_text(text)):
            return span
    hint = 'write an object like {"int": "1"}, {"double": "1.0"} or {"moment": "2024-01-31"}'
    raise BadData("CER0791", f"this JSON does not denote a value: {json!r}", hint=hint)


def decode_row(json: Mapping[str, Any]) -> dict[str, Any]:
    """Return the event or row that a JSON object denotes."""
    return {name: decode(value) for name, value in json.items()}
