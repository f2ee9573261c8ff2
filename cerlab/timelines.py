"""Timelines of what queries answer: strategies and evaluators side by side.

`cerlab.viz.timeline` draws answers; here they are asked for. It is imported when something is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

from cerlab import io
from cerlab.errors import UsageError, nearest
from cerlab.evaluators import Evaluator, answers_of
from cerlab.expressions import read, sremo_answers
from cerlab.logic.sremo.syntax import Sremo
from cerlab.matches import Matches
from cerlab.model.answer import ComplexEvent, Valuation
from cerlab.model.clauses import Strategy
from cerlab.model.order import by_end
from cerlab.model.stream import Stream
from cerlab.query import Query, What

if TYPE_CHECKING:
    from cerlab.viz.timeline import Row, Timeline

LISTED = 10_000
"""How many answers of a row are listed at most; beyond, rows are compared as far as that goes."""

STRATEGIES: dict[str, Strategy | None] = {
    "ALL": None,
    "ANY": None,
    "STRICT": Strategy.STRICT,
    "NEXT": Strategy.NXT,
    "NXT": Strategy.NXT,
    "LAST": Strategy.LAST,
    "MAX": Strategy.MAX,
}

Answer: TypeAlias = ComplexEvent | Valuation

Shown: TypeAlias = What | Sremo | Matches | Mapping[str, Iterable[Answer]] | Iterable[Answer]
"""What has a timeline: a query, a SREMO, its answers, any answers, or several lists by name."""


def timeline(
    what: Shown,
    events: Any = None,
    *,
    strategies: Sequence[str] = (),
    evaluators: Sequence[Evaluator] = (),
    **options: Any,
) -> Timeline:
    """The answers of a query under the events, a row for each strategy and evaluator.

    `strategies` are keywords of SELECT; each is evaluated in place of the one that the query has.
    Answers and named lists of answers are drawn as they are. `events` may be left out for
    `Matches`. `options` are those of `cerlab.viz.timeline.timeline`: `axis`, `shown_events`,
    `shown_answers`. Raises as `cerlab.evaluate`, and `UsageError` for an unknown strategy.

    >>> print(timeline("A ; B", [{"type": k} for k in "AAB"], strategies=["ALL", "LAST"]))
          0 1 2
          A A B
    ALL   ●━━━●
            ●─●
    LAST  ○╌╌╌○
            ●─●
    Not in every row: 1 of 2 answers.
    """
    from cerlab.viz import timeline as drawing

    if isinstance(what, Matches):
        events = what.stream if events is None else events
        what = what.query
    stream = io.as_stream(events)
    if isinstance(what, Mapping):
        return drawing.timeline(what, stream, **options)
    if not isinstance(what, (str, Query, Sremo)) and isinstance(what, Iterable):
        return drawing.timeline({"answers": what}, stream, **options)
    query = read(what)
    if isinstance(query, Sremo):
        rows = [_sremo_row(query, stream, evaluator) for evaluator in evaluators or ["auto"]]
    else:
        asked = [(name, _under(query, name)) for name in strategies] or [("answers", query)]
        rows = [
            _row(_name(name, e, strategies, evaluators), made, stream, e)
            for name, made in asked
            for e in evaluators or ["auto"]
        ]
    return drawing.timeline(rows, stream, **options)


def show(answers: Iterable[Answer], events: Any, **options: Any) -> Timeline:
    """Answers, as `cerlab.evaluate` lists them, under the events that they are answers on."""
    from cerlab.viz import timeline as drawing

    return drawing.timeline({"answers": answers}, events, **options)


def _under(query: Query, name: str) -> Query:
    """The query with another strategy."""
    if name.upper() not in STRATEGIES:
        hint = nearest(name, STRATEGIES)
        raise UsageError("CER0841", f"unknown strategy '{name}'", hint=hint)
    ast = replace(query.ast, strategy=STRATEGIES[name.upper()])
    return Query(ast, schema=query.schema, source=query.source)


def _name(
    strategy: str, evaluator: str, strategies: Sequence[str], evaluators: Sequence[str]
) -> str:
    names = [strategy] if strategies or not evaluators else []
    return ", ".join([*names, *([evaluator] if evaluators else [])])


def _row(name: str, query: Query, stream: Stream, evaluator: Evaluator) -> Row:
    from cerlab.viz.timeline import Row

    listed = list(islice(answers_of(query, stream, evaluator), LISTED + 1))
    if len(listed) <= LISTED:
        return Row(name, tuple(sorted(listed, key=by_end)), len(listed))
    total = query.run(stream).count() if query.has_automaton else None
    return Row(name, tuple(sorted(listed, key=by_end)), total, listed[-1].end)


def _sremo_row(e: Sremo, stream: Stream, evaluator: Evaluator) -> Row:
    from cerlab.viz.timeline import Row

    answers = sorted(sremo_answers(e, stream, evaluator), key=by_end)
    return Row("answers" if evaluator == "auto" else evaluator, tuple(answers), len(answers))
