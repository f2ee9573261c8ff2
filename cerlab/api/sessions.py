"""Open queries: events are pushed as they arrive, and each push returns the completed results.

Answers, rows and aggregates are three outputs of the same session. While a push runs, the session
is marked as stopped; the mark is removed in the same step that returns the result. After an
interrupt or a limit, a session is therefore either unchanged or refuses further pushes. A second
thread that enters a session in use is refused.
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
"""First line in the state of a closed session; the state of its run follows."""


class _Session(ABC, Generic[Result]):
    """Base of sessions; `Result` is the result of a push."""

    _run: OpenRun
    _nothing: Callable[[], Any] = tuple
    """Result of a batch without events."""
    _before = 0
    """Number of events that the state had read before this session resumed it."""

    def __init__(
        self, query: AnyPattern, time: TimeAxis | None, state: bytes | None, lateness: Length | None
    ) -> None:
        over, state = _opened(state)
        self._order, self._run_state = _order_of(time, lateness, state)
        """Buffer of events that may arrive out of order; None without a lateness."""
        self._waits = query.stages is not None
        if self._order is not None:
            _check_axis(query, self._order.time)
        self._stopped = False
        self._unit = Requirements.of_unit(time)
        """Check that a time with a unit holds numbers; open until a time is seen."""
        self._over = over
        """True after the promise that no event will come."""
        self._user: dict[str, int] = {}
        """The thread that is using the session."""

    def _enter(self) -> None:
        """Record the current thread; raises `UsageError` if another thread uses the session."""
        thread = get_ident()
        # setdefault is atomic: no other thread comes between the check and the record
        if self._user.setdefault("thread", thread) != thread:
            raise UsageError(
                "CER0833",
                "another thread is using this session",
                hint="push from one thread, or use a lock",
            )
        if self._stopped:
            self._user.clear()
            raise _stopped()

    @abstractmethod
    def _reopened(self, state: bytes) -> tuple[Any, ...]:
        """Return a function and its arguments that reopen the session with its state."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how to copy the session by its state; raises as `state`."""
        opened = self._reopened(self.state())
        return *opened, {name: getattr(self, name) for name in self._counted}

    _counted: tuple[str, ...] = ("_before",)
    """Names of the counters that are not part of the state."""

    @property
    def _taken(self) -> int:
        return self._run.position if self._order is None else self._order.taken

    @property
    def pushed(self) -> int:
        """The number of events that this session accepted, buffered ones included."""
        return self._taken - self._before

    @property
    def late(self) -> int:
        """The number of late events since the first session; 0 without `lateness`."""
        return 0 if self._order is None else self._order.late

    @abstractmethod
    def _result(self, parts: Sequence[Any]) -> Result:
        """Return the partial results of a run, combined."""

    def _read(self, stream: Stream) -> Result:
        """Return the result of some events.

        A `BadData` carries the result of the events before it.
        """
        if self._order is None:
            return self._gathered(self._run.push(stream))
        return self._gathered(self._in_order(self._order.push(stream)))

    def _in_order(self, given: Iterable[Stream]) -> Iterator[Any]:
        """Yield the results of the events that the lateness buffer releases."""
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
                message, hint = (
                    'no event may come after the promise "end"',
                    "open the query again for new events",
                )
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
            # the session read the events before the bad one, and the error carries their result
            except BadData:
                self._stopped = False
                raise
            except (UsageError, TypeMismatch) as error:
                self._stopped = self._run.position != before and not self._loses(error)
                raise
            # no call between here and the caller: Python handles signals after calls
            self._stopped = False
            return result
        finally:
            if "thread" in self._user:  # a nested push of this thread may have removed the record
                del self._user["thread"]

    def _loses(self, error: Exception) -> bool:
        """Return whether an error concerns only one event, so that the session continues.

        With a lateness, the events after the bad one are still buffered.
        """
        return self._order is not None and isinstance(error, TypeMismatch)

    def _alone(self, ask: Callable[[], T]) -> T:
        """Call `ask` while no other thread uses the session, and return its result."""
        self._enter()
        try:
            self._stopped = True
            try:
                result = ask()
            except (BadData, UsageError):  # these errors come before any state changes
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
        """Return the results that a declared time makes certain; "end" closes the session."""

        def known() -> Result:
            result = self._gathered(self._advanced(until))
            self._over = self._over or (isinstance(until, str) and until == "end")
            return result

        return self._alone(known)

    def _advanced(self, until: Until) -> Iterator[Any]:
        if self._order is not None:
            yield from self._in_order([self._order.advance(until)])
        # without a buffer, the run warns if the promise has no effect: the query has no waits
        if self._order is None or self._waits:
            yield from self._run.advance(until)

    def state(self) -> bytes:
        """Return bytes from which this or another process can open the query again.

        The format is documented and versioned, and reading it runs no code. A state from an
        untrusted source is harmless to the machine, but determines which answers come.
        """

        def bytes_of_all() -> bytes:
            run = self._run.state()
            return _OVER * self._over + (run if self._order is None else self._order.state(run))

        return self._alone(bytes_of_all)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.pushed:,} events pushed>"


