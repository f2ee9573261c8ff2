"""Runs of every evaluator: events are pushed, and completed answers are returned."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Generic

from cerlab.automata.plan import RegisterPlan, plan_digest
from cerlab.compile.pattern import AnyPattern, Pattern, WaitStages
from cerlab.engine import codec
from cerlab.engine.codec import axis_of_state
from cerlab.engine.reference import driver
from cerlab.engine.reference.driver import Clauses, Recogniser, check_clock
from cerlab.engine.reference.registers import SharedRuns
from cerlab.engine.run import Answer, Around, AtOnce, Run, warn_of_no_wait
from cerlab.engine.state_checks import reading_state
from cerlab.errors import Unsupported
from cerlab.evaluate import thresholds
from cerlab.evaluate.separation import written_fast
from cerlab.model.answer import ComplexEvent
from cerlab.model.clauses import TimeWindow
from cerlab.model.event import Event
from cerlab.model.stream import Stream, TimeAxis, Until

if TYPE_CHECKING:
    from cerlab.engine.answers import AnswerBatch


def pattern_digest(pattern: AnyPattern) -> str:
    """Return a digest of everything on which the meaning of a pattern's state depends."""
    if not isinstance(pattern, Pattern):
        from cerlab.logic.sremo.parser import sremo_text  # Lark loads here

        text = sremo_text(pattern.ast)
    elif pattern.machine_kind == "automaton":
        text = plan_digest(pattern.plan)
    else:
        text = f"{pattern.logic} {pattern.text}"
    return hashlib.sha256(text.encode()).hexdigest()


class Steps(AtOnce[Iterator[Answer]], Generic[Answer]):
    """A run that reads event by event, with a recogniser for each substream."""

    def __init__(
        self,
        clauses: Clauses,
        recogniser: Callable[[], Recogniser[Answer]],
        time: TimeAxis | None,
    ) -> None:
        """Prepare the run; raise `UsageError` for a window in time without a time axis."""
        check_clock(clauses, time)
        self._driver: driver.Driver[Recogniser[Answer]]
        self._driver = driver.Driver(clauses, recogniser, time)
        self.position = 0

    def push(self, events: Stream) -> Iterator[Iterator[Answer]]:
        """Read events one by one; yield the answers of each before reading the next."""
        for event in events:
            yield driver.answers_at(self._driver, event, self.position)
            self.position += 1


class StepsOfSremo(AtOnce[list[ComplexEvent]]):
    """The runs of a SREMO by configuration, event by event (SRT Alg. 1)."""

    def __init__(self, plan: RegisterPlan) -> None:
        self._runs = SharedRuns(plan)
        self.position = 0

    def push(self, events: Stream) -> Iterator[list[ComplexEvent]]:
        """Read events one by one; yield the answers of each, sorted by positions."""
        for event in events:
            at = self.position
            yield [ComplexEvent(M[0], at, M) for M in sorted(self._runs.advance(event, at))]
            self.position += 1


class Replay(Generic[Answer]):
    """A run for evaluations that need the whole stream, repeated at each push.

    It is exact, since no later event can withdraw an answer. It is only for short streams.
    """

    lowest = 0

    def __init__(
        self,
        evaluate: Callable[[Stream], Iterable[Answer]],
        count: Callable[[Stream], int] | None,
        time: TimeAxis | None,
    ) -> None:
        """Open a run, first on no events; `count` is None if no answer can wait."""
        self._evaluate: Callable[[Stream], Iterable[Answer]] = evaluate
        self._count, self._time = count, time
        self._read: list[Event] = []
        self._given: set[Answer] = set()
        evaluate(Stream((), time=time))

    @property
    def position(self) -> int:
        """The number of events read by the run."""
        return len(self._read)

    def push(self, events: Stream) -> Iterator[Iterator[Answer]]:
        """Read more events; yield the answers that were not returned yet."""
        self._read += events.events
        yield self._fresh(Stream(self._read, time=self._time))

    def _fresh(self, stream: Stream) -> Iterator[Answer]:
        for answer in self._evaluate(stream):
            if answer not in self._given:
                self._given.add(answer)
                yield answer

    def advance(self, until: Until) -> Iterator[Iterator[Answer]]:
        """Yield the answers that a declared time makes known."""
        if self._count is None:
            warn_of_no_wait()
            return
        yield self._fresh(Stream(self._read, time=self._time).up_to(until))

    def finish(self) -> Iterator[Iterator[Answer]]:
        """Return no answers, because none is held back."""
        return iter(())

    def waiting(self) -> int:
        """Return the number of answers that the end of the stream would add."""
        if self._count is None:
            return 0
        stream = Stream(self._read, time=self._time)
        return self._count(stream.up_to("end")) - self._count(stream)


