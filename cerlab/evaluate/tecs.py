"""``"tecs"``: CORE's algorithm with the tECS, in Python (CORE Alg. 1; CORE Alg. 2)."""

from __future__ import annotations

from cerlab.compile.pattern import AnyPattern, Pattern
from cerlab.engine.random_access.by_number import Access, TecsAccess
from cerlab.engine.reference.evaluation import TecsEvaluation
from cerlab.evaluate.protocol import Recognition, StepByStep, query
from cerlab.model.stream import Stream


class TecsEvaluator(StepByStep):
    """One tECS for each partition."""

    name = "tecs"

    def recogniser(self, pattern: Pattern) -> Recognition:
        """Algorithm 1 on the determinised automaton, or on that of the strategy."""
        plan, machine = pattern.plan, pattern.machine
        return plan, lambda: TecsEvaluation(machine, latest_first=plan.limit is not None)

    def by_number(self, pattern: AnyPattern, stream: Stream, *, workers: int = 1) -> Access:
        """By the numbers of answers below the nodes of the tECS."""
        cea_query = query(pattern, self.name)
        return TecsAccess(cea_query.plan, cea_query.machine, stream)
