"""Everything that shows itself, registered: importing this module fills `cerlab.display`.

`cerlab.display` imports it when a value is first shown. A module of pictures registers its own
kinds here or when it is imported, and then is named here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from cerlab import display
from cerlab.automata.automaton import AnchoredCea, EpsilonCea, IntervalCea, Ucea, Vcea
from cerlab.automata.determinise import DeterministicCea
from cerlab.automata.explicit import ExplicitCea
from cerlab.automata.registers.transducer import EpsilonSrt, Srt
from cerlab.automata.strategy import StrategyCea
from cerlab.compile.pattern import Pattern
from cerlab.engine.reference.snapshot import TecsSnapshot
from cerlab.logic.ceql.syntax import CeqlQuery
from cerlab.logic.gcq.syntax import Atom, Gcq
from cerlab.model.event import Timestamp
from cerlab.rows.machine import PrioritisedAutomaton
from cerlab.rows.syntax import RowPattern
from cerlab.viz import html, render
from cerlab.viz.derivations import derivation_graph
from cerlab.viz.dot import dot_text
from cerlab.viz.formulas import CEL_KINDS, SREMO_KINDS
from cerlab.viz.graph import Graph, graph_of
from cerlab.viz.machines import prioritised
from cerlab.viz.machines.deterministic import MintermTable, table_grid
from cerlab.viz.machines.exploration import ExploredCea
from cerlab.viz.machines.grid import grid_html, grid_text
from cerlab.viz.machines.minterms import MintermList, minterms_grid
from cerlab.viz.machines.text import det_text, explored_text, first_lines, machine_text
from cerlab.viz.networks import to_networkx
from cerlab.viz.notebook import answers, filmstrip, plans, streams, verdicts
from cerlab.viz.tecs import snapshot_text
from cerlab.viz.timeline import svg as timeline_svg
from cerlab.viz.timeline import text as timeline_text
from cerlab.why import Why, verdict_lines
from cerlab.why.deduction import Derivation
from cerlab.why.failure import Failure
from cerlab.why.none import WhyNone

__all__ = [
    "answers",
    "filmstrip",
    "plans",
    "prioritised",
    "streams",
    "timeline_svg",
    "timeline_text",
    "verdicts",
]

MOST = 50
"""How many nodes of a picture, and lines of a text, a display shows; it says of how many."""

_MACHINES = (
    *(Vcea, Ucea, IntervalCea, AnchoredCea, EpsilonCea, ExplicitCea, Srt, EpsilonSrt),
    PrioritisedAutomaton,
)
_TEXTS: dict[type, Callable[[Any], str]] = {
    **dict.fromkeys(_MACHINES, machine_text),
    ExploredCea: explored_text,
    DeterministicCea: partial(det_text, limit=MOST),
    StrategyCea: partial(det_text, limit=MOST),
    MintermTable: lambda table: grid_text(table_grid(table, MOST)),
    MintermList: lambda vectors: grid_text(minterms_grid(vectors, MOST)),
    TecsSnapshot: snapshot_text,
}


def _cut(says: Callable[[Any], str], value: Any) -> str:
    return first_lines(says(value), MOST)


def _svg(value: object) -> str:
    return render.svg(graph_of(value, limit=MOST))


def _html(value: object) -> str:
    return render.html(graph_of(value, limit=MOST))


def _dot(value: object) -> str:
    return dot_text(graph_of(value, limit=MOST))


def _query_html(query: Any) -> str:
    """The text of a query, and its formula as a tree."""
    return html.block(html.pre(display.text(query)), _html(query))


def _words_html(value: object) -> str:
    return html.block(html.pre(display.text(value)))


def _why_graph(why: Why) -> Graph | None:
    """The derivation of a match, or of the nearest that there is, with its events."""
    if why.derivation is None:
        return None
    return derivation_graph(why.derivation, events=why.events)


def _why_svg(why: Why) -> str | None:
    graph = _why_graph(why)
    return None if graph is None else _svg(graph)


def _why_html(why: Why) -> str:
    """The verdict and the failures in words, and the derivation as a picture."""
    graph = _why_graph(why)
    words = html.pre("\n".join(verdict_lines(why)))
    return html.block(words, "" if graph is None else _html(replace(graph, legend=())))


for _kind in (*CEL_KINDS, *SREMO_KINDS, Gcq, Atom, *_TEXTS, Derivation, CeqlQuery, Pattern):
    display.register(_kind, "image/svg+xml", _svg)
    display.register(_kind, "text/html", _html)
    display.register(_kind, display.GRAPH_TEXT, _dot)
for _kind, _says in _TEXTS.items():
    display.register(_kind, "text/plain", partial(_cut, _says))
for _query in (CeqlQuery, Pattern, RowPattern):
    display.register(_query, "text/html", _query_html)
display.register(RowPattern, "image/svg+xml", _svg)
display.register(RowPattern, display.GRAPH_TEXT, _dot)
for _short in (Timestamp, Failure, WhyNone):
    display.register(_short, "text/html", _words_html)
display.register(Timestamp, "text/plain", str)
display.register(MintermTable, "text/html", lambda table: grid_html(table_grid(table, MOST)))
display.register(MintermList, "text/html", lambda vectors: grid_html(minterms_grid(vectors, MOST)))
display.register(Why, "image/svg+xml", _why_svg)
display.register(Why, "text/html", _why_html)
display.register(object, display.NETWORKX, to_networkx)
display.register(object, display.GRAPHVIZ, render.to_graphviz)
