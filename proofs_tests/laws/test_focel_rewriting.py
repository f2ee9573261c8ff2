"""The rewritings of FO-CEL keep its meaning (FOUND Lemma 2; FOUND Thm. 1; FOUND Thm. 2), and the
translations to SO-CEL and back (SOCEL Thm. 1).

On random scoped well-formed formulas whose variables are shared, misplaced and rebound; errata E3
and E4 are counterexamples to what is printed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest

import cerlab
from cerlab import Event, parse_formula
from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.semantics import valuations
from cerlab.logic.focel import rewrite
from cerlab.logic.focel.rewrite import (
    Sizes,
    disjunctive_normal_form,
    is_lp,
    lp_normal_form,
    rewriting_sizes,
    safe_form,
)
from cerlab.logic.focel.semantics import (
    Sets,
    complex_events,
    safe,
    unscoped_variable,
    vdef,
    with_variables,
)
from cerlab.logic.focel.translate import fo_to_so, so_to_fo
from cerlab.model.answer import complex_event
from cerlab.testing import Shape, any_fo_formula, random_condition, random_events, random_fo_formula
from proofs_tests.suite import Suite, random_suite

SHAPE = Shape(events=4, rich=False)


def random_scoped(rng: Random, depth: int, *, binary: bool = False) -> cel.Formula:
    """Return a formula that is scoped well-formed and has a filter."""
    while True:
        phi = random_fo_formula(rng, replace(SHAPE, depth=depth), binary=binary)
        if any(isinstance(psi, cel.Filter) for psi in cel.subformulas(phi)):
            return phi


def with_answers(
    rng: Random, depth: int, *, binary: bool = False
) -> tuple[cel.Formula, tuple[Event, ...], Sets]:
    """A formula, a stream, its meaning; of up to four draws the first with answers."""
    for _ in range(4):
        phi = random_scoped(rng, depth, binary=binary)
        S = tuple(random_events(rng, phi, SHAPE))
        if expected := meaning(phi, S):
            break
    return phi, S, expected


def meaning(phi: cel.Formula, S: tuple[Event, ...]) -> Sets:
    return complex_events(phi, S)


REWRITINGS: dict[
    str, tuple[Callable[[cel.Formula], cel.Formula], Callable[[cel.Formula], bool]]
] = {
    "disjunctive": (disjunctive_normal_form, lambda phi: True),
    "safe": (safe_form, safe),
    "LP": (lp_normal_form, is_lp),
    "LP and safe": (
        lambda phi: safe_form(lp_normal_form(phi)),
        lambda phi: safe(phi) and is_lp(phi),
    ),
}


@random_suite(20_000)
def test_p1_rewritings_keep_the_meaning(rng: Random) -> bool:
    phi, S, expected = with_answers(rng, 3, binary=True)
    meanings = {phi: expected}  # rewritings often agree
    for name, (rewriting, is_normal) in REWRITINGS.items():
        psi = rewriting(phi)
        assert is_normal(psi), (name, str(phi), str(psi))
        assert unscoped_variable(psi) is None
        if psi not in meanings:
            meanings[psi] = meaning(psi, S)
        assert meanings[psi] == expected, (name, str(phi), str(psi))
    return bool(expected)


@random_suite(4_000)
def test_disjunctive_normal_form_has_or_at_the_top_and_below_plus_only(rng: Random) -> bool:
    def no_or(phi: cel.Formula) -> bool:
        if isinstance(phi, cel.Plus | cel.Count):
            return only_top(phi.body)
        return not isinstance(phi, cel.Or) and all(map(no_or, cel.children(phi)))

    def only_top(phi: cel.Formula) -> bool:
        if isinstance(phi, cel.Or):
            return only_top(phi.left) and only_top(phi.right)
        return no_or(phi)

    assert only_top(disjunctive_normal_form(any_fo_formula(rng, Shape(depth=4, rich=False))))
    return True


def answers(phi: cel.Formula, S: tuple[Event, ...]) -> set[tuple[int, int, tuple[int, ...]]]:
    complex_events = map(complex_event, valuations(phi, S))
    return {(C.start, C.end, C.positions) for C in complex_events}


def keeps_the_complex_events(rng: Random) -> bool:
    phi, S, sets = with_answers(rng, 3)
    expected = {(min(C), max(C), tuple(sorted(C))) for C in sets}
    assert answers(fo_to_so(phi), S) == expected, (str(phi), str(fo_to_so(phi)))
    return bool(expected)


def test_fo_to_so_keeps_the_complex_events(suite: Suite) -> None:
    suite.run(keeps_the_complex_events, deep_count=20_000)


def small_so(rng: Random, depth: int) -> cel.Formula:
    """One whose translation binds few enough variables for the reference."""
    while len(vdef(so_to_fo(phi := random_so(rng, depth)))) > 4:
        pass
    return phi


def random_so(rng: Random, depth: int) -> cel.Formula:
    """R, AS, FILTER with AND and OR in it, OR, ``;``, ``+`` and RENAME."""
    if depth == 0:
        return cel.Atom(rng.choice("AB"))

    def smaller() -> cel.Formula:
        return random_so(rng, depth - 1)

    match rng.randrange(8):
        case 0:
            return cel.Or(smaller(), smaller())
        case 1 | 2:
            return cel.Seq(smaller(), smaller())
        case 3:
            return cel.Plus(smaller())
        case 4:
            return cel.As(smaller(), rng.choice("xy"))
        case 5:
            return cel.Rename(rng.choice("Ax"), rng.choice("xyB"), smaller())
        case _:
            return cel.Filter(smaller(), random_condition(rng, [*"ABxy"], SHAPE))


@pytest.mark.parametrize("label", ["A", "B", "x", "y"])
@pytest.mark.parametrize(
    "phi",
    ["RENAME[A -> x](A ; B)", "RENAME[x -> B](A AS x ; B)", "RENAME[y -> x](A AS x ; B AS y)"],
)
def test_so_to_fo_keeps_what_labels_are_renamed_to(phi: str, label: str) -> None:
    S = tuple(Event(kind, {"v": v}) for kind in "AB" for v in (1, 2))
    psi = cerlab.parse_formula(f"{phi} FILTER {label}[v = 1]")
    positions = {(min(C), max(C), tuple(sorted(C))) for C in meaning(so_to_fo(psi), S)}
    assert positions == answers(psi, S)


@random_suite(20_000)
def test_so_to_fo_keeps_the_complex_events_and_is_safe_and_lp(rng: Random) -> bool:
    phi = small_so(rng, 4)
    psi = so_to_fo(phi)
    assert safe(psi)
    assert is_lp(psi)
    assert unscoped_variable(psi) is None
    S = tuple(random_events(rng, phi, SHAPE))
    expected = answers(phi, S)
    positions = {(min(C), max(C), tuple(sorted(C))) for C in meaning(psi, S)}
    assert positions == expected, (str(phi), str(psi))
    return bool(expected)


def stream(types: str, v: str) -> tuple[Event, ...]:
    return tuple(Event(t, {"v": int(d)}) for t, d in zip(types, v, strict=True))


def test_e3a_a_filter_is_not_pushed_below_an_iteration_that_rebinds() -> None:
    phi = parse_formula("(A AS x ; (B AS x)+) FILTER x[v = 1]")
    S = stream("AB", "10")
    assert meaning(phi, S) == meaning(lp_normal_form(phi), S) == {frozenset({0, 1})}


def test_e3b_a_filter_is_not_lost_on_the_branch_without_its_variable() -> None:
    phi = parse_formula("((A AS x OR B AS y) FILTER x[v = 1]) ; C AS x")
    S = stream("BC", "00")
    assert meaning(phi, S) == meaning(lp_normal_form(phi), S) == frozenset()


def test_e4_deleting_an_unsafe_disjunct_needs_scopes() -> None:
    """Theorem 1 on a formula that is well-formed as printed and not scoped well-formed."""
    phi = parse_formula("A AS x ; ((B AS y FILTER x[v = 1]) OR (C AS x ; C AS x))+")
    assert unscoped_variable(phi) == "x"
    S = stream("AB", "01")
    assert meaning(phi, S) == {frozenset({0, 1})}
    assert meaning(safe_form(phi), S) == frozenset()


def test_when_every_disjunct_is_unsafe_nothing_is_left() -> None:
    phi = parse_formula("(A AS x ; A AS x)+")
    assert safe_form(phi) == rewrite.NOTHING
    assert meaning(rewrite.NOTHING, stream("R", "1")) == frozenset()


LP_BY_HAND = (
    ("A AS x FILTER x[v = 1]", True),
    ("(A AS x FILTER x[v = 1]) ; B AS y", True),
    ("((A AS x FILTER x[v = 1]) OR (B AS x FILTER x[v = 1]))+", True),
    ("(A AS x ; B AS y) FILTER x.v = y.v", True),  # a binary filter may stand anywhere
    ("A AS x ; B AS y", True),
    ("(A AS x ; B AS y) FILTER x[v = 1]", False),
    ("(A AS x OR B AS x) FILTER x[v = 1]", False),
    ("(A AS x)+ FILTER x[v = 1]", False),
    ("A AS x ; (B AS y FILTER x[v = 1])", False),  # on another variable's clause
    ("(A AS x FILTER x[v = 1]) FILTER x[w = 1]", False),  # on a filter, not on the clause
    ("C AS z ; ((A AS x ; B AS y) FILTER y[v = 1])+", False),
)


@pytest.mark.parametrize(("text", "expected"), LP_BY_HAND)
def test_lp_normal_form_by_hand(text: str, expected: bool) -> None:
    """Every unary filter stands on the AS clause of its variable (FOUND Sec. 5.2)."""
    assert is_lp(parse_formula(text)) is expected


def sizes_are_bounded(rng: Random) -> bool:
    phi = random_scoped(rng, 4, binary=True)
    sizes = rewriting_sizes(phi)
    choices = sum(isinstance(psi, cel.Or) for psi in cel.subformulas(with_variables(phi)))
    assert sizes.original == cel.size(with_variables(phi))
    assert sizes.disjunctive is not None
    assert sizes.safe is not None
    assert sizes.lp is not None
    filters = sum(isinstance(psi, cel.Filter) for psi in cel.subformulas(phi))
    assert sizes.lp <= (sizes.original + 1) * 2 ** (choices + filters)
    assert sizes.disjunctive <= (sizes.original + 1) * 2**choices
    assert sizes.safe <= max(sizes.disjunctive, cel.size(rewrite.NOTHING))
    return choices > 0


def test_rewritings_are_at_most_exponentially_larger(suite: Suite) -> None:
    """Every choice at most doubles its context (FOUND Thm. 1; FOUND Lemma 2).

    For LP-normal form so does every filter, which splits where it may not be bound (FOUND Thm. 2).
    """
    suite.run(sizes_are_bounded, deep_count=4_000)


@pytest.mark.parametrize("n", range(1, 8))
def test_the_sizes_of_a_family_that_reaches_the_blow_up(n: int) -> None:
    """n choices in a row: 2^n disjuncts of n clauses, n - 1 sequences; 2^n - 1 OR between them.

    An ``R AS x`` is of size 2. The safe form deletes none, the LP-normal form moves none.
    """
    phi = parse_formula(" ; ".join(f"(A AS x{k} OR B AS x{k})" for k in range(n)))
    blow_up = 2**n * (2 * n + n - 1) + 2**n - 1
    same = 5 * n + n - 1
    assert rewriting_sizes(phi) == Sizes(same, disjunctive=blow_up, safe=blow_up, lp=same)


@pytest.mark.long
def test_sizes_double_with_each_choice_in_a_sequence() -> None:
    """The exponential family: n choices in a row are 2^n disjuncts."""
    sizes = []
    for n in range(1, 7):
        phi = parse_formula(" ; ".join(f"(A AS x{k} OR B AS x{k})" for k in range(n)))
        normal_form = disjunctive_normal_form(phi)
        disjuncts = 1 + sum(isinstance(psi, cel.Or) for psi in cel.subformulas(normal_form))
        assert disjuncts == 2**n
        sizes.append(cel.size(normal_form))
    assert all(later > 2 * earlier for earlier, later in pairwise(sizes))
    phi = parse_formula(" ; ".join(f"(A AS x{k} OR B AS x{k})" for k in range(20)))
    with pytest.raises(cerlab.ResourceLimit):
        disjunctive_normal_form(phi)


def test_bare_types_get_fresh_variables() -> None:
    psi = with_variables(parse_formula("A ; A AS _0"))
    assert vdef(psi) == {"_0", "_1"}
