"""Guards built from guards: Boolean operations that drop constants, and registers redirected.

What is built holds for the same events and registers as the plain tree would (SRT Def. 13).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from typing import TypeAlias

from cerlab.predicates.guards import And, Guard, Not, Operand, Or, RegisterAttribute
from cerlab.predicates.guards import RegisterComparison as Compared
from cerlab.predicates.syntax import EVERYTHING

FALSE: Guard = Not(EVERYTHING)
"""The guard that nothing satisfies."""

Whereabouts: TypeAlias = Callable[[str], str | None]
"""The register that now holds what a register held; None for one that is known to be empty."""


def both(left: Guard, right: Guard) -> Guard:
    """``left AND right`` without a constant in it.

    >>> from cerlab.predicates.syntax import TypeIs
    >>> both(EVERYTHING, TypeIs("A")), both(TypeIs("A"), FALSE) == FALSE
    (TypeIs(type='A'), True)
    """
    if left == FALSE or right == FALSE:
        return FALSE
    if left == EVERYTHING:
        return right
    return left if right in (EVERYTHING, left) else And(left, right)


def either(left: Guard, right: Guard) -> Guard:
    """``left OR right`` without a constant in it."""
    if EVERYTHING in (left, right):
        return EVERYTHING
    if left == FALSE:
        return right
    return left if right in (FALSE, left) else Or(left, right)


def negation(guard: Guard) -> Guard:
    """``NOT guard``, of a negation what it negates."""
    return guard.operand if isinstance(guard, Not) else Not(guard)


def all_of(guards: Iterable[Guard]) -> Guard:
    """The conjunction of guards, TRUE of none."""
    start: Guard = EVERYTHING
    return reduce(both, guards, start)


def redirected(guard: Guard, where: Whereabouts) -> Guard:
    """The guard with each register read where it is now; an atom of an empty one is false.

    >>> from cerlab.predicates.syntax import Attribute, Operator
    >>> same = Compared(Operator.EQ, Attribute("id"), RegisterAttribute("r", "id"))
    >>> redirected(same, {"r": "b1"}.get).right
    RegisterAttribute(register='b1', attribute='id')
    >>> redirected(Not(same), lambda r: None)
    Everything()
    """
    match guard:
        case Compared(op, left, right):
            sides = (_moved(left, where), _moved(right, where))
            return FALSE if None in sides else Compared(op, *sides)  # type: ignore[arg-type]
        case Not(operand):
            return negation(redirected(operand, where))
        case And(first, second):
            return both(redirected(first, where), redirected(second, where))
        case Or(first, second):
            return either(redirected(first, where), redirected(second, where))
        case predicate:
            return predicate


def _moved(side: Operand, where: Whereabouts) -> Operand | None:
    if not isinstance(side, RegisterAttribute):
        return side
    there = where(side.register)
    return None if there is None else RegisterAttribute(there, side.attribute)
