"""Arithmetic between labels: how its texts are read, and what registers refuse.

Hand-computed answers are in ``cerlab/conformance/cases/arithmetic-between-labels.json``.
"""

from __future__ import annotations

import pytest

import cerlab

PAIR = "A AS a ; B AS b FILTER "


REFUSED = [
    "(A:+ AS a : B AS b FILTER b.v - a.v > 2) ; D",
    "(A AS a ; B AS b ; C AS c FILTER a.v + b.v = c.v) ; D",
]
"""Comparisons that would need a register for each event, or for each pair of labels.

Below another operator nothing lists what they test.
"""


@pytest.mark.parametrize("formula", REFUSED)
def test_what_registers_refuse(formula: str) -> None:
    for evaluator in ("registers", "compiled"):
        with pytest.raises(cerlab.Unsupported, match="CER0491") as refused:
            cerlab.evaluate(formula, [], evaluator=evaluator)
        assert refused.value.hint == "evaluators that support it: reference"


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


def test_an_outermost_comparison_of_any_labels_is_tested_on_listed_answers() -> None:
    """Of 400 events, more than the reference takes."""
    events = [{"type": "ABC"[n % 3], "v": n % 7} for n in range(400)]
    query = "SELECT * WHERE A AS a : B AS b : C AS c FILTER c.v > a.v + b.v"
    fitting = [n for n in range(0, 398, 3) if (n + 2) % 7 > n % 7 + (n + 1) % 7]
    for evaluator in ("auto", "compiled", "registers", "automaton"):
        answers = cerlab.evaluate(query, events, evaluator=evaluator)
        assert [answer.start for answer in answers] == fitting


@pytest.mark.parametrize(("text", "printed"), READ)
def test_how_texts_are_read(text: str, printed: str) -> None:
    assert cerlab.parse_query(f"SELECT * WHERE {text}") == cerlab.parse_query(
        f"SELECT * WHERE {printed}"
    )


def test_a_comparison_without_a_label_is_an_error() -> None:
    with pytest.raises(cerlab.IllFormed, match="CER0243") as caught:
        cerlab.parse_query("SELECT * WHERE A FILTER 1 < 2")
    assert "label.attribute" in (caught.value.hint or "")
