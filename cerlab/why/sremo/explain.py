"""The question: whether a stream shows a SREMO with given positions (SRT Def. 32)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from cerlab.errors import UsageError
from cerlab.logic.sremo.check import check_sremo
from cerlab.logic.sremo.syntax import Sremo, Within, subexpressions
from cerlab.model.answer import Positions
from cerlab.model.clauses import AttributeWindow
from cerlab.model.clock import check_order, clock_for
from cerlab.model.stream import Stream
from cerlab.why.answer import Why
from cerlab.why.attempt import FURTHER
from cerlab.why.failure import Failure, Kind
from cerlab.why.sremo.confirm import confirm
from cerlab.why.sremo.derivation import SremoDerivation
from cerlab.why.sremo.nearest import Asked, nearest, out_of_interval
from cerlab.why.sremo.reach import may_begin_unmarked
from cerlab.why.sremo.search import readings


def explain(
    e: Sremo, stream: Stream, positions: Positions, start: int | None, end: int | None
) -> Why:
    """Why the stream shows e with these marks, and no others, at the last of them; or why not.

    Raises as `cerlab.evaluate` with the reference does, except for the length of the stream.
    """
    check_sremo(e)
    check_times(e, stream)
    if not positions:
        raise UsageError(
            "CER0835",
            "no positions are given",
            hint="a stream shows a SREMO at the last event that it marks, so there is one",
        )
    if failures := _out_of_stream(positions, len(stream)):
        return Why(False, positions, None, failures, None, {})
    asked = Asked(e, stream, positions, start, end)
    lo = positions[0]
    for lo in reaches(asked):
        if (exact := _exact(asked, lo)) is not None:
            confirm(e, stream.events, positions, lo, holds=True)
            return _answer(asked, exact, out_of_interval(asked), lo)
    confirm(e, stream.events, positions, lo, holds=False)
    found, failures = nearest(asked)
    if found is None:
        return Why(False, positions, None, failures, None, {})
    return _answer(asked, found, failures, min(found.start, positions[0]))


def check_times(e: Sremo, stream: Stream) -> None:
    """Raise `BadData` where an event has no time for a window, or time goes backwards."""
    windows = (each for each in subexpressions(e) if isinstance(each, Within))
    for attribute in dict.fromkeys(window.attribute for window in windows):
        clock = clock_for(AttributeWindow(0, attribute), None)
        times = [clock(t, i) for i, t in enumerate(stream)]
        for position, (before, now) in enumerate(pairwise(times), 1):
            check_order(before, now, position)


def _out_of_stream(positions: Positions, n: int) -> tuple[Failure, ...]:
    return tuple(
        Failure(
            Kind.POSITION,
            f"position {p} is out of the stream, which has {n:,} events",
            positions=(p,),
        )
        for p in positions
        if not 0 <= p < n
    )


def reaches(asked: Asked) -> Iterator[int]:
    """From where to look: the first position, or far before it where e may begin unmarked."""
    first = asked.positions[0]
    if not may_begin_unmarked(asked.e):
        yield first
        return
    further = FURTHER
    while (lo := first - further) > 0:
        yield lo
        further *= 8
    yield 0


def _exact(asked: Asked, lo: int) -> SremoDerivation | None:
    """A derivation with exactly these marks that ends with the last, the shortest."""
    goal = asked.goal(0)
    for m in range(asked.positions[0], lo - 1, -1):
        for d in readings(goal, asked.e, (), m, ()):
            if d.end == goal.end:
                return d
    return None


def _answer(
    asked: Asked, derivation: SremoDerivation, failures: tuple[Failure, ...], lo: int
) -> Why:
    named = set(asked.positions)
    for node in derivation:
        named |= {*node.marks, *(p for _, p in node.registers if p is not None)}
        if node.end > node.start:
            named |= {node.start, node.end - 1}
    events = {p: asked.stream[p] for p in sorted(named)}
    searched = (lo, asked.positions[-1])
    return Why(not failures, asked.positions, derivation, failures, searched, events)
