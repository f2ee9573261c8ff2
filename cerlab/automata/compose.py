"""Choice, sequence, iteration of automata (CORE App. A.1); products: AND, ALL, UNLESS, STRICT.

The first three copy transitions. They are sound for machines without empty runs whose initial
states no transition enters; all that they make are such machines. `cerlab.automata.epsilon` has the
same by empty moves. Products are of two machines, or of one with a memory; they read an interval
event by event (SOCEL Sec. 5.2). Transducers are joined where they mark the same events (SRT Thm.
34).
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
    """The same with `by` unused states before its own."""
    Delta, moves = (
        tuple(t._replace(source=t.source + by, target=t.target + by) for t in steps)
        for steps in (A.Delta, A.moves)
    )
    I, F = (frozenset(q + by for q in states) for states in (A.I, A.F))
    return replace(A, states=A.states + by, Delta=Delta, I=I, F=F, moves=moves)


def relabel(A: M, change: Callable[[frozenset[str]], frozenset[str]]) -> M:
    """The same runs with other labels: AS adds one where there are some, projection removes."""
    return replace(A, Delta=tuple(t._replace(labels=change(t.labels)) for t in A.Delta))


def union(A: M, B: M) -> M:
    """The runs of either, on disjoint states.

    A kind with a single initial state keeps that of A, which also begins the runs of B.
    """
    B = shift(B, A.states)
    begin = [t._replace(source=A.q0) for t in B.Delta if t.source in B.I] if A.single else []
    Delta = (*A.Delta, *begin, *B.Delta)
    I = A.I if A.single else A.I | B.I
    return replace(A, states=B.states, Delta=Delta, I=I, F=A.F | B.F, R=A.R | B.R)


def sequence(A: M, B: M, *, gaps: bool) -> M:
    """A run of A, then one of B: where A would end it may instead wait in an initial state of B."""
    B = shift(B, A.states)
    wait = [A.step(p, *A.skip, p) for p in sorted(B.I) if gaps]
    bridge = ends_in(A, B.I)
    more = (*bridge, *wait, *B.Delta) if A.single else (*B.Delta, *wait, *bridge)  # digests know it
    return replace(A, states=B.states, Delta=(*A.Delta, *more), F=B.F, R=A.R | B.R)


def iteration(A: M, least: int = 1, most: int | None = None, *, gaps: bool) -> M:
    """Runs of A one after the other, from `least` to `most` of them; None allows any number.

    Each run has a copy of A, and a fresh state w, "between this run and the next", from which the
    next copy begins. Without `most` the last copy is also the one after itself. Copies share the
    registers of A, whose runs write each before they read it. Linear in the number of copies.
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
        # Also the last transitions are first ones of a next run: a body of one event iterates (E9).
        first = (t for t in (*A.Delta, *leave) if t.source in A.I)
        Delta += distinct(copy(first, copies - 1, before))
    F = frozenset(k * (w + 1) + q for k in range(least - 1, copies) for q in A.F)
    return replace(A, states=copies * (w + 1), Delta=tuple(Delta), F=F)


def at_most(A: M, events: int) -> M:
    """The runs of A over at most so many events: a state of A, and how many events were read.

    Linear in the number of events.
    """
    spend(TRANSITION * events * len(A.Delta))
    n = A.states
    Delta = tuple(
        t._replace(source=t.source + k * n, target=t.target + (k + 1) * n)
        for k in range(events)
        for t in A.Delta
        # no transition enters an initial state, so it stands before the first event alone
        if (k == 0) == (t.source in A.I)
    )
    F = frozenset(q + k * n for q in A.F for k in range(1, events + 1))
    return replace(A, states=(events + 1) * n, Delta=Delta, F=F)


MAX_REDUCED = 500
"""The most states that `quotient` compares: its time is cubic in them."""


