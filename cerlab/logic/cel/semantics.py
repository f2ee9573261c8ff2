"""The meaning of CEL: one case per row of the table (CORE Sec. 2.2), and strategies (FOUND Sec. 4).

A strategy compares the position sets of all answers with the same end. The paper states the
comparison for one valuation and in the other direction, which would select no answers or the wrong
ones; the paper's own examples need this reading (errata E1, E2).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from fractions import Fraction
from itertools import pairwise
from types import MappingProxyType
from typing import TypeAlias, assert_never

from cerlab.budget import COMPARISONS, TRANSITION, spend, spend_over, step_budget
from cerlab.errors import ResourceLimit
from cerlab.logic.cel import syntax as cel
from cerlab.model.answer import Positions, Valuation, complex_event
from cerlab.model.clauses import AttributeWindow, EventWindow, Strategy, TimeWindow, Window
from cerlab.model.event import Event, is_of_stream
from cerlab.model.stream import Instant, TimeAxis, clock_for
from cerlab.predicates import syntax as pred
from cerlab.predicates.condition import Application, Condition, Correlation, On, holds_of
from cerlab.predicates.truth import satisfies


def select(strategy: Strategy, answers: Iterable[Valuation]) -> frozenset[Valuation]:
    """Return the valuations that a strategy selects among those with equal ends.

    Valuations with equal position sets but different starts or labels are kept or removed together.
    Raise `ResourceLimit` if too many valuations have the same end.
    """
    by_end: dict[int, list[Valuation]] = {}
    for V in answers:
        by_end.setdefault(V.end, []).append(V)
    with step_budget("a strategy in the reference", "use a window to reduce their number", own=1):
        return frozenset(
            V
            for group in by_end.values()
            for rivals in [list({_support_of(V) for V in group})]
            for V in spend_over(group, 1 + len(rivals) // COMPARISONS)
            if _survives(strategy, _support_of(V), rivals)
        )


def _support_of(V: Valuation) -> Positions:
    return complex_event(V).positions


def _survives(strategy: Strategy, C: Positions, rivals: list[Positions]) -> bool:
    match strategy:
        case Strategy.STRICT:
            return all(later == earlier + 1 for earlier, later in pairwise(C))
        case Strategy.NXT:
            return all(next_at_most(other, C) for other in rivals)
        case Strategy.LAST:
            return all(last_at_most(other, C) for other in rivals)
        case Strategy.MAX:
            return not any(set(C) < set(other) for other in rivals)
        case _:
            assert_never(strategy)


def next_at_most(C1: Iterable[int], C2: Iterable[int]) -> bool:
    """Return whether ``C1 <=next C2``: equal, or C2 has the first difference (FOUND Sec. 4).

    >>> next_at_most({5, 8}, {1, 8}), next_at_most({1, 8}, {5, 8})
    (True, False)
    """
    difference = set(C1) ^ set(C2)
    return not difference or min(difference) in set(C2)


def last_at_most(C1: Iterable[int], C2: Iterable[int]) -> bool:
    """Return whether ``C1 <=last C2``: equal, or C2 has the last difference (FOUND Sec. 4)."""
    difference = set(C1) ^ set(C2)
    return not difference or max(difference) in set(C2)


MAX_EVENTS = 256
"""The length of the longest stream that the reference supports: its sets grow exponentially."""

SHORT_HINT = f'use evaluator="auto", or at most {MAX_EVENTS} events of each key'
"""The hint for a longer stream."""

TECS_HINT = 'use evaluator="tecs", which does not store the answers'

MAX_VALUATIONS = 100_000
"""The limit on the valuations of a subformula in the reference, which take about a second."""

Valuations: TypeAlias = frozenset[Valuation]


Clocks: TypeAlias = Mapping[str, Instant]
"""The current time on each attribute that a WAIT reads; without an entry the stream has ended."""

TIME = ""
"""The key of the time axis in `Clocks`, which is no attribute's name."""

NO_CLOCKS: Clocks = MappingProxyType({})


def axis_name(length: TimeWindow | AttributeWindow) -> str:
    """Return the name of the clock that a wait reads."""
    return length.attribute if isinstance(length, AttributeWindow) else TIME


