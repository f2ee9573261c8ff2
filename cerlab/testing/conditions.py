"""Random predicates and filters."""

from __future__ import annotations

from random import Random

from cerlab.predicates import condition as cond
from cerlab.predicates import syntax as pred
from cerlab.testing.shape import Shape, likely


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
