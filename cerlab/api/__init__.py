"""The public functions and values: queries, their answers, and the functions that evaluate them.

`cerlab` re-exports these names; only commands, magics and benchmarks import this package directly.
"""

from cerlab.api.answers import Answers, Matches
from cerlab.api.query import Query, as_query, parse_query
from cerlab.api.sessions import Session
from cerlab.api.timelines import step, timeline
from cerlab.api.verbs import count, evaluate, matches, parse_formula, session, valuations
from cerlab.logic.sremo.parser import parse_sremo

__all__ = [
    "Answers",
    "Matches",
    "Query",
    "Session",
    "as_query",
    "count",
    "evaluate",
    "matches",
    "parse_formula",
    "parse_query",
    "parse_sremo",
    "session",
    "step",
    "timeline",
    "valuations",
]
