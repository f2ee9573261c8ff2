"""FO-CEL: scopes by hand (FOUND Sec. 5.1), and what it refuses.

Hand-computed answers are in ``cerlab/conformance/cases/fo-cel.json`` (FOUND Sec. 3).
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

import cerlab
from cerlab import parse_formula
from cerlab.logic.cel import syntax as cel
from cerlab.logic.focel import semantics
from cerlab.predicates.condition import On
from cerlab.predicates.syntax import Attribute, Comparison, Constant, Operator
from cerlab.testing import Shape, random_events
from proofs_tests.clauses.tables import word
from proofs_tests.suite import random_suite

FARM = Path(__file__).parents[2] / "examples" / "fire_phi1" / "events.core"


E4 = "A AS x ; ((B AS x OR C AS y) FILTER x[v = 1])+"


@pytest.mark.parametrize(
    ("formula", "is_well_formed", "variable"),
    [
        ("A AS x FILTER x[v = 1]", True, None),
        ("A AS x FILTER y[v = 1]", False, "y"),
        ("(A AS x OR B AS y) FILTER x[v = 1]", False, "x"),
        ("A AS x ; (B AS y FILTER x[v = 1])", True, None),
        ("(A AS x)+ FILTER x[v = 1]", False, "x"),
        (E4, True, "x"),
    ],
)
def test_well_formedness_as_printed_and_scoped(
    formula: str, is_well_formed: bool, variable: str | None
) -> None:
    phi = parse_formula(formula)
    assert semantics.well_formed(phi) is is_well_formed
    assert semantics.unscoped_variable(phi) == variable
    if variable is not None:
        with pytest.raises(cerlab.IllFormed, match=f"'{variable}'"):
            cerlab.evaluate(formula, word("A"), logic="fo")


def test_scopes_of_the_papers_own_example() -> None:
    phi = parse_formula("(T AS x ; (H AS y)+) FILTER z[id = 1]")
    assert semantics.vdef(phi) == {"x", "y"}
    assert semantics.vdef_plus(phi) == {"x"}
    assert semantics.bound(phi) == {"x"}


BOUND_BY_HAND = (
    ("A AS x FILTER y[v = 1]", "x", "x"),
    ("A AS x ; B AS y", "xy", "xy"),
    ("A AS x OR B AS y", "", "xy"),
    ("A AS x OR (B AS x ; C AS y)", "x", "xy"),
    ("(A AS x OR B AS x) ; (A AS y OR B AS z)", "x", "xyz"),
    ("(A AS x ; B AS y)+", "", ""),
    ("A AS x ; (B AS x ; (C AS y)+)+", "x", "x"),
    ("(A AS x ; B AS y) OR (B AS y ; (A AS x)+)", "y", "xy"),
)


@pytest.mark.parametrize(("formula", "bound", "vdef_plus"), BOUND_BY_HAND)
def test_bound_variables_by_hand(formula: str, bound: str, vdef_plus: str) -> None:
    """Intersection at OR, union at ``;``, nothing at ``+``, which hides what it defines too."""
    phi = parse_formula(formula)
    assert (semantics.bound(phi), semantics.vdef_plus(phi)) == tuple(
        map(frozenset, (bound, vdef_plus))
    )


@pytest.mark.parametrize(
    ("formula", "safe", "unary"),
    [
        ("A AS x ; B AS y", True, True),
        ("A AS x ; B AS x", False, True),
        ("A AS x ; (B AS x)+", True, True),
        ("A AS x ; B AS y FILTER x.v = y.v", True, False),
        ("A AS x ; ((B AS y ; C AS z) OR B AS x)", False, True),
        ("C AS z ; (A AS x ; (B AS x OR B AS y))+", False, True),
        ("(A AS x ; B AS y) OR (B AS y ; A AS x)", True, True),
        ("(A AS x)+ ; (B AS x)+", True, True),
        ("(A AS x ; B AS y FILTER x.v < y.v)+ ; C AS z", True, False),
        ("A AS x FILTER x.v < x.w", True, True),
    ],
)
def test_safe_and_unary(formula: str, safe: bool, unary: bool) -> None:
    phi = parse_formula(formula)
    assert (semantics.safe(phi), semantics.unary(phi)) == (safe, unary)


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("fire_phi1", [(1, 2), (1, 8), (5, 8)]),
        ("fire_phi2", [(1, 2), (2, 5), (1, 8), (5, 8)]),
        ("humidity_phi3", [(3, 4, 6, 7), (3, 4, 7), (3, 6, 7)]),
    ],
)
def test_the_papers_formulas_on_its_figure_1(formula: str, expected: list[tuple[int, ...]]) -> None:
    formula = (FARM.parents[1] / formula / "query.cel").read_text()
    answers = cerlab.evaluate(formula, FARM, logic="fo")
    assert [answer.positions for answer in answers] == expected
    assert all((a.start, a.end) == (a.positions[0], a.positions[-1]) for a in answers)


@pytest.mark.parametrize("formula", ["A : B", "A:+", "NOT(A)", "A AND B", "(A ; B) AS x"])
def test_operators_outside_fo_cel_are_refused(formula: str) -> None:
    with pytest.raises(cerlab.Unsupported, match="FO-CEL"):
        cerlab.evaluate(formula, word("A"), logic="fo")


def test_logics_have_names() -> None:
    with pytest.raises(cerlab.UsageError):
        cerlab.evaluate("A", word("A"), logic="ho")  # type: ignore[arg-type]  # wrong on purpose


def local_formula(rng: Random, depth: int) -> cel.Formula:
    """Filters directly on atoms, every atom its own variable: safe and in LP-normal form."""
    match rng.randrange(4) if depth else 3:
        case 0:
            return cel.Or(local_formula(rng, depth - 1), local_formula(rng, depth - 1))
        case 1:
            return cel.Seq(local_formula(rng, depth - 1), local_formula(rng, depth - 1))
        case 2:
            return cel.Plus(local_formula(rng, depth - 1))
        case _:
            R = rng.choice("AB")
            if rng.random() < 0.5:
                return cel.Atom(R)
            x = f"x{rng.randrange(10**9)}"
            P = Comparison(Operator.EQ, Attribute("v"), Constant(rng.choice((0, 1))))
            return cel.Filter(cel.As(cel.Atom(R), x), On(x, P))


@random_suite(2_000)
def test_with_local_unary_filters_both_logics_agree(rng: Random) -> bool:
    """The easy half of (SOCEL Thm. 1): what the normal forms reduce the rest to."""
    phi = local_formula(rng, 2)
    shape = Shape(events=4, rich=False)
    events = random_events(rng, phi, shape)
    fo = cerlab.evaluate(phi, events, logic="fo")
    assert fo == cerlab.evaluate(phi, events, evaluator="reference"), str(phi)
    return bool(fo)
