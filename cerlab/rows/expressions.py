"""The expressions of DEFINE and MEASURES, one dataclass per production.

A qualifier is the canonical name of a variable or union, or None if the column has no qualifier.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from cerlab.display import drawable
from cerlab.model.event import Value


class ArithmeticOperator(Enum):
    """Operators of arithmetic; the value is the operator's text."""

    ADD = "+"
    SUB = "-"
    MUL = "*"
    DIV = "/"
    MOD = "%"


class ComparisonOperator(Enum):
    """Operators of comparison; the value is the operator's text."""

    EQ = "="
    NE = "<>"
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="


class CastType(Enum):
    """The types of CAST; the value is the type's text."""

    INTEGER = "INTEGER"
    BIGINT = "BIGINT"
    DOUBLE = "DOUBLE"
    VARCHAR = "VARCHAR"
    TIMESTAMP = "TIMESTAMP"
    DATE = "DATE"


class AggregateFunction(Enum):
    """The aggregate functions; the value is the function's name."""

    COUNT = "COUNT"
    SUM = "SUM"
    AVG = "AVG"
    MIN = "MIN"
    MAX = "MAX"
    COUNT_DISTINCT = "COUNT DISTINCT"
    STDDEV = "STDDEV"
    STDDEV_POP = "STDDEV_POP"
    VARIANCE = "VARIANCE"
    VAR_POP = "VAR_POP"
    MAX_BY = "MAX_BY"
    MIN_BY = "MIN_BY"
    ARRAY_AGG = "ARRAY_AGG"
    LISTAGG = "LISTAGG"


@drawable
@dataclass(frozen=True, slots=True)
class Literal:
    """A constant: ``1``, ``'text'``, ``TRUE``, ``NULL``, ``DATE '2024-01-31'``, ``30 SECONDS``."""

    value: Value


@drawable
@dataclass(frozen=True, slots=True)
class Column:
    """``x.c`` or ``c``: the value of column c at the last row of x, or of the match."""

    name: str
    qualifier: str | None = None


@drawable
@dataclass(frozen=True, slots=True)
class Classifier:
    """``CLASSIFIER()`` or ``CLASSIFIER(x)``: the variable of the last row of the match, or of x."""

    qualifier: str | None = None


@drawable
@dataclass(frozen=True, slots=True)
class MatchNumber:
    """``MATCH_NUMBER()``: the number of the match in its partition, from 1."""


@drawable
@dataclass(frozen=True, slots=True)
class First:
    """``FIRST(e, j)``: the value of e at the variable's row number j, from 0."""

    body: Expression
    offset: int = 0
    final: bool = False


@drawable
@dataclass(frozen=True, slots=True)
class Last:
    """``LAST(e, j)``: the value of e at the variable's row number j, from 0 at the last one."""

    body: Expression
    offset: int = 0
    final: bool = False


@drawable
@dataclass(frozen=True, slots=True)
class Prev:
    """``PREV(e, j)``: the value of e j rows earlier in the partition."""

    body: Expression
    offset: int = 1


@drawable
@dataclass(frozen=True, slots=True)
class Next:
    """``NEXT(e, j)``: the value of e j rows later in the partition."""

    body: Expression
    offset: int = 1


@drawable
@dataclass(frozen=True, slots=True)
class AllRows:
    """``*`` or ``x.*`` in COUNT: all rows, or those of x."""

    qualifier: str | None = None


@drawable
@dataclass(frozen=True, slots=True)
class Aggregate:
    """``SUM(e)``, ``FINAL SUM(e)``, ``COUNT(x.*)``: an aggregate over the rows of a variable.

    `rest` are further arguments: the key of ``MAX_BY(e, key)``, the separator of ``LISTAGG(e, s)``.
    """

    function: AggregateFunction
    body: Expression | AllRows
    final: bool = False
    rest: tuple[Expression, ...] = ()


@drawable
@dataclass(frozen=True, slots=True)
class Negative:
    """A negative value: ``-e``."""

    body: Expression


@drawable
@dataclass(frozen=True, slots=True)
class Arithmetic:
    """An arithmetic operation, such as ``e + e``."""

    operator: ArithmeticOperator
    left: Expression
    right: Expression


@drawable
@dataclass(frozen=True, slots=True)
class Concatenation:
    """A concatenation of texts: ``e || e``."""

    left: Expression
    right: Expression


