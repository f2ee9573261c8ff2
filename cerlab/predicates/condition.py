"""Conditions of a FILTER: predicates put to labels, and comparisons between labels (DESIGN 3.5)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from cerlab.budget import spend
from cerlab.model.event import Value
from cerlab.predicates.second_order import SetOf, UserPredicate
from cerlab.predicates.syntax import And, Operator, Or, Predicate


@dataclass(frozen=True, slots=True)
class On:
    """``X[P]``: all events of label X satisfy P; holds where X is empty."""

    label: str
    predicate: Predicate


@dataclass(frozen=True, slots=True)
class LabelAttribute:
    """``x.attr``."""

    label: str
    attribute: str


@dataclass(frozen=True, slots=True)
class Correlation:
    """``x.attr op y.attr2`` for two different labels."""

    operator: Operator
    left: LabelAttribute
    right: LabelAttribute


@dataclass(frozen=True, slots=True)
class Application:
    """``increasing(x.price, 5)``: a predicate over sets of events, registered from Python."""

    predicate: UserPredicate
    arguments: tuple[SetOf | Value, ...]


Atomic: TypeAlias = On | Correlation | Application
Condition: TypeAlias = Atomic | And["Condition"] | Or["Condition"]
"""AND nests filters; OR is the OR of two copies, so each copy decides as a whole."""


def atomics(condition: Condition) -> Iterator[Atomic]:
    """The atomic conditions in a condition, from left to right."""
    match condition:
        case And(left, right) | Or(left, right):
            yield from atomics(left)
            yield from atomics(right)
        case atomic:
            yield atomic


def labels_of(condition: Condition) -> frozenset[str]:
    """The labels that a condition mentions."""
    match condition:
        case On(label, _):
            return frozenset({label})
        case Correlation(_, left, right):
            return frozenset({left.label, right.label})
        case Application(_, arguments):
            return frozenset(a.label for a in arguments if isinstance(a, SetOf))
        case And(first, second) | Or(first, second):
            return labels_of(first) | labels_of(second)


def alternatives(condition: Condition) -> tuple[tuple[Atomic, ...], ...]:
    """The disjunctive form: one tuple of atomic conditions for each way to satisfy it."""
    match condition:
        case And(left, right):
            first, second = alternatives(left), alternatives(right)
            spend(len(first) * len(second))
            return tuple(a + b for a in first for b in second)
        case Or(left, right):
            return alternatives(left) + alternatives(right)
        case atomic:
            return ((atomic,),)
