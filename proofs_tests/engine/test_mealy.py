"""Merged machines have the answers of those they are made of (CORE Sec. 4.3)."""

from __future__ import annotations

from collections import Counter
from random import Random

from cerlab.automata.deterministic import NOTHING, Deterministic
from cerlab.automata.explicit import DEAD, SKIP, Mealy, Move, mealy_of
from cerlab.compile.pattern import as_pattern
from proofs_tests.engine.windowed_cases import SMALL
from proofs_tests.random_cases import Case, random_case
from proofs_tests.suite import random_suite

Run = tuple[int, int, tuple[int, ...]]
"""State, start, marks."""
Answers = Counter[tuple[int, int, tuple[int, ...]]]
"""Number of accepting runs for each (end, start, marks)."""

BUDGET = 2_000


def by_machine(
    machine: Deterministic, word: list[int]
) -> Counter[tuple[int, int, tuple[int, ...]]]:
    """The accepted (end, start, marks) of a word of truth vectors, all runs kept apart."""
    answers: Answers = Counter()
    runs: list[Run] = []
    idle = machine.idle
    for i, vector in enumerate(word):
        after: list[Run] = []
        for state, start, marks in runs:
            take, skip = machine.step(state, vector)
            after += [(take, start, (*marks, i))] if take is not None else []
            after += [(skip, start, marks)] if skip is not None else []
        take, skip = machine.begin(idle, vector)
        after += [(take, i, (i,))] if take is not None else []
        after += [(skip, i, ())] if skip is not None else []
        idle = machine.wait(idle, vector)
        answers.update((i, start, marks) for state, start, marks in after if machine.final[state])
        runs = after
    return answers


def by_mealy(mealy: Mealy, word: list[int]) -> Answers:
    """The same by the merged machine; a word of symbols."""
    answers: Answers = Counter()
    runs: list[Run] = []
    idle = 0
    for i, symbol in enumerate(word):
        after: list[Run] = []

        steps = [(mealy.step[state][symbol], start, marks) for state, start, marks in runs]
        for step, start, marks in (*steps, (mealy.begin[idle][symbol], i, ())):
            for mark, target, accepts in step:
                taken = marks if mark == SKIP else (*marks, i)
                if accepts:
                    answers[i, start, taken] += 1
                if target != DEAD:
                    after.append((target, start, taken))
        idle = mealy.wait[idle][symbol]
        runs = after
    return answers


def merged(example: Case) -> tuple[Deterministic, list[int], Mealy] | None:
    """The machine of a case, the truth vectors of its events, and the merged machine, if any."""
    if example.query.machine_kind != "automaton":
        return None
    machine = example.query.machine
    vectors = list(dict.fromkeys([0, *map(machine.symbol, example.stream)]))
    mealy = mealy_of(machine, vectors, budget=BUDGET)
    return None if mealy is None else (machine, vectors, mealy)


@random_suite(10_000)
def test_merging_keeps_every_answer(rng: Random) -> bool | None:
    example = random_case(rng, SMALL)
    if (found := merged(example)) is None:
        return None
    machine, vectors, mealy = found
    symbols = [rng.randrange(len(vectors)) for _ in range(3)]
    symbols += [vectors.index(machine.symbol(event)) for event in example.stream][:6]
    expected = by_machine(machine, [vectors[s] for s in symbols])
    if by_mealy(mealy, symbols) != expected:
        raise AssertionError(example.describe())
    return bool(expected)


@random_suite(4_000)
def test_merged_states_can_be_told_apart(rng: Random) -> bool:
    """No two states have the same moves: there are as few as there can be."""
    while (found := merged(random_case(rng, SMALL))) is None:
        pass
    _, _, mealy = found
    assert len(set(mealy.step)) == len(mealy.step)
    assert all(any(row) for row in mealy.step)
    return len(mealy.step) > 0


def test_what_follows_a_plus_is_what_is_inside_it() -> None:
    """``A+``: the state after an A is final, the one after a gap is not; ahead they are one."""
    machine = as_pattern("SELECT * WHERE A+").machine
    mealy = mealy_of(machine, [0, 1], budget=BUDGET)
    assert mealy is not None
    assert len(mealy.step) == 1
    assert mealy.step[0][1] == (Move(0, 0, True), Move(SKIP, 0, False))
    assert mealy.step[0][0] == (Move(SKIP, 0, False),)


def test_strategies_that_change_nothing_have_one_idle_state() -> None:
    """MAX of a plain sequence: no answer contains another, whatever came before."""
    machine = as_pattern("SELECT MAX * WHERE A ; B ; C").machine
    mealy = mealy_of(machine, [0, 1, 2, 4], budget=BUDGET)
    plain = mealy_of(as_pattern("SELECT * WHERE A ; B ; C").machine, [0, 1, 2, 4], budget=BUDGET)
    assert mealy is not None
    assert plain is not None
    assert len(mealy.idle_of) > len(mealy.begin) == 1
    assert (mealy.begin, mealy.step) == (plain.begin, plain.step)


def test_too_large_a_machine_is_none() -> None:
    machine = as_pattern("SELECT * WHERE A ; B ; C").machine
    assert mealy_of(machine, [0, 1, 2, 4], budget=5) is None


def test_a_machine_that_just_fits_is_made() -> None:
    """A cell for each symbol of one idle state, and of the two states of ``A : B``."""
    assert mealy_of(NOTHING, [0], budget=1) is not None
    machine = as_pattern("SELECT * WHERE A : B").machine
    assert [mealy_of(machine, [0, 1, 2], budget=n) is None for n in (8, 9)] == [True, False]
