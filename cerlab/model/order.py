"""Orders on answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from operator import attrgetter

from cerlab.model.answer import ComplexEvent, Positions, Valuation, complex_event

by_end: Callable[[ComplexEvent], tuple[int, int, Positions]] = attrgetter(
    "end", "start", "positions"
)
"""The order in which answers are listed: end, then start, then positions."""


def latest_first(answer: ComplexEvent) -> Positions:
    """The order in which LIMIT takes the answers of one end: those with the latest positions first.

    They are compared by position from the last to the first, and then by start; one that begins
    where the other has a further position comes before it.

    >>> A = [ComplexEvent(0, 4, (2, 4)), ComplexEvent(1, 4, (3, 4)), ComplexEvent(2, 4, (4,))]
    >>> [answer.positions for answer in sorted(A, key=latest_first)]
    [(3, 4), (4,), (2, 4)]
    """
    return (*(-i for i in reversed(answer.positions)), -answer.start)


def valuation_latest_first(
    answer: Valuation,
) -> tuple[Positions, tuple[tuple[str, Positions], ...]]:
    """The same for valuations: as their complex events, then the labels by name."""
    return (latest_first(complex_event(answer)), tuple(answer.labels.items()))


def valuation_by_end(answer: Valuation) -> tuple[int, int, tuple[tuple[str, Positions], ...]]:
    """The same for valuations: end, start, then the labels by name."""
    return (answer.end, answer.start, tuple(answer.labels.items()))


def in_order(answers: Iterable[ComplexEvent], limit: int | None = None) -> list[ComplexEvent]:
    """The answers, at most `limit` of them, by end, start and positions.

    Answers that are columns sort themselves, by a method of this name.
    """
    by_columns = getattr(answers, "in_order", None)
    if by_columns is not None:
        result: list[ComplexEvent] = by_columns(limit)
        return result
    return sorted(islice(answers, limit), key=by_end)
