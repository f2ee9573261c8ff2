"""The meaning of MATCH_RECOGNIZE on a table: partitions, scan, and rows of the result.

This is the oracle: it is written for clarity, never for speed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, assert_never

from cerlab.budget import poll
from cerlab.errors import BadData, DataPlace, ResourceLimit
from cerlab.model.clauses import TimeWindow
from cerlab.model.event import Timestamp, Value
from cerlab.rows import expressions as ex
from cerlab.rows import syntax as rp
from cerlab.rows.expression_semantics import Context, Partition, order_key, value
from cerlab.rows.syntax import CODES, RowPattern
from cerlab.rows.types import Binding

Row: TypeAlias = Mapping[str, Value]


class ResultRow(NamedTuple):
    """A row of the result: the table row that it copies columns from, and measures."""

    row: int
    measures: tuple[Value, ...]


class ScanResult(NamedTuple):
    """The result of looking for a match at row s: the match and its number, or None."""

    s: int
    match: RowMapping | None
    number: int


def result_rows(query: RowPattern, binding: Binding, table: Sequence[Row]) -> list[ResultRow]:
    """Return the rows of the result in order.

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
    """Return the rows of each partition in order; partitions by first appearance."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for i, row in enumerate(table):
        key = tuple(_key(row.get(binding.names[column.name])) for column in query.partition_by)
        groups.setdefault(key, []).append(i)
    for positions in groups.values():
        for item in reversed(query.order_by):
            _sort(positions, item, binding.names[item.column.name], table)
    return list(groups.values())


def _key(v: Value) -> object:
    """Return a key that two rows of a partition share: NULL equals NULL, NaN equals NaN."""
    return None if v is None else order_key(v)


def _sort(positions: list[int], item: rp.OrderItem, column: str, table: Sequence[Row]) -> None:
    """Sort stably by one column; NULLs are last unless NULLS FIRST is written."""
    present = [i for i in positions if table[i].get(column) is not None]
    absent = [i for i in positions if table[i].get(column) is None]
    present.sort(key=lambda i: order_key(table[i].get(column)), reverse=item.descending)
    positions[:] = absent + present if item.nulls_first else present + absent


@dataclass(frozen=True, slots=True)
class Scan:
    """A row pattern on one partition, with the partition's rows in the table."""

    query: RowPattern
    T: Partition
    positions: Sequence[int]


def scan(S: Scan) -> Iterator[ScanResult]:
    """Yield the result at each row where AFTER MATCH SKIP lets the scan look for a match."""
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
    """Return the number of rows after s at which the scan continues after a match."""
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
                message = f"skipping to {x} would find the same match again"
                hint = "SKIP TO NEXT ROW continues at the next row"
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
    """Return the rows of the result for a match, or for a row without a match.

    `covered_rows` are those of earlier matches.
    """
    s, m = outcome.s, outcome.match
    rows = S.query.rows
    if m is None:
        if rows is not rp.RowsPerMatch.WITH_UNMATCHED or s in covered_rows:
            return []
        return [ResultRow(S.positions[s], (None,) * len(S.query.measures))]
    if rows is rp.RowsPerMatch.ONE:
        return [ResultRow(S.positions[0], _measures(S, outcome, len(m)))]
    if not m:
        empty = ResultRow(S.positions[s], _measures(S, outcome, 0))
        return [] if rows is rp.RowsPerMatch.OMIT_EMPTY else [empty]
    return [
        ResultRow(S.positions[s + j], _measures(S, outcome, j + 1))
        for j, row in enumerate(m)
        if not row.excluded
    ]


def _measures(S: Scan, outcome: ScanResult, k: int) -> tuple[Value, ...]:
    """Return the measures where RUNNING sees k rows of the match."""
    assert outcome.match is not None
    labels = tuple(row.variable for row in outcome.match)
    members = rp.members(S.query)
    c = Context(S.T, outcome.s, labels, k, len(labels), outcome.number, members)
    return tuple(value(measure.expression, c) for measure in S.query.measures)


MAX_DERIVATIONS = 200_000
"""The limit on derivations that the reference computes for the match at one row."""


class RowLabel(NamedTuple):
    """The variable of a row in a match, and whether the row is excluded by ``{- -}``."""

    variable: str
    excluded: bool


RowMapping: TypeAlias = tuple[RowLabel, ...]


class Derivation(NamedTuple):
    """A way to match a pattern: its choices, and the rows of the match.

    Choice strings are compared as tuples: SQL prefers the match with the least one.
    """

    choices: tuple[int, ...]
    mapping: RowMapping


