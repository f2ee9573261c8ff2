"""Deliberate wrong versions of `why`: each contradicts the reference or blames the wrong place."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from cerlab import CerlabError, ResourceLimit, Valuation
from cerlab.conformance import Case, case_of
from cerlab.conformance.judge import difference
from cerlab.conformance.replies import reply_of
from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.semantics import NO_CLOCKS
from cerlab.model.clauses import EventWindow, Window
from cerlab.testing import Shape
from cerlab.why import Failure, Kind, clauses, deduction
from cerlab.why import cel as table
from cerlab.why import question as windows
from cerlab.why.deduction import CelDerivation, Goal
from cerlab.why.failure import Retype
from cerlab.why.question import Context, contexts
from proofs_tests.mutants.driver import Judge, kills, mutant, on_seeds
from proofs_tests.suite import Suite
from proofs_tests.why.test_agreement import agree
from proofs_tests.why.test_mutations import blames

SHAPE = Shape(depth=2, events=6, family=True)


def showing_projections(phi: cel.Formula, above: Context) -> tuple[Context, ...]:
    """PROJECT does not hide what it drops."""
    if isinstance(phi, cel.Project):
        return (above,)
    return contexts(phi, above)


def as_without_its_label(phi: Any, V: Valuation | None) -> Valuation | None:
    """AS sets nothing, so filters on its label hold."""
    return V if isinstance(phi, cel.As) else _RELABEL(phi, V)


_RELABEL = table.relabelled


def intervals_only(self: table.Part, d: CelDerivation) -> Any:
    """Derivations that differ in labels a filter reads are taken as equal."""
    return None if d.valuation is None else d.interval


def no_rival(*_: Any) -> None:
    """Strategies keep everything; consumption takes nothing."""


def strict_fits(self: windows.Meter, start: int, end: int) -> bool:
    """WITHIN that is strict."""
    if isinstance(self.window, EventWindow) and end > start:
        return self.span(start, end) < self.window.width
    return _FITS(self, start, end)


_FITS = windows.Meter.fits


def nothing_inside(rivals: Sequence[Valuation], V: Valuation) -> Valuation | None:
    """UNLESS looks strictly inside only."""
    return next((W for W in rivals if V.start < W.start and W.end < V.end), None)


def everything_loose(phi: cel.Formula, above: Context) -> tuple[Context, ...]:
    """Positions may be left out anywhere, as under ALL."""
    return tuple(replace(below, loose=True) for below in contexts(phi, above))


def same_type(here: table.Part, phi: cel.Atom, i: int) -> tuple[Failure, ...]:
    """The repair is the type that the event has."""
    goal = here.goal
    return tuple(
        replace(f, repairs=(Retype(goal.at[i], goal.events[i].type),)) if f.kind is Kind.TYPE else f
        for f in _WRONG(here, phi, i)
    )


_WRONG = table._wrong


def same_window(window: Window, span: Any) -> Window:
    """Repair that proposes the window that is too small."""
    return window


def next_position(here: table.Part, end: int, start: int) -> Failure:
    """A gap is counted with the event after it."""
    failure = _GAP(here, end, start)
    return replace(failure, facts={**failure.facts, "events": f"{start - end} events"})


_GAP = table._gap


def first_is_blamed(failures: Sequence[Failure]) -> int:
    """The nearest is the one with most failures."""
    return 2 if failures else 0


@property  # type: ignore[misc]
def without_a_clock(self: windows.Question) -> Any:
    """Every wait is over."""
    return NO_CLOCKS


def before_the_wait_is_over(self: windows.Meter, i: int) -> int:
    """An event at the very end of a wait is outside."""
    n = len(self._substream.events)
    return max(i, bisect_left(range(n), self.over(i), lo=i, key=self.instant) - 1)


def not_after_the_positions(self: windows.Question, position: int) -> int:
    """Events after the positions are not looked at, though answers wait there."""
    return position


def rivals_of_the_positions(goal: Goal, right: cel.Formula, kept: Any) -> list[Valuation]:
    """What comes while answers wait does not forbid them."""
    return _RIVALS(goal, right, ())


_RIVALS = table._counter_examples


def without_what_it_waits_for(self: Any, strategy: Any, candidate: Any, begin: int) -> None:
    """A strategy compares no answers that wait."""


def agreeing(shape: Shape) -> Callable[[Random], bool]:
    """Return a case on which `why` agrees with the reference."""

    def case(rng: Random) -> bool:
        try:
            agree(rng, shape)
        except ResourceLimit:
            raise
        except CerlabError as error:
            raise AssertionError from error
        return True

    return case


REFERENCE = on_seeds(agreeing(SHAPE), 80)
REFERENCE_OF_WAITS = on_seeds(agreeing(Shape(depth=2, events=7, timed=True)), 40)
BLAME = blames(SHAPE).judge(
    1_400, (table, "_wrong"), (windows, "wider"), (table, "_gap"), (deduction, "cost")
)

MUTANTS = [
    mutant(REFERENCE, table, "contexts", showing_projections),
    mutant(REFERENCE, table, "relabelled", as_without_its_label),
    mutant(REFERENCE, clauses.Checks, "_preference_failure", no_rival, id="no_better_answer"),
    mutant(REFERENCE, clauses.Checks, "_consumer", no_rival, id="no_consumer"),
    mutant(REFERENCE, windows.Meter, "fits", strict_fits),
    mutant(REFERENCE, table, "contexts", everything_loose),
    mutant(REFERENCE_OF_WAITS, windows.Question, "clocks", without_a_clock, id="without_a_clock"),
    mutant(REFERENCE_OF_WAITS, windows.Meter, "last_until", before_the_wait_is_over),
    mutant(REFERENCE_OF_WAITS, windows.Question, "last_waited", not_after_the_positions),
    mutant(REFERENCE_OF_WAITS, windows.Meter, "fits", strict_fits, id="strict_fits_of_waits"),
    mutant(BLAME, table, "_wrong", same_type),
    mutant(BLAME, windows, "wider", same_window),
    mutant(BLAME, table, "_gap", next_position),
    mutant(BLAME, deduction, "cost", first_is_blamed),
]


test_the_mutant_is_killed = kills(MUTANTS)


@pytest.mark.parametrize("judge", [REFERENCE, REFERENCE_OF_WAITS])
def test_what_is_there_passes_every_case(judge: Judge, suite: Suite) -> None:
    for n in range(suite.profile.cases(judge.count)):
        judge.case(n)


def passing(id: str) -> Case:
    """Return a case of the conformance suite, which passes without a mutant."""
    case = case_of(id)
    assert difference(case, reply_of(case)) == ""
    return case


def test_only_what_is_strictly_inside_is_unless(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rival shares its start with the answer: too rare among random cases."""
    case = passing("why/unless-with-the-same-start")
    monkeypatch.setattr(table, "inside", nothing_inside)
    with pytest.raises(AssertionError, match="the automaton does not accept"):
        reply_of(case)


def test_what_comes_during_a_wait_is_unless(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rival comes after all positions: too rare among random cases."""
    case = passing("why/unless-after-all-positions")
    monkeypatch.setattr(table, "_counter_examples", rivals_of_the_positions)
    assert difference(case, reply_of(case))


def test_a_strategy_compares_answers_whose_wait_is_not_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Such answers at the end of a key are too rare among random cases."""
    case = passing("why/rival-whose-wait-is-not-over")
    monkeypatch.setattr(clauses.Checks, "_preferred_wait", without_what_it_waits_for)
    assert difference(case, reply_of(case))


def test_a_labelling_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep one of two labellings, the wrong one: the automaton objects.

    It is too rare among random cases.
    """
    case = passing("why/either-label-with-a-filter-on-one")
    monkeypatch.setattr(table.Part, "item", intervals_only)
    with pytest.raises(AssertionError, match="the automaton accepts"):
        reply_of(case)
