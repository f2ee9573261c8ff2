"""One stream on several cores: overlapping ranges, each read from one window before it on.

An answer belongs to the range in which it ends, and begins at most one window before that. So the
ranges have all answers, each once; what they share is read twice.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from cerlab.automata.plan import Plan
from cerlab.engine.answers import AnswerBatch
from cerlab.engine.clock import TimeColumn
from cerlab.engine.columns import sliced
from cerlab.engine.lookahead import why_not
from cerlab.engine.prepared import Prepared
from cerlab.engine.two_phases import TwoPhases
from cerlab.model.clauses import Consume, EventWindow, Strategy
from cerlab.model.clock import TimeAxis
from cerlab.model.stream import Stream

RANGE = 1 << 20
"""How many events a range has at most."""


def why_not_ranges(plan: Plan) -> str | None:
    """Why a query has to be read from the beginning; None if ranges stand on their own."""
    if (reason := why_not(plan)) is not None:
        return reason
    if plan.consume is not Consume.NONE:
        return "CONSUME BY makes each answer depend on those before it"
    if plan.strategy not in (None, Strategy.STRICT):
        return f"{plan.strategy.value} remembers what came before the window"
    if plan.streams and isinstance(plan.window, EventWindow):
        return "WITHIN n EVENTS counts the events that FROM leaves"
    return None


def ranged_answers(
    plan: Plan, known: Prepared, stream: Stream, time: TimeAxis | None, *, workers: int
) -> Iterator[AnswerBatch]:
    """The answers of a plan on a stream by several threads, where `why_not_ranges` allows it.

    In the order of one thread, but for the order inside an end. At most two ranges for each worker
    are in memory with their answers.
    """
    columns, length = stream.columns, len(stream)
    times = _times(plan, columns, length, time)
    size = min(RANGE, max(1, -(-length // workers)))
    cuts = iter(range(0, length, size))
    helpers = known.twins(workers)
    running: deque[Future[list[AnswerBatch]]] = deque()
    with ThreadPoolExecutor(workers) as pool:

        def start_next() -> None:
            cut = next(cuts, None)
            if cut is not None:
                helper = helpers[(cut // size) % workers]
                until = min(cut + size, length)
                work = (plan, helper, columns, time, _first(plan, times, cut), cut, until)
                running.append(pool.submit(_range, *work))

        for _ in range(2 * workers):
            start_next()
        while running:
            made = running.popleft().result()
            start_next()
            yield from made


def _times(plan: Plan, columns: Mapping[str, Any], length: int, time: TimeAxis | None) -> Any:
    """The instants of all events; None where the window counts them."""
    assert plan.window is not None
    if isinstance(plan.window, EventWindow):
        return None
    clock = TimeColumn(plan.window, time)
    return clock.read(columns, length, lambda i: i), clock.width


def _first(plan: Plan, times: Any, cut: int) -> int:
    """The first event that may be in one window with event `cut`."""
    if isinstance(plan.window, EventWindow):
        return max(0, cut - plan.window.width)
    instants, width = times
    return bisect_left(instants, instants[cut] - width)


def _range(
    plan: Plan,
    known: Prepared,
    columns: Mapping[str, Any],
    time: TimeAxis | None,
    first: int,
    start: int,
    end: int,
) -> list[AnswerBatch]:
    """The answers that end at the events from `start` to before `end`."""
    run = TwoPhases(plan, known, time)

    def part(begin: int, length: int) -> dict[str, Any]:
        return {name: sliced(column, begin, length) for name, column in columns.items()}

    run.begin_after(part(first, start - first), start - first, first)
    return [*run.push(part(start, end - start), end - start), *run.finish()]
