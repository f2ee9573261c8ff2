"""Text to queries, formulas and schemas, with errors that show where and what was expected."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, NoReturn

from lark import Lark, Token, Tree
from lark.exceptions import (
    LarkError,
    UnexpectedCharacters,
    UnexpectedInput,
    UnexpectedToken,
    VisitError,
)

from cerlab.errors import CerlabError, QuerySyntaxError, ResourceLimit, SourcePlace, Span, nearest
from cerlab.logic.cel.syntax import Formula
from cerlab.logic.ceql.builder import MAX_DEPTH, Builder
from cerlab.logic.ceql.declarations import schema_of
from cerlab.logic.ceql.syntax import CeqlQuery
from cerlab.model.schema import Schema

MAX_CHARACTERS = 100_000
"""The longest text that is read."""


@dataclass(frozen=True)
class Source:
    """A text and where the nodes that were read from it stand in it."""

    text: str
    spans: dict[int, Span]
    nodes: tuple[object, ...]
    is_query: bool = False
    """Whether the text is a whole query, not a formula."""

    def place(self, node: object) -> SourcePlace | None:
        """The place of a node (by identity), None for nodes that were not read from the text."""
        span = self.spans.get(id(node))
        return SourcePlace(self.text, span) if span else None


def parse_ceql(text: str) -> tuple[CeqlQuery, Schema | None, Source]:
    """Read ``[CREATE STREAM ..] SELECT ..``; the schema is None without declarations.

    Raises `QuerySyntaxError`, `IllFormed`, and `ResourceLimit` for a text that is too long or
    too deep.
    """
    tree = _parse(text, "program")
    *declarations, query = tree.children
    builder = Builder(text)
    made = _build(builder, _as_tree(query))
    schema = schema_of([_as_tree(each) for each in declarations], text) if declarations else None
    return made, schema, Source(text, builder.spans, tuple(builder.nodes), is_query=True)


def parse_cel(text: str) -> tuple[Formula, Source]:
    """Read a formula; raises as `parse_ceql`."""
    builder = Builder(text)
    made = _build(builder, _parse(text, "formula"))
    return made, Source(text, builder.spans, tuple(builder.nodes))


def parse_schema(text: str) -> Schema:
    """Read ``CREATE STREAM`` declarations; raises as `parse_ceql`."""
    tree = _parse(text, "declarations")
    return schema_of([_as_tree(each) for each in tree.children], text)


def _build(builder: Builder, tree: Tree[Token]) -> Any:
    try:
        return builder.transform(tree)
    except VisitError as error:  # lark wraps what the builder raises
        if isinstance(error.orig_exc, CerlabError):
            raise error.orig_exc from None
        raise


def _as_tree(node: Any) -> Tree[Token]:
    assert isinstance(node, Tree)
    return node


@cache
def _lark() -> Lark:
    grammar = files("cerlab.logic.ceql").joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(
        grammar,
        parser="lalr",
        lexer="contextual",
        start=["program", "formula", "declarations"],
        propagate_positions=True,
        maybe_placeholders=True,
    )


def _parse(text: str, start: str) -> Tree[Token]:
    _refuse_large(text)
    try:
        return _lark().parse(text, start=start)
    except UnexpectedInput as error:
        _explain(text, start, error)


_OPAQUE = re.compile(
    r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`(?:[^`]|``)+`|--[^\n]*|/\*.*?\*/", re.DOTALL
)


def _refuse_large(text: str) -> None:
    """Refuse at once what is longer or nested deeper than the stated limits."""
    if len(text) > MAX_CHARACTERS:
        raise ResourceLimit(
            "CER0601",
            f"the query has {len(text):,} characters, more than {MAX_CHARACTERS:,}",
            hint="a file of events is the second argument, not the first",
        )
    depth = 0
    for match in re.finditer(r"[(\[{]|[)\]}]", _OPAQUE.sub(lambda m: " " * len(m[0]), text)):
        depth += 1 if match[0] in "([{" else -1
        if depth > MAX_DEPTH:
            place = _place(text, match.start(), match.end())
            raise ResourceLimit(
                "CER0602", f"the query nests more than {MAX_DEPTH} parentheses", place=place
            )


def _place(text: str, start: int, end: int) -> SourcePlace:
    line = text.count("\n", 0, start) + 1
    column = start - (text.rfind("\n", 0, start) + 1) + 1
    return SourcePlace(text, Span(line, column, line, column + max(1, end - start)))


def _explain(text: str, start: str, error: UnexpectedInput) -> NoReturn:
    """Turn the parser's error into ours: place, what stands there, what could stand there."""
    if isinstance(error, UnexpectedToken) and error.token.type != "$END":
        at, found = error.token.start_pos or 0, f"unexpected '{error.token}'"
        place = _place(text, at, at + len(error.token))
    elif isinstance(error, UnexpectedCharacters):
        at = error.pos_in_stream or 0
        found = f"unexpected character {text[at]!r}"
        place = _place(text, at, at + 1)
    else:
        at = len(text.rstrip())
        found = "the text ends too early" if text.strip() else "the text is empty"
        place = _place(text, at, at + 1)
    expected = _expected(_accepted_after(text[:at], start))
    raise QuerySyntaxError(
        "CER0101", found, place=place, expected=expected, hint=_hint(text, place, expected)
    ) from None


def _accepted_after(prefix: str, start: str) -> set[str]:
    """The terminals that could follow a prefix that the parser has accepted."""
    parser = _lark().parse_interactive(prefix, start=start)
    try:
        parser.exhaust_lexer()
        return set(parser.accepts())  # type: ignore[no-untyped-call]  # lark leaves it untyped
    except LarkError:  # the cut changed how the prefix is read; say nothing rather than guess
        return set()


_WORDS = {
    "NAME": "a name",
    "QUOTED_NAME": "a name",
    "INT": "a number",
    "FLOAT": "a number",
    "TEXT": "a text in quotes",
    "_AND_FILTER": "AND",
    "_OR_FILTER": "OR",
    "NULLABLE": "'?'",
    "$END": "the end",
}


def _expected(names: set[str]) -> tuple[str, ...]:
    """What terminals are called in error messages: keywords as they are, signs in quotes."""
    terminals = {terminal.name: terminal for terminal in _lark().terminals}
    words = set()
    for name in names:
        terminal = terminals.get(name)
        if name in _WORDS:
            words.add(_WORDS[name])
        elif terminal is not None:
            written = terminal.pattern.value
            words.add(written if written.isalpha() else f"'{written}'")
    singular = {word for word in words if word + "S" in words}
    return tuple(sorted(words - singular, key=lambda word: (not word.startswith("a "), word)))


_NAMES_TOO = frozenset(
    ("ALL", "ANY", "LAST", "MAX", "NEXT", "NONE", "NOT", "NXT", "PROJECT", "RENAME", "STRICT")
)
"""Keywords that stand where a name could, so that a name spelled like one is misread."""


def _hint(text: str, place: SourcePlace, expected: tuple[str, ...]) -> str:
    """A keyword spelled almost right, or a keyword that was meant as a name."""
    lines = text.splitlines()
    line = lines[place.span.line - 1] if text.strip() else ""
    column = min(place.span.column - 1, len(line))
    if before := re.search(r"(\w+)\s*$", line[:column]):
        word = before[1]
        if word.upper() in _NAMES_TOO:
            return f"{word} is a keyword here; write `{word}` to use it as a name"
    if match := re.compile(r"\w+").match(line, column):
        close = nearest(match[0].upper(), [each for each in expected if each.isalpha()])
        return close if close.startswith("did you mean") else ""
    return ""