@dataclass(slots=True)
class Start:
    """The first row of possible matches, with the clauses that they have to satisfy."""

    T: Partition
    s: int
    N: int
    members: Mapping[str | None, frozenset[str]]
    conditions: Mapping[str, ex.Expression]
    within: tuple[int | float | TimeWindow, str] | None
    steps: int = MAX_DERIVATIONS


def match_at(pattern: rp.Pattern, S: Start) -> RowMapping | None:
    """Return the preferred match at row s, the one with the least choice string.

    Raises `ResourceLimit` above `MAX_DERIVATIONS`.
    """
    D = derivations(pattern, S, (), excluded=False)
    return min(D).mapping if D else None


def derivations(p: rp.Pattern, S: Start, m: RowMapping, *, excluded: bool) -> frozenset[Derivation]:
    """Return D(p), all ways to match p after the rows m."""
    poll()
    S.steps -= 1
    if S.steps < 0:
        raise ResourceLimit(
            "CER0692",
            f"the reference makes up to {MAX_DERIVATIONS:,} derivations for the match at one row",
            hint="use a shorter table or bounds on the quantifiers",
        )
    i = S.s + len(m)
    match p:
        case rp.Variable(v):
            longer = (*m, RowLabel(v, excluded))
            is_match = i < len(S.T.rows) and _within(S, i) and _holds(v, S, longer)
            # a variable has no choices: there is one way to read a row
            return frozenset({Derivation((), longer)} if is_match else ())
        case rp.Empty():
            return frozenset({Derivation((), m)})
        case rp.PartitionStart():
            return frozenset({Derivation((), m)} if i == 0 else ())
        case rp.PartitionEnd():
            return frozenset({Derivation((), m)} if i == len(S.T.rows) else ())
        case rp.Concat(parts):
            D = frozenset({Derivation((), m)})
            for part in parts:
                D = frozenset(d for d1 in D for d in _then(d1, part, S, excluded=excluded))
            return D
        case rp.Alternation(parts):
            return frozenset(
                Derivation((c, *d.choices), d.mapping)
                for c, part in enumerate(parts)
                for d in derivations(part, S, m, excluded=excluded)
            )
        case rp.Permute():
            return derivations(rp.expand_permute(p), S, m, excluded=excluded)
        case rp.Exclusion(body):
            return derivations(body, S, m, excluded=True)
        case rp.Repetition():
            return frozenset(_runs(p, S, Derivation((), m), excluded=excluded))
        case _:
            assert_never(p)


def _then(d1: Derivation, p: rp.Pattern, S: Start, *, excluded: bool) -> Iterator[Derivation]:
    """Yield all ways to continue a derivation by matching p."""
    for d2 in derivations(p, S, d1.mapping, excluded=excluded):
        yield Derivation(d1.choices + d2.choices, d2.mapping)


def _runs(p: rp.Repetition, S: Start, start: Derivation, *, excluded: bool) -> Iterator[Derivation]:
    """Yield the ways to match a repetition.

    `idle`: the last iteration read no row. Above the least count such a run ends, since it could
    repeat for ever.
    """
    # the least choice is preferred: stop if reluctant, continue if greedy
    stop, more = ((0,), (1,)) if p.reluctant else ((1,), (0,))
    pending = [(start, 0, False)]
    while pending:
        d, c, idle = pending.pop()
        if c >= p.lo and (idle or c == p.hi):
            yield d
            continue
        if c >= p.lo:
            yield Derivation(d.choices + stop, d.mapping)
            d = Derivation(d.choices + more, d.mapping)
        for d1 in _then(d, p.body, S, excluded=excluded):
            pending.append((d1, c + 1, d1.mapping == d.mapping))


def _holds(v: str, S: Start, m: RowMapping) -> bool:
    """Return whether the condition of v is TRUE on the last row of m."""
    if v not in S.conditions:
        return True
    labels = tuple(row.variable for row in m)
    context = Context(S.T, S.s, labels, len(m), len(m), S.N, S.members)
    return value(S.conditions[v], context) is True


def _within(S: Start, i: int) -> bool:
    """Return whether WITHIN permits row i: its time is less than d after the start."""
    if S.within is None:
        return True
    d, column = S.within
    now, then = S.T.value(i, column), S.T.value(S.s, column)
    if now is None or then is None:
        return False
    if isinstance(d, TimeWindow):
        assert isinstance(now, Timestamp)
        assert isinstance(then, Timestamp)
        return now.nanoseconds - then.nanoseconds < d.nanoseconds
    assert isinstance(now, int | float)
    assert isinstance(then, int | float)
    return order_key(now - then) < order_key(d)
