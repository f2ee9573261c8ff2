"""Determinised automata on truth vectors of predicates (CORE Sec. 3; CORE Sec. 4.4)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from threading import Lock
from typing import Generic, Literal, NamedTuple, Protocol, TypeAlias, TypeVar

from cerlab.automata.automaton import AnchoredCea, IntervalCea, Mark, Transition
from cerlab.budget import Budget, spend
from cerlab.display import Drawable
from cerlab.model.event import Event
from cerlab.predicates.syntax import EVERYTHING, Not, Predicate, conjunction
from cerlab.predicates.truth import satisfies

States = frozenset[int]


class Moves(NamedTuple):
    """The next macro-states after an event that is taken (•) or skipped (∘); None ends the run."""

    take: int | None
    skip: int | None

    @property
    def takes(self) -> tuple[tuple[int, int], ...]:
        """The next state if the event is taken, as in `LabelledMoves`: ((0, state),) or ()."""
        return () if self.take is None else ((0, self.take),)


class Successors:
    """A function from a set of states, an event's symbol and a mark to the set of next states.

    Events are read through `predicates` only: a symbol is a truth vector, bit k for the k-th.
    """

    def __init__(self, Delta: Iterable[Transition]) -> None:
        Delta = tuple(Delta)
        self.predicates: tuple[Predicate, ...] = tuple(
            dict.fromkeys(t.predicate for t in Delta if t.predicate != EVERYTHING)
        )
        number = {P: bit for bit, P in enumerate(self.predicates)}
        self._by_source: dict[int, list[tuple[int | None, Mark, int]]] = {}
        for t in Delta:
            moves = self._by_source.setdefault(t.source, [])
            moves.append((number.get(t.predicate), t.mark, t.target))
        # one budget for all calls, because each event adds only a few states
        self._budget = Budget(
            "determinisation",
            'evaluator="automaton" does not determinise; or iterate and nest less',
        )

    def symbol(self, event: Event) -> int:
        """Return the truth vector of an event; bit k is for ``predicates[k]``."""
        vector = 0
        for bit, P in enumerate(self.predicates):
            if satisfies(event, P):
                vector |= 1 << bit
        return vector

    def after(self, states: States, symbol: int, mark: Mark) -> States:
        """Return ``Delta(S, t, m)``, the next states from S on a symbol and a mark.

        Raises `ResourceLimit` if the machine has made too many states; each state is a step.
        """
        spend(len(states), self._budget)
        return frozenset(
            target
            for q in states
            for bit, its_mark, target in self._by_source.get(q, ())
            if its_mark is mark and (bit is None or symbol >> bit & 1)
        )


def type_of(tests: Sequence[Predicate], symbol: int) -> Predicate:
    """Return a predicate that exactly the events with truth vector `symbol` satisfy."""
    literal: Predicate = EVERYTHING
    for bit, P in enumerate(tests):
        literal = conjunction(literal, P if symbol >> bit & 1 else Not(P))
    return literal


class Deterministic(Protocol):
    """Interface of deterministic machines: each answer has exactly one run.

    A run that starts at an event leaves the idle state with `begin`; the idle state itself reads
    every event with `wait`. The idle state has a memory only if answers with different starts
    compete.
    """

    @property
    def predicates(self) -> tuple[Predicate, ...]:
        """The predicates whose truth values make up a symbol."""

    @property
    def idle(self) -> int:
        """The idle state before the first event."""

    @property
    def final(self) -> Sequence[bool]:
        """The acceptance of each state, by number; the sequence grows with the states."""

    def symbol(self, event: Event) -> int:
        """Return the truth vector of an event."""

    def begin(self, idle: int, symbol: int, /) -> Moves:
        """Return the moves of a run that starts at an event."""

    def wait(self, idle: int, symbol: int) -> int:
        """Return the idle state after an event."""

    def step(self, state: int, symbol: int) -> Moves:
        """Return the moves of a run that started at an earlier event."""


Node: TypeAlias = tuple[Literal["idle", "run"], int]
"""An idle state, or a state of runs."""

Follow: TypeAlias = Callable[[Node], Iterator[tuple[tuple[int, Mark], Node]]]


def moves_over(machine: Deterministic, symbols: Sequence[int]) -> Follow:
    """Return a function that yields the moves of a node, for each of `symbols` and each mark."""

    def follow(node: Node) -> Iterator[tuple[tuple[int, Mark], Node]]:
        kind, q = node
        for symbol in symbols:
            moves = machine.begin(q, symbol) if kind == "idle" else machine.step(q, symbol)
            if kind == "idle":
                yield (symbol, Mark.SKIP), ("idle", machine.wait(q, symbol))
            for mark, target in zip((Mark.TAKE, Mark.SKIP), moves, strict=True):
                if target is not None:
                    yield (symbol, mark), ("run", target)

    return follow


class Nothing:
    """The machine without answers."""

    predicates: tuple[Predicate, ...] = ()
    idle = 0
    final: Sequence[bool] = ()

    def symbol(self, event: Event) -> int:
        """Return 0, the only symbol of a machine without predicates."""
        return 0

    def begin(self, idle: int, symbol: int) -> Moves:
        """Return no moves, because no run starts."""
        return Moves(None, None)

    def wait(self, idle: int, symbol: int) -> int:
        """Return the idle state unchanged."""
        return idle

    def step(self, state: int, symbol: int) -> Moves:
        """Return no moves, because there are no runs."""
        return Moves(None, None)


NOTHING = Nothing()
Macro = TypeVar("Macro", bound=Hashable)


class Numbering(Generic[Macro]):
    """Numbers for macro-states in order of discovery; several threads may share it.

    A number is published only after `states` and `final` contain its entry.
    """

    def __init__(self, final: Callable[[Macro], bool]) -> None:
        self.states: list[Macro] = []
        self.final: list[bool] = []
        self._is_final = final
        self._numbers: dict[Macro, int] = {}
        self._lock = Lock()

    def of(self, macro: Macro) -> int:
        """Return the number of a macro-state, assigning the next number to a new one."""
        # no lock for reading: a number is stored only after both lists contain its entry
        number = self._numbers.get(macro)
        if number is not None:
            return number
        with self._lock:
            if macro in self._numbers:
                return self._numbers[macro]
            number = len(self.states)
            self.final.append(self._is_final(macro))
            self.states.append(macro)
            self._numbers[macro] = number
            return number


class DeterministicCea(Drawable):
    """The I/O-deterministic automaton of a CEA; states are computed when an event needs them.

    A macro-state is the set of the states that all runs with the same start and the same marks
    are in; so two different runs of this automaton are two different (start, marks). Macro-states
    are numbered in the order of discovery and ``q0`` is 0; it is never entered again if the CEA is
    an `IntervalCea`. Before a run starts nothing is remembered: ``q0`` is the idle state.
    """

    idle = 0

    def __init__(self, cea: IntervalCea | AnchoredCea) -> None:
        self.cea = cea
        self._successors = Successors(cea.Delta)
        self.predicates, self.symbol = self._successors.predicates, self._successors.symbol
        numbering = Numbering[States](lambda states: not states.isdisjoint(cea.F))
        self.macro_states, self.final = numbering.states, numbering.final
        self.number_of = numbering.of
        self._cache: dict[tuple[int, int], Moves] = {}
        self.q0 = self.number_of(cea.I)

    def wait(self, idle: int, symbol: int) -> int:
        """Return the idle state unchanged: runs do not depend on earlier events."""
        return idle

    def step(self, state: int, symbol: int) -> Moves:
        """Return the moves of a macro-state at a truth vector, computed at the first use."""
        key = (state, symbol)
        moves = self._cache.get(key)
        if moves is None:
            states = self.macro_states[state]
            after_take, after_skip = (self._successors.after(states, symbol, mark) for mark in Mark)
            moves = self._cache[key] = Moves(
                self.number_of(after_take) if after_take else None,
                self.number_of(after_skip) if after_skip else None,
            )
        return moves

    begin = step
    """The moves of a run that starts at this event: the idle state is ``q0``."""

    def __repr__(self) -> str:
        return f"<DeterministicCea, {len(self.macro_states)} macro-states so far>"
