"""A second opinion: the automaton, run on one interval with the given marks (CORE Sec. 3)."""

from __future__ import annotations

from collections.abc import Sequence

from cerlab.automata.automaton import IntervalCea
from cerlab.query import Query
from cerlab.why.asked import Asked, places
from cerlab.why.attempt import Attempt, with_hole
from cerlab.why.context import unmarked_ends
from cerlab.why.marked_runs import accepts
from cerlab.why.meaning import with_automaton
from cerlab.why.window import Meter


def confirm(query: Query, question: Asked, exact: Sequence[Attempt]) -> None:
    """Check what the search says of the formula, where the query has an automaton.

    A disagreement is a bug of one of the two, and raises AssertionError.
    """
    machine = with_automaton(question.ast, first_order=True) if question.first_order else query
    if machine is None or not machine.has_automaton:
        return
    for attempt in exact[:1]:
        agreed = _accepted(machine.cea, question, *attempt.interval)
        assert agreed, "a derivation was found that the automaton does not accept"
    if not exact and (interval := _only_interval(question)) is not None:
        agreed = not _accepted(machine.cea, question, *interval)
        assert agreed, "the automaton accepts what no derivation was found for"


def _only_interval(question: Asked) -> tuple[int, int] | None:
    """The interval of an answer with these positions, if there can be only one."""
    opens, closes = unmarked_ends(question.formula, question.context)
    start, end = question.start, question.end
    if start is None and not opens:
        start = question.positions[0]
    if end is None and not closes:
        end = question.positions[-1]
    return None if start is None or end is None else (start, end)


def _accepted(cea: IntervalCea, question: Asked, start: int, end: int) -> bool:
    """Whether the automaton accepts the marks on an interval that the window holds."""
    (place, *others) = places(question, start, end)
    if (
        others
        or place.failures
        or with_hole(question, place)
        or -1 in (place.local(start), place.local(end))
    ):
        return False
    substream = place.substream
    marked = tuple(map(place.local, question.positions))
    meter = Meter(question.ast.window, question.time, substream)
    inside = all(0 <= p < len(substream.events) for p in marked)
    return (
        inside
        and meter.fits(0, len(substream.events) - 1)
        and accepts(cea, substream.events, marked)
    )
