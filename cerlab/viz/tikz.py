"""Machines as TikZ: states in layers, with labels that overlap no state and no other label.

Lengths are millimetres in a document of 10 points; points of the plane are complex numbers.
"""

from __future__ import annotations

import textwrap
from cmath import rect
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from math import ceil, copysign, radians
from typing import NamedTuple, TypeAlias

from cerlab.automata.deterministic import DeterministicCea
from cerlab.automata.encoding import Machine, check_depth
from cerlab.automata.registers import RegisterTransition, Transducer
from cerlab.automata.strategy import StrategyCea
from cerlab.viz.dot import label_text
from cerlab.viz.graph import THEMES, Graph, NodeKind, graph_of, laid_out

RADIUS, RING = 4.4, 0.5
"""Radius of a state with a number, and what the second ring of an accepting one adds."""

CHARACTER, LINE, PADDING = 1.4, 2.9, 0.9
r"""Width of a character, height of a line and margin of a label in ``\ttfamily\scriptsize``.

A character has 1.3; the rest is room for documents of 11 and 12 points."""

BEND = 0.3915
"""Distance of TikZ's control points from the ends of a curve, as a part of its length."""

TAIL = 6.0
"""Length of the arrow at an initial state, with a margin."""

MOST_PLACED = 60
"""Most edges whose labels are tried in several places: each try compares all labels."""

NAME = 10
"""Longest line of the name of a state, in characters; longer names such as sets are wrapped."""

_HEAD = r"""%% \usepackage{tikz}
%% \usetikzlibrary{automata, positioning}
%s\begin{tikzpicture}[->, auto, node distance=%dmm and %dmm, initial text=,%s
    says/.style={align=center, font=\ttfamily\scriptsize}]"""

_NAMED = r"""
    every state/.style={minimum size=%dmm, inner sep=1pt, align=center,
        font=\ttfamily\scriptsize},"""

_UNICODE = "% compile with LuaLaTeX or XeLaTeX, and a font that has all characters\n"

_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\{",
        "}": r"\}",
        "$": r"\$",
        "&": r"\&",
        "#": r"\#",
        "%": r"\%",
        "_": r"\_",
        "^": r"\textasciicircum{}",
        "~": r"\textasciitilde{}",
        "`": r"\textasciigrave{}",
        "•": r"$\bullet$",
        "∘": r"$\circ$",
        "↓": r"$\downarrow$",
        "ε": r"$\varepsilon$",
        "…": r"\ldots{}",
    }
)


class Box(NamedTuple):
    """A rectangle, by its sides."""

    left: float
    bottom: float
    right: float
    top: float


class Way(NamedTuple):
    """A way to draw an edge: TikZ options, the curve, and the box of its label."""

    edge: str
    label: str
    curve: tuple[complex, ...]
    box: Box


class Arrow(NamedTuple):
    """All edges of a machine from one state to another, with their labels."""

    source: int
    target: int
    lines: tuple[str, ...]


class Look(NamedTuple):
    """The direction of a picture, and the radius of an accepting state."""

    direction: str
    radius: float


class Layout(NamedTuple):
    """The distances of rows and columns, the places of states, and a way for each arrow."""

    high: int
    wide: int
    places: dict[int, complex]
    ways: list[Way]


_SIDES = {
    "LR": ("right", "below", "left"),
    "RL": ("left", "below", "right"),
    "TB": ("below", "right", "above"),
    "BT": ("above", "right", "below"),
}
"""Sides by direction: of the next layer, of the next state in a layer, of the initial arrow."""

_TOWARDS = {"right": 1 + 0j, "left": -1 + 0j, "above": 1j, "below": -1j}

Route: TypeAlias = tuple[str, tuple[complex, ...]]
"""The options of an edge, and its curve."""


