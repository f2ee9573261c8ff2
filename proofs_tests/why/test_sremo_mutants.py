"""Deliberate wrong versions of `why` for SREMO: each contradicts the reference or blames wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any

from cerlab import CerlabError, ResourceLimit
from cerlab.logic.sremo import syntax as sre
from cerlab.logic.sremo.syntax import SpanWindow, Terminal, Window, subexpressions
from cerlab.predicates.syntax import And
from cerlab.testing import Shape
from cerlab.why import Failure, Reading, sremo
from cerlab.why import question as windows
from cerlab.why.deduction import Contents
from cerlab.why.failure import WINDOW, Relax
from proofs_tests.mutants.driver import Judge, kills, mutant, on_seeds
from proofs_tests.suite import Suite
from proofs_tests.why.test_sremo_agreement import agree, random_question
from proofs_tests.why.test_sremo_mutations import BLAMES

SHAPE = Shape(depth=3, events=6)


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


def strict_window(here: sremo.Part, e: Window, reading: Reading) -> Iterator[Failure]:
    """Windows are strict."""
    window: Any = e
    narrower = replace(window, width=e.width - 1) if e.width > 1 else e
    return _OUTSIDE(here, narrower, reading)


_OUTSIDE = windows.out_of_window


def by_length(here: sremo.Part, e: Window, reading: Reading) -> Iterator[Failure]:
    """The span is of all events, marked or not."""
    if isinstance(e, SpanWindow) and reading.end - reading.start > e.width:
        return iter((Failure(WINDOW, repairs=(Relax(here.path, e),)),))
    return _OUTSIDE(here, e, reading)


def same_window(e: Window, span: Any) -> Window:
    """Repair that proposes the window that is too small."""
    return e


def next_position(operator: sremo.Part, end: int, start: int) -> Failure:
    """A gap is counted with the event after it."""
    failure = _GAP(operator, end, start)
    return replace(failure, facts={**failure.facts, "events": f"{start - end + 1} events"})


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


def agreeing(*kinds: type) -> Judge:
    """Judge by the expressions that have an operator of some kinds."""

    def case(rng: Random) -> bool:
        question = random_question(rng, SHAPE)
        if not any(isinstance(each, kinds) for each in subexpressions(question[0])):
            return False
        try:
            agree(rng, question)
        except ResourceLimit:
            raise
        except CerlabError as error:
            raise AssertionError from error
        return True

    return on_seeds(case, 800)


WINDOWS = (sre.SpanWindow, sre.LengthWindow, sre.Within)
BLAME = BLAMES.judge(
    400, (windows, "wider"), (sremo, "_gap"), (sremo, "_guard_failure"), (sremo, "rival_of")
)

MUTANTS = [
    mutant(agreeing(sre.SkipNext), sremo, "instance_in_gap", no_instance),
    mutant(agreeing(sre.Negation), sremo, "_of_negation", takes_nothing),
    mutant(agreeing(sre.Terminal), sremo.MarkGoal, "registers_after", stores_nothing),
    mutant(agreeing(sre.Terminal), sremo.MarkGoal, "registers_after", first_stays),
    mutant(agreeing(*WINDOWS), sremo, "out_of_window", strict_window),
    mutant(agreeing(sre.SpanWindow), sremo, "out_of_window", by_length),
    mutant(BLAME, windows, "wider", same_window),
    mutant(BLAME, sremo, "_gap", next_position),
    mutant(BLAME, sremo, "_guard_failure", as_it_stands),
    mutant(BLAME, sremo, "rival_of", last_rival),
]


test_the_mutant_is_killed = kills(MUTANTS)


def test_what_is_there_passes_every_case(suite: Suite) -> None:
    judge = agreeing(object)
    for n in range(suite.profile.cases(judge.count)):
        judge.case(n)
