"""Tables of words: as text in columns, as HTML, and as the one node of a picture."""

from __future__ import annotations

from dataclasses import dataclass

from cerlab.viz.graph import Cell, Graph, Node, NodeKind
from cerlab.viz.html import block, note, pre, table


@dataclass(frozen=True, slots=True)
class Grid:
    """Rows of words, head first, under a title; the legend explains them.

    `has_names` says that the first column names the rows. `note` says what is left out.
    """

    title: str
    rows: tuple[tuple[str, ...], ...]
    legend: tuple[str, ...] = ()
    note: str = ""
    has_names: bool = False


def grid_text(grid: Grid) -> str:
    """The rows in columns, then the legend and the note."""
    widths = [max(map(len, column)) for column in zip(*grid.rows, strict=True)]
    lines = [grid.title]
    for row in grid.rows:
        cells = (text.ljust(width) for text, width in zip(row, widths, strict=True))
        lines.append("  ".join(cells).rstrip())
    lines += [f"  {line}" for line in grid.legend]
    lines += [f"{'  ' * grid.has_names}.. {grid.note}"] * bool(grid.note)
    return "\n".join(lines)


def grid_html(grid: Grid) -> str:
    """The rows as a table, then the legend and the note."""
    head, *rows = grid.rows
    legend = pre("\n".join(grid.legend)) if grid.legend else ""
    return block(table(grid.title, head, rows), legend, note(grid.note))


def grid_graph(name: str, title: str, grid: Grid) -> Graph:
    """The rows as the one node of a picture."""
    names = 1 if grid.has_names else 0
    rows = tuple(
        tuple(Cell(text, is_head=r == 0 or c < names) for c, text in enumerate(row))
        for r, row in enumerate(grid.rows)
    )
    node = Node(name, "", NodeKind.TABLE, {"rows": grid.rows}, rows=rows)
    return Graph(name, title, (node,), (), legend=grid.legend, note=grid.note)
