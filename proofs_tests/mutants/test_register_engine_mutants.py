"""Wrong versions of the compiled register engine, each killed by the random comparisons."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any

import numpy as np

import cerlab
from cerlab.automata.automaton import Mark, outgoing
from cerlab.automata.registers import Srt
from cerlab.engine.registers import program, rules
from cerlab.engine.registers.program import DEAD, Move, RegisterProgram, Slot
from cerlab.engine.registers.rules import Names, Rule
from cerlab.engine.windows import Windows
from cerlab.model.answer import by_end
from cerlab.predicates.columns import SymbolStage
from cerlab.predicates.columns.ranks import KIND, NOTHING, Ranks
from proofs_tests.clauses.tables import word
from proofs_tests.mutants.driver import Judge, kills, mutant
from proofs_tests.srt.register_cases import (
    engine_answers,
    of_expression,
    of_intervals,
    of_transducer,
    reference_answers,
)


def live_for_one_step(
    states: int, moves: Sequence[Move], always: frozenset[Slot]
) -> tuple[frozenset[Slot], ...]:
    """A configuration keeps what the next event may ask of it, and no more."""
    live = [frozenset[Slot](), *[always] * (states - 1)]
    for m in moves:
        live[m.source] |= set(program._slots_of(m.guard))
    return tuple(live)


def accepts_without_a_mark(T: Srt) -> program._Follow:
    """Matches are reported again at later events, which they do not mark."""
    leaving, F = outgoing(T), T.F

    def follow(key: program._Key) -> Iterator[tuple[program._Does, program._Key]]:
        q, has_begun = key
        for t in leaving[q]:
            marks = t.mark is Mark.TAKE
            accepts = (marks or has_begun) and t.target in F
            does = program._Does(t.guard, marks, marks and not has_begun, accepts, t.writes)
            yield does, (t.target, has_begun or marks)

    return follow


def waits_and_writes(move: Move, fill: Sequence[int], own: Sequence[int]) -> bool:
    """Leave runs that stay in their state unchanged, whatever they write."""
    nothing = move.marks or move.begins or move.accepts
    return move.source == move.target and not nothing


def old_value_stays(program: RegisterProgram, names: Names, move: Move) -> list[int]:
    """A write that leaves in a register what it held, if it is live before and after."""
    before = program.live[move.source]
    after = program.live[move.target] if move.target != DEAD else frozenset[Slot]()
    steps = _FILL(program, names, move)
    return [
        n if slot in before and slot in after and slot.register else steps[n]
        for n, slot in enumerate(names.slots)
    ]


_FILL = rules._fill


def one_kind(self: Ranks, *columns: Any) -> list[Any]:
    """NULL and NaN are the lowest number of all, and equal."""
    return [np.where(code == NOTHING, 1 << KIND, code) for code in _CODES(self, *columns)]


_CODES = Ranks.of_columns


def asked_for_what_differs(names: Names, rule: Rule) -> tuple[int, int]:
    """Configurations are looked up by a value also where the guard wants another one."""
    plain = (frozenset(each._replace(is_negated=False) for each in c) for c in rule.clauses)
    return _KEY(names, Rule(rule.move, tuple(plain)))


_KEY = rules._key


def one_event_less(self: Any, columns: Mapping[str, Any], positions: Any) -> Any:
    """A window without the first event in it."""
    order, lowest = _WINDOWS(self, columns, positions)
    return order, np.where(lowest > 0, lowest + 1, 0)


_WINDOWS = Windows.read


def comparisons_exclude_each_other(a: Rule, b: Rule) -> bool:
    """Let at most one of two moves with comparisons go on, whatever they compare."""
    return _COMPATIBLE(a, b) and (frozenset() in a.clauses or frozenset() in b.clauses)


_COMPATIBLE = rules._compatible


DRAWS = (of_expression, of_transducer, of_intervals)


def against_the_reference(seed: int) -> bool:
    """The compiled engine gives the answers of the reference."""
    case = DRAWS[seed % 3](Random(seed))
    if case is None:
        return False
    answers = reference_answers(*case)
    if answers:
        assert engine_answers(*case) == answers
    return bool(answers)


def knows_nothing(self: SymbolStage, vectors: Any) -> None:
    """A state without the kinds of events that were read."""


def after_a_state(seed: int) -> bool:
    """A session of which a state is kept after each event gives the answers of the reference."""
    rng = Random(seed)
    types = "".join(rng.choice("AAB") for _ in range(rng.randint(3, 6)))
    events = word(types, v="".join(rng.choice("123") for _ in types))
    pattern = cerlab.parse_query("SELECT B WHERE A+ AS x ; B+ AS y FILTER y.v <= x.v")
    expected = cerlab.evaluate(pattern, events, evaluator="reference")
    session, answers = pattern.open(), []
    for event in events:
        answers += session.push([event])
        session = pattern.open(state=session.state())
    assert sorted(answers, key=by_end) == expected
    return bool(expected)


STATES = Judge(after_a_state, 3_000)
REGISTERS = Judge(against_the_reference, 3_000)
LATER = Judge(lambda n: against_the_reference(2_440 + n), 560)
"""Cases that the others come to last: about one in a thousand sees a write that is left out."""

MUTANTS = [
    mutant(REGISTERS, program, "_live", live_for_one_step),
    mutant(REGISTERS, program, "_of_marks", accepts_without_a_mark),
    mutant(LATER, rules, "_waits", waits_and_writes),
    mutant(REGISTERS, rules, "_fill", old_value_stays),
    mutant(REGISTERS, Ranks, "of_columns", one_kind),
    mutant(REGISTERS, rules, "_key", asked_for_what_differs),
    mutant(REGISTERS, rules, "_compatible", comparisons_exclude_each_other),
    mutant(REGISTERS, Windows, "read", one_event_less),
    mutant(STATES, SymbolStage, "know", knows_nothing),
]


test_the_mutant_is_killed = kills(MUTANTS)


def test_the_engine_is_right_on_the_same_cases() -> None:
    for seed in range(60):
        case = DRAWS[seed % 3](Random(seed))
        assert case is None or engine_answers(*case) == reference_answers(*case)
