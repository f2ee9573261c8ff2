"""The displays of all kinds of values; importing this module registers them in `cerlab.display`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Protocol, TypeAlias

from cerlab import display
from cerlab.automata.automaton import AnchoredCea, EpsilonCea, IntervalCea, Ucea, Vcea
from cerlab.automata.deterministic import DeterministicCea
from cerlab.automata.explicit import ExplicitCea
from cerlab.automata.plan import CorrelatedPlan, Plan, RegisterPlan
from cerlab.automata.registers import EpsilonSrt, Srt
from cerlab.automata.strategy import StrategyCea
from cerlab.compile.pattern import Pattern
from cerlab.display import Explanation
from cerlab.engine.reference.snapshot import TecsSnapshot
from cerlab.logic.cel.text import window_text
from cerlab.logic.ceql.syntax import CeqlQuery
from cerlab.logic.gcq import Atom, Gcq
from cerlab.model.clauses import Consume
from cerlab.model.event import Timestamp
from cerlab.predicates.text import count_text
from cerlab.rows import text as row_text
from cerlab.rows.machine import PrioritisedAutomaton
from cerlab.rows.syntax import RowPattern
from cerlab.viz import answers, filmstrip, html, machines, render, timeline, timeline_svg
from cerlab.viz.deterministic import (
    ExploredCea,
    MintermTable,
    det_text,
    explored_text,
    first_lines,
    machine_text,
    table_grid,
)
from cerlab.viz.dot import dot_text
from cerlab.viz.formulas import CEL_KINDS, SREMO_KINDS, derivation_graph
from cerlab.viz.graph import Graph, graph_of
from cerlab.viz.html import block, grid_html, grid_text, items, table
from cerlab.viz.machines import MintermList, minterms_grid
from cerlab.viz.networks import to_networkx
from cerlab.viz.tecs import snapshot_text
from cerlab.why import Why, verdict_lines
from cerlab.why.deduction import Derivation
from cerlab.why.failure import Failure
from cerlab.why.none import WhyNone

# imported because each module registers displays
__all__ = ["answers", "filmstrip", "machines", "row_text", "timeline", "timeline_svg"]

MOST = 50
"""Most nodes of a picture, and lines of a text, in a display; a note has the total."""

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
    """Return the text of a query and its formula as a tree, as HTML."""
    return html.block(html.pre(display.text(query)), _html(query))


def _words_html(value: object) -> str:
    return html.block(html.pre(display.text(value)))


def _why_graph(why: Why) -> Graph | None:
    """Return the graph of an explanation's derivation; None without a derivation."""
    if why.derivation is None:
        return None
    return derivation_graph(why.derivation, events=why.events)


def _why_svg(why: Why) -> str | None:
    graph = _why_graph(why)
    return None if graph is None else _svg(graph)


def _why_html(why: Why) -> str:
    """Return an explanation as HTML: verdict and failures as text, derivation as a picture."""
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
display.register(object, display.GRAPHVIZ, lambda value: partial(render.to_graphviz, value))

Facts: TypeAlias = Sequence[tuple[str, str]]
"""Pairs of the name of a part and its value."""


class SessionLike(Protocol):
    """Interface of sessions, such as ``Query.open`` returns."""

    plan: Plan
    pushed: int
    answered: int


def plan_facts(plan: Plan | CorrelatedPlan) -> list[tuple[str, str]]:
    """Return the size of a plan's machine and the clauses, as pairs of texts."""
    facts = [
        *_machine_facts(plan.cea if isinstance(plan, Plan) else plan.srt),
        ("streams", ", ".join(plan.streams)),
        ("partition by", ", ".join(plan.partition)),
        ("within", "" if plan.window is None else window_text(plan.window)),
        ("strategy", plan.strategy.value if plan.strategy else ""),
        ("consume by", "" if plan.consume is Consume.NONE else plan.consume.value),
        ("limit", "" if plan.limit is None else f"{plan.limit.per_end} answers of an end"),
        ("throttle", "" if plan.throttle is None else window_text(plan.throttle)),
    ]
    return [(name, text) for name, text in facts if text]


def register_plan_facts(plan: RegisterPlan) -> list[tuple[str, str]]:
    """Return the size of a SREMO's machine and its windows, as pairs of texts."""
    return [*_machine_facts(plan.srt), *(("within", window_text(w)) for w in plan.windows)]


def _machine_facts(A: IntervalCea | Srt) -> list[tuple[str, str]]:
    size = f"{count_text(A.states, 'state')}, {count_text(len(A.Delta), 'transition')}"
    if isinstance(A, IntervalCea):
        return [("machine", size)]
    return [("machine", size), ("registers", ", ".join(sorted(A.R)) or "none")]


def facts_text(facts: Facts) -> str:
    """Return pairs of texts as lines."""
    return "\n".join(f"{name}: {text}" for name, text in facts)


def facts_html(facts: Facts) -> str:
    """Return pairs of texts as an HTML table."""
    return block(table("Plan", ("part", "value"), facts))


def explanation_html(explanation: Explanation) -> str:
    """Return an explanation as an HTML list."""
    return block(items("How the engine evaluates it", explanation.lines))


def session_html(session: SessionLike) -> str:
    """Return a session as HTML: the numbers of events and answers, and the plan."""
    done = [("events pushed", session.pushed), ("answers completed", session.answered)]
    return block(table("Open query", ("part", "value"), [*done, *plan_facts(session.plan)]))


for _kind in (Plan, CorrelatedPlan):
    display.register(_kind, "text/plain", lambda plan: facts_text(plan_facts(plan)))
    display.register(_kind, "text/html", lambda plan: facts_html(plan_facts(plan)))


display.register(RegisterPlan, "text/plain", lambda plan: facts_text(register_plan_facts(plan)))
display.register(RegisterPlan, "text/html", lambda plan: facts_html(register_plan_facts(plan)))
display.register(Explanation, "text/html", explanation_html)
