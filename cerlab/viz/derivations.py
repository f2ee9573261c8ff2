"""Derivation trees: how a formula comes to a valuation, and what stands in the way.

A node says the operator, its interval and the positions of its labels; a part without events is
pale. Where an obligation is not met the node has a strong edge, and the legend says why.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from cerlab.logic.cel.syntax import Formula
from cerlab.predicates.text import name_text
from cerlab.viz.formulas import own_parts
from cerlab.viz.graph import Edge, EdgeKind, Graph, Node, NodeKind, registered
from cerlab.viz.text import node_text

MOST_WORDS = 5
"""How many failures the legend tells."""


class FailureLike(Protocol):
    """An obligation that is not met, at the part of a path, in words."""

    @property
    def path(self) -> tuple[int, ...]:
        """Where the part is in the formula."""

    @property
    def words(self) -> str:
        """What is not met, with the values that decide."""


class ValuationLike(Protocol):
    """An interval and the positions of each label."""

    @property
    def start(self) -> int:
        """The first position."""

    @property
    def end(self) -> int:
        """The last position."""

    @property
    def labels(self) -> Mapping[str, tuple[int, ...]]:
        """The positions of each label."""


class DerivationLike(Protocol):
    """A node of a derivation, as `cerlab.why` has it."""

    @property
    def part(self) -> Formula:
        """The subformula."""

    @property
    def path(self) -> tuple[int, ...]:
        """Where it is in the formula."""

    @property
    def valuation(self) -> ValuationLike | None:
        """What it contributes; None if there is no event for it."""

    @property
    def children(self) -> tuple[DerivationLike, ...]:
        """What it is made of."""

    @property
    def failures(self) -> tuple[FailureLike, ...]:
        """What it and those below it do not meet."""


@registered("cerlab.why.derivation.Derivation")
def derivation_graph(root: DerivationLike, limit: int | None = None) -> Graph:
    """A derivation as a tree, from the top down."""
    nodes: list[Node] = []
    edges: list[Edge] = []
    pending: list[tuple[DerivationLike, str, int]] = [(root, "", 0)]
    while pending:
        here, parent, index = pending.pop()
        name = f"n{len(nodes)}"
        nodes.append(_node(name, here))
        if parent:
            edges.append(Edge(parent, name, "", EdgeKind.CHILD, {"index": index}))
        pending += [(child, name, k) for k, child in reversed(list(enumerate(here.children)))]
    words = [failure.words for failure in root.failures]
    more = [f".. and {len(words) - MOST_WORDS:,} more"] if len(words) > MOST_WORDS else []
    title = f"Derivation of {len(nodes):,} nodes: {'not ' * bool(words)}a match"
    legend = (*words[:MOST_WORDS], *more)
    return Graph("derivation", title, tuple(nodes), tuple(edges), "TB", legend=legend)


def _node(name: str, here: DerivationLike) -> Node:
    V = here.valuation
    failing = any(failure.path == here.path for failure in here.failures)
    return Node(
        name,
        node_text(here.part),
        NodeKind.FAILED if failing else NodeKind.PART,
        _parts(here),
        under=_valuation_text(V),
        is_faded=V is None and not failing,
    )


def _parts(here: DerivationLike) -> dict[str, Any]:
    V = here.valuation
    found = {} if V is None else {"start": V.start, "end": V.end, "positions_of": dict(V.labels)}
    return own_parts(here.part) | found


def _valuation_text(V: ValuationLike | None) -> str:
    if V is None:
        return "no event"
    labels = (f"{name_text(X)} {{{', '.join(map(str, D))}}}" for X, D in sorted(V.labels.items()))
    return "\n".join([f"[{V.start}, {V.end}]", *labels])
