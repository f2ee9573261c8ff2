"""What is left of a guard when the event's symbol is known: comparisons of registers, in clauses.

A clause is a conjunction of literals, a guard a disjunction of clauses: no clause is FALSE, one
without literals TRUE.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

from cerlab.predicates import syntax as pred
from cerlab.predicates.syntax import Atom, Guard

MAX_CLAUSES = 64
"""The most clauses of a guard; more are left to the reference."""


class Literal(NamedTuple):
    """A comparison, or that it does not hold."""

    comparison: pred.RegisterComparison
    is_negated: bool


Clause: TypeAlias = frozenset[Literal]


class NotTaken(Exception):
    """The engine does not take a plan, or not on this stream; the reference may."""


def residual(guard: Guard, holds: Callable[[Atom], bool]) -> Guard:
    """The guard where exactly those atoms on the event alone hold.

    >>> A, B = pred.TypeIs("A"), pred.TypeIs("B")
    >>> residual(pred.Or(A, B), lambda atom: atom == B)
    Everything()
    """

    def value(atom: Atom | pred.RegisterComparison) -> Guard:
        if isinstance(atom, pred.RegisterComparison):
            return atom
        return pred.EVERYTHING if holds(atom) else pred.FALSE

    return pred.with_atoms(guard, value)


def clauses(guard: Guard) -> tuple[Clause, ...]:
    """A residual guard as clauses, none of which another one implies.

    Raises `NotTaken` above `MAX_CLAUSES`.
    """
    distinct = tuple(dict.fromkeys(_clauses(guard, is_negated=False)))
    return tuple(clause for clause in distinct if not any(other < clause for other in distinct))


def _clauses(guard: Guard, *, is_negated: bool) -> list[Clause]:
    match guard:
        case pred.Everything():
            return [] if is_negated else [frozenset()]
        case pred.RegisterComparison():
            return [frozenset({Literal(guard, is_negated)})]
        case pred.Not(operand):
            return _clauses(operand, is_negated=not is_negated)
        case pred.And(left, right) | pred.Or(left, right):
            first, second = (_clauses(side, is_negated=is_negated) for side in (left, right))
            if isinstance(guard, pred.Or) != is_negated:
                return first + second
            return list(_pairs(first, second))
        case _:
            raise AssertionError(f"{guard} is not residual")


def _pairs(first: list[Clause], second: list[Clause]) -> Iterator[Clause]:
    if len(first) * len(second) > MAX_CLAUSES:
        raise NotTaken("a guard has too many clauses")
    for left in first:
        for right in second:
            clause = left | right
            if not any(Literal(each.comparison, not each.is_negated) in clause for each in clause):
                yield clause
