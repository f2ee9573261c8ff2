"""Registers in guards: which ones are read, and guards that read others in their place."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, TypeGuard

from cerlab.predicates import syntax as pred

Whereabouts: TypeAlias = Callable[[str], str | None]
"""The register that now holds what a register held; None for one that is known to be empty."""


def registers_of(guard: pred.Guard) -> frozenset[str]:
    """The registers that a guard reads."""
    return frozenset(
        side.register
        for atom in pred.occurrences(guard)
        if isinstance(atom, pred.RegisterComparison)
        for side in (atom.left, atom.right)
        if isinstance(side, pred.RegisterAttribute)
    )


def reads_no_register(guard: pred.Guard) -> TypeGuard[pred.Predicate]:
    """Whether a guard is on the event alone."""
    return not any(isinstance(atom, pred.RegisterComparison) for atom in pred.occurrences(guard))


def redirect_registers(guard: pred.Guard, where: Whereabouts) -> pred.Guard:
    """The guard with each register read where it is now; an atom of an empty one is false.

    It holds for the same events and registers as the plain tree would (SRT Def. 13).

    >>> stored = pred.RegisterAttribute("r", "id")
    >>> same = pred.RegisterComparison(pred.Operator.EQ, pred.Attribute("id"), stored)
    >>> redirect_registers(same, {"r": "b1"}.get).right
    RegisterAttribute(register='b1', attribute='id')
    >>> redirect_registers(pred.Not(same), lambda r: None)
    Everything()
    """

    def redirect(atom: pred.Atom | pred.RegisterComparison) -> pred.Guard:
        if not isinstance(atom, pred.RegisterComparison):
            return atom
        left, right = (_redirect_operand(side, where) for side in (atom.left, atom.right))
        if left is None or right is None:
            return pred.FALSE
        return pred.RegisterComparison(atom.operator, left, right)

    return pred.with_atoms(guard, redirect)


def _redirect_operand(side: pred.Operand, where: Whereabouts) -> pred.Operand | None:
    if not isinstance(side, pred.RegisterAttribute):
        return side
    there = where(side.register)
    return None if there is None else pred.RegisterAttribute(there, side.attribute)
