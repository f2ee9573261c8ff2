"""Translation of FlinkCEP's pattern sequences to CEL, where CEL can express them.

``next`` is ``:``, ``followedByAny`` is ``;``, and ``followedBy`` is ``:`` after any events that the
part does not match, each of them ``NOT(R)``, which marks nothing. A loop with combinations is
``+``, a consecutive one ``:+``, and the usual one ``:+`` with such gaps; with bounds they are
counts. A window from the event before a part is a window around these two events; if two
windows share an event, the formula is the AND of one copy with each. The answers are the
matches: their events by part, from the first event to the one where they are found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce

from cerlab.errors import Unsupported
from cerlab.flinkcep.pattern import (
    AnyPart,
    Contiguity,
    EventTest,
    FlinkPattern,
    NotPart,
    Part,
    SkipTo,
    Within,
)
from cerlab.flinkcep.semantics import check_ending
from cerlab.logic.cel import syntax as cel
from cerlab.logic.ceql.syntax import CeqlQuery
from cerlab.model.clauses import AttributeWindow
from cerlab.predicates import syntax as pred
from cerlab.predicates.condition import Correlation, On, alternatives, atomics

MAX_NODES = 2_000
"""Most nodes of a formula, which each optional part doubles."""


@dataclass(frozen=True, slots=True)
class _Taken:
    """A part that takes events, the events forbidden in its gaps, and the prefix before it."""

    part: Part
    inner: tuple[EventTest, ...]
    after: _Prefix


@dataclass(frozen=True, slots=True)
class _Prefix:
    """The parts of a prefix, up to one that took an event.

    The next events pass none of the tests `away`, and the very next one none of `at_once`. `greedy`
    is the previous part, if it is greedy: it withholds the events that it could take.
    """

    taken: tuple[_Taken, ...] = ()
    away: tuple[EventTest, ...] = ()
    at_once: tuple[EventTest, ...] = ()
    greedy: Part | None = None
    nots: bool = False
    """True if ``notFollowedBy`` contributed to the forbidden events `away`."""


def flink_query(pattern: FlinkPattern, key_by: tuple[str, ...] = ()) -> CeqlQuery:
    """Return the query whose answers are the matches; raise `Unsupported` without such a query.

    Times are whole numbers: FlinkCEP's window is exclusive, so the width of CEL's window is one
    less.
    """
    check_ending(pattern)
    if pattern.skip.to is not SkipTo.NO_SKIP:
        raise _no_cel(f"{pattern.skip.to.value} drops matches because of others, CEL returns all")
    _check_labels(pattern)
    _check_gaps(pattern)
    _check_comparisons(pattern)
    partition = (key_by,) if key_by else ()
    last = pattern.parts[-1]
    if isinstance(last, NotPart) and last.anywhere:
        return CeqlQuery(_without_event(pattern, last), partition=partition)
    prefixes = [_Prefix()]
    for k, part in enumerate(pattern.parts):
        if isinstance(part, NotPart):
            prefixes = [_forbid(pattern, k, part, prefix) for prefix in prefixes]
        else:
            without_part = prefixes if part.optional else []
            after = [_take(pattern, k, part, prefix) for prefix in prefixes]
            prefixes = [_withhold(pattern, k, part, prefix) for prefix in (*without_part, *after)]
    matches = [formula for prefix in prefixes for formula in _matches_of(prefix)]
    formula = reduce(cel.Or, matches)
    for part in pattern.parts:
        if part.test.compared is not None:
            formula = cel.Filter(formula, part.test.compared)
    if cel.size(formula) > MAX_NODES:
        raise _no_cel("the formula is too long; use smaller bounds")
    window = pattern.window
    if window is None:
        return CeqlQuery(formula, partition=partition)
    return CeqlQuery(formula, partition=partition, window=_inclusive(window))


def _without_event(pattern: FlinkPattern, absent: NotPart) -> cel.Formula:
    """Return a formula for an event and the absence of another in the window after it."""
    first, *others = pattern.parts
    if len(others) > 1 or not isinstance(first, Part) or pattern.window is None:
        raise _no_cel(
            "a final notFollowedBy waits from the first event, but WAIT from the last one"
        )
    once = _once(first)
    waiting = cel.Wait(once, _inclusive(pattern.window))
    rival = _filter(cel.Atom(absent.test.type), absent.test.type, absent.test)
    if absent.test.type == first.test.type:
        # the first event has the forbidden type too, but only a later event is forbidden
        rival = cel.Seq(once, rival)
    return cel.Unless(waiting, rival)


def _check_comparisons(pattern: FlinkPattern) -> None:
    """Raise `Unsupported` for an iterative condition that a gap would test, or on its own part.

    FILTER tests the events that were taken; events left out are NOT(..), which reads one event.
    """
    for part in pattern.parts:
        if part.test.compared is None:
            continue
        if isinstance(part, NotPart):
            raise _no_cel("a negative part with a condition on earlier events")
        if part.contiguity is Contiguity.RELAXED:
            raise _no_cel("followedBy skips by a condition on earlier events; write followedByAny")
        if part.greedy or (part.quantified and part.inner is Contiguity.RELAXED and part.hi != 1):
            words = "a loop skips by a condition on earlier events; write allowCombinations"
            raise _no_cel(words)
        if part.quantified and part.hi != 1 and len(alternatives(part.test.compared)) > 1:
            # FILTER decides an OR for all events of a label together, FlinkCEP for each event
            raise _no_cel("an OR of conditions on earlier events in a loop")
        for each in atomics(part.test.compared):
            groups = each.operands if isinstance(each, Correlation) else ()
            if any(isinstance(x, pred.OfGroup) and x.label == part.name for x in groups):
                raise _no_cel(f"a group of the events of {part.name} up to each of them")


def _inclusive(window: Within) -> AttributeWindow:
    if window.width < 1:
        raise _no_cel("a window of 0 has no effect in FlinkCEP")
    return AttributeWindow(window.width - 1, window.attribute)


def _check_gaps(pattern: FlinkPattern) -> None:
    """Raise `Unsupported` for a window from the previous event that FlinkCEP applies only partly.

    It belongs to the state of a part without a quantifier, which must be entered when the previous
    event is taken.
    """
    before: AnyPart | None = None
    for part in pattern.parts:
        if part.gap is not None:
            if isinstance(part, NotPart):
                raise _no_cel("a window at a negative part")
            if before is None:
                raise _no_cel("a window from the event before the first has no effect in FlinkCEP")
            if part.quantified:
                raise _no_cel("such a window at a quantifier has no effect in FlinkCEP")
            is_loop = isinstance(before, Part) and (before.optional or before.lo != before.hi)
            if part.optional or is_loop or isinstance(before, NotPart):
                raise _no_cel("a window beside optional events, which FlinkCEP forgets in part")
        if isinstance(part, Part) or not part.anywhere:
            before = part


def _no_cel(why: str) -> Unsupported:
    return Unsupported("CER0455", f"CEL cannot express this pattern of FlinkCEP: {why}", hint=_HINT)


_HINT = "cerlab.flink.matches returns the matches, cerlab.flink.difference a shortest stream"


def _check_labels(pattern: FlinkPattern) -> None:
    """Raise `Unsupported` for a part whose name is the type of another part."""
    for part in pattern.parts:
        others = {each.test.type for each in pattern.parts} - {part.test.type}
        if part.name in others or (
            any(each.test.type == part.name and each is not part for each in pattern.parts)
        ):
            raise _no_cel(f"the name '{part.name}' is the type of another part")


def _forbid(pattern: FlinkPattern, k: int, part: NotPart, prefix: _Prefix) -> _Prefix:
    """Return a translated prefix with a negative part added.

    ``notFollowedBy`` applies to all events up to the next one taken, ``notNext`` to one.
    """
    following = pattern.parts[k + 1] if k + 1 < len(pattern.parts) else None
    for each in pattern.parts[k + 1 :]:
        if isinstance(each, Part):
            _disjoint(part, each)
            if not each.optional:
                break
    if isinstance(following, Part) and following.optional and not part.anywhere:
        raise _no_cel("notNext before an optional part reads the event before it")
    if prefix.greedy is not None and not part.anywhere:
        raise _no_cel("notNext after a greedy part")
    if part.anywhere:
        before = pattern.parts[k - 1]
        if isinstance(following, NotPart) and not following.anywhere:
            raise _no_cel("notFollowedBy right before notNext has no effect in FlinkCEP")
        if isinstance(before, NotPart) and isinstance(pattern.parts[k - 2], Part):
            _refuse_loop(pattern.parts[k - 2], "several negative parts after a loop")
        if isinstance(before, Part) and before.quantified:
            _disjoint(part, before)
        return replace(prefix, away=(*prefix.away, part.test), nots=True)
    before = next(each for each in reversed(pattern.parts[:k]) if isinstance(each, Part))
    if before.lo != before.hi:
        if before.inner is not Contiguity.STRICT:
            raise _no_cel("notNext after a loop, which it ends where the loop could go on")
        _disjoint(part, before)
    return replace(prefix, at_once=(*prefix.at_once, part.test))


def _refuse_loop(part: object, words: str) -> None:
    if isinstance(part, Part) and part.quantified:
        raise _no_cel(words)


def _disjoint(one: AnyPart, other: AnyPart) -> None:
    if one.test.type == other.test.type:
        raise _no_cel(f"an event may be both {one.name} and {other.name}")


def _take(pattern: FlinkPattern, k: int, part: Part, prefix: _Prefix) -> _Prefix:
    """Return a translated prefix extended by part k, which matches events."""
    following = pattern.parts[k + 1] if k + 1 < len(pattern.parts) else None
    inner: tuple[EventTest, ...] = ()
    if isinstance(following, NotPart) and following.anywhere:
        inner = (following.test,)
    is_bounded = part.quantified and part.hi != part.lo and part.hi is not None
    if is_bounded and (inner or prefix.nots):
        raise _no_cel("notFollowedBy beside times(n, m), where FlinkCEP forgets it in part")
    if prefix.greedy is not None:
        if part.optional:
            raise _no_cel("an optional part after a greedy one")
        _disjoint(prefix.greedy, part)
    return _Prefix((*prefix.taken, _Taken(part, inner, prefix)))


def _withhold(pattern: FlinkPattern, k: int, part: Part, prefix: _Prefix) -> _Prefix:
    """Return a prefix in which a greedy part withholds events that it could take."""
    if not part.greedy or part.lo == part.hi or k + 1 == len(pattern.parts):
        return prefix
    if part.until is not None or (part.optional and prefix.nots):
        raise _no_cel("a greedy part with an until, or an optional one after notFollowedBy")
    return replace(prefix, away=(*prefix.away, part.test), greedy=part)


def _formula(taken: Sequence[_Taken]) -> cel.Formula:
    """Return the formula of all parts, in their windows.

    A window covers two neighbours. The first copy has every window that does not overlap an earlier
    one, the second copy the others: of consecutive windows, each has every second one.
    """
    first, second = set[int](), set[int]()
    for i, each in enumerate(taken):
        if each.part.gap is not None:
            (second if i - 1 in first else first).add(i)
    copies = [_with_windows(taken, of_copy) for of_copy in (first, second) if of_copy]
    return reduce(cel.And, copies) if copies else _with_windows(taken, set())


def _with_windows(taken: Sequence[_Taken], windowed: set[int]) -> cel.Formula:
    """Return the formula of the parts, some in a window with the previous part."""
    formula: cel.Formula | None = None
    for i, each in enumerate(taken):
        if i in windowed:
            continue  # the window of the previous part already contains this part
        part, following = each.part, taken[i + 1] if i + 1 in windowed else None
        if following is None:
            body = _body(part, part.lo, part.hi, each.inner)
        else:
            body = _ending(each, partial(_in_window, following))
        formula = body if formula is None else _then(formula, each, body)
    assert formula is not None
    return formula


def _in_window(following: _Taken, once: cel.Formula) -> cel.Formula:
    """Return the formula of an event and the next one, within the window of the next part."""
    assert following.part.gap is not None
    both = _then(once, following, _body(following.part, 1, 1, following.inner))
    return cel.Within(both, _inclusive(following.part.gap))


def _ending(taken: _Taken, with_next: Callable[[cel.Formula], cel.Formula]) -> cel.Formula:
    """Return the formula of a part of fixed length, followed by the next part."""
    part = taken.part
    once, last = _once(part), with_next(_once(part))
    if part.lo == 1:
        return last
    tests = _away_inside(part, taken.inner)
    if part.inner is Contiguity.ANY and not tests:
        return cel.Seq(cel.times(once, part.lo - 1, part.lo - 1), last)
    if part.inner is Contiguity.STRICT:
        return cel.Concat(cel.times(once, part.lo - 1, part.lo - 1, gaps=False), last)
    before = _body(part, part.lo - 1, part.lo - 1, taken.inner)
    return cel.Concat(before, cel.Or(last, cel.Concat(cel.ConcatPlus(_none_of(tests)), last)))


def _then(left: cel.Formula, taken: _Taken, body: cel.Formula) -> cel.Formula:
    """Return the formula of a part, after its left side and the events allowed between."""
    part, prefix = taken.part, taken.after
    match part.contiguity:
        case Contiguity.STRICT:
            return cel.Concat(left, body)
        case Contiguity.RELAXED:
            return _with_gap(left, (part.test, *prefix.away), prefix.at_once, body)
        case Contiguity.ANY:
            return _with_gap(left, prefix.away, prefix.at_once, body)


def _with_gap(
    left: cel.Formula, away: Sequence[EventTest], at_once: Sequence[EventTest], right: cel.Formula
) -> cel.Formula:
    """Return `left`, then `right`; events between fail `away`, the first one also `at_once`."""
    if not away:
        later = cel.Seq(_none_of(at_once), right) if at_once else None
        return cel.Concat(left, cel.Or(right, later)) if later else cel.Seq(left, right)
    gap = cel.ConcatPlus(_none_of(away))
    after = cel.Or(right, cel.Concat(gap, right))
    if at_once:
        after = cel.Or(right, cel.Concat(_none_of((*away, *at_once)), after))
    return cel.Concat(left, after)


def _none_of(tests: Sequence[EventTest]) -> cel.Formula:
    """Return a formula for an unmarked event that passes none of the tests."""
    each: list[cel.Formula] = [
        cel.Not(_filter(cel.Atom(test.type), test.type, test)) for test in dict.fromkeys(tests)
    ]
    return reduce(cel.And, each)


def _filter(phi: cel.Formula, label: str, test: EventTest) -> cel.Formula:
    return phi if test.predicate is None else cel.Filter(phi, On(label, test.predicate))


def _body(part: Part, lo: int, hi: int | None, away: tuple[EventTest, ...]) -> cel.Formula:
    """Return the formula of the events of a part, from first to last."""
    once = step = _once(part)
    tests = _away_inside(part, away)
    anything = part.inner is Contiguity.ANY and not tests
    if part.inner is not Contiguity.STRICT and not anything:
        step = cel.Or(once, cel.Concat(cel.ConcatPlus(_none_of(tests)), once))
    if step is once:
        return cel.times(once, lo, hi, gaps=anything)
    if hi == 1:
        return once
    more = None if hi is None else hi - 1
    longer = cel.Concat(once, cel.times(step, max(lo - 1, 1), more, gaps=False))
    return cel.Or(once, longer) if lo == 1 else longer


def _away_inside(part: Part, away: tuple[EventTest, ...]) -> tuple[EventTest, ...]:
    """Return the tests that no event between two events of the part may pass."""
    own_test = (part.test,) if part.inner is Contiguity.RELAXED else ()
    return (*own_test, *(() if part.until is None else (part.until,)), *away)


def _once(part: Part) -> cel.Formula:
    """Return the formula of one event of a part; its ``until`` becomes a condition if possible."""
    test = part.test
    if part.until is not None and part.until.type == test.type:
        if part.until.predicate is None:
            raise _no_cel("an until that every event of the part satisfies")
        stop = pred.Not(part.until.predicate)
        test = EventTest(
            test.type, stop if test.predicate is None else pred.And(test.predicate, stop)
        )
    atom: cel.Formula = cel.Atom(test.type)
    variable = atom if part.name == test.type else cel.As(atom, part.name)
    return _filter(variable, part.name, test)


def _matches_of(prefix: _Prefix) -> list[cel.Formula]:
    """Return the formulas of a possibly complete prefix; an empty list if it took no event."""
    if not prefix.taken:
        return []
    formula = _formula(prefix.taken)
    return [cel.Concat(formula, _none_of(prefix.at_once)) if prefix.at_once else formula]
