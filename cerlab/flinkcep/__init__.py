"""FlinkCEP's pattern sequences: how they are built and what they mean (FlinkCEP's documentation).

Reading order: `pattern` (the parts of a sequence, and FlinkCEP's methods that build them),
`semantics` (partial matches as one relation), `translation` (to CEL, where possible).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Unpack

from cerlab import io
from cerlab.compile.pattern import QueryInput, as_pattern
from cerlab.display import drawable
from cerlab.errors import Unsupported, UsageError, keywords_by_name, lists_options
from cerlab.evaluate import answers_of
from cerlab.flinkcep.pattern import EVERY_MATCH, FlinkPattern, SkipTo, begin, parse_pattern
from cerlab.flinkcep.semantics import check_ending, flink_matches
from cerlab.flinkcep.translation import flink_query
from cerlab.logic.cel.text import formula_text
from cerlab.logic.ceql.syntax import CeqlQuery, query_text
from cerlab.model.answer import Positions, Valuation, complex_event

__all__ = [
    "Difference",
    "FlinkPattern",
    "begin",
    "check_ending",
    "difference",
    "flink_matches",
    "matches",
    "parse_pattern",
    "to_cel",
]


def __dir__() -> list[str]:
    return sorted(__all__)


OTHER = "X"
"""Type of events that no part matches, in the streams of `difference`."""


@lists_options(io.HowToRead)
def matches(
    pattern: FlinkPattern,
    events: Any,
    *,
    key_by: str | Sequence[str] = (),
    **how: Unpack[io.HowToRead],
) -> list[Valuation]:
    """Return the matches that FlinkCEP finds, in its order: the events of each part by name.

    `start` is the first event, and `end` the event at which the match is found, which need not be
    part of it. A match of a final ``notFollowedBy`` ends at the last event before its time has
    passed. This is a reference, for short streams.

    Args:
        pattern: A pattern sequence.
        events: Anything that `cerlab.evaluate` accepts.
        key_by: Attributes of the key, as in ``keyBy`` of a stream.
        type, type_column, time, unit, sort: How to read the events, as in `cerlab.evaluate`.
        until: A whole number or "end".

    Raises:
        BadData: A time is missing or goes back.
        ResourceLimit: There are too many partial matches.

    >>> stream = [{"type": "A"}, {"type": "C"}, {"type": "B"}, {"type": "B"}]
    >>> [match.labels for match in matches(begin("A").followedBy("B"), stream)]
    [{'A': (0,), 'B': (2,)}]
    >>> [match.labels["B"] for match in matches(begin("A").followedByAny("B"), stream)]
    [(2,), (3,)]
    """
    stream, keys = io.as_stream(events, **how), _keys(key_by)
    until: Any = stream.until
    if not isinstance(until, int | None) and until != "end":
        message = f'expected a whole number or "end" as until=, got {until!r}'
        raise UsageError("CER0828", message, hint='until="end" promises that no event will come')
    return flink_matches(pattern, stream.events, keys, until)


def _keys(key_by: str | Sequence[str]) -> tuple[str, ...]:
    return (key_by,) if isinstance(key_by, str) else tuple(key_by)


@keywords_by_name
def to_cel(pattern: FlinkPattern, *, key_by: str | Sequence[str] = ()) -> str:
    """Return a formula whose answers are the matches, or a query for a window or a key.

    Args:
        pattern: A pattern sequence.
        key_by: Attributes of the key, as in ``keyBy`` of a stream.

    Raises:
        Unsupported: CEL cannot express the pattern.

    >>> to_cel(begin("A").followedByAny("B").oneOrMore().allowCombinations())
    'A ; B+'
    >>> to_cel(begin("A").followedBy("B"))
    'A : (B OR NOT(B):+ : B)'
    >>> print(to_cel(begin("A").next("B").within(10, "t")))
    SELECT *
    WHERE A : B
    WITHIN 9 [t]
    >>> to_cel(begin("A").notFollowedBy("B").within(10, "t"))
    'A WAIT 9 [t] UNLESS B'
    >>> to_cel(begin("A").followedByAny("B").where("B.v > A.v"))
    'A ; B FILTER B.v > A.v'
    """
    if pattern.skip.to is not SkipTo.NO_SKIP:
        raise _skip_error(pattern)
    query = flink_query(pattern, _keys(key_by))
    return formula_text(query.formula) if query == CeqlQuery(query.formula) else query_text(query)


def _skip_error(pattern: FlinkPattern) -> Unsupported:
    """Return the error that CEL has no skip strategies, with a shortest example."""
    message = (
        f"CEL cannot express this pattern of FlinkCEP: {pattern.skip.to.value} drops "
        "matches because of others"
    )
    every = to_cel(replace(pattern, skip=EVERY_MATCH))
    if (example := difference(pattern, every, at_most=4)) is not None:
        types = " ".join(event["type"] for event in example.events)
        message += (
            f", and on {types} the query '{every}' has {example.of_cel[0]}, which FlinkCEP drops"
        )
    return Unsupported(
        "CER0455",
        message,
        hint="without the skip strategy, FlinkCEP returns all matches, as CEL does",
    )


@drawable
@dataclass(frozen=True, slots=True)
class Difference:
    """A stream on which a pattern and a query match different events.

    `of_flink` are the sets of positions that only the pattern matches, `of_cel` those that only the
    query matches.
    """

    events: list[dict[str, Any]]
    of_flink: list[Positions]
    of_cel: list[Positions]


@keywords_by_name
def difference(
    pattern: FlinkPattern,
    query: QueryInput,
    events: Sequence[Mapping[str, Any]] | None = None,
    *,
    at_most: int = 5,
    key_by: str | Sequence[str] = (),
) -> Difference | None:
    """Return a shortest stream on which FlinkCEP's matches differ from the answers of a query.

    Intervals are not compared. Return None if there is no difference.

    Args:
        pattern: A pattern sequence.
        query: A query or formula.
        events: Events of which streams consist (default: one of each type of the pattern, and one
            of another type).
        at_most: The length of the longest streams to try.
        key_by: Attributes of the key, as in ``keyBy`` of a stream.

    >>> print(difference(begin("A").followedBy("B"), "A ; B"))
    Difference(events=[{'type': 'A'}, {'type': 'B'}, {'type': 'B'}], of_flink=[], of_cel=[(0, 2)])
    """
    cel_pattern, keys = as_pattern(query), _keys(key_by)
    kinds = dict.fromkeys((*(part.test.type for part in pattern.parts), OTHER))
    alphabet = [{"type": kind} for kind in kinds] if events is None else list(map(dict, events))
    for length in range(1, at_most + 1):
        for word in product(alphabet, repeat=length):
            stream = [dict(each) for each in word]
            read = io.as_stream(stream)
            theirs = {complex_event(m).positions for m in flink_matches(pattern, read.events, keys)}
            answers = {answer.positions for answer in answers_of(cel_pattern, read, "auto")}
            if theirs != answers:
                return Difference(stream, sorted(theirs - answers), sorted(answers - theirs))
    return None
