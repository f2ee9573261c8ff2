"""A query that is open: events are pushed as they come, and what they complete comes back.

Answers, rows and aggregates are three outputs of one session. A push takes nothing over before all
of it is there: while it runs the session counts as stopped, and it is whole again in the same step
that gives the result out. So after an interrupt or a limit a session is where it was, or refuses.
A thread that comes while another one is in a session is refused.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from threading import get_ident
from typing import TYPE_CHECKING, Any, Generic, TypeVar, Unpack

from cerlab import io
from cerlab.compile.pattern import AnyPattern, Pattern
from cerlab.display import rich_display
from cerlab.errors import BadData, TypeMismatch, Unsupported, UsageError, lists_options
from cerlab.evaluate.labelled import answer_columns, has_labels, rows_of_part
from cerlab.evaluate.missing_names import Requirements, warn_of
from cerlab.evaluate.physical import compiled
from cerlab.model.answer import ComplexEvent
from cerlab.model.clauses import AttributeWindow
from cerlab.model.stream import Stream, TimeAxis, Until, events_of_dicts

if TYPE_CHECKING:
    from cerlab.engine.late_events import InOrder, Length
    from cerlab.engine.run import OpenRun
    from cerlab.evaluate.aggregates import Request
    from cerlab.evaluate.recent import WithEvents
    from cerlab.evaluate.running import RunningTotals

Result = TypeVar("Result")

T = TypeVar("T")

_OVER = b"over\n"
"""The line before the state of a session that is over; the rest is the state of its run."""


class _Session(ABC, Generic[Result]):
    """Common part of sessions; `Result` is the result of a push."""

    _run: OpenRun
    _nothing: Callable[[], Any] = tuple
    """Result of a batch without events."""
    _before = 0
    """Number of events that the state had read before this session went on from it."""

    def __init__(
        self, query: AnyPattern, time: TimeAxis | None, state: bytes | None, lateness: Length | None
    ) -> None:
        over, state = _opened(state)
        self._order, self._run_state = _order_of(time, lateness, state)
        """The buffer of events that come late; None without a lateness."""
        self._waits = query.waits is not None
        if self._order is not None:
            _check_axis(query, self._order.time)
        self._stopped = False
        self._unit = Requirements.of_unit(time)
        """That the time holds numbers, where it has a unit; looked for until a time is there."""
        self._over = over
        """Whether no event may come: that was promised."""
        self._user: dict[str, int] = {}
        """The thread that is in the session."""

    def _enter(self) -> None:
        """Note the thread; raises `UsageError` if another one is in the session."""
        thread = get_ident()
        # One step: no other thread comes between the look and the note.
        if self._user.setdefault("thread", thread) != thread:
            raise UsageError(
                "CER0833",
                "another thread is in this session",
                hint="push from one thread, or under a lock of your own",
            )
        if self._stopped:
            self._user.clear()
            raise _stopped()

    @abstractmethod
    def _reopened(self, state: bytes) -> tuple[Any, ...]:
        """Return a function and its arguments that open the session again with its state."""

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy goes on from the state; raises as `state`."""
        opened = self._reopened(self.state())
        return *opened, {name: getattr(self, name) for name in self._counted}

    _counted: tuple[str, ...] = ("_before",)
    """Names of the counters that are not in the state."""

    @property
    def _taken(self) -> int:
        return self._run.position if self._order is None else self._order.taken

    @property
    def pushed(self) -> int:
        """The number of events taken in this session, those that are held back included."""
        return self._taken - self._before

    @property
    def late(self) -> int:
        """The number of events that came late, also before a state; 0 without `lateness`."""
        return 0 if self._order is None else self._order.late

    @abstractmethod
    def _result(self, parts: Sequence[Any]) -> Result:
        """Return the result of all that a call of the run gives."""

    def _read(self, stream: Stream) -> Result:
        """Return the result of some events; `BadData` has that of the events before a bad one."""
        if self._order is None:
            return self._gathered(self._run.push(stream))
        return self._gathered(self._in_order(self._order.push(stream)))

    def _in_order(self, given: Iterable[Stream]) -> Iterator[Any]:
        """Yield the results of the events that the buffer gives."""
        from cerlab.engine.late_events import read_given

        assert self._order is not None
        for stream in given:
            yield from read_given(self._run, stream, self._order)

    def _gathered(self, results: Iterable[Any]) -> Result:
        parts: list[Any] = []
        try:
            for part in results:
                parts.append(part)
        except (BadData, TypeMismatch) as error:
            before: Any = self._result(parts)
            error.matches = before
            raise
        return self._result(parts)

    def _push(self, batch: Any, how: io.HowToRead) -> Result:
        self._enter()
        try:
            if self._over:
                message, hint = 'no event may come after "end"', "open the query again for others"
                raise UsageError("CER0829", message, hint=hint)
            try:
                stream = _stream(batch, **how)
            except BadData as error:
                error.matches = self._nothing()
                raise
            if self._unit.open:
                warn_of(self._unit.read(stream).absent())
            before, self._stopped = self._run.position, True
            try:
                result = self._read(stream)
            except BadData:  # the events before the bad one are read; it has what they complete
                self._stopped = False
                raise
            except (UsageError, TypeMismatch) as error:
                self._stopped = self._run.position != before and not self._loses(error)
                raise
            # No call from here to the caller: after those Python looks for signals.
            self._stopped = False
            return result
        finally:
            if "thread" in self._user:  # a push inside this one has left already
                del self._user["thread"]

    def _loses(self, error: Exception) -> bool:
        """Return whether an error is of one event, after which the session goes on.

        With a lateness the events after it are held back.
        """
        return self._order is not None and isinstance(error, TypeMismatch)

    def _alone(self, ask: Callable[[], T]) -> T:
        """Ask the run for something while no other thread is in the session."""
        self._enter()
        try:
            self._stopped = True
            try:
                result = ask()
            except (BadData, UsageError):  # before anything is taken over
                self._stopped = False
                raise
            except TypeMismatch as error:
                self._stopped = not self._loses(error)
                raise
            self._stopped = False
            return result
        finally:
            if "thread" in self._user:
                del self._user["thread"]

    def _promise(self, until: Until) -> Result:
        """Ask the run for what a promise makes known; "end" closes the session."""

        def known() -> Result:
            result = self._gathered(self._advanced(until))
            self._over = self._over or (isinstance(until, str) and until == "end")
            return result

        return self._alone(known)

    def _advanced(self, until: Until) -> Iterator[Any]:
        if self._order is not None:
            yield from self._in_order([self._order.advance(until)])
        # Without a buffer, the run warns that a promise says nothing to a query without waits.
        if self._order is None or self._waits:
            yield from self._run.advance(until)

    def state(self) -> bytes:
        """All that has to be known to go on later, elsewhere: what opens the query takes it.

        A documented, versioned format that runs no code when it is read. A state from somebody else
        cannot do harm, but decides which answers come.
        """

        def bytes_of_all() -> bytes:
            run = self._run.state()
            return _OVER * self._over + (run if self._order is None else self._order.state(run))

        return self._alone(bytes_of_all)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.pushed:,} events pushed>"


