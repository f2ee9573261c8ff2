"""Orders on answers."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from cerlab.model.answer import ComplexEvent, Positions, Valuation


def by_end(answer: ComplexEvent) -> tuple[int, int, Positions]:
    """The order in which answers are listed: end, then start, then positions."""
    return (answer.end, answer.start, answer.positions)


def valuation_by_end(answer: Valuation) -> tuple[int, int, tuple[tuple[str, Positions], ...]]:
    """The same for valuations: end, start, then the labels by name."""
    return (answer.end, answer.start, tuple(answer.labels.items()))


def in_order(answers: Iterable[ComplexEvent], limit: int | None = None) -> list[ComplexEvent]:
    """The answers, at most `limit` of them, by end, start and positions.

    Answers that are columns sort themselves, by a method of this name.
    """
    by_columns = getattr(answers, "in_order", None)
    if by_columns is not None:
        listed: list[ComplexEvent] = by_columns(limit)
        return listed
    return sorted(islice(answers, limit), key=by_end)
