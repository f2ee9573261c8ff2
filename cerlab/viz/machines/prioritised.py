"""Prioritised automata as graphs: the transitions of a state numbered, the preferred one first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cerlab.errors import ResourceLimit
from cerlab.rows.compile import prioritised_automaton
from cerlab.rows.machine import Accept, PrioritisedAutomaton, Steps, step_table
from cerlab.rows.syntax import RowPattern
from cerlab.viz.graph import Edge, EdgeKind, Graph, Node, NodeKind, picture
from cerlab.viz.machines.states import state_graph


@picture.register(RowPattern)
def row_pattern_graph(query: RowPattern, limit: int | None = None) -> Graph:
    """The automaton of its PATTERN."""
    return prioritised_graph(prioritised_automaton(query.pattern), limit)


@picture.register(PrioritisedAutomaton)
def prioritised_graph(automaton: PrioritisedAutomaton[Any], limit: int | None = None) -> Graph:
    """States and steps. An edge ``2. A`` is the second that is tried and reads a row as A; ``2.``
    below a final state is its turn to accept, ``$`` that it accepts after the last row only.

    Where anchors make a difference, ``^`` begins at the first row and 0 at the others.
    """
    table = step_table(automaton)
    if table is None:
        message = "the automaton is too large to be shown"
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
