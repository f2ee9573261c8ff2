"""FO-CEL by hand: one position per variable (FOUND Sec. 3), scopes (FOUND Sec. 5.1), E1, E4."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

import cerlab
from cerlab.api import parse_formula
from cerlab.io import Stream
from cerlab.logic.cel import syntax as cel
from cerlab.logic.focel import semantics
from cerlab.logic.focel.semantics import complex_events
from cerlab.predicates.condition import On
from cerlab.predicates.syntax import Attribute, Comparison, Constant, Operator
from cerlab.testing import Shape, random_events
from proofs_tests.clauses.tables import word
from proofs_tests.suite import Suite

FARM = Path(__file__).parents[2] / "examples" / "fire_phi1" / "events.core"


def raw(formula: str, events: list[dict[str, Any]]) -> set[tuple[int, ...]]:
    """``[[phi]](S)``, without asking whether the formula is well-formed."""
    stream = Stream.from_events(events)
    phi = semantics.with_variables(parse_formula(formula))
    return {tuple(sorted(C)) for C in complex_events(phi, stream.events)}


CASES = [
    pytest.param("A AS x", word("AB"), {(0,)}, id="atom"),
    pytest.param("A", word("AA"), {(0,), (1,)}, id="a-bare-type-has-its-own-variable"),
    pytest.param("A ; A", word("AA"), {(0, 1)}, id="two-bare-types-have-two"),
    pytest.param("A AS x ; A AS x", word("AA"), set(), id="one-variable-is-one-position"),
    pytest.param("A AS x OR B AS x", word("AB"), {(0,), (1,)}, id="in-two-branches-it-is-fine"),
    pytest.param("A AS x FILTER x[v = 1]", word("AA", v="01"), {(1,)}, id="filter"),
    pytest.param(
        "A AS x ; B AS y FILTER x.v < y.v", word("ABB", v="102"), {(0, 2)}, id="binary-filter"
    ),
    pytest.param(
        "A AS x ; B AS y FILTER x[v = 0] OR y[v = 0]",
        word("ABAB", v="1011"),
        {(0, 1)},
        id="filter-or-is-two-copies",
    ),
    pytest.param("(A AS x)+", word("ABA"), {(0,), (2,), (0, 2)}, id="plus-rebinds-its-variables"),
    pytest.param(
        "A AS x ; (B AS y FILTER y.v = x.v)+",
        word("ABBB", v="1121"),
        {(0, 1), (0, 3), (0, 1, 3)},
        id="plus-sees-outer-variables",
    ),
    pytest.param("(A AS x ; B AS y)+", word("AABB"), {(0, 2), (0, 3), (1, 2), (1, 3)}, id="pairs"),
    pytest.param("((A AS x)+)+", word("AA"), {(0,), (1,), (0, 1)}, id="nested-plus"),
    pytest.param(
        "A AS x FILTER y[v = 1]",
        word("AB", v="01"),
        {(0,)},  # y is free: it may be the later B
        id="a-free-variable-ranges-over-the-stream",
    ),
    pytest.param("A AS x FILTER y[v = 1]", word("AB", v="00"), set(), id="if-anything-fits"),
    pytest.param(
        "A AS x FILTER x[v = 1] OR (B AS x FILTER x[v = 0])",
        word("AABB", v="1010"),
        {(0,), (3,)},
        id="each-branch-its-own-filter",
    ),
    pytest.param(
        "(A AS x OR B AS y) ; C AS z FILTER z[v = 1]",
        word("ABC", v="001"),
        {(0, 2), (1, 2)},
        id="or-below-a-sequence",
    ),
    pytest.param(
        "A AS x ; (B AS y)+ FILTER x[v = 1]",
        word("AABB", v="0100"),
        {(1, 2), (1, 3), (1, 2, 3)},
        id="a-filter-around-a-plus-is-on-the-outer-variable",
    ),
    pytest.param("A AS x ; A AS y", word("AA"), {(0, 1)}, id="the-order-is-strict"),
    pytest.param("A AS x", word("BB"), set(), id="no-event-of-the-type"),
    pytest.param(
        "(A AS x ; B AS y)+",
        word("ABAB"),
        {(0, 1), (0, 3), (2, 3), (0, 1, 2, 3)},
        id="iterations-do-not-overlap",
    ),
    pytest.param(
        "A AS x ; B AS y FILTER x.v = y.v", word("AB", v=".."), set(), id="missing-never-equal"
    ),
    pytest.param("T>A AS x", [{"type": "A", "stream": "S"}, {"type": "A"}], {(1,)}, id="stream"),
]


@pytest.mark.parametrize(("formula", "events", "expected"), CASES)
def test_semantics(
    formula: str, events: list[dict[str, Any]], expected: set[tuple[int, ...]]
) -> None:
    assert raw(formula, events) == expected


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


def test_e4_a_well_formed_formula_whose_answer_depends_on_the_future() -> None:
    """{0, 1} depends on position 2, after its end: no automaton can do that (erratum E4)."""
    assert raw(E4, word("ACB", v="001")) == {(0, 1), (0, 1, 2), (0, 2)}
    assert raw(E4, word("ACB", v="000")) == set()


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


PHI_4 = """(H AS x ; (T AS y FILTER y.id = x.id)+ ; H AS z)
FILTER x[hum < 30] AND z[hum > 60] AND x.id = z.id"""


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("fire_phi1", [(1, 2), (1, 8), (5, 8)]),
        ("fire_phi2", [(1, 2), (2, 5), (1, 8), (5, 8)]),
        ("humidity_phi3", [(3, 4, 6, 7), (3, 4, 7), (3, 6, 7)]),
        (PHI_4, [(3, 4, 6, 7), (3, 4, 7), (3, 6, 7)]),
    ],
)
def test_the_papers_formulas_on_its_figure_1(formula: str, expected: list[tuple[int, ...]]) -> None:
    if not formula.startswith("("):
        formula = (FARM.parents[1] / formula / "query.cel").read_text()
    answers = cerlab.evaluate(formula, FARM, logic="fo")
    assert [answer.positions for answer in answers] == expected
    assert all((a.start, a.end) == (a.positions[0], a.positions[-1]) for a in answers)


def test_strategies_and_clauses_apply_to_fo_too() -> None:
    """E1: under one valuation the strategies would select nothing; {0, 2} is what NXT means."""
    events = word("AAB")
    query = "SELECT NEXT * WHERE A AS x ; B AS y"
    assert [a.positions for a in cerlab.evaluate(query, events, logic="fo")] == [(0, 2)]
    assert cerlab.evaluate(f"{query} WITHIN 1 EVENTS", events, logic="fo") == []


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


def test_with_local_unary_filters_both_logics_agree(suite: Suite) -> None:
    """The easy half of (SOCEL Thm. 1): what the normal forms reduce the rest to."""

    def case(rng: Random) -> bool:
        phi = local_formula(rng, 2)
        shape = Shape(events=4, rich=False)
        events = random_events(rng, phi, shape)
        fo = cerlab.evaluate(phi, events, logic="fo")
        assert fo == cerlab.evaluate(phi, events, evaluator="reference"), str(phi)
        return bool(fo)

    suite.run(case, deep_count=2_000)
