"""Expressions of DEFINE and MEASURES, by hand: every clause."""

from __future__ import annotations

import math
from typing import Any

import pytest

from cerlab.rows.columns import NotColumnar
from cerlab.rows.functions import remainder
from cerlab.rows.programs import Code, common
from cerlab.rows.recognise import RowEvaluator
from proofs_tests.rows.tables import EVALUATORS, numbers, rows_of

N = numbers("3 5 . 8 2")
"""x is 3, 5, NULL, 8, 2."""

WORDS = [{"t": t} for t in ("a", "Bc", None, "a")]
ALL = "ALL ROWS PER MATCH"


def define(condition: str, expected: str, *, id: str, pattern: str = "A+ B", table: Any = N) -> Any:
    """A row: the labels of the matches of ``A+ B`` where B has a condition."""
    clauses = f"MEASURES CLASSIFIER() AS v {ALL} PATTERN ({pattern}) DEFINE B AS {condition}"
    return pytest.param(clauses, table, expected, id=id)


def measure(e: str, *expected: Any, id: str, pattern: str = "A B+", table: Any = N) -> Any:
    """A row: the value of a measure under ONE ROW, one for each match."""
    clauses = f"MEASURES {e} AS m PATTERN ({pattern})"
    return pytest.param(clauses, table, list(expected), id=id)


def running(e: str, *expected: Any, id: str, pattern: str = "A B+", table: Any = N) -> Any:
    """A row: the values of a measure at each row of the match under ALL ROWS."""
    clauses = f"MEASURES {e} AS m {ALL} PATTERN ({pattern})"
    return pytest.param(clauses, table, list(expected), id=id)


