"""What atoms mention: operands, attributes and constants; and which share an attribute."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import assert_never

from cerlab.model.event import Value
from cerlab.predicates.syntax import (
    Atom,
    Attribute,
    Between,
    Comparison,
    Computed,
    Constant,
    Expression,
    Like,
    Member,
    Negated,
    StreamIs,
    TypeIs,
)


def mentioned(group: Iterable[Atom]) -> tuple[str, ...]:
    """The attributes that some atoms mention, from left to right."""
    leaves = (leaf for atom in group for operand in operands(atom) for leaf in leaves_of(operand))
    return tuple(dict.fromkeys(leaf.name for leaf in leaves if isinstance(leaf, Attribute)))


def constants(group: Iterable[Atom]) -> tuple[Value, ...]:
    """The constants that some atoms compare or compute with, from left to right."""
    leaves = (leaf for atom in group for operand in operands(atom) for leaf in leaves_of(operand))
    return tuple(leaf.value for leaf in leaves if isinstance(leaf, Constant))


def leaves_of(expression: Expression) -> Iterator[Attribute | Constant]:
    """The attributes and constants of an expression, from left to right."""
    match expression:
        case Attribute() | Constant():
            yield expression
        case Computed(_, left, right):
            yield from leaves_of(left)
            yield from leaves_of(right)
        case Negated(inner):
            yield from leaves_of(inner)
        case _:
            assert_never(expression)


def operands(atom: Atom) -> tuple[Expression, ...]:
    """The expressions that an atom compares, constants among them."""
    match atom:
        case TypeIs(name):
            return (Attribute("type"), Constant(name))
        case StreamIs(name):
            return (Attribute("stream"), Constant(name))
        case Comparison(_, left, right):
            return (left, right)
        case Member(operand, values):
            return (operand, *values)
        case Between(operand, low, high):
            return (operand, *(bound for bound in (low, high) if bound is not None))
        case Like(operand, _):
            return (operand,)
        case _:
            assert_never(atom)


def components(every: Sequence[Atom]) -> tuple[tuple[Atom, ...], ...]:
    """The finest grouping in which atoms that share an attribute are together, in order.

    >>> from cerlab.predicates.syntax import Operator
    >>> v, w = (Comparison(Operator.GT, Attribute(name), Constant(0)) for name in "vw")
    >>> components([v, w, TypeIs("A")]) == ((v,), (w,), (TypeIs("A"),))
    True
    """
    groups: list[tuple[set[str], list[Atom]]] = []
    for atom in every:
        names = set(mentioned([atom]))
        touching = [group for group in groups if not names.isdisjoint(group[0])]
        groups = [group for group in groups if names.isdisjoint(group[0])]
        joined = [each for _, group in touching for each in group]
        groups.append((names.union(*(own for own, _ in touching)), [*joined, atom]))
    number = {atom: n for n, atom in enumerate(every)}
    ordered = [tuple(sorted(group, key=number.__getitem__)) for _, group in groups]
    return tuple(sorted(ordered, key=lambda group: number[group[0]]))
