"""Random CEQL queries."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from cerlab.logic.cel import syntax as cel
from cerlab.logic.ceql.syntax import CeqlQuery, SelectItem
from cerlab.model.clauses import AttributeWindow, Consume, EventWindow, Limit, Strategy, TimeWindow
from cerlab.testing.formulas import random_formula
from cerlab.testing.shape import ATTRIBUTES, Shape, likely


def random_query(rng: Random, shape: Shape = ATTRIBUTES) -> CeqlQuery:
    """A formula under random clauses; every clause that is there may also be absent."""
    formula = random_formula(rng, shape)
    query = CeqlQuery(formula)
    if likely(rng, 0.25):
        labels = sorted(cel.defined_labels(formula))
        query = replace(query, items=tuple(SelectItem(x) for x in labels if likely(rng, 0.5)))
    if likely(rng, 0.2):
        query = replace(query, strategy=rng.choice(list(Strategy)))
    if likely(rng, 0.1):
        query = replace(query, streams=("S",) if likely(rng, 0.5) else ("S", "T"))
    if likely(rng, 0.25):
        brackets = ((("k",),), (("k",),), (("k",), ("v",)), (("k", "v"),))
        query = replace(query, partition=rng.choice(brackets))
    if likely(rng, 0.4):
        window = rng.choice(
            (
                EventWindow(rng.randrange(5)),
                AttributeWindow(rng.choice((0, 1, 2, 2.5, 4)), "t"),
                TimeWindow(rng.randrange(5) * 10**9),
            )
        )
        query = replace(query, window=window)
    if likely(rng, 0.6 if query.partition else 0.2):
        policies = (Consume.ANY, Consume.ANY, Consume.PARTITION)
        query = replace(query, consume=rng.choice(policies))
    return query


def with_limit(query: CeqlQuery, per_end: int) -> CeqlQuery:
    """The same query with LIMIT."""
    return replace(query, limit=Limit(per_end))
