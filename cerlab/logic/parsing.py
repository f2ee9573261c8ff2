"""Parsing: from texts to parse trees, with errors that show the place and the expected words.

Every language has a grammar beside its parser, and is read by `read`; each language only defines
the names of its terminals and its hints.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

from lark import Lark, Token, Transformer, Tree
from lark.exceptions import (
    LarkError,
    UnexpectedCharacters,
    UnexpectedInput,
    UnexpectedToken,
    VisitError,
)
from lark.tree import Meta

from cerlab.errors import QuerySyntaxError, ResourceLimit, SourcePlace, Span

MAX_CHARACTERS = 100_000
"""The length of the longest text that is read, which takes the parser about a second."""


@dataclass(frozen=True, eq=False)
class Language:
    """A language: where its grammar is, its start rules, and a noun for its texts.

    `words` maps a terminal to its name in errors, if that differs from its text. `hint` receives
    the text, the position of the error, and what was expected there. `terminals` are definitions
    that are added to the grammar.
    """

    package: str
    starts: tuple[str, ...]
    noun: str
    hint: Callable[[str, int, tuple[str, ...]], str]
    words: Mapping[str, str] = field(default_factory=dict)
    terminals: tuple[str, ...] = ()


def read(language: Language, text: str, start: str) -> Tree[Token]:
    """Return the parse tree of a text; `start` is the grammar rule to begin with.

    Raise `QuerySyntaxError`, and `ResourceLimit` above `MAX_CHARACTERS`.
    """
    if len(text) > MAX_CHARACTERS:
        raise ResourceLimit(
            "CER0601",
            f"the {language.noun} has {len(text):,} characters, more than {MAX_CHARACTERS:,}",
            hint="a file of events is the second argument, not the first",
        )
    try:
        return lark_of(language).parse(text, start=start)
    except UnexpectedInput as error:
        _explain(language, text, start, error)


def build(
    builder: Transformer[Token, Any], tree: Tree[Token], *, too_deep: str | None = None
) -> Any:
    """Return the result of a builder on a parse tree; `too_deep` is the hint for deep nesting."""
    try:
        return builder.transform(tree)
    except VisitError as error:  # lark wraps exceptions that the builder raises
        cause = error.orig_exc
        if isinstance(cause, ResourceLimit) and too_deep is not None:
            cause.hint = too_deep
        raise cause from None


Rule: TypeAlias = Callable[[Any, Meta, list[Any]], Any]
"""A builder's method for a rule: from the values of the parts to the value of the rule."""


def value(make: Callable[..., object]) -> Rule:
    """Return a builder rule that calls `make` with the results of its parts."""
    return lambda self, meta, children: make(*children)


def place_at(text: str, at: int, length: int) -> SourcePlace:
    """Return the place of `length` characters of a text from index `at` on."""
    line = text.count("\n", 0, at) + 1
    column = at - (text.rfind("\n", 0, at) + 1) + 1
    return SourcePlace(text, Span(line, column, line, column + max(1, length)))


@cache
def lark_of(language: Language) -> Lark:
    """Return the parser of a language, created at first use."""
    grammar = files(language.package).joinpath("grammar.lark").read_text(encoding="utf-8")
    grammar = "\n".join((grammar, *language.terminals, ""))
    return Lark(
        grammar,
        parser="lalr",
        lexer="contextual",
        start=list(language.starts),
        propagate_positions=True,
        maybe_placeholders=True,
        # without this flag, S would also match ſ, and \d the digits of all scripts
        g_regex_flags=re.ASCII,
        cache=table_file(language.package, grammar),
    )


def table_file(package: str, grammar: str) -> str | bool:
    """Return the file that caches the parser's table, named by a digest; False without a cache.

    The file is in the user's cache directory, one per grammar, so versions of cerlab do not disturb
    each other. If lark cannot read a table or did not write it itself, lark creates it again.
    """
    digest = sha256(f"ASCII {grammar}".encode()).hexdigest()[:16]
    base = os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
    file = Path(base) / "cerlab" / "grammars" / f"{package}-{digest}.table"
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return str(file) if os.access(file.parent, os.W_OK) else False


def _explain(language: Language, text: str, start: str, error: UnexpectedInput) -> NoReturn:
    """Raise `QuerySyntaxError` for a parser's error, with the place and the expected words."""
    length = 1
    if isinstance(error, UnexpectedToken) and error.token.type != "$END":
        at, length = error.token.start_pos or 0, len(error.token)
        message = f"unexpected '{error.token}'"
    elif isinstance(error, UnexpectedCharacters):
        at = error.pos_in_stream or 0
        message = f"unexpected character {text[at]!r}"
    else:
        at = len(text.rstrip())
        message = "the text ends too early" if text.strip() else "the text is empty"
    expected = _expected_after(language, text[:at], start)
    raise QuerySyntaxError(
        "CER0101",
        message,
        place=place_at(text, at, length),
        expected=expected,
        hint=language.hint(text, at, expected),
    ) from None


_WORDS = {
    "NAME": "a name",
    "QUOTED_NAME": "a name",
    "INT": "a number",
    "FLOAT": "a number",
    "TEXT": "a text in quotes",
    "$END": "the end",
}
"""The names, in errors, of the terminals that all grammars share."""


def _expected_after(language: Language, prefix: str, start: str) -> tuple[str, ...]:
    """Return the words and signs that may follow a prefix of a text.

    If two keywords differ by an S, only the longer one is named.
    """
    lark = lark_of(language)
    parser = lark.parse_interactive(prefix, start=start)
    try:
        parser.exhaust_lexer()
        terminal_names = parser.accepts()  # type: ignore[no-untyped-call]  # lark leaves it untyped
    except LarkError:  # the end of the prefix cuts a token: expect nothing rather than guess
        return ()
    signs = {terminal.name: terminal.pattern.value for terminal in lark.terminals}
    word_of = {name: sign if sign.isalpha() else f"'{sign}'" for name, sign in signs.items()}
    word_of |= {**_WORDS, **language.words}
    words = {word_of[name] for name in terminal_names if name in word_of}
    singular = {word for word in words if word + "S" in words}
    return tuple(sorted(words - singular, key=lambda word: (not word.startswith("a "), word)))
