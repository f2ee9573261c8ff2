"""The search for derivations of FO-CEL formulas, in which a variable has one event (FOUND Sec. 3).

It follows `cerlab.logic.focel.semantics`, and differs from the search for CEL in three ways. A
filter is about the one event of each of its variables; for a variable that is filtered where it is
not bound, an event is chosen before the search, as nu does for all variables. A variable with
events on both sides of a ``;`` would have two events, which is a failure. ``+`` chooses events
again for the variables that it binds.
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
"""Events chosen before the search, the known part of nu; None if a variable has no event."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The events assigned to variables in advance, which filters read.

    `shared_variables` are bound on both sides of some ``;``; `types` are the event types of the
    formula, which are labels as variables are.
    """

    choice: Choice
    shared_variables: frozenset[str]
    types: frozenset[str]


def fo_derivations(part: Part) -> list[CelDerivation]:
    """Return the best derivations of an FO-CEL formula."""
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
    """Return the events of variables in a derivation on which later parts depend."""
    names = scope.shared_variables | scope.choice.keys()
    return tuple((x, _event(node)) for x, node in sorted(_bindings(d, names).items()))


def _choosing(part: Part, outside: Scope) -> list[CelDerivation]:
    """Return derivations of a formula for each assignment of events to its variables."""
    goal, phi = part.goal, part.syntax
    own = vdef_plus(phi)
    names = sorted(x for x in own if _needs_lookup(phi, x, outside.types))
    around = {x: p for x, p in outside.choice.items() if x not in own}
    candidates = (*(goal.marks or ()), *((None,) if part.may_fail else ()))
    best = part.chart()
    # exponential in these variables only: filters find the events of all others by label
    for events in product(candidates, repeat=len(names)):
        spend(own=goal.budget)
        nu: Choice = dict(zip(names, events, strict=True))
        scope = replace(outside, choice={**around, **nu}, shared_variables=_on_both_sides(phi))
        best.all(d for d in _derivations(part, scope) if _takes(d, nu))
    return best.all()


def _takes(d: CelDerivation, nu: Choice) -> bool:
    """Return whether a derivation gives its variables the events assigned in advance."""
    return all(nu[x] == _event(node) for x, node in _bindings(d, nu.keys()).items())


def _on_both_sides(phi: Formula) -> frozenset[str]:
    """Return the variables that some ``;`` outside every ``+`` binds on both sides."""
    if isinstance(phi, cel.As | cel.Atom | cel.Plus | cel.Count):
        return frozenset()
    part = vdef_plus(phi.left) & vdef_plus(phi.right) if isinstance(phi, cel.Seq) else frozenset()
    return part.union(*map(_on_both_sides, children(phi)))


def _needs_lookup(phi: Formula, x: str, types: frozenset[str]) -> bool:
    """Return whether a filter on x needs x's event in advance, because a label does not give it.

    The filter may be outside the scope of x, inside a ``+`` or around one that rebinds x; or an
    event type may have the name x.
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
    """Yield the derivation of ``R AS x`` if its event is the one assigned to x.

    A variable with several atoms is checked later, once it is known which of them match.
    """
    x = phi.label
    if x in scope.shared_variables or x not in scope.choice or scope.choice[x] == _event(d):
        yield part.above(d, (), relabelled(phi, d.valuation))


def _one_event_each(goal: Goal, d: CelDerivation, scope: Scope) -> Iterator[CelDerivation]:
    """Yield a sequence, with a failure for each variable that both sides bind differently."""
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
    """Return the event of an atom or a variable; None if it is missing."""
    return None if node.valuation is None else node.valuation.start


def _bindings(d: CelDerivation, names: Collection[str]) -> dict[str, CelDerivation]:
    """Return, for each of some variables, the last node that binds it outside every ``+``."""
    if not names or isinstance(d.part, cel.Plus | cel.Count):
        return {}
    if isinstance(d.part, cel.As):
        return {d.part.label: d} if d.part.label in names else {}
    bindings: dict[str, CelDerivation] = {}
    for child in d.children:
        bindings |= _bindings(child, names)
    return bindings


def _filter(part: Part, phi: cel.Filter, d: CelDerivation, scope: Scope) -> Iterator[Failure]:
    """Yield the failure of a filter that is false for the events of its variables."""
    events = {x: event_of(x, d, scope) for x in labels_of(phi.condition)}
    if d.valuation is None or not all(events.values()):
        return  # a variable without an event is a failure elsewhere
    nu = Valuation(d.valuation.start, d.valuation.end, events)
    if not holds(phi.condition, nu, part.goal.events):
        yield false_filter(part, phi, nu)


def event_of(x: str, d: CelDerivation, scope: Scope) -> Positions:
    """Return the position of x's event as a tuple, () if there is none."""
    if x in scope.choice:
        p = scope.choice[x]
        return () if p is None else (p,)
    return () if d.valuation is None else d.valuation.labels.get(x, ())
