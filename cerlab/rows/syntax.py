"""MATCH_RECOGNIZE and its patterns, one dataclass per production.

Names of variables and unions are canonical: a regular identifier in upper case, a quoted one
unchanged. Names of columns and measures keep their spelling.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from itertools import permutations
from typing import TypeAlias

from cerlab.display import drawable, short_repr
from cerlab.errors import IllFormed, SourcePlace, TypeMismatch, Unsupported, nearest
from cerlab.logic.ceql.parser import Source
from cerlab.model.clauses import TimeWindow
from cerlab.rows import expressions as ex
from cerlab.rows.expressions import Column, Expression


@drawable
@dataclass(frozen=True, slots=True)
class Variable:
    """A variable ``v``, which reads one row."""

    name: str


@drawable
@dataclass(frozen=True, slots=True)
class Empty:
    """``()``, which reads no row."""


@drawable
@dataclass(frozen=True, slots=True)
class PartitionStart:
    """``^``: the start of the partition."""


@drawable
@dataclass(frozen=True, slots=True)
class PartitionEnd:
    """``$``: the end of the partition."""


@drawable
@dataclass(frozen=True, slots=True)
class Concat:
    """``p p``: two or more parts in sequence."""

    parts: tuple[Pattern, ...]


@drawable
@dataclass(frozen=True, slots=True)
class Alternation:
    """``p | p``: two or more alternatives, earlier ones preferred."""

    parts: tuple[Pattern, ...]


@drawable
@dataclass(frozen=True, slots=True)
class Permute:
    """``PERMUTE(p, .., p)``: the parts in any order, lexicographically earlier orders preferred."""

    parts: tuple[Pattern, ...]


@drawable
@dataclass(frozen=True, slots=True)
class Exclusion:
    """``{- p -}``: p, whose rows ALL ROWS PER MATCH omits."""

    body: Pattern


@drawable
@dataclass(frozen=True, slots=True)
class Repetition:
    """``p*``, ``p+``, ``p?`` or ``p{lo,hi}``, reluctant with ``?`` after it."""

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
    """A measure ``e AS name``."""

    expression: Expression
    name: str


@dataclass(frozen=True, slots=True)
class Definition:
    """A definition ``v AS e``."""

    variable: str
    condition: Expression


@dataclass(frozen=True, slots=True)
class Subset:
    """A union of variables: ``u = (v, ..)``."""

    name: str
    variables: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OrderItem:
    """An item of ORDER BY: ``c [DESC] [NULLS FIRST]``."""

    column: Column
    descending: bool = False
    nulls_first: bool = False


class RowsPerMatch(Enum):
    """The options of ROWS PER MATCH; the value is the option's text."""

    ONE = "ONE ROW PER MATCH"
    ALL = "ALL ROWS PER MATCH"
    OMIT_EMPTY = "ALL ROWS PER MATCH OMIT EMPTY MATCHES"
    WITH_UNMATCHED = "ALL ROWS PER MATCH WITH UNMATCHED ROWS"


@dataclass(frozen=True, slots=True)
class PastLastRow:
    """``SKIP PAST LAST ROW``: the scan continues after the match."""


@dataclass(frozen=True, slots=True)
class ToNextRow:
    """``SKIP TO NEXT ROW``: the scan continues at the second row of the match."""


@dataclass(frozen=True, slots=True)
class ToFirst:
    """``SKIP TO FIRST x``: the scan continues at the first row of x."""

    name: str


@dataclass(frozen=True, slots=True)
class ToLast:
    """``SKIP TO LAST x`` or ``SKIP TO x``: the scan continues at the last row of x."""

    name: str


Skip: TypeAlias = PastLastRow | ToNextRow | ToFirst | ToLast


@dataclass(frozen=True, slots=True)
class SelectItem:
    """An item of SELECT: ``c`` or ``c AS name``."""

    column: Column
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Select:
    """The SELECT around the clause: ``SELECT items FROM table AS input .. AS alias``.

    `items` is None for ``*``; names of tables are canonical.
    """

    items: tuple[SelectItem, ...] | None
    table: str
    input: str | None = None
    alias: str | None = None


@short_repr
@drawable
@dataclass(frozen=True, slots=True)
class RowPattern:
    """A MATCH_RECOGNIZE clause, with the SELECT around it if there is one."""

    pattern: Pattern
    define: tuple[Definition, ...] = ()
    measures: tuple[Measure, ...] = ()
    partition_by: tuple[Column, ...] = ()
    order_by: tuple[OrderItem, ...] = ()
    subsets: tuple[Subset, ...] = ()
    rows: RowsPerMatch = RowsPerMatch.ONE
    skip: Skip = PastLastRow()
    within: int | float | TimeWindow | None = None
    select: Select | None = None
    source: Source | None = field(default=None, compare=False, repr=False)
    """The places of its parts in the source text."""