def quotient(A: M) -> M:
    """Merge states that have the same label to the same class, and are all final or none (Moore).

    Labels are compared as they are written. The same answers, by as many runs or fewer. Classes are
    numbered in the order of their first states. A machine of more than `MAX_REDUCED` states is
    returned as it is.

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
    """Merge states with the same moves, those ahead first: to one class, or back to themselves.

    One pass, where `quotient` needs a round for each state on the way to the end; states that only
    longer loops show to be alike stay apart. The same answers, by as many runs or fewer.
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
            # A state that enters a class as the class loops may belong to it.
            entered = (c for c in moves if loops.get(c) == moves[c])
            alike = (c for c in entered if number.get(_signature(q in A.F, moves, c)) == c)
            # inside a longer loop the classes ahead are not all known, so each state is a class
            own = _signature(q in A.F, moves, q) if len(members) == 1 else q
            fresh = A.states + len(number)  # classes are told from states by their numbers
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
    """The last transitions of A, into other states."""
    targets = sorted(targets)
    return distinct(t._replace(target=q) for t in A.Delta if t.target in A.F for q in targets)


def anchor(A: IntervalCea) -> AnchoredCea:
    """The automaton that reads from position 0: its initial state is "not started" (FOUND Sec. 6).

    There it skips any events, and has the transitions of q0, which no run enters again. The
    answers ``([i, j], D)`` are kept of automata whose accepting runs begin and end with a mark:
    then i and j are the least and the greatest position of D. So they do in automata of formulas
    without projection and NOT. Of other automata, starts are forgotten, and answers whose last
    event is not marked are lost.
    """
    wait = Transition(A.q0, EVERYTHING, Mark.SKIP, A.q0)
    return AnchoredCea(A.states, (wait, *A.Delta), A.I, A.F)


def single_final(cea: AnchoredCea) -> AnchoredCea:
    """The same complex events, by runs that end in a fresh final state (FOUND App. C.3.2).

    Only the transitions into F that take are copied to the fresh state: a run accepts by such a
    one. The paper copies all of them; then a run that ends with ∘, which does not accept, hides a
    worse one that does (erratum E6).

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
    accepts: Callable[[Memory], bool] = lambda _: True,
) -> M:
    """Build a machine whose states pair a state of A with a memory of the run so far.

    `follow` gives the labels that a transition of A becomes where something is remembered, and what
    is remembered after each. If A has several initial states, a fresh one stands for them. A final
    state is one of A with a memory that `accepts` takes.
    """
    leaving = outgoing(A)

    def moves(state: tuple[int, Memory]) -> Iterator[tuple[tuple[Any, ...], tuple[int, Memory]]]:
        q, memory = state
        for t in leaving[q]:
            for label, after in follow(memory, t):
                yield label, (t.target, after)

    # Several initial states become one fresh state, so that the memory begins once.
    q0 = A.q0 if A.single else START

    def is_final(state: tuple[int, Memory]) -> bool:
        return state[0] in A.F and accepts(state[1])

    return explore((q0, start), moves, is_final, kind, R=R)


def both(A: M, B: M) -> M:
    """The valuations of both: a state is a state of each, after the same events and labels."""

    def joint(s: Any, t: Any) -> tuple[Any, ...] | None:
        return _together(s, t, s.labels) if s.labels == t.labels else None

    return trim(pairs(A, B, joint, type(A)))


def _together(s: Any, t: Any, labels: frozenset[str]) -> tuple[Any, ...]:
    """The parts of a transition between its states, for one that reads an event for two."""
    writes = (s.writes | t.writes,) if hasattr(s, "writes") else ()
    return (conjunction(s[1], t[1]), labels, *writes)


def in_any_order(A: M, B: M) -> M:
    """One valuation of each, united: a state is where each of the two parts is.

    A part waits, runs, and is over; at the first event at least one begins, at the last at least
    one ends. Of equal parts it does not matter which one is over: such states are merged.
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
    # a merged state might be the initial one, which must not be entered in some kinds
    return every if A.fresh else fold(every)


def _parts(A: Automaton[Any]) -> Callable[[int], list[Any]]:
    """The moves of one part of an ALL, waiting before it and after it included."""
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


def strict(A: M) -> M:
    """Valuations whose positions are contiguous: a state is one of A, and where the block is.

    The block of marked events is not begun (0), going on (1), or over (2); equal position sets are
    kept or dropped together (FOUND App. C.3.1).
    """

    def follow(block: int, t: Any) -> Iterator[tuple[tuple[Any, ...], int]]:
        if not (t.labels and block == 2):
            yield t[1:-1], 1 if t.labels else 2 if block else 0

    return trim(remember(A, 0, follow, type(A), R=A.R))


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
