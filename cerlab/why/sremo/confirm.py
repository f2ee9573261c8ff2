"""A second opinion: the transducer, run on the stretch that was searched (SRT Thm. 27)."""

from __future__ import annotations

from collections.abc import Sequence

from cerlab.automata.automaton import Mark
from cerlab.automata.registers.plan import MarkWindow, RegisterPlan
from cerlab.automata.registers.transducer import outgoing
from cerlab.compile.register_plan import register_plan
from cerlab.errors import ResourceLimit, Unsupported
from cerlab.logic.sremo.syntax import Sremo
from cerlab.model.answer import Positions
from cerlab.model.clauses import EventWindow
from cerlab.model.event import Event
from cerlab.model.registers import Registers
from cerlab.predicates.truth import satisfies
from cerlab.why.sremo.windows import elapsed

MAX_CONFIGURATIONS = 1_000
"""With more of them at once, the search has no second opinion."""


def confirm(e: Sremo, events: Sequence[Event], marked: Positions, lo: int, *, holds: bool) -> None:
    """Check what the search says, where the expression has a transducer of reasonable size.

    A disagreement is a bug of one of the two, and raises AssertionError.
    """
    try:
        plan = register_plan(e)
    except (Unsupported, ResourceLimit):
        return
    found = _shows(plan, events, marked, lo)
    assert found in (None, holds), f"the transducer says {found}, the search {holds}"


def _shows(plan: RegisterPlan, events: Sequence[Event], marked: Positions, lo: int) -> bool | None:
    """Whether some run from `lo` on marks exactly these positions; None where that costs much."""
    if not all(_fits(window, events, marked) for window in plan.windows):
        return False
    leaving = outgoing(plan.srt)
    configurations = {(plan.srt.q0, Registers())}
    for i in range(lo, marked[-1] + 1):
        t, mark = events[i], Mark.TAKE if i in marked else Mark.SKIP
        configurations = {
            (move.target, v.written(move.writes, t))
            for q, v in configurations
            for move in leaving[q]
            if move.mark is mark and satisfies(t, move.guard, v)
        }
        if len(configurations) > MAX_CONFIGURATIONS:
            return None
    return any(q in plan.srt.F for q, _ in configurations)


def _fits(window: MarkWindow, events: Sequence[Event], marked: Positions) -> bool:
    if isinstance(window, EventWindow):
        return marked[-1] - marked[0] <= window.width
    return elapsed(marked, events, window.attribute) <= window.width
