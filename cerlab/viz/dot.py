"""Pictures as DOT text for Graphviz; equal pictures have equal bytes.

Without a theme the text is plain: shapes, labels and edges, to be read and edited. With a theme it
also has colours, wrapped labels and columns, and is the input of `render`.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator

from cerlab.viz.graph import (
    FONT,
    SHAPES,
    STYLES,
    THEMES,
    Cell,
    Edge,
    EdgeKind,
    Graph,
    Node,
    NodeKind,
    Theme,
    ThemeName,
    edge_colour,
    graph_of,
)

WIDEST = 28
"""Longest line of a drawn label with spaces, in characters."""

LONGEST = 240
"""Longest drawn label, in characters."""

ROUND = 8
"""Longest name of a state drawn in a circle; longer names get rounded boxes."""

LARGE = 160
"""Number of edges above which a picture gets a fast layout with straight edges."""

MOST_LINES = 12
"""Most lines of a label drawn at an edge."""

SAID_PLAINLY = {EdgeKind.LEFT, EdgeKind.RIGHT, EdgeKind.LISTED, EdgeKind.COLUMN, EdgeKind.ASKED}
"""Kinds of edges whose style is part of plain DOT."""

_BREAKS = re.compile(r" (?=(?:AND|OR) )")
_BARE = re.compile(r"[A-Za-z][A-Za-z_0-9]*|-?[0-9]+(\.[0-9]+)?")
_ENTITY = re.compile(r"&(?=#?\w+;)")

Attributes = dict[str, str]


def dot_text(value: object, theme: ThemeName | None = None) -> str:
    r"""Return the picture of a value as DOT text; raises the errors of `graph_of`.

    >>> from cerlab.api import parse_formula
    >>> print(dot_text(parse_formula("A+")), end="")
    digraph formula {
      node [shape=box, style=rounded, fontname="Helvetica"];
      edge [fontname="Helvetica"];
      n0 [label="+"];
      n1 [label="A"];
      n0 -> n1;
    }
    """
    graph = graph_of(value)
    look = THEMES[theme] if theme else None
    lines = [f"digraph {graph.name} {{", *_head(graph, look)]
    lines += [f"  {node.id} {_attribute_list(_node(node, graph, look))};" for node in graph.nodes]
    for node in graph.nodes:
        if node.is_initial:
            lines += _start(node, look)
    lines += _columns(graph, look)
    beside = "&#160;" if look and graph.direction in ("TB", "BT") else ""
    lines += [f"  {_edge_line(edges, look, beside)}" for edges in _bundles(graph.edges, look)]
    return "\n".join([*lines, "}", ""])


def _head(graph: Graph, theme: Theme | None) -> Iterator[str]:
    if graph.direction != "TB":
        yield f"  rankdir={graph.direction};"
    if graph.size is not None:
        width, height = graph.size
        # Graphviz adds a margin of half an inch to the pages of a PDF, beyond the size
        yield f'  size="{width:g},{height:g}"; margin=0;'
    shape, style = _default_shape(graph)
    node = {"shape": shape} | style | {"fontname": FONT}
    edge = {"fontname": FONT}
    if theme:
        graph_looks = {"bgcolor": "transparent", "fontname": FONT, "fontcolor": theme.faint}
        graph_looks |= {"fontsize": "11", "pad": "0.15", "margin": "0"}
        graph_looks["nodesep"] = "0.2" if graph.columns else "0.35"
        graph_looks["ranksep"] = "0.3" if graph.columns else _distance(graph, theme)
        if _is_large(graph):
            graph_looks |= {"splines": "line", "nslimit": "0.2", "mclimit": "0.2"}
        yield f"  graph {_attribute_list(graph_looks)};"
        style_word = ", ".join([*style.values(), "filled"])
        node |= {"style": style_word, "fillcolor": theme.surface, "color": theme.ink}
        node |= {
            "fontcolor": theme.ink,
            "fontsize": "13",
            "margin": "0.06,0.02" if graph.columns else "0.09,0.05",
        }
        edge |= {"fontsize": "11", "arrowsize": "0.7"}
    yield f"  node {_attribute_list(node)};"
    yield f"  edge {_attribute_list(edge)};"
    words = [*graph.legend, *[graph.note] * bool(graph.note)]
    if words:
        label = "".join(f"{_escape(_short(line) if theme else line)}\\l" for line in words)
        yield f'  label="{label}"; labeljust=l;'


def _distance(graph: Graph, theme: Theme) -> str:
    """Return the distance between ranks in inches, with room for the labels of loops.

    Graphviz reserves no space for the label of a loop, which, from left to right, overlaps the
    label of the next edge if it is much wider than the state. A label of up to two lines on a level
    edge is below it.
    """
    if graph.direction != "LR" or _is_large(graph):
        return "0.60"
    loops = [
        e for e in graph.edges if e.source == e.target and not _is_passed_below(e, graph, theme)
    ]
    lines = [line for e in loops for line in label_text(e.label, theme).split("\n")]
    # 6.4 pixels per character, minus 42 for the circle
    beyond = 6.4 * max(map(len, lines), default=0) - 42
    return f"{max(0.6, beyond / 72):.2f}"


def _is_passed_below(loop: Edge, graph: Graph, theme: Theme) -> bool:
    """Return whether all edges at a loop's state are level, so that none crosses the loop's label.

    An edge is level if it is the only one from its source and the only one to its target.
    """
    before: dict[str, set[str]] = {}
    behind: dict[str, set[str]] = {}
    lines: dict[tuple[str, str], int] = {}
    for e in graph.edges:
        if e.source != e.target:
            before.setdefault(e.target, set()).add(e.source)
            behind.setdefault(e.source, set()).add(e.target)
            ends = (e.source, e.target)
            lines[ends] = lines.get(ends, 0) + label_text(e.label, theme).count("\n") + 1
    here, nowhere = loop.source, frozenset[str]()
    into, out = before.get(here, nowhere), behind.get(here, nowhere)
    ends_into, ends_out = [(q, here) for q in into], [(here, q) for q in out]
    return (
        max(len(into), len(out)) <= 1
        and not into & out
        and all(behind[q] == {here} for q in into)
        and all(before[q] == {here} for q in out)
        and all(lines[ends] <= 2 for ends in (*ends_into, *ends_out))
    )


def _is_large(graph: Graph) -> bool:
    """Return whether Graphviz would need long to lay out a graph; columns make it fast."""
    return len(graph.edges) > LARGE and not graph.columns


def _default_shape(graph: Graph) -> tuple[str, Attributes]:
    if graph.nodes and SHAPES[graph.nodes[0].kind] == "box":
        return "box", {"style": "rounded"}
    return "circle", {}


def _node(node: Node, graph: Graph, theme: Theme | None) -> Attributes:
    if node.rows:
        return {"shape": "plain", "label": _table(node.rows, theme)}
    looks: Attributes = {"label": _quote(label_text(node.label, theme))}
    if node.aside or node.under:
        looks["label"] = _with_small_words(node, theme)
    shape = SHAPES[node.kind]
    if shape != _default_shape(graph)[0]:
        looks["shape"] = shape
    if theme is None:
        return looks
    if "circle" in shape and len(node.label) > ROUND:
        looks |= {"shape": "box", "style": '"rounded, filled"', "margin": '"0.12,0.09"'}
        looks |= {"peripheries": "2"} if node.kind is NodeKind.FINAL else {}
    if node.kind is NodeKind.FINAL:
        looks |= {"fillcolor": theme.accepting, "color": theme.accept_line}
    if node.kind is NodeKind.UNION:
        looks["color"] = theme.skip
    if node.kind is NodeKind.FAILED:
        looks |= {"color": theme.right, "penwidth": "2"}
    if node.is_new:
        looks |= {"fillcolor": theme.highlight, "penwidth": "2.2"}
    if node.is_faded:
        style = ", ".join([*_default_shape(graph)[1].values(), "filled", "dashed"])
        looks |= {"color": theme.faint, "fontcolor": theme.faint, "style": f'"{style}"'}
    return looks


def _with_small_words(node: Node, theme: Theme | None) -> str:
    """Return a node's label as HTML, with the small texts above and below."""
    colour = f' COLOR="{theme.faint}"' if theme else ""
    lines = [*map(_html, label_text(node.label, theme).split("\n"))]
    if node.aside:
        lines[-1] += f'<SUP><FONT POINT-SIZE="11"{colour}>{_html(node.aside)}</FONT></SUP>'
    for line in node.under.split("\n") if node.under else ():
        for part in label_text(line, theme).split("\n"):
            lines.append(f'<FONT POINT-SIZE="11"{colour}>{_html(part)}</FONT>')
    return f"<{_html_lines(lines, theme)}>"


