"""Why some positions are an answer of a query, and why not.

The semantics is read backwards, from the positions: `search` has one arm per row of its table, and
lets parts fail at a cost; `asked` has the clauses that choose events, `rest` those after the
formula. It is independent of the automata, which confirm what it finds (`confirm`).
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import index
from typing import Any

from cerlab import io
from cerlab.errors import Unsupported, UsageError
from cerlab.model.answer import Positions
from cerlab.model.clauses import Consume
from cerlab.model.event import Event
from cerlab.model.stream import Stream
from cerlab.query import Logic, Query, What, as_query, is_fo
from cerlab.why.answer import Why
from cerlab.why.asked import Asked, asked, compares_with_all, out_of_stream
from cerlab.why.attempt import Attempt, Reached, attempts, nearest, reaches
from cerlab.why.confirm import confirm
from cerlab.why.derivation import Derivation, moved
from cerlab.why.failure import Failure, Kind, Repair
from cerlab.why.rest import first_passing
from cerlab.why.text import event_text, why_text

__all__ = [
    "Derivation",
    "Failure",
    "Kind",
    "Repair",
    "Why",
    "event_text",
    "why",
    "why_text",
]


def why(
    query: What,
    events: Any,
    positions: Iterable[int],
    start: int | None = None,
    end: int | None = None,
    *,
    logic: Logic = "so",
) -> Why:
    """Why the positions are an answer of a query on a stream, or the first obligation they fail.

    Without `start` and `end`, an answer with these positions and any interval will do. It never
    contradicts `cerlab.evaluate`. Raises `Unsupported` for a SREMO and for FO-CEL's meaning,
    `UsageError` for no positions without an interval, `ResourceLimit` where too many derivations
    are partly there.

    >>> events = [{"type": "A", "v": 1}, {"type": "C"}, {"type": "B", "v": 0}]
    >>> why("A ; B", events, [0, 2]).holds
    True
    >>> print(why("A ; B FILTER B[v > 0]", events, [0, 2]).failure)
    B at 2 fails v > 0: v is 0
    """
    if is_fo(logic):
        raise Unsupported("CER0496", 'why explains logic="so" only', hint='use logic="so"')
    if isinstance(query, str) and query.lstrip()[:1] in ("<", "!", "#", "@"):
        raise Unsupported("CER0495", "why explains CEQL and CEL formulas, not a SREMO")
    pattern, stream = as_query(query), io.as_stream(events)
    given = _sorted(positions)
    start, end = (None if p is None else _whole(p) for p in (start, end))
    question = asked(pattern.ast, stream, given, start, end)
    if not question.positions and (start is None or end is None):
        raise UsageError(
            "CER0835", "no positions are given", hint="give start and end, for an empty answer"
        )
    if compares_with_all(question.formula) and question.ast.consume is not Consume.NONE:
        raise Unsupported(
            "CER0497",
            "why takes no CONSUME BY where a strategy stands inside the formula",
            hint="ask without CONSUME BY; cerlab.evaluate takes both",
        )
    if failures := out_of_stream(question):
        return Why(False, question.positions, None, failures, None, {})
    return _explained(pattern, question)


def _sorted(positions: Iterable[int]) -> Positions:
    return tuple(sorted({_whole(p) for p in positions}))


def _whole(position: int) -> int:
    try:
        return index(position)
    except TypeError:
        raise UsageError(
            "CER0836", f"a position is a whole number, not {position!r}", hint="they count from 0"
        ) from None


def _explained(query: Query, question: Asked) -> Why:
    first: Reached | None = None
    for reached in reaches(question):
        first = first or reached
        if exact := attempts(question, reached, 0):
            confirm(query, question, exact)
            found, failures = first_passing(question, exact)
            return _answer(question, found, failures, reached)
    assert first is not None
    confirm(query, question, [])
    attempt = nearest(question, first)
    return _answer(question, attempt, attempt.failures, first)


def _answer(
    question: Asked, attempt: Attempt, failures: tuple[Failure, ...], reached: Reached
) -> Why:
    derivation = moved(attempt.derivation, attempt.place.substream.positions)
    return Why(
        not failures,
        question.positions,
        derivation,
        failures,
        (reached.lo, reached.hi),
        _named(derivation, question.stream, question.positions),
    )


def _named(derivation: Derivation, stream: Stream, positions: Positions) -> dict[int, Event]:
    """The events at the positions that a derivation names, and at those that were asked for."""
    named = set(positions)
    for node in derivation:
        if node.valuation is not None:
            named |= {node.valuation.start, node.valuation.end}
            named.update(*node.valuation.labels.values())
    return {p: stream[p] for p in sorted(named)}
