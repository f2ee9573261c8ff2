"""Parsing of row patterns: clauses by keywords, PATTERN by a grammar, expressions by sqlglot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from cerlab.errors import QuerySyntaxError, ResourceLimit, SourcePlace, Span
from cerlab.logic.ceql.parser import Source
from cerlab.logic.parsing import MAX_CHARACTERS
from cerlab.model.clauses import TimeWindow
from cerlab.model.event import Duration
from cerlab.rows import expressions as ex
from cerlab.rows import syntax as rp
from cerlab.rows.builder import ExpressionBuilder, parse_pattern
from cerlab.rows.syntax import check_row_pattern, unsupported
from cerlab.rows.tokens import Cursor


def parse_rows(text: str) -> rp.RowPattern:
    """Return the row pattern in a text: MATCH_RECOGNIZE (..), or SELECT with such a clause.

    Raises `QuerySyntaxError`, `IllFormed` (query errors that need no schema),
    `Unsupported`, which names the construct, and `ResourceLimit` for a text that is too long or
    too deep.

    >>> print(parse_rows('''match_recognize (
    ...     pattern (a b+?) define b as b.x > prev(b.x) measures last(x) as y)'''))
    MATCH_RECOGNIZE (
      MEASURES LAST(x) AS y
      PATTERN (A B+?)
      DEFINE B AS B.x > PREV(B.x)
    )
    """
    if len(text) > MAX_CHARACTERS:
        message = f"the query has {len(text):,} characters, more than {MAX_CHARACTERS:,}"
        raise ResourceLimit("CER0601", message, hint="give the table as the second argument")
    cursor = Cursor(text)
    around = _before(cursor) if cursor.at_words("SELECT") else None
    cursor.need_words("MATCH_RECOGNIZE")
    clauses = read_clauses(cursor)
    if around is not None and (cursor.take_words("AS") or _at_alias(cursor)):
        around.alias = cursor.canonical_name()
    cursor.take_sign(TokenType.SEMICOLON)
    if cursor.token() is not None:
        if around is not None:
            raise unsupported(_outer_text(cursor), cursor.place())
        raise cursor.syntax_error("the end")
    query = _row_pattern(text, clauses, around)
    check_row_pattern(query)
    return query


@dataclass(slots=True)
class _OuterQuery:
    """The SELECT around MATCH_RECOGNIZE; `items` is None for ``*``."""

    items: list[tuple[Parsed, str | None]] | None
    table: str
    input: str | None
    alias: str | None = None

    def build(self, builder: ExpressionBuilder) -> rp.Select:
        """Return the SELECT, whose items are columns of the result."""
        builder.inputs = [self.alias] if self.alias else []
        items = None
        if self.items is not None:
            keys = ((builder.key(*item, "SELECT"), name) for item, name in self.items)
            items = tuple(rp.SelectItem(key, name) for key, name in keys)
        return rp.Select(items, self.table, self.input, self.alias)


def _before(cursor: Cursor) -> _OuterQuery:
    """Read ``SELECT items FROM name [AS alias]``."""
    cursor.need_words("SELECT")
    if cursor.take_words("DISTINCT"):
        hint = "leave DISTINCT out: each match is one row, and PARTITION BY keeps keys apart"
        raise unsupported("SELECT DISTINCT", cursor.place(-1), hint)
    items = None
    if not cursor.take_sign(TokenType.STAR):
        items = cursor.comma_list(
            lambda: (cursor.expression(), cursor.name() if cursor.take_words("AS") else None)
        )
    cursor.need_words("FROM")
    if cursor.at_sign(TokenType.L_PAREN):
        raise unsupported("a subquery in FROM", cursor.place())
    table = cursor.canonical_name()
    alias = None
    if cursor.take_words("AS") or (cursor.at_name() and not cursor.at_words("MATCH_RECOGNIZE")):
        alias = cursor.canonical_name()
    if cursor.token() is not None and not cursor.at_words("MATCH_RECOGNIZE"):
        raise unsupported(_outer_text(cursor), cursor.place())
    return _OuterQuery(items, table, alias)


_AFTER_FROM = ("WHERE", "GROUP", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "JOIN", "UNION")
"""Words that continue a query, so they are not an alias."""


def _at_alias(cursor: Cursor) -> bool:
    return cursor.at_name() and not any(cursor.at_words(*each.split()) for each in _AFTER_FROM)


def _outer_text(cursor: Cursor) -> str:
    token = cursor.token()
    return f"'{token.text.upper() if token else ''}' around the clause"


Parsed: TypeAlias = tuple[exp.Expr, SourcePlace]
"""An expression of sqlglot, and the place of its first token."""

Build: TypeAlias = Callable[[ExpressionBuilder], tuple[Any, ...]]


@dataclass(slots=True)
class Clauses:
    """The clauses in a text, before names are resolved; None or empty if absent.

    Names have a meaning only when PATTERN and SUBSET are known, which may come last: `later` builds
    the clauses that contain expressions.
    """

    pattern: rp.Pattern | None = None
    spans: dict[int, Span] = field(default_factory=dict)
    nodes: list[object] = field(default_factory=list)
    subsets: list[rp.Subset] = field(default_factory=list)
    rows: rp.RowsPerMatch | None = None
    skip: rp.Skip | None = None
    within: int | float | TimeWindow | None = None
    places: list[tuple[object, SourcePlace]] = field(default_factory=list)
    later: dict[str, Build] = field(default_factory=dict)


def _row_pattern(text: str, clauses: Clauses, around: _OuterQuery | None) -> rp.RowPattern:
    """Return the row pattern with names resolved."""
    assert clauses.pattern is not None
    names = (*rp.variables(clauses.pattern), *(union.name for union in clauses.subsets))
    inputs = [each for each in (around.table, around.input) if each] if around else []
    builder = ExpressionBuilder(text, names, inputs)
    builder.spans.update(clauses.spans)
    builder.nodes.extend(clauses.nodes)
    for node, place in clauses.places:
        builder.record(node, place)
    # in a fixed order, so that the first error does not depend on the order of clauses
    order = ("define", "measures", "partition_by", "order_by")
    parts = {name: clauses.later[name](builder) for name in order if name in clauses.later}
    select = around.build(builder) if around else None
    return rp.RowPattern(
        clauses.pattern,
        **parts,
        subsets=tuple(clauses.subsets),
        rows=clauses.rows or rp.RowsPerMatch.ONE,
        skip=clauses.skip or rp.PastLastRow(),
        within=clauses.within,
        select=select,
        source=Source(text, builder.spans, tuple(builder.nodes)),
    )


def read_clauses(cursor: Cursor) -> Clauses:
    """Read the clauses in parentheses."""
    cursor.need_sign(TokenType.L_PAREN, "(")
    kinds, clauses = set[str](), Clauses()
    while not cursor.take_sign(TokenType.R_PAREN):
        clause = _clause_here(cursor)
        if clause is None:
            for words in ("SEEK", "INITIAL"):
                if cursor.at_words(words):
                    raise unsupported(words, cursor.place())
            raise cursor.syntax_error(*(each for each in _CLAUSES if each not in kinds), "')'")
        kind, reader = _CLAUSES[clause]
        if kind in kinds:
            once, message = ("one of each clause",), f"a second {clause}"
            raise QuerySyntaxError("CER0101", message, place=cursor.place(), expected=once)
        kinds.add(kind)
        cursor.take_words(*clause.split())
        reader(cursor, clauses)
    if clauses.pattern is None:
        # back to the closing parenthesis, where PATTERN is missing
        cursor.at -= 1
        raise cursor.syntax_error("PATTERN")
    return clauses


def _clause_here(cursor: Cursor) -> str | None:
    return next((words for words in _CLAUSES if cursor.at_words(*words.split())), None)


def _partition_by(cursor: Cursor, clauses: Clauses) -> None:
    keys = cursor.comma_list(cursor.expression)
    clauses.later["partition_by"] = lambda b: tuple(b.key(*key, "PARTITION BY") for key in keys)


def _order_by(cursor: Cursor, clauses: Clauses) -> None:
    items = cursor.comma_list(lambda: (cursor.expression(), *_direction(cursor)))
    clauses.later["order_by"] = lambda b: tuple(
        rp.OrderItem(b.key(*key, "ORDER BY"), *direction) for key, *direction in items
    )


def _direction(cursor: Cursor) -> tuple[bool, bool]:
    """Read ``[ASC | DESC] [NULLS FIRST | NULLS LAST]``; return two Booleans."""
    descending = cursor.take_words("DESC")
    if not descending:
        cursor.take_words("ASC")
    nulls_first = False
    if cursor.take_words("NULLS"):
        nulls_first = cursor.take_words("FIRST")
        if not nulls_first:
            cursor.need_words("LAST")
    return descending, nulls_first


def _measures(cursor: Cursor, clauses: Clauses) -> None:
    def measure() -> tuple[Parsed, SourcePlace, str]:
        expression = cursor.expression()
        cursor.need_words("AS")
        return expression, cursor.place(), cursor.name()

    measures = cursor.comma_list(measure)
    clauses.later["measures"] = lambda b: tuple(
        b.record(rp.Measure(b.expression(*parsed), name), at) for parsed, at, name in measures
    )


def _define(cursor: Cursor, clauses: Clauses) -> None:
    if cursor.at_words("AUTO") and not cursor.at_words("AUTO", "AS"):
        raise unsupported("DEFINE AUTO", cursor.place())

    def definition() -> tuple[SourcePlace, str, Parsed]:
        at, name = cursor.place(), cursor.canonical_name()
        cursor.need_words("AS")
        return at, name, cursor.expression()

    definitions = cursor.comma_list(definition)
    clauses.later["define"] = lambda b: tuple(
        b.record(rp.Definition(name, b.expression(*parsed)), at) for at, name, parsed in definitions
    )


def _one_row(cursor: Cursor, clauses: Clauses) -> None:
    clauses.rows = rp.RowsPerMatch.ONE


def _all_rows(cursor: Cursor, clauses: Clauses) -> None:
    clauses.rows = rp.RowsPerMatch.ALL
    if cursor.take_words("OMIT"):
        cursor.need_words("EMPTY", "MATCHES")
        clauses.rows = rp.RowsPerMatch.OMIT_EMPTY
    elif cursor.take_words("WITH"):
        cursor.need_words("UNMATCHED", "ROWS")
        clauses.rows = rp.RowsPerMatch.WITH_UNMATCHED
    elif cursor.take_words("SHOW"):
        cursor.need_words("EMPTY", "MATCHES")


def _skip(cursor: Cursor, clauses: Clauses) -> None:
    if cursor.take_words("PAST"):
        cursor.need_words("LAST", "ROW")
        clauses.skip = rp.PastLastRow()
        return
    cursor.need_words("TO")
    if cursor.take_words("NEXT", "ROW"):
        clauses.skip = rp.ToNextRow()
        return
    kind: type[rp.ToFirst | rp.ToLast] = rp.ToLast
    # SKIP TO FIRST x, unless FIRST is a variable and the next clause follows
    if cursor.at_name(1) and not _at_clause(cursor, 1):
        if cursor.take_words("FIRST"):
            kind = rp.ToFirst
        else:
            cursor.take_words("LAST")
    place = cursor.place()
    clauses.skip = kind(cursor.canonical_name())
    clauses.places.append((clauses.skip, place))


def _at_clause(cursor: Cursor, ahead: int) -> bool:
    """Return whether a clause begins `ahead` tokens later."""
    cursor.at += ahead
    words = _clause_here(cursor)
    follows = {
        "PATTERN": cursor.at_sign(TokenType.L_PAREN, 1),
        "SUBSET": cursor.at_sign(TokenType.EQ, 2),
        "DEFINE": cursor.at_sign(TokenType.ALIAS, 2),
    }
    cursor.at -= ahead
    return words is not None and follows.get(words, True)


def _pattern(cursor: Cursor, clauses: Clauses) -> None:
    start, end = cursor.take_parentheses()
    clauses.pattern, clauses.spans, clauses.nodes = parse_pattern(cursor.text, start, end)


def _within(cursor: Cursor, clauses: Clauses) -> None:
    place = cursor.place()
    node, _ = cursor.expression()
    match node:
        case exp.Literal(is_string=False):
            digits = str(node.this)
            try:
                clauses.within = int(digits) if digits.isdecimal() else float(digits)
            except ValueError:  # an exponent without digits
                raise _no_duration(place) from None
        case exp.Interval(this=exp.Literal()):
            width = ExpressionBuilder(cursor.text, (), ()).expression(node, place)
            assert isinstance(width, ex.Literal)
            assert isinstance(width.value, Duration)
            if width.value.nanoseconds < 0:
                raise _no_duration(place)
            clauses.within = TimeWindow(width.value.nanoseconds)
        case _:
            raise _no_duration(place)
    clauses.places.append((clauses.within, place))


def _no_duration(place: SourcePlace) -> QuerySyntaxError:
    expected = ("a number from 0 on", "an INTERVAL")
    return QuerySyntaxError(
        "CER0101", "expected the width of WITHIN", place=place, expected=expected
    )


def _subset(cursor: Cursor, clauses: Clauses) -> None:
    unions = cursor.comma_list(lambda: _union(cursor))
    clauses.subsets += [union for union, _ in unions]
    clauses.places += unions


def _union(cursor: Cursor) -> tuple[rp.Subset, SourcePlace]:
    place = cursor.place()
    name = cursor.canonical_name()
    cursor.need_sign(TokenType.EQ, "=")
    cursor.need_sign(TokenType.L_PAREN, "(")
    union = rp.Subset(name, tuple(cursor.comma_list(cursor.canonical_name)))
    cursor.need_sign(TokenType.R_PAREN, ")")
    return union, place


_CLAUSES: dict[str, tuple[str, Callable[[Cursor, Clauses], None]]] = {
    "PARTITION BY": ("partition", _partition_by),
    "ORDER BY": ("order", _order_by),
    "MEASURES": ("measures", _measures),
    "ONE ROW PER MATCH": ("rows", _one_row),
    "ALL ROWS PER MATCH": ("rows", _all_rows),
    "AFTER MATCH SKIP": ("skip", _skip),
    "PATTERN": ("pattern", _pattern),
    "WITHIN": ("within", _within),
    "SUBSET": ("subset", _subset),
    "DEFINE": ("define", _define),
}
"""The keywords that begin a clause, its name, and the function that reads the rest of it."""
