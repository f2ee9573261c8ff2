"""Random machines with predicates of every kind, and one small machine as JSON."""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random

from cerlab import Timestamp
from cerlab.automata.automaton import (
    AnchoredCea,
    IntervalCea,
    LabelTransition,
    Mark,
    Transition,
    Ucea,
    Vcea,
)
from cerlab.automata.encoding import Machine
from cerlab.model.event import Value
from cerlab.predicates import syntax as pred

VALUES: tuple[Value, ...] = (
    *(0, 1, -1, 2**53, 2**53 + 1, -(2**63), 2**63, 2**100, -(10**40)),
    *(0.0, -0.0, 1.0, -1.5, 0.1, 1e22, 5e-324, math.nan, math.inf, -math.inf),
    *(True, False, None, Timestamp(0), Timestamp(-1), Timestamp(1_600_000_000_000_000_001)),
    *(Timestamp(10**30), "", "1", "it's", '"', "\\", "two\nlines", "\u2028", "∘ é 😀", "*/ -- ]"),
)
NAMES = ("v", "w", "type", "stream", "select", "two words", "", "a`b", "nan", "NULL", "é", "x\ny")
PATTERNS = ("a", "^b|c$", r"[ab]\d", "", "it's", "\n")
LABELS = ("x", "y", "take", "t", "two words", "", "é", 'q"', "\n", "State: 0")


def rich_expression(rng: Random, depth: int) -> pred.Expression:
    match rng.randrange(6 if depth else 4):
        case 0 | 1:
            return pred.Constant(rng.choice(VALUES))
        case 2 | 3:
            return pred.Attribute(rng.choice(NAMES))
        case 4:
            return pred.Negated(rich_expression(rng, depth - 1))
        case _:
            sides = (rich_expression(rng, depth - 1) for _ in range(2))
            return pred.Computed(rng.choice(list(pred.Arithmetic)), *sides)


def rich_predicate(rng: Random, depth: int) -> pred.Predicate:
    """Every production over every value, those without any text in CEQL too."""

    def part() -> pred.Expression:
        return rich_expression(rng, depth)

    match rng.randrange(10 if depth else 7):
        case 0:
            return pred.EVERYTHING
        case 1:
            return pred.TypeIs(rng.choice(NAMES))
        case 2:
            return pred.StreamIs(rng.choice(NAMES))
        case 3:
            return pred.Comparison(rng.choice(list(pred.Operator)), part(), part())
        case 4:
            members = tuple(pred.Constant(rng.choice(VALUES)) for _ in range(rng.randrange(3)))
            return pred.Member(part(), members, rng.random() < 0.5)
        case 5:
            low, high = (part() if rng.random() < 0.7 else None for _ in range(2))
            return pred.Between(part(), low, high, rng.random() < 0.5)
        case 6:
            return pred.Like(part(), rng.choice(PATTERNS))
        case 7:
            return pred.Not(rich_predicate(rng, depth - 1))
        case 8:
            return pred.And(*(rich_predicate(rng, depth - 1) for _ in range(2)))
        case _:
            return pred.Or(*(rich_predicate(rng, depth - 1) for _ in range(2)))


def random_machine(rng: Random, predicate: Callable[[Random], pred.Predicate]) -> Machine:
    """A machine of any kind with up to four states, and transitions in any order."""
    states = rng.randrange(1, 5)
    kind = rng.choice((Vcea, Ucea, AnchoredCea, IntervalCea))
    q0 = rng.randrange(states)
    targets = [q for q in range(states) if kind is not IntervalCea or q != q0]
    count = rng.randrange(5) if targets else 0
    moves = [
        (rng.randrange(states), predicate(rng), rng.choice(list(Mark)), rng.choice(targets))
        for _ in range(count)
    ]
    I, F = (frozenset(q for q in range(states) if rng.random() < 0.4) for _ in range(2))
    mark_steps = tuple(Transition(*move) for move in moves)
    if kind is IntervalCea:
        return IntervalCea(states, mark_steps, frozenset({q0}), F)
    if kind is AnchoredCea:
        return AnchoredCea(states, mark_steps, I, F)
    label_steps = tuple(
        LabelTransition(p, P, frozenset(rng.sample(LABELS, rng.randrange(3))), q)
        for p, P, _, q in moves
    )
    return Vcea(states, label_steps, I, F) if kind is Vcea else Ucea(states, label_steps, I, F)


def exact(A: Machine) -> tuple[object, ...]:
    """All of a machine, with predicates by `repr`, which tells 0.0 from -0.0 and finds NaN."""
    Delta: tuple[Transition | LabelTransition, ...] = A.Delta
    moves = [(type(t), t.source, repr(t.predicate), t[2], t.target) for t in Delta]
    return type(A), A.states, sorted(A.I), A.F, moves


def tower(depth: int) -> Vcea:
    """A machine with a predicate of this depth."""
    P: pred.Predicate = pred.TypeIs("A")
    for _ in range(depth - 1):
        P = pred.Not(P)
    return Vcea(1, (LabelTransition(0, P, frozenset(), 0),), frozenset({0}), frozenset({0}))


A1 = Vcea(
    3,
    (
        LabelTransition(0, pred.TypeIs("A"), frozenset({"y", "x"}), 1),
        LabelTransition(1, pred.EVERYTHING, frozenset(), 1),
        LabelTransition(
            1,
            pred.And(
                pred.TypeIs("B"),
                pred.Or(
                    pred.StreamIs("S"),
                    pred.Not(
                        pred.Comparison(pred.Operator.GE, pred.Attribute("v"), pred.Constant(0.5))
                    ),
                ),
            ),
            frozenset({"two words"}),
            2,
        ),
    ),
    frozenset({0}),
    frozenset({2}),
)

JSON = """\
{
  "format": "cerlab-machine",
  "version": 1,
  "kind": "vcea",
  "states": 3,
  "initial": [0],
  "final": [2],
  "transitions": [
    {"source": 0, "predicate": {"kind": "type", "type": "A"}, "labels": ["x", "y"], "target": 1},
    {"source": 1, "predicate": {"kind": "everything"}, "labels": [], "target": 1},
    {"source": 1, "predicate": {"kind": "and", "left": {"kind": "type", "type": "B"}, \
"right": {"kind": "or", "left": {"kind": "stream", "stream": "S"}, \
"right": {"kind": "not", "operand": {"kind": "comparison", "operator": ">=", \
"left": {"kind": "attribute", "name": "v"}, \
"right": {"kind": "constant", "value": {"float": 0.5}}}}}}, "labels": ["two words"], "target": 2}
  ]
}
"""
