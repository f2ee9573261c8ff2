"""Explicit runs of automata: the definition of their answers (CORE Sec. 3; CORE App. A.1).

Exponential, and simple enough to be evidence: a run in progress is a state, a start and the output
so far; each event extends each run by each usable transition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeVar, assert_never

from cerlab.automata.automaton import IntervalCea, Mark, Vcea, outgoing
from cerlab.budget import ANSWER, COMPARISONS, spend_over, step_budget
from cerlab.errors import ResourceLimit
from cerlab.model.answer import (
    ComplexEvent,
    Positions,
    Valuation,
    complex_event,
    latest_first,
    valuation_latest_first,
)
from cerlab.model.clauses import Strategy
from cerlab.model.event import Event
from cerlab.predicates.truth import satisfies

MAX_RUNS = 500_000
"""The maximum number of runs in progress."""


class CeaRun(NamedTuple):
    """A run of a CEA in progress: its state, its start, its positions."""

    state: int
    start: int
    positions: Positions


class CeaRuns:
    """The runs of a CEA, merged if they have equal states, starts and positions.

    A strategy selects among all answers of an end, so it forgets no run.
    """

    def __init__(self, cea: IntervalCea, strategy: Strategy | None = None) -> None:
        self._cea = cea
        self._strategy = strategy
        self._places: dict[int, int] = {}
        self._runs: frozenset[CeaRun] = frozenset()
        self._position = -1

    def advance(self, event: Event, position: int) -> None:
        """Extend every run, and the run that starts here."""
        self._places[position] = len(self._places)
        current = self._runs | {CeaRun(self._cea.q0, position, ())}
        moves = [t for t in self._cea.Delta if satisfies(event, t.predicate)]
        self._runs = _affordable(
            frozenset(
                CeaRun(
                    t.target,
                    run.start,
                    (*run.positions, position) if t.mark is Mark.TAKE else run.positions,
                )
                for run in spend_over(current, len(moves))
                for t in moves
                if t.source == run.state
            )
        )
        self._position = position

    def answers(self, lowest_start: int) -> Iterator[ComplexEvent]:
        """Yield the answers of the accepting runs, each once."""
        candidates = {
            ComplexEvent(run.start, self._position, run.positions)
            for run in self._runs
            if run.state in self._cea.F
        }
        selection = select_answers(
            self._strategy, candidates, lambda m: _local(m.positions, self._places)
        )
        inside = (answer for answer in selection if answer.start >= lowest_start)
        return iter(sorted(inside, key=latest_first))

    def forget(self, before: int) -> None:
        """Drop the runs that start before a position, unless a strategy compares their answers."""
        if self._strategy is None:
            self._runs = frozenset(run for run in self._runs if run.start >= before)

    def reset(self) -> None:
        """Drop all runs."""
        self._runs = frozenset()


class RunsOfAnswer:
    """The runs of a CEA that take exactly the positions of one answer, as a set of states.

    They are represented by a set of states, so an event costs the transitions out of these states.
    """

    def __init__(self, cea: IntervalCea, answer: ComplexEvent) -> None:
        self._cea = cea
        self._answer = answer
        self._positions = frozenset(answer.positions)
        self._leaving = outgoing(cea)
        self._states: frozenset[int] = frozenset()
        self._untaken = len(self._positions)
        self._position = -1

    def advance(self, event: Event, position: int) -> None:
        """Compute the states of the runs after an event."""
        if position == self._answer.start:
            self._states = frozenset({self._cea.q0})
        is_taken = position in self._positions
        mark = Mark.TAKE if is_taken else Mark.SKIP
        moves = [t for q in self._states for t in self._leaving[q] if t.mark is mark]
        holding = {P for P in {t.predicate for t in moves} if satisfies(event, P)}
        self._states = frozenset(t.target for t in moves if t.predicate in holding)
        self._untaken -= is_taken
        self._position = position

    def answers(self, lowest_start: int) -> Iterator[ComplexEvent]:
        """Yield the answer if it ends here and a run accepts."""
        answer = self._answer
        # events of other substreams are not read here
        is_here = self._position == answer.end and not self._untaken
        if is_here and answer.start >= lowest_start and self._states & self._cea.F:
            yield answer

    def forget(self, before: int) -> None:
        """Do nothing: `answers` compares the answer's start with the window."""

    def reset(self) -> None:
        """Drop all runs."""
        self._states = frozenset()


