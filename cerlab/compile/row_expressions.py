"""Expressions of row patterns to functions of a mapping, or of a row (rows.md 6).

`of_mapping` has the value at the mapping, `at_row` that at a row, whatever the qualifiers. A
condition that reads the row under test and its neighbours only is a function of the row alone.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import count
from typing import Any, Literal, NamedTuple, TypeAlias, assert_never

from cerlab.compile import row_operators as ops
from cerlab.engine.row_search import GrowingMapping
from cerlab.logic.rows import expressions as ex

OfMapping: TypeAlias = Callable[[GrowingMapping], Any]
AtRow: TypeAlias = Callable[[GrowingMapping, int], Any]
Names: TypeAlias = Mapping[str, str]
"""The column that each name stands for."""


def of_mapping(e: ex.Expression, names: Names) -> OfMapping:
    """The value of an expression in DEFINE or MEASURES, as a function of the mapping."""
    match e:
        case ex.Literal(constant):
            return lambda m: constant
        case ex.Column(name, x):
            column = names[name]
            return lambda m: (
                m.columns[column][m.positions[x][k - 1]] if (k := m.count_rows(x, False)) else None
            )
        case ex.Classifier(x):
            return lambda m: (
                m.labels[m.positions[x][k - 1] - m.s] if (k := m.count_rows(x, False)) else None
            )
        case ex.MatchNumber():
            return operator.attrgetter("number")
        case ex.First(body) | ex.Last(body):
            landing, at = _landing(e), at_row(body, names)
            return lambda m: None if (p := landing(m)) is None else at(m, p)
        case ex.Prev(body, j):
            return _step(body, -j, names)
        case ex.Next(body, j):
            return _step(body, j, names)
        case ex.Aggregate(function, body, final):
            return _aggregate(function, body, final, names)
        case _:
            return _operation(e, lambda part: of_mapping(part, names))


def _landing(e: ex.Edge) -> Callable[[GrowingMapping], int | None]:
    """The row that FIRST or LAST lands on, None if there are too few."""
    x, final, offset = ex.variable_of(e.body), e.final, e.offset
    if isinstance(e, ex.First):
        return lambda m: m.positions[x][offset] if m.count_rows(x, final) > offset else None
    return lambda m: (
        m.positions[x][k - 1 - offset] if (k := m.count_rows(x, final)) > offset else None
    )


def _step(body: ex.Expression, j: int, names: Names) -> OfMapping:
    """PREV (j < 0) and NEXT."""
    if isinstance(body, ex.First | ex.Last):
        landing, at = _landing(body), at_row(body.body, names)
    else:
        landing, at = _landing(ex.Last(body)), at_row(body, names)

    def value(m: GrowingMapping) -> Any:
        p = landing(m)
        return None if p is None or not 0 <= p + j < m.length else at(m, p + j)

    return value


def _aggregate(
    function: ex.AggregateFunction, body: ex.Expression | ex.AllRows, final: bool, names: Names
) -> OfMapping:
    x = ex.variable_of(body)
    if isinstance(body, ex.AllRows):
        return lambda m: m.count_rows(x, final)
    at, fold = at_row(body, names), ops.FOLDS[function]
    key = next(_KEYS)

    def value(m: GrowingMapping) -> Any:
        state = m.fold(key, x, final, fold.empty, lambda state, p: fold.step(state, at(m, p)))
        return fold.result(state)

    return value


_KEYS = count()
"""What tells one aggregate from another."""


def at_row(e: ex.Expression, names: Names) -> AtRow:
    """The value at a row of the partition; PREV and NEXT step from there."""
    match e:
        case ex.Literal(constant):
            return lambda m, p: constant
        case ex.Column(name):
            column = names[name]
            return lambda m, p: m.columns[column][p]
        case ex.Classifier():
            return lambda m, p: m.labels[p - m.s] if 0 <= p - m.s < len(m.labels) else None
        case ex.MatchNumber():
            return lambda m, p: m.number
        case ex.Prev(body, j) | ex.Next(body, j):
            step, at = (-j if isinstance(e, ex.Prev) else j), at_row(body, names)
            return lambda m, p: at(m, p + step) if 0 <= p + step < m.length else None
        case ex.First() | ex.Last() | ex.Aggregate():
            raise AssertionError("what reads the mapping is no function of a row")
        case _:
            return _operation(e, lambda part: at_row(part, names))


def _operation(
    e: ex.Operation, part: Callable[[ex.Expression], Callable[..., Any]]
) -> Callable[..., Any]:
    """An operator applied to its operands, whatever these are functions of."""
    match e:
        case ex.And(left, right):
            return _apply(ops.conjunction, (left, right), part)
        case ex.Or(left, right):
            return _apply(ops.disjunction, (left, right), part)
        case ex.Not(body):
            return _apply(ops.negation, (body,), part)
        case ex.Is(body, truth):
            return _apply(lambda a: a is truth, (body,), part)
        case ex.In(body, members):
            return _apply(ops.member, (body, *members), part)
        case ex.Between(body, low, high):
            return _apply(ops.between, (body, low, high), part)
        case ex.Comparison(sign, left, right):
            return _apply(ops.comparison(sign), (left, right), part)
        case ex.Negative(body):
            return _apply(ops.strict(operator.neg), (body,), part)
        case ex.Arithmetic(sign, left, right):
            return _apply(ops.ARITHMETIC[sign], (left, right), part)
        case ex.Concatenation(left, right):
            return _apply(ops.strict(operator.add), (left, right), part)
        case ex.Call(function, arguments):
            return _apply(ops.FUNCTIONS[function], arguments, part)
        case ex.Case():
            return _case(e, part)
        case _:
            assert_never(e)


def _apply(
    function: ops.Function,
    operands: Sequence[ex.Expression],
    part: Callable[[ex.Expression], Callable[..., Any]],
) -> Callable[..., Any]:
    parts = [part(operand) for operand in operands]
    if len(parts) == 2:
        left, right = parts
        return lambda *at: function(left(*at), right(*at))
    return lambda *at: function(*(each(*at) for each in parts))


def _case(e: ex.Case, part: Callable[[ex.Expression], Callable[..., Any]]) -> Callable[..., Any]:
    branches = [(part(test), part(result)) for test, result in e.branches]
    operand = part(e.operand) if e.operand is not None else None
    otherwise = part(e.otherwise) if e.otherwise is not None else lambda *at: None

    def value(*at: Any) -> Any:
        for test, result in branches:
            truth = test(*at) if operand is None else ops.equal(operand(*at), test(*at))
            if truth is True:
                return result(*at)
        return otherwise(*at)

    return value


def of_row(e: ex.Expression, own: frozenset[str | None]) -> bool:
    """Whether a condition is a function of the row under test and its neighbours.

    `own` are the names whose last row is the row under test: the variable, its unions, and None.
    """
    other = any(isinstance(part, ex.Classifier | ex.MatchNumber) for part in ex.subexpressions(e))
    return not other and not registers_read(e, own)


class Register(NamedTuple):
    """What a condition reads of the mapping: so many first or last rows of a name, how many rows
    there are, or what no register holds.
    """

    kind: Literal["first", "last", "number", "other"]
    name: str | None
    rows: int = 0
    labels: bool = False
    """Whether their labels are read."""


def registers_read(e: ex.Expression, own: frozenset[str | None]) -> set[Register]:
    """What a condition reads of the mapping before the row under test."""
    match e:
        case ex.Column(_, x) | ex.Classifier(x):
            label = isinstance(e, ex.Classifier)
            return set() if x in own else {Register("last", x, 1, label)}
        case ex.First(body, j) | ex.Last(body, j):
            x, label = ex.variable_of(body), _reads_label(body)
            kind: Literal["first", "last"] = "first" if isinstance(e, ex.First) else "last"
            return {Register(kind, x, j + 1, label)}
        case ex.Prev(body) | ex.Next(body):
            if _reads_label(body):
                return {Register("other", None)}
            edge = isinstance(body, ex.First | ex.Last)
            x = ex.variable_of(body)
            return registers_read(body, own) if edge or x not in own else set()
        case ex.Aggregate(_, ex.AllRows(x)):
            return {Register("number", x)}
        case ex.Aggregate():
            return {Register("other", None)}
        case _:
            parts = (part for part in ex.children(e) if not isinstance(part, ex.AllRows))
            return {r for part in parts for r in registers_read(part, own)}


def _reads_label(e: ex.Expression) -> bool:
    return any(isinstance(part, ex.Classifier) for part in ex.subexpressions(e))


def registers_of(read: Iterable[Register]) -> Callable[[GrowingMapping], Hashable] | None:
    """The registers' values, as a function of the mapping; None where they do not suffice."""
    registers = sorted(set(read), key=repr)
    if not registers or any(register.kind == "other" for register in registers):
        return None

    def values(m: GrowingMapping) -> Hashable:
        return tuple(_register(register, m) for register in registers)

    return values


def _register(r: Register, m: GrowingMapping) -> Hashable:
    positions = m.positions.get(r.name, [])
    if r.kind == "number":
        return len(positions)
    rows = positions[: r.rows] if r.kind == "first" else positions[-r.rows :]
    return (*rows, *(m.labels[p - m.s] for p in rows)) if r.labels else tuple(rows)
