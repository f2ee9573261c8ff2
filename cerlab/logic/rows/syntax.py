"""The MATCH_RECOGNIZE clause and its patterns, one dataclass per production (rows.md 3, 4).

Names of variables and unions are canonical: a regular identifier in upper case, a quoted one as it
stands (rows.md 2.1). Names of columns and measures keep their spelling.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from itertools import permutations
from typing import TypeAlias

from cerlab.display import drawable
from cerlab.logic.ceql.parser import Source
from cerlab.logic.rows.expressions import Column, Expression
from cerlab.model.clauses import TimeWindow


@drawable
@dataclass(frozen=True, slots=True)
class Variable:
    """``v``: one row."""

    name: str


@drawable
@dataclass(frozen=True, slots=True)
class Empty:
    """``()``: no row."""


@drawable
@dataclass(frozen=True, slots=True)
class PartitionStart:
    """``^``: before the first row of the partition."""


@drawable
@dataclass(frozen=True, slots=True)
class PartitionEnd:
    """``$``: after the last row of the partition."""


@drawable
@dataclass(frozen=True, slots=True)
class Concat:
    """``p p``: two parts or more."""

    parts: tuple[Pattern, ...]


@drawable
@dataclass(frozen=True, slots=True)
class Alternation:
    """``p | p``: two parts or more, the earlier ones preferred."""

    parts: tuple[Pattern, ...]


@drawable
@dataclass(frozen=True, slots=True)
class Permute:
    """``PERMUTE(p, .., p)``: the parts in any order, lexicographically earlier ones preferred."""

    parts: tuple[Pattern, ...]


@drawable
@dataclass(frozen=True, slots=True)
class Exclusion:
    """``{- p -}``: p, whose rows ALL ROWS PER MATCH does not show."""

    body: Pattern


@drawable
@dataclass(frozen=True, slots=True)
class Repetition:
    """``p*``, ``p+``, ``p?``, ``p{lo,hi}``, and ``?`` after it if reluctant; no bound is None."""

    body: Pattern
    lo: int
    hi: int | None
    reluctant: bool


Pattern: TypeAlias = (
    Variable
    | Empty
    | PartitionStart
    | PartitionEnd
    | Concat
    | Alternation
    | Permute
    | Exclusion
    | Repetition
)


@dataclass(frozen=True, slots=True)
class Measure:
    """``e AS name``."""

    expression: Expression
    name: str


@dataclass(frozen=True, slots=True)
class Definition:
    """``v AS e``."""

    variable: str
    condition: Expression


@dataclass(frozen=True, slots=True)
class Subset:
    """``u = (v, ..)``: a union of variables."""

    name: str
    variables: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OrderItem:
    """``c [DESC] [NULLS FIRST]``."""

    column: Column
    descending: bool = False
    nulls_first: bool = False


class Rows(Enum):
    """Which rows the result has; the value is how it is written (rows.md 3.2)."""

    ONE = "ONE ROW PER MATCH"
    ALL = "ALL ROWS PER MATCH"
    OMIT_EMPTY = "ALL ROWS PER MATCH OMIT EMPTY MATCHES"
    WITH_UNMATCHED = "ALL ROWS PER MATCH WITH UNMATCHED ROWS"


@dataclass(frozen=True, slots=True)
class PastLastRow:
    """``SKIP PAST LAST ROW``."""


@dataclass(frozen=True, slots=True)
class ToNextRow:
    """``SKIP TO NEXT ROW``."""


@dataclass(frozen=True, slots=True)
class ToFirst:
    """``SKIP TO FIRST x``."""

    name: str


@dataclass(frozen=True, slots=True)
class ToLast:
    """``SKIP TO LAST x``, ``SKIP TO x``."""

    name: str


Skip: TypeAlias = PastLastRow | ToNextRow | ToFirst | ToLast


@dataclass(frozen=True, slots=True)
class SelectItem:
    """``c``, ``c AS name``: a column of the result and its name there."""

    column: Column
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Select:
    """``SELECT items FROM table AS input MATCH_RECOGNIZE (..) AS alias`` around the clause.

    `items` is None for ``*``; names of tables are canonical.
    """

    items: tuple[SelectItem, ...] | None
    table: str
    input: str | None = None
    alias: str | None = None


@drawable
@dataclass(frozen=True, slots=True)
class RowPattern:
    """A MATCH_RECOGNIZE clause, and the SELECT around it where there is one (rows.md 3)."""

    pattern: Pattern
    define: tuple[Definition, ...] = ()
    measures: tuple[Measure, ...] = ()
    partition_by: tuple[Column, ...] = ()
    order_by: tuple[OrderItem, ...] = ()
    subsets: tuple[Subset, ...] = ()
    rows: Rows = Rows.ONE
    skip: Skip = PastLastRow()
    within: int | float | TimeWindow | None = None
    select: Select | None = None
    source: Source | None = field(default=None, compare=False, repr=False)
    """Where its parts stand in the text that it was read from."""


def children(p: Pattern) -> tuple[Pattern, ...]:
    """The direct subpatterns, from left to right."""
    match p:
        case Variable() | Empty() | PartitionStart() | PartitionEnd():
            return ()
        case Concat(parts) | Alternation(parts) | Permute(parts):
            return parts
        case _:
            return (p.body,)


def subpatterns(p: Pattern) -> Iterator[Pattern]:
    """The pattern and all its subpatterns, outermost first, left to right."""
    yield p
    for child in children(p):
        yield from subpatterns(child)


def variables(p: Pattern) -> tuple[str, ...]:
    """V: the primary variables, in order of first occurrence (rows.md 2.3)."""
    return tuple(dict.fromkeys(each.name for each in subpatterns(p) if isinstance(each, Variable)))


def members(query: RowPattern) -> Mapping[str | None, frozenset[str]]:
    """set(x) of every variable and union x, and of None, the universal variable (rows.md 2.3)."""
    V = variables(query.pattern)
    return {
        **{v: frozenset({v}) for v in V},
        **{union.name: frozenset(union.variables) for union in query.subsets},
        None: frozenset(V),
    }


def expand_permute(p: Permute) -> Alternation | Pattern:
    """The alternation that PERMUTE stands for (rows.md 4.3)."""
    orders = tuple(Concat(order) for order in permutations(p.parts))
    return p.parts[0] if len(p.parts) == 1 else Alternation(orders)
