"""Parts of a SREMO: their items, and the derivations of single events and runs without a trace."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from cerlab.logic.sremo import syntax as sre
from cerlab.logic.sremo.syntax import Sremo, children
from cerlab.model.answer import Positions
from cerlab.why import failure as mend
from cerlab.why.deduction import (
    Chart,
    Contents,
    Derivation,
    Goal,
    Reading,
    SremoDerivation,
    part_text,
)
from cerlab.why.failure import HEAVY, LIGHT, Failure, Kind, Path, cost, missing
from cerlab.why.guards import may_hold, why_false


@dataclass(frozen=True, slots=True)
class MarkGoal(Goal):
    """A goal whose derivations read no event after `hi`.

    `read` are the registers that guards read; others are not followed. `by_marks`, inside a
    negation: derivations that differ in their marks look different from above.
    """

    read: frozenset[str] = frozenset()
    by_marks: bool = False
    cache: dict[Hashable, list[SremoDerivation]] = field(default_factory=dict)

    @property
    def stop(self) -> int:
        """The position after the last event that may be read."""
        return self.hi + 1

    def registers_after(
        self, v: Contents, writes: frozenset[str], position: int | None
    ) -> Contents:
        """``v[W <- t]``, by the positions of events (SRT Def. 12)."""
        contents = dict.fromkeys(writes & self.read, position)
        return tuple(sorted({**dict(v), **contents}.items()))

    def leftover_between(self, start: int, stop: int) -> tuple[Failure, ...]:
        """The marked positions from `start` to before `stop`, which nothing there marks."""
        return self.leftover(self.between(start - 1, stop), "no part of the expression marks it")

    def chart(self) -> Chart[SremoDerivation]:
        """A chart of one part from one position: an item is where it ends, and the registers."""
        return Chart(self, self.item)

    def item(self, d: SremoDerivation) -> Hashable:
        """What a derivation looks like from above."""
        r = d.valuation
        return (r.end, r.registers, r.marks if self.by_marks else ())


class Part(NamedTuple):
    """A part of an expression and where it is, from event i on with registers v."""

    goal: MarkGoal
    e: Sremo
    path: Path
    i: int
    v: Contents

    def below(self, *path: int) -> Part:
        """The part of it at a path, from the same event on."""
        e = self.e
        for n in path:
            e = children(e)[n]
        return self._replace(e=e, path=(*self.path, *path))

    def up_to(self, end: int, *failures: Failure, marks: Positions = ()) -> SremoDerivation:
        """A leaf that takes the events before `end`, and leaves the registers as they are."""
        return Derivation(self.e, self.path, Reading(self.i, end, marks, self.v), (), failures)

    def above(self, d: SremoDerivation, own: Iterable[Failure] = ()) -> SremoDerivation:
        """A node with one child, and what it fails besides."""
        return Derivation(self.e, self.path, d.valuation, (d,), (*d.failures, *own))


def of_empty(here: Part) -> Iterator[SremoDerivation]:
    """``EMPTY``, which nothing derives."""
    if here.goal.allowance >= LIGHT:
        words, repairs = "EMPTY matches nothing", (mend.Relax(here.path, sre.EPSILON),)
        failure = Failure(Kind.EMPTY, words, part_text(here.e), here.path, repairs=repairs)
        yield here.up_to(here.i, failure)


def of_terminal(here: Part, e: sre.Terminal) -> Iterator[SremoDerivation]:
    """The event at i; with an allowance also if it fails to be the terminal's, and no event."""
    goal, _, path, i, v = here
    if i < goal.stop:
        holds = may_hold(e.guard, goal.events[i], v, goal.events)
        if holds or (goal.allowance >= LIGHT and (goal.is_marked(i) or goal.narrow)):
            wrong = () if holds else (_guard_failure(here, e),)
            after = here._replace(v=goal.registers_after(v, e.writes, i))
            failures = (*wrong, *_mark_failure(here, e))
            yield after.up_to(i + 1, *failures, marks=(i,) if e.marked else ())
    if goal.allowance >= HEAVY:
        after = here._replace(v=goal.registers_after(v, e.writes, None))
        yield after.up_to(i, missing(path, part_text(e), (mend.Relax(path, sre.Option(e)),)))


def _guard_failure(here: Part, e: sre.Terminal) -> Failure:
    why = why_false(e.guard, here.i, here.v, here.goal.events)
    repairs = (*why.repairs, mend.Relax(here.path, replace(e, guard=why.weaker)))
    return Failure(Kind.GUARD, why.words, part_text(e), here.path, (here.i,), repairs)


def _mark_failure(here: Part, e: sre.Terminal) -> Iterator[Failure]:
    """The event is asked for and the terminal does not mark it, or the other way round."""
    goal, _, path, i, _ = here
    if goal.marks is None or goal.is_marked(i) == e.marked:
        return
    part, other = part_text(e), mend.Remark(path, replace(e, marked=not e.marked))
    if e.marked:
        words = f"event {i} is not among the positions, and {part} marks it"
        yield Failure(Kind.UNMARKED, words, part, path, (i,), (mend.Give(i), other))
    else:
        words = f"event {i} is among the positions, and {part} does not mark it"
        yield Failure(Kind.LEFTOVER, words, part, path, (i,), (mend.Drop(i), other))


def of_run(here: Part, e: sre.Terminal) -> Iterator[SremoDerivation]:
    """The events from i on that an iteration without marks and registers takes, as one node."""
    goal, below = here.goal, here.below(0)
    if isinstance(here.e, sre.Star):
        yield here.up_to(here.i)
    elif goal.allowance >= HEAVY:
        option = (mend.Relax(below.path, sre.Option(e)),)
        yield here.up_to(here.i, missing(below.path, part_text(e), option))
    failures: tuple[Failure, ...] = ()
    for k in range(here.i, goal.stop):
        once = (d for d in of_terminal(below._replace(i=k), e) if d.valuation.end > k)
        if (d := next(once, None)) is None:
            return
        failures += d.failures
        if cost(failures) > goal.allowance:
            return
        yield here.up_to(k + 1, *failures)
