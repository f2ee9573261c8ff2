"""The automata of single operators, transition by transition (CORE App. A.1; CORE Sec. 4.4).

That their runs answer what the formulas mean is shown in `differential/`; here is what they are.
"""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from cerlab import Event, parse_formula
from cerlab.automata.automaton import Mark
from cerlab.automata.deterministic import DeterministicCea, States, Successors
from cerlab.compile import cel_to_vcea
from cerlab.compile.pattern import as_pattern
from cerlab.predicates.text import predicate_text

SHORT = {
    "type = 'A'": "A",
    "type = 'B'": "B",
    "TRUE": "*",
    "type = 'A' AND v = 1": "A[v = 1]",
}

ROWS: list[tuple[str, int, str, str, str]] = [
    ("A", 2, "0", "1", "0-A/A-1"),
    ("A AS x", 2, "0", "1", "0-A/Ax-1"),
    ("PROJECT[B](A) AS x", 2, "0", "1", "0-A/-1"),
    ("A AS x FILTER x[v = 1]", 2, "0", "1", "0-A[v = 1]/Ax-1"),
    ("A AS x FILTER y[v = 1]", 2, "0", "1", "0-A/Ax-1"),
    ("PROJECT[x](A AS x)", 2, "0", "1", "0-A/x-1"),
    ("A OR B", 4, "02", "13", "0-A/A-1, 2-B/B-3"),
    ("A ; B", 4, "0", "3", "0-A/A-1, 2-B/B-3, 2-*/-2, 0-A/A-2"),
    ("(A OR B) ; A", 6, "02", "5", "0-A/A-1, 2-B/B-3, 4-A/A-5, 4-*/-4, 0-A/A-4, 2-B/B-4"),
    ("A+", 3, "0", "1", "0-A/A-1, 2-*/-2, 0-A/A-2, 2-A/A-1, 2-A/A-2"),
]
"""A formula, how many states, I, F, and the transitions: ``source-predicate/labels-target``."""


@pytest.mark.parametrize(("text", "states", "I", "F", "Delta"), ROWS, ids=[r[0] for r in ROWS])
def test_an_operator_by_hand(text: str, states: int, I: str, F: str, Delta: str) -> None:
    vcea = cel_to_vcea.construct(parse_formula(text))
    transitions = [
        f"{t.source}-{SHORT[predicate_text(t.predicate)]}/{''.join(sorted(t.labels))}-{t.target}"
        for t in vcea.Delta
    ]
    assert sorted(transitions) == sorted(Delta.split(", "))
    assert (vcea.states, vcea.I, vcea.F) == (states, _states(I), _states(F))


def _states(digits: str) -> frozenset[int]:
    return frozenset(map(int, digits))


def test_marks_are_where_labels_are_and_a_fresh_state_is_the_only_initial_one() -> None:
    vcea = as_pattern("(A OR B) ; PROJECT[](A)").vcea
    cea = as_pattern("(A OR B) ; PROJECT[](A)").cea
    assert len(vcea.I) == 2
    assert {cea.q0} == cea.I
    assert not any(t.target == cea.q0 for t in cea.Delta)
    assert sum(t.mark is Mark.TAKE for t in cea.Delta) == 2, "the A and the B, from q0"
    assert sum(t.mark is Mark.SKIP for t in cea.Delta) == 2, "waiting, and the A without labels"


def test_successors_are_made_when_an_event_needs_them_and_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: Counter[tuple[States, int, Mark]] = Counter()
    after = Successors.after

    def count_calls(self: Successors, states: States, symbol: int, mark: Mark) -> States:
        calls[states, symbol, mark] += 1
        return after(self, states, symbol, mark)

    monkeypatch.setattr(Successors, "after", count_calls)
    det = DeterministicCea(as_pattern("A ; B+ ; A").cea)
    assert not calls
    rng, active = Random(0), {det.q0}
    for _ in range(200):
        symbol = det.symbol(Event(rng.choice("ABC")))
        moves = [det.begin(det.idle, symbol), *(det.step(q, symbol) for q in sorted(active))]
        active = {q for each in moves for q in each if q is not None}
    assert set(calls.values()) == {1}
    assert len(calls) <= 2 * 4 * len(det.macro_states)


def test_what_the_tecs_steps_through_is_det_but_for_a_strategy() -> None:
    """`det` has no strategy; for a query without one it is the machine that the tECS reads."""
    plain, strict = as_pattern("SELECT * WHERE A ; B"), as_pattern("SELECT MAX * WHERE A ; B")
    assert plain.det is plain.machine
    assert isinstance(strict.det, DeterministicCea)
    assert strict.det is not strict.machine
