"""E7: LAST is not "NXT with the third condition changed" (FOUND App. C.3.3).

The printed automaton follows one state p and the partition T1..Tk of all states, ordered by their
best runs. Its conditions 2 and 4 are those of NXT. For LAST, however, a run that takes the event
wins over every run that skips it, regardless of earlier events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

import pytest

from cerlab.automata.automaton import AnchoredCea, Mark, Transition
from cerlab.automata.deterministic import States, Successors
from cerlab.automata.explore import crawl
from cerlab.model.clauses import Strategy
from cerlab.predicates.minterms import minterms
from cerlab.predicates.syntax import EVERYTHING, Not, Predicate, conjunction
from proofs_tests.foundations.anchored_cases import anchored_cea, random_anchored, word
from proofs_tests.foundations.test_theorem_4 import agree, random_word

Partition = tuple[States, ...]
IsBeaten = Callable[[int, int, Mark, list[States], list[States]], bool]
"""Whether a run from class i that enters q with a mark is beaten, given all the U• and U∘."""


def as_printed(i: int, q: int, mark: Mark, takes: list[States], skips: list[States]) -> bool:
    """Conditions 2 and 4 as for NXT."""
    if any(q in takes[j] or q in skips[j] for j in range(i)):
        return True
    return mark is Mark.SKIP and q in takes[i]


def as_corrected(i: int, q: int, mark: Mark, takes: list[States], skips: list[States]) -> bool:
    """A • is beaten by a • of a better class; a ∘ by any •, and by a ∘ of a better class."""
    if mark is Mark.TAKE:
        return any(q in takes[j] for j in range(i))
    return any(q in each for each in takes) or any(q in skips[j] for j in range(i))


def last_automaton(A: AnchoredCea, is_beaten: IsBeaten) -> AnchoredCea:
    """States (T1..Tk, p), as the paper builds them."""
    successors = Successors(A.Delta)
    tests = successors.predicates

    def follow(
        state: tuple[Partition, int],
    ) -> Iterator[tuple[tuple[Predicate, Mark], tuple[Partition, int]]]:
        T, p = state
        i = next(k for k, Ti in enumerate(T) if p in Ti)
        for m in minterms(tests):
            takes = [successors.after(Ti, m.symbol, Mark.TAKE) for Ti in T]
            skips = [successors.after(Ti, m.symbol, Mark.SKIP) for Ti in T]
            U = ordered_partition(takes + skips)
            guard: Predicate = EVERYTHING
            for bit, P in enumerate(tests):
                guard = conjunction(guard, P if m.symbol >> bit & 1 else Not(P))
            for mark in Mark:
                for q in successors.after(frozenset({p}), m.symbol, mark):
                    if not is_beaten(i, q, mark, takes, skips):
                        yield (guard, mark), (U, q)

    def final(state: tuple[Partition, int]) -> bool:
        T, p = state
        i = next(k for k, Ti in enumerate(T) if p in Ti)
        return p in A.F and all(Tj.isdisjoint(A.F) for Tj in T[:i])

    moves: list[Transition] = []
    numbers: dict[tuple[Partition, int], int] = {}
    F: set[int] = set()
    I: set[int] = set()
    for q in sorted(A.I):
        start: tuple[Partition, int] = ((A.I,), q)
        machine = crawl(start, follow)
        for state in machine.states:
            numbers.setdefault(state, len(numbers))
        number = [numbers[state] for state in machine.states]
        for source, (guard, mark), target in machine.edges:
            moves.append(Transition(number[source], guard, mark, number[target]))
        F |= {numbers[state] for state in machine.states if final(state)}
        I.add(numbers[((A.I,), q)])
    return AnchoredCea(len(numbers), tuple(dict.fromkeys(moves)), frozenset(I), frozenset(F))


def ordered_partition(sets: list[States]) -> Partition:
    """TPO: each set loses the states of the earlier sets (FOUND App. C.3.2)."""
    earlier: States = frozenset()
    classes = []
    for S in sets:
        if S - earlier:
            classes.append(S - earlier)
        earlier |= S
    return tuple(classes)


TWO_EVENTS = anchored_cea(3, "0 ∘ 0, 0 • 2, 2 ∘ 2, 2 • 1", {1})


def test_the_printed_automaton_fails_on_two_events() -> None:
    A = last_automaton(TWO_EVENTS, as_printed)
    with pytest.raises(AssertionError):
        agree(TWO_EVENTS, A, Strategy.LAST, word("AAA"))


def test_the_corrected_one_does_not() -> None:
    A = last_automaton(TWO_EVENTS, as_corrected)
    assert agree(TWO_EVENTS, A, Strategy.LAST, word("AAAAA"))


def test_on_random_automata_the_printed_one_fails_and_the_corrected_one_never() -> None:
    failures = with_answers = 0
    for seed in range(60):
        rng = Random(seed)
        A, events = random_anchored(rng), random_word(rng)
        with_answers += agree(A, last_automaton(A, as_corrected), Strategy.LAST, events)
        try:
            agree(A, last_automaton(A, as_printed), Strategy.LAST, events)
        except AssertionError:
            failures += 1
    assert with_answers > 30
    assert failures > 0
