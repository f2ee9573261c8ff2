"""Notation for hand-computed tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from _pytest.mark import ParameterSet

import cerlab
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


def rows(table: str) -> list[ParameterSet]:
    """Cases of ``id | formula | word | valuations``; indented lines go on, ``#`` comments.

    A word is as for `word`, ``AAB v=101``, and a valuation ``0-2 A=0 B=1,2``, with ``;`` between;
    ``-`` is the empty word.
    """
    return [
        pytest.param(formula, events, set(map(_valuation, expected)), id=name)
        for name, formula, events, expected in _cases(table)
    ]


def answer_rows(table: str) -> list[ParameterSet]:
    """The same of queries, with answers in their order: ``0-2 0,2; 1-2``, the last one empty."""
    return [
        pytest.param(query, events, [*map(_answer, expected)], id=name)
        for name, query, events, expected in _cases(table)
    ]


def _cases(table: str) -> Iterator[tuple[str, str, list[dict[str, Any]], list[str]]]:
    lines = (line for line in table.strip("\n").split("\n") if not line.startswith("#"))
    for row in re.sub(r"\n\s+", " ", "\n".join(lines)).split("\n"):
        name, text, types, expected = (cell.strip() for cell in f"{row} ".split(" | "))
        letters, *values = types.split()
        events = word(letters.strip("-"), **dict(value.split("=") for value in values))
        yield name, text, events, [each for each in expected.split(";") if each.strip()]


def _answer(text: str) -> ComplexEvent:
    interval, *positions = text.split()
    return c(*map(int, interval.split("-")), *(int(p) for p in ",".join(positions).split(",") if p))


def _valuation(text: str) -> Valuation:
    interval, *labels = text.split()
    start, end = map(int, interval.split("-"))
    pairs = (label.split("=") for label in labels)
    return v(
        start, end, **{name: tuple(map(int, positions.split(","))) for name, positions in pairs}
    )


def check_valuations(formula: str, events: list[dict[str, Any]], expected: set[Valuation]) -> None:
    """The valuations by the reference, and the complex events by every evaluator."""
    assert cerlab.valuations(formula, events) == expected
    supports = {
        ComplexEvent(V.start, V.end, tuple(sorted({p for D in V.labels.values() for p in D})))
        for V in expected
    }
    for evaluator in EVALUATORS:
        assert set(cerlab.evaluate(formula, events, evaluator=evaluator)) == supports  # type: ignore[arg-type]  # literals


def check_reference(formula: str, events: list[dict[str, Any]], expected: set[Valuation]) -> None:
    """The valuations of a formula that only the reference takes; the others refuse it by name."""
    assert cerlab.valuations(formula, events) == expected
    for evaluator in EVALUATORS[1:]:
        with pytest.raises(cerlab.Unsupported):
            cerlab.evaluate(formula, events, evaluator=evaluator)  # type: ignore[arg-type]  # literals


def check_on_registers(
    formula: str, events: list[dict[str, Any]], expected: set[Valuation]
) -> None:
    """The valuations of a formula that compares labels: on registers, not by an automaton."""
    assert cerlab.valuations(formula, events) == expected
    supports = {
        ComplexEvent(V.start, V.end, tuple(sorted({p for D in V.labels.values() for p in D})))
        for V in expected
    }
    for evaluator in ("auto", "reference", "registers", "compiled"):
        assert set(cerlab.evaluate(formula, events, evaluator=evaluator)) == supports
    for evaluator in ("automaton", "tecs"):
        with pytest.raises(cerlab.Unsupported):
            cerlab.evaluate(formula, events, evaluator=evaluator)  # type: ignore[arg-type]  # literals


def check_answers(query: str, events: Any, expected: list[ComplexEvent]) -> None:
    """The complex events of a query by every evaluator, in their order, and their count."""
    for evaluator in (*EVALUATORS, "registers"):
        assert cerlab.evaluate(query, events, evaluator=evaluator) == expected, evaluator  # type: ignore[arg-type]  # literals
    assert cerlab.count(query, events) == len(expected)
    if "LIMIT" not in query:  # totals are of all answers
        totals = cerlab.parse_query(query).run(events).aggregate(count=True)
        assert totals.column("count").to_pylist() == [len(expected)]
