"""Any engine against the reference: random queries and streams, and the smallest difference.

    cerlab fuzz "my_engine {query} {events}" --with ';,+,OR,FILTER,AS,EVENTS'

Reading order: `features` (what a query is made of), `engines` (how an engine in another process is
asked), `difference` (what two sets of answers do not share, and why), and here the search.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any, assert_never

from cerlab.compile.pattern import Pattern
from cerlab.errors import CerlabError, UsageError, keywords_by_name, nearest
from cerlab.fuzz.engines import AnswerRows, Engine, Failure, Outcome, Refusal, engine
from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.syntax import Formula, subformulas
from cerlab.logic.ceql.semantics import query_answers
from cerlab.logic.ceql.syntax import CeqlQuery, query_text
from cerlab.model.answer import ComplexEvent
from cerlab.model.clauses import AttributeWindow, Consume, EventWindow, TimeWindow
from cerlab.model.event import Event
from cerlab.model.stream import Stream, time_axis
from cerlab.predicates.condition import Condition, Correlation, atomics
from cerlab.predicates.syntax import LabelAttribute
from cerlab.predicates.text import expression_text
from cerlab.testing import SMALL, Shape, as_dict, random_events, random_query
from cerlab.testing.choices import smallest
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


CEL = (
    *(";", ":", "+", ":+", "{n}", ":{n}", "OR"),
    *("AS", "FILTER", "NOT", "PROJECT", "RENAME", ">"),
)
"""Operators that every automaton has; ``>`` is that of ``S>R``, ``{n}`` stands for all counts."""


FAMILY = ("AND", "ALL", "UNLESS", "STRICT()", "NEXT()", "LAST()", "MAX()", "x.v=y.v", "x.v+y.v")
"""Operators of the rest of the family; the last two compare labels, plainly and with arithmetic."""


GROUPS = (
    *("COUNT(x)", "SUM(x)", "AVG(x)", "MIN(x)", "MAX(x)"),
    *("FIRST(x)", "LAST(x)", "PREV(x)"),
)
"""Operands of several events of a label; COUNT(DISTINCT x.attr) is of COUNT(x)."""


TIMED = ("WITHIN", "WAIT", "LOOKBACK")
"""Windows inside a formula, and waits."""


CLAUSES = (
    *("SELECT", "STRICT", "NEXT", "LAST", "MAX", "FROM", "PARTITION BY"),
    *("EVENTS", "SECONDS", "[t]", "CONSUME BY"),
)
"""Clauses: a projection, a strategy, .., and WITHIN in events, in time, and by an attribute."""


COMPOSITE = frozenset((";", ":", "+", ":+", "{n}", ":{n}", "OR", "AND", "ALL", "UNLESS"))
"""Operators that join parts, or repeat one."""


FEATURES = (*CEL, *FAMILY, *TIMED, *CLAUSES)


@keywords_by_name
def wanted(text: str, known: Sequence[str] = FEATURES) -> frozenset[str]:
    """Features from a list with commas, upper or lower case; raises `UsageError` for others."""
    names = set()
    by_name = {each.lower(): each for each in known}
    for name in filter(None, (part.strip() for part in text.split(","))):
        if name.lower() not in by_name:
            hint = nearest(name, known)
            raise UsageError("CER0850", f"there is no feature '{name}' of queries", hint=hint)
        names.add(by_name[name.lower()])
    return frozenset(names)


def features(query: CeqlQuery) -> frozenset[str]:
    """Return the features of a query.

    >>> from cerlab.logic.ceql.parser import parse_ceql
    >>> sorted(features(parse_ceql("SELECT LAST * WHERE A AS x ; B WITHIN 3 EVENTS")[0]))
    [';', 'AS', 'EVENTS', 'LAST']
    """
    inside = (name for phi in subformulas(query.formula) for name in _operators(phi))
    return frozenset(inside) | frozenset(_clauses(query))


def _operators(phi: Formula) -> Iterable[str]:
    match phi:
        case cel.Atom(_, stream):
            return () if stream is None else (">",)
        case cel.Seq():
            return (";",)
        case cel.Concat():
            return (":",)
        case cel.Plus():
            return ("+",)
        case cel.ConcatPlus():
            return (":+",)
        case cel.Count(_, _, _, gaps):
            return ("{n}",) if gaps else (":{n}",)
        case cel.Filter(_, condition):
            return ("FILTER", *_of_correlations(condition))
        case cel.Select(strategy, _):
            return (f"{strategy.value}()",)
        case cel.Or() | cel.And() | cel.All() | cel.Unless() | cel.As() | cel.Not():
            return (type(phi).__name__.upper(),)
        case cel.Project() | cel.Rename() | cel.Within() | cel.Wait() | cel.Lookback():
            return (type(phi).__name__.upper(),)
        case _:
            assert_never(phi)


def _of_correlations(condition: Condition) -> Iterator[str]:
    for each in atomics(condition):
        if isinstance(each, Correlation) and each.of_group is not None:
            read = (x for x in each.operands if not isinstance(x, LabelAttribute))
            words = (expression_text(x).split("(")[0] for x in read)
            yield from (f"{word}(x)" for word in words)
        elif isinstance(each, Correlation):
            plain = all(isinstance(side, LabelAttribute) for side in (each.left, each.right))
            yield "x.v=y.v" if plain else "x.v+y.v"


def _clauses(query: CeqlQuery) -> Iterator[str]:
    if query.items is not None:
        yield "SELECT"
    if query.strategy is not None:
        yield query.strategy.value
    if query.streams:
        yield "FROM"
    if query.partition:
        yield "PARTITION BY"
    match query.window:
        case EventWindow():
            yield "EVENTS"
        case TimeWindow():
            yield "SECONDS"
        case AttributeWindow():
            yield "[t]"
        case None:
            pass
        case _:
            assert_never(query.window)
    if query.consume is not Consume.NONE:
        yield "CONSUME BY"


Progress = Callable[[int], None]


_ATOMIC = 0.1
"""So large a part of the queries may have one type alone."""


_OFTEN = 8
"""A feature that was refused so often, and never taken, is drawn no more."""


_DRAWS = 20_000
"""Queries drawn in search of one with the features asked for, before a `UsageError`."""


@dataclass(frozen=True, slots=True)
class Summary:
    """Counts of a search, and the first difference, made as small as possible.

    Of the cases `answered` had answers by the reference and were compared, of which `composite` had
    an operator that joins or repeats parts; the engine refused `refused`, the last one for a
    `reason`, and every one with a feature of `shunned`, which were drawn no more. `case` is the
    number of the one that differed.
    """

    cases: int
    answered: int
    refused: int
    reason: str = ""
    difference: Difference | None = None
    case: int | None = None
    composite: int = 0
    shunned: tuple[str, ...] = ()

    @property
    def doubt(self) -> str:
        """Why no difference says little here; empty if enough was compared."""
        if not self.answered:
            return "nothing was compared"
        if 2 * self.refused > self.cases:
            return "most of the queries were refused"
        if 4 * self.answered < self.cases:
            return "most of the cases had no answers"
        if 2 * self.composite < self.answered:
            return "most of the queries were atomic"
        return ""


@keywords_by_name
def fuzz(
    child: Engine,
    *,
    cases: int = 1_000,
    seed: int = 0,
    takes: frozenset[str] = frozenset((*CEL, *CLAUSES)),
    shape: Shape = SMALL,
    watch: Progress = lambda n: None,
) -> Summary:
    """Ask an engine and the reference the same, until they differ or there were so many cases.

    The same `seed` gives the same cases. Queries have no features but those that the engine
    `takes`. Streams have types A, B, C, attributes v, w, k, and t, which is the time in seconds.
    Raises `UsageError` where hardly any query has only these features.
    """
    outcome = Summary(0, 0, 0)
    replies, refusals = Counter[str](), Counter[str]()
    for n in range(cases):
        watch(n)
        choice = takes - set(outcome.shunned)
        # Each case has its own generator, so case n does not depend on how much the others drew.
        query, events, expected = _case(Random(f"{seed} {n}"), choice, shape)
        used = features(query)
        reply = _compare(child, query, events, expected)
        outcome = replace(outcome, cases=n + 1)
        if isinstance(reply, Refusal):
            refusals.update(used)
            outcome = replace(outcome, refused=outcome.refused + 1, reason=reply.why)
        else:
            replies.update(used)
            some = bool(expected)
            is_composite = some and bool(used & COMPOSITE)
            outcome = replace(
                outcome,
                answered=outcome.answered + some,
                composite=outcome.composite + is_composite,
            )
        if isinstance(reply, Difference):
            smaller = _smallest(child, query, events, reply)
            return replace(outcome, difference=smaller, case=n)
        # While all is refused it is the engine that fails, and no feature.
        unsupported = (f for f in sorted(refusals) if refusals[f] >= _OFTEN and not replies[f])
        outcome = replace(
            outcome, shunned=tuple(unsupported) if outcome.cases > outcome.refused else ()
        )
    return outcome


def _case(
    rng: Random, takes: frozenset[str], shape: Shape
) -> tuple[CeqlQuery, tuple[Event, ...], list[ComplexEvent]]:
    """A query that the reference takes, a stream that can be written as JSON, and the answers."""
    shape = replace(shape, family=bool(takes & set(FAMILY)), timed=bool(takes & set(TIMED)))
    atomic = not takes & COMPOSITE or rng.random() < _ATOMIC
    for _ in range(_DRAWS):
        query = random_query(rng, shape)
        if not (used := features(query)) <= takes or not (atomic or used & COMPOSITE):
            continue
        events = tuple(random_events(rng, query.formula, shape))
        if any(value != value for event in events for value in event.attributes.values()):
            continue  # JSON has no NaN
        try:
            return query, events, reference(query, events)
        except CerlabError:
            continue
    raise UsageError(
        "CER0852",
        f"none of {_DRAWS:,} random queries has only these features",
        hint="give more of them with --with",
    )


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
    """The same kind of difference on a case of which nothing can be left out."""
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
"""The time of all streams: the attribute t, in seconds."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A case on which an engine and the reference differ.

    `missing` are answers that the engine lacks, `extra` rows that are none, `twice` rows that it
    gave more than once; or it is `broken`, and this says how.
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
    """Return the answers by the semantics."""
    return list(query_answers(query, Stream(events, time=TIME)))


def difference(
    query: CeqlQuery,
    events: Sequence[Event],
    expected: Sequence[ComplexEvent],
    rows: Sequence[dict[str, Any]],
) -> Difference | None:
    """Return the difference, or None; rows without an interval are compared by positions."""
    by_interval = all("start" in row and "end" in row for row in rows)
    answers = {_key(m.start, m.end, m.positions, by_interval): m for m in expected}
    counts = Counter(
        _key(row.get("start"), row.get("end"), row["positions"], by_interval) for row in rows
    )
    missing = tuple(m for key, m in answers.items() if key not in counts)
    extra = tuple(_row(key) for key in counts if key not in answers)
    twice = tuple(_row(key) for key, times in counts.items() if times > 1 and key in answers)
    # Without intervals two answers may look alike, so that twice is no fault.
    if not (missing or extra or (twice and by_interval)):
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
    """Yield the case, then each wrong answer with the reason that the semantics gives."""
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
        return  # what differs is said; only the reason is not
    yield from (f"  {line}" for line in lines.splitlines())
