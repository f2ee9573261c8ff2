"""Random formulas, queries and streams, for fuzzing an engine against the reference.

Everything is a function of a ``random.Random``. `cases` is the same as a hypothesis strategy, for
tests of your own engine:

    @given(cases())
    def test_my_engine(case):
        query, events = case
        assert my_engine(query, events) == cerlab.evaluate(query, events, evaluator="reference")

The alphabet is small on purpose (types
A, B, C, one attribute v in 0, 1): what distinguishes two engines is nearly always tiny.

Streams are biased towards answers: `random_events` plants a word of the formula's language and
puts noise between.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING, Any, TypeAlias, assert_never

from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.syntax import Formula
from cerlab.logic.ceql.syntax import CeqlQuery, SelectItem
from cerlab.logic.ceql.text import query_text
from cerlab.model.clauses import AttributeWindow, Consume, EventWindow, Limit, Strategy, TimeWindow
from cerlab.model.event import Event, Value
from cerlab.predicates import condition as cond
from cerlab.predicates import syntax as pred

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

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


_KINDS = (
    *("seq", "seq", "concat", "or", "plus", "plus", "star"),
    *("as", "as", "filter", "filter", "project", "rename"),
)
_FAMILY = ("and", "all", "unless", "select", "correlation")


def random_formula(rng: Random, shape: Shape = Shape()) -> Formula:
    """A formula: the operators of CORE Table 2, NOT, ``:``, ``:+``, RENAME; with `family` all."""
    if shape.depth == 0 or rng.random() < 0.15:
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
            return cel.Star(random_formula(rng, smaller))
        case "as":
            return cel.As(random_formula(rng, smaller), rng.choice(LABELS))
        case "filter":
            body = random_formula(rng, smaller)
            known = sorted(cel.defined_labels(body)) or ["A"]
            if rng.random() < 0.1:
                known.append(rng.choice(LABELS))
            return cel.Filter(body, random_condition(rng, known, shape))
        case _:
            body = random_formula(rng, smaller)
            known = sorted(cel.defined_labels(body))
            kept = frozenset(label for label in known if rng.random() < 0.5)
            return cel.Project(kept, body)


def _leaf(rng: Random, shape: Shape) -> Formula:
    atom = cel.Atom(rng.choice(TYPES), rng.choice(STREAMS) if rng.random() < 0.05 else None)
    if rng.random() < 0.1:
        body: Formula = atom
        if rng.random() < 0.6:
            body = cel.Filter(atom, random_condition(rng, [atom.type], shape))
        return cel.Not(body)
    return atom


def random_condition(rng: Random, labels: list[str], shape: Shape) -> cond.Condition:
    """A filter over some labels: predicates, AND, OR."""
    if rng.random() < 0.7:
        return cond.On(rng.choice(labels), random_predicate(rng, shape))
    left, right = (random_condition(rng, labels, shape) for _ in range(2))
    return cond.Both(left, right) if rng.random() < 0.4 else cond.Either(left, right)


def random_predicate(rng: Random, shape: Shape) -> pred.Predicate:
    """A predicate over the attributes v and w."""
    if rng.random() < 0.6 or not shape.rich:
        return pred.Comparison(
            rng.choice([pred.Operator.EQ, pred.Operator.EQ, pred.Operator.NE, pred.Operator.GE]),
            pred.Attribute("v"),
            pred.Constant(rng.choice((0, 1))),
        )
    v = pred.Attribute(rng.choice(("v", "v", "w")))
    match rng.randrange(9):
        case 0:
            return pred.Complement(random_predicate(rng, shape))
        case 1:
            return pred.Conjunction(random_predicate(rng, shape), random_predicate(rng, shape))
        case 2:
            return pred.Disjunction(random_predicate(rng, shape), random_predicate(rng, shape))
        case 3:
            values = rng.choice(((0, 1), (1,), (True,), ("a",)))
            return pred.Member(v, tuple(map(pred.Constant, values)), rng.random() < 0.3)
        case 4:
            bounds = rng.choice(((0, 1), (1, None), (None, 0)))
            low, high = (None if b is None else pred.Constant(b) for b in bounds)
            return pred.Between(v, low, high, rng.random() < 0.3)
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


def random_query(rng: Random, shape: Shape = Shape()) -> CeqlQuery:
    """A formula under random clauses; every clause that is there may also be absent."""
    formula = random_formula(rng, shape)
    query = CeqlQuery(formula)
    if rng.random() < 0.25:
        known = sorted(cel.defined_labels(formula))
        query = replace(query, items=tuple(SelectItem(x) for x in known if rng.random() < 0.5))
    if rng.random() < 0.1:
        query = replace(query, streams=("S",) if rng.random() < 0.5 else ("S", "T"))
    if rng.random() < 0.25:
        brackets = ((("k",),), (("k",),), (("k",), ("v",)), (("k", "v"),))
        query = replace(query, partition=rng.choice(brackets))
    if rng.random() < 0.4:
        window = rng.choice(
            (
                EventWindow(rng.randrange(5)),
                AttributeWindow(rng.choice((0, 1, 2, 2.5, 4)), "t"),
                TimeWindow(rng.randrange(5) * 10**9),
            )
        )
        query = replace(query, window=window)
    if rng.random() < (0.6 if query.partition else 0.2):
        policies = (Consume.ANY, Consume.ANY, Consume.PARTITION)
        query = replace(query, consume=rng.choice(policies))
    return query


def with_limit(query: CeqlQuery, per_end: int) -> CeqlQuery:
    """The same query with LIMIT."""
    return replace(query, limit=Limit(per_end))


def random_events(rng: Random, phi: Formula, shape: Shape = Shape()) -> list[Event]:
    """A stream with a planted word of the formula and noise; attributes v, w, k and a time t.

    Sometimes a second word is interleaved, and then the attribute k tells the two apart.
    """
    first = _padded(rng, _word(rng, phi, shape), shape)
    keyed: _Keyed = [(event, rng.choice((0, 0, 0, 1, 1.0, True, None, _ABSENT))) for event in first]
    if rng.random() < 0.3:
        half = replace(shape, events=shape.events // 2 + 1)
        words = [_padded(rng, _word(rng, phi, half), half) for _ in range(2)]
        zero: _Keyed = [(event, 0) for event in words[0]]
        one: _Keyed = [(event, 1) for event in words[1]]
        keyed = _interleaved(rng, zero, one)
    time = 0
    events = []
    for event, key in keyed:
        time += rng.choice((0, 1, 1, 2))
        attributes: dict[str, Value] = {**event.attributes, "t": time}
        if not isinstance(key, _Absent):
            attributes["k"] = key
        stream = event.stream or (rng.choice(STREAMS) if rng.random() < 0.3 else None)
        events.append(Event(event.type, attributes, stream))
    return events


class _Absent:
    """No attribute at all, which is not the same as one that is NULL."""


_ABSENT = _Absent()
_Key: TypeAlias = Value | _Absent
_Keyed: TypeAlias = list[tuple[Event, _Key]]


def _padded(rng: Random, word: list[Event], shape: Shape) -> list[Event]:
    """The word, cut to the length of the shape, with noise between or around."""
    word = word[: shape.events]
    noise = rng.randrange(shape.events - len(word) + 1)
    # Contiguous patterns survive only without noise inside, so often it goes to the two ends.
    if rng.random() < 0.5:
        for _ in range(noise):
            word.insert(rng.randrange(len(word) + 1), _noise(rng, shape))
        return word
    before = [_noise(rng, shape) for _ in range(rng.randrange(noise + 1))]
    return before + word + [_noise(rng, shape) for _ in range(noise - len(before))]


def _interleaved(rng: Random, first: _Keyed, second: _Keyed) -> _Keyed:
    merged: _Keyed = []
    while first or second:
        source = first if first and (not second or rng.random() < 0.5) else second
        merged.append(source.pop(0))
    return merged


def _noise(rng: Random, shape: Shape) -> Event:
    return Event(rng.choice(TYPES), _attributes(rng, shape))


def _attributes(rng: Random, shape: Shape) -> dict[str, Value]:
    values: list[Value] = [0, 1]
    if shape.rich and rng.random() < 0.3:
        values = [None, 0.5, 1.0, float("nan"), True, "a", "b"]
    attributes: dict[str, Value] = {"v": rng.choice(values)}
    if shape.rich and rng.random() < 0.5:
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
        case cel.Plus(body) | cel.Star(body):
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
                and rng.random() < 0.85
            ):
                return Event(event.type, {**event.attributes, "v": atom.right.value}, event.stream)
    return event


def cases(shape: Shape = Shape()) -> SearchStrategy[tuple[str, list[dict[str, Any]]]]:
    """A hypothesis strategy of pairs of a query's text and events as dicts (needs hypothesis).

    Streams are biased towards answers; failing cases shrink towards small draws of the generator.
    """
    from hypothesis import strategies as st

    def case(rng: Random) -> tuple[str, list[dict[str, Any]]]:
        query = random_query(rng, shape)
        events = random_events(rng, query.formula, shape)
        return query_text(query), [_as_dict(event) for event in events]

    return st.randoms(use_true_random=False).map(case)


def _as_dict(event: Event) -> dict[str, Any]:
    stream = {"stream": event.stream} if event.stream else {}
    return {"type": event.type, **stream, **event.attributes}
