"""Random SREMO (SRT Def. 15), formulas whose filters compare labels, and streams for both.

Streams are biased towards matches and answers. Everything is a function of a ``random.Random``.
Draws shrink towards a single event and the empty stream. Compared values are of every kind; most
streams order them so that comparisons hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Literal, TypeAlias, assert_never

from cerlab.errors import keywords_by_name
from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.syntax import Formula
from cerlab.logic.sremo import syntax as sre
from cerlab.logic.sremo.syntax import Sremo, reads, rewritten, writes
from cerlab.model.answer import Registers
from cerlab.model.clauses import Strategy
from cerlab.model.event import Event, Timestamp, Value
from cerlab.predicates import condition as cond
from cerlab.predicates import syntax as pred
from cerlab.predicates.syntax import Guard, RegisterAttribute, RegisterComparison
from cerlab.predicates.truth import satisfies
from cerlab.testing.cel import (
    random_condition,
    random_count,
    random_formula,
    random_predicate,
    random_sides,
)
from cerlab.testing.choices import ATTRIBUTES, LABELS, TYPES, Choices, Shape, likely, nests, part
from cerlab.testing.events import random_events

SremoKind: TypeAlias = Literal["all", "core", "unary"]
"""Kinds of expressions: ``"core"`` has only operators of SRT Def. 15, ``"unary"`` no registers."""

REGISTERS = ("r", "s")

_CORE = ("concat", "concat", "concat", "alternation", "star", "terminal")
_REST = (
    *("plus", "option", "span", "length", "within", "intersection", "negation"),
    *("skip_any", "skip_any", "skip_next", "skip_next"),
)


@dataclass(frozen=True, slots=True)
class _Scope:
    """The limits of a subexpression: its depth, and the registers that it may read and write."""

    shape: Shape
    kind: SremoKind
    readable: frozenset[str]
    writable: frozenset[str]

    def below(self) -> _Scope:
        return replace(self, shape=replace(self.shape, depth=self.shape.depth - 1))

    def after(self, e: Sremo) -> _Scope:
        return replace(self, readable=self.readable | writes(e))


@keywords_by_name
def random_sremo(rng: Choices, shape: Shape = ATTRIBUTES, kind: SremoKind = "all") -> Sremo:
    """Return a well-formed expression that mostly reads registers written before.

    >>> from random import Random
    >>> from cerlab import parse_sremo
    >>> e = random_sremo(Random(1))
    >>> parse_sremo(str(e)) == e
    True
    """
    writable = frozenset[str]() if kind == "unary" else frozenset(REGISTERS)
    return _expression(rng, _Scope(shape, kind, frozenset(), writable))


@part
def _expression(rng: Choices, scope: _Scope) -> Sremo:
    if not nests(rng, scope.shape.depth, 0.9):
        return _leaf(rng, scope)
    smaller = scope.below()

    def part() -> Sremo:
        return _expression(rng, smaller)

    match rng.choice((*_CORE, *_REST) if scope.kind == "all" else _CORE):
        case "concat":
            return sre.Concat(left := part(), _expression(rng, smaller.after(left)))
        case "alternation":
            return sre.Alternation(part(), part())
        case "star":
            return sre.Star(part())
        case "plus":
            return sre.Plus(part())
        case "option":
            return sre.Option(part())
        case "span":
            return sre.SpanWindow(part(), rng.choice((3, 2, 4, 1)))
        case "length":
            return sre.LengthWindow(part(), rng.choice((3, 2, 4, 1, 0)))
        case "within":
            return sre.Within(part(), rng.choice((2, 1, 4, 2.5, 0)), "t")
        case "intersection":
            return _intersection(rng, smaller)
        case "negation":
            return sre.Negation(part())
        case "skip_any":
            return sre.SkipAny(_operands(rng, smaller))
        case "skip_next":
            return sre.SkipNext(_operands(rng, smaller))
        case _:
            return _terminal(rng, scope)


def _leaf(rng: Choices, scope: _Scope) -> Sremo:
    if likely(rng, 0.05):
        return rng.choice((sre.EPSILON, sre.EPSILON, sre.Empty()))
    return sre.SKIP if likely(rng, 0.1) else _terminal(rng, scope)


def _terminal(rng: Choices, scope: _Scope) -> Sremo:
    W = frozenset(r for r in sorted(scope.writable) if likely(rng, 0.3))
    return sre.Terminal(_guard(rng, scope), likely(rng, 0.8), W)


def _operands(rng: Choices, scope: _Scope) -> tuple[Sremo, ...]:
    """Return two or three operands, or a single one, which is mostly an iteration."""
    first = _expression(rng, scope)
    if likely(rng, 0.3):
        return (rng.choice((sre.Plus(first), sre.Star(first), first)),)
    second = _expression(rng, scope.after(first))
    return (first, second, _leaf(rng, scope.after(second))) if likely(rng, 0.3) else (first, second)


def _intersection(rng: Choices, scope: _Scope) -> Sremo:
    """Return an intersection whose one side is a choice that includes the other side.

    Two unrelated expressions would have no match in common.
    """
    no_writes = replace(scope, writable=frozenset())
    left = _expression(rng, no_writes)
    right = sre.Alternation(left, _expression(rng, no_writes))
    writing = scope.writable >= set(REGISTERS) and not reads(right)
    if not writing or not likely(rng, 0.5):
        return sre.Intersection(left, right)
    first, second = (sre.Terminal(pred.EVERYTHING, True, frozenset({r})) for r in REGISTERS)
    return sre.Intersection(sre.Concat(left, first), sre.Concat(right, second))


@part
def _guard(rng: Choices, scope: _Scope) -> Guard:
    """Return a guard: mostly a type with a test of v or a comparison with a register."""
    of_type: Guard = pred.Comparison(
        pred.Operator.EQ, pred.Attribute("type"), pred.Constant(rng.choice(TYPES))
    )
    if not likely(rng, 0.55):
        return of_type
    test = _test(rng, scope)
    match rng.choice(("alone", "and", "and", "or", "not")):
        case "alone":
            return test
        case "and":
            return pred.And(of_type, test)
        case "or":
            return pred.Or(of_type, test)
        case _:
            return pred.Not(test)


def _test(rng: Choices, scope: _Scope) -> Guard:
    readable = sorted(scope.readable) or ([] if scope.kind == "unary" else list(REGISTERS))
    if not readable or not likely(rng, 0.7 if scope.readable else 0.1):
        return random_predicate(rng, scope.shape)
    op = rng.choice((*[pred.Operator.EQ] * 3, pred.Operator.NE, pred.Operator.LE, pred.Operator.GT))
    register = RegisterAttribute(rng.choice(readable), "v")
    other: tuple[pred.Expression, ...] = (
        *[pred.Attribute("v")] * 3,
        pred.Constant(1),
        RegisterAttribute(rng.choice(readable), "v"),
    )
    sides = (rng.choice(other), register)
    return RegisterComparison(op, *(reversed(sides) if likely(rng, 0.2) else sides))


@keywords_by_name
def random_sremo_events(rng: Choices, e: Sremo, shape: Shape = ATTRIBUTES) -> list[Event]:
    """Return a word that the expression may match, often among noise; each event has a time t.

    >>> from random import Random
    >>> events = random_sremo_events(Random(1), random_sremo(Random(1)))
    >>> all("t" in event.attributes for event in events)
    True
    """
    word: list[Event] = []
    for _ in range(6):
        word, _ = _word(rng, e, Registers(), shape)
        if len(word) <= shape.events:
            break
    word = word[: shape.events] if likely(rng, 0.95) else []
    noise = rng.randrange(shape.events - len(word) + 1) if likely(rng, 0.3) else 0
    before = rng.randrange(noise + 1)
    events = [_event(rng, shape) for _ in range(before)] + word
    events += [_event(rng, shape) for _ in range(noise - before)]
    time = 0
    timed_events = []
    for t in events:
        time += rng.choice((1, 0, 1, 2))
        timed_events.append(Event(t.type, {**t.attributes, "t": time}, t.stream))
    return timed_events


@part
def _event(rng: Choices, shape: Shape) -> Event:
    values: tuple[Value, ...] = (0, 1)
    if shape.rich and likely(rng, 0.3):
        values = (1, None, 0.5, 1.0, float("nan"), True, "a", "b")
    attributes: dict[str, Value] = {}
    if not shape.sparse or likely(rng, 0.95):
        attributes["v"] = rng.choice(values)
    if shape.rich and likely(rng, 0.5):
        attributes["w"] = rng.choice((0, 1, "a", None))
    return Event(rng.choice(TYPES), attributes)


def _word(rng: Choices, e: Sremo, v: Registers, shape: Shape) -> tuple[list[Event], Registers]:
    """Return events that the expression matches, if easily found, and the registers after them."""
    match e:
        case sre.Epsilon() | sre.Empty():
            return [], v
        case sre.Terminal(phi, _, W):
            candidates = [_event(rng, shape) for _ in range(30)]
            t = next((t for t in candidates if satisfies(t, phi, v)), candidates[0])
            return [t], v.written(W, t)
        case sre.Concat(left, right):
            return _words(rng, (left, right), v, shape)
        case sre.Alternation(left, right):
            return _word(rng, rng.choice((left, right)), v, shape)
        case sre.Star(body):
            return _words(rng, (body,) * rng.choice((1, 0, 1, 2)), v, shape)
        case sre.Plus(body):
            return _words(rng, (body,) * rng.choice((1, 1, 2)), v, shape)
        case sre.Option(body):
            return _words(rng, (body,) * rng.choice((1, 0)), v, shape)
        case sre.SpanWindow(body) | sre.LengthWindow(body) | sre.Within(body):
            return _word(rng, body, v, shape)
        case sre.Intersection(left, _):
            return _word(rng, left, v, shape)
        case sre.Negation():
            return [_event(rng, shape) for _ in range(rng.choice((0, 0, 1, 2)))], v
        case sre.SkipAny() | sre.SkipNext():
            return _word(rng, rewritten(e), v, shape)
        case _:
            assert_never(e)


def _words(
    rng: Choices, parts: tuple[Sremo, ...], v: Registers, shape: Shape
) -> tuple[list[Event], Registers]:
    events: list[Event] = []
    for e in parts:
        word, v = _word(rng, e, v, shape)
        events += word
    return events, v


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


@keywords_by_name
def random_correlated_formula(rng: Choices, shape: Shape = ATTRIBUTES) -> Formula:
    """Return a formula that `correlated_to_srt` supports, with filters on top.

    Comparisons are mostly between labels of the filtered subformula. Some of them, by ``!=``, need
    unboundedly many registers.

    >>> from random import Random
    >>> from cerlab import Query
    >>> from cerlab.logic.ceql.syntax import CeqlQuery
    >>> Query(CeqlQuery(random_correlated_formula(Random(1)))).machine_kind is not None
    True
    """
    if likely(rng, 0.6):
        return _around(rng, _with_comparisons(rng, _parts(rng), shape, LABELS))
    body = _formula(rng, replace(shape, depth=shape.depth - 1))
    if len(cel.defined_labels(body)) < 2:
        body = _parts(rng)
    return _with_comparisons(rng, body, shape)


def _parts(rng: Choices) -> Formula:
    """Return two parts, with labels x and y, single or iterated, in sequence or mixed."""
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
    """Return the formula alone, or in a larger formula that hides labels from the filter."""
    often = ("alone", "alone", "plus", "seq", "as", "rename", "project", "or")
    match rng.choice((*often, *often, "and", "all", "unless", "strict")):
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
        case "and":
            return cel.And(*rng.sample([phi, _without_filters(phi)], 2))
        case "all":
            return cel.All(*rng.sample([phi, _part(rng, rng.choice(LABELS))], 2))
        case "unless":
            return cel.Unless(phi, cel.Concat(*(_part(rng, X) for X in LABELS)))
        case "strict":
            return cel.Select(Strategy.STRICT, phi)
        case _:
            return phi


def _without_filters(phi: Formula) -> Formula:
    while isinstance(phi, cel.Filter):
        phi = phi.body
    return phi


def _repeated(rng: Choices, phi: Formula) -> Formula:
    return rng.choice((cel.Plus, cel.ConcatPlus, partial(random_count, rng)))(phi)


def _formula(rng: Choices, shape: Shape) -> Formula:
    if not nests(rng, shape.depth, 0.9):
        return _atom(rng)
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
            pair = cel.Seq(*(cel.As(_atom(rng), X) for X in LABELS))
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


def _atom(rng: Choices) -> Formula:
    atom = cel.Atom(rng.choice(TYPES))
    return cel.As(atom, rng.choice(LABELS)) if likely(rng, 0.6) else atom


def _with_comparisons(
    rng: Choices, body: Formula, shape: Shape, labels: Sequence[str] | None = None
) -> Formula:
    """Return the formula under a filter, which mostly compares two of the formula's labels."""
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


@keywords_by_name
def random_correlated_events(rng: Choices, phi: Formula, shape: Shape = ATTRIBUTES) -> list[Event]:
    """Return a stream as `random_events` does, with other values of v and w.

    Values are constant, or rise or fall along the stream or from type to type, mostly as a
    comparison of the formula requires of labels in alphabetical order; with exceptions of every
    kind.

    >>> from random import Random
    >>> phi = random_correlated_formula(Random(1))
    >>> all("v" in event.attributes for event in random_correlated_events(Random(1), phi))
    True
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
    """Return the comparisons between labels in the filters of a formula."""
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
