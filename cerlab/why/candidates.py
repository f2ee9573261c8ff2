"""The nearest derivation with the given positions, found by search (CORE Sec. 2.2; SRT Def. 32)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TypeAlias, assert_never

from cerlab.logic.cel.syntax import competes, look_backs
from cerlab.logic.sremo import syntax as sre
from cerlab.logic.sremo.syntax import Sremo, reads
from cerlab.model.clauses import AttributeWindow, Strategy, TimeWindow
from cerlab.model.stream import clock_for, width_of
from cerlab.predicates.syntax import Guard, all_of, conjuncts
from cerlab.predicates.truth import Key
from cerlab.why import cel, sremo
from cerlab.why import failure as fail
from cerlab.why.deduction import NEARBY, CelDerivation, Goal, SremoDerivation, passes
from cerlab.why.failure import HEAVY, Failure, Path, Repair, blame, cost
from cerlab.why.focel import fo_derivations
from cerlab.why.question import (
    AnyQuestion,
    Meter,
    Place,
    Question,
    SremoQuestion,
    other_interval,
    places,
    unmarked_ends,
)
from cerlab.why.strategies import hole

Region: TypeAlias = tuple[int, int]
"""First and last position of the stream to search."""


FURTHER = 256
"""Events before and after the positions in the first search for unmarked ends."""


NEAR = 64
"""Events searched outside the window too, to measure how far outside the nearest answer is."""

FARTHEST = 12 * HEAVY
"""Highest total cost of failures for which a derivation of an expression is searched."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A derivation whose failures, if any, prevent it from being an answer.

    `at` maps positions of the derivation to positions of the whole stream, and `key` is the key of
    its partition. `failures` has those of the clauses that choose events first, then those of the
    formula from left to right, then interval and window; without failures it is an answer of the
    formula. `rank` has the cost first, then tie-breakers; the best candidate has the least rank.
    """

    derivation: CelDerivation | SremoDerivation
    at: Sequence[int]
    key: Key
    failures: tuple[Failure, ...]
    rank: tuple[int, ...]

    @property
    def interval(self) -> tuple[int, int]:
        """The start and the end in positions of the whole stream."""
        start, end = self.derivation.interval
        return self.at[start], self.at[end]


def regions(question: AnyQuestion) -> Iterator[Region]:
    """Yield ranges of events to search, growing 8-fold if ends may be unmarked.

    Events outside the last region cannot affect the result.
    """
    n, first, last = len(question.stream), question.anchors[0], question.anchors[-1]
    if isinstance(question, Question):
        opens, closes = unmarked_ends(question.formula, question.context)
        opens, closes = opens and question.start is None, closes and question.end is None
        outside = _out_of_window(question)
        # a range that cuts off a look-back's events would give other answers
        from_the_first = competes(question.formula) or bool(look_backs(question.formula))
    else:
        opens, closes = _may_begin_unmarked(question.e), False
        outside, from_the_first = _never_outside, False
    further = FURTHER
    while True:
        lo = max(0, first - further) if opens else first
        hi = min(n - 1, last + further) if closes else last
        yield 0 if from_the_first else lo, hi
        before = not opens or lo == 0 or outside(lo, last)
        after = not closes or hi == n - 1 or outside(first, hi)
        if before and after:
            return
        # with linear search time, a factor of 8 makes all searches cost 1/7 more than the last one
        further *= 8


def _never_outside(first: int, last: int) -> bool:
    return False


def _out_of_window(question: Question) -> Callable[[int, int], bool]:
    """Return a test of whether two positions cannot both be inside the window.

    The test is always false for windows that count the events of a substream, and ignores the times
    of events that FROM leaves out.
    """
    window, stream = question.ast.window, question.stream
    if not isinstance(window, AttributeWindow | TimeWindow):
        return _never_outside
    clock, width = clock_for(window, question.time), width_of(window)
    return lambda first, last: (
        all(question.passes(stream[p]) for p in (first, last))
        and clock(stream[last], last) - clock(stream[first], first) > width
    )


def candidates(question: AnyQuestion, region: Region, allowance: int) -> list[Candidate]:
    """Return the possible answers that fail tests of a cost of at most `allowance`, the best first.

    Candidates of equal cost are sorted by the number of blamed events; for queries then by the
    substream, that of the first position first, and by length. Raises `ResourceLimit` if there are
    too many partial derivations.
    """
    every = (
        _of_query(question, region, allowance)
        if isinstance(question, Question)
        else _of_expression(question, region, allowance)
    )
    # parts already refuse costly failures; here clauses, window and interval add theirs
    affordable = (candidate for candidate in every if candidate.rank[0] <= allowance)
    return sorted(affordable, key=lambda candidate: candidate.rank)


def nearest(question: AnyQuestion) -> tuple[Candidate | None, Region]:
    """Return the candidate with the cheapest repairs, and the range of events that was searched.

    The candidate is None if all cost too much. For a query, the last resort is a derivation without
    events.
    """
    if isinstance(question, Question):
        region, allowances = next(regions(question)), passes()
    else:
        first, further = question.positions[0], NEAR if _may_begin_unmarked(question.e) else NEARBY
        region = max(0, first - further), question.positions[-1]
        allowances = takewhile(lambda cost: cost <= FARTHEST, passes())
    # allowances grow, so the first search with a candidate finds the cheapest one
    batches = (candidates(question, region, allowance) for allowance in allowances)
    return next((some[0] for some in batches if some), None), region


def _of_query(question: Question, region: Region, allowance: int) -> Iterator[Candidate]:
    for n, place in enumerate(places(question, region[0], question.last_waited(region[1]))):
        if cost(place.failures) <= allowance:
            yield from _in_place(question, place, n, region[1], allowance)


def _in_place(
    question: Question, place: Place, n: int, last: int, allowance: int
) -> Iterator[Candidate]:
    """Yield the candidates in a substream; events after `last` matter only for waits."""
    substream, at = place.substream, place.substream.positions
    meter = Meter(question.ast.window, question.time, substream)
    marks = tuple(map(place.local, question.positions))
    start, end = (None if p is None else place.local(p) for p in (question.start, question.end))
    lo, hi = _search_interval(question, place, meter, last, NEAR if allowance else 0)
    goal = Goal(substream.events, at, marks, lo, hi, allowance, start, end)
    nowhere = frozenset(map(place.local, place.nowhere))
    goal = replace(goal, axis=question.time, clocks=question.clocks, nowhere=nowhere)
    clauses = fo_derivations if question.first_order else cel.derivations
    for d in clauses(cel.Part(goal, question.formula, question.path, question.context)):
        failures, V, outside, length = place.failures + d.failures, d.valuation, marks, 0
        if V is not None:
            outside = tuple(i for i in marks if not V.start <= i <= V.end)
        failures += goal.leftover(outside)
        if V is not None:
            length = V.end - V.start
            real = (at[V.start], at[V.end])
            failures += other_interval(real, question.start, question.end)
            failures += meter.failures(V.start, V.end)
        failures += not_strict(question, place)
        rank = (cost(failures), blame(failures), n, length)
        yield Candidate(d, at, place.key, failures, rank)


def _search_interval(
    question: Question, place: Place, meter: Meter, end: int, near: int
) -> tuple[int, int]:
    """Return the range of events to search: the given positions, extended as far as WITHIN allows.

    At least `near` more events on each side are searched, but none after `end`.
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
    """Return the failure of given positions that have a gap, which STRICT forbids."""
    if question.strategy is not Strategy.STRICT:
        return ()
    C, at = tuple(map(place.local, question.positions)), place.substream.positions
    if not (pair := hole(C, at)):
        return ()
    left_out = sorted(set(range(C[0], C[-1])) - set(C))
    without = (question.without_strategy, fail.Remove(tuple(at[i] for i in left_out)))
    return (fail.STRICT.failure("STRICT", (), pair, more=without),)


