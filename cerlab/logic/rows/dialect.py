"""SQL's tokens and expressions, by sqlglot: texts to its tokens, runs of tokens to its nodes.

Function calls stay calls by name, so that no synonym is read as another function; IS binds looser
than comparisons, as in PostgreSQL and DuckDB; RUNNING and FINAL stand before calls.
"""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot import exp, parser
from sqlglot import tokens as sql
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ErrorLevel, ParseError, TokenError
from sqlglot.parser import IsPredicatePrecedence
from sqlglot.tokenizer_core import Token, TokenType

from cerlab.errors import QuerySyntaxError
from cerlab.logic.reading import place_at
from cerlab.logic.rows.errors import unsupported

MODE = "mode"
"""The key of a node's ``meta`` that has RUNNING or FINAL where one is written before it."""

_MODES = ("RUNNING", "FINAL")

_WORDS_OF_STATEMENTS = (
    *("ALTER", "CREATE", "CROSS", "DROP", "EXCEPT", "FETCH", "FOR", "GLOB"),
    *("GRANT", "HAVING", "INNER", "INSERT", "INTERSECT", "INTO", "JOIN", "LATERAL"),
    *("ON", "OUTER", "PARTITIONED_BY", "QUALIFY", "RETURNING", "REVOKE", "ROLLBACK", "TABLESAMPLE"),
    *("UNCACHE", "UNION", "USING", "XOR"),
)
"""Words that are no part of an expression, which are names in one (rows.md 3.1)."""


class RowDialect(Dialect):
    """SQL as the clause has it."""

    class Tokenizer(sql.Tokenizer):
        """SQL's tokens; two question marks are two, and nothing is a template."""

        KEYWORDS: ClassVar[dict[str, TokenType]] = {
            written: kind
            for written, kind in sql.Tokenizer.KEYWORDS.items()
            if "{" not in written and "}" not in written and not written.startswith("?")
            if written not in _WORDS_OF_STATEMENTS
        }
        COMMANDS: ClassVar[set[TokenType]] = set()

    class Parser(parser.Parser):
        """SQL's expressions, with RUNNING and FINAL."""

        FUNCTIONS: ClassVar[dict[str, Any]] = {}
        FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {}
        NO_PAREN_FUNCTIONS: ClassVar[dict[Any, Any]] = {}
        NO_PAREN_FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
            "CASE": parser.Parser.NO_PAREN_FUNCTION_PARSERS["CASE"]
        }
        IS_PREDICATE_PRECEDENCE = IsPredicatePrecedence.LOW

        def longest_expression(
            self, tokens: list[Token], text: str, at: int
        ) -> tuple[exp.Expr | None, int]:
            """The longest expression that begins at a token, and the index of the token after."""
            self.reset()
            self.sql = text
            self._tokens = tokens
            self._tokens_size = len(tokens)
            self._index = at - 1
            self._advance()
            return self._parse_disjunction(), self._index

        def _parse_lambda(self, **options: bool) -> exp.Expr | None:
            word, following = self._curr, self._next
            if word and following and word.text.upper() == "LAMBDA" and is_name(following):
                place = place_at(self.sql, word.start, len(word.text))
                raise unsupported("a lambda", place, "write the condition without a list")
            return super()._parse_lambda(**options)

        def _parse_unary(self) -> exp.Expr | None:
            if not self._is_mode():
                return super()._parse_unary()
            mode = self._curr.text.upper()
            self._advance()
            operand = super()._parse_unary()
            if operand is not None:
                operand.meta[MODE] = mode
            return operand

        def _parse_between(self, this: exp.Expr | None) -> exp.Between:
            low = self._parse_bitwise()
            if not self._match(TokenType.AND):
                self.raise_error("Expecting AND")
            return self.expression(exp.Between(this=this, low=low, high=self._parse_bitwise()))

        def _is_mode(self) -> bool:
            """Whether RUNNING or FINAL stands here, and not a name that is spelled like it."""
            word, following = self._curr, self._next
            return bool(
                word
                and following
                and word.token_type == TokenType.VAR
                and word.text.upper() in _MODES
                and is_name(following)
                and following.token_type not in _OPERATORS
            )


_OPERATORS = {
    *parser.Parser.CONJUNCTION,
    *parser.Parser.DISJUNCTION,
    *parser.Parser.RANGE_PARSERS,
    *parser.Parser.FACTOR,
    TokenType.ALIAS,
    TokenType.ELSE,
    TokenType.END,
    TokenType.IS,
    TokenType.ISNULL,
    TokenType.NOT,
    TokenType.NOTNULL,
    TokenType.THEN,
    TokenType.WHEN,
}
"""Words that stand between operands or after one."""

_NO_OPERAND = (TokenType.COMMA, TokenType.R_PAREN)
"""What may not follow a comma: sqlglot passes over it."""

_DIALECT = RowDialect()


def is_name(token: Token) -> bool:
    """Whether a token may be an identifier: one in quotes, or any word; none is reserved."""
    if token.token_type == TokenType.IDENTIFIER:
        return True
    return token.token_type != TokenType.STRING and token.text.isidentifier()


def canonical(name: exp.Identifier) -> str:
    """The canonical form of the name of a variable (rows.md 2.1)."""
    return str(name.this) if name.args.get("quoted") else str(name.this).upper()


def tokens_of(text: str) -> list[Token]:
    """The tokens of a text; raises `QuerySyntaxError` where a quote or comment does not end."""
    try:
        return _DIALECT.tokenize(text)
    except TokenError as error:
        raise QuerySyntaxError(
            "CER0101",
            "the text ends inside a quoted name, a text or a comment",
            place=place_at(text, len(text.rstrip()), 1),
            expected=(),
        ) from error


def expression_at(tokens: list[Token], text: str, at: int) -> tuple[exp.Expr, int]:
    """The longest expression that begins at a token, and the index of the token after it.

    Raises `QuerySyntaxError`.
    """
    reader = RowDialect.Parser(dialect=_DIALECT, error_level=ErrorLevel.IMMEDIATE)
    try:
        node, after = reader.longest_expression(tokens, text, at)
    except ParseError as error:
        last = tokens[min(reader._index, len(tokens) - 1)]
        message = str(error.errors[0]["description"]) if error.errors else str(error)
        place = place_at(text, last.start, last.end - last.start + 1)
        raise QuerySyntaxError("CER0101", message, place=place, expected=()) from None
    if node is None:
        raise syntax_error(tokens, text, at, "an expression")
    for i in range(at, after):
        if tokens[i].token_type == TokenType.COMMA and tokens[i + 1].token_type in _NO_OPERAND:
            raise syntax_error(tokens, text, i + 1, "an expression")
    return node, after


def syntax_error(tokens: list[Token], text: str, at: int, *expected: str) -> QuerySyntaxError:
    """The error that something else was expected where a token stands, or where the text ends."""
    if at < len(tokens):
        token = tokens[at]
        place = place_at(text, token.start, token.end - token.start + 1)
        message = f"unexpected '{text[token.start : token.end + 1]}'"
    else:
        place = place_at(text, len(text.rstrip()), 1)
        message = "the text ends too early" if text.strip() else "the text is empty"
    return QuerySyntaxError("CER0101", message, place=place, expected=expected)
