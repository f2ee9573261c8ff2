"""What a row pattern means on a table: partitions, the scan, the rows of the result (rows.md 1-8).

This is the oracle. It is written to be read, never to be fast.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, assert_never

from cerlab.errors import BadData, DataPlace
from cerlab.logic.rows import syntax as rp
from cerlab.logic.rows.errors import CODES
from cerlab.logic.rows.evaluation import Context, Partition, value
from cerlab.logic.rows.matching import RowMapping, Start, match_at
from cerlab.logic.rows.syntax import RowPattern
from cerlab.logic.rows.types import Binding
from cerlab.logic.rows.values import order_key
from cerlab.model.event import Value

Row: TypeAlias = Mapping[str, Value]


class ResultRow(NamedTuple):
    """A row of the result: the row of the table whose columns it has, and the measures."""

    row: int
    measures: tuple[Value, ...]


class ScanResult(NamedTuple):
    """What the scan meets at s: the match and its number, or None (rows.md 7.1)."""

    s: int
    match: RowMapping | None
    number: int


def result_rows(query: RowPattern, binding: Binding, table: Sequence[Row]) -> list[ResultRow]:
    """The rows of the result, in order (rows.md 8).

    Raises `BadData` (`skip-absent`, `skip-first`) and `ResourceLimit`.
    """
    result: list[ResultRow] = []
    for positions in partitions(query, binding, table):
        T = Partition([table[i] for i in positions], binding.names)
        scope = Scan(query, T, positions)
        covered_rows = set[int]()
        for outcome in scan(scope):
            result += output_rows(scope, outcome, covered_rows)
            if outcome.match is not None:
                covered_rows.update(range(outcome.s, outcome.s + len(outcome.match)))
    return result


def partitions(query: RowPattern, binding: Binding, table: Sequence[Row]) -> list[list[int]]:
    """The positions of each ordered partition, in order of first appearance (rows.md 1.2, 1.3)."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for i, row in enumerate(table):
        key = tuple(_key(row.get(binding.names[column.name])) for column in query.partition_by)
        groups.setdefault(key, []).append(i)
    for positions in groups.values():
        for item in reversed(query.order_by):
            _sort(positions, item, binding.names[item.column.name], table)
    return list(groups.values())


def _key(v: Value) -> object:
    """What values of a partition have in common: NULL equals NULL, NaN equals NaN."""
    return None if v is None else order_key(v)


def _sort(positions: list[int], item: rp.OrderItem, column: str, table: Sequence[Row]) -> None:
    """Sort stably by one column; NULLs stand last unless NULLS FIRST is written."""
    present = [i for i in positions if table[i].get(column) is not None]
    absent = [i for i in positions if table[i].get(column) is None]
    present.sort(key=lambda i: order_key(table[i].get(column)), reverse=item.descending)
    positions[:] = absent + present if item.nulls_first else present + absent


@dataclass(frozen=True, slots=True)
class Scan:
    """A query on one partition, and where the rows of the partition stand in the table."""

    query: RowPattern
    T: Partition
    positions: Sequence[int]


def scan(S: Scan) -> Iterator[ScanResult]:
    """The results of the scan from s = 0 on, as the skip clause goes on (rows.md 7.1)."""
    query, T = S.query, S.T
    conditions = {each.variable: each.condition for each in query.define}
    within = None if query.within is None else (query.within, query.order_by[0].column.name)
    s = number = 0
    while s < len(T.rows):
        start = Start(T, s, number + 1, rp.members(query), conditions, within)
        m = match_at(query.pattern, start)
        if m is None:
            yield ScanResult(s, None, number)
            s += 1
            continue
        number += 1
        yield ScanResult(s, m, number)
        s += resume(S, s, m) if m else 1


def resume(S: Scan, s: int, m: RowMapping) -> int:
    """How many rows after s the scan goes on, after a match that is not empty (rows.md 7.2)."""
    match S.query.skip:
        case rp.PastLastRow():
            return len(m)
        case rp.ToNextRow():
            return 1
        case rp.ToFirst(x) | rp.ToLast(x) as skip:
            within = [i for i, row in enumerate(m) if row.variable in _members(S, x)]
            if not within:
                raise _cannot_skip(S, s, "skip-absent", f"the match has no row of {x}", "")
            i = within[0] if isinstance(skip, rp.ToFirst) else within[-1]
            if i == 0:
                message = f"to skip to {x} is to find the same match again"
                hint = "SKIP TO NEXT ROW goes on at the row after"
                raise _cannot_skip(S, s, "skip-first", message, hint)
            return i
        case skip:
            assert_never(skip)


def _members(S: Scan, x: str) -> frozenset[str]:
    return rp.members(S.query)[x]


def _cannot_skip(S: Scan, s: int, name: str, message: str, hint: str) -> BadData:
    place = DataPlace("the table", S.positions[s] + 1)
    return BadData(CODES[name], f"{name}: {message}", place=place, hint=hint)


def output_rows(S: Scan, outcome: ScanResult, covered_rows: set[int]) -> list[ResultRow]:
    """The rows of the output for one result of the scan (rows.md 8.1 to 8.3).

    `covered_rows` are those of earlier matches.
    """
    s, m = outcome.s, outcome.match
    rows = S.query.rows
    if m is None:
        if rows is not rp.Rows.WITH_UNMATCHED or s in covered_rows:
            return []
        return [ResultRow(S.positions[s], (None,) * len(S.query.measures))]
    if rows is rp.Rows.ONE:
        return [ResultRow(S.positions[0], _measures(S, outcome, len(m)))]
    if not m:
        empty = ResultRow(S.positions[s], _measures(S, outcome, 0))
        return [] if rows is rp.Rows.OMIT_EMPTY else [empty]
    return [
        ResultRow(S.positions[s + j], _measures(S, outcome, j + 1))
        for j, row in enumerate(m)
        if not row.excluded
    ]


def _measures(S: Scan, outcome: ScanResult, k: int) -> tuple[Value, ...]:
    """The measures where RUNNING sees k rows of the match (rows.md 6.0)."""
    assert outcome.match is not None
    labels = tuple(row.variable for row in outcome.match)
    members = rp.members(S.query)
    c = Context(S.T, outcome.s, labels, k, len(labels), outcome.number, members)
    return tuple(value(measure.expression, c) for measure in S.query.measures)
