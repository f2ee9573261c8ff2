"""Random SREMO, and streams that are biased towards their matches (SRT Def. 15).

Everything is a function of a ``random.Random``. Draws shrink towards a single event and the empty
stream.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, assert_never

from cerlab.logic.sremo import syntax as sre
from cerlab.logic.sremo.syntax import Sremo, reads, rewritten, writes
from cerlab.model.answer import Registers
from cerlab.model.event import Event, Value
from cerlab.predicates import syntax as pred
from cerlab.predicates.syntax import Guard, RegisterAttribute, RegisterComparison
from cerlab.predicates.truth import satisfies
from cerlab.testing.cel import random_predicate
from cerlab.testing.choices import ATTRIBUTES, TYPES, Choices, Shape, likely, nests, part

SremoKind: TypeAlias = Literal["all", "core", "unary"]
"""Kinds of expressions: ``"core"`` has only SRT Def. 15's operators, ``"unary"`` no registers."""

REGISTERS = ("r", "s")

_CORE = ("concat", "concat", "concat", "alternation", "star", "terminal")
_REST = (
    *("plus", "option", "span", "length", "within", "intersection", "negation"),
    *("skip_any", "skip_any", "skip_next", "skip_next"),
)


@dataclass(frozen=True, slots=True)
class _Scope:
    """Limits of a subexpression: its depth, the registers it may read, those it may write."""

    shape: Shape
    kind: SremoKind
    readable: frozenset[str]
    writable: frozenset[str]

    def below(self) -> _Scope:
        return replace(self, shape=replace(self.shape, depth=self.shape.depth - 1))

    def after(self, e: Sremo) -> _Scope:
        return replace(self, readable=self.readable | writes(e))


def random_sremo(rng: Choices, shape: Shape = ATTRIBUTES, kind: SremoKind = "all") -> Sremo:
    """A well-formed expression; most of what it reads may have been written before."""
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
    """Two or three, or a single one, which is mostly an iteration."""
    first = _expression(rng, scope)
    if likely(rng, 0.3):
        return (rng.choice((sre.Plus(first), sre.Star(first), first)),)
    second = _expression(rng, scope.after(first))
    return (first, second, _leaf(rng, scope.after(second))) if likely(rng, 0.3) else (first, second)


def _intersection(rng: Choices, scope: _Scope) -> Sremo:
    """Two unrelated expressions have no match in common, so one side is a choice of the other."""
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
    """A type mostly, with a test of v or a comparison with what a register holds."""
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


def random_sremo_events(rng: Choices, e: Sremo, shape: Shape = ATTRIBUTES) -> list[Event]:
    """A word that the expression may read, often with noise around; a time t in each event."""
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
    """Events that the expression reads from these registers, where that is easy, and v'."""
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
