"""Machines as graphs: a node for each state, an edge for each transition, in the order of Delta.

Edges of a register transducer say guard / mark ↓ written registers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

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
from cerlab.automata.registers.transducer import EpsilonSrt, RegisterTransition, Srt, Transducer
from cerlab.predicates.text import name_text, predicate_text
from cerlab.predicates.words import count_text
from cerlab.viz.graph import Edge, EdgeKind, Graph, Node, NodeKind, picture

Automaton: TypeAlias = Vcea | Ucea | IntervalCea | AnchoredCea | EpsilonCea

NAMES: dict[type[Automaton], tuple[str, str]] = {
    Vcea: ("vcea", "VCEA"),
    Ucea: ("ucea", "UCEA"),
    IntervalCea: ("cea", "CEA"),
    AnchoredCea: ("anchored_cea", "CEA from position 0"),
    EpsilonCea: ("epsilon_cea", "CEA with empty moves"),
}
"""What graphs of a kind are called, and their title."""


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
    heading: str,
    nodes: tuple[Node, ...],
    edges: tuple[Edge, ...],
    *,
    legend: tuple[str, ...] = (),
    note: str = "",
    **parts: object,
) -> Graph:
    """States and transitions, from left to right, with a title that counts them."""
    title = f"{heading}: {count_text(len(nodes), 'state')}, {count_text(len(edges), 'transition')}"
    return Graph(name, title, nodes, edges, legend=legend, note=note, parts={"kind": name, **parts})


def mark_kind(mark: Mark) -> EdgeKind:
    """Transitions that take are drawn apart from those that skip."""
    return EdgeKind.TAKE if mark is Mark.TAKE else EdgeKind.SKIP


@picture.register(Vcea)
@picture.register(Ucea)
@picture.register(IntervalCea)
@picture.register(AnchoredCea)
@picture.register(EpsilonCea)
def automaton_graph(A: Automaton, limit: int | None = None) -> Graph:
    """An automaton; edges say predicate / mark, or predicate / labels, and empty moves ε."""
    name, heading = NAMES[type(A)]
    initial = {A.q0} if isinstance(A, IntervalCea) else A.I
    edges = tuple(map(_edge, A.Delta))
    if isinstance(A, EpsilonCea):
        edges += tuple(map(empty_edge, A.moves))
    return state_graph(name, heading, state_nodes(map(str, range(A.states)), initial, A.F), edges)


def _edge(t: Transition | LabelTransition) -> Edge:
    source, target, predicate = f"q{t.source}", f"q{t.target}", predicate_text(t.predicate)
    parts: dict[str, object] = {"predicate": t.predicate}
    if isinstance(t, Transition):
        parts["mark"] = t.mark
        return Edge(source, target, f"{predicate} / {t.mark.value}", mark_kind(t.mark), parts)
    kind = EdgeKind.TAKE if t.labels else EdgeKind.SKIP
    labels = f"{{{', '.join(map(name_text, sorted(t.labels)))}}}" if t.labels else "∘"
    parts["labels"] = t.labels
    return Edge(source, target, f"{predicate} / {labels}", kind, parts)


def empty_edge(move: EmptyMove) -> Edge:
    """An empty move, which says ε."""
    return Edge(f"q{move.source}", f"q{move.target}", "ε", EdgeKind.EMPTY)


def edge_text(t: RegisterTransition) -> str:
    """What a transition asks, whether it marks, and what it writes.

    >>> from cerlab.automata.automaton import Mark
    >>> from cerlab.predicates.syntax import TypeIs
    >>> edge_text(RegisterTransition(0, TypeIs("B"), Mark.TAKE, frozenset({"s", "r"}), 1))
    "type = 'B' / • ↓ r, s"
    """
    writes = f" ↓ {', '.join(map(name_text, sorted(t.writes)))}" if t.writes else ""
    return f"{predicate_text(t.guard)} / {t.mark.value}{writes}"


@picture.register(Srt)
@picture.register(EpsilonSrt)
def srt_graph(
    T: Transducer, limit: int | None = None, *, names: Iterable[str] | None = None
) -> Graph:
    """A transducer; `names` are what its states are called, their numbers if it is not given."""
    state_names = list(names) if names is not None else [str(q) for q in range(T.states)]
    nodes = state_nodes(state_names, {T.q0}, T.F)
    edges = tuple(map(_register_edge, T.Delta)) + tuple(map(empty_edge, T.moves))
    registers = ", ".join(map(name_text, sorted(T.R))) or "none"
    return state_graph(
        "srt",
        f"SRT with registers {registers}",
        nodes,
        edges,
        R=T.R,
        has_moves=isinstance(T, EpsilonSrt),
    )


def _register_edge(t: RegisterTransition) -> Edge:
    parts = {"guard": t.guard, "mark": t.mark, "writes": t.writes}
    return Edge(f"q{t.source}", f"q{t.target}", edge_text(t), mark_kind(t.mark), parts)
