"""Pictures of prioritised automata: the order of the steps is what they show."""

from __future__ import annotations

import pytest

import cerlab
from cerlab import ResourceLimit
from cerlab.rows.compile import prioritised_automaton
from cerlab.viz import Graph
from cerlab.viz.machines import row_pattern_graph

CLAUSE = "MATCH_RECOGNIZE (MEASURES 1 AS m PATTERN ({}))"


def graph_of_pattern(pattern: str) -> Graph:
    return row_pattern_graph(cerlab.parse_rows(CLAUSE.format(pattern)))


def lines(graph: Graph) -> tuple[list[str], list[str]]:
    """States with their turn to accept, and edges."""
    states = [f"{n.label}{' ' + n.under if n.under else ''}" for n in graph.nodes]
    return states, [f"{e.source[1:]} {e.label} {e.target[1:]}" for e in graph.edges]


CASES = [
    ("A* B", ["0", "1", "2 1."], ["0 1. A 1", "0 2. B 2", "1 1. A 1", "1 2. B 2"]),
    ("A*? B", ["0", "1 1.", "2"], ["0 1. B 1", "0 2. A 2", "2 1. B 1", "2 2. A 2"]),
    ("A (B | {- C -})??", ["0", "1 1."], ["0 1. A 1"]),  # what follows an acceptance is not tried
    ("A B?", ["0", "1 2.", "2 1."], ["0 1. A 1", "1 1. B 2"]),
    ("A {- B -} $", ["0", "1", "2 $"], ["0 1. A 1", "1 1. {- B -} 2"]),
    ("^ A | B", ["0", "1 1.", "^"], ["0 1. B 1", "2 1. A 1", "2 2. B 1"]),
]


@pytest.mark.parametrize(("pattern", "states", "edges"), CASES)
def test_steps_are_numbered_by_preference(
    pattern: str, states: list[str], edges: list[str]
) -> None:
    assert lines(graph_of_pattern(pattern)) == (states, edges)


def test_a_row_pattern_and_its_automaton_show_themselves() -> None:
    query = cerlab.parse_rows(CLAUSE.format("A+ B"))
    assert str(query).startswith("MATCH_RECOGNIZE")
    automaton = prioritised_automaton(query.pattern)
    assert str(automaton).splitlines() == [
        "prioritised automaton: 3 states, 3 transitions, initial {0}, final {2}",
        "  0 -> 1  1. A",
        "  1 -> 1  1. A",
        "  1 -> 2  2. B",
    ]
    assert len(query.to_networkx().edges) == 3  # type: ignore[attr-defined]
    assert "1. A" in str(query.to_graphviz())  # type: ignore[attr-defined]


def test_a_graph_that_is_too_large_is_refused() -> None:
    with pytest.raises(ResourceLimit, match="too large"):
        graph_of_pattern("A{400} A{400} A{400}")