def _opened(state: bytes | None) -> tuple[bool, bytes | None]:
    """Whether a state is that of a session that is over, and the state of its run."""
    if isinstance(state, bytes) and state.startswith(_OVER):
        return True, state.removeprefix(_OVER)
    return False, state


def _order_of(
    time: TimeAxis | None, lateness: Length | None, state: bytes | None
) -> tuple[InOrder | None, bytes | None]:
    """Return the buffer of a session, if it has a lateness, and the state of its run."""
    if lateness is None and state is None:
        return None, None
    from cerlab.engine.late_events import opened_order

    return opened_order(time, lateness, state)


def _check_axis(query: AnyPattern, time: TimeAxis) -> None:
    """Raise `UsageError` where answers wait on another axis than the one that orders the events."""
    windows = () if query.waits is None else query.waits.plan.windows
    for window in windows:
        if isinstance(window, AttributeWindow) and window.attribute != time.attribute:
            raise UsageError(
                "CER0827",
                f"answers wait by '{window.attribute}', and the events are ordered by "
                f"'{time.attribute}': one promise cannot be of both",
                hint=f"give time='{window.attribute}', or leave lateness= out",
            )


def _stopped() -> UsageError:
    return UsageError(
        "CER0832",
        "a push was stopped in the middle of its batch",
        hint="open the query again with the state() of before: query.open(state=..)",
    )


