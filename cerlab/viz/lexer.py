"""A Pygments lexer of CEQL (entry point ``ceql`` of ``pygments.lexers``)."""

from __future__ import annotations

import re
from typing import ClassVar

from pygments.lexer import RegexLexer, bygroups, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Whitespace

from cerlab.model.event import UNITS
from cerlab.predicates.text import WORDS

_TOKENS = {
    "clause": Keyword,
    "strategy": Keyword.Pseudo,
    "operator": Operator.Word,
    "unit": Keyword.Type,
    "constant": Keyword.Constant,
}
"""Token of each role of keywords."""


class CeqlLexer(RegexLexer):  # type: ignore[misc]  # Pygments is untyped
    """A lexer of CEQL and CEL, with the words that `cerlab.parse_query` reads."""

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
            (r"(?:TIMESTAMP|DATE)(?=\s*['\"])", Keyword.Type),
            (
                rf"(\d+(?:\.\d+)?(?:e[+-]?\d+)?)(\s+)((?:{'|'.join(UNITS)})S?)\b",
                bygroups(Number, Whitespace, Keyword.Type),
            ),
            *((words(WORDS[r].split(), r"\b", r"\b"), _TOKENS[r]) for r in WORDS),
            (r"\d+(?:\.\d+)?(?:e[+-]?\d+)?", Number),
            (r"[A-Za-z_]\w*", Name),
            (r":\+|->|\.\.|<=|>=|<>|!=|==|[-+*/%<>=:;]", Operator),
            (r"[][(){},.?]", Punctuation),
        ]
    }