def _of_expression(question: SremoQuestion, region: Region, allowance: int) -> Iterator[Candidate]:
    """Yield candidates for a SREMO, with failures for marked positions outside them.

    With no allowance, yield only the shortest reading that has exactly the marks.
    """
    S, lo, first, last = question.events, region[0], question.positions[0], question.positions[-1]
    read, at = reads(question.e), range(len(S))
    goal = sremo.MarkGoal(S, at, question.positions, first, last, allowance=allowance, read=read)
    interval = other_interval((first, last), question.start, question.end) if allowance else ()
    for i in range(lo, goal.stop + 1) if allowance else range(first, lo - 1, -1):
        before = goal.leftover_between(lo, i)
        # every later start leaves out these marked positions too
        if HEAVY * len(before) > allowance:
            return
        for d in sremo.readings(sremo.Part(goal, question.e, (), i, ())):
            if (inside := _failures_of_shown(d, _consistent_repairs(d, d.failures))) is not None:
                after = goal.leftover_between(d.valuation.end, goal.stop)
                failures, length = before + inside + after + interval, d.valuation.end - i
                # a reading without events is never a match, so rank it last
                price = cost(failures) + (0 if length or d.failures else 2 * HEAVY)
                yield Candidate(d, at, (), failures, (price, blame(failures), length, -i))
                if not allowance and not failures:
                    return


def _consistent_repairs(d: SremoDerivation, failures: tuple[Failure, ...]) -> tuple[Failure, ...]:
    """Return failures whose repairs suit all events of an iterated terminal."""

    def repairs_of_all(failure: Failure) -> Iterator[Repair]:
        same = [f for f in failures if (f.row, f.path) == (failure.row, failure.path)]
        for repair in failure.repairs:
            match repair:
                case fail.Relax(path, sre.Terminal() as into) if len(same) > 1:
                    yield fail.Relax(path, replace(into, guard=_weakest(same)))
                case fail.Remark(path):
                    if _events_taken(d, path) <= {p for f in same for p in f.positions}:
                        yield repair
                case _:
                    yield repair

    return tuple(replace(failure, repairs=tuple(repairs_of_all(failure))) for failure in failures)


def _weakest(failures: list[Failure]) -> Guard:
    """Return the conjuncts of a guard that are true on all events where the guard is false."""
    ways = [
        list(conjuncts(repair.into.guard))
        for failure in failures
        for repair in failure.repairs
        if isinstance(repair, fail.Relax) and isinstance(repair.into, sre.Terminal)
    ]
    common = [side for side in ways[0] if all(side in way for way in ways)]
    return all_of(common)


def _events_taken(d: SremoDerivation, path: Path) -> set[int]:
    """Return the events that the terminal at a path reads."""
    nodes = (n for n in d if n.path == path or (n.path == path[:-1] and not n.children))
    return {p for node in nodes for p in range(node.valuation.start, node.valuation.end)}


def _failures_of_shown(
    d: SremoDerivation, failures: tuple[Failure, ...]
) -> tuple[Failure, ...] | None:
    """Return the failures, or None if no repair makes the last event marked (SRT Def. 32).

    A shown derivation marks its last event (SRT Def. 32).
    """
    last = d.valuation.end - 1
    if last < d.valuation.start or last in d.valuation.marks:
        return failures
    marking = [
        tuple(repair for repair in failure.repairs if isinstance(repair, fail.Remark))
        if failure.kind is fail.Kind.LEFTOVER and failure.positions == (last,)
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
    """Return whether a match may begin with an unmarked event; True is always safe."""
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
    """Return whether the expression may match no events; True is always safe."""
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