def _html_lines(lines: list[str], theme: Theme | None) -> str:
    """Return lines as an HTML-like label, spaced apart.

    Graphviz puts lines of such a label only the height of the font apart, so letters would touch.
    """
    if theme is None or len(lines) == 1:
        return "<BR/>".join(lines)
    rows = "".join(f"<TR><TD>{line}</TD></TR>" for line in lines)
    return f'<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="0">{rows}</TABLE>'


def _start(node: Node, theme: Theme | None) -> Iterator[str]:
    name = f"start_{node.id}" if not node.id.startswith("q") else f"start{node.id[1:]}"
    point = {"shape": "point", "label": '""'}
    arrow: Attributes = {}
    if theme:
        point |= {"color": theme.ink, "fillcolor": theme.ink, "width": "0.06"}
        arrow = {"color": theme.ink}
    yield f"  {name} {_attribute_list(point)};"
    yield f"  {name} -> {node.id}{' ' * bool(arrow)}{_attribute_list(arrow)};"


def _columns(graph: Graph, theme: Theme | None) -> Iterator[str]:
    """Yield DOT text for each column of nodes, with its heading."""
    heads = dict(graph.columns)
    for layer, words in heads.items():
        looks = {"shape": "plaintext", "label": _quote(label_text(words, theme))}
        if theme:
            looks |= {"fontcolor": theme.faint, "style": '""', "fontsize": "11"}
        yield f"  at{layer} {_attribute_list(looks)};"
    layers: dict[int, list[str]] = {layer: [f"at{layer}"] for layer in heads}
    for node in graph.nodes:
        if node.layer is not None:
            layers.setdefault(node.layer, []).append(node.id)
    for ids in layers.values():
        yield f"  {{ rank=same; {'; '.join(ids)}; }}"
    order = sorted(heads, reverse=graph.direction == "RL")
    if len(order) > 1:
        # Graphviz orders ranks by edges, so connect the headings by invisible ones
        yield f"  {' -> '.join(f'at{layer}' for layer in order)} [style=invis];"


