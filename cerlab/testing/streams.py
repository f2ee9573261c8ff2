"""Random streams that are biased towards answers of a formula."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TypeAlias, assert_never

from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.syntax import Formula
from cerlab.model.event import Event, Value
from cerlab.predicates import condition as cond
from cerlab.predicates import syntax as pred
from cerlab.testing.shape import ATTRIBUTES, STREAMS, TYPES, Shape, likely


def random_events(rng: Random, phi: Formula, shape: Shape = ATTRIBUTES) -> list[Event]:
    """A stream with a planted word of the formula and noise; attributes v, w, k and a time t.

    Sometimes a second word is interleaved, and then the attribute k tells the two apart.
    """
    word = _word(rng, phi, shape) if likely(rng, 0.97) else []
    first = _with_noise(rng, word, shape)
    pairs: _KeyedEvents = [
        (event, rng.choice((0, 0, 0, 1, 1.0, True, None, _ABSENT))) for event in first
    ]
    if likely(rng, 0.3):
        half = replace(shape, events=shape.events // 2 + 1)
        words = [_with_noise(rng, _word(rng, phi, half), half) for _ in range(2)]
        zero: _KeyedEvents = [(event, 0) for event in words[0]]
        one: _KeyedEvents = [(event, 1) for event in words[1]]
        pairs = _interleave(rng, zero, one)
    time = 0
    events = []
    for event, key in pairs:
        time += rng.choice((0, 1, 1, 2))
        attributes: dict[str, Value] = {**event.attributes, "t": time}
        if not isinstance(key, _Absent):
            attributes["k"] = key
        stream = event.stream or (rng.choice(STREAMS) if likely(rng, 0.3) else None)
        events.append(Event(event.type, attributes, stream))
    return events


class _Absent:
    """No attribute at all, which is not the same as one that is NULL."""


_ABSENT = _Absent()
_Key: TypeAlias = Value | _Absent
_KeyedEvents: TypeAlias = list[tuple[Event, _Key]]


def _with_noise(rng: Random, word: list[Event], shape: Shape) -> list[Event]:
    """The word, cut to the length of the shape, with noise between or around."""
    word = word[: shape.events]
    noise = rng.randrange(shape.events - len(word) + 1)
    # Contiguous patterns survive only without noise inside, so often it goes to the two ends.
    if likely(rng, 0.5):
        for _ in range(noise):
            word.insert(rng.randrange(len(word) + 1), _noise(rng, shape))
        return word
    before = [_noise(rng, shape) for _ in range(rng.randrange(noise + 1))]
    return before + word + [_noise(rng, shape) for _ in range(noise - len(before))]


def _interleave(rng: Random, first: _KeyedEvents, second: _KeyedEvents) -> _KeyedEvents:
    pairs: _KeyedEvents = []
    while first or second:
        source = first if first and (not second or likely(rng, 0.5)) else second
        pairs.append(source.pop(0))
    return pairs


def _noise(rng: Random, shape: Shape) -> Event:
    return Event(rng.choice(TYPES), _attributes(rng, shape))


def _attributes(rng: Random, shape: Shape) -> dict[str, Value]:
    values: list[Value] = [0, 1]
    if shape.rich and likely(rng, 0.3):
        values = [None, 0.5, 1.0, float("nan"), True, "a", "b"]
    attributes: dict[str, Value] = {"v": rng.choice(values)}
    if shape.rich and likely(rng, 0.5):
        attributes["w"] = rng.choice((0, 1, "a", None))
    return attributes


def _word(rng: Random, phi: Formula, shape: Shape) -> list[Event]:
    """Events in an order that the formula would read, filters met where that is easy."""
    match phi:
        case cel.Atom(R, stream):
            return [Event(R, _attributes(rng, shape), stream)]
        case cel.Not():
            return [_noise(rng, shape)]
        case cel.As(body) | cel.Project(_, body) | cel.Rename(_, _, body) | cel.Select(_, body):
            return _word(rng, body, shape)
        case cel.Filter(body, condition):
            return [_meet(rng, event, condition) for event in _word(rng, body, shape)]
        case cel.Or(left, right):
            return _word(rng, rng.choice((left, right)), shape)
        case cel.Seq() | cel.Concat() | cel.All() | cel.And():
            return _word(rng, phi.left, shape) + _word(rng, phi.right, shape)
        case cel.Unless(left, _):
            return _word(rng, left, shape)
        case cel.Plus(body) | cel.ConcatPlus(body):
            times = rng.choice((1, 1, 2, 2, 3))
            return [event for _ in range(times) for event in _word(rng, body, shape)]
        case _:
            assert_never(phi)


def _meet(rng: Random, event: Event, condition: cond.Condition) -> Event:
    """The event with a value of v that may meet the filter: one that its first constant names."""
    simple = [c for way in cond.alternatives(condition)[:2] for c in way if isinstance(c, cond.On)]
    for on in simple[:1]:
        for atom in pred.atoms(on.predicate)[:1]:
            if (
                isinstance(atom, pred.Comparison)
                and isinstance(atom.right, pred.Constant)
                and atom.left == pred.Attribute("v")
                and atom.operator in (pred.Operator.EQ, pred.Operator.GE, pred.Operator.LE)
                and likely(rng, 0.85)
            ):
                return Event(event.type, {**event.attributes, "v": atom.right.value}, event.stream)
    return event
