"""What evaluators say of a query under its logic: that of CEL, or FO-CEL's (SOCEL Thm. 1)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from cerlab.errors import ResourceLimit, Unsupported
from cerlab.evaluators import answers_of, fo_answers_of
from cerlab.logic.ceql.syntax import CeqlQuery
from cerlab.logic.focel.translate import unary_fo_to_so
from cerlab.model.answer import ComplexEvent
from cerlab.model.stream import Stream
from cerlab.query import Query, query_of


def answers(ast: CeqlQuery, stream: Stream, *, first_order: bool) -> Iterator[ComplexEvent]:
    """What the best evaluator that there is answers, by end."""
    by = fo_answers_of if first_order else answers_of
    return by(query_of(ast), stream)


def with_automaton(ast: CeqlQuery, *, first_order: bool) -> Query | None:
    """A query with the same answers that has an automaton, if there is one."""
    if first_order:
        try:
            ast = replace(ast, formula=unary_fo_to_so(ast.formula))
        except (Unsupported, ResourceLimit):
            return None
    query = query_of(ast)
    return query if query.has_automaton else None
