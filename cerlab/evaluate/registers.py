"""``"registers"``: the runs of a transducer (SRT Alg. 1), and ``"compiled"`` for transducers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cerlab.automata.registers.plan import CorrelatedPlan, RegisterPlan
from cerlab.compile.pattern import AnyPattern
from cerlab.engine.reference import driver, registers
from cerlab.engine.reference.registers.intervals import IntervalRuns
from cerlab.evaluate import protocol
from cerlab.evaluate.labelled import LabelsOfAnswers
from cerlab.evaluate.protocol import check_clock
from cerlab.model.answer import ComplexEvent
from cerlab.model.clock import TimeAxis, axis_for
from cerlab.model.event import Event
from cerlab.model.stream import Stream


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
        """How many answers there are; raises `ResourceLimit` for 2^53 and more."""
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
