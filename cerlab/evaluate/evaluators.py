"""The evaluators: reference, runs, tECS, lists and registers in pure Python, and the compiled.

``"registers"`` follows the runs of a transducer (SRT Alg. 1); ``"compiled"`` is the engine of
kernels.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import assert_never

from cerlab.automata.plan import CorrelatedPlan, RegisterPlan
from cerlab.compile.pattern import (
    AnyPattern,
    Pattern,
    SremoPattern,
    WaitStages,
    compares_waits,
    has_waits,
    waits_of,
)
from cerlab.engine.by_number import Access, BatchAccess, ListAccess, TecsAccess, WaitAccess
from cerlab.engine.reference import driver, registers
from cerlab.engine.reference.lists import lists_recogniser
from cerlab.engine.reference.registers import IntervalRuns
from cerlab.engine.reference.runs import CeaRuns, VceaRuns
from cerlab.engine.reference.tecs import TecsEvaluation
from cerlab.engine.reference.waiting import Waits, waited_answers, waited_count
from cerlab.errors import Unsupported
from cerlab.evaluate import protocol
from cerlab.evaluate.labelled import LabelsOfAnswers
from cerlab.evaluate.protocol import Evaluator, Recognition, StepByStep, check_clock, query
from cerlab.evaluate.separation import fast_form
from cerlab.logic.cel.semantics import valuations as so_valuations
from cerlab.logic.ceql.semantics import Meaning, query_answers, query_valuations
from cerlab.logic.ceql.syntax import selected_formula
from cerlab.logic.focel.semantics import check_first_order, fo_valuations
from cerlab.logic.sremo import semantics as sremo
from cerlab.model.answer import ComplexEvent, Valuation, by_end
from cerlab.model.event import Event
from cerlab.model.stream import Stream, TimeAxis, axis_for, axis_of_windows


class Reference(Evaluator):
    """The semantics, evaluated literally."""

    name = "reference"

    def takes(self, pattern: AnyPattern) -> bool:
        """Everything, on small streams."""
        return True

    def answers(self, pattern: AnyPattern, stream: Stream) -> Iterator[ComplexEvent]:
        """The complex events of a query, or what a stream shows of a SREMO (SRT Def. 32)."""
        match pattern:
            case Pattern():
                return iter(query_answers(pattern.ast, stream, _meaning(pattern)))
            case SremoPattern():
                return iter(sremo.detections(pattern.ast, stream.events))
            case _:
                assert_never(pattern)

    def live(
        self, pattern: AnyPattern, events: Iterable[Event], time: TimeAxis | None
    ) -> Iterator[ComplexEvent]:
        """The same after each event: an answer that is given stays one whatever comes."""
        read: list[Event] = []
        given: set[ComplexEvent] = set()
        for event in events:
            read.append(event)
            for answer in self.answers(pattern, Stream(read, time=time)):
                if answer not in given:
                    given.add(answer)
                    yield answer

    def valuations(
        self, pattern: AnyPattern, events: Iterable[Event], time: TimeAxis | None
    ) -> Iterator[Valuation]:
        """Return the valuations; under ``"fo"`` a variable has the positions of its atoms only."""
        if isinstance(pattern, SremoPattern):
            raise Unsupported(
                "CER0482",
                "a SREMO marks positions and has no labels",
                hint="cerlab.evaluate and cerlab.matches give the positions",
            )
        stream = events if isinstance(events, Stream) else Stream(events, time=time)
        return iter(query_valuations(pattern.ast, stream, _meaning(pattern)))


def _meaning(pattern: Pattern) -> Meaning:
    if pattern.logic == "so":
        return so_valuations
    check_first_order(selected_formula(pattern.ast))
    return fo_valuations


class Automaton(StepByStep):
    """The runs of the CEA for answers, of the VCEA for valuations."""

    name = "automaton"

    def recogniser(self, pattern: Pattern) -> Recognition:
        """The runs of the CEA."""
        plan = pattern.plan
        return plan, lambda: CeaRuns(plan.cea, plan.strategy)

    def valuations(
        self, pattern: AnyPattern, events: Iterable[Event], time: TimeAxis | None
    ) -> Iterator[Valuation]:
        """The valuations by the runs of the VCEA, each when its last event is read."""
        plan, vcea = query(pattern, self.name).plan, query(pattern, self.name).labelled
        return driver.run(plan, lambda: VceaRuns(vcea, plan.strategy), events, time)


class TecsEvaluator(StepByStep):
    """One tECS for each partition."""

    name = "tecs"

    def takes(self, pattern: AnyPattern) -> bool:
        """Whether the pattern compiles to an automaton, or waits for the answers of some."""
        return pattern.has_automaton or (has_waits(pattern) and not compares_waits(pattern))

    def answers(self, pattern: AnyPattern, stream: Stream) -> Iterator[ComplexEvent]:
        """The answers on a stream."""
        if (waiting := _of_automata(pattern)) is None:
            return super().answers(pattern, stream)
        return _waited(waiting, stream)

    def live(
        self, pattern: AnyPattern, events: Iterable[Event], time: TimeAxis | None
    ) -> Iterator[ComplexEvent]:
        """The answers on events that are still arriving, each when it is known."""
        if (waiting := _of_automata(pattern)) is None:
            return super().live(pattern, events, time)
        return _waited_live(waiting, events, time)

    def count(self, pattern: AnyPattern, stream: Stream) -> int:
        """Return the number of answers, without listing them."""
        if (waiting := _of_automata(pattern)) is None:
            return super().count(pattern, stream)
        plan, machines = waiting.plan, waiting.machines
        return waited_count(plan, machines, stream, axis_of_windows(plan.windows, stream))

    def recogniser(self, pattern: Pattern) -> Recognition:
        """Algorithm 1 on the determinised automaton, or on that of the strategy."""
        plan, machine = pattern.plan, pattern.machine
        return plan, lambda: TecsEvaluation(machine, latest_first=plan.limit is not None)

    def by_number(self, pattern: AnyPattern, stream: Stream, *, workers: int = 1) -> Access:
        """Return random access by counts at the nodes of the tECS, or by a list if answers wait."""
        if _of_automata(pattern) is not None:
            return ListAccess([*self.answers(pattern, stream)])
        cea_query = query(pattern, self.name)
        return TecsAccess(cea_query.plan, cea_query.machine, stream)


def _of_automata(pattern: AnyPattern) -> WaitStages | None:
    """The stages that wait, as `waits_of`; raises `Unsupported` where they compare labels."""
    waiting = waits_of(pattern)
    if waiting is not None and waiting.plan.compares:
        raise Unsupported(
            "CER0403",
            "there is no automaton for a comparison of labels, nor for waits and windows in time "
            "before other steps or under a clause that selects, limits or consumes",
            hint='evaluator="registers" takes them',
        )
    return waiting


def _waited(waiting: WaitStages, stream: Stream) -> Iterator[ComplexEvent]:
    """The answers on a stream, event by event."""
    plan, machines = waiting.plan, waiting.machines
    return iter(waited_answers(plan, machines, stream, axis_of_windows(plan.windows, stream)))


def _waited_live(
    waiting: WaitStages, events: Iterable[Event], time: TimeAxis | None
) -> Iterator[ComplexEvent]:
    """The same on events that are still arriving, each when it is known."""
    waiting.check_live()
    run = Waits[ComplexEvent](waiting.plan, waiting.machines, time)
    return (answer for event in events for answer in sorted(run.read(event), key=by_end))


class Lists(StepByStep):
    """The evaluators of Foundations: a formula of its operators and a strategy, without clauses."""

    name = "lists"

    def takes(self, pattern: AnyPattern) -> bool:
        """Whether the formula is one of Foundations', and nothing is around it."""
        try:
            return isinstance(pattern, Pattern) and pattern.anchored is not None
        except Unsupported:
            return False

    def recogniser(self, pattern: Pattern) -> Recognition:
        """The algorithm of the strategy."""
        cea, strategy = pattern.anchored
        return pattern.plan, lambda: lists_recogniser(cea, strategy)