def valuations(
    phi: cel.Formula,
    S: Sequence[Event],
    axis: TimeAxis | None = None,
    clocks: Clocks = NO_CLOCKS,
) -> Valuations:
    """Return ``[phi](S)``: all valuations of a formula on a finite stream (CORE Table 2).

    `axis` is the time axis of windows and waits in hours, minutes or seconds. Raise `ResourceLimit`
    above `MAX_EVENTS` or `MAX_VALUATIONS`.
    """
    if len(S) > MAX_EVENTS:
        raise ResourceLimit(
            "CER0603",
            f"the reference supports streams of up to {MAX_EVENTS} events, got {len(S)}",
            hint=SHORT_HINT,
        )
    return _affordable(_clause(phi, S, axis, clocks))


def _clause(
    phi: cel.Formula,
    S: Sequence[Event],
    axis: TimeAxis | None = None,
    clocks: Clocks = NO_CLOCKS,
) -> Valuations:
    def of(psi: cel.Formula) -> Valuations:
        return valuations(psi, S, axis, clocks)

    match phi:
        case cel.Atom(R, stream):
            return frozenset(
                Valuation(i, i, {R: (i,)}) for i, t in enumerate(S) if is_atom(t, R, stream)
            )
        case cel.As(psi, X):
            return frozenset(
                Valuation(V.start, V.end, {**V.labels, X: _support(V)}) for V in of(psi)
            )
        case cel.Filter(psi, condition):
            return frozenset(V for V in of(psi) if holds(condition, V, S))
        case cel.Or(left, right):
            return of(left) | of(right)
        case cel.Seq(left, right):
            return _product(of(left), of(right), _before)
        case cel.Plus(psi):
            return _iterate(of(psi), _before)
        case cel.Project(labels, psi, of_streams):
            return frozenset(
                Valuation(V.start, V.end, _project_labels(V, S, labels, of_streams))
                for V in of(psi)
            )
        case cel.Not(body):
            return frozenset(
                Valuation(i, i, {}) for i, t in enumerate(S) if not valuations(body, (t,))
            )
        case cel.Concat(left, right):
            return _product(
                of(left),
                of(right),
                _immediately_before,
            )
        case cel.ConcatPlus(psi):
            return _iterate(of(psi), _immediately_before)
        case cel.Count(psi, least, most, gaps):
            precedes = _before if gaps else _immediately_before
            return _repeat(of(psi), least, most, precedes)
        case cel.And(left, right):
            return of(left) & of(right)
        case cel.All(left, right):
            return _product(of(left), of(right), _in_any_order)
        case cel.Unless(left, right):
            rivals = of(right)
            return frozenset(
                V
                for V in spend_over(of(left), len(rivals))
                if not any(_inside(W, V) for W in rivals)
            )
        case cel.Rename(old, new, psi):
            return frozenset(_rename_label(V, old, new) for V in of(psi))
        case cel.Select(strategy, psi):
            return select(strategy, of(psi))
        case cel.Within(psi, window):
            extent = _extent(window, S, axis)
            return frozenset(V for V in of(psi) if extent(V) <= window.width)
        case cel.Wait(psi, length):
            return _waited(of(psi), length, S, axis, clocks)
        case cel.Lookback(psi, length):
            return _looked_back(of(psi), length, S, axis)
        case _:
            assert_never(phi)


def holds(condition: Condition, V: Valuation, S: Sequence[Event]) -> bool:
    """Return whether a valuation satisfies the condition of a FILTER."""
    match condition:
        case On(X, P):
            return all(satisfies(S[i], P) for i in V.labels.get(X, ()))
        case pred.And(left, right):
            return holds(left, V, S) and holds(right, V, S)
        case pred.Or(left, right):
            return holds(left, V, S) or holds(right, V, S)
        case Correlation():
            return condition.holds(lambda X: [S[i] for i in V.labels.get(X, ())])
        case Application(P, arguments):
            return holds_of(P, arguments, lambda X: [S[i] for i in V.labels.get(X, ())])
        case _:
            assert_never(condition)


def _waited(
    begun: Valuations,
    length: TimeWindow | AttributeWindow,
    S: Sequence[Event],
    axis: TimeAxis | None,
    clocks: Clocks,
) -> Valuations:
    """Extend valuations to the last event inside their wait; omit those still waiting."""
    read = clock_for(length, axis)
    times = [read(t, i) for i, t in enumerate(S)]
    now = clocks.get(axis_name(length))
    width = Fraction(length.width)
    return frozenset(
        Valuation(V.start, max(k for k, t in enumerate(times) if t <= until), V.labels)
        for V in begun
        for until in [times[V.end] + width]
        if now is None or now > until
    )


