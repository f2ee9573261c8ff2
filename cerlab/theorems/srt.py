"""The matches of transducers, computed run by run (SRT Def. 23; SRT Def. 26).

This module is written for clarity, not for speed: runs are followed one event at a time, and runs
with equal state, registers and marks are merged. Positions count from 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple, TypeAlias, TypeVar

from cerlab.automata.automaton import AnchoredCea, EmptyMove, EpsilonCea, Mark, Transition, as_kind
from cerlab.automata.compose import remember, shift
from cerlab.automata.epsilon import choice, sequence
from cerlab.automata.registers import (
    NONE,
    EpsilonSrt,
    Label,
    RegisterTransition,
    Srt,
    Transducer,
    apart,
)
from cerlab.errors import IllFormed, ResourceLimit, Unsupported
from cerlab.model.answer import Positions, Registers
from cerlab.model.event import Event
from cerlab.predicates.syntax import Guard, Predicate, reads_no_register, redirect_registers
from cerlab.predicates.truth import satisfies

MAX_CONFIGURATIONS = 100_000
"""Most configurations that are followed at the same time."""

EMPTY = Registers()


class Configuration(NamedTuple):
    """A configuration ``[j, q, v]``: next position, state and register contents (SRT Def. 23)."""

    position: int
    state: int
    registers: Registers


class MarkedConfiguration(NamedTuple):
    """A configuration with the positions that its run marked so far."""

    at: Configuration
    marks: Positions


class Outcome(NamedTuple):
    """The result of an accepting run: the positions it marked, and its registers."""

    marks: Positions
    registers: Registers


def successors(T: Transducer, S: Sequence[Event], c: Configuration) -> Iterator[Configuration]:
    """Yield the successors of a configuration, by empty moves or the next event (SRT Def. 23)."""
    for move in T.moves:
        if move.source == c.state:
            yield c._replace(state=move.target)
    for t in enabled_transitions(T, S, c):
        yield follow(t, S, c)


def enabled_transitions(
    T: Transducer, S: Sequence[Event], c: Configuration
) -> list[RegisterTransition]:
    """Return the transitions whose guards hold for the next event and the current registers."""
    if c.position == len(S):
        return []
    t_j = S[c.position]
    return [t for t in T.Delta if t.source == c.state and satisfies(t_j, t.guard, c.registers)]


def follow(t: RegisterTransition, S: Sequence[Event], c: Configuration) -> Configuration:
    """Return the configuration after a transition, which writes registers at its end."""
    v = c.registers.written(t.writes, S[c.position])
    return Configuration(c.position + 1, t.target, v)


def outcomes(T: Transducer, S: Sequence[Event], v: Registers = EMPTY) -> frozenset[Outcome]:
    """Return ``M(T, S, v, v')``: marks and registers of accepting runs over S from v (SRT Def. 24).

    Raises `ResourceLimit` above `MAX_CONFIGURATIONS` at the same time.
    """
    current = {MarkedConfiguration(Configuration(0, T.q0, v), ())}
    for j in range(len(S)):
        current = {
            MarkedConfiguration(
                follow(t, S, run.at), (*run.marks, j) if t.mark is Mark.TAKE else run.marks
            )
            for run in silently(T, current)
            for t in enabled_transitions(T, S, run.at)
        }
        if len(current) > MAX_CONFIGURATIONS:
            raise ResourceLimit(
                "CER0683",
                f"more than {MAX_CONFIGURATIONS:,} simultaneous runs",
                hint="use a shorter stream: without a window, runs never end",
            )
    final_runs = (run for run in silently(T, current) if run.at.state in T.F)
    return frozenset(Outcome(run.marks, run.at.registers) for run in final_runs)


def silently(T: Transducer, runs: Iterable[MarkedConfiguration]) -> set[MarkedConfiguration]:
    """Return some runs and their extensions by empty moves."""
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
    """Return ``Match(T, S)``: the marks of accepting runs over the whole of S (SRT Def. 26).

    >>> from cerlab import parse_sremo
    >>> from cerlab.compile.sremo_to_srt import sremo_to_srt
    >>> T = sremo_to_srt(parse_sremo("<v = 1>^ . <true>* . <v = 2>^"))
    >>> matches(T, [Event("A", {"v": v}) for v in (1, 0, 2)])
    frozenset({(0, 2)})
    """
    return frozenset(outcome.marks for outcome in outcomes(T, S))


def detects(T: Transducer, S: Sequence[Event]) -> frozenset[Positions]:
    """Return the matches whose last mark is the last event of S (SRT Def. 24).

    >>> from cerlab import parse_sremo
    >>> from cerlab.compile.sremo_to_srt import sremo_to_srt
    >>> T = sremo_to_srt(parse_sremo("<v = 1>^ . <true>*"))
    >>> [sorted(detects(T, [Event("A", {"v": v}) for v in values])) for values in ((1,), (1, 0))]
    [[(0,)], []]
    """
    return frozenset(M for M in matches(T, S) if M and M[-1] == len(S) - 1)


def accepts(T: Transducer, S: Sequence[Event]) -> bool:
    """Return whether S is in the language, that is, has a match (SRT Def. 26).

    >>> from cerlab import parse_sremo
    >>> from cerlab.compile.sremo_to_srt import sremo_to_srt
    >>> T = sremo_to_srt(parse_sremo("<v = 1> . <v = 2>"))
    >>> [accepts(T, [Event("A", {"v": v}) for v in values]) for values in ((1, 2), (2, 1))]
    [True, False]
    """
    return bool(matches(T, S))


Path: TypeAlias = tuple[RegisterTransition, ...]


def paths(T: Srt, S: Sequence[Event]) -> tuple[Path, ...]:
    """Return all runs over S, accepting or not, as their transitions, without merging."""
    current: list[tuple[Configuration, Path]] = [(Configuration(0, T.q0, EMPTY), ())]
    for _ in S:
        current = [
            (follow(t, S, c), (*path, t))
            for c, path in current
            for t in enabled_transitions(T, S, c)
        ]
    return tuple(path for _, path in current)


def marks_of(path: Path) -> Positions:
    """Return the match of a run: the positions of its marking transitions (SRT Def. 24)."""
    return tuple(j for j, t in enumerate(path) if t.mark is Mark.TAKE)


RegisterNames: TypeAlias = frozenset[str]


def union(A: Transducer, B: Transducer) -> EpsilonSrt:
    """Return a transducer with the matches of A and those of B (SRT Thm. 31).

    >>> from cerlab import parse_sremo
    >>> from cerlab.compile.sremo_to_srt import sremo_to_srt
    >>> one, two = (sremo_to_srt(parse_sremo(f"<v = {v}>")) for v in (1, 2))
    >>> [accepts(union(one, two), [Event("A", {"v": v})]) for v in (1, 2, 3)]
    [True, True, False]
    """
    return choice(as_kind(A, EpsilonSrt), as_kind(apart(B, A.R), EpsilonSrt))


def concatenation(A: Transducer, B: Transducer) -> EpsilonSrt:
    """Return a transducer that matches a prefix by A and the rest by B (SRT Thm. 31).

    As printed, the definition neither ranges over the prefixes nor shifts the second match (SRT
    Def. 30; erratum SRT-E10).

    >>> from cerlab import parse_sremo
    >>> from cerlab.compile.sremo_to_srt import sremo_to_srt
    >>> one, two = (sremo_to_srt(parse_sremo(f"<v = {v}>^")) for v in (1, 2))
    >>> matches(concatenation(one, two), [Event("A", {"v": v}) for v in (1, 2)])
    frozenset({(0, 1)})
    """
    return sequence(as_kind(A, EpsilonSrt), as_kind(apart(B, A.R), EpsilonSrt))


def star(T: Srt) -> EpsilonSrt:
    """Return the iteration of T (SRT Thm. 31), with at most ``|Q| 2^|R| + 1`` states.

    A state is a state of T, and the registers written since the current iteration began; a guard
    that reads another register reads an empty one. A new state, initial and the only final one,
    lies between iterations. In the drawing of the paper, registers keep values of earlier
    iterations (SRT Fig. 11; erratum SRT-E10), which is right only for the operator ``*`` of
    expressions (`cerlab.automata.epsilon.star`).

    >>> from cerlab import parse_sremo
    >>> from cerlab.compile.sremo_to_srt import sremo_to_srt
    >>> T = star(sremo_to_srt(parse_sremo("<v = 1>")))
    >>> [accepts(T, [Event("A", {"v": 1})] * n) for n in range(3)]
    [True, True, True]
    """

    def follow(D: RegisterNames, t: RegisterTransition) -> Iterator[tuple[Label, RegisterNames]]:
        guard = redirect_registers(t.guard, {r: r for r in D}.get)
        yield Label(guard, t.mark, t.writes), D | t.writes

    body = shift(remember(T, NONE, follow, Srt, R=T.R), 1)
    moves = (EmptyMove(0, body.q0), *(EmptyMove(q, 0) for q in sorted(body.F)))
    return EpsilonSrt(body.states, body.Delta, frozenset({0}), frozenset({0}), moves=moves, R=T.R)


Placement: TypeAlias = tuple[tuple[str, str], ...]
"""The place of each register's content, sorted; other registers are empty."""


def single_register(T: Srt) -> Srt:
    """Return an equivalent transducer whose transitions write at most one register.

    A state is a state of T, and the place among p1 .. pk of each register's content. Registers with
    the same event may share a place, so a write to several takes one free place; since T has k
    registers, one is free. Matches are the same from empty registers. At most ``|Q| (k + 1)^k``
    states.

    >>> from cerlab import parse_sremo
    >>> from cerlab.compile.sremo_to_srt import sremo_to_srt
    >>> T = sremo_to_srt(parse_sremo("<true> -> r . <v = r.v> . <true> -> s . <v = s.v>"))
    >>> max(len(t.writes) for t in single_register(T).Delta)
    1
    """
    places = [f"p{i}" for i in range(1, len(T.R) + 1)]

    def follow(placement: Placement, t: RegisterTransition) -> Iterator[tuple[Label, Placement]]:
        guard = redirect_registers(t.guard, dict(placement).get)
        after = {r: p for r, p in placement if r not in t.writes}
        write = NONE
        if t.writes:
            free = next(p for p in places if p not in after.values())
            after |= dict.fromkeys(t.writes, free)
            write = frozenset({free})
        yield Label(guard, t.mark, write), tuple(sorted(after.items()))

    nowhere: Placement = ()
    return remember(T, nowhere, follow, Srt, R=frozenset(places))


def unary_cea(T: Srt) -> AnchoredCea:
    """Return the automaton of a transducer whose guards read no registers.

    Raises `Unsupported` if a guard reads a register.
    """
    Delta = dict.fromkeys(
        Transition(t.source, predicate_of(t.guard), t.mark, t.target) for t in T.Delta
    )
    return AnchoredCea(T.states, tuple(Delta), frozenset({T.q0}), T.F)


def unary_srt(A: AnchoredCea) -> EpsilonSrt:
    """Return the transducer of automaton A, with a start state that has empty moves to A's."""
    Delta = tuple(
        RegisterTransition(t.source, t.predicate, t.mark, NONE, t.target) for t in A.Delta
    )
    moves = tuple(EmptyMove(A.states, q) for q in sorted(A.I))
    return EpsilonSrt(A.states + 1, Delta, frozenset({A.states}), A.F, moves=moves, R=NONE)


def predicate_of(guard: Guard) -> Predicate:
    """Return a guard as a predicate on the event being read; raises as `unary_cea`."""
    if reads_no_register(guard):
        return guard
    raise Unsupported(
        "CER0485",
        "complex event automata have no registers, but a guard reads one",
        hint='evaluator="registers" supports it',
    )


def printed_elimination(A: EpsilonCea) -> AnchoredCea:
    """Return an equivalent machine by the paper's rule, one empty move at a time (FOUND App. C.2).

    A move from p to q is removed by giving q all edges into p, and then p all edges out of q, empty
    moves too. (Both at once would be wrong: a run from p to q may make the move twice, with a
    transition from q to p between.) New moves are longer, so this terminates if the moves form no
    cycle, as for machines built from formulas. Raises `IllFormed` for a cycle, where it might not
    terminate.
    """
    Delta = dict.fromkeys(A.Delta)
    moves = dict.fromkeys(move for move in A.moves if move.source != move.target)
    _check_acyclic(moves)
    while moves:
        p, q = first = next(iter(moves))
        del moves[first]
        Delta |= _into(p, q, Delta)
        Delta |= _out_of(q, p, Delta)
        moves |= _into(p, q, moves)
        moves |= _out_of(q, p, moves)
    return AnchoredCea(A.states, tuple(Delta), A.I, A.F)


Step = TypeVar("Step", Transition, EmptyMove)


def _into(p: int, q: int, steps: Iterable[Step]) -> dict[Step, None]:
    """Return the edges into state p, redirected to q."""
    return dict.fromkeys(step._replace(target=q) for step in steps if step.target == p)


def _out_of(q: int, p: int, steps: Iterable[Step]) -> dict[Step, None]:
    """Return the edges out of state q, redirected to start at p."""
    return dict.fromkeys(step._replace(source=p) for step in steps if step.source == q)


def _check_acyclic(moves: Iterable[EmptyMove]) -> None:
    order = TopologicalSorter[int]()
    for move in moves:
        order.add(move.source, move.target)
    try:
        order.prepare()
    except CycleError as error:
        cycle = ", ".join(map(str, error.args[1]))
        raise IllFormed(
            "CER0222",
            f"empty moves lead from a state back to it: {cycle}",
            hint="without_epsilon supports cycles",
        ) from None
