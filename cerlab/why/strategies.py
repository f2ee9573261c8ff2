"""The answers that strategies prefer, in SELECT and inside formulas (FOUND Sec. 4)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import assert_never

from cerlab.errors import ResourceLimit
from cerlab.logic.cel.semantics import MAX_EVENTS, last_at_most, next_at_most
from cerlab.logic.cel.syntax import Formula
from cerlab.logic.ceql.semantics import Meaning
from cerlab.model.answer import ComplexEvent, Positions, complex_event
from cerlab.model.clauses import Strategy
from cerlab.model.event import Event
from cerlab.model.stream import TimeAxis


def prefers(strategy: Strategy, rival: Positions, C: Positions) -> bool:
    """Return whether a strategy drops answer C because `rival` has the same end."""
    match strategy:
        case Strategy.STRICT:
            return False
        case Strategy.NXT:
            return not next_at_most(rival, C)
        case Strategy.LAST:
            return not last_at_most(rival, C)
        case Strategy.MAX:
            return set(C) < set(rival)
        case _:
            assert_never(strategy)


def first_preferred(
    strategy: Strategy, rivals: Iterable[ComplexEvent], C: Positions
) -> ComplexEvent | None:
    """Return the first answer that a strategy prefers to C."""
    return next((rival for rival in rivals if prefers(strategy, rival.positions, C)), None)


def ending_at(
    phi: Formula, S: Sequence[Event], end: int, meaning: Meaning, axis: TimeAxis | None
) -> list[ComplexEvent]:
    """Return a formula's complex events with the given end, from the reference, shortest first.

    Raises `ResourceLimit` if the stream before the end is too long for the reference.
    """
    if end >= MAX_EVENTS:
        raise ResourceLimit(
            "CER0696",
            f"a strategy inside the formula is compared on up to {MAX_EVENTS} events of its "
            f"substream, and {end + 1:,} come before the end",
            hint="write the strategy after SELECT",
        )
    answers = {complex_event(V) for V in meaning(phi, S[: end + 1], axis) if V.end == end}
    return sorted(answers, key=lambda m: (len(m.positions), m.positions, -m.start))


def moved_answer(answer: ComplexEvent, at: Sequence[int]) -> ComplexEvent:
    """Return an answer of a substream with positions of the whole stream."""
    return ComplexEvent(at[answer.start], at[answer.end], tuple(at[p] for p in answer.positions))


def hole(C: Positions, at: Sequence[int]) -> tuple[int, ...]:
    """Return the first two positions with a gap between them, which STRICT forbids."""
    return next(((at[i], at[k]) for i, k in pairwise(C) if k != i + 1), ())