def _opened(state: bytes | None) -> tuple[bool, bytes | None]:
    """Return whether a state is that of a closed session, and the state of its run."""
    if isinstance(state, bytes) and state.startswith(_OVER):
        return True, state.removeprefix(_OVER)
    return False, state


def _order_of(
    time: TimeAxis | None, lateness: Length | None, state: bytes | None
) -> tuple[InOrder | None, bytes | None]:
    """Return the lateness buffer in a state (None without lateness), and the state of its run."""
    if lateness is None and state is None:
        return None, None
    from cerlab.engine.late_events import opened_order

    return opened_order(time, lateness, state)


def _check_axis(query: AnyPattern, time: TimeAxis) -> None:
    """Raise `UsageError` if answers wait on a time attribute other than the order of events."""
    windows = () if query.stages is None else query.stages.plan.windows
    for window in windows:
        if isinstance(window, AttributeWindow) and window.attribute != time.attribute:
            raise UsageError(
                "CER0827",
                f"answers wait by '{window.attribute}', but the events are ordered by "
                f"'{time.attribute}': one promise cannot cover both",
                hint=f"give time='{window.attribute}', or leave lateness= out",
            )


def _stopped() -> UsageError:
    return UsageError(
        "CER0832",
        "a push was interrupted inside its batch",
        hint="open the query again with the last state(): query.open(state=..)",
    )


_NOT_OF_A_PUSH = {
    "until": "session.advance(until) promises that all events before a time were pushed",
    "sort": "push events in order of time; cerlab.evaluate and query.run have sort=",
}
"""Options for reading events that `push` refuses, with hints."""


def _stream(batch: Any, **how: Unpack[io.HowToRead]) -> Stream:
    """Return the events of a batch as a stream; lists of dictionaries are checked later."""
    for option in how and how.keys() & _NOT_OF_A_PUSH.keys():
        hint = _NOT_OF_A_PUSH[option]
        raise UsageError("CER0847", f"a push has no option '{option}'", hint=hint)
    if type(batch) is list and not how:
        return Stream(events_of_dicts(batch))
    return io.as_stream(batch, **how)


