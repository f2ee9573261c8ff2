"""The oracle a second time, as SO-CEL prints it: from position i to j (SOCEL Table 1).

A complex event has no interval of its own here; it is a set of (label, position) pairs, found when
the evaluation starts at i and ends at j. The gap before an atom is skipped on its left. What is
found between i and j are the valuations with intervals (CORE Table 2) that end at j and start at i
or later: a theorem, not the definition, so the two are two programs. AND under projection is where
they part, since DESIGN 3.6 demands equal starts of both sides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from cerlab.errors import ResourceLimit, Unsupported
from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.semantics import MAX_EVENTS, holds
from cerlab.logic.cel.text import node_text
from cerlab.model.answer import Valuation
from cerlab.model.event import Event

LabelledPositions: TypeAlias = frozenset[tuple[str, int]]
"""A complex event of SO-CEL: which label has which position."""


def between(phi: cel.Formula, S: Sequence[Event], i: int, j: int) -> frozenset[LabelledPositions]:
    """``[[phi]](S, i, j)`` (SOCEL Table 1; AND, ALL and UNLESS as in SOCEL Sec. 5.2).

    Raises `Unsupported` for operators that are not in SO-CEL, `ResourceLimit` for long streams.

    >>> from cerlab.logic.ceql.parser import parse_cel
    >>> S = [Event("A"), Event("A"), Event("B")]
    >>> sorted(map(sorted, between(parse_cel("A ; B")[0], S, 0, 2)))
    [[('A', 0), ('B', 2)], [('A', 1), ('B', 2)]]
    """
    if len(S) > MAX_EVENTS:
        raise ResourceLimit(
            "CER0603",
            f"the reference takes streams of up to {MAX_EVENTS} events, not {len(S)}",
            hint='use evaluator="tecs"',
        )
    match phi:
        case cel.Atom(R, stream):
            t = S[j] if i <= j else None
            is_atom = (
                t is not None and t.type == R and (stream is None or t.stream in (None, stream))
            )
            return frozenset({frozenset({(R, j)})}) if is_atom else frozenset()
        case cel.As(psi, X):
            return _each(between(psi, S, i, j), lambda C: _without(C, X) | _all_at(X, C))
        case cel.Rename(A, B, psi):
            return _each(
                between(psi, S, i, j),
                lambda C: _without(C, A) | {(B, k) for label, k in C if label == A},
            )
        case cel.Project(L, psi, of_streams) if not of_streams:
            return _each(between(psi, S, i, j), lambda C: frozenset(p for p in C if p[0] in L))
        case cel.Filter(psi, condition):
            return frozenset(
                C for C in between(psi, S, i, j) if holds(condition, _as_valuation(C, i, j), S)
            )
        case cel.Or(left, right):
            return between(left, S, i, j) | between(right, S, i, j)
        case cel.Seq(left, right):
            return frozenset(
                C1 | C2
                for k in range(i, j)
                for C1 in between(left, S, i, k)
                for C2 in between(right, S, k + 1, j)
            )
        case cel.Plus(psi):
            return between(psi, S, i, j) | between(cel.Seq(psi, phi), S, i, j)
        case cel.And(left, right):
            return between(left, S, i, j) & between(right, S, i, j)
        case cel.All(left, right):
            return _both(left, right, S, i, j) | _both(right, left, S, i, j)
        case cel.Unless(left, right):
            return frozenset(
                C
                for start in range(i, j + 1)
                if not any(
                    between(right, S, k, l) for k in range(start, j + 1) for l in range(k, j + 1)
                )
                for C in between(left, S, start, j) - between(left, S, start + 1, j)
            )
        case _:
            raise Unsupported(
                "CER0409",
                f"SO-CEL has no {node_text(phi)}",
                hint="leave it out; cerlab.logic.cel has its meaning",
            )


def _both(
    ends: cel.Formula, other: cel.Formula, S: Sequence[Event], i: int, j: int
) -> frozenset[LabelledPositions]:
    """One of `ends` that ends at j, united with one of `other` that ends there or before."""
    return frozenset(
        C1 | C2
        for C1 in between(ends, S, i, j)
        for k in range(i, j + 1)
        for C2 in between(other, S, i, k)
    )


def _each(
    answers: frozenset[LabelledPositions], change: Callable[[LabelledPositions], LabelledPositions]
) -> frozenset[LabelledPositions]:
    return frozenset(frozenset(change(C)) for C in answers)


def _without(C: LabelledPositions, X: str) -> LabelledPositions:
    return frozenset(pair for pair in C if pair[0] != X)


def _all_at(X: str, C: LabelledPositions) -> LabelledPositions:
    return frozenset((X, k) for _, k in C)


def _as_valuation(C: LabelledPositions, i: int, j: int) -> Valuation:
    labels: dict[str, tuple[int, ...]] = {}
    for X, k in sorted(C):
        labels[X] = (*labels.get(X, ()), k)
    return Valuation(i, j, labels)
