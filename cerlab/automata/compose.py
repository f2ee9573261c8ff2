"""Operations on automata: choice, sequence, iteration (CORE App. A.1), AND, ALL, UNLESS and STRICT.

Choice, sequence and iteration copy transitions. They are sound for machines without empty runs
whose initial states no transition enters, and their results are such machines.
`cerlab.automata.epsilon` builds the same operations with empty moves. Products combine two
machines, or one machine and a memory; they read an interval event by event (SOCEL Sec. 5.2).
Transducers are joined on events that both mark alike (SRT Thm. 34).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import reduce
from typing import Any, TypeAlias, TypeVar

from cerlab.automata.automaton import (
    START,
    AnchoredCea,
    Automaton,
    IntervalCea,
    LabelTransition,
    Mark,
    Step,
    Transition,
    Vcea,
    outgoing,
)
from cerlab.automata.deterministic import type_of
from cerlab.automata.explore import coarsest, distinct, explore, strong_components, trim
from cerlab.automata.registers import (
    Label,
    RegisterTransition,
    Srt,
    apart,
    prune,
    written_registers,
)
from cerlab.budget import TRANSITION, spend, spend_over
from cerlab.errors import IllFormed
from cerlab.predicates.minterms import minterms
from cerlab.predicates.syntax import EVERYTHING, Or, Predicate, conjunction, registers_of

M = TypeVar("M", bound=Automaton[Any])
T = TypeVar("T")


def shift(A: M, by: int) -> M:
    """Return A with its states renumbered from `by` on."""
    Delta, moves = (
        tuple(t._replace(source=t.source + by, target=t.target + by) for t in steps)
        for steps in (A.Delta, A.moves)
    )
    I, F = (frozenset(q + by for q in states) for states in (A.I, A.F))
    return replace(A, states=A.states + by, Delta=Delta, I=I, F=F, moves=moves)


def relabel(A: M, change: Callable[[frozenset[str]], frozenset[str]]) -> M:
    """Return A with the label sets of transitions changed by a function."""
    return replace(A, Delta=tuple(t._replace(labels=change(t.labels)) for t in A.Delta))


def union(A: M, B: M) -> M:
    """Return an automaton with the runs of A and the runs of B.

    A kind with a single initial state keeps that of A, which also begins the runs of B.
    """
    B = shift(B, A.states)
    begin = [t._replace(source=A.q0) for t in B.Delta if t.source in B.I] if A.single else []
    Delta = (*A.Delta, *begin, *B.Delta)
    I = A.I if A.single else A.I | B.I
    return replace(A, states=B.states, Delta=Delta, I=I, F=A.F | B.F, R=A.R | B.R)


def sequence(A: M, B: M, *, gaps: bool) -> M:
    """Return an automaton whose runs are a run of A followed by a run of B.

    With `gaps`, a run that could end A may instead wait in an initial state of B, skipping events.
    """
    B = shift(B, A.states)
    wait = [A.step(p, *A.skip, p) for p in sorted(B.I) if gaps]
    bridge = ends_in(A, B.I)
    # a fixed order of Delta, because digests of machines depend on it
    more = (*bridge, *wait, *B.Delta) if A.single else (*B.Delta, *wait, *bridge)
    return replace(A, states=B.states, Delta=(*A.Delta, *more), F=B.F, R=A.R | B.R)


def iteration(A: M, least: int = 1, most: int | None = None, *, gaps: bool) -> M:
    """Return an automaton whose runs are `least` to `most` runs of A in sequence; None: no maximum.

    Each run has a copy of A and a fresh state w, "between this run and the next", from which the
    next copy begins. Without `most`, the last copy also follows itself. Copies share the registers
    of A; each run writes a register before it reads it. Linear in the number of copies.
    """
    w, copies = A.states, most or least
    leave = ends_in(A, {w})
    spend(TRANSITION * copies * (len(A.Delta) + len(leave)))

    def copy(steps: Iterable[Any], k: int, start: int | None) -> Iterator[Any]:
        by = k * (w + 1)
        for t in steps:
            enters = start is not None and t.source in A.I
            yield t._replace(source=start if enters else t.source + by, target=t.target + by)

    Delta: list[Any] = []
    before = None
    for k in range(copies):
        Delta += distinct(copy(A.Delta, k, before))
        between = k * (w + 1) + w
        if most is None or k + 1 < copies:
            Delta += [A.step(between, *A.skip, between)] if gaps else []
            Delta += distinct(copy(leave, k, before))
        before = between
    if most is None:
        # a last transition may start the next run, or one-event bodies would never iterate (E9)
        first = (t for t in (*A.Delta, *leave) if t.source in A.I)
        Delta += distinct(copy(first, copies - 1, before))
    F = frozenset(k * (w + 1) + q for k in range(least - 1, copies) for q in A.F)
    return replace(A, states=copies * (w + 1), Delta=tuple(Delta), F=F)


def at_most(A: M, events: int) -> M:
    """Return the runs of A that read at most `events` events; states count the events.

    Linear in the number of events.
    """
    spend(TRANSITION * events * len(A.Delta))
    n = A.states
    Delta = tuple(
        t._replace(source=t.source + k * n, target=t.target + (k + 1) * n)
        for k in range(events)
        for t in A.Delta
        # no transition enters an initial state, so only the first event leaves one
        if (k == 0) == (t.source in A.I)
    )
    F = frozenset(q + k * n for q in A.F for k in range(1, events + 1))
    return replace(A, states=(events + 1) * n, Delta=Delta, F=F)


MAX_REDUCED = 500
"""The most states that `quotient` compares: its time is cubic in them."""


def quotient(A: M) -> M:
    """Merge states that are both final or both not, and whose moves agree up to merging (Moore).

    Labels are compared by their text. The answers stay the same, with as many runs or fewer.
    Classes are numbered in the order of their first states. A machine of more than `MAX_REDUCED`
    states is returned unchanged.

    >>> from cerlab.automata.automaton import LabelTransition, Vcea
    >>> from cerlab.predicates.syntax import TypeIs
    >>> steps = [LabelTransition(0, TypeIs("A"), frozenset("A"), q) for q in (1, 2)]
    >>> quotient(Vcea(3, tuple(steps), frozenset({0}), frozenset({1, 2}))).states
    2
    """
    if A.states > MAX_REDUCED:
        return A
    leaving = outgoing(A)

    def ways(q: int, classes: Mapping[int, int]) -> frozenset[tuple[Any, int]]:
        spend(1 + len(leaving[q]))
        return frozenset((t[1:-1], classes[t.target]) for t in leaving[q])

    return _merged(A, coarsest({q: int(q in A.F) for q in range(A.states)}, ways))


def fold(A: M) -> M:
    """Merge states whose moves lead to equal states or back to themselves, in one pass.

    One pass; `quotient` needs a round for each state on the way to the end. States that are
    equivalent only through longer loops stay separate. The answers stay the same, with as many
    runs or fewer.
    """
    leaving = outgoing(A)
    classes: dict[int, int] = {}
    number: dict[object, int] = {}
    loops: dict[int, set[Any] | None] = {}
    for members, _ in strong_components(range(A.states), lambda q: (t.target for t in leaving[q])):
        for q in members:
            moves: dict[int, set[Any]] = {}
            for t in leaving[q]:
                moves.setdefault(classes.get(t.target, q), set()).add(t[1:-1])
            # a state whose moves equal a class's loop may belong to that class
            entered = (c for c in moves if loops.get(c) == moves[c])
            alike = (c for c in entered if number.get(_signature(q in A.F, moves, c)) == c)
            # inside a longer loop, targets may have no class yet: the state becomes a class
            own = _signature(q in A.F, moves, q) if len(members) == 1 else q
            fresh = A.states + len(number)  # numbers of classes are above all numbers of states
            classes[q] = next(alike, None) or number.setdefault(own, fresh)
            loops.setdefault(classes[q], moves.get(q))
    firsts = {c: n for n, c in enumerate(dict.fromkeys(classes[q] for q in range(A.states)))}
    return _merged(A, {q: firsts[c] for q, c in classes.items()})


def _signature(final: bool, moves: Mapping[int, set[Any]], loop: int) -> object:
    others = frozenset((c, frozenset(each)) for c, each in moves.items() if c != loop)
    return final, others, frozenset(moves.get(loop, ()))


def _merged(A: M, number: Mapping[int, int]) -> M:
    Delta = distinct(t._replace(source=number[t.source], target=number[t.target]) for t in A.Delta)
    I, F = (frozenset(number[q] for q in states) for states in (A.I, A.F))
    return replace(A, states=len({*number.values()}), Delta=Delta, I=I, F=F)


def ends_in(A: Automaton[Any], targets: Iterable[int]) -> tuple[Any, ...]:
    """Return the transitions of A into final states, with `targets` in place of these states."""
    targets = sorted(targets)
    return distinct(t._replace(target=q) for t in A.Delta if t.target in A.F for q in targets)


def anchor(A: IntervalCea) -> AnchoredCea:
    """Return the automaton that reads every stream from position 0.

    Its initial state is "not started" (FOUND Sec. 6).

    In that state it skips any events, and has the transitions of q0, which no run enters again.
    The answers ``([i, j], D)`` are preserved if all accepting runs begin and end with a mark: then
    i and j are the least and the greatest position of D. This holds for automata of formulas
    without projection and NOT. For other automata, starts are forgotten, and answers whose last
    event is not marked are lost.
    """
    wait = Transition(A.q0, EVERYTHING, Mark.SKIP, A.q0)
    return AnchoredCea(A.states, (wait, *A.Delta), A.I, A.F)


def single_final(cea: AnchoredCea) -> AnchoredCea:
    """Return an automaton with equal complex events and one final state (FOUND App. C.3.2).

    Only the taking transitions into F are copied to the fresh final state: a run accepts with a
    taking transition. The paper copies all transitions into F; then a run that ends with ∘, which
    does not accept, hides a worse run that does (erratum E6).

    >>> from cerlab.automata.automaton import Transition
    >>> from cerlab.predicates.syntax import EVERYTHING
    >>> loop = Transition(0, EVERYTHING, Mark.TAKE, 0)
    >>> [(t.source, t.target) for t in single_final(
    ...     AnchoredCea(1, (loop,), frozenset({0}), frozenset({0}))).Delta]
    [(0, 0), (0, 1)]
    """
    qf = cea.states
    copies = tuple(t for t in ends_in(cea, {qf}) if t.mark is Mark.TAKE)
    return AnchoredCea(qf + 1, (*cea.Delta, *copies), cea.I, frozenset({qf}))


# Products

WAITING = -2
"""The part of an ALL that has not begun."""

OVER = -3
"""The part of an ALL that ended at an earlier event."""

Memory = TypeVar("Memory", bound=Hashable)
Outgoing: TypeAlias = Mapping[int, list[LabelTransition]]


def pairs(
    A: Automaton[Step],
    B: Automaton[Step],
    joint: Callable[[Step, Step], tuple[Any, ...] | None],
    kind: type[M],
    *,
    start: tuple[int, int] = (START, START),
) -> M:
    """Return the product of A and B, whose states are pairs.

    Both parts read the same events. `joint` returns the label for two transitions that read an
    event together, or None if they cannot.
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
    accepts: Callable[[Memory], bool] = lambda _: True,
) -> M:
    """Return A with a memory in each state, which `follow` updates at every transition.

    `follow` yields the labels of a transition of A under a memory, each with the memory after it.
    If A has several initial states, one fresh state replaces them. A pair is final if the state of
    A is and `accepts` holds for the memory.
    """
    leaving = outgoing(A)

    def moves(state: tuple[int, Memory]) -> Iterator[tuple[tuple[Any, ...], tuple[int, Memory]]]:
        q, memory = state
        for t in leaving[q]:
            for label, after in follow(memory, t):
                yield label, (t.target, after)

    # several initial states become one fresh state, in which the memory starts
    q0 = A.q0 if A.single else START

    def is_final(state: tuple[int, Memory]) -> bool:
        return state[0] in A.F and accepts(state[1])

    return explore((q0, start), moves, is_final, kind, R=R)


