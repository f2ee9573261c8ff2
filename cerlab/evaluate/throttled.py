"""The evaluator of THROTTLE: another evaluator's answers, without ends that come too soon."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Generic

from cerlab.compile.pattern import Pattern
from cerlab.display import Explanation
from cerlab.engine import codec
from cerlab.engine.codec import axis_of_state
from cerlab.engine.random_access import Access, ListAccess, OfBatches, TecsAccess
from cerlab.engine.reference import totals
from cerlab.engine.run import Answer, Around, OpenRun, Run
from cerlab.engine.state_checks import expect, reading_state
from cerlab.errors import BadData
from cerlab.evaluate.evaluators import Automaton, Compiled, CompiledTecs, Lists, Tecs
from cerlab.evaluate.protocol import Evaluator, number_of
from cerlab.evaluate.runs import Replay, pattern_digest
from cerlab.logic.cel.syntax import waits, windows
from cerlab.logic.ceql.syntax import partition_attributes
from cerlab.model.answer import ComplexEvent, Valuation
from cerlab.model.clauses import Consume, TimeWindow, Window
from cerlab.model.stream import Stream, TimeAxis, Until, axis_for, axis_of_windows

if TYPE_CHECKING:
    from cerlab.engine.answers import AnswerBatch
    from cerlab.engine.throttle import Throttle


class Throttled(Evaluator):
    """An evaluator that keeps the answers of another one at the ends that THROTTLE allows.

    These depend only on the ends with answers. So the evaluator works as without THROTTLE, and the
    answers of the other ends are removed.
    """

    def __init__(self, inner: Evaluator, throttle: Window) -> None:
        assert isinstance(inner.pattern, Pattern), "a SREMO has no clauses"
        self._inner, self._throttle = inner, throttle
        self.pattern: Pattern = inner.pattern
        self.name = inner.name

    def on(self, stream: Stream, *, any_order: bool = False) -> Evaluator:
        """Return the evaluator for streams of this length, as the inner evaluator does."""
        inner = self._inner.on(stream, any_order=any_order)
        return self if inner is self._inner else throttled(inner, self._throttle)

    def _opened(self, time: TimeAxis | None) -> Throttle:
        from cerlab.engine.throttle import Throttle  # NumPy loads here

        ast = self.pattern.ast
        carried = bool(waits(ast.formula))
        key = partition_attributes(ast)
        return Throttle(self._throttle, ast.streams, key, time, carried=carried)

    def _read(self, stream: Stream) -> Throttle:
        """Return the filter of ends on a whole stream; raise `BadData` for a bad time."""
        throttle = self._opened(axis_for(self._throttle, stream, stream.time))
        throttle.read(stream)
        return throttle

    def answers(self, stream: Stream) -> Iterator[ComplexEvent]:
        """Return the answers on a stream, by end."""
        inner = self._inner.on(stream)
        # running event by event avoids listing the answers of other ends
        if isinstance(inner, Automaton | Tecs | Lists):
            phi, window = self.pattern.ast.formula, self.pattern.ast.window
            time = axis_of_windows((*windows(phi), window, self._throttle), stream)
            run = self._around(inner.run(time), time)
            return chain.from_iterable(run.push(stream))
        from cerlab.engine.answers import BatchedAnswers  # NumPy loads here

        throttle, ast = self._read(stream), self.pattern.ast
        # read every end: throttled answers also consume events, and waits move ends
        if ast.consume is not Consume.NONE or waits(ast.formula):
            answers = inner.answers(stream)
        else:
            answers = inner.answers_at(stream, throttle.may_give)
        if isinstance(answers, BatchedAnswers):
            return BatchedAnswers(map(throttle.leave_of_batch, answers.batches()))
        return throttle.leave(answers)

    def valuations(self, stream: Stream) -> Iterator[Valuation]:
        """Return the valuations at the ends that THROTTLE keeps."""
        return self._read(stream).leave(self._inner.on(stream).valuations(stream))

    def count(self, stream: Stream) -> int:
        """Return the number of answers, added up over the ends that THROTTLE keeps."""
        inner = self._inner.on(stream, any_order=True)
        if not isinstance(inner, Tecs | CompiledTecs):
            return number_of(self.answers(stream))
        throttle = self._read(stream)
        return sum(count for end, count in _counts(inner, stream) if throttle.gives(end))

    def by_number(self, stream: Stream, *, threads: int = 1) -> Access:
        """Return access to the answers in the order of `answers`."""
        inner = self._inner.on(stream)
        if isinstance(inner, Tecs):
            pattern = inner.pattern
            return TecsAccess(
                pattern.plan, pattern.machine, stream, lambda: self._read(stream).gives
            )
        if isinstance(inner, CompiledTecs):
            access = inner.by_number(stream, threads=threads)

            def batches() -> Iterator[AnswerBatch]:
                return map(self._read(stream).leave_of_batch, access.batches())

            return OfBatches(batches, lambda: self.count(stream))
        return ListAccess([*self.answers(stream)])

    def run(self, time: TimeAxis | None) -> Run[ComplexEvent]:
        """Return a run on arriving events; raise as the inner evaluator does."""
        run = self._inner.run(time)
        if isinstance(run, Replay):
            return Replay(self.answers, self._count_of_waits(), time)
        return self._around(run, time)

    def labelled_run(self, time: TimeAxis | None) -> Run[Valuation]:
        """Return a run of valuations on arriving events."""
        run = self._inner.labelled_run(time)
        if isinstance(run, Replay):
            return Replay(self.valuations, self._count_of_waits(), time)
        return self._around(run, time)

    def _around(
        self, run: Run[Answer], time: TimeAxis | None, values: codec.Values | None = None
    ) -> ThrottledRun[Answer]:
        return ThrottledRun(self.pattern, run, self._opened(time), time, values)


class ThrottledEngine(Throttled, Compiled):
    """The compiled engine under THROTTLE."""

    def __init__(self, inner: Compiled, throttle: Window) -> None:
        super().__init__(inner, throttle)
        self._engine, self.plan = inner, inner.plan

    def run(self, time: TimeAxis | None, state: bytes | None = None) -> OpenRun:
        """Return a run on arriving events, from a `state` of an earlier run if there is one."""
        values, inner = None, None
        if state is not None:
            from cerlab.engine.throttle import THROTTLE  # NumPy loads here

            values, arrays = codec.read(THROTTLE, pattern_digest(self.pattern), state)
            inner = arrays["run"].tobytes()
        run = self._engine.run(time, inner)
        if values is not None:
            time = axis_of_state(time, values["time"])
        return self._around(run, time, values)

    def run_of_file(self, time: TimeAxis | None) -> Run[ComplexEvent] | None:
        """Return a run on a file; None if the inner evaluator has none.

        It is `run`: a run that holds answers back would give them after the batch of their end,
        which the filter has then forgotten.
        """
        return None if self._engine.run_of_file(time) is None else self.run(time)

    @property
    def takes_batches(self) -> bool:
        """True if the inner evaluator reads events batch by batch."""
        return self._engine.takes_batches

    def explain(self, stream: Stream | None = None) -> Explanation:
        """Describe the inner evaluator."""
        return self._engine.explain(stream)


def throttled(inner: Evaluator, throttle: Window) -> Throttled:
    """Return an evaluator under THROTTLE, around another evaluator."""
    if isinstance(inner, Compiled):
        return ThrottledEngine(inner, throttle)
    return Throttled(inner, throttle)


def _counts(way: Tecs | CompiledTecs, stream: Stream) -> Iterable[tuple[int, int]]:
    """Return the ends with answers, and the number of answers of each, without listing them.

    The ends of one substream are in order.
    """
    if isinstance(way, CompiledTecs):
        from cerlab.engine.flat_program import TooLarge  # Numba loads here
        from cerlab.engine.totals import counts_of_ends

        time = axis_for(way.plan.window, stream, stream.time)
        try:
            parts = [*counts_of_ends(way.plan, way.pattern.learned, stream, time)]
            pairs = (zip(ends.tolist(), n.tolist(), strict=True) for ends, n in parts)
            return chain.from_iterable(pairs)
        except TooLarge:
            pass
    pattern = way.pattern
    return totals.counts(pattern.plan, pattern.machine, stream, stream.time)


class ThrottledRun(Around, Generic[Answer]):
    """A run that keeps the answers of another run at the ends that THROTTLE allows."""

    def __init__(
        self,
        pattern: Pattern,
        run: Run[Answer],
        throttle: Throttle,
        time: TimeAxis | None,
        values: codec.Values | None,
    ) -> None:
        """Open a run, from the `values` of a state if there is one; raise `BadData` if invalid."""
        self._pattern, self._run, self._throttle = pattern, run, throttle
        self._time = time if isinstance(pattern.ast.throttle, TimeWindow) else None
        self._exhausts = pattern.ast.consume is not Consume.NONE
        if values is not None:
            with reading_state():
                throttle.resume(values)
                expect(throttle.position == run.position, "how many events were read")

    def push(self, events: Stream) -> Iterator[Iterable[Answer]]:
        """Read more events; yield the answers that they complete."""
        try:
            self._throttle.read(events)
        except BadData:  # some event is bad; halving the batch finds it
            if len(events) <= 1:
                raise
            half = len(events) // 2
            yield from self.push(events[:half])
            yield from self.push(events[half:])
            return
        try:
            yield from self._left(self._run.push(events))
        finally:
            self._throttle.settle(self._run.position)

    def _left(self, parts: Iterable[Iterable[Answer]]) -> Iterator[Iterable[Answer]]:
        for part in parts:
            yield self._throttle.leave_of_part(part, exhausts=self._exhausts)

    def advance(self, until: Until) -> Iterator[Iterable[Answer]]:
        """Declare that all events before a time have arrived; raise as the inner run does."""
        return self._left(self._run.advance(until))

    def finish(self) -> Iterator[Iterable[Answer]]:
        """Return the answers that were held back."""
        return self._left(self._run.finish())

    def waiting(self) -> int:
        """Return the number of answers that the end of the stream would add."""
        if not waits(self._pattern.ast.formula):
            return 0
        given: Iterator[Iterable[Answer]] = self._left(self._run.advance("end"))
        return sum(1 for part in given for _ in part)

    def state(self) -> bytes:
        """Return the state of the inner run, and that of the filter."""
        from numpy import frombuffer, uint8  # NumPy loads here

        from cerlab.engine.throttle import THROTTLE

        assert hasattr(self._run, "state"), "the run of a session"
        values = self._throttle.state() | {"time": self._time}
        arrays = {"run": frombuffer(self._run.state(), uint8)}
        return codec.write(THROTTLE, pattern_digest(self._pattern), values, arrays)
