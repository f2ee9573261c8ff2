"""The search under FO-CEL: one event for each variable (FOUND Sec. 3).

It follows `cerlab.logic.focel.semantics`, and is that of CEL with three differences. A filter is
about the one event of each of its variables; a variable that is filtered where it is not bound has
its event chosen beforehand, as nu does for all. A variable with events on both sides of a ``;`` has
two, which is one too many. And ``+`` chooses anew for the variables that it binds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import TypeAlias

from cerlab.budget import spend
from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.semantics import holds
from cerlab.logic.cel.syntax import Formula, children, subformulas
from cerlab.logic.focel.semantics import bound, fo_valuations, vdef_plus
from cerlab.model.answer import Positions, Valuation
from cerlab.predicates.condition import labels_of
from cerlab.predicates.text import name_text
from cerlab.why.cel import (
    Part,
    false_filter,
    iterations,
    of_atom,
    relabelled,
    selection,
    sequences,
)
from cerlab.why.deduction import CelDerivation, Goal
from cerlab.why.failure import VARIABLE, Failure

Choice: TypeAlias = Mapping[str, int | None]
"""nu, as far as it is chosen beforehand; None where no event is there for the variable."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Events that are chosen for variables before the search, where filters look them up.

    `shared_variables` are on both sides of some ``;``, `types` are the event types of the formula,
    which are labels as variables are.
    """

    choice: Choice
    shared_variables: frozenset[str]
    types: frozenset[str]


def fo_derivations(part: Part) -> list[CelDerivation]:
    """Return the derivations under FO-CEL that the goal allows, the best of each item."""
    types = frozenset(psi.type for psi in subformulas(part.syntax) if isinstance(psi, cel.Atom))
    return _choosing(part, Scope({}, frozenset(), types))


def _clause(part: Part, scope: Scope) -> Iterator[CelDerivation]:
    def of(n: int = 0) -> list[CelDerivation]:
        return _derivations(part.below(n), scope)

    match part.syntax:
        case cel.Atom() as phi:
            yield from of_atom(part, phi)
        case cel.As(cel.Atom() as atom, _) as phi:
            for d in of_atom(part.below(), atom):
                yield from _at_variable(part, phi, d, scope)
        case cel.Filter() as phi:
            yield from (part.above(d, _filter(part, phi, d, scope)) for d in of())
        case cel.Or():
            yield from map(part.above, (*of(0), *of(1)))
        case cel.Seq():
            for d in sequences(part, of(0), of(1)):
                yield from _one_event_each(part.goal, d, scope)
        case cel.Plus() | cel.Count():
            yield from iterations(part, _choosing(part.below(), scope))
        case cel.Select() as phi:
            for d in of():
                yield part.above(d, selection(part, phi, d.valuation, fo_valuations))
        case _:
            raise AssertionError(f"not in FO-CEL: {part.syntax}")


def _derivations(part: Part, scope: Scope) -> list[CelDerivation]:
    return part.chart(lambda d: bindings_item(d, scope)).all(_clause(part, scope))


def bindings_item(d: CelDerivation, scope: Scope) -> tuple[tuple[str, int | None], ...]:
    """Which of the variables that matter later are bound, to which event."""
    names = scope.shared_variables | scope.choice.keys()
    return tuple((x, _event(node)) for x, node in sorted(_bindings(d, names).items()))


def _choosing(part: Part, outside: Scope) -> list[CelDerivation]:
    """Yield derivations of a formula that binds variables, for each choice of their events."""
    goal, phi = part.goal, part.syntax
    own = vdef_plus(phi)
    names = sorted(x for x in own if _needs_lookup(phi, x, outside.types))
    around = {x: p for x, p in outside.choice.items() if x not in own}
    candidates = (*(goal.marks or ()), *((None,) if part.may_fail else ()))
    best = part.chart()
    # Exponential in these variables only; all others find their event by their label.
    for events in product(candidates, repeat=len(names)):
        spend(own=goal.budget)
        nu: Choice = dict(zip(names, events, strict=True))
        scope = replace(outside, choice={**around, **nu}, shared_variables=_on_both_sides(phi))
        best.all(d for d in _derivations(part, scope) if _takes(d, nu))
    return best.all()


def _takes(d: CelDerivation, nu: Choice) -> bool:
    """Whether the variables that a derivation binds have the events chosen for them."""
    return all(nu[x] == _event(node) for x, node in _bindings(d, nu.keys()).items())


def _on_both_sides(phi: Formula) -> frozenset[str]:
    """The variables that both sides of some ``;`` bind, outside every ``+``."""
    if isinstance(phi, cel.As | cel.Atom | cel.Plus | cel.Count):
        return frozenset()
    part = vdef_plus(phi.left) & vdef_plus(phi.right) if isinstance(phi, cel.Seq) else frozenset()
    return part.union(*map(_on_both_sides, children(phi)))


def _needs_lookup(phi: Formula, x: str, types: frozenset[str]) -> bool:
    """Whether some filter on x does not find its event by the label x, and no other event.

    The filter may stand where x is not bound, inside a ``+`` or around one that rebinds x; or an
    event type has the same name.
    """
    match phi:
        case cel.Filter(body, condition) if x in labels_of(condition):
            rebound = any(
                isinstance(psi, cel.Plus | cel.Count) and x in vdef_plus(psi.body)
                for psi in subformulas(body)
            )
            return x in types or rebound or x not in bound(body) or _needs_lookup(body, x, types)
        case cel.Plus(body) | cel.Count(body) if x in vdef_plus(body):
            return False
        case cel.As() | cel.Atom():
            return False
        case _:
            return any(_needs_lookup(psi, x, types) for psi in children(phi))


def _at_variable(
    part: Part, phi: cel.As, d: CelDerivation, scope: Scope
) -> Iterator[CelDerivation]:
    """The atom's event is the one chosen for its variable, if one is.

    With several atoms of one variable that is asked when it is known which of them are taken.
    """
    x = phi.label
    if x in scope.shared_variables or x not in scope.choice or scope.choice[x] == _event(d):
        yield part.above(d, (), relabelled(phi, d.valuation))


def _one_event_each(goal: Goal, d: CelDerivation, scope: Scope) -> Iterator[CelDerivation]:
    """A sequence, which fails where both sides bind a variable: it would have two events."""
    before, after = (_bindings(side, scope.shared_variables) for side in d.children)
    failures = tuple(
        failure
        for x, node in after.items()
        if x in before
        for failure in _two_events(goal, x, before[x], node)
    )
    yield replace(d, failures=d.failures + failures)


def _two_events(goal: Goal, x: str, one: CelDerivation, other: CelDerivation) -> Iterator[Failure]:
    first, second = _event(one), _event(other)
    if first is not None and second is not None:
        pair = goal.at[first], goal.at[second]
        assert isinstance(other.part, cel.As)
        name, into = name_text(x), other.part.body
        yield VARIABLE.failure(other.part, other.path, pair, variable=name, into=into)


def _event(node: CelDerivation) -> int | None:
    """The event of an atom or a variable, if one is there."""
    return None if node.valuation is None else node.valuation.start


def _bindings(d: CelDerivation, names: Collection[str]) -> dict[str, CelDerivation]:
    """The node that binds each of some variables, outside every ``+``; of several the last."""
    if not names or isinstance(d.part, cel.Plus | cel.Count):
        return {}
    if isinstance(d.part, cel.As):
        return {d.part.label: d} if d.part.label in names else {}
    bindings: dict[str, CelDerivation] = {}
    for child in d.children:
        bindings |= _bindings(child, names)
    return bindings


def _filter(part: Part, phi: cel.Filter, d: CelDerivation, scope: Scope) -> Iterator[Failure]:
    """Whether the events of the variables satisfy the filter."""
    events = {x: event_of(x, d, scope) for x in labels_of(phi.condition)}
    if d.valuation is None or not all(events.values()):
        return  # no event is there for a variable, which is said where it should be
    nu = Valuation(d.valuation.start, d.valuation.end, events)
    if not holds(phi.condition, nu, part.goal.events):
        yield false_filter(part, phi, nu)


def event_of(x: str, d: CelDerivation, scope: Scope) -> Positions:
    """``nu(x)``, as one position or none."""
    if x in scope.choice:
        p = scope.choice[x]
        return () if p is None else (p,)
    return () if d.valuation is None else d.valuation.labels.get(x, ())
