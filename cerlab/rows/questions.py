"""Questions about row patterns on all tables, as users ask them: texts or values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from cerlab.display import drawable
from cerlab.rows import decide
from cerlab.rows.cel import formula_of, two_ends
from cerlab.rows.decide import RowVerdict, Same
from cerlab.rows.recognise import as_table, column_kinds, parse_rows
from cerlab.rows.syntax import RowPattern
from cerlab.rows.types import bind

__all__ = [
    "InCel",
    "RowVerdict",
    "contained_rows",
    "equivalent_rows",
    "row_remarks",
    "rows_to_cel",
    "satisfiable_rows",
]


RowQuery: TypeAlias = str | RowPattern


Rows: TypeAlias = Sequence[Mapping[str, Any]] | None


def equivalent_rows(
    left: RowQuery, right: RowQuery, *, same: Same = "labels", rows: Rows = None
) -> RowVerdict:
    """Whether two row patterns find the same on every table; if not, with a shortest table.

    The same are matches with their ``"labels"``, which CLASSIFIER shows, ``"matches"`` whatever
    their labels, or the ``"rows"`` that lie in some match. Conditions compare columns with
    constants and with PREV; of others it is decided for tables of given `rows`. Raises as
    `parse_rows`, and `Unsupported` for what is not decided, `ResourceLimit`.

    >>> clause = "MATCH_RECOGNIZE (MEASURES 1 AS m PATTERN ({}) DEFINE A AS x > 0, B AS x < 2)"
    >>> equivalent_rows(clause.format("(A | B)*"), clause.format("(B | A)*"), same="matches").holds
    True
    >>> equivalent_rows(clause.format("(A | B)*"), clause.format("(B | A)*")).table
    [{'x': 1.0}]
    """
    return decide.equivalent_rows(*_read(rows, left, right), same=same, rows=_dicts(rows))


def contained_rows(
    left: RowQuery, right: RowQuery, *, same: Same = "labels", rows: Rows = None
) -> RowVerdict:
    """Whether the right one finds all that the left one finds; as `equivalent_rows`."""
    return decide.contained_rows(*_read(rows, left, right), same=same, rows=_dicts(rows))


def satisfiable_rows(query: RowQuery, *, rows: Rows = None) -> RowVerdict:
    """Whether a row pattern has a match with a row on some table, with a shortest one."""
    return decide.satisfiable_rows(*_read(rows, query), rows=_dicts(rows))


def row_remarks(query: RowQuery, *, rows: Rows = None) -> list[str]:
    """What a row pattern says to no effect on any table.

    Conditions that never or always hold, quantifiers that may as well be greedy as reluctant, a
    pattern without matches.

    >>> row_remarks('''MATCH_RECOGNIZE (MEASURES 1 AS m PATTERN (A+ B)
    ...     DEFINE A AS x > 1, B AS x < 1 AND x IS NULL)''')
    ['the condition of B never holds', 'no table has a match']
    """
    return decide.row_remarks(*_read(rows, query), rows=_dicts(rows))


@drawable
@dataclass(frozen=True, slots=True)
class InCel:
    """A row pattern as a CEL formula over rows, which are events of type row.

    Each match of the row pattern is an answer; where `exact`, the answers are the matches. Else
    `table` is a shortest one on which two answers begin at the first row, and CEL has no word for
    the preferred one.
    """

    formula: str
    exact: bool
    table: list[dict[str, Any]] | None


def rows_to_cel(query: RowQuery) -> InCel:
    """A row pattern in CEL: ``:``, OR and ``:+``, under AFTER MATCH SKIP TO NEXT ROW.

    Raises `Unsupported` for what CEL cannot say: anchors, empty matches, conditions that do more
    than compare the row with constants, other skips.

    >>> clause = '''MATCH_RECOGNIZE (MEASURES 1 AS m AFTER MATCH SKIP TO NEXT ROW PATTERN ({})
    ...     DEFINE A AS x > 1, B AS x < 1)'''
    >>> rows_to_cel(clause.format("A+ B")).formula
    'row AS A FILTER A[x > 1]:+ : (row AS B FILTER B[x < 1])'
    >>> print(rows_to_cel(clause.format("A+ B")).exact, rows_to_cel(clause.format("A B*")).table)
    True [{'x': 2}, {'x': 0}]
    """
    (pattern,) = _read(None, query)
    formula = formula_of(pattern)
    table = two_ends(pattern)
    return InCel(str(formula), table is None, table)


def _read(rows: Rows, *queries: RowQuery) -> tuple[RowPattern, ...]:
    """The queries; of columns that given rows have."""
    patterns = tuple(parse_rows(each) if isinstance(each, str) else each for each in queries)
    if rows is not None:
        kinds = column_kinds(as_table(list(rows)))
        for query in patterns:
            bind(query, kinds)
    return patterns


def _dicts(rows: Rows) -> list[dict[str, Any]] | None:
    return None if rows is None else [dict(row) for row in rows]
