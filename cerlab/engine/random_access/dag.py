"""What random access asks of an evaluation: the answers of one end as a DAG (CORE Sec. 4.1)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

Node = TypeVar("Node", bound=Hashable)


class Parts(NamedTuple, Generic[Node]):
    """A node: what enumeration does there.

    A bottom has the start as its `position`, and nothing else. An output takes its `position` and
    goes on with `left`. A union has no position; it goes on with `left`, then with `right`, which
    is None if all of it is outside the window.
    """

    position: int | None
    left: Node | None
    right: Node | None


class Dag(Protocol[Node]):
    """The answers of one end as the tECS holds them: nodes inside the window only.

    In all DAGs of one evaluation with an equal `scope`, a node has the same answers below it.
    """

    @property
    def end(self) -> int:
        """The position where its answers end."""

    @property
    def scope(self) -> Hashable:
        """What the answers below a node depend on, besides the node."""

    @property
    def roots(self) -> Sequence[Node]:
        """Where enumeration starts, in its order; their answers are disjoint."""

    def parts(self, node: Node) -> Parts[Node]:
        """What a node is made of."""
