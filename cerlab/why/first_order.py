"""The search under FO-CEL: one event for each variable (FOUND Sec. 3).

It follows `cerlab.logic.focel.semantics`, and is that of CEL with three differences. A filter is
about the one event of each of its variables; a variable that is filtered where it is not bound has
its event chosen beforehand, as nu does for all. A variable with events on both sides of a ``;`` has
two, which is one too many. And ``+`` chooses anew for the variables that it binds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import TypeAlias

from cerlab.logic.cel.semantics import holds
from cerlab.logic.cel.syntax import (
    As,
    Atom,
    Filter,
    Formula,
    Or,
    Plus,
    Select,
    Seq,
    children,
    subformulas,
)
from cerlab.logic.cel.text import formula_text
from cerlab.logic.focel.scope import bound, vdef_plus
from cerlab.logic.focel.semantics import fo_valuations
from cerlab.model.answer import Positions, Valuation
from cerlab.predicates.condition import labels_of
from cerlab.predicates.text import name_text
from cerlab.why.conditions import why_false
from cerlab.why.context import Context, contexts
from cerlab.why.derivation import Derivation
from cerlab.why.failure import LIGHT, Alter, Failure, Kind, Path, Relax, Repair
from cerlab.why.goal import Goal, Key, Table
from cerlab.why.join import iterations, sequences
from cerlab.why.leaves import of_atom
from cerlab.why.search import above, relabelled, selected

Chosen: TypeAlias = Mapping[str, int | None]
"""nu, as far as it is chosen beforehand; None where no event is there for the variable."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Where filters look their variables up: what is chosen of nu.

    `shared` are the variables on both sides of some ``;``, `types` the event types of the formula,
    which are labels as variables are.
    """

    chosen: Chosen
    shared: frozenset[str]
    types: frozenset[str]


class Bindings(Table):
    """Derivations that give the variables that matter later other events look different."""

    def __init__(self, goal: Goal, context: Context, scope: Scope) -> None:
        super().__init__(goal, context)
        self._names = scope.shared | scope.chosen.keys()

    def key(self, found: Derivation) -> Key:
        """As without variables, and which of them are bound, to which event."""
        if not self._names:
            return super().key(found)
        nodes = _bindings(found)
        events = tuple(
            (x, None if node.valuation is None else node.valuation.start)
            for x, node in sorted(nodes.items())
            if x in self._names
        )
        return (super().key(found), events)


def fo_derivations(goal: Goal, phi: Formula, path: Path, context: Context) -> list[Derivation]:
    """The derivations of a formula under FO-CEL that the goal allows, the best of each class."""
    types = frozenset(psi.type for psi in subformulas(phi) if isinstance(psi, Atom))
    return _choosing(goal, phi, path, context, Scope({}, frozenset(), types))


def _choosing(
    goal: Goal, phi: Formula, path: Path, context: Context, outside: Scope
) -> list[Derivation]:
    """Those of a formula that binds variables of its own, for each choice of events for them."""
    own, shared = vdef_plus(phi), _on_both_sides(phi)
    names = sorted(x for x in own if _is_looked_up(phi, x, outside.types))
    around = {x: p for x, p in outside.chosen.items() if x not in own}
    table = Table(goal, context)
    for events in product(_candidates(goal), repeat=len(names)):
        goal.budget.spend()
        nu = dict(zip(names, events, strict=True))
        scope = replace(outside, chosen={**around, **nu}, shared=shared)
        for d in _derivations(goal, phi, path, context, scope):
            if all(_takes(d, x, p) for x, p in nu.items()):
                table.offer(d)
    return table.found()


def _candidates(goal: Goal) -> list[int | None]:
    """The events that a variable may stand for; with an allowance also none."""
    return [*goal.marked, None] if goal.allowance >= LIGHT else list(goal.marked)


def _takes(d: Derivation, x: str, p: int | None) -> bool:
    """Whether the event chosen for x is the one that it has in the derivation, if it has one."""
    node = _bindings(d).get(x)
    return node is None or p == (None if node.valuation is None else node.valuation.start)


def _on_both_sides(phi: Formula) -> frozenset[str]:
    """The variables that both sides of some ``;`` bind, outside every ``+``."""
    if isinstance(phi, As | Atom | Plus):
        return frozenset()
    here = vdef_plus(phi.left) & vdef_plus(phi.right) if isinstance(phi, Seq) else frozenset()
    return here.union(*map(_on_both_sides, children(phi)))


def _is_looked_up(phi: Formula, x: str, types: frozenset[str]) -> bool:
    """Whether some filter on x does not find its event by the label x, and no other event.

    The filter may stand where x is not bound, inside a ``+`` or around one that rebinds x; or an
    event type has the same name.
    """
    match phi:
        case Filter(body, condition) if x in labels_of(condition):
            rebound = any(
                isinstance(psi, Plus) and x in vdef_plus(psi.body) for psi in subformulas(body)
            )
            return x in types or rebound or x not in bound(body) or _is_looked_up(body, x, types)
        case Plus(body) if x in vdef_plus(body):
            return False
        case As() | Atom():
            return False
        case _:
            return any(_is_looked_up(psi, x, types) for psi in children(phi))


def _derivations(
    goal: Goal, phi: Formula, path: Path, context: Context, scope: Scope
) -> list[Derivation]:
    table = Bindings(goal, context, scope)
    for derivation in _clause(goal, phi, path, context, scope):
        table.offer(derivation)
    return table.found()


def _clause(
    goal: Goal, phi: Formula, path: Path, context: Context, scope: Scope
) -> Iterator[Derivation]:
    below = contexts(phi, context)

    def of(side: Formula, n: int = 0) -> list[Derivation]:
        return _derivations(goal, side, (*path, n), below[n], scope)

    match phi:
        case Atom():
            yield from of_atom(goal, phi, path, context)
        case As(Atom() as atom, _):
            for d in of_atom(goal, atom, (*path, 0), below[0]):
                yield from _named(phi, path, d, scope)
        case Filter(body, _):
            for d in of(body):
                yield above(phi, path, d, d.valuation, _filtered(goal, phi, path, d, scope))
        case Or(left, right):
            for d in (*of(left, 0), *of(right, 1)):
                yield above(phi, path, d, d.valuation)
        case Seq(left, right):
            joined = sequences(goal, phi, path, context, of(left, 0), of(right, 1))
            yield from (d for each in joined for d in _one_event_each(goal, each, scope))
        case Plus(body):
            once = _choosing(goal, body, (*path, 0), below[0], scope)
            yield from iterations(goal, phi, path, context, once)
        case Select(_, body):
            for d in of(body):
                yield above(phi, path, d, d.valuation, selected(goal, phi, path, d, fo_valuations))
        case _:
            raise AssertionError(f"not in FO-CEL: {phi}")


def _named(phi: As, path: Path, d: Derivation, scope: Scope) -> Iterator[Derivation]:
    """The atom's event is the one chosen for its variable, if one is.

    With several atoms of one variable that is asked when it is known which of them are taken.
    """
    V, x = relabelled(phi, d.valuation), phi.label
    taken = None if V is None else V.start
    if x in scope.shared or x not in scope.chosen or scope.chosen[x] == taken:
        yield above(phi, path, d, V)


def _one_event_each(goal: Goal, d: Derivation, scope: Scope) -> Iterator[Derivation]:
    """A sequence, unless both sides bind a variable: they would give it two events."""
    left, right = d.children
    before = _bindings(left)
    failures = tuple(
        failure
        for x, node in _bindings(right).items()
        if x in scope.shared and x in before
        for failure in _two_events(goal, x, before[x], node)
    )
    if not failures or goal.allowance >= LIGHT:
        yield replace(d, failures=d.failures + failures)


def _two_events(goal: Goal, x: str, first: Derivation, second: Derivation) -> Iterator[Failure]:
    if first.valuation is not None and second.valuation is not None:
        here, there = goal.at[first.valuation.start], goal.at[second.valuation.start]
        words = f"{name_text(x)} is event {here} and event {there}: a variable is one event"
        part, path = formula_text(second.part), second.path
        weaker = Relax(path, children(second.part)[0])
        yield Failure(Kind.VARIABLE, words, part, path, (here, there), (weaker,))


def _bindings(d: Derivation) -> dict[str, Derivation]:
    """The node that binds each variable, outside every ``+``; of several the last."""
    if isinstance(d.part, As):
        return {d.part.label: d}
    found: dict[str, Derivation] = {}
    for child in () if isinstance(d.part, Plus) else d.children:
        found |= _bindings(child)
    return found


def _filtered(
    goal: Goal, phi: Filter, path: Path, d: Derivation, scope: Scope
) -> tuple[Failure, ...]:
    """Whether the events of the variables satisfy the filter."""
    events = {x: _event_of(x, d, scope) for x in labels_of(phi.condition)}
    if d.valuation is None or not all(events.values()):
        return ()  # no event is there for a variable, which is said where it should be
    nu = Valuation(d.valuation.start, d.valuation.end, events)
    if holds(phi.condition, nu, goal.events):
        return ()
    why = why_false(phi.condition, nu, goal.events, goal.at)
    blamed = tuple(goal.at[i] for i in sorted(why.blamed))
    altered = (Alter(goal.at[i]) for i in sorted(why.enough))
    repairs: tuple[Repair, ...] = (Relax(path, phi.body), *altered)
    return (Failure(Kind.FILTER, why.words, formula_text(phi), path, blamed, repairs),)


def _event_of(x: str, d: Derivation, scope: Scope) -> Positions:
    """``nu(x)``, as one position or none."""
    if x in scope.chosen:
        p = scope.chosen[x]
        return () if p is None else (p,)
    return () if d.valuation is None else d.valuation.labels.get(x, ())
