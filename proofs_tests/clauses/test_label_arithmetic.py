"""Arithmetic between labels, by hand: what each comparison computes, keeps and refuses."""

from __future__ import annotations

from typing import Any

import pytest

import cerlab
from cerlab import ComplexEvent, Timestamp
from proofs_tests.clauses.tables import c, word

PAIR = "A AS a ; B AS b FILTER "
MANY = "A:+ AS a : B AS b FILTER "


def row(formula: str, types: str, *expected: ComplexEvent, **values: str) -> Any:
    """A row: a formula, a stream as `word` reads it, its complex events."""
    return pytest.param(formula, word(types, **values), [*expected], id=f"{formula} {values}")


KEPT = [
    row(PAIR + "b.v > 2 * a.v", "ABB", c(0, 2, 0, 2), v="123"),
    row(PAIR + "2 * a.v < b.v", "ABB", c(0, 2, 0, 2), v="123"),
    row(PAIR + "b.v - a.v >= 2", "ABB", c(0, 2, 0, 2), v="123"),
    row(PAIR + "-a.v < b.v - 3", "ABB", c(0, 2, 0, 2), v="123"),
    row(PAIR + "b.v = (a.v + 1) * a.w", "ABB", c(0, 2, 0, 2), v="156", w="3.."),
    row(PAIR + "b.v % 2 = a.v % 2", "ABB", c(0, 2, 0, 2), v="123"),
    row(PAIR + "b.v / a.v >= 0", "AB", v="01"),
    row(PAIR + "b.v / a.v = 0.5", "AB", c(0, 1, 0, 1), v="21"),
    row(PAIR + "b.v - a.v < 9", "AB", v="1."),
    row(PAIR + "b.v - a.v < 9 OR b[v != 3]", "ABB", c(0, 2, 0, 2), v=".32"),
    row("(A AS a OR B AS b) FILTER b.v > 1 + a.v", "AB", c(0, 0, 0), c(1, 1, 1), v=".."),
    row("A AS a AS b FILTER b.w - a.v = 1", "AA", c(0, 0, 0), v="11", w="21"),
    row(MANY + "b.v > 2 * a.v", "AAB", c(1, 2, 1, 2), v="214"),
    row(MANY + "b.v > 2 * a.v", "AAB", c(0, 2, 0, 1, 2), c(1, 2, 1, 2), v="114"),
    row(MANY + "b.v > 5 - a.v", "AAB", c(1, 2, 1, 2), v="142"),
    row(MANY + "b.v > 5 - a.v", "AAB", v="412"),
    row(MANY + "b.v + 1 = a.v * a.w", "AAB", c(0, 2, 0, 1, 2), c(1, 2, 1, 2), v="235", w="32."),
    row(MANY + "b.v > 2 * a.v", "AAB", c(1, 2, 1, 2), v=".14"),
    row(
        "(A AS a : B AS b):+ FILTER b.v >= 2 * a.v", "ABAB", c(0, 1, 0, 1), c(2, 3, 2, 3), v="1229"
    ),
]
"""Answered by the reference, by registers and by the compiled engine."""

KEPT_TWICE = [
    row("A AS a : B AS b : C AS c FILTER a.v + 1 < b.v AND b.v + 1 < c.v", "ABC", v="134"),
    row(
        "A AS a : B AS b : C AS c FILTER a.v + 1 < b.v AND b.v + 1 < c.v",
        "ABC",
        c(0, 2, 0, 1, 2),
        v="135",
    ),
]

EVALUATORS = ["reference", "registers", "compiled", "auto"]


@pytest.mark.parametrize(("formula", "events", "expected"), KEPT + KEPT_TWICE)
@pytest.mark.parametrize("evaluator", EVALUATORS)
def test_formula(
    evaluator: Any, formula: str, events: list[dict[str, Any]], expected: list[ComplexEvent]
) -> None:
    assert cerlab.evaluate(formula, events, evaluator=evaluator) == sorted(
        expected, key=lambda a: (a.end, a.start)
    )


REFUSED = [
    row(MANY + "b.v - a.v > 2", "AAB", c(1, 2, 1, 2), v="214"),
    row("A AS a ; B AS b ; C AS c FILTER a.v + b.v = c.v", "ABC", c(0, 2, 0, 1, 2), v="123"),
]
"""Comparisons that would need a register for each event, or for each pair of labels."""


@pytest.mark.parametrize(("formula", "events", "expected"), REFUSED)
def test_what_registers_refuse(
    formula: str, events: list[dict[str, Any]], expected: list[ComplexEvent]
) -> None:
    assert cerlab.evaluate(formula, events, evaluator="reference") == expected
    with pytest.raises(cerlab.Unsupported, match="CER0491"):
        cerlab.evaluate(formula, events, evaluator="registers")
    with pytest.raises(cerlab.Unsupported, match="CER0403") as refused:
        cerlab.evaluate(formula, events, evaluator="compiled")
    assert refused.value.hint == "evaluators that take it: reference"


