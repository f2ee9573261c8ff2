"""The whole way: a query to its plan."""

from __future__ import annotations

from cerlab.automata.plan import Plan
from cerlab.budget import step_budget
from cerlab.compile.cel_to_vcea import cel_to_vcea
from cerlab.compile.vcea_to_cea import vcea_to_cea
from cerlab.logic.ceql.syntax import CeqlQuery, partition_attributes, strategy_and_body


@step_budget("the automaton of the formula", own=1)
def compile_query(query: CeqlQuery) -> Plan:
    """The plan of a query; raises `Unsupported` for what has no automaton."""
    strategy, formula = strategy_and_body(query)
    vcea = cel_to_vcea(formula)
    return Plan(
        vcea=vcea,
        cea=vcea_to_cea(vcea),
        streams=query.streams,
        partition=partition_attributes(query),
        window=query.window,
        consume=query.consume,
        limit=query.limit,
        strategy=strategy,
    )
