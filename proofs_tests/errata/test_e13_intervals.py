"""E13: no CEA on intervals can express a strategy that compares answers across starts.

The paper states that its automata can express any selection policy (CORE Sec. 2.2). A run over
[i, j] reads only the events i..j. NXT(A ; B) must reject ([1, 2], {1, 2}) on AAB and accept it on
BAB, but both streams are equal on [1, 2]. The answers are cases of
``cerlab/conformance/cases/errata.json``.
"""

from __future__ import annotations

from cerlab import Event
from cerlab.automata.strategy import StrategyCea
from cerlab.compile.pattern import as_pattern
from cerlab.engine.reference.runs import CeaRuns
from cerlab.model.clauses import Strategy


def test_the_idle_state_is_what_tells_the_two_apart() -> None:
    machine = StrategyCea(as_pattern("A ; B").cea, Strategy.NXT)
    after_a, after_b = (
        machine.wait(machine.idle, machine.symbol(Event(letter))) for letter in "AB"
    )
    assert after_a != after_b
    assert machine.idle_states[after_a].better
    assert not machine.idle_states[after_b].better


def test_competing_inside_one_interval_only_gives_other_answers() -> None:
    """The reading that an interval CEA can express: every start on its own."""
    cea = as_pattern("A ; B").cea
    together = CeaRuns(cea, Strategy.NXT)
    answers = []
    for start in range(2):
        alone = CeaRuns(cea, Strategy.NXT)
        for position, letter in enumerate("AAB"):
            if position >= start:
                alone.advance(Event(letter), position)
        answers += [m for m in alone.answers(0) if m.start == start]
    for position, letter in enumerate("AAB"):
        together.advance(Event(letter), position)
    assert {m.positions for m in together.answers(0)} == {(0, 2)}
    assert {m.positions for m in answers} == {(0, 2), (1, 2)}