def both(A: M, B: M) -> M:
    """Return the automaton of the valuations that A and B share."""

    def joint(s: Any, t: Any) -> tuple[Any, ...] | None:
        return _together(s, t, s.labels) if s.labels == t.labels else None

    return trim(pairs(A, B, joint, type(A)))


def _together(s: Any, t: Any, labels: frozenset[str]) -> tuple[Any, ...]:
    """Return the label of a transition that combines `s` and `t`, which read the same event."""
    writes = (s.writes | t.writes,) if hasattr(s, "writes") else ()
    return (conjunction(s[1], t[1]), labels, *writes)


def in_any_order(A: M, B: M) -> M:
    """Return the automaton of ``A ALL B``: unions of a valuation of A and one of B, in any order.

    A state is a pair of the parts' states. Each part waits, runs, and is over. At least one part
    begins at the first event, and at least one ends at the last. If A equals B, states that differ
    only in which part is over are merged.
    """
    left, right = _parts(A), _parts(B)

    def follow(state: tuple[int, int]) -> Iterator[tuple[tuple[Any, ...], tuple[int, int]]]:
        p, q = state
        for s in left(p):
            for t in right(q):
                target = (s.target, t.target)
                if target != (WAITING, WAITING) or state != (START, START):
                    yield _together(s, t, s.labels | t.labels), target

    def final(state: tuple[int, int]) -> bool:
        p, q = state
        return (p in A.F and (q in B.F or q == OVER)) or (p == OVER and q in B.F)

    every = trim(explore((START, START), follow, final, type(A), R=A.R | B.R))
    # merging could make the initial state one that transitions enter, which some kinds forbid
    return every if A.fresh else fold(every)