class LabelledRun(NamedTuple):
    """A run of a VCEA in progress: its state, its start, the labels of each event."""

    state: int
    start: int
    labels: tuple[tuple[int, frozenset[str]], ...]


class VceaRuns:
    """The runs of a VCEA; their answers are valuations."""

    def __init__(self, vcea: Vcea, strategy: Strategy | None = None) -> None:
        self._vcea = vcea
        self._strategy = strategy
        self._places: dict[int, int] = {}
        self._runs: frozenset[LabelledRun] = frozenset()
        self._position = -1

    def advance(self, event: Event, position: int) -> None:
        """Extend every run, and the runs that start here."""
        self._places[position] = len(self._places)
        fresh = {LabelledRun(q, position, ()) for q in self._vcea.I}
        moves = [t for t in self._vcea.Delta if satisfies(event, t.predicate)]
        self._runs = _affordable(
            frozenset(
                LabelledRun(
                    t.target,
                    run.start,
                    (*run.labels, (position, t.labels)) if t.labels else run.labels,
                )
                for run in spend_over(self._runs | fresh, len(moves))
                for t in moves
                if t.source == run.state
            )
        )
        self._position = position

    def answers(self, lowest_start: int) -> Iterator[Valuation]:
        """Return the valuations of the runs that accept, each once."""
        candidates = {
            Valuation(run.start, self._position, _by_label(run))
            for run in self._runs
            if run.state in self._vcea.F
        }
        selection = select_answers(
            self._strategy, candidates, lambda V: _local(complex_event(V).positions, self._places)
        )
        inside = (V for V in selection if V.start >= lowest_start)
        return iter(sorted(inside, key=valuation_latest_first))

    def forget(self, before: int) -> None:
        """Drop the runs that start before a position, unless a strategy compares their answers."""
        if self._strategy is None:
            self._runs = frozenset(run for run in self._runs if run.start >= before)

    def reset(self) -> None:
        """Drop all runs."""
        self._runs = frozenset()


def _by_label(run: LabelledRun) -> dict[str, Positions]:
    positions: dict[str, Positions] = {}
    for position, labels in run.labels:
        for label in labels:
            positions[label] = (*positions.get(label, ()), position)
    return positions


def _local(positions: Positions, places: dict[int, int]) -> Positions:
    """Return positions in the stream as indices of the events in the substream."""
    return tuple(places[p] for p in positions)


R = TypeVar("R", CeaRun, LabelledRun)


def _affordable(runs: frozenset[R]) -> frozenset[R]:
    if len(runs) > MAX_RUNS:
        raise ResourceLimit(
            "CER0607",
            f"more than {MAX_RUNS:,} runs are in progress together",
            hint='use evaluator="tecs", which shares common parts',
        )
    return runs


A = TypeVar("A")


@step_budget("the selection of a strategy")
def select_answers(
    strategy: Strategy | None, answers: Iterable[A], positions: Callable[[A], Positions]
) -> set[A]:
    """Return the answers that a strategy selects; all answers without a strategy.

    `answers` are all that end at one event, regardless of a later window; `positions` count the
    events of the substream. Raises `ResourceLimit` if there are too many to list.
    """
    by_positions: dict[Positions, list[A]] = {}
    for answer in spend_over(answers, ANSWER):
        by_positions.setdefault(positions(answer), []).append(answer)
    return {answer for D in _select(strategy, list(by_positions)) for answer in by_positions[D]}


def _select(strategy: Strategy | None, sets: list[Positions]) -> list[Positions]:
    match strategy:
        case None:
            return sets
        case Strategy.STRICT:
            return [D for D in sets if not D or D[-1] - D[0] == len(D) - 1]
        case Strategy.NXT:
            return [max(sets, key=_oldest_first)] if sets else []
        case Strategy.LAST:
            return [max(sets, key=_newest_first)] if sets else []
        case Strategy.MAX:
            each = spend_over(sets, 1 + len(sets) // COMPARISONS)
            return [D for D in each if not any(set(D) < set(other) for other in sets)]
        case _:
            assert_never(strategy)


def _oldest_first(D: Positions) -> list[float]:
    """Return a sort key: a set is greater if it has the first position that only one set has."""
    # end with minus infinity, so that a prefix sorts below longer sets
    return [*(-p for p in D), float("-inf")]


def _newest_first(D: Positions) -> list[int]:
    """Return a sort key: a set is greater if it has the last position that only one set has."""
    return sorted(D, reverse=True)
