"""Nodes and their linked lists, a DAG that holds all partial complex events (FOUND Sec. 7.2).

A node denotes the complex events of its list, each with the node's position added; a list denotes
the union over its nodes, which is disjoint in every evaluator here; the sink ``BOTTOM`` denotes the
complex event that has taken nothing. So a path to the sink is one complex event, and only one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator


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
        """Whether there is no next node."""
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