def machine_tikz(
    A: Machine | Transducer | DeterministicCea | StrategyCea,
    *,
    rankdir: str | None = None,
    size: tuple[float, float] | None = None,
) -> str:
    r"""Return the machine as a ``tikzpicture``, with the labels that its SVG picture has.

    Args:
        A: A machine, deterministic machine or transducer.
        rankdir: The direction: ``"LR"`` (the default), ``"TB"``, ``"RL"`` or ``"BT"``.
        size: The greatest width and height in inches; LaTeX shrinks a larger picture.

    Raises:
        UsageError: The direction is unknown, or the size is not two numbers.
        ResourceLimit: A predicate is too deep, or the machine is too large to explore.

    >>> from cerlab.automata.automaton import IntervalCea, Mark, Transition
    >>> from cerlab.predicates.syntax import TypeIs
    >>> Delta = (Transition(0, TypeIs("A_1"), Mark.TAKE, 1),)
    >>> print(machine_tikz(IntervalCea(2, Delta, frozenset({0}), frozenset({1}))), end="")
    % \usepackage{tikz}
    % \usetikzlibrary{automata, positioning}
    \begin{tikzpicture}[->, auto, node distance=16mm and 34mm, initial text=,
        says/.style={align=center, font=\ttfamily\scriptsize}]
      \node[state, initial] (q0) {$0$};
      \node[state, accepting, right=of q0] (q1) {$1$};
      \path (q0) edge node[says] {type = 'A\_1' / $\bullet$} (q1);
    \end{tikzpicture}
    """
    if not isinstance(A, DeterministicCea | StrategyCea):
        for t in A.Delta:
            if not isinstance(t, RegisterTransition):
                check_depth(t.predicate)
    graph = laid_out(graph_of(A), rankdir, size)
    arrows = _arrows(graph)
    initial = [q for q, node in enumerate(graph.nodes) if node.is_initial]
    moves = [(arrow.source, arrow.target) for arrow in arrows]
    columns = layers(len(graph.nodes), initial, moves)
    names = [_name(node.label) for node in graph.nodes]
    diameter = max(map(_diameter, names), default=0)
    look = Look(graph.direction, max(RADIUS, diameter / 2) + RING)
    layout = _spread(arrows, columns, initial, look)
    shrunk = _shrunk(layout, graph, look)
    named = _NAMED % diameter if diameter else ""
    lines = [_HEAD % (shrunk, layout.high, layout.wide, named)]
    lines += _states(graph, columns, names)
    for arrow, way in zip(arrows, layout.ways, strict=True):
        label = r" \\ ".join(map(latex_text, arrow.lines))
        shape, says = f"[{way.edge}]" * bool(way.edge), ", ".join(filter(None, ("says", way.label)))
        path = rf"(q{arrow.source}) edge{shape} node[{says}] {{{label}}} (q{arrow.target})"
        lines.append(rf"  \path {path};")
    if graph.legend:
        legend = r" \\ ".join(map(latex_text, graph.legend))
        place = "anchor=north west] at (current bounding box.south west)"
        lines.append(rf"  \node[says, align=left, {place} {{{legend}}};")
    text = "\n".join([*lines, r"\end{tikzpicture}" + "}" * bool(shrunk), ""])
    return text if max(text) < "\u0250" else _UNICODE + text


def _name(label: str) -> tuple[str, ...]:
    """Return the lines of the name of a state."""
    return tuple(textwrap.wrap(label, NAME)) or ("",)


def _diameter(name: tuple[str, ...]) -> int:
    """Return the least diameter of a circle around a name; 0 for a number, which always fits."""
    if name[0].isdigit() and len(name) == 1:
        return 0
    across, high = CHARACTER * max(map(len, name)), LINE * len(name)
    return ceil(max(2 * RADIUS, abs(complex(across, high)) + PADDING))


def _states(graph: Graph, columns: list[list[int]], names: list[tuple[str, ...]]) -> Iterator[str]:
    """Yield the TikZ nodes of all states, placed relative to each other."""
    ahead, beside, behind = _SIDES[graph.direction]
    start = "initial" if behind == "left" else f"initial {behind}"
    for c, column in enumerate(columns):
        for r, q in enumerate(column):
            node = graph.nodes[q]
            options = ["state", *[start] * node.is_initial]
            options += ["accepting"] * (node.kind is NodeKind.FINAL)
            if r:
                options.append(f"{beside}=of q{column[r - 1]}")
            elif c:
                options.append(f"{ahead}=of q{columns[c - 1][0]}")
            name = r" \\ ".join(map(latex_text, names[q]))
            name = name if _diameter(names[q]) else f"${name}$"
            yield rf"  \node[{', '.join(options)}] (q{q}) {{{name}}};"


def _shrunk(layout: Layout, graph: Graph, look: Look) -> str:
    r"""Return the ``\resizebox`` that limits the size of a picture, or no text if it fits."""
    if graph.size is None:
        return ""
    boxes = [_square(at, look.radius) for at in layout.places.values()]
    boxes += [way.box for way in layout.ways]
    boxes += [Box(p.real, p.imag, p.real, p.imag) for way in layout.ways for p in way.curve]
    across = max((b.right for b in boxes), default=0) - min((b.left for b in boxes), default=0)
    high = max((b.top for b in boxes), default=0) - min((b.bottom for b in boxes), default=0)
    across = max([across, *(CHARACTER * len(line) for line in graph.legend)]) + TAIL
    high += LINE * len(graph.legend) + TAIL
    wider, higher = across / (25.4 * graph.size[0]), high / (25.4 * graph.size[1])
    if max(wider, higher) <= 1:
        return ""
    width = f"{graph.size[0]:.4g}in" if wider >= higher else "!"
    height = f"{graph.size[1]:.4g}in" if higher > wider else "!"
    return rf"\resizebox{{{width}}}{{{height}}}{{%" + "\n"


