"""The facade: the functions that users call, and the names of what they use (DESIGN 2.1)."""

from __future__ import annotations

from itertools import islice
from typing import Any

from cerlab import io
from cerlab.errors import Unsupported, UsageError
from cerlab.evaluators import (
    AVAILABLE,
    Evaluator,
    answers_of,
    fo_answers_of,
    live_answers,
    shown_attributes,
    valuations_of,
)
from cerlab.expressions import AnyLanguage, matches, read, sremo_answers, sremo_count
from cerlab.logic.cel.semantics import valuations as cel_valuations
from cerlab.logic.ceql.semantics import query_valuations
from cerlab.logic.ceql.syntax import selected_formula
from cerlab.logic.focel.scope import check_first_order
from cerlab.logic.focel.semantics import fo_valuations
from cerlab.logic.sremo.parser import parse_sremo
from cerlab.logic.sremo.syntax import Sremo
from cerlab.matches import Matches
from cerlab.model.answer import ComplexEvent, Valuation
from cerlab.model.order import by_end
from cerlab.query import (
    Language,
    Logic,
    Query,
    What,
    as_query,
    is_fo,
    parse_formula,
    parse_query,
)

__all__ = [
    "AVAILABLE",
    "AnyLanguage",
    "Evaluator",
    "Language",
    "Logic",
    "Matches",
    "Query",
    "Sremo",
    "What",
    "answers_of",
    "as_query",
    "count",
    "evaluate",
    "fo_answers_of",
    "live_answers",
    "matches",
    "parse_formula",
    "parse_query",
    "parse_sremo",
    "shown_attributes",
    "valuations",
    "valuations_of",
]


def evaluate(
    what: What | Sremo,
    events: Any,
    *,
    evaluator: Evaluator = "auto",
    logic: Logic = "so",
    limit: int | None = None,
    language: AnyLanguage | None = None,
) -> list[ComplexEvent]:
    """The complex events of `what` on a stream, each once, sorted by (end, start, positions).

    `limit` caps the answers; which ones are given is then not specified. Raises `Unsupported`
    where the evaluator cannot take the query, and never gives another answer instead. `logic` is
    the meaning of its variables: sets of events ("so"), or one event each ("fo"). `language` says
    what a text is that does not tell (see `cerlab.expressions.read`). Of a SREMO the answers are
    what the stream shows of it, from the first marked position to the last (SRT Def. 32).

    >>> evaluate("A ; B", [{"type": "A"}, {"type": "C"}, {"type": "B"}])
    [ComplexEvent(start=0, end=2, positions=(0, 2))]
    >>> evaluate("<type = 'A'>^ . <type = 'B'>^", [{"type": "A"}, {"type": "B"}])
    [ComplexEvent(start=0, end=1, positions=(0, 1))]
    """
    if limit is not None and limit < 0:
        hint = "leave it out for all answers"
        raise UsageError("CER0804", f"limit is {limit}, a negative number", hint=hint)
    query, stream = read(what, language, logic=logic), io.as_stream(events)
    if isinstance(query, Sremo):
        answers = sremo_answers(query, stream, evaluator, logic)
    else:
        by = fo_answers_of if is_fo(logic) else answers_of
        answers = by(query, stream, evaluator)
    return sorted(islice(answers, limit), key=by_end)


def valuations(what: What | Sremo, events: Any, *, logic: Logic = "so") -> set[Valuation]:
    """The valuations of `what` on a stream, from the reference semantics.

    Under ``"fo"`` a label that is a variable has the positions that its own atoms gave it.

    >>> valuations("A AS x", [{"type": "A"}])
    {Valuation(start=0, end=0, labels={'A': (0,), 'x': (0,)})}
    """
    query = read(what, logic=logic)
    if isinstance(query, Sremo):
        raise Unsupported(
            "CER0482",
            "a SREMO marks positions and has no labels",
            hint="cerlab.evaluate and cerlab.matches give the positions",
        )
    meaning = cel_valuations
    if is_fo(logic):
        meaning = fo_valuations
        check_first_order(selected_formula(query.ast))
    return set(query_valuations(query.ast, io.as_stream(events), meaning))


def count(query: What | Sremo, events: Any) -> int:
    """Exactly ``len(evaluate(query, events))``, without listing.

    >>> count("A+", [{"type": "A"}] * 100) == 2**100 - 1
    True
    """
    counted, stream = read(query), io.as_stream(events)
    if isinstance(counted, Sremo):
        return sremo_count(counted, stream)
    return Matches(counted, stream).count()