def _bundles(edges: Iterable[Edge], theme: Theme | None) -> Iterator[list[Edge]]:
    """Yield groups of edges that are drawn as one: of equal kind and ends, or loops."""
    if theme is None:
        yield from ([edge] for edge in edges)
        return
    together: dict[tuple[str, str, EdgeKind | None, str], list[Edge]] = {}
    for edge in edges:
        kind = None if edge.source == edge.target else edge.kind
        together.setdefault((edge.source, edge.target, kind, edge.port), []).append(edge)
    yield from together.values()


def _edge_line(bundle: list[Edge], theme: Theme | None, beside: str) -> str:
    edge = bundle[0]
    source = f"{edge.source}:{edge.port}:w" if edge.port else edge.source
    looks: Attributes = {}
    if any(each.label for each in bundle):
        looks["label"] = _words(bundle, theme, beside)
    if edge.kind in SAID_PLAINLY or theme:
        looks |= STYLES.get(edge.kind, {})
    if theme:
        colour = edge_colour(theme, edge.kind)
        looks |= {"color": colour} | ({"fontcolor": colour} if "label" in looks else {})
    attributes = _attribute_list(looks)
    return f"{source} -> {edge.target}{' ' * bool(attributes)}{attributes};"


def _words(bundle: list[Edge], theme: Theme | None, beside: str) -> str:
    """Return the labels of a group of edges as lines, coloured if their kinds differ.

    `beside` is a space if the text is beside a line that goes down: Graphviz leaves none.
    """
    words = [label_text(edge.label, theme).split("\n") for edge in bundle]
    if theme is None or len({edge.kind for edge in bundle}) == 1:
        plain = _few_lines([line for lines in words for line in lines if line])
        text = "\\n".join(f"{beside}{_escape(line)}" for line in plain)
        return f'"{text}"'
    lines = [
        f'<FONT COLOR="{edge_colour(theme, edge.kind)}">{beside}{_html(line)}</FONT>'
        for edge, text in zip(bundle, words, strict=True)
        for line in text
    ]
    return f"<{_html_lines(_few_lines(lines), theme)}>"


