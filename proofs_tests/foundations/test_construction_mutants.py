"""Deliberate wrong versions of each construction, all seen by their suites.

Of (FOUND Thm. 3), (FOUND App. C.2), (FOUND Prop. 1), (SOCEL Prop. 1), (SOCEL Thm. 5) and
(SOCEL Sec. 6).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from random import Random
from types import ModuleType
from typing import Any

from cerlab.automata import compose, epsilon
from cerlab.automata.automaton import (
    START,
    AnchoredCea,
    EpsilonCea,
    IntervalCea,
    LabelTransition,
    Ucea,
    outgoing,
)
from cerlab.automata.compose import pairs
from cerlab.automata.explore import explore
from cerlab.compile import foundations as focel_to_cea
from cerlab.logic.cel import syntax as cel
from cerlab.predicates import syntax as pred
from cerlab.predicates.condition import On
from cerlab.predicates.syntax import Predicate, conjunction
from cerlab.theorems import elimination as vcea_to_cel
from cerlab.theorems import foundations, socel
from cerlab.theorems import srt as printed_elimination
from cerlab.theorems.foundations import LabelByLabel, positions_of_labels
from cerlab.theorems.socel import Pair
from proofs_tests.foundations import (
    test_empty_moves,
    test_proposition_1,
    test_theorem_3,
)
from proofs_tests.foundations.anchored_cases import without_epsilon
from proofs_tests.mutants.driver import kills, mutant, on_seeds
from proofs_tests.socel import test_completeness, test_theorem_5
from proofs_tests.socel import test_proposition_1 as test_of_ucea

# -- Empty moves ----------------------------------------------------------------------------------


def one_move_far(A: EpsilonCea) -> list[tuple[int, ...]]:
    """A closure that goes one empty move far."""
    return [(q, *(move.target for move in A.moves if move.source == q)) for q in range(A.states)]


def old_final_states(A: EpsilonCea, kind: type[AnchoredCea]) -> AnchoredCea:
    """A closure after which only the old final states are final."""
    return replace(WITHOUT_MOVES(A, kind), F=A.F)


WITHOUT_MOVES = epsilon.without_moves


def into_nothing(p: int, q: int, steps: Iterable[Any]) -> dict[Any, None]:
    """The printed rule without its first half."""
    return {}


def check_closure(rng: Random) -> bool:
    return test_empty_moves.check(rng, without_epsilon, acyclic=True)


def check_printed(rng: Random) -> bool:
    return test_empty_moves.check(rng, printed_elimination.printed_elimination, acyclic=True)


# -- FO-CEL to automata ---------------------------------------------------------------------------


def iteration_once(A: EpsilonCea) -> EpsilonCea:
    """``+`` without the way back."""
    return A


def choice_of_the_left(A: EpsilonCea, B: EpsilonCea) -> EpsilonCea:
    """OR whose right part leads nowhere."""
    C = CHOICE(A, B)
    return EpsilonCea(C.states, C.Delta, C.I, C.F, moves=C.moves[:-1])


CHOICE = epsilon.choice

# -- Boolean operations ---------------------------------------------------------------------------


def union_on_the_same_states(A: AnchoredCea, B: AnchoredCea) -> AnchoredCea:
    states = max(A.states, B.states)
    return AnchoredCea(states, A.Delta + B.Delta, A.I | B.I, A.F | B.F)


def left_of(P: Predicate, Q: Predicate) -> Predicate:
    """A conjunction that forgets its second part."""
    return P


def determinised_from_one_state(A: AnchoredCea) -> AnchoredCea:
    """Runs from the other initial states forgotten."""
    return DETERMINISE(AnchoredCea(A.states, A.Delta, frozenset({min(A.I)}), A.F))


DETERMINISE = foundations.determinise


def equal_or_disjoint(P: Predicate, Q: Predicate) -> bool:
    """Different predicates taken to be disjoint."""
    return P != Q


def anchored_by_one_transition(A: IntervalCea) -> AnchoredCea:
    """Keep only the first of the transitions that start a run."""
    B = ANCHOR(A)
    starts = [t for t in A.Delta if t.source == A.q0]
    Delta = tuple(t for t in B.Delta if t not in starts[1:])
    return AnchoredCea(B.states, Delta, B.I, B.F)


ANCHOR = compose.anchor

# -- SO-CEL and UCEA ------------------------------------------------------------------------------


def demand_of_all(A: Ucea, condition: Any) -> Ucea:
    """A filter put to every event, whatever its labels."""
    assert isinstance(condition, On)
    Delta = tuple(
        t._replace(predicate=conjunction(t.predicate, condition.predicate)) for t in A.Delta
    )
    return Ucea(A.states, Delta, A.I, A.F)


def identity(A: Ucea) -> Ucea:
    return A


def sequence_or_first(A: Ucea, B: Ucea) -> Ucea:
    """``;`` whose second part may be left out."""
    C = UCEA_SEQUENCE(A, B)
    return Ucea(C.states, C.Delta, C.I, C.F | A.F)


UCEA_SEQUENCE = socel._sequence


def unlabelled_too(A: Ucea) -> Ucea:
    """Ordinary runs that use the transitions without labels."""
    B = UNDER_STAR(A)
    return Ucea(B.states, B.Delta + A.Delta, B.I, B.F)


UNDER_STAR = socel.under_star_to_runs


def either_final(A: Ucea, B: Ucea, joint: Any, kind: type[Ucea]) -> Ucea:
    """A product in which it is enough that one of the two accepts."""
    left, right = outgoing(A), outgoing(B)

    def follow(pair: Pair) -> Iterable[Any]:
        for s in left[pair[0]]:
            for t in right[pair[1]]:
                if (label := joint(s, t)) is not None:
                    yield label, (s.target, t.target)

    return explore((START, START), follow, lambda pair: pair[0] in A.F or pair[1] in B.F, kind)


def and_of_common_labels(A: Ucea, B: Ucea) -> Ucea:
    """AND that asks for a common label only."""

    def joint(s: LabelTransition, t: LabelTransition) -> Any:
        return socel._together(s, t) if s.labels & t.labels else None

    return pairs(A, B, joint, Ucea)


def all_without_overlap(A: Ucea, B: Ucea) -> Ucea:
    """ALL in which no event serves both parts."""
    left, right = outgoing(A), outgoing(B)

    def follow(pair: Pair) -> Iterable[Any]:
        for s in left[pair[0]]:
            yield (s.predicate, s.labels), (s.target, pair[1])
        for t in right[pair[1]]:
            yield (t.predicate, t.labels), (pair[0], t.target)

    return explore((START, START), follow, lambda pair: pair[0] in A.F and pair[1] in B.F, Ucea)


# -- Automata to formulas -------------------------------------------------------------------------


def not_projected(one: cel.Formula, R: str, L: frozenset[str]) -> cel.Formula:
    """Labels set, and that of the type never removed."""
    for X in sorted(L - {R}):
        one = cel.As(one, X)
    return one


def renamed_always(one: cel.Formula, R: str, L: frozenset[str]) -> cel.Formula:
    """The label of the type renamed also where it is to stay."""
    return cel.Rename(R, min(L), not_projected(one, R, L))


def at_most_once(phi: cel.Formula) -> cel.Formula:
    return phi


def other(module: ModuleType, **wrong: object) -> ModuleType:
    """A module with wrong things under some of its names."""
    module_copy = ModuleType("_and_".join(wrong))
    vars(module_copy).update({**vars(module), **wrong, "__name__": module_copy.__name__})
    return module_copy


def same(P: Predicate) -> Predicate:
    """Return the predicate itself in place of its complement."""
    return P


def answers_end_with_a_label(A: Ucea) -> LabelByLabel:
    """A run is closed only at an event that gets a label, as a CEA of Foundations is."""
    Delta = (
        t._replace(source=t.source + copy, target=t.target + (0 if t.labels else A.states))
        for t in A.Delta
        for copy in (0, A.states)
    )
    return positions_of_labels(replace(A, states=2 * A.states, Delta=tuple(Delta)))


def first_label_only(A: Ucea) -> LabelByLabel:
    """A transition gives one of its labels."""
    Delta = (t._replace(labels=frozenset(sorted(t.labels)[:1])) for t in A.Delta)
    return positions_of_labels(replace(A, Delta=tuple(Delta)))


ROWS: list[tuple[Callable[[Random], bool], ModuleType, str, Any]] = [
    (check_closure, epsilon, "silent_closures", one_move_far),
    (check_closure, epsilon, "without_moves", old_final_states),
    (check_printed, printed_elimination, "_into", into_nothing),
    (test_theorem_3.check, focel_to_cea, "plus", iteration_once),
    (test_theorem_3.check, focel_to_cea, "choice", choice_of_the_left),
    (test_proposition_1.check_union, compose, "union", union_on_the_same_states),
    (test_proposition_1.check_intersection, foundations, "conjunction", left_of),
    (
        test_proposition_1.check_determinised,
        foundations,
        "determinise",
        determinised_from_one_state,
    ),
    (
        test_proposition_1.check_complement,
        foundations,
        "determinise",
        determinised_from_one_state,
    ),
    (test_proposition_1.check_io, foundations, "disjoint", equal_or_disjoint),
    (test_proposition_1.check_anchored, compose, "anchor", anchored_by_one_transition),
    (test_theorem_5.check_formula, socel, "_demand", demand_of_all),
    (test_theorem_5.check_formula, socel, "_iteration", identity),
    (test_theorem_5.check_formula, socel, "_sequence", sequence_or_first),
    (test_theorem_5.check_random_runs, socel, "under_star_to_runs", unlabelled_too),
    (test_theorem_5.check_and, socel, "pairs", either_final),
    (test_theorem_5.check_and, socel, "and_product", and_of_common_labels),
    (test_theorem_5.check_formula, socel, "all_product", all_without_overlap),
    (test_theorem_5.check_back, vcea_to_cel, "_with_renaming", renamed_always),
    (test_theorem_5.check_back, vcea_to_cel, "cel", other(cel, Plus=at_most_once)),
    (test_completeness.check_formula, vcea_to_cel, "_with_projection", not_projected),
    (test_completeness.check_there, vcea_to_cel, "cel", other(cel, ConcatPlus=at_most_once)),
    (test_completeness.check_there, vcea_to_cel, "cel", other(cel, Concat=cel.Seq)),
    (test_completeness.check_there, pred, "negation", same),
    (
        test_of_ucea.check_runs,
        foundations,
        "positions_of_labels",
        answers_end_with_a_label,
    ),
    (test_of_ucea.check_runs, foundations, "positions_of_labels", first_label_only),
]

MUTANTS = [
    mutant(on_seeds(check, 100 if check is test_theorem_3.check else 300), owner, name, wrong)
    for check, owner, name, wrong in ROWS
]


test_the_suite_kills = kills(MUTANTS)
