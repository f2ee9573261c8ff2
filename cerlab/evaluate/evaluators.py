"""The classes of evaluators: reference, runs, tECS, lists and registers in Python, and the engine.

``"registers"`` follows the runs of a transducer (SRT Alg. 1); ``"compiled"`` is the engine of
kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Protocol, assert_never, runtime_checkable

from cerlab.automata.plan import CorrelatedPlan, Plan, RegisterPlan, WaitPlan
from cerlab.automata.strategy import machine_of
from cerlab.compile.pattern import AnyPattern, Pattern, SremoPattern, WaitStages
from cerlab.display import Explanation
from cerlab.engine.random_access import Access, BatchAccess, TecsAccess, WaitAccess
from cerlab.engine.reference import driver, registers
from cerlab.engine.reference.driver import Recogniser
from cerlab.engine.reference.in_contexts import in_contexts
from cerlab.engine.reference.lists import lists_recogniser
from cerlab.engine.reference.registers import IntervalRuns
from cerlab.engine.reference.runs import CeaRuns, VceaRuns
from cerlab.engine.reference.tecs import TecsEvaluation
from cerlab.engine.reference.waiting import waited_answers, waited_count
from cerlab.engine.registers.program import NotTaken, warn_of_python
from cerlab.engine.run import OpenRun, Run
from cerlab.errors import Unsupported
from cerlab.evaluate.labelled import LabelsOfAnswers
from cerlab.evaluate.protocol import Evaluator, StepByStep, query
from cerlab.evaluate.runs import OpenRegisters, OpenWaits, Steps, StepsOfSremo
from cerlab.evaluate.separation import fast_form
from cerlab.logic.cel.semantics import valuations as so_valuations
from cerlab.logic.cel.text import window_text
from cerlab.logic.ceql.semantics import Meaning, query_answers, query_valuations
from cerlab.logic.ceql.syntax import selected_formula
from cerlab.logic.focel.semantics import check_first_order, fo_valuations
from cerlab.logic.sremo import semantics as sremo
from cerlab.model.answer import ComplexEvent, Valuation
from cerlab.model.clauses import Consume
from cerlab.model.stream import Stream, TimeAxis, axis_for, axis_of_windows

if TYPE_CHECKING:
    from cerlab.engine.answers import ListsAt
    from cerlab.engine.symbol_tables import LearnedTables


class Reference(Evaluator):
    """The evaluator that applies the semantics literally: for every pattern, on small streams."""

    name = "reference"

    def __init__(self, pattern: AnyPattern) -> None:
        self.pattern = pattern

    def answers(self, stream: Stream) -> Iterator[ComplexEvent]:
        """Return the complex events of a query, or the detections of a SREMO (SRT Def. 32)."""
        match self.pattern:
            case Pattern():
                return iter(query_answers(self.pattern.ast, stream, _meaning(self.pattern)))
            case SremoPattern():
                return iter(sremo.detections(self.pattern.ast, stream.events))
            case _:
                assert_never(self.pattern)

    def valuations(self, stream: Stream) -> Iterator[Valuation]:
        """Return the valuations; in FO-CEL, a variable labels only the events of its own atoms."""
        if isinstance(self.pattern, SremoPattern):
            raise Unsupported(
                "CER0482",
                "a SREMO marks positions and has no labels",
                hint="cerlab.evaluate and cerlab.matches give the positions",
            )
        return iter(query_valuations(self.pattern.ast, stream, _meaning(self.pattern)))


def _meaning(pattern: Pattern) -> Meaning:
    if pattern.logic == "so":
        return so_valuations
    check_first_order(selected_formula(pattern.ast))
    return fo_valuations


class Automaton(StepByStep):
    """The evaluator that runs the CEA for answers, and the VCEA for valuations."""

    name = "automaton"

    def __init__(self, pattern: AnyPattern) -> None:
        """Prepare the evaluator; raise `Unsupported` for a pattern without an automaton."""
        self.pattern = query(pattern, self.name)
        plan, contexts = self.pattern.in_context
        self.recognition = plan, in_contexts(lambda: CeaRuns(plan.cea, plan.strategy), contexts)

    def valuations(self, stream: Stream) -> Iterator[Valuation]:
        """Return the valuations by the runs of the VCEA."""
        return driver.run(*self._labelled(), stream, stream.time)

    def labelled_run(self, time: TimeAxis | None) -> Run[Valuation]:
        """Return a run on arriving events that yields each valuation at its last event."""
        return Steps(*self._labelled(), time)

    def _labelled(self) -> tuple[Plan, Callable[[], Recogniser[Valuation]]]:
        plan, contexts = self.pattern.in_context
        vcea = plan.vcea if contexts else self.pattern.labelled
        return plan, in_contexts(lambda: VceaRuns(vcea, plan.strategy), contexts)


class Tecs(StepByStep):
    """The evaluator by the tECS: Algorithm 1 on the determinised automaton, for each partition.

    Under a strategy, the automaton is that of the strategy.
    """

    name = "tecs"

    def __init__(self, pattern: AnyPattern) -> None:
        """Prepare the evaluator; raise `Unsupported` for a pattern without an automaton."""
        self.pattern = query(pattern, self.name)
        plan, contexts = self.pattern.in_context
        machine = machine_of(plan) if contexts else self.pattern.machine
        latest_first = plan.limit is not None
        recogniser = partial(TecsEvaluation, machine, latest_first=latest_first)
        self.recognition = plan, in_contexts(recogniser, contexts)

    def by_number(self, stream: Stream, *, threads: int = 1) -> Access:
        """Return access to answers by number, using counts at the nodes of the tECS."""
        if self.pattern.is_in_context:
            return super().by_number(stream, threads=threads)
        return TecsAccess(self.pattern.plan, self.pattern.machine, stream)


class Lists(StepByStep):
    """The evaluators of the paper FOUND, for its formulas and strategies without other clauses."""

    name = "lists"

    def __init__(self, pattern: AnyPattern) -> None:
        """Prepare the evaluator; raise `Unsupported` for formulas outside FOUND and for clauses."""
        self.pattern = query(pattern, self.name)
        cea, strategy = self.pattern.anchored
        self.recognition = self.pattern.plan, lambda: lists_recogniser(cea, strategy)


def _stages(pattern: AnyPattern, *, on_registers: bool) -> WaitStages:
    stages = pattern.waits
    assert stages is not None, "the query waits"
    return stages.on_registers if on_registers else stages


class WaitsByStep(LabelsOfAnswers):
    """The evaluator of queries with WAIT, event by event; ``"registers"`` uses transducers only."""

    def __init__(self, pattern: AnyPattern, name: str) -> None:
        """Prepare the evaluator; ``"tecs"`` raises `Unsupported` for comparisons of labels."""
        self.pattern, self.name = pattern, name
        self._stages = _stages(pattern, on_registers=name == "registers")
        if name == "tecs" and self._stages.plan.compares:
            raise Unsupported(
                "CER0403",
                "comparisons of labels have no automaton; under a strategy, LIMIT or CONSUME BY, "
                "and before other steps, waits and windows in time have none either",
                hint='evaluator="registers" supports them',
            )

    def answers(self, stream: Stream) -> Iterator[ComplexEvent]:
        """Return the answers on a stream, read event by event."""
        plan = self._stages.plan
        time = axis_of_windows(plan.windows, stream)
        return iter(waited_answers(plan, self._stages.machines, stream, time))

    def run(self, time: TimeAxis | None) -> OpenWaits:
        """Return a run on arriving events that yields each answer as soon as it is known."""
        return OpenWaits(self.pattern, self._stages, time, None)

    def count(self, stream: Stream) -> int:
        """Return the number of answers, without listing them."""
        plan = self._stages.plan
        time = axis_of_windows(plan.windows, stream)
        return waited_count(plan, self._stages.machines, stream, time)

    def valuations(self, stream: Stream) -> Iterator[Valuation]:
        """Return the answers with their labels; ``"tecs"`` raises `Unsupported`."""
        if self.name == "tecs":
            return Evaluator.valuations(self, stream)
        return super().valuations(stream)


class RegisterRuns(LabelsOfAnswers):
    """The evaluator by the runs of a transducer, in Python."""

    name = "registers"

    def __init__(self, pattern: AnyPattern) -> None:
        """Prepare the evaluator; raise `Unsupported` or `ResourceLimit` for the transducer."""
        self.pattern, self.plan = pattern, pattern.registers

    def answers(self, stream: Stream) -> Iterator[ComplexEvent]:
        """Return the answers on a stream."""
        plan = self.plan
        if isinstance(plan, RegisterPlan):
            return registers.answers(plan, stream)
        return driver.run(plan, lambda: IntervalRuns(plan), stream, stream.time)

    def written_out(self, stream: Stream, refusal: NotTaken) -> Iterator[ComplexEvent]:
        """Return the answers in Python, warning that kernels do not support the transducer."""
        # other comparisons have a fast form, which a warning names
        if self.pattern.separated is None:
            warn_of_python(refusal, len(stream))
        return self.answers(stream)

    def run(self, time: TimeAxis | None) -> Run[ComplexEvent]:
        """Return a run on arriving events, which are read one by one."""
        plan = self.plan
        if isinstance(plan, RegisterPlan):
            return StepsOfSremo(plan)
        return Steps(plan, lambda: IntervalRuns(plan), time)


@runtime_checkable
class Compiled(LabelsOfAnswers, Protocol):
    """The compiled engine: on whole streams, in batches of files, and in sessions."""

    name: str = "compiled"
    plan: Plan | CorrelatedPlan | RegisterPlan | WaitPlan

    def run(self, time: TimeAxis | None, state: bytes | None = None) -> OpenRun:
        """Return a run on arriving events, which continues from a `state` if there is one.

        Raise `Unsupported` for patterns that the engine does not support, `UsageError` for a window
        in time without `time`, `BadData` for other bytes.
        """

    def run_of_file(self, time: TimeAxis | None) -> Run[ComplexEvent] | None:
        """Return the fastest run on a stream that is read to its end, batch by batch.

        Return None if the stream has to be read as a whole. Raise as `run`.
        """

    @property
    def takes_batches(self) -> bool:
        """True if a run reads events batch by batch."""
        return True

    def explain(self, stream: Stream | None = None) -> Explanation:
        """Describe how the engine reads a stream."""


class CompiledTecs(Compiled):
    """The compiled engine for a query with an automaton: the tECS in kernels."""

    def __init__(self, pattern: AnyPattern) -> None:
        """Prepare the evaluator; raise `Unsupported` for a pattern without an automaton."""
        self.pattern = query(pattern, self.name)
        self.plan: Plan = self.pattern.plan

    def answers(self, stream: Stream) -> Iterator[ComplexEvent]:
        """Return the answers on a stream."""
        from cerlab.engine.answers import BatchedAnswers
        from cerlab.engine.whole_stream import compiled_answers  # Numba loads here

        return BatchedAnswers(compiled_answers(*self._on(stream)))

    def answers_at(self, stream: Stream, lists: ListsAt) -> Iterator[ComplexEvent]:
        """Return the answers; with WITHIN, without ends for which `lists` is false."""
        from cerlab.engine.answers import BatchedAnswers
        from cerlab.engine.whole_stream import compiled_answers  # Numba loads here

        return BatchedAnswers(compiled_answers(*self._on(stream), lists=lists))

    def _on(self, stream: Stream) -> tuple[Plan, LearnedTables, Stream, TimeAxis | None]:
        time = axis_for(self.plan.window, stream, stream.time)
        return self.plan, self.pattern.learned, stream, time

    def by_number(self, stream: Stream, *, threads: int = 1) -> BatchAccess:
        """Return access to answers by number, through whole batches of the engine."""
        return BatchAccess(self.plan, self.pattern.learned, stream, threads=threads)

    def run(self, time: TimeAxis | None, state: bytes | None = None) -> OpenRun:
        """Return a run on arriving events, by the tECS of the engine."""
        from cerlab.engine.tecs_run import GeneralEvaluation  # Numba loads here

        return GeneralEvaluation(self.plan, self.pattern.learned, time, state=state)

    def run_of_file(self, time: TimeAxis | None) -> Run[ComplexEvent]:
        """Return a run on a file, in two phases if the plan allows it."""
        from cerlab.engine.whole_stream import stream_evaluation  # Numba loads here

        return stream_evaluation(self.plan, self.pattern.learned, time)

    def explain(self, stream: Stream | None = None) -> Explanation:
        """Describe the machine for all symbols seen so far, including those of `stream`."""
        from cerlab.engine.whole_stream import explain

        if stream is not None:
            self.pattern.learned.symbols(stream.columns, len(stream))
        return explain(self.plan, self.pattern.learned)


class CompiledInContext(CompiledTecs):
    """The compiled engine for strategies inside the formula, which add contexts to events."""

    def __init__(self, pattern: AnyPattern) -> None:
        """Prepare the evaluator; raise `Unsupported` under CONSUME BY, which restarts contexts."""
        self.pattern = query(pattern, self.name)
        self.plan, self._contexts = self.pattern.in_context
        if self.plan.consume is not Consume.NONE:
            raise Unsupported(
                "CER0403",
                "kernels do not support CONSUME BY with a strategy inside the formula",
                hint="evaluators that support it: reference, automaton, tecs",
            )

    def _on(self, stream: Stream) -> tuple[Plan, LearnedTables, Stream, TimeAxis | None]:
        from cerlab.engine.contexts import with_contexts  # Numba loads here

        time = axis_for(self.plan.window, stream, stream.time)
        carried = with_contexts(stream, self.plan, self._contexts)
        return self.plan, self.pattern.learned_in_context, carried, time

    def by_number(self, stream: Stream, *, threads: int = 1) -> BatchAccess:
        """Return access to answers by number, through whole batches of the engine."""
        plan, learned, carried, _ = self._on(stream)
        return BatchAccess(plan, learned, carried, threads=threads)

    def run(self, time: TimeAxis | None, state: bytes | None = None) -> OpenRun:
        """Return a run on arriving events."""
        from cerlab.engine.contexts import EvaluationInContext  # Numba loads here

        learned = self.pattern.learned_in_context
        return EvaluationInContext(self.plan, learned, self._contexts, time, state)

    def run_of_file(self, time: TimeAxis | None) -> Run[ComplexEvent]:
        """Return a run on the events of a file."""
        return self.run(time)

    def explain(self, stream: Stream | None = None) -> Explanation:
        """Describe the machine for all symbols seen so far, including those of `stream`."""
        from cerlab.engine.whole_stream import explain

        learned = self.pattern.learned_in_context
        if stream is not None:
            carried = self._on(stream)[2]
            learned.symbols(carried.columns, len(carried))
        return explain(self.plan, learned)


class CompiledRuns(Compiled):
    """The compiled engine for a query with a transducer: in kernels, or otherwise in Python."""

    def __init__(self, pattern: AnyPattern) -> None:
        """Prepare the evaluator; raise `Unsupported` or `ResourceLimit` for the transducer."""
        self.pattern, self.plan = pattern, pattern.registers

    def answers(self, stream: Stream) -> Iterator[ComplexEvent]:
        """Return the answers on a stream."""
        from cerlab.engine.registers.evaluation import register_answers  # Numba loads here

        by = RegisterRuns(fast_form(self.pattern, stream))
        return register_answers(by.plan, stream, partial(by.written_out, stream), _time(by, stream))

    def answers_at(self, stream: Stream, lists: ListsAt) -> Iterator[ComplexEvent]:
        """Return the answers, without ends for which `lists` is false."""
        from cerlab.engine.registers.evaluation import register_answers  # Numba loads here

        by = RegisterRuns(fast_form(self.pattern, stream))
        written_out = partial(by.written_out, stream)
        return register_answers(by.plan, stream, written_out, _time(by, stream), lists)

    def count(self, stream: Stream) -> int:
        """Return the number of answers; raise `ResourceLimit` from 2^53 on."""
        from cerlab.engine.registers.evaluation import register_count  # Numba loads here

        by = RegisterRuns(fast_form(self.pattern, stream))
        return register_count(by.plan, stream, partial(by.written_out, stream), _time(by, stream))

    def run(self, time: TimeAxis | None, state: bytes | None = None) -> OpenRun:
        """Return a run on arriving events."""
        return OpenRegisters(self.pattern, time, state)

    def run_of_file(self, time: TimeAxis | None) -> Run[ComplexEvent] | None:
        """Return a run on a file; None if the kernels do not support the transducer."""
        return OpenRegisters(self.pattern, time, None) if self.takes_batches else None

    @property
    def takes_batches(self) -> bool:
        """True if kernels support the transducer, for which Numba is loaded."""
        from cerlab.engine.registers.evaluation import why_not

        return why_not(self.plan) is None

    def explain(self, stream: Stream | None = None) -> Explanation:
        """Describe the transducer of the query."""
        from cerlab.engine.whole_stream import explain_runs

        return explain_runs(self.plan)


def _time(by: RegisterRuns, stream: Stream) -> TimeAxis | None:
    window = None if isinstance(by.plan, RegisterPlan) else by.plan.window
    return axis_for(window, stream, stream.time)


class CompiledWaits(Compiled):
    """The compiled engine for queries with WAIT."""

    def __init__(self, pattern: AnyPattern, *, on_registers: bool = False) -> None:
        """Prepare the evaluator; raise `Unsupported` for waits that no machine supports."""
        self.pattern, self._on_registers = pattern, on_registers
        self._stages = _stages(pattern, on_registers=on_registers)
        self.plan = self._stages.plan

    def answers(self, stream: Stream) -> Iterator[ComplexEvent]:
        """Return the answers on a stream."""
        from cerlab.engine.answers import BatchedAnswers  # NumPy loads here

        return BatchedAnswers(self._access(fast_form(self.pattern, stream), stream).batches())

    def answers_at(self, stream: Stream, lists: ListsAt) -> Iterator[ComplexEvent]:
        """Return the answers; with a strategy, without ends for which `lists` is false."""
        from cerlab.engine.answers import BatchedAnswers  # NumPy loads here

        access = self._access(fast_form(self.pattern, stream), stream)
        return BatchedAnswers(access.batches(lists))

    def by_number(self, stream: Stream, *, threads: int = 1) -> Access:
        """Return access to answers by number, through whole batches of the engine."""
        return self._access(fast_form(self.pattern, stream, quietly=True), stream)

    def _access(self, pattern: AnyPattern, stream: Stream) -> WaitAccess:
        stages = _stages(pattern, on_registers=self._on_registers)
        return WaitAccess(stages.plan, stages.tables, stream)

    def run(self, time: TimeAxis | None, state: bytes | None = None) -> OpenRun:
        """Return a run on arriving events, in batches of any size."""
        return OpenWaits(self.pattern, self._stages, time, state)

    def run_of_file(self, time: TimeAxis | None) -> Run[ComplexEvent] | None:
        """Return None, because queries with WAIT read a file as a whole."""
        return None

    def explain(self, stream: Stream | None = None) -> Explanation:
        """Describe how WAIT, LOOKBACK and windows change the answers of each machine."""
        from cerlab.engine.whole_stream import explain_waits

        return explain_waits(self.plan, self._stages.machines, window_text)