def _few_lines(lines: list[str]) -> list[str]:
    return lines[:MOST_LINES] + ["…"] * (len(lines) > MOST_LINES)


def _table(rows: Iterable[tuple[Cell, ...]], theme: Theme | None) -> str:
    colour = f' COLOR="{theme.table}"' if theme else ""
    fill = f' BGCOLOR="{theme.surface}"' if theme else ""
    lines = [
        f'<TABLE BORDER="0" CELLBORDER="1" CELLSPACING="0" CELLPADDING="4"{colour}{fill}>',
        *(f"<TR>{''.join(_cell(cell, theme) for cell in row)}</TR>" for row in rows),
        "</TABLE>",
    ]
    return f"<{''.join(lines)}>"


def _cell(cell: Cell, theme: Theme | None) -> str:
    attributes = f' PORT="{cell.port}"' if cell.port else ""
    attributes += f' ROWSPAN="{cell.height}"' if cell.height > 1 else ""
    lines = [_html(line) for line in label_text(cell.text, theme).split("\n")]
    if cell.is_head:
        lines = [f"<B>{line}</B>" for line in lines]
    if theme and cell.text:
        ink = f'<FONT COLOR="{theme.ink}" POINT-SIZE="11">'
        lines = [f"{ink}{line}</FONT>" for line in lines]
    text = _html_lines(lines, theme) or " "
    return f"<TD{attributes}>{text}</TD>"


def label_text(label: str, theme: Theme | None) -> str:
    """Return the label of a node or an edge; with a theme, wrapped and shortened."""
    if theme is None or len(label) <= WIDEST:
        return label
    return "\n".join("\n".join(_lines(line)) for line in _short(label).split("\n"))


def _lines(text: str) -> list[str]:
    """Return a text in lines, broken before AND and OR where possible."""
    lines: list[str] = []
    for part in _BREAKS.split(text):
        if lines and len(lines[-1]) + 1 + len(part) <= WIDEST:
            lines[-1] += f" {part}"
        else:
            lines += textwrap.wrap(part, WIDEST + 8, break_long_words=False, break_on_hyphens=False)
    return lines


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} …"


def _attribute_list(looks: Attributes) -> str:
    if not looks:
        return ""
    return f"[{', '.join(f'{name}={_value(value)}' for name, value in looks.items())}]"


def _value(text: str) -> str:
    """Return an attribute's value as DOT text, quoted if needed."""
    return text if text[:1] in ('"', "<") or _BARE.fullmatch(text) else f'"{text}"'


def _quote(text: str) -> str:
    return f'"{_escape(text)}"'


def _escape(text: str) -> str:
    """Return a text escaped for a quoted DOT string."""
    plain = _ENTITY.sub("&amp;", _printable(text))
    return plain.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _html(text: str) -> str:
    """Return a text escaped for an HTML-like label of DOT."""
    plain = _printable(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return plain.replace('"', "&quot;")


def _printable(text: str) -> str:
    """Return a text with unprintable characters escaped as in Python."""
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)