CONTEXTS = [
    running("COUNT(*)", 1, 2, 3, 4, 5, id="6.0-all-rows-sees-one-row-more-each-time"),
    measure("COUNT(*)", 5, id="6.0-one-row-sees-the-whole-match"),
    define("COUNT(*) = 3", "AAB", id="6.0-in-define-the-row-under-test-counts"),
    define("COUNT(B.*) = 1 AND x = 8", "AAAB", id="6.0-and-is-mapped-to-its-variable"),
    running("COUNT(B.*)", 0, 1, 2, 3, 4, id="6.1-rows-of-a-variable"),
    running("FINAL COUNT(B.*)", 4, 4, 4, 4, 4, id="6.1-final"),
    running("x", 3, 5, None, 8, 2, id="6.2-the-current-row-under-all-rows"),
    measure("x", 2, id="6.2-the-last-row-under-one-row"),
    measure("A.x", 3, id="6.2-of-a-variable-the-last-of-its-rows"),
    running("A.x", 3, 3, 3, 3, 3, id="6.2-which-may-be-earlier"),
    running("B.x", None, 5, None, 8, 2, id="6.2-null-before-there-is-one"),
    measure("C.x", None, id="6.2-null-where-none-is-mapped", pattern="A B+ C?? $"),
    define("x = 8", "AAAB", id="6.2-in-define-the-row-under-test"),
    define("B.x = 8", "AAAB", id="6.2-in-define-its-own-variable-too"),
    define("x > A.x", "AB", id="6.2-in-define-another-variable", pattern="A B"),
    measure("LAST(A.x + A.i)", 3, id="6.3-one-variable-in-a-call"),
    measure("LAST(7)", 7, id="6.3-without-any-the-universal-variable"),
    measure("LAST(CLASSIFIER(B) || 'z')", "Bz", id="6.3-classifier-names-a-variable"),
    measure("PREV(A.x + 10, 0)", 13, id="6.3-at-a-row-all-of-the-argument-is-read"),
    measure("NEXT(A.x * 10)", 50, id="6.3-whatever-the-qualifier"),
    measure("LAST(MATCH_NUMBER())", 1, id="6.3-match-number-at-a-row"),
]
NAVIGATION = [
    measure("FIRST(x)", 3, id="6.4-first"),
    measure("FIRST(x, 1)", 5, id="6.4-first-with-an-offset"),
    measure("FIRST(x, 5)", None, id="6.4-beyond-the-rows"),
    measure("FIRST(B.x, 1)", None, id="6.4-rows-where-it-is-null-count"),
    measure("LAST(x)", 2, id="6.4-last"),
    measure("LAST(x, 1)", 8, id="6.4-last-with-an-offset"),
    measure("LAST(x, 4)", 3, id="6.4-last-to-the-first"),
    measure("LAST(x, 5)", None, id="6.4-last-beyond"),
    measure("LAST(A.x, 0)", 3, id="6.4-last-of-a-variable"),
    running("FIRST(x, 2)", None, None, None, None, None, id="6.4-the-third-is-null"),
    running("FIRST(x, 1)", None, 5, 5, 5, 5, id="D6-running-bounds-first"),
    running("FINAL FIRST(x, 1)", 5, 5, 5, 5, 5, id="6.4-final-first"),
    running("FINAL LAST(x)", 2, 2, 2, 2, 2, id="6.4-final-last"),
    running("LAST(x, 1)", None, 3, 5, None, 8, id="6.4-running-last"),
    running("RUNNING LAST(B.x)", None, 5, None, 8, 2, id="6.4-running-may-be-written"),
    measure("PREV(x)", 8, id="6.5-prev"),
    measure("PREV(x, 3)", 5, id="6.5-prev-with-an-offset"),
    measure("PREV(x, 0)", 2, id="6.5-no-step"),
    measure("PREV(x, 9)", None, id="6.5-outside-the-partition"),
    measure("NEXT(x)", None, id="6.5-after-the-last-row"),
    measure("PREV(A.x)", None, id="6.5-from-the-variable-before-the-first-row"),
    measure("PREV(B.x)", 3, id="6.5-a-physical-step", pattern="A B", table=N[:2]),
    measure("NEXT(A.x)", 5, id="6.5-next-from-a-variable"),
    measure("NEXT(x)", 9, None, id="6.5-may-leave-the-match", pattern="A", table=numbers("3 9")),
    measure("PREV(LAST(x, 1), 2)", 5, id="6.5-from-where-last-lands"),
    measure("NEXT(FIRST(x), 3)", 8, id="6.5-from-where-first-lands"),
    measure("PREV(FIRST(x, 9))", None, id="6.5-that-lands-nowhere"),
    running("PREV(FINAL LAST(x))", 8, 8, 8, 8, 8, id="6.8-a-step-from-the-final-row"),
    running("NEXT(x)", 5, None, 8, 2, None, id="6.5-next-at-each-row"),
    running("NEXT(C.x)", None, None, None, None, None, id="6.5-no-row", pattern="A B+ C?? $"),
    define("x > PREV(x)", "AB", id="6.5-in-define", pattern="A B"),
    define("x < PREV(x)", "AAAAB", id="6.5-in-define-later", pattern="A+? B"),
    define("NEXT(x) = 2", "AAAB", id="6.5-next-in-define"),
    define(
        "LAST(B.x, 1) < B.x",
        "",
        id="D7-last-is-the-row-under-test",
        pattern="A B{2}",
        table=numbers("9 1 2"),
    ),
    define(
        "LAST(B.x, 1) < B.x OR COUNT(B.*) = 1",
        "ABB",
        id="D7-the-one-before-by-an-offset",
        pattern="A B{2}",
        table=numbers("9 1 2"),
    ),
    define("LAST(B.x) = B.x", "AAAAB", id="D7-last-without-an-offset", pattern="A+ B"),
]
AGGREGATES = [
    measure("COUNT(*)", 5, id="6.6-count-rows"),
    measure("COUNT(B.*)", 4, id="6.6-count-rows-of-a-variable"),
    measure("COUNT(x)", 4, id="6.6-nulls-are-dropped"),
    measure("COUNT(B.x)", 3, id="6.6-count-of-a-variable"),
    measure("SUM(x)", 18, id="6.6-sum"),
    measure("SUM(B.x + 1)", 18, id="6.6-sum-of-an-expression"),
    measure("AVG(x)", 4.5, id="6.6-avg-is-a-double"),
    measure("MIN(x)", 2, id="6.6-min"),
    measure("MAX(B.x)", 8, id="6.6-max"),
    measure("MIN(t)", "Bc", id="6.6-min-of-texts", table=WORDS, pattern="A+"),
    measure("SUM(C.x)", None, id="6.6-over-no-value-null", pattern="A B+ C?? $"),
    measure("COUNT(C.x)", 0, id="6.6-over-no-value-count-0", pattern="A B+ C?? $"),
    measure("SUM(x)", None, id="6.6-over-nulls", pattern="A", table=numbers(". ")),
    running("SUM(x)", 3, 8, 8, 16, 18, id="6.6-running"),
    running("FINAL SUM(x)", 18, 18, 18, 18, 18, id="6.6-final"),
    running("FINAL AVG(A.x)", 3.0, 3.0, 3.0, 3.0, 3.0, id="6.6-final-of-a-variable"),
    define("SUM(x) > 15", "AAAB", id="6.6-in-define", pattern="A+? B"),
    define("SUM(A.x) > 7", "AABAB", id="6.6-in-define-of-another", pattern="A+? B"),
    pytest.param(
        f"MEASURES CLASSIFIER() AS v {ALL} PATTERN ((A | B) (A | B) C) DEFINE C AS SUM(A.x) = 2",
        numbers("1 2 4"),
        "BAC",
        id="6.6-of-the-mapping-so-far",
    ),
    measure("COUNT(CLASSIFIER(B))", 4, id="6.6-count-of-labels"),
    define("COUNT(CLASSIFIER(B)) = 1", "ABAB", id="D8-count-of-labels-in-define", pattern="A B"),
]
LABELS = [
    running("CLASSIFIER()", "A", "B", "B", "B", "B", id="6.7-classifier"),
    running("CLASSIFIER(A)", "A", "A", "A", "A", "A", id="6.7-of-a-variable"),
    running("CLASSIFIER(B)", None, "B", "B", "B", "B", id="6.7-null-before-there-is-one"),
    measure("CLASSIFIER()", None, id="D4-null-on-an-empty-match", pattern="A??", table=N[:1]),
    measure("x", None, id="D4-a-column-too", pattern="A??", table=N[:1]),
    measure("COUNT(*)", 0, id="D4-count-is-0", pattern="A??", table=N[:1]),
    measure("MATCH_NUMBER()", 1, 2, id="6.7-match-number", pattern="A B", table=N[:4]),
    define(
        "MATCH_NUMBER() = 1",
        "AB",
        id="6.7-in-define-the-number-it-would-get",
        pattern="A B",
        table=N[:4],
    ),
    define("CLASSIFIER() = 'B'", "ABAB", id="6.7-in-define-the-label-under-test", pattern="A B"),
    running("PREV(CLASSIFIER())", None, "A", "B", "B", "B", id="D8-prev-of-labels"),
    running("NEXT(CLASSIFIER())", "B", "B", "B", "B", None, id="D8-next-sees-the-whole-match"),
    running("NEXT(CLASSIFIER())", "B", None, id="D8-but-not-beyond-it", pattern="A B", table=N[:3]),
    define(
        "NEXT(CLASSIFIER()) IS NULL AND PREV(CLASSIFIER()) = 'A'",
        "ABAB",
        pattern="A B",
        id="D8-in-define-no-label-follows",
    ),
    define("NEXT(CLASSIFIER() || 'z') IS NULL", "ABAB", id="D8-in-an-expression", pattern="A B"),
    measure(
        "PREV(CLASSIFIER(), 1)", None, None, id="D8-before-the-match", pattern="A", table=N[:2]
    ),
]
MODES = [
    running("SUM(x)", 3, 8, 8, 16, 18, id="6.8-running-is-the-default"),
    measure("FINAL SUM(x) - RUNNING SUM(x)", 0, id="6.8-both-agree-under-one-row"),
    running("FINAL LAST(x) - x", -1, -3, None, -6, 0, id="6.8-columns-are-always-running"),
    define("RUNNING SUM(x) = 8", "ABAB", id="6.8-running-in-define", pattern="A B"),
    running("FIRST(x) + FINAL COUNT(*) - COUNT(A.x)", 7, 7, 7, 7, 7, id="6.9-side-by-side"),
    measure("LAST(x, 1000000000000)", None, id="6.9-no-limit-on-offsets"),
]
BOTH = [{"p": p, "q": q} for p in (True, False, None) for q in (True, False, None)]


