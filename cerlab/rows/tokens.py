"""SQL's tokens and expressions, read by sqlglot.

Function calls stay calls by name, so that no synonym is read as another function. IS binds looser
than comparisons, as in PostgreSQL and DuckDB. RUNNING and FINAL come before calls.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from sqlglot import exp, parser
from sqlglot import tokens as sql
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ErrorLevel, ParseError, TokenError
from sqlglot.parser import IsPredicatePrecedence
from sqlglot.tokenizer_core import Token, TokenType

from cerlab.errors import IllFormed, QuerySyntaxError, ResourceLimit, SourcePlace
from cerlab.logic.parsing import place_at
from cerlab.model.event import UNITS
from cerlab.rows.syntax import unsupported

MODE = "mode"
"""The key of a node's ``meta`` for RUNNING or FINAL written before it."""

CALL = "call"
"""The key of a node's ``meta`` that separates CAST(..) from a literal with a type."""

LITERAL = "DURATION"
"""The unit of a duration whose text contains its units."""

_MODES = ("RUNNING", "FINAL")

_WORDS_OF_STATEMENTS = (
    *("ALTER", "CREATE", "CROSS", "DROP", "EXCEPT", "FETCH", "FOR", "GLOB"),
    *("GRANT", "HAVING", "INNER", "INSERT", "INTERSECT", "INTO", "JOIN", "LATERAL"),
    *("ON", "OUTER", "PARTITIONED_BY", "QUALIFY", "RETURNING", "REVOKE", "ROLLBACK", "TABLESAMPLE"),
    *("UNCACHE", "UNION", "USING", "XOR"),
)
"""Words of statements, which are ordinary names inside an expression."""


