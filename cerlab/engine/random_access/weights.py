"""The k-th answer of one end, by the number of answers below each node (CORE Alg. 2).

Enumeration goes down the tECS left before right, so the k-th answer is found on the way down if the
number of answers on the left is known. Right edges may be many in a row, one for each start; along
them the answers that are left from the k-th on do not change, which lets the way jump.
"""

from __future__ import annotations

from collections.abc import Hashable
from math import log2
from typing import Generic

from cerlab.engine.random_access.budget import bytes_of, check_budget, fits
from cerlab.engine.random_access.dag import Dag, Node, Parts
from cerlab.model.answer import ComplexEvent


class CountedNode:
    """A node with the number of answers below it, and a shortcut along its right edges.

    `depth` is how many right edges can be followed, `jump` where a number of them leads at once:
    about half of them, or one, as in a skew-binary list, so that a search takes logarithmic time.
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
            equal = right.depth - over.depth == over.depth - over.jump.depth
            self.jump = over.jump if equal else right


class Weights(Generic[Node]):
    """The weighed nodes of a DAG, kept for all DAGs of a scope while they fit the budget.

    `additions` counts the sums made.
    """

    def __init__(self) -> None:
        self._scope: Hashable = None
        self._nodes: dict[Node, CountedNode] = {}
        self._bytes = 0
        self.additions = 0

    def answer(self, dag: Dag[Node], k: int) -> ComplexEvent:
        """The k-th answer of a DAG, in the order of its enumeration.

        Costs the nodes that are not weighed yet, and the answer's size times the logarithm of the
        window. Raises `ResourceLimit` before numbers are made that do not fit the budget.
        """
        self._weigh(dag)
        for root in dag.roots:
            node = self._nodes[root]
            if k < node.below:
                return _answer(node, dag.end, k)
            k -= node.below
        raise AssertionError("the DAG has fewer answers than were counted")

    def _weigh(self, dag: Dag[Node]) -> None:
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

    def _unknown(self, dag: Dag[Node]) -> dict[Node, Parts[Node]]:
        """The nodes that are not weighed yet, children before parents."""
        old, parts_of = self._nodes, dag.parts
        nodes: dict[Node, Parts[Node]] = {}
        stack: list[tuple[Node, Parts[Node] | None]] = [(root, None) for root in dag.roots]
        while stack:
            node, parts = stack.pop()
            if node in nodes or node in old:
                continue
            if parts is not None:  # the second time: its children are known
                nodes[node] = parts
                continue
            parts = parts_of(node)
            stack.append((node, parts))
            stack.extend((child, None) for child in parts[1:] if child is not None)
        return nodes

    def _estimate(self, fresh: dict[Node, Parts[Node]]) -> int:
        """The bytes of the sums to come, from their logarithms; other nodes share a number."""
        logs: dict[Node, float] = {}

        def log(node: Node) -> float:
            return logs[node] if node in logs else log2(self._nodes[node].below)

        total = 0
        for node, (_, left, right) in fresh.items():
            if left is None:
                logs[node] = 0.0
            elif right is None:
                logs[node] = log(left)
            else:
                x, y = log(left), log(right)
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
    """The last node along right edges that has at least so many answers; `node` has."""
    while (right := node.right) is not None:
        if node.jump.below >= answers:
            node = node.jump
        elif right.below >= answers:
            node = right
        else:
            break
    return node
