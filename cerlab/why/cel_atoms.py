"""Parts of a CEL formula: their items, and the derivations of atoms and NOT, of one event each."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import partial
from typing import NamedTuple

from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.semantics import valuations
from cerlab.logic.cel.syntax import Formula, children
from cerlab.model.answer import Valuation
from cerlab.why.deduction import NARROW, NEARBY, CelDerivation, Chart, Derivation, Goal, part_text
from cerlab.why.failure import HEAVY, LIGHT, Alter, Drop, Failure, Give, Kind, Path, Retype, missing
from cerlab.why.labels import Context, contexts


class Part(NamedTuple):
    """A part of a formula: where it is, what is looked for, and what is above it."""

    goal: Goal
    phi: Formula
    path: Path
    context: Context

    def below(self, n: int = 0) -> Part:
        """The n-th part of it."""
        psi, context = children(self.phi)[n], contexts(self.phi, self.context)[n]
        return Part(self.goal, psi, (*self.path, n), context)

    def above(
        self, d: CelDerivation, V: Valuation | None, own: Iterable[Failure] = ()
    ) -> CelDerivation:
        """A node with one child, and what it fails besides."""
        return Derivation(self.phi, self.path, V, (d,), (*d.failures, *own))


def chart(
    here: Part, more: Callable[[CelDerivation], Hashable] = lambda d: None
) -> Chart[CelDerivation]:
    """The chart of a part: items that look equal from above, and `more` that tells them apart."""
    return Chart(here.goal, lambda d: (item(here.context, d), more(d)), partial(_outside, here))


def item(context: Context, d: CelDerivation) -> Hashable:
    """The interval, and the positions of the labels that are read above; under ALL, the visible."""
    V = d.valuation
    if V is None:
        return None
    read = context.read | context.visible if context.loose else context.read
    return (V.start, V.end, *((X, D) for X, D in V.labels.items() if X in read))


def _outside(here: Part, d: CelDerivation) -> int:
    """What it costs that a part which begins or ends the whole does it at the wrong place."""
    goal, context, V = here.goal, here.context, d.valuation
    marks = goal.marks or ()
    if V is None or context.loose:
        return 0
    left_out = wrong_ends = 0
    if context.leading:
        left_out += bisect_left(marks, V.start)
        wrong_ends += goal.start is not None and V.start != goal.start
    if context.trailing:
        left_out += len(marks) - bisect_right(marks, V.end)
        wrong_ends += goal.end is not None and V.end != goal.end
    return HEAVY * (left_out + min(wrong_ends, 1))  # one repair of the interval mends both ends


def of_atom(here: Part, phi: cel.Atom) -> Iterator[CelDerivation]:
    """Every event that may be the atom's; with an allowance those that fail to be, and no event."""
    goal, _, path, context = here
    visible = phi.type in context.visible
    for i in _candidates(goal) if visible else range(goal.lo, goal.hi + 1):
        wrong = _wrong(goal, phi, path, i)
        is_marked, p = goal.is_marked(i), (goal.at[i],)
        if wrong and (goal.allowance < LIGHT or not (is_marked or goal.narrow)):
            continue
        failures = wrong
        if visible and not is_marked:
            words = f"event {p[0]} is not among the positions, and {part_text(phi)} needs it"
            failures += (Failure(Kind.UNMARKED, words, part_text(phi), path, p, (Give(*p),)),)
        if not visible and is_marked and not context.loose:
            words = f"event {p[0]} is for {phi.type}, which a projection leaves out of the answer"
            failures += (Failure(Kind.LEFTOVER, words, part_text(phi), path, p, (Drop(*p),)),)
        yield Derivation(phi, path, Valuation(i, i, {phi.type: (i,)}), (), failures)
    yield from _no_event(here)


def _candidates(goal: Goal) -> Iterable[int]:
    """Where an atom may take an event that is in the answer."""
    marks = goal.marks or ()
    if goal.allowance < HEAVY:
        return marks
    if goal.hi - goal.lo < NARROW:
        return range(goal.lo, goal.hi + 1)
    near = {p + d for p in marks for d in range(-NEARBY, NEARBY + 1)}
    return sorted(near & set(range(goal.lo, goal.hi + 1)))


def _wrong(goal: Goal, phi: cel.Atom, path: Path, i: int) -> tuple[Failure, ...]:
    """What keeps an event from being the atom's."""
    t, p = goal.events[i], goal.at[i]
    if t.type != phi.type:
        words = f"event {p} is {t.type}, {phi.type} was asked"
        repairs = (Retype(p, phi.type), Alter(p))
        return (Failure(Kind.TYPE, words, part_text(phi), path, (p,), repairs),)
    if phi.stream is not None and t.stream is not None and t.stream != phi.stream:
        words = f"event {p} is of stream {t.stream}, {phi.stream} was asked"
        return (Failure(Kind.STREAM, words, part_text(phi), path, (p,), (Alter(p),)),)
    return ()


def of_not(here: Part, phi: cel.Not) -> Iterator[CelDerivation]:
    """Every event that is not what NOT excludes; it sets no label, so it marks nothing."""
    goal, _, path, context = here
    for i in range(goal.lo, goal.hi + 1):
        failures: tuple[Failure, ...] = ()
        if valuations(phi.body, (goal.events[i],)):
            if goal.allowance < LIGHT:
                continue
            p = goal.at[i]
            words = f"event {p} is {goal.events[i].type}, which {part_text(phi)} excludes"
            failures = (Failure(Kind.NOT, words, str(phi), path, (p,), (Alter(p),)),)
        if goal.is_marked(i) and not context.loose:
            failures += goal.leftover((i,))
        yield Derivation(phi, path, Valuation(i, i, {}), (), failures)
    yield from _no_event(here)


def _no_event(here: Part) -> Iterator[CelDerivation]:
    if here.goal.allowance >= HEAVY:
        failure = missing(here.path, part_text(here.phi))
        yield Derivation(here.phi, here.path, None, (), (failure,))
