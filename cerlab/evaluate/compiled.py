"""``"registers"``: the runs of a transducer (SRT Alg. 1); ``"compiled"``: the engine of kernels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cerlab.automata.plan import CorrelatedPlan, RegisterPlan
from cerlab.compile.pattern import AnyPattern, Pattern, WaitStages, has_waits, waits_of
from cerlab.engine.by_number import Access, BatchAccess, WaitAccess
from cerlab.engine.reference import driver, registers
from cerlab.engine.reference.registers import IntervalRuns
from cerlab.evaluate import protocol
from cerlab.evaluate.labelled import LabelsOfAnswers
from cerlab.evaluate.protocol import check_clock, query
from cerlab.evaluate.stepwise import TecsEvaluator
from cerlab.model.answer import ComplexEvent
from cerlab.model.event import Event
from cerlab.model.stream import Stream, TimeAxis, axis_for


class Registers(LabelsOfAnswers):
    """As written on streams of up to `SHORT` events, in the compiled engine on longer ones."""

    name = "registers"

    def takes(self, pattern: AnyPattern) -> bool:
        """Whether the pattern compiles to a transducer."""
        return pattern.has_registers

    def answers(self, pattern: AnyPattern, stream: Stream) -> Iterator[ComplexEvent]:
        """The answers on a stream."""
        if len(stream) > protocol.SHORT:
            return compiled_runs(pattern, stream)
        return _runs(pattern, stream, stream.time)

    def live(
        self, pattern: AnyPattern, events: Iterable[Event], time: TimeAxis | None
    ) -> Iterator[ComplexEvent]:
        """The answers on events that are still arriving, by the runs as written."""
        plan = pattern.registers
        if not isinstance(plan, RegisterPlan):
            check_clock(plan, time)
        return _runs(pattern, events, time)

    def count(self, pattern: AnyPattern, stream: Stream) -> int:
        """Return the number of answers; raises `ResourceLimit` for 2^53 and more."""
        from cerlab.engine.registers.evaluation import register_count  # Numba loads here

        plan = pattern.registers
        return register_count(
            plan, stream, lambda: _runs(pattern, stream, stream.time), _time(plan, stream)
        )


def compiled_runs(pattern: AnyPattern, stream: Stream) -> Iterator[ComplexEvent]:
    """The answers by the compiled engine; what it does not take runs as written."""
    from cerlab.engine.registers.evaluation import register_answers  # Numba loads here

    plan = pattern.registers
    return register_answers(
        plan, stream, lambda: _runs(pattern, stream, stream.time), _time(plan, stream)
    )


def _time(plan: RegisterPlan | CorrelatedPlan, stream: Stream) -> TimeAxis | None:
    window = None if isinstance(plan, RegisterPlan) else plan.window
    return axis_for(window, stream, stream.time)


def _runs(
    pattern: AnyPattern, events: Iterable[Event], time: TimeAxis | None
) -> Iterator[ComplexEvent]:
    """The runs as written."""
    plan = pattern.registers
    if isinstance(plan, RegisterPlan):
        return registers.answers(plan, events)
    return driver.run(plan, lambda: IntervalRuns(plan), events, time)


class CompiledEvaluator(LabelsOfAnswers):
    """The compiled engines: the tECS of automata, else the runs of transducers."""

    name = "compiled"

    def takes(self, pattern: AnyPattern) -> bool:
        """Whether the pattern compiles to a machine of either kind, or waits for automata."""
        return pattern.has_automaton or pattern.has_registers or has_waits(pattern)

    def answers(self, pattern: AnyPattern, stream: Stream) -> Iterator[ComplexEvent]:
        """The answers on a stream."""
        if (waiting := waits_of(pattern)) is not None:
            from cerlab.engine.answers import BatchedAnswers

            return BatchedAnswers(_access(waiting, stream).batches())
        if (cea_query := with_automaton(pattern)) is None:
            return compiled_runs(pattern, stream)
        from cerlab.engine.answers import BatchedAnswers
        from cerlab.engine.whole_stream import compiled_answers

        time = axis_for(cea_query.plan.window, stream, stream.time)
        return BatchedAnswers(compiled_answers(cea_query.plan, cea_query.learned, stream, time))

    def live(
        self, pattern: AnyPattern, events: Iterable[Event], time: TimeAxis | None
    ) -> Iterator[ComplexEvent]:
        """The answers on events that are still arriving, read one by one; runs as written."""
        if waits_of(pattern) is not None:
            return TecsEvaluator().live(pattern, events, time)
        if (cea_query := with_automaton(pattern)) is None:
            return Registers().live(pattern, events, time)
        check_clock(cea_query.plan, time)
        from cerlab.engine.general import GeneralEvaluation

        run = GeneralEvaluation(cea_query.plan, cea_query.learned, time)
        return (
            answer for event in events for batch in run.push_events([event]) for answer in batch
        )

    def by_number(self, pattern: AnyPattern, stream: Stream, *, workers: int = 1) -> Access:
        """By whole batches of the engine."""
        if (waiting := waits_of(pattern)) is not None:
            return _access(waiting, stream)
        if (cea_query := with_automaton(pattern)) is None:
            return super().by_number(pattern, stream)
        return BatchAccess(cea_query.plan, cea_query.learned, stream, workers=workers)

    def count(self, pattern: AnyPattern, stream: Stream) -> int:
        """Return the number of answers; on registers as `Registers.count`."""
        if waits_of(pattern) is None and with_automaton(pattern) is None:
            return Registers().count(pattern, stream)
        return super().count(pattern, stream)


def _access(waiting: WaitStages, stream: Stream) -> WaitAccess:
    """The answers of a query that waits."""
    return WaitAccess(waiting.plan, waiting.tables, stream)


def with_automaton(pattern: AnyPattern) -> Pattern | None:
    """The query, None where its transducer runs; raises `Unsupported` for a SREMO without one."""
    if pattern.has_automaton and isinstance(pattern, Pattern):
        return pattern
    return None if pattern.has_registers else query(pattern, "compiled")
