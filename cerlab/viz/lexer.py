"""CEQL for Pygments (entry point ``ceql`` of ``pygments.lexers``), for notebooks and documents."""

from __future__ import annotations

import re
from typing import ClassVar

from pygments.lexer import RegexLexer, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Whitespace

_CLAUSES = (
    *("SELECT", "FROM", "WHERE", "PARTITION", "BY", "WITHIN", "CONSUME", "GROUP", "LIMIT"),
    *("FILTER", "AS", "CREATE", "DECLARE", "STREAM", "EVENT"),
)
_STRATEGIES = ("ALL", "ANY", "NONE", "STRICT", "NEXT", "NXT", "LAST", "MAX")
_OPERATORS = ("AND", "OR", "NOT", "UNLESS", "PROJECT", "RENAME", "IN", "LIKE", "RANGE")
_UNITS = ("EVENTS", "EVENT", "HOURS", "HOUR", "MINUTES", "MINUTE", "SECONDS", "SECOND")


def _any(names: tuple[str, ...]) -> words:
    return words(names, prefix=r"\b", suffix=r"\b")


class CeqlLexer(RegexLexer):  # type: ignore[misc]  # Pygments is untyped
    """CEQL and CEL, as `cerlab.parse_query` reads them."""

    name = "CEQL"
    aliases: ClassVar = ["ceql", "cel"]
    filenames: ClassVar = ["*.ceql", "*.cel"]
    flags = re.IGNORECASE
    tokens: ClassVar = {
        "root": [
            (r"\s+", Whitespace),
            (r"--[^\n]*", Comment.Single),
            (r"/\*.*?\*/", Comment.Multiline),
            (r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"", String),
            (r"`(?:[^`]|``)+`", Name),
            (_any(_CLAUSES), Keyword),
            (_any(_STRATEGIES), Keyword.Pseudo),
            (_any(_OPERATORS), Operator.Word),
            (_any(_UNITS), Keyword.Type),
            (_any(("TRUE", "FALSE", "NULL")), Keyword.Constant),
            (r"\d+(?:\.\d+)?(?:e[+-]?\d+)?", Number),
            (r"[A-Za-z_]\w*", Name),
            (r":\+|->|\.\.|<=|>=|<>|!=|==|[-+*/%<>=:;]", Operator),
            (r"[][(){},.?]", Punctuation),
        ]
    }
