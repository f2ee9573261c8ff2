"""How pictures look: two themes in the colours that the colour-blind tell apart (Okabe and Ito).

Every colour of a theme stands for one thing, so a drawing in the light theme can be turned into the
dark one by exchanging colours, which is how one SVG serves both (see `render`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from cerlab.viz.graph import EdgeKind, NodeKind

ON_ITS_OWN = "svg:root{color-scheme:light dark}"
"""CSS for a drawing that is no part of a page: it can be light and dark, and so can its ground."""

FONT = '"Helvetica"'
"""As DOT has it; Graphviz measures with what the machine has in its place."""

ThemeName: TypeAlias = Literal["light", "dark"]


@dataclass(frozen=True, slots=True)
class Theme:
    """Colours by what they stand for; the background is always transparent."""

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
        """All colours, in the order of the fields."""
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
THEMES: dict[str, Theme] = {"light": LIGHT, "dark": DARK}


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
"""What edges look like in every theme: left edges of unions are dashed, right ones solid."""


def edge_colour(theme: Theme, kind: EdgeKind) -> str:
    """The colour of an edge and its words."""
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
