"""Derivation trees: how a formula or a SREMO comes to an answer, and what stands in the way.

A node says the operator, its interval and the positions of its labels, or its marks and what the
registers hold; a part without events is pale. Where an obligation is not met the node has a strong
edge, and the legend says why.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, TypeAlias, runtime_checkable

from cerlab.logic.cel.syntax import Formula
from cerlab.logic.sremo.syntax import Sremo
from cerlab.predicates.text import name_text
from cerlab.viz.formulas import expression_node_text, own_parts
from cerlab.viz.graph import Edge, EdgeKind, Graph, Node, NodeKind, registered
from cerlab.viz.machines.text import node_text

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


@runtime_checkable
class SremoDerivationLike(Protocol):
    """A node of the derivation of a SREMO, as `cerlab.why` has it."""

    @property
    def part(self) -> Sremo:
        """The subexpression."""

    @property
    def path(self) -> tuple[int, ...]:
        """Where it is in the expression."""

    @property
    def start(self) -> int:
        """The first event that it consumes."""

    @property
    def end(self) -> int:
        """The one after the last."""

    @property
    def marks(self) -> tuple[int, ...]:
        """The positions that it marks."""

    @property
    def registers(self) -> tuple[tuple[str, int | None], ...]:
        """Which event each register holds; None if the event is not there."""

    @property
    def children(self) -> tuple[SremoDerivationLike, ...]:
        """What it is made of."""

    @property
    def failures(self) -> tuple[FailureLike, ...]:
        """What it and those below it do not meet."""


AnyDerivation: TypeAlias = DerivationLike | SremoDerivationLike


@registered("cerlab.why.derivation.Derivation")
@registered("cerlab.why.sremo.derivation.SremoDerivation")
def derivation_graph(root: AnyDerivation, limit: int | None = None) -> Graph:
    """A derivation as a tree, from the top down."""
    nodes: list[Node] = []
    edges: list[Edge] = []
    pending: list[tuple[AnyDerivation, str, int]] = [(root, "", 0)]
    while pending:
        here, parent, index = pending.pop()
        name = f"n{len(nodes)}"
        nodes.append(_node(name, here))
        if parent:
            edges.append(Edge(parent, name, "", EdgeKind.CHILD, {"index": index}))
        below: tuple[AnyDerivation, ...] = here.children
        pending += [(child, name, k) for k, child in reversed(list(enumerate(below)))]
    words = [failure.words for failure in root.failures]
    more = [f".. and {len(words) - MOST_WORDS:,} more"] if len(words) > MOST_WORDS else []
    title = f"Derivation of {len(nodes):,} nodes: {'not ' * bool(words)}a match"
    legend = (*words[:MOST_WORDS], *more)
    return Graph("derivation", title, tuple(nodes), tuple(edges), "TB", legend=legend)


def _node(name: str, here: AnyDerivation) -> Node:
    said, parts, under = _consumed(here) if isinstance(here, SremoDerivationLike) else _valued(here)
    failing = any(failure.path == here.path for failure in here.failures)
    return Node(
        name,
        said + " ✗" * failing,
        NodeKind.FAILED if failing else NodeKind.PART,
        own_parts(here.part) | parts,
        under=under,
        is_faded=not parts and not failing,
    )


def _valued(here: DerivationLike) -> tuple[str, dict[str, Any], str]:
    """The operator, its valuation as parts of the node, and as words."""
    V = here.valuation
    parts = {} if V is None else {"start": V.start, "end": V.end, "positions_of": dict(V.labels)}
    return node_text(here.part), parts, _valuation_text(V)


def _consumed(here: SremoDerivationLike) -> tuple[str, dict[str, Any], str]:
    """The operator, or the whole part if no node is below; then what it consumes, marks and stores.

    That is told as parts of the node, and as words.
    """
    said = expression_node_text(here.part) if here.children else str(here.part)
    if here.end == here.start:
        return said, {}, "no event"
    parts: dict[str, Any] = {"start": here.start, "end": here.end - 1, "marks": here.marks}
    parts["registers"] = dict(here.registers)
    under = [f"[{here.start}, {here.end - 1}]"]
    if here.marks:
        under.append(f"^ {{{', '.join(map(str, here.marks))}}}")
    under += [f"{name_text(r)} = {'?' if p is None else p}" for r, p in here.registers]
    return said, parts, "\n".join(under)


def _valuation_text(V: ValuationLike | None) -> str:
    if V is None:
        return "no event"
    labels = (f"{name_text(X)} {{{', '.join(map(str, D))}}}" for X, D in sorted(V.labels.items()))
    return "\n".join([f"[{V.start}, {V.end}]", *labels])
