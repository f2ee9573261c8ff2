"""Notation for hand-computed tables."""

from __future__ import annotations

from typing import Any

from cerlab import ComplexEvent, Valuation

EVALUATORS = ("reference", "automaton", "tecs", "compiled")


def word(types: str, **values: str) -> list[dict[str, Any]]:
    """``word("AAB", v="101")``: events of these types; a digit is a value, ``.`` a missing one."""
    events: list[dict[str, Any]] = []
    for i, event_type in enumerate(types):
        attributes = {name: int(digits[i]) for name, digits in values.items() if digits[i] != "."}
        events.append({"type": event_type, **attributes})
    return events


def v(start: int, end: int, **labels: tuple[int, ...]) -> Valuation:
    """A valuation."""
    return Valuation(start, end, labels)


def c(start: int, end: int, *positions: int) -> ComplexEvent:
    """A complex event."""
    return ComplexEvent(start, end, positions)
