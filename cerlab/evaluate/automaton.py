"""``"automaton"``: all runs of the automaton, explicitly (CORE Sec. 3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cerlab.compile.pattern import AnyPattern, Pattern
from cerlab.engine.reference import driver
from cerlab.engine.reference.runs import CeaRuns, VceaRuns
from cerlab.evaluate.protocol import Recognition, StepByStep, query
from cerlab.model.answer import Valuation
from cerlab.model.clock import TimeAxis
from cerlab.model.event import Event


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
