"""Formulas and derivations drawn as trees, and conjunctive queries as graphs (DQE Def. 1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any, TypeAlias, get_args

from cerlab.compile.pattern import Pattern
from cerlab.display import tree_lines
from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.syntax import Formula
from cerlab.logic.cel.text import node_text
from cerlab.logic.ceql.syntax import CeqlQuery
from cerlab.logic.gcq import Atom, Gcq, atom_text, gcq_text
from cerlab.logic.sremo import syntax as sremo
from cerlab.logic.sremo.parser import node_text as expression_node_text
from cerlab.model.answer import Valuation
from cerlab.model.event import Event
from cerlab.predicates.syntax import attributes_of
from cerlab.predicates.text import count_text, cut, event_text, name_text, predicate_text
from cerlab.viz.graph import Edge, EdgeKind, Graph, Node, NodeKind, picture
from cerlab.why.deduction import Derivation, Reading

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
    """Return a formula as a tree in text, one node per line.

    >>> print(tree_text(cel.Seq(cel.Atom("A"), cel.Plus(cel.Atom("B")))))
    ;
    ├─ A
    └─ +
       └─ B
    """
    return tree_lines(phi, node_text, cel.children)


def sremo_tree_text(e: sremo.Sremo) -> str:
    """Return a SREMO as a tree in text, one node per line.

    >>> print(sremo_tree_text(sremo.Star(sremo.EPSILON)))
    *
    └─ EPS
    """
    return tree_lines(e, expression_node_text, sremo.children)


def tree(
    root: Any, node_of: Callable[[str, Any], Node], children: Callable[[Any], Sequence[Any]]
) -> tuple[tuple[Node, ...], tuple[Edge, ...]]:
    """Return a tree as nodes in preorder and edges to children.

    The part `index` of an edge is the number of the child among its siblings.
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
    """Return the name of a node's class and its fields, except subformulas."""
    below = CEL_KINDS + SREMO_KINDS
    values = {f.name: getattr(value, f.name) for f in fields(value)}
    parts = {
        name: part
        for name, part in values.items()
        if not isinstance(part, below) and name != "operands"
    }
    return {"production": type(value).__name__, **parts}


def formula_graph(phi: cel.Formula, limit: int | None = None) -> Graph:
    """Return a CEL formula as a tree."""
    nodes, edges = tree(phi, _node_of(node_text), cel.children)
    title = f"CEL formula of {count_text(len(nodes), 'node')}: {_start(str(phi))}"
    return Graph("formula", title, nodes, edges, "TB", parts={"language": "cel"})


def sremo_graph(e: sremo.Sremo, limit: int | None = None) -> Graph:
    """Return a SREMO as a tree."""
    nodes, edges = tree(e, _node_of(expression_node_text), sremo.children)
    title = f"SREMO of {count_text(len(nodes), 'node')}: {_start(str(e))}"
    return Graph("sremo", title, nodes, edges, "TB", parts={"language": "sremo"})


def _node_of(says: Callable[[Any], str]) -> Callable[[str, Any], Node]:
    return lambda name, value: Node(name, says(value), NodeKind.PART, own_parts(value))


@picture.register(Pattern)
@picture.register(CeqlQuery)
def query_graph(query: Pattern | CeqlQuery, limit: int | None = None) -> Graph:
    """Return the formula of a query as a tree."""
    return formula_graph(query.formula)


def _start(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:80]} .."


for _kind in CEL_KINDS:
    picture.register(_kind)(formula_graph)


for _kind in SREMO_KINDS:
    picture.register(_kind)(sremo_graph)


AnyDerivation: TypeAlias = Derivation[Any, Any]

MOST_WORDS = 5
"""Most failures in the legend."""

LONGEST_EVENT = 40
"""Longest event in a node, in characters."""


@picture.register(Derivation)
def derivation_graph(
    root: AnyDerivation, limit: int | None = None, events: Mapping[int, Event] | None = None
) -> Graph:
    """Return a derivation as a tree, with events at its leaves."""
    nodes, edges = tree(
        root, lambda name, node: _node(name, node, events or {}), lambda node: node.children
    )
    words = [failure.words for failure in root.failures]
    more = [f".. and {len(words) - MOST_WORDS:,} more"] if len(words) > MOST_WORDS else []
    title = f"Derivation of {len(nodes):,} nodes: {'not ' * bool(words)}a match"
    legend = (*words[:MOST_WORDS], *more)
    return Graph("derivation", title, nodes, edges, "TB", legend=legend)