def _parts(A: Automaton[Any]) -> Callable[[int], list[Any]]:
    """Return a function that yields the moves of one side of ALL, with skips around its run."""
    leaving = outgoing(A)

    def idle(q: int, target: int) -> Any:
        return A.step(q, *A.skip, target)

    def moves(q: int) -> list[Any]:
        if q == OVER:
            return [idle(OVER, OVER)]
        if q in (START, WAITING):
            return [*leaving[START], idle(q, WAITING)]
        return [*leaving[q], *([idle(q, OVER)] if q in A.F else [])]

    return moves


def unless(A: M, B: Vcea) -> M:
    """Return the automaton of ``A UNLESS B``: the valuations of A without a valuation of B inside.

    A state is a state of A and the set of states of B's runs that began at the first event of A's
    run or later. A move after which a run of B accepts is left out. Exponential in B. The tests of
    B's transitions are split into the combinations that events can satisfy, so that B is followed
    deterministically.
    """
    left, right = outgoing(A), outgoing(trim(B))
    accepting = trim(B).F
    guards: dict[frozenset[int], list[tuple[Predicate, frozenset[int]]]] = {}

    def follow(
        state: tuple[int, frozenset[int]],
    ) -> Iterator[tuple[tuple[Any, ...], tuple[int, frozenset[int]]]]:
        p, R = state
        if R not in guards:
            guards[R] = list(_successors(right, R))
        for t in left[p]:
            for guard, targets in guards[R]:
                if targets.isdisjoint(accepting):
                    yield (conjunction(t[1], guard), *t[2:-1]), (t.target, targets)

    final = lambda state: state[0] in A.F  # noqa: E731
    return trim(explore((START, frozenset[int]()), follow, final, type(A), R=A.R))


