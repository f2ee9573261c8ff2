"""Guards: what is asked of the event being read and of the registers (SRT Def. 10).

The atoms on the event alone are those of `cerlab.predicates.syntax`; what is new are comparisons
with an attribute of a stored event. The paper calls guards conditions; here these are of FILTER.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from cerlab.predicates.syntax import Atom, Everything, Expression, Operator


@dataclass(frozen=True, slots=True)
class RegisterAttribute:
    """``r.price``: the value of the attribute in the event that register r holds."""

    register: str
    attribute: str


Operand: TypeAlias = Expression | RegisterAttribute
"""A side of a comparison; an `Expression` is over the event being read."""


@dataclass(frozen=True, slots=True)
class RegisterComparison:
    """``price > r.price``, ``r.price > 3``, ``r.price = s.price``: one side or both are stored."""

    operator: Operator
    left: Operand
    right: Operand


@dataclass(frozen=True, slots=True)
class Not:
    """``NOT operand``."""

    operand: Guard


@dataclass(frozen=True, slots=True)
class And:
    """``left AND right``."""

    left: Guard
    right: Guard


@dataclass(frozen=True, slots=True)
class Or:
    """``left OR right``."""

    left: Guard
    right: Guard


Guard: TypeAlias = Everything | Atom | RegisterComparison | Not | And | Or


def registers_of(guard: Guard) -> frozenset[str]:
    """The registers that a guard reads."""
    return frozenset(
        side.register
        for atom in guard_atoms(guard)
        if isinstance(atom, RegisterComparison)
        for side in (atom.left, atom.right)
        if isinstance(side, RegisterAttribute)
    )


def guard_atoms(guard: Guard) -> Iterator[Everything | Atom | RegisterComparison]:
    """The atoms of a guard, TRUE among them, from left to right."""
    pending = [guard]
    while pending:
        match pending.pop():
            case And(left, right) | Or(left, right):
                pending += (right, left)
            case Not(operand):
                pending.append(operand)
            case atom:
                yield atom
