"""Where the stream is cut, and how much of it a range reads before its own events."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate
from typing import Any

from cerlab.errors import BadData
from cerlab.spark.plan.order import backwards
from cerlab.spark.plan.survey import Summary

LEAST, NEVER = -(2**63), 2**63 - 1
"""Places that are not after, and not before, that of any event."""


def quantiles(ordered: Sequence[tuple[Any, ...]], parts: int) -> list[tuple[Any, ...]]:
    """At most ``parts - 1`` cuts between rows of an ordered sample, all different, evenly far.

    >>> quantiles([(1,), (2,), (3,), (4,), (5,), (6,)], 3)
    [(3,), (5,)]
    """
    distinct = list(dict.fromkeys(ordered))
    places = {len(distinct) * k // parts for k in range(1, parts)} - {0}
    return [distinct[place] for place in sorted(places)]


def offsets(summaries: Sequence[Summary]) -> list[int]:
    """How many rows are before each stretch."""
    return [0, *accumulate(each.rows for each in summaries)][: len(summaries)]


def complete(found: Sequence[Summary], parts: int) -> list[Summary]:
    """A summary for every stretch, also for those without rows."""
    by_part = {each.part: each for each in found}
    return [by_part.get(part, Summary(part)) for part in range(parts)]


def check(summaries: Sequence[Summary], *, positions: bool) -> None:
    """Raise `BadData` for the first event that is not where a stream can have it.

    `positions` says whether places are positions; if not they are counted here.
    """
    before: Summary | None = None
    for offset, made in zip(offsets(summaries), summaries, strict=True):
        made = _from_before(before, made, positions=positions)
        if made.code is not None:
            place = (made.at or 0) + (0 if positions else offset)
            raise BadData(made.code, f"at position {place}: {made.what}", hint=HINTS[made.code])
        if made.rows:
            time = made.last_time if made.kept else (before.last_time if before else None)
            before = replace(made, last_time=time)


HINTS = {
    "CER0701": "give type= (on the command line: --type) if no column has it",
    "CER0712": "every event that is matched needs a finite number or a moment there",
    "CER0714": "order the stream by its time",
    "CER0780": "every event needs a place in the stream",
    "CER0781": "add a column to order_by that tells them apart, or name a position",
    "CER0782": "a position is a different integer for each event, increasing along the stream",
}
"""What to do about an event that is not where a stream can have it, by the code of its error."""


def _from_before(before: Summary | None, made: Summary, *, positions: bool) -> Summary:
    """The summary, with what is wrong between it and the one before."""
    if before is None or made.code is not None:
        return made
    first, last = made.first, before.last
    if positions and first is not None and last is not None and first <= last:
        what = f"the positions do not increase: {last}, then {first}"
        return replace(made, code="CER0782", what=what, at=first)
    time, last_time = made.first_time, before.last_time
    if time is None or last_time is None or time >= last_time:
        return made
    return replace(made, code="CER0714", what=backwards(last_time, time), at=made.first_kept)


@dataclass(frozen=True, slots=True)
class Halo:
    """From where on each range but the first reads: times or places, not decreasing.

    A range may read more than one window before it, never less. `rows` estimates how many rows
    are read more than once.
    """

    by_time: bool
    bounds: tuple[float, ...] | tuple[int, ...]
    rows: int


def halo_in_time(summaries: Sequence[Summary], width: Fraction) -> Halo:
    """For a window of that width in the unit of the times.

    A bound is compared as a float with times as floats: rounding keeps the order, so no event that
    is inside the window is left out.
    """
    starts = [each.first_time for each in summaries]
    bounds: list[float] = []
    after = math.inf
    for start in reversed(starts[1:]):
        after = after if start is None else _rounded(Fraction(start) - width)
        bounds.append(after)
    bounds.reverse()
    rows = sum(
        _estimate(before, bound)
        for part, bound in enumerate(bounds, 1)
        for before in summaries[:part]
    )
    return Halo(True, tuple(bounds), rows)


def _rounded(instant: Fraction) -> float:
    try:
        return float(instant)
    except OverflowError:
        return math.inf if instant > 0 else -math.inf


def _estimate(made: Summary, bound: float) -> int:
    """About how many rows of a stretch are at or after a time, if they are evenly far apart."""
    first, last = made.first_time, made.last_time
    if first is None or last is None or bound > last:
        return 0
    if bound <= first or first == last:
        return made.kept
    return max(1, math.ceil(made.kept * (last - bound) / (last - first)))


def halo_in_events(summaries: Sequence[Summary], width: int, *, positions: bool) -> Halo:
    """For ``WITHIN width EVENTS``: the place from which on there are that many events at least.

    The nearest stretch after whose beginning there are enough gives its last `width`.
    """
    starts = [0] * len(summaries) if positions else offsets(summaries)
    bounds, rows = [], 0
    for part in range(1, len(summaries)):
        bound, needed = LEAST if width else NEVER, width
        for before in range(part - 1, -1, -1):
            if needed <= 0:
                break
            made = summaries[before]
            if made.tail is not None:
                bound = made.tail + starts[before]
                rows += min(width, made.kept)
                needed -= made.kept
        bounds.append(bound)
    return Halo(False, tuple(bounds), rows)
