"""Wrong versions of names, of the grammar, of defaults of the clauses and of numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from cerlab.rows import parser as clauses
from cerlab.rows import semantics, types
from cerlab.rows import syntax as rp
from cerlab.rows.builder import ExpressionBuilder, parse_pattern
from cerlab.rows.expression_semantics import Partition
from cerlab.rows.semantics import Start, match_at
from cerlab.rows.syntax import ill_formed
from cerlab.rows.tokens import Cursor
from proofs_tests.mutants.driver import Mutant, mutant
from proofs_tests.rows.judges import PATTERNS, READ, RESULTS, SCAN, judge

GRAMMAR = judge("rows-patterns")
NAME, MEMBERS, RESOLVE = Cursor.canonical_name, rp.members, types._resolve
READERS, PATTERN = clauses._CLAUSES, parse_pattern
SCANNED, PARTITIONS = semantics.scan, semantics.partitions
COLUMN, KEY, CELL = ExpressionBuilder._column, ExpressionBuilder.key, Partition.value


def every_name_in_upper_case(self: Cursor) -> str:
    return NAME(self).upper()


def every_name_as_it_stands(self: Cursor) -> str:
    return self.name()


def columns_but_for_case(query: Any, column: Any, columns: Any) -> str:
    names = list(columns)
    alike = (name for name in names if name.casefold() == column.name.casefold())
    return next(alike, None) or RESOLVE(query, column, names)


def unions_of_one(query: Any) -> Any:
    firsts = {union.name: frozenset(union.variables[:1]) for union in query.subsets}
    return {**MEMBERS(query), **firsts}


def skip_to_is_to_the_first(cursor: Any, read_clauses: Any) -> None:
    READERS["AFTER MATCH SKIP"][1](cursor, read_clauses)
    if isinstance(read_clauses.skip, rp.ToLast):
        read_clauses.skip = rp.ToFirst(read_clauses.skip.name)


def all_rows_omit_empty_matches(cursor: Any, read_clauses: Any) -> None:
    READERS["ALL ROWS PER MATCH"][1](cursor, read_clauses)
    if read_clauses.rows is rp.RowsPerMatch.ALL:
        read_clauses.rows = rp.RowsPerMatch.OMIT_EMPTY


def at_most_is_exactly(*arguments: Any) -> Any:
    pattern, *rest = PATTERN(*arguments)
    return (each_exactly(pattern), *rest)


def each_exactly(p: Any) -> Any:
    match p:
        case rp.Repetition(body, lo, hi):
            return replace(p, body=each_exactly(body), lo=lo if hi is None else hi)
        case rp.Concat(parts) | rp.Alternation(parts):
            return replace(p, parts=tuple(each_exactly(part) for part in parts))
        case _:
            return p


def empty_matches_take_no_number(S: Any) -> Iterator[Any]:
    number = 0
    for each in SCANNED(S):
        number += bool(each.match)
        yield each._replace(number=number)


def numbers_go_on_over_partitions(S: Any) -> Iterator[Any]:
    later = int(S.positions[0] > 0)
    yield from (each._replace(number=each.number + later) for each in SCANNED(S))


def partitions_from_the_last(query: Any, binding: Any, table: Any) -> Any:
    return PARTITIONS(query, binding, table)[::-1]


def a_match_begins_after_the_last_row(S: Any) -> Iterator[Any]:
    """An empty match at the end of the partition is shown at its last row."""
    number = 0
    for each in SCANNED(S):
        number = each.number
        yield each
    start = Start(S.T, len(S.T.rows), number + 1, rp.members(S.query), {}, None)
    match = match_at(S.query.pattern, start)
    if match is not None:
        yield semantics.ScanResult(len(S.T.rows) - 1, match, number + 1)


def empty_matches_obey_the_skip_clause(S: Any) -> Iterator[Any]:
    """SKIP TO x fails on an empty match (decision 5)."""
    for each in SCANNED(S):
        yield each
        if each.match == () and isinstance(S.query.skip, rp.ToFirst | rp.ToLast):
            semantics.resume(S, each.s, each.match)


def without_order_by_sorted(query: Any, binding: Any, table: Any) -> Any:
    """Sort by all columns, as an unordered result may come."""
    partitions = PARTITIONS(query, binding, table)
    if not query.order_by:
        for positions in partitions:
            positions.sort(key=lambda i: str(sorted(table[i].items())))
    return partitions


def null_is_zero(self: Partition, i: int, column: str) -> Any:
    value = CELL(self, i, column)
    return 0 if value is None else value


def the_input_before_variables(self: Any, node: Any) -> Any:
    names, self.names = self.names, [name for name in self.names if name not in self.inputs]
    try:
        return COLUMN(self, node)
    finally:
        self.names = names


def keys_of_any_input(self: Any, node: Any, place: Any, clause: str) -> Any:
    if node.args.get("table") is not None:
        node.set("table", None)
    return KEY(self, node, place, clause)


def only_the_alias_of_the_input(self: Any, node: Any) -> Any:
    inputs, self.inputs = self.inputs, self.inputs[-1:]
    try:
        return COLUMN(self, node)
    finally:
        self.inputs = inputs


def permute_is_reserved(text: str, start: int, end: int) -> Any:
    pattern, *rest = PATTERN(text, start, end)
    if "PERMUTE" in rp.variables(pattern):
        raise ill_formed("unknown-variable", "PERMUTE takes parts")
    return (pattern, *rest)


def regroup(wrong: Callable[[Any], Any]) -> Any:
    """A grammar in which something binds tighter."""

    def read(*arguments: Any) -> Any:
        pattern, *rest = PATTERN(*arguments)
        return (wrong(pattern), *rest)

    return read


def alternation_binds_tighter(p: Any) -> Any:
    match p:
        case rp.Alternation((rp.Concat((*before, last)), *others)):
            return rp.Concat((*before, rp.Alternation((last, *others))))
        case _:
            return p


def quantifiers_bind_looser(p: Any) -> Any:
    match p:
        case rp.Concat((*before, rp.Repetition() as last)):
            return replace(last, body=rp.Concat((*before, last.body)))
        case _:
            return p


def in_the_order_of_the_standard() -> Mutant:
    """Clauses in another order are not read."""

    def reader_of_rank(rank: int, reader: Any) -> Any:
        def read_in_order(cursor: Any, read_clauses: Any) -> None:
            if rank < getattr(cursor, "rank", 0):
                raise cursor.syntax_error("a later clause")
            cursor.rank = rank
            reader(cursor, read_clauses)

        return read_in_order

    wrong = {
        words: (kind, reader_of_rank(rank, reader))
        for rank, (words, (kind, reader)) in enumerate(READERS.items())
    }
    return mutant(READ, clauses, "_CLAUSES", wrong, id="in_the_order_of_the_standard")


def of_clause(words: str, wrong: Any) -> Mutant:
    """A wrong reader of a clause."""
    kind, _ = READERS[words]
    return mutant(SCAN, clauses, "_CLAUSES", {**READERS, words: (kind, wrong)}, id=wrong.__name__)


OF_READING = [
    mutant(READ, Cursor, "canonical_name", every_name_in_upper_case),
    mutant(READ, Cursor, "canonical_name", every_name_as_it_stands),
    mutant(READ, types, "_resolve", columns_but_for_case),
    mutant(RESULTS, rp, "members", unions_of_one),
    of_clause("AFTER MATCH SKIP", skip_to_is_to_the_first),
    of_clause("ALL ROWS PER MATCH", all_rows_omit_empty_matches),
    mutant(SCAN, clauses, "parse_pattern", at_most_is_exactly),
    mutant(RESULTS, semantics, "scan", numbers_go_on_over_partitions),
    mutant(RESULTS, semantics, "scan", empty_matches_take_no_number),
    mutant(RESULTS, semantics, "partitions", partitions_from_the_last),
    mutant(RESULTS, semantics, "partitions", without_order_by_sorted),
    mutant(RESULTS, Partition, "value", null_is_zero),
    mutant(PATTERNS, semantics, "scan", a_match_begins_after_the_last_row),
    mutant(SCAN, semantics, "scan", empty_matches_obey_the_skip_clause),
    mutant(READ, ExpressionBuilder, "_column", the_input_before_variables),
    mutant(READ, ExpressionBuilder, "_column", only_the_alias_of_the_input),
    mutant(GRAMMAR, clauses, "parse_pattern", permute_is_reserved),
    *(
        mutant(GRAMMAR, clauses, "parse_pattern", regroup(wrong), id=wrong.__name__)
        for wrong in (alternation_binds_tighter, quantifiers_bind_looser)
    ),
    in_the_order_of_the_standard(),
]
