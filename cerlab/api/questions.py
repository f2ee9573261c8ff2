"""Questions about a query or row pattern: decisions for all data, explanations for given data.

Queries are passed to `cerlab.decisions` and `cerlab.why`, row patterns to `cerlab.rows`. A text
that contains MATCH_RECOGNIZE is a row pattern.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Unpack, cast, overload

from cerlab import decisions, io
from cerlab.compile.pattern import AnyPattern, AnyQueryInput, Logic, QueryInput, is_row_pattern
from cerlab.decisions import Verdict, Witness
from cerlab.errors import Unsupported, UsageError, keywords_by_name, lists_options
from cerlab.model.answer import ComplexEvent

if TYPE_CHECKING:
    from cerlab.rows.decide import RowVerdict, Same
    from cerlab.rows.recognise import Rows
    from cerlab.rows.syntax import RowPattern
    from cerlab.rows.why import WhyRows
    from cerlab.why import Why
    from cerlab.why.none import WhyNone

__all__ = [
    "as_row_pattern",
    "contained",
    "equivalent",
    "refuse_options",
    "satisfiable",
    "why",
    "why_none",
]


def as_row_pattern(query: object) -> RowPattern | None:
    """Return a row pattern from a value or a text, or None for anything else."""
    if isinstance(query, str) and is_row_pattern(query):
        from cerlab.rows.parser import parse_rows  # loads sqlglot

        return parse_rows(query)
    if isinstance(query, AnyPattern):
        return None
    # imported here: the import takes 40 ms, and a query does not need it
    from cerlab.rows.syntax import RowPattern

    return query if isinstance(query, RowPattern) else None


@keywords_by_name
def satisfiable(a: QueryInput | RowPattern, *, rows: Rows = None) -> Verdict:
    """Decide whether a query has an answer on some stream; the witness is a shortest such stream.

    Args:
        a: A query, or a row pattern: then some table must have a match with a row, and
            `witness.events` are the rows of a shortest such table.
        rows: For a row pattern, the only rows that a table may contain.

    Raises:
        ResourceLimit: A budget is exceeded inside the decidable class.

    >>> satisfiable("A ; B FILTER A[v = 1] AND A[v = 2]").holds
    False
    >>> satisfiable("A ; B").witness
    Witness(events=[{'type': 'A'}, {'type': 'B'}],
            complex_event=ComplexEvent(start=0, end=1, positions=(0, 1)), side=None)
    >>> clause = "MATCH_RECOGNIZE (MEASURES 1 AS m PATTERN (A B) DEFINE B AS x > PREV(x))"
    >>> satisfiable(clause).witness.events
    [{'x': 0}, {'x': 1}]
    """
    patterns = _row_patterns((a,), rows, None)
    if patterns is None:
        return decisions.satisfiable(cast(QueryInput, a))
    from cerlab.rows import decide  # loads columns

    return _verdict(lambda: decide.satisfiable(*patterns, rows=rows), "no table has a match", rows)


@keywords_by_name
def equivalent(
    a: QueryInput | RowPattern,
    b: QueryInput | RowPattern,
    *,
    same: Same | None = None,
    rows: Rows = None,
) -> Verdict:
    """Decide whether two queries always have the same complex events.

    The witness is a shortest stream on which they differ, with an answer of one side only.

    Args:
        a, b: Two queries, or two row patterns, which must find the same on every table. Conditions
            of row patterns that do more than compare columns with constants and PREV need `rows`.
        same: For row patterns, what must be equal: matches with their ``"labels"``, which
            CLASSIFIER shows (default), ``"matches"`` regardless of labels, or the ``"rows"`` inside
            some match.
        rows: For row patterns, the only rows that a table may contain.

    Raises:
        ResourceLimit: A budget is exceeded inside the decidable class.
        UsageError: One is a query and the other a row pattern.

    >>> equivalent("A ; (B OR C)", "A ; B OR (A ; C)").holds
    True
    >>> equivalent("A+", "A:+").witness
    Witness(events=[{'type': 'A'}, {'type': 'other'}, {'type': 'A'}],
            complex_event=ComplexEvent(start=0, end=2, positions=(0, 2)), side='left')
    >>> clause = "MATCH_RECOGNIZE (MEASURES 1 AS m PATTERN ({}) DEFINE A AS x > 0, B AS x < 2)"
    >>> left, right = clause.format("(A | B)*"), clause.format("(B | A)*")
    >>> equivalent(left, right, same="matches").holds
    True
    >>> print(equivalent(left, right).reason)
    differ on 1 row; recomputed by the search: row 0 is A on the left, B on the right
    """
    patterns = _row_patterns((a, b), rows, same)
    if patterns is None:
        return decisions.equivalent(cast(QueryInput, a), cast(QueryInput, b))
    from cerlab.rows import decide  # loads columns

    same = same or "labels"
    return _verdict(
        lambda: decide.equivalent(*patterns, same=same, rows=rows),
        _SAME_WORDS.get(same, ""),
        rows,
        is_one=patterns[0] == patterns[1],
    )


@keywords_by_name
def contained(
    a: QueryInput | RowPattern,
    b: QueryInput | RowPattern,
    *,
    same: Same | None = None,
    rows: Rows = None,
) -> Verdict:
    """Decide whether every complex event of query `a` is one of query `b`, on every stream.

    The witness is a shortest stream with an answer of `a` only. The arguments and errors are those
    of `equivalent`.

    Args:
        a: The query or formula on the left.
        b: The query or formula on the right.
        same: As in `equivalent`, for row patterns.
        rows: As in `equivalent`, for row patterns.

    >>> contained("A : B", "A ; B").holds, contained("A ; B", "A : B").holds
    (True, False)
    """
    patterns = _row_patterns((a, b), rows, same)
    if patterns is None:
        return decisions.contained(cast(QueryInput, a), cast(QueryInput, b))
    from cerlab.rows import decide  # loads columns

    same = same or "labels"
    words = "the right finds all that the left finds"
    is_one = patterns[0] == patterns[1]
    return _verdict(
        lambda: decide.contained(*patterns, same=same, rows=rows), words, rows, is_one=is_one
    )


_SAME_WORDS: Mapping[Same, str] = {
    "labels": "the same matches with the same labels",
    "matches": "the same matches, whatever their labels,",
    "rows": "the same rows in matches",
}


def _row_patterns(
    queries: Iterable[object], rows: Rows, same: Same | None
) -> tuple[RowPattern, ...] | None:
    """Return the row patterns, or None for queries; raises `UsageError` for a mixture."""
    read = [as_row_pattern(each) for each in queries]
    patterns = tuple(each for each in read if each is not None)
    if len(patterns) == len(read):
        return patterns
    if patterns:
        hint = "cerlab.rows_to_cel translates a row pattern to CEL, where that is possible"
        raise UsageError("CER0826", "cannot compare a row pattern with a query", hint=hint)
    if rows is not None or same is not None:
        name = "same" if rows is None else "rows"
        raise UsageError(
            "CER0826", f"{name}= is an option for row patterns only", hint="leave it out"
        )
    return None


def _verdict(
    decided: Callable[[], RowVerdict], claim: str, rows: Rows, *, is_one: bool = False
) -> Verdict:
    """Return the verdict on row patterns; if undecided, `reason` has the cause.

    `is_one` means that both are the same clause, which is equivalent to itself even if undecidable.
    """
    try:
        verdict = decided()
    except Unsupported as error:
        if is_one:
            return Verdict(True, None, "the same clause")
        return Verdict(None, None, f"{error.message}; {error.hint}")
    found, table = verdict.found, verdict.table
    if found is None or table is None:
        scope = "" if claim.startswith("no ") else " on every table"
        return Verdict(verdict.holds, None, claim + scope + " of these rows" * (rows is not None))
    answer = ComplexEvent(found.start, found.end, found.rows)
    count = f"{len(table)} row" + "s" * (len(table) != 1)
    if verdict.holds:
        reason = f"a match on {count}; recomputed by the search"
        return Verdict(True, Witness(table, answer), reason)
    words = f": {found.words}" if found.words else ""
    reason = f"differ on {count}; recomputed by the search{words}"
    return Verdict(False, Witness(table, answer, found.side), reason)


@overload
def why(
    query: AnyQueryInput,
    events: Any,
    positions: Iterable[int],
    start: int | None = None,
    end: int | None = None,
    *,
    logic: Logic = "so",
    **how: Unpack[io.HowToRead],
) -> Why: ...
@overload
def why(query: RowPattern, events: Any, positions: Iterable[int]) -> WhyRows: ...
@lists_options(io.HowToRead)
def why(
    query: AnyQueryInput | RowPattern,
    events: Any,
    positions: Iterable[int],
    start: int | None = None,
    end: int | None = None,
    *,
    logic: Logic = "so",
    **how: Unpack[io.HowToRead],
) -> Why | WhyRows:
    """Explain why positions are an answer on a stream, or name the first condition that they fail.

    The result never contradicts `cerlab.evaluate` or `cerlab.match_recognize`.

    Args:
        query: A query, formula or SREMO; or a row pattern, for which the result is a `WhyRows`: the
            variable of each row, and the values that its condition reads.
        events: Anything that `cerlab.evaluate` accepts; for a row pattern, a table.
        positions: Positions of events, or row numbers of the table from 0.
        start, end: The interval of the answer (default: any interval).
        logic: The meaning of variables: sets of events (``"so"``), or one event each (``"fo"``).
        type, type_column, time, unit, until, sort: How to read the events, as in `cerlab.evaluate`.

    Raises:
        UsageError: There are no positions and no interval.
        ResourceLimit: There are too many partial derivations.

    >>> events = [{"type": "A", "v": 1}, {"type": "C"}, {"type": "B", "v": 0}]
    >>> why("A ; B", events, [0, 2]).holds
    True
    >>> print(why("A ; B FILTER B[v > 0]", events, [0, 2]).failure)
    B at 2 fails v > 0: v is 0
    >>> clause = "MATCH_RECOGNIZE (MEASURES 1 AS m PATTERN (A B) DEFINE B AS v > 0)"
    >>> print(why(clause, events[::2], [0, 1]))
    no match: rows 0, 1
    B cannot take row 1: v > 0 does not hold, v is 0
    0 A
    """
    pattern = as_row_pattern(query)
    if pattern is None:
        from cerlab.why import why as why_of_query

        return why_of_query(
            cast(AnyQueryInput, query), events, positions, start, end, logic=logic, **how
        )
    options = {"start": start, "end": end, "logic": logic if logic != "so" else None, **how}
    refuse_options(options)
    from cerlab.rows.why import why_rows  # loads columns

    return why_rows(pattern, events, positions)


@overload
def why_none(query: QueryInput, events: Any, **how: Unpack[io.HowToRead]) -> WhyNone: ...
@overload
def why_none(query: RowPattern, events: Any) -> WhyRows: ...
@lists_options(io.HowToRead)
def why_none(
    query: QueryInput | RowPattern, events: Any, **how: Unpack[io.HowToRead]
) -> WhyNone | WhyRows:
    """Explain why a query has no answer on a stream: missing names, and changes that would suffice.

    A change drops a clause or a condition, permits gaps, or widens the window to the smallest
    sufficient width, in events, milliseconds or whole units of its attribute. Operands are dropped
    only if no other change suffices.

    Args:
        query: A query; or a row pattern, for which the result is a `WhyRows`: the match attempt
            that comes farthest, and the conditions whose removal would give a match.
        events: Anything that `cerlab.evaluate` accepts; for a row pattern, a table.
        type, type_column, time, unit, until, sort: How to read the events, as in `cerlab.evaluate`.

    Raises:
        Unsupported, ResourceLimit: As for `cerlab.evaluate`.

    >>> events = [{"type": "A", "v": 1}, {"type": "C"}, {"type": "B", "v": 2}]
    >>> print(why_none("SELECT * WHERE A : B FILTER A[v > 0]", events))
    no answer on 3 events; each of these changes alone gives one:
      ';' for ':' before B: {0, 2}
    """
    pattern = as_row_pattern(query)
    if pattern is None:
        from cerlab.why.none import why_none as why_none_of_query

        return why_none_of_query(cast(QueryInput, query), events, **how)
    refuse_options(how)
    from cerlab.rows.why import why_rows  # loads columns

    return why_rows(pattern, events)


def refuse_options(options: Mapping[str, object]) -> None:
    """Raise `Unsupported` for the first option that is not None."""
    for name, value in options.items():
        if value is not None:
            message = f"row patterns do not support {name}="
            raise Unsupported("CER0451", message, hint="leave it out")
