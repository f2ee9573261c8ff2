"""Random formulas whose filters compare labels, and streams that are biased towards their answers.

Values are of every kind; most streams order them so that comparisons hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial, reduce

from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.syntax import Formula
from cerlab.model.event import Event, Timestamp, Value
from cerlab.predicates import condition as cond
from cerlab.predicates import syntax as pred
from cerlab.testing.cel import (
    random_condition,
    random_count,
    random_events,
    random_formula,
    random_sides,
)
from cerlab.testing.choices import ATTRIBUTES, LABELS, TYPES, Choices, Shape, likely, nests

_KINDS = (
    *("seq", "seq", "seq", "concat", "or", "plus", "plus", "star", "count"),
    *("as", "filter", "filter", "filter", "project", "rename", "other"),
    "each",
)

_OFTEN = (pred.Operator.LE, pred.Operator.GE, pred.Operator.LE, pred.Operator.GE, pred.Operator.NE)

_ODD: tuple[Value, ...] = (
    *(None, float("nan"), 1.0, 2**53 + 1, float(2**53)),
    *(True, False, "a", "b", Timestamp(1)),
)


def random_correlated_formula(rng: Choices, shape: Shape = ATTRIBUTES) -> Formula:
    """A formula of the fragment that `cerlab.compile.correlated_to_srt` states, filters on top.

    Comparisons are between labels of the subformula that they filter, mostly. Some of them, by
    ``!=``, need unboundedly many registers.
    """
    if likely(rng, 0.6):
        return _around(rng, _with_comparisons(rng, _parts(rng), shape, LABELS))
    body = _formula(rng, replace(shape, depth=shape.depth - 1))
    if len(cel.defined_labels(body)) < 2:
        body = _parts(rng)
    return _with_comparisons(rng, body, shape)


def _parts(rng: Choices) -> Formula:
    """A part with label x and one with label y, single or iterated, in sequence or mixed."""
    parts = [_part(rng, X) for X in LABELS]
    if likely(rng, 0.3):
        rng.shuffle(parts)
    if likely(rng, 0.2):
        return cel.Plus(cel.Or(*parts))
    if likely(rng, 0.4):
        parts.insert(rng.randrange(3), _part(rng, rng.choice(LABELS)))
    return reduce(rng.choice((cel.Seq, cel.Seq, cel.Concat)), parts)


def _part(rng: Choices, X: str) -> Formula:
    atom: Formula = cel.Atom(rng.choice(TYPES))
    match rng.choice(("one", "one", "one", "each", "all", "contiguous", "either", "count")):
        case "one":
            return cel.As(atom, X)
        case "each":
            return cel.Plus(cel.As(atom, X))
        case "all":
            return cel.As(cel.Plus(atom), X)
        case "contiguous":
            return cel.ConcatPlus(cel.As(atom, X))
        case "count":
            return random_count(rng, cel.As(atom, X), gaps=likely(rng, 0.7))
        case _:
            return cel.Or(cel.As(atom, X), cel.Atom(rng.choice(TYPES)))


def _around(rng: Choices, phi: Formula) -> Formula:
    """The formula, alone or in a larger one, where its filter is to see its own labels only."""
    match rng.choice(("alone", "alone", "plus", "seq", "as", "rename", "project", "or")):
        case "plus":
            return _repeated(rng, phi)
        case "seq":
            return cel.Seq(*rng.sample([phi, _part(rng, rng.choice(LABELS))], 2))
        case "as":
            return cel.As(phi, rng.choice(LABELS))
        case "rename":
            old, new = rng.sample(LABELS, 2)
            return cel.Rename(old, new, phi)
        case "project":
            return cel.Project(frozenset({rng.choice(LABELS)}), phi)
        case "or":
            return cel.Or(*rng.sample([phi, _part(rng, rng.choice(LABELS))], 2))
        case _:
            return phi


def _repeated(rng: Choices, phi: Formula) -> Formula:
    return rng.choice((cel.Plus, cel.ConcatPlus, partial(random_count, rng)))(phi)


def _formula(rng: Choices, shape: Shape) -> Formula:
    if not nests(rng, shape.depth, 0.9):
        return _leaf(rng)
    smaller = replace(shape, depth=shape.depth - 1)
    match rng.choice(_KINDS):
        case "seq":
            return cel.Seq(_formula(rng, smaller), _formula(rng, smaller))
        case "concat":
            return cel.Concat(_formula(rng, smaller), _formula(rng, smaller))
        case "or":
            return cel.Or(_formula(rng, smaller), _formula(rng, smaller))
        case "plus":
            return cel.Plus(_formula(rng, smaller))
        case "star":
            return cel.ConcatPlus(_formula(rng, smaller))
        case "count":
            return random_count(rng, _formula(rng, smaller), gaps=likely(rng, 0.7))
        case "each":
            pair = cel.Seq(*(cel.As(_leaf(rng), X) for X in LABELS))
            return _repeated(rng, _with_comparisons(rng, pair, shape))
        case "as":
            return cel.As(_formula(rng, smaller), rng.choice(LABELS))
        case "filter":
            return _with_comparisons(rng, _formula(rng, smaller), shape)
        case "project":
            body = _formula(rng, smaller)
            labels = frozenset(X for X in sorted(cel.defined_labels(body)) if likely(rng, 0.6))
            return cel.Project(labels, body)
        case "rename":
            body = _formula(rng, smaller)
            old = rng.choice(sorted(cel.defined_labels(body)) or ["A"])
            return cel.Rename(old, rng.choice((*LABELS, "A")), body)
        case _:
            return random_formula(rng, replace(shape, depth=min(shape.depth, 2)))


def _leaf(rng: Choices) -> Formula:
    atom = cel.Atom(rng.choice(TYPES))
    return cel.As(atom, rng.choice(LABELS)) if likely(rng, 0.6) else atom


def _with_comparisons(
    rng: Choices, body: Formula, shape: Shape, labels: Sequence[str] | None = None
) -> Formula:
    """The formula under a filter, most of which compare two of its labels."""
    own_labels = sorted(cel.defined_labels(body)) or ["A"]
    if likely(rng, 0.05):
        own_labels = sorted({*own_labels, rng.choice(LABELS)})
    return cel.Filter(body, _condition(rng, list(labels or own_labels), shape))


def _condition(rng: Choices, labels: list[str], shape: Shape) -> cond.Condition:
    if likely(rng, 0.3):
        first, second = (_condition(rng, labels, shape) for _ in range(2))
        return pred.And(first, second) if likely(rng, 0.6) else pred.Or(first, second)
    if len(labels) < 2 or likely(rng, 0.1):
        return random_condition(rng, tuple(labels), shape)
    x, y = sorted(rng.sample(labels, 2))
    if likely(rng, 0.2):
        x, y = y, x
    v, w = (rng.choice("vvvw") for _ in range(2))
    op = rng.choice((*pred.Operator, *_OFTEN))
    sides = pred.LabelAttribute(x, v), pred.LabelAttribute(y, w)
    return cond.Correlation(op, *(random_sides(rng, *sides) if likely(rng, 0.3) else sides))


def random_correlated_events(rng: Choices, phi: Formula, shape: Shape = ATTRIBUTES) -> list[Event]:
    """A stream as `random_events` makes it, with other values of v and w.

    They are level, or rise or fall along the stream or from type to type, mostly as a comparison of
    the formula asks of labels in the order of their names; with exceptions of every kind.
    """
    events = random_events(rng, phi, shape)
    fitting = [way for each in comparisons(phi) for way in _COURSES[each.operator]]
    if not fitting or not likely(rng, 0.85):
        fitting = ["rising", "falling", "level", "low first", "high first", "any"]
    course = rng.choice(fitting)
    oddness = rng.choice((0.0, 0.0, 0.1, 0.3))
    valued_events = []
    for i, t in enumerate(events):
        values = {name: _value(rng, course, t, i) for name in "vw"}
        if likely(rng, 0.7):
            values["w"] = values["v"]
        for name in "vw":
            if likely(rng, oddness):
                values[name] = rng.choice(_ODD)
        if likely(rng, oddness / 2):
            del values["w"]
        valued_events.append(Event(t.type, {**t.attributes, **values}, t.stream))
    return valued_events


def comparisons(phi: Formula) -> list[cond.Correlation]:
    """The comparisons between labels in the filters of a formula."""
    conditions = [psi.condition for psi in cel.subformulas(phi) if isinstance(psi, cel.Filter)]
    ways = (way for condition in conditions for way in cond.alternatives(condition))
    return [each for way in ways for each in way if isinstance(each, cond.Correlation)]


_COURSES = {
    pred.Operator.LT: ("rising", "low first"),
    pred.Operator.LE: ("rising", "low first", "level"),
    pred.Operator.GT: ("falling", "high first"),
    pred.Operator.GE: ("falling", "high first", "level"),
    pred.Operator.EQ: ("level",),
    pred.Operator.NE: ("rising", "low first", "any"),
}


def _value(rng: Choices, course: str, t: Event, i: int) -> Value:
    band = 3 * TYPES.index(t.type) + rng.randrange(4)
    match course:
        case "rising":
            return i + rng.choice((0, 0, 0.5, 1, -1))
        case "falling":
            return -i + rng.choice((0, 0, 0.5, 1, -1))
        case "low first":
            return band
        case "high first":
            return -band
        case "level":
            return rng.choice((1, 1, 1, 1, 1, 1, 1.0, 2))
        case _:
            return rng.randrange(4)
