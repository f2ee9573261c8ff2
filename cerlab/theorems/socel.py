"""SO-CEL: its semantics from position i to j, the *-property, and its UCEA (SOCEL Table 1, Thm. 5).

In SO-CEL, a complex event has no interval; it is a set of (label, position) pairs, found when the
evaluation starts at i and ends at j. The gap before an atom is skipped on its left. The result
between i and j consists of the valuations with intervals (CORE Table 2) that end at j and start at
i or later: this is a theorem, not the definition, so both are implemented. They differ for AND
under projection, since AND requires equal starts of both sides. Runs under the *-semantics may
always skip events, so every transition of the UCEA of a formula has labels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NoReturn, TypeAlias

from cerlab.automata.automaton import START, LabelTransition, Ucea, outgoing
from cerlab.automata.compose import ends_in, pairs, relabel, sequence, union
from cerlab.automata.explore import distinct, explore
from cerlab.compile.cel_to_vcea import apply_filter, demand_of_label
from cerlab.engine.reference.runs import MAX_RUNS
from cerlab.errors import ResourceLimit, Unsupported
from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.semantics import MAX_EVENTS, holds, valuations
from cerlab.logic.cel.syntax import Formula
from cerlab.logic.cel.text import node_text
from cerlab.model.answer import Labels, Valuation
from cerlab.model.clauses import EventWindow, Window
from cerlab.model.event import Event
from cerlab.model.stream import clock_for, only_timestamp
from cerlab.predicates.condition import Atomic, On
from cerlab.predicates.syntax import EVERYTHING, Predicate, StreamIs, TypeIs, conjunction
from cerlab.predicates.truth import satisfies

LabelledPositions: TypeAlias = frozenset[tuple[str, int]]
"""A complex event of SO-CEL: a set of pairs of labels and positions."""


def between(phi: cel.Formula, S: Sequence[Event], i: int, j: int) -> frozenset[LabelledPositions]:
    """Return ``[[phi]](S, i, j)`` (SOCEL Table 1; AND, ALL and UNLESS as in SOCEL Sec. 5.2).

    Raises `Unsupported` for operators outside SO-CEL, `ResourceLimit` for long streams.

    >>> from cerlab.logic.ceql.parser import parse_cel
    >>> S = [Event("A"), Event("A"), Event("B")]
    >>> sorted(map(sorted, between(parse_cel("A ; B")[0], S, 0, 2)))
    [[('A', 0), ('B', 2)], [('A', 1), ('B', 2)]]
    """
    if len(S) > MAX_EVENTS:
        raise ResourceLimit(
            "CER0603",
            f"the reference supports streams of up to {MAX_EVENTS} events, not {len(S)}",
            hint='use evaluator="tecs"',
        )
    match phi:
        case cel.Atom(R, stream):
            t = S[j] if i <= j else None
            is_atom = (
                t is not None and t.type == R and (stream is None or t.stream in (None, stream))
            )
            return frozenset({frozenset({(R, j)})}) if is_atom else frozenset()
        case cel.As(psi, X):
            return _each(between(psi, S, i, j), lambda C: _without(C, X) | _all_at(X, C))
        case cel.Rename(A, B, psi):
            return _each(
                between(psi, S, i, j),
                lambda C: _without(C, A) | {(B, k) for label, k in C if label == A},
            )
        case cel.Project(L, psi, of_streams) if not of_streams:
            return _each(between(psi, S, i, j), lambda C: frozenset(p for p in C if p[0] in L))
        case cel.Filter(psi, condition):
            return frozenset(
                C for C in between(psi, S, i, j) if holds(condition, _as_valuation(C, i, j), S)
            )
        case cel.Or(left, right):
            return between(left, S, i, j) | between(right, S, i, j)
        case cel.Seq(left, right):
            return frozenset(
                C1 | C2
                for k in range(i, j)
                for C1 in between(left, S, i, k)
                for C2 in between(right, S, k + 1, j)
            )
        case cel.Plus(psi):
            return between(psi, S, i, j) | between(cel.Seq(psi, phi), S, i, j)
        case cel.Count(psi, least, most, gaps=True):
            later = cel.Count(psi, max(least - 1, 1), None if most is None else most - 1)
            once = between(psi, S, i, j) if least == 1 else frozenset[LabelledPositions]()
            return once if most == 1 else once | between(cel.Seq(psi, later), S, i, j)
        case cel.And(left, right):
            return between(left, S, i, j) & between(right, S, i, j)
        case cel.All(left, right):
            return _both(left, right, S, i, j) | _both(right, left, S, i, j)
        case cel.Unless(left, right):
            return frozenset(
                C
                for start in range(i, j + 1)
                if not any(
                    between(right, S, k, l) for k in range(start, j + 1) for l in range(k, j + 1)
                )
                for C in between(left, S, start, j) - between(left, S, start + 1, j)
            )
        case cel.Within(psi, window):
            # an answer's interval may be extended to the left: this is the longest one that fits
            if i > j:
                return frozenset()
            return between(psi, S, max(i, _first_in(window, S, j)), j)
        case _:
            raise Unsupported(
                "CER0409",
                f"SO-CEL has no {node_text(phi)}",
                hint="remove the operator, or use cerlab.logic.cel",
            )


def _first_in(window: Window, S: Sequence[Event], j: int) -> int:
    """Return the first position from which a window reaches j."""
    if isinstance(window, EventWindow):
        return j - window.width
    clock = clock_for(window, only_timestamp(S))
    return next(k for k in range(j + 1) if clock(S[j], j) - clock(S[k], k) <= window.width)


def _both(
    ends: cel.Formula, other: cel.Formula, S: Sequence[Event], i: int, j: int
) -> frozenset[LabelledPositions]:
    """Return unions of an answer of `ends` at j with an answer of `other` at or before j."""
    return frozenset(
        C1 | C2
        for C1 in between(ends, S, i, j)
        for k in range(i, j + 1)
        for C2 in between(other, S, i, k)
    )


def _each(
    answers: frozenset[LabelledPositions], change: Callable[[LabelledPositions], LabelledPositions]
) -> frozenset[LabelledPositions]:
    return frozenset(frozenset(change(C)) for C in answers)


def _without(C: LabelledPositions, X: str) -> LabelledPositions:
    return frozenset(pair for pair in C if pair[0] != X)


def _all_at(X: str, C: LabelledPositions) -> LabelledPositions:
    return frozenset((X, k) for _, k in C)


def _as_valuation(C: LabelledPositions, i: int, j: int) -> Valuation:
    labels: dict[str, tuple[int, ...]] = {}
    for X, k in sorted(C):
        labels[X] = (*labels.get(X, ()), k)
    return Valuation(i, j, labels)


Stream: TypeAlias = Sequence[Event]

Function: TypeAlias = Callable[[Stream], frozenset[Labels]]
"""A function from streams to their labelled complex events at any position, ``f`` in the paper."""


@dataclass(frozen=True, slots=True)
class Edit:
    """An edit at a position: insertion (0 deletions), replacement, or deletion (1 deletion)."""

    position: int
    deletions: int
    event: Event | None

    def stream(self, S: Stream) -> tuple[Event, ...]:
        """Return the stream after the edit."""
        new = () if self.event is None else (self.event,)
        return (*S[: self.position], *new, *S[self.position + self.deletions :])

    def position_after(self, position: int) -> int:
        """Return the new position of an event that the edit leaves unchanged."""
        shift = (self.event is not None) - self.deletions
        return position + shift if position >= self.position + self.deletions else position

    def touches(self, C: Labels) -> bool:
        """Return whether the edit removes or replaces an event of the complex event."""
        return bool(self.deletions) and any(self.position in D for D in C.values())


@dataclass(frozen=True, slots=True)
class Violation:
    """A complex event of the first stream whose expected image is missing in the second."""

    before: Labels
    expected: Labels
    stream: tuple[Event, ...]


def labelled_answers(phi: Formula) -> Function:
    """Return the processing function of a formula: the labels of its valuations."""
    return lambda S: frozenset(Labels(V.labels) for V in valuations(phi, S))


def star_violation(f: Function, S: Stream, edit: Edit) -> Violation | None:
    """Return a complex event that an edit loses without touching its events (SOCEL Sec. 5.2).

    None means that this edit of this stream does not refute the *-property.

    >>> from cerlab.logic.ceql.parser import parse_cel
    >>> S = [Event("A"), Event("A")]
    >>> break_in = Edit(1, 0, Event("B"))
    >>> star_violation(labelled_answers(parse_cel("A ; A")[0]), S, break_in) is None
    True
    >>> contiguous = labelled_answers(parse_cel("A : A")[0])
    >>> star_violation(contiguous, S, break_in).expected
    {'A': (0, 2)}
    """
    new_stream = edit.stream(S)
    after = f(new_stream)
    for C in sorted(f(S), key=repr):
        if edit.touches(C):
            continue
        image = Labels({X: tuple(map(edit.position_after, D)) for X, D in C.items()})
        if image not in after:
            return Violation(C, image, new_stream)
    return None


_Run: TypeAlias = tuple[int, frozenset[tuple[str, int]]]
"""State of a run, and the pairs of labels and positions that it assigned."""


def ucea_labelled_answers(A: Ucea, S: Sequence[Event]) -> tuple[frozenset[Labels], ...]:
    """Return ``[[A]]_n(S)`` for each position n: runs read all events 0..n (SOCEL Sec. 5.1).

    Raises `ResourceLimit` above `MAX_RUNS` runs.

    >>> from cerlab.automata.automaton import LabelTransition
    >>> from cerlab.predicates.syntax import EVERYTHING
    >>> step = LabelTransition(0, EVERYTHING, frozenset({"x"}), 0)
    >>> ucea_labelled_answers(Ucea(1, (step,), frozenset({0}), frozenset({0})), [Event("A")] * 2)
    (frozenset({{'x': (0,)}}), frozenset({{'x': (0, 1)}}))
    """
    runs: set[_Run] = {(q, frozenset()) for q in A.I}
    answers = []
    for n, event in enumerate(S):
        runs = _extend(A, runs, event, n)
        answers.append(_accepting_labels(A, runs))
    return tuple(answers)


def star_answers(A: Ucea, S: Sequence[Event]) -> tuple[frozenset[Labels], ...]:
    """Return the answers at each position n under the *-semantics (SOCEL Sec. 5.2).

    A run reads some of the events, the last one n; every event that it reads gets a label.
    """
    runs: set[_Run] = {(q, frozenset()) for q in A.I}
    labelling = Ucea(A.states, tuple(t for t in A.Delta if t.labels), A.I, A.F)
    answers = []
    for n, event in enumerate(S):
        ending_here = _extend(labelling, runs, event, n)
        answers.append(_accepting_labels(A, ending_here))
        runs |= ending_here
    return tuple(answers)


def _extend(A: Ucea, runs: Iterable[_Run], event: Event, n: int) -> set[_Run]:
    """Return the runs extended by each transition that is possible at position n."""
    enabled_transitions = [t for t in A.Delta if satisfies(event, t.predicate)]
    longer_runs = {
        (t.target, labels | {(X, n) for X in t.labels})
        for state, labels in runs
        for t in enabled_transitions
        if t.source == state
    }
    if len(longer_runs) > MAX_RUNS:
        raise ResourceLimit(
            "CER0607",
            f"more than {MAX_RUNS:,} simultaneous runs",
            hint="use a shorter stream",
        )
    return longer_runs


def _accepting_labels(A: Ucea, runs: Iterable[_Run]) -> frozenset[Labels]:
    return frozenset(_labels(pairs) for state, pairs in runs if state in A.F)


def _labels(pairs: frozenset[tuple[str, int]]) -> Labels:
    return Labels({X: tuple(n for Y, n in pairs if X == Y) for X, _ in pairs})


NO_LABELS: frozenset[str] = frozenset()


def socel_to_ucea(phi: cel.Formula) -> Ucea:
    """Return a UCEA with the formula's complex events under the *-semantics (SOCEL Thm. 5).

    Supported are R, AS, unary FILTER, OR, ``;``, ``+``, RENAME, and AND and ALL, which are products
    (SOCEL Sec. 5.2). Raises `Unsupported` for other operators (the *-semantics cannot express
    projection), and for filters that compare labels or apply predicates from Python.

    >>> from cerlab.logic.ceql.parser import parse_cel
    >>> A = socel_to_ucea(parse_cel("(A ; B)+")[0])
    >>> [(t.source, "".join(t.labels), t.target) for t in A.Delta]
    [(0, 'A', 1), (2, 'B', 3), (0, 'A', 2), (2, 'B', 0)]
    """
    match phi:
        case cel.Atom(R, stream):
            is_atom = TypeIs(R) if stream is None else conjunction(StreamIs(stream), TypeIs(R))
            step = LabelTransition(0, is_atom, frozenset({R}), 1)
            return Ucea(2, (step,), frozenset({0}), frozenset({1}))
        case cel.As(body, X):
            return relabel(socel_to_ucea(body), lambda L: L | {X})
        case cel.Rename(old, new, body):
            return relabel(socel_to_ucea(body), lambda L: L - {old} | {new} if old in L else L)
        case cel.Filter(body, condition):
            return apply_filter(socel_to_ucea(body), condition, _demand)
        case cel.Or(left, right):
            return union(socel_to_ucea(left), socel_to_ucea(right))
        case cel.Seq(left, right):
            return _sequence(socel_to_ucea(left), socel_to_ucea(right))
        case cel.Plus(body):
            return _iteration(socel_to_ucea(body))
        case cel.And(left, right):
            return and_product(socel_to_ucea(left), socel_to_ucea(right))
        case cel.All(left, right):
            return all_product(socel_to_ucea(left), socel_to_ucea(right))
        case _:
            _refuse(node_text(phi))


def under_star_to_runs(A: Ucea) -> Ucea:
    """Return an automaton whose runs have A's answers under the *-semantics (SOCEL Prop. 2).

    In every state of A, any event may pass without a label. Only the last transition of a run,
    which has labels, enters the fresh final state, and no transition leaves it.
    """
    f = A.states
    steps = [t for t in A.Delta if t.labels]
    wait = [LabelTransition(q, EVERYTHING, NO_LABELS, q) for q in range(A.states)]
    last = [t._replace(target=f) for t in steps if t.target in A.F]
    return Ucea(f + 1, tuple(dict.fromkeys(steps + wait + last)), A.I, frozenset({f}))


def _demand(A: Ucea, condition: Atomic) -> Ucea:
    if not isinstance(condition, On):
        _refuse("filters that are not unary")
    return demand_of_label(A, condition)


def _sequence(A: Ucea, B: Ucea) -> Ucea:
    return sequence(A, B, gaps=False)


def _iteration(A: Ucea) -> Ucea:
    """Return a machine whose runs are sequences of runs of A."""
    return replace(A, Delta=distinct((*A.Delta, *ends_in(A, A.I))))


def _refuse(construct: str) -> NoReturn:
    raise Unsupported(
        "CER0403",
        f"there is no automaton under the *-semantics for {construct}",
        hint="use cel_to_vcea, which has the semantics of CEL",
    )


Pair: TypeAlias = tuple[int, int]
"""States of two machines; `START` before the first move of a machine."""


def and_product(A: Ucea, B: Ucea) -> Ucea:
    """Return the intersection of two machines under the *-semantics (SOCEL Sec. 5.2).

    A state is a state of each, after the same events with the same labels: they move together.
    """

    def joint(s: LabelTransition, t: LabelTransition) -> _Test | None:
        return _together(s, t) if s.labels and s.labels == t.labels else None

    return pairs(A, B, joint, Ucea)


def all_product(A: Ucea, B: Ucea) -> Ucea:
    """Return the unions of complex events of two machines under the *-semantics (SOCEL Sec. 5.2).

    A state is a state of each machine, or `START` for one that has not moved. At a labelled event,
    A moves, or B moves, or both do and their labels are united.

    >>> from cerlab.predicates.syntax import TypeIs
    >>> a, b = (
    ...     Ucea(2, (LabelTransition(0, TypeIs(R), frozenset(R), 1),), frozenset({0}),
    ...          frozenset({1})) for R in "AB"
    ... )
    >>> [(t.source, "".join(sorted(t.labels)), t.target) for t in all_product(a, b).Delta]
    [(0, 'A', 1), (0, 'B', 2), (0, 'AB', 3), (1, 'B', 3), (2, 'A', 3)]
    """
    left, right = outgoing(A), outgoing(B)

    def follow(state: Pair) -> Iterator[tuple[_Test, Pair]]:
        p, q = state
        for s in _with_labels(left[p]):
            yield (s.predicate, s.labels), (s.target, q)
        for t in _with_labels(right[q]):
            yield (t.predicate, t.labels), (p, t.target)
        for s in _with_labels(left[p]):
            for t in _with_labels(right[q]):
                yield _together(s, t), (s.target, t.target)

    def final(state: Pair) -> bool:
        return state[0] in A.F and state[1] in B.F

    return explore((START, START), follow, final, Ucea)


_Test: TypeAlias = tuple[Predicate, frozenset[str]]


def _with_labels(transitions: list[LabelTransition]) -> list[LabelTransition]:
    return [t for t in transitions if t.labels]


def _together(s: LabelTransition, t: LabelTransition) -> _Test:
    """Return the joint test and the united labels of two transitions at the same event."""
    return conjunction(s.predicate, t.predicate), s.labels | t.labels
