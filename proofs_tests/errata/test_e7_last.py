"""E7: LAST is not "NXT with the third condition changed" (FOUND App. C.3.3).

The printed automaton follows one state p and the ordered partition T1..Tk of all states by their
best runs. Its conditions 2 and 4 are those of NXT; but for LAST a run that takes the event beats
every run that skips it, whatever came before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

import pytest

from cerlab.automata.automaton import AnchoredCea, Mark, Transition
from cerlab.automata.explore import crawl
from cerlab.automata.successors import States, Successors
from cerlab.model.clauses import Strategy
from cerlab.predicates.minterms import minterms
from cerlab.predicates.syntax import EVERYTHING, Not, Predicate, conjunction
from proofs_tests.foundations.anchored_cases import anchored_cea, random_anchored, word
from proofs_tests.foundations.test_theorem_4 import agree, random_word

Partition = tuple[States, ...]
Blocked = Callable[[int, int, Mark, list[States], list[States]], bool]
"""Whether a run from class i that enters q with a mark is beaten, given all the U• and U∘."""


def printed(i: int, q: int, mark: Mark, takes: list[States], skips: list[States]) -> bool:
    """Conditions 2 and 4 as for NXT."""
    if any(q in takes[j] or q in skips[j] for j in range(i)):
        return True
    return mark is Mark.SKIP and q in takes[i]


def corrected(i: int, q: int, mark: Mark, takes: list[States], skips: list[States]) -> bool:
    """A • is beaten by a • of a better class; a ∘ by any •, and by a ∘ of a better class."""
    if mark is Mark.TAKE:
        return any(q in takes[j] for j in range(i))
    return any(q in each for each in takes) or any(q in skips[j] for j in range(i))


def last_automaton(A: AnchoredCea, blocked: Blocked) -> AnchoredCea:
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
            U = ordered(takes + skips)
            guard: Predicate = EVERYTHING
            for bit, P in enumerate(tests):
                guard = conjunction(guard, P if m.symbol >> bit & 1 else Not(P))
            for mark in Mark:
                for q in successors.after(frozenset({p}), m.symbol, mark):
                    if not blocked(i, q, mark, takes, skips):
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
        found = crawl(start, follow)
        for state in found.states:
            numbers.setdefault(state, len(numbers))
        number = [numbers[state] for state in found.states]
        for source, (guard, mark), target in found.edges:
            moves.append(Transition(number[source], guard, mark, number[target]))
        F |= {numbers[state] for state in found.states if final(state)}
        I.add(numbers[((A.I,), q)])
    return AnchoredCea(len(numbers), tuple(dict.fromkeys(moves)), frozenset(I), frozenset(F))


def ordered(sets: list[States]) -> Partition:
    """TPO: what is in an earlier set is taken out of the later ones (FOUND App. C.3.2)."""
    seen: States = frozenset()
    kept = []
    for S in sets:
        if S - seen:
            kept.append(S - seen)
        seen |= S
    return tuple(kept)


TWO_EVENTS = anchored_cea(3, "0 ∘ 0, 0 • 2, 2 ∘ 2, 2 • 1", {1})


def test_the_printed_automaton_fails_on_two_events() -> None:
    made = last_automaton(TWO_EVENTS, printed)
    with pytest.raises(AssertionError):
        agree(TWO_EVENTS, made, Strategy.LAST, word("AAA"))


def test_the_corrected_one_does_not() -> None:
    made = last_automaton(TWO_EVENTS, corrected)
    assert agree(TWO_EVENTS, made, Strategy.LAST, word("AAAAA"))


def test_on_random_automata_the_printed_one_fails_and_the_corrected_one_never() -> None:
    failed = answered = 0
    for seed in range(60):
        rng = Random(seed)
        A, events = random_anchored(rng), random_word(rng)
        answered += agree(A, last_automaton(A, corrected), Strategy.LAST, events)
        try:
            agree(A, last_automaton(A, printed), Strategy.LAST, events)
        except AssertionError:
            failed += 1
    assert answered > 30
    assert failed > 0
