"""Variables of FO-CEL formulas: which are defined, bound, in scope (FOUND Sec. 5.1).

FO-CEL shares its syntax with CEL: ``R``, ``R AS x``, FILTER, OR, ``;`` and ``+``. A filter ``x[P]``
is the atom P(x), ``x.a < y.b`` a binary one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn

from cerlab.errors import IllFormed, Unsupported
from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.text import node_text
from cerlab.predicates import syntax as pred
from cerlab.predicates.condition import Application, Condition, Correlation, On, labels_of


def with_variables(phi: cel.Formula) -> cel.Formula:
    """The formula with a fresh variable for every bare R, and OR between filters spelled out.

    Raises `Unsupported` for operators outside FO-CEL.
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
    """``FILTER p AND q`` is two filters, ``FILTER p OR q`` the OR of two copies (FOUND Sec. 3)."""
    match condition:
        case pred.And(left, right):
            return _nest_filters(_nest_filters(phi, left), right)
        case pred.Or(left, right):
            return cel.Or(_nest_filters(phi, left), _nest_filters(phi, right))
        case On() | Correlation() | Application():
            return cel.Filter(phi, condition)


def _refuse(phi: cel.Formula) -> NoReturn:
    if isinstance(phi, cel.Select):
        raise Unsupported(
            "CER0498", "FO-CEL has strategies around the whole formula only", hint='use logic="so"'
        )
    name = "AS on more than one event type" if isinstance(phi, cel.As) else node_text(phi)
    raise Unsupported("CER0406", f"FO-CEL has no {name}", hint='use logic="so"')


def variables_of(condition: Condition) -> frozenset[str]:
    """The variables of a filter."""
    return labels_of(condition)


def vdef(phi: cel.Formula) -> frozenset[str]:
    """The variables of the AS clauses (FOUND Sec. 3)."""
    return frozenset(psi.label for psi in cel.subformulas(phi) if isinstance(psi, cel.As))


def vdef_plus(phi: cel.Formula) -> frozenset[str]:
    """The variables outside the scope of every ``+`` and every count (FOUND Sec. 3)."""
    match phi:
        case cel.As(_, x):
            return frozenset({x})
        case cel.Plus() | cel.Count():
            return frozenset()
        case _:
            return frozenset[str]().union(*map(vdef_plus, cel.children(phi)))


def bound(phi: cel.Formula) -> frozenset[str]:
    """The variables that every answer gives a position in it (FOUND Sec. 5.1)."""
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
    """Every variable of a filter is bound by some formula around it, as printed (FOUND Sec. 5.1).

    Not enough: see `unscoped_variable` (erratum E4).
    """
    available = outside | bound(phi)
    if isinstance(phi, cel.Filter) and not variables_of(phi.condition) <= available:
        return False
    return all(well_formed(child, available) for child in cel.children(phi))


def unscoped_variable(phi: cel.Formula, outside: frozenset[str] = frozenset()) -> str | None:
    """A variable that some filter uses where nothing binds it; None for scoped well-formed ones.

    As `well_formed`, but entering ``rho+`` takes the variables that it rebinds from what the
    outside offers: there they are free, and would range over the whole stream (erratum E4).
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
    """Raise `Unsupported` or `IllFormed` for formulas without a meaning in FO-CEL."""
    check_scopes(with_variables(phi))


def check_scopes(phi: cel.Formula) -> None:
    """Raise `IllFormed` if a filter uses a variable that is not in its scope (erratum E4)."""
    if (variable := unscoped_variable(phi)) is not None:
        raise IllFormed(
            "CER0230",
            f"the filter on '{variable}' is outside the scope of that variable "
            "(scoped well-formedness, FOUND Sec. 5.1)",
            hint="a variable bound in one branch of OR, or in a +, is bound in there only",
        )


def safe(phi: cel.Formula) -> bool:
    """No ``;`` binds a variable on both sides (FOUND Sec. 5.1)."""
    return all(
        not vdef_plus(psi.left) & vdef_plus(psi.right)
        for psi in cel.subformulas(phi)
        if isinstance(psi, cel.Seq)
    )


def unary(phi: cel.Formula) -> bool:
    """Every filter has one variable (FOUND Sec. 5.1)."""
    return all(
        len(variables_of(psi.condition)) == 1
        for psi in cel.subformulas(phi)
        if isinstance(psi, cel.Filter)
    )
