"""Derivations of single events, and of iterations of an event that leaves no trace."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from cerlab.logic.sremo.syntax import (
    EPSILON,
    Empty,
    Option,
    Plus,
    Sremo,
    Star,
    Terminal,
)
from cerlab.why.failure import (
    HEAVY,
    LIGHT,
    Drop,
    Failure,
    Give,
    Kind,
    Path,
    Relax,
    Remark,
    missing,
)
from cerlab.why.sremo.derivation import SremoDerivation, Stored
from cerlab.why.sremo.goal import Goal, said
from cerlab.why.sremo.guards import may_hold, why_false


def of_empty(goal: Goal, e: Empty, path: Path, i: int, v: Stored) -> Iterator[SremoDerivation]:
    """``EMPTY``, which nothing derives."""
    if goal.allowance >= LIGHT:
        repairs = (Relax(path, EPSILON),)
        failure = Failure(Kind.EMPTY, "EMPTY matches nothing", said(e), path, repairs=repairs)
        yield SremoDerivation(e, path, i, i, (), v, (), (failure,))


def of_terminal(
    goal: Goal, e: Terminal, path: Path, i: int, v: Stored
) -> Iterator[SremoDerivation]:
    """The event at i; with an allowance also if it fails to be the terminal's, and no event."""
    if i < goal.end:
        holds = may_hold(e.guard, goal.events[i], v, goal.events)
        blames = goal.allowance >= LIGHT and (goal.asks(i) or goal.narrow)
        if holds or blames:
            wrong = () if holds else (_guard_failure(goal, e, path, i, v),)
            failures = (*wrong, *_mark_failure(goal, e, path, i))
            marks = (i,) if e.marked else ()
            after = goal.stored(v, e.writes, i)
            yield SremoDerivation(e, path, i, i + 1, marks, after, (), failures)
    if goal.allowance >= HEAVY:
        v = goal.stored(v, e.writes, None)
        yield SremoDerivation(e, path, i, i, (), v, (), (_missing(e, path),))


def _guard_failure(goal: Goal, e: Terminal, path: Path, i: int, v: Stored) -> Failure:
    why = why_false(e.guard, i, v, goal.events)
    weaker = Relax(path, replace(e, guard=why.weaker))
    return Failure(Kind.GUARD, why.words, said(e), path, (i,), (*why.repairs, weaker))


def _mark_failure(goal: Goal, e: Terminal, path: Path, i: int) -> tuple[Failure, ...]:
    """The event is asked for and the terminal does not mark it, or the other way round."""
    if goal.marked is None or goal.asks(i) == e.marked:
        return ()
    part, other = said(e), Remark(path, replace(e, marked=not e.marked))
    if e.marked:
        words = f"event {i} is not among the positions, and {part} marks it"
        return (Failure(Kind.UNMARKED, words, part, path, (i,), (Give(i), other)),)
    words = f"event {i} is among the positions, and {part} does not mark it"
    return (Failure(Kind.LEFTOVER, words, part, path, (i,), (Drop(i), other)),)


def _missing(e: Terminal, path: Path) -> Failure:
    return missing(path, said(e), (Relax(path, Option(e)),))


def leaves_no_trace(e: Sremo) -> bool:
    """Whether it iterates an event that is neither marked nor stored, as ``<TRUE>*`` does."""
    match e:
        case Star(Terminal(_, False, writes)) | Plus(Terminal(_, False, writes)):
            return not writes
        case _:
            return False


def of_run(goal: Goal, e: Star | Plus, path: Path, i: int, v: Stored) -> Iterator[SremoDerivation]:
    """The events from i on that such an iteration takes, as one node."""
    body = e.body
    assert isinstance(body, Terminal)
    below = (*path, 0)
    if isinstance(e, Star):
        yield SremoDerivation(e, path, i, i, (), v)
    elif goal.allowance >= HEAVY:
        yield SremoDerivation(e, path, i, i, (), v, (), (_missing(body, below),))
    failures: tuple[Failure, ...] = ()
    for k in range(i, goal.end):
        for once in of_terminal(goal, body, below, k, v):
            if once.end > k:
                failures += once.failures
                break
        else:
            return
        yield SremoDerivation(e, path, i, k + 1, (), v, (), failures)
        if HEAVY * len(goal.asked_between(i, k + 1)) > goal.allowance:
            return
