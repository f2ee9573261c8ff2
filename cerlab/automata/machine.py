"""The machine that engines step through, made of a plan alone."""

from __future__ import annotations

from typing import TypeAlias

from cerlab.automata.determinise import DeterministicCea
from cerlab.automata.plan import Plan
from cerlab.automata.strategy import StrategyCea

Machine: TypeAlias = DeterministicCea | StrategyCea
"""What engines step through; it grows while they do."""


def machine_of(plan: Plan) -> Machine:
    """A fresh machine of a plan: the CEA determinised, or that of the strategy in SELECT."""
    if plan.strategy is None:
        return DeterministicCea(plan.cea)
    return StrategyCea(plan.cea, plan.strategy)
