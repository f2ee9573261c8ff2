"""Deliberate wrong versions of `why`: each contradicts the reference or blames the wrong place.

A mutant counts only if it is right on half or more of the cases; otherwise any test would find it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from cerlab.errors import CerlabError
from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.semantics import NO_CLOCKS
from cerlab.model.answer import Valuation
from cerlab.model.clauses import EventWindow, Window
from cerlab.testing import Shape
from cerlab.why import cel as table
from cerlab.why import clauses, deduction, why
from cerlab.why import question as windows
from cerlab.why.deduction import CelDerivation, Goal
from cerlab.why.failure import Failure, Kind, Retype
from cerlab.why.question import Context, contexts
from proofs_tests.clauses.tables import word
from proofs_tests.why.rows import TWO_KEYS
from proofs_tests.why.test_agreement import agree
from proofs_tests.why.test_mutations import blames

CASES = 80
BLAME_SEEDS = 160
SHAPE = Shape(depth=2, events=6, family=True)
BLAMES = blames(SHAPE)


def showing_projections(phi: cel.Formula, above: Context) -> tuple[Context, ...]:
    """PROJECT does not hide what it drops."""
    if isinstance(phi, cel.Project):
        return (above,)
    return contexts(phi, above)


def as_without_its_label(phi: Any, V: Valuation | None) -> Valuation | None:
    """AS sets nothing, so filters on its label hold."""
    return V if isinstance(phi, cel.As) else _RELABEL(phi, V)


_RELABEL = table.relabelled


def intervals_only(context: Context, d: CelDerivation) -> Any:
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


def same_type(goal: Goal, phi: cel.Atom, path: Any, i: int) -> tuple[Failure, ...]:
    """The repair is the type that the event has."""
    return tuple(
        replace(f, repairs=(Retype(goal.at[i], goal.events[i].type),)) if f.kind is Kind.TYPE else f
        for f in _WRONG(goal, phi, path, i)
    )


_WRONG = table._wrong


def same_window(window: Window, span: Any) -> Window:
    """Repair that proposes the window that is too small."""
    return window


def next_position(here: table.Part, end: int, start: int) -> Failure:
    """A gap is counted with the event after it."""
    at, n = here.goal.at, start - end
    words = f"gap of {n} events between {at[end]} and {at[start]}"
    return replace(_GAP(here, end, start), words=words)


_GAP = table._gap


def first_is_blamed(failures: Sequence[Failure]) -> int:
    """The nearest is the one with most failures."""
    return 2 if failures else 0


AGAINST_THE_REFERENCE: list[tuple[Any, str, Callable[..., Any]]] = [
    (table, "contexts", showing_projections),
    (table, "relabelled", as_without_its_label),
    (clauses.Checks, "_preference_failure", no_rival),
    (clauses.Checks, "_consumer", no_rival),
    (windows.Meter, "fits", strict_fits),
    (table, "contexts", everything_loose),
]

IN_THE_BLAME: list[tuple[Any, str, Callable[..., Any]]] = [
    (table, "_wrong", same_type),
    (windows, "_wide", same_window),
    (table, "_gap", next_position),
    (deduction, "cost", first_is_blamed),
]


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


AGAINST_THE_REFERENCE_OF_WAITS: list[tuple[Any, str, Any]] = [
    (windows.Question, "clocks", without_a_clock),
    (windows.Meter, "last_until", before_the_wait_is_over),
    (windows.Question, "last_waited", not_after_the_positions),
    (windows.Meter, "fits", strict_fits),
]


def agrees(seed: int, shape: Shape = SHAPE) -> bool:
    try:
        agree(Random(seed), shape)
    except (AssertionError, CerlabError):
        return False
    return True


@pytest.mark.parametrize(("owner", "name", "wrong"), AGAINST_THE_REFERENCE)
def test_it_contradicts_the_reference(
    owner: Any, name: str, wrong: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, name, wrong)
    contradictions = sum(not agrees(seed) for seed in range(CASES))
    assert 0 < contradictions <= CASES // 2


@pytest.mark.parametrize(("owner", "name", "wrong"), AGAINST_THE_REFERENCE_OF_WAITS)
def test_it_contradicts_the_reference_of_waits(
    owner: Any, name: str, wrong: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, name, wrong)
    shape = Shape(depth=2, events=7, timed=True)
    contradictions = sum(not agrees(seed, shape) for seed in range(CASES // 2))
    assert 0 < contradictions <= CASES // 4


@pytest.fixture(scope="module")
def without_a_mutant() -> int:
    return sum(not BLAMES.passes(seed) for seed in range(BLAME_SEEDS))


@pytest.mark.parametrize(("owner", "name", "wrong"), IN_THE_BLAME)
def test_it_blames_the_wrong_place(
    owner: Any,
    name: str,
    wrong: Callable[..., Any],
    without_a_mutant: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(owner, name, wrong)
    wrongly = sum(not BLAMES.passes(seed) for seed in range(BLAME_SEEDS))
    assert without_a_mutant < wrongly <= BLAME_SEEDS // 2


def test_only_what_is_strictly_inside_is_unless(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rival shares its start with the answer: too rare among random cases."""
    query, events = "(A ; C) UNLESS (A ; B)", word("ABC")
    assert not why(query, events, (0, 2)).holds
    monkeypatch.setattr(table, "inside", nothing_inside)
    with pytest.raises(AssertionError, match="the automaton does not accept"):
        why(query, events, (0, 2))


def test_what_comes_during_a_wait_is_unless(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rival comes after all positions: too rare among random cases."""
    query, events = "(A WAIT 10 [t]) UNLESS B", [{"type": X, "t": t} for t, X in enumerate("ACB")]
    assert not why(query, events, (0,), until="end").holds
    monkeypatch.setattr(table, "_counter_examples", rivals_of_the_positions)
    assert why(query, events, (0,), until="end").holds


def test_a_strategy_compares_answers_whose_wait_is_not_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Such answers at the end of a key are too rare among random cases."""
    query = "SELECT LAST * WHERE A+ WAIT 5 [t] PARTITION BY [k]"
    assert not why(query, TWO_KEYS, (0,)).holds
    monkeypatch.setattr(clauses.Checks, "_preferred_wait", without_what_it_waits_for)
    assert why(query, TWO_KEYS, (0,)).holds


def test_a_labelling_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep one of two labellings, the wrong one: the automaton objects.

    It is too rare among random cases.
    """
    query = "(A AS x OR A AS y) FILTER x[v = 1]"
    assert why(query, word("A", v="0"), (0,)).holds
    monkeypatch.setattr(table, "item", intervals_only)
    with pytest.raises(AssertionError, match="the automaton accepts"):
        why(query, word("A", v="0"), (0,))
