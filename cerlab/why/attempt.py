"""The derivation that comes nearest to the positions, with all that it fails (CORE Sec. 2.2)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from cerlab.logic.ceql.semantics import Substream
from cerlab.model.answer import Positions
from cerlab.model.clauses import AttributeWindow, Strategy, TimeWindow
from cerlab.why.asked import Asked, Place, compares_with_all, places
from cerlab.why.context import unmarked_ends
from cerlab.why.derivation import Derivation
from cerlab.why.failure import HEAVY, Failure, Kind, Reach, Remove, blamed, cost
from cerlab.why.first_order import fo_derivations
from cerlab.why.goal import Goal, leftover
from cerlab.why.rivals import hole
from cerlab.why.search import derivations
from cerlab.why.window import Meter

FURTHER = 256
"""How many events before and after the positions are searched first for unmarked ends."""

NEAR = 64
"""So many of them are looked at outside the window too, to say how far outside it an answer is."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """A derivation in a substream, in whose positions it is, and what keeps it from being a match.

    `failures` are those of the clauses that choose events, then of the formula from left to right,
    then of the interval and the window; without any it is one of the formula's answers.
    """

    place: Place
    derivation: Derivation
    failures: tuple[Failure, ...]

    @property
    def interval(self) -> tuple[int, int]:
        """From where to where it is, in positions of the whole stream; it has events."""
        V, at = self.derivation.valuation, self.place.substream.positions
        assert V is not None
        return at[V.start], at[V.end]


@dataclass(frozen=True, slots=True)
class Reached:
    """The positions of the stream that were looked at, and whether no others can matter."""

    lo: int
    hi: int
    complete: bool


def reaches(question: Asked) -> Iterator[Reached]:
    """Where to look: from the first to the last position, and beyond where ends may be unmarked.

    The last one is complete.
    """
    n = len(question.stream)
    known = [p for p in (*question.positions, question.start, question.end) if p is not None]
    first, last = min(known), max(known)
    opens, closes = unmarked_ends(question.formula, question.context)
    opens, closes = opens and question.start is None, closes and question.end is None
    outside = _out_of_window(question)
    further = FURTHER
    while True:
        lo = max(0, first - further) if opens else first
        hi = min(n - 1, last + further) if closes else last
        before = not opens or lo == 0 or outside(lo, last)
        after = not closes or hi == n - 1 or outside(first, hi)
        complete = before and after
        yield Reached(0 if compares_with_all(question.formula) else lo, hi, complete)
        if complete:
            return
        further *= 8


def _out_of_window(question: Asked) -> Callable[[int, int], bool]:
    """Tells of two positions whether the window is known to be too small for both.

    A window that counts the events of a substream is not judged by positions of the whole stream,
    nor is the time of an event that FROM leaves out.
    """
    window, stream = question.ast.window, question.stream
    if not isinstance(window, AttributeWindow | TimeWindow):
        return lambda first, last: False
    meter = Meter(window, question.time, Substream(stream.events, tuple(range(len(stream)))))
    return lambda first, last: (
        all(question.passes(stream[p]) for p in (first, last)) and not meter.fits(first, last)
    )


def attempts(question: Asked, reached: Reached, allowance: int) -> list[Attempt]:
    """The attempts that cost no more than the allowance, the cheapest first.

    Of those that cost the same, one that blames fewest events is first, then one in the substream
    of the first position, then the shortest.

    Raises `ResourceLimit` where there are too many partial derivations.
    """
    ranked = [
        (cost(attempt.failures), blamed(attempt.failures), n, _length(attempt), attempt)
        for n, place in enumerate(places(question, reached.lo, reached.hi))
        if cost(place.failures) <= allowance
        for attempt in _in_place(question, place, allowance)
    ]
    allowed = [each for each in ranked if each[0] <= allowance]
    return [attempt for *_, attempt in sorted(allowed, key=lambda each: each[:-1])]


def _length(attempt: Attempt) -> int:
    V = attempt.derivation.valuation
    return 0 if V is None else V.end - V.start


def _in_place(question: Asked, place: Place, allowance: int) -> Iterator[Attempt]:
    substream = place.substream
    meter = Meter(question.ast.window, question.time, substream)
    marked = tuple(map(place.local, question.positions))
    start, end = (None if p is None else place.local(p) for p in (question.start, question.end))
    lo, hi = _allowed(question, place, marked, meter, NEAR if allowance else 0)
    goal = Goal(
        substream.events,
        substream.positions,
        marked,
        lo,
        hi,
        start=start,
        end=end,
        allowance=allowance,
    )
    search = fo_derivations if question.first_order else derivations
    for d in search(goal, question.formula, question.path, question.context):
        failures = place.failures + d.failures
        V = d.valuation
        if V is None:
            failures += leftover(goal, marked) + with_hole(question, place)
            yield Attempt(place, d, failures)
            continue
        outside = marked[: bisect_left(marked, V.start)] + marked[bisect_right(marked, V.end) :]
        failures += leftover(goal, outside) + _interval(question, place, V.start, V.end)
        failures += meter.failures(V.start, V.end)
        yield Attempt(place, d, failures + with_hole(question, place))


def _allowed(
    question: Asked, place: Place, marked: Positions, meter: Meter, near: int
) -> tuple[int, int]:
    """Where a valuation may be: what is known of it, and as far beyond as the window allows.

    So many events near to it are looked at in any case.
    """
    ends = [place.local(p) for p in (question.start, question.end) if p is not None]
    known = [i for i in (*marked, *ends) if i >= 0]
    opens, closes = unmarked_ends(question.formula, question.context)
    first, last, n = min(known), max(known), len(place.substream.positions)
    lo, hi = first, last
    if opens and question.start is None:
        while lo > 0 and (first - lo < near or meter.fits(lo - 1, last)):
            lo -= 1
    if closes and question.end is None:
        while hi < n - 1 and (hi - last < near or meter.fits(first, hi + 1)):
            hi += 1
    return lo, hi


def _interval(question: Asked, place: Place, start: int, end: int) -> tuple[Failure, ...]:
    """Another interval than the one that was asked for."""
    at = place.substream.positions
    real = (at[start], at[end])
    asked = (
        real[0] if question.start is None else question.start,
        real[1] if question.end is None else question.end,
    )
    if asked == real:
        return ()
    words = f"it starts at {real[0]} and ends at {real[1]}, not [{asked[0]}, {asked[1]}]"
    return (Failure(Kind.INTERVAL, words, positions=real, repairs=(Reach(*real),)),)


def with_hole(question: Asked, place: Place) -> tuple[Failure, ...]:
    """Whether STRICT around the formula drops the positions; it looks at nothing else."""
    if question.strategy is not Strategy.STRICT:
        return ()
    marked, at = tuple(map(place.local, question.positions)), place.substream.positions
    if (pair := hole(marked)) is None:
        return ()
    ends = (at[pair[0]], at[pair[1]])
    between = set(range(marked[0], marked[-1])) - set(marked)
    words = f"STRICT: there are events between {ends[0]} and {ends[1]} that are left out"
    repairs = (question.without_strategy, Remove(tuple(at[i] for i in sorted(between))))
    return (Failure(Kind.STRATEGY, words, "STRICT", positions=ends, repairs=repairs),)


def nearest(question: Asked, reached: Reached) -> Attempt:
    """The attempt that costs least to mend; there is always one, without any event at worst."""
    allowance = HEAVY - 1
    while not (found := attempts(question, reached, allowance)):
        allowance += 1 if allowance < 2 * HEAVY else HEAVY
    return found[0]
