"""Pictures as SVG, PNG and PDF, drawn in this process by the Graphviz that pygraphviz contains."""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes.util import find_library
from functools import cache
from html import escape
from pathlib import Path
from tempfile import TemporaryFile
from threading import Lock
from typing import Any, Literal, TypeAlias
from warnings import warn

from cerlab.budget import poll
from cerlab.errors import (
    CerlabWarning,
    ResourceLimit,
    UsageError,
    needed,
    refuse_misspelt,
    stacklevel_of_caller,
)
from cerlab.viz.dot import dot_text
from cerlab.viz.graph import (
    DARK,
    LIGHT,
    ON_ITS_OWN,
    THEMES,
    Graph,
    ThemeName,
    alt_text,
    graph_of,
    laid_out,
)
from cerlab.viz.html import block, note, shaded

Look: TypeAlias = Literal["auto", "light", "dark", "print"]

Form: TypeAlias = Literal["svg", "png", "pdf"]

FORMS = ("svg", "png", "pdf")
"""Formats that Graphviz can draw in this process."""

MAX_NODES, MAX_EDGES = 1_000, 1_500
"""Most nodes and edges of a picture that is laid out: layouts are superlinear."""

DPI = 144
"""Dots per inch of a PNG."""

LEAST = 0.7
"""Smallest scale of a picture in a narrow page; below, the page scrolls.

Text is then 10 pixels high.
"""

COLUMN = 552
"""Width of a column of text in points, which are 736 pixels: a wider picture scrolls."""

_FIT = (
    f"<style>{shaded('.cerlab-picture')}"
    ".cerlab-picture>svg{max-width:100%;height:auto;min-width:var(--least)}"
    ".cerlab-picture::-webkit-scrollbar{height:9px}"
    ".cerlab-picture::-webkit-scrollbar-thumb{background:#8889;border-radius:5px}</style>"
)
"""CSS of pictures: wide ones scroll, with a bar and a shade at the edge as cues."""

_MISSING = "pip install 'cerlab[viz]'"

_one_at_a_time = Lock()  # Graphviz has global state, so one picture at a time


def svg(value: object, theme: Look = "auto") -> str:
    """Return the picture of a value as an SVG element.

    Raises `Unsupported` if the value is not a graph or pygraphviz is missing, and `ResourceLimit`
    for pictures too large to lay out.
    """
    graph = graph_of(value)
    raw = _graphviz_output(graph, "svg", "light" if theme == "auto" else theme).decode()
    return _accessible(raw, graph, both=theme == "auto")


def drawing(value: object, form: Form, theme: ThemeName = "light") -> bytes:
    """Return the picture of a value as the content of a file.

    Warns of characters that no installed font has, which a PNG or PDF shows as boxes. Raises as
    `svg`, and `UsageError` for a `form` outside `FORMS` and for unknown themes.
    """
    if form not in FORMS:
        raise UsageError(
            "CER0822",
            f"expected one of the formats {', '.join(FORMS)}, got '{form}'",
            hint="use one of these",
        )
    if theme not in THEMES:
        raise UsageError(
            "CER0822",
            f"expected one of the themes {', '.join(THEMES)}, got '{theme}'",
            hint="use one of these",
        )
    if form == "svg":
        return f"{svg(value, theme)}\n".encode()
    return _graphviz_output(graph_of(value), form, theme)


_MEANT = {
    **dict.fromkeys(("width", "height", "figsize", "scale", "dpi"), "size=(width, height)"),
    **dict.fromkeys(
        ("font", "fontsize", "fontname"), "size=(width, height), which scales text too"
    ),
    **dict.fromkeys(("direction", "orientation", "dir"), "rankdir="),
}
"""Options of other programs, with the option that has their effect here."""


