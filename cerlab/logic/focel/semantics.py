"""The meaning of FO-CEL formulas, by valuations of their variables (FOUND Sec. 3).

An assignment nu gives every variable one position, anywhere in the stream; a complex event is a
non-empty set of positions. One arm per clause of the paper.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import TypeAlias

from cerlab.budget import TRANSITION, spend, spend_over, step_budget
from cerlab.errors import ResourceLimit
from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.semantics import MAX_EVENTS, MAX_VALUATIONS, NO_CLOCKS, Clocks, select
from cerlab.logic.focel.scope import check_scopes, variables_of, vdef_plus, with_variables
from cerlab.model.answer import Valuation
from cerlab.model.event import Event
from cerlab.model.stream import TimeAxis
from cerlab.predicates.condition import Application, Condition, Correlation, On, holds_of
from cerlab.predicates.truth import satisfies

Assignment: TypeAlias = Mapping[str, int]
"""One position for each variable."""

Sets: TypeAlias = frozenset[frozenset[int]]
MACHINES = 'evaluator="auto" uses machines where there are some'

LabelledEvent: TypeAlias = frozenset[tuple[str, int]]
"""A complex event that remembers which variable and which type put each position there."""


def fo_valuations(
    phi: cel.Formula,
    S: Sequence[Event],
    axis: TimeAxis | None = None,
    clocks: Clocks = NO_CLOCKS,
) -> frozenset[Valuation]:
    """Return the answers of a formula under FO-CEL, with ``start = min`` and ``end = max``.

    FO-CEL forgets its variables; a valuation remembers them: its labels are the event types and the
    variables, each with the positions that its atoms gave it (several, under a ``+``). Raises
    `IllFormed` where a filter uses a variable that is not in its scope, `Unsupported` for
    operators outside FO-CEL. No operator of it reads `axis` or `clocks`.
    """
    core = with_variables(phi)
    check_scopes(core)
    return _answers(core, S, names=cel.defined_labels(phi))


def _answers(phi: cel.Formula, S: Sequence[Event], names: frozenset[str]) -> frozenset[Valuation]:
    if isinstance(phi, cel.Select):
        return select(phi.strategy, _answers(phi.body, S, names))
    return frozenset(_valuation(C, names) for C in labelled_events(phi, S))


def _valuation(C: LabelledEvent, names: frozenset[str]) -> Valuation:
    """The answer with the types and the variables of the text; others were bare types."""
    positions = support(C)
    labels = {X: tuple(i for Y, i in C if X == Y) for X in names}
    return Valuation(min(positions), max(positions), labels)


def complex_events(phi: cel.Formula, S: Sequence[Event]) -> Sets:
    """``[[phi]](S)``: the sets of positions, of formulas with variables everywhere."""
    return frozenset(map(support, labelled_events(phi, S)))


def labelled_events(phi: cel.Formula, S: Sequence[Event]) -> frozenset[LabelledEvent]:
    """``[[phi]](S)``: the union over all assignments, of formulas with variables everywhere."""
    if len(S) > MAX_EVENTS:
        raise ResourceLimit(
            "CER0603",
            f"the reference takes streams of up to {MAX_EVENTS} events, not {len(S)}",
            hint=MACHINES,
        )
    result: frozenset[LabelledEvent] = frozenset()
    with step_budget("the reference of FO-CEL", MACHINES, own=1):
        for nu in spend_over(assignments(free_variables(phi), S)):
            result |= under_assignment(phi, S, nu)
    return result


def support(C: LabelledEvent) -> frozenset[int]:
    """The positions of a complex event."""
    return frozenset(i for _, i in C)


def under_assignment(
    phi: cel.Formula, S: Sequence[Event], nu: Assignment
) -> frozenset[LabelledEvent]:
    """``[[phi]](S, nu)``."""
    match phi:
        case cel.As(cel.Atom(R, stream), x):
            t = S[nu[x]]
            is_atom = t.type == R and (stream is None or t.stream in (None, stream))
            return frozenset({frozenset({(R, nu[x]), (x, nu[x])})}) if is_atom else frozenset()
        case cel.Filter(rho, condition):
            return under_assignment(rho, S, nu) if holds_under(condition, S, nu) else frozenset()
        case cel.Or(left, right):
            return under_assignment(left, S, nu) | under_assignment(right, S, nu)
        case cel.Seq(left, right):
            return _concatenations(under_assignment(left, S, nu), under_assignment(right, S, nu))
        case cel.Plus(rho):
            M = new = once = _rebound(rho, S, nu)
            while new:
                new = _concatenations(once, new) - M
                M |= new
            return M
        case cel.Count(rho, least, most, gaps=True):
            k, times, result = 1, _rebound(rho, S, nu), frozenset[LabelledEvent]()
            once = times
            while times and (most is None or k <= most):
                result |= times if k >= least else frozenset()
                k, times = k + 1, _concatenations(times, once)
            return result
        case _:
            raise AssertionError(f"not in FO-CEL: {phi}")


def _rebound(rho: cel.Formula, S: Sequence[Event], nu: Assignment) -> frozenset[LabelledEvent]:
    """Return one round of an iteration: its variables may stand for any events again."""
    once: frozenset[LabelledEvent] = frozenset()
    for rebound in spend_over(assignments(vdef_plus(rho), S)):
        once |= under_assignment(rho, S, {**nu, **rebound})
    return once


def _concatenations(
    left: frozenset[LabelledEvent], right: frozenset[LabelledEvent]
) -> frozenset[LabelledEvent]:
    starts = [(min(support(C2)), C2) for C2 in right]
    result: set[LabelledEvent] = set()
    for C1 in left:
        spend(1 + len(right) // TRANSITION)
        end = max(support(C1))
        result.update(C1 | C2 for start, C2 in starts if end < start)
        if len(result) > MAX_VALUATIONS:
            message = f"more than {MAX_VALUATIONS:,} complex events"
            raise ResourceLimit("CER0604", message, hint=MACHINES)
    return frozenset(result)


def holds_under(condition: Condition, S: Sequence[Event], nu: Assignment) -> bool:
    """Whether the events that the variables stand for satisfy the filter's atom."""
    match condition:
        case On(x, P):
            return satisfies(S[nu[x]], P)
        case Correlation():
            return condition.holds(lambda x: [S[nu[x]]])
        case Application(P, arguments):
            return holds_of(P, arguments, lambda x: [S[nu[x]]])
        case _:
            raise AssertionError("filters are nested before they are evaluated")


def free_variables(phi: cel.Formula) -> frozenset[str]:
    """Return the variables whose position matters: all that no ``+`` or count inside rebinds."""
    match phi:
        case cel.As(_, x):
            return frozenset({x})
        case cel.Filter(rho, condition):
            return free_variables(rho) | variables_of(condition)
        case cel.Plus(rho) | cel.Count(rho):
            return free_variables(rho) - vdef_plus(rho)
        case _:
            return frozenset[str]().union(*map(free_variables, cel.children(phi)))


def assignments(variables: frozenset[str], S: Sequence[Event]) -> Iterator[dict[str, int]]:
    """All functions from the variables to positions of the stream."""
    names = sorted(variables)
    if len(S) ** len(names) > 10 * MAX_VALUATIONS:
        raise ResourceLimit(
            "CER0609",
            f"{len(names)} variables on {len(S)} events have too many assignments",
            hint='use logic="so"',
        )
    for positions in product(range(len(S)), repeat=len(names)):
        yield dict(zip(names, positions, strict=True))
