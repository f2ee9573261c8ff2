"""Minterms: the truth vectors of some predicates that events can have.

Atoms that compare one attribute with constants are decided exactly: on a line cut at finitely many
constants, the constants and one value from each gap realise everything that can be realised.
Other atoms (LIKE, arithmetic, two attributes) are taken as free, so that vectors may be listed that
no event has; such a minterm has no example.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import TypeAlias

from cerlab.errors import ResourceLimit
from cerlab.model.event import Event, Value
from cerlab.predicates.syntax import (
    Atom,
    Attribute,
    Between,
    Comparison,
    Complement,
    Conjunction,
    Constant,
    Disjunction,
    Everything,
    Member,
    Predicate,
    StreamIs,
    TypeIs,
    atoms,
)
from cerlab.predicates.truth import kind_of, satisfies

MAX_MINTERMS = 50_000

Truth: TypeAlias = Mapping[Atom, bool]


@dataclass(frozen=True, slots=True)
class Minterm:
    """A truth vector (bit k: ``predicates[k]`` holds) and an event that has it, if one is known."""

    symbol: int
    example: Event | None


def minterms(predicates: Sequence[Predicate]) -> tuple[Minterm, ...]:
    """All truth vectors that events can have, in a fixed order, each once.

    Raises `ResourceLimit` above `MAX_MINTERMS` combinations.
    """
    every = dict.fromkeys(atom for P in predicates for atom in atoms(P))
    groups: dict[str, list[Atom]] = {"type": []}
    free: list[Atom] = []
    for atom in every:
        attribute = _attribute_of(atom)
        if attribute is None:
            free.append(atom)
        else:
            groups.setdefault(attribute, []).append(atom)
    choices: list[list[tuple[dict[str, Value], dict[Atom, bool]]]] = []
    for name, group in groups.items():
        choices.append(_choices(name, group))
    choices += [[({}, {atom: False}), ({}, {atom: True})] for atom in free]
    if math.prod(map(len, choices)) > MAX_MINTERMS:
        raise ResourceLimit("CER0608", f"more than {MAX_MINTERMS:,} minterms")
    found: dict[int, Minterm] = {}
    for chosen in product(*choices):
        values = {name: value for part, _ in chosen for name, value in part.items()}
        truth = {atom: held for _, part in chosen for atom, held in part.items()}
        symbol = sum(1 << bit for bit, P in enumerate(predicates) if _holds(P, truth))
        found.setdefault(symbol, Minterm(symbol, None if free else _event(values)))
    return tuple(found.values())


def _attribute_of(atom: Atom) -> str | None:
    """The attribute that an atom compares with constants, None for other atoms."""
    match atom:
        case TypeIs():
            return "type"
        case StreamIs():
            return "stream"
        case Comparison(_, Attribute(name), Constant()) | Comparison(
            _, Constant(), Attribute(name)
        ):
            return name
        case Member(Attribute(name), _):
            return name
        case Between(Attribute(name), Constant() | None, Constant() | None):
            return name
        case _:
            return None


def _constants(atom: Atom) -> tuple[Value, ...]:
    match atom:
        case TypeIs(name) | StreamIs(name):
            return (name,)
        case Comparison(_, Constant(value), _) | Comparison(_, _, Constant(value)):
            return (value,)
        case Member(_, values):
            return tuple(each.value for each in values)
        case Between(_, low, high):
            return tuple(bound.value for bound in (low, high) if isinstance(bound, Constant))
        case _:
            return ()


def _choices(name: str, group: Sequence[Atom]) -> list[tuple[dict[str, Value], dict[Atom, bool]]]:
    """One value of the attribute for each truth vector of its atoms that some value has."""
    constants = [value for atom in group for value in _constants(atom)]
    found: dict[tuple[bool, ...], dict[str, Value]] = {}
    for value in representatives(constants):
        if name == "type" and not (isinstance(value, str) and value):
            continue
        if name == "stream" and not isinstance(value, str | None):
            continue
        event = _event({name: value})
        vector = tuple(satisfies(event, atom) for atom in group)
        found.setdefault(vector, {name: value})
    return [(value, dict(zip(group, vector, strict=True))) for vector, value in found.items()]


def representatives(constants: Iterable[Value]) -> tuple[Value, ...]:
    """NULL, each constant, and a value from each gap between and beyond them, of every kind.

    >>> representatives([1, 3])
    (1, 3, 2.0, 0, 4, True, False, 'other', None)
    """
    by_kind: dict[str | None, list[Value]] = {}
    for value in constants:
        by_kind.setdefault(kind_of(value), []).append(value)
    numbers = sorted({v for v in by_kind.get("number", []) if isinstance(v, int | float)})
    texts = sorted({v for v in by_kind.get("text", []) if isinstance(v, str)})
    between = [mid for low, high in pairwise(numbers) if low < (mid := _middle(low, high)) < high]
    beyond: list[Value] = [_below(numbers[0]), _above(numbers[-1])] if numbers else [0]
    gaps = [text + "\0" for text in texts]
    texts_and_gaps = ["other", *texts, *gaps, *([""] if texts else [])]
    return _once((*numbers, *between, *beyond, True, False, *texts_and_gaps, None))


def _once(values: Iterable[Value]) -> tuple[Value, ...]:
    """Each value once; 1 and TRUE are two values."""
    return tuple({(kind_of(value), value): value for value in values}.values())


def _middle(low: float, high: float) -> float:
    return low + (high - low) / 2


def _below(number: float) -> float:
    return number - 1 if number - 1 < number else math.nextafter(number, -math.inf)


def _above(number: float) -> float:
    return number + 1 if number + 1 > number else math.nextafter(number, math.inf)


def _holds(P: Predicate, truth: Truth) -> bool:
    match P:
        case Everything():
            return True
        case Conjunction(left, right):
            return _holds(left, truth) and _holds(right, truth)
        case Disjunction(left, right):
            return _holds(left, truth) or _holds(right, truth)
        case Complement(inner):
            return not _holds(inner, truth)
        case atom:
            return truth[atom]


def _event(values: Mapping[str, Value]) -> Event:
    event_type = values.get("type", "other")
    stream = values.get("stream")
    assert isinstance(event_type, str)
    assert isinstance(stream, str | None)
    rest = {name: value for name, value in values.items() if name not in ("type", "stream")}
    return Event(event_type, rest, stream)
