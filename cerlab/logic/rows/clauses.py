"""The clauses between the parentheses of MATCH_RECOGNIZE, in any order (rows.md 3.1 to 3.3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from cerlab.errors import QuerySyntaxError, SourcePlace, Span
from cerlab.logic.rows import syntax as rp
from cerlab.logic.rows.cursor import Cursor
from cerlab.logic.rows.errors import unsupported
from cerlab.logic.rows.pattern_builder import parse_pattern
from cerlab.model.clauses import TimeWindow

_NANOSECONDS = {
    "DAY": 86_400 * 10**9,
    "HOUR": 3600 * 10**9,
    "MINUTE": 60 * 10**9,
    "SECOND": 10**9,
    "MILLISECOND": 10**6,
    "MICROSECOND": 10**3,
    "NANOSECOND": 1,
}


@dataclass(frozen=True, slots=True)
class SqlExpression:
    """An expression as sqlglot has it, the place of its first token, and its name if it has one."""

    node: exp.Expr
    place: SourcePlace
    name: str = ""
    name_place: SourcePlace | None = None


@dataclass(slots=True)
class Clauses:
    """What the clauses say, expressions not built yet; None and empty where a clause is absent."""

    pattern: rp.Pattern | None = None
    pattern_spans: dict[int, Span] = field(default_factory=dict)
    pattern_nodes: list[object] = field(default_factory=list)
    define: list[SqlExpression] = field(default_factory=list)
    measures: list[SqlExpression] = field(default_factory=list)
    partition_by: list[SqlExpression] = field(default_factory=list)
    order_by: list[tuple[SqlExpression, bool, bool]] = field(default_factory=list)
    subsets: list[tuple[rp.Subset, SourcePlace]] = field(default_factory=list)
    rows: rp.Rows | None = None
    skip: rp.Skip | None = None
    skip_place: SourcePlace | None = None
    within: int | float | TimeWindow | None = None
    within_place: SourcePlace | None = None


def read_clauses(cursor: Cursor) -> Clauses:
    """Go past ``( clause .. )``; raises `QuerySyntaxError`, `IllFormed`, `Unsupported`."""
    cursor.need_sign(TokenType.L_PAREN, "(")
    kinds, clauses = set[str](), Clauses()
    while not cursor.take_sign(TokenType.R_PAREN):
        clause = next((words for words in _CLAUSES if cursor.at_words(*words.split())), None)
        if clause is None:
            for words in ("SEEK", "INITIAL"):
                if cursor.at_words(words):
                    raise unsupported(words, cursor.place())
            raise cursor.syntax_error(*(each for each in _CLAUSES if each not in kinds), "')'")
        kind, reader = _CLAUSES[clause]
        if kind in kinds:
            place = cursor.place()
            message = f"a second {clause}"
            raise QuerySyntaxError(
                "CER0101", message, place=place, expected=("one of each clause",)
            )
        kinds.add(kind)
        cursor.take_words(*clause.split())
        reader(cursor, clauses)
    if clauses.pattern is None:
        cursor.at -= 1
        raise cursor.syntax_error("PATTERN")
    return clauses


def _partition_by(cursor: Cursor, clauses: Clauses) -> None:
    clauses.partition_by = cursor.comma_list(lambda: SqlExpression(*cursor.expression()))


def _order_by(cursor: Cursor, clauses: Clauses) -> None:
    clauses.order_by = cursor.comma_list(lambda: _order_item(cursor))


def _order_item(cursor: Cursor) -> tuple[SqlExpression, bool, bool]:
    item = SqlExpression(*cursor.expression())
    descending = cursor.take_words("DESC")
    if not descending:
        cursor.take_words("ASC")
    nulls_first = False
    if cursor.take_words("NULLS"):
        nulls_first = cursor.take_words("FIRST")
        if not nulls_first:
            cursor.need_words("LAST")
    return item, descending, nulls_first


def _measures(cursor: Cursor, clauses: Clauses) -> None:
    clauses.measures = cursor.comma_list(lambda: _measure(cursor))


def _measure(cursor: Cursor) -> SqlExpression:
    node, place = cursor.expression()
    cursor.need_words("AS")
    name_place = cursor.place()
    return SqlExpression(node, place, cursor.name(), name_place)


def _one_row(cursor: Cursor, clauses: Clauses) -> None:
    clauses.rows = rp.Rows.ONE


def _all_rows(cursor: Cursor, clauses: Clauses) -> None:
    clauses.rows = rp.Rows.ALL
    if cursor.take_words("OMIT"):
        cursor.need_words("EMPTY", "MATCHES")
        clauses.rows = rp.Rows.OMIT_EMPTY
    elif cursor.take_words("WITH"):
        cursor.need_words("UNMATCHED", "ROWS")
        clauses.rows = rp.Rows.WITH_UNMATCHED
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
    if cursor.at_name(1) and not _at_clause(cursor, 1):
        if cursor.take_words("FIRST"):
            kind = rp.ToFirst
        else:
            cursor.take_words("LAST")
    clauses.skip_place = cursor.place()
    clauses.skip = kind(cursor.canonical_name())


def _at_clause(cursor: Cursor, ahead: int) -> bool:
    """Whether a clause begins some tokens ahead, and not a variable that is spelled like one."""
    cursor.at += ahead
    words = next((words for words in _CLAUSES if cursor.at_words(*words.split())), None)
    follows = {
        "PATTERN": cursor.at_sign(TokenType.L_PAREN, 1),
        "SUBSET": cursor.at_sign(TokenType.EQ, 2),
        "DEFINE": cursor.at_sign(TokenType.ALIAS, 2),
    }
    cursor.at -= ahead
    return words is not None and follows.get(words, True)


def _pattern(cursor: Cursor, clauses: Clauses) -> None:
    start, end = cursor.take_parentheses()
    result = parse_pattern(cursor.text, start, end)
    clauses.pattern, clauses.pattern_spans, clauses.pattern_nodes = result


def _within(cursor: Cursor, clauses: Clauses) -> None:
    clauses.within_place = place = cursor.place()
    node, _ = cursor.expression()
    match node:
        case exp.Literal(is_string=False):
            digits = str(node.this)
            try:
                clauses.within = int(digits) if digits.isdecimal() else float(digits)
            except ValueError:  # an exponent without digits
                raise _no_duration(place) from None
        case exp.Interval(this=exp.Literal() as number, unit=exp.Var() as unit):
            name = unit.name.upper().removesuffix("S")
            if name not in _NANOSECONDS:
                raise unsupported(f"an interval in {unit.name.upper()}", place)
            clauses.within = TimeWindow(_duration(str(number.this), _NANOSECONDS[name], place))
        case _:
            raise _no_duration(place)


def _duration(number: str, unit: int, place: SourcePlace) -> int:
    try:
        nanoseconds = Fraction(number) * unit
    except ValueError:
        raise _no_duration(place) from None
    if nanoseconds < 0 or nanoseconds.denominator != 1:
        raise _no_duration(place)
    return int(nanoseconds)


def _no_duration(place: SourcePlace) -> QuerySyntaxError:
    expected = ("a number from 0 on", "an INTERVAL")
    return QuerySyntaxError("CER0101", "this is no width", place=place, expected=expected)


def _subset(cursor: Cursor, clauses: Clauses) -> None:
    clauses.subsets = cursor.comma_list(lambda: _union(cursor))


def _union(cursor: Cursor) -> tuple[rp.Subset, SourcePlace]:
    place = cursor.place()
    name = cursor.canonical_name()
    cursor.need_sign(TokenType.EQ, "=")
    cursor.need_sign(TokenType.L_PAREN, "(")
    union = rp.Subset(name, tuple(cursor.comma_list(cursor.canonical_name)))
    cursor.need_sign(TokenType.R_PAREN, ")")
    return union, place


def _define(cursor: Cursor, clauses: Clauses) -> None:
    if cursor.at_words("AUTO") and not cursor.at_words("AUTO", "AS"):
        raise unsupported("DEFINE AUTO", cursor.place())
    clauses.define = cursor.comma_list(lambda: _definition(cursor))


def _definition(cursor: Cursor) -> SqlExpression:
    name_place = cursor.place()
    name = cursor.canonical_name()
    cursor.need_words("AS")
    node, place = cursor.expression()
    return SqlExpression(node, place, name, name_place)


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
"""The words that a clause begins with, which clause it is, and what reads the rest of it."""
