"""Claims in the proof of Theorem 4 about runs of NXT and MAX.

(FOUND Lemma C.14; FOUND Lemma C.16; FOUND Lemma C.18)

Runs are made one by one here; the sets beside them are those of the paper.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from random import Random

import pytest

from cerlab import Event
from cerlab.automata.automaton import AnchoredCea, Mark
from cerlab.automata.compose import single_final
from cerlab.engine.reference.lists import (
    Class,
    MaxState,
    Order,
    Successors,
    image,
    last_order,
    move_marking,
    move_not_marking,
    moves,
    next_order,
)
from cerlab.logic.cel.semantics import last_at_most, next_at_most
from cerlab.model.answer import Positions
from cerlab.model.clauses import Strategy
from proofs_tests.errata.test_e7_last import Partition, ordered_partition
from proofs_tests.foundations.anchored_cases import (
    Run,
    accepted_positions,
    extend_runs,
    random_anchored,
    random_io_deterministic,
    select_answers,
)
from proofs_tests.foundations.test_theorem_4 import random_word
from proofs_tests.suite import random_suite

TAKE, SKIP = Mark.TAKE, Mark.SKIP

AtMost = Callable[[Positions, Positions], bool]


def class_of(T: Partition, p: int) -> int:
    return next(k for k, Ti in enumerate(T) if p in Ti)


def ordered_runs(
    A: AnchoredCea, events: Sequence[Event], order: Order
) -> tuple[Partition, set[Run]]:
    """The partition after the events, and the runs of the automaton beside it (FOUND App. C.3.2).

    A class moves by a mark to the states that no better move reaches. `order` says which is better:
    that of Algorithm 5 for NXT, that of Algorithm 6 for LAST (FOUND App. C.3.3, corrected).
    """
    T: Partition = (A.I,)
    runs: set[Run] = {(p, ()) for p in A.I}
    for n, event in enumerate(events):
        Delta = moves(A, event)
        steps = list(order([tuple(Ti) for Ti in T]))
        targets = [image(Delta[mark], Ti) for Ti, mark in steps]
        runs = {
            (q, (*marks, n) if mark is TAKE else marks)
            for p, marks in runs
            for k, (Ti, mark) in enumerate(steps)
            if p in Ti
            for q in Delta[mark].get(p, ())
            if not any(q in better for better in targets[:k])
        }
        T = ordered_partition(targets)
    return T, runs


def earlier_is_greater(T: Partition, runs: set[Run], at_most: AtMost = next_at_most) -> bool:
    """Whether, of two runs, the one in the earlier class is the greater one, and conversely."""

    def less(C1: Positions, C2: Positions) -> bool:
        return C1 != C2 and at_most(C1, C2)

    return all(
        (class_of(T, p) < class_of(T, q)) == less(theirs, ours)
        for (p, ours), (q, theirs) in product(runs, repeat=2)
    )


@pytest.mark.parametrize(
    ("strategy", "order", "at_most"),
    [(Strategy.NXT, next_order, next_at_most), (Strategy.LAST, last_order, last_at_most)],
)
@random_suite(10_000)
def test_c14_an_earlier_class_has_the_greater_complex_event(
    strategy: Strategy, order: Order, at_most: AtMost, rng: Random
) -> bool:
    """So the runs to a final state that no better class has take what the strategy selects."""
    A, events = random_anchored(rng), random_word(rng)
    T, runs = ordered_runs(A, events, order)
    assert earlier_is_greater(T, runs, at_most)
    B = single_final(A)
    T_B, runs_of_B = ordered_runs(B, events, order)
    best = next((Ti for Ti in T_B if Ti & B.F), frozenset[int]())
    expected = accepted_positions(A, from_states(A, A.I, events, 0), len(events) - 1)
    of_best_class = {marks for p, marks in runs_of_B if p in best & B.F}
    assert of_best_class == select_answers(strategy, expected)
    return len(T) > 1


def skips_first(O: list[Class]) -> Iterator[tuple[Class, Mark]]:
    """The skips of a class before its marks."""
    return ((A, mark) for A in O for mark in (SKIP, TAKE))


def test_c14_needs_that_marks_come_first() -> None:
    samples = [(random_anchored(rng), random_word(rng)) for rng in map(Random, range(200))]
    wrong = [not earlier_is_greater(*ordered_runs(*each, order=skips_first)) for each in samples]
    assert sum(wrong) > 20


def maximal_runs(
    Delta: Sequence[dict[Mark, Successors]], I: frozenset[int]
) -> Iterator[list[tuple[MaxState, Positions]]]:
    """The runs of the MAX automaton: its states, each with the positions taken so far."""
    for marks in product(Mark, repeat=len(Delta)):
        run = [(MaxState(I, frozenset()), Positions())]
        for n, (mark, D) in enumerate(zip(marks, Delta, strict=True)):
            r, positions = run[-1]
            if mark is TAKE:
                run.append((move_marking(r, D[TAKE]), (*positions, n)))
            else:
                run.append((move_not_marking(r, D[TAKE], D[SKIP]), positions))
        if run[-1][0].T:
            yield run


def from_states(A: AnchoredCea, start: frozenset[int], events: Sequence[Event], k: int) -> set[Run]:
    """All partial runs from those states over the events from k on."""
    runs: set[Run] = {(p, ()) for p in start}
    for n in range(k, len(events)):
        runs = extend_runs(A, runs, events[n], n)
    return runs


@random_suite(2_000)
def test_c16_who_has_more_and_marks_as_much_still_has(rng: Random) -> bool | None:
    """Judges the first of up to three draws in which some run has more."""
    for _ in range(3):
        A, events = random_io_deterministic(rng), random_word(rng)[:5]
        applies = False
        for run in maximal_runs([moves(A, event) for event in events], A.I):
            last, marks = run[-1]
            for k, (r, before) in enumerate(run[:-1]):
                new = set(marks) - set(before)
                ends = {
                    q for q, positions in from_states(A, r.U, events, k) if new <= set(positions)
                }
                assert ends <= last.U
                applies |= bool(ends)
        if applies:
            return True
    return None


@random_suite(5_000)
def test_c18_every_state_with_more_has_a_run_with_more(rng: Random) -> bool:
    """And the other way round: the second component is what its name says."""
    draw = rng.choice((random_io_deterministic, *[random_anchored] * 4))
    A, events = draw(rng), random_word(rng)[:6]
    runs = from_states(A, A.I, events, 0)
    applies = False
    for run in maximal_runs([moves(A, event) for event in events], A.I):
        last, marks = run[-1]
        more = {q for q, positions in runs if set(marks) < set(positions)}
        assert more == last.U
        applies |= bool(last.U)
    return applies
