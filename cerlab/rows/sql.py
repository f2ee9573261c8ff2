"""SQL with MATCH_RECOGNIZE: cerlab evaluates these clauses, DuckDB the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlglot.tokenizer_core import Token, TokenType

from cerlab.errors import CerlabError, SourcePlace, Span, UsageError
from cerlab.logic.parsing import place_at
from cerlab.rows.recognise import as_table, match_recognize, parse_rows
from cerlab.rows.syntax import unsupported
from cerlab.rows.tokens import is_name, tokens_of

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["SqlSession", "sql"]

_NOT_ALIASES = frozenset(("FROM", "JOIN", "LATERAL", "ON", "USING"))
"""Words before a table that are not its alias."""

_BEFORE_TABLES = frozenset(("FROM", "JOIN", "LATERAL", ",", "("))
"""Tokens that may precede a clause's table; a join that ends there has its condition already."""


def sql(query: str, tables: Mapping[str, Any]) -> pa.Table:
    """Return the result of an SQL query with MATCH_RECOGNIZE on tables, as a pyarrow Table.

    cerlab evaluates the clauses. DuckDB evaluates the SQL around them, unless it is just
    ``SELECT columns FROM table``: a join, WHERE, GROUP BY, a subquery, WITH.

    Args:
        query: the SQL text.
        tables: the tables by name, each anything that `match_recognize` accepts.

    Raises:
        UsageError: if DuckDB is needed and not installed, or refuses its part.
        QuerySyntaxError, IllFormed, TypeMismatch, BadData, Unsupported, ResourceLimit: as
            `match_recognize`.

    >>> rows = [{"x": 3}, {"x": 4}, {"x": 6}, {"x": 5}]
    >>> text = '''SELECT low FROM t MATCH_RECOGNIZE (
    ...     MEASURES FIRST(UP.x) AS low PATTERN (UP+) DEFINE UP AS x < NEXT(x))'''
    >>> sql(text, {"t": rows}).to_pylist()
    [{'low': 3}]
    """
    try:
        alone = parse_rows(query)
    except CerlabError:
        alone = None  # SQL around the clause, or an error that is raised again below
    if alone is not None and alone.select is not None:
        for name, table in tables.items():
            if name.upper() == alone.select.table.upper():
                return match_recognize(alone, table)
    session = SqlSession()
    for name, table in tables.items():
        session.connection.register(name, as_table(table))
    return session.run(query)


@dataclass(frozen=True, slots=True)
class _Clause:
    """The place of a MATCH_RECOGNIZE clause in a text, and its input."""

    begin: int
    end: int
    input: str
    """``table AS alias``, or a subquery in parentheses."""
    name: str
    """The names of the input in the clause: ``table AS alias``, or the alias alone."""
    clause: str


class SqlSession:
    """A DuckDB database in memory that supports MATCH_RECOGNIZE.

    A view or a prepared statement keeps the result that its clauses had when it was created.
    """

    def __init__(self) -> None:
        try:
            import duckdb
        except ImportError:
            hint = "pip install duckdb"
            message = "what is around MATCH_RECOGNIZE is run by DuckDB, which is not installed"
            raise UsageError("CER0869", message, hint=hint) from None
        self._error: type[Exception] = duckdb.Error
        self.connection = duckdb.connect()
        self._matches = 0

    def run(self, text: str) -> Any:
        """Return the result of a statement; None for a statement without one."""
        original = text = text.rstrip().rstrip(";")
        # in order, because the input of a clause may use an earlier clause
        while (clause := first_clause(text)) is not None:
            self._matches += 1
            name = f"cerlab_match_{self._matches}"
            self.connection.register(name, self._match_table(text, clause, original))
            text = f"{text[: clause.begin]}{name}{text[clause.end :]}"
        return self._execute(text)

    def _execute(self, text: str) -> Any:
        try:
            result = self.connection.sql(text)
            return None if result is None else result.to_arrow_table()
        except self._error as error:
            message = " ".join(str(error).split())
            hint = "what is around MATCH_RECOGNIZE is DuckDB's SQL"
            raise UsageError("CER0869", f"DuckDB: {message}", hint=hint) from None

    def _match_table(self, text: str, clause: _Clause, original: str) -> Any:
        """Return the result of a clause, after computing its input with the WITH in scope.

        Errors have places in the `original`; in `text`, names of tables replace its earlier
        clauses.
        """
        rows = self._execute(f"{with_before(text, clause.begin)}SELECT * FROM {clause.input}")
        alone = f"SELECT * FROM {clause.name} {clause.clause}"
        try:
            return match_recognize(alone, rows)
        except CerlabError as error:
            if isinstance(error.place, SourcePlace) and error.place.text == alone:
                # the texts are equal from the clause on, so count places from the end
                after = len(text) - clause.end
                at = _offset(alone, error.place.span) - len(alone) + len(original) - after
                begin = len(original) - after - len(clause.clause)
                error.place = place_at(original, max(at, begin), _length(error.place.span))
            raise


