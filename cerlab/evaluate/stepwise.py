"""The evaluators in pure Python: the reference, all runs of an automaton, the tECS, lists."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import assert_never

from cerlab.compile.pattern import AnyPattern, Pattern, SremoPattern, has_waits, waits_of
from cerlab.engine.by_number import Access, ListAccess, TecsAccess
from cerlab.engine.reference import driver
from cerlab.engine.reference.lists import lists_recogniser
from cerlab.engine.reference.runs import CeaRuns, VceaRuns
from cerlab.engine.reference.tecs import TecsEvaluation
from cerlab.engine.reference.waiting import Waits, waited_answers, waited_count
from cerlab.errors import Unsupported
from cerlab.evaluate.protocol import Evaluator, Recognition, StepByStep, query
from cerlab.logic.cel.semantics import valuations as so_valuations
from cerlab.logic.ceql.semantics import Meaning, query_answers, query_valuations
from cerlab.logic.ceql.syntax import selected_formula
from cerlab.logic.focel.semantics import check_first_order, fo_valuations
from cerlab.logic.sremo import semantics as sremo
from cerlab.model.answer import ComplexEvent, Valuation, by_end
from cerlab.model.event import Event
from cerlab.model.stream import Stream, TimeAxis, axis_of_windows


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
        return pattern.has_automaton or has_waits(pattern)

    def answers(self, pattern: AnyPattern, stream: Stream) -> Iterator[ComplexEvent]:
        """The answers on a stream."""
        if (waiting := waits_of(pattern)) is None:
            return super().answers(pattern, stream)
        plan, machines = waiting.plan, waiting.machines
        time = axis_of_windows(plan.windows, stream)
        return iter(waited_answers(plan, machines, stream, time))

    def live(
        self, pattern: AnyPattern, events: Iterable[Event], time: TimeAxis | None
    ) -> Iterator[ComplexEvent]:
        """The answers on events that are still arriving, each when it is known."""
        if (waiting := waits_of(pattern)) is None:
            return super().live(pattern, events, time)
        run = Waits[ComplexEvent](waiting.plan, waiting.machines, time)
        return (answer for event in events for answer in sorted(run.read(event), key=by_end))

    def count(self, pattern: AnyPattern, stream: Stream) -> int:
        """Return the number of answers, without listing them."""
        if (waiting := waits_of(pattern)) is None:
            return super().count(pattern, stream)
        plan, machines = waiting.plan, waiting.machines
        return waited_count(plan, machines, stream, axis_of_windows(plan.windows, stream))

    def recogniser(self, pattern: Pattern) -> Recognition:
        """Algorithm 1 on the determinised automaton, or on that of the strategy."""
        plan, machine = pattern.plan, pattern.machine
        return plan, lambda: TecsEvaluation(machine, latest_first=plan.limit is not None)

    def by_number(self, pattern: AnyPattern, stream: Stream, *, workers: int = 1) -> Access:
        """By the numbers of answers below the nodes of the tECS; of those that wait by a list."""
        if waits_of(pattern) is not None:
            return ListAccess([*self.answers(pattern, stream)])
        cea_query = query(pattern, self.name)
        return TecsAccess(cea_query.plan, cea_query.machine, stream)


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
