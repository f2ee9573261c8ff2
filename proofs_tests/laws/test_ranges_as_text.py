"""Every range has a text with the same meaning, also ranges that CEQL cannot write."""

from __future__ import annotations

from itertools import product

import pytest

from cerlab import Event, satisfies
from cerlab.model.event import Value
from cerlab.predicates.syntax import Arithmetic, Between, Computed, Constant, Expression
from cerlab.predicates.text import predicate_text
from proofs_tests.laws.vectors import V, W, p

SUM = Computed(Arithmetic.ADD, W, Constant(1))
ENDS: tuple[Expression | None, ...] = (None, Constant(1), W, SUM)
VALUES: tuple[Value, ...] = (0, 1, 2, 1.5, "a", True, None, float("nan"))
EVENTS = [Event("E", {"v": v, "w": w}) for v, w in product(VALUES, repeat=2)]


@pytest.mark.parametrize("is_negated", [False, True])
@pytest.mark.parametrize(
    ("low", "high"), [ends for ends in product(ENDS, repeat=2) if ends != (None, None)]
)
def test_the_text_of_a_range_means_the_range(
    low: Expression | None, high: Expression | None, is_negated: bool
) -> None:
    between = Between(V, low, high, is_negated)
    again = p(predicate_text(between))
    assert [satisfies(t, again) for t in EVENTS] == [satisfies(t, between) for t in EVENTS]


@pytest.mark.parametrize(
    ("between", "text"),
    [
        (Between(V, None, Constant(1)), "v IN {..1}"),
        (Between(V, Constant(1), None, negated=True), "v NOT IN {1..}"),
        (Between(V, W, SUM), "v IN RANGE(w, w + 1)"),
        (Between(V, Constant(1), W), "v IN RANGE(1, w)"),
        (Between(V, None, W), "v <= w"),
        (Between(V, None, W, negated=True), "v > w"),
        (Between(V, SUM, None), "v >= w + 1"),
        (Between(V, SUM, None, negated=True), "v < w + 1"),
    ],
)
def test_ranges_by_hand(between: Between, text: str) -> None:
    assert predicate_text(between) == text
