"""Machines that assign labels to events: with registers, or determinised (CORE App. A.1).

Filters on labels apply to `LabelledSrt`, before labels become marks (SRT Def. 21). In an
iteration, registers keep their content from one round to the next, and the next round must not
read it. This holds if each round writes a register before it reads it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from cerlab.automata.automaton import Automaton, Mark, Vcea, outgoing
from cerlab.automata.compose import quotient
from cerlab.automata.deterministic import Moves, Numbering, States
from cerlab.automata.explore import distinct, explore, reachable, successors_by, trim
from cerlab.automata.registers import NONE, RegisterTransition, Srt, backward_union
from cerlab.automata.strategy import (
    Machine,
    idle_of_name,
    name_of_idle,
    name_of_state,
    state_of_name,
)
from cerlab.errors import IllFormed, ResourceLimit
from cerlab.model.clauses import AttributeWindow, TimeWindow
from cerlab.predicates import syntax as pred
from cerlab.predicates.syntax import EVERYTHING, Predicate

NO_LABELS: frozenset[str] = frozenset()


class GuardedTransition(NamedTuple):
    """``source -- guard | labels / writes --> target``; the guard reads registers before writes."""

    source: int
    guard: pred.Guard
    labels: frozenset[str]
    writes: frozenset[str]
    target: int


class Label(NamedTuple):
    """A transition without its states: guard, labels and writes."""

    guard: pred.Guard
    labels: frozenset[str]
    writes: frozenset[str]


@dataclass(frozen=True, slots=True)
class LabelledSrt(Automaton[GuardedTransition]):
    """``(Q, R, Delta, {q0}, F)``: a labelling automaton with registers.

    A run over ``[i, j]`` starts at any position i with empty registers and takes one transition per
    event. No transition enters q0 and q0 is not final, so no run is empty.
    """

    step = GuardedTransition
    skip = (pred.EVERYTHING, NO_LABELS, NONE)
    parts = ("R",)
    single = True
    fresh = True

    def __post_init__(self) -> None:
        Automaton.__post_init__(self)
        if self.I & self.F:
            raise IllFormed(
                "CER0221",
                "the initial state is final, so a run may be empty",
                hint="add an initial state that nothing enters",
            )


def of_vcea(A: Vcea) -> LabelledSrt:
    """Return a VCEA as a labelling transducer with one fresh initial state."""
    steps = [
        GuardedTransition(t.source + 1, t.predicate, t.labels, NONE, t.target + 1) for t in A.Delta
    ]
    begin = [t._replace(source=0) for t in steps if t.source - 1 in A.I]
    F = frozenset(q + 1 for q in A.F)
    return LabelledSrt(A.states + 1, distinct((*begin, *steps)), frozenset({0}), F)


def merged(A: LabelledSrt) -> LabelledSrt:
    """Return a machine with fewer runs and equal labels, or A if that has more states.

    A state is the set of the states of all runs with the same guards, labels and writes.
    """
    leaving = outgoing(A)

    def follow(states: frozenset[int]) -> Iterator[tuple[Label, frozenset[int]]]:
        targets: dict[Label, set[int]] = {}
        for q in sorted(states):
            for t in leaving[q]:
                targets.setdefault(Label(t.guard, t.labels, t.writes), set()).add(t.target)
        return ((label, frozenset(together)) for label, together in targets.items())

    def final(states: frozenset[int]) -> bool:
        return not A.F.isdisjoint(states)

    try:
        return quotient(explore(A.I, follow, final, LabelledSrt, R=A.R, most=A.states))
    except ResourceLimit:
        return A


def labels_to_marks(A: LabelledSrt) -> Srt:
    """Return the transducer that marks exactly the events to which A gives labels."""
    marks = {True: Mark.TAKE, False: Mark.SKIP}
    Delta = distinct(
        RegisterTransition(t.source, t.guard, marks[bool(t.labels)], t.writes, t.target)
        for t in A.Delta
    )
    return Srt(A.states, Delta, A.I, A.F, R=A.R)


def labels_later(A: Vcea | LabelledSrt) -> list[frozenset[str]]:
    """Return, for each state, the labels that some path from the state still assigns."""
    Delta: tuple[Any, ...] = A.Delta
    return backward_union(A.states, Delta, lambda t, later: t.labels | later)


class PlaceName(str):
    """The name of an attribute that an evaluator adds; it equals no attribute name of an event."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PlaceName) and str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


PLACE = pred.Attribute(PlaceName("place"))
"""The position of an event in the stream, as an attribute."""


def first_place(window: TimeWindow | AttributeWindow) -> pred.Attribute:
    """Return the attribute for the first position inside the window that ends at an event."""
    return pred.Attribute(PlaceName(f"first within {_shown(window)}"))