def _arrows(graph: Graph) -> list[Arrow]:
    """Return the edges of a machine, those between equal states combined."""
    number = {node.id: q for q, node in enumerate(graph.nodes)}
    labels: dict[tuple[int, int], list[str]] = {}
    for edge in graph.edges:
        words = label_text(edge.label, THEMES["print"]).split("\n")
        labels.setdefault((number[edge.source], number[edge.target]), []).extend(words)
    return [Arrow(*ends, tuple(lines)) for ends, lines in labels.items()]


def layers(states: int, initial: list[int], moves: Iterable[tuple[int, int]]) -> list[list[int]]:
    """Return the states in layers by their distance from the initial states.

    >>> layers(4, [0], [(0, 2), (2, 0), (1, 3)])
    [[0, 1], [2, 3]]
    """
    after: dict[int, list[int]] = {}
    for source, target in moves:
        after.setdefault(source, []).append(target)
    columns: list[list[int]] = []
    closed: set[int] = set()
    for roots in (initial, *([q] for q in range(states))):
        column = [q for q in roots if q not in closed]
        depth = 0
        while column:
            if depth == len(columns):
                columns.append([])
            columns[depth] += column
            closed.update(column)
            successors = dict.fromkeys(target for q in column for target in after.get(q, ()))
            column = [q for q in successors if q not in closed]
            depth += 1
    return columns


def _spread(
    arrows: Sequence[Arrow], columns: list[list[int]], initial: Sequence[int], look: Look
) -> Layout:
    """Return positions for the states and a way to draw each arrow.

    States stand further apart until no label lies on another or on a state.
    """
    widest = max((len(line) for arrow in arrows for line in arrow.lines), default=0)
    ahead, beside, _ = _SIDES[look.direction]
    # a label needs its width beside a level edge, and half of it beside one that goes down
    high, wide = 16, 10 + 3 * widest // (2 if beside == "below" else 4)
    best: tuple[int, Layout] | None = None
    for _ in range(8 if len(arrows) <= MOST_PLACED else 1):
        lengths = (wide + 2 * look.radius, high + 2 * look.radius)
        forth, aside = (
            _TOWARDS[side] * lengths[side in ("above", "below")] for side in (ahead, beside)
        )
        places = {
            q: c * forth + r * aside
            for c, column in enumerate(columns)
            for r, q in enumerate(column)
        }
        faults, ways = _ways(arrows, places, initial, look)
        if best is None or faults < best[0]:
            best = (faults, Layout(high, wide, places, ways))
        if not faults:
            break
        high, wide = high + 6, wide + 4
    assert best is not None
    return best[1]


def _ways(
    arrows: Sequence[Arrow], places: dict[int, complex], initial: Sequence[int], look: Look
) -> tuple[int, list[Way]]:
    """Return a way to draw each edge, and the number of labels that overlap something.

    Edges between states are drawn first, then loops where they cross no edge, then labels, those
    of loops first: they have the fewest places.
    """
    ahead, beside, behind = _SIDES[look.direction]
    states = [_square(at, look.radius) for at in places.values()]
    tails = [_tail(places[q], _TOWARDS[behind], look.radius) for q in initial]
    opposite = {"below": "above", "right": "left"}[beside]
    sides = (opposite, beside, ahead, behind)
    back = {(arrow.target, arrow.source) for arrow in arrows}
    curves: dict[Arrow, tuple[complex, ...]] = {}
    options: dict[Arrow, list[Route]] = {}
    for arrow in sorted(arrows, key=lambda arrow: arrow.source == arrow.target):
        p, q = places[arrow.source], places[arrow.target]
        if arrow.source == arrow.target:
            options[arrow] = [_loop(side, p, look.radius) for side in sides]
            continue
        routes = list(_routes(p, q, look.radius, both=(arrow.source, arrow.target) in back))
        others = [
            box
            for state, box in zip(places, states, strict=True)
            if state not in (arrow.source, arrow.target)
        ]
        options[arrow] = [min(routes, key=lambda route: _touched(route[1], others))]
        curves[arrow] = options[arrow][0][1]
    boxes, chosen, faults = [*states, *tails], {}, 0
    for arrow in sorted(arrows, key=lambda arrow: arrow.source != arrow.target):
        found = [way for route in options[arrow] for way in _labelled(arrow, route)]
        lines = [curve for other, curve in curves.items() if other != arrow]
        costs = [_cost(way, boxes, lines) for way in found]
        n = min(range(len(found)), key=costs.__getitem__)
        faults += costs[n][0] > 0
        chosen[arrow] = found[n]
        curves[arrow] = found[n].curve
        boxes.append(found[n].box)
    return faults, [chosen[arrow] for arrow in arrows]


