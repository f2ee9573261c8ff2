"""``"lists"``: Foundations' algorithms with linked lists (FOUND Alg. 1-3; FOUND Alg. 5-8)."""

from __future__ import annotations

from cerlab.compile.pattern import AnyPattern, Pattern
from cerlab.engine.reference.lists import lists_recogniser
from cerlab.errors import Unsupported
from cerlab.evaluate.protocol import Recognition, StepByStep


class Lists(StepByStep):
    """What Foundations defines: a formula of its operators and a strategy, without clauses."""

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
