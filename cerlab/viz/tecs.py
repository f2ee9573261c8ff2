"""Pictures of tECS snapshots, alone or as a series with one layout (CORE Fig. 4; CORE Fig. 6)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from html import unescape
from typing import Any

from cerlab.automata.plan import Plan
from cerlab.automata.strategy import Machine
from cerlab.engine.reference.snapshot import ActiveState, TecsNode, TecsSnapshot, snapshots
from cerlab.errors import UsageError
from cerlab.model.event import Event
from cerlab.model.stream import Stream
from cerlab.predicates.text import answer_text, count_text, event_text
from cerlab.viz.deterministic import run_state_text
from cerlab.viz.graph import THEMES, Cell, Edge, EdgeKind, Graph, Node, NodeKind, ThemeName, picture
from cerlab.viz.html import escape
from cerlab.viz.render import svg

HEAD = 18
"""Longest event above its column, in characters."""


@picture.register(TecsSnapshot)
def tecs_graph(snapshot: TecsSnapshot, limit: int | None = None) -> Graph:
    """Return a tECS snapshot as a graph: nodes in columns by event, and the active states."""
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
            f"squares are starts, circles take their position, ∨ is a union{_late(snapshot)}",
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
    """Return the active states as a table node, with edges to the nodes of their union-lists."""
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
    """Return a macro-state of the table as text, marked if it accepts."""
    return f"{active.name} accepts" if active.is_final else active.name


def node_text(node: TecsNode) -> str:
    """Return the text of a tECS node: its position, or the sign of a union."""
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
    """Return a snapshot as text: nodes, with a + if new, then the active states.

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
    """Return a snapshot's nodes and active states as JSON."""

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
    """Yield the tECS snapshot after each event."""
    return snapshots(
        plan, machine, stream, stream.time, name_of=lambda q: run_state_text(machine, q)
    )


def tecs_snapshot(plan: Plan, machine: Machine, stream: Stream) -> TecsSnapshot:
    """Return the tECS snapshot after the last event; raises `UsageError` for an empty stream."""
    last = None
    for snapshot in tecs_snapshots(plan, machine, stream):
        last = snapshot
    if last is None:
        raise UsageError(
            "CER0824", "expected events, got an empty stream", hint="give a stream with events"
        )
    return last


_ROW, _ENTRY, _GAP, _PAD = 20.0, 62.0, 36.0, 8.0

_CHARACTER = 6.8
"""Assumed width of a character, in pixels."""

_PART = re.compile(r'<g class="(node|edge)">\s*<title>([^<]*)</title>.*?</g>', re.S)

_GROUP = re.compile(r'<g class="graph" transform="[^"]*translate\(([-\d.]+) ([-\d.]+)\)"')

_CENTRE = re.compile(r'cx="([-\d.]+)" cy="([-\d.]+)" rx="([\d.]+)"')

_CORNERS = re.compile(r'points="([^"]*)"')


@dataclass(frozen=True, slots=True)
class _Row:
    """A row in the table of active states: its top, and its most entries in any snapshot."""

    top: float
    entries: int


