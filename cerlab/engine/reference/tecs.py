"""The tECS: a DAG whose nodes hold all partial complex events of a run (CORE Sec. 4.1).

A node denotes a set of open complex events (start, positions): the full paths below it, each
ending in the bottom node of its start. Three invariants make enumeration fast:

* time-ordered: at a union, ``max(left) >= max(right)``, so the starts inside a window come first;
* 3-bounded: at most three unions in a row on left edges (`odepth`), so an answer is never far;
* duplicate-free: no open complex event has two paths.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from heapq import heappop, heappush
from typing import TypeAlias

from cerlab.automata.deterministic import Deterministic, Moves
from cerlab.model.answer import ComplexEvent
from cerlab.model.event import Event


class Bottom:
    """A bottom node, ``bottom(i)``: the run that starts at `position` and has taken no event."""

    __slots__ = ("max_start", "position")

    max_start: int

    def __init__(self, position: int) -> None:
        self.position = position
        self.max_start = position


class Output:
    """An output node, ``output(i, next)``: the complex events of `next` with `position` added."""

    __slots__ = ("max_start", "next", "position")

    max_start: int

    def __init__(self, position: int, next: Node) -> None:
        self.position = position
        self.next: Node | None = next
        self.max_start = next.max_start


class Union:
    """A union node, ``left | right``: the complex events of both children."""

    __slots__ = ("left", "max_start", "position", "right")

    max_start: int

    def __init__(self, position: int, left: Node, right: Node) -> None:
        self.position = position
        self.left: Node | None = left
        self.right: Node | None = right
        self.max_start = left.max_start


Node: TypeAlias = Bottom | Output | Union


UnionList: TypeAlias = list[Node]
"""``n0, .., nk``: n0 is not a union and has the largest max-start; max-starts then decrease."""


class Tecs:
    """The nodes of one evaluation in order of creation, so that old ones can be dropped.

    Each is created at its own `position`. No path through a node created before some position
    reaches a start at or after it: a max-start is never later than the creation. So nodes are
    forgotten first in, first out.
    """

    def __init__(self) -> None:
        self.created = 0
        self.nodes: deque[Node] = deque()
        """The nodes kept, in the order of their creation."""
        self._position = 0

    def _record(self, node: Node) -> Node:
        self.created += 1
        self.nodes.append(node)
        return node

    @property
    def live(self) -> int:
        """The number of nodes that are not dropped."""
        return len(self.nodes)

    def bottom(self, position: int) -> Node:
        """Create a bottom node (``new-bottom(i)``) and set the position of new nodes."""
        self._position = position
        return self._record(Bottom(position))

    def extend(self, node: Node, position: int) -> Node:
        """Create an output node, ``extend(n, j)``."""
        return self._record(Output(position, node))

    def _join(self, left: Node, right: Node) -> Node:
        return self._record(Union(self._position, left, right))

    def union(self, first: Node, second: Node) -> Node:
        """Return ``union(n1, n2)`` of safe nodes with equal max-start (CORE Sec. 4.2)."""
        assert first.max_start == second.max_start
        if not isinstance(first, Union):
            return self._join(first, second)
        if not isinstance(second, Union):
            return self._join(second, first)
        l1, r1 = first.left, first.right
        l2, r2 = second.left, second.right
        assert l1 is not None
        assert r1 is not None
        assert l2 is not None
        assert r2 is not None
        older = self._join(r1, r2) if r1.max_start >= r2.max_start else self._join(r2, r1)
        return self._join(l1, self._join(l2, older))

    def insert(self, ul: UnionList, node: Node) -> None:
        """Insert a safe node into a union-list (``insert(ul, n)``) behind its first node.

        The paper's cases omit a list of one node, and max-starts between n0's and n1's or below
        nk's; here the node goes before the first ``i >= 1`` with a smaller max-start, otherwise to
        the end (CORE Sec. 4.2).
        """
        # the first node keeps its place: no node has a later max-start
        assert node.max_start <= ul[0].max_start
        for i in range(1, len(ul)):
            if ul[i].max_start == node.max_start:
                ul[i] = self.union(ul[i], node)
                return
            if ul[i].max_start < node.max_start:
                ul.insert(i, node)
                return
        ul.append(node)

    def merge(self, ul: UnionList) -> Node:
        """Return ``merge(ul)``: one node for the whole list, ``n0 | (n1 | (.. | nk))``."""
        root = ul[-1]
        for node in reversed(ul[:-1]):
            root = self._join(node, root)
        return root

    def forget(self, before: int) -> None:
        """Drop the nodes created before a position: no answer inside the window reaches them."""
        while self.nodes and self.nodes[0].position < before:
            node = self.nodes.popleft()
            if isinstance(node, Union):
                node.left = node.right = None
            elif isinstance(node, Output):
                node.next = None


Path: TypeAlias = "tuple[int, Path] | None"
"""The positions on a path from the root, as a linked list that ends with the latest."""


def enumerate_node(node: Node, end: int, lowest_start: int) -> Iterator[ComplexEvent]:
    """Yield the answers ``[[n]]^e(j)`` in the window, with output-linear delay (CORE Alg. 2).

    The starts decrease only along right edges; each answer comes once if the node is duplicate-free
    and time-ordered.
    """
    stack: list[tuple[Node, Path]] = []
    if node.max_start >= lowest_start:
        stack.append((node, None))
    while stack:
        vertex, path = stack.pop()
        while True:
            if isinstance(vertex, Union):
                assert vertex.left is not None
                assert vertex.right is not None
                if vertex.right.max_start >= lowest_start:
                    stack.append((vertex.right, path))
                vertex = vertex.left
            elif isinstance(vertex, Output):
                path = (vertex.position, path)
                assert vertex.next is not None
                vertex = vertex.next
            else:
                yield ComplexEvent(vertex.position, end, _positions(path))
                break


def enumerate_latest_first(
    nodes: Iterable[Node], end: int, lowest_start: int
) -> Iterator[ComplexEvent]:
    """Yield the answers of some nodes, the latest positions first, as LIMIT needs them.

    Depth first over sets of nodes, those below the positions taken so far: n answers visit the
    nodes that lead to them, and the unions above earlier nodes.
    """
    levels: list[tuple[Path, _Pending]] = [(None, _Pending(nodes, lowest_start))]
    while levels:
        path, pending = levels[-1]
        if not pending:
            levels.pop()
            continue
        position, begins, below = pending.latest()
        levels.append(((position, path), _Pending(below, lowest_start)))
        if begins:
            yield ComplexEvent(position, end, _positions(path))


class _Pending:
    """A heap of nodes to enumerate; the node with the latest position is on top."""

    def __init__(self, nodes: Iterable[Node], lowest_start: int) -> None:
        self._heap: list[tuple[int, bool, int, Node]] = []
        self._lowest = lowest_start
        self._pushes = 0
        for node in nodes:
            self._push(node)

    def __len__(self) -> int:
        return len(self._heap)

    def _push(self, node: Node) -> None:
        if node.max_start >= self._lowest:
            entry = (-node.position, not isinstance(node, Union), self._pushes, node)
            heappush(self._heap, entry)
            self._pushes += 1

    def latest(self) -> tuple[int, bool, list[Node]]:
        """Return the latest position, whether an answer starts there, and the nodes below it."""
        position, begins = -1, False
        below: list[Node] = []
        while self._heap and -self._heap[0][0] >= position:
            node = heappop(self._heap)[-1]
            if isinstance(node, Union):
                assert node.left is not None
                assert node.right is not None
                self._push(node.left)
                self._push(node.right)
                continue
            position = node.position
            if isinstance(node, Bottom):
                begins = True
            else:
                assert node.next is not None
                below.append(node.next)
        return position, begins, below


def _positions(path: Path) -> tuple[int, ...]:
    positions = []
    while path is not None:
        position, path = path
        positions.append(position)
    return tuple(positions)


class TecsEvaluation:
    """Algorithm 1 on one stream: active macro-states with union-lists of nodes.

    A machine that compares answers across starts has an idle state that reads every event; the run
    that starts at an event leaves it. `T` maps active macro-states to union-lists, in the order of
    insertion. That order, and q0 first, keep max-starts decreasing from key to key, which is the
    precondition of `Tecs.insert`. With `latest_first` answers come in that order, which LIMIT
    needs.
    """

    def __init__(self, automaton: Deterministic, *, latest_first: bool = False) -> None:
        self.automaton = automaton
        self._latest_first = latest_first
        self.tecs = Tecs()
        self.T: dict[int, UnionList] = {}
        self._idle = automaton.idle
        self._position = -1
        self._forgotten = 0

    def advance(self, event: Event, position: int) -> None:
        """Read an event: start a run at a fresh bottom node, then move the active states."""
        symbol = self.automaton.symbol(event)
        before, self.T = self.T, {}
        starting = self.automaton.begin(self._idle, symbol)
        self._execute(starting, [self.tecs.bottom(position)], position)
        for p, ul in before.items():
            self._execute(self.automaton.step(p, symbol), ul, position)
        self._idle = self.automaton.wait(self._idle, symbol)
        self._position = position

    def _execute(self, moves: Moves, ul: UnionList, position: int) -> None:
        """Move a union-list by the taking, then the skipping transition (``ExecTrans``)."""
        take, skip = moves
        if take is None and skip is None:
            return
        node = self.tecs.merge(ul)
        if take is not None:
            output = self.tecs.extend(node, position)
            self._add(take, output, [output])
        if skip is not None:
            self._add(skip, node, ul)

    def _add(self, q: int, node: Node, ul: UnionList) -> None:
        """Add a node to state q (``Add``): insert it into q's list, or make `ul` that list."""
        if q in self.T:
            self.tecs.insert(self.T[q], node)
        else:
            self.T[q] = ul

    def answers(self, lowest_start: int) -> Iterator[ComplexEvent]:
        """Yield the answers of the final active states (``Output``)."""
        final = [self.tecs.merge(ul) for q, ul in self.T.items() if self.automaton.final[q]]
        if self._latest_first:
            return enumerate_latest_first(final, self._position, lowest_start)
        end = self._position
        return (answer for n in final for answer in enumerate_node(n, end, lowest_start))

    def forget(self, before: int) -> None:
        """Drop complex events that start before a position, with their nodes."""
        if before <= self._forgotten:
            return
        self._forgotten = before
        alive = {q: [n for n in ul if n.max_start >= before] for q, ul in self.T.items()}
        self.T = {q: ul for q, ul in alive.items() if ul}
        self.tecs.forget(before)

    def reset(self) -> None:
        """Drop all partial complex events; a running enumeration keeps its nodes."""
        self.T = {}
        self.tecs = Tecs()
        self._idle = self.automaton.idle
