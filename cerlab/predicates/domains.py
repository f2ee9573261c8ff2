"""The domains of attributes, representative values, and events with these values."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple, TypeAlias, assert_never

from cerlab.budget import TRANSITION, spend
from cerlab.model.event import (
    AttributeType,
    Duration,
    Event,
    EventDeclaration,
    Schema,
    Timestamp,
    Value,
)
from cerlab.predicates import syntax as pred
from cerlab.predicates.syntax import Atom, constants, leaves_of
from cerlab.predicates.truth import evaluate, kind_of, satisfies

INT64 = range(-(2**63), 2**63)
"""Range of 64-bit integers."""

KIND_OF_TYPE = {
    **{each: each.value for each in AttributeType},
    **dict.fromkeys((AttributeType.INT, AttributeType.DOUBLE), "number"),
    AttributeType.STRING: "text",
}
"""Kind of each declared type, as `kind_of` returns it for values."""


class Domain(NamedTuple):
    """The values that an attribute may have: those of its declared type, or of every kind."""

    type: AttributeType | None = None
    nullable: bool = True


def domain_of(name: str, domains: Mapping[str, Domain]) -> Domain:
    """Return the domain of an attribute; ``type`` has texts, and ``stream`` texts or no value."""
    if name in ("type", "stream"):
        return Domain(AttributeType.STRING, name == "stream")
    return domains.get(name, Domain())


def allows(name: str, domain: Domain, value: Value) -> bool:
    """Return whether an attribute can have a value.

    >>> [allows("v", Domain(AttributeType.INT), n) for n in (1.0, 1.5, -(2**63), -(2**63) - 1)]
    [True, False, True, False]
    """
    if value is None:
        return domain.nullable
    match domain.type:
        case None:
            return True
        case AttributeType.INT:
            return is_int64(value)
        case AttributeType.DOUBLE:
            return isinstance(value, float) or kind_of(value) == "number"
        case AttributeType.STRING:
            return isinstance(value, str) and (name != "type" or value != "")
        case AttributeType.BOOLEAN:
            return isinstance(value, bool)
        case AttributeType.TIMESTAMP:
            return isinstance(value, Timestamp)
        case AttributeType.DURATION:
            return isinstance(value, Duration)
        case _:
            assert_never(domain.type)


def is_int64(value: Value) -> bool:
    """Return whether a value is a 64-bit integer, or a float that equals one."""
    if kind_of(value) != "number" or not isinstance(value, int | float):
        return False
    return is_finite(value) and int(value) == value and int(value) in INT64


def is_finite(number: float) -> bool:
    """Return whether a number is finite; some integers are too large for ``math``."""
    return isinstance(number, int) or math.isfinite(number)


def representatives(constants: Iterable[Value]) -> tuple[Value, ...]:
    """Return NULL, the constants, and values between and beyond them, of every kind.

    >>> representatives([1, 3])
    (1, 3, 2, 0, 4, True, False, 'other', None)
    """
    points = tuple(constants)
    kinds: list[AttributeType | None] = [None, AttributeType.BOOLEAN, AttributeType.STRING]
    if any(isinstance(value, Timestamp) for value in points):
        kinds.append(AttributeType.TIMESTAMP)
    if any(isinstance(value, Duration) for value in points):
        kinds.append(AttributeType.DURATION)
    return (*(value for kind in kinds for value in _of_type(kind, points)), None)


def candidates(name: str, domain: Domain, constants: Iterable[Value]) -> tuple[Value, ...]:
    """Return values of an attribute that produce every outcome of comparisons with the constants.

    >>> candidates("v", Domain(AttributeType.INT, nullable=False), [1, 2.5])
    (1, 0, 2, 3)
    """
    if domain.type is None:
        return representatives(constants)
    # an event type is not empty, so the values begin after the empty text
    points = [*constants, *([""] if name == "type" else [])]
    values = [value for value in _of_type(domain.type, points) if allows(name, domain, value)]
    return (*values, *([None] if domain.nullable else []))


def _of_type(kind: AttributeType | None, constants: Iterable[Value]) -> tuple[Value, ...]:
    """Return representatives of one type; for None, of all numbers."""
    points = tuple(constants)
    match kind:
        case None:
            return _points_and_gaps(points, _number_between)
        case AttributeType.INT:
            # add the ends of 64 bits, so that there are gaps before and after the constants
            ends = (INT64.start - 1, INT64.stop)
            return tuple(
                int(n) for n in _points_and_gaps((*points, *ends), _integer_between) if is_int64(n)
            )
        case AttributeType.DOUBLE:
            floats = [
                _nearest(n) for n in _points_and_gaps(points, _float_between) if _nearest(n) == n
            ]
            return (*floats, math.nan)
        case AttributeType.STRING:
            texts = sorted({value for value in points if isinstance(value, str)})
            gaps = [
                text_after(low, high) for low, high in pairwise([*texts, None]) if low is not None
            ]
            return tuple(dict.fromkeys(("other", *texts, *gaps, *([""] if texts else []))))
        case AttributeType.BOOLEAN:
            return (True, False)
        case AttributeType.TIMESTAMP:
            moments = [value.nanoseconds for value in points if isinstance(value, Timestamp)]
            return tuple(Timestamp(int(n)) for n in _points_and_gaps(moments, _integer_between))
        case AttributeType.DURATION:
            lengths = [value.nanoseconds for value in points if isinstance(value, Duration)]
            return tuple(Duration(int(n)) for n in _points_and_gaps(lengths, _integer_between))
        case _:
            assert_never(kind)


_Between: TypeAlias = Callable[[float | None, float | None], float | None]


def _points_and_gaps(constants: Iterable[Value], between: _Between) -> tuple[float, ...]:
    """Return the numbers among the constants, and one number in each gap and beyond."""
    line = sorted({n for n in constants if isinstance(n, int | float) and kind_of(n) == "number"})
    if not line:
        gaps = [between(None, None)]
    else:
        gaps = [between(low, high) for low, high in pairwise(line)]
        gaps += [between(None, line[0]), between(line[-1], None)]
    return (*line, *(number for number in gaps if number is not None))


def _number_between(low: float | None, high: float | None) -> float | None:
    whole = _integer_between(low, high)
    return whole if whole is not None else _float_between(low, high)


def _integer_between(low: float | None, high: float | None) -> int | None:
    """Return the integer nearest to 0 strictly between `low` and `high`, or None."""
    if low == math.inf or high == -math.inf:
        return None
    start = None if low is None or low == -math.inf else math.floor(low) + 1
    stop = None if high is None or high == math.inf else math.ceil(high) - 1
    if start is not None and stop is not None and start > stop:
        return None
    if start is not None and start > 0:
        return start
    return stop if stop is not None and stop < 0 else 0


def _float_between(low: float | None, high: float | None) -> float | None:
    """Return a float strictly between `low` and `high`, preferably round; None if impossible."""
    options: list[float] = []
    if (whole := _integer_between(low, high)) is not None:
        options.append(_nearest(whole))
    if low is not None and high is not None and is_finite(low) and is_finite(high):
        options.append(_nearest((Fraction(low) + Fraction(high)) / 2))
    if low is not None:
        near = _nearest(low)
        options.append(near if near > low else math.nextafter(near, math.inf))
    elif high is not None:
        near = _nearest(high)
        options.append(near if near < high else math.nextafter(near, -math.inf))
    inside = (n for n in options if (low is None or low < n) and (high is None or n < high))
    return next(inside, None)


def _nearest(number: float | Fraction) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def text_after(low: str, high: str | None, nth: int = 0) -> str:
    """Return a text after `low`, different for each `nth`, and before `high` if possible.

    >>> text_after("a", "b"), text_after("a", "a0", 1), text_after("a", None, 25)
    ('aa', 'a\\x00\\x00', 'az')
    >>> len(text_after("a", None, 26))
    28
    """
    if nth < 26 and (high is None or not high.startswith(low)):
        return low + chr(ord("a") + nth)
    # `low` followed by NUL characters precedes every other text that begins with `low`
    return low + "\0" * (nth + 1)


NOWHERE = Event("nowhere")
"""Event for evaluating expressions without attributes."""


class EventSet(NamedTuple):
    """A set of events: some attributes have fixed values, all others vary in their domains."""

    values: Mapping[str, Value]
    domains: Mapping[str, Domain]
    example: Mapping[str, Value]
    """Values of an example that the predicates leave open."""


def event_sets(
    schema: Schema | None, values: Mapping[str, Value], names: Sequence[str]
) -> Iterator[EventSet]:
    """Yield sets of events that together contain all events of a schema."""
    if schema is None:
        if all(allows(name, domain_of(name, {}), value) for name, value in values.items()):
            yield EventSet(values, {}, values)
        return
    every: dict[tuple[str | None, EventDeclaration], None] = {}
    for stream in schema.streams:
        for event in stream.events:
            every[stream.name, schema.event(event.name, stream.name) or event] = None
    if "stream" in names:
        for name in schema.event_names():
            if (event_read := schema.event(name)) is not None:
                every[None, event_read] = None
    for stream_name, declaration in every:
        own: dict[str, Value] = {"type": declaration.name, "stream": stream_name}
        domains = {
            each.name: Domain(each.type, each.nullable)
            for each in declaration.attributes
            if each.name not in own
        }
        absent: dict[str, Value] = {
            name: None for name in (*names, *values) if name not in domains and name not in own
        }
        if all(
            allows(name, domains[name], value)
            if name in domains
            else value == {**absent, **own}[name]
            for name, value in values.items()
        ):
            defaults = {name: candidates(name, domain, ())[0] for name, domain in domains.items()}
            declared_only = {name: value for name, value in values.items() if name in domains}
            constants = {**absent, **declared_only, **own}
            yield EventSet(constants, domains, {**defaults, **declared_only, **own})


def substituted(atom: pred.Atom, values: Mapping[str, Value]) -> pred.Atom:
    """Return an atom with the given values put in for attributes.

    >>> v, w = pred.Attribute("v"), pred.Attribute("w")
    >>> substituted(pred.Comparison(pred.Operator.EQ, v, w), {"w": 3})
    Comparison(operator=<Operator.EQ: '='>, left=Attribute(name='v'), right=Constant(value=3))
    """

    def substitute(expression: pred.Expression) -> pred.Expression:
        match expression:
            case pred.Constant():
                return expression
            case pred.Attribute(name):
                return pred.Constant(values[name]) if name in values else expression
            case pred.Computed(op, left, right):
                result: pred.Expression = pred.Computed(op, substitute(left), substitute(right))
            case pred.Negated(inner):
                result = pred.Negated(substitute(inner))
            case _:
                raise AssertionError("predicates read only one event")
        is_constant = not any(isinstance(leaf, pred.Attribute) for leaf in leaves_of(result))
        return pred.Constant(evaluate(NOWHERE, result)) if is_constant else result

    match atom:
        case pred.TypeIs(name):
            return pred.Comparison(
                pred.Operator.EQ, substitute(pred.Attribute("type")), pred.Constant(name)
            )
        case pred.StreamIs(name) if "stream" in values:
            stream = pred.Constant(name if values["stream"] is None else values["stream"])
            return pred.Comparison(pred.Operator.EQ, stream, pred.Constant(name))
        case pred.StreamIs():
            return atom
        case pred.Comparison(op, left, right):
            return pred.Comparison(op, substitute(left), substitute(right))
        case pred.Between(operand, low, high, negated):
            bounds = [None if bound is None else substitute(bound) for bound in (low, high)]
            return pred.Between(substitute(operand), bounds[0], bounds[1], negated)
        case pred.Member() | pred.Like():
            return replace(atom, operand=substitute(atom.operand))
        case _:
            assert_never(atom)


class Choice(NamedTuple):
    """A truth vector of atoms, and values of attributes with that vector; None if unknown."""

    vector: tuple[bool, ...]
    values: tuple[tuple[str, Value], ...] | None


def event_of(values: Mapping[str, Value]) -> Event:
    """Return an event with the given values, including ``type`` and ``stream``.

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
    """Return the truth vectors of atoms that compare one attribute with constants."""
    name, domain = of
    by_vector: dict[tuple[bool, ...], Choice] = {}
    for value in candidates(name, domain, constants(group)):
        spend(TRANSITION * len(group))
        event = event_of({name: value})
        vector = tuple(satisfies(event, atom) for atom in group)
        by_vector.setdefault(vector, Choice(vector, ((name, value),)))
    return tuple(by_vector.values())