def _offset(text: str, span: Span) -> int:
    """Return where a span begins in the text, in characters."""
    lines = text.split("\n")[: span.line - 1]
    return sum(len(line) + 1 for line in lines) + span.column - 1


def _length(span: Span) -> int:
    return span.end_column - span.column if span.end_line == span.line else 1


def first_clause(text: str) -> _Clause | None:
    """Return the first clause of a text whose input contains no other clause, or None."""
    if "MATCH_RECOGNIZE" not in text.upper():
        return None
    tokens = tokens_of(text)
    for i, token in enumerate(tokens):
        opens = i + 1 < len(tokens) and tokens[i + 1].token_type == TokenType.L_PAREN
        if token.text.upper() == "MATCH_RECOGNIZE" and opens and i:
            first, alias = _input_from(tokens, i)
            begin, end = tokens[first].start, tokens[_partner(tokens, i + 1)].end + 1
            if first and tokens[first - 1].text.upper() not in _BEFORE_TABLES:
                place = place_at(text, token.start, len(token.text))
                hint = "put the join into a subquery: FROM (SELECT ..) AS t MATCH_RECOGNIZE (..)"
                raise unsupported("a join as the input of MATCH_RECOGNIZE", place, hint)
            input_text = text[begin : token.start].strip()
            name = input_text
            if ")" in input_text or "." in input_text:
                table = _table_name(tokens, i - 1) if alias is None else alias
                name = "input" if table is None else text[table.start : table.end + 1]
            return _Clause(begin, end, input_text, name, text[token.start : end])
    return None


def _input_from(tokens: list[Token], i: int) -> tuple[int, Token | None]:
    """Return the first token of a clause's input, and the alias of the input.

    ``name``, ``a.b AS c``, ``(query) c``, ``(query) AS c(x, y)``, ``function(..) c``.
    """
    at, alias = i - 1, None
    if tokens[at].token_type == TokenType.R_PAREN:
        name_at = _partner(tokens, at) - 1
        if name_at > 0 and _is_name(tokens[name_at]) and _may_be_aliased(tokens[name_at - 1]):
            at = name_at  # the alias also names columns
    if at and _is_name(tokens[at]) and _may_be_aliased(tokens[at - 1]):
        alias = tokens[at]
        at -= 2 if tokens[at - 1].token_type == TokenType.ALIAS else 1
    if tokens[at].token_type == TokenType.R_PAREN:
        at = _partner(tokens, at)
        return (at - 1 if at and _is_name(tokens[at - 1]) else at), alias  # a table function
    while at > 1 and tokens[at - 1].token_type == TokenType.DOT:
        at -= 2
    return at, alias


def _table_name(tokens: list[Token], at: int) -> Token | None:
    """Return the token that names a table or a table function."""
    if tokens[at].token_type == TokenType.R_PAREN:
        at = _partner(tokens, at) - 1
    return tokens[at] if at >= 0 and _is_name(tokens[at]) else None


def _may_be_aliased(token: Token) -> bool:
    """Return whether a name after this token may be an alias."""
    return token.token_type in (TokenType.ALIAS, TokenType.R_PAREN) or _is_name(token)


def _is_name(token: Token) -> bool:
    return bool(is_name(token)) and token.text.upper() not in _NOT_ALIASES


def _partner(tokens: list[Token], at: int) -> int:
    """Return the index of the parenthesis that matches the one at `at`."""
    step = 1 if tokens[at].token_type == TokenType.L_PAREN else -1
    depth = 0
    while 0 <= at < len(tokens):
        depth += tokens[at].token_type == TokenType.L_PAREN
        depth -= tokens[at].token_type == TokenType.R_PAREN
        if not depth:
            return at
        at += step
    return at - step  # not closed: the parser reports this error


def with_before(text: str, place: int) -> str:
    """Return the WITH clause with only the parts that end before a place in the text."""
    tokens = tokens_of(text)
    if not tokens or tokens[0].text.upper() != "WITH":
        return ""
    ends = [tokens[last].end + 1 for last in _with_parts(tokens) if tokens[last].end < place]
    return text[: ends[-1]] + " " if ends else ""


def _with_parts(tokens: list[Token]) -> Iterator[int]:
    """Yield the last token of each part of the WITH clause."""
    at = 1
    while at < len(tokens):
        while at < len(tokens) and tokens[at].token_type != TokenType.ALIAS:
            at += 1
        while at < len(tokens) and tokens[at].token_type != TokenType.L_PAREN:
            at += 1
        if at == len(tokens):
            return
        at = _partner(tokens, at)
        yield at
        if at + 1 == len(tokens) or tokens[at + 1].token_type != TokenType.COMMA:
            return
        at += 2
