"""Values as networkx graphs with all their parts as attributes, and back.

The graph is that of the value: states, transitions and nodes in order, without parts that exist
only in drawings. A state is named by its number; other nodes by their id in `cerlab.viz.graph`
(``n0``). The attribute ``index`` of an edge is its place in the order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from enum import Enum
from typing import Any

from cerlab.automata.automaton import Automaton, EmptyMove
from cerlab.automata.registers import EpsilonSrt, Srt
from cerlab.errors import BadData, needed
from cerlab.logic.gcq import Atom, Gcq
from cerlab.predicates import condition as conditions
from cerlab.predicates import syntax as predicates
from cerlab.predicates.text import predicate_text
from cerlab.viz.formulas import CEL_KINDS, SREMO_KINDS
from cerlab.viz.graph import EdgeKind, NodeKind, graph_of
from cerlab.viz.machines import NAMES

_LANGUAGES = {
    "cel": {kind.__name__: kind for kind in CEL_KINDS},
    "sremo": {kind.__name__: kind for kind in SREMO_KINDS},
}
_KINDS = {name: kind for kind, (name, _) in NAMES.items()}


def to_networkx(value: object) -> Any:
    """Return a value as a ``networkx.MultiDiGraph``, which `from_networkx` reads back.

    Nodes have the attributes ``text``, ``kind`` and their parts: ``state``, ``initial`` and
    ``final`` for states; ``production`` and its fields for formulas. Edges have ``text``, ``kind``,
    ``index`` and their parts: ``predicate`` and ``mark`` or ``labels``; ``guard``, ``mark`` and
    ``writes`` of a transducer. The graph has ``kind`` for a machine, ``language`` for a formula.
    Predicates and guards are values of cerlab.

    Args:
        value: A formula, a machine or another value that `graph_of` accepts.

    Raises:
        Unsupported: The value is not a graph, or networkx is missing.

    >>> from cerlab.api import parse_formula
    >>> to_networkx(parse_formula("A ; B")).number_of_nodes()
    3
    """
    graph = graph_of(value)
    with needed("networkx", "pip install 'cerlab[viz]'", "CER0416"):
        from networkx import MultiDiGraph
    network = MultiDiGraph(name=graph.name, title=graph.title, **graph.parts)
    name = {node.id: node.parts.get("state", node.id) for node in graph.nodes}
    for node in graph.nodes:
        parts = {"text": node.label, "kind": node.kind.value, **node.parts}
        network.add_node(name[node.id], **parts)
    for index, edge in enumerate(graph.edges):
        if edge.kind is not EdgeKind.LISTED:
            parts = {"text": edge.label, "kind": edge.kind.value, "index": index, **edge.parts}
            network.add_edge(name[edge.source], name[edge.target], **parts)
    network.remove_nodes_from([name[n.id] for n in graph.nodes if n.kind is NodeKind.TABLE])
    return network


def plain_networkx(value: object) -> Any:
    """Return the graph of `to_networkx` with plain attributes, for GraphML, GML, GEXF and JSON.

    `write_graphml`, `write_gml`, `write_gexf` and JSON accept these. Parts that are None are
    omitted. `from_networkx` does not read this graph. Raises as `to_networkx`.
    """
    network = to_networkx(value)
    nodes = (parts for _, parts in network.nodes(data=True))
    edges = (parts for _, _, parts in network.edges(data=True))
    for parts in (network.graph, *nodes, *edges):
        plain = {name: _plain(part) for name, part in parts.items() if part is not None}
        parts.clear()
        parts.update(plain)
    return network


def _plain(part: Any) -> bool | int | float | str:
    """Return a part as a text, number or Boolean, which every graph format supports."""
    if isinstance(part, bool | int | float | str):
        return part
    if isinstance(part, Enum):
        return str(part.value)
    if isinstance(part, set | frozenset):
        return ", ".join(sorted(str(_plain(each)) for each in part))
    if isinstance(part, Mapping):
        return ", ".join(f"{name}: {_plain(each)}" for name, each in part.items())
    # predicates are named tuples or dataclasses, other tuples are lists
    if isinstance(part, list | tuple) and not hasattr(part, "_fields"):
        return ", ".join(str(_plain(each)) for each in part)
    is_test = type(part).__module__ in (predicates.__name__, conditions.__name__)
    return predicate_text(part) if is_test else str(part)


def from_networkx(network: Any) -> Any:
    """Return the machine, formula, SREMO or conjunctive query that `to_networkx` has converted.

    The graph may have been edited or built by hand; the parts are read, not the labels. A machine
    needs these attributes:

    - graph: ``kind``, one of ``"vcea"``, ``"ucea"``, ``"cea"``, ``"anchored_cea"``,
      ``"epsilon_cea"`` and ``"srt"``; an ``"srt"`` also ``R``, the set of its registers, and
      ``has_moves``, whether it has empty moves
    - nodes: ``state``, a number from 0; ``initial`` and ``final``, truth values
    - edges: ``index``, the place in the order; ``kind``, ``"empty"`` for an empty move; and
      ``predicate`` with ``mark`` or ``labels``; in an ``"srt"`` ``guard``, ``mark`` and ``writes``

    Args:
        network: A graph as `to_networkx` returns it.

    Raises:
        BadData: The graph is of another kind or lacks parts.
        IllFormed: The machine is not valid.

    >>> from networkx import MultiDiGraph
    >>> from cerlab.automata.automaton import Mark
    >>> from cerlab.predicates.syntax import TypeIs
    >>> graph = MultiDiGraph(kind="cea")
    >>> graph.add_node(0, state=0, initial=True, final=False)
    >>> graph.add_node(1, state=1, initial=False, final=True)
    >>> _ = graph.add_edge(0, 1, index=0, kind="take", predicate=TypeIs("A"), mark=Mark.TAKE)
    >>> print(from_networkx(graph))
    CEA: 2 states, initial 0, final {1}
      0 -> 1  type = 'A' / •

    >>> from cerlab.api import parse_formula
    >>> print(from_networkx(to_networkx(parse_formula("A ; B+"))))
    A ; B+
    """
    try:
        if "language" in network.graph:
            return _formula(network, _LANGUAGES[network.graph["language"]], _root(network))
        return _query(network) if network.graph["kind"] == "gcq" else _machine(network)
    except (KeyError, TypeError, ValueError) as error:
        raise BadData(
            "CER0759",
            f"this graph lacks a part of a machine or formula: {error}",
            hint="help(cerlab.from_networkx) lists the attributes",
        ) from None


def _edges(network: Any) -> list[tuple[int, int, dict[str, Any]]]:
    """Return the edges between states, in order."""
    number = {node: parts["state"] for node, parts in network.nodes(data=True)}
    edges = sorted(network.edges(data=True), key=lambda edge: edge[2]["index"])
    return [(number[source], number[target], parts) for source, target, parts in edges]


def _machine(network: Any) -> Any:
    states = network.number_of_nodes()
    parts_of = [parts for _, parts in network.nodes(data=True)]
    I = frozenset(parts["state"] for parts in parts_of if parts["initial"])
    F = frozenset(parts["state"] for parts in parts_of if parts["final"])
    edges = _edges(network)
    moves = tuple(EmptyMove(p, q) for p, q, e in edges if e["kind"] == EdgeKind.EMPTY.value)
    read = [edge for edge in edges if edge[2]["kind"] != EdgeKind.EMPTY.value]
    name, R = network.graph["kind"], frozenset[str]()
    if name == "srt":
        R = network.graph["R"]
        kind: type[Automaton[Any]] = EpsilonSrt if network.graph["has_moves"] else Srt
    elif name in _KINDS:
        kind = _KINDS[name]
    else:
        raise ValueError(f"graphs of the kind '{name}' are not read back")
    # without the first and the last field, which are the source and the target
    labels = kind.step._fields[1:-1]  # type: ignore[attr-defined] # a named tuple
    Delta = tuple(kind.step(p, *(e[part] for part in labels), q) for p, q, e in read)
    return kind(states, Delta, I, F, moves=moves, R=R)


def _query(network: Any) -> Gcq:
    variable = dict(network.nodes(data="variable"))
    atoms, predicates = [], []
    for node, parts in network.nodes(data=True):
        if "relation" in parts:
            columns = sorted((c, v) for _, v, c in network.out_edges(node, data="column"))
            atoms.append(Atom(parts["relation"], tuple(variable[v] for _, v in columns)))
        elif "predicate" in parts:
            predicates.append(parts["predicate"])
    return Gcq(network.graph["head"], tuple(atoms), tuple(predicates))


def _root(network: Any) -> Any:
    (root,) = (node for node, entering in network.in_degree() if entering == 0)
    return root


def _formula(network: Any, productions: dict[str, Any], node: Any) -> Any:
    parts = network.nodes[node]
    production = productions[parts["production"]]
    edges = sorted(network.out_edges(node, data="index"), key=lambda edge: edge[2])
    below = [_formula(network, productions, child) for _, child, _ in edges]
    names = [f.name for f in fields(production)]
    if "operands" in names:
        return production(tuple(below))
    children = iter(below)
    return production(*(parts[name] if name in parts else next(children) for name in names))
