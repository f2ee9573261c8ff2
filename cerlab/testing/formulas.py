"""Random formulas of the CEL family."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.syntax import Formula
from cerlab.model.clauses import Strategy
from cerlab.predicates import condition as cond
from cerlab.predicates import syntax as pred
from cerlab.testing.conditions import random_condition
from cerlab.testing.shape import ATTRIBUTES, LABELS, STREAMS, TYPES, Shape, likely

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