@rich_display
class Session(_Session[list[ComplexEvent]]):
    """Incremental evaluation by the compiled engine, on a stream that is still arriving.

    ``Query.open`` makes sessions. Positions count all events pushed so far, including those before
    a resumed `state`. `pushed` counts the events of this session, `answered` the answers that they
    completed. One thread at a time may use a session: others are refused with `UsageError` during a
    push.
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
        """Read more events and return the answers that they complete.

        Answers come by end; the order inside one end is fixed by query and stream. All answers are
        returned, so for patterns with very many answers keep batches small or use LIMIT.

        Args:
            batch: Anything that `cerlab.evaluate` accepts.
            type, type_column, time, unit: How to read the events, as in `cerlab.evaluate`.

        Raises:
            BadData: An event cannot be read. ``.matches`` of the error has the answers before it,
                `pushed` counts the events before it (none if the batch is not events), and the next
                push continues after them.
            UsageError: The query has a window in time and no time attribute; or an earlier push was
                interrupted by a signal or a `ResourceLimit`, so that it is unknown how much was
                read.

        >>> from cerlab import parse_query
        >>> parse_query("SELECT * WHERE A ; B").open().push([{"type": "A"}, {"type": "B"}])
        [ComplexEvent(start=0, end=1, positions=(0, 1))]
        """
        return self._push(batch, how)

    def advance(self, until: Until) -> list[ComplexEvent]:
        """Promise that all events before a time were pushed, and return the certain answers.

        A query with WAIT releases an answer once the clock has passed its wait; the clock is the
        time of the last event or promise. Answers come by end; with several keys, an answer may end
        before one that an earlier push returned. A warning tells if nothing in the query waits.

        Args:
            until: A time on the axis of the waits; ``"end"`` promises that no event will come, and
                closes the session.

        Raises:
            UsageError: `until` is not a time of this axis.
            BadData: `until` is before the last event.

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
        """The lowest position at which a later answer can start."""
        return self._run.lowest

    def __repr__(self) -> str:
        return f"<Session: {self.pushed:,} events pushed, {self.answered:,} answers>"


class RowSession(_Session[Any]):
    """Named columns of answers on a stream that is still arriving; made by ``Query.tabulating``.

    The session keeps the events that later answers may contain: those of the window, or all events
    without WITHIN, for a query that waits, and for WITHIN n EVENTS with PARTITION BY or FROM. Other
    threads are refused as by `Session`.
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
        if query.stages is not None and not has_labels(query, live=True):
            raise Unsupported(
                "CER0408",
                "an answer that waits may be found twice: by two parts of the formula, or two ends",
                hint="query.open() returns them without labels, query.run(..).table() at the end",
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
        """Read more events and return the rows of their answers, as a pyarrow Table.

        The columns are those of ``Matches.table``. Positions count all events pushed so far. An
        attribute that no event has had yet is NULL; an empty table has the columns of the previous
        one. The table can be the events of another query: ``other.push(table, type="RISE")``.
        Raises as ``Session.push``; ``.matches`` of the error has the rows before a bad event.

        >>> from cerlab import parse_query
        >>> session = parse_query("SELECT * WHERE A AS a ; B AS b").tabulating(["a.v", "b.v"])
        >>> session.push([{"type": "A", "v": 1}]).num_rows
        0
        >>> session.push([{"type": "B", "v": 2}]).to_pylist()
        [{'start': 0, 'end': 1, 'a.v': 1, 'b.v': 2}]
        """
        return self._push(batch, how)

    def _result(self, parts: Sequence[Any]) -> Any:
        from cerlab.engine.answers import join_answers  # loads NumPy

        answers, recent = join_answers(parts), self._run.recent
        if not len(answers) and self._schema is not None:
            # columns of later events would differ from those of earlier tables
            table = self._schema.empty_table()
        else:
            part, offset = Stream(recent.events()), recent.offset
            table = rows_of_part(self._query, part, offset, answers, self._columns)
            self._schema = table.schema
        self._run.forget()
        return table

    def advance(self, until: Until) -> Any:
        """Promise that all events before a time were pushed, and return the certain rows.

        The argument and errors are those of ``Session.advance``.
        """
        return self._promise(until)


class AggregateSession(_Session[Any]):
    """Aggregates on a stream that is still arriving; made by ``Query.aggregating``.

    `pushed` counts the events pushed, including those before a resumed `state`. Other threads are
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
        """Read more events and return the current rows of the groups that the events changed.

        The result is a pyarrow Table with the columns of ``Matches.aggregate``. Grouped by
        ``"end"``, rows are final, and the tables of all pushes together are that table; otherwise,
        and where answers wait, a group is returned again whenever it changes. Sums are integers
        until an event has a double. The table can be the events of another query:
        ``other.push(table, type="RISE")``.

        Raises:
            TypeMismatch, BadData: A value cannot be summed or compared; nothing of the batch is
                read.
            BadData: A time is missing or goes back; ``.matches`` of the error has the rows before
                it.

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
        """Promise that all events before a time were pushed, and return the changed groups.

        The argument and errors are those of ``Session.advance``.
        """
        return self._promise(until)
