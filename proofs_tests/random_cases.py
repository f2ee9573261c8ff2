"""Random queries with streams, and all evaluators on them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from typing import Self

from cerlab import Query
from cerlab.computed import cached_property
from cerlab.logic.ceql.parser import Source
from cerlab.logic.ceql.syntax import CeqlQuery, query_text
from cerlab.model.stream import Stream, time_axis
from cerlab.testing import Shape, random_events, random_query


@dataclass(frozen=True)
class Case:
    """A query and a stream on which its evaluators are to agree."""

    ast: CeqlQuery
    stream: Stream

    @cached_property
    def query(self) -> Query:
        """Compiled once for all evaluators of this case; a copy of the case compiles anew."""
        return Query(self.ast, source=Source("", {}, ()))

    def on(self, stream: Stream) -> Self:
        """The same query, compiled once for both, on another stream."""
        other = replace(self, stream=stream)
        vars(other)["query"] = self.query
        return other

    def describe(self) -> str:
        events = [(e.type, dict(e.attributes), e.stream) for e in self.stream]
        return f"{query_text(self.ast)}\non {events}"


def random_case(rng: Random, shape: Shape | None = None) -> Case:
    """A query over random clauses and a stream with a planted word of its formula."""
    shape = shape or Shape()
    ast = random_query(rng, shape)
    events = random_events(rng, ast.formula, shape)
    return Case(ast, Stream(events, time=time_axis("t", "s")))