def last_place(length: TimeWindow | AttributeWindow) -> pred.Attribute:
    """Return the attribute for the last position within the wait that starts at an event.

    It is missing until the wait is over.
    """
    return pred.Attribute(PlaceName(f"last in {_shown(length)}"))


def _shown(window: TimeWindow | AttributeWindow) -> str:
    if isinstance(window, TimeWindow):
        return f"{window.nanoseconds} ns"
    return f"{window.width!r} [{window.attribute}]"


def held(A: LabelledSrt, window: TimeWindow | AttributeWindow, register: str) -> LabelledSrt:
    """Return the runs of A inside a window (``WITHIN w``); `register` stores the first event.

    Every event is tested, not only the last, so a run ends as soon as the window has passed.
    """
    begun = pred.RegisterAttribute(register, PLACE.name)
    inside = pred.RegisterComparison(pred.Operator.LE, first_place(window), begun)
    Delta = tuple(
        t._replace(writes=t.writes | {register})
        if t.source == A.q0
        else t._replace(guard=pred.conjunction(t.guard, inside))
        for t in A.Delta
    )
    return replace(A, Delta=Delta, R=A.R | {register})


def waited(A: LabelledSrt, length: TimeWindow | AttributeWindow, register: str) -> LabelledSrt:
    """Return the runs of A, each extended by a wait (``WAIT d``) to the last event within d.

    `register` stores the last event of the body. The run waits in a fresh state until the position
    that this event names, then enters a fresh final state; it enters that state directly if no
    event is within the wait.
    """
    waiting, end = A.states, A.states + 1
    last = last_place(length)
    until = pred.RegisterAttribute(register, last.name)
    at_once = pred.Comparison(pred.Operator.EQ, last, PLACE)
    later = pred.Comparison(pred.Operator.GT, last, PLACE)
    Delta = list(A.Delta)
    for t in A.Delta:
        if t.target in A.F:
            writes = t.writes | {register}
            Delta.append(t._replace(guard=pred.conjunction(t.guard, at_once), target=end))
            guard = pred.conjunction(t.guard, later)
            Delta.append(t._replace(guard=guard, writes=writes, target=waiting))
    for op, target in ((pred.Operator.LT, waiting), (pred.Operator.EQ, end)):
        going_on = pred.RegisterComparison(op, PLACE, until)
        Delta.append(GuardedTransition(waiting, going_on, NO_LABELS, NONE, target))
    R = A.R | {register}
    return replace(A, states=end + 1, Delta=distinct(Delta), F=frozenset({end}), R=R)


class LabelledMoves(NamedTuple):
    """The next macro-states after an event: skipped (∘), or taken with each possible mark.

    A mark is a number in ``LabelledStates.marks``.
    """

    skip: int | None
    takes: tuple[tuple[int, int], ...]


class LabelledStates:
    """A VCEA determinised so that different runs are different answers or labels.

    An event with labels is taken, even if none of its labels is in the set. A macro-state is the
    set of the states that all runs with the same start, the same events taken and the same marks
    are in. So two different runs are two answers, or two labellings of one answer.
    """

    def __init__(
        self,
        vcea: Vcea,
        labels: Collection[str] | None = None,
        *,
        predicates: Iterable[Predicate] = (),
    ) -> None:
        """Determinise a VCEA so that runs differ by the given labels (None: by all labels).

        `predicates` come before the automaton's.
        """
        own = (t.predicate for t in vcea.Delta if t.predicate != EVERYTHING)
        self.predicates: tuple[Predicate, ...] = tuple(dict.fromkeys((*predicates, *own)))
        number = {P: bit for bit, P in enumerate(self.predicates)}
        marks: dict[frozenset[str], int] = {}
        self._leaving: dict[int, list[tuple[int | None, int | None, int]]] = {}
        for t in vcea.Delta:
            mark_labels = t.labels if labels is None else t.labels.intersection(labels)
            mark = marks.setdefault(mark_labels, len(marks)) if t.labels else None
            moves = self._leaving.setdefault(t.source, [])
            moves.append((number.get(t.predicate), mark, t.target))
        self.marks = tuple(marks)
        numbering = Numbering[States](lambda states: not states.isdisjoint(vcea.F))
        self.macro_states, self.final = numbering.states, numbering.final
        self._number_of = numbering.of
        self._cache: dict[tuple[int, int], LabelledMoves] = {}
        self._every = frozenset(range(vcea.states))
        self.q0 = self._number_of(frozenset(vcea.I))

    def number_of(self, states: States) -> int:
        """Return the number of a macro-state; raises ValueError for an unknown one."""
        if not states <= self._every:
            raise ValueError(f"{states} are not states of the automaton")
        return self._number_of(states)

    def step(self, state: int, symbol: int) -> LabelledMoves:
        """Return the moves of a macro-state on a truth vector of `predicates`."""
        key = (state, symbol)
        moves = self._cache.get(key)
        if moves is None:
            moves = self._cache[key] = self._moves(state, symbol)
        return moves

    def _moves(self, state: int, symbol: int) -> LabelledMoves:
        targets: dict[int | None, set[int]] = {}
        for q in sorted(self.macro_states[state]):
            for bit, mark, target in self._leaving.get(q, ()):
                if bit is None or symbol >> bit & 1:
                    targets.setdefault(mark, set()).add(target)
        number = {mark: self._number_of(frozenset(S)) for mark, S in targets.items()}
        skip = number.pop(None, None)
        return LabelledMoves(skip, tuple((m, q) for m, q in number.items() if m is not None))


