"""The meaning of generalised conjunctive queries: the join, recomputed from nothing (DQE Def. 1).

The domain of values is that of numbers (not NaN), texts and moments, equal as values of events are:
1 and 1.0 are one value. NULL, NaN and truth values are in no tuple.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TypeAlias

from cerlab.budget import spend_over
from cerlab.errors import BadData, ResourceLimit
from cerlab.logic.gcq.syntax import Atom, Gcq, check_gcq
from cerlab.model.event import Value
from cerlab.predicates import syntax as pred
from cerlab.predicates.truth import compare, compute, kind_of

MAX_COMBINATIONS = 1_000_000
"""The limit on combinations of tuples, one for each atom, that the reference examines."""

Row: TypeAlias = tuple[Value, ...]
"""A tuple of a relation, or an answer."""

Database: TypeAlias = Mapping[str, Set[Row]]
"""A set of tuples for each relation; a relation that is not named is empty."""


@dataclass(frozen=True, slots=True)
class Insert:
    """``(t, +)``: from now on the tuple is in the relation (DQE Sec. 2)."""

    relation: str
    row: Row


@dataclass(frozen=True, slots=True)
class Delete:
    """``(t, -)``: from now on the tuple is not in the relation (DQE Sec. 2)."""

    relation: str
    row: Row


Update: TypeAlias = Insert | Delete


def database(S: Iterable[Update]) -> dict[str, frozenset[Row]]:
    """``S[1..i]``: the tuples whose last occurrence is an insertion (DQE Sec. 2).

    So a tuple inserted twice is there once, and goes with one deletion. Raises `BadData` for a
    value outside the domain.

    >>> database([Insert("r", (1,)), Insert("r", (2,)), Insert("r", (1,)), Delete("r", (1,))])
    {'r': frozenset({(2,)})}
    """
    last: dict[tuple[str, Row], Update] = {}
    for update in S:
        _check_row(update.relation, update.row)
        last[update.relation, update.row] = update
    D: dict[str, frozenset[Row]] = {}
    for (relation, row), update in last.items():
        if isinstance(update, Insert):
            D[relation] = D.get(relation, frozenset()) | {row}
    return D


def answers(Q: Gcq, D: Database) -> frozenset[Row]:
    """``Q(D)``: join the atoms, keep what satisfies all predicates, project (DQE Def. 1).

    Raises `IllFormed` for what is no query, `BadData` for a tuple with too many or few columns or
    a value outside the domain, `ResourceLimit` above `MAX_COMBINATIONS`.

    >>> from cerlab.logic.gcq.syntax import parse_gcq
    >>> D = {"r": {(1, 10), (2, 20)}, "s": {(10, "a"), (10, "b"), (30, "c")}}
    >>> sorted(answers(parse_gcq("x, z <- r(x, y), s(y, z) | y - x > 5"), D))
    [(1, 'a'), (1, 'b')]
    """
    check_gcq(Q)
    relations = [_relation(atom, D) for atom in Q.atoms]
    if prod(map(len, relations)) > MAX_COMBINATIONS:
        raise ResourceLimit(
            "CER0660",
            f"the reference joins up to {MAX_COMBINATIONS:,} combinations of tuples",
            hint="use fewer tuples, or the maintained query of cerlab.engine.reference.dqe",
        )
    result = set()
    for rows in spend_over(product(*relations)):
        t = _join(Q.atoms, rows)
        if t is not None and all(_holds(P, t) for P in Q.predicates):
            result.add(tuple(t[x] for x in Q.head))
    return frozenset(result)


def answers_after_each(Q: Gcq, S: Iterable[Update]) -> Iterator[frozenset[Row]]:
    """``Q(S[1..i])`` for i = 1, 2, ..: each time from nothing (DQE Sec. 2).

    Raises as `answers`.

    >>> from cerlab.logic.gcq.syntax import parse_gcq
    >>> S = [Insert("r", (1,)), Insert("s", (1,)), Delete("r", (1,))]
    >>> [set(found) for found in answers_after_each(parse_gcq("x <- r(x), s(x)"), S)]
    [set(), {(1,)}, set()]
    """
    updates: list[Update] = []
    for update in S:
        updates.append(update)
        yield answers(Q, database(updates))


def _join(atoms: Sequence[Atom], rows: Sequence[Row]) -> dict[str, Value] | None:
    """The tuple over all variables that the rows make together; None if two disagree."""
    t: dict[str, Value] = {}
    for atom, row in zip(atoms, rows, strict=True):
        for x, value in zip(atom.variables, row, strict=True):
            if t.setdefault(x, value) != value:
                return None
    return t


def _holds(P: pred.Comparison, t: Mapping[str, Value]) -> bool:
    """Whether the tuple is in the predicate; false where the two sides do not compare."""
    return compare(P.operator, _value(P.left, t), _value(P.right, t))


def _value(expression: pred.Expression, t: Mapping[str, Value]) -> Value:
    """Return the value of an expression, None where it is undefined."""
    match expression:
        case pred.Constant(value):
            return value
        case pred.Attribute(x):
            return t[x]
        case pred.Computed(op, left, right):
            return compute(op, _value(left, t), _value(right, t))
        case pred.Negated(operand):
            return compute(pred.Arithmetic.SUB, 0, _value(operand, t))
        case _:
            raise AssertionError("an attribute of another event, which no predicate has")


def _relation(atom: Atom, D: Database) -> Set[Row]:
    rows = D.get(atom.relation, frozenset())
    for row in rows:
        _check_row(atom.relation, row)
        if len(row) != len(atom.variables):
            raise BadData(
                "CER0761",
                f"{row} has {len(row)} columns, '{atom.relation}' has {len(atom.variables)}",
                hint="the last column is the timestamp",
            )
    return rows


def _check_row(relation: str, row: Row) -> None:
    for value in row:
        if kind_of(value) not in ("number", "text", "timestamp"):
            raise BadData(
                "CER0760",
                f"{row} of '{relation}' holds {value!r}, which is no value of a relation",
                hint="use numbers, text or moments",
            )
