"""What an engine needs to know of an expression or a query that it runs on registers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from cerlab.automata.plan import PlanClauses
from cerlab.automata.registers.transducer import Srt
from cerlab.display import rich_display
from cerlab.model.clauses import AttributeWindow, EventWindow

MarkWindow: TypeAlias = EventWindow | AttributeWindow
"""A bound on last minus first marked position, or on the time between the two."""


@rich_display
@dataclass(frozen=True, slots=True)
class RegisterPlan:
    """A transducer in its streaming form, and all windows on its matches (SRT Def. 32)."""

    srt: Srt
    windows: tuple[MarkWindow, ...] = ()


@rich_display
@dataclass(frozen=True, slots=True)
class CorrelatedPlan(PlanClauses):
    """A query whose filters compare labels, compiled: its transducer and its clauses.

    A run begins at any position i of a substream, in q0 and with empty registers. If it is in F
    after the event at j, it answers ``([i, j], the positions it marked)``. `strategy` selects among
    all answers of one end, before the window.
    """

    srt: Srt
