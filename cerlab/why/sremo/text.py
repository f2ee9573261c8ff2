"""Nodes of the derivation of a SREMO as text: events, marks, and what the registers hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cerlab.logic.sremo.syntax import Terminal
from cerlab.model.event import Event
from cerlab.predicates.text import name_text
from cerlab.why.conditions import event_text
from cerlab.why.rivals import positions_text
from cerlab.why.sremo.derivation import SremoDerivation
from cerlab.why.sremo.goal import said


def sremo_node_text(node: SremoDerivation, events: Mapping[int, Event]) -> str:
    """``. [0, 2]  ^ {0, 2}  r = 0``; of a part for one event the event."""
    from cerlab.viz.formulas import expression_node_text  # pictures load when something is shown

    part = expression_node_text(node.part) if node.children else said(node.part)
    return f"{part} {_said(node, events)}"


def _said(node: SremoDerivation, events: Mapping[int, Event]) -> str:
    if node.end == node.start:
        return "no event"
    if isinstance(node.part, Terminal):
        i = node.start
        return f"{i}: {event_text(events[i])}" if i in events else f"{i}"
    words = [f"[{node.start}, {node.end - 1}]"]
    if node.marks:
        words.append(f"^ {positions_text(node.marks)}")
    return "  ".join((*words, *_registers(node)))


def _registers(node: SremoDerivation) -> Iterator[str]:
    """``r = 3``: which event each register holds after it."""
    for r, p in node.registers:
        yield f"{name_text(r)} = {'?' if p is None else p}"
