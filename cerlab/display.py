"""How values show themselves, without layer 0 knowing any picture.

Higher layers register a renderer for a type and a mimetype; `shown` classes look their renderers
up when they are displayed. A missing or failing renderer is never an error: the next poorer
mimetype is shown, and ``text/plain`` always exists (`repr` in the worst case).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Renderer = Callable[[Any], str]

_renderers: dict[tuple[type, str], Renderer] = {}

T = TypeVar("T", bound=type)


def register(kind: type, mimetype: str, renderer: Renderer) -> None:
    """Let values of `kind` (and its subclasses) be shown in `mimetype` by `renderer`."""
    _renderers[kind, mimetype] = renderer


def render(value: object, mimetype: str = "text/plain") -> str | None:
    """The value in `mimetype`, or None if no renderer is registered for any class of it."""
    for kind in type(value).__mro__:
        if renderer := _renderers.get((kind, mimetype)):
            return renderer(value)
    return None


def text(value: object) -> str:
    """The value as plain text; `repr` where nothing better is registered."""
    rendered = render(value)
    return repr(value) if rendered is None else rendered


def _mimebundle(self: object, include: Any = None, exclude: Any = None) -> dict[str, str]:
    bundle = {"text/plain": text(self)}
    for mimetype in ("text/html", "image/svg+xml", "text/latex"):
        try:
            rendered = render(self, mimetype)
        except Exception:  # a picture that cannot be drawn here must not hide the value
            continue
        if rendered is not None:
            bundle[mimetype] = rendered
    return bundle


def shown(cls: T) -> T:
    """Class decorator: ``str(value)`` and Jupyter's display go through the registry."""
    cls.__str__ = text  # type: ignore[method-assign, assignment]
    cls._repr_mimebundle_ = _mimebundle  # type: ignore[attr-defined]
    return cls
