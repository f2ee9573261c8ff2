"""The registry of renderers, by which values display themselves without importing pictures.

Higher layers register a renderer for a type and a media type; `drawable` classes look their
renderers up when they are displayed. Modules that draw pictures are imported when a value is first
displayed for which no renderer is registered, so a program that draws nothing does not load them. A
missing or failing renderer is never an error: the next simpler media type is shown, and
``text/plain`` always exists (`repr` in the worst case).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from textwrap import shorten
from typing import Any, NamedTuple, TypeVar

Renderer = Callable[[Any], Any]
"""A function from a value to its text, to a graph object, or to None if it cannot render it."""

MIMETYPES = ("text/html", "image/svg+xml", "text/latex")
"""Media types that a notebook receives beside plain text, if a renderer exists."""

GRAPH_TEXT = "text/vnd.graphviz"
"""Media type of DOT source, sent when no picture can be drawn."""

NETWORKX, GRAPHVIZ = "networkx", "graphviz"
"""Formats whose result is an object of the networkx or graphviz package."""

_load_pictures: list[Callable[[], object]] = []
_renderers: dict[tuple[type, str], Renderer] = {}

T = TypeVar("T", bound=type)


def terminal(file: Any) -> Any:
    """Return the terminal behind a standard stream of a command, for cursors and colours.

    The stream itself escapes control characters (`cerlab.cli.streams`).
    """
    return getattr(file, "terminal", file)


def load_with(load: Callable[[], object]) -> None:
    """Register `load`, which registers more renderers when a renderer is missing."""
    _load_pictures.append(load)


def _load() -> None:
    while _load_pictures:
        # popped before the call, since the loaded modules may ask for a renderer again
        _load_pictures.pop()()


def register(kind: type, mimetype: str, renderer: Renderer) -> None:
    """Register `renderer` for values of `kind` and its subclasses in `mimetype`."""
    _renderers[kind, mimetype] = renderer


def render(value: object, mimetype: str = "text/plain") -> Any:
    """Return the value rendered in `mimetype`, or None if no class of it has a renderer."""
    renderer = _renderer(value, mimetype)
    if renderer is None:
        _load()
        renderer = _renderer(value, mimetype)
    return None if renderer is None else renderer(value)


def _renderer(value: object, mimetype: str) -> Renderer | None:
    # nearest class first: a subclass may be displayed differently from its base
    for kind in type(value).__mro__:
        if (kind, mimetype) in _renderers:
            return _renderers[kind, mimetype]
    return None


def text(value: object) -> str:
    """Return the value as plain text; falls back to `repr` if no renderer exists or it fails."""
    for says in (render, repr):
        try:
            result: str | None = says(value)
        except Exception:  # too large or too deep: printing a value never fails
            continue
        if result is not None:
            return result
    return object.__repr__(value)


def mimebundle(value: object) -> dict[str, str]:
    """Return the value in each media type that can be rendered here, for Jupyter."""
    bundle = {"text/plain": text(value)}
    for mimetype in MIMETYPES:
        _add(bundle, value, mimetype)
    if bundle.keys() == {"text/plain"}:
        _add(bundle, value, GRAPH_TEXT)
    return bundle


def _add(bundle: dict[str, str], value: object, mimetype: str) -> None:
    try:
        picture = render(value, mimetype)
    except Exception:  # a failing picture must not hide the text of the value
        return
    if picture is not None:
        bundle[mimetype] = picture


class Drawable:
    """Base of values whose text, display in Jupyter and graph conversions use the registry."""

    __slots__ = ()

    def __str__(self) -> str:
        return text(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return mimebundle(self)

    def to_networkx(self) -> Any:
        """Return the value as a networkx graph with plain attributes (`cerlab.viz.to_networkx`).

        Raises `Unsupported` if the value is not a graph, or if networkx is missing.
        """
        return render(self, NETWORKX)

    def to_graphviz(
        self,
        *,
        rankdir: str | None = None,
        size: tuple[float, float] | None = None,
        monochrome: bool = False,
        **misspelt: Any,
    ) -> Any:
        """Return the value as a ``graphviz.Source``, with the options of `cerlab.viz.to_graphviz`.

        Args:
            rankdir: The direction of the layout: ``"LR"``, ``"TB"``, ``"RL"`` or ``"BT"``.
            size: The greatest width and height in inches; larger pictures shrink.
            monochrome: Draw in black on white, for print.

        Raises:
            Unsupported: The value is not a graph, or the package graphviz is missing.
        """
        draw = render(self, GRAPHVIZ)
        # the renderer reports unknown keywords: this module may not import `errors`
        return draw(rankdir=rankdir, size=size, monochrome=monochrome, **misspelt)


def rich_display(cls: T) -> T:
    """Decorate a class so that Jupyter's display uses the registry, while `str` is unchanged."""
    cls._repr_mimebundle_ = Drawable._repr_mimebundle_  # type: ignore[attr-defined] # added to a class of any kind
    return cls


def drawable(cls: T) -> T:
    """Decorate a class with the methods of `Drawable`, where it cannot inherit from it."""
    for name in ("__str__", "_repr_mimebundle_", "to_networkx", "to_graphviz"):
        setattr(cls, name, vars(Drawable)[name])
    return cls


_WIDTH = 120
"""Longest text in a `repr`, in characters: one or two lines of a traceback."""


def short_repr(cls: T) -> T:
    """Decorate a class so that `repr` shows its name and the text of the value on one line.

    >>> from cerlab import parse_schema
    >>> parse_schema("CREATE STREAM S { EVENT BUY { price:double } }")
    <Schema: CREATE STREAM S { EVENT BUY { price:double } }>
    """

    def short(value: object) -> str:
        return f"<{type(value).__name__}: {shorten(str(value), _WIDTH, placeholder=' ..')}>"

    cls.__repr__ = short  # type: ignore[assignment,method-assign] # replaces the repr of dataclasses too
    return cls


Tree = TypeVar("Tree")


def tree_lines(
    root: Tree, says: Callable[[Tree], str], below: Callable[[Tree], Sequence[Tree]]
) -> str:
    """Return a tree as text with one node per line, from the text and the children of each node."""
    lines = []
    pending = [(root, "", "")]
    while pending:
        value, first, rest = pending.pop()
        lines.append(first + says(value))
        inner = below(value)
        last = len(inner) - 1
        pending += [
            (child, rest + ("├─ " if n < last else "└─ "), rest + ("│  " if n < last else "   "))
            for n, child in reversed(list(enumerate(inner)))
        ]
    return "\n".join(lines)


@rich_display
class Explanation(NamedTuple):
    """An explanation of how an engine evaluates, one step and its reason per line.

    It is defined here rather than in an engine so that displaying it does not load NumPy.
    """

    lines: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(self.lines)

    def __repr__(self) -> str:
        return str(self)
