"""The whole way: a query to its plan."""

from __future__ import annotations

from cerlab.automata.plan import Plan
from cerlab.compile.cel_to_vcea import REFERENCE, cel_to_vcea
from cerlab.compile.vcea_to_cea import vcea_to_cea
from cerlab.errors import Unsupported
from cerlab.logic.ceql.syntax import CeqlQuery, partition_attributes, selected_formula


def compile_query(query: CeqlQuery) -> Plan:
    """The plan of a query; raises `Unsupported` for what has no automaton."""
    if query.strategy is not None:
        raise Unsupported(
            "CER0403",
            f"there is no automaton for SELECT {query.strategy.value} yet",
            hint=REFERENCE,
        )
    vcea = cel_to_vcea(selected_formula(query))
    return Plan(
        vcea=vcea,
        cea=vcea_to_cea(vcea),
        streams=query.streams,
        partition=partition_attributes(query),
        window=query.window,
        consume=query.consume,
        limit=query.limit,
    )
