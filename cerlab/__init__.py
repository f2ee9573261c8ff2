"""cerlab: a research workbench for complex event recognition.

>>> import cerlab
>>> events = [{"type": "A"}, {"type": "C"}, {"type": "B"}]
>>> cerlab.evaluate("A ; B", events)
[ComplexEvent(start=0, end=2, positions=(0, 2))]
"""

from importlib import import_module
from typing import Any

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
from cerlab.row_patterns import RowPattern, match_recognize, parse_rows
from cerlab.stepping import step
from cerlab.timelines import show, timeline
from cerlab.why import Why, why
from cerlab.why.none import WhyNone, why_none
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
    "RowPattern",
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
    "Why",
    "WhyNone",
    "Witness",
    "contained",
    "count",
    "equivalent",
    "evaluate",
    "match_recognize",
    "matches",
    "parse_formula",
    "parse_gcq",
    "parse_query",
    "parse_rows",
    "parse_schema",
    "parse_sremo",
    "predicate",
    "satisfiable",
    "show",
    "step",
    "timeline",
    "valuations",
    "why",
    "why_none",
]


def load_ipython_extension(shell: object) -> None:
    """``%load_ext cerlab``: the magics ``%%ceql`` and ``%ceql`` (`cerlab.magic`)."""
    from cerlab.magic import register

    register(shell)


def __getattr__(name: str) -> Any:
    """``cerlab.spark`` is imported when it is first used."""
    if name == "spark":
        return import_module("cerlab.spark")
    raise AttributeError(f"module 'cerlab' has no attribute '{name}'")