_NOT_OF_A_PUSH = {
    "until": "session.advance(until) says that all events before a time were pushed",
    "sort": "events are pushed in order of time; cerlab.evaluate and query.run take sort=",
}
"""Options of reading events that a push refuses, with hints."""


def _stream(batch: Any, **how: Unpack[io.HowToRead]) -> Stream:
    """The events of a batch; lists of dicts are not looked at further."""
    for option in how and how.keys() & _NOT_OF_A_PUSH.keys():
        hint = _NOT_OF_A_PUSH[option]
        raise UsageError("CER0847", f"a push has no option '{option}'", hint=hint)
    if type(batch) is list and not how:
        return Stream(events_of_dicts(batch))
    return io.as_stream(batch, **how)


@rich_display
class Session(_Session[list[ComplexEvent]]):
    """The compiled engine on a stream that is still arriving; made by ``Query.open``.

    Positions count all events pushed so far, also before a `state` that it was resumed from.
    `pushed` counts the events pushed here, `answered` what they completed. One thread at a time
    uses a session: during a push others are refused by `UsageError`.
    """

    _nothing = list
    _counted = ("_before", "answered")

    def __init__(
        self,
        query: AnyPattern,
        time: TimeAxis | None,
        state: bytes | None,
        lateness: Length | None = None,
    ) -> None:
        super().__init__(query, time, state, lateness)
        self._query = query
        by = compiled(query)
        self._run: OpenRun = by.run(time, self._run_state)
        self._before = self._taken
        self.plan = by.plan
        self.answered = 0

    def _reopened(self, state: bytes) -> tuple[Any, ...]:
        return type(self), (self._query, None, state)

    @lists_options(io.HowToRead)
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
        return self._push(batch, how)

    def advance(self, until: Until) -> list[ComplexEvent]:
        """Promise that all events before a time were pushed: the answers that this makes known.

        A query that waits gives an answer when the clock has passed its wait: the time of the last
        event, or that of the last promise. ``"end"`` says that no event will come, and closes the
        session. Answers are by end; one may end before an answer of an earlier push did, where keys
        are several. Raises `UsageError` for no such time, `BadData` for one before the last event;
        warns where nothing in the query waits.

        >>> from cerlab import parse_query
        >>> session = parse_query("SELECT * WHERE (A WAIT 5 [t]) UNLESS B").open()
        >>> session.push([{"type": "A", "t": 0}, {"type": "A", "t": 3}])
        []
        >>> session.advance(6)
        [ComplexEvent(start=0, end=1, positions=(0,))]
        >>> session.advance("end")
        [ComplexEvent(start=1, end=1, positions=(1,))]
        """

        return self._promise(until)

    def _result(self, parts: Sequence[Any]) -> list[ComplexEvent]:
        answers: list[ComplexEvent] = [*chain.from_iterable(parts)]
        self.answered += len(answers)
        return answers

    @property
    def lowest(self) -> int:
        """Answers to come start at this position or later."""
        return self._run.lowest

    def __repr__(self) -> str:
        return f"<Session: {self.pushed:,} events pushed, {self.answered:,} answers>"


