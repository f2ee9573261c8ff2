"""Random formulas of CEL and FO-CEL, random queries, and streams with answers to them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from typing import TypeAlias, assert_never

from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.syntax import Formula
from cerlab.logic.ceql.syntax import CeqlQuery, SelectItem
from cerlab.logic.focel.scope import unscoped_variable
from cerlab.model.clauses import AttributeWindow, Consume, EventWindow, Limit, Strategy, TimeWindow
from cerlab.model.event import Event, Value
from cerlab.predicates import condition as cond
from cerlab.predicates import syntax as pred
from cerlab.predicates.condition import Correlation, LabelAttribute, On
from cerlab.predicates.syntax import Operator

TYPES = ("A", "B", "C")


LABELS = ("x", "y")


STREAMS = ("S", "T")


@dataclass(frozen=True, slots=True)
class Shape:
    """How large and how varied the random things are."""

    depth: int = 3
    events: int = 6
    rich: bool = True
    """Whether predicates go beyond ``v = 0`` and ``v = 1``, and values beyond 0 and 1."""
    family: bool = False
    """Whether formulas have AND, ALL, UNLESS, strategies and comparisons between labels too."""


SMALL = Shape(rich=False)
"""The small alphabet: three types and one attribute v that is 0 or 1."""


ATTRIBUTES = Shape()
"""Attributes v and w of every kind of value, missing and NULL too; predicates of every kind."""


def likely(rng: Random, probability: float) -> bool:
    """True with that probability; a generator whose draws shrink to 0 says no."""
    return rng.random() >= 1 - probability


def random_condition(rng: Random, labels: list[str], shape: Shape) -> cond.Condition:
    """A filter over some labels: predicates, AND, OR."""
    if not likely(rng, 0.3):
        return cond.On(rng.choice(labels), random_predicate(rng, shape))
    left, right = (random_condition(rng, labels, shape) for _ in range(2))
    return pred.And(left, right) if likely(rng, 0.4) else pred.Or(left, right)


def random_predicate(rng: Random, shape: Shape) -> pred.Predicate:
    """A predicate over the attributes v and w."""
    if not likely(rng, 0.4) or not shape.rich:
        return pred.Comparison(
            rng.choice([pred.Operator.EQ, pred.Operator.EQ, pred.Operator.NE, pred.Operator.GE]),
            pred.Attribute("v"),
            pred.Constant(rng.choice((0, 1))),
        )
    v = pred.Attribute(rng.choice(("v", "v", "w")))
    match rng.randrange(9):
        case 0:
            return pred.Not(random_predicate(rng, shape))
        case 1:
            return pred.And(random_predicate(rng, shape), random_predicate(rng, shape))
        case 2:
            return pred.Or(random_predicate(rng, shape), random_predicate(rng, shape))
        case 3:
            values = rng.choice(((0, 1), (1,), (True,), ("a",)))
            return pred.Member(v, tuple(map(pred.Constant, values)), likely(rng, 0.3))
        case 4:
            bounds = rng.choice(((0, 1), (1, None), (None, 0)))
            low, high = (None if b is None else pred.Constant(b) for b in bounds)
            return pred.Between(v, low, high, likely(rng, 0.3))
        case 5:
            return pred.Like(v, rng.choice(("a", "^b", "[ab]$")))
        case 6:
            other = pred.Attribute("w")
            return pred.Comparison(rng.choice(list(pred.Operator)), v, other)
        case 7:
            total = pred.Computed(rng.choice(list(pred.Arithmetic)), v, pred.Constant(1))
            return pred.Comparison(rng.choice(list(pred.Operator)), total, pred.Constant(1))
        case _:
            constant = pred.Constant(rng.choice((0, 0.5, 1.0, True, "a", "b")))
            return pred.Comparison(rng.choice(list(pred.Operator)), v, constant)


_KINDS = (
    *("seq", "seq", "concat", "or", "plus", "plus", "star"),
    *("as", "as", "filter", "filter", "project", "rename"),
)


_FAMILY = ("and", "all", "unless", "select", "correlation")


def random_formula(rng: Random, shape: Shape = ATTRIBUTES) -> Formula:
    """A formula: the operators of CORE Table 2, NOT, ``:``, ``:+``, RENAME; with `family` all."""
    if shape.depth == 0 or not likely(rng, 0.85):
        return _leaf(rng, shape)
    smaller = replace(shape, depth=shape.depth - 1)
    match rng.choice((*_KINDS, *_FAMILY) if shape.family else _KINDS):
        case "and":
            left = random_formula(rng, smaller)
            # Two unrelated formulas have no valuation in common.
            right = cel.Or(left, random_formula(rng, smaller))
            return cel.And(left, right)
        case "all":
            return cel.All(random_formula(rng, smaller), random_formula(rng, smaller))
        case "unless":
            return cel.Unless(random_formula(rng, smaller), random_formula(rng, smaller))
        case "select":
            return cel.Select(rng.choice(list(Strategy)), random_formula(rng, smaller))
        case "correlation":
            x, y = (cel.As(random_formula(rng, smaller), label) for label in "xy")
            op = rng.choice(list(pred.Operator))
            here, there = (cond.LabelAttribute(label, rng.choice("vvw")) for label in "xy")
            return cel.Filter(cel.Seq(x, y), cond.Correlation(op, here, there))
        case "rename":
            body = random_formula(rng, smaller)
            old = rng.choice(sorted(cel.defined_labels(body)) or ["A"])
            return cel.Rename(old, rng.choice((*LABELS, "A")), body)
        case "seq":
            return cel.Seq(random_formula(rng, smaller), random_formula(rng, smaller))
        case "concat":
            return cel.Concat(random_formula(rng, smaller), random_formula(rng, smaller))
        case "or":
            return cel.Or(random_formula(rng, smaller), random_formula(rng, smaller))
        case "plus":
            return cel.Plus(random_formula(rng, smaller))
        case "star":
            return cel.ConcatPlus(random_formula(rng, smaller))
        case "as":
            return cel.As(random_formula(rng, smaller), rng.choice(LABELS))
        case "filter":
            body = random_formula(rng, smaller)
            labels = sorted(cel.defined_labels(body)) or ["A"]
            if likely(rng, 0.1):
                labels.append(rng.choice(LABELS))
            return cel.Filter(body, random_condition(rng, labels, shape))
        case _:
            body = random_formula(rng, smaller)
            labels = sorted(cel.defined_labels(body))
            projection = frozenset(label for label in labels if likely(rng, 0.5))
            return cel.Project(projection, body)


def _leaf(rng: Random, shape: Shape) -> Formula:
    atom = cel.Atom(rng.choice(TYPES), rng.choice(STREAMS) if likely(rng, 0.05) else None)
    if likely(rng, 0.1):
        body: Formula = atom
        if likely(rng, 0.6):
            body = cel.Filter(atom, random_condition(rng, [atom.type], shape))
        return cel.Not(body)
    return atom


VARIABLES = ("x", "y", "z")


def random_fo_formula(rng: Random, shape: Shape = SMALL, *, binary: bool = False) -> Formula:
    """A scoped well-formed formula (erratum E4); with `binary` it may compare two variables."""
    while True:
        phi = _draw(rng, shape, shape.depth, binary=binary)
        if unscoped_variable(phi) is None:
            return phi


def any_fo_formula(rng: Random, shape: Shape = SMALL, *, binary: bool = False) -> Formula:
    """The same without asking for scopes."""
    return _draw(rng, shape, shape.depth, binary=binary)


def _draw(rng: Random, shape: Shape, depth: int, *, binary: bool) -> Formula:
    if depth == 0 or not likely(rng, 0.95):
        return cel.As(cel.Atom(rng.choice("AB")), rng.choice(VARIABLES))

    def smaller() -> Formula:
        return _draw(rng, shape, depth - 1, binary=binary)

    match rng.choice(("seq", "seq", "or", "plus", "filter", "filter")):
        case "or":
            return cel.Or(smaller(), smaller())
        case "seq":
            return cel.Seq(smaller(), smaller())
        case "plus":
            return cel.Plus(smaller())
        case _:
            body, x, y = smaller(), rng.choice(VARIABLES), rng.choice(VARIABLES)
            if binary and x != y and likely(rng, 0.3):
                sides = (LabelAttribute(x, "v"), LabelAttribute(y, "v"))
                return cel.Filter(body, Correlation(Operator.EQ, *sides))
            return cel.Filter(body, On(x, random_predicate(rng, shape)))


def random_query(rng: Random, shape: Shape = ATTRIBUTES) -> CeqlQuery:
    """A formula under random clauses; every clause that is there may also be absent."""
    formula = random_formula(rng, shape)
    query = CeqlQuery(formula)
    if likely(rng, 0.25):
        labels = sorted(cel.defined_labels(formula))
        query = replace(query, items=tuple(SelectItem(x) for x in labels if likely(rng, 0.5)))
    if likely(rng, 0.2):
        query = replace(query, strategy=rng.choice(list(Strategy)))
    if likely(rng, 0.1):
        query = replace(query, streams=("S",) if likely(rng, 0.5) else ("S", "T"))
    if likely(rng, 0.25):
        brackets = ((("k",),), (("k",),), (("k",), ("v",)), (("k", "v"),))
        query = replace(query, partition=rng.choice(brackets))
    if likely(rng, 0.4):
        window = rng.choice(
            (
                EventWindow(rng.randrange(5)),
                AttributeWindow(rng.choice((0, 1, 2, 2.5, 4)), "t"),
                TimeWindow(rng.randrange(5) * 10**9),
            )
        )
        query = replace(query, window=window)
    if likely(rng, 0.6 if query.partition else 0.2):
        policies = (Consume.ANY, Consume.ANY, Consume.PARTITION)
        query = replace(query, consume=rng.choice(policies))
    return query


def with_limit(query: CeqlQuery, per_end: int) -> CeqlQuery:
    """The same query with LIMIT."""
    return replace(query, limit=Limit(per_end))


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