class RowDialect(Dialect):
    """The SQL dialect inside MATCH_RECOGNIZE."""

    class Tokenizer(sql.Tokenizer):
        """A tokenizer of SQL without templates, in which ``??`` is two tokens."""

        KEYWORDS: ClassVar[dict[str, TokenType]] = {
            written: kind
            for written, kind in sql.Tokenizer.KEYWORDS.items()
            # sqlglot's templates ({{, {%) would read the braces of quantifiers
            if "{" not in written and "}" not in written and not written.startswith("?")
            if written not in _WORDS_OF_STATEMENTS
        }
        # words such as SHOW would otherwise read the rest of the text as one token
        COMMANDS: ClassVar[set[TokenType]] = set()

    class Parser(parser.Parser):
        """A parser of SQL's expressions with RUNNING and FINAL."""

        FUNCTIONS: ClassVar[dict[str, Any]] = {}
        FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
            "CAST": lambda self: self._parse_cast_call(),
            "EXTRACT": lambda self: self._parse_extract(),
            "POSITION": lambda self: self._parse_as_call("POSITION", self._arguments_of_position),
            "SUBSTRING": lambda self: self._parse_as_call("SUBSTRING", self._arguments_of_slice),
            "TRIM": lambda self: self._parse_trim_call(),
        }
        NO_PAREN_FUNCTIONS: ClassVar[dict[Any, Any]] = {}
        NO_PAREN_FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
            "CASE": parser.Parser.NO_PAREN_FUNCTION_PARSERS["CASE"]
        }
        IS_PREDICATE_PRECEDENCE = IsPredicatePrecedence.LOW

        def longest_expression(
            self, tokens: list[Token], text: str, at: int
        ) -> tuple[exp.Expr | None, int]:
            """Return the longest expression from a token on, and the index of the next token."""
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

        def _parse_cast_call(self) -> exp.Expr:
            """Return ``CAST(e AS type)`` as a cast, unlike the literal ``TIMESTAMP '..'``."""
            node = self._parse_cast(strict=True)
            node.meta[CALL] = True
            return node

        def _parse_as_call(self, name: str, arguments: Callable[[], list[Any]]) -> exp.Expr:
            """Return a call whose arguments are separated by keywords."""
            node = exp.Anonymous(this=name, expressions=arguments())
            if not self._curr or self._curr.token_type != TokenType.R_PAREN:
                self.raise_error("Expecting )")
            return node

        def _arguments_of_position(self) -> list[Any]:
            """Return the arguments of POSITION: ``part IN text``."""
            part = self._parse_bitwise()
            if not self._match(TokenType.IN):
                self.raise_error("Expecting IN, as in POSITION(part IN text)")
            return [part, self._parse_bitwise()]

        def _arguments_of_slice(self) -> list[Any]:
            """Return the arguments of SUBSTRING, separated by commas or by FROM and FOR."""
            arguments = self._parse_csv(self._parse_disjunction)
            if self._match(TokenType.FROM):
                arguments.append(self._parse_bitwise())
                if self._match_text_seq("FOR"):
                    arguments.append(self._parse_bitwise())
            elif self._match_text_seq("FOR"):
                arguments += [exp.Literal.number(1), self._parse_bitwise()]
            return arguments

        def _parse_trim_call(self) -> exp.Expr:
            """Return a call of TRIM, LTRIM or RTRIM, also with ``LEADING characters FROM text``."""
            name = "TRIM"
            if self._match_texts(_TRIMS):
                name = _TRIMS[self._prev.text.upper()]
            return self._parse_as_call(name, self._arguments_of_trim)

        def _arguments_of_trim(self) -> list[Any]:
            """Return the arguments of TRIM: ``text, characters``, or ``characters FROM text``."""
            if self._match(TokenType.FROM):
                return [self._parse_bitwise()]
            arguments = self._parse_csv(self._parse_disjunction)
            if self._match(TokenType.FROM):
                return [self._parse_bitwise(), *arguments]
            return arguments

        def _parse_type(self, *options: bool, **named: bool) -> exp.Expr | None:
            return self._parse_duration() or super()._parse_type(*options, **named)

        def _parse_interval(self, *options: bool, **named: bool) -> exp.Interval | None:
            """Return ``INTERVAL '30' MINUTE``; INTERVAL before other tokens is a name.

            sqlglot's own method reads ``INTERVAL '1' DAY + 2`` as the sum of two intervals.
            """
            word, number = self._curr, self._next
            if word is None or number is None or word.token_type != TokenType.INTERVAL:
                return None
            if number.token_type not in (TokenType.STRING, TokenType.NUMBER):
                return None
            self._advance(2)
            node = exp.Interval(this=exp.Literal.string(number.text))
            last, first = self._parse_field_of_time(), None
            if last is not None and self._match_text_seq("TO"):
                first, last = last, self._parse_field_of_time()
            if last is not None:
                node.set("unit", exp.IntervalSpan(this=first, expression=last) if first else last)
            node.meta.update(start=word.start, end=self._prev.end)
            return node

        def _parse_field_of_time(self) -> exp.Var | None:
            """Return the unit of time at the current token, or None."""
            if not self._curr or self._curr.token_type != TokenType.VAR:
                return None
            self._advance()
            return exp.var(self._prev.text.upper())

        def _parse_duration(self) -> exp.Interval | None:
            """Return a duration ``1 HOUR 30 MINUTES``; a unit is only read after a number."""
            begin, parts = self._curr, list[str]()
            while (number := self._curr) and number.token_type == TokenType.NUMBER:
                unit = self._next
                if unit is None or unit.text.upper().removesuffix("S") not in UNITS:
                    break
                if unit.token_type == TokenType.IDENTIFIER:
                    break
                parts += [number.text, unit.text]
                self._advance(2)
            if not parts:
                return None
            assert begin is not None
            text = exp.Literal.string(" ".join(parts))
            duration = exp.Interval(this=text, unit=exp.var(LITERAL))
            duration.meta.update(start=begin.start, end=self._prev.end)
            return duration

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
            """Return whether RUNNING or FINAL comes next, and not a name with that spelling."""
            word, following = self._curr, self._next
            return bool(
                word
                and following
                and word.token_type == TokenType.VAR
                and word.text.upper() in _MODES
                and is_name(following)
                and following.token_type not in _OPERATORS
            )


