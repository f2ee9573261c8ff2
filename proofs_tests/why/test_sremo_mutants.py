"""Deliberate wrong versions of `why` for SREMO: each contradicts the reference or blames wrongly.

A mutant counts only if it is right on half or more of the cases; otherwise any test would find it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import count, islice
from random import Random
from typing import Any

import pytest

from cerlab.errors import CerlabError
from cerlab.logic.sremo import syntax as sre
from cerlab.logic.sremo.syntax import SpanWindow, Sremo, Terminal, Window, subexpressions
from cerlab.predicates.syntax import And
from cerlab.testing import Shape
from cerlab.why import question as windows
from cerlab.why import sremo
from cerlab.why.deduction import Contents, Reading
from cerlab.why.failure import Failure, Kind, Path, Relax
from proofs_tests.why.test_sremo_agreement import agree, random_question
from proofs_tests.why.test_sremo_mutations import BLAMES, SHAPE, explain, wrong_question

CASES = 80
BLAME_SEEDS = 18
AGREEMENT_SHAPE = Shape(depth=3, events=6)


def no_instance(*_: Any) -> tuple[Failure, ...]:
    """``@`` skips anything."""
    return ()


def takes_nothing(here: sremo.Part, readings: Any) -> Iterator[Any]:
    """``!e`` takes anything."""
    return _NEGATION(here, ())


_NEGATION = sremo._of_negation


def stores_nothing(
    self: sremo.MarkGoal, v: Contents, writes: frozenset[str], position: Any
) -> Contents:
    """Registers stay empty."""
    return v


def first_stays(
    self: sremo.MarkGoal, v: Contents, writes: frozenset[str], position: Any
) -> Contents:
    """A register keeps the first event."""
    return _REGISTERS_AFTER(self, v, writes - {r for r, _ in v}, position)


_REGISTERS_AFTER = sremo.MarkGoal.registers_after


def strict_window(
    e: Window, path: Path, reading: Reading, events: Sequence[Any]
) -> Iterator[Failure]:
    """Windows are strict."""
    window: Any = e
    narrower = replace(window, width=e.width - 1) if e.width > 1 else e
    return _OUTSIDE(narrower, path, reading, events)


_OUTSIDE = windows.out_of_window


def by_length(e: Window, path: Path, reading: Reading, events: Sequence[Any]) -> Iterator[Failure]:
    """The span is of all events, marked or not."""
    if isinstance(e, SpanWindow) and reading.end - reading.start > e.width:
        return iter((Failure(Kind.WINDOW, "", repairs=(Relax(path, e),)),))
    return _OUTSIDE(e, path, reading, events)


AGAINST_THE_REFERENCE: list[tuple[Any, str, Callable[..., Any], tuple[type, ...]]] = [
    (sremo, "instance_in_gap", no_instance, (sre.SkipNext,)),
    (sremo, "_of_negation", takes_nothing, (sre.Negation,)),
    (sremo.MarkGoal, "registers_after", stores_nothing, (sre.Terminal,)),
    (sremo.MarkGoal, "registers_after", first_stays, (sre.Terminal,)),
    (sremo, "out_of_window", strict_window, (sre.SpanWindow, sre.LengthWindow, sre.Within)),
    (sremo, "out_of_window", by_length, (sre.SpanWindow,)),
]


def same_window(e: Window, span: Any) -> Window:
    """Repair that proposes the window that is too small."""
    return e


def next_position(operator: sremo.Part, end: int, start: int) -> Failure:
    """A gap is counted with the event after it."""
    failure = _GAP(operator, end, start)
    n = start - end + 1
    words = f"gap of {n} events at '.', between {end - 1} and {start}"
    return replace(failure, words=words)


_GAP = sremo._gap


def as_it_stands(here: sremo.Part, e: Terminal) -> Failure:
    """A terminal with AND is said to be weaker, and is what it was."""
    failure = _GUARD(here, e)
    return replace(failure, repairs=(Relax(here.path, e),)) if isinstance(e.guard, And) else failure


_GUARD = sremo._guard_failure


def last_rival(reading: Reading) -> Any:
    """Negated readings that end one event too late."""
    rival = _RIVAL(reading)
    return None if rival is None else replace(rival, end=rival.end + 1)


_RIVAL = sremo.rival_of

IN_THE_BLAME: list[tuple[Any, str, Callable[..., Any], Kind]] = [
    (windows, "_wider", same_window, Kind.WINDOW),
    (sremo, "_gap", next_position, Kind.GAP),
    (sremo, "_guard_failure", as_it_stands, Kind.GUARD),
    (sremo, "rival_of", last_rival, Kind.NEGATION),
]


@cache
def expression(seed: int) -> Sremo:
    return random_question(Random(seed), AGREEMENT_SHAPE)[0]


def with_operators(kinds: tuple[type, ...]) -> list[int]:
    """The first seeds whose expression has an operator of some kinds."""
    seeds = (
        seed
        for seed in count()
        if any(isinstance(each, kinds) for each in subexpressions(expression(seed)))
    )
    return list(islice(seeds, CASES))


def agrees(seed: int) -> bool:
    try:
        agree(Random(seed), AGREEMENT_SHAPE)
    except (AssertionError, CerlabError):
        return False
    return True


@pytest.mark.parametrize(("owner", "name", "wrong", "kinds"), AGAINST_THE_REFERENCE)
def test_it_contradicts_the_reference(
    owner: Any,
    name: str,
    wrong: Callable[..., Any],
    kinds: tuple[type, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seeds = with_operators(kinds)
    monkeypatch.setattr(owner, name, wrong)
    contradictions = sum(not agrees(seed) for seed in seeds)
    assert 0 < contradictions <= CASES // 2


@cache
def kinds_blamed(seed: int) -> frozenset[Kind]:
    q = wrong_question(Random(seed), SHAPE)
    return frozenset() if q is None else frozenset(f.kind for f in explain(q).failures)


@pytest.mark.parametrize(("owner", "name", "wrong", "kind"), IN_THE_BLAME)
def test_it_blames_the_wrong_place(
    owner: Any, name: str, wrong: Callable[..., Any], kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Among the cases are some with a failure of its kind."""
    of_kind = list(
        islice((seed for seed in count() if kind in kinds_blamed(seed)), BLAME_SEEDS // 3)
    )
    seeds = {*range(BLAME_SEEDS - len(of_kind)), *of_kind}
    without_a_mutant = sum(not BLAMES.passes(seed) for seed in seeds)
    monkeypatch.setattr(owner, name, wrong)
    wrongly = sum(not BLAMES.passes(seed) for seed in seeds)
    assert without_a_mutant < wrongly <= len(seeds) // 2
