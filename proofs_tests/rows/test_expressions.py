"""Expressions of DEFINE and MEASURES, by hand: every clause."""

from __future__ import annotations

import math
import re
from ast import literal_eval
from typing import Any

import pytest

from cerlab.rows.columns import NotColumnar
from cerlab.rows.functions import remainder
from cerlab.rows.programs import Code, common
from cerlab.rows.recognise import RowEvaluator
from proofs_tests.rows.tables import EVALUATORS, rows_of, sections, table_of

FORMS = {
    "one": ("A B+", "MEASURES {e} AS m PATTERN ({p})"),
    "all": ("A B+", "MEASURES {e} AS m ALL ROWS PER MATCH PATTERN ({p})"),
    "define": (
        "A+ B",
        "MEASURES CLASSIFIER() AS v ALL ROWS PER MATCH PATTERN ({p}) DEFINE B AS {e}",
    ),
    "clauses": ("", "{e}"),
}
TRUTHS = {"t": True, "f": False, "n": None}


def case_of(id: str, form: str, e: str, expected: str, pattern: str = "", table: str = "") -> Any:
    """A line of ``values.txt``."""
    default, clauses = FORMS[form]
    values: Any = expected
    if re.fullmatch("([tfn]{3} ?){3}", expected):
        values = [TRUTHS[letter] for letter in expected.replace(" ", "")]
    elif not re.fullmatch("[A-Z]*", expected):
        values = literal_eval(f"[{expected}]")
    return pytest.param(
        clauses.format(e=e, p=pattern or default),
        table_of("values", table or "3 5 . 8 2"),
        values,
        id=id,
    )


TABLES = {name: [case_of(*row) for row in rows] for name, rows in sections("values").items()}
CASES = [case for table in TABLES.values() for case in table]


def values(clauses: str, table: Any, evaluator: RowEvaluator = "reference") -> Any:
    """The first column of a result."""
    return [row[0] for row in rows_of(f"MATCH_RECOGNIZE ({clauses})", table, evaluator)]


@pytest.mark.parametrize("evaluator", EVALUATORS)
@pytest.mark.parametrize(("clauses", "table", "expected"), CASES)
def test_the_values_are(clauses: str, table: Any, expected: Any, evaluator: RowEvaluator) -> None:
    assert values(clauses, table, evaluator) == list(expected)


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
