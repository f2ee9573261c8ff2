"""Products: of two machines, and of one with a memory; AND, ALL, UNLESS, STRICT(..) of VCEA.

The operands read an interval event by event, and no transition enters their initial states (SOCEL
Sec. 5.2). Transducers are joined where they mark the same events (SRT Thm. 34).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from functools import reduce
from typing import Any, TypeAlias, TypeVar

from cerlab.automata.automaton import START, Automaton, LabelTransition, Step, Vcea, outgoing
from cerlab.automata.compose import fold
from cerlab.automata.deterministic import type_of
from cerlab.automata.explore import explore, trim
from cerlab.automata.registers import (
    Label,
    RegisterTransition,
    Srt,
    apart,
    prune,
    written_registers,
)
from cerlab.budget import spend_over
from cerlab.errors import IllFormed
from cerlab.predicates.minterms import minterms
from cerlab.predicates.syntax import EVERYTHING, Or, Predicate, conjunction, registers_of

WAITING = -2
"""The part of an ALL that has not begun."""

OVER = -3
"""The part of an ALL that ended at an earlier event."""

NO_LABELS: frozenset[str] = frozenset()
M = TypeVar("M", bound=Automaton[Any])
Memory = TypeVar("Memory", bound=Hashable)
Test: TypeAlias = tuple[Predicate, frozenset[str]]
Outgoing: TypeAlias = Mapping[int, list[LabelTransition]]


def pairs(
    A: Automaton[Step],
    B: Automaton[Step],
    joint: Callable[[Step, Step], tuple[Any, ...] | None],
    kind: type[M],
    *,
    start: tuple[int, int] = (START, START),
) -> M:
    """A state is a state of each, after the same events; both have to end in a final one.

    `joint` gives the label of two transitions that read an event together, None if they cannot.
    """
    left, right = outgoing(A), outgoing(B)

    def follow(state: tuple[int, int]) -> Iterator[tuple[tuple[Any, ...], tuple[int, int]]]:
        for s in left[state[0]]:
            for t in right[state[1]]:
                if (label := joint(s, t)) is not None:
                    yield label, (s.target, t.target)

    both_final = lambda state: state[0] in A.F and state[1] in B.F  # noqa: E731
    return explore(start, follow, both_final, kind, R=A.R | B.R)


def remember(
    A: Automaton[Step],
    start: Memory,
    follow: Callable[[Memory, Step], Iterable[tuple[tuple[Any, ...], Memory]]],
    kind: type[M],
    *,
    R: frozenset[str] = frozenset(),
) -> M:
    """Build a machine whose states pair a state of A with a memory of the run so far.

    `follow` gives the labels that a transition of A becomes where something is remembered, and what
    is remembered after each. If A has several initial states, a fresh one stands for them.
    """
    leaving = outgoing(A)

    def moves(state: tuple[int, Memory]) -> Iterator[tuple[tuple[Any, ...], tuple[int, Memory]]]:
        q, memory = state
        for t in leaving[q]:
            for label, after in follow(memory, t):
                yield label, (t.target, after)

    # Several initial states become one fresh state, so that the memory begins once.
    q0 = A.q0 if A.single else START
    return explore((q0, start), moves, lambda state: state[0] in A.F, kind, R=R)


def both(A: Vcea, B: Vcea) -> Vcea:
    """The valuations of both: a state is a state of each, after the same events and labels."""

    def joint(s: LabelTransition, t: LabelTransition) -> Test | None:
        return (conjunction(s.predicate, t.predicate), s.labels) if s.labels == t.labels else None

    return trim(pairs(A, B, joint, Vcea))


def in_any_order(A: Vcea, B: Vcea) -> Vcea:
    """One valuation of each, united: a state is where each of the two parts is.

    A part waits, runs, and is over; at the first event at least one begins, at the last at least
    one ends. Of equal parts it does not matter which one is over: such states are merged.
    """
    left, right = _parts(A), _parts(B)

    def follow(state: tuple[int, int]) -> Iterator[tuple[Test, tuple[int, int]]]:
        p, q = state
        for s in left(p):
            for t in right(q):
                target = (s.target, t.target)
                if target != (WAITING, WAITING) or state != (START, START):
                    labels = s.labels | t.labels
                    yield (conjunction(s.predicate, t.predicate), labels), target

    def final(state: tuple[int, int]) -> bool:
        p, q = state
        return (p in A.F and (q in B.F or q == OVER)) or (p == OVER and q in B.F)

    return fold(trim(explore((START, START), follow, final, Vcea)))


def _parts(A: Vcea) -> Callable[[int], list[LabelTransition]]:
    """The moves of one part of an ALL, waiting before it and after it included."""
    leaving = outgoing(A)

    def moves(q: int) -> list[LabelTransition]:
        if q == OVER:
            return [_idle(OVER, OVER)]
        if q in (START, WAITING):
            return [*leaving[START], _idle(q, WAITING)]
        return [*leaving[q], *([_idle(q, OVER)] if q in A.F else [])]

    return moves


def _idle(source: int, target: int) -> LabelTransition:
    return LabelTransition(source, EVERYTHING, NO_LABELS, target)


def unless(A: Vcea, B: Vcea) -> Vcea:
    """Valuations of A with none of B inside: a state is one of A, and all states of runs of B.

    Those are the runs that began at the first event of A's run or later; when one of them would
    accept, the move is left out. Exponential in B. The tests of B's transitions are split into
    the combinations that events can have, so that B is followed deterministically.
    """
    left, right = outgoing(A), outgoing(trim(B))
    accepting = trim(B).F
    guards: dict[frozenset[int], list[tuple[Predicate, frozenset[int]]]] = {}

    def follow(
        state: tuple[int, frozenset[int]],
    ) -> Iterator[tuple[Test, tuple[int, frozenset[int]]]]:
        p, R = state
        if R not in guards:
            guards[R] = list(_successors(right, R))
        for t in left[p]:
            for guard, targets in guards[R]:
                if targets.isdisjoint(accepting):
                    yield (conjunction(t.predicate, guard), t.labels), (t.target, targets)

    return trim(explore((START, frozenset[int]()), follow, lambda state: state[0] in A.F, Vcea))


def _successors(B: Outgoing, R: frozenset[int]) -> Iterator[tuple[Predicate, frozenset[int]]]:
    """Yield, by guard, the states after an event of B's runs in R and of one that begins now."""
    moves = [t for q in (*sorted(R), START) for t in B[q]]
    tests = list(dict.fromkeys(t.predicate for t in moves if t.predicate != EVERYTHING))
    cases: dict[frozenset[int], list[Predicate]] = {}
    # by what events can satisfy: all subsets of the tests would be exponential for types alone
    for minterm in spend_over(minterms(tests), 2 * (len(tests) + len(moves))):
        true_tests = {P for bit, P in enumerate(tests) if minterm.symbol >> bit & 1}
        targets = frozenset(
            t.target for t in moves if t.predicate == EVERYTHING or t.predicate in true_tests
        )
        cases.setdefault(targets, []).append(type_of(tests, minterm.symbol))
    for targets, ways in cases.items():
        yield (EVERYTHING if len(cases) == 1 else reduce(Or, ways)), targets


