"""What an engine needs to know of an expression that it runs on registers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from cerlab.automata.srt.transducer import Srt
from cerlab.model.clauses import AttributeWindow, EventWindow

MarkWindow: TypeAlias = EventWindow | AttributeWindow
"""A bound on last minus first marked position, or on the time between the two."""


@dataclass(frozen=True, slots=True)
class RegisterPlan:
    """A transducer in its streaming form, and all windows on its matches (SRT Def. 32)."""

    srt: Srt
    windows: tuple[MarkWindow, ...] = ()
