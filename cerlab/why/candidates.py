"""Derivations that may be an answer, and the nearest one (CORE Sec. 2.2; SRT Def. 32)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import NamedTuple, TypeAlias, assert_never, cast

from cerlab.logic.sremo import syntax as sre
from cerlab.logic.sremo.syntax import Sremo, reads
from cerlab.model.answer import Positions
from cerlab.model.clauses import AttributeWindow, Strategy, TimeWindow
from cerlab.model.event import Event
from cerlab.model.stream import Stream, clock_for, width_of
from cerlab.predicates.syntax import Guard, all_of
from cerlab.why import failure as mend
from cerlab.why.cel import Part, derivations
from cerlab.why.conditions import conjuncts
from cerlab.why.deduction import NEARBY, CelDerivation, Goal, SremoDerivation, passes
from cerlab.why.failure import (
    HEAVY,
    Failure,
    Kind,
    Path,
    Remove,
    Repair,
    blame,
    cost,
    dropped_by_strict,
)
from cerlab.why.focel import fo_derivations
from cerlab.why.question import (
    Meter,
    Place,
    Question,
    compares_with_all,
    other_interval,
    places,
    unmarked_ends,
)
from cerlab.why.sremo import MarkGoal, readings
from cerlab.why.sremo import Part as SremoPart

Region: TypeAlias = tuple[int, int]
"""The first and the last position of the stream that are searched."""


FURTHER = 256
"""Events before and after the positions in the first search for unmarked ends; it grows 8-fold."""


NEAR = 64
"""Events searched outside the window too, to tell how far outside it the nearest answer is."""


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
    """Yield the regions to search: the positions, then further out where ends may be unmarked.

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
        # Eight-fold: all searches together cost a seventh more than the last, if that is linear.
        further *= 8


def _out_of_window(question: Question) -> Callable[[int, int], bool]:
    """Tells of two positions whether the window is known to be too small for both.

    A window that counts the events of a substream is not judged by positions of the whole stream,
    nor is the time of an event that FROM leaves out.
    """
    window, stream = question.ast.window, question.stream
    if not isinstance(window, AttributeWindow | TimeWindow):
        return lambda first, last: False
    clock, width = clock_for(window, question.time), width_of(window)
    return lambda first, last: (
        all(question.passes(stream[p]) for p in (first, last))
        and clock(stream[last], last) - clock(stream[first], first) > width
    )


def candidates(question: Question, region: Region, allowance: int) -> list[Candidate]:
    """Return the candidates that cost no more than the allowance, the cheapest first.

    Of those that cost the same, one that blames fewest events is first, then one in the substream
    of the first position, then the shortest.

    Raises `ResourceLimit` where there are too many partial derivations.
    """
    entries = [
        (cost(candidate.failures), blame(candidate.failures), n, _length(candidate), candidate)
        for n, place in enumerate(places(question, region[0], question.last_waited(region[1])))
        if cost(place.failures) <= allowance
        for candidate in _in_place(question, place, region[1], allowance)
    ]
    # The charts prune by what parts fail; clauses, window and interval are added to that here.
    affordable = [each for each in entries if each[0] <= allowance]
    return [candidate for *_, candidate in sorted(affordable, key=lambda each: each[:-1])]


def _length(candidate: Candidate) -> int:
    V = candidate.derivation.valuation
    return 0 if V is None else V.end - V.start


def _in_place(question: Question, place: Place, last: int, allowance: int) -> Iterator[Candidate]:
    """Yield the derivations in a substream; after `last` there are only events to wait for."""
    substream = place.substream
    meter = Meter(question.ast.window, question.time, substream)
    marks = tuple(map(place.local, question.positions))
    start, end = (None if p is None else place.local(p) for p in (question.start, question.end))
    lo, hi = _search_interval(question, place, meter, last, NEAR if allowance else 0)
    at = substream.positions
    goal = Goal(substream.events, at, marks, lo, hi, allowance, start, end)
    nowhere = frozenset(map(place.local, place.nowhere))
    goal = replace(goal, axis=question.time, clocks=question.clocks, nowhere=nowhere)
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


def _search_interval(
    question: Question, place: Place, meter: Meter, end: int, near: int
) -> tuple[int, int]:
    """Return the interval to search: the anchors, and as far beyond as the window allows.

    So many events near to it are looked at in any case, none after `end`.
    """
    anchors = [i for i in map(place.local, question.anchors) if i >= 0]
    opens, closes = unmarked_ends(question.formula, question.context)
    first, last, n = min(anchors), max(anchors), bisect_right(place.substream.positions, end)
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
    """Return the candidate that is cheapest to repair; at worst it has no event at all."""
    # Allowances grow, so the first pass with a candidate has the cheapest one.
    batches = (candidates(question, region, allowance) for allowance in passes())
    return next(some for some in batches if some)[0]


