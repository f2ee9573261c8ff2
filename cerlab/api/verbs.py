"""The functions that evaluate queries, formulas and SREMO."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Unpack, cast, overload

from cerlab import io
from cerlab.api.answers import warn_about_answers
from cerlab.api.sessions import Session
from cerlab.compile.pattern import (
    AnyQueryInput,
    Language,
    Logic,
    any_pattern,
    is_row_pattern,
)
from cerlab.errors import UsageError, keywords_by_name, lists_options
from cerlab.evaluate import AUTO, EvaluatorName, answers_of, choose, valuations_of
from cerlab.logic.cel.syntax import Formula
from cerlab.logic.ceql.parser import parse_cel
from cerlab.logic.sremo import semantics as sremo_semantics
from cerlab.logic.sremo.parser import parse_sremo
from cerlab.logic.sremo.syntax import Sremo
from cerlab.model.answer import ComplexEvent, Positions, Valuation, in_order
from cerlab.model.stream import axis_of_options
from cerlab.threads import using

if TYPE_CHECKING:
    from cerlab.engine.late_events import Length
    from cerlab.rows.session import RowPatternSession
    from cerlab.rows.syntax import RowPattern


@lists_options(io.HowToRead)
def evaluate(
    what: AnyQueryInput,
    events: Any,
    *,
    evaluator: EvaluatorName = "auto",
    logic: Logic = "so",
    limit: int | None = None,
    language: Language | None = None,
    threads: int | None = None,
    **how: Unpack[io.HowToRead],
) -> list[ComplexEvent]:
    """Return the complex events of `what` on a stream, sorted by (end, start, positions).

    Each answer is listed once. An evaluator that does not support a query raises `Unsupported`; it
    never returns different answers. An `AnswerWarning` tells if no event has a name of the query,
    or if there is no answer.

    Args:
        what: A query, formula or SREMO. The answers of a SREMO go from the first marked position to
            the last (SRT Def. 32).
        events: Dictionaries with a `type`, a `Stream`, a pyarrow Table, a DataFrame, or a path.
        evaluator: The name of an evaluator (default: the best one that applies).
        logic: The meaning of variables: sets of events (``"so"``), or one event each (``"fo"``).
        limit: The greatest number of answers. They are those of the first ends; it is unspecified
            which answers of the last end, or of a SREMO, are included.
        language: ``"ceql"``, ``"cel"`` or ``"sremo"``, for an ambiguous text.
        threads: The number of threads (default: ``CERLAB_THREADS``, or all cores).
        type, type_column, time, unit, until, sort: How to read the events, as in `Stream.read`.

    Raises:
        Unsupported: The evaluator does not support the query.
        UsageError: `limit` is negative, or a name is unknown.

    >>> evaluate("A ; B", [{"type": "A"}, {"type": "C"}, {"type": "B"}])
    [ComplexEvent(start=0, end=2, positions=(0, 2))]
    >>> evaluate("<type = 'A'>^ . <type = 'B'>^", [{"type": "A"}, {"type": "B"}])
    [ComplexEvent(start=0, end=1, positions=(0, 1))]
    """
    if limit is not None and limit < 0:
        hint = "leave it out for all answers"
        raise UsageError("CER0804", f"limit is {limit}, a negative number", hint=hint)
    pattern = any_pattern(what, language, logic=logic)
    stream = io.as_stream(events, **how)
    way = choose(pattern) if evaluator == AUTO else None
    with using(threads):
        every = answers_of(pattern, stream, way or evaluator, any_order=True)
        answers = in_order(every, None if limit is None else min(limit, sys.maxsize))
    warn_about_answers(pattern, stream, None if limit == 0 else len(answers), way=way)
    return answers


@lists_options(io.HowToRead)
def valuations(
    what: AnyQueryInput,
    events: Any,
    *,
    logic: Logic = "so",
    evaluator: EvaluatorName = "reference",
    **how: Unpack[io.HowToRead],
) -> set[Valuation]:
    """Return the valuations of `what` on a stream: answers with the positions of each label.

    Under ``"fo"``, a label that is a variable has the positions that its own atoms gave it;
    machines support this if filters have at most two variables, the automaton if they have one.

    Args:
        what: A query, formula or SREMO.
        events: Anything that `cerlab.evaluate` accepts.
        logic: The meaning of variables: sets of events (``"so"``), or one event each (``"fo"``).
        evaluator: ``"reference"``, the semantics itself (default); for longer streams
            ``"automaton"``, the runs of the VCEA, ``"compiled"`` and ``"registers"``, which label
            each answer that they find, or ``"auto"``, the best of these.
        type, type_column, time, unit, until, sort: How to read the events, as in `cerlab.evaluate`.

    Raises:
        Unsupported: The evaluator does not support labels for this query.

    >>> valuations("A AS x", [{"type": "A"}])
    {Valuation(start=0, end=0, labels={'A': (0,), 'x': (0,)})}
    """
    pattern, stream = any_pattern(what, logic=logic), io.as_stream(events, **how)
    answers = set(valuations_of(pattern, stream, evaluator))
    warn_about_answers(pattern, stream, len(answers))
    return answers


@lists_options(io.HowToRead)
def count(
    query: AnyQueryInput, events: Any, *, threads: int | None = None, **how: Unpack[io.HowToRead]
) -> int:
    """Return ``len(evaluate(query, events))``, exactly and without listing the answers.

    Args:
        query: A query, formula or SREMO.
        events: Anything that `cerlab.evaluate` accepts.
        threads: The number of threads (default: ``CERLAB_THREADS``, or all cores).
        type, type_column, time, unit, until, sort: How to read the events, as in `cerlab.evaluate`.

    Raises:
        Unsupported: No evaluator can count the answers.

    >>> count("A+", [{"type": "A"}] * 100) == 2**100 - 1
    True
    """
    pattern, stream = any_pattern(query), io.as_stream(events, **how)
    way = choose(pattern)
    with using(threads):
        total = way.count(stream)
    warn_about_answers(pattern, stream, total, as_list=False, way=way)
    return total


@overload
def session(
    what: RowPattern,
    *,
    time: None = None,
    unit: None = None,
    lateness: Length | None = None,
    state: bytes | None = None,
) -> RowPatternSession: ...


@overload
def session(
    what: AnyQueryInput,
    *,
    time: str | None = None,
    unit: str | None = None,
    lateness: Length | None = None,
    state: bytes | None = None,
    logic: Logic = "so",
    language: Language | None = None,
) -> Session: ...


@keywords_by_name
def session(
    what: AnyQueryInput | RowPattern,
    *,
    time: str | None = None,
    unit: str | None = None,
    lateness: Length | None = None,
    state: bytes | None = None,
    logic: Logic = "so",
    language: Language | None = None,
) -> Session | RowPatternSession:
    """Open a session for a query, formula, SREMO or row pattern, as ``Query.open`` does.

    Args:
        what: A query, formula or SREMO; or a row pattern, whose session is a
            `cerlab.rows.session.RowPatternSession`: it takes rows and returns tables.
        time, unit, lateness, state: As in ``Query.open``.
        logic, language: As in `cerlab.evaluate`.

    Raises:
        Unsupported: The compiled engine does not support the query.
        UsageError, BadData: As for ``Query.open``.

    >>> rising = session("<type = 'A'>^ -> r . <TRUE>* . <type = 'A' AND v > r.v>^")
    >>> rising.push([{"type": "A", "v": 1}])
    []
    >>> rising.push([{"type": "A", "v": 2}])
    [ComplexEvent(start=0, end=1, positions=(0, 1))]
    """
    is_text = isinstance(what, str) and language is None and is_row_pattern(what)
    # the class is compared by name, since importing its module is slow
    if is_text or type(what).__name__ == "RowPattern":
        options = {"time": time, "unit": unit}
        return _row_session(cast("str | RowPattern", what), options, state, lateness)
    what = cast("AnyQueryInput", what)
    pattern, axis = any_pattern(what, language, logic=logic), axis_of_options(time, unit)
    if axis is None and state is None:
        axis = io.time_of_schema(pattern.schema)
    return Session(pattern, axis, state, lateness)


def _row_session(
    what: str | RowPattern,
    options: Mapping[str, object],
    state: bytes | None,
    lateness: Length | None,
) -> RowPatternSession:
    """Return the session of a row pattern; raises `UsageError` for options of events."""
    from cerlab.rows.session import RowPatternSession  # loads sqlglot

    for option in (name for name, value in options.items() if value is not None):
        message = f"a session of a row pattern has no option '{option}'"
        hint = "push the rows of each partition in the order of ORDER BY"
        raise UsageError("CER0847", message, hint=hint)
    return RowPatternSession(what, state, lateness)


@lists_options(io.HowToRead)
def matches(sremo: str | Sremo, events: Any, **how: Unpack[io.HowToRead]) -> frozenset[Positions]:
    """Return the position sets that a SREMO marks when it consumes the whole stream (SRT Def. 18).

    This is ``Match(e, S)`` by the reference semantics, for short streams. Positions count from 0.

    Args:
        sremo: A SREMO, or its text.
        events: Anything that `cerlab.evaluate` accepts.
        type, type_column, time, unit, until, sort: How to read the events, as in `cerlab.evaluate`.

    Raises:
        UsageError: `sremo` is not a SREMO.

    >>> sorted(matches("<TRUE>^ . <TRUE>* . <type = 'B'>^", [{"type": "A"}, {"type": "B"}]))
    [(0, 1)]
    """
    e = parse_sremo(sremo) if isinstance(sremo, str) else sremo
    if not isinstance(e, Sremo):
        hint = "give a text or a Sremo; cerlab.evaluate accepts queries and formulas"
        raise UsageError("CER0838", f"expected a SREMO, got {type(e).__name__}", hint=hint)
    return sremo_semantics.matches(e, io.as_stream(events, **how).events)


def parse_formula(text: str) -> Formula:
    """Parse a formula of the CEL family; raises as `parse_query`.

    Args:
        text: The formula, such as ``A ; B+``.

    >>> print(parse_formula("(A or B)+ as x filter x[v > 1]"))
    (A OR B)+ AS x FILTER x[v > 1]
    """
    formula, _ = parse_cel(text)
    return formula
