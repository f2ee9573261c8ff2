"""Windows inside a formula, (phi WITHIN w): their text, who refuses them, and decisions.

Hand-computed valuations are in ``cerlab/conformance/cases/windows-inside*.json``.
"""

from __future__ import annotations

import pytest

import cerlab
from cerlab import QuerySyntaxError, Unsupported
from proofs_tests.limits.calls import at_most_calls

STREAM = [{"type": x, "t": t} for x, t in zip("ABBCAB", (0, 4, 7, 8, 100, 130), strict=True)]


@pytest.mark.parametrize(
    "text",
    [
        "A WITHIN 5 EVENTS",
        "A ; B WITHIN 5 EVENTS",
        "NOT(A WITHIN 5 EVENTS)",
        "(A WITHIN 5 EVENTS ; B)",
        "(A WITHIN 5 EVENTS WITHIN 3 EVENTS)",
        "(A WITHIN 5)",
        "(A WITHIN -5 EVENTS)",
        "A AS x WITHIN 5 EVENTS ; B",
    ],
)
def test_it_is_the_last_thing_in_parentheses(text: str) -> None:
    with pytest.raises(QuerySyntaxError):
        cerlab.parse_formula(text)


@pytest.mark.parametrize("text", ["WITHIN", "(WITHIN ; EVENTS)", "A AS WITHIN ; EVENTS AS SECONDS"])
def test_its_words_stay_names(text: str) -> None:
    formula = cerlab.parse_formula(text)
    assert cerlab.parse_formula(str(formula)) == formula


@pytest.mark.parametrize("window", ["1 EVENTS", "5 [t]", "5 SECONDS"])
def test_who_does_not_take_it_says_so(window: str) -> None:
    text = f"(A ; B WITHIN {window}) ; C"
    with pytest.raises(Unsupported, match=r"CER0406.*WITHIN"):
        cerlab.evaluate(text, STREAM, logic="fo")
    with pytest.raises(Unsupported, match=r"CER0412.*WITHIN"):
        cerlab.evaluate(text, STREAM, evaluator="lists")
    with pytest.raises(Unsupported, match=r"CER0406.*WITHIN"):
        cerlab.why(text, STREAM, (0, 1, 3), logic="fo")


def test_the_deciders_know_windows_in_events() -> None:
    assert cerlab.equivalent("((A+ WITHIN 3 EVENTS) WITHIN 1 EVENTS)", "(A+ WITHIN 1 EVENTS)").holds
    assert cerlab.equivalent("(A ; B WITHIN 1 EVENTS)", "A : B").holds
    assert cerlab.equivalent("(A+ WITHIN 1 EVENTS)", "(A+ WITHIN 2 EVENTS)").holds is False
    assert cerlab.satisfiable("(A ; B ; A WITHIN 1 EVENTS)").holds is False
    assert cerlab.satisfiable("(A ; B WITHIN 1 [t])").holds


def test_a_window_beyond_the_budget_is_refused_at_once() -> None:
    with at_most_calls(50_000), pytest.raises(cerlab.ResourceLimit, match="CER0605"):
        cerlab.evaluate("(A ; B WITHIN 1000000000 EVENTS)", STREAM, evaluator="automaton")
