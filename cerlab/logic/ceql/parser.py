"""Text to queries, formulas and schemas, with errors that show where and what was expected."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from lark import Token, Tree

from cerlab.errors import ResourceLimit, SourcePlace, Span, nearest
from cerlab.logic.cel.syntax import Formula
from cerlab.logic.ceql.builder import Builder
from cerlab.logic.ceql.condition_builder import MAX_DEPTH
from cerlab.logic.ceql.declarations import schema_of
from cerlab.logic.ceql.habits import habit_hint
from cerlab.logic.ceql.syntax import CeqlQuery
from cerlab.logic.reading import Language, build, place_at, read
from cerlab.model.schema import Schema


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
    ast = build(builder, _as_tree(query))
    schema = schema_of([_as_tree(each) for each in declarations], text) if declarations else None
    return ast, schema, Source(text, builder.spans, tuple(builder.nodes), is_query=True)


def parse_cel(text: str) -> tuple[Formula, Source]:
    """Read a formula; raises as `parse_ceql`."""
    builder = Builder(text)
    formula = build(builder, _parse(text, "formula"))
    return formula, Source(text, builder.spans, tuple(builder.nodes))


def parse_schema(text: str) -> Schema:
    """Read ``CREATE STREAM`` declarations; raises as `parse_ceql`."""
    tree = _parse(text, "declarations")
    return schema_of([_as_tree(each) for each in tree.children], text)


def as_schema(schema: Schema | str | None) -> Schema | None:
    """A schema as users give it, which may be the text of its declarations."""
    return parse_schema(schema) if isinstance(schema, str) else schema


def _as_tree(node: Any) -> Tree[Token]:
    assert isinstance(node, Tree)
    return node


def _parse(text: str, start: str) -> Tree[Token]:
    _refuse_deep(text)
    return read(_CEQL, text, start)


_OPAQUE = re.compile(
    r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`(?:[^`]|``)+`|--[^\n]*|/\*.*?\*/", re.DOTALL
)


def _refuse_deep(text: str) -> None:
    """Refuse at once what is nested deeper than the stated limit."""
    depth = 0
    for match in re.finditer(r"[(\[{]|[)\]}]", _OPAQUE.sub(lambda m: " " * len(m[0]), text)):
        depth += 1 if match[0] in "([{" else -1
        if depth > MAX_DEPTH:
            raise ResourceLimit(
                "CER0602",
                f"the query nests more than {MAX_DEPTH} parentheses",
                place=place_at(text, match.start(), 1),
                hint="leave out parentheses that change nothing",
            )


_NAMES_TOO = frozenset(
    ("ALL", "ANY", "LAST", "MAX", "NEXT", "NONE", "NOT", "NXT", "PROJECT", "RENAME", "STRICT")
)
"""Keywords that stand where a name could, so that a name spelled like one is misread."""


def _hint(text: str, at: int, expected: tuple[str, ...]) -> str:
    """A habit from elsewhere, a keyword spelled almost right, or one that was meant as a name."""
    if habit := habit_hint(text, at):
        return habit
    line_so_far = text[text.rfind("\n", 0, at) + 1 : at]
    if before := re.search(r"(\w+)\s*$", line_so_far):
        word = before[1]
        if word.upper() in _NAMES_TOO:
            return f"{word} is a keyword here; write `{word}` to use it as a name"
    if match := re.compile(r"\w+").match(text, at):
        close = nearest(match[0].upper(), [each for each in expected if each.isalpha()])
        return close if close.startswith("did you mean") else ""
    return ""


_CEQL = Language(
    "cerlab.logic.ceql",
    ("program", "formula", "declarations"),
    noun="query",
    hint=_hint,
    words={"_AND_FILTER": "AND", "_OR_FILTER": "OR", "NULLABLE": "'?'"},
)
