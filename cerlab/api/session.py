"""A query that is open: events are pushed as they come, and what they complete comes back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from cerlab import io
from cerlab.automata.plan import Plan
from cerlab.compile.pattern import Pattern
from cerlab.display import rich_display
from cerlab.errors import BadData, UsageError
from cerlab.evaluate.labelled import answer_columns, rows_of_part
from cerlab.model.answer import ComplexEvent
from cerlab.model.event import Event
from cerlab.model.stream import Stream, TimeAxis, events_of_dicts

if TYPE_CHECKING:
    from cerlab.engine.answers import AnswerBatch
    from cerlab.engine.learned import LearnedTables
    from cerlab.evaluate.running import RunningTotals


@rich_display
class Session:
    """The compiled engine on a stream that is still arriving; made by ``Query.open``.

    Positions count all events pushed so far, also before a `state` that it was resumed from.
    `pushed` counts the events pushed here, `answered` what they completed.
    """

    def __init__(
        self, plan: Plan, machine: LearnedTables, time: TimeAxis | None, state: bytes | None
    ) -> None:
        from cerlab.engine.general import FEW, GeneralEvaluation

        self._few = FEW
        self._run = GeneralEvaluation(plan, machine, time, state=state)
        self.plan = plan
        self.pushed = 0
        self.answered = 0
        self._stopped = False

    def push(self, batch: Any, **how: Unpack[io.HowToRead]) -> list[ComplexEvent]:
        """Read more events (anything that `cerlab.evaluate` takes): the answers they complete.

        By end, inside one end in an order fixed by query and stream; all that are there, so for
        patterns with very many answers keep batches small or the query's LIMIT low. Raises
        `BadData` for an event that cannot be read; the answers before it are on the error as
        ``.matches``, and `pushed` counts the events that were read: all before it, of a batch that
        is no events none. The next push goes on after them. Raises `UsageError` for a window in
        time without the time attribute, and where a push was stopped in the middle, by an
        interrupt or a `ResourceLimit`: nobody knows how much of its batch was read.
        """
        self._check_whole()
        matches: list[ComplexEvent] = []
        before = self._run.position
        try:
            for answers in self._answers(batch, **how):
                matches += answers
        except BaseException as error:
            if isinstance(error, BadData):
                error.matches = matches
            else:
                has_begun = self._run.position != before
                self._stopped = has_begun or not isinstance(error, UsageError)
            raise
        finally:
            self.pushed += self._run.position - before
            self.answered += len(matches)
        return matches

    def _answers(self, batch: Any, **how: Unpack[io.HowToRead]) -> Iterator[AnswerBatch]:
        """In the way that costs less: lists of a few dicts need no stream."""
        if type(batch) is list and len(batch) <= self._few and not how:
            return self._run.push_events(events_of_dicts(batch))
        return self._run.push_stream(io.as_stream(batch, **how))

    @property
    def lowest(self) -> int:
        """Answers to come start at this position or later."""
        return self._run.lowest

    def state(self) -> bytes:
        """All that has to be known to go on later, elsewhere: ``query.open(state=..)``.

        A documented, versioned format that runs no code when it is read. A state from somebody else
        cannot do harm, but decides which answers come (`engine.general.state`).
        """
        self._check_whole()
        return self._run.state()

    def _check_whole(self) -> None:
        if self._stopped:
            raise UsageError(
                "CER0832",
                "a push was stopped in the middle of its batch",
                hint="open the query again with the state() of before: query.open(state=..)",
            )

    def __repr__(self) -> str:
        return f"<Session: {self.pushed:,} events pushed, {self.answered:,} answers>"


class RowSession:
    """Rows with names on a stream that is still arriving; made by ``Query.tabulating``.

    It keeps the events that answers may still have: those of the window; without WITHIN, and with
    WITHIN n EVENTS under PARTITION BY or FROM, all of them.
    """

    def __init__(
        self,
        query: Pattern,
        open_session: Callable[[bytes | None], Session],
        columns: Iterable[str] | None,
        state: bytes | None,
    ) -> None:
        """`open_session` gives the session of a state of its own."""
        self._query = query
        self._columns = None if columns is None else list(columns)
        inner, self._offset, self._events = None, 0, list[Event]()
        if state is not None:
            inner, self._offset, self._events = _rows_of_state(query, state)
        self._session = open_session(inner)
        answer_columns(query, Stream(()), self._columns)

    @property
    def pushed(self) -> int:
        """How many events were read."""
        return self._session.pushed

    def push(self, batch: Any, **how: Unpack[io.HowToRead]) -> Any:
        """Read more events: a pyarrow Table of the answers they complete, as ``Matches.table``.

        Positions count all events pushed so far. An attribute that has not come yet is NULL. A
        table is events to the next query: ``other.push(table, type="RISE")``. Raises as
        ``Session.push``, the rows before a bad event on the error as ``.matches``.

        >>> from cerlab import parse_query
        >>> session = parse_query("SELECT * WHERE A AS a ; B AS b").tabulating(["a.v", "b.v"])
        >>> session.push([{"type": "A", "v": 1}]).num_rows
        0
        >>> session.push([{"type": "B", "v": 2}]).to_pylist()
        [{'start': 0, 'end': 1, 'a.v': 1, 'b.v': 2}]
        """
        stream, before = io.as_stream(batch, **how), self._session.pushed
        try:
            answers = self._session.push(stream)
        except BadData as error:
            self._events += stream.events[: self._session.pushed - before]
            error.matches = self._rows(error.matches)
            raise
        self._events += stream.events
        return self._rows(answers)

    def _rows(self, answers: Sequence[ComplexEvent]) -> Any:
        table = rows_of_part(
            self._query, Stream(self._events), self._offset, answers, self._columns
        )
        leaves = self._session.lowest - self._offset
        if leaves > len(self._events) // 2:
            del self._events[:leaves]
            self._offset += leaves
        return table

    def state(self) -> bytes:
        """All that has to be known to go on elsewhere: ``query.tabulating(.., state=..)``.

        The session's own state with the events that it keeps, in a versioned format that runs no
        code when it is read (`cerlab.evaluate.running`).
        """
        from cerlab.evaluate.running import state_to_bytes

        events = [(e.type, e.stream, list(e.attributes.items())) for e in self._events]
        body = self._session.state().hex(), self._offset, events
        return state_to_bytes("rows", self._query.plan, None, body)

    def __repr__(self) -> str:
        return f"<RowSession: {self.pushed:,} events pushed>"


def _rows_of_state(query: Pattern, state: bytes) -> tuple[bytes, int, list[Event]]:
    """The session's own state, the position of the first of its events, and these."""
    from cerlab.engine.state import bad_state, expect
    from cerlab.evaluate.running import UNREADABLE, state_from_bytes

    _, body = state_from_bytes("rows", query.plan, state)
    try:
        inner, offset, rows = body
        expect(type(offset) is int, "the first event")
        events = [Event(kind, dict(attributes), stream) for kind, stream, attributes in rows]
        return bytes.fromhex(inner), offset, events
    except UNREADABLE as error:
        raise bad_state(str(error)) from None


