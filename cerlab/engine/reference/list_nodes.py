"""Evaluation with one linked list of nodes for each active state (FOUND Alg. 1; FOUND Alg. 4)."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Generic, NamedTuple, TypeVar

from cerlab.automata.automaton import AnchoredCea
from cerlab.automata.deterministic import DeterministicCea
from cerlab.model.answer import ComplexEvent, Positions
from cerlab.model.event import Event

State = TypeVar("State")


class ListEvaluation(ABC, Generic[State]):
    """The active states, each with a list of its partial complex events (FOUND Sec. 7.2).

    Each algorithm defines its states, and how an event moves the lists. `lists` is in the order in
    which the states were reached, so automaton and stream determine the order of the answers.
    """

    def __init__(self) -> None:
        self.lists: dict[State, NodeList] = {}
        self.steps = Steps()
        self._position = -1
        self.reset()

    @abstractmethod
    def reset(self) -> None:
        """Restart, so that the next event is the first; a running enumeration is not disturbed."""

    @abstractmethod
    def _update(self, event: Event, old: Mapping[State, NodeList]) -> None:
        """Compute the lists after an event from the lists before it."""

    @abstractmethod
    def _is_final(self, state: State) -> bool:
        """Return whether a state's nodes at the current position are answers."""

    def advance(self, event: Event, position: int) -> None:
        """Read the next event: one iteration of the main loop."""
        # copies of two pointers: appending to a new list must not lengthen the old ones
        old = {q: nodes.lazycopy() for q, nodes in self.lists.items()}
        self.lists = {}
        self._position = position
        self._update(event, old)

    def _take(self, p: State, old: NodeList) -> None:
        """Add a node for the event to the list of state p, for a transition by •."""
        self.steps.update += 1
        self.lists.setdefault(p, NodeList()).add(Node(self._position, old))

    def _skip(self, p: State, old: NodeList) -> None:
        """Append the old list of a state to that of state p, for a transition by ∘."""
        self.steps.update += 1
        self.lists.setdefault(p, NodeList()).append(old)

    def answers(self, lowest_start: int) -> Iterator[ComplexEvent]:
        """Return the complex events that end at the last event, each once (FOUND Alg. 2)."""
        final = [nodes for q, nodes in self.lists.items() if self._is_final(q)]
        return enumerate_lists(final, self._position, lowest_start, self.steps)

    def forget(self, before: int) -> None:
        """Keep everything: the paper has no windows, and its lists only grow."""


class Evaluation(ListEvaluation[int]):
    """``Evaluate`` and ``NDetEvaluate``, for all complex events (FOUND Alg. 1; FOUND Alg. 4).

    States are the macro-states of the automaton, determinised while events are read. Those of an
    I/O-deterministic automaton are single states; then this is Algorithm 1, and an event costs
    at most two steps for each active state. `advance` raises `ResourceLimit` if there are too many
    macro-states.
    """

    def __init__(self, cea: AnchoredCea) -> None:
        self.automaton = DeterministicCea(cea)
        super().__init__()

    def reset(self) -> None:
        """Restart in q0, with no event taken."""
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


class Node:
    """``Node(p, l)``: a position and the list of the nodes before it.

    `max_start` is the latest first position of its complex events. The paper, without windows, does
    not have it; it lets enumeration skip answers that start before a window.
    """

    __slots__ = ("list", "max_start", "position")

    def __init__(self, position: int, list: NodeList) -> None:
        self.position = position
        self.list = list
        self.max_start: int = min(position, list.max_start) if list.first else position


class Cell:
    """A cell of a linked list with one node; `next` is written once, by an append."""

    __slots__ = ("next", "node")

    def __init__(self, node: Node, next: Cell | None) -> None:
        self.node = node
        self.next = next


class NodeList:
    """A list as its first and last cell: copying the two pointers copies the list.

    Nodes are never removed. `append` writes the `next` of the last cell, and no cell is written
    twice: at most one of the lists that end with a cell is appended to, since for an event a state
    has one ∘-successor (Algorithms 1, 4, 7, 8) or lists are never appended to (5, 6).
    """

    __slots__ = ("first", "last", "max_start")

    def __init__(self) -> None:
        self.first: Cell | None = None
        self.last: Cell | None = None
        self.max_start = -1

    def add(self, node: Node) -> None:
        """Add a node at the front."""
        self.first = Cell(node, self.first)
        self.last = self.last or self.first
        self.max_start = max(self.max_start, node.max_start)

    def append(self, other: NodeList) -> None:
        """Append another non-empty list in constant time."""
        if self.last is None:
            self.first = other.first
        else:
            assert self.last.next is None, "a cell is followed by two others"
            self.last.next = other.first
        self.last = other.last
        self.max_start = max(self.max_start, other.max_start)

    def lazycopy(self) -> NodeList:
        """Return a copy in constant time, which later changes of this list do not affect."""
        copy = NodeList()
        copy.first, copy.last, copy.max_start = self.first, self.last, self.max_start
        return copy

    def __iter__(self) -> Iterator[Node]:
        walk = Walk(self)
        while not walk.at_end:
            yield walk.next()


