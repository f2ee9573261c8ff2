"""Text to row patterns: clauses by their words, PATTERN by our grammar, expressions by sqlglot."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot.tokenizer_core import TokenType

from cerlab.errors import ResourceLimit
from cerlab.logic.ceql.parser import Source
from cerlab.logic.reading import MAX_CHARACTERS
from cerlab.logic.rows import syntax as rp
from cerlab.logic.rows.builder import ExpressionBuilder
from cerlab.logic.rows.check import check_row_pattern
from cerlab.logic.rows.clauses import Clauses, SqlExpression, read_clauses
from cerlab.logic.rows.cursor import Cursor
from cerlab.logic.rows.errors import unsupported


def parse_rows(text: str) -> rp.RowPattern:
    """Read ``MATCH_RECOGNIZE (..)``, or the SELECT around it (rows.md 3, 12.1).

    Raises `QuerySyntaxError`, `IllFormed` (the query errors of rows.md 10 that need no schema),
    `Unsupported` for what is refused by name, and `ResourceLimit` for a text that is too long or
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
        raise ResourceLimit("CER0601", message, hint="a table is the second argument")
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
    """What stands around the clause; `items` is None for ``*``."""

    items: list[tuple[SqlExpression, str | None]] | None
    table: str
    input: str | None
    alias: str | None = None


def _before(cursor: Cursor) -> _OuterQuery:
    """``SELECT items FROM name [AS alias]``."""
    cursor.need_words("SELECT")
    if cursor.take_words("DISTINCT"):
        raise unsupported("SELECT DISTINCT", cursor.place(-1))
    items = None
    if not cursor.take_sign(TokenType.STAR):
        items = cursor.comma_list(lambda: _item(cursor))
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


def _item(cursor: Cursor) -> tuple[SqlExpression, str | None]:
    item = SqlExpression(*cursor.expression())
    return item, cursor.name() if cursor.take_words("AS") else None


_AFTER_FROM = ("WHERE", "GROUP", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "JOIN", "UNION")
"""Words that go on a query, and are no alias."""


def _at_alias(cursor: Cursor) -> bool:
    return cursor.at_name() and not any(cursor.at_words(*each.split()) for each in _AFTER_FROM)


def _outer_text(cursor: Cursor) -> str:
    token = cursor.token()
    return f"'{token.text.upper() if token else ''}' around the clause"


def _row_pattern(text: str, clauses: Clauses, around: _OuterQuery | None) -> rp.RowPattern:
    """The query of the clauses, names resolved (rows.md 2.4)."""
    assert clauses.pattern is not None
    names = (*rp.variables(clauses.pattern), *(union.name for union, _ in clauses.subsets))
    inputs = [each for each in (around.table, around.input) if each] if around else []
    builder = ExpressionBuilder(text, names, inputs)
    builder.spans.update(clauses.pattern_spans)
    builder.nodes.extend(clauses.pattern_nodes)
    for union, place in clauses.subsets:
        builder.record(union, place)
    if clauses.skip_place is not None:
        builder.record(clauses.skip, clauses.skip_place)
    if clauses.within_place is not None:
        builder.record(clauses.within, clauses.within_place)
    return rp.RowPattern(
        clauses.pattern,
        tuple(_definition(builder, each) for each in clauses.define),
        tuple(_measure(builder, each) for each in clauses.measures),
        tuple(builder.key(each.node, each.place, "PARTITION BY") for each in clauses.partition_by),
        tuple(
            rp.OrderItem(builder.key(each.node, each.place, "ORDER BY"), *direction)
            for each, *direction in clauses.order_by
        ),
        tuple(union for union, _ in clauses.subsets),
        clauses.rows or rp.Rows.ONE,
        clauses.skip or rp.PastLastRow(),
        clauses.within,
        _select(builder, around) if around else None,
        Source(text, builder.spans, tuple(builder.nodes)),
    )


def _measure(builder: ExpressionBuilder, item: SqlExpression) -> rp.Measure:
    measure = rp.Measure(builder.expression(item.node, item.place), item.name)
    assert item.name_place is not None
    builder.record(measure, item.name_place)
    return measure


def _definition(builder: ExpressionBuilder, item: SqlExpression) -> rp.Definition:
    condition = builder.expression(item.node, item.place)
    definition = rp.Definition(item.name, condition)
    assert item.name_place is not None
    builder.record(definition, item.name_place)
    return definition


def _select(builder: ExpressionBuilder, around: _OuterQuery) -> rp.Select:
    builder.inputs = [around.alias] if around.alias else []
    items = None
    if around.items is not None:
        items = tuple(
            rp.SelectItem(builder.key(item.node, item.place, "SELECT"), name)
            for item, name in around.items
        )
    return rp.Select(items, around.table, around.input, around.alias)
