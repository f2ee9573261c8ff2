"""Choices: a truth vector of some atoms and values of their attributes that give it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cerlab.budget import TRANSITION, spend
from cerlab.model.event import Event, Value
from cerlab.predicates.domains import Domain
from cerlab.predicates.mentions import constants
from cerlab.predicates.representatives import candidates
from cerlab.predicates.syntax import Atom
from cerlab.predicates.truth import satisfies


class Choice(NamedTuple):
    """A truth vector of some atoms and the values that give it, None if no values are known."""

    vector: tuple[bool, ...]
    values: tuple[tuple[str, Value], ...] | None


def event_of(values: Mapping[str, Value]) -> Event:
    """The event with these values; ``type`` and ``stream`` name those two.

    >>> event_of({"stream": "S", "v": 1})
    Event(type='other', attributes={'v': 1}, stream='S')
    """
    event_type = values.get("type", "other")
    stream = values.get("stream")
    assert isinstance(event_type, str)
    assert isinstance(stream, str | None)
    rest = {name: value for name, value in values.items() if name not in ("type", "stream")}
    return Event(event_type, rest, stream)


def by_representatives(group: Sequence[Atom], of: tuple[str, Domain]) -> tuple[Choice, ...]:
    """The choices of atoms that compare one attribute with constants."""
    name, domain = of
    by_vector: dict[tuple[bool, ...], Choice] = {}
    for value in candidates(name, domain, constants(group)):
        spend(TRANSITION * len(group))
        event = event_of({name: value})
        vector = tuple(satisfies(event, atom) for atom in group)
        by_vector.setdefault(vector, Choice(vector, ((name, value),)))
    return tuple(by_vector.values())
