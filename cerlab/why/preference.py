"""Rivals of an answer: the counter-examples of UNLESS, and what a strategy prefers (DESIGN 3.7)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import assert_never

from cerlab.errors import ResourceLimit
from cerlab.logic.cel.semantics import MAX_EVENTS
from cerlab.logic.cel.syntax import Formula
from cerlab.logic.ceql.semantics import Meaning
from cerlab.logic.selection.strategies import last_at_most, next_at_most
from cerlab.model.answer import ComplexEvent, Positions, Valuation, complex_event
from cerlab.model.clauses import Strategy
from cerlab.model.event import Event
from cerlab.predicates.words import positions_text
from cerlab.why.failure import Failure, Kind, Path, Repair


def prefers(strategy: Strategy, rival: Positions, C: Positions) -> bool:
    """Whether a strategy drops C where `rival` ends at the same event."""
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
    """The first of some answers with the same end that a strategy puts in the place of C."""
    return next((rival for rival in rivals if prefers(strategy, rival.positions, C)), None)


def ending_at(phi: Formula, S: Sequence[Event], end: int, meaning: Meaning) -> list[ComplexEvent]:
    """The complex events of a formula that end there, by the reference; shortest stream first.

    Raises `ResourceLimit` where the stream before is too long for the reference.
    """
    if end >= MAX_EVENTS:
        raise ResourceLimit(
            "CER0696",
            f"a strategy inside the formula is compared on up to {MAX_EVENTS} events of its "
            f"substream, and {end + 1:,} come before the end",
            hint="write the strategy after SELECT",
        )
    answers = {complex_event(V) for V in meaning(phi, S[: end + 1]) if V.end == end}
    return sorted(answers, key=lambda m: (len(m.positions), m.positions, -m.start))


def moved_answer(answer: ComplexEvent, at: Sequence[int]) -> ComplexEvent:
    """An answer of a substream in positions of the whole stream."""
    return ComplexEvent(at[answer.start], at[answer.end], tuple(at[p] for p in answer.positions))


def inside(rivals: Iterable[Valuation], V: Valuation) -> Valuation | None:
    """The first of some valuations that lies in the interval of V."""
    return next((W for W in rivals if V.start <= W.start and W.end <= V.end), None)


def dropped_by_strict(
    C: Positions, at: Sequence[int], part: str, path: Path, repairs: tuple[Repair, ...]
) -> tuple[Failure, ...]:
    """STRICT drops positions that do not follow each other."""
    hole = next((pair for pair in pairwise(C) if pair[1] != pair[0] + 1), None)
    if hole is None:
        return ()
    ends = (at[hole[0]], at[hole[1]])
    words = f"STRICT: there are events between {ends[0]} and {ends[1]} that are left out"
    return (Failure(Kind.STRATEGY, words, part, path, ends, repairs),)


def dropped_for(
    strategy: Strategy,
    rival: ComplexEvent | None,
    at: Sequence[int],
    part: str,
    path: Path,
    repairs: tuple[Repair, ...],
) -> tuple[Failure, ...]:
    """Another strategy drops an answer for a rival, if there is one."""
    if rival is None:
        return ()
    rival = moved_answer(rival, at)
    words = _rival_words(strategy, rival)
    return (Failure(Kind.STRATEGY, words, part, path, (), repairs, rival),)


def _rival_words(strategy: Strategy, rival: ComplexEvent) -> str:
    """Why a strategy drops an answer: what is there instead."""
    positions = positions_text(rival.positions)
    match strategy:
        case Strategy.MAX:
            return f"a larger answer contains it (MAX): {positions}"
        case Strategy.NXT:
            return f"NEXT takes {positions}, which has the earlier event where the two first differ"
        case Strategy.LAST:
            return f"LAST takes {positions}, which has the event where the two last differ"
        case Strategy.STRICT:
            return "STRICT takes positions without a hole only"
        case _:
            assert_never(strategy)