def truths(e: str, letters: str, *, id: str) -> Any:
    """A row: an expression of p, q over TRUE, FALSE, NULL, p slower, as t, f and n."""
    expected = [{"t": True, "f": False, "n": None}[letter] for letter in letters.replace(" ", "")]
    return measure(e, *expected, id=id, pattern="A", table=BOTH)


LOGIC = [
    truths("p AND q", "tfn fff nfn", id="6.10-and"),
    truths("p OR q", "ttt tfn tnn", id="6.10-or"),
    truths("NOT p", "fff ttt nnn", id="6.10-not"),
    truths("p = q", "tfn ftn nnn", id="6.10-comparison"),
    truths("p IS NULL", "fff fff ttt", id="6.10-is-null"),
    truths("p IS NOT NULL", "ttt ttt fff", id="6.10-is-not-null"),
    truths("p IS TRUE", "ttt fff fff", id="6.10-is-true"),
    truths("p IS NOT TRUE", "fff ttt ttt", id="6.10-is-not-true"),
    truths("p IS FALSE", "fff ttt fff", id="6.10-is-false"),
    truths("p = q IS NULL", "fft fft ttt", id="6.10-is-binds-looser-than-comparison"),
    truths("q IN (p, TRUE)", "tfn ttn tnn", id="6.10-in"),
    truths("q NOT IN (p, TRUE)", "ftn ffn fnn", id="6.10-not-in"),
    truths("q BETWEEN FALSE AND p", "ttn ftn nnn", id="6.10-between"),
    truths("CASE WHEN p THEN q ELSE TRUE END", "tfn ttt ttt", id="6.10-case"),
    truths("CASE WHEN p THEN q END", "tfn nnn nnn", id="6.10-case-without-else"),
    truths("CASE p WHEN q THEN TRUE ELSE FALSE END", "tff ftf fff", id="6.10-case-of-a-value"),
    truths("COALESCE(p, q, FALSE)", "ttt fff tff", id="6.10-coalesce"),
    truths("NULLIF(p, q)", "ntt fnf nnn", id="6.11-nullif"),
    truths("p OR q AND FALSE", "ttt fff nnn", id="6.11-and-binds-tighter-than-or"),
    define("x > 100", "", id="6.10-false-is-no-match"),
    define("x > NULL", "", id="6.10-null-is-no-match"),
    define("NULL", "", id="6.10-the-literal-null-is-no-match"),
    define("x > 1 = TRUE", "AAAAB", id="D20-any-boolean-expression"),
]
V = [{"x": 7, "y": -2, "z": 0, "d": 0.5, "n": None, "t": "aB", "u": "b"}]