def children(p: Pattern) -> tuple[Pattern, ...]:
    """Return the direct subpatterns of a pattern, from left to right."""
    match p:
        case Variable() | Empty() | PartitionStart() | PartitionEnd():
            return ()
        case Concat(parts) | Alternation(parts) | Permute(parts):
            return parts
        case _:
            return (p.body,)


def subpatterns(p: Pattern) -> Iterator[Pattern]:
    """Yield the pattern and all its subpatterns, outermost first, left to right."""
    yield p
    for child in children(p):
        yield from subpatterns(child)


def variables(p: Pattern) -> tuple[str, ...]:
    """Return the variables of a pattern in order of first occurrence."""
    return tuple(dict.fromkeys(each.name for each in subpatterns(p) if isinstance(each, Variable)))


def members(query: RowPattern) -> Mapping[str | None, frozenset[str]]:
    """Return the variables of each name: of a variable, a union, and None for all."""
    V = variables(query.pattern)
    return {
        **{v: frozenset({v}) for v in V},
        **{union.name: frozenset(union.variables) for union in query.subsets},
        None: frozenset(V),
    }


def expand_permute(p: Permute) -> Alternation | Pattern:
    """Return PERMUTE as an alternation of sequences."""
    orders = tuple(Concat(order) for order in permutations(p.parts))
    return p.parts[0] if len(p.parts) == 1 else Alternation(orders)


CODES = {
    "quantifier": "CER0250",
    "unknown-variable": "CER0251",
    "duplicate-variable": "CER0252",
    "unknown-column": "CER0253",
    "ambiguous-column": "CER0254",
    "mixed-variables": "CER0255",
    "nesting": "CER0256",
    "offset": "CER0257",
    "arguments": "CER0258",
    "running-final": "CER0259",
    "final-in-define": "CER0266",
    "exclusion-unmatched": "CER0267",
    "duplicate-column": "CER0268",
    "no-columns": "CER0269",
    "within-order": "CER0270",
    "type": "CER0350",
    "skip-absent": "CER0788",
    "skip-first": "CER0789",
}
"""The code of each; `syntax` is CER0101, as in every language."""


def ill_formed(
    name: str, message: str, place: SourcePlace | None = None, hint: str = ""
) -> IllFormed:
    """Return an error in the query itself, found before reading data."""
    return IllFormed(CODES[name], f"{name}: {message}", place=place, hint=hint)


def mismatch(message: str, place: SourcePlace | None = None, hint: str = "") -> TypeMismatch:
    """Return a type error in the query."""
    return TypeMismatch(CODES["type"], f"type: {message}", place=place, hint=hint)


def unsupported(construct: str, place: SourcePlace | None = None, hint: str = "") -> Unsupported:
    """Return the error that a construct is not supported."""
    error = Unsupported("CER0450", f"{construct} is not supported in row patterns", hint=hint)
    error.place = place
    return error


def place_of(query: RowPattern, node: object) -> SourcePlace | None:
    """Return the place of a part in the query's text; None without a text."""
    return query.source.place(node) if query.source else None


def check_row_pattern(query: RowPattern) -> None:
    """Raise `IllFormed` for errors in a row pattern that need no schema."""
    _check_names(query)
    for definition in query.define:
        _check_expression(query, definition.condition)
        for each in ex.subexpressions(definition.condition):
            if isinstance(each, ex.First | ex.Last | ex.Aggregate) and each.final:
                message = "a condition does not see the rows after the one it tests"
                hint = "leave FINAL out"
                raise ill_formed("final-in-define", message, place_of(query, each), hint)
    for measure in query.measures:
        _check_expression(query, measure.expression)
    _check_output(query)
    _check_within(query)


def _check_names(query: RowPattern) -> None:
    """Raise errors for wrong names in PATTERN, SUBSET, DEFINE and SKIP TO."""
    V = variables(query.pattern)
    unions = [union.name for union in query.subsets]
    for union in query.subsets:
        if union.name in V or unions.count(union.name) > 1:
            raise _twice(query, union, f"SUBSET {union.name}")
        for variable in union.variables:
            if variable not in V:
                raise _unknown(query, union, variable, V)
    definition_names = [definition.variable for definition in query.define]
    for definition in query.define:
        if definition.variable not in V:
            raise _unknown(query, definition, definition.variable, V)
        if definition_names.count(definition.variable) > 1:
            raise _twice(query, definition, f"DEFINE {definition.variable}")
    if isinstance(query.skip, ToFirst | ToLast) and query.skip.name not in (*V, *unions):
        raise _unknown(query, query.skip, query.skip.name, (*V, *unions))
    conditions = (definition.condition for definition in query.define)
    for e in (*conditions, *(measure.expression for measure in query.measures)):
        for name in ex.qualifiers(e):
            if name is not None and name not in (*V, *unions):
                raise _unknown(query, e, name, (*V, *unions))