@drawable
@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison, such as ``e < e``."""

    operator: ComparisonOperator
    left: Expression
    right: Expression


@drawable
@dataclass(frozen=True, slots=True)
class And:
    """A conjunction: ``e AND e``."""

    left: Expression
    right: Expression


@drawable
@dataclass(frozen=True, slots=True)
class Or:
    """A disjunction: ``e OR e``."""

    left: Expression
    right: Expression


@drawable
@dataclass(frozen=True, slots=True)
class Not:
    """``NOT e``, also as part of ``e NOT IN (..)`` and similar operators."""

    body: Expression


@drawable
@dataclass(frozen=True, slots=True)
class Like:
    """``e LIKE e``: % matches any text, _ any character."""

    body: Expression
    pattern: Expression


@drawable
@dataclass(frozen=True, slots=True)
class Cast:
    """A conversion: ``CAST(e AS type)``."""

    body: Expression
    type: CastType


@drawable
@dataclass(frozen=True, slots=True)
class In:
    """A membership test: ``e IN (e, ..)``."""

    body: Expression
    members: tuple[Expression, ...]


@drawable
@dataclass(frozen=True, slots=True)
class Between:
    """A range test: ``e BETWEEN low AND high``, ends included."""

    body: Expression
    low: Expression
    high: Expression


@drawable
@dataclass(frozen=True, slots=True)
class Is:
    """A test for a constant: ``e IS NULL``, ``e IS TRUE``, ``e IS FALSE``."""

    body: Expression
    truth: bool | None


@drawable
@dataclass(frozen=True, slots=True)
class Case:
    """A choice: ``CASE [e] WHEN e THEN e .. [ELSE e] END``."""

    operand: Expression | None
    branches: tuple[tuple[Expression, Expression], ...]
    otherwise: Expression | None = None


@drawable
@dataclass(frozen=True, slots=True)
class Call:
    """``ABS(e)``, ``COALESCE(e, ..)``: a call of a function in `library`."""

    function: str
    arguments: tuple[Expression, ...]


Leaf: TypeAlias = Literal | Column | Classifier | MatchNumber

Edge: TypeAlias = First | Last

Step: TypeAlias = Prev | Next

Navigation: TypeAlias = Edge | Step

Application: TypeAlias = (
    Negative | Arithmetic | Concatenation | Comparison | And | Or | Not | Like | Cast | Call
)
"""The operations in `library`."""

Operation: TypeAlias = Application | In | Between | Is | Case

Expression: TypeAlias = Leaf | Navigation | Aggregate | Operation


def children(e: Expression | AllRows) -> tuple[Expression | AllRows, ...]:
    """Return the direct subexpressions of an expression, from left to right."""
    match e:
        case Literal() | Column() | Classifier() | MatchNumber() | AllRows():
            return ()
        case Arithmetic(_, left, right) | Comparison(_, left, right):
            return (left, right)
        case Concatenation(left, right) | And(left, right) | Or(left, right) | Like(left, right):
            return (left, right)
        case In(body, members):
            return (body, *members)
        case Between(body, low, high):
            return (body, low, high)
        case Case(operand, branches, otherwise):
            parts = (operand, *(part for branch in branches for part in branch), otherwise)
            return tuple(part for part in parts if part is not None)
        case Call(_, arguments):
            return arguments
        case Aggregate(_, body, _, rest):
            return (body, *rest)
        case _:
            return (e.body,)


def subexpressions(e: Expression | AllRows) -> Iterator[Expression | AllRows]:
    """Yield the expression and all its subexpressions, outermost first, left to right."""
    yield e
    for child in children(e):
        yield from subexpressions(child)


def qualifiers(e: Expression | AllRows) -> frozenset[str | None]:
    """Return the variables that qualify columns and CLASSIFIER calls in an expression.

    None represents a reference without a qualifier.
    """
    return frozenset(
        each.qualifier
        for each in subexpressions(e)
        if isinstance(each, Column | Classifier | AllRows)
    )


def variable_of(e: Expression | AllRows) -> str | None:
    """Return the variable whose rows an argument of FIRST or LAST reads; None for all rows."""
    names = qualifiers(e)
    return next(iter(names)) if len(names) == 1 else None
