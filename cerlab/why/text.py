"""Derivations and their failures as text: a tree with the words of the query and the values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cerlab import display
from cerlab.logic.cel.syntax import Atom, Not
from cerlab.model.event import Event
from cerlab.predicates.text import name_text, value_text
from cerlab.why.answer import Why
from cerlab.why.derivation import Derivation
from cerlab.why.rivals import positions_text


def why_text(why: Why) -> str:
    """The verdict in a line, then the derivation; of a failure its words first."""
    lines = list(_head(why))
    if why.derivation is not None:
        lines += tree_lines(why.derivation, why.events)
    return "\n".join(lines)


def _head(why: Why) -> Iterator[str]:
    asked = positions_text(why.positions)
    if why.holds:
        assert why.derivation is not None
        V = why.derivation.valuation
        assert V is not None
        yield f"a match: {asked} in [{V.start}, {V.end}]"
        return
    yield f"no match: {asked}"
    for failure in why.failures:
        yield f"  {failure.words}"
    if why.searched is not None:
        yield f"searched from {why.searched[0]} to {why.searched[1]}; the nearest that there is:"


def derivation_text(derivation: Derivation) -> str:
    """The tree without the events."""
    return "\n".join(tree_lines(derivation, {}))


def tree_lines(node: Derivation, events: Mapping[int, Event]) -> Iterator[str]:
    """One line for a node: the operator, the interval, the labels; then those below."""
    from cerlab.viz.text import node_text  # pictures load when something is shown

    failing = any(failure.path == node.path for failure in node.failures)
    yield " ".join(filter(None, (node_text(node.part), _said(node, events), "✗" * failing)))
    for n, child in enumerate(node.children):
        last = n == len(node.children) - 1
        first, rest = ("└─ ", "   ") if last else ("├─ ", "│  ")
        for k, line in enumerate(tree_lines(child, events)):
            yield (rest if k else first) + line


def _said(node: Derivation, events: Mapping[int, Event]) -> str:
    V = node.valuation
    if V is None:
        return "no event"
    if isinstance(node.part, Atom | Not):
        return f"{V.start}: {event_text(events[V.start])}" if V.start in events else f"{V.start}"
    labels = "  ".join(f"{name_text(X)} {positions_text(D)}" for X, D in V.labels.items())
    return f"[{V.start}, {V.end}]  {labels}".rstrip()


def event_text(event: Event) -> str:
    """``BUY(price=3, name='INTC')``."""
    values = ", ".join(f"{name}={value_text(value)}" for name, value in event.attributes.items())
    stream = f"{event.stream}>" if event.stream is not None else ""
    return f"{stream}{event.type}({values})"


display.register(Why, "text/plain", why_text)
display.register(Derivation, "text/plain", derivation_text)
