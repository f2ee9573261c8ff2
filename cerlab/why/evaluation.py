"""Queries evaluated, with the meaning of CEL or that of FO-CEL (SOCEL Thm. 1)."""

from __future__ import annotations

from collections.abc import Iterator

from cerlab.automata.plan import Plan
from cerlab.budget import poll
from cerlab.compile.pattern import Pattern
from cerlab.errors import ResourceLimit, Unsupported
from cerlab.evaluate import answers_of
from cerlab.logic.ceql.syntax import CeqlQuery
from cerlab.model.answer import ComplexEvent
from cerlab.model.stream import Stream


def answers(ast: CeqlQuery, stream: Stream, *, first_order: bool = False) -> Iterator[ComplexEvent]:
    """What the best evaluator that there is answers, by end."""
    return answers_of(Pattern(ast, logic="fo" if first_order else "so"), stream)


def plan_of(ast: CeqlQuery, *, first_order: bool) -> Plan | None:
    """The plan of a query, or of one in SO-CEL with the same answers; None without an automaton."""
    try:
        return Pattern(ast, logic="fo" if first_order else "so").plan
    except (Unsupported, ResourceLimit):
        poll()
        return None
