"""Two formulas with no equivalent in the other logic, and what of that can be shown by running.

SOCEL Thm. 2: with binary predicates SO-CEL says "all pairs of two iterations differ", FO cannot.
SOCEL Thm. 4: with ternary ones FO-CEL says "every iteration sums to zero with x", SO-CEL over the
universal extensions cannot. Both are statements about all formulas, and no test runs over all
formulas: the first tests show that the witness depends on every one of quadratically many pairs
while an answer of FO-CEL rests on linearly many; the second that the natural candidate is wrong,
because it cannot keep the events of one iteration together.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

import cerlab
from cerlab import ComplexEvent, parse_formula
from cerlab.logic.focel.translate import fo_to_so
from cerlab.predicates import condition as second_order

QUADRATIC = "(A+ AS X ; B+ AS Y) FILTER X.v != Y.v"
TERNARY = "A AS x ; (B AS y ; C AS z FILTER zero_sum(x.v, y.v, z.v))+"


def blocks(n: int, *, equal: tuple[int, int] | None = None) -> list[dict[str, Any]]:
    """n events A, n events B, all values different but of one A and one B."""
    values = list(range(2 * n))
    if equal is not None:
        values[n + equal[1]] = values[equal[0]]
    return [{"type": "AB"[i >= n], "v": value} for i, value in enumerate(values)]


def everything(n: int) -> ComplexEvent:
    return ComplexEvent(0, 2 * n - 1, tuple(range(2 * n)))


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_each_of_n_squared_pairs_decides_whether_the_answer_is_there(n: int) -> None:
    """SOCEL Thm. 2, as far as it runs."""
    assert everything(n) in cerlab.evaluate(QUADRATIC, blocks(n))
    for i, j in product(range(n), range(n)):
        assert everything(n) not in cerlab.evaluate(QUADRATIC, blocks(n, equal=(i, j)))


@pytest.mark.parametrize(
    "text",
    [
        "A AS x ; (B AS y FILTER x.v != y.v)+",
        "(A AS x ; B AS y FILTER x.v != y.v)+",
        "(A AS x)+ ; (A AS z ; (B AS y FILTER z.v != y.v)+)",
    ],
)
def test_an_answer_of_fo_rests_on_linearly_many_pairs(text: str) -> None:
    """In a derivation of FO-CEL each iteration has one position for each variable, so an answer
    rests on at most as many comparisons as there are filters times iterations."""
    n = 3
    events = blocks(n)
    answers = cerlab.evaluate(text, events, logic="fo")
    pair_counts = [len(_pairs_needed(text, events, answer)) for answer in answers]
    assert 0 < max(pair_counts) <= 2 * n, "linear, where the witness needs n * n"


def _pairs_needed(
    text: str, events: list[dict[str, Any]], answer: ComplexEvent
) -> set[tuple[int, int]]:
    """The pairs of an A and a B in the answer whose equality would take it away."""
    pairs = set()
    for i, j in product(answer.positions, repeat=2):
        if events[i]["type"] == "A" and events[j]["type"] == "B":
            other_events = [dict(event) for event in events]
            other_events[j]["v"] = other_events[i]["v"]
            if answer not in cerlab.evaluate(text, other_events, logic="fo"):
                pairs.add((i, j))
    return pairs


def test_the_witness_under_fo_means_something_else() -> None:
    """X and Y have several events there, so the text is refused, not reinterpreted."""
    with pytest.raises(cerlab.Unsupported, match="AS on more than one event"):
        cerlab.evaluate(QUADRATIC, blocks(1), logic="fo")


@pytest.fixture
def _zero_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(second_order, "_registry", {})

    @cerlab.predicate(each=True)
    def zero_sum(x: int, y: int, z: int) -> bool:
        return x + y + z == 0


def sums(x: int, *pairs: tuple[int, int]) -> list[dict[str, Any]]:
    """x, then for each pair a B and a C."""
    events: list[dict[str, Any]] = [{"type": "A", "v": x}]
    for y, z in pairs:
        events += [{"type": "B", "v": y}, {"type": "C", "v": z}]
    return events


@pytest.mark.usefixtures("_zero_sum")
def test_sums_within_an_iteration_need_fo() -> None:
    """SOCEL Thm. 4, as far as it runs: -3 + (1 + 2) and -3 + (2 + 1), but not -3 + (1 + 1)."""
    events = sums(-3, (1, 2), (2, 1))
    whole = ComplexEvent(0, 4, (0, 1, 2, 3, 4))
    assert whole in cerlab.evaluate(TERNARY, events, logic="fo")
    candidate = "A AS x ; (B AS y ; C AS z)+ FILTER zero_sum(x.v, y.v, z.v)"
    assert whole not in cerlab.evaluate(candidate, events, logic="so"), "it pairs y1 with z2 too"
    local = "A AS x ; (B AS y ; C AS z FILTER zero_sum(x.v, y.v, z.v))+"
    wrong = sums(-3, (1, 2), (5, 5))
    assert whole not in cerlab.evaluate(TERNARY, wrong, logic="fo")
    with pytest.warns(cerlab.CerlabWarning, match="nothing sets label 'x'"):
        assert whole in cerlab.evaluate(local, wrong, logic="so"), "inside, x is nobody: it holds"


@pytest.mark.usefixtures("_zero_sum")
def test_the_translation_refuses_it_by_name() -> None:
    with pytest.raises(cerlab.Unsupported, match="predicate from Python"):
        fo_to_so(parse_formula(TERNARY))
