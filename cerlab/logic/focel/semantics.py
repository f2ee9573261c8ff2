"""The meaning of FO-CEL (FOUND Sec. 3), and the scopes of variables (FOUND Sec. 5.1).

FO-CEL shares its syntax with CEL: ``R``, ``R AS x``, FILTER, OR, ``;`` and ``+``. A filter ``x[P]``
is the atom P(x), ``x.a < y.b`` a binary one. Variables are defined, bound, in scope. An assignment
nu gives every variable one position, anywhere in the stream; a complex event is a non-empty set of
positions. The semantics has one case per clause of the paper.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import NoReturn, TypeAlias

from cerlab.budget import TRANSITION, spend, spend_over, step_budget
from cerlab.errors import IllFormed, ResourceLimit, Unsupported
from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.semantics import MAX_EVENTS, MAX_VALUATIONS, NO_CLOCKS, Clocks, select
from cerlab.logic.cel.text import node_text
from cerlab.model.answer import Valuation
from cerlab.model.event import Event
from cerlab.model.stream import TimeAxis
from cerlab.predicates import syntax as pred
from cerlab.predicates.condition import Application, Condition, Correlation, On, holds_of, labels_of
from cerlab.predicates.text import expression_text
from cerlab.predicates.truth import satisfies


def with_variables(phi: cel.Formula) -> cel.Formula:
    """Return the formula with a fresh variable for each R without AS, and one filter per condition.

    Raise `Unsupported` for operators outside FO-CEL.
    """
    variables = {psi.label for psi in cel.subformulas(phi) if isinstance(psi, cel.As)}
    fresh = (f"_{n}" for n in range(10**9) if f"_{n}" not in variables)
    return _under_strategies(phi, fresh)


def _under_strategies(phi: cel.Formula, fresh: Iterator[str]) -> cel.Formula:
    if isinstance(phi, cel.Select):
        return cel.Select(phi.strategy, _under_strategies(phi.body, fresh))
    return _core_formula(phi, fresh)


def _core_formula(phi: cel.Formula, fresh: Iterator[str]) -> cel.Formula:
    match phi:
        case cel.Atom():
            return cel.As(phi, next(fresh))
        case cel.As(cel.Atom(), _):
            return phi
        case cel.Filter(body, condition):
            return _nest_filters(_core_formula(body, fresh), condition)
        case cel.Or() | cel.Seq() | cel.Plus() | cel.Count(gaps=True):
            return cel.map_children(lambda psi: _core_formula(psi, fresh), phi)
        case _:
            _refuse(phi)


def _nest_filters(phi: cel.Formula, condition: Condition) -> cel.Formula:
    """Return ``phi FILTER p AND q`` as two nested filters, and OR as two copies (FOUND Sec. 3)."""
    match condition:
        case Correlation() if (operand := condition.of_group) is not None:
            raise Unsupported(
                "CER0406", f"FO-CEL has no {expression_text(operand)}", hint='use logic="so"'
            )
        case pred.And(left, right):
            return _nest_filters(_nest_filters(phi, left), right)
        case pred.Or(left, right):
            return cel.Or(_nest_filters(phi, left), _nest_filters(phi, right))
        case On() | Correlation() | Application():
            return cel.Filter(phi, condition)


def _refuse(phi: cel.Formula) -> NoReturn:
    if isinstance(phi, cel.Select):
        raise Unsupported(
            "CER0498", "FO-CEL has strategies only around the whole formula", hint='use logic="so"'
        )
    name = "AS on more than one event type" if isinstance(phi, cel.As) else node_text(phi)
    raise Unsupported("CER0406", f"FO-CEL has no {name}", hint='use logic="so"')


def variables_of(condition: Condition) -> frozenset[str]:
    """Return the variables of a filter."""
    return labels_of(condition)


def vdef(phi: cel.Formula) -> frozenset[str]:
    """Return the variables that AS binds anywhere in the formula (FOUND Sec. 3)."""
    return frozenset(psi.label for psi in cel.subformulas(phi) if isinstance(psi, cel.As))


def vdef_plus(phi: cel.Formula) -> frozenset[str]:
    """Return the variables that AS binds outside every ``+`` and count (FOUND Sec. 3)."""
    match phi:
        case cel.As(_, x):
            return frozenset({x})
        case cel.Plus() | cel.Count():
            return frozenset()
        case _:
            return frozenset[str]().union(*map(vdef_plus, cel.children(phi)))


def bound(phi: cel.Formula) -> frozenset[str]:
    """Return the variables that have a position in every answer (FOUND Sec. 5.1)."""
    match phi:
        case cel.As(_, x):
            return frozenset({x})
        case cel.Or(left, right):
            return bound(left) & bound(right)
        case cel.Plus() | cel.Count():
            return frozenset()
        case _:
            return frozenset[str]().union(*map(bound, cel.children(phi)))


def well_formed(phi: cel.Formula, outside: frozenset[str] = frozenset()) -> bool:
    """Return whether filters use only bound variables, as the paper prints it (FOUND Sec. 5.1).

    This is not enough: see `unscoped_variable` (erratum E4).
    """
    available = outside | bound(phi)
    if isinstance(phi, cel.Filter) and not variables_of(phi.condition) <= available:
        return False
    return all(well_formed(child, available) for child in cel.children(phi))


def unscoped_variable(phi: cel.Formula, outside: frozenset[str] = frozenset()) -> str | None:
    """Return a variable that a filter uses outside its scope; None for a scoped formula.

    Unlike in `well_formed`, the variables that ``rho+`` rebinds are not available from outside it:
    inside they are free, and would range over the whole stream (erratum E4).
    """
    available = outside | bound(phi)
    if isinstance(phi, cel.Filter) and (missing := variables_of(phi.condition) - available):
        return min(missing)
    inside = available
    if isinstance(phi, cel.Plus | cel.Count):
        inside = available - vdef_plus(phi.body)
    variables = (unscoped_variable(child, inside) for child in cel.children(phi))
    return next((variable for variable in variables if variable is not None), None)


def check_first_order(phi: cel.Formula) -> None:
    """Raise `Unsupported` or `IllFormed` for a formula that has no meaning in FO-CEL."""
    check_scopes(with_variables(phi))


def check_scopes(phi: cel.Formula) -> None:
    """Raise `IllFormed` if a filter uses a variable outside its scope (erratum E4)."""
    if (variable := unscoped_variable(phi)) is not None:
        raise IllFormed(
            "CER0230",
            f"the filter on '{variable}' is outside the scope of that variable "
            "(scoped well-formedness, FOUND Sec. 5.1)",
            hint="a variable bound in one branch of OR, or in a +, is bound only inside it",
        )


def safe(phi: cel.Formula) -> bool:
    """Return whether no ``;`` binds one variable on both sides (FOUND Sec. 5.1)."""
    return all(
        not vdef_plus(psi.left) & vdef_plus(psi.right)
        for psi in cel.subformulas(phi)
        if isinstance(psi, cel.Seq)
    )


def unary(phi: cel.Formula) -> bool:
    """Return whether every filter uses one variable (FOUND Sec. 5.1)."""
    return all(
        len(variables_of(psi.condition)) == 1
        for psi in cel.subformulas(phi)
        if isinstance(psi, cel.Filter)
    )


Assignment: TypeAlias = Mapping[str, int]
"""An assignment of one position to each variable."""

Sets: TypeAlias = frozenset[frozenset[int]]
MACHINES = 'evaluator="auto" uses machines where possible'

LabelledEvent: TypeAlias = frozenset[tuple[str, int]]
"""A complex event with the variable and the type that put each position there."""


def fo_valuations(
    phi: cel.Formula,
    S: Sequence[Event],
    axis: TimeAxis | None = None,
    clocks: Clocks = NO_CLOCKS,
) -> frozenset[Valuation]:
    """Return the FO-CEL answers of a formula, each from its first to its last position.

    The answers of FO-CEL have no variables; here the labels of a valuation are the event types and
    the variables, each with the positions that its atoms gave it (several, under a ``+``). Raise
    `IllFormed` if a filter uses a variable that is not in scope, `Unsupported` for operators
    outside FO-CEL. No operator of FO-CEL reads `axis` or `clocks`.
    """
    core = with_variables(phi)
    check_scopes(core)
    return _answers(core, S, names=cel.defined_labels(phi))


def _answers(phi: cel.Formula, S: Sequence[Event], names: frozenset[str]) -> frozenset[Valuation]:
    if isinstance(phi, cel.Select):
        return select(phi.strategy, _answers(phi.body, S, names))
    return frozenset(_valuation(C, names) for C in labelled_events(phi, S))


def _valuation(C: LabelledEvent, names: frozenset[str]) -> Valuation:
    """Return a labelled event as a valuation with the labels in `names`."""
    positions = support(C)
    labels = {X: tuple(i for Y, i in C if X == Y) for X in names}
    return Valuation(min(positions), max(positions), labels)


def complex_events(phi: cel.Formula, S: Sequence[Event]) -> Sets:
    """Return ``[[phi]](S)``: the sets of positions of a formula with a variable at each atom."""
    return frozenset(map(support, labelled_events(phi, S)))


def labelled_events(phi: cel.Formula, S: Sequence[Event]) -> frozenset[LabelledEvent]:
    """Return ``[[phi]](S)`` with labels, over all assignments of the variables."""
    if len(S) > MAX_EVENTS:
        raise ResourceLimit(
            "CER0603",
            f"the reference supports streams of up to {MAX_EVENTS} events, got {len(S)}",
            hint=MACHINES,
        )
    result: frozenset[LabelledEvent] = frozenset()
    with step_budget("the reference of FO-CEL", MACHINES, own=1):
        for nu in spend_over(assignments(free_variables(phi), S)):
            result |= under_assignment(phi, S, nu)
    return result


def support(C: LabelledEvent) -> frozenset[int]:
    """Return the positions in a labelled event."""
    return frozenset(i for _, i in C)


def under_assignment(
    phi: cel.Formula, S: Sequence[Event], nu: Assignment
) -> frozenset[LabelledEvent]:
    """Return ``[[phi]](S, nu)``: the answers of a formula under one assignment of its variables."""
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
    """Return the answers of one round of an iteration, for all positions of its variables."""
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
    """Return whether the events assigned to the variables satisfy a condition."""
    match condition:
        case On(x, P):
            return satisfies(S[nu[x]], P)
        case Correlation():
            return condition.holds(lambda x: [S[nu[x]]])
        case Application(P, arguments):
            return holds_of(P, arguments, lambda x: [S[nu[x]]])
        case _:
            raise AssertionError("AND and OR in conditions become nested filters before evaluation")


def free_variables(phi: cel.Formula) -> frozenset[str]:
    """Return the variables that an assignment has to bind: those outside every ``+`` and count."""
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
    """Yield all assignments of positions in the stream to the variables."""
    names = sorted(variables)
    if len(S) ** len(names) > 10 * MAX_VALUATIONS:
        raise ResourceLimit(
            "CER0609",
            f"{len(names)} variables on {len(S)} events have too many assignments",
            hint='use logic="so"',
        )
    for positions in product(range(len(S)), repeat=len(names)):
        yield dict(zip(names, positions, strict=True))