class AggregateSession:
    """Aggregates on a stream that is still arriving; made by ``Query.aggregating``.

    `pushed` counts the events pushed, also before a `state` that it was resumed from.
    """

    def __init__(self, totals: RunningTotals) -> None:
        self._totals = totals

    @property
    def pushed(self) -> int:
        """How many events were read."""
        return self._totals.position

    def push(self, batch: Any, **how: Unpack[io.HowToRead]) -> Any:
        """Read more events: a pyarrow Table of the groups that they changed, as they are then.

        It has the columns of ``Matches.aggregate``. Grouped by ``"end"`` its rows are final, and
        the tables of all pushes are that one in pieces; else a group comes again whenever it has
        grown. A table is events to the next query: ``other.push(table, type="RISE")``. Sums are
        integers until an event brings a double. Raises `TypeMismatch` and `BadData` for a value
        that cannot be summed or compared, and then nothing of the batch is read; `BadData` for a
        time that is missing or goes back, with the rows up to there as ``.matches``.

        >>> from cerlab import parse_query
        >>> session = parse_query("SELECT * WHERE A+").aggregating(sum="A.v", group_by="end")
        >>> session.push([{"type": "A", "v": 1}, {"type": "A", "v": 2}]).to_pylist()
        [{'end': 0, 'count': 1, 'sum(A.v)': 1}, {'end': 1, 'count': 2, 'sum(A.v)': 5}]
        """
        return self._totals.push(io.as_stream(batch, **how).events)

    def state(self) -> bytes:
        """All that has to be known to go on elsewhere: ``query.aggregating(.., state=..)``.

        A versioned format that runs no code when it is read (`cerlab.evaluate.running`).
        """
        return self._totals.state()

    def __repr__(self) -> str:
        return f"<AggregateSession: {self.pushed:,} events pushed>"
