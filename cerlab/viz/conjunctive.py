"""Conjunctive queries as graphs: what is joined with what (DQE Def. 1).

Variables are circles, double ones those of the head; atoms and predicates are boxes. A line leads
from an atom to each variable that it has, a dashed one from a predicate to what it is asked of.
"""

from __future__ import annotations

from cerlab.logic.gcq.syntax import Atom, Gcq
from cerlab.logic.gcq.text import atom_text, gcq_text
from cerlab.predicates.mentions import attributes_of
from cerlab.predicates.text import name_text, predicate_text
from cerlab.predicates.words import count_text, cut
from cerlab.viz.graph import Edge, EdgeKind, Graph, Node, NodeKind, picture


@picture.register(Gcq)
def gcq_graph(query: Gcq, limit: int | None = None) -> Graph:
    """A query as its variables, its atoms and its predicates."""
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
    """One atom, as in a query without a head."""
    return gcq_graph(Gcq((), (atom,)))
