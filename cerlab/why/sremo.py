"""The clauses of SREMO's semantics, evaluated for given marks:

``(e, S, i, j, M, v) |- v'`` (SRT Def. 17).

There is one arm per rule, as in `cerlab.logic.sremo.semantics`; derived operators have arms that
follow their definitions. Two things differ. The marks are known, so each part has the marks among
its events. With an allowance, a part may fail an obligation and continue; the failures of least
cost are blamed.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple, assert_never

from cerlab.budget import spend
from cerlab.logic.sremo import syntax as sre
from cerlab.logic.sremo.syntax import SKIP, Sremo, children, reads, subexpressions, writes
from cerlab.model.answer import ComplexEvent, Positions
from cerlab.predicates.text import positions_text
from cerlab.why import deduction
from cerlab.why import failure as fail
from cerlab.why.conditions import may_hold, why_guard_false
from cerlab.why.deduction import (
    NEARBY,
    Contents,
    Derivation,
    Goal,
    Reading,
    SremoDerivation,
    concatenation,
)
from cerlab.why.failure import HEAVY, LIGHT, Failure, Insert, Relax, Repair, cost
from cerlab.why.question import out_of_window


def readings(part: Part) -> list[SremoDerivation]:
    """Return the best derivations of an expression from event i on.

    Raises `ResourceLimit` if there are too many partial derivations.
    """
    goal = part.goal
    # the result depends only on the key, so one search serves all sequences that reach i
    key = (goal.marks is None, goal.by_marks, part.path, part.i, part.v)
    if key not in goal.cache:
        goal.cache[key] = part.chart().all(_rule(part))
    return goal.cache[key]


def _rule(part: Part) -> Iterator[SremoDerivation]:
    def of(n: int = 0) -> list[SremoDerivation]:
        return readings(part.below(n))

    match part.syntax:
        case sre.Epsilon():
            yield part.up_to(part.i)
        case sre.Empty() as e:
            yield from of_empty(part)
        case sre.Terminal() as e:
            yield from of_terminal(part, e)
        case sre.Star(sre.Terminal(_, False, W) as e) | sre.Plus(
            sre.Terminal(_, False, W) as e
        ) if not W:
            yield from of_run(part, e)
        case sre.Concat():
            yield from _sequence(part, _links(part))
        case sre.Star() | sre.Plus() as e:
            yield from _iteration(part, Link(part.below(0), part), e)
        case sre.SkipAny((sre.Star() | sre.Plus() as e,)) | sre.SkipNext(
            (sre.Star() | sre.Plus() as e,)
        ):
            yield from _iteration(part, Link(part.below(0, 0), part), e)
        case sre.SkipAny(operands) | sre.SkipNext(operands):
            links = [Link(part.below(n), part) for n, _ in enumerate(operands)]
            yield from _sequence(part, links)
        case sre.Alternation():
            yield from map(part.above, (*of(0), *of(1)))
        case sre.SpanWindow() | sre.LengthWindow() | sre.Within() as e:
            for d in of():
                yield part.above(d, out_of_window(part, e, d.valuation))
        case sre.Intersection() as e:
            yield from _agreeing(part, e, of(0), of(1))
        case sre.Negation():
            yield from _of_negation(part, _without_marks(part.below(0)))
        case sre.Option():
            yield part.up_to(part.i)
            yield from map(part.above, of())
        case _:
            assert_never(part.syntax)


# the operators e . e, e*, e+, #(..) and @(..)


class Link(NamedTuple):
    """A part of a sequence and the operator before it, which decides whether gaps are permitted."""

    part: Part
    operator: Part


def _links(part: Part) -> list[Link]:
    """Return the parts of a sequence ``e . .. . e``."""
    links, left = [], part
    while isinstance(left.syntax, sre.Concat):
        links.append(Link(left.below(1), left))
        left = left.below(0)
    return [Link(left, part), *reversed(links)]


def _sequence(part: Part, links: Iterable[Link]) -> list[SremoDerivation]:
    """Return derivations of a sequence."""
    ways = [part.up_to(part.i)]
    for n, link in enumerate(links):
        longer = (d for before in ways for d in _longer(before, link, first=n == 0))
        ways = part.chart().all(longer)
    return ways


def _iteration(part: Part, body: Link, e: sre.Star | sre.Plus) -> list[SremoDerivation]:
    """Return derivations of one or more repetitions, and for ``*`` also of none."""
    rounds, none = part.chart(), part.up_to(part.i)
    if isinstance(e, sre.Star):
        rounds.offer(none)
    once = list(_longer(none, body, first=True))
    rounds.all(once)

    def more(before: SremoDerivation) -> Iterator[SremoDerivation]:
        end = before.valuation.end
        # a repetition without events could be repeated forever
        return (d for d in _longer(before, body, first=False) if d.valuation.end > end)

    return rounds.rounds_of(once, more)


def _longer(before: SremoDerivation, link: Link, *, first: bool) -> Iterator[SremoDerivation]:
    """Yield a sequence extended by one part, after a gap unless it is the first part."""
    r, part = before.valuation, link.part
    gaps: Iterable[tuple[int, tuple[Failure, ...]]] = [(r.end, ())]
    if not first:
        gaps = _gaps(before.valuation, link)
    for k, wrong in gaps:
        too_far = any(failure.row is fail.GAP for failure in wrong)
        for d in readings(part.at(k, r.registers)):
            end, marks = d.valuation.end, r.marks + d.valuation.marks
            # a gap before a part without events counts before the next part
            if end > k or not too_far:
                value = Reading(r.start, end, marks, d.valuation.registers)
                yield concatenation(before, wrong, d, value, part.goal.at)


def _gaps(before: Reading, link: Link) -> Iterator[tuple[int, tuple[Failure, ...]]]:
    """Yield each event where the next part may start, with the failures of the gap before it."""
    goal = link.part.goal
    match link.operator.syntax:
        case sre.SkipAny():
            yield from _any_gap(goal, before.end)
        case sre.SkipNext() as e:
            yield from _without_instance(before, link, e)
        case _:
            yield before.end, ()
            if link.part.may_fail and before.end > before.start:
                yield from _too_far(goal, before.end, link)


def _any_gap(goal: MarkGoal, end: int) -> Iterator[tuple[int, tuple[Failure, ...]]]:
    """Yield every gap; marked positions in it are failures."""
    for k in range(end, goal.stop + 1):
        failures = goal.leftover_between(end, k)
        # longer gaps leave out the marked positions of shorter ones too
        if HEAVY * len(failures) > goal.allowance:
            return
        yield k, failures


def _without_instance(
    before: Reading, link: Link, e: sre.SkipNext
) -> Iterator[tuple[int, tuple[Failure, ...]]]:
    """Yield gaps that contain no match of the next part, or the match as a failure."""
    part = link.part.at(before.end, before.registers)
    instances: list[Reading] = []
    for k, failures in _any_gap(part.goal, before.end):
        if others := _without_marks(part.at(k, part.v)):
            instances.append(min((d.valuation for d in others), key=lambda r: r.end))
        wrong = instance_in_gap(e, link, [r for r in instances if r.end <= k])
        if wrong and not part.may_fail:
            return
        yield k, wrong + failures


def instance_in_gap(e: sre.SkipNext, link: Link, instances: list[Reading]) -> tuple[Failure, ...]:
    """Return the failure of a gap that contains a match of the next part."""
    if not instances:
        return ()
    first = min(instances, key=lambda r: (r.end, -r.start))
    alone = all(r == first for r in instances) and first.end == first.start + 1
    more = (fail.Alter(first.start), fail.Remove((first.start,))) if alone else ()
    failure = link.operator.fails(
        fail.INSTANCE,
        *first.ends,
        rival=rival_of(first),
        more=more,
        into=sre.SkipAny(e.operands),
        next=link.part.syntax,
        events=_events_text(first),
    )
    return (failure,)


def _too_far(goal: MarkGoal, end: int, link: Link) -> Iterator[tuple[int, tuple[Failure, ...]]]:
    """Yield gaps where the operator permits none, with their failures."""
    near = goal.stop if goal.narrow else min(goal.stop, end + NEARBY)
    for k in sorted({*range(end + 1, near), *goal.between(end, goal.stop)}):
        left_out = goal.leftover_between(end, k)
        if LIGHT + HEAVY * len(left_out) > goal.allowance:
            return
        yield k, (_gap(link.operator, end, k), *left_out)


def _gap(operator: Part, end: int, start: int) -> Failure:
    """Return the failure of events in a gap that the operator does not permit."""
    weaker: Sremo
    match operator.syntax:
        case sre.Concat(left, right):
            sign, weaker = ".", sre.Concat(sre.Concat(left, SKIP), right)
        case e:
            sign, weaker = "*" if isinstance(e, sre.Star) else "+", sre.SkipAny((e,))
    return operator.gap(sign, range(end, start), weaker)


# negation !e, and gaps of skip-till-next, which must not contain a match


def _without_marks(part: Part) -> list[SremoDerivation]:
    """Return derivations of a negation's body without failures.

    Return none if a register is read whose content is unknown.
    """
    if any(p is None and r in reads(part.syntax) for r, p in part.v):
        return []
    measuring = (sre.SpanWindow, sre.Within, sre.Intersection)
    by_marks = any(isinstance(each, measuring) for each in subexpressions(part.syntax))
    by_marks = by_marks or part.goal.by_marks
    goal = replace(part.goal, marks=None, allowance=0, by_marks=by_marks)
    return readings(replace(part, goal=goal))


def _of_negation(part: Part, derivations: Iterable[SremoDerivation]) -> Iterator[SremoDerivation]:
    """Yield the readings of a negation: intervals from i on that its body does not match."""
    goal, by_end = part.goal, {d.valuation.end: d.valuation for d in derivations}
    for j in range(part.i, goal.stop + 1):
        failures = goal.leftover_between(part.i, j)
        if HEAVY * len(failures) > goal.allowance:
            return
        if j in by_end:
            if not part.may_fail:
                continue
            failures += (_negation_failure(part, by_end[j]),)
        yield part.up_to(j, *failures)


def _negation_failure(part: Part, reading: Reading) -> Failure:
    assert isinstance(part.syntax, sre.Negation)
    alter = (fail.Alter(reading.start),) if reading.end == reading.start + 1 else ()
    body, events, rival = part.syntax.body, _events_text(reading), rival_of(reading)
    return part.fails(
        fail.NEGATION, *reading.ends, rival=rival, more=alter, into=SKIP, body=body, events=events
    )


def rival_of(r: Reading) -> ComplexEvent | None:
    """Return the match of a negated body as an answer, if it has an event."""
    return ComplexEvent(r.start, r.end - 1, r.marks) if r.end > r.start else None


def _events_text(r: Reading) -> str:
    """Return the events of a match as text: ``event 3``, ``events 3 to 5``."""
    if r.end <= r.start + 1:
        return f"event {r.start}" if r.end > r.start else "no event"
    return f"events {r.start} to {r.end - 1}"


# e & e


def _agreeing(
    part: Part, e: sre.Intersection, lefts: list[SremoDerivation], rights: list[SremoDerivation]
) -> Iterator[SremoDerivation]:
    """Yield readings of an intersection: matches of both sides, or of one side with failures."""
    for a in lefts:
        for b in rights:
            r, other = a.valuation, b.valuation
            if (r.end, r.marks) == (other.end, other.marks):
                spend(own=part.goal.budget)
                more = _same_missing(a.failures, b.failures)
                failures = a.failures + tuple(f for f in more if f not in a.failures)
                v = _contents_of_both(e, part.v, r.registers, other.registers)
                yield Derivation(e, part.path, replace(r, registers=v), (a, b), failures)
    if part.may_fail:
        yield from (_alone(part, d, has=e.left, lacks=e.right) for d in lefts)
        yield from (_alone(part, d, has=e.right, lacks=e.left) for d in rights)


def _same_missing(failures: tuple[Failure, ...], others: tuple[Failure, ...]) -> Iterator[Failure]:
    """Yield those of `others` whose missing event `failures` insert at the same place."""
    places: dict[tuple[int | None, int | None], list[Repair]] = {}
    for failure in failures:
        match failure:
            case Failure(repairs=(Insert(_, after, before) as insert, *_)):
                places.setdefault((after, before), []).append(insert)
    for other in others:
        match other:
            case Failure(repairs=(Insert(_, after, before), *more)) if same := places.get(
                (after, before)
            ):
                yield replace(other, repairs=(same.pop(0), *more))
            case _:
                yield other


def _contents_of_both(e: sre.Intersection, v: Contents, v1: Contents, v2: Contents) -> Contents:
    """Return the registers after an intersection, from the sides that write them."""
    W1, W2 = writes(e.left), writes(e.right)
    others = {r: p for r, p in v if r not in W1 | W2}
    own = {r: p for W, after in ((W1, v1), (W2, v2)) for r, p in after if r in W}
    return tuple(sorted({**others, **own}.items()))


def _alone(part: Part, d: SremoDerivation, *, has: Sremo, lacks: Sremo) -> SremoDerivation:
    """Return a match of one side of an intersection that the other side lacks, as a failure."""
    r = d.valuation
    marks = f" with the marks {positions_text(r.marks)}" if r.end > r.start else ""
    events = _events_text(r)
    failure = part.fails(fail.BOTH, *r.ends, into=has, lacks=lacks, events=events, marks=marks)
    return part.above(d, (failure,))


@dataclass(frozen=True, slots=True)
class MarkGoal(Goal):
    """A search goal for a SREMO, whose derivations read no event after `hi`.

    `read` are the registers that guards read; others are not followed. With `by_marks`, inside a
    negation, derivations with different marks are different items.
    """

    read: frozenset[str] = frozenset()
    by_marks: bool = False
    cache: dict[Hashable, list[SremoDerivation]] = field(default_factory=dict)

    @property
    def stop(self) -> int:
        """The position after the last event that may be read."""
        return self.hi + 1

    def registers_after(
        self, v: Contents, writes: frozenset[str], position: int | None
    ) -> Contents:
        """Return ``v[W <- t]``, the registers as positions of events (SRT Def. 12)."""
        contents = dict.fromkeys(writes & self.read, position)
        return tuple(sorted({**dict(v), **contents}.items()))

    def leftover_between(self, start: int, stop: int) -> tuple[Failure, ...]:
        """Return the failures of marked positions from `start` to before `stop`."""
        return self.leftover(self.between(start - 1, stop), "expression marks")


@dataclass(frozen=True, slots=True)
class Part(deduction.Part[Sremo, Reading]):
    """An expression to derive from event i on, with registers v."""

    goal: MarkGoal
    i: int
    v: Contents

    def at(self, i: int, v: Contents) -> Part:
        """Return this part at another event."""
        return Part(self.goal, self.syntax, self.path, i, v)

    def below(self, *path: int) -> Part:
        """Return the subexpression at a path, at the same event."""
        e = self.syntax
        for n in path:
            e = children(e)[n]
        return Part(self.goal, e, (*self.path, *path), self.i, self.v)

    def item(self, d: SremoDerivation) -> Hashable:
        """Return what outer parts see of a derivation: its end and its registers."""
        r = d.valuation
        return (r.end, r.registers, r.marks if self.goal.by_marks else ())

    def up_to(self, end: int, *failures: Failure, marks: Positions = ()) -> SremoDerivation:
        """Yield a derivation without children for the events before `end`."""
        return Derivation(self.syntax, self.path, Reading(self.i, end, marks, self.v), (), failures)


def of_empty(part: Part) -> Iterator[SremoDerivation]:
    """Yield ``EMPTY`` as a failure, since it has no match."""
    if part.may_fail:
        yield part.up_to(part.i, part.fails(fail.EMPTY, into=sre.EPSILON))


def of_terminal(part: Part, e: sre.Terminal) -> Iterator[SremoDerivation]:
    """Yield derivations of a terminal: event i if it matches, or failures about that event."""
    goal, i, v = part.goal, part.i, part.v
    if i < goal.stop:
        holds = may_hold(e.guard, goal.events[i], v, goal.events)
        if holds or (part.may_fail and (goal.is_marked(i) or goal.narrow)):
            wrong = () if holds else (_guard_failure(part, e),)
            after = part.at(i, goal.registers_after(v, e.writes, i))
            failures = (*wrong, *_mark_failure(part, e))
            yield after.up_to(i + 1, *failures, marks=(i,) if e.marked else ())
    if goal.allowance >= HEAVY:
        after = part.at(i, goal.registers_after(v, e.writes, None))
        yield after.up_to(i, part.missing(Relax(part.path, sre.Option(e))))


def _guard_failure(part: Part, e: sre.Terminal) -> Failure:
    why = why_guard_false(e.guard, part.i, part.v, part.goal.events)
    repairs = (*why.repairs, Relax(part.path, replace(e, guard=why.weaker)))
    return part.fails(fail.GUARD, part.i, words=why.words, more=repairs)


def _mark_failure(part: Part, e: sre.Terminal) -> Iterator[Failure]:
    """Yield the failure of an event whose mark differs from the terminal's."""
    goal, i = part.goal, part.i
    if goal.marks is not None and goal.is_marked(i) != e.marked:
        row = fail.MARKED if e.marked else fail.NOT_MARKED
        yield part.fails(row, i, into=replace(e, marked=not e.marked))


def of_run(part: Part, e: sre.Terminal) -> Iterator[SremoDerivation]:
    """Yield a derivation for each number of events that an unmarked iteration may read."""
    goal, below = part.goal, part.below(0)
    if isinstance(part.syntax, sre.Star):
        yield part.up_to(part.i)
    elif goal.allowance >= HEAVY:
        yield part.up_to(part.i, below.missing(Relax(below.path, sre.Option(e))))
    failures: tuple[Failure, ...] = ()
    for k in range(part.i, goal.stop):
        once = (d for d in of_terminal(below.at(k, below.v), e) if d.valuation.end > k)
        if (d := next(once, None)) is None:
            return
        failures += d.failures
        if cost(failures) > goal.allowance:
            return
        yield part.up_to(k + 1, *failures)
