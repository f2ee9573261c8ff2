"""Evaluation with a list for each active state; all that match (FOUND Alg. 1; FOUND Alg. 4)."""

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
        # copies of two pointers: an append to a new list may not lengthen the old ones
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


class Node:
    """``Node(p, l)``: a position and the list of what came before it.

    `max_start` is the latest first position of its complex events. It is not in the paper, which
    has no windows: with it, enumeration passes over what starts before a window.
    """

    __slots__ = ("list", "max_start", "position")

    def __init__(self, position: int, list: NodeList) -> None:
        self.position = position
        self.list = list
        self.max_start: int = min(position, list.max_start) if list.first else position


class Cell:
    """The membership of a node in a list; `next` is written once, by an append behind it."""

    __slots__ = ("next", "node")

    def __init__(self, node: Node, next: Cell | None) -> None:
        self.node = node
        self.next = next


class NodeList:
    """A list as its first and last cell, so that to copy the two pointers is to copy the list.

    Nothing is ever removed. `append` writes the `next` of the last cell, and no cell is written
    twice: of the lists that end with a cell, at most one is appended to, since for an event a
    state has one ∘-successor (Algorithms 1, 4, 7, 8) or lists are never appended to (5, 6).
    """

    __slots__ = ("first", "last", "max_start")

    def __init__(self) -> None:
        self.first: Cell | None = None
        self.last: Cell | None = None
        self.max_start = -1

    def add(self, node: Node) -> None:
        """Put a node in front."""
        self.first = Cell(node, self.first)
        self.last = self.last or self.first
        self.max_start = max(self.max_start, node.max_start)

    def append(self, other: NodeList) -> None:
        """Put a list that is not empty behind this one, in constant time."""
        if self.last is None:
            self.first = other.first
        else:
            assert self.last.next is None, "a cell is followed by two others"
            self.last.next = other.first
        self.last = other.last
        self.max_start = max(self.max_start, other.max_start)

    def lazycopy(self) -> NodeList:
        """A copy in constant time, which later changes of this list do not reach."""
        copy = NodeList()
        copy.first, copy.last, copy.max_start = self.first, self.last, self.max_start
        return copy

    def __iter__(self) -> Iterator[Node]:
        walk = Walk(self)
        while not walk.at_end:
            yield walk.next()


class Walk:
    """An iteration over a list: to make one is the paper's ``begin``.

    It passes over the nodes without a complex event that starts at `lowest_start` or later.
    """

    __slots__ = ("_cell", "_last", "_lowest_start")

    def __init__(self, nodes: NodeList, lowest_start: int = 0) -> None:
        self._last = nodes.last
        self._lowest_start = lowest_start
        self._cell = self._seek(nodes.first)

    @property
    def at_end(self) -> bool:
        """Return whether this is the last node."""
        return self._cell is None

    def next(self) -> Node:
        """The next node; there must be one."""
        cell = self._cell
        assert cell is not None, "the walk is at the end of its list"
        self._cell = self._seek(self._after(cell))
        return cell.node

    def _after(self, cell: Cell) -> Cell | None:
        """The list ends at its last cell, even if another list goes on from there."""
        return None if cell is self._last else cell.next

    def _seek(self, cell: Cell | None) -> Cell | None:
        while cell is not None and cell.node.max_start < self._lowest_start:
            cell = self._after(cell)
        return cell


BOTTOM = Node(sys.maxsize, NodeList())
"""The sink ``⊥``; it is later than every position, as its neighbour on a path is the start."""


def only_bottom() -> NodeList:
    """``[⊥]``, the list of a run that has taken nothing."""
    nodes = NodeList()
    nodes.add(BOTTOM)
    return nodes


@dataclass(slots=True)
class Steps:
    """The number of steps, by updates and by enumerations."""

    update: int = 0
    enumeration: int = 0


def enumerate_lists(
    lists: Iterable[NodeList], now: int, lowest_start: int, steps: Steps
) -> Iterator[ComplexEvent]:
    """``Enumerate``, lines 1-5: what ends at `now` in the lists of final states (FOUND Alg. 2).

    Nodes of the current position come first in a list, so the walk stops at the first other. Each
    node is enumerated by Algorithm 3.
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
    """``EnumAll``, lines 6-12: the complex events of a list, each with C added (FOUND Alg. 2).

    The delay is not constant: after an answer it goes back as many levels as that has positions.
    The recursion is as deep as an answer is long.
    """
    walk = Walk(nodes, lowest_start)
    while True:
        steps.enumeration += 1
        if walk.at_end:
            return
        n = walk.next()
        if n is BOTTOM:
            # positions were put in front one by one, so the first is the start
            yield ComplexEvent(C[0], C[-1], C)
        else:
            yield from enumerate_all(n.list, (n.position, *C), lowest_start, steps)


def enumerate_all_star(root: Node, lowest_start: int, steps: Steps) -> Iterator[int | None]:
    """``EnumAll*``: the output tape of a node, with constant delay (FOUND Alg. 3; FOUND App. D.1).

    The tape has the positions of each complex event, latest first, and ``None`` (the paper's #)
    after each. A node is white if its list is at its end; the paper exchanges the colours
    (erratum E8). White nodes on top of the stack are done with, and go all at once.

    With a `lowest_start` above 0 the delay is no longer constant, as lists are searched for nodes
    that lead to an answer; still no node is visited that leads to none.
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
    """The complex events on an output tape."""
    C: list[int] = []
    for symbol in tape:
        if symbol is not None:
            C.append(symbol)
        else:
            C.reverse()
            yield ComplexEvent(C[0], C[-1], tuple(C))
            C = []


class Visit(NamedTuple):
    """A node on the current path, and how far the walk through its list has come."""

    node: Node
    walk: Walk


class BlackWhiteStack:
    """A stack of black and white visits; each operation is one step (FOUND App. D.1).

    Beside each visit stands how many are left once the whites from there down are popped, which is
    the paper's pointer to the previous black one; so to pop them is to cut the array once.
    """

    def __init__(self) -> None:
        self._visits: list[tuple[Visit, int]] = []

    @property
    def empty(self) -> bool:
        """Return whether all visits are done."""
        return not self._visits

    def push_black(self, n: Visit) -> None:
        """Push a node to which the walk may come back."""
        self._visits.append((n, len(self._visits) + 1))

    def push_white(self, n: Visit) -> None:
        """Push a node whose last child is being visited."""
        self._visits.append((n, self._visits[-1][1] if self._visits else 0))

    def pop(self) -> Visit:
        """Pop the top, of either colour."""
        return self._visits.pop()[0]

    def pop_whites(self) -> None:
        """Pop until the top is black or the stack is empty."""
        if self._visits:
            del self._visits[self._visits[-1][1] :]

    def path_to_top(self) -> Iterator[int]:
        """``Output(s)``: the positions below the top, from the bottom up."""
        below = islice(self._visits, max(0, len(self._visits) - 1))
        return (n.node.position for n, _ in below)