FARTHEST = 12 * HEAVY
"""The highest cost of what a derivation fails that is looked for."""


@dataclass(frozen=True, slots=True)
class SremoQuestion:
    """Positions of a stream, at least one, and an interval as far as given: does it show them?"""

    e: Sremo
    stream: Stream
    positions: Positions
    start: int | None = None
    end: int | None = None

    @property
    def events(self) -> Sequence[Event]:
        """The events of the stream, each made of columns when it is looked at."""
        return cast("Sequence[Event]", self.stream)

    def root(self, allowance: int, start: int) -> SremoPart:
        """The whole expression, from an event up to the last position."""
        S, first, last = self.events, self.positions[0], self.positions[-1]
        goal = MarkGoal(
            S, range(len(S)), self.positions, first, last, allowance=allowance, read=reads(self.e)
        )
        return SremoPart(goal, self.e, (), start, ())


class SremoCandidate(NamedTuple):
    """A derivation, and all that keeps it from being what the stream shows."""

    derivation: SremoDerivation
    failures: tuple[Failure, ...]


def starts(question: SremoQuestion) -> Iterator[int]:
    """From where to search: the first position, or far before it where e may begin unmarked."""
    first, further = question.positions[0], FURTHER
    if _may_begin_unmarked(question.e):
        while first - further > 0:
            yield first - further
            further *= 8
        first = 0
    yield first


def exact(question: SremoQuestion, lo: int) -> SremoDerivation | None:
    """A derivation with exactly these marks that ends with the last, the shortest."""
    root = question.root(0, 0)
    for i in range(question.positions[0], lo - 1, -1):
        for d in readings(root._replace(i=i)):
            if d.valuation.end == root.goal.stop:
                return d
    return None


def nearest_reading(question: SremoQuestion) -> SremoCandidate | Failure:
    """Return the derivation that is cheapest to repair, or a failure if all cost too much.

    Of those that cost the same, the one that blames fewest events is first, then the shortest.
    """
    for allowance in takewhile(lambda cost: cost <= FARTHEST, passes()):
        entries = [(_rank(each), each) for each in _candidates(question, allowance)]
        if affordable := [each for each in entries if each[0][0] <= allowance]:
            return min(affordable, key=lambda each: each[0])[1]
    words = f"any reading fails more than {FARTHEST // HEAVY} obligations at these positions"
    return Failure(Kind.FAR, words)


def _rank(candidate: SremoCandidate) -> tuple[int, ...]:
    """Return a sort key, cheapest first; no stream shows a match without events: it is last."""
    d, failures = candidate
    r = d.valuation
    price = cost(failures) + (0 if r.end > r.start or d.failures else 2 * HEAVY)
    return price, blame(failures), r.end - r.start, -r.start


def _candidates(question: SremoQuestion, allowance: int) -> Iterator[SremoCandidate]:
    """Derivations with failures, those of what they leave out before and after among them."""
    root, first = question.root(allowance, 0), question.positions[0]
    lo = max(0, first - (NEAR if _may_begin_unmarked(question.e) else NEARBY))
    real = (first, question.positions[-1])
    interval = other_interval(real, question.start, question.end)
    for i in range(lo, root.goal.stop + 1):
        before = root.goal.leftover_between(lo, i)
        # A later start leaves out these marks too.
        if HEAVY * len(before) > allowance:
            return
        for d in readings(root._replace(i=i)):
            failures = tuple(_at_an_end(root, failure) for failure in d.failures)
            if (inside := _failures_of_shown(d, _consistent_repairs(d, failures))) is not None:
                after = root.goal.leftover_between(d.valuation.end, root.goal.stop)
                yield SremoCandidate(d, before + inside + after + interval)


def _at_an_end(root: SremoPart, failure: Failure) -> Failure:
    """Before the first and after the last position, it is positions that are missing."""
    match failure.repairs:
        case (mend.Insert(path, None, int(before)), *_):
            words = f"no position is given for {failure.part} before {before}"
        case (mend.Insert(path, int(after), None), *_):
            e = root.below(*path).e
            if isinstance(e, sre.Terminal) and e.marked:
                words = f"no position is given for {failure.part} after {after}"
            else:
                words = f"{failure.part} reads an event after {after}, where a match has ended"
        case _:
            return failure
    return replace(failure, words=words)


