"""Queries evaluated, with the meaning of CEL or that of FO-CEL (SOCEL Thm. 1)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from cerlab.automata.plan import Plan
from cerlab.compile.pipeline import compile_query
from cerlab.errors import ResourceLimit, Unsupported
from cerlab.evaluators import answers_of, fo_answers_of
from cerlab.logic.ceql.syntax import CeqlQuery
from cerlab.logic.focel.translate import unary_fo_to_so
from cerlab.model.answer import ComplexEvent
from cerlab.model.stream import Stream
from cerlab.query import query_of


def answers(ast: CeqlQuery, stream: Stream, *, first_order: bool = False) -> Iterator[ComplexEvent]:
    """What the best evaluator that there is answers, by end."""
    by = fo_answers_of if first_order else answers_of
    return by(query_of(ast), stream)


def plan_of(ast: CeqlQuery, *, first_order: bool) -> Plan | None:
    """The plan of a query, or of one in SO-CEL with the same answers; None without an automaton."""
    try:
        if first_order:
            ast = replace(ast, formula=unary_fo_to_so(ast.formula))
        return compile_query(ast)
    except (Unsupported, ResourceLimit):
        return None
