"""Wrong versions of the scan and of the result."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cerlab.rows import semantics, types
from cerlab.rows import syntax as rp
from cerlab.rows.semantics import RowLabel, RowMapping, Start
from proofs_tests.mutants.driver import mutant
from proofs_tests.rows.judges import RESULTS, SCAN
from proofs_tests.rows.judges import WITHIN as IN_TIME

RESUME = semantics.resume
OUTPUT_ROWS = semantics.output_rows
SORT = semantics._sort


def always_past_the_last_row(S: Any, s: int, m: RowMapping) -> int:
    return len(m)


def always_one_row(S: Any, s: int, m: RowMapping) -> int:
    return 1


def past_the_variable(S: Any, s: int, m: RowMapping) -> int:
    variable = isinstance(S.query.skip, rp.ToFirst | rp.ToLast)
    return RESUME(S, s, m) + variable


def first_is_last(S: Any, s: int, m: RowMapping) -> int:
    skip = S.query.skip
    other = rp.ToLast(skip.name) if isinstance(skip, rp.ToFirst) else skip
    return RESUME(replace(S, query=replace(S.query, skip=other)), s, m)


def last_is_first_row(S: Any, s: int, m: RowMapping) -> int:
    skip = S.query.skip
    other = rp.ToFirst(skip.name) if isinstance(skip, rp.ToLast) else skip
    return RESUME(replace(S, query=replace(S.query, skip=other)), s, m)


def unions_have_no_row(S: Any, x: str) -> frozenset[str]:
    """As older versions of DuckDB, which refused them (decision 14)."""
    return frozenset({x})


def excluded_rows_shown(S: Any, scan: Any, covered_rows: set[int]) -> Any:
    m = scan.match
    if m:
        scan = scan._replace(match=tuple(RowLabel(v, False) for v, _ in m))
    return OUTPUT_ROWS(S, scan, covered_rows)


def empty_matches_hidden(S: Any, scan: Any, covered_rows: set[int]) -> Any:
    return OUTPUT_ROWS(S, scan, covered_rows) if scan.match != () else []


def empty_matches_shown(S: Any, scan: Any, covered_rows: set[int]) -> Any:
    if S.query.rows is rp.RowsPerMatch.OMIT_EMPTY:
        S = replace(S, query=replace(S.query, rows=rp.RowsPerMatch.ALL))
    return OUTPUT_ROWS(S, scan, covered_rows)


def unmatched_rows_hidden(S: Any, scan: Any, covered_rows: set[int]) -> Any:
    return OUTPUT_ROWS(S, scan, covered_rows) if scan.match is not None else []


def unmatched_rows_of_matches_shown(S: Any, scan: Any, covered_rows: set[int]) -> Any:
    return OUTPUT_ROWS(S, scan, set())


def unmatched_rows_measured(S: Any, scan: Any, covered_rows: set[int]) -> Any:
    """Constants and COUNT as of an empty match (decision 19)."""
    has_no_match = scan.match is None and S.query.rows is rp.RowsPerMatch.WITH_UNMATCHED
    if has_no_match and scan.s not in covered_rows:
        return OUTPUT_ROWS(S, scan._replace(match=()), covered_rows)
    return OUTPUT_ROWS(S, scan, covered_rows)


def nulls_first_with_desc(positions: Any, item: rp.OrderItem, column: str, table: Any) -> None:
    """As Oracle and PostgreSQL sort (decision 15)."""
    first = item.nulls_first or item.descending
    SORT(positions, replace(item, nulls_first=first), column, table)


def nulls_always_last(positions: Any, item: rp.OrderItem, column: str, table: Any) -> None:
    SORT(positions, replace(item, nulls_first=False), column, table)


def never_descending(positions: Any, item: rp.OrderItem, column: str, table: Any) -> None:
    SORT(positions, replace(item, descending=False), column, table)


def ties_in_reverse(positions: list[int], item: rp.OrderItem, column: str, table: Any) -> None:
    positions.reverse()
    SORT(positions, item, column, table)


def null_keys_apart(v: Any) -> object:
    return object() if v is None else v


def within_is_inclusive(S: Start, i: int) -> bool:
    """As RisingWave (decision 13)."""
    if S.within is not None:
        d, column = S.within
        then, now = S.T.value(S.s, column), S.T.value(i, column)
        if isinstance(now, int | float) and isinstance(then, int | float) and now - then == d:
            return True
    return WITHIN(S, i)


def within_of_the_last_step(S: Start, i: int) -> bool:
    return WITHIN(replace(S, s=max(S.s, i - 1)), i)


def within_admits_null(S: Start, i: int) -> bool:
    return WITHIN(S, i) or (S.within is not None and S.T.value(i, S.within[1]) is None)


WITHIN = semantics._within
OUTPUT = types._output


def columns_as_duckdb_has_them(query: Any, names: Any, columns: Any, kinds: Any) -> Any:
    """The input's columns first, then measures (decision 10)."""
    output = OUTPUT(query, names, columns, kinds)
    return tuple(sorted(output, key=lambda column: isinstance(column, types.MeasureColumn)))


OF_RESULTS = [
    mutant(SCAN, semantics, "resume", always_past_the_last_row),
    mutant(SCAN, semantics, "resume", always_one_row),
    mutant(SCAN, semantics, "resume", past_the_variable),
    mutant(SCAN, semantics, "resume", first_is_last),
    mutant(SCAN, semantics, "resume", last_is_first_row),
    mutant(SCAN, semantics, "_members", unions_have_no_row),
    mutant(RESULTS, semantics, "output_rows", excluded_rows_shown),
    mutant(RESULTS, semantics, "output_rows", empty_matches_hidden),
    mutant(RESULTS, semantics, "output_rows", empty_matches_shown),
    mutant(RESULTS, semantics, "output_rows", unmatched_rows_hidden),
    mutant(RESULTS, semantics, "output_rows", unmatched_rows_of_matches_shown),
    mutant(RESULTS, semantics, "output_rows", unmatched_rows_measured),
    mutant(RESULTS, semantics, "_sort", nulls_first_with_desc),
    mutant(RESULTS, semantics, "_sort", nulls_always_last),
    mutant(RESULTS, semantics, "_sort", never_descending),
    mutant(RESULTS, semantics, "_sort", ties_in_reverse),
    mutant(RESULTS, semantics, "_key", null_keys_apart),
    mutant(IN_TIME, semantics, "_within", within_is_inclusive),
    mutant(IN_TIME, semantics, "_within", within_of_the_last_step),
    mutant(IN_TIME, semantics, "_within", within_admits_null),
    mutant(RESULTS, types, "_output", columns_as_duckdb_has_them),
]