_TRIMS = {"BOTH": "TRIM", "LEADING": "LTRIM", "TRAILING": "RTRIM"}
"""The function for the word that may come first in TRIM."""

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
"""Words between operands or after one."""

_NO_OPERAND = (TokenType.COMMA, TokenType.R_PAREN)
"""Tokens that may not follow a comma: sqlglot accepts them there."""

_DIALECT = RowDialect()


def is_name(token: Token) -> bool:
    """Return whether a token may be a name: quoted, or any word, since none is reserved."""
    if token.token_type == TokenType.IDENTIFIER:
        return True
    return token.token_type != TokenType.STRING and token.text.isidentifier()


def canonical(name: exp.Identifier) -> str:
    """Return the canonical form of a variable's name."""
    return str(name.this) if name.args.get("quoted") else str(name.this).upper()


def tokens_of(text: str) -> list[Token]:
    """Return the tokens of a text.

    Raises `QuerySyntaxError` where a quote or comment does not end.
    """
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
    """Return the longest expression from a token on, and the index of the token after it.

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
    # sqlglot accepts a trailing comma: PREV(x,)
    for i in range(at, after):
        if tokens[i].token_type == TokenType.COMMA and tokens[i + 1].token_type in _NO_OPERAND:
            raise syntax_error(tokens, text, i + 1, "an expression")
    return node, after


def syntax_error(tokens: list[Token], text: str, at: int, *expected: str) -> QuerySyntaxError:
    """Return the error that another token was expected."""
    if at < len(tokens):
        token = tokens[at]
        place = place_at(text, token.start, token.end - token.start + 1)
        message = f"unexpected '{text[token.start : token.end + 1]}'"
        hint = back_quote_hint(text, token.start)
    else:
        place = place_at(text, len(text.rstrip()), 1)
        message = "the text ends too early" if text.strip() else "the text is empty"
        hint = ""
    return QuerySyntaxError("CER0101", message, place=place, expected=expected, hint=hint)


def back_quote_hint(text: str, at: int) -> str:
    """Return a hint for names in back-quotes, which MySQL and CEQL use.

    >>> back_quote_hint("DEFINE B AS `v` > 1", 13)
    'write the name in double quotes: "v"'
    """
    quoted = re.compile(r"`([^`]+)`?").match(text, at - (text[:at].endswith("`")))
    return f'write the name in double quotes: "{quoted[1]}"' if quoted else ""


MAX_NESTING = 100
"""Nesting depth of a text's parentheses, at most."""

MAX_DIGITS = 400
"""Digits of a number, at most: more than the largest double has."""

Part = TypeVar("Part")


