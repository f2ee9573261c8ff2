"""Pictures before layout: nodes and edges with labels and attributes, and colour themes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import singledispatch
from numbers import Real
from typing import Any, Literal, TypeAlias

from cerlab.errors import Unsupported, UsageError


class NodeKind(Enum):
    """The kind of a node, which determines its look in a theme."""

    STATE = "state"
    FINAL = "final"
    PART = "part"
    FAILED = "failed"
    BOTTOM = "bottom"
    OUTPUT = "output"
    UNION = "union"
    TABLE = "table"


class EdgeKind(Enum):
    """The kind of an edge, which determines its look in a theme."""

    TAKE = "take"
    SKIP = "skip"
    EMPTY = "empty"
    CHILD = "child"
    NEXT = "next"
    LEFT = "left"
    RIGHT = "right"
    LISTED = "listed"
    COLUMN = "column"
    ASKED = "asked"


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a drawn table, `height` rows high; edges may start at its `port`."""

    text: str
    port: str = ""
    is_head: bool = False
    height: int = 1


@dataclass(frozen=True, slots=True)
class Node:
    """A node of a picture; a table has `rows` instead of a label.

    `parts` are the named parts of the value. Nodes with a `layer` are drawn in the column of that
    number. `aside` is small text at the top right, `under` small lines below the label. `is_new`
    highlights the node, `is_faded` greys it out.
    """

    id: str
    label: str
    kind: NodeKind
    parts: Mapping[str, Any] = field(default_factory=dict)
    is_initial: bool = False
    layer: int | None = None
    aside: str = ""
    under: str = ""
    rows: tuple[tuple[Cell, ...], ...] = ()
    is_new: bool = False
    is_faded: bool = False


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge between two nodes, named by their ids; it may start at the `port` of a table cell."""

    source: str
    target: str
    label: str
    kind: EdgeKind
    parts: Mapping[str, Any] = field(default_factory=dict)
    port: str = ""


@dataclass(frozen=True, slots=True)
class Graph:
    """A picture: nodes, edges, a title, and a legend for the labels.

    `parts` are the parts of the value that belong to no node or edge. `columns` are the heads of
    the layers, from left to right. `note` tells which parts were omitted.
    """

    name: str
    title: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    direction: str = "LR"
    legend: tuple[str, ...] = ()
    note: str = ""
    parts: Mapping[str, Any] = field(default_factory=dict)
    columns: tuple[tuple[int, str], ...] = ()
    size: tuple[float, float] | None = None
    """Greatest width and height in inches."""


DIRECTIONS = ("LR", "TB", "RL", "BT")


def laid_out(graph: Graph, rankdir: str | None, size: Any) -> Graph:
    """Return the picture with another direction and size; None keeps the present value.

    Raises `UsageError` for an unknown direction and for a size that is not two positive numbers.
    """
    if rankdir not in (None, *DIRECTIONS):
        message = f"expected one of the directions {', '.join(DIRECTIONS)}, got '{rankdir}'"
        raise UsageError("CER0822", message, hint="use one of these")
    if size is not None and not _is_size(size):
        message = "expected a width and a height in inches, as in size=(3.3, 6)"
        hint = "a centimetre is 1 / 2.54 inches: size=(8.5 / 2.54, 6)"
        raise UsageError("CER0822", f"{message}, got {size!r}", hint=hint)
    limits = graph.size if size is None else (float(size[0]), float(size[1]))
    return replace(graph, direction=rankdir or graph.direction, size=limits)


def _is_size(size: object) -> bool:
    if not isinstance(size, Sequence) or isinstance(size, str) or len(size) != 2:
        return False
    # `Real` has the numbers of NumPy too; NaN is in no interval
    numbers: list[Any] = [n for n in size if isinstance(n, Real)]
    return len(numbers) == 2 and all(0 < n < LARGEST for n in numbers)


LARGEST = 10_000
"""Bound of sizes in inches; a page of a PDF has at most 200."""


@singledispatch
def picture(value: object, limit: int | None) -> Graph:
    """Return the picture of a value; each kind of value registers a function.

    `limit` is the number of nodes that will be shown, None for all; the result may have more.
    """
    raise Unsupported(
        "CER0415",
        f"cannot draw {type(value).__name__}",
        hint="formulas, machines, tables, tECS snapshots and derivations can be drawn",
    )


def graph_of(value: object, *, limit: int | None = None) -> Graph:
    """Return the picture of a value, with at most `limit` nodes and a note about the others.

    Raises `Unsupported` for values that are not graphs, `ResourceLimit` for machines too large to
    explore.

    >>> from cerlab.automata.automaton import Vcea
    >>> graph_of(Vcea(2, (), frozenset({0}), frozenset({1}))).title
    'VCEA: 2 states, 0 transitions'
    """
    graph = value if isinstance(value, Graph) else picture(value, limit)
    return graph if limit is None else cut(graph, limit)


def cut(graph: Graph, limit: int) -> Graph:
    """Return a picture with its first `limit` nodes, at most four edges per node, and a note."""
    nodes = graph.nodes[:limit]
    ids = {node.id for node in nodes}
    among = [e for e in graph.edges if e.source in ids and e.target in ids]
    edges = tuple(among[: 4 * limit])
    if len(nodes) == len(graph.nodes) and len(edges) == len(among):
        return graph
    words = f"showing {len(nodes):,} of {len(graph.nodes):,} nodes"
    words += f" and {len(edges):,} of {len(graph.edges):,} edges"
    note = f"{words}; {graph.note}" if graph.note else words
    return replace(graph, nodes=nodes, edges=edges, note=note)


def alt_text(graph: Graph, longest: int = 20) -> str:
    """Return a text that describes a picture to readers who cannot see it."""
    names = {node.id: _name(node) for node in graph.nodes}
    parts = [graph.title]
    initial = [names[node.id] for node in graph.nodes if node.is_initial]
    final = [names[node.id] for node in graph.nodes if node.kind is NodeKind.FINAL]
    if initial:
        parts.append(f"Initial: {', '.join(initial[:longest])}")
    if final:
        parts.append(f"Final: {', '.join(final[:longest])}")
    forward = [names[node.id] for node in graph.nodes if node.is_new]
    if forward:
        parts.append(f"Highlighted: {', '.join(forward[:longest])}")
    for edge in graph.edges[:longest]:
        says = f": {edge.label}" if edge.label else ""
        parts.append(f"{edge.kind.value} from {names[edge.source]} to {names[edge.target]}{says}")
    if len(graph.edges) > longest:
        parts.append(f"and {len(graph.edges) - longest:,} more edges")
    parts += [graph.note] if graph.note else []
    return ". ".join(part.replace("\n", " ") for part in parts) + "."


def _name(node: Node) -> str:
    if node.kind is NodeKind.TABLE:
        return "the table"
    return node.label or node.id


ON_ITS_OWN = "svg:root{color-scheme:light dark}"
"""CSS of a standalone drawing that supports light and dark backgrounds."""

FONT = '"Helvetica"'
"""Font name in DOT; Graphviz measures with the substitute that is installed."""

ThemeName: TypeAlias = Literal["light", "dark", "print"]


@dataclass(frozen=True, slots=True)
class Theme:
    """A theme: colours by their purpose, on a transparent background."""

    ink: str
    faint: str
    ghost: str
    surface: str
    accepting: str
    accept_line: str
    highlight: str
    take: str
    skip: str
    empty: str
    right: str
    table: str

    @property
    def colours(self) -> tuple[str, ...]:
        """All colours of the theme, in the order of the fields."""
        return tuple(getattr(self, name) for name in Theme.__slots__)


LIGHT = Theme(
    ink="#1b1f24",
    faint="#59636e",
    ghost="#b6bec7",
    surface="#fdfdfe",
    accepting="#e3f4ee",
    accept_line="#00785a",
    highlight="#fff1cf",
    take="#0072b2",
    skip="#6a737d",
    empty="#a8518a",
    right="#d55e00",
    table="#00785a",
)

DARK = Theme(
    ink="#e8ebef",
    faint="#a3adb8",
    ghost="#4b555f",
    surface="#20262e",
    accepting="#12392e",
    accept_line="#2cc295",
    highlight="#574510",
    take="#56b4e9",
    skip="#939da8",
    empty="#e19cc6",
    right="#f0954a",
    table="#2cc295",
)

PRINT = Theme(
    ink="#000000",
    faint="#000000",
    ghost="#000000",
    surface="#ffffff",
    accepting="#ffffff",
    accept_line="#000000",
    highlight="#ffffff",
    take="#000000",
    skip="#000000",
    empty="#000000",
    right="#000000",
    table="#000000",
)
"""Black on white; edges that take an event are wider, which remains visible in print."""

THEMES: dict[str, Theme] = {"light": LIGHT, "dark": DARK, "print": PRINT}

SHAPES = {
    NodeKind.STATE: "circle",
    NodeKind.FINAL: "doublecircle",
    NodeKind.PART: "box",
    NodeKind.FAILED: "box",
    NodeKind.BOTTOM: "square",
    NodeKind.OUTPUT: "circle",
    NodeKind.UNION: "circle",
    NodeKind.TABLE: "plain",
}

STYLES = {
    EdgeKind.TAKE: {"penwidth": "1.6"},
    EdgeKind.EMPTY: {"style": "dashed"},
    EdgeKind.LEFT: {"style": "dashed"},
    EdgeKind.LISTED: {"arrowhead": "vee"},
    EdgeKind.CHILD: {"arrowhead": "none"},
    EdgeKind.COLUMN: {"arrowhead": "none"},
    EdgeKind.ASKED: {"arrowhead": "none", "style": "dashed"},
}
"""Styles of edges in every theme: left edges of unions are dashed, right edges solid."""


def edge_colour(theme: Theme, kind: EdgeKind) -> str:
    """Return the colour of an edge and of its label."""
    return {
        EdgeKind.TAKE: theme.take,
        EdgeKind.SKIP: theme.skip,
        EdgeKind.EMPTY: theme.empty,
        EdgeKind.CHILD: theme.faint,
        EdgeKind.NEXT: theme.ink,
        EdgeKind.LEFT: theme.take,
        EdgeKind.RIGHT: theme.right,
        EdgeKind.LISTED: theme.table,
        EdgeKind.COLUMN: theme.ink,
        EdgeKind.ASKED: theme.empty,
    }[kind]
