"""Anything that can be evaluated to its pattern: texts, formulas, SREMO, patterns themselves."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias, get_args
from warnings import warn

from cerlab.compile.pattern import AnyPattern, Logic, Pattern, SremoPattern
from cerlab.errors import CerlabWarning, Unsupported, UsageError, nearest, stacklevel_of_caller
from cerlab.logic.cel.depth import refuse_deep
from cerlab.logic.cel.syntax import Formula
from cerlab.logic.ceql.parser import parse_cel, parse_ceql
from cerlab.logic.ceql.syntax import CeqlQuery
from cerlab.logic.sremo.parser import parse_sremo
from cerlab.logic.sremo.syntax import Sremo
from cerlab.model.schema import Schema

What: TypeAlias = str | Pattern | Formula
"""A query, by its text, as it was read, or as a formula alone."""

AnyWhat: TypeAlias = What | Sremo | SremoPattern
"""A query or a SREMO."""

Language: TypeAlias = Literal["ceql", "cel", "sremo"]
LANGUAGES: tuple[Language, ...] = get_args(Language)

_BLANK = r"\s|--[^\n]*\n|/\*(?:[^*]|\*(?!/))*\*/"
_CEQL = re.compile(rf"(?:{_BLANK})*(?:select|create|declare)\b", re.I)
_SREMO = re.compile(rf"(?:{_BLANK}|\()*(?:[<!]|[#@]\s*\()")
"""How a SREMO begins, and no formula: of expressions only ``EPS`` and ``EMPTY`` begin otherwise."""


def any_pattern(
    what: AnyWhat,
    language: Language | None = None,
    schema: Schema | None = None,
    *,
    logic: Logic = "so",
) -> AnyPattern:
    """The pattern of anything that can be evaluated; a formula is ``SELECT *`` of it.

    A text of no given language is a SREMO if it begins with ``<``, ``!``, ``#(`` or ``@(``, which
    no formula does, and CEQL if it begins with SELECT or a declaration; `schema` is added to what
    it declares. Remarks on labels are of the logic "so", and are warnings only there. Raises
    `UsageError` for unknown languages and logics, and as `parse_query` and `parse_sremo`.
    """
    if language is not None and language not in LANGUAGES:
        hint = nearest(language, LANGUAGES)
        raise UsageError("CER0806", f"unknown language '{language}'", hint=hint)
    if logic not in get_args(Logic):
        raise UsageError("CER0806", f"unknown logic '{logic}'", hint='use "so" or "fo"')
    pattern = _pattern(what, language, schema)
    if isinstance(pattern, Pattern):
        if logic == "fo":
            return pattern.first_order
        for remark in pattern.remarks if isinstance(what, str) else ():
            warn(CerlabWarning(str(remark)), stacklevel=stacklevel_of_caller())
    elif logic == "fo":
        message = 'a SREMO has no variables, so no meaning under logic="fo"'
        raise Unsupported("CER0480", message, hint="leave logic= out")
    return pattern


def _pattern(what: AnyWhat, language: Language | None, schema: Schema | None) -> AnyPattern:
    if isinstance(what, AnyPattern):
        return what
    if isinstance(what, Sremo):
        return SremoPattern(what)
    if isinstance(what, Formula):
        refuse_deep(what)
        return Pattern(CeqlQuery(what), schema=schema)
    if not isinstance(what, str):
        hint = "a text, a Query, a Formula or a Sremo is; the query stands first, then the events"
        raise UsageError("CER0838", f"{type(what).__name__} is no query", hint=hint)
    if language == "sremo" or (language is None and _SREMO.match(what)):
        return SremoPattern(parse_sremo(what))
    if language == "ceql" or (language is None and _CEQL.match(what)):
        ast, declarations, source = parse_ceql(what)
        if declarations and schema:
            declarations = Schema(schema.streams + declarations.streams)
        return Pattern(ast, schema=declarations or schema, source=source)
    formula, source = parse_cel(what)
    return Pattern(CeqlQuery(formula), schema=schema, source=source)


def as_pattern(
    what: What,
    language: Language | None = None,
    schema: Schema | None = None,
    *,
    logic: Logic = "so",
) -> Pattern:
    """The pattern of a query or a formula; raises as `any_pattern`, `Unsupported` for a SREMO."""
    pattern = any_pattern(what, language, schema, logic=logic)
    if isinstance(pattern, SremoPattern):
        raise Unsupported(
            "CER0483",
            "this takes CEQL and CEL formulas, not a SREMO",
            hint="cerlab.evaluate and cerlab.matches take it",
        )
    return pattern
