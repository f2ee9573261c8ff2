"""Derivations put together: one after another, again and again, or side by side."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace

from cerlab.logic.cel.syntax import All, Concat, ConcatPlus, Formula, Plus, Seq
from cerlab.logic.cel.text import formula_text
from cerlab.model.answer import Valuation
from cerlab.why.context import Context
from cerlab.why.derivation import Derivation
from cerlab.why.failure import HEAVY, LIGHT, Failure, Kind, Path, Relax, Remove, placed
from cerlab.why.goal import Goal, Table, leftover


class Followers:
    """Some derivations by their start, to find those that can follow an end."""

    def __init__(
        self, goal: Goal, phi: Formula, path: Path, found: Sequence[Derivation], *, loose: bool
    ) -> None:
        self._goal, self._phi, self._path, self._loose = goal, phi, path, loose
        self._by_start: dict[int, list[Derivation]] = {}
        for d in found:
            if d.valuation is not None:
                self._by_start.setdefault(d.valuation.start, []).append(d)
        self._starts = sorted(self._by_start)

    def after(self, end: int) -> Iterator[tuple[Derivation, tuple[Failure, ...]]]:
        """Those that start after `end`, each with what is wrong with the gap before it."""
        goal = self._goal
        adjacent = isinstance(self._phi, Concat | ConcatPlus)
        for start in self._starts[bisect_right(self._starts, end) :]:
            gap: tuple[Failure, ...] = ()
            if adjacent and start != end + 1:
                if goal.allowance < LIGHT:
                    return
                gap = (_gap(goal, self._phi, self._path, end, start),)
            if not self._loose:
                skipped = goal.between(end, start)
                if HEAVY * len(skipped) > goal.allowance:
                    return
                gap += leftover(goal, skipped)
            for d in self._by_start[start]:
                goal.budget.spend()
                yield d, gap


def _gap(goal: Goal, phi: Formula, path: Path, end: int, start: int) -> Failure:
    """There are events where `:` or `:+` allows none."""
    n = start - end - 1
    word = ":+" if isinstance(phi, ConcatPlus) else ":"
    words = (
        f"gap of {n} event{'s' if n > 1 else ''} at '{word}', "
        f"between {goal.at[end]} and {goal.at[start]}"
    )
    if isinstance(phi, ConcatPlus):
        weaker: Formula = Plus(phi.body)
    else:
        assert isinstance(phi, Concat)
        weaker = Seq(phi.left, phi.right)
    ends = (goal.at[end], goal.at[start])
    repairs = (Relax(path, weaker), Remove(tuple(goal.at[end + 1 : start])))
    return Failure(Kind.GAP, words, formula_text(phi), path, ends, repairs)


def sequences(
    goal: Goal,
    phi: Seq | Concat,
    path: Path,
    context: Context,
    lefts: Sequence[Derivation],
    rights: Sequence[Derivation],
) -> Iterator[Derivation]:
    """A derivation of the left side, and one of the right side after it."""
    followers = Followers(goal, phi, path, rights, loose=context.loose)
    absent = [d for d in rights if d.valuation is None]
    for a in lefts:
        if a.valuation is None:
            for b in rights:
                first = None if b.valuation is None else goal.at[b.valuation.start]
                failures = placed(a.failures, before=first) + b.failures
                yield Derivation(phi, path, b.valuation, (a, b), failures)
            continue
        last = goal.at[a.valuation.end]
        for b in absent:
            failures = a.failures + placed(b.failures, after=last)
            yield Derivation(phi, path, a.valuation, (a, b), failures)
        for b, gap in followers.after(a.valuation.end):
            yield _one_after_another(goal, phi, path, (a,), a, b, gap)


def _one_after_another(
    goal: Goal,
    phi: Formula,
    path: Path,
    before: tuple[Derivation, ...],
    a: Derivation,
    b: Derivation,
    gap: tuple[Failure, ...],
) -> Derivation:
    assert a.valuation is not None
    assert b.valuation is not None
    failures = (
        *placed(a.failures, before=goal.at[b.valuation.start]),
        *gap,
        *placed(b.failures, after=goal.at[a.valuation.end]),
    )
    return Derivation(phi, path, united(a.valuation, b.valuation), (*before, b), failures)


def iterations(
    goal: Goal, phi: Plus | ConcatPlus, path: Path, context: Context, once: Sequence[Derivation]
) -> list[Derivation]:
    """One round, two rounds, ..: the children of a derivation are its rounds."""
    followers = Followers(goal, phi, path, once, loose=context.loose)
    rounds = Table(goal, replace(context, trailing=False))  # more rounds may follow
    first = [Derivation(phi, path, d.valuation, (d,), d.failures) for d in once]
    latest = [d for d in first if rounds.offer(d)]
    while latest:
        longer = [
            _one_after_another(goal, phi, path, d.children, d, b, gap)
            for d in latest
            if d.valuation is not None
            for b, gap in followers.after(d.valuation.end)
        ]
        latest = [d for d in longer if rounds.offer(d)]
    return rounds.found()


def overlapping(
    goal: Goal,
    phi: All,
    path: Path,
    context: Context,
    lefts: Sequence[Derivation],
    rights: Sequence[Derivation],
) -> Iterator[Derivation]:
    """A derivation of each side; what both leave out of the marked positions is left over."""
    for a in lefts:
        for b in rights:
            goal.budget.spend()
            if _at_odds(goal, a, b) or _at_odds(goal, b, a):
                continue
            failures = a.failures + tuple(f for f in b.failures if f not in a.failures)
            if a.valuation is None or b.valuation is None:
                V = a.valuation or b.valuation
            else:
                V = united(a.valuation, b.valuation)
            if V is not None and not context.loose:
                taken = {i for X, D in V.labels.items() if X in context.visible for i in D}
                inside = goal.between(V.start - 1, V.end + 1)
                failures += leftover(goal, (p for p in inside if p not in taken))
            yield Derivation(phi, path, V, (a, b), failures)


def _at_odds(goal: Goal, a: Derivation, b: Derivation) -> bool:
    """Whether `a` asks for another type of an event that `b` takes: no event has two types."""
    V = b.valuation
    taken = set() if V is None else {goal.at[i] for D in V.labels.values() for i in D}
    return any(
        failure.kind is Kind.TYPE
        and not taken.isdisjoint(failure.positions)
        and failure.repairs[0] not in (other.repairs[0] for other in b.failures if other.repairs)
        for failure in a.failures
    )


def united(V1: Valuation, V2: Valuation) -> Valuation:
    """From the smaller start to the larger end, with the labels of both."""
    labels = {X: V1.labels.get(X, ()) + V2.labels.get(X, ()) for X in {*V1.labels, *V2.labels}}
    return Valuation(min(V1.start, V2.start), max(V1.end, V2.end), labels)
