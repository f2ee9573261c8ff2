"""Why some positions are an answer of a query, and why not.

The semantics is read backwards, from the positions: `search` has one arm per row of its table, and
lets parts fail at a cost; `asked` has the clauses that choose events, `rest` those after the
formula. It is independent of the automata, which confirm what it finds (`confirm`). FO-CEL has a
search of its own (`first_order`), and SREMO a package (`cerlab.why.sremo`).
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import index
from typing import Any

from cerlab import io
from cerlab.errors import Unsupported, UsageError
from cerlab.logic.ceql.syntax import selected_formula
from cerlab.logic.focel.scope import check_first_order
from cerlab.logic.sremo.parser import begins_sremo, parse_sremo
from cerlab.logic.sremo.syntax import Sremo
from cerlab.model.answer import Positions
from cerlab.model.clauses import Consume
from cerlab.model.event import Event
from cerlab.model.stream import Stream
from cerlab.query import Logic, Query, What, as_query, is_fo
from cerlab.why.answer import Why
from cerlab.why.asked import Asked, asked, compares_with_all, out_of_stream
from cerlab.why.attempt import Attempt, Reached, attempts, nearest, reaches
from cerlab.why.conditions import event_text
from cerlab.why.confirm import confirm
from cerlab.why.derivation import Derivation, moved
from cerlab.why.failure import Failure, Kind, Repair
from cerlab.why.rest import first_passing
from cerlab.why.sremo.derivation import SremoDerivation
from cerlab.why.sremo.explain import explain
from cerlab.why.text import why_text

__all__ = [
    "Derivation",
    "Failure",
    "Kind",
    "Repair",
    "SremoDerivation",
    "Why",
    "event_text",
    "why",
    "why_text",
]


def why(
    query: What | Sremo,
    events: Any,
    positions: Iterable[int],
    start: int | None = None,
    end: int | None = None,
    *,
    logic: Logic = "so",
) -> Why:
    """Why the positions are an answer on a stream, or the first obligation they fail.

    Without `start` and `end`, an answer with these positions and any interval will do. `logic` is
    the meaning of a query's variables, as for `cerlab.evaluate`, which it never contradicts. Raises
    `UsageError` for no positions without an interval, `ResourceLimit` where too many derivations
    are partly there, and what `cerlab.evaluate` raises for what has no meaning.

    >>> events = [{"type": "A", "v": 1}, {"type": "C"}, {"type": "B", "v": 0}]
    >>> why("A ; B", events, [0, 2]).holds
    True
    >>> print(why("A ; B FILTER B[v > 0]", events, [0, 2]).failure)
    B at 2 fails v > 0: v is 0
    >>> print(why("<type = 'A'>^ -> r . <TRUE>* . <v > r.v>^", events, [0, 2]).failure)
    event 2 fails v > r.v: v is 0, r is event 0 with v 1
    """
    stream, given = io.as_stream(events), _sorted(positions)
    start, end = (None if p is None else _whole(p) for p in (start, end))
    if isinstance(query, str) and begins_sremo(query):
        query = parse_sremo(query)
    first_order = is_fo(logic)
    if isinstance(query, Sremo):
        if first_order:
            raise Unsupported(
                "CER0480",
                'a SREMO has no variables, so no meaning under logic="fo"',
                hint="leave logic= out",
            )
        return explain(query, stream, given, start, end)
    pattern = as_query(query, logic=logic)
    if first_order:
        check_first_order(selected_formula(pattern.ast))
    question = asked(pattern.ast, stream, given, start, end, first_order=first_order)
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
