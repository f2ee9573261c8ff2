"""The compiled engine on what does not fit into memory, or has not come yet (DESIGN 2.2).

A file goes through in batches: one of them, and what the engine keeps, is all that is in memory. A
pipe goes through as it comes: what has arrived is one batch, and its answers are out before the
next wait; so an answer appears when its last event has, and the larger the backlog, the less each
event costs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from cerlab import io
from cerlab.cli.options import about, bar
from cerlab.compile.pattern import Pattern
from cerlab.errors import BadData
from cerlab.evaluate import evaluator_of
from cerlab.evaluate.protocol import check_clock
from cerlab.io import Sink
from cerlab.model.answer import ComplexEvent, Valuation
from cerlab.model.event import Event
from cerlab.model.stream import Stream, TimeAxis

if TYPE_CHECKING:
    from cerlab.engine.answers import AnswerBatch, Evaluation
    from cerlab.engine.general import GeneralEvaluation

_LONGEST_BACKLOG = 1 << 14


class Enough(Exception):
    """There are as many answers as were asked for."""


class LimitSink:
    """A sink that raises `Enough` as soon as it has so many answers; None is no limit."""

    def __init__(self, sink: Sink, limit: int | None) -> None:
        self._sink = sink
        self._left = limit
        self.count = 0
        self._count_down(0)

    def one(self, answer: ComplexEvent | Valuation) -> None:
        """Pass an answer on."""
        self._sink.one(answer)
        self._count_down(1)

    def batch(self, answers: AnswerBatch) -> None:
        """Pass on as many of a batch as are still wanted."""
        if self._left is not None and len(answers) > self._left:
            answers = answers.first(self._left)
        self._sink.batch(answers)
        self._count_down(len(answers))

    def flush(self) -> None:
        """Flush the sink."""
        self._sink.flush()

    def _count_down(self, count: int) -> None:
        self.count += count
        if self._left is not None:
            self._left -= count
            if not self._left:
                raise Enough


def answers_on_file(
    query: Pattern,
    path: str,
    axis: TimeAxis | None,
    options: dict[str, Any],
    watch: Callable[[Iterable[Stream]], Iterable[Stream]] = iter,
) -> Iterator[AnswerBatch]:
    """The answers on a file that is read in batches; `options` are those of `io.batches`.

    `watch` sees the batches pass.
    Raises `UsageError` for a window in hours, minutes or seconds where neither `axis` nor the
    declarations of schema and file say which attribute is the time.
    """
    from cerlab.engine.whole_stream import attributes_read, stream_evaluation

    axis = axis or io.time_of_file(path, options["schema"])
    run = stream_evaluation(query.plan, query.learned, axis)
    attributes = attributes_read(query.plan, query.machine, axis)
    batches = io.batches(path, attributes=attributes, **options)
    return _answers_on_batches(run, watch(bar(batches, "evaluating", about(path), len)))


def _answers_on_batches(
    run: Evaluation[AnswerBatch], batches: Iterable[Stream]
) -> Iterator[AnswerBatch]:
    """The answers on some batches; where one cannot be read those on what came before it."""
    try:
        for batch in batches:
            yield from run.push(batch.columns, len(batch))
    except BadData:
        yield from run.finish()
        raise
    yield from run.finish()


class LiveRun:
    """A query on standard input: each answer is out before the next event is waited for.

    The first `by_tecs` events are evaluated by the tECS: it needs nothing that takes a second to
    load, and a short or slow pipe never wants more. If more events come the compiled engine reads
    those again, from memory, and goes on. That is exact: answers are given by whole ends, and what
    is kept after an event (CONSUME BY included) depends on the events and the query alone.
    """

    def __init__(
        self,
        query: Pattern,
        axis: TimeAxis | None,
        options: dict[str, Any],
        *,
        by_tecs: int,
        history: list[Event] | None,
    ) -> None:
        """`options` are those of `io.read_events`; the events are noted in `history`.

        Raises `Unsupported` and `UsageError` for queries that cannot be run so.
        """
        self._query = query
        self._axis = axis
        check_clock(query.plan, axis)
        self._options = options
        self._by_tecs = by_tecs
        self._history = history
        self._backlog: list[Event] = []
        self._run: GeneralEvaluation | None = None

    def into(self, sink: Sink) -> None:
        """Read to the end; raises `BadData` after the answers on what came before."""
        events = arriving(self._options, lambda: self._give_out(sink), self._history)
        first: list[Event] = []
        if self._by_tecs:
            live = _recording(islice(events, self._by_tecs), first)
            for answer in evaluator_of("tecs").live(self._query, live, self._axis):
                sink.one(answer)
        if len(first) == self._by_tecs:
            self._start(first)
            self._take(events, sink)
        sink.flush()

    def _start(self, events: list[Event]) -> None:
        """Start the engine after these events, whose answers have been given."""
        from cerlab.engine.general import GeneralEvaluation

        self._run = GeneralEvaluation(self._query.plan, self._query.learned, self._axis)
        for _ in self._run.push(Stream(events).columns, len(events)):
            pass

    def _take(self, events: Iterable[Event], sink: Sink) -> None:
        try:
            for event in events:
                self._backlog.append(event)
                if len(self._backlog) >= _LONGEST_BACKLOG:
                    self._give_out(sink)
        except BadData:
            self._give_out(sink)
            raise
        self._give_out(sink)

    def _give_out(self, sink: Sink) -> None:
        """Push the events that have been read, and let their answers out."""
        events, self._backlog = self._backlog, []
        if events and self._run is not None:
            for answers in self._run.push_stream(Stream(events)):
                sink.batch(answers)
        sink.flush()


def arriving(
    options: dict[str, Any], before_wait: Callable[[], None], history: list[Event] | None
) -> Iterator[Event]:
    """The events of standard input or a FIFO as they come, noted in `history` if that is a list."""
    events = io.read_events(before_reading=before_wait, **options)
    return events if history is None else _recording(events, history)


def _recording(events: Iterable[Event], history: list[Event]) -> Iterator[Event]:
    for event in events:
        history.append(event)
        yield event
