"""What "why" says, as plain JSON values.

    {"holds": false, "positions": [0, 2], "searched": [0, 2],
     "failures": [{"kind": "filter", "words": "B at 2 fails v > 0: v is 0", "part": "B FILTER ..",
                   "path": [1], "positions": [2], "rival": null,
                   "repairs": [{"do": "relax", "path": [1], "into": "B"}, {"do": "alter", ..}]}],
     "repairs": [..], "derivation": {"part": "A ; B", "path": [], "start": 0, "end": 2,
                   "labels": {"A": [0], "B": [2]}, "children": [..]}}

``repairs`` are those that alone make the positions an answer. A part without an event has ``start``
and ``end`` null; ``derivation`` is null where the positions are not in the stream, or far from any
match. A node of a SREMO has ``marks`` and ``registers``, ``{"r": 3}``, in the place of ``labels``.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from cerlab.logic.ceql.text import window_text
from cerlab.model.answer import ComplexEvent, Valuation
from cerlab.why.answer import Why
from cerlab.why.deduction import CelDerivation, Reading, SremoDerivation
from cerlab.why.failure import Failure, Relax, Remark, Repair, Widen
from cerlab.why.none import WhyNone


def why_to_json(why: Why) -> dict[str, Any]:
    """All of it."""
    return {
        "holds": why.holds,
        "positions": list(why.positions),
        "searched": None if why.searched is None else list(why.searched),
        "failures": [failure_to_json(failure) for failure in why.failures],
        "repairs": [repair_to_json(repair) for repair in why.repairs],
        "derivation": None if why.derivation is None else derivation_to_json(why.derivation),
    }


def why_none_to_json(why: WhyNone) -> dict[str, Any]:
    """Why there is no answer: what no event has, and the changes each of which gives one."""
    return {
        "events": why.events,
        "answer": None if why.answer is None else _answer(why.answer),
        "absent": [{"kind": each.kind, "name": each.name} for each in why.absent],
        "changes": [
            {
                "words": change.words,
                "repair": repair_to_json(change.repair),
                "answer": _answer(change.answer),
            }
            for change in why.changes
        ],
        "untried": [{"words": words, "reason": reason} for words, reason in why.untried],
    }


def failure_to_json(failure: Failure) -> dict[str, Any]:
    """An obligation that is not met."""
    return {
        "kind": failure.kind.value,
        "words": failure.words,
        "part": failure.part,
        "path": list(failure.path),
        "positions": list(failure.positions),
        "repairs": [repair_to_json(repair) for repair in failure.repairs],
        "rival": None if failure.rival is None else _answer(failure.rival),
    }


def repair_to_json(repair: Repair) -> dict[str, Any]:
    """``do``, and what the repair is made of; formulas and windows are texts."""
    match repair:
        case Relax(path, into) | Remark(path, into):
            parts: dict[str, Any] = {"path": list(path), "into": str(into)}
        case Widen(window):
            parts = {"window": window_text(window)}
        case _:
            parts = {field.name: getattr(repair, field.name) for field in fields(repair)}
            parts = {name: list(v) if isinstance(v, tuple) else v for name, v in parts.items()}
    return {"do": type(repair).__name__.lower(), **parts}


def derivation_to_json(node: CelDerivation | SremoDerivation) -> dict[str, Any]:
    """A node and those below."""
    return {
        "part": str(node.part),
        "path": list(node.path),
        **_value_to_json(node.valuation),
        "children": [derivation_to_json(child) for child in node.children],
    }


def _value_to_json(value: Valuation | Reading | None) -> dict[str, Any]:
    if isinstance(value, Reading):
        there = value.end > value.start
        start, end = (value.start, value.end - 1) if there else (None, None)
        marks, registers = list(value.marks), dict(value.registers)
        return {"start": start, "end": end, "marks": marks, "registers": registers}
    if value is None:
        return {"start": None, "end": None, "labels": {}}
    labels = {X: list(D) for X, D in value.labels.items()}
    return {"start": value.start, "end": value.end, "labels": labels}


def _answer(answer: ComplexEvent) -> dict[str, Any]:
    return {"start": answer.start, "end": answer.end, "positions": list(answer.positions)}
