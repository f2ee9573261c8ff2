"""What atoms mention: operands, attributes and constants; and which share an attribute."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import assert_never

from cerlab.model.event import Value
from cerlab.predicates import syntax as pred


def attributes_of(group: Iterable[pred.Atom]) -> tuple[str, ...]:
    """The attributes that some atoms mention, from left to right."""
    leaves = (leaf for atom in group for operand in operands(atom) for leaf in leaves_of(operand))
    return tuple(dict.fromkeys(leaf.name for leaf in leaves if isinstance(leaf, pred.Attribute)))


def constants(group: Iterable[pred.Atom]) -> tuple[Value, ...]:
    """The constants that some atoms compare or compute with, from left to right."""
    leaves = (leaf for atom in group for operand in operands(atom) for leaf in leaves_of(operand))
    return tuple(leaf.value for leaf in leaves if isinstance(leaf, pred.Constant))


def leaves_of(expression: pred.Expression) -> Iterator[pred.Attribute | pred.Constant]:
    """The attributes and constants of an expression, from left to right."""
    match expression:
        case pred.Attribute() | pred.Constant():
            yield expression
        case pred.Computed(_, left, right):
            yield from leaves_of(left)
            yield from leaves_of(right)
        case pred.Negated(inner):
            yield from leaves_of(inner)
        case _:
            assert_never(expression)


def operands(atom: pred.Atom) -> tuple[pred.Expression, ...]:
    """The expressions that an atom compares, constants among them."""
    match atom:
        case pred.TypeIs(name):
            return (pred.Attribute("type"), pred.Constant(name))
        case pred.StreamIs(name):
            return (pred.Attribute("stream"), pred.Constant(name))
        case pred.Comparison(_, left, right):
            return (left, right)
        case pred.Member(operand, values):
            return (operand, *values)
        case pred.Between(operand, low, high):
            return (operand, *(bound for bound in (low, high) if bound is not None))
        case pred.Like(operand, _):
            return (operand,)
        case _:
            assert_never(atom)


def components(every: Sequence[pred.Atom]) -> tuple[tuple[pred.Atom, ...], ...]:
    """The finest grouping in which atoms that share an attribute are together, in order.

    >>> more, zero = pred.Operator.GT, pred.Constant(0)
    >>> v, w = (pred.Comparison(more, pred.Attribute(name), zero) for name in "vw")
    >>> components([v, w, pred.TypeIs("A")]) == ((v,), (w,), (pred.TypeIs("A"),))
    True
    """
    groups: list[tuple[set[str], list[pred.Atom]]] = []
    for atom in every:
        names = set(attributes_of([atom]))
        touching = [group for group in groups if not names.isdisjoint(group[0])]
        groups = [group for group in groups if names.isdisjoint(group[0])]
        touching_atoms = [each for _, group in touching for each in group]
        groups.append((names.union(*(own for own, _ in touching)), [*touching_atoms, atom]))
    number = {atom: n for n, atom in enumerate(every)}
    sorted_groups = [tuple(sorted(group, key=number.__getitem__)) for _, group in groups]
    return tuple(sorted(sorted_groups, key=lambda group: number[group[0]]))
