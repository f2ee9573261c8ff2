"""Machines and lists of minterms as graphs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeAlias

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
from cerlab.automata.registers import EpsilonSrt, RegisterTransition, Srt, Transducer
from cerlab.display import drawable
from cerlab.errors import ResourceLimit
from cerlab.model.event import Schema
from cerlab.predicates import syntax as pred
from cerlab.predicates.minterms import Minterm, minterms
from cerlab.predicates.text import count_text, event_text, name_text, predicate_text
from cerlab.rows.compile import prioritised_automaton
from cerlab.rows.machine import Accept, PrioritisedAutomaton, Steps, step_table
from cerlab.rows.syntax import RowPattern
from cerlab.viz.graph import Edge, EdgeKind, Graph, Node, NodeKind, picture
from cerlab.viz.html import Grid, grid_graph

Automaton: TypeAlias = Vcea | Ucea | IntervalCea | AnchoredCea | EpsilonCea

NAMES: dict[type[Automaton], tuple[str, str]] = {
    Vcea: ("vcea", "VCEA"),
    Ucea: ("ucea", "UCEA"),
    IntervalCea: ("cea", "CEA"),
    AnchoredCea: ("anchored_cea", "CEA from position 0"),
    EpsilonCea: ("epsilon_cea", "CEA with empty moves"),
}
"""Name and title of the graphs of each class."""


def state_nodes(
    names: Iterable[str], initial: Iterable[int], final: Iterable[int]
) -> tuple[Node, ...]:
    """Return nodes ``q0, q1, ..`` for states, labelled by name."""
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
    """Return a graph of states and transitions from left to right; its title has their numbers."""
    title = f"{heading}: {count_text(len(nodes), 'state')}, {count_text(len(edges), 'transition')}"
    return Graph(name, title, nodes, edges, legend=legend, note=note, parts={"kind": name, **parts})


def mark_kind(mark: Mark) -> EdgeKind:
    """Return the kind of edge for a mark."""
    return EdgeKind.TAKE if mark is Mark.TAKE else EdgeKind.SKIP


@picture.register(Vcea)
@picture.register(Ucea)
@picture.register(IntervalCea)
@picture.register(AnchoredCea)
@picture.register(EpsilonCea)
def automaton_graph(A: Automaton, limit: int | None = None) -> Graph:
    """Return an automaton as a graph; an edge shows the predicate, and the mark or the labels."""
    name, heading = NAMES[type(A)]
    initial = {A.q0} if isinstance(A, IntervalCea) else A.I
    edges = tuple(map(_edge, A.Delta))
    if isinstance(A, EpsilonCea):
        edges += tuple(map(empty_edge, A.moves))
    return state_graph(name, heading, state_nodes(map(str, range(A.states)), initial, A.F), edges)


def _edge(t: Transition | LabelTransition) -> Edge:
    source, target = f"q{t.source}", f"q{t.target}"
    predicate = predicate_text(short_guard(t.predicate))
    parts: dict[str, object] = {"predicate": t.predicate}
    if isinstance(t, Transition):
        parts["mark"] = t.mark
        return Edge(source, target, f"{predicate} / {t.mark.value}", mark_kind(t.mark), parts)
    kind = EdgeKind.TAKE if t.labels else EdgeKind.SKIP
    labels = f"{{{', '.join(map(name_text, sorted(t.labels)))}}}" if t.labels else "∘"
    parts["labels"] = t.labels
    return Edge(source, target, f"{predicate} / {labels}", kind, parts)


def short_guard(P: pred.Predicate) -> pred.Predicate:
    """Return a guard without tests of the event type that another of its tests makes redundant.

    An event has one type. A guard that no event passes stays, since it is an edge of the machine.

    >>> predicate_text(short_guard(pred.And(pred.TypeIs("A"), pred.Not(pred.TypeIs("C")))))
    "type = 'A'"
    """
    parts = list(pred.conjuncts(P))
    kind = next((part for part in parts if isinstance(part, pred.TypeIs)), None)
    if kind is None:
        return P
    rest: list[pred.Predicate] = [kind, *(_with_type(part, kind.type) for part in parts)]
    return P if pred.FALSE in rest else reduce(pred.conjunction, rest)


MOST_LEVELS = 100
"""Levels of a guard that are shortened: deeper ones would exceed Python's stack."""


def _with_type(P: pred.Predicate, kind: str, level: int = 0) -> pred.Predicate:
    """Return the predicate simplified for events of type `kind`."""
    if level > MOST_LEVELS:
        return P
    match P:
        case pred.TypeIs(name):
            return pred.EVERYTHING if name == kind else pred.FALSE
        case pred.And(left, right):
            return pred.conjunction(
                _with_type(left, kind, level + 1), _with_type(right, kind, level + 1)
            )
        case pred.Or(left, right):
            return pred.disjunction(
                _with_type(left, kind, level + 1), _with_type(right, kind, level + 1)
            )
        case pred.Not(operand):
            return pred.negation(_with_type(operand, kind, level + 1))
        case _:
            return P


def empty_edge(move: EmptyMove) -> Edge:
    """Return an empty move as an edge with label ε."""
    return Edge(f"q{move.source}", f"q{move.target}", "ε", EdgeKind.EMPTY)