class LabelledMachine:
    """A deterministic machine with labels: different runs are different answers or labels.

    A state is a pair: a state of the machine, which decides acceptance, and a state of
    `LabelledStates`, which tracks labels.
    """

    def __init__(self, machine: Machine, vcea: Vcea, labels: Collection[str]) -> None:
        """Combine a plan's machine with the determinised labels of its VCEA."""
        self._machine = machine
        self._label_states = LabelledStates(vcea, labels, predicates=machine.predicates)
        self._machine_bits = (1 << len(machine.predicates)) - 1
        numbering = Numbering[tuple[int, int]](self._accepts)
        self._states, self.final, self._number_of = numbering.states, numbering.final, numbering.of
        self.predicates = self._label_states.predicates
        self.marks = self._label_states.marks
        self.idle = machine.idle

    def _accepts(self, state: tuple[int, int]) -> bool:
        return self._machine.final[state[0]] and self._label_states.final[state[1]]

    def begin(self, idle: int, symbol: int) -> LabelledMoves:
        """Return the moves of a run that starts at an event."""
        moves = self._machine.begin(idle, symbol & self._machine_bits)
        return self._join(moves, self._label_states.step(self._label_states.q0, symbol))

    def wait(self, idle: int, symbol: int) -> int:
        """Return the idle state after an event."""
        return self._machine.wait(idle, symbol & self._machine_bits)

    def step(self, state: int, symbol: int) -> LabelledMoves:
        """Return the moves of a run that started at an earlier event."""
        p, q = self._states[state]
        moves = self._machine.step(p, symbol & self._machine_bits)
        return self._join(moves, self._label_states.step(q, symbol))

    def name_of(self, state: int) -> Any:
        """Return the name of a state, which is valid in other processes."""
        p, q = self._states[state]
        return name_of_state(self._machine, p), sorted(self._label_states.macro_states[q])

    def state_of(self, name: Any) -> int:
        """Return the number of a named state; raises `BadData`, ValueError or TypeError."""
        of_machine, macro_state = name
        p = state_of_name(self._machine, of_machine)
        return self._number_of((p, self._label_states.number_of(frozenset(macro_state))))

    def name_of_idle(self, idle: int) -> Any:
        """Return the name of an idle state."""
        return name_of_idle(self._machine, idle)

    def idle_of(self, name: Any) -> int:
        """Return the number of a named idle state; raises the errors of `state_of`."""
        return idle_of_name(self._machine, name)

    def _join(self, moves: Moves, label_moves: LabelledMoves) -> LabelledMoves:
        number, (take, skip) = self._number_of, moves
        after_skip = None
        if skip is not None and label_moves.skip is not None:
            after_skip = number((skip, label_moves.skip))
        if take is None:
            return LabelledMoves(after_skip, ())
        return LabelledMoves(
            after_skip, tuple((m, number((take, q))) for m, q in label_moves.takes)
        )


def repeated_labels(A: Vcea | LabelledSrt) -> frozenset[str]:
    """Return the labels that an accepting run may give to several events.

    >>> from cerlab.automata.automaton import LabelTransition
    >>> step = lambda p, X, q: LabelTransition(p, EVERYTHING, frozenset(X), q)
    >>> Delta = (step(0, "a", 1), step(1, "b", 1), step(1, "c", 2))
    >>> sorted(repeated_labels(Vcea(3, Delta, frozenset({0}), frozenset({2}))))
    ['b']
    """
    useful = trim(A)
    forward = successors_by((t.source, t.target) for t in useful.Delta)
    steps = [t for t in useful.Delta if t.labels]
    after = {q: set(reachable((q,), forward)) for q in {t.target for t in steps}}
    return frozenset(
        label
        for t in steps
        for other in steps
        if other.source in after[t.target]
        for label in t.labels & other.labels
    )
