"""The clauses of CEL's semantics (CORE Table 2), evaluated for given positions.

There is one arm per row of the table, as in `cerlab.logic.cel.semantics`, with three differences.
Only parts of the answer are built: marked events, and events that a part of the formula may match
unmarked. Of derivations that look equal to the parts above, one is kept. With an allowance, a part
may fail an obligation and continue; the failures of least cost are blamed.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, assert_never

from cerlab.budget import spend
from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.semantics import axis_name, holds, valuations
from cerlab.logic.cel.syntax import Formula, children
from cerlab.logic.cel.text import node_text
from cerlab.logic.ceql.semantics import Meaning, Substream
from cerlab.model.answer import Valuation, complex_event
from cerlab.model.clauses import Strategy, Window
from cerlab.predicates.text import positions_text
from cerlab.why import deduction
from cerlab.why import failure as fail
from cerlab.why.conditions import why_false
from cerlab.why.deduction import (
    NARROW,
    NEARBY,
    CelDerivation,
    Derivation,
    Goal,
    concatenation,
)
from cerlab.why.failure import HEAVY, Failure
from cerlab.why.question import Context, Meter, contexts, labels_in
from cerlab.why.strategies import ending_at, first_preferred, hole, moved_answer


def derivations(part: Part) -> list[CelDerivation]:
    """Return the best derivations of a formula, one for each value of `Part.item`."""
    return part.chart().all(_clause(part))


def _clause(part: Part) -> Iterator[CelDerivation]:
    def of(n: int = 0) -> list[CelDerivation]:
        return derivations(part.below(n))

    match part.syntax:
        case cel.Atom() as phi:
            yield from of_atom(part, phi)
        case cel.As() | cel.Project() | cel.Rename() as phi:
            yield from (part.above(d, (), relabelled(phi, d.valuation)) for d in of())
        case cel.Filter() as phi:
            yield from (part.above(d, _filter(part, phi, d.valuation)) for d in of())
        case cel.Or():
            yield from map(part.above, (*of(0), *of(1)))
        case cel.Seq() | cel.Concat():
            yield from sequences(part, of(0), of(1))
        case cel.Plus() | cel.ConcatPlus() | cel.Count():
            yield from iterations(part, of())
        case cel.Not() as phi:
            yield from of_not(part, phi)
        case cel.And() as phi:
            yield from _agreeing(part, phi, of(0), of(1))
        case cel.All():
            yield from _overlapping(part, of(0), of(1))
        case cel.Unless() as phi:
            kept = of()
            rivals = _counter_examples(part.goal, phi.right, kept)
            for d in kept:
                yield part.above(d, _unless(part, phi, d, rivals))
        case cel.Select() as phi:
            for d in of():
                yield part.above(d, selection(part, phi, d.valuation, valuations))
        case cel.Within(_, window) as phi:
            meter = _meter(part.goal, window)
            for d in of():
                V = d.valuation
                outside = () if V is None else meter.failures(V.start, V.end, (part.path, phi))
                yield part.above(d, outside)
        case cel.Wait() as phi:
            for d in of():
                yield from _waited(part, phi, d)
        case cel.Lookback() as phi:
            for d in of():
                yield from _looked_back(part, phi, d)
        case _:
            assert_never(part.syntax)


# the operators AS, PROJECT, RENAME and FILTER


def relabelled(phi: cel.As | cel.Project | cel.Rename, V: Valuation | None) -> Valuation | None:
    """Return a valuation after AS, PROJECT or RENAME."""
    if V is None:
        return None
    labels = dict(V.labels)
    match phi:
        case cel.As(_, X):
            labels[X] = complex_event(V).positions
        case cel.Project(visible, _):
            labels = {X: D for X, D in labels.items() if X in visible}
        case cel.Rename(old, new, _):
            positions = labels.pop(old, ())
            labels[new] = labels.get(new, ()) + positions
        case _:
            assert_never(phi)
    return Valuation(V.start, V.end, labels)


def _filter(part: Part, phi: cel.Filter, V: Valuation | None) -> Iterator[Failure]:
    if V is not None and not holds(phi.condition, V, part.goal.events):
        yield false_filter(part, phi, V)


def false_filter(part: Part, phi: cel.Filter, V: Valuation) -> Failure:
    """Return the failure of a FILTER whose condition is false, with its repairs."""
    if not part.may_fail:
        # without permitted failures, its text is never needed
        return Failure(fail.FILTER)
    goal = part.goal
    why = why_false(phi.condition, V, goal.events, goal.at)
    alterations = [fail.Alter(goal.at[i]) for i in sorted(why.enough)]
    positions = sorted(why.positions)
    return part.fails(fail.FILTER, *positions, words=why.words, into=phi.body, more=alterations)


# the operators ; : + :+ and ALL


def union(V: Valuation | None, W: Valuation | None) -> Valuation | None:
    """Return a valuation from the smaller start to the larger end, with the labels of both."""
    if V is None or W is None:
        return V or W
    labels = {X: V.labels.get(X, ()) + W.labels.get(X, ()) for X in {*V.labels, *W.labels}}
    return Valuation(min(V.start, W.start), max(V.end, W.end), labels)


def sequences(
    part: Part, lefts: Sequence[CelDerivation], rights: Sequence[CelDerivation]
) -> Iterator[CelDerivation]:
    """Yield the concatenations of left derivations with later right derivations."""
    by_start, absent = _by_start(rights), [d for d in rights if d.valuation is None]
    for a in lefts:
        before = part.above(a)
        for b in rights if a.valuation is None else absent:
            yield concatenation(before, (), b, union(a.valuation, b.valuation), part.goal.at)
        yield from _longer(part, before, by_start)


def iterations(part: Part, once: Sequence[CelDerivation]) -> list[CelDerivation]:
    """Return the derivations of one or more repetitions, which are their children."""
    by_start = _by_start(once)
    phi = part.syntax
    least, most = (phi.least, phi.most) if isinstance(phi, cel.Count) else (1, None)
    # above this number, further repetitions make no difference
    alike = least if most is None else most + 1

    def longer(d: CelDerivation) -> Iterable[CelDerivation]:
        is_last = len(d.children) == most and not part.may_fail
        return () if is_last else _longer(part, d, by_start)

    # another repetition may follow, so a repetition need not end the whole match
    more_may_follow = replace(part.context, trailing=False)
    rounds = replace(part, context=more_may_follow).chart(lambda d: min(len(d.children), alike))
    first = [d for d in map(part.above, once) if rounds.offer(d)]
    found = rounds.rounds_of(first, longer)
    if not isinstance(phi, cel.Count):
        return found
    return [replace(d, failures=(*d.failures, *_miscounted(part, phi, d))) for d in found]


def _miscounted(part: Part, phi: cel.Count, d: CelDerivation) -> Iterator[Failure]:
    """Yield the failure of too few or too many repetitions of a count."""
    rounds, least, most = len(d.children), phi.least, phi.most
    there = f"{rounds} {'is' if rounds == 1 else 'are'} there"
    ends: tuple[int, ...] = ()
    if (V := d.valuation) is not None:
        ends = (V.start, V.end)
        at = dict.fromkeys(str(part.goal.at[i]) for i in ends)
        there += f", {'from' if len(at) == 2 else 'at'} {' to '.join(at)}"
    if rounds < least:
        into, bound = replace(phi, least=rounds), f"asks for {'at least ' * (most != least)}{least}"
    elif most is not None and rounds > most:
        into, bound = replace(phi, most=rounds), f"allows {most}"
    else:
        return
    yield part.fails(fail.COUNT, *ends, into=into, bound=bound, there=there)


def _by_start(ways: Iterable[CelDerivation]) -> dict[int, list[CelDerivation]]:
    """Return derivations grouped by their start, in ascending order."""
    by_start: dict[int, list[CelDerivation]] = {}
    for d in ways:
        if d.valuation is not None:
            by_start.setdefault(d.valuation.start, []).append(d)
    return dict(sorted(by_start.items()))


def _longer(
    part: Part, before: CelDerivation, by_start: Mapping[int, Sequence[CelDerivation]]
) -> Iterator[CelDerivation]:
    """Yield a derivation followed by each later one; a forbidden gap is a failure."""
    if before.valuation is None:
        return
    goal, end, starts = part.goal, before.valuation.end, list(by_start)
    for start in starts[bisect_right(starts, end) :]:
        gap: tuple[Failure, ...] = ()
        is_next = start == end + 1 or not goal.nowhere.isdisjoint((end, start))
        if _is_contiguous(part.syntax) and not is_next:
            if not part.may_fail:
                return
            gap = (_gap(part, end, start),)
        if not part.context.loose:
            marks = goal.between(end, start)
            # starts ascend: a later one leaves out these marked positions too
            if HEAVY * len(marks) > goal.allowance:
                return
            gap += goal.leftover(marks)
        for d in by_start[start]:
            spend(own=goal.budget)
            yield concatenation(before, gap, d, union(before.valuation, d.valuation), goal.at)


def _is_contiguous(phi: Formula) -> bool:
    return isinstance(phi, cel.Concat | cel.ConcatPlus) or (
        isinstance(phi, cel.Count) and not phi.gaps
    )


def _gap(part: Part, end: int, start: int) -> Failure:
    """Return the failure of events in a gap, which `:`, `:+` and `:{n}` forbid."""
    return part.gap(node_text(part.syntax), range(end + 1, start), cel.with_gaps(part.syntax))


def _overlapping(
    part: Part, lefts: Sequence[CelDerivation], rights: Sequence[CelDerivation]
) -> Iterator[CelDerivation]:
    """Yield derivations of ALL: each pair; marked positions outside both sides are failures."""
    goal, context = part.goal, part.context
    for a in lefts:
        for b in rights:
            spend(own=goal.budget)
            if _at_odds(goal, a, b) or _at_odds(goal, b, a):
                continue
            failures, V = _both(a, b), union(a.valuation, b.valuation)
            if V is not None and not context.loose:
                visible = _positions_of(V, context.visible)
                inside = goal.between(V.start - 1, V.end + 1)
                failures += goal.leftover(p for p in inside if p not in visible)
            yield Derivation(part.syntax, part.path, V, (a, b), failures)


def _both(a: CelDerivation, b: CelDerivation) -> tuple[Failure, ...]:
    return a.failures + tuple(f for f in b.failures if f not in a.failures)


def _positions_of(V: Valuation, labels: Iterable[str]) -> set[int]:
    return {i for X in labels for i in V.labels.get(X, ())}


def _at_odds(goal: Goal, a: CelDerivation, b: CelDerivation) -> bool:
    """Return whether a repair of `a` would change the type of an event that `b` matches."""
    V = b.valuation
    positions = set() if V is None else {goal.at[i] for i in _positions_of(V, V.labels)}
    retypes = [other.repairs[0] for other in b.failures if other.repairs]
    return any(
        failure.row is fail.TYPE
        and not positions.isdisjoint(failure.positions)
        and failure.repairs[0] not in retypes
        for failure in a.failures
    )


# AND and UNLESS


def _agreeing(
    part: Part, phi: cel.And, lefts: Sequence[CelDerivation], rights: Sequence[CelDerivation]
) -> Iterator[CelDerivation]:
    """Yield derivations of AND: valuations that both sides have, or one side with failures."""
    # AND reads all labels (`contexts`), so equal valuations are equal derivations
    by_valuation = {d.valuation: d for d in rights}
    for a in lefts:
        if (b := by_valuation.get(a.valuation)) is not None:
            yield Derivation(phi, part.path, a.valuation, (a, b), _both(a, b))
        yield from _alone(part, a, has=phi.left, lacks=phi.right)
    for b in rights:
        yield from _alone(part, b, has=phi.right, lacks=phi.left)


def _alone(
    part: Part, d: CelDerivation, *, has: Formula, lacks: Formula
) -> Iterator[CelDerivation]:
    V, at = d.valuation, part.goal.at
    if V is None or not part.may_fail:
        return
    texts = (f"{X}: {positions_text(at[i] for i in D)}" for X, D in V.labels.items())
    labels = ", ".join(texts) or "no labels"
    failure = part.fails(fail.AND, V.start, V.end, into=has, lacks=lacks, labels=labels)
    yield part.above(d, (failure,))


def _counter_examples(goal: Goal, right: Formula, kept: Sequence[CelDerivation]) -> list[Valuation]:
    """Return the shortest valuations of the right side of UNLESS, one for each interval."""
    # a wait may end after the last event that the formula may match
    hi = max([goal.hi, *(d.valuation.end for d in kept if d.valuation is not None)])
    # no label is visible, so atoms also match unmarked events: every match inside counts
    free = replace(goal, marks=(), start=None, end=None, allowance=0, hi=hi)
    every = derivations(Part(free, right, (), Context(labels_in(right), frozenset())))
    intervals = [d.valuation for d in every if d.valuation is not None]
    return sorted(intervals, key=lambda W: (W.end - W.start, W.start))


def _unless(
    part: Part, phi: cel.Unless, d: CelDerivation, rivals: Sequence[Valuation]
) -> Iterator[Failure]:
    goal, V = part.goal, d.valuation
    if V is None or (W := inside(rivals, V)) is None:
        return
    # replacing an event helps only if every match inside consists of that event
    intervals = {(R.start, R.end) for R in rivals if inside((R,), V)}
    alter = (fail.Alter(goal.at[W.start]),) if intervals == {(W.start, W.start)} else ()
    rival = moved_answer(complex_event(W), goal.at)
    ends = f"[{rival.start}, {rival.end}]{_waiting_then(goal, d, W)}{_looking_back(goal, d, W)}"
    yield part.fails(
        fail.UNLESS, rival=rival, more=alter, into=phi.left, right=phi.right, ends=ends
    )


def inside(rivals: Iterable[Valuation], V: Valuation) -> Valuation | None:
    """Return the first valuation whose interval is inside the interval of V."""
    return next((W for W in rivals if V.start <= W.start and W.end <= V.end), None)


# WAIT


def _meter(goal: Goal, window: Window) -> Meter:
    return Meter(window, goal.axis, Substream(tuple(goal.events), tuple(goal.at)))


def _waited(part: Part, phi: cel.Wait, d: CelDerivation) -> Iterator[CelDerivation]:
    """Yield a derivation extended by its wait; a wait that is not over is a failure.

    With an allowance, also yield one without the wait.
    """
    goal, V = part.goal, d.valuation
    if V is None:
        yield part.above(d)
        return
    meter = _meter(goal, phi.length)
    last, over = meter.last_until(V.end), meter.over(V.end)
    until = meter.text(over, V.end)
    facts: dict[str, Any] = {"into": phi.body, "wait": node_text(phi), "until": until}
    own: tuple[Failure, ...] = ()
    if not part.context.loose:
        own += goal.leftover(goal.between(V.end, last + 1))
    now = goal.clocks.get(axis_name(phi.length))
    if now is not None and now <= over:
        own += (part.fails(fail.WAITS, V.end, now=meter.text(now, V.end), **facts),)
    waited = part.above(d, own, Valuation(V.start, last, V.labels))
    yield replace(waited, until=until)
    if last > V.end and part.may_fail:
        early = part.above(d, (part.fails(fail.GOES_ON, V.end, last, **facts),))
        yield replace(early, until=until)


def _looked_back(part: Part, phi: cel.Lookback, d: CelDerivation) -> Iterator[CelDerivation]:
    """Yield a derivation extended back to the first event of its look-back."""
    goal, V = part.goal, d.valuation
    if V is None:
        yield part.above(d)
        return
    first = _meter(goal, phi.length).first_since(V.start)
    own: tuple[Failure, ...] = ()
    if not part.context.loose:
        own = goal.leftover(goal.between(first - 1, V.start))
    yield part.above(d, own, Valuation(first, V.end, V.labels))


def _looking_back(goal: Goal, d: CelDerivation, W: Valuation) -> str:
    """Return text about where a look-back starts: ``; LOOKBACK 2 MINUTES of 9 begins at ..``."""
    for node in d:
        V = node.children[0].valuation if isinstance(node.part, cel.Lookback) else None
        if isinstance(node.part, cel.Lookback) and V is not None and W.start < V.start:
            meter, p, q = _meter(goal, node.part.length), goal.at[V.start], goal.at[W.start]
            since, then = (
                meter.text(instant, W.start)
                for instant in (meter.since(V.start), meter.instant(W.start))
            )
            return f"; {node_text(node.part)} of {p} begins at {since}, {q} is at {then}"
    return ""


def _waiting_then(goal: Goal, d: CelDerivation, W: Valuation) -> str:
    """Return text about where a wait ends: ``; WAIT 10 MINUTES from 0 waits until 10:10``."""
    for node in d:
        V = node.children[0].valuation if isinstance(node.part, cel.Wait) else None
        if isinstance(node.part, cel.Wait) and V is not None and V.end < W.end:
            meter, p, q = _meter(goal, node.part.length), goal.at[V.end], goal.at[W.end]
            then = meter.text(meter.instant(W.end), W.end)
            return f"; {node_text(node.part)} from {p} waits until {node.until}, {q} is at {then}"
    return ""


# STRICT, NEXT, LAST, MAX


def selection(
    part: Part, phi: cel.Select, V: Valuation | None, meaning: Meaning
) -> Iterator[Failure]:
    """Yield the failure of a valuation that a strategy inside the formula drops."""
    if V is None:
        return
    at, C, without = part.goal.at, complex_event(V), (fail.Relax(part.path, phi.body),)
    if phi.strategy is Strategy.STRICT:
        if pair := hole(C.positions, range(C.end + 1)):
            yield part.fails(fail.STRICT, *pair, more=without)
        return
    answers = ending_at(phi.body, part.goal.events, C.end, meaning, part.goal.axis)
    if (rival := first_preferred(phi.strategy, answers, C.positions)) is not None:
        rival = moved_answer(rival, at)
        yield part.fails(fail.PREFERRED[phi.strategy], rival=rival, more=without)


@dataclass(frozen=True, slots=True)
class Part(deduction.Part[Formula, Valuation | None]):
    """A subformula to derive, with its context."""

    context: Context

    def below(self, n: int = 0) -> Part:
        """Return the n-th subformula as a part."""
        psi, context = children(self.syntax)[n], contexts(self.syntax, self.context)[n]
        return Part(self.goal, psi, (*self.path, n), context)

    def item(self, d: CelDerivation) -> Hashable:
        """Return what outer operators see of a derivation: its interval, and labels that they read.

        Under ALL, the visible labels count too.
        """
        V, context = d.valuation, self.context
        if V is None:
            return None
        read = context.read | context.visible if context.loose else context.read
        return (V.start, V.end, *((X, D) for X, D in V.labels.items() if X in read))

    def surcharge(self, d: CelDerivation) -> int:
        """Return the cost of a wrong start or end, if this part begins or ends the whole match."""
        goal, context, V = self.goal, self.context, d.valuation
        marks = goal.marks or ()
        if V is None or context.loose:
            return 0
        left_out = wrong_ends = 0
        if context.leading:
            left_out += bisect_left(marks, V.start)
            wrong_ends += goal.start is not None and V.start != goal.start
        if context.trailing:
            left_out += len(marks) - bisect_right(marks, V.end)
            wrong_ends += goal.end is not None and V.end != goal.end
        # one repair of the interval corrects both ends
        return HEAVY * (left_out + min(wrong_ends, 1))


def of_atom(part: Part, phi: cel.Atom) -> Iterator[CelDerivation]:
    """Yield derivations of an atom: matching events; as failures also wrong or missing ones."""
    goal, context, path = part.goal, part.context, part.path
    visible = phi.type in context.visible
    for i in _candidates(goal) if visible else range(goal.lo, goal.hi + 1):
        failures, is_marked = _wrong(part, phi, i), goal.is_marked(i)
        if failures and not (part.may_fail and (is_marked or goal.narrow)):
            continue
        if visible and not is_marked:
            failures += (part.fails(fail.UNMARKED, i),)
        if not visible and is_marked and not context.loose:
            failures += (part.fails(fail.HIDDEN, i, type=phi.type),)
        yield Derivation(phi, path, Valuation(i, i, {phi.type: (i,)}), (), failures)
    yield from _no_event(part)


def _candidates(goal: Goal) -> Iterable[int]:
    """Return the positions that an atom with a visible label may match."""
    marks = goal.marks or ()
    if goal.allowance < HEAVY:
        return marks
    if goal.hi - goal.lo < NARROW:
        return range(goal.lo, goal.hi + 1)
    near = {p + d for p in marks for d in range(-NEARBY, NEARBY + 1)}
    return sorted(near & set(range(goal.lo, goal.hi + 1)))


def _wrong(part: Part, phi: cel.Atom, i: int) -> tuple[Failure, ...]:
    """Return the failure of an event whose type or stream the atom does not match."""
    t = part.goal.events[i]
    if t.type != phi.type:
        return (part.fails(fail.TYPE, i, own=t.type, type=phi.type),)
    if phi.stream is not None and t.stream is not None and t.stream != phi.stream:
        return (part.fails(fail.STREAM, i, own=t.stream, stream=phi.stream),)
    return ()


def of_not(part: Part, phi: cel.Not) -> Iterator[CelDerivation]:
    """Yield derivations of NOT: each event that matches; the event gets no label."""
    goal = part.goal
    for i in range(goal.lo, goal.hi + 1):
        failures: tuple[Failure, ...] = ()
        if valuations(phi.body, (goal.events[i],)):
            if not part.may_fail:
                continue
            failures = (part.fails(fail.NOT, i, type=goal.events[i].type),)
        if goal.is_marked(i) and not part.context.loose:
            failures += goal.leftover((i,))
        yield Derivation(phi, part.path, Valuation(i, i, {}), (), failures)
    yield from _no_event(part)


def _no_event(part: Part) -> Iterator[CelDerivation]:
    if part.goal.allowance >= HEAVY:
        yield Derivation(part.syntax, part.path, None, (), (part.missing(),))
