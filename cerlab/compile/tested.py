"""Queries without their outermost filters, for machines that cannot test these filters."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

from cerlab.automata.plan import FilterPlan
from cerlab.compile.groups import is_of_one_event, is_of_two
from cerlab.logic.cel.syntax import Filter, Formula, Project, Select, look_backs, waits
from cerlab.logic.ceql.syntax import CeqlQuery, partition_attributes, selected_formula
from cerlab.model.clauses import Consume, Strategy
from cerlab.predicates.condition import Application, Atomic, Condition, Correlation, On, atomics
from cerlab.predicates.syntax import And


def listed_queries(query: CeqlQuery) -> Iterator[tuple[CeqlQuery, FilterPlan]]:
    """Yield the query without some of its outermost filters, with the plan that tests them.

    With each comes the plan of the tests on the valuations. Yield nothing for a query without such
    a filter or with a predicate from Python, or if a clause or a strategy would act on answers that
    wait, or CONSUME BY on answers that look back.

    >>> from cerlab.logic.ceql.parser import parse_ceql
    >>> from cerlab.logic.cel.text import formula_text
    >>> query, _, _ = parse_ceql("SELECT * WHERE A+ AS a FILTER a[v > 1] AND SUM(a.v) = 2")
    >>> formula_text([listed.formula for listed, _ in listed_queries(query)][0])
    'A+ AS a FILTER a[v > 1]'
    """
    body, every = query.formula, list[Condition]()
    while isinstance(body, Filter):
        every, body = [*_conjuncts(body.condition), *every], body.body
    consumes = query.consume is not Consume.NONE
    acts = query.strategy is not None or consumes or query.limit is not None
    if waits(body) and (acts or isinstance(body, Select)):
        return
    # CONSUME BY would discard events that a look-back needs
    if look_backs(body) and consumes:
        return
    if not every or any(isinstance(x, Application) for each in every for x in atomics(each)):
        return
    rivals = None
    kept = [[x for x in every if all(map(takes, atomics(x)))] for takes in (_is_pair, _is_on)]
    # with a strategy below the filters, test all of them on the selected answers
    if isinstance(body, Select):
        kept = [[]]
        if consumes:  # with CONSUME BY, the competing answers change at every answer
            rivals, body = body.strategy, body.body
    for some in kept:
        rest = [condition for condition in every if condition not in some]
        if not rest:
            continue
        plan = _plan(query, reduce(And, rest), rivals)
        yield _listed(query, reduce(Filter, some, body), plan), plan


def _listed(query: CeqlQuery, formula: Formula, plan: FilterPlan) -> CeqlQuery:
    window = query.window if plan.window is None else None
    return CeqlQuery(formula, streams=query.streams, partition=query.partition, window=window)


def _plan(query: CeqlQuery, condition: Condition, rivals: Strategy | None) -> FilterPlan:
    selected = selected_formula(query)
    labels, of_streams = None, frozenset[tuple[str, str]]()
    if query.items is not None and isinstance(selected, Project):
        labels, of_streams = selected.labels, selected.of_streams
    return FilterPlan(
        rivals=rivals,
        condition=condition,
        labels=labels,
        of_streams=of_streams,
        strategy=query.strategy,
        # with a strategy, the window is applied after the selection
        window=None if query.strategy is None and rivals is None else query.window,
        consume=query.consume,
        partition=partition_attributes(query),
        streams=query.streams,
    )


def _conjuncts(condition: Condition) -> list[Condition]:
    if isinstance(condition, And):
        return [*_conjuncts(condition.left), *_conjuncts(condition.right)]
    return [condition]


def _is_on(condition: Atomic) -> bool:
    """Return whether an automaton can test a condition."""
    if isinstance(condition, Correlation):
        return is_of_one_event(condition)
    return isinstance(condition, On)


def _is_pair(condition: Atomic) -> bool:
    """Return whether an automaton or registers can test a condition."""
    return _is_on(condition) or (isinstance(condition, Correlation) and is_of_two(condition))
