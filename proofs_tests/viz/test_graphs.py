"""Values as graphs: all of the value is in them, and networkx gives it back."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import networkx as nx
import pytest

import cerlab
from cerlab import BadData, CerlabError, Unsupported, from_networkx
from cerlab.automata.automaton import EpsilonCea, Mark, Transition
from cerlab.automata.registers import EpsilonSrt, Srt
from cerlab.compile.foundations import focel_to_epsilon_cea
from cerlab.compile.pattern import Pattern
from cerlab.logic.ceql.syntax import CeqlQuery
from cerlab.predicates.minterms import minterms
from cerlab.predicates.syntax import EVERYTHING, Predicate, TypeIs
from cerlab.predicates.truth import satisfies
from cerlab.testing import Shape, random_formula, random_sremo
from cerlab.viz import EdgeKind, NodeKind, alt_text, graph_of, plain_networkx, to_networkx
from cerlab.viz.deterministic import (
    GuardTests,
    cubes,
    explore,
    guard_tests,
    guard_words,
    predicate_of,
)
from proofs_tests.dqe.cases import random_gcq
from proofs_tests.io.machine_cases import exact, random_machine
from proofs_tests.srt.cases import random_epsilon_srt, random_srt
from proofs_tests.suite import random_suite
from proofs_tests.viz.values import machine_of_nasty_texts, random_cea, random_value, unary_fo

A_THEN_B = cerlab.parse_query("SELECT * WHERE A ; B")


@random_suite(2_000)
def test_machines_come_back_from_networkx(rng: Random) -> bool:
    A = machine_of_nasty_texts(rng)
    graph = to_networkx(A)
    assert graph.number_of_nodes() == A.states
    assert graph.number_of_edges() == len(A.Delta)
    assert exact(from_networkx(graph)) == exact(A)
    return bool(A.Delta)


@random_suite(2_000)
def test_transducers_and_machines_with_empty_moves_come_back(rng: Random) -> bool:
    T: Srt | EpsilonSrt | EpsilonCea
    T = rng.choice((random_srt, random_epsilon_srt, _epsilon_cea))(rng)
    again = from_networkx(to_networkx(T))
    assert type(again) is type(T)
    assert again == T
    return bool(T.Delta)


def _epsilon_cea(rng: Random) -> EpsilonCea:
    return focel_to_epsilon_cea(unary_fo(rng))


@random_suite(2_000)
def test_formulas_and_expressions_come_back(rng: Random) -> bool:
    phi: Any = rng.choice((random_formula, random_sremo))(rng)
    graph = to_networkx(phi)
    assert nx.is_arborescence(graph)
    assert from_networkx(graph) == phi
    return len(graph) > 1


@random_suite(2_000)
def test_conjunctive_queries_come_back(rng: Random) -> bool:
    query = random_gcq(rng)
    graph = to_networkx(query)
    assert from_networkx(graph) == query
    assert sum("variable" in parts for _, parts in graph.nodes(data=True)) == len(
        {v for atom in query.atoms for v in atom.variables}
    )
    return len(query.atoms) > 1


FORMATS: dict[str, Callable[[Any, Any], object]] = {
    "graphml": nx.write_graphml,
    "gml": nx.write_gml,
    "gexf": nx.write_gexf,
    "json": lambda graph, file: json.loads(json.dumps(nx.node_link_data(graph))),
}
"""The functions of networkx that write a graph."""


@pytest.mark.parametrize("format", FORMATS)
@random_suite(2_000)
def test_networkx_writes_the_graph_of_every_value(rng: Random, format: str, tmp_path: Path) -> bool:
    kinds = (random_value, random_srt, random_epsilon_srt, random_gcq, _epsilon_cea)
    value: Any = rng.choice((*kinds, random_sremo, random_formula, _machine))(rng)
    graph = plain_networkx(value)
    FORMATS[format](graph, tmp_path / "graph")
    assert len(graph) == len(to_networkx(value))
    return len(graph) > 1


def _machine(rng: Random) -> Any:
    query = cerlab.parse_query(rng.choice(("SELECT * WHERE A ; B", "SELECT MAX * WHERE A+ ; B")))
    list(query.run([{"type": rng.choice("AB")} for _ in range(4)]))
    return query.machine


def test_plain_attributes_are_texts() -> None:
    graph: Any = plain_networkx(A_THEN_B.vcea)
    assert graph.get_edge_data(0, 1)[0] == {
        "text": "type = 'A' / {A}",
        "kind": "take",
        "index": 2,
        "predicate": "type = 'A'",
        "labels": "A",
    }


def test_the_picture_of_a_conjunctive_query() -> None:
    graph = graph_of(cerlab.parse_gcq("x <- r(x, y), s(y) | x < y"))
    assert [(n.label, n.kind) for n in graph.nodes] == [
        ("x", NodeKind.FINAL),
        ("y", NodeKind.STATE),
        ("r(x, y)", NodeKind.PART),
        ("s(y)", NodeKind.PART),
        ("x < y", NodeKind.PART),
    ]
    labels = {node.id: node.label for node in graph.nodes}
    assert [(labels[e.source], labels[e.target], e.kind) for e in graph.edges] == [
        ("r(x, y)", "x", EdgeKind.COLUMN),
        ("r(x, y)", "y", EdgeKind.COLUMN),
        ("s(y)", "y", EdgeKind.COLUMN),
        ("x < y", "x", EdgeKind.ASKED),
        ("x < y", "y", EdgeKind.ASKED),
    ]


def test_the_attributes_are_the_parts() -> None:
    graph: Any = A_THEN_B.cea.to_networkx()
    assert graph.graph["kind"] == "cea"
    assert graph.nodes[0] == {
        "text": "0",
        "kind": "state",
        "state": 0,
        "initial": True,
        "final": False,
    }
    assert graph.get_edge_data(0, 1)[0] == {
        "text": "type = 'A' / •",
        "kind": "take",
        "index": 0,
        "predicate": TypeIs("A"),
        "mark": Mark.TAKE,
    }


def test_states_are_named_as_in_the_picture() -> None:
    networkx = pytest.importorskip("networkx")
    graph: Any = A_THEN_B.cea.to_networkx()
    assert networkx.shortest_path(graph, 0, 2) == [0, 1, 2]


def test_a_machine_that_was_edited_in_networkx_is_read_back() -> None:
    """B is made optional: its source accepts too."""
    graph: Any = A_THEN_B.cea.to_networkx()
    graph.nodes[1]["final"] = True
    graph.remove_edge(1, 1)
    A = from_networkx(graph)
    assert {1, 2} == A.F
    assert Transition(1, EVERYTHING, Mark.SKIP, 1) not in A.Delta


LISTED = {*re.findall(r"``(\w+)``", from_networkx.__doc__ or "")}
"""The attributes that the help of `from_networkx` lists."""


@random_suite(1_000)
def test_the_listed_attributes_are_necessary_and_enough(rng: Random) -> bool:
    """Graphs built by hand have no more, and the error names the one that is missing."""
    draw = rng.choice((random_srt, random_epsilon_srt, partial(random_machine, predicate=_any)))
    A: Any = draw(rng)
    graph: Any = to_networkx(A)
    parts_of = [
        *(graph.graph, *(parts for _, parts in graph.nodes(data=True))),
        *(parts for _, _, parts in graph.edges(data=True)),
    ]
    for parts in parts_of:
        for name in {*parts} - LISTED:
            del parts[name]
    for parts in parts_of[1 : A.states + 1]:
        del parts["kind"]  # listed for the graph and its edges
    assert from_networkx(graph) == A
    parts = rng.choice(parts_of)
    name = rng.choice(sorted(parts))
    del parts[name]
    with pytest.raises(BadData, match="CER0759") as caught:
        from_networkx(graph)
    assert name in caught.value.message
    assert caught.value.hint == "help(cerlab.from_networkx) lists the attributes"
    return True


def _any(rng: Random) -> Predicate:
    return rng.choice((EVERYTHING, TypeIs("A")))


def test_a_machine_is_no_query() -> None:
    machine = from_networkx(to_networkx(A_THEN_B.cea))
    uses: list[Any] = [cerlab.evaluate, cerlab.count, cerlab.equivalent]
    for use in uses:
        with pytest.raises(cerlab.UsageError, match="CER0838: expected a query, got IntervalCea"):
            use(machine, [{"type": "A"}])


def test_what_is_no_machine_is_bad_data() -> None:
    graph: Any = to_networkx(A_THEN_B.cea)
    del graph.nodes[1]["final"]
    with pytest.raises(BadData, match=r"CER0759.*final"):
        from_networkx(graph)
    with pytest.raises(BadData, match="CER0759"):
        from_networkx(to_networkx(A_THEN_B.det))


@pytest.mark.parametrize("value", [3, "A ; B", None, cerlab.Stream([])])
def test_what_is_no_graph_is_refused_by_name(value: Any) -> None:
    with pytest.raises(Unsupported, match="CER0415"):
        graph_of(value)


def test_a_stream_says_that_it_is_no_graph() -> None:
    stream: Any = cerlab.Stream([])
    with pytest.raises(Unsupported, match="cannot draw Stream"):
        stream.to_networkx()


@random_suite(2_000, needs_answers=0.3)
def test_a_limit_is_stated(rng: Random) -> bool:
    """A picture that is cut says of how many; one that is not says nothing."""
    value = random_value(rng)
    whole = graph_of(value)
    few = graph_of(value, limit=3)
    assert len(few.nodes) <= 3
    nodes = {node.id for node in few.nodes}
    assert all({e.source, e.target} <= nodes for e in few.edges)
    if len(whole.nodes) > 3:
        assert "showing" in few.note
        assert "showing" in alt_text(few)
    assert graph_of(value, limit=10_000) == whole
    return bool(few.note)


@random_suite(5_000)
def test_guards_in_words_hold_for_exactly_their_vectors(rng: Random) -> bool:
    """The cubes of a guard hold exactly its vectors that happen; none can be widened."""
    width = rng.randrange(1, 6)
    every = rng.sample(range(1 << width), rng.randrange(1, (1 << width) + 1))
    symbols = rng.sample(every, rng.randrange(1, len(every) + 1))
    words = cubes(symbols, every, width)
    vectors = {v for v in every if any(v & mask == value for mask, value in words)}
    assert vectors == set(symbols)
    for mask, value in words:
        for bit in range(width):
            if mask >> bit & 1:
                wider = mask & ~(1 << bit)
                assert any(v & wider == value & wider for v in every if v not in vectors)
    return len(symbols) < len(every)


def test_a_guard_says_what_an_event_is_where_that_is_enough() -> None:
    names = (TypeIs("A"), TypeIs("B"))
    tests = GuardTests(names, {0b00: [0b00], 0b01: [0b01], 0b10: [0b10]})
    assert guard_words([0b01], tests) == "type = 'A'"
    assert guard_words([0b00], tests) == "NOT type = 'A' AND NOT type = 'B'"
    assert guard_words([0b00, 0b01], tests) == "NOT type = 'B'"
    assert guard_words([0b00, 0b01, 0b10], tests) == "TRUE"
    assert guard_words([0b01, 0b10], tests) == "(type = 'A') OR (type = 'B')"
    many = GuardTests(tuple(TypeIs(name) for name in "ABCD"), {v: [v] for v in (0, 1, 2, 4, 8)})
    assert guard_words([1, 2, 4, 8], many) is None


@pytest.mark.parametrize(
    ("formula", "labels"),
    [
        ("(A ; C) UNLESS B", ["type = 'A' / •", "NOT type = 'B' / ∘", "type = 'C' / •"]),
        (
            "(A ; C) UNLESS (B OR D)",
            ["type = 'A' / •", "NOT type = 'B' AND NOT type = 'D' / ∘", "type = 'C' / •"],
        ),
        ("(A ; D) UNLESS (B FILTER B[v > 1])", ["type = 'A' / •"]),
    ],
)
def test_one_event_has_one_type_so_guards_leave_out_the_others(
    formula: str, labels: list[str]
) -> None:
    edges = graph_of(cerlab.parse_query(formula).det).edges
    assert [edge.label for edge in edges][: len(labels)] == labels


@random_suite(1_000, needs_answers=0.3)
def test_guards_hold_of_the_events_of_their_vectors(rng: Random) -> bool:
    """In words and as predicates of a written automaton, on an event of each minterm."""

    def case(rng: Random) -> bool:
        phi = random_formula(rng, Shape(depth=2, family=True))
        det = Pattern(CeqlQuery(phi)).det
        A = explore(det)
        tests = guard_tests(A)
        events = {m.symbol: m.example for m in minterms(A.predicates)}
        for move in A.moves:
            cover = tests.cover(move.symbols)
            ways = [predicate_of(cube, tests.predicates) for cube in cover]
            for symbol, event in events.items():
                if event is not None:
                    holds = any(satisfies(event, P) for P in ways)
                    assert holds is (symbol in move.symbols)
        return len(A.moves) > 1

    try:
        return case(rng)
    except CerlabError:
        return False


def test_a_strategy_machine_explored_in_part_says_so() -> None:
    A = random_cea(Random(5))
    assert graph_of(A_THEN_B.det, limit=1).note.endswith("were not explored")
    assert not graph_of(A).note