class Walk:
    """A cursor in a list; its constructor is the paper's ``begin``.

    It skips the nodes without a complex event that starts at `lowest_start` or later.
    """

    __slots__ = ("_cell", "_last", "_lowest_start")

    def __init__(self, nodes: NodeList, lowest_start: int = 0) -> None:
        self._last = nodes.last
        self._lowest_start = lowest_start
        self._cell = self._seek(nodes.first)

    @property
    def at_end(self) -> bool:
        """True if the cursor has passed the last node."""
        return self._cell is None

    def next(self) -> Node:
        """Return the next node and move on; there must be one."""
        cell = self._cell
        assert cell is not None, "the walk is at the end of its list"
        self._cell = self._seek(self._after(cell))
        return cell.node

    def _after(self, cell: Cell) -> Cell | None:
        """Return the cell after `cell` in this list; None after the last one.

        The list ends at its last cell, even if another list continues there.
        """
        return None if cell is self._last else cell.next

    def _seek(self, cell: Cell | None) -> Cell | None:
        while cell is not None and cell.node.max_start < self._lowest_start:
            cell = self._after(cell)
        return cell


BOTTOM = Node(sys.maxsize, NodeList())
"""The sink ``⊥``; its position is after every other, since its neighbour on a path is the start."""


def only_bottom() -> NodeList:
    """Return ``[⊥]``, the list of a run that has taken no event."""
    nodes = NodeList()
    nodes.add(BOTTOM)
    return nodes


@dataclass(slots=True)
class Steps:
    """Counts of steps, separately for updates and enumerations."""

    update: int = 0
    enumeration: int = 0


def enumerate_lists(
    lists: Iterable[NodeList], now: int, lowest_start: int, steps: Steps
) -> Iterator[ComplexEvent]:
    """Yield the complex events that end at `now`, from the lists of final states (FOUND Alg. 2).

    This is ``Enumerate``, lines 1-5. Nodes of the current position come first in a list, so the
    walk stops at the first other node. Algorithm 3 enumerates each node.
    """
    for nodes in lists:
        for n in nodes:
            steps.enumeration += 1
            if n.position != now:
                break
            if n.max_start >= lowest_start:
                yield from complex_events(enumerate_all_star(n, lowest_start, steps))


def enumerate_all(
    nodes: NodeList, C: Positions, lowest_start: int, steps: Steps
) -> Iterator[ComplexEvent]:
    """Yield the complex events of a list, each extended by the positions C (FOUND Alg. 2).

    This is ``EnumAll``, lines 6-12. The delay is not constant: after an answer it returns as many
    levels as the answer has positions. The recursion is as deep as an answer is long.
    """
    walk = Walk(nodes, lowest_start)
    while True:
        steps.enumeration += 1
        if walk.at_end:
            return
        n = walk.next()
        if n is BOTTOM:
            # positions were prepended one by one, so the first is the start
            yield ComplexEvent(C[0], C[-1], C)
        else:
            yield from enumerate_all(n.list, (n.position, *C), lowest_start, steps)


def enumerate_all_star(root: Node, lowest_start: int, steps: Steps) -> Iterator[int | None]:
    """Yield the output tape of a node with constant delay (FOUND Alg. 3; FOUND App. D.1).

    This is ``EnumAll*``. The tape has the positions of each complex event, latest first, and
    ``None`` (the paper's #) after each. A node is white if its list is at its end; the paper
    exchanges the colours (erratum E8). White nodes on top of the stack are finished, and removed
    together. With a `lowest_start` above 0 the delay is not constant, as lists are searched for
    nodes that lead to an answer; no node is visited that leads to none.
    """
    s = BlackWhiteStack()
    s.push_black(Visit(root, Walk(root.list, lowest_start)))
    while not s.empty:
        steps.enumeration += 1
        n = s.pop()
        if n.node is BOTTOM:
            s.pop_whites()
            yield None
            for position in s.path_to_top():
                steps.enumeration += 1
                yield position
        else:
            yield n.node.position
            child = n.walk.next()
            if n.walk.at_end:
                s.push_white(n)
            else:
                s.push_black(n)
            s.push_black(Visit(child, Walk(child.list, lowest_start)))


def complex_events(tape: Iterable[int | None]) -> Iterator[ComplexEvent]:
    """Yield the complex events on an output tape."""
    C: list[int] = []
    for symbol in tape:
        if symbol is not None:
            C.append(symbol)
        else:
            C.reverse()
            yield ComplexEvent(C[0], C[-1], tuple(C))
            C = []


class Visit(NamedTuple):
    """A node on the current path, with a cursor in its list of predecessors."""

    node: Node
    walk: Walk


class BlackWhiteStack:
    """A stack of black and white visits; each operation is one step (FOUND App. D.1).

    Each visit is stored with the size of the stack after popping the whites from there down, which
    is the paper's pointer to the previous black visit; so popping them cuts the array once.
    """

    def __init__(self) -> None:
        self._visits: list[tuple[Visit, int]] = []

    @property
    def empty(self) -> bool:
        """True if all visits are finished."""
        return not self._visits

    def push_black(self, n: Visit) -> None:
        """Push a node with further children to visit."""
        self._visits.append((n, len(self._visits) + 1))

    def push_white(self, n: Visit) -> None:
        """Push a node whose last child is being visited."""
        self._visits.append((n, self._visits[-1][1] if self._visits else 0))

    def pop(self) -> Visit:
        """Pop the top visit."""
        return self._visits.pop()[0]

    def pop_whites(self) -> None:
        """Pop until the top is black or the stack is empty."""
        if self._visits:
            del self._visits[self._visits[-1][1] :]

    def path_to_top(self) -> Iterator[int]:
        """Yield the positions below the top, from the bottom up (``Output(s)``)."""
        below = islice(self._visits, max(0, len(self._visits) - 1))
        return (n.node.position for n, _ in below)