class RowSession(_Session[Any]):
    """Rows with names on a stream that is still arriving; made by ``Query.tabulating``.

    It keeps the events that answers may still have: those of the window; without WITHIN, of a query
    that waits, and with WITHIN n EVENTS under PARTITION BY or FROM, all of them. Threads are
    refused as by `Session`.
    """

    def __init__(
        self,
        query: Pattern,
        columns: Iterable[str] | None,
        time: TimeAxis | None,
        state: bytes | None,
        lateness: Length | None = None,
    ) -> None:
        from cerlab.evaluate.recent import WithEvents

        super().__init__(query, time, state, lateness)
        if query.waits is not None and not has_labels(query, live=True):
            raise Unsupported(
                "CER0408",
                "answers that wait may come of two parts, or ends, of this formula",
                hint="query.open() gives them without labels, query.run(..).table() at the end",
            )
        self._query = query
        self._columns = None if columns is None else list(columns)
        self._schema: Any = None
        self._run: WithEvents = WithEvents(query, compiled(query).run, time, self._run_state)
        self._before = self._taken
        answer_columns(query, Stream(()), self._columns)

    def _reopened(self, state: bytes) -> tuple[Any, ...]:
        return type(self), (self._query, self._columns, None, state)

    @lists_options(io.HowToRead)
    def push(self, batch: Any, **how: Unpack[io.HowToRead]) -> Any:
        """Read more events: a pyarrow Table of the answers they complete, as ``Matches.table``.

        Positions count all events pushed so far. An attribute that has not come yet is NULL, and
        a table of no answers has the columns of the one before. A table is events to the next
        query: ``other.push(table, type="RISE")``. Raises as
        ``Session.push``, the rows before a bad event on the error as ``.matches``.

        >>> from cerlab import parse_query
        >>> session = parse_query("SELECT * WHERE A AS a ; B AS b").tabulating(["a.v", "b.v"])
        >>> session.push([{"type": "A", "v": 1}]).num_rows
        0
        >>> session.push([{"type": "B", "v": 2}]).to_pylist()
        [{'start': 0, 'end': 1, 'a.v': 1, 'b.v': 2}]
        """
        return self._push(batch, how)

    def _result(self, parts: Sequence[Any]) -> Any:
        from cerlab.engine.answers import join_answers  # NumPy loads here

        answers, recent = join_answers(parts), self._run.recent
        if not len(answers) and self._schema is not None:
            table = self._schema.empty_table()  # its columns would be made of all events kept
        else:
            part, offset = Stream(recent.events()), recent.offset
            table = rows_of_part(self._query, part, offset, answers, self._columns)
            self._schema = table.schema
        self._run.forget()
        return table

    def advance(self, until: Until) -> Any:
        """Promise that all events before a time were pushed: the rows that this makes known.

        As ``Session.advance``; raises as it does.
        """
        return self._promise(until)


class AggregateSession(_Session[Any]):
    """Aggregates on a stream that is still arriving; made by ``Query.aggregating``.

    `pushed` counts the events pushed, also before a `state` that it was resumed from. Threads are
    refused as by `Session`.
    """

    def __init__(
        self,
        query: Pattern,
        request: Request,
        time: TimeAxis | None,
        state: bytes | None,
        lateness: Length | None = None,
    ) -> None:
        from cerlab.evaluate.running import RunningTotals

        super().__init__(query, time, state, lateness)
        self._run: RunningTotals = RunningTotals(query, request, time, self._run_state)

    def _reopened(self, state: bytes) -> tuple[Any, ...]:
        query, request = self._run.asked
        return type(self), (query, request, None, state)

    @lists_options(io.HowToRead)
    def push(self, batch: Any, **how: Unpack[io.HowToRead]) -> Any:
        """Read more events: a pyarrow Table of the groups that they changed, as they are then.

        It has the columns of ``Matches.aggregate``. Grouped by ``"end"`` its rows are final, and
        the tables of all pushes are that one in pieces; else, and where answers wait, a group comes
        again whenever it has grown. A table is events to the next query:
        ``other.push(table, type="RISE")``. Sums are integers until an event brings a double. Raises
        `TypeMismatch` and `BadData` for a value that cannot be summed or compared, and then nothing
        of the batch is read; `BadData` for a time that is missing or goes back, with the rows up to
        there as ``.matches``.

        >>> from cerlab import parse_query
        >>> session = parse_query("SELECT * WHERE A+").aggregating(sum="A.v", group_by="end")
        >>> session.push([{"type": "A", "v": 1}, {"type": "A", "v": 2}]).to_pylist()
        [{'end': 0, 'count': 1, 'sum(A.v)': 1}, {'end': 1, 'count': 2, 'sum(A.v)': 5}]
        """
        return self._push(batch, how)

    def _result(self, parts: Sequence[Any]) -> Any:
        from cerlab.io.named_columns import one_table

        return one_table(parts) if parts else ()

    def advance(self, until: Until) -> Any:
        """Promise that all events before a time were pushed: the groups that this changes.

        As ``Session.advance``; raises as it does.
        """
        return self._promise(until)
