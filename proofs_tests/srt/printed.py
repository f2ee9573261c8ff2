"""Constructions as the report prints them, where they are wrong (SRT Alg. 2; SRT Alg. 8)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from cerlab import Event, satisfies
from cerlab.automata.automaton import Mark, outgoing
from cerlab.automata.epsilon import without_epsilon
from cerlab.automata.explore import explore
from cerlab.automata.plan import RegisterPlan
from cerlab.automata.registers import NONE, Label, RegisterTransition, Srt, Transducer, apart
from cerlab.automata.unrolled import determinise
from cerlab.engine.reference.registers import RegisterRun, Runs
from cerlab.model.answer import Positions, Registers
from cerlab.predicates.syntax import Guard, conjunction


def merged_by_guard_and_mark(T: Transducer) -> Srt:
    """Transitions of a set with one guard and mark are one, whatever they write (SRT Alg. 2)."""
    plain = without_epsilon(T)
    leaving = outgoing(plain)

    def follow(X: frozenset[int]) -> Iterator[tuple[Label, frozenset[int]]]:
        groups: dict[tuple[Guard, Mark], list[RegisterTransition]] = {}
        for q in sorted(X):
            for t in leaving[q]:
                groups.setdefault((t.guard, t.mark), []).append(t)
        for (guard, mark), these in groups.items():
            writes = NONE.union(*(t.writes for t in these))
            yield Label(guard, mark, writes), frozenset(t.target for t in these)

    return explore(
        frozenset({plain.q0}), follow, lambda X: not plain.F.isdisjoint(X), Srt, R=plain.R
    )


def sets_visited(T: Srt, steps: int) -> int:
    """Return the number of sets taken from the frontier, at most `steps` (SRT Alg. 2).

    As printed, the targets of a set go to the frontier without a test whether they were there.
    """
    leaving, frontier, count = outgoing(T), [frozenset({T.q0})], 0
    while frontier and count < steps:
        X, count = frontier.pop(0), count + 1
        frontier += [frozenset({t.target}) for q in X for t in leaving[q]]
    return count


def product_of_any_marks(A: Srt, B: Srt) -> Srt:
    """Transitions with different marks are joined, and skip (SRT Thm. 34)."""
    B = apart(B, A.R)
    left, right = outgoing(A), outgoing(B)

    def follow(state: tuple[int, int]) -> Iterator[tuple[Label, tuple[int, int]]]:
        for s in left[state[0]]:
            for t in right[state[1]]:
                mark = s.mark if s.mark is t.mark else Mark.SKIP
                yield (
                    Label(conjunction(s.guard, t.guard), mark, s.writes | t.writes),
                    (s.target, t.target),
                )

    return explore(
        (A.q0, B.q0), follow, lambda state: state[0] in A.F and state[1] in B.F, Srt, R=A.R | B.R
    )


def complement_without_sink(T: Srt) -> Srt:
    """Final states exchanged; the sink that completes it is not final (SRT Alg. 8).

    Here the sink is the empty set of states.
    """
    D = determinise(T)
    leaves = {t.source for t in D.Delta if t.source != t.target}
    return replace(D, F=frozenset(leaves) - D.F)


class KilledRuns(Runs):
    """Runs that accept are reported and dropped (SRT Alg. 1)."""

    def advance(self, event: Event, position: int) -> frozenset[Positions]:
        matches = super().advance(event, position)
        self._runs = [run for run in self._runs if run.state not in self._F]
        return matches


def runs_reported(plan: RegisterPlan, S: Sequence[Event]) -> list[Positions]:
    """Return the reports if runs are reported, not matches (SRT Alg. 1)."""
    T, current, reports = plan.srt, [RegisterRun(plan.srt.q0, Registers(), ())], list[Positions]()
    for k, event in enumerate(S):
        current = [
            _after(run, t, event, k) for run in current for t in T.Delta if _can(run, t, event)
        ]
        reports += [run.marks for run in current if run.state in T.F and run.marks[-1:] == (k,)]
    return reports


def _can(run: RegisterRun, t: RegisterTransition, event: Event) -> bool:
    return t.source == run.state and satisfies(event, t.guard, run.registers)


def _after(run: RegisterRun, t: RegisterTransition, event: Event, k: int) -> RegisterRun:
    marks = (*run.marks, k) if t.mark is Mark.TAKE else run.marks
    return RegisterRun(t.target, run.registers.written(t.writes, event), marks)


def overlapping(T: Srt, event: Event, v: Registers, *, as_printed: bool) -> bool:
    """Whether two transitions that have to exclude each other can both be taken (SRT Def. 36).

    As printed, those between the same two states need not.
    """
    holding: list[Any] = [t for t in T.Delta if satisfies(event, t.guard, v)]
    return any(
        s.source == t.source and (s.target != t.target or not as_printed)
        for n, s in enumerate(holding)
        for t in holding[:n]
    )