def to_graphviz(
    value: object,
    theme: ThemeName = "light",
    *,
    rankdir: str | None = None,
    size: tuple[float, float] | None = None,
    monochrome: bool = False,
    **misspelt: Any,
) -> Any:
    """Return the picture of a value as a ``graphviz.Source``.

    A notebook displays it, and ``pipe`` renders ``"svg"``, ``"png"`` and ``"pdf"``, without a
    ``dot`` program; its other methods need one.

    Args:
        value: A formula, a machine, a table, a tECS snapshot or a derivation.
        theme: The colours, ``"light"`` or ``"dark"``.
        rankdir: The direction of the layout: ``"LR"``, ``"TB"``, ``"RL"`` or ``"BT"`` (default: by
            the kind of the picture). A machine that is too wide fits a column with ``"TB"``.
        size: The greatest width and height in inches; larger pictures shrink.
        monochrome: Draw in black on white, for print.

    Raises:
        Unsupported: The value is not a graph, or the package graphviz is missing.
        UsageError: The direction or an option is unknown, or the size is not two numbers.

    >>> from cerlab.api import parse_formula
    >>> print(to_graphviz(parse_formula("A")).source.splitlines()[0])
    digraph formula {
    """
    for name in misspelt.keys() & _MEANT:
        hint = f"use {_MEANT[name]}"
        raise UsageError("CER0847", f"there is no option '{name}'", hint=hint)
    refuse_misspelt(misspelt, ("theme", "rankdir", "size", "monochrome"))
    graph = laid_out(graph_of(value), rankdir, size)
    look: ThemeName = "print" if monochrome else theme
    source = dot_text(graph, look)
    with needed("graphviz", _MISSING, "CER0416"):
        from graphviz import Source

    class Drawn(Source):  # type: ignore[misc] # graphviz is untyped
        """A ``graphviz.Source`` that draws itself in this process."""

        def _repr_mimebundle_(self, *_: Any, **__: Any) -> dict[str, str]:
            return {"image/svg+xml": svg(graph, look), "text/plain": self.source}

        def pipe(self, format: str | None = None, *args: Any, **options: Any) -> Any:
            """Return the picture as bytes, or as text if an encoding is given."""
            form = format or "svg"
            if args or form not in FORMS or {*options} > {"encoding"}:
                return super().pipe(format, *args, **options)
            picture, encoding = drawing(graph, form, look), options.get("encoding")  # type: ignore[arg-type]  # a form
            return picture if encoding is None else picture.decode(encoding)

    return Drawn(source)


def _graphviz_output(graph: Graph, form: str, theme: ThemeName) -> bytes:
    if len(graph.nodes) > MAX_NODES or len(graph.edges) > MAX_EDGES:
        raise ResourceLimit(
            "CER0690",
            f"{graph.title}: pictures are limited to {MAX_NODES:,} nodes and {MAX_EDGES:,} edges",
            hint="graph_of(value, limit=..) returns a smaller picture; DOT text has no limit",
        )
    with needed("pygraphviz", _MISSING, "CER0416"):
        from pygraphviz import AGraph
    size = f"-Gdpi={DPI}" if form == "png" else ""
    text = dot_text(graph, theme)
    with _one_at_a_time, without_font_warnings():
        poll()
        output: bytes = AGraph(string=text).draw(prog="dot", format=form, args=size)
        missing = [] if form == "svg" else [c for c in sorted({*text} - {"\n"}) if not drawn(c)]
    if missing:  # viewers of SVG use their own fonts
        _warn_of_boxes(missing, form)
    return output


def _warn_of_boxes(missing: list[str], form: str) -> None:
    letters = sorted(missing, key=lambda c: not c.isalpha())
    some = ", ".join(letters[:8]) + ", .." * (len(letters) > 8)
    text = f"CER0925: no installed font has {some}, so the {form.upper()} shows boxes"
    hint = "install one (Noto Sans CJK has Chinese, Japanese and Korean), or draw an SVG"
    warn(CerlabWarning(f"{text}; {hint}"), stacklevel=stacklevel_of_caller())


