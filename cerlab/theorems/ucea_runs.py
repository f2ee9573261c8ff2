"""What UCEA answer, by all their runs, under both semantics (SOCEL Sec. 5.1; SOCEL Sec. 5.2).

Exponential, and hard to get wrong: a run in progress is a state and the labels so far.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from cerlab.automata.automaton import Ucea
from cerlab.engine.reference.runs import MAX_RUNS
from cerlab.errors import ResourceLimit
from cerlab.model.answer import Labels
from cerlab.model.event import Event
from cerlab.predicates.truth import satisfies

_Run: TypeAlias = tuple[int, frozenset[tuple[str, int]]]
"""The state that a run is in, and which label it gave to which position."""


def labelled_answers(A: Ucea, S: Sequence[Event]) -> tuple[frozenset[Labels], ...]:
    """``[[A]]_n(S)`` for each position n: runs read all events 0..n (SOCEL Sec. 5.1).

    Raises `ResourceLimit` above `MAX_RUNS` runs.

    >>> from cerlab.automata.automaton import LabelTransition
    >>> from cerlab.predicates.syntax import EVERYTHING
    >>> step = LabelTransition(0, EVERYTHING, frozenset({"x"}), 0)
    >>> labelled_answers(Ucea(1, (step,), frozenset({0}), frozenset({0})), [Event("A")] * 2)
    (frozenset({{'x': (0,)}}), frozenset({{'x': (0, 1)}}))
    """
    runs: set[_Run] = {(q, frozenset()) for q in A.I}
    answers = []
    for n, event in enumerate(S):
        runs = _extend(A, runs, event, n)
        answers.append(_accepting_labels(A, runs))
    return tuple(answers)


def star_answers(A: Ucea, S: Sequence[Event]) -> tuple[frozenset[Labels], ...]:
    """The same under the *-semantics: runs read some events, the last one n (SOCEL Sec. 5.2).

    Every event that a run reads gets a label; the others are not looked at.
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
    """Each run with each transition that it can take at position n."""
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
            f"more than {MAX_RUNS:,} runs are in progress at once",
            hint="use a shorter stream",
        )
    return longer_runs


def _accepting_labels(A: Ucea, runs: Iterable[_Run]) -> frozenset[Labels]:
    return frozenset(_labels(pairs) for state, pairs in runs if state in A.F)


def _labels(pairs: frozenset[tuple[str, int]]) -> Labels:
    return Labels({X: tuple(n for Y, n in pairs if X == Y) for X, _ in pairs})
