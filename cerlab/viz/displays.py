"""Everything that shows itself, registered: importing this module fills `cerlab.display`.

`cerlab.display` imports it when a value is first shown. A module of pictures registers its own
kinds here or when it is imported, and then is named here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from cerlab import display
from cerlab.automata.cea import AnchoredCea, IntervalCea
from cerlab.automata.determinise import DeterministicCea
from cerlab.automata.epsilon import EpsilonCea
from cerlab.automata.explicit import ExplicitCea
from cerlab.automata.srt.transducer import EpsilonSrt, Srt
from cerlab.automata.strategy import StrategyCea
from cerlab.automata.ucea import Ucea
from cerlab.automata.vcea import Vcea
from cerlab.engine.reference.snapshot import TecsSnapshot
from cerlab.viz import (
    answers,
    filmstrip,
    html,
    plans,
    render,
    streams,
    timeline_svg,
    timeline_text,
    verdicts,
)
from cerlab.viz.deterministic import MintermTable, table_text
from cerlab.viz.dot import dot_text
from cerlab.viz.formulas import CEL_KINDS, SREMO_KINDS
from cerlab.viz.graph import graph_of
from cerlab.viz.macro import ExploredCea
from cerlab.viz.minterms import MintermList, minterms_text
from cerlab.viz.networks import to_networkx
from cerlab.viz.srt import srt_text
from cerlab.viz.tecs import snapshot_text
from cerlab.viz.text import cea_text, det_text, explored_text, first_lines, graph_text, vcea_text

__all__ = ["answers", "filmstrip", "plans", "streams", "timeline_svg", "timeline_text", "verdicts"]

SHOWN = 50
"""How many nodes of a picture, and lines of a text, a display shows; it says of how many."""

QUERY = "cerlab.query.Query"
DERIVATION = "cerlab.why.derivation.Derivation"
WHY = "cerlab.why.answer.Why"

_TEXTS: dict[type, Callable[[Any], str]] = {
    Vcea: vcea_text,
    IntervalCea: cea_text,
    AnchoredCea: lambda A: graph_text(graph_of(A)),
    Ucea: lambda A: graph_text(graph_of(A)),
    EpsilonCea: lambda A: graph_text(graph_of(A)),
    Srt: srt_text,
    EpsilonSrt: srt_text,
    ExplicitCea: lambda A: graph_text(graph_of(A)),
    ExploredCea: explored_text,
    DeterministicCea: lambda A: det_text(A, limit=SHOWN),
    StrategyCea: lambda A: det_text(A, limit=SHOWN),
    MintermTable: lambda table: table_text(table, SHOWN),
    MintermList: lambda listed: minterms_text(listed, SHOWN),
    TecsSnapshot: snapshot_text,
}


def _cut(says: Callable[[Any], str], value: Any) -> str:
    return first_lines(says(value), SHOWN)


def _svg(value: object) -> str:
    return render.svg(graph_of(value, limit=SHOWN))


def _html(value: object) -> str:
    return render.html(graph_of(value, limit=SHOWN))


def _dot(value: object) -> str:
    return dot_text(graph_of(value, limit=SHOWN))


def _query_html(query: Any) -> str:
    """The text of a query, and its formula as a tree."""
    return html.block(html.pre(query.text), _html(query.formula))


def _why_svg(why: Any) -> str | None:
    """The derivation of a match, or of the nearest that there is."""
    return None if why.derivation is None else _svg(why.derivation)


def _why_html(why: Any) -> str:
    """The words, and the derivation."""
    drawn = "" if why.derivation is None else _html(why.derivation)
    return html.block(html.pre(display.text(why)), drawn)


_GRAPHS: tuple[type | str, ...] = (*CEL_KINDS, *SREMO_KINDS, *_TEXTS, DERIVATION)
for _kind in _GRAPHS:
    display.register(_kind, "image/svg+xml", _svg)
    display.register(_kind, "text/html", _html)
    display.register(_kind, display.GRAPH_TEXT, _dot)
for _written, _says in _TEXTS.items():
    display.register(_written, "text/plain", partial(_cut, _says))
display.register(QUERY, "image/svg+xml", lambda query: _svg(query.formula))
display.register(QUERY, "text/html", _query_html)
display.register(WHY, "image/svg+xml", _why_svg)
display.register(WHY, "text/html", _why_html)
display.register_conversion("to_networkx", to_networkx)
display.register_conversion("to_graphviz", render.to_graphviz)
