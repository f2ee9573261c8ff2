"""Lists of dicts as columns: their values by name, without an `Event` for each."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

from cerlab.io.rows import Rows
from cerlab.model.event import Timestamp

_PLAIN = {bool, int, float, str, Timestamp, type(None)}
_SHAPES = 256
"""The most sets of keys."""


def rows_of_dicts(dicts: Sequence[Any]) -> Rows | None:
    """The events of some dicts by columns of values, ``type`` and ``stream`` last.

    None where each has to be looked at: what is no dict, keys and values that are no text and no
    `Value` as they stand, dicts without a type, and very many sets of keys.
    """
    if not dicts or set(map(type, dicts)) != {dict}:
        return None
    shapes = dict.fromkeys(map(tuple, dicts))
    names = dict.fromkeys(name for shape in shapes for name in shape)
    if len(shapes) > _SHAPES or not all(type(name) is str for name in names):
        return None
    columns = {name: [row.get(name) for row in dicts] for name in names}
    types = columns.pop("type", [])
    streams = columns.pop("stream", [None] * len(dicts))
    if set(map(type, types)) != {str} or not all(types):
        return None
    if not set(map(type, streams)) <= {str, type(None)}:
        return None
    columns.update(type=types, stream=streams)
    if not all(set(map(type, values)) <= _PLAIN for values in columns.values()):
        return None
    try:
        for values in columns.values():
            "".join([value for value in values if type(value) is str]).encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return None
    numbers = {shape: n for n, shape in enumerate(shapes)}
    attributes = tuple(tuple(n for n in shape if n not in ("type", "stream")) for shape in shapes)
    shape = array("B", map(numbers.__getitem__, map(tuple, dicts))) if len(shapes) > 1 else None
    return Rows(columns, len(dicts), attributes, shape)