def _node(name: str, node: AnyDerivation, events: Mapping[int, Event]) -> Node:
    value = node.valuation
    parts, under = _reading_parts(value) if isinstance(value, Reading) else _valuation_parts(value)
    if node.until is not None:
        parts, under = parts | {"until": node.until}, f"{under}\nuntil {node.until}"
    at = parts.get("start")
    if not node.children and at in events and at == parts["end"]:
        _, *more = under.split("\n")
        under = "\n".join([f"{at}: {event_text(events[at], LONGEST_EVENT)}", *more])
    failing = any(failure.path == node.path for failure in node.failures)
    return Node(
        name,
        _part(node) + " ✗" * failing,
        NodeKind.FAILED if failing else NodeKind.PART,
        own_parts(node.part) | parts,
        under=under,
        is_faded=not parts and not failing,
    )


def _part(node: AnyDerivation) -> str:
    """Return the operator of a node as text; for a SREMO node without children, the expression."""
    if isinstance(node.part, Formula):
        return node_text(node.part)
    return expression_node_text(node.part) if node.children else str(node.part)


def _valuation_parts(V: Valuation | None) -> tuple[dict[str, Any], str]:
    """Return a valuation as attributes of a node, and as text."""
    if V is None:
        return {}, "no event"
    labels = (f"{name_text(X)} {{{', '.join(map(str, D))}}}" for X, D in sorted(V.labels.items()))
    parts = {"start": V.start, "end": V.end, "positions_of": dict(V.labels)}
    return parts, "\n".join([f"[{V.start}, {V.end}]", *labels])


def _reading_parts(reading: Reading) -> tuple[dict[str, Any], str]:
    """Return a match of a SREMO as attributes of a node, and as text."""
    start, end, marks = reading.start, reading.end, reading.marks
    if end == start:
        return {}, "no event"
    registers = dict(reading.registers)
    under = [f"[{start}, {end - 1}]"]
    if marks:
        under.append(f"^ {{{', '.join(map(str, marks))}}}")
    under += [f"{name_text(r)} = {'?' if p is None else p}" for r, p in registers.items()]
    parts = {"start": start, "end": end - 1, "marks": marks, "registers": registers}
    return parts, "\n".join(under)


@picture.register(Gcq)
def gcq_graph(query: Gcq, limit: int | None = None) -> Graph:
    """Return a conjunctive query as a graph of its variables, atoms and predicates."""
    names = tuple(dict.fromkeys(v for atom in query.atoms for v in atom.variables))
    variables = {name: f"v{n}" for n, name in enumerate(names)}
    nodes = [_variable(id, name, query) for name, id in variables.items()]
    edges = []
    for a, atom in enumerate(query.atoms):
        nodes.append(_box(f"a{a}", atom_text(atom), relation=atom.relation))
        for n, name in enumerate(atom.variables):
            edges.append(Edge(f"a{a}", variables[name], "", EdgeKind.COLUMN, {"column": n}))
    for p, predicate in enumerate(query.predicates):
        nodes.append(_box(f"p{p}", predicate_text(predicate), predicate=predicate))
        operands = [variables[name] for name in attributes_of([predicate])]
        edges += [Edge(f"p{p}", variable, "", EdgeKind.ASKED) for variable in operands]
    title = (
        f"Conjunctive query of {count_text(len(query.atoms), 'atom')}: {cut(gcq_text(query), 80)}"
    )
    return Graph(
        "gcq", title, tuple(nodes), tuple(edges), "TB", parts={"kind": "gcq", "head": query.head}
    )


def _variable(id: str, name: str, query: Gcq) -> Node:
    kind = NodeKind.FINAL if name in query.head else NodeKind.STATE
    return Node(id, name_text(name), kind, {"variable": name})


def _box(id: str, says: str, **parts: object) -> Node:
    return Node(id, says, NodeKind.PART, parts)


@picture.register(Atom)
def atom_graph(atom: Atom, limit: int | None = None) -> Graph:
    """Return an atom of a conjunctive query as a graph."""
    return gcq_graph(Gcq((), (atom,)))