def _successors(B: Outgoing, R: frozenset[int]) -> Iterator[tuple[Predicate, frozenset[int]]]:
    """Yield disjoint guards on the next event, each with the set of states that R moves to."""
    moves = [t for q in (*sorted(R), START) for t in B[q]]
    tests = list(dict.fromkeys(t.predicate for t in moves if t.predicate != EVERYTHING))
    cases: dict[frozenset[int], list[Predicate]] = {}
    # only satisfiable combinations: with many types, all subsets would be exponentially many
    for minterm in spend_over(minterms(tests), 2 * (len(tests) + len(moves))):
        true_tests = {P for bit, P in enumerate(tests) if minterm.symbol >> bit & 1}
        targets = frozenset(
            t.target for t in moves if t.predicate == EVERYTHING or t.predicate in true_tests
        )
        cases.setdefault(targets, []).append(type_of(tests, minterm.symbol))
    for targets, ways in cases.items():
        yield (EVERYTHING if len(cases) == 1 else reduce(Or, ways)), targets


def strict(A: M) -> M:
    """Return the automaton of the valuations of A without gaps between their positions.

    A state is a state of A and the phase of the block of marked events: not begun (0), running (1)
    or over (2). Equal position sets are kept or dropped together (FOUND App. C.3.1).
    """

    def follow(block: int, t: Any) -> Iterator[tuple[tuple[Any, ...], int]]:
        if not (t.labels and block == 2):
            yield t[1:-1], 1 if t.labels else 2 if block else 0

    return trim(remember(A, 0, follow, type(A), R=A.R))


def intersection(A: Srt, B: Srt) -> Srt:
    """Return the transducer of the matches that T1 and T2 share (SRT Thm. 34)."""
    return product(A, apart(B, A.R))


def product(A: Srt, B: Srt) -> Srt:
    """Return the product of two transducers, which agree on events and marks (SRT Thm. 34).

    Both may read a register that neither writes. Transitions with different marks are not joined,
    as in the paper (erratum SRT-E11). At most ``|Q1| |Q2|`` states; a transition may write several
    registers. Raises `IllFormed` if one writes a register that the other uses: rename the registers
    of one, or use `intersection`.
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