class Registers(LabelsOfAnswers):
    """As written on streams of up to `SHORT` events, in the compiled engine on longer ones."""

    name = "registers"

    def takes(self, pattern: AnyPattern) -> bool:
        """Whether the pattern compiles to a transducer, or waits for the answers of some."""
        return pattern.has_registers or _on_registers(pattern) is not None

    def answers(self, pattern: AnyPattern, stream: Stream) -> Iterator[ComplexEvent]:
        """The answers on a stream."""
        if len(stream) > protocol.SHORT:
            pattern = fast_form(pattern, stream)
        if (waiting := waits_of(pattern, on_registers=True)) is not None:
            if len(stream) > protocol.SHORT:
                return _batched(_access(waiting, stream))
            return _waited(waiting, stream)
        if len(stream) > protocol.SHORT:
            return compiled_runs(pattern, stream)
        return _runs(pattern, stream, stream.time)

    def live(
        self, pattern: AnyPattern, events: Iterable[Event], time: TimeAxis | None
    ) -> Iterator[ComplexEvent]:
        """The answers on events that are still arriving, by the runs as written."""
        if (waiting := waits_of(pattern, on_registers=True)) is not None:
            return _waited_live(waiting, events, time)
        plan = pattern.registers
        if not isinstance(plan, RegisterPlan):
            check_clock(plan, time)
        return _runs(pattern, events, time)

    def count(self, pattern: AnyPattern, stream: Stream) -> int:
        """Return the number of answers; raises `ResourceLimit` for 2^53 and more."""
        pattern = fast_form(pattern, stream)
        if (waiting := waits_of(pattern, on_registers=True)) is not None:
            return _access(waiting, stream).total
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
        pattern = fast_form(pattern, stream)
        if (waiting := waits_of(pattern)) is not None:
            return _batched(_access(waiting, stream))
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
        if (waiting := waits_of(pattern)) is not None:
            return _waited_live(waiting, events, time)
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
        pattern = fast_form(pattern, stream, quietly=True)
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


def _batched(access: BatchAccess) -> Iterator[ComplexEvent]:
    from cerlab.engine.answers import BatchedAnswers  # NumPy loads here

    return BatchedAnswers(access.batches())


def _on_registers(pattern: AnyPattern) -> WaitStages | None:
    """The stages that wait on registers; None without any."""
    return waits_of(pattern, on_registers=True) if has_waits(pattern) else None


def with_automaton(pattern: AnyPattern) -> Pattern | None:
    """The query, None where its transducer runs; raises `Unsupported` for a SREMO without one."""
    if pattern.has_automaton and isinstance(pattern, Pattern):
        return pattern
    return None if pattern.has_registers else query(pattern, "compiled")
