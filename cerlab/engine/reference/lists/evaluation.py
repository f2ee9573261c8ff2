"""Evaluation with a list for each active state; all that match (FOUND Alg. 1; FOUND Alg. 4)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Generic, TypeVar

from cerlab.automata.automaton import AnchoredCea
from cerlab.automata.deterministic import DeterministicCea
from cerlab.engine.reference.lists.enumeration import Steps, enumerate_lists
from cerlab.engine.reference.lists.nodes import Node, NodeList, only_bottom
from cerlab.model.answer import ComplexEvent
from cerlab.model.event import Event

State = TypeVar("State")


class ListEvaluation(ABC, Generic[State]):
    """The active states, each with the list of its partial complex events (FOUND Sec. 7.2).

    What a state is, and how an event moves the lists, each algorithm says for itself. The order of
    `lists` is that in which the states were reached, so the order of the answers is fixed by
    automaton and stream.
    """

    def __init__(self) -> None:
        self.lists: dict[State, NodeList] = {}
        self.steps = Steps()
        self._position = -1
        self.reset()

    @abstractmethod
    def reset(self) -> None:
        """Start anew: the next event is the first. An enumeration that goes on is not disturbed."""

    @abstractmethod
    def _update(self, event: Event, old: Mapping[State, NodeList]) -> None:
        """Make the new lists out of the old ones."""

    @abstractmethod
    def _is_final(self, state: State) -> bool:
        """Whether the nodes of the current position in the list of a state are answers."""

    def advance(self, event: Event, position: int) -> None:
        """Read the next event: one iteration of the main loop."""
        old = {q: nodes.lazycopy() for q, nodes in self.lists.items()}
        self.lists = {}
        self._position = position
        self._update(event, old)

    def _take(self, p: State, old: NodeList) -> None:
        """``list_p.add(Node(t.position, old))``, for a move by •."""
        self.steps.update += 1
        self.lists.setdefault(p, NodeList()).add(Node(self._position, old))

    def _skip(self, p: State, old: NodeList) -> None:
        """``list_p.append(old)``, for a move by ∘."""
        self.steps.update += 1
        self.lists.setdefault(p, NodeList()).append(old)

    def answers(self, lowest_start: int) -> Iterator[ComplexEvent]:
        """The complex events that end at the event just read, each once (FOUND Alg. 2)."""
        final = [nodes for q, nodes in self.lists.items() if self._is_final(q)]
        return enumerate_lists(final, self._position, lowest_start, self.steps)

    def forget(self, before: int) -> None:
        """Nothing is dropped: the paper has no windows, and its lists only grow."""


class Evaluation(ListEvaluation[int]):
    """``Evaluate`` and ``NDetEvaluate``: all complex events (FOUND Alg. 1; FOUND Alg. 4).

    States are the macro-states of the automaton, determinised while events are read. Those of an
    I/O-deterministic automaton are single states; then this is Algorithm 1, and an event costs
    at most two steps for each active state. `advance` raises `ResourceLimit` if there are too many
    macro-states.
    """

    def __init__(self, cea: AnchoredCea) -> None:
        self.automaton = DeterministicCea(cea)
        super().__init__()

    def reset(self) -> None:
        """Start anew in q0, with nothing taken."""
        self.lists = {self.automaton.q0: only_bottom()}

    def _update(self, event: Event, old: Mapping[int, NodeList]) -> None:
        symbol = self.automaton.symbol(event)
        for q, nodes in old.items():
            take, skip = self.automaton.step(q, symbol)
            if take is not None:
                self._take(take, nodes)
            if skip is not None:
                self._skip(skip, nodes)

    def _is_final(self, state: int) -> bool:
        return self.automaton.final[state]
