"""Saved states of runs as bytes: the format that all states share, written, read and checked here.

A state is, one part after the other:

- the length of the header in bytes, as an integer of eight bytes, little-endian;
- the header, a JSON object in ASCII, padded with spaces to a multiple of eight bytes;
- the arrays in the order of the layout, as little-endian numbers in C order, each array padded with
  zeros to a multiple of eight bytes;
- the SHA-256 of all bytes before it.

The header contains:

- ``format`` and ``version``. They come first, as in every form before this one, so that a state of
  another version is refused by name whatever else has changed.
- ``of``: a text of all that decides what the state means, such as the digest of the query.
- ``sizes``: the sizes of the arrays, by dimension. Arrays with the same dimension have one size.
- ``values``: an object of values. Null, Booleans, texts, finite doubles and integers of 64 bits are
  themselves; lists hold values; any other value is an object with one key:

  ============================  ===============================================
  ``{"hex": "ff"}``             an integer of any size
  ``{"float": "nan"}``          a double that is not finite: nan, inf, -inf
  ``{"timestamp": 1}``          nanoseconds since 1970, an integer
  ``{"duration": 1}``           nanoseconds, an integer
  ``{"ratio": [1, 3]}``         a fraction of two integers
  ``{"base64": "AA=="}``        bytes
  ``{"greatest": 1}``           a value of which the least is the greatest
  ``{"axis": ["t", "MS"]}``     a time axis: an attribute, and a unit or null
  ============================  ===============================================

A damaged state is refused. The digest is no signature: whoever can write a state can make one. No
code runs when a state is read, and nothing is allocated that is larger than its bytes. Lengths,
types of numbers and names are checked here. Whatever reads the values and arrays checks what they
mean (`engine.state_checks`), so a state cannot crash the process or read its memory. But a state
says what has happened before: it decides which answers come, and how many, and listing these takes
time and memory.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

from cerlab.engine.reference.totals import Greatest
from cerlab.engine.state_checks import expect, is_value, is_whole, reading_state
from cerlab.errors import BadData, UsageError
from cerlab.model.documents import unicode
from cerlab.model.event import Duration, Event, PartlyReadable, Timestamp
from cerlab.model.paths import has_repeated_key, with_nested
from cerlab.model.stream import TimeAxis, time_axis

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

AXIS = TimeAxis | None
"""The type of a time axis in a layout."""

Values = dict[str, Any]
Arrays = dict[str, "NDArray[Any]"]


@dataclass(frozen=True, slots=True)
class Layout:
    """The values and arrays in one kind of saved state, with their types."""

    format: str
    version: int
    values: Mapping[str, Any]
    """The values by name: their types. An integer is a number of events, from 0 on."""
    arrays: Mapping[str, str] = field(default_factory=dict)
    """The arrays by name: type and dimensions, such as ``<i8 nodes``."""


# -- bytes -------------------------------------------------------------------------------------

_WORD = 8
_DIGEST = hashlib.sha256().digest_size

_FIRST = 1024
"""The bytes at the beginning that contain the name of the format, in every version."""

_NAME = re.compile(rb'\{"format": "(cerlab-[a-z]+)", "version": (\d{1,9})[,}]')


def write(layout: Layout, of: str, values: Mapping[str, Any], arrays: Mapping[str, Any]) -> bytes:
    """Return a saved state as bytes; `of` identifies the query."""
    sizes: dict[str, int] = {}
    body: list[Any] = []
    for name, declared in layout.arrays.items():
        kind, dimensions = _declared(declared)
        array = arrays[name].astype(kind, order="C", casting="same_kind", copy=False)
        for dimension, size in zip(dimensions, array.shape, strict=True):
            if sizes.setdefault(dimension, size) != size:
                raise ValueError(f"'{name}' has another number of {dimension}")
        body += (array.reshape(-1), bytes(-array.nbytes % _WORD))
    header = {
        "format": layout.format,
        "version": layout.version,
        "of": of,
        "sizes": sizes,
        "values": {name: value_to_json(values[name]) for name in layout.values},
    }
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % _WORD)
    parts, digest = [len(text).to_bytes(_WORD, "little"), text, *body], hashlib.sha256()
    for part in parts:
        digest.update(part)
    return b"".join((*parts, digest.digest()))


def read(layout: Layout, of: str, state: bytes) -> tuple[Values, Arrays]:
    """Return the values and the arrays of a saved state; lists become tuples.

    Raises `BadData` for damaged bytes, another version, or the state of another query.
    """
    with reading_state():
        # bytes(n) with an integer n would return n zeros
        expect(isinstance(state, bytes | bytearray | memoryview), "they are no bytes")
        state = bytes(state)
        found = _NAME.search(state, 0, _FIRST)
        expect(found is not None and found[1].decode() == layout.format, "another format")
        assert found is not None
        if (version := int(found[2])) != layout.version:
            raise other_version(version, layout.version)
        content = memoryview(state)[:-_DIGEST]
        digest = hashlib.sha256(content).digest()
        expect(state[-_DIGEST:] == digest, "its digest is another one")
        begin = _WORD + int.from_bytes(content[:_WORD], "little")
        header = json.loads(state[_WORD:begin])
        if header["of"] != of:
            raise BadData(
                "CER0773",
                "this state belongs to another query, or to other options",
                hint="open the query from which the state was taken, with equal options",
            )
        expect(set(header["values"]) == set(layout.values), "the names of its values")
        values = {name: value_from_json(value) for name, value in header["values"].items()}
        for name, kind in layout.values.items():
            value = values[name]
            expect(isinstance(value, kind), f"the type of '{name}'")
            is_count = kind in (int, int | None) and value is not None
            expect(not is_count or is_whole(value), f"the number '{name}'")
        return values, _read_arrays(layout, header["sizes"], content[begin:])


def format_of(state: Any) -> str | None:
    """Return the format named in a saved state; None for other bytes."""
    is_bytes = isinstance(state, bytes | bytearray | memoryview)
    found = _NAME.search(bytes(state[:_FIRST])) if is_bytes else None
    return None if found is None else found[1].decode()


def other_version(version: int | str, expected: int) -> BadData:
    """Return the error for a saved state of another version than `expected`."""
    return BadData(
        "CER0772",
        f"a state of version {version}, this cerlab reads {expected}",
        hint="start again from the events, on Spark with a new checkpoint",
    )


def _read_arrays(layout: Layout, sizes: Mapping[str, Any], body: memoryview) -> Arrays:
    import numpy as np

    # copied, since NumPy cannot write to an array over bytes
    content, arrays, begin = bytearray(body), Arrays(), 0
    for size in sizes.values():
        # otherwise an array with many rows and no columns would pass without any bytes
        expect(is_whole(size, 0, len(body) + 1), "the sizes")
    for name, declared in layout.arrays.items():
        kind, dimensions = _declared(declared)
        shape = [sizes[dimension] for dimension in dimensions]
        array = np.frombuffer(content, kind, math.prod(shape), begin)
        expect(kind != np.bool_ or (array.view(np.uint8) <= 1).all(), f"'{name}' is not Boolean")
        arrays[name] = array.reshape(shape) if len(shape) > 1 else array
        begin += array.nbytes + -array.nbytes % _WORD
    expect(begin == len(body), "the sizes of its arrays")
    return arrays


@cache
def _declared(text: str) -> tuple[np.dtype[Any], list[str]]:
    """Return the type and the dimensions of an array in a layout, such as ``<i8 nodes``."""
    import numpy as np

    kind, *dimensions = text.split()
    return np.dtype(kind), dimensions


# -- values ------------------------------------------------------------------------------------

_LARGE = 1 << 63
"""Larger integers are hexadecimal: Python refuses to read decimals of more than 4,300 digits."""


_PLAIN = frozenset((int, float, bool, type(None)))
"""The types that are themselves in JSON and when they are read."""


def value_to_json(value: Any) -> Any:
    """Return a value as JSON; raise `BadData` for text that is not Unicode."""
    kind = type(value)
    if kind is str:
        return value if value.isascii() else unicode(value)
    if kind is int:
        return value if -_LARGE <= value < _LARGE else {"hex": format(value, "x")}
    if isinstance(value, list | tuple):
        return [value_to_json(each) for each in value]
    match value:
        case None | bool():
            return value
        case str():  # str(), because names may be of a subclass of str
            return unicode(value)
        case float():
            return float(value) if math.isfinite(value) else {"float": repr(float(value))}
        case Timestamp(nanoseconds):
            return {"timestamp": value_to_json(nanoseconds)}
        case Duration(nanoseconds):
            return {"duration": value_to_json(nanoseconds)}
        case Fraction():
            return {"ratio": [value_to_json(value.numerator), value_to_json(value.denominator)]}
        case bytes():
            return {"base64": b64encode(value).decode()}
        case Greatest():
            return {"greatest": value_to_json(value.value)}
        case TimeAxis(attribute, unit):
            return {"axis": [unicode(attribute), unit and unit.name]}
        case _:
            raise TypeError(f"expected a value of a state, got {value!r}")


def value_from_json(value: Any) -> Any:
    """Return the value of a JSON document.

    Raise TypeError, ValueError or others for invalid JSON.
    """
    kind = type(value)
    if kind is list:
        # one check for the whole list: checking 1,000 integers one by one took 17 times as long
        if _PLAIN.issuperset(map(type, value)):
            return tuple(value)
        return tuple([value_from_json(each) for each in value])
    if kind is dict:
        ((form, inner),) = value.items()
        return _FORMS[form](inner)
    if kind is str and not value.isascii():
        unicode(value)
    return value


def _integer(value: Any) -> int:
    number = value_from_json(value)
    if type(number) is not int:
        raise TypeError("expected an integer")
    return number


def _ratio(value: Any) -> Fraction:
    above, below = map(_integer, value)
    return Fraction(above, below)


def _axis(value: Any) -> TimeAxis:
    attribute, unit = map(value_from_json, value)
    expect(isinstance(attribute, str) and isinstance(unit, str | None), "a time axis")
    return time_axis(attribute, unit)


_FORMS: Mapping[str, Callable[[Any], Any]] = {
    "hex": lambda text: int(text, 16),
    "float": {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}.__getitem__,
    "timestamp": lambda value: Timestamp(_integer(value)),
    "duration": lambda value: Duration(_integer(value)),
    "ratio": _ratio,
    "base64": lambda text: b64decode(text, validate=True),
    "greatest": lambda value: Greatest(value_from_json(value)),
    "axis": _axis,
}


def event_to_values(event: Event) -> list[Any]:
    """Return an event as a list of JSON values; nested objects and lists become JSON text.

    Raises `BadData` for nested values that JSON cannot represent.
    """
    attributes = event.attributes
    if not isinstance(attributes, PartlyReadable):
        return [event.type, event.stream, [*attributes.items()]]
    nested = {name: attributes.paths.whole(name) for name in attributes.errors}
    try:
        if has_repeated_key(nested):
            raise TypeError
        text = json.dumps(nested, ensure_ascii=False)
    except TypeError:
        raise next(iter(attributes.errors.values())) from None
    return [event.type, event.stream, [*attributes.readable.items()], text]


def event_from_values(kind: Any, stream: Any, attributes: Any, nested: Any = None) -> Event:
    """Return the event encoded by `event_to_values`; raise `BadData` or others if damaged."""
    expect(isinstance(kind, str) and isinstance(stream, str | None), "an event")
    pairs = dict(attributes)
    expect(all(isinstance(name, str) for name in pairs), "an attribute")
    expect(all(map(is_value, pairs.values())), "a value")
    event = Event(kind, pairs, stream)
    if nested is None:
        return event
    expect(isinstance(nested, str), "nested values")
    objects = json.loads(nested)
    expect(isinstance(objects, dict), "nested values")
    expect(all(isinstance(value, dict | list) for value in objects.values()), "nested values")
    return with_nested(event, objects)


# -- time --------------------------------------------------------------------------------------


def axis_of_state(axis: TimeAxis | None, state_axis: TimeAxis | None) -> TimeAxis | None:
    """Return the time axis of a saved state; raise `UsageError` if the caller names another one."""
    if axis is not None and state_axis is not None and axis != state_axis:
        raise UsageError(
            "CER0777",
            f"this state measures time on {_axis_text(state_axis)}, not on {_axis_text(axis)}",
            hint="leave time= and unit= out",
        )
    return axis or state_axis


def _axis_text(time: TimeAxis) -> str:
    return f"'{time.attribute}'" + (f" in {time.unit.name.lower()}" if time.unit else "")
