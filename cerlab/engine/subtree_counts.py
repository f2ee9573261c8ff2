"""The k-th answer at one end of answers, found by counting below the nodes of the tECS.

`random_access` finds the end of an answer by counting, with one class for each way of iteration.
`subtree_counts` finds the answer among those of its end by descending the tECS, described by a
`Dag`.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Hashable, Iterator, Sequence
from math import log2
from typing import Generic, NamedTuple, Protocol, TypeVar

from cerlab.automata.deterministic import Deterministic
from cerlab.automata.plan import Plan
from cerlab.engine.reference import driver
from cerlab.engine.reference.tecs import Node, Output, TecsEvaluation, Union, enumerate_latest_first
from cerlab.errors import ResourceLimit
from cerlab.model.answer import ComplexEvent
from cerlab.model.stream import Stream

Vertex = TypeVar("Vertex", bound=Hashable)


class Parts(NamedTuple, Generic[Vertex]):
    """The position and the children of a tECS node, as enumeration uses them.

    A bottom has the start as its `position`, and no children. An output takes its `position` and
    continues with `left`. A union has no position; it continues with `left`, then with `right`,
    which is None if all of it is outside the window.
    """

    position: int | None
    left: Vertex | None
    right: Vertex | None


class Dag(Protocol[Vertex]):
    """Interface: the answers at one end, as the part of a tECS inside the window.

    In all DAGs of one evaluation with an equal `scope`, a node has the same answers below it.
    """

    @property
    def end(self) -> int:
        """The position where the answers end."""

    @property
    def scope(self) -> Hashable:
        """A key for caches: DAGs with equal keys have equal counts at their common nodes."""

    @property
    def roots(self) -> Sequence[Vertex]:
        """The nodes where enumeration starts, in order."""

    def parts(self, node: Vertex) -> Parts[Vertex]:
        """Return the position and the children of a node."""


BUDGET = 5 * 10**8
"""The most bytes for the numbers of answers up to ends, and again for those below nodes."""


_DIGIT = sys.int_info.bits_per_digit


def bytes_of(bits: int) -> int:
    """Return the size of a positive Python integer of `bits` bits."""
    return int.__basicsize__ + sys.int_info.sizeof_digit * -(-bits // _DIGIT)


def fits(size: int) -> bool:
    """Return whether numbers of `size` bytes in total fit the memory budget."""
    return size <= BUDGET


def check_budget(size: int, noun: str) -> None:
    """Raise `ResourceLimit` if the numbers called `noun` exceed the memory budget."""
    if not fits(size):
        raise ResourceLimit(
            "CER0613",
            f"{noun} need {size:,} bytes, more than {BUDGET:,}",
            hint="count() needs no such memory; WITHIN and LIMIT make the numbers shorter",
        )


def shown_number(n: int) -> str:
    """Return a number as text, shortened if it is long.

    For a long one its number of digits, since Python refuses to print it.

    >>> shown_number(1_000), shown_number(10**5_000)
    ('1,000', 'a number of 5,001 digits')
    """
    if n.bit_length() <= 64:
        return f"{n:,}"
    digits = int(n.bit_length() * math.log10(2))
    return f"a number of {digits + (n >= 10**digits):,} digits"


class CountedNode:
    """A node, the number of answers below it, and a jump along its right edges.

    `depth` is the number of right edges below; `jump` is the target of many of them, about half or
    one, as in a skew-binary list, so that a search takes logarithmic time.
    """

    __slots__ = ("below", "depth", "jump", "left", "position", "right")

    def __init__(
        self, below: int, position: int | None, left: CountedNode | None, right: CountedNode | None
    ) -> None:
        self.below = below
        self.position = position
        self.left = left
        self.right = right
        self.depth = 0
        self.jump = self
        if right is not None:
            self.depth = right.depth + 1
            over = right.jump
            # as in a skew-binary list: two jumps of equal length merge into one
            equal = right.depth - over.depth == over.depth - over.jump.depth
            self.jump = over.jump if equal else right


class Weights(Generic[Vertex]):
    """Counted nodes, reused for all DAGs of equal `scope` while they fit the memory budget.

    `additions` is the number of sums computed.
    """

    def __init__(self) -> None:
        self._scope: Hashable = None
        self._nodes: dict[Vertex, CountedNode] = {}
        self._bytes = 0
        self.additions = 0

    def answer(self, dag: Dag[Vertex], k: int) -> ComplexEvent:
        """Return the k-th answer of a DAG, in enumeration order.

        Costs the nodes that are not counted yet, and the answer's size times the logarithm of the
        window. Raises `ResourceLimit` before computing numbers that do not fit the budget.
        """
        self._weigh(dag)
        for root in dag.roots:
            node = self._nodes[root]
            if k < node.below:
                return _answer(node, dag.end, k)
            k -= node.below
        raise AssertionError("the DAG has fewer answers than were counted")

    def _weigh(self, dag: Dag[Vertex]) -> None:
        if dag.scope != self._scope:
            self._forget()
            self._scope = dag.scope
        fresh = self._unknown(dag)
        size = self._estimate(fresh)
        if self._nodes and not fits(self._bytes + size):
            self._forget()
            fresh = self._unknown(dag)
            size = self._estimate(fresh)
        check_budget(size, f"the numbers of answers below {len(fresh):,} nodes")
        self._bytes += size
        for node, (position, left, right) in fresh.items():
            first = None if left is None else self._nodes[left]
            second = None if right is None else self._nodes[right]
            below = self._sum(first, second)
            self._nodes[node] = CountedNode(below, position, first, second)

    def _sum(self, left: CountedNode | None, right: CountedNode | None) -> int:
        if left is None:
            return 1
        if right is None:
            return left.below
        self.additions += 1
        return left.below + right.below

    def _unknown(self, dag: Dag[Vertex]) -> dict[Vertex, Parts[Vertex]]:
        """Return the nodes not counted yet, children before parents."""
        old, parts_of = self._nodes, dag.parts
        nodes: dict[Vertex, Parts[Vertex]] = {}
        stack: list[tuple[Vertex, Parts[Vertex] | None]] = [(root, None) for root in dag.roots]
        while stack:
            node, parts = stack.pop()
            if node in nodes or node in old:
                continue
            if parts is not None:  # second visit: the children are counted
                nodes[node] = parts
                continue
            parts = parts_of(node)
            stack.append((node, parts))
            stack.extend((child, None) for child in parts[1:] if child is not None)
        return nodes

    def _estimate(self, fresh: dict[Vertex, Parts[Vertex]]) -> int:
        """Return the estimated bytes of new counts, from logarithms.

        Other nodes share a number.
        """
        logs: dict[Vertex, float] = {}

        def log(node: Vertex) -> float:
            return logs[node] if node in logs else log2(self._nodes[node].below)

        total = 0
        for node, (_, left, right) in fresh.items():
            if left is None:
                logs[node] = 0.0
            elif right is None:
                logs[node] = log(left)
            else:
                x, y = log(left), log(right)
                # the logarithm of the sum, because the sum may exceed the budget
                logs[node] = max(x, y) + log2(1 + 2.0 ** -abs(x - y))
                total += bytes_of(int(logs[node]) + 1)
        return total

    def _forget(self) -> None:
        self._nodes.clear()
        self._bytes = 0


def _answer(node: CountedNode, end: int, k: int) -> ComplexEvent:
    positions: list[int] = []
    while True:
        if node.right is not None:
            # count from the end: the answers along right edges come last
            from_k = node.below - k
            node = _last_with(node, from_k)
            k = node.below - from_k
        if node.left is None:
            assert node.position is not None
            return ComplexEvent(node.position, end, tuple(reversed(positions)))
        if node.position is not None:
            positions.append(node.position)
        node = node.left


def _last_with(node: CountedNode, answers: int) -> CountedNode:
    """Return the last node along right edges that still has at least `answers` answers below it."""
    while (right := node.right) is not None:
        if node.jump.below >= answers:
            node = node.jump
        elif right.below >= answers:
            node = right
        else:
            break
    return node


class TecsDag:
    """The answers of the final active states at an end, as a `Dag`.

    Inside the window, nodes never change. So the answers below them depend only on the lowest
    start, and without a window on nothing, as long as one evaluation continues.
    """

    __slots__ = ("_lowest", "end", "roots", "scope")

    def __init__(self, roots: tuple[Node, ...], end: int, lowest: int, evaluation: int) -> None:
        self.roots = roots
        self.end = end
        self.scope = (evaluation, lowest)
        self._lowest = lowest

    def latest_first(self) -> Iterator[ComplexEvent]:
        """Return the answers of this end in the order that LIMIT uses."""
        return enumerate_latest_first(self.roots, self.end, self._lowest)

    def parts(self, node: Node) -> Parts[Node]:
        """Return the position and the children of a node.

        The right side of a union only if the window allows some of it.
        """
        if isinstance(node, Union):
            right = node.right
            inside = right is not None and right.max_start >= self._lowest
            return Parts(None, node.left, right if inside else None)
        if isinstance(node, Output):
            return Parts(node.position, node.next, None)
        return Parts(node.position, None, None)


class TecsWalk:
    """An evaluation by the reference engine that moves from end to end of answers.

    An earlier end restarts it if there is a window, which cuts off old nodes; without a window, the
    DAGs of all passed ends are kept.
    """

    def __init__(self, plan: Plan, machine: Deterministic, stream: Stream) -> None:
        self._plan = plan
        self._machine = machine
        self._stream = stream
        self._dags: Iterator[TecsDag] = iter(())
        self._dag: TecsDag | None = None
        self._dag_of: dict[int, TecsDag] = {}
        self.evaluations = 0

    def to(self, end: int) -> TecsDag:
        """Return the DAG of the answers at `end`."""
        if end in self._dag_of:
            return self._dag_of[end]
        dag, self._dag = self._dag, None  # an interruption leaves None
        if dag is None or end < dag.end:
            self._dags, dag = self._from_the_first(), None
        while dag is None or dag.end < end:
            dag = next(self._dags)
            if self._plan.window is None:
                self._dag_of[dag.end] = dag
        assert dag.end == end
        self._dag = dag
        return dag

    def _from_the_first(self) -> Iterator[TecsDag]:
        self.evaluations += 1
        self._dag_of.clear()
        machine, stream, number = self._machine, self._stream, self.evaluations
        results = driver.ends(
            self._plan, lambda: TecsEvaluation(machine), stream, stream.time, _final
        )
        for end, final in results:
            yield TecsDag(final.roots, end, final.lowest, number)


class _Final(NamedTuple):
    """The nodes where ``Output`` starts, in order, and the lowest start in the window."""

    roots: tuple[Node, ...]
    lowest: int


def _final(running: TecsEvaluation, lowest: int) -> _Final | None:
    roots = tuple(
        running.tecs.merge(ul)
        for q, ul in running.T.items()
        if running.automaton.final[q] and ul[0].max_start >= lowest
    )
    return _Final(roots, lowest) if roots else None