def edge_text(t: RegisterTransition) -> str:
    """Return the label of a transition: its condition, its mark, and the registers that it writes.

    >>> from cerlab.automata.automaton import Mark
    >>> from cerlab.predicates.syntax import TypeIs
    >>> edge_text(RegisterTransition(0, pred.TypeIs("B"), Mark.TAKE, frozenset({"s", "r"}), 1))
    "type = 'B' / • ↓ r, s"
    """
    writes = f" ↓ {', '.join(map(name_text, sorted(t.writes)))}" if t.writes else ""
    return f"{predicate_text(t.guard)} / {t.mark.value}{writes}"


@picture.register(Srt)
@picture.register(EpsilonSrt)
def srt_graph(
    T: Transducer, limit: int | None = None, *, names: Iterable[str] | None = None
) -> Graph:
    """Return a transducer as a graph; `names` replaces the numbers of states."""
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


@picture.register(RowPattern)
def row_pattern_graph(query: RowPattern, limit: int | None = None) -> Graph:
    """Return the automaton of a row pattern's PATTERN as a graph."""
    return prioritised_graph(prioritised_automaton(query.pattern), limit)


@picture.register(PrioritisedAutomaton)
def prioritised_graph(automaton: PrioritisedAutomaton[Any], limit: int | None = None) -> Graph:
    """Return a prioritised automaton as a graph.

    An edge ``2. A`` is tried second and reads a row as A; ``2.`` below a final state is its turn to
    accept, and ``$`` means that it accepts only after the last row. If anchors matter, ``^`` is the
    initial state for the first row and 0 for the others.
    """
    table = step_table(automaton)
    if table is None:
        message = "the automaton is too large to draw"
        raise ResourceLimit("CER0695", message, hint="make the bounds of quantifiers smaller")
    has_anchors = table.steps[table.first_row] != table.steps[0]
    step_lists = table.steps if has_anchors else table.steps[: table.first_row]
    nodes: list[Node] = []
    edges: list[Edge] = []
    for q, steps in enumerate(step_lists):
        first = q == table.first_row
        turn = next((n for n, step in enumerate(steps, 1) if isinstance(step, Accept)), None)
        at_end = not first and bool(table.final >> q & 1)
        final = turn is not None or at_end
        nodes.append(
            Node(
                f"q{q}",
                "^" if first else str(q),
                NodeKind.FINAL if final else NodeKind.STATE,
                {"state": q, "initial": q == 0 or first, "final": final, "accepts": turn},
                is_initial=q == 0 or first,
                under=f"{turn}." if turn is not None else "$" if at_end else "",
            )
        )
        edges += _edges(q, steps)
    return state_graph("prioritised", "prioritised automaton", tuple(nodes), tuple(edges))


def _edges(q: int, steps: Steps) -> Iterator[Edge]:
    for turn, step in enumerate(steps, 1):
        if isinstance(step, Accept):
            continue
        word = f"{{- {step.variable} -}}" if step.excluded else step.variable
        parts = {"turn": turn, "variable": step.variable, "excluded": step.excluded}
        yield Edge(f"q{q}", f"q{step.target}", f"{turn}. {word}", EdgeKind.TAKE, parts)


EXAMPLE = 200
"""Longest example, in characters."""


@drawable
@dataclass(frozen=True, slots=True, repr=False)
class MintermList:
    """The truth vectors of some predicates that events may have, each with an example."""

    predicates: tuple[pred.Predicate, ...]
    minterms: tuple[Minterm, ...]

    def __repr__(self) -> str:
        return (
            f"<MintermList, {len(self.minterms):,} minterms of {len(self.predicates):,} predicates>"
        )


def listed_minterms(
    predicates: Sequence[pred.Predicate], schema: Schema | None = None
) -> MintermList:
    """Return the minterms of some predicates; raises the errors of `minterms`."""
    return MintermList(tuple(predicates), minterms(predicates, schema=schema))


def minterms_grid(vectors: MintermList, limit: int | None = None) -> Grid:
    """Return minterms as a grid: a column for each predicate, and an example event.

    >>> from cerlab.predicates.syntax import TypeIs
    >>> from cerlab.viz.html import grid_text
    >>> print(grid_text(minterms_grid(listed_minterms([pred.TypeIs("A")]))))
    2 minterms of 1 predicate
    type = 'A'  such as
    -           other()
    holds       A()
    """
    every, predicates = vectors.minterms, vectors.predicates
    rows = [(*map(predicate_text, predicates), "such as")]
    for m in every[:limit]:
        holds = ("holds" if m.symbol >> bit & 1 else "-" for bit in range(len(predicates)))
        rows.append((*holds, event_text(m.example, EXAMPLE) if m.example else "(not decided)"))
    title = f"{count_text(len(every), 'minterm')} of {count_text(len(predicates), 'predicate')}"
    cut = limit is not None and len(every) > limit
    note = f"showing {limit:,} of {len(every):,}" if cut else ""
    return Grid(title, tuple(rows), note=note)


@picture.register(MintermList)
def minterms_graph(vectors: MintermList, limit: int | None = None) -> Graph:
    """Return minterms as a graph with one node."""
    grid = minterms_grid(vectors, limit)
    return grid_graph("minterms", grid.title, grid)