def strict(A: Vcea) -> Vcea:
    """Valuations whose positions are contiguous: a state is one of A, and where the block is.

    The block of marked events is not begun (0), going on (1), or over (2); equal position sets are
    kept or dropped together (FOUND App. C.3.1).
    """

    def follow(block: int, t: LabelTransition) -> Iterator[tuple[Test, int]]:
        if not (t.labels and block == 2):
            yield (t.predicate, t.labels), 1 if t.labels else 2 if block else 0

    return trim(remember(A, 0, follow, Vcea))


def intersection(A: Srt, B: Srt) -> Srt:
    """The matches that both have, from empty registers (SRT Thm. 34)."""
    return product(A, apart(B, A.R))


def product(A: Srt, B: Srt) -> Srt:
    """A state is a state of each, after the same events with the same marks (SRT Thm. 34).

    Both may read a register that neither writes. Transitions with different marks are not joined,
    as the paper does (erratum SRT-E11). At most ``|Q1| |Q2|`` states; a transition may write
    several registers. Raises `IllFormed` where one writes what the other uses: rename them apart,
    or take `intersection`.
    """
    _check_apart(A, B)

    def joint(s: RegisterTransition, t: RegisterTransition) -> Label | None:
        if s.mark is not t.mark:
            return None
        return Label(conjunction(s.guard, t.guard), s.mark, s.writes | t.writes)

    return prune(pairs(A, B, joint, Srt, start=(A.q0, B.q0)))


def _check_apart(A: Srt, B: Srt) -> None:
    for writer, other in ((A, B), (B, A)):
        writes = written_registers(writer)
        uses = written_registers(other).union(*(registers_of(t.guard) for t in other.Delta))
        if common := writes & uses:
            raise IllFormed(
                "CER0284",
                f"one side of an intersection writes '{min(common)}', which the other side uses",
                hint="rename the registers of one side",
            )
