"""Why some positions are an answer of a query, and why not.

Weighted deduction (`deduction`) reads a semantics backwards, from the positions, and lets parts
fail at a cost: `cel`, `focel` and `sremo` are its clause tables, an arm for each row of the paper.
`question` has what is asked, `candidates` and `sremo_candidates` where to search and what is
nearest, `clauses` what answers have to pass after the formula; `confirm` asks the automata, which
the deduction knows nothing of. `none` says why there is no answer at all.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import index
from typing import Any, Unpack

from cerlab import io
from cerlab.compile.pattern import Logic, SremoPattern
from cerlab.compile.text_to_pattern import AnyWhat, any_pattern
from cerlab.errors import UsageError
from cerlab.why.answer import Why
from cerlab.why.deduction import Derivation, Reading, SremoDerivation
from cerlab.why.explain import explain_query, explain_sremo
from cerlab.why.failure import Failure, Kind, Repair
from cerlab.why.question import Question
from cerlab.why.sremo_candidates import SremoQuestion
from cerlab.why.text import why_text

__all__ = [
    "Derivation",
    "Failure",
    "Kind",
    "Reading",
    "Repair",
    "SremoDerivation",
    "Why",
    "why",
    "why_text",
]


def why(
    query: AnyWhat,
    events: Any,
    positions: Iterable[int],
    start: int | None = None,
    end: int | None = None,
    *,
    logic: Logic = "so",
    **how: Unpack[io.HowToRead],
) -> Why:
    """Why the positions are an answer on a stream, or the first obligation they fail.

    Without `start` and `end`, an answer with these positions and any interval will do. `logic` is
    the meaning of a query's variables, `how` how to read the events, both as for `cerlab.evaluate`,
    which it never contradicts. Raises
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
    stream, marks = io.as_stream(events, **how), tuple(sorted({_whole(p) for p in positions}))
    start, end = (None if p is None else _whole(p) for p in (start, end))
    pattern = any_pattern(query, logic=logic)
    if isinstance(pattern, SremoPattern):
        return explain_sremo(SremoQuestion(pattern.ast, stream, marks, start, end))
    first_order = pattern.logic == "fo"
    return explain_query(Question(pattern.ast, stream, marks, start, end, first_order=first_order))


def _whole(position: int) -> int:
    try:
        return index(position)
    except TypeError:
        raise UsageError(
            "CER0836", f"a position is a whole number, not {position!r}", hint="they count from 0"
        ) from None
