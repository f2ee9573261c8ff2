"""What transducers match, by their runs: the definition, step by step (SRT Def. 23; SRT Def. 26).

Nothing here is fast: runs are followed one event at a time, and those that agree in state,
registers and marks are one. Positions count from 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from cerlab.automata.automaton import Mark
from cerlab.automata.registers.transducer import RegisterTransition, Srt, Transducer
from cerlab.errors import ResourceLimit
from cerlab.model.answer import Positions
from cerlab.model.event import Event
from cerlab.model.registers import Registers
from cerlab.predicates.truth import satisfies

MAX_CONFIGURATIONS = 100_000
"""How many configurations are followed at once."""

EMPTY = Registers()


class Configuration(NamedTuple):
    """``[j, q, v]``: the next position, the state, and what the registers hold (SRT Def. 23)."""

    position: int
    state: int
    registers: Registers


class Run(NamedTuple):
    """A configuration, with the positions that were marked on the way to it."""

    at: Configuration
    marks: Positions


class Outcome(NamedTuple):
    """What an accepting run leaves: the positions it marked, and its registers."""

    marks: Positions
    registers: Registers


def successors(T: Transducer, S: Sequence[Event], c: Configuration) -> Iterator[Configuration]:
    """The configurations that follow one, by an empty move or by the next event (SRT Def. 23)."""
    for move in T.moves:
        if move.source == c.state:
            yield c._replace(state=move.target)
    for t in enabled_transitions(T, S, c):
        yield follow(t, S, c)


def enabled_transitions(
    T: Transducer, S: Sequence[Event], c: Configuration
) -> list[RegisterTransition]:
    """The transitions whose guard holds for the next event and the registers as they are."""
    if c.position == len(S):
        return []
    t_j = S[c.position]
    return [t for t in T.Delta if t.source == c.state and satisfies(t_j, t.guard, c.registers)]


def follow(t: RegisterTransition, S: Sequence[Event], c: Configuration) -> Configuration:
    """The configuration after a transition: only now are its registers written."""
    v = c.registers.written(t.writes, S[c.position])
    return Configuration(c.position + 1, t.target, v)


def outcomes(T: Transducer, S: Sequence[Event], v: Registers = EMPTY) -> frozenset[Outcome]:
    """``M(T, S, v, v')``: the marks and registers of accepting runs over S from v (SRT Def. 24).

    Raises `ResourceLimit` above `MAX_CONFIGURATIONS` at once.
    """
    current = {Run(Configuration(0, T.q0, v), ())}
    for j in range(len(S)):
        current = {
            Run(follow(t, S, run.at), (*run.marks, j) if t.mark is Mark.TAKE else run.marks)
            for run in silently(T, current)
            for t in enabled_transitions(T, S, run.at)
        }
        if len(current) > MAX_CONFIGURATIONS:
            raise ResourceLimit(
                "CER0683",
                f"more than {MAX_CONFIGURATIONS:,} runs are going on",
                hint="use a shorter stream: runs without a window are never given up",
            )
    final_runs = (run for run in silently(T, current) if run.at.state in T.F)
    return frozenset(Outcome(run.marks, run.at.registers) for run in final_runs)


def silently(T: Transducer, runs: Iterable[Run]) -> set[Run]:
    """The runs, and those that empty moves make of them."""
    closure = set(runs)
    pending = list(closure)
    moves = T.moves
    while pending and moves:
        run = pending.pop()
        for move in moves:
            after = run._replace(at=run.at._replace(state=move.target))
            if move.source == run.at.state and after not in closure:
                closure.add(after)
                pending.append(after)
    return closure


def matches(T: Transducer, S: Sequence[Event]) -> frozenset[Positions]:
    """``Match(T, S)``: the marks of accepting runs over the whole of S (SRT Def. 26)."""
    return frozenset(outcome.marks for outcome in outcomes(T, S))


def detects(T: Transducer, S: Sequence[Event]) -> frozenset[Positions]:
    """Those of the matches that mark the last event: what is reported there (SRT Def. 24)."""
    return frozenset(M for M in matches(T, S) if M and M[-1] == len(S) - 1)


def accepts(T: Transducer, S: Sequence[Event]) -> bool:
    """Whether S is in the language: whether it has a match (SRT Def. 26)."""
    return bool(matches(T, S))


Path: TypeAlias = tuple[RegisterTransition, ...]


def paths(T: Srt, S: Sequence[Event]) -> tuple[Path, ...]:
    """All runs over S, accepting or not, as their transitions; different runs are different."""
    current: list[tuple[Configuration, Path]] = [(Configuration(0, T.q0, EMPTY), ())]
    for _ in S:
        current = [
            (follow(t, S, c), (*path, t))
            for c, path in current
            for t in enabled_transitions(T, S, c)
        ]
    return tuple(path for _, path in current)


def marks_of(path: Path) -> Positions:
    """The match of a run: where its transitions mark (SRT Def. 24)."""
    return tuple(j for j, t in enumerate(path) if t.mark is Mark.TAKE)
