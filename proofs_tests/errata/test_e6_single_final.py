"""E6: NXT and LAST need a final state that is entered by • only (FOUND App. C.3.2)."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from cerlab.automata.automaton import AnchoredCea, Mark
from cerlab.automata.compose import single_final
from cerlab.engine.reference import lists as ordered
from cerlab.model.clauses import Strategy
from proofs_tests.foundations.anchored_cases import (
    Run,
    accepted_positions,
    anchored_cea,
    answers,
    check,
    extend_runs,
    random_case,
)
from proofs_tests.suite import random_suite

BOTH = [Strategy.NXT, Strategy.LAST]


def printed_single_final(cea: AnchoredCea) -> AnchoredCea:
    """The remedy as printed: all transitions into F are copied."""
    qf = cea.states
    copies = [t._replace(target=qf) for t in cea.Delta if t.target in cea.F]
    return AnchoredCea(qf + 1, (*cea.Delta, *copies), cea.I, frozenset({qf}))


def as_it_is(cea: AnchoredCea) -> AnchoredCea:
    """Algorithms 5 and 6 as printed, on the automaton as it is."""
    return cea


SKIPPED_INTO = anchored_cea(2, "0 ∘ 0, 0 • 1, 1 ∘ 1", {1})
TWO_FINALS = anchored_cea(4, "0 ∘ 0, 0 • 3, 3 • 1", {1, 3})


def test_the_printed_remedy_lets_a_run_that_skips_hide_an_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert answers(SKIPPED_INTO, Strategy.NXT, "AA") == [(1,)]
    monkeypatch.setattr(ordered, "single_final", printed_single_final)
    assert answers(SKIPPED_INTO, Strategy.NXT, "AA") == []


@pytest.mark.parametrize("strategy", BOTH)
def test_without_a_remedy_an_answer_is_too_much(
    strategy: Strategy, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert answers(TWO_FINALS, strategy, "AA") == [(0, 1)]
    monkeypatch.setattr(ordered, "single_final", as_it_is)
    assert sorted(answers(TWO_FINALS, strategy, "AA")) == [(0, 1), (1,)]


@pytest.mark.parametrize(
    ("strategy", "as_printed"),
    [
        (Strategy.NXT, printed_single_final),
        (Strategy.NXT, as_it_is),
        (Strategy.LAST, as_it_is),
    ],
)
def test_random_search_finds_the_misprint(
    strategy: Strategy,
    as_printed: Callable[[AnchoredCea], AnchoredCea],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ordered, "single_final", as_printed)
    wrong = 0
    for seed in range(300):
        try:
            check(random_case(Random(seed)), strategy)
        except AssertionError:
            wrong += 1
    assert wrong >= 10


@random_suite(20_000)
def test_the_corrected_form_changes_no_answer(rng: Random) -> bool:
    example = random_case(rng)
    cea, after = example.cea, single_final(example.cea)
    assert (after.states, len(after.F)) == (cea.states + 1, 1)
    assert all(t.mark is Mark.TAKE for t in after.Delta if t.target in after.F)
    runs: set[Run] = {(q, ()) for q in cea.I}
    runs_after = set(runs)
    has_answer = False
    for n, event in enumerate(example.events):
        runs, runs_after = (
            extend_runs(cea, runs, event, n),
            extend_runs(after, runs_after, event, n),
        )
        assert accepted_positions(cea, runs, n) == accepted_positions(after, runs_after, n)
        has_answer = has_answer or bool(accepted_positions(cea, runs, n))
    return has_answer