VALUES = [
    ("b.v + a.v > 0", 2**62, 2**62, False, "beyond 64 bits"),
    ("b.v + a.v > 0", 2**62, 2**62 - 1, True, "the largest of 64 bits"),
    ("b.v - a.v <= 0.1", 0.5, 0.6, True, "0.09999999999999998"),
    ("b.v - a.v = 0.1", 0.5, 0.6, False, "0.09999999999999998"),
    ("b.v = a.v + 0.1", 0.5, 0.6, True, "no algebra before it is computed"),
    ("b.v = 2 * a.v", 2**53 + 1, 2**54 + 2, True, "integers are exact"),
    ("b.v != a.v + 1", "a", "b", False, "text"),
    ("b.v != a.v + 1", True, 5, False, "a boolean"),
    ("b.v != a.v + 1", float("nan"), 5, False, "not a number"),
    ("b.v - a.v <= 5 SECONDS", Timestamp(0), Timestamp(5 * 10**9), True, "moments"),
    ("b.v - a.v <= 5 SECONDS", Timestamp(0), Timestamp(5 * 10**9 + 1), False, "moments"),
    ("b.v <= a.v + 5 SECONDS", Timestamp(0), Timestamp(5 * 10**9), True, "moments"),
    ("b.v <= a.v + 5", Timestamp(0), Timestamp(5), False, "a moment and a number"),
]


@pytest.mark.filterwarnings("ignore::cerlab.CerlabWarning")
@pytest.mark.parametrize(
    ("text", "left", "right", "holds", "why"), VALUES, ids=[f"{v[0]}: {v[4]}" for v in VALUES]
)
@pytest.mark.parametrize("evaluator", EVALUATORS)
def test_values(evaluator: Any, text: str, left: Any, right: Any, holds: bool, why: str) -> None:
    events = [{"type": "A", "v": left}, {"type": "B", "v": right}]
    assert bool(cerlab.evaluate(PAIR + text, events, evaluator=evaluator)) is holds, why


S = [{"type": X, "t": t} for X, t in zip("ABBCAB", (0, 4, 7, 8, 100, 130), strict=True)]


@pytest.mark.parametrize("evaluator", EVALUATORS)
def test_differences_of_times(evaluator: Any) -> None:
    near = cerlab.evaluate(PAIR + "b.t - a.t <= 5", S, evaluator=evaluator)
    far = cerlab.evaluate(PAIR + "b.t > 20 + a.t", S, evaluator=evaluator)
    assert near == [c(0, 1, 0, 1)]
    assert far == [c(0, 5, 0, 5), c(4, 5, 4, 5)]


READ = [
    ("A FILTER A.v > 5+ ; B", "(A FILTER A[v > 5])+ ; B"),
    ("A FILTER A.v > 5 + 1", "A FILTER A[v > 5 + 1]"),
    ("A AS a ; B AS b FILTER b.v > a.v+1", "A AS a ; B AS b FILTER b.v > a.v + 1"),
    ("A AS a ; B AS b FILTER b.v > a.v + (2)", "A AS a ; B AS b FILTER b.v > a.v + 2"),
    ("A FILTER A.v + A.w = 3", "A FILTER A[v + w = 3]"),
    ("A FILTER 5 < A.v AND 7 > A.v", "A FILTER A[5 < v] AND A[7 > v]"),
    ("A FILTER A.v > 5 AND -A.w < 1", "A FILTER A[v > 5] AND A[-w < 1]"),
    ("A FILTER A.v > 5 OR (2 * A.w < 1)", "A FILTER A[v > 5] OR A[2 * w < 1]"),
    ("A FILTER A[v > 5 AND -w < 1 OR 2 < v]", "A FILTER A[(v > 5 AND -w < 1) OR 2 < v]"),
    ("A FILTER A[v > 5 AND (w < 1)] AND 1 < A.v", "A FILTER A[v > 5 AND w < 1] AND A[1 < v]"),
    ("A FILTER A.v > 5 AND DATE", "(A FILTER A[v > 5]) AND DATE"),
]


@pytest.mark.parametrize(("text", "printed"), READ)
def test_how_texts_are_read(text: str, printed: str) -> None:
    assert cerlab.parse_query(f"SELECT * WHERE {text}") == cerlab.parse_query(
        f"SELECT * WHERE {printed}"
    )


def test_a_comparison_without_a_label_is_an_error() -> None:
    with pytest.raises(cerlab.IllFormed, match="CER0243") as caught:
        cerlab.parse_query("SELECT * WHERE A FILTER 1 < 2")
    assert "label.attribute" in (caught.value.hint or "")