def of(e: str, expected: Any, *, id: str) -> Any:
    """A row: an expression of x = 7, y = -2, z = 0, d = 0.5, n = NULL, t = 'aB', u = 'b'."""
    return measure(e, expected, id=id, pattern="A", table=V)


OPERATORS = [
    of("x + y", 5, id="6.11-sum"),
    of("x - y", 9, id="6.11-difference"),
    of("x - 1 - 1", 5, id="6.11-from-the-left"),
    of("x * y", -14, id="6.11-product"),
    of("1 + x * 2", 15, id="6.11-product-first"),
    of("-x + 1", -6, id="6.11-minus"),
    of("x / y", -3.5, id="D17-exact-division"),
    of("x / z", None, id="D17-by-zero-null"),
    of("1 / 3.0 * 3.0", 1.0, id="6.11-doubles"),
    of("x % y", 1, id="6.11-remainder"),
    of("-x % 2", -1, id="6.11-remainder-truncates-toward-zero"),
    of("x % z", None, id="6.11-remainder-by-zero"),
    of("MOD(-7, 3)", -1, id="6.11-mod"),
    of("x + n", None, id="6.11-null-operand"),
    of("n || t", None, id="6.11-null-text"),
    of("t || u || 'c'", "aBbc", id="6.11-concatenation"),
    of("x = 7.0", True, id="6.11-numbers-compare-by-value"),
    of("9007199254740993 = 9007199254740992.0", False, id="6.11-exactly"),
    of("x <> 7", False, id="6.11-unequal"),
    of("x != 7", False, id="6.11-unequal-in-another-spelling"),
    of("x < 7", False, id="6.11-less"),
    of("x <= 7", True, id="6.11-less-or-equal"),
    of("x > y", True, id="6.11-greater"),
    of("x >= 8", False, id="6.11-greater-or-equal"),
    of("t < u", True, id="6.11-texts-by-code-point"),
    of("'B' < 'a'", True, id="6.11-capitals-first"),
    of("x IN (1, 7)", True, id="6.11-in"),
    of("x IN (1, n)", None, id="6.11-in-with-null"),
    of("x BETWEEN 7 AND 8", True, id="6.11-between-includes-its-ends"),
    of("x NOT BETWEEN 7 AND 8", False, id="6.11-not-between"),
    of("ABS(y)", 2, id="6.11-abs"),
    of("COALESCE(n, n, x)", 7, id="6.11-coalesce"),
    of("LOWER(t)", "ab", id="6.11-lower"),
    of("UPPER(t)", "AB", id="6.11-upper"),
    of("CHAR_LENGTH(t)", 2, id="6.11-char-length"),
    of("CHARACTER_LENGTH(t || u)", 3, id="6.11-character-length"),
    of("LENGTH('')", 0, id="6.11-length-of-an-empty-text"),
    of("LENGTH('\U0001f600e\u0301')", 3, id="6.11-length-in-code-points"),
    of("LENGTH(n)", None, id="6.11-length-of-null"),
    of("LENGTH(t) + 0.5", 2.5, id="6.11-length-is-a-number"),
    of("NULLIF(x, 7.0)", None, id="6.11-nullif-equal"),
    of("CASE x WHEN 7 THEN 'seven' ELSE t END", "seven", id="6.11-case"),
    of("'it''s'", "it's", id="6.11-quotes"),
    of("1.5e1", 15.0, id="6.11-exponents"),
    of("NOT x = 7 OR TRUE", True, id="6.11-not-binds-tighter-than-or"),
    of("(x + 1) * 2", 16, id="6.11-parentheses"),
]

EITHER = "(A | C) (A | C) B"
BACKTRACKING = [
    define(condition, expected, id=f"5.5-tried-again-{i}", pattern=EITHER, table=numbers("1 2 0"))
    for i, (condition, expected) in enumerate(
        (
            ("LAST(A.x) = 1", "ACB"),
            ("FIRST(C.x) = 2", "ACB"),
            ("LAST(C.x, 1) = 1", "CCB"),
            ("PREV(C.x) = 1", "ACB"),
            ("CLASSIFIER(C) = 'C'", "ACB"),
            ("COUNT(C.*) = 2", "CCB"),
            ("SUM(C.x) = 1", "CAB"),
            ("A.x < C.x", "ACB"),
        )
    )
]
"""The first way fails, and what another way maps makes the condition true."""

CASES = [*BACKTRACKING, *CONTEXTS, *NAVIGATION, *AGGREGATES, *LABELS, *MODES, *LOGIC, *OPERATORS]


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
