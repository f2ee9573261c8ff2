"""Random conditions on the groups of events of a label, biased to hold."""

from __future__ import annotations

from collections.abc import Sequence

from cerlab.predicates import syntax as pred
from cerlab.predicates.condition import Condition, Correlation, On
from cerlab.testing.choices import Choices, likely

_LOOSE = (pred.Operator.GE, pred.Operator.LE, pred.Operator.NE)
"""Comparison operators that small numbers mostly satisfy."""

_VALUES = (0, 1, 1, 1, 2, 3)


def random_group_condition(rng: Choices, labels: Sequence[str]) -> Condition:
    """Return a condition with at least one aggregate over the events of a label.

    >>> from random import Random
    >>> from cerlab.predicates.condition import atomics
    >>> found = atomics(random_group_condition(Random(1), ["A", "B"]))
    >>> any("A" in each.labels or "B" in each.labels for each in found)
    True
    """
    if likely(rng, 0.25):
        first = random_group_condition(rng, labels)
        x = rng.choice(labels)
        plain = On(x, pred.Comparison(pred.Operator.LE, pred.Attribute("v"), pred.Constant(2)))
        second = plain if likely(rng, 0.4) else random_group_condition(rng, labels)
        return pred.And(first, second) if likely(rng, 0.3) else pred.Or(first, second)
    x, y = rng.choice(labels), rng.choice(labels)
    op = rng.choice((*pred.Operator, *_LOOSE, *_LOOSE, *_LOOSE))
    if likely(rng, 0.3):
        return _step(rng, x, y, op)
    left = random_group(rng, x)
    if likely(rng, 0.7):
        return Correlation(op, left, pred.Constant(rng.choice(_VALUES)))
    if likely(rng, 0.5):
        return Correlation(op, left, random_group(rng, y))
    return Correlation(op, pred.LabelAttribute(y, rng.choice("vw")), left)


def random_group(rng: Choices, label: str) -> pred.OfGroup:
    """Return COUNT, SUM or another aggregate of a label."""
    function = rng.choice(tuple(pred.Group))
    return pred.OfGroup(function, label, None if function is pred.Group.COUNT else rng.choice("vw"))


def _step(rng: Choices, x: str, y: str, op: pred.Operator) -> Correlation:
    """Return a comparison of an event with the previous event of its label."""
    before: pred.Expression = pred.Previous(x, rng.choice("vvw"))
    here = pred.LabelAttribute(x if likely(rng, 0.8) else y, rng.choice("vvw"))
    if likely(rng, 0.2):
        return Correlation(op, before, pred.Constant(rng.choice(_VALUES)))
    if likely(rng, 0.2):
        other = random_group(rng, y) if likely(rng, 0.5) else pred.Constant(1)
        before = pred.Computed(pred.Arithmetic.ADD, before, other)
    return Correlation(op, here, before)
