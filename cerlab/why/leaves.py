"""Derivations of atoms and of NOT: one event each."""

from __future__ import annotations

from collections.abc import Iterator

from cerlab.logic.cel.semantics import valuations
from cerlab.logic.cel.syntax import Atom, Not
from cerlab.logic.cel.text import formula_text
from cerlab.model.answer import Valuation
from cerlab.model.event import Event
from cerlab.why.context import Context
from cerlab.why.derivation import Derivation
from cerlab.why.failure import HEAVY, LIGHT, Alter, Drop, Failure, Give, Kind, Path, Retype, missing
from cerlab.why.goal import Goal, leftover, said


def of_atom(goal: Goal, phi: Atom, path: Path, context: Context) -> Iterator[Derivation]:
    """Every event that may be the atom's; with an allowance those that fail to be, and no event."""
    visible = phi.type in context.visible
    for i in goal.candidates(visible=visible):
        wrong = _wrong(phi, path, goal.events[i], goal.at[i])
        asked = i in goal.marked
        if wrong and (goal.allowance < LIGHT or not (asked or goal.narrow)):
            continue
        failures = wrong
        if visible and not asked:
            failures += (_unmarked(goal, phi, path, i),)
        if not visible and asked and not context.loose:
            failures += (_hidden(goal, phi, path, i),)
        yield Derivation(phi, path, Valuation(i, i, {phi.type: (i,)}), (), failures)
    if goal.allowance >= HEAVY:
        yield Derivation(phi, path, None, (), (missing(path, said(phi)),))


def _wrong(phi: Atom, path: Path, event: Event, position: int) -> tuple[Failure, ...]:
    """What keeps an event from being the atom's."""
    part = said(phi)
    if event.type != phi.type:
        words = f"event {position} is {event.type}, {phi.type} was asked"
        repairs = (Retype(position, phi.type), Alter(position))
        return (Failure(Kind.TYPE, words, part, path, (position,), repairs),)
    if phi.stream is not None and event.stream is not None and event.stream != phi.stream:
        words = f"event {position} is of stream {event.stream}, {phi.stream} was asked"
        return (Failure(Kind.STREAM, words, part, path, (position,), (Alter(position),)),)
    return ()


def _unmarked(goal: Goal, phi: Atom, path: Path, i: int) -> Failure:
    p = goal.at[i]
    words = f"event {p} is not among the positions, and {said(phi)} needs it"
    return Failure(Kind.UNMARKED, words, said(phi), path, (p,), (Give(p),))


def _hidden(goal: Goal, phi: Atom, path: Path, i: int) -> Failure:
    p = goal.at[i]
    words = f"event {p} is for {phi.type}, which a projection leaves out of the answer"
    return Failure(Kind.LEFTOVER, words, said(phi), path, (p,), (Drop(p),))


def of_not(goal: Goal, phi: Not, path: Path, context: Context) -> Iterator[Derivation]:
    """Every event that is not what NOT excludes; it sets no label, so it marks nothing."""
    for i in range(goal.lo, goal.hi + 1):
        failures: tuple[Failure, ...] = ()
        if valuations(phi.body, (goal.events[i],)):
            if goal.allowance < LIGHT:
                continue
            failures = (_excluded(goal, phi, path, i),)
        if i in goal.marked and not context.loose:
            failures += leftover(goal, (i,))
        yield Derivation(phi, path, Valuation(i, i, {}), (), failures)
    if goal.allowance >= HEAVY:
        yield Derivation(phi, path, None, (), (missing(path, said(phi)),))


def _excluded(goal: Goal, phi: Not, path: Path, i: int) -> Failure:
    p, event = goal.at[i], goal.events[i]
    words = f"event {p} is {event.type}, which {said(phi)} excludes"
    return Failure(Kind.NOT, words, formula_text(phi), path, (p,), (Alter(p),))
