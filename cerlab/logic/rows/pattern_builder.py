"""From parse trees of PATTERN to patterns, in the place where they stand in the whole text."""

from __future__ import annotations

import re
from typing import Any

from lark import Transformer, v_args
from lark.tree import Meta

from cerlab.errors import QuerySyntaxError, ResourceLimit, SourcePlace, Span
from cerlab.logic.reading import Language, build, place_at, read, value
from cerlab.logic.rows import syntax as rp
from cerlab.logic.rows.errors import ill_formed, unsupported

MAX_DEPTH = 100
"""The deepest pattern that is read."""

MAX_PERMUTE_PARTS = 8
"""How many parts PERMUTE takes: 8! orders."""


def parse_pattern(
    text: str, start: int, end: int
) -> tuple[rp.Pattern, dict[int, Span], list[object]]:
    """The pattern in ``text[start:end]``, the spans of its variables by identity, and these.

    Raises `QuerySyntaxError`, `IllFormed` (`quantifier`), `Unsupported`, `ResourceLimit`.
    """
    if not text[start:end].strip():
        place, expected = place_at(text, end, 1), ("a pattern",)
        hint = _hint("", 0, ())
        raise QuerySyntaxError("CER0101", "no pattern", place=place, expected=expected, hint=hint)
    blank = re.sub(r"[^\n]", " ", text[:start]) + text[start:end]
    builder = _PatternBuilder(text)
    _refuse_deep(text, start, end)
    try:
        pattern: rp.Pattern = build(builder, read(_PATTERN, blank, "pattern"))
    except QuerySyntaxError as error:
        raise _error_in_text(error, text) from None
    return pattern, builder.spans, builder.nodes


def _error_in_text(error: QuerySyntaxError, text: str) -> QuerySyntaxError:
    """The error with its place in the whole text."""
    assert isinstance(error.place, SourcePlace)
    place = SourcePlace(text, error.place.span)
    result = QuerySyntaxError(error.code, error.message, place=place, expected=error.expected)
    result.hint = error.hint
    return result


def _refuse_deep(text: str, start: int, end: int) -> None:
    depth = 0
    for sign in re.findall(r"[()]|\{-|-\}", text[start:end]):
        depth += 1 if sign in ("(", "{-") else -1
        if depth > MAX_DEPTH:
            message = f"the pattern nests more than {MAX_DEPTH} parentheses"
            hint = "leave out parentheses that change nothing"
            raise ResourceLimit("CER0602", message, hint=hint)


@v_args(meta=True)
class _PatternBuilder(Transformer[Any, Any]):
    """One method per rule of ``grammar.lark``."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text
        self.spans: dict[int, Span] = {}
        self.nodes: list[object] = []

    def _place(self, meta: Meta) -> SourcePlace:
        span = Span(meta.line, meta.column, meta.end_line, meta.end_column)
        return SourcePlace(self.text, span)

    regular_name = value(lambda token: str(token).upper())
    quoted_name = value(lambda token: str(token)[1:-1].replace('""', '"'))
    name = value(str)

    def variable(self, meta: Meta, children: list[str]) -> rp.Variable:
        variable = rp.Variable(children[0])
        self.spans[id(variable)] = self._place(meta).span
        self.nodes.append(variable)
        return variable

    empty = value(rp.Empty)
    partition_start = value(rp.PartitionStart)
    partition_end = value(rp.PartitionEnd)
    sequence = value(lambda *parts: rp.Concat(parts))
    alternation = value(lambda *parts: rp.Alternation(parts))
    exclusion = value(rp.Exclusion)

    def permute(self, meta: Meta, children: list[Any]) -> rp.Permute:
        parts = tuple(children[1:])
        if len(parts) > MAX_PERMUTE_PARTS:
            raise unsupported(
                f"PERMUTE of {len(parts)} parts (more than {MAX_PERMUTE_PARTS})", self._place(meta)
            )
        return rp.Permute(parts)

    def repetition(self, meta: Meta, children: list[Any]) -> rp.Repetition:
        body, (lo, hi), reluctant = children
        if hi is not None and (hi < lo or hi < 1):
            raise ill_formed(
                "quantifier",
                f"{{{lo},{hi}}} allows no count: the bounds are lo <= hi and hi >= 1",
                self._place(meta),
                "() is the pattern of no row",
            )
        return rp.Repetition(body, lo, hi, reluctant is not None)

    star = value(lambda: (0, None))
    plus = value(lambda: (1, None))
    option = value(lambda sign: (0, 1))
    exactly = value(lambda n: (int(n), int(n)))
    at_least = value(lambda low: (int(low), None))
    at_most = value(lambda high: (0, int(high)))
    from_to = value(lambda low, high: (int(low), int(high)))


def _hint(text: str, at: int, expected: tuple[str, ...]) -> str:
    if text[at : at + 1] in ("*", "+", "?", "{"):
        return "a quantified pattern takes a second quantifier in parentheses only: (A*)+"
    if not text.strip():
        return "the empty pattern is written (), so PATTERN (()) has no row"
    return ""


_PATTERN = Language(
    "cerlab.logic.rows",
    ("pattern",),
    noun="pattern",
    hint=_hint,
    words={
        "REGULAR": "a variable",
        "QUOTED": "a variable",
        "PERMUTE": "PERMUTE",
        "INT": "a number",
        "RELUCTANT": "'?'",
    },
)
