"""phi : psi: psi immediately after phi."""

from __future__ import annotations

from typing import Any

import pytest

from cerlab import Valuation
from proofs_tests.clauses.tables import check_valuations, v, word

CASES = [
    pytest.param("A : B", word("AB"), {v(0, 1, A=(0,), B=(1,))}, id="adjacent"),
    pytest.param("A : B", word("ACB"), set(), id="no-gap"),
    pytest.param("A : B", word("AAB"), {v(1, 2, A=(1,), B=(2,))}, id="only-the-adjacent-pair"),
    pytest.param(
        "A : B ; C", word("ABXC"), {v(0, 3, A=(0,), B=(1,), C=(3,))}, id="beside-a-sequence"
    ),
    pytest.param(
        "PROJECT[A](A ; B) : C",
        word("ABC"),
        {v(0, 2, A=(0,), C=(2,))},
        id="the-interval-counts-not-the-marks",
    ),
    pytest.param(
        "(A ; B) : C",
        word("ACBC"),
        {v(0, 3, A=(0,), B=(2,), C=(3,))},
        id="marks-adjacent-interval-not",
    ),
    pytest.param("A : (B : C)", word("ABC"), {v(0, 2, A=(0,), B=(1,), C=(2,))}, id="associative"),
    pytest.param("A : NOT(B) : C", word("AXC"), {v(0, 2, A=(0,), C=(2,))}, id="not-fills-a-place"),
    pytest.param("A : B", word("BA"), set(), id="wrong-order"),
    pytest.param(
        "A : A", word("AAA"), {v(0, 1, A=(0, 1)), v(1, 2, A=(1, 2))}, id="neighbours-of-one-type"
    ),
    pytest.param(
        "(A ; B) : C", word("ABDC"), set(), id="a-gap-inside-is-allowed-a-gap-between-is-not"
    ),
    pytest.param(
        "PROJECT[A](A ; B) : C",
        word("ACBC"),
        {v(0, 3, A=(0,), C=(3,))},  # after the interval [0,2]; the C at 1 is next to the mark
        id="next-to-the-interval-not-to-the-mark",
    ),
    pytest.param(
        "A : PROJECT[C](B ; C)",
        word("ABDC"),
        {v(0, 3, A=(0,), C=(3,))},  # the right part begins at 1, though it marks 3 only
        id="the-right-part-begins-where-its-interval-does",
    ),
    pytest.param("A : PROJECT[C](B ; C)", word("BAC"), set(), id="the-right-part-begins-before"),
    pytest.param("PROJECT[](A) : B", word("AB"), {v(0, 1, B=(1,))}, id="after-what-marks-nothing"),
    pytest.param(
        "A+ : B",
        word("ACAB"),
        {v(2, 3, A=(2,), B=(3,)), v(0, 3, A=(0, 2), B=(3,))},
        id="after-an-iteration-that-skips",
    ),
    pytest.param(
        "A : B OR C",
        word("ABC"),
        {v(0, 1, A=(0,), B=(1,)), v(2, 2, C=(2,))},
        id="tighter-than-or",
    ),
    pytest.param(
        "A : B OR A : PROJECT[]((A OR B OR C):+) : B",
        word("ACBB"),
        {v(0, 2, A=(0,), B=(2,)), v(0, 3, A=(0,), B=(3,))},
        id="sequence-is-contiguity-over-what-is-skipped",
    ),
]


@pytest.mark.parametrize(("formula", "events", "expected"), CASES)
def test_clause(formula: str, events: list[dict[str, Any]], expected: set[Valuation]) -> None:
    check_valuations(formula, events, expected)
