"""What engines ask of an I/O-deterministic machine that they step through (CORE Sec. 3)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from threading import Lock
from typing import Generic, Literal, Protocol, TypeAlias, TypeVar

from cerlab.automata.automaton import Mark
from cerlab.automata.successors import Moves
from cerlab.model.event import Event
from cerlab.predicates.syntax import Predicate


class Deterministic(Protocol):
    """Two different runs are two different answers: start and marks decide the run.

    A run that starts at an event leaves the idle state with `begin`; the idle state itself reads
    every event with `wait`. It has something to remember only where answers compete across starts.
    """

    @property
    def predicates(self) -> tuple[Predicate, ...]:
        """What symbols are truth vectors of."""

    @property
    def idle(self) -> int:
        """The idle state before any event."""

    @property
    def final(self) -> Sequence[bool]:
        """Which states accept, by number; grows with them."""

    def symbol(self, event: Event) -> int:
        """The truth vector of an event."""

    def begin(self, idle: int, symbol: int, /) -> Moves:
        """Where the run that starts at this event goes."""

    def wait(self, idle: int, symbol: int) -> int:
        """The idle state after this event."""

    def step(self, state: int, symbol: int) -> Moves:
        """Where a run goes that started earlier."""


Node: TypeAlias = tuple[Literal["idle", "run"], int]
"""An idle state, or a state of runs."""

Follow: TypeAlias = Callable[[Node], Iterator[tuple[tuple[int, Mark], Node]]]


def moves_over(machine: Deterministic, symbols: Sequence[int]) -> Follow:
    """Where events of some symbols lead from a node, by symbol and mark; runs begin when idle."""

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
        """It tests nothing."""
        return 0

    def begin(self, idle: int, symbol: int) -> Moves:
        """No run starts."""
        return Moves(None, None)

    def wait(self, idle: int, symbol: int) -> int:
        """Nothing changes."""
        return idle

    def step(self, state: int, symbol: int) -> Moves:
        """No run goes on."""
        return Moves(None, None)


NOTHING = Nothing()

Macro = TypeVar("Macro", bound=Hashable)


class Numbering(Generic[Macro]):
    """Macro-states, numbered in the order of discovery; several threads may number at once.

    A number is given out when `states` and `final` have its place.
    """

    def __init__(self, final: Callable[[Macro], bool]) -> None:
        self.states: list[Macro] = []
        self.final: list[bool] = []
        self._is_final = final
        self._numbers: dict[Macro, int] = {}
        self._lock = Lock()

    def of(self, macro: Macro) -> int:
        """The number of a macro-state, a new one if it is new."""
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
