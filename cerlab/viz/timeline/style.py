"""How timelines look: shapes and colours that colour-blind readers tell apart, in both themes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from cerlab.errors import UsageError, nearest
from cerlab.viz.theme import ON_ITS_OWN

COLOURS = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#56b4e9", "#cc79a7", "#f0e442")
"""Okabe and Ito's, without black."""

SHAPES = (
    "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0 -10 0z",
    "M-4.5 -4.5h9v9h-9z",
    "M0 -5.8L5.4 4H-5.4z",
    "M0 -6L6 0L0 6L-6 0z",
    "M0 5.8L5.4 -4H-5.4z",
    "M-5.7 0L-2.8 -5H2.8L5.7 0L2.8 5H-2.8z",
    "M-2 -5.5H2V-2H5.5V2H2V5.5H-2V2H-5.5V-2H-2z",
)
"""Circle, square, triangle, diamond, triangle upside down, hexagon, cross, about the origin."""

MARKERS = ("o", "s", "^", "D", "v", "H", "P")
"""The same as Matplotlib calls them."""

LIGHT = {
    "ink": "#1b1b1b",
    "soft": "#5b5b5b",
    "line": "#8a8a8a",
    "rule": "#d4d4d4",
    "guide": "#ececec",
    "span": "#b4b4b4",
    "pill": "#f9f0a6",
    "edge": "#b8a300",
    "blue": COLOURS[0],
}
DARK = {
    "ink": "#ececec",
    "soft": "#b0b0b0",
    "line": "#8f8f8f",
    "rule": "#4a4a4a",
    "guide": "#2e2e2e",
    "span": "#6f6f6f",
    "pill": "#45400f",
    "edge": "#a59300",
    "blue": "#4aa3df",
}
THEMES = {"light": LIGHT, "dark": DARK}

_SCOPE = "svg.cerlab-timeline"
_RULES = (
    ("", 'font:12px "Helvetica Neue",Helvetica,Arial,sans-serif;max-width:100%;height:auto'),
    ("text", "fill:%ink;stroke:none"),
    (".small", "font-size:11px;fill:%soft"),
    (".mid", "text-anchor:middle"),
    (".name", "font-weight:600"),
    ("path", "fill:none;stroke:%line"),
    (".rule", "stroke:%rule"),
    (".guide", "stroke:%guide"),
    (".interval", "stroke:%span"),
    (".arc", "stroke:%soft;stroke-width:1.3"),
    (".pill", "fill:%pill;stroke:%edge"),
    (".ghost .interval", "stroke:%line;stroke-dasharray:3 3"),
    (".on", "stroke:%ink;stroke-width:.7"),
    *((f".c{n}", f"fill:{colour}") for n, colour in enumerate(COLOURS)),
    (".c0", "fill:%blue"),
    (".off", "fill:none;stroke:%line"),
)


def style(theme: str) -> str:
    """The style sheet: of one theme, or ``"auto"``: as the reader's system and Jupyter say."""
    if theme == "auto":
        variables = {name: f"var(--{name})" for name in LIGHT}
        light, dark = _variables(LIGHT), _variables(DARK)
        return "\n".join(
            [
                f"{_SCOPE}{{{light}}}",
                f"@media (prefers-color-scheme:dark){{{_SCOPE}{{{dark}}}}}",
                f'[data-jp-theme-light="true"] {_SCOPE}{{{light}}}',
                f'[data-jp-theme-light="false"] {_SCOPE}{{{dark}}}',
                _rules(variables),
                ON_ITS_OWN,
            ]
        )
    if theme not in THEMES:
        hint = nearest(theme, ("auto", *THEMES))
        raise UsageError("CER0840", f"unknown theme '{theme}'", hint=hint)
    return _rules(THEMES[theme])


def _variables(palette: Mapping[str, str]) -> str:
    return "".join(f"--{name}:{colour};" for name, colour in palette.items())


def _rules(palette: Mapping[str, str]) -> str:
    text = "\n".join(f"{_SCOPE} {which}{{{what}}}" for which, what in _RULES)
    for name, colour in palette.items():
        text = text.replace(f"%{name}", colour)
    return text


_numbers: dict[str, int] = {}
"""The number of each kind of event, in the order in which this process first drew them."""


def number_of(kind: str) -> int:
    """The number of a kind of event, the same in all pictures of a session."""
    return _numbers.setdefault(kind, len(_numbers))


@contextmanager
def own_numbers() -> Iterator[None]:
    """Kinds are numbered from 0 inside: a file is then the same whatever was drawn before it."""
    previous = dict(_numbers)
    _numbers.clear()
    try:
        yield
    finally:
        _numbers.clear()
        _numbers.update(previous)


def look(kind: int) -> tuple[int, int]:
    """The shape and the colour of the type of that number: seven differ in both, 49 in one.

    >>> look(1), look(8)
    ((1, 1), (2, 1))
    """
    turn, colour = divmod(kind, len(COLOURS))
    return (colour + turn) % len(SHAPES), colour


def glyph(kind: int, x: str, y: str, state: str, scale: str = "") -> str:
    """The mark of the type of that number at a place; `state` is ``on`` or ``off`` (hollow)."""
    shape, colour = look(kind)
    place = f"translate({x} {y})" + (f" scale({scale})" if scale else "")
    return f'<path class="{state} c{colour}" transform="{place}" d="{SHAPES[shape]}"/>'