def _consistent_repairs(d: SremoDerivation, failures: tuple[Failure, ...]) -> tuple[Failure, ...]:
    """Return the failures; of an iterated terminal only repairs that suit all its events."""

    def repairs_of_all(failure: Failure) -> Iterator[Repair]:
        same = [f for f in failures if (f.kind, f.path) == (failure.kind, failure.path)]
        for repair in failure.repairs:
            match repair:
                case mend.Relax(path, sre.Terminal() as into) if len(same) > 1:
                    yield mend.Relax(path, replace(into, guard=_weakest(same)))
                case mend.Remark(path):
                    if _events_taken(d, path) <= {p for f in same for p in f.positions}:
                        yield repair
                case _:
                    yield repair

    return tuple(replace(failure, repairs=tuple(repairs_of_all(failure))) for failure in failures)


def _weakest(failures: list[Failure]) -> Guard:
    """Return the conjuncts of a guard that hold on all the events that it fails on."""
    ways = [
        list(conjuncts(repair.into.guard))
        for failure in failures
        for repair in failure.repairs
        if isinstance(repair, mend.Relax) and isinstance(repair.into, sre.Terminal)
    ]
    common = [side for side in ways[0] if all(side in way for way in ways)]
    return all_of(common)


def _events_taken(d: SremoDerivation, path: Path) -> set[int]:
    """The events that the terminal at a path takes; iterations may keep them to themselves."""
    nodes = (n for n in d if n.path == path or (n.path == path[:-1] and not n.children))
    return {p for node in nodes for p in range(node.valuation.start, node.valuation.end)}


def _failures_of_shown(
    d: SremoDerivation, failures: tuple[Failure, ...]
) -> tuple[Failure, ...] | None:
    """Return the failures if a stream shows the derivation once they are repaired, else None.

    Its last event is marked then (SRT Def. 32).
    """
    last = d.valuation.end - 1
    if last < d.valuation.start or last in d.valuation.marks:
        return failures
    marking = [
        tuple(repair for repair in failure.repairs if isinstance(repair, mend.Remark))
        if failure.kind is Kind.LEFTOVER and failure.positions == (last,)
        else ()
        for failure in failures
    ]
    if not any(marking):
        return None
    return tuple(
        replace(failure, repairs=remarks) if remarks else failure
        for failure, remarks in zip(failures, marking, strict=True)
    )


def _may_begin_unmarked(e: Sremo) -> bool:
    """Whether the first event that it consumes may be one that it does not mark.

    It may say yes where that cannot happen.
    """
    match e:
        case sre.Epsilon() | sre.Empty():
            return False
        case sre.Terminal(_, marked):
            return not marked
        case sre.Negation():
            return True
        case sre.Concat(left, right):
            return _may_begin_unmarked(left) or (_may_be_empty(left) and _may_begin_unmarked(right))
        case sre.Alternation(left, right):
            return _may_begin_unmarked(left) or _may_begin_unmarked(right)
        case sre.Intersection(left, right):
            return _may_begin_unmarked(left) and _may_begin_unmarked(right)
        case sre.SkipAny((first, *others)) | sre.SkipNext((first, *others)):
            gap = _may_be_empty(first) and (bool(others) or isinstance(first, sre.Star | sre.Plus))
            return gap or _may_begin_unmarked(first)
        case sre.SkipAny() | sre.SkipNext():
            return False
        case (
            sre.SpanWindow()
            | sre.LengthWindow()
            | sre.Within()
            | sre.Star()
            | sre.Plus()
            | sre.Option()
        ):
            return _may_begin_unmarked(e.body)
        case _:
            assert_never(e)


def _may_be_empty(e: Sremo) -> bool:
    """Whether it may consume nothing; it may say yes where that cannot happen."""
    match e:
        case sre.Terminal():
            return False
        case sre.Epsilon() | sre.Empty() | sre.Star() | sre.Option() | sre.Negation():
            return True
        case sre.Concat(left, right) | sre.Intersection(left, right):
            return _may_be_empty(left) and _may_be_empty(right)
        case sre.Alternation(left, right):
            return _may_be_empty(left) or _may_be_empty(right)
        case sre.SkipAny(operands) | sre.SkipNext(operands):
            return all(map(_may_be_empty, operands))
        case sre.SpanWindow() | sre.LengthWindow() | sre.Within() | sre.Plus():
            return _may_be_empty(e.body)
        case _:
            assert_never(e)
