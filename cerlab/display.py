"""The registry of renderers, by which values display themselves without importing pictures.

Higher layers register a renderer for a type and a mimetype; `drawable` classes look their renderers
up when they are displayed. The pictures register when they are imported, and they are imported
when a value is first shown in a way that nothing has been registered for: until then a program
that draws nothing loads nothing. A missing or failing renderer is never an error: the next poorer
mimetype is shown, and ``text/plain`` always exists (`repr` in the worst case).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from textwrap import shorten
from typing import Any, NamedTuple, TypeVar

Renderer = Callable[[Any], Any]
"""Makes a text of a value, None where it cannot; or, in the formats of graphs, a graph."""

MIMETYPES = ("text/html", "image/svg+xml", "text/latex")
"""The media types that a notebook receives beside plain text, where there is a renderer."""

GRAPH_TEXT = "text/vnd.graphviz"
"""The media type that replaces a picture that cannot be drawn here: DOT."""

NETWORKX, GRAPHVIZ = "networkx", "graphviz"
"""Formats that are objects of those libraries."""

_load_pictures: list[Callable[[], object]] = []
_renderers: dict[tuple[type, str], Renderer] = {}

T = TypeVar("T", bound=type)


def terminal(file: Any) -> Any:
    """Return the terminal behind a standard stream of a command, for cursors and colours.

    The stream itself escapes control characters (`cerlab.cli.streams`).
    """
    return getattr(file, "terminal", file)


def load_with(load: Callable[[], object]) -> None:
    """Let `load` register the pictures, when a value is first shown that has no renderer yet."""
    _load_pictures.append(load)


def _load() -> None:
    while _load_pictures:
        # Taken off before it runs: what it loads may ask for a renderer again.
        _load_pictures.pop()()


def register(kind: type, mimetype: str, renderer: Renderer) -> None:
    """Let values of `kind` (and its subclasses) be shown in `mimetype` by `renderer`."""
    _renderers[kind, mimetype] = renderer


def render(value: object, mimetype: str = "text/plain") -> Any:
    """The value in `mimetype`, or None if no renderer is registered for any class of it."""
    renderer = _renderer(value, mimetype)
    if renderer is None:
        _load()
        renderer = _renderer(value, mimetype)
    return None if renderer is None else renderer(value)


def _renderer(value: object, mimetype: str) -> Renderer | None:
    # The nearest class first, so that a subclass may be shown otherwise than its base.
    for kind in type(value).__mro__:
        if (kind, mimetype) in _renderers:
            return _renderers[kind, mimetype]
    return None


def text(value: object) -> str:
    """The value as plain text; `repr` where nothing better is registered, or it fails."""
    for says in (render, repr):
        try:
            result: str | None = says(value)
        except Exception:  # too large, too deep: a value can always be printed
            continue
        if result is not None:
            return result
    return object.__repr__(value)


def mimebundle(value: object) -> dict[str, str]:
    """The value in every mimetype that can be made of it here, as Jupyter asks for."""
    bundle = {"text/plain": text(value)}
    for mimetype in MIMETYPES:
        _add(bundle, value, mimetype)
    if bundle.keys() == {"text/plain"}:
        _add(bundle, value, GRAPH_TEXT)
    return bundle


def _add(bundle: dict[str, str], value: object, mimetype: str) -> None:
    try:
        picture = render(value, mimetype)
    except Exception:  # a picture that cannot be drawn here must not hide the value
        return
    if picture is not None:
        bundle[mimetype] = picture


class Drawable:
    """A value whose text, display in Jupyter and graph conversions go through the registry."""

    __slots__ = ()

    def __str__(self) -> str:
        return text(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return mimebundle(self)

    def to_networkx(self) -> Any:
        """The value as a networkx graph, its parts as attributes (`cerlab.viz.to_networkx`).

        Raises `Unsupported` for what is no graph, and without networkx.
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
        """Return the value as a ``graphviz.Source``; the options are `cerlab.viz.to_graphviz`'s.

        Args:
            rankdir: The direction of the layout: ``"LR"``, ``"TB"``, ``"RL"`` or ``"BT"``.
            size: The greatest width and height in inches; larger pictures shrink.
            monochrome: Draw in black on white, for print.

        Raises:
            Unsupported: The value is no graph, or the package graphviz is missing.
        """
        draw = render(self, GRAPHVIZ)
        # The function answers other keywords by name: this module loads nothing, nor `errors`.
        return draw(rankdir=rankdir, size=size, monochrome=monochrome, **misspelt)


def rich_display(cls: T) -> T:
    """Class decorator: Jupyter's display goes through the registry, `str` stays as it is."""
    cls._repr_mimebundle_ = Drawable._repr_mimebundle_  # type: ignore[attr-defined]
    return cls


def drawable(cls: T) -> T:
    """Class decorator: make a class `Drawable` that has another base, or none by its style."""
    for name in ("__str__", "_repr_mimebundle_", "to_networkx", "to_graphviz"):
        setattr(cls, name, vars(Drawable)[name])
    return cls


_WIDTH = 120
"""Most characters of the text in a `repr`: a value in a traceback is a line or two."""


def short_repr(cls: T) -> T:
    """Class decorator: `repr` is the name of the class and the text of the value, on one line.

    >>> from cerlab import parse_schema
    >>> parse_schema("CREATE STREAM S { EVENT BUY { price:double } }")
    <Schema: CREATE STREAM S { EVENT BUY { price:double } }>
    """

    def short(value: object) -> str:
        return f"<{type(value).__name__}: {shorten(str(value), _WIDTH, placeholder=' ..')}>"

    cls.__repr__ = short  # type: ignore[assignment,method-assign]
    return cls


Tree = TypeVar("Tree")


def tree_lines(
    root: Tree, says: Callable[[Tree], str], below: Callable[[Tree], Sequence[Tree]]
) -> str:
    """Return a tree as text, one node a line, by the text of a node and its children."""
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
    """Steps of an engine, one a line: what it does, and why.

    It stands here, and not with an engine, since pictures of it need no NumPy.
    """

    lines: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(self.lines)

    def __repr__(self) -> str:
        return str(self)
