"""Transducers that read no register are complex event automata: P16 (SRT Def. 21; FOUND Sec. 6).

The automaton answers at an event what the transducer reports there: its matches that mark the last
event. In the papers positions of a transducer count from 1 and those of an automaton from 0.
"""

from __future__ import annotations

from random import Random

import pytest

from cerlab import Event, Unsupported
from cerlab.automata.automaton import AnchoredCea
from cerlab.automata.epsilon import streaming, without_epsilon
from cerlab.automata.plan import RegisterPlan
from cerlab.compile.sremo_to_srt import sremo_to_srt
from cerlab.engine.reference.registers import answers
from cerlab.testing import random_sremo
from cerlab.theorems import srt as runs
from cerlab.theorems.srt import unary_cea, unary_srt
from proofs_tests.foundations.anchored_cases import (
    Run,
    accepted_positions,
    extend_runs,
    random_case,
)
from proofs_tests.sremo.tables import sre
from proofs_tests.srt.cases import SHAPE, Matches, with_match
from proofs_tests.suite import random_suite


def answers_by_event(cea: AnchoredCea, S: list[Event]) -> list[Matches]:
    """Return the automaton's answers at each event, by all its runs from position 0."""
    current: set[Run] = {(q, ()) for q in cea.I}
    by_event = []
    for n, event in enumerate(S):
        current = extend_runs(cea, current, event, n)
        by_event.append(frozenset(accepted_positions(cea, current, n)))
    return by_event


@random_suite(10_000)
def test_p16_an_automaton_answers_what_the_transducer_reports(rng: Random) -> bool:
    """For expressions without registers, with and without the prefix of a stream."""
    e, S = with_match(rng, lambda rng: random_sremo(rng, SHAPE, "unary"))
    T = without_epsilon(sremo_to_srt(e))
    whole = answers_by_event(unary_cea(T), S)
    assert whole == [runs.detects(T, S[: n + 1]) for n in range(len(S))], f"{e}\non {S}"
    T_s = without_epsilon(streaming(T))
    reports = {D.positions for D in answers(RegisterPlan(T_s), S)}
    anywhere = answers_by_event(unary_cea(T_s), S)
    assert reports == frozenset[tuple[int, ...]]().union(*anywhere)
    return bool(reports)


@random_suite(10_000)
def test_p16_and_back(rng: Random) -> bool:
    """Any automaton, with several initial states, as a transducer."""
    example = random_case(rng)
    S = list(example.events)
    T = unary_srt(example.cea)
    expected = answers_by_event(example.cea, S)
    assert expected == [runs.detects(T, S[: n + 1]) for n in range(len(S))]
    assert answers_by_event(unary_cea(without_epsilon(T)), S) == expected
    return any(expected)


def test_what_reads_a_register_is_refused() -> None:
    reads = without_epsilon(sremo_to_srt(sre("A^ -> r . <NOT (v = r.v OR v = 1)>")))
    with pytest.raises(Unsupported, match="CER0485"):
        unary_cea(reads)
    writes = without_epsilon(sremo_to_srt(sre("A^ -> r . B^")))
    assert len(unary_cea(writes).Delta) == 2
