"""What must not be there: negations, and instances in the gaps of skip-till-next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cerlab.logic.sremo.registers import reads
from cerlab.logic.sremo.syntax import (
    SKIP,
    Intersection,
    Negation,
    SkipAny,
    SkipNext,
    SpanWindow,
    Sremo,
    Within,
    subexpressions,
)
from cerlab.model.answer import ComplexEvent, Positions
from cerlab.why.failure import HEAVY, LIGHT, Alter, Failure, Kind, Path, Relax, Remove, Repair
from cerlab.why.sremo.derivation import SremoDerivation, Stored
from cerlab.why.sremo.goal import Goal, leftover, said


def without_marks(goal: Goal, e: Sremo) -> Goal:
    """How what is negated is looked for: its marks count only where a part of it measures them."""
    measuring = any(
        isinstance(each, SpanWindow | Within | Intersection) for each in subexpressions(e)
    )
    return goal.inside_negation(by_marks=goal.by_marks or measuring)


def unknown(e: Sremo, v: Stored) -> bool:
    """Whether an expression reads a register of which it is not known what it holds."""
    return any(p is None and r in reads(e) for r, p in v)


def of_negation(
    goal: Goal, e: Negation, path: Path, i: int, v: Stored, taken: Mapping[int, SremoDerivation]
) -> Iterator[SremoDerivation]:
    """The events from i on that the body does not take; `taken` has a derivation for each end."""
    for j in range(i, goal.end + 1):
        failures = leftover(goal, goal.asked_between(i, j))
        if HEAVY * len(failures) > goal.allowance:
            return
        if j in taken:
            if goal.allowance < LIGHT:
                continue
            failures += (_negated(e, path, taken[j]),)
        yield SremoDerivation(e, path, i, j, (), v, (), failures)


def _negated(e: Negation, path: Path, d: SremoDerivation) -> Failure:
    words = f"{said(e)} fails: {said(e.body)} takes {events_text(d)}"
    repairs: tuple[Repair, ...] = (Relax(path, SKIP),)
    if d.end == d.start + 1:
        repairs += (Alter(d.start),)
    return Failure(Kind.NEGATION, words, said(e), path, ends_of(d), repairs, rival_of(d))


def instance_in_gap(
    e: SkipNext, operand: Sremo, path: Path, instances: Mapping[int, SremoDerivation], end: int
) -> tuple[Failure, ...]:
    """What is wrong with a gap up to `end` that holds instances of what comes next."""
    held = [d for d in instances.values() if d.end <= end]
    if not held:
        return ()
    first = min(held, key=lambda d: (d.end, -d.start))
    words = f"@ skips no instance of {said(operand)}, and {events_text(first)} would be one"
    repairs: tuple[Repair, ...] = (Relax(path, SkipAny(e.operands)),)
    if all(d == first for d in held) and first.end == first.start + 1:
        repairs += (Alter(first.start), Remove((first.start,)))
    rival = rival_of(first)
    return (Failure(Kind.NEGATION, words, said(e), path, ends_of(first), repairs, rival),)


def rival_of(d: SremoDerivation) -> ComplexEvent | None:
    """What should not have been there, if it has an event."""
    return ComplexEvent(d.start, d.end - 1, d.marks) if d.end > d.start else None


def ends_of(d: SremoDerivation) -> Positions:
    """The first and the last event of a derivation."""
    return tuple(sorted({d.start, d.end - 1})) if d.end > d.start else ()


def events_text(d: SremoDerivation) -> str:
    """``event 3``, ``events 3 to 5``."""
    if d.end == d.start:
        return "no event"
    if d.end == d.start + 1:
        return f"event {d.start}"
    return f"events {d.start} to {d.end - 1}"
