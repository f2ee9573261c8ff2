"""The meaning of queries, clause by clause, from FROM to THROTTLE (CORE Sec. 2.2).

This is the reference; docs/languages lists the decisions where the paper is silent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, product
from typing import Any, Protocol, TypeAlias, TypeVar, assert_never

from cerlab.errors import IllFormed
from cerlab.logic.cel.semantics import NO_CLOCKS, Clocks, Valuations, axis_name, valuations
from cerlab.logic.cel.syntax import Formula, Select, waits, windows
from cerlab.logic.ceql.syntax import CeqlQuery, partition_attributes, selected_formula
from cerlab.model.answer import (
    ComplexEvent,
    Valuation,
    by_end,
    complex_event,
    latest_first,
    valuation_by_end,
    valuation_latest_first,
)
from cerlab.model.clauses import AttributeWindow, Consume, EventWindow, Limit, TimeWindow, Window
from cerlab.model.event import Event
from cerlab.model.stream import (
    Instant,
    Stream,
    TimeAxis,
    axis_for,
    axis_of_windows,
    clock_for,
    promised,
)
from cerlab.predicates.truth import partition_key

Answer = TypeVar("Answer", ComplexEvent, Valuation)

_Timed: TypeAlias = Callable[[Formula, Sequence[Event]], Valuations]


class Meaning(Protocol):
    """The semantics of formulas: a function from a formula and a substream to valuations."""

    def __call__(
        self,
        phi: Formula,
        S: Sequence[Event],
        axis: TimeAxis | None = None,
        clocks: Clocks = NO_CLOCKS,
        /,
    ) -> Valuations:
        """Return the valuations of a formula on a substream; windows measure time on `axis`."""


@dataclass(frozen=True, slots=True)
class Substream:
    """A subsequence of the stream: events with their positions in the stream."""

    events: tuple[Event, ...]
    positions: tuple[int, ...]

    @classmethod
    def of(cls, rows: Iterable[tuple[int, Event]]) -> Substream:
        """Return the substream with the given (position, event) rows."""
        pairs = tuple(rows)
        return cls(tuple(t for _, t in pairs), tuple(i for i, _ in pairs))

    def rows(self) -> Iterable[tuple[int, Event]]:
        """Return the (position, event) rows of this substream."""
        return zip(self.positions, self.events, strict=True)

    def after(self, position: int) -> Substream:
        """Return the events after a position of the stream."""
        return Substream.of((i, t) for i, t in self.rows() if i > position)


def query_answers(
    query: CeqlQuery, stream: Stream, meaning: Meaning = valuations
) -> list[ComplexEvent]:
    """Return ``[[Q]](S)``, the complex events of a query: each once, in the order `by_end`.

    `meaning` is the semantics of its formula: that of CEL, or `fo_valuations`.
    """

    def answers(clocks: Clocks) -> set[ComplexEvent]:
        found = {complex_event(V) for V in _without_limit(query, stream, meaning, clocks)}
        return _throttled(query, stream, set(_apply_limit(found, query.limit, latest_first)))

    return sorted(_certain(query, stream, answers), key=by_end)


def query_valuations(
    query: CeqlQuery, stream: Stream, meaning: Meaning = valuations
) -> list[Valuation]:
    """Return the valuations of a query, each once, ordered by end, start and labels."""

    def answers(clocks: Clocks) -> set[Valuation]:
        found = _without_limit(query, stream, meaning, clocks)
        limited = set(_apply_limit(found, query.limit, valuation_latest_first))
        return _throttled(query, stream, limited)

    return sorted(_certain(query, stream, answers), key=valuation_by_end)


def _certain(
    query: CeqlQuery, stream: Stream, answers: Callable[[Clocks], set[Answer]]
) -> set[Answer]:
    """Return the answers that no continuation of the stream can change.

    The clock is the time of the last event, or the time promised by ``stream.until``. An event ends
    exactly the waits that are over at its time. So an answer on every continuation is an answer
    whatever the clock shows from now on; it suffices to try the time now, one time between any two
    ends of waits, and one after all of them.
    """
    lengths = waits(query.formula)
    if not lengths:
        return answers({})
    check_consumption(query)
    return set.intersection(*map(answers, _futures(lengths, query, stream)))


def check_consumption(query: CeqlQuery) -> None:
    """Raise `IllFormed` if a waiting answer would consume another one of its key."""
    if waits(query.formula) and query.consume.crosses_partitions and query.partition:
        raise IllFormed(
            "CER0214",
            f"CONSUME BY {query.consume.value} does not support keys whose answers wait",
            hint="write CONSUME BY PARTITION",
        )


def _futures(
    lengths: Sequence[TimeWindow | AttributeWindow], query: CeqlQuery, stream: Stream
) -> Iterator[Clocks]:
    """Yield possible present and future times, one for each set of waits that may be over."""
    whole = _from(query, stream)
    axis = axis_of_windows(lengths, stream)
    read: dict[str, list[Instant]] = {}
    ends: dict[str, list[Instant]] = {}
    for length in lengths:
        name = axis_name(length)
        width = Fraction(length.width)
        read[name] = list(_times(length, whole, axis).values())
        ends.setdefault(name, []).extend(t + width for t in read[name])
    if stream.until == "end":
        yield {}
        return
    last = {name: times[-1:] for name, times in read.items()}
    if stream.until is not None:
        for name, now in last.items():
            last[name] = [promised(stream.until, lengths, axis, now)]
    shown = [[*_different(now, ends[name]), None] for name, now in last.items()]
    for each in product(*shown):
        yield {name: t for name, t in zip(read, each, strict=True) if t is not None}


def _different(last: list[Instant], ends: list[Instant]) -> list[Instant]:
    """Return the present time, if known, and a time between each two later ends of waits."""
    later = sorted({end for end in ends if end >= last[0]})
    return [*last, *(Fraction(a + b) / 2 for a, b in pairwise(later))]


def _from(query: CeqlQuery, stream: Stream) -> Substream:
    """Return the events whose stream is in FROM."""
    return Substream.of(
        (i, t)
        for i, t in enumerate(stream)
        if not query.streams or t.stream is None or t.stream in query.streams
    )


def _without_limit(
    query: CeqlQuery, stream: Stream, meaning: Meaning, clocks: Clocks
) -> Valuations:
    """Return the valuations of a query before LIMIT, substream by substream."""
    whole, inside = _from(query, stream), list(windows(query.formula))
    axis = axis_of_windows(filter(None, (query.window, *inside)), stream)
    for window in inside:
        # raises if an event has no time, even one that is in no answer
        _times(window, whole, axis)
    times = _times(query.window, whole, axis)

    def timed(phi: Formula, S: Sequence[Event]) -> Valuations:
        return meaning(phi, S, axis, clocks)

    substreams = _partition(whole, partition_attributes(query))
    match query.consume:
        case Consume.NONE:
            return _answers(query, substreams, times, timed)
        case Consume.PARTITION:
            return frozenset().union(*(_consuming(query, [s], times, timed) for s in substreams))
        case Consume.ANY:
            return _consuming(query, substreams, times, timed)
        case _:
            assert_never(query.consume)


def _partition(whole: Substream, attributes: tuple[str, ...]) -> list[Substream]:
    """Return the substreams of PARTITION BY, or one substream without the clause."""
    if not attributes:
        return [whole]
    rows: dict[object, list[tuple[int, Event]]] = {}
    for i, t in whole.rows():
        if (key := partition_key(t, attributes)) is not None:
            rows.setdefault(key, []).append((i, t))
    return [Substream.of(each) for each in rows.values()]


def _consuming(
    query: CeqlQuery, substreams: list[Substream], times: dict[int, Instant], meaning: _Timed
) -> Valuations:
    """Return the answers with CONSUME BY: those at the first end, then those after that end."""
    result: Valuations = frozenset()
    while answers := _answers(query, substreams, times, meaning):
        j = min(V.end for V in answers)
        result |= {V for V in answers if V.end == j}
        substreams = [s.after(j) for s in substreams]
    return result


def _answers(
    query: CeqlQuery, substreams: list[Substream], times: dict[int, Instant], meaning: _Timed
) -> Valuations:
    """Return the answers of WHERE, SELECT and WITHIN on all substreams."""
    phi = selected_formula(query)
    if query.strategy is not None:
        phi = Select(query.strategy, phi)
    return frozenset(
        Valuation(
            s.positions[V.start],
            s.positions[V.end],
            {X: tuple(s.positions[i] for i in D) for X, D in V.labels.items()},
        )
        for s in substreams
        for V in meaning(phi, s.events)
        if _within(query, V, s, times)
    )


def _within(query: CeqlQuery, V: Valuation, s: Substream, times: dict[int, Instant]) -> bool:
    """Return whether an answer fits WITHIN: ``end - start <= e``."""
    if query.window is None:
        return True
    return _distance(query.window, V.start, V.end, s, times) <= query.window.width


def _distance(window: Window, i: int, j: int, s: Substream, times: dict[int, Instant]) -> Instant:
    """Return the number of events or the time from position i to j, in the unit of a window."""
    if isinstance(window, EventWindow):
        return j - i
    return times[s.positions[j]] - times[s.positions[i]]


def _times(window: Window | None, whole: Substream, axis: TimeAxis | None) -> dict[int, Instant]:
    """Return the time of each event; {} for a window in events."""
    if window is None or isinstance(window, EventWindow):
        return {}
    clock = clock_for(window, axis)
    times = {i: clock(t, i) for i, t in whole.rows()}
    for (_, before), (position, now) in pairwise(times.items()):
        clock.check_order(before, now, position)
    return times


def _throttled(query: CeqlQuery, stream: Stream, answers: set[Answer]) -> set[Answer]:
    """Return the answers that THROTTLE keeps."""
    if query.throttle is None:
        return answers
    d, whole = query.throttle, _from(query, stream)
    times = _times(d, whole, axis_for(d, stream, stream.time))
    ends, given = {answer.end for answer in answers}, set[int]()
    for s in _partition(whole, partition_attributes(query)):
        last: int | None = None
        for n, j in enumerate(s.positions):
            if j in ends and (last is None or _distance(d, last, n, s, times) >= d.width):
                given.add(j)
                last = n
    return {answer for answer in answers if answer.end in given}


def _apply_limit(
    answers: Set[Answer], limit: Limit | None, order: Callable[[Answer], Any]
) -> Iterable[Answer]:
    """Return the answers that LIMIT keeps at each end."""
    if limit is None:
        return answers
    return (
        answer
        for end in {answer.end for answer in answers}
        for answer in sorted((A for A in answers if A.end == end), key=order)[: limit.per_end]
    )
