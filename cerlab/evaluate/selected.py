"""What ``SELECT x[attr, ..]`` shows of an answer: the labels of its positions, their attributes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from cerlab.compile.pattern import Pattern
from cerlab.engine.reference.relabel import labels_of_answer, substream
from cerlab.logic.cel.semantics import valuations
from cerlab.logic.ceql.semantics import query_valuations
from cerlab.logic.ceql.syntax import selected_formula
from cerlab.model.answer import ComplexEvent, Valuation, complex_event
from cerlab.model.event import Event, is_of_stream
from cerlab.model.stream import Stream


def shown_attributes(
    pattern: Pattern, events: Sequence[Event], answer: ComplexEvent
) -> dict[int, frozenset[str]]:
    """What ``SELECT x[attr, ..]`` chooses to show at the positions of an answer.

    A position of several labels shows what any of them chooses; one of a label without brackets
    shows everything and is left out.
    """
    items = pattern.ast.items or ()
    if not any(item.attributes for item in items):
        return {}
    by_position = {}
    for position, labels in _labels(pattern, events, answer).items():
        event = events[position]
        groups = [
            item.attributes
            for item in items
            if item.label in labels and (item.stream is None or is_of_stream(event, item.stream))
        ]
        if groups and all(groups):
            by_position[position] = frozenset[str]().union(*groups)
    return by_position


def _labels(
    pattern: Pattern, events: Sequence[Event], answer: ComplexEvent
) -> dict[int, frozenset[str]]:
    """The labels that the positions of an answer have in some valuation.

    By the automaton; by the reference on the answer's events where filters compare labels; else by
    the reference on all events up to its end.
    """
    if pattern.has_automaton:
        return labels_of_answer(pattern.plan, events, answer)
    if not pattern.has_registers:
        whole = replace(pattern.ast, limit=None)
        return _labels_in(query_valuations(whole, Stream(events[: answer.end + 1])), answer)
    inside = substream(pattern.registers, events, answer)
    among = tuple(inside.index(p) for p in answer.positions)
    inner_valuations = valuations(selected_formula(pattern.ast), [events[i] for i in inside])
    labels = _labels_in(inner_valuations, ComplexEvent(0, len(inside) - 1, among))
    return {inside[i]: names for i, names in labels.items()}


def _labels_in(candidates: Iterable[Valuation], answer: ComplexEvent) -> dict[int, frozenset[str]]:
    """The labels of an answer's positions in those of some valuations that give it."""
    giving = [V for V in candidates if complex_event(V) == answer]
    return {
        i: frozenset(label for V in giving for label, D in V.labels.items() if i in D)
        for i in answer.positions
    }
