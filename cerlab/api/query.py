"""The class of parsed queries, with the functions of `cerlab` as methods."""

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
"""Attributes of `Pattern` that `dir` of a query lists."""


class Query(Pattern):
    """A CEQL query with its stages (`Pattern`) and the functions of `cerlab` as methods.

    Threads may share a query. Queries are equal if their canonical text, logic and schema are
    equal.
    """

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Query):
            return NotImplemented
        same = (self._said, self.logic, self.schema) == (other._said, other.logic, other.schema)
        return same and self.ast == other.ast  # two predicates from Python may have one name

    def __hash__(self) -> int:
        # `==` compares schemas and predicates from Python too; equal queries have equal texts
        return hash((self._said, self.logic))

    def __dir__(self) -> Iterable[str]:
        """Return the names for users: methods, stages and conversions.

        Attributes that only evaluators read are omitted, so ``<TAB>`` does not offer them.
        """
        shown = {*vars(Query), *_STAGES}
        return [n for n in super().__dir__() if n in shown or n.startswith("__")]

    @cached_property
    def _said(self) -> str:
        return self.text

    @property
    def table(self) -> MintermTable:
        """The transition table of the query's machine by kind of event; raises `ResourceLimit`."""
        from cerlab.viz.deterministic import minterm_table

        return minterm_table(self.machine)

    @lists_options(io.HowToRead)
    def explain(self, events: Any = None, **how: Unpack[io.HowToRead]) -> Explanation:
        """Explain how the compiled engine evaluates the query on streams such as `events`.

        Raises `Unsupported` for a query that the engine does not support.

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
        """The transducer of the formula; raises `Unsupported` if it has none.

        >>> parse_query("SELECT * WHERE A AS a ; B AS b FILTER a.v < b.v").srt.states
        3
        """
        return self.registers.srt

    @lists_options(io.HowToRead)
    def tecs(self, events: Any, **how: Unpack[io.HowToRead]) -> TecsSnapshot:
        """Return the tECS (graph of open matches) after the last event.

        `how` has the options of `cerlab.evaluate`.

        Raises `Unsupported` for a query without an automaton, and `UsageError` for an empty stream.

        >>> len(parse_query("SELECT * WHERE A ; B").tecs([{"type": "A"}, {"type": "B"}]).nodes) > 1
        True
        """
        from cerlab.viz.tecs import tecs_snapshot

        return tecs_snapshot(self.plan, self.machine, io.as_stream(events, **how))

    @lists_options(io.HowToRead)
    def run(
        self, events: Any, *, threads: int | None = None, **how: Unpack[io.HowToRead]
    ) -> Matches:
        """Return the answers on a stream, evaluated as they are iterated.

        Args:
            events: Anything that `cerlab.evaluate` accepts.
            threads: Threads for counts and aggregates (default: ``CERLAB_THREADS``, or all cores).
                Listing uses several threads only if a number is given and all answers depend on one
                window; answers of one end may then come in another order.
            type, type_column, time, unit, until, sort: How to read the events, as in
                `cerlab.evaluate`.

        Raises:
            UsageError: `threads` is not positive.

        >>> parse_query("SELECT * WHERE A ; B").run([{"type": "A"}, {"type": "B"}]).count()
        1
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
        """Explain why these positions are not an answer on a stream (`cerlab.why`).

        >>> query = parse_query("SELECT * WHERE A : B")
        >>> print(query.why_not([{"type": kind} for kind in "ACB"], [0, 2]).failure)
        gap of 1 event at ':', between 0 and 2
        """
        from cerlab.why import why

        return why(self, events, positions, start, end, logic=logic, **how)

    @lists_options(io.HowToRead)
    def why_none(self, events: Any, **how: Unpack[io.HowToRead]) -> WhyNone:
        """Explain why a stream has no answer, with repairs (`cerlab.why_none`).

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
        """Open a session, which accepts events in batches.

        ``push(batch)`` returns the new answers, ``state()`` bytes to resume from.

        With a `lateness`, events may arrive in any order within that distance of the largest time
        so far. They are buffered and read in order of time once the largest time is more than
        `lateness` later; positions count in that order. An event before one already read is late:
        it raises `BadData` and is counted in `session.late`.

        Args:
            time: The time attribute for windows in hours, minutes or seconds (default: the only
                timestamp that the query's schema declares).
            unit: The unit of a numeric `time`.
            lateness: ``"5 seconds"``, a `timedelta`, or a number in the unit of `time`.
            state: The state of an earlier session of the same query with the same time, to resume
                it.

        Raises:
            BadData: `state` is not the state of a session of this query.
            UsageError: The time differs from that of the state.

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
        """Open a session of rows: ``push(batch)`` returns the named columns of the new answers.

        Args:
            columns: The columns, as in ``Matches.table``.
            time, unit, lateness, state: As in `open`.

        Raises as ``Matches.table`` and `open`.

        >>> session = parse_query("SELECT * WHERE A AS a ; B AS b").tabulating(["a.v", "b.v"])
        >>> session.push([{"type": "A", "v": 1}, {"type": "B", "v": 2}]).to_pylist()
        [{'start': 0, 'end': 1, 'a.v': 1, 'b.v': 2}]
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
        """Open a session of aggregates: ``push(batch)`` returns the groups that the batch changed.

        Answers are not listed: the cost of an event is one sum per transition and per start in the
        window, however many answers it completes. Batches of 128 events or more are read by the
        compiled engine, about twenty times faster than single events. Where filters compare labels,
        answers are listed a batch at a time and the events of the window are kept; where answers
        also wait, all events are kept.

        Args:
            time, unit, lateness, state: As in `open`.
            count, sum, avg, min, max, group_by, sliding: As in ``Matches.aggregate``.

        Raises as ``Matches.aggregate`` and `open`, and `Unsupported` for queries with neither an
        automaton nor a transducer.

        >>> session = parse_query("SELECT * WHERE A+").aggregating()
        >>> session.push([{"type": "A"}, {"type": "A"}]).to_pylist()
        [{'count': 3}]
        """
        request, axis = request_of(self, **aggregates), self._axis(time, unit, state)
        return AggregateSession(self, request, axis, state, lateness)

    def _axis(self, time: str | None, unit: str | None, state: bytes | None) -> TimeAxis | None:
        axis = axis_of_options(time, unit)
        return io.time_of_schema(self.schema) if axis is None and state is None else axis


@keywords_by_name
def parse_query(text: str, schema: Schema | str | None = None) -> Query:
    """Parse a CEQL query; a formula alone means ``SELECT * WHERE`` this formula.

    Clauses without effect give a `CerlabWarning`.

    Args:
        text: The query; ``CREATE STREAM`` before it declares types and attributes.
        schema: The declarations, if the text has none.

    Raises:
        QuerySyntaxError, IllFormed, TypeMismatch, ResourceLimit: Each with the place in the text.

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
    """Return a query from a text, a formula or a query; raises as `as_pattern`."""
    pattern = as_pattern(query, language, schema)
    if isinstance(pattern, Query):
        return pattern
    return Query(pattern.ast, schema=pattern.schema, source=pattern.source)
