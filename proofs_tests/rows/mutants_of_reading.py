"""Wrong versions of names, of defaults of the clauses, of numbers and of the checks (rows.md)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from cerlab.api.row_patterns import match_recognize, parse_rows
from cerlab.errors import CerlabError
from cerlab.logic.rows import check, clauses, semantics, types
from cerlab.logic.rows import syntax as rp
from cerlab.logic.rows.cursor import Cursor
from cerlab.logic.rows.errors import CODES
from cerlab.logic.rows.pattern_builder import parse_pattern
from proofs_tests.mutants.driver import Judge, Mutant, mutant, on_rows
from proofs_tests.rows import test_data, test_errors, test_scan
from proofs_tests.rows.judges import RESULTS
from proofs_tests.rows.tables import found, read


def read_right(row: Sequence[Any]) -> bool:
    """As `result_row`, with the text read again."""
    query, table, expected = row
    try:
        result = match_recognize(parse_rows(query), table, evaluator="reference")
    except CerlabError:
        return False
    return bool([tuple(each.values()) for each in result.to_pylist()] == expected)


def scanned_right(row: Sequence[Any]) -> bool:
    """A row of `found`, with the text read again."""
    pattern, text, written, expected = row
    read.cache_clear()
    try:
        return bool(found(pattern, text, written) == expected)
    except CerlabError:
        return False
    finally:
        read.cache_clear()


def refused_right(row: Sequence[Any]) -> bool:
    """Whether an ill-formed query is refused by its name."""
    text, name, *_ = row
    try:
        parse_rows(text)
    except CerlabError as error:
        return error.code == CODES[name]
    return False


def rows_of(*tables: Sequence[Any]) -> list[Any]:
    return [row.values for table in tables for row in table]


READ: Judge = on_rows(read_right, rows_of(test_data.DATA, test_data.NAMES, test_data.ROWS))
SKIPS: Judge = on_rows(scanned_right, rows_of(test_scan.SKIP, test_scan.SCAN))
REFUSED: Judge = on_rows(refused_right, rows_of(test_errors.ILL_FORMED))

NAME, MEMBERS, RESOLVED = Cursor.canonical_name, rp.members, types._resolved
READERS, PATTERN = clauses._CLAUSES, parse_pattern
SCAN, PARTITIONS = semantics.scan, semantics.partitions


def every_name_in_upper_case(self: Cursor) -> str:
    return NAME(self).upper()


def every_name_as_it_stands(self: Cursor) -> str:
    return self.name()


def columns_but_for_case(query: Any, column: Any, columns: Any) -> str:
    known = list(columns)
    alike = (name for name in known if name.casefold() == column.name.casefold())
    return next(alike, None) or RESOLVED(query, column, known)


def unions_of_one(query: Any) -> Any:
    firsts = {union.name: frozenset(union.variables[:1]) for union in query.subsets}
    return {**MEMBERS(query), **firsts}


def skip_to_is_to_the_first(cursor: Any, read_clauses: Any) -> None:
    READERS["AFTER MATCH SKIP"][1](cursor, read_clauses)
    if isinstance(read_clauses.skip, rp.ToLast):
        read_clauses.skip = rp.ToFirst(read_clauses.skip.name)


def all_rows_omit_empty_matches(cursor: Any, read_clauses: Any) -> None:
    READERS["ALL ROWS PER MATCH"][1](cursor, read_clauses)
    if read_clauses.rows is rp.Rows.ALL:
        read_clauses.rows = rp.Rows.OMIT_EMPTY


def at_most_is_exactly(*arguments: Any) -> Any:
    pattern, *rest = PATTERN(*arguments)
    return (each_exactly(pattern), *rest)


def each_exactly(p: Any) -> Any:
    match p:
        case rp.Quantified(body, lo, hi):
            return replace(p, body=each_exactly(body), lo=lo if hi is None else hi)
        case rp.Concat(parts) | rp.Alternation(parts):
            return replace(p, parts=tuple(each_exactly(part) for part in parts))
        case _:
            return p


def empty_matches_take_no_number(S: Any) -> Iterator[Any]:
    number = 0
    for each in SCAN(S):
        number += bool(each.match)
        yield each._replace(number=number)


def numbers_go_on_over_partitions(S: Any) -> Iterator[Any]:
    later = int(S.positions[0] > 0)
    yield from (each._replace(number=each.number + later) for each in SCAN(S))


def partitions_from_the_last(query: Any, binding: Any, table: Any) -> Any:
    return PARTITIONS(query, binding, table)[::-1]


def nothing_to_check(*arguments: Any) -> None:
    return None


def of_clause(words: str, wrong: Any) -> Mutant:
    """A wrong reader of a clause."""
    kind, _ = READERS[words]
    return mutant(SKIPS, clauses, "_CLAUSES", {**READERS, words: (kind, wrong)}, id=wrong.__name__)


OF_READING = [
    mutant(READ, Cursor, "canonical_name", every_name_in_upper_case),
    mutant(READ, Cursor, "canonical_name", every_name_as_it_stands),
    mutant(READ, types, "_resolved", columns_but_for_case),
    mutant(RESULTS, rp, "members", unions_of_one),
    of_clause("AFTER MATCH SKIP", skip_to_is_to_the_first),
    of_clause("ALL ROWS PER MATCH", all_rows_omit_empty_matches),
    mutant(SKIPS, clauses, "parse_pattern", at_most_is_exactly),
    mutant(RESULTS, semantics, "scan", numbers_go_on_over_partitions),
    mutant(RESULTS, semantics, "scan", empty_matches_take_no_number),
    mutant(RESULTS, semantics, "partitions", partitions_from_the_last),
    mutant(REFUSED, check, "_check_names", nothing_to_check, id="names_unchecked"),
    mutant(REFUSED, check, "_check_nesting", nothing_to_check, id="nesting_unchecked"),
    mutant(REFUSED, check, "_check_output", nothing_to_check, id="columns_unchecked"),
    mutant(REFUSED, check, "_check_within", nothing_to_check, id="within_unchecked"),
]