def _looked_back(
    begun: Valuations,
    length: TimeWindow | AttributeWindow,
    S: Sequence[Event],
    axis: TimeAxis | None,
) -> Valuations:
    """Extend each valuation back to the first event at most `length` before its start."""
    read = clock_for(length, axis)
    times = [read(t, i) for i, t in enumerate(S)]
    width = Fraction(length.width)
    return frozenset(
        Valuation(min(k for k, t in enumerate(times) if t >= since), V.end, V.labels)
        for V in begun
        for since in [times[V.start] - width]
    )


def _extent(
    window: Window, S: Sequence[Event], axis: TimeAxis | None
) -> Callable[[Valuation], Instant]:
    """Return a function that measures a valuation's interval in the unit of a window."""
    if isinstance(window, EventWindow):
        return lambda V: V.end - V.start
    clock = clock_for(window, axis)
    return lambda V: clock(S[V.end], V.end) - clock(S[V.start], V.start)


def is_atom(t: Event, R: str, stream: str | None) -> bool:
    """Return whether an event has the type of an atom and may belong to its stream."""
    return t.type == R and (stream is None or is_of_stream(t, stream))


def _project_labels(
    V: Valuation, S: Sequence[Event], labels: frozenset[str], of_streams: frozenset[tuple[str, str]]
) -> dict[str, Positions]:
    return {
        X: tuple(
            i
            for i in D
            if X in labels or any(X == Y and is_of_stream(S[i], T) for T, Y in of_streams)
        )
        for X, D in V.labels.items()
    }


def _support(V: Valuation) -> Positions:
    return tuple({i for D in V.labels.values() for i in D})


def _in_any_order(V1: Valuation, V2: Valuation) -> bool:
    return True


def _before(V1: Valuation, V2: Valuation) -> bool:
    return V1.end < V2.start


def _immediately_before(V1: Valuation, V2: Valuation) -> bool:
    return V1.end + 1 == V2.start


Precedes: TypeAlias = Callable[[Valuation, Valuation], bool]


def _product(left: Valuations, right: Valuations, precedes: Precedes) -> Valuations:
    """Return the concatenations of valuations in `left` with valuations in `right`."""
    with step_budget("a sequence in the reference", TECS_HINT, own=1):
        return _concatenations(left, right, precedes)


def _concatenations(left: Valuations, right: Valuations, precedes: Precedes) -> Valuations:
    result: set[Valuation] = set()
    for V1 in left:
        after = [V2 for V2 in right if precedes(V1, V2)]
        spend(1 + len(right) // TRANSITION + len(after))
        result.update(_concatenate(V1, V2) for V2 in after)
        _refuse_too_many(result)
    return frozenset(result)


def _concatenate(V1: Valuation, V2: Valuation) -> Valuation:
    """Return the valuation from the first start to the second end, with the labels of both."""
    labels = {X: (*V1.labels.get(X, ()), *V2.labels.get(X, ())) for X in {*V1.labels, *V2.labels}}
    return Valuation(min(V1.start, V2.start), max(V1.end, V2.end), labels)


def _iterate(once: Valuations, precedes: Precedes) -> Valuations:
    """Return the concatenations of one or more valuations: the least M with M = once | once . M.

    Each round extends only the newest valuations.
    """
    M = new = once
    with step_budget("an iteration in the reference", TECS_HINT, own=1):
        while new:
            new = _concatenations(once, new, precedes) - M
            M = _affordable(M | new)
    return M


def _repeat(once: Valuations, least: int, most: int | None, precedes: Precedes) -> Valuations:
    """Return the concatenations of `least` to `most` valuations."""
    result: Valuations = frozenset()
    k, times = 1, once
    with step_budget("a count in the reference", TECS_HINT, own=1):
        # the loop ends, because each repetition uses an event
        while times and (most is None or k <= most):
            if k >= least:
                result = _affordable(result | times)
            k, times = k + 1, _concatenations(times, once, precedes)
    return result


def _affordable(V: Valuations) -> Valuations:
    _refuse_too_many(V)
    return V


def _refuse_too_many(V: AbstractSet[Valuation]) -> None:
    if len(V) > MAX_VALUATIONS:
        raise ResourceLimit(
            "CER0604",
            f"the reference computes sets of up to {MAX_VALUATIONS:,} valuations",
            hint=TECS_HINT,
        )


def _inside(W: Valuation, V: Valuation) -> bool:
    return V.start <= W.start and W.end <= V.end


def _rename_label(V: Valuation, old: str, new: str) -> Valuation:
    D_old = V.labels.get(old, ())
    labels = {X: D for X, D in V.labels.items() if old != X}
    return Valuation(V.start, V.end, {**labels, new: (*labels.get(new, ()), *D_old)})
