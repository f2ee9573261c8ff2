"""Random formulas of CEL and FO-CEL, random queries, and streams with answers to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias, TypeVar, assert_never

from cerlab.errors import keywords_by_name
from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.syntax import Formula
from cerlab.logic.ceql.syntax import CeqlQuery, SelectItem, partition_attributes
from cerlab.logic.focel.semantics import unscoped_variable
from cerlab.model.clauses import (
    AttributeWindow,
    Consume,
    EventWindow,
    Limit,
    Strategy,
    TimeWindow,
    Window,
)
from cerlab.model.event import Duration, Event, Timestamp, Value
from cerlab.predicates import condition as cond
from cerlab.predicates import syntax as pred
from cerlab.predicates.condition import Correlation, On
from cerlab.predicates.syntax import LabelAttribute, Operator, attributes_of
from cerlab.testing.choices import (
    ATTRIBUTES,
    LABELS,
    SMALL,
    STREAMS,
    TYPES,
    Choices,
    Shape,
    likely,
    nests,
    part,
)


@part
def random_condition(rng: Choices, labels: Sequence[str], shape: Shape) -> cond.Condition:
    """A filter over some labels: predicates, AND, OR."""
    if not likely(rng, 0.3):
        return cond.On(rng.choice(labels), random_predicate(rng, shape))
    left, right = (random_condition(rng, labels, shape) for _ in range(2))
    return pred.And(left, right) if likely(rng, 0.4) else pred.Or(left, right)


@part
def random_predicate(rng: Choices, shape: Shape) -> pred.Predicate:
    """A predicate over the attributes v and w."""
    if shape.temporal and likely(rng, 0.6):
        return _temporal_predicate(rng)
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


MOMENTS: tuple[Timestamp, ...] = (Timestamp(0), Timestamp(10**9))

DURATIONS: tuple[Duration, ...] = (Duration(0), Duration(10**9), Duration(-1))


def _temporal_predicate(rng: Choices) -> pred.Predicate:
    """A comparison of moments, or of durations, most of them computed."""
    v, w = pred.Attribute("v"), pred.Attribute("w")
    operator = rng.choice(list(pred.Operator))
    moment, length = pred.Constant(rng.choice(MOMENTS)), pred.Constant(rng.choice(DURATIONS))
    number = pred.Constant(rng.choice((2, 0.5, -1)))
    sub, add = pred.Arithmetic.SUB, pred.Arithmetic.ADD
    match rng.randrange(8):
        case 0:
            return pred.Comparison(operator, v, moment if likely(rng, 0.5) else length)
        case 1:
            return pred.Comparison(operator, pred.Computed(sub, v, w), length)
        case 2:
            return pred.Comparison(operator, v, pred.Computed(add, w, length))
        case 3:
            scaling = rng.choice((pred.Arithmetic.MUL, pred.Arithmetic.DIV))
            return pred.Comparison(operator, pred.Computed(scaling, w, number), length)
        case 4:
            ratio = pred.Computed(pred.Arithmetic.DIV, w, pred.Constant(Duration(2 * 10**9)))
            return pred.Comparison(operator, ratio, pred.Constant(0.5))
        case 5:
            some: Sequence[Value] = rng.choice((MOMENTS, DURATIONS))
            return pred.Member(v, tuple(map(pred.Constant, some[:2])), likely(rng, 0.3))
        case 6:
            ends: Sequence[Value] = rng.choice((MOMENTS, DURATIONS))
            low, high = map(pred.Constant, ends[:2])
            return pred.Between(v, low, high, likely(rng, 0.3))
        case _:
            return pred.Comparison(operator, pred.Negated(w), length)


_KINDS = (
    *("seq", "seq", "concat", "or", "plus", "plus", "star"),
    *("as", "as", "filter", "filter", "project", "rename", "count"),
)


_WITH_GAPS = tuple(kind for kind in _KINDS if kind not in ("concat", "star"))


_FAMILY = ("and", "all", "unless", "select", "correlation")


_TIMED = ("within", "within", "wait", "lookback")


@keywords_by_name
@part
def random_formula(rng: Choices, shape: Shape = ATTRIBUTES) -> Formula:
    """A formula: the operators of CORE Table 2, NOT, ``:``, ``:+``, RENAME; with `family` all."""
    if not nests(rng, shape.depth, 0.85):
        return _leaf(rng, shape)
    smaller = replace(shape, depth=shape.depth - 1)
    kinds = _KINDS if shape.contiguous else _WITH_GAPS
    more = (*(_FAMILY if shape.family else ()), *(_TIMED if shape.timed else ()))
    match rng.choice((*kinds, *more)):
        case "and":
            # Two unrelated formulas have no valuation in common.
            common, other = (random_formula(rng, smaller) for _ in range(2))
            either = cel.Or(common, other)
            # Each side takes valuations away from the other in some of the draws.
            return cel.And(either, common) if likely(rng, 0.6) else cel.And(common, either)
        case "all":
            return cel.All(random_formula(rng, smaller), random_formula(rng, smaller))
        case "unless":
            return cel.Unless(random_formula(rng, smaller), random_formula(rng, smaller))
        case "select":
            return cel.Select(rng.choice(list(Strategy)), random_formula(rng, smaller))
        case "correlation":
            x, y = (cel.As(random_formula(rng, smaller), label) for label in "xy")
            op = rng.choice(list(pred.Operator))
            here, there = (pred.LabelAttribute(label, rng.choice("vvw")) for label in "xy")
            sides = random_sides(rng, here, there) if likely(rng, 0.25) else (here, there)
            return cel.Filter(cel.Seq(x, y), cond.Correlation(op, *sides))
        case "within":
            windows = (*_lengths(rng), EventWindow(rng.randrange(4)))
            return cel.Within(random_formula(rng, smaller), rng.choice(windows))
        case "wait":
            waiting = cel.Wait(random_formula(rng, smaller), rng.choice(_lengths(rng)))
            # Absence is what most waits are for.
            return cel.Unless(waiting, _leaf(rng, shape)) if likely(rng, 0.4) else waiting
        case "lookback":
            looking = cel.Lookback(random_formula(rng, smaller), rng.choice(_lengths(rng)))
            # Absence before is what most look-backs are for.
            return cel.Unless(looking, _leaf(rng, shape)) if likely(rng, 0.4) else looking
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
        case "count":
            gaps = not shape.contiguous or likely(rng, 0.7)
            return random_count(rng, random_formula(rng, smaller), gaps=gaps)
        case "as":
            return cel.As(random_formula(rng, smaller), rng.choice(LABELS))
        case "filter":
            body = random_formula(rng, smaller)
            labels = sorted(cel.defined_labels(body)) or ["A"]
            if likely(rng, 0.1):
                labels.append(rng.choice(LABELS))
            return cel.Filter(body, random_condition(rng, tuple(labels), shape))
        case _:
            body = random_formula(rng, smaller)
            labels = sorted(cel.defined_labels(body))
            projection = frozenset(label for label in labels if likely(rng, 0.5))
            return cel.Project(projection, body)


def _lengths(rng: Choices) -> tuple[AttributeWindow, TimeWindow]:
    """The same length by the attribute t and in seconds."""
    width = rng.choice((0, 1, 1, 2, 2.5, 4))
    return AttributeWindow(width, "t"), TimeWindow(round(width * 10**9))


W = TypeVar("W", bound=Window)


def on_one_axis(query: CeqlQuery, *, times: bool) -> CeqlQuery:
    """Return the query with its windows and waits all in seconds, or all by the attribute t."""

    def window(w: W) -> W | TimeWindow | AttributeWindow:
        match w:
            case AttributeWindow(width) if times:
                return TimeWindow(round(width * 10**9))
            case TimeWindow(nanoseconds) if not times:
                return AttributeWindow(nanoseconds / 10**9, "t")
            case _:
                return w

    def formula(phi: Formula) -> Formula:
        psi = cel.map_children(formula, phi)
        match psi:
            case cel.Within(_, w):
                return replace(psi, window=window(w))
            case cel.Wait(_, length) | cel.Lookback(_, length):
                return replace(psi, length=window(length))
            case _:
                return psi

    outside, throttle = (w and window(w) for w in (query.window, query.throttle))
    return replace(query, formula=formula(query.formula), window=outside, throttle=throttle)


def random_sides(
    rng: Choices, left: pred.Expression, right: pred.Expression
) -> tuple[pred.Expression, pred.Expression]:
    """Sides that compute: mostly with one label each, which registers keep the extreme of."""
    number = pred.Constant(rng.choice((0, 1, 2, -1, 0.5, 1.05)))
    op = rng.choice(list(pred.Arithmetic))
    if likely(rng, 0.3):
        return pred.Computed(op, left, right), number
    if likely(rng, 0.3):
        return left, pred.Negated(right)
    computed = pred.Computed(op, number, right)
    return (computed, left) if likely(rng, 0.3) else (left, computed)


def random_count(rng: Choices, body: Formula, *, gaps: bool = True) -> cel.Count:
    """A count of a formula; streams are short, so the counts are small."""
    least = rng.choice((1, 2, 2, 3))
    most = rng.choice((least, least, least + 1, least + 2, None))
    return cel.Count(body, least, most, gaps)


def _leaf(rng: Choices, shape: Shape) -> Formula:
    atom = cel.Atom(rng.choice(TYPES), rng.choice(STREAMS) if likely(rng, 0.05) else None)
    if shape.contiguous and likely(rng, 0.1):
        body: Formula = atom
        if likely(rng, 0.6):
            body = cel.Filter(atom, random_condition(rng, (atom.type,), shape))
        return cel.Not(body)
    return atom


VARIABLES = ("x", "y", "z")


@keywords_by_name
def random_fo_formula(rng: Choices, shape: Shape = SMALL, *, binary: bool = False) -> Formula:
    """A scoped well-formed formula (erratum E4); with `binary` it may compare two variables."""
    while True:
        phi = _draw(rng, shape, shape.depth, binary=binary)
        if unscoped_variable(phi) is None:
            return phi


@keywords_by_name
def any_fo_formula(rng: Choices, shape: Shape = SMALL, *, binary: bool = False) -> Formula:
    """The same without asking for scopes."""
    return _draw(rng, shape, shape.depth, binary=binary)


@part
def _draw(rng: Choices, shape: Shape, depth: int, *, binary: bool) -> Formula:
    if not nests(rng, depth, 0.95):
        return cel.As(cel.Atom(rng.choice("AB")), rng.choice(VARIABLES))

    def smaller() -> Formula:
        return _draw(rng, shape, depth - 1, binary=binary)

    match rng.choice(("seq", "seq", "or", "plus", "filter", "filter", "count")):
        case "or":
            return cel.Or(smaller(), smaller())
        case "seq":
            return cel.Seq(smaller(), smaller())
        case "plus":
            return cel.Plus(smaller())
        case "count":
            return random_count(rng, smaller())
        case _:
            body, x, y = smaller(), rng.choice(VARIABLES), rng.choice(VARIABLES)
            if binary and x != y and likely(rng, 0.3):
                sides = (LabelAttribute(x, "v"), LabelAttribute(y, "v"))
                return cel.Filter(body, Correlation(Operator.EQ, *sides))
            return cel.Filter(body, On(x, random_predicate(rng, shape)))


@keywords_by_name
def random_query(rng: Choices, shape: Shape = ATTRIBUTES, *, times: bool = True) -> CeqlQuery:
    """Return a formula under random clauses, each present or absent.

    A window may be in seconds if there are `times`.
    """
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
        windows = (
            EventWindow(rng.randrange(5)),
            AttributeWindow(rng.choice((0, 1, 2, 2.5, 4)), "t"),
            TimeWindow(rng.randrange(5) * 10**9),
        )
        query = replace(query, window=rng.choice(windows if times else windows[:2]))
    if likely(rng, 0.6 if query.partition else 0.2):
        policies = (Consume.ANY, Consume.ANY, Consume.PARTITION)
        query = replace(query, consume=rng.choice(policies))
    if query.partition and query.consume.crosses_partitions and cel.waits(formula):
        # which key's answer consumes first would depend on the clock, so this is an error
        query = replace(query, consume=Consume.PARTITION)
    return query if times else on_one_axis(query, times=False)


_KEPT = 0.98
"""The chance that a part of a query is kept."""


def with_parts_left_out(rng: Choices, query: CeqlQuery) -> CeqlQuery:
    """Return the query with few of its parts left out; draws shrink towards leaving out all.

    Streams are drawn for the whole query. So a part that does not matter for a failing case goes
    without changing the stream, as it would if it was not drawn at all.
    """
    plain = CeqlQuery(_with_parts_left_out(rng, query.formula))
    clauses = {
        name: getattr(query, name)
        for name in ("items", "strategy", "streams", "partition", "window", "consume")
        if getattr(query, name) != getattr(plain, name) and likely(rng, _KEPT)
    }
    return replace(plain, **clauses)


def _with_parts_left_out(rng: Choices, phi: Formula) -> Formula:
    below = cel.children(phi)
    if isinstance(phi, cel.Atom):
        return cel.Atom(phi.type, phi.stream if phi.stream and likely(rng, _KEPT) else None)
    if isinstance(phi, cel.Not):
        atom = phi.body.body if isinstance(phi.body, cel.Filter) else phi.body
        body = phi.body if likely(rng, _KEPT) else atom
        return cel.Not(body) if likely(rng, _KEPT) else atom
    kept = [likely(rng, _KEPT) for _ in below]
    smaller = [_with_parts_left_out(rng, psi) for psi in below]
    if not all(kept):
        return smaller[kept.index(False)]
    for n, psi in enumerate(smaller):
        phi = cel.with_child(phi, n, psi)
    return (
        replace(phi, condition=_with_conditions_left_out(rng, phi.condition))
        if isinstance(phi, cel.Filter)
        else phi
    )


def _with_conditions_left_out(rng: Choices, condition: cond.Condition) -> cond.Condition:
    if not isinstance(condition, pred.And | pred.Or):
        return condition
    sides = [_with_conditions_left_out(rng, side) for side in (condition.left, condition.right)]
    for side in sides:
        if not likely(rng, _KEPT):
            return side
    return type(condition)(*sides)


def with_limit(query: CeqlQuery, per_end: int) -> CeqlQuery:
    """The same query with LIMIT."""
    return replace(query, limit=Limit(per_end))


COLUMNS = frozenset(("v", "w", "k", "t", "stream"))
"""Attributes of random events, and their stream."""


def columns_of(query: CeqlQuery) -> frozenset[str]:
    """Return the attributes that a query reads, and "stream" if it names streams."""
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
) -> list[Event]:
    """Return a stream with a planted word of the formula, and noise.

    Its events have the `columns`: attributes v and w, a key k, a time t that never decreases, and
    the stream. Sometimes a second word is interleaved, and then k tells the two apart.
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
    time: int | float = 0
    steps = (0, 0.1, 0.5, 1, 1.1) if shape.fractions else (0, 1, 1, 2)
    events = []
    for event, key in pairs:
        attributes = dict(event.attributes)
        if "t" in columns:
            time += rng.choice(steps)
            attributes["t"] = time
        stream = event.stream
        if stream is None and "stream" in columns and likely(rng, 0.3):
            stream = rng.choice(STREAMS)
        events.append(Event(event.type, {**attributes, **key}, stream))
    return events


