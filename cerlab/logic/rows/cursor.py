"""A cursor over the tokens of a text: words, signs, names, lists, expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from cerlab.errors import IllFormed, QuerySyntaxError, ResourceLimit, SourcePlace
from cerlab.logic.reading import place_at
from cerlab.logic.rows.dialect import expression_at, is_name, syntax_error, tokens_of

MAX_NESTING = 100
"""How deep the parentheses of a text may nest."""

MAX_DIGITS = 400
"""Of a number: more than the largest double has."""

Part = TypeVar("Part")


class Cursor:
    """Where the reading of one text stands; words are never reserved."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokens_of(text)
        self.at = 0
        self._refuse_large()

    def token(self, ahead: int = 0) -> Token | None:
        """The token here or some tokens ahead, None after the end."""
        at = self.at + ahead
        return self.tokens[at] if at < len(self.tokens) else None

    def at_words(self, *words: str) -> bool:
        """Whether these words stand here; a word may be several, as sqlglot has ``ORDER BY``."""
        return self._after_words(words) is not None

    def take_words(self, *words: str) -> bool:
        """Go past these words if they stand here."""
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
        """Whether a sign stands here."""
        token = self.token(ahead)
        return token is not None and token.token_type == kind

    def take_sign(self, kind: TokenType) -> bool:
        """Go past a sign if it stands here."""
        is_here = self.at_sign(kind)
        self.at += is_here
        return is_here

    def need_sign(self, kind: TokenType, sign: str) -> None:
        """Go past a sign; raises `QuerySyntaxError` where another stands."""
        if not self.take_sign(kind):
            raise self.syntax_error(f"'{sign}'")

    def need_words(self, *words: str) -> None:
        """Go past words; raises `QuerySyntaxError` where others stand."""
        if not self.take_words(*words):
            raise self.syntax_error(" ".join(words))

    def at_name(self, ahead: int = 0) -> bool:
        """Whether a name stands here."""
        token = self.token(ahead)
        return token is not None and is_name(token)

    def name(self) -> str:
        """The name that stands here, as it is spelled."""
        token = self.token()
        if token is None or not is_name(token):
            raise self.syntax_error("a name")
        self.at += 1
        return str(token.text)

    def canonical_name(self) -> str:
        """The canonical form of the name that stands here (rows.md 2.1)."""
        token = self.token()
        name = self.name()
        assert token is not None
        return name if token.token_type == TokenType.IDENTIFIER else name.upper()

    def comma_list(self, part: Callable[[], Part]) -> list[Part]:
        """One part or more, with commas between."""
        parts = [part()]
        while self.take_sign(TokenType.COMMA):
            parts.append(part())
        return parts

    def expression(self) -> tuple[exp.Expr, SourcePlace]:
        """The longest expression that begins here, and the place of its first token.

        Raises `ResourceLimit` for one that sqlglot, which calls itself, cannot read.
        """
        place = self.place()
        try:
            node, self.at = expression_at(self.tokens, self.text, self.at)
        except RecursionError:
            message, hint = "the expression nests too deeply", "leave out what changes nothing"
            raise ResourceLimit("CER0602", message, place=place, hint=hint) from None
        return node, place

    def take_parentheses(self) -> tuple[int, int]:
        """Go past ``( .. )``: where what it encloses begins and ends in the text."""
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
        """The place of a token, or of the end."""
        token = self.token(ahead)
        if token is None:
            return place_at(self.text, len(self.text.rstrip()), 1)
        return place_at(self.text, token.start, token.end - token.start + 1)

    def syntax_error(self, *expected: str) -> QuerySyntaxError:
        """The error that something else was expected here."""
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
                    hint="leave out parentheses that change nothing",
                )
            if token.token_type == TokenType.NUMBER and len(token.text) > MAX_DIGITS:
                raise IllFormed(
                    "CER0204",
                    "a number needs more than 64 bits",
                    place=place_at(self.text, token.start, 1),
                    hint="integers are from -2^63 to 2^63 - 1, other numbers below 1.8e308",
                )