class _FontSet(ctypes.Structure):
    """Fontconfig's structure FcFontSet: the number of fonts, the capacity, and the fonts."""

    _fields_ = [
        ("count", ctypes.c_int),
        ("capacity", ctypes.c_int),
        ("fonts", ctypes.POINTER(ctypes.c_void_p)),
    ]


@cache
def _character_sets() -> tuple[Any, list[ctypes.c_void_p]] | None:
    """Return Fontconfig's library and the characters of each installed font; None if not found.

    Return None if Fontconfig is not found. Its library is the one that Graphviz has loaded, since
    fonts that only another library finds are not drawn.
    """
    import pygraphviz

    home = Path(pygraphviz.__file__).parent
    places = (home.parent / "pygraphviz.libs", home / ".dylibs")
    found = [str(file) for place in places for file in sorted(place.glob("*fontconfig*"))]
    try:
        library = ctypes.CDLL(found[0] if found else find_library("fontconfig"))
        library.FcConfigGetFonts.restype = ctypes.POINTER(_FontSet)
    except (OSError, AttributeError, TypeError):
        return None
    library.FcConfigGetCurrent.restype = ctypes.c_void_p
    fonts = library.FcConfigGetFonts(ctypes.c_void_p(library.FcConfigGetCurrent()), 0)
    sets = [ctypes.c_void_p() for _ in range(fonts.contents.count if fonts else 0)]
    for k, characters in enumerate(sets):
        font = ctypes.c_void_p(fonts.contents.fonts[k])
        library.FcPatternGetCharSet(font, b"charset", 0, ctypes.byref(characters))
    return library, [characters for characters in sets if characters]


@cache
def drawn(character: str) -> bool:
    """Return whether an installed font has a character; True if unknown."""
    if (known := _character_sets()) is None:
        return True
    library, sets = known
    return any(library.FcCharSetHasChar(characters, ord(character)) for characters in sets)


def _accessible(raw: str, graph: Graph, *, both: bool) -> str:
    """Return an SVG by Graphviz with a title and a description, equal for equal pictures."""
    body = raw[raw.index("<svg") :]
    body = re.sub(r"<!--.*?-->\s*", "", body, flags=re.S)
    # ids are global in a page, and those of two pictures would clash
    body = re.sub(r' (?:id|xmlns:xlink|xml:space)="[^"]*"', "", body)
    body = centre_words(raise_words(body))
    opening, rest = body.split(">", 1)
    size = " ".join(re.findall(r'(?:width|height|viewBox)="[^"]*"', opening))
    says = f"<title>{escape(_plain(graph.title))}</title>\n"
    says += f"<desc>{escape(_plain(alt_text(graph)))}</desc>"
    style = dark_where_dark(rest) if both else ""
    root = f'<svg class="cerlab-graph" role="img" {size} xmlns="http://www.w3.org/2000/svg">'
    return f"{root}\n{says}\n{style}{rest.strip()}"


def dark_where_dark(body: str) -> str:
    """Return CSS that switches to the dark theme if the viewer prefers it.

    A standalone drawing also declares that it supports dark backgrounds.
    """
    rules = colour_rules(body, LIGHT, DARK)
    return f"<style>@media (prefers-color-scheme:dark){{{rules}}}{ON_ITS_OWN}</style>\n"


def colour_rules(body: str, old: Any, new: Any, inside: str = "") -> str:
    """Return CSS that replaces the colours of one theme with those of another."""
    rules = []
    for one, other in zip(old.colours, new.colours, strict=True):
        for paint in ("fill", "stroke"):
            if f'{paint}="{one}"' in body:
                rules.append(f'{inside}.cerlab-graph [{paint}="{one}"]{{{paint}:{other}}}')
    return "".join(rules)


def html(value: object) -> str:
    """Return the picture of a value as HTML for a notebook.

    A line below a machine that is wider than a page gives the call that draws it narrower.
    """
    graph = graph_of(value)
    inside = svg(graph)
    width = _width(inside)
    opening = f'<div class="cerlab-picture" style="--least:{LEAST * width:.0f}pt">'
    picture = f"{opening}{_FIT}{page_colours(inside)}{inside}</div>"
    if graph.direction != "LR" or LEAST * width <= COLUMN:
        return picture
    return block(picture, note('Narrower, from top to bottom: .to_graphviz(rankdir="TB")'))


