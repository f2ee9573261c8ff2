"""Partition keys: tuples of values under the equality of DESIGN 3.3."""

from __future__ import annotations

from typing import TypeAlias

from cerlab.model.event import Event, Value, value_of
from cerlab.predicates.truth import kind_of

Key: TypeAlias = tuple[tuple[str, Value], ...]


def partition_key(event: Event, attributes: tuple[str, ...]) -> Key | None:
    """The key of an event, None if an attribute is missing, NULL or NaN (it is in no substream).

    Two keys are equal exactly if each pair of values compares equal: 1 and 1.0 do, 1 and TRUE
    do not.

    >>> partition_key(Event("A", {"k": 1}), ("k",)) == partition_key(Event("A", {"k": 1.0}), ("k",))
    True
    """
    key = []
    for attribute in attributes:
        value = value_of(event, attribute)
        kind = kind_of(value)
        if kind is None:
            return None
        key.append((kind, value))
    return tuple(key)
