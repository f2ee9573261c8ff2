"""Standard input as it comes: which way to evaluate a query on it, and what goes event by event.

Each way gives an answer out before the event after its last one is waited for (DESIGN 2.2).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeAlias

from cerlab import io
from cerlab.cli.streaming import LiveRun, arriving
from cerlab.errors import BadData, ResourceLimit, Unsupported
from cerlab.evaluators import Evaluator, live_valuations
from cerlab.expressions import live_sremo_answers, sremo_answers
from cerlab.io import Sink
from cerlab.model.answer import ComplexEvent, Valuation
from cerlab.model.clock import TimeAxis
from cerlab.model.event import Event
from cerlab.model.stream import Stream
from cerlab.workbench import Query, Sremo, answers_of, live_answers, valuations_of

Answers: TypeAlias = Iterable[ComplexEvent] | Iterable[Valuation]


class Live(Protocol):
    """An evaluation of standard input."""

    def into(self, sink: Sink) -> None:
        """Read to the end; raises `BadData` after the answers on what came before."""


class OneByOne:
    """Answers that come out of the events one by one, as machines give them."""

    def __init__(
        self,
        evaluation: Callable[[Iterable[Event]], Answers],
        options: dict[str, Any],
        seen: list[Event] | None,
    ) -> None:
        """`options` are those of `io.read_events`; the events are noted in `seen`."""
        self._sink: Sink | None = None
        self._answers = evaluation(arriving(options, self._give_out, seen))

    def into(self, sink: Sink) -> None:
        """Read to the end; raises `BadData` after the answers on what came before."""
        self._sink = sink
        for answer in self._answers:
            sink.one(answer)
        sink.flush()

    def _give_out(self) -> None:
        if self._sink is not None:
            self._sink.flush()


class GrowingRun:
    """An evaluation that wants the stream as a whole: done anew before each wait.

    Exact, since whether there is an answer that ends at an event depends on no later one. It is for
    the reference, which takes short streams only.
    """

    def __init__(
        self,
        evaluation: Callable[[Stream], Answers],
        axis: TimeAxis | None,
        options: dict[str, Any],
        seen: list[Event] | None,
    ) -> None:
        """`options` are those of `io.read_events`; the events are noted in `seen`."""
        self._evaluation = evaluation
        self._axis = axis
        self._options = options
        self._seen = [] if seen is None else seen
        self._done = 0
        evaluation(Stream((), time=axis))  # raises for what cannot be evaluated

    def into(self, sink: Sink) -> None:
        """Read to the end; raises `BadData` after the answers on what came before."""
        try:
            for _ in arriving(self._options, lambda: self._give_out(sink), self._seen):
                pass
        except BadData:
            self._give_out(sink)
            raise
        self._give_out(sink)

    def _give_out(self, sink: Sink) -> None:
        if len(self._seen) > self._done:
            for answer in self._evaluation(Stream(self._seen, time=self._axis)):
                if answer.end >= self._done:
                    sink.one(answer)
            self._done = len(self._seen)
        sink.flush()


def live_run(
    query: Query,
    evaluator: Evaluator,
    axis: TimeAxis | None,
    options: dict[str, Any],
    *,
    by_tecs: int,
    seen: list[Event] | None,
) -> Live | None:
    """The evaluation of a query by an evaluator; None for what has to read everything first.

    That is a transducer in the compiled engine, where it was asked for by name. `by_tecs` is as in
    `LiveRun`. Raises `Unsupported` and `UsageError` as `answers_of`, before anything is read.
    """
    axis = axis or io.time_of_schema(query.schema)
    if evaluator == "auto" and not query.has_automaton:
        evaluator = "registers" if query.has_registers else "reference"
    match evaluator:
        case "reference":
            return GrowingRun(lambda S: answers_of(query, S, "reference"), axis, options, seen)
        case "compiled" if query.on_registers:
            return None
        case "auto":
            return LiveRun(query, axis, options, by_tecs=by_tecs, seen=seen)
        case "compiled":
            return LiveRun(query, axis, options, by_tecs=0, seen=seen)
        case _:
            return OneByOne(lambda S: live_answers(query, S, axis, evaluator), options, seen)


def live_labels(
    query: Query,
    evaluator: Evaluator,
    axis: TimeAxis | None,
    options: dict[str, Any],
    *,
    seen: list[Event] | None,
) -> Live:
    """The same for valuations; raises `Unsupported` for evaluators that keep no labels."""
    axis = axis or io.time_of_schema(query.schema)
    if evaluator == "automaton" or (evaluator == "auto" and query.has_automaton):
        return OneByOne(lambda S: live_valuations(query, S, axis), options, seen)
    return GrowingRun(lambda S: valuations_of(query, S, evaluator), axis, options, seen)


def live_sremo(
    e: Sremo, evaluator: Evaluator, options: dict[str, Any], *, seen: list[Event] | None
) -> Live | None:
    """The same for a SREMO; None for the compiled engine, where it was asked for by name."""
    if evaluator == "compiled":
        return None
    if evaluator in ("auto", "registers"):
        try:
            return OneByOne(lambda S: live_sremo_answers(e, S), options, seen)
        except (Unsupported, ResourceLimit):
            if evaluator == "registers":
                raise
        evaluator = "reference"
    return GrowingRun(lambda S: sremo_answers(e, S, evaluator), None, options, seen)
