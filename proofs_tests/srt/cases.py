"""Random transducers, expressions with transducers, and words that they are likely to accept."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from random import Random
from typing import TypeVar

from cerlab import Event, Sremo, Stream, parse_sremo, satisfies
from cerlab.automata.automaton import EmptyMove, Mark, outgoing
from cerlab.automata.registers import EpsilonSrt, Label, RegisterTransition, Srt, Transducer
from cerlab.logic.sremo import matches
from cerlab.logic.sremo import syntax as sre
from cerlab.logic.sremo.syntax import subexpressions
from cerlab.model.answer import Positions, Registers
from cerlab.model.event import Value
from cerlab.predicates.syntax import Guard
from cerlab.testing import REGISTERS, TYPES, Shape, random_sremo, random_sremo_events
from cerlab.theorems import srt as runs
from cerlab.theorems.srt import Configuration, MarkedConfiguration, silently
from proofs_tests.clauses.tables import word

Matches = frozenset[Positions]

SHAPE = Shape(depth=3, events=5)


def events(types: str, **values: str) -> tuple[Event, ...]:
    """``events("AB", v="12")``: one letter of types and of each attribute an event."""
    return Stream.from_events(word(types, **values)).events


@cache
def guard(text: str) -> Guard:
    """``guard("v = r.v")``."""
    e = parse_sremo(f"<{text}>")
    assert isinstance(e, sre.Terminal)
    return e.guard


def step(source: int, label: str, target: int) -> RegisterTransition:
    """``step(0, "type = 'B' ^ -> r1", 1)``: a transition as a terminal of SREMO without ``<>``."""
    text, mark, writes = label.partition("^")[0], "^" in label, label.partition("->")[2]
    registers = frozenset(r.strip() for r in writes.split(",") if r.strip())
    test = guard(text.partition("->")[0].strip())
    return RegisterTransition(source, test, Mark.TAKE if mark else Mark.SKIP, registers, target)


ALONE = ("TRUE", "type = 'A'", "type != 'B'", "v = 1", "v <= 1", "w = 0")
REGISTER_TESTS = (
    "v = r.v",
    "v = s.v",
    "v != r.v",
    "v <= s.v",
    "v > r.v",
    "r.v = s.v",
    "w = r.v",
    "s.v < 2",
)


def random_guard(rng: Random) -> Guard:
    """Mostly one that reads registers: an empty one makes its atom false, and NOT of it true."""
    alone, of_register = rng.choice(ALONE), rng.choice(REGISTER_TESTS)
    forms = (
        alone,
        of_register,
        of_register,
        f"NOT {of_register}",
        f"{alone} AND {of_register}",
        f"{alone} OR {of_register}",
    )
    return guard(rng.choice(forms))


def random_terminal(rng: Random) -> sre.Terminal:
    """A guard, a mark, and the written registers, often some."""
    W = frozenset(r for r in REGISTERS if rng.random() < 0.4)
    return sre.Terminal(random_guard(rng), rng.random() < 0.6, W)


def random_srt(rng: Random) -> Srt:
    """Some way from the start to a final state, and some transitions anywhere.

    Two to four states. Now and then two transitions differ only in what they write and where they
    lead.
    """
    states = rng.choice((3, 2, 3, 4))
    Delta: list[RegisterTransition] = []
    for q in range(states - 1):
        phi, mark, W = random_label(rng)
        if q == 0 and rng.random() < 0.6:
            phi = guard(rng.choice(ALONE))
        Delta.append(RegisterTransition(q, phi, mark, W, q + 1))
    for _ in range(rng.choice((1, 2, 2, 3))):
        phi, mark, W = random_label(rng)
        source, target = rng.randrange(states), rng.randrange(states)
        if rng.random() < 0.25:
            source, phi, mark = rng.choice(Delta)[:3]
        Delta.append(RegisterTransition(source, phi, mark, W, target))
    F = {states - 1} | ({rng.randrange(states)} if rng.random() < 0.3 else set())
    return Srt(states, tuple(Delta), frozenset({0}), frozenset(F), R=frozenset(REGISTERS))


def random_label(rng: Random) -> Label:
    """Return a random label of a transition."""
    e = random_terminal(rng)
    return Label(e.guard, Mark.TAKE if e.marked else Mark.SKIP, e.writes)


def random_epsilon_srt(rng: Random) -> EpsilonSrt:
    """The same with some empty moves, cycles of them too."""
    T = random_srt(rng)
    moves = tuple(
        EmptyMove(rng.randrange(T.states), rng.randrange(T.states))
        for _ in range(rng.choice((1, 2, 3)))
    )
    return EpsilonSrt(T.states, T.Delta, T.I, T.F, moves=moves, R=T.R)


def random_event(rng: Random) -> Event:
    values: tuple[Value, ...] = (0, 1, 2, 0, 1, 2, 0, 1, 2, None, 0.5, True, "a")
    return Event(rng.choice(TYPES), {"v": rng.choice(values), "w": rng.choice((0, 1))})


def random_word(rng: Random, T: Transducer, most: int = 5) -> list[Event]:
    """Events along a walk through the transducer, for each transition one that satisfies it."""
    word: list[Event] = []
    for _ in range(12):
        word, is_accepting = _walk(rng, T, most)
        if is_accepting:
            break
    return word


Kind = TypeVar("Kind", bound=Transducer)


def with_word(
    rng: Random, draw: Callable[[Random], Kind], most: int = 5
) -> tuple[Kind, list[Event]]:
    """A transducer and a string that it accepts, if one is soon found."""
    for _ in range(4):
        T = draw(rng)
        S = random_word(rng, T, most)
        if runs.accepts(T, S):
            break
    return T, S


def _walk(rng: Random, T: Transducer, most: int) -> tuple[list[Event], bool]:
    leaving, S, v, q = outgoing(T), list[Event](), Registers(), T.q0
    while True:
        here = sorted(
            run.at.state for run in silently(T, [MarkedConfiguration(Configuration(0, q, v), ())])
        )
        final = not T.F.isdisjoint(here)
        choices = [t for p in here for t in leaving[p]]
        if not choices or len(S) == most or (final and rng.random() < 0.4):
            return S, final
        t = rng.choice(choices)
        candidates = [random_event(rng) for _ in range(20)]
        event = next((x for x in candidates if satisfies(x, t.guard, v)), candidates[0])
        S.append(event)
        v, q = v.written(t.writes, event), t.target


def without_clocks(rng: Random) -> Sremo:
    """An expression without windows in time, which have no transducer inside an expression."""
    while True:
        e = random_sremo(rng, SHAPE)
        if not any(isinstance(each, sre.Within) for each in subexpressions(e)):
            return e


def with_match(rng: Random, draw: Callable[[Random], Sremo]) -> tuple[Sremo, list[Event]]:
    """An expression and a string that it matches, if one is soon found."""
    for _ in range(3):
        e = draw(rng)
        S = random_sremo_events(rng, e, SHAPE)
        if matches(e, S):
            break
    return e, S


def shift(matches: Matches, by: int) -> Matches:
    """The same matches of a string that begins so much later."""
    return frozenset(tuple(p + by for p in M) for M in matches)


def from_one(*sets: Iterable[int]) -> Matches:
    """Matches as the papers write them, whose positions count from 1."""
    return frozenset(tuple(i - 1 for i in sorted(M)) for M in sets)
