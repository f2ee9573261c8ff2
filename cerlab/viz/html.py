"""HTML for notebooks: escaped text, and grids as text, HTML and pictures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape as _escape

from cerlab.viz.graph import Cell, Graph, Node, NodeKind

_UNPRINTABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML forbids, even escaped."""

_RIGHT, _WHOLE = ' class="n"', ' class="s"'

_SHORT = 32
"""Longest cell that stays on one line, in characters."""

_SHADE = """\
{overflow-x:auto;--ground:var(--jp-layout-color0,Canvas);background-repeat:no-repeat;
background-attachment:local,local,scroll,scroll;background-position:left,right,left,right;
background-size:2.5rem 100%,2.5rem 100%,.8rem 100%,.8rem 100%;
background-image:linear-gradient(to right,var(--ground) 30%,transparent),
linear-gradient(to left,var(--ground) 30%,transparent),
linear-gradient(to right,#8886,transparent),linear-gradient(to left,#8886,transparent)}
"""


def shaded(selector: str) -> str:
    """Return CSS for a box that scrolls, shading the edges beyond which it continues.

    Browsers may hide scroll bars until a box is scrolled. The first two backgrounds move with the
    content and cover the shades at its ends.
    """
    return f"{selector}{_SHADE}"


STYLE = (
    f"<style>{shaded('.cerlab')}"
    + """
.cerlab{color:var(--jp-content-font-color1,inherit);font-size:13px;line-height:1.45}
.cerlab{--cerlab-line:var(--jp-border-color2,rgba(128,128,128,.35))}
.cerlab table{border-collapse:collapse;margin:.3em 0;font-variant-numeric:tabular-nums}
.cerlab caption{caption-side:top;text-align:left;font-weight:600;padding:.2em 0}
.cerlab caption{color:inherit;white-space:nowrap}
.cerlab.cerlab th,.cerlab.cerlab td{text-align:left;vertical-align:top;background:none}
.cerlab.cerlab th,.cerlab.cerlab td{padding:.15em .9em .15em 0}
.cerlab.cerlab th,.cerlab.cerlab td{border-bottom:1px solid var(--cerlab-line)}
.cerlab.cerlab thead th{font-weight:600}.cerlab.cerlab tbody th{font-weight:400}
.cerlab.cerlab th.n,.cerlab.cerlab td.n{text-align:right}
.cerlab.cerlab .s{white-space:nowrap}
.cerlab.cerlab pre{margin:.3em 0;white-space:pre-wrap;color:inherit;background:none}
.cerlab.cerlab pre{font-family:var(--jp-code-font-family,monospace)}
.cerlab::-webkit-scrollbar,.cerlab .frame::-webkit-scrollbar{height:9px}
.cerlab::-webkit-scrollbar-thumb,.cerlab .frame::-webkit-scrollbar-thumb{background:#8889}
.cerlab .note{color:var(--jp-content-font-color2,inherit);margin:.2em 0}
.cerlab .bar{display:inline-block;height:.7em;background:#0072b2;min-width:1px}
@media (prefers-color-scheme:dark){.cerlab .bar{background:#56b4e9}}
</style>"""
)


def escape(text: object) -> str:
    """Return a text escaped for HTML and XML, also inside attributes.

    Characters that XML forbids become U+FFFD.

    >>> escape('<a href="x">\\0')
    '&lt;a href=&quot;x&quot;&gt;\ufffd'
    """
    return _escape(_UNPRINTABLE.sub("\ufffd", str(text)))


def block(*parts: str) -> str:
    """Return HTML parts in a block with cerlab's style, which does not affect the page."""
    return "\n".join([f'{STYLE}<div class="cerlab">', *filter(None, parts), "</div>"])


