"""From lists to complex events, at last with constant delay (FOUND Alg. 2; FOUND Alg. 3).

Delays are measured in steps. A step is a bounded number of operations on lists and on the stack;
the printing of a position is one as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from cerlab.engine.reference.lists.nodes import BOTTOM, Node, NodeList, Walk
from cerlab.model.answer import ComplexEvent, Positions


@dataclass(slots=True)
class Steps:
    """How many steps were done, by updates and by enumerations."""

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
        """Whether there is no visit left."""
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
