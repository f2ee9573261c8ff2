"""The totals of a request on a stream: by a machine, by groups of keys, or of listed rows."""

from __future__ import annotations

from functools import partial

from cerlab.automata.plan import Plan, PlanClauses
from cerlab.automata.strategy import Machine
from cerlab.compile.pattern import Pattern
from cerlab.evaluate.aggregates import GroupTotals, Request, Totals, check_attributes
from cerlab.evaluate.labelled import listed_totals
from cerlab.io.named_columns import names_in
from cerlab.logic.ceql.syntax import plan_clauses
from cerlab.model.stream import Stream


def group_totals(pattern: Pattern, stream: Stream, request: Request) -> Totals:
    """Return the totals of each group of the rows that ``Matches.table`` would have.

    For queries without an automaton the answers are listed, a batch at a time. Raise `UsageError`
    for attributes that no event has, `TypeMismatch` for sums of values that are not numbers,
    `ResourceLimit` for totals that no column can hold.
    """
    from cerlab.evaluate import answers_of  # this import loads the tables of answers

    check_attributes(request, pattern, names_in(stream))
    if pattern.machine_kind == "automaton":
        return _totals_by_machine(request, pattern.plan, pattern.machine, stream)
    if pattern.has_kernels_in_context:
        from cerlab.engine.contexts import with_contexts  # Numba loads here

        plan, contexts = pattern.in_context
        machine = pattern.learned_in_context.machine
        return _totals_by_machine(request, plan, machine, with_contexts(stream, plan, contexts))
    answers = answers_of(pattern, stream)
    by_start = "start" in request.groups
    listed = partial(listed_totals, pattern, stream, answers, by_start=by_start)
    clauses = PlanClauses(**plan_clauses(pattern.ast))
    return GroupTotals(request, clauses, None, stream, listed=listed)


def _totals_by_machine(request: Request, plan: Plan, machine: Machine, stream: Stream) -> Totals:
    """Return the totals of a query with a machine; for a long stream, by groups of keys."""
    from cerlab.engine.totals import MANY  # NumPy loads here

    if len(stream) > MANY:
        from cerlab.evaluate.by_keys import totals_by_keys

        if (totals := totals_by_keys(request, plan, machine, stream)) is not None:
            return totals
    return GroupTotals(request, plan, machine, stream)