_Keyed: TypeAlias = Sequence[tuple[Event, Mapping[str, Value]]]


def _key(rng: Choices, shape: Shape) -> Mapping[str, Value]:
    """Return the key of an event: 0 or 1 mostly, NULL, or absent, which is not the same."""
    keys: tuple[Value, ...] = (0, 0, 0, 1, 1.0, True, None)
    key = rng.choice((*({"k": key} for key in keys), {}))
    # The key is drawn also where it is absent: then draws shrink without those after it moving.
    return key if not shape.sparse or likely(rng, 0.9) else {}


def _with_noise(
    rng: Choices, word: list[Event], shape: Shape, columns: frozenset[str]
) -> list[Event]:
    """The word, cut to the length of the shape, with noise between or around."""
    word = word[: shape.events]
    noise = rng.randrange(shape.events - len(word) + 1)
    # Contiguous patterns survive only without noise inside, so often it goes to the two ends.
    if likely(rng, 0.5):
        for _ in range(noise):
            word.insert(rng.randrange(len(word) + 1), _noise(rng, shape, columns))
        return word
    before = [_noise(rng, shape, columns) for _ in range(rng.randrange(noise + 1))]
    return before + word + [_noise(rng, shape, columns) for _ in range(noise - len(before))]


def _interleave(rng: Choices, first: _Keyed, second: _Keyed) -> _Keyed:
    """Merge two streams in any order of the one with the other."""
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
    """Events in an order that the formula would read, filters met where that is easy."""
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
