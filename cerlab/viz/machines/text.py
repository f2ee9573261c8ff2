"""Machines as plain text, for terminals and for `str`."""

from __future__ import annotations

from collections.abc import Iterable

from cerlab.automata.automaton import IntervalCea, Vcea
from cerlab.automata.determinise import DeterministicCea
from cerlab.automata.registers.transducer import EpsilonSrt, Srt
from cerlab.automata.strategy import StrategyCea
from cerlab.predicates.text import name_text
from cerlab.predicates.words import count_text
from cerlab.viz.graph import Graph, NodeKind, graph_of
from cerlab.viz.machines.exploration import ExploredCea, explore


def machine_text(machine: object) -> str:
    """A machine that is a graph (see `graph_of`), one transition a line."""
    graph = graph_of(machine)
    names = {node.id: node.label for node in graph.nodes}
    edges = (f"  {names[e.source]} -> {names[e.target]}  {e.label}" for e in graph.edges)
    return "\n".join([_head(machine, graph), *edges])


def _head(machine: object, graph: Graph) -> str:
    states = count_text(len(graph.nodes), "state")
    final = _set(node.label for node in graph.nodes if node.kind is NodeKind.FINAL)
    match machine:
        case Vcea():
            return f"VCEA: {states}, initial {_set(map(str, sorted(machine.I)))}, final {final}"
        case IntervalCea():
            return f"CEA: {states}, initial {machine.q0}, final {final}"
        case Srt() | EpsilonSrt():
            registers = ", ".join(map(name_text, sorted(machine.R))) or "none"
            return f"SRT: {states}, initial {machine.q0}, final {final}, registers {registers}"
        case _:
            initial = _set(node.label for node in graph.nodes if node.is_initial)
            return f"{graph.title}, initial {initial}, final {final}"


def det_text(det: DeterministicCea | StrategyCea, *, limit: int | None = None) -> str:
    """An I/O-deterministic CEA, explored over its minterms, with the legend of its guards.

    With a `limit`, only the moves of so many states are looked at.
    """
    return explored_text(explore(det, limit=limit))


def explored_text(A: ExploredCea) -> str:
    """The same for an `ExploredCea`."""
    count = count_text(len(A.states), "macro-state")
    lines = [f"{A.kind}: {count}, initial 0, final {_set(map(str, sorted(A.final)))}"]
    lines += [f"  state {n} = {state}" for n, state in enumerate(A.states)]
    lines += [f"  {m.source} -> {m.target}  {A.guard(m)} / {m.mark.value}" for m in A.moves]
    lines += ["  guards, bit by bit:"] if A.legend else []
    lines += [f"    bit {bit}: {predicate}" for bit, predicate in enumerate(A.legend)]
    if not A.whole:
        lines.append("  .. there is more: the moves of the last states were not looked at")
    if not A.exact:
        lines.append("  (LIKE, arithmetic and two-attribute comparisons are taken as independent)")
    return "\n".join(lines)


def first_lines(text: str, most: int = 50) -> str:
    """A text of many lines, cut for a display, which says so.

    >>> print(first_lines("a\\nb\\nc\\nd", 2))
    a
    b
    .. showing 2 of 4 lines
    """
    lines = text.split("\n")
    if len(lines) <= most + 1:
        return text
    return "\n".join([*lines[:most], f".. showing {most} of {len(lines):,} lines"])


def _set(names: Iterable[str]) -> str:
    return f"{{{', '.join(names)}}}"
