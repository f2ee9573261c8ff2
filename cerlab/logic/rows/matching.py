"""Derivations and preferment: which mapping is the match at a row (rows.md 5).

The derivations of a pattern are computed as the relation that they are, all of them, and the match
is the one with the least choice string. There is no search order here, and no early exit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, assert_never

from cerlab.budget import poll
from cerlab.errors import ResourceLimit
from cerlab.logic.rows import expressions as ex
from cerlab.logic.rows import syntax as rp
from cerlab.logic.rows.evaluation import Context, Partition, value
from cerlab.logic.rows.values import order_key
from cerlab.model.clauses import TimeWindow
from cerlab.model.event import Timestamp

MAX_DERIVATIONS = 200_000
"""How many derivations the reference makes for the match at one row."""


class RowLabel(NamedTuple):
    """The variable that a row is mapped to, and whether it bears the mark *excluded*."""

    variable: str
    excluded: bool


RowMapping: TypeAlias = tuple[RowLabel, ...]


class Derivation(NamedTuple):
    """(κ, m') of given p, m: p read after m leads to m' by the choice string κ (rows.md 5.2)."""

    choices: tuple[int, ...]
    mapping: RowMapping


@dataclass(slots=True)
class Start:
    """What all candidates for the match at one row share: T, s, N, and the clauses of the query."""

    T: Partition
    s: int
    N: int
    members: Mapping[str | None, frozenset[str]]
    conditions: Mapping[str, ex.Expression]
    within: tuple[int | float | TimeWindow, str] | None
    steps: int = MAX_DERIVATIONS


def match_at(pattern: rp.Pattern, S: Start) -> RowMapping | None:
    """The match at s: of the derivation with the least choice string (rows.md 5.4).

    Raises `ResourceLimit` above `MAX_DERIVATIONS`.
    """
    D = derivations(pattern, S, (), excluded=False)
    return min(D).mapping if D else None


def derivations(p: rp.Pattern, S: Start, m: RowMapping, *, excluded: bool) -> frozenset[Derivation]:
    """D(p) from the mapping m, one arm per rule (rows.md 5.2)."""
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
    """The derivation, gone on with by p; choice strings are appended."""
    for d2 in derivations(p, S, d1.mapping, excluded=excluded):
        yield Derivation(d1.choices + d2.choices, d2.mapping)


def _runs(p: rp.Repetition, S: Start, start: Derivation, *, excluded: bool) -> Iterator[Derivation]:
    """All runs of iterations, from the state (c, idle) = (0, false) (rows.md 5.2 f)."""
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
    """Whether the condition of v is TRUE for the last row of m (rows.md 3.4, 5.2 a, 6.10)."""
    if v not in S.conditions:
        return True
    labels = tuple(row.variable for row in m)
    context = Context(S.T, S.s, labels, len(m), len(m), S.N, S.members)
    return value(S.conditions[v], context) is True


def _within(S: Start, i: int) -> bool:
    """Whether WITHIN admits row i: strictly less than d after the start (rows.md 9.1)."""
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
