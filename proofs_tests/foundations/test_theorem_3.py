"""Unary FO-CEL formulas have automata (FOUND Thm. 3; FOUND App. C.2), and the automaton of Fig. 2.

The meaning is that of the oracle, the answers of automata are those of all their runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from random import Random

import pytest

import cerlab
from cerlab import Event, parse_formula
from cerlab.automata.automaton import AnchoredCea, Mark, Transition
from cerlab.compile.foundations import focel_to_cea, focel_to_epsilon_cea
from cerlab.conformance import Case, cases
from cerlab.engine.reference.lists import lists_recogniser
from cerlab.logic.cel import syntax as cel
from cerlab.logic.focel.rewrite import lp_normal_form
from cerlab.logic.focel.semantics import Sets, complex_events, safe, well_formed
from cerlab.model.answer import Positions
from cerlab.predicates import syntax as pred
from cerlab.testing import SMALL, random_events, random_fo_formula
from cerlab.theorems.srt import printed_elimination
from proofs_tests.foundations.anchored_cases import (
    Run,
    accepted_positions,
    extend_runs,
    without_epsilon,
)
from proofs_tests.laws.test_focel_rewriting import stream, with_answers
from proofs_tests.suite import Suite, random_suite


def answers(A: AnchoredCea, S: Sequence[Event]) -> list[set[Positions]]:
    """Return the answers of all runs, at each position."""
    runs: set[Run] = {(q, ()) for q in A.I}
    sets = []
    for n, event in enumerate(S):
        runs = extend_runs(A, runs, event, n)
        sets.append(accepted_positions(A, runs, n))
    return sets


def by_end(sets: Sets, length: int) -> list[set[Positions]]:
    """Complex events by their greatest position."""
    return [{tuple(sorted(C)) for C in sets if max(C) == n} for n in range(length)]


def check(rng: Random) -> bool:
    """A random formula means what its automaton answers."""
    phi, S, sets = with_answers(rng, 3)
    assert answers(focel_to_cea(phi), S) == by_end(sets, len(S)), str(phi)
    return bool(sets)


def test_p2_the_automaton_answers_what_the_formula_means(suite: Suite) -> None:
    suite.run(check, deep_count=20_000)


@random_suite(20_000)
def test_both_eliminations_of_empty_moves_give_the_same_answers(rng: Random) -> bool:
    for _ in range(3):
        phi = random_fo_formula(rng, SMALL)
        S = random_events(rng, phi, SMALL)[:5]
        A = focel_to_epsilon_cea(phi)
        sets = answers(without_epsilon(A), S)
        if any(sets):
            break
    assert answers(printed_elimination(A), S) == sets, str(phi)
    return any(sets)


def counts(phi: cel.Formula) -> bool:
    return any(isinstance(psi, cel.Count) for psi in cel.subformulas(phi))


@random_suite(4_000)
def test_with_empty_moves_it_is_linear_in_a_safe_formula_in_lp_normal_form(rng: Random) -> bool:
    """Two states and transitions for an atom; two states and four moves for OR; one move else.

    Counts are not in the paper; they have a copy for each round.
    """
    while not safe(phi := lp_normal_form(random_fo_formula(rng, SMALL))) or counts(phi):
        pass
    A = focel_to_epsilon_cea(phi)
    kinds = [type(psi) for psi in cel.subformulas(phi)]
    atoms, choices = kinds.count(cel.Atom), kinds.count(cel.Or)
    assert A.states == 2 * atoms + 2 * choices
    assert len(A.Delta) == 2 * atoms
    assert len(A.moves) == 4 * choices + kinds.count(cel.Seq) + kinds.count(cel.Plus)
    assert (len(A.I), len(A.F)) == (1, 1)
    assert A.states + len(A.Delta) + len(A.moves) <= 4 * cel.size(phi)
    return True


def test_choices_in_a_row_are_not_multiplied() -> None:
    """Whose disjunctive normal form doubles with each."""
    sizes = []
    for n in range(1, 16):
        phi = parse_formula(" ; ".join(f"(A AS x{k} OR B AS x{k})" for k in range(n)))
        sizes.append(focel_to_epsilon_cea(phi).states)
    assert sizes == [6 * n for n in range(1, 16)]


def test_misplaced_filters_double_the_automaton() -> None:
    """Each filter on a variable of another branch splits its context: exponential."""
    sizes = []
    for n in range(1, 6):
        variables = " ; ".join(f"A AS x{k}" for k in range(n))
        filters = " ; ".join(f"(B FILTER x{k}[v = 1] OR C)" for k in range(n))
        sizes.append(focel_to_epsilon_cea(parse_formula(f"{variables} ; {filters}")).states)
    assert all(later >= 2 * earlier for earlier, later in pairwise(sizes))


def fig_2() -> AnchoredCea:
    """H, any of the T above 40, H (FOUND Fig. 2)."""
    humid = pred.TypeIs("H")
    hot: pred.And[pred.TypeIs | pred.Comparison] = pred.And(
        pred.TypeIs("T"),
        pred.Comparison(pred.Operator.GT, pred.Attribute("temp"), pred.Constant(40)),
    )
    Delta = (
        Transition(0, pred.EVERYTHING, Mark.SKIP, 0),
        Transition(0, humid, Mark.TAKE, 1),
        Transition(1, pred.EVERYTHING, Mark.SKIP, 1),
        Transition(1, hot, Mark.TAKE, 1),
        Transition(1, humid, Mark.TAKE, 2),
    )
    return AnchoredCea(3, Delta, frozenset({0}), frozenset({2}))


def test_figure_2_takes_any_of_the_high_temperatures_between() -> None:
    S = [Event("H"), *(Event("T", {"temp": t}) for t in (45, 30, 50)), Event("H")]
    expected = {(0, 4), (0, 1, 4), (0, 3, 4), (0, 1, 3, 4)}
    assert answers(fig_2(), S) == [*[set()] * 4, expected]
    evaluation = lists_recogniser(fig_2(), None)
    for n, event in enumerate(S):
        evaluation.advance(event, n)
        positions = [C.positions for C in evaluation.answers(0)]
        assert sorted(positions) == sorted(expected if n == 4 else ())


def test_figure_2_is_the_automaton_of_a_formula() -> None:
    phi = parse_formula("H ; H OR (H ; (T AS x FILTER x[temp > 40])+ ; H)")
    rng = Random(3)
    for _ in range(50):
        S = [Event(rng.choice("HHT"), {"temp": rng.choice((30, 50))}) for _ in range(6)]
        assert answers(fig_2(), S) == answers(focel_to_cea(phi), S)


def has_automaton(case: Case) -> bool:
    """Return whether a formula is unary, well-formed, and one of Foundations."""
    try:
        focel_to_cea(parse_formula(case.query))
    except (cerlab.Unsupported, cerlab.IllFormed):
        return False
    return True


UNARY = [case for case in cases("fo-cel") if has_automaton(case)]


def test_most_formulas_by_hand_are_unary() -> None:
    assert len(UNARY) > 20


@pytest.mark.parametrize("case", UNARY, ids=lambda case: case.id)
def test_formulas_by_hand(case: Case) -> None:
    events = case.stream.events
    expected = by_end(frozenset(map(frozenset, case.expected)), len(events))
    assert answers(focel_to_cea(parse_formula(case.query)), events) == expected


def test_streams_of_atoms_are_tested() -> None:
    A = focel_to_cea(parse_formula("S>A"))
    assert answers(A, [Event("A", {}, "S"), Event("A", {}, "T")]) == [{(0,)}, set()]


def test_e4_a_formula_whose_answers_depend_on_later_events_is_refused() -> None:
    """No automaton can have them: whether ``{0, 1}`` is an answer is decided by position 2."""
    phi = parse_formula("A AS x ; ((B AS x OR C AS y) FILTER x[v = 1])+")
    assert well_formed(phi)
    assert frozenset({0, 1}) in complex_events(phi, stream("ACB", "001"))
    assert frozenset({0, 1}) not in complex_events(phi, stream("ACB", "000"))
    with pytest.raises(cerlab.IllFormed, match="the filter on 'x'"):
        focel_to_cea(phi)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("A AS x ; B AS y FILTER x.v = y.v", "several variables"),
        ("NEXT(A ; B)", "NEXT"),
        ("A : B", "has no :"),
        ("(A ; B) AS x", "AS on more than one"),
    ],
)
def test_what_has_no_automaton_is_refused_by_name(text: str, match: str) -> None:
    with pytest.raises(cerlab.Unsupported, match=match):
        focel_to_cea(parse_formula(text))


def test_predicates_from_python_are_refused_by_name() -> None:
    @cerlab.predicate(each=True, name="theorem_3_even")
    def even(v: int) -> bool:
        return v % 2 == 0

    phi = parse_formula("A AS x FILTER theorem_3_even(x.v)")
    with pytest.raises(cerlab.Unsupported, match="theorem_3_even"):
        focel_to_cea(phi)
