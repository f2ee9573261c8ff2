"""Standard input as it comes: which way to evaluate a query on it, and what goes event by event.

Each way gives an answer out before the event after its last one is waited for (DESIGN 2.2).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from cerlab import io
from cerlab.cli.streaming import LiveRun, arriving
from cerlab.compile.pattern import AnyPattern, Pattern
from cerlab.errors import BadData
from cerlab.evaluate import EvaluatorName, evaluator_of, valuations_of
from cerlab.evaluate.labelled import labelled_valuations
from cerlab.evaluate.protocol import SHORT, check_clock
from cerlab.io import Sink
from cerlab.model.answer import ComplexEvent, Valuation
from cerlab.model.event import Event
from cerlab.model.stream import Stream, TimeAxis

if TYPE_CHECKING:
    from cerlab.engine.answers import AnswerBatch

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
        history: list[Event] | None,
    ) -> None:
        """`options` are those of `io.read_events`; the events are noted in `history`."""
        self._sink: Sink | None = None
        self._answers = evaluation(arriving(options, self._give_out, history))

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
        history: list[Event] | None,
    ) -> None:
        """`options` are those of `io.read_events`; the events are noted in `history`."""
        self._evaluation = evaluation
        self._axis = axis
        self._options = options
        self._history = [] if history is None else history
        self._done = 0
        evaluation(Stream((), time=axis))  # raises for what cannot be evaluated

    def into(self, sink: Sink) -> None:
        """Read to the end; raises `BadData` after the answers on what came before."""
        try:
            for _ in arriving(self._options, lambda: self._give_out(sink), self._history):
                pass
        except BadData:
            self._give_out(sink)
            raise
        self._give_out(sink)

    def _give_out(self, sink: Sink) -> None:
        if len(self._history) > self._done:
            for answer in self._evaluation(Stream(self._history, time=self._axis)):
                if answer.end >= self._done:
                    sink.one(answer)
            self._done = len(self._history)
        sink.flush()


def live_run(
    pattern: AnyPattern,
    evaluator: EvaluatorName,
    axis: TimeAxis | None,
    options: dict[str, Any],
    history: list[Event] | None,
) -> Live | None:
    """The evaluation of a pattern by an evaluator; None for what has to read everything first.

    That is a transducer in the compiled engine, where it was asked for by name. Raises
    `Unsupported` and `UsageError` as `answers_of`, before anything is read.
    """
    axis = axis or io.time_of_schema(pattern.schema)
    by = evaluator_of(evaluator)
    if isinstance(pattern, Pattern) and pattern.has_automaton and evaluator in ("auto", "compiled"):
        first = SHORT if evaluator == "auto" else 0
        return LiveRun(pattern, axis, options, by_tecs=first, history=history)
    if evaluator == "compiled" and by.takes(pattern):
        return None
    if evaluator == "reference" or (evaluator == "auto" and not pattern.has_registers):
        return GrowingRun(lambda S: by.answers(pattern, S), axis, options, history)
    return OneByOne(lambda S: by.live(pattern, S, axis), options, history)


class LabelledRun:
    """The valuations of an evaluation's answers: each answer is labelled when it is found.

    An answer is labelled on the events from its start to its end alone, whatever came before.
    """

    def __init__(self, live: Live, pattern: Pattern, history: Sequence[Event]) -> None:
        """`history` are the events so far, noted by the evaluation."""
        self._live = live
        self._pattern = pattern
        self._history = history
        self._pending: list[ComplexEvent] = []

    def into(self, sink: Sink) -> None:
        """Read to the end; raises `BadData` after the answers on what came before."""
        self._sink = sink
        try:
            self._live.into(self)
        except BadData:
            self._label()
            raise

    def one(self, answer: ComplexEvent | Valuation) -> None:
        """Take an answer; all of an end are labelled at once, for the sake of LIMIT."""
        assert isinstance(answer, ComplexEvent)
        if len(self._pending) >= _SOME and answer.end != self._pending[-1].end:
            self._label()
        self._pending.append(answer)

    def batch(self, answers: AnswerBatch) -> None:
        """Take some answers."""
        for answer in answers:
            self.one(answer)

    def flush(self) -> None:
        """Let the labels of all answers so far out."""
        self._label()
        self._sink.flush()

    def _label(self) -> None:
        answers, self._pending = self._pending, []
        if not answers:
            return
        from cerlab.engine.answers import batched_answers  # NumPy loads here

        first = min(answer.start for answer in answers)
        stream = Stream(self._history[first : answers[-1].end + 1])
        near = chain.from_iterable(
            b.shift_positions(-first) for b in batched_answers(answers, len(answers))
        )
        for V in labelled_valuations(self._pattern, stream, near):
            labels = {X: tuple(p + first for p in D) for X, D in V.labels.items()}
            self._sink.one(Valuation(V.start + first, V.end + first, labels))


_SOME = 1 << 12
"""So many answers are labelled at once, or all of an end."""


def live_labels(
    pattern: AnyPattern,
    evaluator: EvaluatorName,
    axis: TimeAxis | None,
    options: dict[str, Any],
    history: list[Event] | None,
) -> Live | None:
    """The same for valuations; raises `Unsupported` for evaluators that keep no labels."""
    axis = axis or io.time_of_schema(pattern.schema)
    if isinstance(pattern, Pattern) and pattern.has_automaton and evaluator == "automaton":
        check_clock(pattern.plan, axis)
        by = evaluator_of("automaton")
        return OneByOne(lambda S: by.valuations(pattern, S, axis), options, history)
    machine = isinstance(pattern, Pattern) and (pattern.has_automaton or pattern.has_registers)
    if machine and evaluator in ("auto", "compiled", "registers"):
        events = [] if history is None else history
        live = live_run(pattern, evaluator, axis, options, events)
        assert isinstance(pattern, Pattern)
        return None if live is None else LabelledRun(live, pattern, events)
    return GrowingRun(lambda S: valuations_of(pattern, S, evaluator), axis, options, history)