class Growing(Around, AtOnce[Iterable[ComplexEvent]]):
    """A run in Python for the first `SHORT` events, continued by the compiled engine.

    A short or slow stream never needs the engine, which takes a second to load. If more events come
    the engine reads the first ones again, from memory, and continues. This is exact: answers are
    given by whole ends, and the state after an event depends only on the events and the query.
    """

    def __init__(
        self, short: Run[ComplexEvent], grow: Callable[[], Run[ComplexEvent] | None]
    ) -> None:
        """Open a run; `grow` returns the engine's run, or None without an engine."""
        self._run: Run[ComplexEvent] = short
        self._long = grow
        self._first: list[Event] | None = []
        """The events so far; None if the run does not change any more."""

    def push(self, events: Stream) -> Iterator[Iterable[ComplexEvent]]:
        """Read more events; yield the answers that they complete."""
        if self._first is not None and self._run.position + len(events) > thresholds.SHORT:
            room = thresholds.SHORT - self._run.position
            yield from self._push(events[:room])
            self._grow()
            events = events[room:]
        yield from self._push(events)

    def _push(self, events: Stream) -> Iterator[Iterable[ComplexEvent]]:
        if self._first is not None:
            self._first += events
        yield from self._run.push(events)

    def _grow(self) -> None:
        first, self._first = self._first or [], None
        if (long := self._long()) is None:
            return
        for answers in long.push(Stream(first)):  # already given
            for _ in answers:
                pass
        self._run = long


class OpenRegisters(Around, AtOnce["AnswerBatch"]):
    """A transducer's run on an arriving stream, with a state as bytes."""

    def __init__(self, pattern: AnyPattern, time: TimeAxis | None, state: bytes | None) -> None:
        from cerlab.engine.registers.evaluation import REGISTERS, RegisterRun  # Numba loads here
        from cerlab.engine.registers.program import NotTaken

        self._pattern, plan = pattern, pattern.registers
        self._layout, before = REGISTERS, None
        if state is not None:
            before = codec.read(REGISTERS, pattern_digest(pattern), state)
            time = axis_of_state(time, before[0]["time"])
        if not isinstance(plan, RegisterPlan):
            check_clock(plan, time)
        self._time = time if isinstance(getattr(plan, "window", None), TimeWindow) else None
        try:
            self._run = RegisterRun(plan, time)
        except NotTaken as refusal:
            raise not_taken(refusal, pattern) from None
        if before is not None:
            with reading_state():
                self._run.resume(*before)

    def push(self, events: Stream) -> Iterator[AnswerBatch]:
        """Read more events; yield batches of the answers that they complete."""
        return _all_taken(self._run.push(events))

    def state(self) -> bytes:
        """Return the state from which another session can continue, as bytes."""
        values, arrays = self._run.state()
        values["time"] = self._time
        return codec.write(self._layout, pattern_digest(self._pattern), values, arrays)


class OpenWaits(Around):
    """A run of a query with WAIT on an arriving stream, with a state as bytes."""

    def __init__(
        self,
        pattern: AnyPattern,
        stages: WaitStages,
        time: TimeAxis | None,
        state: bytes | None,
    ) -> None:
        from cerlab.engine.waits.session import WAITS, WaitRun  # Numba loads here

        stages.check_live()
        self._pattern, self._layout, before = pattern, WAITS, None
        if state is not None:
            before = codec.read(WAITS, pattern_digest(pattern), state)
            time = axis_of_state(time, before[0]["time"])
        self.waits = stages.plan.waits
        in_time = any(isinstance(window, TimeWindow) for window in stages.plan.windows)
        self.time = time if in_time else None
        self._run = WaitRun(stages.plan, stages.tables, time)
        if before is not None:
            with reading_state():
                self._run.resume(*before)

    def push(self, events: Stream) -> Iterator[list[ComplexEvent]]:
        """Read more events; yield the answers that they make known, by end."""
        known, error = self._run.push(events)
        yield known
        if error is not None:
            raise error

    def advance(self, until: Until) -> Iterator[list[ComplexEvent]]:
        """Yield the answers that a declared time makes known, by end; raise like `WaitRun`."""
        if not self.waits:
            warn_of_no_wait()
        else:
            yield self._run.advance(until)

    def finish(self) -> Iterator[list[ComplexEvent]]:
        """Return no answers, because waiting answers need `advance`."""
        return iter(())

    def waiting(self) -> int:
        """Return the number of answers that the end of the stream makes known."""
        return len(self._run.advance("end")) if self.waits else 0

    def state(self) -> bytes:
        """Return the state from which another session can continue, as bytes."""
        values, arrays = self._run.state()
        values["time"] = self.time
        return codec.write(self._layout, pattern_digest(self._pattern), values, arrays)


def _all_taken(batches: Iterator[AnswerBatch]) -> Iterator[AnswerBatch]:
    """Yield the batches; raise `Unsupported` if the engine cannot read these events."""
    from cerlab.engine.registers.program import NotTaken

    try:
        yield from batches
    except NotTaken as refusal:
        raise not_taken(refusal) from None


def not_taken(refusal: Exception | str, pattern: AnyPattern | None = None) -> Unsupported:
    """Return the error for a pattern whose transducer the engine cannot run."""
    fast = None if pattern is None else written_fast(pattern)
    return Unsupported(
        "CER0403",
        f"registers are not run batch by batch here: {refusal}",
        hint=fast or "cerlab.evaluate supports it, on the events as a whole",
    )
