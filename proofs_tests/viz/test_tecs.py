"""The tECS after each event, as a value and as a picture (CORE Fig. 4; CORE Fig. 6)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

import cerlab
from cerlab import ComplexEvent, ResourceLimit, Stream, UsageError
from cerlab.engine.reference import driver
from cerlab.engine.reference.snapshot import MAX_EVENTS, MOST_ANSWERS, TecsSnapshot, snapshots
from cerlab.engine.reference.tecs import TecsEvaluation
from cerlab.viz import EdgeKind, Graph, NodeKind, dot_text, graph_of
from cerlab.viz.tecs import snapshot_json, snapshot_text, tecs_snapshot, tecs_snapshots
from proofs_tests.random_cases import random_case
from proofs_tests.suite import random_suite

FOLDER = Path(__file__).parents[2] / "examples" / "core_figure3"

# Figure 6, by hand: what each event adds to the drawing, and the table after it, top down. Nodes
# are called by their position: bottoms b, outputs o, unions u with the output above them.
NEW_NODES: list[dict[str, tuple[str, ...]]] = [
    {"b0": (), "o0": ("b0",)},
    {"b1": (), "o1": ("b1",)},
    {"u2": ("o1", "o0"), "o2": ("u2",)},
    {},
    {"o4": ("o2",)},
    {"u5": ("o1", "o0"), "o5": ("u5",)},
    {"u6": ("o2", "o5"), "o6": ("u6",)},
]
TABLES: list[dict[str, list[str]]] = [
    {"{1}": ["o0"]},
    {"{1}": ["o1", "o0"]},
    {"{2}": ["o2"], "{1}": ["o1", "o0"]},
    {"{2}": ["o2"], "{1}": ["o1", "o0"]},
    {"{3}": ["o4"], "{2}": ["o2"], "{1}": ["o1", "o0"]},
    {"{2}": ["o2", "o5"], "{1}": ["o1", "o0"]},
    {"{3}": ["o6"], "{2}": ["o2", "o5"], "{1}": ["o1", "o0"]},
]
MAX_START = {"b0": 0, "o0": 0}
"""All other nodes of the figure have max-start 1."""


def figure_6() -> Iterator[TecsSnapshot]:
    query = cerlab.parse_query((FOLDER / "query.ceql").read_text())
    return tecs_snapshots(query.plan, query.machine, Stream.read(FOLDER / "events.core"))


def names(graph: Graph) -> dict[str, str]:
    """The names of the figure for the ids of a picture."""
    letter = {NodeKind.BOTTOM: "b", NodeKind.OUTPUT: "o", NodeKind.UNION: "u"}
    return {
        node.id: f"{letter[node.kind]}{node.layer}"
        for node in graph.nodes
        if node.kind is not NodeKind.TABLE
    }


def test_the_picture_has_exactly_the_nodes_and_edges_of_figure_6() -> None:
    all_nodes: dict[str, tuple[str, ...]] = {}
    for snapshot, new_nodes, table in zip(figure_6(), NEW_NODES, TABLES, strict=True):
        all_nodes |= new_nodes
        graph = graph_of(snapshot)
        name_of = names(graph)
        below: dict[str, tuple[str, ...]] = dict.fromkeys(name_of.values(), ())
        assert len(below) == len(name_of)
        kinds = (EdgeKind.NEXT, EdgeKind.LEFT, EdgeKind.RIGHT)
        for kind in kinds:  # left before right
            for edge in graph.edges:
                if edge.kind is kind:
                    below[name_of[edge.source]] += (name_of[edge.target],)
        assert below == all_nodes
        assert {name_of[node.id] for node in graph.nodes if node.is_new} == set(new_nodes)
        starts = {name_of[node.id]: node.aside for node in graph.nodes if node.id in name_of}
        assert starts == {name: str(MAX_START.get(name, 1)) for name in all_nodes}
        roots = [name_of[edge.target] for edge in graph.edges if edge.kind is EdgeKind.LISTED]
        assert roots == [name for ul in table.values() for name in ul]
        (T,) = (node for node in graph.nodes if node.kind is NodeKind.TABLE)
        states = [row[1].text.removesuffix(" accepts") for row in T.rows[1:] if len(row) == 2]
        assert states == list(table)


def test_figure_4_is_figure_6_with_its_two_equal_unions_as_one() -> None:
    """Figure 4 shares the union below 2 and 5; Algorithm 1 merges anew, as Figure 6 shows."""
    *_, last = figure_6()
    shapes = {(n.kind, n.position if n.kind != "union" else (n.left, n.right)) for n in last.nodes}
    assert len(last.nodes) == 11
    assert len(shapes) == 10


def open_events(snapshot: TecsSnapshot, number: int) -> set[tuple[int, frozenset[int]]]:
    """Return the denotation of a node, from the numbers alone, without expired parts."""
    by_number = {node.number: node for node in snapshot.nodes}

    def events_of(number: int) -> set[tuple[int, frozenset[int]]]:
        node = by_number[number]
        if node.is_expired:
            return set()
        if node.kind == "bottom":
            return {(node.position, frozenset())}
        if node.kind == "output":
            assert node.next is not None
            return {(start, D | {node.position}) for start, D in events_of(node.next)}
        assert node.left is not None
        assert node.right is not None
        return events_of(node.left) | events_of(node.right)

    return events_of(number)


@random_suite(2_000)
def test_a_snapshot_holds_the_answers_that_end_there(rng: Random) -> bool:
    sample = random_case(rng)
    query = sample.query
    if query.machine_kind != "automaton":
        return False
    plan = replace(query.plan, limit=None)
    machine = query.machine
    stream = sample.stream
    answers = list(driver.run(plan, lambda: TecsEvaluation(machine), stream, stream.time))
    all_snapshots = list(snapshots(plan, machine, stream, stream.time))
    assert [s.position for s in all_snapshots] == list(range(len(stream)))
    for snapshot in all_snapshots:
        ending_there = [x for x in answers if x.end == snapshot.position]
        assert snapshot.has_more == (len(ending_there) > MOST_ANSWERS)
        of_snapshot = set(snapshot.answers)
        assert of_snapshot <= set(ending_there)
        assert len(of_snapshot) == min(len(ending_there), MOST_ANSWERS)
        of_nodes = {
            ComplexEvent(start, snapshot.position, tuple(sorted(D)))
            for active in snapshot.active
            if active.is_final and snapshot.is_read
            for number in active.union_list
            for start, D in open_events(snapshot, number)
        }
        assert of_nodes >= set(ending_there)
        if plan.window is None:
            assert of_nodes == set(ending_there)
    return bool(answers)


@random_suite(2_000)
def test_numbers_stay_and_nodes_are_whole(rng: Random) -> bool:
    """A kept node is what it was; children are there, and older; new nodes are those not seen."""
    sample = random_case(rng)
    query = sample.query
    if query.machine_kind != "automaton" or query.plan.partition:
        return False
    before: dict[int, Any] = {}
    numbers: set[int] = set()
    for s in tecs_snapshots(query.plan, query.machine, sample.stream):
        here = {node.number: node for node in s.nodes}
        for number in here.keys() & before.keys():
            was, now = before[number], here[number]
            assert (was.kind, was.position, was.max_start) == (
                now.kind,
                now.position,
                now.max_start,
            )
        for node in s.nodes:
            children = {node.next, node.left, node.right} - {None}
            assert children <= here.keys()
            assert all(child < node.number for child in children if child is not None)
        assert s.new == here.keys() - numbers
        roots = {n for active in s.active for n in active.union_list}
        assert roots <= here.keys()
        numbers |= here.keys()
        before = here
    return bool(numbers)


def test_an_event_that_no_substream_reads_changes_nothing() -> None:
    query = cerlab.parse_query("SELECT * FROM S WHERE A ; B")
    events = [{"type": "A", "stream": "S"}, {"type": "A", "stream": "T"}]
    first, second = tecs_snapshots(query.plan, query.machine, Stream.from_events(events))
    assert (first.is_read, second.is_read) == (True, False)
    assert (second.nodes, second.active, second.new) == (first.nodes, first.active, frozenset())
    assert "event 1 is in no substream" in snapshot_text(second)


def test_a_window_fades_what_it_has_passed() -> None:
    query = cerlab.parse_query("SELECT * WHERE A ; B+ WITHIN 3 EVENTS")
    events = Stream.from_events([{"type": kind} for kind in "ABABB"])
    last = tecs_snapshot(query.plan, query.machine, events)
    assert all(x.start == 2 for x in last.answers)
    assert {node.max_start for node in last.nodes if not node.is_expired} <= {1, 2, 3, 4}
    pale = [node for node in graph_of(last).nodes if node.is_faded]
    assert [node.id for node in pale] == [f"t{n.number}" for n in last.nodes if n.is_expired]
    light = dot_text(graph_of(last), "light")
    assert light.count("filled, dashed") == len(pale) > 0
    assert "dashed ones have expired" in light


def test_consumption_empties_the_tecs() -> None:
    query = cerlab.parse_query("SELECT * WHERE A ; B CONSUME BY ANY")
    events = Stream.from_events([{"type": kind} for kind in "ABA"])
    _, at_answer, after = tecs_snapshots(query.plan, query.machine, events)
    assert at_answer.answers == (ComplexEvent(0, 1, (0, 1)),)
    assert {node.position for node in after.nodes} == {2}


def test_a_partition_is_followed_by_its_key() -> None:
    query = cerlab.parse_query("SELECT * WHERE A ; B PARTITION BY [k]")
    events = [{"type": "A", "k": 1}, {"type": "A", "k": 2}, {"type": "B", "k": 1}]
    all_snapshots = list(tecs_snapshots(query.plan, query.machine, Stream.from_events(events)))
    assert [s.key for s in all_snapshots] == [(1,), (2,), (1,)]
    assert [x.positions for x in all_snapshots[2].answers] == [(0, 2)]


def test_a_snapshot_as_json() -> None:
    *_, last = figure_6()
    read = json.loads(snapshot_json(last))
    assert len(read["nodes"]) == 11
    assert read["active"][1]["union_list"] == [5, 8]
    assert read["nodes"][9] == {
        "number": 9,
        "kind": "union",
        "position": 6,
        "max_start": 1,
        "left": 5,
        "right": 8,
    }


def test_what_is_too_long_or_empty_is_refused_by_name() -> None:
    query = cerlab.parse_query("SELECT * WHERE A")
    with pytest.raises(UsageError, match="CER0824"):
        tecs_snapshot(query.plan, query.machine, Stream([]))
    long = Stream.from_events([{"type": "B"}] * (MAX_EVENTS + 1))
    with pytest.raises(ResourceLimit, match="CER0691"):
        tecs_snapshot(query.plan, query.machine, long)
