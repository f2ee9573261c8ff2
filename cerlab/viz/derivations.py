"""Derivation trees: how a formula or a SREMO comes to an answer, and what stands in the way.

A node says the operator, its interval and the positions of its labels, or its marks and what the
registers hold; a part for one event says the event, where the events are given. A part without
events is pale. Where an obligation is not met the node has a strong edge, and the legend says why.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from cerlab.logic.cel.syntax import Formula
from cerlab.logic.cel.text import node_text
from cerlab.logic.sremo.text import node_text as expression_node_text
from cerlab.model.answer import Valuation
from cerlab.model.event import Event
from cerlab.predicates.text import name_text
from cerlab.predicates.words import event_text
from cerlab.viz.formulas import own_parts, tree
from cerlab.viz.graph import Graph, Node, NodeKind, picture
from cerlab.why.deduction import Derivation, Reading

AnyDerivation: TypeAlias = Derivation[Any, Any]

MOST_WORDS = 5
"""How many failures the legend tells."""


LONGEST_EVENT = 40
"""How many characters of an event a node says."""


@picture.register(Derivation)
def derivation_graph(
    root: AnyDerivation, limit: int | None = None, events: Mapping[int, Event] | None = None
) -> Graph:
    """A derivation as a tree, from the top down, with the `events` at its leaves."""
    nodes, edges = tree(
        root, lambda name, here: _node(name, here, events or {}), lambda here: here.children
    )
    words = [failure.words for failure in root.failures]
    more = [f".. and {len(words) - MOST_WORDS:,} more"] if len(words) > MOST_WORDS else []
    title = f"Derivation of {len(nodes):,} nodes: {'not ' * bool(words)}a match"
    legend = (*words[:MOST_WORDS], *more)
    return Graph("derivation", title, nodes, edges, "TB", legend=legend)


def _node(name: str, here: AnyDerivation, events: Mapping[int, Event]) -> Node:
    value = here.valuation
    parts, under = _reading_parts(value) if isinstance(value, Reading) else _valuation_parts(value)
    at = parts.get("start")
    if not here.children and at in events and at == parts["end"]:
        _, *more = under.split("\n")
        under = "\n".join([f"{at}: {event_text(events[at], LONGEST_EVENT)}", *more])
    failing = any(failure.path == here.path for failure in here.failures)
    return Node(
        name,
        _part(here) + " ✗" * failing,
        NodeKind.FAILED if failing else NodeKind.PART,
        own_parts(here.part) | parts,
        under=under,
        is_faded=not parts and not failing,
    )


def _part(here: AnyDerivation) -> str:
    """The operator, or the whole of an expression if no node is below."""
    if isinstance(here.part, Formula):
        return node_text(here.part)
    return expression_node_text(here.part) if here.children else str(here.part)


def _valuation_parts(V: Valuation | None) -> tuple[dict[str, Any], str]:
    """A valuation as parts of the node, and as words."""
    if V is None:
        return {}, "no event"
    labels = (f"{name_text(X)} {{{', '.join(map(str, D))}}}" for X, D in sorted(V.labels.items()))
    parts = {"start": V.start, "end": V.end, "positions_of": dict(V.labels)}
    return parts, "\n".join([f"[{V.start}, {V.end}]", *labels])


def _reading_parts(reading: Reading) -> tuple[dict[str, Any], str]:
    """What an expression consumes, marks and stores as parts of the node, and as words."""
    start, end, marks = reading.start, reading.end, reading.marks
    if end == start:
        return {}, "no event"
    registers = dict(reading.registers)
    under = [f"[{start}, {end - 1}]"]
    if marks:
        under.append(f"^ {{{', '.join(map(str, marks))}}}")
    under += [f"{name_text(r)} = {'?' if p is None else p}" for r, p in registers.items()]
    parts = {"start": start, "end": end - 1, "marks": marks, "registers": registers}
    return parts, "\n".join(under)