def _tail(at: complex, towards: complex, radius: float) -> Box:
    """Return the box of the arrow at an initial state."""
    arrow = (radius + TAIL) * towards
    return _around(at + arrow / 2, 0, 0, abs(arrow.real) + 2, abs(arrow.imag) + 2)


def _cost(way: Way, boxes: Sequence[Box], curves: Iterable[Sequence[complex]]) -> tuple[int, int]:
    """Return how many boxes, and how many points of curves, a label overlaps."""
    crossed = sum(_touched(curve, [way.box]) for curve in curves)
    own = (
        [box for box in boxes if _touched(way.curve, [box])] if way.edge.startswith("loop") else []
    )
    return sum(_meet(way.box, box) for box in boxes) + max(len(own) - 1, 0), crossed


def _routes(p: complex, q: complex, radius: float, *, both: bool) -> Iterator[Route]:
    """Yield curves from p to q, the straightest first; with `both` directions, only left bends."""
    if not both:
        yield "", _curve(p, q, 0, radius)
    for angle, way in product((30, 45, 60), ("left", "right")):
        if way == "left" or not both:
            options = f"bend {way}" + f"={angle}" * (angle != 30)
            yield options, _curve(p, q, angle if way == "left" else -angle, radius)


def _curve(p: complex, q: complex, angle: float, radius: float) -> tuple[complex, ...]:
    """Return points of the curve that leaves p at an angle to the line, as ``bend left``."""
    ahead = (q - p) / abs(q - p)
    out, into = ahead * rect(1, radians(angle)), ahead * rect(1, radians(-angle))
    start, end = p + radius * out, q - radius * into
    reach = BEND * abs(end - start)
    return _bezier(start, start + reach * out, end - reach * into, end)


def _loop(way: str, p: complex, radius: float) -> Route:
    """Return the curve of a loop, such as ``loop above``."""
    middle = {"above": 90, "below": 270, "left": 180, "right": 0}[way]
    out, into = (rect(1, radians(middle + turn)) for turn in (15, -15))
    start, end = p + radius * out, p + radius * into
    reach = max(5.0, 8 * BEND * abs(end - start))  # a loop has the looseness 8
    return f"loop {way}", _bezier(start, start + reach * out, end + reach * into, end)


def _bezier(a: complex, b: complex, c: complex, d: complex) -> tuple[complex, ...]:
    parts = [k / 20 for k in range(21)]
    return tuple(
        (1 - t) ** 3 * a + 3 * (1 - t) ** 2 * t * b + 3 * (1 - t) * t**2 * c + t**3 * d
        for t in parts
    )


def _labelled(arrow: Arrow, route: Route) -> Iterator[Way]:
    """Yield places for the label of an edge: on both sides, in the middle and near the ends."""
    edge, curve = route
    width = CHARACTER * max(map(len, arrow.lines), default=0) + 2 * PADDING
    height = LINE * len(arrow.lines) + 2 * PADDING
    outside = edge.startswith(("loop", "bend"))
    for part, side in product((10,) if edge.startswith("loop") else (10, 7, 13, 5, 15), (1, -1)):
        if outside and side != (-1 if "right" in edge and "bend" in edge else 1):
            continue
        ahead = curve[part + 1] - curve[part - 1]
        beside = 1j * side * ahead / abs(ahead)
        options = ["swap"] * (side < 0) + [f"pos={part / 20:g}"] * (part != 10)
        # TikZ's `auto` puts the label's corner at a slanting edge, otherwise the middle of its side
        across = 0.0 if abs(beside.real) <= 0.05 else copysign(width / 2, beside.real)
        up = 0.0 if abs(beside.imag) <= 0.05 else copysign(height / 2, beside.imag)
        yield Way(edge, ", ".join(options), curve, _around(curve[part], across, up, width, height))


def _around(at: complex, across: float, up: float, width: float, height: float) -> Box:
    x, y = at.real + across, at.imag + up
    return Box(x - width / 2, y - height / 2, x + width / 2, y + height / 2)


def _square(at: complex, radius: float) -> Box:
    return _around(at, 0, 0, 2 * radius, 2 * radius)


def _meet(one: Box, other: Box) -> bool:
    across = min(one.right, other.right) > max(one.left, other.left)
    return across and min(one.top, other.top) > max(one.bottom, other.bottom)


def _touched(curve: Iterable[complex], boxes: Sequence[Box]) -> int:
    """Return how many points of a curve are inside any of the boxes."""
    points = list(curve)
    return sum(
        box.left < at.real < box.right and box.bottom < at.imag < box.top
        for at, box in product(points, boxes)
    )


def latex_text(text: str) -> str:
    r"""Return a text escaped for LaTeX.

    >>> print(latex_text("50%_{a}\n"))
    50\%\_\{a\}\textbackslash{}n
    """
    printable = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
    return printable.translate(_LATEX)
