"""Derivations and their failures as text: a tree with the words of the query and the values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cerlab import display
from cerlab.logic.cel.syntax import Atom, Not
from cerlab.model.event import Event
from cerlab.predicates.text import name_text
from cerlab.why.answer import Why
from cerlab.why.conditions import event_text
from cerlab.why.derivation import Derivation
from cerlab.why.rivals import positions_text
from cerlab.why.sremo.derivation import SremoDerivation
from cerlab.why.sremo.text import sremo_node_text


def why_text(why: Why) -> str:
    """The verdict in a line, then the derivation; of a failure its words first."""
    lines = list(_head(why))
    if why.derivation is not None:
        lines.append(tree_text(why.derivation, why.events))
    return "\n".join(lines)


def _head(why: Why) -> Iterator[str]:
    asked = positions_text(why.positions)
    if why.holds:
        assert why.derivation is not None
        start, end = why.derivation.interval
        yield f"a match: {asked} in [{start}, {end}]"
        return
    yield f"no match: {asked}"
    for failure in why.failures:
        yield f"  {failure.words}"
    if why.searched is not None:
        yield f"searched from {why.searched[0]} to {why.searched[1]}; the nearest that there is:"


def derivation_text(derivation: Derivation | SremoDerivation) -> str:
    """The tree without the events."""
    return tree_text(derivation, {})


def tree_text(root: Derivation | SremoDerivation, events: Mapping[int, Event]) -> str:
    """One line for a node: the operator, the interval, what it adds; then those below."""
    from cerlab.viz.machines.text import tree_lines  # pictures load when something is shown

    def says(node: Derivation | SremoDerivation) -> str:
        if isinstance(node, SremoDerivation):
            words = sremo_node_text(node, events)
        else:
            words = node_text(node, events)
        failing = any(failure.path == node.path for failure in node.failures)
        return f"{words} ✗" if failing else words

    return tree_lines(root, says, lambda node: node.children)


def node_text(node: Derivation, events: Mapping[int, Event]) -> str:
    """``; [0, 2]  A {0}  B {2}``; of a part for one event the event."""
    from cerlab.viz.machines.text import node_text as operator_text

    return f"{operator_text(node.part)} {_said(node, events)}".rstrip()


def _said(node: Derivation, events: Mapping[int, Event]) -> str:
    V = node.valuation
    if V is None:
        return "no event"
    if isinstance(node.part, Atom | Not):
        return f"{V.start}: {event_text(events[V.start])}" if V.start in events else f"{V.start}"
    labels = "  ".join(f"{name_text(X)} {positions_text(D)}" for X, D in V.labels.items())
    return f"[{V.start}, {V.end}]  {labels}".rstrip()


display.register(Why, "text/plain", why_text)
display.register(Derivation, "text/plain", derivation_text)
display.register(SremoDerivation, "text/plain", derivation_text)
