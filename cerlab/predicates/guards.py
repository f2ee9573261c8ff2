"""Registers in guards: which ones are read, and guards that read others in their place."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, TypeGuard

from cerlab.predicates.syntax import (
    FALSE,
    And,
    Guard,
    Not,
    Operand,
    Or,
    Predicate,
    RegisterAttribute,
    RegisterComparison,
    conjunction,
    disjunction,
    negation,
    occurrences,
)

Whereabouts: TypeAlias = Callable[[str], str | None]
"""The register that now holds what a register held; None for one that is known to be empty."""


def registers_of(guard: Guard) -> frozenset[str]:
    """The registers that a guard reads."""
    return frozenset(
        side.register
        for atom in occurrences(guard)
        if isinstance(atom, RegisterComparison)
        for side in (atom.left, atom.right)
        if isinstance(side, RegisterAttribute)
    )


def reads_no_register(guard: Guard) -> TypeGuard[Predicate]:
    """Whether a guard is on the event alone."""
    return not any(isinstance(atom, RegisterComparison) for atom in occurrences(guard))


def redirected(guard: Guard, where: Whereabouts) -> Guard:
    """The guard with each register read where it is now; an atom of an empty one is false.

    It holds for the same events and registers as the plain tree would (SRT Def. 13).

    >>> from cerlab.predicates.syntax import Attribute, Operator
    >>> same = RegisterComparison(Operator.EQ, Attribute("id"), RegisterAttribute("r", "id"))
    >>> redirected(same, {"r": "b1"}.get).right
    RegisterAttribute(register='b1', attribute='id')
    >>> redirected(Not(same), lambda r: None)
    Everything()
    """
    match guard:
        case RegisterComparison(op, left, right):
            first, second = _moved(left, where), _moved(right, where)
            if first is None or second is None:
                return FALSE
            return RegisterComparison(op, first, second)
        case Not(operand):
            return negation(redirected(operand, where))
        case And(left, right):
            return conjunction(redirected(left, where), redirected(right, where))
        case Or(left, right):
            return disjunction(redirected(left, where), redirected(right, where))
        case predicate:
            return predicate


def _moved(side: Operand, where: Whereabouts) -> Operand | None:
    if not isinstance(side, RegisterAttribute):
        return side
    there = where(side.register)
    return None if there is None else RegisterAttribute(there, side.attribute)
