"""Symbolic register transducers as graphs: edges say guard / mark ↓ written registers."""

from __future__ import annotations

from collections.abc import Iterable

from cerlab.automata.registers import EpsilonSrt, RegisterTransition, Srt, Transducer
from cerlab.predicates.text import name_text, predicate_text
from cerlab.viz.graph import Edge, Graph, picture
from cerlab.viz.machines.states import empty_edge, mark_kind, state_graph, state_nodes


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
    edges = tuple(map(_edge, T.Delta)) + tuple(map(empty_edge, T.moves))
    registers = ", ".join(map(name_text, sorted(T.R))) or "none"
    return state_graph(
        "srt",
        f"SRT with registers {registers}",
        nodes,
        edges,
        R=T.R,
        has_moves=isinstance(T, EpsilonSrt),
    )


def _edge(t: RegisterTransition) -> Edge:
    parts = {"guard": t.guard, "mark": t.mark, "writes": t.writes}
    return Edge(f"q{t.source}", f"q{t.target}", edge_text(t), mark_kind(t.mark), parts)