def table(caption: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return an HTML table with a caption; the first cell of a row is its header.

    Integers are right-aligned.

    >>> print(table("Answers", ["end"], [[3]]))
    <table><caption>Answers</caption>
    <thead><tr><th scope="col" class="n">end</th></tr></thead>
    <tbody>
    <tr><th scope="row" class="n">3</th></tr>
    </tbody></table>
    """
    rows = [list(row) for row in rows]
    numbers = [all(_is_number(row[k]) for row in rows) for k in range(len(columns))]
    head = "".join(
        f'<th scope="col"{_RIGHT if number else ""}>{escape(name)}</th>'
        for name, number in zip(columns, numbers, strict=True)
    )
    body = [f"<tr>{''.join(_cell(n, cell) for n, cell in enumerate(row))}</tr>" for row in rows]
    return "\n".join(
        [
            f"<table><caption>{escape(caption)}</caption>",
            f"<thead><tr>{head}</tr></thead>",
            "<tbody>",
            *body,
            "</tbody></table>",
        ]
    )


def _cell(column: int, cell: object) -> str:
    tag, scope = ("td", "") if column else ("th", ' scope="row"')
    looks = _RIGHT if _is_number(cell) else ""
    if isinstance(cell, str) and " " in cell and len(cell) <= _SHORT:
        looks = _WHOLE
    return f"<{tag}{scope}{looks}>{escape(cell)}</{tag}>"


def _is_number(cell: object) -> bool:
    return isinstance(cell, int) and not isinstance(cell, bool)


def note(text: str) -> str:
    """Return a line of small text; empty for an empty text."""
    return f'<p class="note">{escape(text)}</p>' if text else ""


def pre(text: str) -> str:
    """Return a text as HTML that keeps spaces and line breaks."""
    return f"<pre>{escape(text)}</pre>"


def strong(text: str) -> str:
    """Return a line of bold text."""
    return f"<p><strong>{escape(text)}</strong></p>"


def items(caption: str, texts: Iterable[str]) -> str:
    """Return a list under a bold caption as HTML."""
    entries = "".join(f"<li>{escape(text)}</li>" for text in texts)
    return f"{strong(caption)}<ul>{entries}</ul>"


def bars(caption: str, counts: Sequence[tuple[str, int]]) -> str:
    """Return a table of counts with proportional bars as HTML."""
    most = max((n for _, n in counts), default=1)
    rows = [
        f'<tr><th scope="row">{escape(name)}</th><td class="n">{n:,}</td>'
        f'<td><span class="bar" style="width:{12 * n / most:.2f}em"></span></td></tr>'
        for name, n in counts
    ]
    head = '<thead><tr><th scope="col">type</th><th scope="col">events</th><td></td></tr></thead>'
    body = f"<tbody>{''.join(rows)}</tbody>"
    return f"<table><caption>{escape(caption)}</caption>\n{head}\n{body}</table>"


@dataclass(frozen=True, slots=True)
class Grid:
    """A table of texts with a header row, a title and a legend.

    `has_names` is true if the first column names the rows. `note` tells which parts were omitted.
    """

    title: str
    rows: tuple[tuple[str, ...], ...]
    legend: tuple[str, ...] = ()
    note: str = ""
    has_names: bool = False


def grid_text(grid: Grid) -> str:
    """Return a grid as text in aligned columns, with its legend and note."""
    widths = [max(map(len, column)) for column in zip(*grid.rows, strict=True)]
    lines = [grid.title]
    for row in grid.rows:
        cells = (text.ljust(width) for text, width in zip(row, widths, strict=True))
        lines.append("  ".join(cells).rstrip())
    lines += [f"  {line}" for line in grid.legend]
    lines += [f"{'  ' * grid.has_names}.. {grid.note}"] * bool(grid.note)
    return "\n".join(lines)


def grid_html(grid: Grid) -> str:
    """Return a grid as an HTML table, with its legend and note."""
    head, *rows = grid.rows
    legend = pre("\n".join(grid.legend)) if grid.legend else ""
    return block(table(grid.title, head, rows), legend, note(grid.note))


def grid_graph(name: str, title: str, grid: Grid) -> Graph:
    """Return a grid as a picture with one node."""
    names = 1 if grid.has_names else 0
    rows = tuple(
        tuple(Cell(text, is_head=r == 0 or c < names) for c, text in enumerate(row))
        for r, row in enumerate(grid.rows)
    )
    node = Node(name, "", NodeKind.TABLE, {"rows": grid.rows}, rows=rows)
    return Graph(name, title, (node,), (), legend=grid.legend, note=grid.note)
