"""The gadgets of `union` and `merge` (CORE Fig. 5), made by calling them on small live nodes.

In (a) to (d) the nodes n1 and n2 have the same max-start. Where one is a union itself, its left
node ``l`` has that max-start too and its right node ``r`` at most that. In (e) the nodes n0 to n3
are a union-list. What is made is ``u``, ``u1`` and ``u2``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cerlab.engine.reference.tecs import Bottom, Node, Output, Tecs, Union
from cerlab.viz.graph import Edge, EdgeKind, Graph, NodeKind
from cerlab.viz.graph import Node as Drawn

LATEST, OLDER, OLDEST = 3, 2, 1
"""Starts of runs."""

UNIONS: Mapping[str, tuple[int | None, int | None]] = {
    "a": (None, OLDER),
    "b": (OLDER, None),
    "c": (OLDER, OLDEST),
    "d": (OLDEST, OLDER),
}
"""For n1 and n2 the max-start of the right node, None for no union: the cases as in the paper."""

CASES = (*UNIONS, "e")
"""All parts of the figure."""


def gadget(case: str) -> Graph:
    """What is made in a case: new nodes bright, and those given that it leaves out dashed.

    Raises `KeyError` for another case.
    """
    tecs = Tecs()
    bottoms = [tecs.bottom(start) for start in range(LATEST + 1)]
    names: dict[Node, str] = {}

    def plain(name: str, start: int) -> Node:
        node = tecs.extend(bottoms[start], LATEST + 1 + len(names))
        names[node] = name
        return node

    def united(k: int, older: int) -> Node:
        return tecs.merge([plain(f"l{k}", LATEST), plain(f"r{k}", older)])

    if case == "e":
        given = [plain(f"n{k}", LATEST - k) for k in range(LATEST + 1)]
        u = tecs.merge(given)
    else:
        given = [
            plain(f"n{k}", LATEST) if older is None else united(k, older)
            for k, older in enumerate(UNIONS[case], 1)
        ]
        names |= {node: f"n{k}" for k, node in enumerate(given, 1)}
        u = tecs.union(*given)
    kept = below(u)
    before = below(*given)
    made = [node for node in kept if node not in before]
    names |= {node: f"u{k or ''}" for k, node in enumerate(made)}
    return graph(case, below(u, *given), names, made, kept)


def graph(
    case: str, nodes: list[Node], names: dict[Node, str], made: list[Node], kept: list[Node]
) -> Graph:
    """The nodes as a picture."""
    number = {node: f"t{n}" for n, node in enumerate(nodes)}
    drawn = tuple(
        Drawn(
            number[node],
            "∨" if isinstance(node, Union) else str(node.position),
            _KINDS[type(node)],
            aside=str(node.max_start),
            under=names.get(node, ""),
            is_new=node in made,
            is_faded=node not in kept,
        )
        for node in nodes
    )
    edges = tuple(
        Edge(number[node], number[child], word, kind)
        for node in nodes
        for child, kind, word in children(node)
    )
    title = "merge of n0 to n3" if case == "e" else f"union of n1 and n2, case ({case})"
    colours = "bright is new" + (", dashed is left out" if len(nodes) > len(kept) else "")
    legend = ("small at the top right is the max-start", colours)
    return Graph("gadget", title, drawn, edges, "TB", legend=legend)


_KINDS = {Bottom: NodeKind.BOTTOM, Output: NodeKind.OUTPUT, Union: NodeKind.UNION}


def below(*roots: Node) -> list[Node]:
    """Nodes and all below them, each once, left before right."""
    seen: dict[Node, None] = {}
    pending = list(reversed(roots))
    while pending:
        node = pending.pop()
        if node not in seen:
            seen[node] = None
            pending += [child for child, _, _ in reversed(list(children(node)))]
    return list(seen)


def children(node: Node) -> Iterator[tuple[Node, EdgeKind, str]]:
    """The nodes right below, each with the kind and the word of the edge."""
    if isinstance(node, Output) and node.next is not None:
        yield node.next, EdgeKind.NEXT, ""
    if isinstance(node, Union) and node.left is not None and node.right is not None:
        yield node.left, EdgeKind.LEFT, "L"
        yield node.right, EdgeKind.RIGHT, "R"
