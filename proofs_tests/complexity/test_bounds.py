"""The bounds of the papers, counted: slopes of growing families beside those of the theorems.

(CORE Thm. 2; CORE Thm. 4; FOUND Thm. 1; FOUND Thm. 3; FOUND Thm. 5; DQE Thm. 1; SRT Thm. 27)
"""

from __future__ import annotations

import pytest

from cerlab.papers import CITATION
from proofs_tests.complexity.bounds import BOUNDS, DATA, bounds_text
from proofs_tests.complexity.slopes import Bound, slope

NEAR = 0.15
"""Tolerance of a slope: lower terms still show at small sizes."""


def holds(bound: Bound) -> bool:
    """Whether the slope is what the theorem says, with its confidence."""
    value, within = bound.fit
    match bound.relation:
        case "=":
            return abs(value - bound.slope) <= max(within, NEAR)
        case "<=":
            return value <= bound.slope + within
        case ">=":
            return value >= bound.slope - within


@pytest.mark.parametrize("bound", BOUNDS, ids=lambda each: f"{each.key}: {each.says}")
def test_the_slope_is_that_of_the_theorem(bound: Bound) -> None:
    assert CITATION.fullmatch(bound.key)
    assert len(bound.sizes) >= 5
    assert bound.fit.within < 0.3
    assert holds(bound), bound.fit


def test_a_line_that_is_none_has_no_slope_to_rely_on() -> None:
    assert slope(range(6), [0, 2, 0, 2, 0, 2]).within > 0.5
    value, within = slope(range(6), [0.1, 0.9, 2.1, 2.9, 4.1, 4.9])
    assert value - within < 1 < value + within


def test_what_is_drawn_was_counted_so() -> None:
    assert DATA.read_text(encoding="utf-8") == bounds_text()
