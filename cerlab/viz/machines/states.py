"""Machines as graphs: a node for each state, an edge for each transition, in the order of Delta."""

from __future__ import annotations

from collections.abc import Iterable

from cerlab.automata.automaton import (
    AnchoredCea,
    EmptyMove,
    EpsilonCea,
    IntervalCea,
    LabelTransition,
    Mark,
    Transition,
    Ucea,
    Vcea,
)
from cerlab.predicates.text import predicate_text
from cerlab.viz.graph import Edge, EdgeKind, Graph, Node, NodeKind, registered
from cerlab.viz.machines.text import labels_text


def state_nodes(
    names: Iterable[str], initial: Iterable[int], final: Iterable[int]
) -> tuple[Node, ...]:
    """The states ``q0, q1, ..``, by what they are called."""
    I, F = frozenset(initial), frozenset(final)
    return tuple(
        Node(
            f"q{q}",
            name,
            NodeKind.FINAL if q in F else NodeKind.STATE,
            {"state": q, "initial": q in I, "final": q in F},
            is_initial=q in I,
        )
        for q, name in enumerate(names)
    )


def state_graph(
    name: str,
    called: str,
    nodes: tuple[Node, ...],
    edges: tuple[Edge, ...],
    *,
    legend: tuple[str, ...] = (),
    note: str = "",
    **parts: object,
) -> Graph:
    """States and transitions, from left to right, with a title that counts them."""
    title = f"{called}: {_count(len(nodes), 'state')}, {_count(len(edges), 'transition')}"
    return Graph(name, title, nodes, edges, legend=legend, note=note, parts={"kind": name, **parts})


def mark_kind(mark: Mark) -> EdgeKind:
    """Transitions that take are drawn apart from those that skip."""
    return EdgeKind.TAKE if mark is Mark.TAKE else EdgeKind.SKIP


@registered(Vcea)
def vcea_graph(A: Vcea, limit: int | None = None) -> Graph:
    """A VCEA; edges say predicate / labels."""
    nodes = state_nodes(map(str, range(A.states)), A.I, A.F)
    return state_graph("vcea", "VCEA", nodes, tuple(map(_labelled, A.Delta)))


@registered(Ucea)
def ucea_graph(A: Ucea, limit: int | None = None) -> Graph:
    """A UCEA; edges say predicate / labels."""
    nodes = state_nodes(map(str, range(A.states)), A.I, A.F)
    return state_graph("ucea", "UCEA", nodes, tuple(map(_labelled, A.Delta)))


@registered(IntervalCea)
def cea_graph(A: IntervalCea, limit: int | None = None) -> Graph:
    """A CEA on intervals; edges say predicate / mark."""
    nodes = state_nodes(map(str, range(A.states)), {A.q0}, A.F)
    return state_graph("cea", "CEA", nodes, tuple(map(_marked, A.Delta)))


@registered(AnchoredCea)
def anchored_graph(A: AnchoredCea, limit: int | None = None) -> Graph:
    """A CEA whose runs read from position 0; edges say predicate / mark."""
    nodes = state_nodes(map(str, range(A.states)), A.I, A.F)
    return state_graph("anchored_cea", "CEA from position 0", nodes, tuple(map(_marked, A.Delta)))


@registered(EpsilonCea)
def epsilon_graph(A: EpsilonCea, limit: int | None = None) -> Graph:
    """A CEA with empty moves, which say ε."""
    nodes = state_nodes(map(str, range(A.states)), A.I, A.F)
    edges = tuple(map(_marked, A.Delta)) + tuple(map(empty_edge, A.moves))
    return state_graph("epsilon_cea", "CEA with empty moves", nodes, edges)


def _labelled(t: LabelTransition) -> Edge:
    label = f"{predicate_text(t.predicate)} / {labels_text(t.labels)}"
    kind = EdgeKind.TAKE if t.labels else EdgeKind.SKIP
    parts = {"predicate": t.predicate, "labels": t.labels}
    return Edge(f"q{t.source}", f"q{t.target}", label, kind, parts)


def _marked(t: Transition) -> Edge:
    label = f"{predicate_text(t.predicate)} / {t.mark.value}"
    parts = {"predicate": t.predicate, "mark": t.mark}
    return Edge(f"q{t.source}", f"q{t.target}", label, mark_kind(t.mark), parts)


def empty_edge(move: EmptyMove) -> Edge:
    """An empty move, which says ε."""
    return Edge(f"q{move.source}", f"q{move.target}", "ε", EdgeKind.EMPTY)


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}" + ("" if n == 1 else "s")