def _width(picture: str) -> float:
    """Return the width of an SVG by Graphviz, in points."""
    match = re.search(r'\bwidth="([\d.]+)pt"', picture)
    return float(match[1]) if match else 0


def page_colours(body: str) -> str:
    """Return CSS that gives a picture the theme of its Jupyter page.

    The page's theme may differ from the browser's preference, which the drawing follows by default.
    """
    rules = "".join(
        colour_rules(body, LIGHT, theme, f'[data-jp-theme-light="{word}"] ')
        for theme, word in ((DARK, "false"), (LIGHT, "true"))
    )
    return f"<style>{rules}</style>"


def _plain(text: str) -> str:
    """Return a text without the characters that XML forbids."""
    return "".join(c if c.isprintable() else " " for c in text)


_NODE = re.compile(r'<g class="node">.*?</g>', re.S)

_EDGE = re.compile(r'<g class="edge">.*?</g>', re.S)

_ELEMENT = re.compile(r"<(polygon|path|ellipse|text) ([^>]*)>")

_NUMBER = r"-?\d+(?:\.\d+)?"

_PAIR = re.compile(rf"({_NUMBER}),{_NUMBER}")

_LEFT = re.compile(rf'text-anchor="start" x="{_NUMBER}"')

_CENTRE = re.compile(rf'\bcx="({_NUMBER})"')


def centre_words(svg: str) -> str:
    """Return an SVG by Graphviz with each line of text centred in its node or cell.

    Lines with a small text beside them are two texts, and stay unchanged.

    >>> cell = '<polygon points="0,0 0,9 60,9 60,0"/><text text-anchor="start" x="9" y="5">'
    >>> svg = centre_words(f'<g class="node">{cell}hi</text></g>')
    >>> svg[svg.index("<text") :]
    '<text text-anchor="middle" x="30" y="5">hi</text></g>'
    """
    return _NODE.sub(lambda node: _words_of(node[0]), svg)


def raise_words(svg: str) -> str:
    """Return an SVG by Graphviz with the labels of edges moved up from their lines."""
    return _EDGE.sub(lambda edge: edge[0].replace("<text ", '<text dy="-2" '), svg)


def _words_of(node: str) -> str:
    if "baseline-shift" in node:
        return node
    middle: float | None = None

    def place(part: re.Match[str]) -> str:
        nonlocal middle
        if part[1] != "text":
            middle = _middle(part[2])
            return part[0]
        if middle is None:
            return part[0]
        return _LEFT.sub(f'text-anchor="middle" x="{middle:g}"', part[0])

    return _ELEMENT.sub(place, node)


def _middle(shape: str) -> float | None:
    """Return the horizontal centre of a shape in SVG; None if unknown."""
    centre = _CENTRE.search(shape)
    if centre:
        return float(centre[1])
    across = [float(x) for x in _PAIR.findall(shape)]
    return round((min(across) + max(across)) / 2, 2) if across else None


STDERR = 2
"""File descriptor that C libraries write to, bypassing ``sys.stderr``."""


@contextmanager
def without_font_warnings() -> Iterator[None]:
    """Drop Fontconfig's warnings on standard error in this block; delay all other output.

    The Fontconfig in pygraphviz's wheel warns of settings newer than itself, which a notebook would
    show in red above the first picture.
    """
    try:
        real = os.dup(STDERR)
    except OSError:  # there is no standard error
        yield
        return
    with TemporaryFile() as buffer:
        os.dup2(buffer.fileno(), STDERR)
        try:
            yield
        finally:
            # restore first, so that the delayed output can be written
            os.dup2(real, STDERR)
            os.close(real)
            buffer.seek(0)
            for line in buffer:
                if not line.startswith(b"Fontconfig warning"):
                    os.write(STDERR, line)