class Cursor:
    """A reading position in a text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokens_of(text)
        self.at = 0
        self._refuse_large()

    def token(self, ahead: int = 0) -> Token | None:
        """Return the current token, or a later one; None after the end."""
        at = self.at + ahead
        return self.tokens[at] if at < len(self.tokens) else None

    def at_words(self, *words: str) -> bool:
        """Return whether the given words come next."""
        return self._after_words(words) is not None

    def take_words(self, *words: str) -> bool:
        """Read the given words if they come next; return whether they did."""
        after = self._after_words(words)
        if after is not None:
            self.at = after
        return after is not None

    def _after_words(self, words: tuple[str, ...]) -> int | None:
        at, rest = self.at, list(words)
        while rest:
            if at >= len(self.tokens) or self.tokens[at].token_type == TokenType.IDENTIFIER:
                return None
            here = self.tokens[at].text.upper().split()
            if not here or here != rest[: len(here)]:
                return None
            rest = rest[len(here) :]
            at += 1
        return at

    def at_sign(self, kind: TokenType, ahead: int = 0) -> bool:
        """Return whether the token `ahead` places further is a given sign, such as a bracket."""
        token = self.token(ahead)
        return token is not None and token.token_type == kind

    def take_sign(self, kind: TokenType) -> bool:
        """Read a sign if it comes next; return whether it did."""
        is_here = self.at_sign(kind)
        self.at += is_here
        return is_here

    def need_sign(self, kind: TokenType, sign: str) -> None:
        """Read a sign; raise `QuerySyntaxError` if another token comes next."""
        if not self.take_sign(kind):
            raise self.syntax_error(f"'{sign}'")

    def need_words(self, *words: str) -> None:
        """Read words; raise `QuerySyntaxError` if other tokens come next."""
        if not self.take_words(*words):
            raise self.syntax_error(" ".join(words))

    def at_name(self, ahead: int = 0) -> bool:
        """Return whether a name comes next."""
        token = self.token(ahead)
        return token is not None and is_name(token)

    def name(self) -> str:
        """Read a name; return it as it is spelled."""
        token = self.token()
        if token is None or not is_name(token):
            raise self.syntax_error("a name")
        self.at += 1
        return str(token.text)

    def canonical_name(self) -> str:
        """Read a name; return its canonical form."""
        token = self.token()
        name = self.name()
        assert token is not None
        return name if token.token_type == TokenType.IDENTIFIER else name.upper()

    def comma_list(self, part: Callable[[], Part]) -> list[Part]:
        """Read parts separated by commas, at least one."""
        parts = [part()]
        while self.take_sign(TokenType.COMMA):
            parts.append(part())
        return parts

    def expression(self) -> tuple[exp.Expr, SourcePlace]:
        """Read the longest expression; return it with the place of its first token.

        Raises `ResourceLimit` for an expression too deep for sqlglot, which is recursive.
        """
        place = self.place()
        try:
            node, self.at = expression_at(self.tokens, self.text, self.at)
        except RecursionError:
            message, hint = "the expression nests too deeply", "leave out what changes nothing"
            raise ResourceLimit("CER0602", message, place=place, hint=hint) from None
        return node, place

    def take_parentheses(self) -> tuple[int, int]:
        """Skip ``( .. )``; return where its contents begin and end."""
        opening = self.token()
        self.need_sign(TokenType.L_PAREN, "(")
        assert opening is not None
        depth = 1
        while (token := self.token()) is not None:
            depth += token.token_type == TokenType.L_PAREN
            depth -= token.token_type == TokenType.R_PAREN
            self.at += 1
            if depth == 0:
                return opening.end + 1, token.start
        raise self.syntax_error("')'")

    def place(self, ahead: int = 0) -> SourcePlace:
        """Return the place of a token, or of the end of the text."""
        token = self.token(ahead)
        if token is None:
            return place_at(self.text, len(self.text.rstrip()), 1)
        return place_at(self.text, token.start, token.end - token.start + 1)

    def syntax_error(self, *expected: str) -> QuerySyntaxError:
        """Return the error that something else was expected at the current token."""
        return syntax_error(self.tokens, self.text, self.at, *expected)

    def _refuse_large(self) -> None:
        depth = 0
        for token in self.tokens:
            depth += token.token_type == TokenType.L_PAREN
            depth -= token.token_type == TokenType.R_PAREN
            if depth > MAX_NESTING:
                raise ResourceLimit(
                    "CER0602",
                    f"the query nests more than {MAX_NESTING} parentheses",
                    place=place_at(self.text, token.start, 1),
                    hint="omit parentheses that have no effect",
                )
            if token.token_type == TokenType.NUMBER and len(token.text) > MAX_DIGITS:
                raise IllFormed(
                    "CER0204",
                    "a number needs more than 64 bits",
                    place=place_at(self.text, token.start, 1),
                    hint="integers are from -2^63 to 2^63 - 1, other numbers below 1.8e308",
                )
