"""Derivations and their failures as text: a tree with the words of the query and the values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cerlab import display
from cerlab.display import tree_lines
from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.text import node_text
from cerlab.logic.sremo import syntax as sre
from cerlab.logic.sremo.text import node_text as expression_node_text
from cerlab.model.event import Event
from cerlab.predicates.text import name_text
from cerlab.predicates.words import event_text, positions_text
from cerlab.why.answer import Why
from cerlab.why.deduction import CelDerivation, Derivation, Reading, SremoDerivation, part_text


def why_text(why: Why) -> str:
    """The verdict in a line, then the derivation; of a failure its words first."""
    lines = list(verdict_lines(why))
    if why.derivation is not None:
        lines.append(derivation_text(why.derivation, why.events))
    return "\n".join(lines)


def verdict_lines(why: Why) -> Iterator[str]:
    """The verdict, what fails, and which part of the stream was searched."""
    positions = positions_text(why.positions)
    if why.holds:
        assert why.derivation is not None
        start, end = why.derivation.interval
        yield f"a match: {positions} in [{start}, {end}]"
        return
    yield f"no match: {positions}"
    for failure in why.failures:
        yield f"  {failure.words}"
    if why.searched is not None:
        yield f"searched from {why.searched[0]} to {why.searched[1]}; the nearest that there is:"


def derivation_text(
    root: CelDerivation | SremoDerivation, events: Mapping[int, Event] | None = None
) -> str:
    """One line for a node: the operator, the interval, what it adds; then those below.

    Parts for one event have the event, as far as `events` are given by their positions.
    """

    def line(node: CelDerivation | SremoDerivation) -> str:
        failing = any(failure.path == node.path for failure in node.failures)
        words = f"{_part(node)} {_value_text(node, events or {})}".rstrip()
        return f"{words} ✗" if failing else words

    return tree_lines(root, line, lambda node: node.children)


def _part(node: CelDerivation | SremoDerivation) -> str:
    """The operator; of a SREMO without nodes below, all of it."""
    if isinstance(node.part, cel.Formula):
        return node_text(node.part)
    return expression_node_text(node.part) if node.children else part_text(node.part)


def _value_text(node: CelDerivation | SremoDerivation, events: Mapping[int, Event]) -> str:
    """``[0, 2]  A {0}  B {2}``, ``[0, 2]  ^ {0, 2}  r = 0``; of a part for one event the event."""
    value = node.valuation
    if value is None or (isinstance(value, Reading) and value.end == value.start):
        return "no event"
    i = value.start
    if isinstance(node.part, cel.Atom | cel.Not | sre.Terminal):
        return f"{i}: {event_text(events[i], None)}" if i in events else f"{i}"
    if isinstance(value, Reading):
        words = [f"[{i}, {value.end - 1}]"]
        words += [f"^ {positions_text(value.marks)}"] if value.marks else []
        words += [f"{name_text(r)} = {'?' if p is None else p}" for r, p in value.registers]
        return "  ".join(words)
    labels = [f"{name_text(X)} {positions_text(D)}" for X, D in value.labels.items()]
    return "  ".join([f"[{i}, {value.end}]", *labels])


display.register(Why, "text/plain", why_text)
display.register(Derivation, "text/plain", derivation_text)