def _unknown(query: RowPattern, at: object, name: str, names: Iterable[str]) -> Exception:
    message = f"'{name}' is not a variable of PATTERN"
    return ill_formed("unknown-variable", message, place_of(query, at), nearest(name, names))


def _twice(query: RowPattern, at: object, name: str) -> Exception:
    message = f"{name}: the name is taken already"
    hint = "a variable has one definition, and a union another name than the variables"
    return ill_formed("duplicate-variable", message, place_of(query, at), hint)


def _check_expression(query: RowPattern, e: ex.Expression) -> None:
    """Raise errors for wrong arguments of navigation and aggregates."""
    for each in ex.subexpressions(e):
        match each:
            case ex.First() | ex.Last() | ex.Aggregate():
                for part in ex.children(each):
                    _check_nesting(query, each, part)
            case ex.Prev(ex.First() | ex.Last()) | ex.Next(ex.First() | ex.Last()):
                continue  # the inner call has the variable, and is checked separately
            case ex.Prev(body) | ex.Next(body):
                _check_nesting(query, each, body)
            case _:
                continue
        variables = ex.qualifiers(each)
        if len(variables) > 1:
            names = ", ".join(sorted(name or "no variable" for name in variables))
            raise ill_formed(
                "mixed-variables",
                f"a call reads rows of one variable, got {names}",
                place_of(query, each),
                "navigate each variable separately: LAST(A.x) + LAST(B.x)",
            )


def _check_nesting(query: RowPattern, call: object, body: ex.Expression | ex.AllRows) -> None:
    for each in ex.subexpressions(body):
        if isinstance(each, ex.Navigation | ex.Aggregate):
            raise ill_formed(
                "nesting",
                "navigation and aggregates do not nest, except PREV and NEXT of FIRST or LAST",
                place_of(query, call),
                "for example PREV(LAST(x.c, 1), 2): two rows before the row of LAST(x.c, 1)",
            )


def _check_output(query: RowPattern) -> None:
    """Raise errors for duplicate columns, no columns, and ``{- -}`` WITH UNMATCHED ROWS."""
    has_exclusion = any(isinstance(p, Exclusion) for p in subpatterns(query.pattern))
    if has_exclusion and query.rows is RowsPerMatch.WITH_UNMATCHED:
        message = "the result would not distinguish excluded rows from unmatched rows"
        hint = "leave {- -} or WITH UNMATCHED ROWS out"
        raise ill_formed("exclusion-unmatched", message, _anywhere(query), hint)
    if query.rows is RowsPerMatch.ONE and not query.partition_by and not query.measures:
        message = "the result has no column"
        hint = "add MEASURES, PARTITION BY or ALL ROWS PER MATCH"
        raise ill_formed("no-columns", message, _anywhere(query), hint)
    names = {column.name.casefold() for column in _keys(query)}
    for measure in query.measures:
        if measure.name.casefold() in names:
            raise duplicate(measure.name, place_of(query, measure))
        names.add(measure.name.casefold())


def _keys(query: RowPattern) -> Iterator[ex.Column]:
    yield from query.partition_by
    if query.rows is not RowsPerMatch.ONE:
        yield from (item.column for item in query.order_by)


def duplicate(name: str, place: SourcePlace | None) -> Exception:
    """Return the error that the result would have two columns of one name."""
    message = f"two columns of the result are called '{name}' (case aside)"
    hint = (
        f"name the measure by another AS, such as AS {name}_2: the result has all keys, and with "
    )
    hint += "ALL ROWS PER MATCH all columns of the input"
    return ill_formed("duplicate-column", message, place, hint)


def _check_within(query: RowPattern) -> None:
    if query.within is None:
        return
    if not query.order_by or query.order_by[0].descending:
        message = "WITHIN measures along the first ORDER BY column, ascending"
        place = place_of(query, query.within) or _anywhere(query)
        raise ill_formed("within-order", message, place, "add ORDER BY, without DESC")


def _anywhere(query: RowPattern) -> SourcePlace | None:
    """Return the place of the first variable, for errors about the whole clause."""
    parts = (p for p in subpatterns(query.pattern) if isinstance(p, Variable))
    places = (place_of(query, p) for p in parts)
    return next((place for place in places if place is not None), None)
