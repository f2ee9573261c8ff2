"""A second opinion: automata-lib on emptiness, equivalence and minimal size of the same tables."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from cerlab.automata.deterministic import DeterministicCea
from cerlab.automata.explicit import STUCK, ExplicitCea, digest, minimise, table_of
from cerlab.predicates.minterms import minterms
from proofs_tests.core.test_theorem_4 import random_cea
from proofs_tests.suite import Suite

fa = pytest.importorskip("automata.fa.dfa", reason="automata-lib is a development dependency")


def table(rng: Random) -> ExplicitCea:
    det = DeterministicCea(random_cea(rng))
    return table_of(det, [m.symbol for m in minterms(det.predicates)])


def as_dfa(A: ExplicitCea, letters: int) -> Any:
    """The same words; a letter that a machine's own table lacks leads to the sink."""
    sink = A.states
    rows = [*A.Delta, (STUCK,) * letters]
    transitions = {
        q: {letter: row[letter] if row[letter] != STUCK else sink for letter in range(letters)}
        for q, row in enumerate(rows)
    }
    return fa.DFA(
        states=set(range(A.states + 1)),
        input_symbols=set(range(letters)),
        transitions=transitions,
        initial_state=0,
        final_states=set(A.F),
    )


def same_letters(A: ExplicitCea, B: ExplicitCea) -> bool:
    return A.predicates == B.predicates and A.symbols == B.symbols


def test_minimal_size_emptiness_and_equivalence_agree(suite: Suite) -> None:
    previous: list[ExplicitCea] = []

    def case(rng: Random) -> bool:
        A = table(rng)
        small = minimise(A)
        letters = len(A.symbols) * 2
        theirs = as_dfa(A, letters)
        assert theirs.isempty() is not bool(small.F)
        assert as_dfa(small, letters) == theirs, "the same words"
        minimal = theirs.minify()
        dead = 1 if any(STUCK in row for row in small.Delta) or not small.F else 0
        assert len(minimal.states) == small.states + dead - (not small.F)
        for B in previous[-20:]:
            if same_letters(A, B):
                equal = as_dfa(B, letters) == theirs
                assert (digest(minimise(B)) == digest(small)) is equal
                assert (minimise(B) == small) is equal
        previous.append(A)
        return bool(small.F)

    suite.run(case, deep_count=2_000)


def test_minimising_by_hand() -> None:
    """Two states alike become one, a state without a way to an answer goes."""
    A = ExplicitCea((), (0,), ((1, 2), (STUCK, STUCK), (1, 3), (3, 3)), frozenset({1}))
    assert minimise(A) == ExplicitCea(
        (), (0,), ((1, 2), (STUCK, STUCK), (1, STUCK)), frozenset({1})
    )
    B = ExplicitCea((), (0,), ((1, 2), (STUCK, STUCK), (1, 2)), frozenset({1}))
    assert minimise(B) == ExplicitCea((), (0,), ((1, 0), (STUCK, STUCK)), frozenset({1}))
    C = ExplicitCea((), (0, 1), ((0, 1, 0, 1), (0, 1, 0, 1)), frozenset())
    assert minimise(C) == ExplicitCea((), (0, 1), ((STUCK,) * 4,), frozenset())


def test_digests_are_of_the_structure() -> None:
    A = ExplicitCea((), (0,), ((1, STUCK), (STUCK, STUCK)), frozenset({1}))
    assert digest(A) == digest(ExplicitCea((), (0,), ((1, STUCK), (STUCK, STUCK)), frozenset({1})))
    assert digest(A) != digest(ExplicitCea((), (0,), ((STUCK, 1), (STUCK, STUCK)), frozenset({1})))
    assert digest(A)[:12] == "a440cc7c4d84", "the same in every run of Python"
