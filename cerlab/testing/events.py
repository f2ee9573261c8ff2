"""Random streams with answers to a formula, and the attributes that a query reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias, assert_never

from cerlab.errors import keywords_by_name
from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.syntax import Formula
from cerlab.logic.ceql.syntax import CeqlQuery, partition_attributes
from cerlab.model.clauses import AttributeWindow, TimeWindow
from cerlab.model.event import Event, Value
from cerlab.predicates import condition as cond
from cerlab.predicates import syntax as pred
from cerlab.predicates.syntax import attributes_of
from cerlab.testing.cel import DURATIONS, MOMENTS
from cerlab.testing.choices import ATTRIBUTES, STREAMS, TYPES, Choices, Shape, likely, part

COLUMNS = frozenset(("v", "w", "k", "t", "stream"))
"""Attributes of random events, and the column of their stream."""


def columns_of(query: CeqlQuery) -> frozenset[str]:
    """Return the attributes that a query reads, and "stream" if the query names streams."""
    formulas = list(cel.subformulas(query.formula))
    conditions = [each for phi in formulas for each in _conditions(phi)]
    atoms = [
        atom for on in conditions if isinstance(on, cond.On) for atom in pred.atoms(on.predicate)
    ]
    sides = [side for c in conditions if isinstance(c, cond.Correlation) for side in c.attributes]
    names = {
        *attributes_of(atoms),
        *(side.attribute for side in sides),
        *partition_attributes(query),
    }
    lengths = (query.window, query.throttle, *cel.windows(query.formula))
    if any(isinstance(each, AttributeWindow | TimeWindow) for each in lengths):
        names.add("t")
    if query.streams or any(isinstance(phi, cel.Atom) and phi.stream for phi in formulas):
        names.add("stream")
    return frozenset(names)


def _conditions(phi: Formula) -> list[cond.Atomic]:
    if not isinstance(phi, cel.Filter):
        return []
    return [each for way in cond.alternatives(phi.condition) for each in way]


@keywords_by_name
def random_events(
    rng: Choices,
    phi: Formula,
    shape: Shape = ATTRIBUTES,
    *,
    columns: frozenset[str] = COLUMNS,
    query: CeqlQuery | None = None,
) -> list[Event]:
    """Return a stream with events that match the formula, among random events.

    Its events have the `columns`: attributes v and w, a key k, a time t that never decreases, and
    the stream. Sometimes a second word is interleaved, and k distinguishes the two. FROM and
    PARTITION BY of a `query` with the formula make streams and keys of two attributes differ.

    >>> from random import Random
    >>> from cerlab.logic.ceql.parser import parse_cel
    >>> streams = [random_events(Random(seed), parse_cel("A ; B")[0]) for seed in range(9)]
    >>> any({"A", "B"} <= {event.type for event in events} for events in streams)
    True
    """
    word = _word(rng, phi, shape, columns) if likely(rng, 0.97) else []
    first = _with_noise(rng, word, shape, columns)
    pairs: _Keyed = [(event, _key(rng, shape) if "k" in columns else {}) for event in first]
    if likely(rng, 0.3):
        half = replace(shape, events=shape.events // 2 + 1)
        words = [_with_noise(rng, _word(rng, phi, half, columns), half, columns) for _ in range(2)]
        zero, one = (
            [(event, {"k": k} if "k" in columns else {}) for event in word]
            for k, word in enumerate(words)
        )
        pairs = _interleave(rng, zero, one)
    keys = () if query is None else partition_attributes(query)
    if len(keys) > 1 and likely(rng, 0.9):
        pairs = [(each, dict(zip(keys, rng.choice(_CROSSED), strict=True))) for each, _ in pairs]
    named = 0.6 if query is not None and query.streams else 0.3
    time: int | float = 0
    steps = (0, 0.1, 0.5, 1, 1.1) if shape.fractions else (0, 1, 1, 2)
    events = []
    for event, key in pairs:
        attributes = dict(event.attributes)
        if "t" in columns:
            time += rng.choice(steps)
            attributes["t"] = time
        stream = event.stream
        if stream is None and "stream" in columns and (likely(rng, named) or shape.typed):
            stream = rng.choice(STREAMS)
        events.append(Event(event.type, {**attributes, **key}, stream))
    return events


_CROSSED = ((0, 1), (0, 1), (1, 0), (1, 0), (0, 0), (0, 0), (None, 0))
"""Keys of two attributes that differ in one of them, or in their order."""

_Keyed: TypeAlias = Sequence[tuple[Event, Mapping[str, Value]]]


def _key(rng: Choices, shape: Shape) -> Mapping[str, Value]:
    """Return a random key of an event: mostly 0 or 1, NULL, or absent, which differs from NULL."""
    if shape.typed:
        return {"k": rng.choice((0, 0, 1, None))}
    keys: tuple[Value, ...] = (0, 0, 0, 1, 1.0, True, None)
    key = rng.choice((*({"k": key} for key in keys), {}))
    # the key is drawn even if it is absent, so that shrinking leaves later draws in place
    return key if not shape.sparse or likely(rng, 0.9) else {}


def _with_noise(
    rng: Choices, word: list[Event], shape: Shape, columns: frozenset[str]
) -> list[Event]:
    """Return a word with random events inside or around it, cut to the length of the shape."""
    word = word[: shape.events]
    noise = rng.randrange(shape.events - len(word) + 1)
    # contiguous patterns survive only without noise inside, so noise often goes to the ends
    if likely(rng, 0.5):
        for _ in range(noise):
            word.insert(rng.randrange(len(word) + 1), _noise(rng, shape, columns))
        return word
    before = [_noise(rng, shape, columns) for _ in range(rng.randrange(noise + 1))]
    return before + word + [_noise(rng, shape, columns) for _ in range(noise - len(before))]


def _interleave(rng: Choices, first: _Keyed, second: _Keyed) -> _Keyed:
    """Return a random interleaving of two streams."""
    pairs = []
    i = j = 0
    while i < len(first) or j < len(second):
        if i < len(first) and (j == len(second) or likely(rng, 0.5)):
            pairs.append(first[i])
            i += 1
        else:
            pairs.append(second[j])
            j += 1
    return pairs


@part
def _noise(rng: Choices, shape: Shape, columns: frozenset[str]) -> Event:
    return Event(rng.choice(TYPES), _attributes(rng, shape, columns))


def _attributes(rng: Choices, shape: Shape, columns: frozenset[str]) -> dict[str, Value]:
    if shape.typed:
        return {name: rng.choice((0, 1, None)) for name in ("v", "w") if name in columns}
    values: list[Value] = [0, 1]
    if "v" in columns and shape.rich and likely(rng, 0.3):
        values = [None, 0.5, 1.0, float("nan"), True, "a", "b"]
    spans: tuple[Value, ...] = (0, 1, "a", None)
    if shape.temporal and likely(rng, 0.8):
        values = [*MOMENTS, *MOMENTS, *DURATIONS, None]
        spans = (*DURATIONS, *DURATIONS, *MOMENTS, 1)
    attributes: dict[str, Value] = {}
    if "v" in columns and (not shape.sparse or likely(rng, 0.9)):
        attributes["v"] = rng.choice(values)
    if "w" in columns and shape.rich and likely(rng, 0.5):
        attributes["w"] = rng.choice(spans)
    return attributes


def _word(rng: Choices, phi: Formula, shape: Shape, columns: frozenset[str]) -> list[Event]:
    """Return events in an order that the formula matches, if easy with values for its filters."""
    match phi:
        case cel.Atom(R, stream):
            return [Event(R, _attributes(rng, shape, columns), stream)]
        case cel.Not():
            return [_noise(rng, shape, columns)]
        case cel.As(body) | cel.Project(_, body) | cel.Rename(_, _, body) | cel.Select(_, body):
            return _word(rng, body, shape, columns)
        case cel.Within(body) | cel.Wait(body) | cel.Lookback(body):
            return _word(rng, body, shape, columns)
        case cel.Filter(body, condition):
            return [_meet(rng, event, condition) for event in _word(rng, body, shape, columns)]
        case cel.Or(left, right):
            return _word(rng, rng.choice((left, right)), shape, columns)
        case cel.Seq() | cel.Concat() | cel.All() | cel.And():
            return _word(rng, phi.left, shape, columns) + _word(rng, phi.right, shape, columns)
        case cel.Unless(left, _):
            return _word(rng, left, shape, columns)
        case cel.Plus(body) | cel.ConcatPlus(body):
            times = rng.choice((1, 1, 2, 2, 3))
            return [event for _ in range(times) for event in _word(rng, body, shape, columns)]
        case cel.Count(body, least, most):
            times = rng.choice((least, least, least + 1 if most is None else most))
            return [event for _ in range(times) for event in _word(rng, body, shape, columns)]
        case _:
            assert_never(phi)


def _meet(rng: Choices, event: Event, condition: cond.Condition) -> Event:
    """Return the event with v set to the filter's first constant, to satisfy the filter."""
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
