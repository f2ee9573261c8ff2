"""FO-CEL with filters over two variables has an SO-CEL formula (SOCEL Thm. 3; errata E5, E17).

The paper asks for predicates that are closed under complement; the construction does not need it.
"""

from __future__ import annotations

from random import Random

import pytest

import cerlab
from cerlab import Event, parse_formula
from cerlab.logic.cel import syntax as cel
from cerlab.logic.focel import translate as binary
from cerlab.logic.focel.semantics import complex_events, with_variables
from cerlab.logic.focel.translate import binary_fo_to_so
from proofs_tests.laws.test_focel_rewriting import answers, with_answers
from proofs_tests.suite import Suite, random_suite


def expected_of(phi: cel.Formula, S: tuple[Event, ...]) -> set[tuple[int, int, tuple[int, ...]]]:
    return {(min(C), max(C), tuple(sorted(C))) for C in complex_events(with_variables(phi), S)}


@random_suite(20_000)
def test_p7_binary_formulas_keep_their_complex_events(rng: Random) -> bool:
    phi, S, sets = with_answers(rng, 3, binary=True)
    translation = binary_fo_to_so(phi)
    expected = {(min(C), max(C), tuple(sorted(C))) for C in sets}
    assert answers(translation, S) == expected, (str(phi), str(translation))
    return bool(expected)


FORMULAS = [
    "A AS x ; (B AS y FILTER x.v = y.v)+",
    "A AS x ; (B AS y FILTER x.v = y.v OR C AS y)+",
    "A AS x ; B AS z ; ((B AS y FILTER x.v != y.v) OR (C AS y FILTER x.v = z.v))+",
    "A AS x ; ((B AS y ; (C AS z FILTER z.v = x.v AND z.v != y.v)+) FILTER x.v != y.v)+",
    "(A AS x ; (B AS y FILTER x.v = y.v)+)+",
    "A AS x ; (B AS y ; (C AS z FILTER x.v = 1)+)+",
    "(A AS x OR B AS x) ; (A AS y ; B AS z FILTER x.v = y.v OR y.v = z.v)+",
    "A AS x ; ((A AS x ; B AS y) FILTER x.v = y.v)+",
]


@pytest.mark.parametrize("text", FORMULAS)
def test_directed_formulas_where_every_filter_matters(text: str, suite: Suite) -> None:
    phi = parse_formula(text)
    translation = binary_fo_to_so(phi)

    def case(rng: Random) -> bool:
        types = rng.choice(("AABC", "AABCBC", "AABBCC"))
        word = [*types, *rng.choices("ABC", k=rng.randrange(3))]
        S = tuple(Event(t, {"v": int(rng.random() < 0.7)}) for t in word)
        expected = expected_of(phi, S)
        assert answers(translation, S) == expected, (str(translation), S)
        return bool(expected)

    suite.run(case, deep_count=2_000, needs_answers=0.2)


@pytest.mark.parametrize("function", ["_ways", "_label_atoms"])
def test_broken_versions_are_caught(function: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Filters that are not moved out of an iteration; one label for atoms of two disjuncts."""
    phi = parse_formula(FORMULAS[2])
    if function == "_ways":
        monkeypatch.setattr(binary, "_ways", lambda item: [(item, frozenset())])
    else:
        monkeypatch.setattr(binary.Names, "fresh", lambda self, name: name)
        phi = parse_formula("A AS x ; ((B AS y FILTER x.v = y.v) OR B AS y)+")
    translation, rng = binary_fo_to_so(phi), Random(7)
    streams = (
        tuple(Event(t, {"v": rng.randrange(2)}) for t in rng.choices("ABC", k=5))
        for _ in range(300)
    )
    assert any(answers(translation, S) != expected_of(phi, S) for S in streams)


def test_filters_over_three_variables_are_refused() -> None:
    @cerlab.predicate(each=True, name="zero_sum")
    def zero_sum(x: int, y: int, z: int) -> bool:
        return x + y + z == 0

    phi = parse_formula("A AS x ; B AS y ; C AS z FILTER zero_sum(x.v, y.v, z.v)")
    with pytest.raises(cerlab.Unsupported, match="two variables"):
        binary_fo_to_so(phi)


def test_growth_is_capped() -> None:
    parts = " OR ".join(f"(B AS y FILTER x.a{n} = z.a{n})" for n in range(14))
    phi = parse_formula(f"A AS x ; A AS z ; ({parts})+")
    with pytest.raises(cerlab.ResourceLimit):
        binary_fo_to_so(phi)
