"""Derivations that may be an answer, and the one that is nearest to it (CORE Sec. 2.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from cerlab.logic.ceql.semantics import Substream
from cerlab.model.clauses import AttributeWindow, Strategy, TimeWindow
from cerlab.why.cel import derivations
from cerlab.why.cel_atoms import Part
from cerlab.why.deduction import CelDerivation, Goal, passes
from cerlab.why.failure import Failure, Remove, blame, cost
from cerlab.why.focel import fo_derivations
from cerlab.why.labels import unmarked_ends
from cerlab.why.preference import dropped_by_strict
from cerlab.why.question import Place, Question, compares_with_all, other_interval, places
from cerlab.why.windows import Meter

Region: TypeAlias = tuple[int, int]
"""The first and the last position of the stream that are searched."""

FURTHER = 256
"""How many events before and after the positions are searched first for unmarked ends."""

NEAR = 64
"""So many of them are looked at outside the window too, to say how far outside it an answer is."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A derivation in a substream, in whose positions it is, and what keeps it from being a match.

    `failures` are those of the clauses that choose events, then of the formula from left to right,
    then of the interval and the window; without any it is one of the formula's answers.
    """

    place: Place
    derivation: CelDerivation
    failures: tuple[Failure, ...]

    @property
    def interval(self) -> tuple[int, int]:
        """From where to where it is, in positions of the whole stream; it has events."""
        V, at = self.derivation.valuation, self.place.substream.positions
        assert V is not None
        return at[V.start], at[V.end]


def regions(question: Question) -> Iterator[Region]:
    """Where to search: from the first to the last position, and beyond where ends may be unmarked.

    Outside the last one nothing can matter.
    """
    n, first, last = len(question.stream), question.anchors[0], question.anchors[-1]
    opens, closes = unmarked_ends(question.formula, question.context)
    opens, closes = opens and question.start is None, closes and question.end is None
    outside, from_the_first = _out_of_window(question), compares_with_all(question.formula)
    further = FURTHER
    while True:
        lo = max(0, first - further) if opens else first
        hi = min(n - 1, last + further) if closes else last
        yield 0 if from_the_first else lo, hi
        before = not opens or lo == 0 or outside(lo, last)
        after = not closes or hi == n - 1 or outside(first, hi)
        if before and after:
            return
        further *= 8


def _out_of_window(question: Question) -> Callable[[int, int], bool]:
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


def candidates(question: Question, region: Region, allowance: int) -> list[Candidate]:
    """Those that cost no more than the allowance, the cheapest first.

    Of those that cost the same, one that blames fewest events is first, then one in the substream
    of the first position, then the shortest.

    Raises `ResourceLimit` where there are too many partial derivations.
    """
    entries = [
        (cost(candidate.failures), blame(candidate.failures), n, _length(candidate), candidate)
        for n, place in enumerate(places(question, *region))
        if cost(place.failures) <= allowance
        for candidate in _in_place(question, place, allowance)
    ]
    affordable = [each for each in entries if each[0] <= allowance]
    return [candidate for *_, candidate in sorted(affordable, key=lambda each: each[:-1])]


def _length(candidate: Candidate) -> int:
    V = candidate.derivation.valuation
    return 0 if V is None else V.end - V.start


def _in_place(question: Question, place: Place, allowance: int) -> Iterator[Candidate]:
    substream = place.substream
    meter = Meter(question.ast.window, question.time, substream)
    marks = tuple(map(place.local, question.positions))
    start, end = (None if p is None else place.local(p) for p in (question.start, question.end))
    lo, hi = _search_interval(question, place, meter, NEAR if allowance else 0)
    at = substream.positions
    goal = Goal(substream.events, at, marks, lo, hi, allowance, start, end)
    clauses = fo_derivations if question.first_order else derivations
    for d in clauses(Part(goal, question.formula, question.path, question.context)):
        failures, V, outside = place.failures + d.failures, d.valuation, marks
        if V is not None:
            outside = tuple(i for i in marks if not V.start <= i <= V.end)
        failures += goal.leftover(outside)
        if V is not None:
            real = (at[V.start], at[V.end])
            failures += other_interval(real, question.start, question.end)
            failures += meter.failures(V.start, V.end)
        yield Candidate(place, d, failures + not_strict(question, place))


def _search_interval(question: Question, place: Place, meter: Meter, near: int) -> tuple[int, int]:
    """Where a valuation may be: the anchors, and as far beyond as the window allows.

    So many events near to it are looked at in any case.
    """
    anchors = [i for i in map(place.local, question.anchors) if i >= 0]
    opens, closes = unmarked_ends(question.formula, question.context)
    first, last, n = min(anchors), max(anchors), len(place.substream.positions)
    lo, hi = first, last
    if opens and question.start is None:
        while lo > 0 and (first - lo < near or meter.fits(lo - 1, last)):
            lo -= 1
    if closes and question.end is None:
        while hi < n - 1 and (hi - last < near or meter.fits(first, hi + 1)):
            hi += 1
    return lo, hi


def not_strict(question: Question, place: Place) -> tuple[Failure, ...]:
    """Whether STRICT around the formula drops the positions; it looks at nothing else."""
    if question.strategy is not Strategy.STRICT:
        return ()
    C, at = tuple(map(place.local, question.positions)), place.substream.positions
    left_out = sorted(set(range(C[0], C[-1])) - set(C)) if C else ()
    repairs = (question.without_strategy, Remove(tuple(at[i] for i in left_out)))
    return dropped_by_strict(C, at, "STRICT", (), repairs)


def nearest(question: Question, region: Region) -> Candidate:
    """The candidate that costs least to mend; there is always one, without any event at worst."""
    batches = (candidates(question, region, allowance) for allowance in passes())
    return next(some for some in batches if some)[0]
