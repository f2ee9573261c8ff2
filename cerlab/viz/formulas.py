"""Formulas and expressions as trees: CEL and SREMO, from the top down."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any, get_args

from cerlab.compile.pattern import Pattern
from cerlab.display import tree_lines
from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.text import node_text
from cerlab.logic.ceql.syntax import CeqlQuery
from cerlab.logic.sremo import syntax as sremo
from cerlab.logic.sremo.text import node_text as expression_node_text
from cerlab.predicates.words import count_text
from cerlab.viz.graph import Edge, EdgeKind, Graph, Node, NodeKind, picture

CEL_KINDS: tuple[type, ...] = (cel.Atom, *get_args(cel.Unary), *get_args(cel.Binary))
SREMO_KINDS: tuple[type, ...] = (
    *get_args(sremo.Core),
    *get_args(sremo.Window),
    sremo.Intersection,
    sremo.Negation,
    sremo.Plus,
    sremo.Option,
    *get_args(sremo.Strategy),
)


def tree_text(phi: cel.Formula) -> str:
    """A formula as a tree, one node a line.

    >>> print(tree_text(cel.Seq(cel.Atom("A"), cel.Plus(cel.Atom("B")))))
    ;
    ├─ A
    └─ +
       └─ B
    """
    return tree_lines(phi, node_text, cel.children)


def sremo_tree_text(e: sremo.Sremo) -> str:
    """A SREMO as a tree, one node a line.

    >>> print(sremo_tree_text(sremo.Star(sremo.EPSILON)))
    *
    └─ EPS
    """
    return tree_lines(e, expression_node_text, sremo.children)


def tree(
    root: Any, node_of: Callable[[str, Any], Node], children: Callable[[Any], Sequence[Any]]
) -> tuple[tuple[Node, ...], tuple[Edge, ...]]:
    """Any tree as nodes, numbered from the top down and from left to right, and edges to children.

    An edge has the child's number among its siblings as the part `index`.
    """
    nodes: list[Node] = []
    edges: list[Edge] = []
    pending = [(root, "", 0)]
    while pending:
        value, parent, index = pending.pop()
        name = f"n{len(nodes)}"
        nodes.append(node_of(name, value))
        if parent:
            edges.append(Edge(parent, name, "", EdgeKind.CHILD, {"index": index}))
        below = [(child, name, k) for k, child in enumerate(children(value))]
        pending += reversed(below)
    return tuple(nodes), tuple(edges)


def own_parts(value: Any) -> dict[str, Any]:
    """The production of a node, and its fields that are no subformulas."""
    below = CEL_KINDS + SREMO_KINDS
    values = {f.name: getattr(value, f.name) for f in fields(value)}
    parts = {
        name: part
        for name, part in values.items()
        if not isinstance(part, below) and name != "operands"
    }
    return {"production": type(value).__name__, **parts}


def formula_graph(phi: cel.Formula, limit: int | None = None) -> Graph:
    """A CEL formula as a tree."""
    nodes, edges = tree(phi, _node_of(node_text), cel.children)
    title = f"CEL formula of {count_text(len(nodes), 'node')}: {_start(str(phi))}"
    return Graph("formula", title, nodes, edges, "TB", parts={"language": "cel"})


def sremo_graph(e: sremo.Sremo, limit: int | None = None) -> Graph:
    """A SREMO as a tree."""
    nodes, edges = tree(e, _node_of(expression_node_text), sremo.children)
    title = f"SREMO of {count_text(len(nodes), 'node')}: {_start(str(e))}"
    return Graph("sremo", title, nodes, edges, "TB", parts={"language": "sremo"})


def _node_of(says: Callable[[Any], str]) -> Callable[[str, Any], Node]:
    return lambda name, value: Node(name, says(value), NodeKind.PART, own_parts(value))


@picture.register(Pattern)
@picture.register(CeqlQuery)
def query_graph(query: Pattern | CeqlQuery, limit: int | None = None) -> Graph:
    """The formula of a query."""
    return formula_graph(query.formula)


def _start(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:80]} .."


for _kind in CEL_KINDS:
    picture.register(_kind)(formula_graph)
for _kind in SREMO_KINDS:
    picture.register(_kind)(sremo_graph)