class Replay:
    """The snapshots of one substream, drawn in one layout."""

    def __init__(self, snapshots: Sequence[TecsSnapshot], theme: ThemeName) -> None:
        self._colours = THEMES[theme]
        self._first = _first(snapshots)
        # one layout for all snapshots, so that a node keeps its place
        graph = _together(snapshots)
        picture = svg(graph, theme) if graph.nodes else ""
        self._parts = [(m[1], unescape(m[2]), m[0]) for m in _PART.finditer(picture)]
        box = re.search(r'viewBox="[-\d.]+ [-\d.]+ ([\d.]+) ([\d.]+)"', picture)
        self._shift = _pair(_GROUP.search(picture))
        self._left, self._high = _pair(box)
        self._rights = {title: _right(part) for kind, title, part in self._parts if kind == "node"}
        self._rows: dict[int, _Row] = {}
        states = _states(snapshots)
        tall = _ROW * (1 + sum(len(active.union_list) for active in states.values()))
        self._top = max(0.0, (self._high - tall) / 2)
        top = self._top + _ROW
        for state, active in states.items():
            self._rows[state] = _Row(top, len(active.union_list))
            top += _ROW * len(active.union_list)
        self._names = {state: state_text(active) for state, active in states.items()}
        self._column = 2 * _PAD + _CHARACTER * max(map(len, ["state", *self._names.values()]))
        self.width = self._left + _GAP + _ENTRY + self._column + _PAD
        self.height = max(self._high, tall + 2 * _PAD)

    def at(self, snapshot: TecsSnapshot) -> str:
        """Return one snapshot as SVG in a box of `width` and `height`."""
        says = escape(tecs_graph(snapshot).title)
        return "\n".join([f"<title>{says}</title>", *self._dag(snapshot), *self._table(snapshot)])

    def _dag(self, snapshot: TecsSnapshot) -> Iterator[str]:
        now = {f"t{node.number}": node for node in snapshot.nodes}
        links = {f"t{n.number}->t{m}" for n in snapshot.nodes for m in (n.next, n.left, n.right)}
        heads = {f"at{position}" for position, _ in snapshot.events} | {f"at{self._first - 1}"}
        yield f'<g transform="translate({self._shift[0]} {self._shift[1]})">'
        for kind, title, part in self._parts:
            if kind == "edge":
                yield part if title in links else ""
            elif title in heads:
                yield part
            elif title in now:
                yield self._looks(part, now[title], snapshot)
        yield "</g>"

    def _looks(self, part: str, node: TecsNode, snapshot: TecsSnapshot) -> str:
        """Return a node as SVG, highlighted if it is new, grey if it is outside the window."""
        colours = self._colours
        if node.number in snapshot.new:
            new = f'fill="{colours.highlight}" stroke-width="2.2"'
            return part.replace(f'fill="{colours.surface}"', new, 1)
        if node.is_expired:
            return part.replace(f'"{colours.ink}"', f'"{colours.ghost}"')
        return part

    def _table(self, snapshot: TecsSnapshot) -> Iterator[str]:
        x, name_x = self._left + _GAP, self._left + _GAP + _ENTRY
        yield self._cell(x, self._top, _ENTRY, _ROW, "union-list", bold=True)
        yield self._cell(name_x, self._top, self._column, _ROW, "state", bold=True)
        active = {each.state: each for each in snapshot.active}
        labels = {node.number: node_text(node) for node in snapshot.nodes}
        for state, row in self._rows.items():
            entries = active[state].union_list if state in active else ()
            for n in range(row.entries):
                top = row.top + n * _ROW
                label = labels[entries[n]] if n < len(entries) else ""
                yield self._cell(x, top, _ENTRY, _ROW, label)
                if n < len(entries):
                    yield self._link(x, top + _ROW / 2, f"t{entries[n]}")
            ink = self._colours.ink if entries else self._colours.ghost
            height = _ROW * row.entries
            yield self._cell(name_x, row.top, self._column, height, self._names[state], ink=ink)

    def _link(self, x: float, y: float, node: str) -> str:
        """Return the line from an active state's entry to its node."""
        right, middle = self._rights[node]
        x2, y2 = right + self._shift[0] + 1, middle + self._shift[1]
        bend = min(40.0, (x - x2) / 2)
        path = f"M{x:.1f} {y:.1f}C{x - bend:.1f} {y:.1f} {x2 + bend:.1f} {y2:.1f} {x2:.1f} {y2:.1f}"
        tip = f"M{x2 + 6:.1f} {y2 - 3:.1f}L{x2:.1f} {y2:.1f}L{x2 + 6:.1f} {y2 + 3:.1f}"
        return f'<path d="{path}{tip}" fill="none" stroke="{self._colours.table}"/>'

    def _cell(
        self, x: float, y: float, width: float, height: float, text: str,
        *, bold: bool = False, ink: str | None = None,
    ) -> str:  # fmt: skip # one parameter per line would take twice as many lines
        box = f'x="{x:.1f}" y="{y + 1:.1f}" width="{width:.1f}" height="{height:.1f}"'
        words = f'x="{x + width / 2:.1f}" y="{y + height / 2 + 5:.1f}" text-anchor="middle"'
        weight = ' font-weight="bold"' if bold else ""
        return (
            f'<rect {box} fill="{self._colours.surface}" stroke="{self._colours.table}"/>'
            f'<text {words} font-size="11" fill="{ink or self._colours.ink}"{weight}>'
            f"{escape(text)}</text>"
        )


def _together(snapshots: Sequence[TecsSnapshot]) -> Graph:
    """Return one graph with the nodes of all snapshots in their columns.

    Nodes of events before `_first` are in one column without their edges, and only if a node or an
    entry links to them, since otherwise a frame would grow with the stream. Dashes distinguish left
    edges from right ones; letters would need as much room as the nodes.
    """
    first = _first(snapshots)
    nodes: dict[str, Node] = {}
    edges: dict[tuple[str, str, EdgeKind], Edge] = {}
    columns: dict[int, str] = {}
    linked: set[str] = set()
    for snapshot in snapshots:
        graph = tecs_graph(snapshot)
        nodes |= {n.id: _plain(n, first) for n in graph.nodes if not n.rows and n.id not in nodes}
        for e in graph.edges:
            if e.port or nodes[e.source].layer != first - 1:
                linked.add(e.target)
            if not e.port and nodes[e.source].layer != first - 1:
                edges[e.source, e.target, e.kind] = replace(e, label="")
        columns |= {p: head for p, head in graph.columns if p >= first}
    shown = [n for n in nodes.values() if n.layer != first - 1 or n.id in linked]
    if any(n.layer == first - 1 for n in shown):
        columns = {first - 1: "earlier", **columns}
    return Graph(
        "tecs", "tECS", tuple(shown), tuple(edges.values()), "RL", columns=tuple(columns.items())
    )


def _first(snapshots: Sequence[TecsSnapshot]) -> int:
    """Return the first event with its own column; nodes of all earlier events share a column."""
    return max(0, snapshots[0].position - 1)


def _plain(node: Node, first: int) -> Node:
    layer = max(node.layer, first - 1) if node.layer is not None else None
    return replace(node, is_new=False, is_faded=False, layer=layer)


def _states(snapshots: Sequence[TecsSnapshot]) -> dict[int, ActiveState]:
    """Return the macro-states in the order of activation, each with its longest union-list."""
    states: dict[int, ActiveState] = {}
    for active in (active for snapshot in snapshots for active in snapshot.active):
        longest = states.setdefault(active.state, active)
        if len(active.union_list) > len(longest.union_list):
            states[active.state] = active
    return states


def _pair(match: re.Match[str] | None) -> tuple[float, float]:
    return (float(match[1]), float(match[2])) if match else (0.0, 0.0)


def _right(part: str) -> tuple[float, float]:
    """Return the point where a line from the right meets a node."""
    if circle := _CENTRE.search(part):
        x, y, radius = map(float, circle.groups())
        return x + radius, y
    if box := _CORNERS.search(part):
        corners = [tuple(map(float, pair.split(","))) for pair in box[1].split()]
        ys = [y for _, y in corners]
        return max(x for x, _ in corners), (min(ys) + max(ys)) / 2
    return 0.0, 0.0
