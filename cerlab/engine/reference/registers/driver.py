"""The answers of a register plan on a stream (SRT Def. 32)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cerlab.automata.registers.plan import RegisterPlan
from cerlab.engine.reference.registers.shared import SharedRuns
from cerlab.model.answer import ComplexEvent
from cerlab.model.event import Event


def answers(plan: RegisterPlan, events: Iterable[Event]) -> Iterator[ComplexEvent]:
    """What a stream shows, each match once, as soon as its last marked event is read.

    By end; inside one end by positions. Raises `BadData` where a window in time meets an event
    without time, or time that goes back, `ResourceLimit` for too many configurations at once.
    """
    runs = SharedRuns(plan)
    for position, event in enumerate(events):
        for M in sorted(runs.advance(event, position)):
            yield ComplexEvent(M[0], position, M)
