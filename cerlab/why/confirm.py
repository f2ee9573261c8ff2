"""A second opinion: the automaton or the transducer, run with the given marks (CORE Sec. 3).

A disagreement is a bug of one of the two, and raises AssertionError.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from cerlab.automata.automaton import IntervalCea, Mark, outgoing
from cerlab.automata.registers.plan import MarkWindow, RegisterPlan
from cerlab.budget import poll
from cerlab.compile.register_plan import register_plan
from cerlab.errors import ResourceLimit, Unsupported
from cerlab.logic.sremo.semantics import duration
from cerlab.logic.sremo.syntax import Sremo
from cerlab.model.answer import Positions
from cerlab.model.clauses import EventWindow
from cerlab.model.event import Event
from cerlab.model.registers import Registers
from cerlab.predicates.truth import satisfies
from cerlab.why.candidates import Candidate, not_strict
from cerlab.why.evaluation import plan_of
from cerlab.why.labels import unmarked_ends
from cerlab.why.marked_runs import accepts
from cerlab.why.question import Question, places
from cerlab.why.sremo_candidates import SremoQuestion
from cerlab.why.windows import Meter

MAX_CONFIGURATIONS = 1_000
"""With more of them at once, a SREMO has no second opinion."""


def confirm(question: Question, exact: Sequence[Candidate]) -> None:
    """Check what the deduction says of the formula, where the query has an automaton."""
    if (plan := plan_of(question.ast, first_order=question.first_order)) is None:
        return
    for candidate in exact[:1]:
        agrees = _automaton_accepts(plan.cea, question, *candidate.interval)
        assert agrees, "a derivation was found that the automaton does not accept"
    if not exact and (interval := _only_interval(question)) is not None:
        agrees = not _automaton_accepts(plan.cea, question, *interval)
        assert agrees, "the automaton accepts what no derivation was found for"


def _only_interval(question: Question) -> tuple[int, int] | None:
    """The interval of an answer with these positions, if there can be only one."""
    opens, closes = unmarked_ends(question.formula, question.context)
    start, end = question.start, question.end
    if start is None and not opens:
        start = question.positions[0]
    if end is None and not closes:
        end = question.positions[-1]
    return None if start is None or end is None else (start, end)


def _automaton_accepts(cea: IntervalCea, question: Question, start: int, end: int) -> bool:
    """Whether the automaton accepts the marks on an interval that the window holds."""
    (place, *others) = places(question, start, end)
    if (
        others
        or place.failures
        or not_strict(question, place)
        or -1 in (place.local(start), place.local(end))
    ):
        return False
    substream = place.substream
    marks = tuple(map(place.local, question.positions))
    meter = Meter(question.ast.window, question.time, substream)
    inside = all(0 <= p < len(substream.events) for p in marks)
    return (
        inside
        and meter.fits(0, len(substream.events) - 1)
        and accepts(cea, substream.events, marks)
    )


def confirm_sremo(question: SremoQuestion, lo: int, *, holds: bool) -> None:
    """Check what the deduction says, where the expression has a transducer of reasonable size."""
    if (plan := _plan(question.e)) is None:
        return
    shows = _shows(plan, question.stream.events, question.positions, lo)
    assert shows in (None, holds), f"the transducer says {shows}, the search {holds}"


@lru_cache(maxsize=8)
def _plan(e: Sremo) -> RegisterPlan | None:
    """The transducer, kept for the next question about the same expression; None without one."""
    try:
        return register_plan(e)
    except (Unsupported, ResourceLimit):
        poll()
        return None


def _shows(plan: RegisterPlan, events: Sequence[Event], marks: Positions, lo: int) -> bool | None:
    """Whether some run from `lo` on marks exactly these positions; None where that costs much."""
    if not all(_fits(window, events, marks) for window in plan.windows):
        return False
    leaving = outgoing(plan.srt)
    configurations = {(plan.srt.q0, Registers())}
    for i in range(lo, marks[-1] + 1):
        t, mark = events[i], Mark.TAKE if i in marks else Mark.SKIP
        configurations = {
            (move.target, v.written(move.writes, t))
            for q, v in configurations
            for move in leaving[q]
            if move.mark is mark and satisfies(t, move.guard, v)
        }
        if len(configurations) > MAX_CONFIGURATIONS:
            return None
    return any(q in plan.srt.F for q, _ in configurations)


def _fits(window: MarkWindow, events: Sequence[Event], marks: Positions) -> bool:
    if isinstance(window, EventWindow):
        return marks[-1] - marks[0] <= window.width
    return duration(marks, events, window.attribute) <= window.width
