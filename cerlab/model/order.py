"""Orders on answers."""

from __future__ import annotations

from cerlab.model.answer import ComplexEvent, Positions, Valuation


def by_end(answer: ComplexEvent) -> tuple[int, int, Positions]:
    """The order in which answers are listed: end, then start, then positions."""
    return (answer.end, answer.start, answer.positions)


def valuation_by_end(answer: Valuation) -> tuple[int, int, tuple[tuple[str, Positions], ...]]:
    """The same for valuations: end, start, then the labels by name."""
    return (answer.end, answer.start, tuple(answer.labels.items()))
