"""A query with the verbs as methods, as users hold it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Unpack

from cerlab import io
from cerlab.api.answers import Matches
from cerlab.api.sessions import AggregateSession, RowSession, Session
from cerlab.compile.pattern import (
    Language,
    Logic,
    Pattern,
    QueryInput,
    as_pattern,
    is_formula,
)
from cerlab.computed import cached_property
from cerlab.errors import keywords_by_name, lists_options, refuse_misspelt
from cerlab.evaluate.aggregates import Aggregates, request_of
from cerlab.evaluate.physical import compiled
from cerlab.logic.ceql.parser import as_schema
from cerlab.model.event import Schema
from cerlab.model.stream import TimeAxis, axis_of_options

if TYPE_CHECKING:
    from cerlab.automata.registers import Srt
    from cerlab.display import Explanation
    from cerlab.engine.late_events import Length
    from cerlab.engine.reference.snapshot import TecsSnapshot
    from cerlab.viz.deterministic import MintermTable
    from cerlab.why import Why
    from cerlab.why.none import WhyNone


_STAGES = (
    *("cea", "det", "formula", "machine", "plan", "schema", "text", "to_graphviz", "to_networkx"),
    "vcea",
)
"""Attributes of a `Pattern` that users of a query need."""


class Query(Pattern):
    """A CEQL query: its stages (`Pattern`), and what can be done with it.

    Threads may share it. Queries are equal that say the same: by canonical text, logic and schema.
    """

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Query):
            return NotImplemented
        same = (self._said, self.logic, self.schema) == (other._said, other.logic, other.schema)
        return same and self.ast == other.ast  # predicates from Python may share a name

    def __hash__(self) -> int:
        # The schema and predicates from Python are left to `==`: equal queries have equal texts.
        return hash((self._said, self.logic))

    def __dir__(self) -> Iterable[str]:
        """Return the names for users: the verbs, the stages and the conversions.

        Attributes that only evaluators read are left out of what `<TAB>` offers.
        """
        shown = {*vars(Query), *_STAGES}
        return [n for n in super().__dir__() if n in shown or n.startswith("__")]

    @cached_property
    def _said(self) -> str:
        return self.text

    @property
    def table(self) -> MintermTable:
        """The moves of `machine` on each kind of event, explored; raises `ResourceLimit`."""
        from cerlab.viz.deterministic import minterm_table

        return minterm_table(self.machine)

    @lists_options(io.HowToRead)
    def explain(self, events: Any = None, **how: Unpack[io.HowToRead]) -> Explanation:
        """Explain how the compiled engine evaluates the query on streams such as `events`.

        Raises `Unsupported` for a query that the engine does not take.

        >>> events = [{"type": kind} for kind in "ABC"]
        >>> print(parse_query("SELECT * WHERE A ; B WITHIN 9 EVENTS").explain(events))
        predicates: 2 tests on the columns type; 2 different outcomes seen so far
        events read: 2 of 3 outcomes
        phase one: the latest start in each of 1 states tells which events end an answer
        phase two: chains of records, as runs only gather
        """
        refuse_misspelt(how, io.HowToRead.__optional_keys__)
        by = compiled(self)
        return by.explain(None if events is None else io.as_stream(events, **how))

    @property
    def srt(self) -> Srt:
        """The transducer of the formula; raises `Unsupported` for a formula without one.

        >>> parse_query("SELECT * WHERE A AS a ; B AS b FILTER a.v < b.v").srt.states
        3
        """
        return self.registers.srt

    @lists_options(io.HowToRead)
    def tecs(self, events: Any, **how: Unpack[io.HowToRead]) -> TecsSnapshot:
        """The tECS that the last event leaves; `how` as `cerlab.evaluate`.

        Raises `Unsupported` without an automaton, `UsageError` for no events.

        >>> len(parse_query("SELECT * WHERE A ; B").tecs([{"type": "A"}, {"type": "B"}]).nodes) > 1
        True
        """
        from cerlab.viz.tecs import tecs_snapshot

        return tecs_snapshot(self.plan, self.machine, io.as_stream(events, **how))

    @lists_options(io.HowToRead)
    def run(
        self, events: Any, *, threads: int | None = None, **how: Unpack[io.HowToRead]
    ) -> Matches:
        """The answers on a stream, evaluated while they are iterated; `how` as `cerlab.evaluate`.

        Counts and aggregates use `threads` threads, by default the number in ``CERLAB_THREADS`` or
        all cores. Listing uses several only if a number is given, and where answers depend on one
        window; the answers of one end may then come in another order.
        Raises `UsageError` for numbers that are not positive.
        """
        return Matches(self, io.as_stream(events, **how), threads=threads)

    @lists_options(io.HowToRead)
    def why_not(
        self,
        events: Any,
        positions: Iterable[int],
        start: int | None = None,
        end: int | None = None,
        *,
        logic: Logic = "so",
        **how: Unpack[io.HowToRead],
    ) -> Why:
        """Which obligation the positions fail to be an answer on a stream (`cerlab.why`).

        >>> query = parse_query("SELECT * WHERE A : B")
        >>> print(query.why_not([{"type": kind} for kind in "ACB"], [0, 2]).failure)
        gap of 1 event at ':', between 0 and 2
        """
        from cerlab.why import why

        return why(self, events, positions, start, end, logic=logic, **how)

    @lists_options(io.HowToRead)
    def why_none(self, events: Any, **how: Unpack[io.HowToRead]) -> WhyNone:
        """Explain why a stream has no answer, and the changes that give one (`cerlab.why_none`).

        >>> print(parse_query("SELECT * WHERE A : B").why_none([{"type": kind} for kind in "ACB"]))
        no answer on 3 events; each of these changes alone gives one:
          ';' for ':' before B: {0, 2}
        """
        from cerlab.why.none import why_none

        return why_none(self, events, **how)

    @keywords_by_name
    def open(
        self,
        *,
        time: str | None = None,
        unit: str | None = None,
        lateness: Length | None = None,
        state: bytes | None = None,
    ) -> Session:
        """A push interface: ``push(batch)`` gives the new answers, ``state()`` bytes to go on from.

        `time` and `unit` name the time attribute for windows in hours, minutes or seconds; without
        them it is the only timestamp that the query's schema declares.

        With a `lateness` (``"5 seconds"``, a `timedelta`, or a number in the unit of a numeric
        time) events may come in any order within that length of the largest time so far. They are
        held back, and read in order of time when the largest time is more than `lateness` later;
        positions count in that order. An event before one that was read is late: `BadData`,
        counted in `session.late`. With the `state` of an
        earlier session of the same query it goes on where that was, on the same time; raises
        `BadData` for other bytes, `UsageError` for another time.

        >>> session = parse_query("SELECT * WHERE A ; B").open()
        >>> session.push([{"type": "A"}])
        []
        >>> session.push([{"type": "B"}])
        [ComplexEvent(start=0, end=1, positions=(0, 1))]
        """
        return Session(self, self._axis(time, unit, state), state, lateness)

    @keywords_by_name
    def tabulating(
        self,
        columns: Iterable[str] | None = None,
        *,
        time: str | None = None,
        unit: str | None = None,
        lateness: Length | None = None,
        state: bytes | None = None,
    ) -> RowSession:
        """A push interface to rows with names: ``push(batch)`` gives those of the new answers.

        `columns` as of ``Matches.table``, `time`, `unit`, `lateness` and `state` as of `open`;
        raises as both.
        """
        return RowSession(self, columns, self._axis(time, unit, state), state, lateness)

    @lists_options(Aggregates)
    def aggregating(
        self,
        *,
        time: str | None = None,
        unit: str | None = None,
        lateness: Length | None = None,
        state: bytes | None = None,
        **aggregates: Unpack[Aggregates],
    ) -> AggregateSession:
        """A push interface to aggregates: ``push(batch)`` gives the groups that the batch changed.

        No answer is listed: an event costs as many sums as there are transitions and starts in
        the window, however many answers it completes. Batches of 128 events and more are read by
        the compiled engine, some twenty times faster than single events. Arguments as of
        ``Matches.aggregate``, and `time`, `unit`, `lateness` and `state` as of `open`; raises as
        both, and `Unsupported` for queries that have neither an automaton nor a transducer. Where
        filters compare labels answers are listed, a batch at a time, and the events of the window
        are kept; where answers wait, too, and all events are.
        """
        request, axis = request_of(self, **aggregates), self._axis(time, unit, state)
        return AggregateSession(self, request, axis, state, lateness)

    def _axis(self, time: str | None, unit: str | None, state: bytes | None) -> TimeAxis | None:
        axis = axis_of_options(time, unit)
        return io.time_of_schema(self.schema) if axis is None and state is None else axis


@keywords_by_name
def parse_query(text: str, schema: Schema | str | None = None) -> Query:
    """Read a CEQL query; ``CREATE STREAM`` before it, or `schema`, declares what it may use.

    A formula alone is ``SELECT *`` of it. Parts without effect give a `CerlabWarning`. Raises
    `QuerySyntaxError`, `IllFormed`, `TypeMismatch` and `ResourceLimit`, each with its place.

    >>> parse_query("select * where A as x; B within 3 events")
    SELECT *
    WHERE A AS x ; B
    WITHIN 3 EVENTS
    """
    language: Language | None = None if is_formula(text) else "ceql"
    return as_query(text, as_schema(schema), language=language)


def as_query(
    query: QueryInput, schema: Schema | None = None, *, language: Language | None = None
) -> Query:
    """A query of anything that is one; raises as `as_pattern`."""
    pattern = as_pattern(query, language, schema)
    if isinstance(pattern, Query):
        return pattern
    return Query(pattern.ast, schema=pattern.schema, source=pattern.source)
