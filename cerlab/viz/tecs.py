"""Snapshots of a tECS as pictures, as in the figures of the paper (CORE Fig. 4; CORE Fig. 6).

Time goes from left to right: every node stands in the column of its position, a union where it was
made. Small at its top right is the max-start. Left edges of unions are dashed and say L, right ones
are solid and say R. Beside the DAG stands the table T from active states to union-lists.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from cerlab.automata.machine import Machine
from cerlab.automata.plan import Plan
from cerlab.engine.reference.snapshot import ActiveState, TecsNode, TecsSnapshot, snapshots
from cerlab.errors import UsageError
from cerlab.model.event import Event
from cerlab.model.stream import Stream
from cerlab.predicates.words import answer_text, count_text, event_text
from cerlab.viz.graph import Cell, Edge, EdgeKind, Graph, Node, NodeKind, picture
from cerlab.viz.machines.exploration import run_state_text

HEAD = 18
"""How many characters of an event stand over its column."""


@picture.register(TecsSnapshot)
def tecs_graph(snapshot: TecsSnapshot, limit: int | None = None) -> Graph:
    """The DAG in columns with the table of active states."""
    nodes = tuple(_node(node, snapshot) for node in snapshot.nodes)
    edges = tuple(edge for node in snapshot.nodes for edge in _edges(node))
    columns = tuple((p, f"{p}\n{_head(event)}") for p, event in snapshot.events)
    table, lists = _table(snapshot)
    return Graph(
        "tecs",
        f"tECS after event {snapshot.position}: {len(nodes):,} nodes, "
        f"{len(snapshot.active):,} active states",
        (*nodes, table) if snapshot.active else nodes,
        edges + lists,
        "RL",
        legend=(
            f"squares are starts, circles take their position, ∨ unites{_late(snapshot)}",
            _answers_text(snapshot),
        ),
        parts={"position": snapshot.position, "T": _lists(snapshot), "key": snapshot.key},
        columns=columns,
    )


def _late(snapshot: TecsSnapshot) -> str:
    return ", dashed ones have expired" * any(node.is_expired for node in snapshot.nodes)


def _head(event: Event) -> str:
    return event_text(event, HEAD, names=False) if event.attributes else event.type


def _node(node: TecsNode, snapshot: TecsSnapshot) -> Node:
    parts = {
        "position": node.position,
        "max_start": node.max_start,
        "is_new": node.number in snapshot.new,
        "is_expired": node.is_expired,
    }
    return Node(
        f"t{node.number}",
        node_text(node),
        NodeKind(node.kind),
        parts,
        layer=node.position,
        aside=str(node.max_start),
        is_new=node.number in snapshot.new,
        is_faded=node.is_expired,
    )


def _edges(node: TecsNode) -> Iterator[Edge]:
    links = (
        (node.next, EdgeKind.NEXT, ""),
        (node.left, EdgeKind.LEFT, "L"),
        (node.right, EdgeKind.RIGHT, "R"),
    )
    for target, kind, label in links:
        if target is not None:
            yield Edge(f"t{node.number}", f"t{target}", label, kind)


def _table(snapshot: TecsSnapshot) -> tuple[Node, tuple[Edge, ...]]:
    """T as a node, a row for each entry of a union-list, and an edge from the entry to its node."""
    label = {node.number: node_text(node) for node in snapshot.nodes}
    rows: list[tuple[Cell, ...]] = [(Cell("union-list", is_head=True), Cell("state", is_head=True))]
    edges = []
    for r, active in enumerate(snapshot.active):
        state = Cell(state_text(active), is_head=active.is_final, height=len(active.union_list))
        for c, n in enumerate(active.union_list):
            entry = Cell(label[n], f"r{r}c{c}")
            rows.append((entry,) if c else (entry, state))
            edges.append(Edge("T", f"t{n}", "", EdgeKind.LISTED, port=entry.port))
    return Node("T", "", NodeKind.TABLE, rows=tuple(rows)), tuple(edges)


def state_text(active: ActiveState) -> str:
    """A macro-state of the table, and whether it accepts."""
    return f"{active.name} accepts" if active.is_final else active.name


def node_text(node: TecsNode) -> str:
    """What stands in a node: its position, or that it is a union."""
    return "∨" if node.kind == "union" else str(node.position)


def _lists(snapshot: TecsSnapshot) -> dict[int, list[str]]:
    return {active.state: [f"t{n}" for n in active.union_list] for active in snapshot.active}


def _answers_text(snapshot: TecsSnapshot) -> str:
    if not snapshot.is_read:
        return f"event {snapshot.position} is in no substream"
    if not snapshot.answers:
        return f"no answer ends at {snapshot.position}"
    answers = [answer_text(x) for x in snapshot.answers[:3]]
    more = len(snapshot.answers) > 3 or snapshot.has_more
    return f"answers that end at {snapshot.position}: {', '.join(answers)}{', ..' if more else ''}"


def snapshot_text(snapshot: TecsSnapshot) -> str:
    """The nodes, one a line, then the table of active states; new nodes have a +.

    >>> from cerlab.api import parse_query
    >>> q = parse_query("SELECT * WHERE A ; B")
    >>> events = Stream.from_events([{"type": kind} for kind in "AB"])
    >>> print(snapshot_text(tecs_snapshot(q.plan, q.machine, events)))
    tECS after event 1, B(): 3 nodes
        t0  bottom 0             max-start 0
        t1  output 0 -> t0       max-start 0
      + t2  output 1 -> t1       max-start 0
      {2} * : t2
      {1} : t1
      answers that end at 1: [0, 1] {0, 1}
    """
    count = count_text(len(snapshot.nodes), "node")
    lines = [f"tECS after event {snapshot.position}, {event_text(snapshot.event)}: {count}"]
    lines += [_line(node, node.number in snapshot.new) for node in snapshot.nodes]
    for active in snapshot.active:
        final = " *" if active.is_final else ""
        entries = ", ".join(f"t{n}" for n in active.union_list)
        lines.append(f"  {active.name}{final} : {entries}")
    return "\n".join([*lines, f"  {_answers_text(snapshot)}"])


def _line(node: TecsNode, is_new: bool) -> str:
    if node.kind == "union":
        words = "union" if node.left is None else f"union L t{node.left} R t{node.right}"
    else:
        words = f"{node.kind} {node.position}"
        words += "" if node.next is None else f" -> t{node.next}"
    late = ", expired" if node.is_expired else ""
    return (
        f"  {'+' if is_new else ' '} t{node.number:<3}{words:<20} max-start {node.max_start}{late}"
    )


def snapshot_json(snapshot: TecsSnapshot) -> str:
    """The nodes and the table of active states as JSON; absent children are left out."""

    def node_json(node: TecsNode) -> dict[str, Any]:
        children = {"next": node.next, "left": node.left, "right": node.right}
        return {
            "number": node.number,
            "kind": node.kind,
            "position": node.position,
            "max_start": node.max_start,
            **{name: child for name, child in children.items() if child is not None},
        }

    active = [
        {"state": a.name, "final": a.is_final, "union_list": list(a.union_list)}
        for a in snapshot.active
    ]
    document = {
        "position": snapshot.position,
        "nodes": [node_json(node) for node in snapshot.nodes],
        "active": active,
        "new": sorted(snapshot.new),
    }
    return json.dumps(document, ensure_ascii=False, indent=2)


def tecs_snapshots(plan: Plan, machine: Machine, stream: Stream) -> Iterator[TecsSnapshot]:
    """The snapshot after each event, with macro-states called as in other pictures.

    Raises as `snapshots`.
    """
    return snapshots(
        plan, machine, stream, stream.time, name_of=lambda q: run_state_text(machine, q)
    )


def tecs_snapshot(plan: Plan, machine: Machine, stream: Stream) -> TecsSnapshot:
    """The snapshot after the last event; raises `UsageError` for a stream without events."""
    last = None
    for snapshot in tecs_snapshots(plan, machine, stream):
        last = snapshot
    if last is None:
        raise UsageError(
            "CER0824", "a tECS of no events holds nothing", hint="give it a stream with events"
        )
    return last
