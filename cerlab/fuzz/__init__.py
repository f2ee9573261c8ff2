"""Comparison of any engine with the reference on random cases, down to the smallest difference.

    cerlab fuzz "my_engine {query} {events}" --with ';,+,OR,FILTER,AS,EVENTS'

Reading order: `cerlab.testing.features` (features of queries), `engines` (the protocol of engines
in other processes), `difference` (differences of two sets of answers, with reasons), and here
the search.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from cerlab.compile.pattern import Pattern
from cerlab.errors import CerlabError, keywords_by_name
from cerlab.fuzz.engines import AnswerRows, Engine, Failure, Outcome, Refusal, engine
from cerlab.logic.ceql.parser import parse_ceql
from cerlab.logic.ceql.semantics import query_answers
from cerlab.logic.ceql.syntax import CeqlQuery, query_text
from cerlab.model.answer import ComplexEvent
from cerlab.model.event import Event
from cerlab.model.stream import Stream, time_axis
from cerlab.testing import SMALL, Shape, as_dict, random_events, random_query
from cerlab.testing.choices import smallest
from cerlab.testing.features import (
    ALONE,
    CEL,
    CLAUSES,
    COMPOSITE,
    FAMILY,
    FEATURES,
    USUAL,
    features,
    wanted,
)
from cerlab.why import why, why_text

__all__ = [
    "CEL",
    "CLAUSES",
    "COMPOSITE",
    "FAMILY",
    "FEATURES",
    "Difference",
    "Summary",
    "difference",
    "engine",
    "features",
    "fuzz",
    "reference",
    "wanted",
]


_ATOMIC = 0.1
"""Share of the queries that may be a single type."""


_DRAWS = 1_000
"""Most queries drawn to find one that the reference supports; most queries are."""


_PLAIN = "SELECT * WHERE A"
"""A query without features: an engine that refuses it has failed on all queries."""


@dataclass(frozen=True, slots=True)
class Summary:
    """The counts of a search, and the first difference, made as small as possible.

    Of the `cases`, `answered` had answers by the reference and were compared; `composite` of these
    had an operator that joins or repeats parts. The engine refused `refused` cases, the last one
    for `reason`. It refused each feature of `shunned` alone, so those are no longer drawn.
    `untested` lists the features of the search that no compared case with answers had. `case` is
    the number of the case that differed.
    """

    cases: int
    answered: int
    refused: int
    reason: str = ""
    difference: Difference | None = None
    case: int | None = None
    composite: int = 0
    shunned: tuple[str, ...] = ()
    untested: tuple[str, ...] = ()

    @property
    def doubt(self) -> str:
        """The reason why finding no difference proves little, or an empty text."""
        if not self.answered:
            return "nothing was compared"
        if 2 * self.refused > self.cases:
            return "most of the queries were refused"
        if 4 * self.answered < self.cases:
            return "most of the cases had no answers"
        if 2 * self.composite < self.answered:
            return "most of the queries were atomic"
        return ""


Progress = Callable[[Summary], None]


@keywords_by_name
def fuzz(
    child: Engine,
    *,
    cases: int = 1_000,
    seed: int = 0,
    takes: frozenset[str] = frozenset(USUAL),
    shape: Shape = SMALL,
    watch: Progress = lambda summary: None,
) -> Summary:
    """Compare an engine with the reference on random cases, up to the first difference.

    Streams have types A, B, C and attributes v, w, k, and t, the time in seconds. A feature of a
    refused query is tried alone, and dropped only if that is refused too.

    Args:
        child: The engine.
        cases: The number of cases.
        seed: The same seed gives the same cases.
        takes: Features that queries may have.
        shape: The size and the variety of queries and streams.
        watch: A function called with the counts before each case.

    Raises:
        UsageError: The engine cannot be started.
    """
    outcome = Summary(0, 0, 0, untested=tuple(sorted(takes)))
    taken: set[str] = set()
    for n in range(cases):
        watch(outcome)
        # each case has a separate generator, so case n is independent of the draws of the others
        choice = takes - set(outcome.shunned)
        query, events, expected = _case(Random(f"{seed} {n}"), choice, shape)
        used = features(query)
        reply = _compare(child, query, events, expected)
        outcome = _counted(outcome, used, reply, bool(expected))
        if isinstance(reply, Difference):
            smaller = _smallest(child, query, events, reply)
            return replace(outcome, difference=smaller, case=n)
        if isinstance(reply, Refusal) and (taken or not _is_refused(child, _PLAIN)):
            alone = {each for each in used - taken if _is_refused(child, ALONE[each])}
            shunned = tuple(sorted(alone.union(outcome.shunned)))
            outcome = replace(outcome, shunned=shunned)
            taken |= used - alone
        elif not isinstance(reply, Refusal):
            taken |= used
    return outcome


def _counted(
    outcome: Summary, used: frozenset[str], reply: Difference | Refusal | None, has_answers: bool
) -> Summary:
    """Return the counts with one more case added."""
    outcome = replace(outcome, cases=outcome.cases + 1)
    if isinstance(reply, Refusal):
        return replace(outcome, refused=outcome.refused + 1, reason=reply.why)
    if not has_answers:
        return outcome
    return replace(
        outcome,
        answered=outcome.answered + 1,
        composite=outcome.composite + bool(used & COMPOSITE),
        untested=tuple(each for each in outcome.untested if each not in used),
    )


def _is_refused(child: Engine, text: str) -> bool:
    """Return whether the engine refuses a query on an empty stream."""
    query = parse_ceql(text if text.startswith("SELECT") else f"SELECT * WHERE {text}")[0]
    return isinstance(child.ask(query_text(query), []), Refusal)


def _case(
    rng: Random, takes: frozenset[str], shape: Shape
) -> tuple[CeqlQuery, tuple[Event, ...], list[ComplexEvent]]:
    """Return a query that the reference supports, a stream that JSON can hold, and the answers."""
    shape = replace(shape, takes=takes)
    atomic = not takes & COMPOSITE or rng.random() < _ATOMIC
    for _ in range(_DRAWS):
        query = random_query(rng, shape)
        if not (atomic or features(query) & COMPOSITE):
            continue
        events = tuple(random_events(rng, query.formula, shape, query=query))
        if any(value != value for event in events for value in event.attributes.values()):
            continue  # JSON has no NaN
        try:
            return query, events, reference(query, events)
        except CerlabError:
            continue
    raise AssertionError(f"none of {_DRAWS:,} random queries is supported by the reference")


def _compare(
    child: Engine, query: CeqlQuery, events: Sequence[Event], expected: list[ComplexEvent]
) -> Difference | Refusal | None:
    reply: Outcome = child.ask(query_text(query), [as_dict(event) for event in events])
    match reply:
        case Refusal():
            return reply
        case Failure(how):
            return Difference(query, tuple(events), broken=how)
        case AnswerRows(rows):
            return difference(query, events, expected, rows)


def _smallest(
    child: Engine, query: CeqlQuery, events: tuple[Event, ...], one: Difference
) -> Difference:
    """Return a difference of the same kind on a minimal case."""
    best = one

    def fails(query: CeqlQuery, events: tuple[Event, ...]) -> bool:
        nonlocal best
        again = _compare(child, query, events, reference(query, events))
        if isinstance(again, Difference) and bool(again.broken) is bool(one.broken):
            best = again
            return True
        return False

    smallest(query, events, fails)
    return best


TIME = time_axis("t", "s")
"""Time axis of all streams: the attribute t, in seconds."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A case on which an engine and the reference differ.

    `missing` are answers that the engine lacks, `extra` rows that are not answers, `twice` rows
    that it returned more than once; `broken` is the text of a failure.
    """

    query: CeqlQuery
    events: tuple[Event, ...]
    missing: tuple[ComplexEvent, ...] = ()
    extra: tuple[dict[str, Any], ...] = ()
    twice: tuple[dict[str, Any], ...] = ()
    broken: str | None = None

    def __str__(self) -> str:
        return "\n".join(_lines(self))


def reference(query: CeqlQuery, events: Sequence[Event]) -> list[ComplexEvent]:
    """Return the answers of the reference semantics.

    Args:
        query: The query.
        events: The stream.

    >>> from cerlab.logic.ceql.parser import parse_ceql
    >>> reference(parse_ceql("SELECT * WHERE A ; B")[0], [Event("A"), Event("B")])
    [ComplexEvent(start=0, end=1, positions=(0, 1))]
    """
    return list(query_answers(query, Stream(events, time=TIME)))


def difference(
    query: CeqlQuery,
    events: Sequence[Event],
    expected: Sequence[ComplexEvent],
    rows: Sequence[dict[str, Any]],
) -> Difference | None:
    """Return how the rows of an engine differ from the expected answers, None if they are equal.

    The order of rows is ignored, and an answer that is listed twice is a difference. If a row has
    no interval, all rows are compared by positions.

    Args:
        query: The query.
        events: The stream.
        expected: The answers of the reference.
        rows: The answers of the engine, as JSON objects.
    """
    by_interval = all("start" in row and "end" in row for row in rows)
    keys = [_key(m.start, m.end, m.positions, by_interval) for m in expected]
    answers = dict(zip(keys, expected, strict=True))
    # without intervals, answers with equal positions share a key: each may be listed once
    most = Counter(keys)
    counts = Counter(
        _key(row.get("start"), row.get("end"), row["positions"], by_interval) for row in rows
    )
    missing = tuple(m for key, m in answers.items() if key not in counts)
    extra = tuple(_row(key) for key in counts if key not in answers)
    twice = tuple(_row(key) for key, times in counts.items() if times > most[key] > 0)
    if not (missing or extra or twice):
        return None
    return Difference(query, tuple(events), missing, extra, twice)


_Key = tuple[Any, Any, tuple[int, ...]]


def _key(start: Any, end: Any, positions: Sequence[int], by_interval: bool) -> _Key:
    interval = (start, end) if by_interval else (None, None)
    return (*interval, tuple(sorted(positions)))


def _row(key: _Key) -> dict[str, Any]:
    start, end, positions = key
    interval = {} if start is None else {"start": start, "end": end}
    return {**interval, "positions": list(positions)}


def _lines(one: Difference) -> Iterator[str]:
    """Yield the case, then each wrong answer with the reason by the semantics."""
    yield query_text(one.query)
    yield f"on {len(one.events)} event{'' if len(one.events) == 1 else 's'}:"
    yield from (f"  {json.dumps(as_dict(event))}" for event in one.events)
    if one.broken is not None:
        yield f"the engine fails: {one.broken}"
    for m in one.missing:
        yield f"missing: {json.dumps(_row((m.start, m.end, m.positions)))}"
        yield from _reason(one, list(m.positions), m.start, m.end)
    for row in one.extra:
        yield f"too many: {json.dumps(row)}"
        yield from _reason(one, row["positions"], row.get("start"), row.get("end"))
    yield from (f"more than once: {json.dumps(row)}" for row in one.twice)


def _reason(
    one: Difference, positions: list[int], start: int | None, end: int | None
) -> Iterator[str]:
    query = Pattern(one.query)
    stream = Stream(one.events, time=TIME)
    if not positions and start is None:
        return
    try:
        lines = why_text(why(query, stream, positions, start, end))
    except CerlabError:
        return  # the difference is already printed; only its reason is missing
    yield from (f"  {line}" for line in lines.splitlines())
