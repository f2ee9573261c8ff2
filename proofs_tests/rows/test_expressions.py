"""Remainders, and kinds of expressions, by hand; the suite has every clause."""

from __future__ import annotations

import math

import pytest

from cerlab.rows.column_forms import NotColumnar
from cerlab.rows.scalar_forms import remainder
from cerlab.rows.stack_compiler import Code, common


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [(-7, 3, -1), (7, -3, 1), (5.5, 2.0, 1.5), (-5.5, 2, -1.5), (math.inf, 2, math.nan)],
)
def test_a_remainder_has_the_sign_of_the_dividend(a: float, b: float, expected: float) -> None:
    """6.11."""
    assert remainder(a, b) == pytest.approx(expected, nan_ok=True)


def test_results_of_one_expression_have_one_kind() -> None:
    integer, double, null = (Code((), "integer"), Code((), "double"), Code((), "null"))
    assert common([null, integer, null, integer]) == ("integer", null, integer, null, integer)
    assert common([null]) == ("null", null)
    with pytest.raises(NotColumnar):
        common([integer, null, double])
