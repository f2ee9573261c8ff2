"""The search: the reference semantics, turned towards given positions (CORE Table 2).

One arm per row of the table, as in `cerlab.logic.cel.semantics`. Three things differ. Only what can
be part of the answer is made: events that are marked, and those that a part of the formula may take
unmarked. Of derivations that look equal from above one is kept (`cerlab.why.goal.Table`). And with
an allowance a part may fail an obligation and go on as if it had not: the failures that cost the
least are those that are blamed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import assert_never

from cerlab.logic.cel.semantics import holds, valuations
from cerlab.logic.cel.syntax import (
    All,
    And,
    As,
    Atom,
    Concat,
    ConcatPlus,
    Filter,
    Formula,
    Not,
    Or,
    Plus,
    Project,
    Rename,
    Select,
    Seq,
    Unless,
)
from cerlab.logic.cel.text import formula_text
from cerlab.logic.ceql.semantics import Meaning
from cerlab.model.answer import Valuation, complex_event
from cerlab.model.clauses import Strategy
from cerlab.why.conditions import why_false
from cerlab.why.context import Context, contexts, labels_in
from cerlab.why.derivation import Derivation
from cerlab.why.failure import LIGHT, Alter, Failure, Kind, Path, Relax, Repair
from cerlab.why.goal import Goal, Table, said
from cerlab.why.join import iterations, overlapping, sequences
from cerlab.why.leaves import of_atom, of_not
from cerlab.why.rivals import (
    ending_at,
    first_preferred,
    hole,
    inside,
    moved_answer,
    positions_text,
    rival_words,
)


def derivations(goal: Goal, phi: Formula, path: Path, context: Context) -> list[Derivation]:
    """The derivations of a formula that the goal allows, the best of each class."""
    table = Table(goal, context)
    for derivation in _clause(goal, phi, path, context):
        table.offer(derivation)
    return table.found()


def _clause(goal: Goal, phi: Formula, path: Path, context: Context) -> Iterator[Derivation]:
    below = contexts(phi, context)

    def of(side: Formula, n: int = 0) -> list[Derivation]:
        return derivations(goal, side, (*path, n), below[n])

    match phi:
        case Atom():
            yield from of_atom(goal, phi, path, context)
        case As(psi, _) | Project(_, psi) | Rename(_, _, psi):
            for d in of(psi):
                yield above(phi, path, d, relabelled(phi, d.valuation))
        case Filter(psi, _):
            for d in of(psi):
                yield above(phi, path, d, d.valuation, _filtered(goal, phi, path, d))
        case Or(left, right):
            for d in (*of(left, 0), *of(right, 1)):
                yield above(phi, path, d, d.valuation)
        case Seq(left, right) | Concat(left, right):
            yield from sequences(goal, phi, path, context, of(left, 0), of(right, 1))
        case Plus(psi) | ConcatPlus(psi):
            yield from iterations(goal, phi, path, context, of(psi))
        case Not():
            yield from of_not(goal, phi, path, context)
        case And(left, right):
            yield from _agreeing(goal, phi, path, of(left, 0), of(right, 1))
        case All(left, right):
            yield from overlapping(goal, phi, path, context, of(left, 0), of(right, 1))
        case Unless(left, right):
            rivals = counter_examples(goal, right)
            for d in of(left):
                yield above(phi, path, d, d.valuation, _unless(goal, phi, path, d, rivals))
        case Select(_, psi):
            for d in of(psi):
                yield above(phi, path, d, d.valuation, selected(goal, phi, path, d, valuations))
        case _:
            assert_never(phi)


def above(
    phi: Formula,
    path: Path,
    below: Derivation,
    V: Valuation | None,
    own: tuple[Failure, ...] = (),
) -> Derivation:
    """A node with one child, and what it fails besides."""
    return Derivation(phi, path, V, (below,), below.failures + own)


def relabelled(phi: As | Project | Rename, V: Valuation | None) -> Valuation | None:
    """What an operator that only touches labels makes of a valuation."""
    if V is None:
        return None
    labels = dict(V.labels)
    match phi:
        case As(_, X):
            labels[X] = complex_event(V).positions
        case Project(kept, _):
            labels = {X: D for X, D in labels.items() if X in kept}
        case Rename(old, new, _):
            moved = labels.pop(old, ())
            labels[new] = labels.get(new, ()) + moved
        case _:
            assert_never(phi)
    return Valuation(V.start, V.end, labels)


def _filtered(goal: Goal, phi: Filter, path: Path, d: Derivation) -> tuple[Failure, ...]:
    V = d.valuation
    if V is None or holds(phi.condition, V, goal.events):
        return ()
    if goal.allowance < LIGHT:
        return _REFUSED
    why = why_false(phi.condition, V, goal.events, goal.at)
    blamed = tuple(goal.at[i] for i in sorted(why.blamed))
    altered = (Alter(goal.at[i]) for i in sorted(why.enough))
    repairs: tuple[Repair, ...] = (Relax(path, phi.body), *altered)
    return (Failure(Kind.FILTER, why.words, formula_text(phi), path, blamed, repairs),)


_REFUSED = (Failure(Kind.FILTER, "not said: no failure is allowed"),)
"""Stands for a filter that fails where the table refuses it anyway: its words would cost most."""


def _agreeing(
    goal: Goal,
    phi: And,
    path: Path,
    lefts: Sequence[Derivation],
    rights: Sequence[Derivation],
) -> Iterator[Derivation]:
    """The valuations of both sides; with an allowance those of one side too."""
    by_valuation = {d.valuation: d for d in rights}
    for a in lefts:
        b = by_valuation.get(a.valuation)
        if b is not None:
            failures = a.failures + tuple(f for f in b.failures if f not in a.failures)
            yield Derivation(phi, path, a.valuation, (a, b), failures)
        if a.valuation is not None and goal.allowance >= LIGHT:
            yield above(phi, path, a, a.valuation, (_alone(goal, phi, path, 0, a.valuation),))
    for b in rights:
        if b.valuation is not None and goal.allowance >= LIGHT:
            yield above(phi, path, b, b.valuation, (_alone(goal, phi, path, 1, b.valuation),))


def _alone(goal: Goal, phi: And, path: Path, side: int, V: Valuation) -> Failure:
    has, lacks = (phi.left, phi.right) if side == 0 else (phi.right, phi.left)
    labels = ", ".join(f"{X}: {positions_text(goal.at[i] for i in D)}" for X, D in V.labels.items())
    words = (
        f"AND asks for the same valuation of both sides, and {said(lacks)} does not give "
        f"[{goal.at[V.start]}, {goal.at[V.end]}] with {labels or 'no labels'}"
    )
    ends = tuple(sorted({goal.at[V.start], goal.at[V.end]}))
    return Failure(Kind.AND, words, formula_text(phi), path, ends, (Relax(path, has),))


def counter_examples(goal: Goal, right: Formula) -> list[Valuation]:
    """Valuations of the right side of UNLESS, of each interval one, shortest first."""
    every = labels_in(right)
    free = replace(goal, marked=(), start=None, end=None, allowance=0)
    found = derivations(free, right, (), Context(every, frozenset()))
    intervals = [d.valuation for d in found if d.valuation is not None]
    return sorted(intervals, key=lambda W: (W.end - W.start, W.start))


def _unless(
    goal: Goal, phi: Unless, path: Path, d: Derivation, rivals: Sequence[Valuation]
) -> tuple[Failure, ...]:
    if d.valuation is None or (W := inside(rivals, d.valuation)) is None:
        return ()
    rival = moved_answer(complex_event(W), goal.at)
    words = (
        f"UNLESS: {said(phi.right)} matches inside, at {positions_text(rival.positions)} "
        f"in [{rival.start}, {rival.end}]"
    )
    repairs: tuple[Repair, ...] = (Relax(path, phi.left),)
    intervals = {(R.start, R.end) for R in rivals if inside((R,), d.valuation)}
    if intervals == {(W.start, W.start)}:
        repairs += (Alter(goal.at[W.start]),)
    return (Failure(Kind.UNLESS, words, formula_text(phi), path, (), repairs, rival),)


def selected(
    goal: Goal, phi: Select, path: Path, d: Derivation, meaning: Meaning
) -> tuple[Failure, ...]:
    """Whether a strategy inside the formula keeps the valuation, on the whole substream."""
    if d.valuation is None:
        return ()
    C, strategy = complex_event(d.valuation), phi.strategy
    repairs = (Relax(path, phi.body),)
    if strategy is Strategy.STRICT:
        if (pair := hole(C.positions)) is None:
            return ()
        ends = tuple(goal.at[i] for i in pair)
        words = f"STRICT: there are events between {ends[0]} and {ends[1]} that are left out"
        return (Failure(Kind.STRATEGY, words, formula_text(phi), path, ends, repairs),)
    found = first_preferred(strategy, ending_at(phi.body, goal.events, C.end, meaning), C.positions)
    if found is None:
        return ()
    rival = moved_answer(found, goal.at)
    words = rival_words(strategy, rival)
    return (Failure(Kind.STRATEGY, words, formula_text(phi), path, (), repairs, rival),)
