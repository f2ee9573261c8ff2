"""cerlab: a research workbench for complex event recognition.

>>> import cerlab
>>> events = [{"type": "A"}, {"type": "C"}, {"type": "B"}]
>>> cerlab.evaluate("A ; B", events)
[ComplexEvent(start=0, end=2, positions=(0, 2))]
"""

from cerlab.decisions import Verdict, Witness, contained, equivalent, satisfiable
from cerlab.errors import (
    BadData,
    CerlabError,
    CerlabWarning,
    IllFormed,
    QuerySyntaxError,
    ResourceLimit,
    TypeMismatch,
    Undecided,
    Unsupported,
    UsageError,
)
from cerlab.logic.cel.syntax import Formula
from cerlab.logic.ceql.parser import parse_schema
from cerlab.logic.gcq.parser import parse_gcq
from cerlab.logic.sremo.syntax import Sremo
from cerlab.model.answer import ComplexEvent, Valuation
from cerlab.model.event import Event, Timestamp
from cerlab.model.schema import Schema
from cerlab.model.stream import Stream
from cerlab.predicates.second_order import predicate
from cerlab.workbench import (
    Matches,
    Query,
    count,
    evaluate,
    matches,
    parse_formula,
    parse_query,
    parse_sremo,
    valuations,
)

__version__ = "0.1.0"

__all__ = [
    "BadData",
    "CerlabError",
    "CerlabWarning",
    "ComplexEvent",
    "Event",
    "Formula",
    "IllFormed",
    "Matches",
    "Query",
    "QuerySyntaxError",
    "ResourceLimit",
    "Schema",
    "Sremo",
    "Stream",
    "Timestamp",
    "TypeMismatch",
    "Undecided",
    "Unsupported",
    "UsageError",
    "Valuation",
    "Verdict",
    "Witness",
    "contained",
    "count",
    "equivalent",
    "evaluate",
    "matches",
    "parse_formula",
    "parse_gcq",
    "parse_query",
    "parse_schema",
    "parse_sremo",
    "predicate",
    "satisfiable",
    "valuations",
]
