"""The rules of the relation once more, as yes-or-no questions about everything in them.

Written from the rules of the report as corrected (SRT Def. 17), with nothing in common with the
reference but the syntax and the truth of atoms: positions count from 1 and slices are closed, the
marks are given and not found, registers hold positions and not events, and `+`, `?`, ``#`` and
``@`` are by what they say, not by rewriting.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from typing import TypeAlias, assert_never

from cerlab import Event, Sremo, satisfies
from cerlab.logic.sremo import syntax as sre
from cerlab.model.event import Value
from cerlab.predicates import syntax as pred
from cerlab.predicates.truth import compare, evaluate

Marks: TypeAlias = frozenset[int]
Contents: TypeAlias = frozenset[tuple[str, int]]
"""Registers and the positions of what they hold; a position below 1 is an event from before."""

NONE: Marks = frozenset()


def subsets(i: int, j: int) -> Iterator[Marks]:
    """All M that are a subset of [i..j]."""
    here = range(i, j + 1)
    for size in range(len(here) + 1):
        yield from map(frozenset, combinations(here, size))


@dataclass(frozen=True)
class Twin:
    """The relation on one string."""

    events: Mapping[int, Event]
    """t_1, .., t_n, and what registers may hold from before."""

    _cache: dict[object, frozenset[Contents]] = field(default_factory=dict)

    def after(self, e: Sremo, i: int, j: int, M: Marks, v: Contents) -> frozenset[Contents]:
        """All v' with ``(e, S, i, j, M, v) |- v'``."""
        key = (id(e), i, j, M, v)
        if key not in self._cache:
            self._cache[key] = frozenset(self._after(e, i, j, M, v))
        return self._cache[key]

    def _after(self, e: Sremo, i: int, j: int, M: Marks, v: Contents) -> Iterator[Contents]:
        match e:
            case sre.Epsilon():
                if j == i - 1 and not M:
                    yield v
            case sre.Empty():
                return
            case sre.Terminal(phi, marked, W):
                if i == j and ({i} if marked else NONE) == M and self.holds(phi, i, v):
                    yield frozenset({*(p for p in v if p[0] not in W), *((r, i) for r in W)})
            case sre.Concat(e1, e2):
                yield from self.split(i, j, M, v, e1, e2)
            case sre.Alternation(e1, e2):
                yield from self.after(e1, i, j, M, v) | self.after(e2, i, j, M, v)
            case sre.Star(body):
                yield from self.repetitions(body, i, j, M, v)
            case sre.SpanWindow(body, w):
                if not M or max(M) - min(M) + 1 <= w:
                    yield from self.after(body, i, j, M, v)
            case sre.LengthWindow(body, w):
                if j - i + 1 <= w:
                    yield from self.after(body, i, j, M, v)
            case sre.Within(body, n, attribute):
                if not M or self.time(max(M), attribute) - self.time(min(M), attribute) <= n:
                    yield from self.after(body, i, j, M, v)
            case sre.Intersection(e1, e2):
                for v1 in self.after(e1, i, j, M, v):
                    for v2 in self.after(e2, i, j, M, v):
                        yield from self.join(e1, e2, v, v1, v2)
            case sre.Negation(body):
                if not M and not self.has_instance(body, i, j, v):
                    yield v
            case sre.Plus(body):
                for m in range(i - 1, j + 1):
                    for v1 in self.after(body, i, m, upto(M, m), v):
                        yield from self.repetitions(body, m + 1, j, M - upto(M, m), v1)
            case sre.Option(body):
                if j == i - 1 and not M:
                    yield v
                yield from self.after(body, i, j, M, v)
            case sre.SkipAny((sre.Star() as e1,)) | sre.SkipNext((sre.Star() as e1,)):
                if j == i - 1 and not M:
                    yield v
                yield from self.with_gaps(e, e1.body, e1.body, i, j, M, v)
            case sre.SkipAny((sre.Plus() as e1,)) | sre.SkipNext((sre.Plus() as e1,)):
                yield from self.with_gaps(e, e1.body, e1.body, i, j, M, v)
            case sre.SkipAny((first, *others)) | sre.SkipNext((first, *others)):
                yield from self.in_turn(e, first, others, i, j, M, v)
            case sre.SkipAny() | sre.SkipNext():
                raise AssertionError(e)
            case _:
                assert_never(e)

    def split(
        self, i: int, j: int, M: Marks, v: Contents, e1: Sremo, e2: Sremo
    ) -> Iterator[Contents]:
        for m in range(i - 1, j + 1):
            for v1 in self.after(e1, i, m, upto(M, m), v):
                yield from self.after(e2, m + 1, j, M - upto(M, m), v1)

    def repetitions(self, e: Sremo, i: int, j: int, M: Marks, v: Contents) -> frozenset[Contents]:
        """``e*``, each iteration on one event or more."""
        key = ("repetitions", id(e), i, j, M, v)
        if key not in self._cache:
            result = {v} if j == i - 1 and not M else set()
            for m in range(i, j + 1):
                for v1 in self.after(e, i, m, upto(M, m), v):
                    result |= self.repetitions(e, m + 1, j, M - upto(M, m), v1)
            self._cache[key] = frozenset(result)
        return self._cache[key]

    def in_turn(
        self, how: Sremo, first: Sremo, others: list[Sremo], i: int, j: int, M: Marks, v: Contents
    ) -> Iterator[Contents]:
        """One operand after the other, with a gap before each but the first."""
        if not others:
            yield from self.after(first, i, j, M, v)
            return
        for m in range(i - 1, j + 1):
            for v1 in self.after(first, i, m, upto(M, m), v):
                for k in self.ends_of_gaps(how, others[0], m + 1, j, M, v1):
                    yield from self.in_turn(
                        how, others[0], others[1:], k + 1, j, M - upto(M, k), v1
                    )

    def with_gaps(
        self, how: Sremo, first: Sremo, again: Sremo, i: int, j: int, M: Marks, v: Contents
    ) -> Iterator[Contents]:
        """One iteration or more, with a gap between two; of iterations that move on."""
        yield from self.after(first, i, j, M, v)
        for m in range(i - 1, j + 1):
            for v1 in self.after(first, i, m, upto(M, m), v):
                for k in self.ends_of_gaps(how, again, m + 1, j, M, v1):
                    if k >= i:  # what has consumed nothing has changed nothing
                        yield from self.with_gaps(how, again, again, k + 1, j, M - upto(M, k), v1)

    def ends_of_gaps(
        self, how: Sremo, e: Sremo, i: int, j: int, M: Marks, v: Contents
    ) -> Iterator[int]:
        """All k such that [i..k] may be skipped before e."""
        for k in range(i - 1, j + 1):
            if any(i <= p <= k for p in M):
                return
            if isinstance(how, sre.SkipAny) or not any(
                self.has_instance(e, a, b, v) for a in range(i, k + 2) for b in range(a - 1, k + 1)
            ):
                yield k

    def has_instance(self, e: Sremo, i: int, j: int, v: Contents) -> bool:
        """Whether [i..j] is an instance of e, whatever its marks."""
        return any(self.after(e, i, j, M0, v) for M0 in subsets(i, j))

    def join(
        self, e1: Sremo, e2: Sremo, v: Contents, v1: Contents, v2: Contents
    ) -> Iterator[Contents]:
        """Whatever one side has changed is as it left it; nothing is changed by both."""
        changes = {r for r, _ in (v1 ^ v) | (v2 ^ v)}
        now = {}
        for r in changes | {r for r, _ in v}:
            before, one, two = (dict(each).get(r) for each in (v, v1, v2))
            now[r] = one if one != before else two
        yield frozenset((r, p) for r, p in now.items() if p is not None)

    def holds(self, phi: pred.Guard, i: int, v: Contents) -> bool:
        match phi:
            case pred.Not(operand):
                return not self.holds(operand, i, v)
            case pred.And(left, right):
                return all((self.holds(left, i, v), self.holds(right, i, v)))
            case pred.Or(left, right):
                return any((self.holds(left, i, v), self.holds(right, i, v)))
            case pred.RegisterComparison(op, left_side, right_side):
                sides = (left_side, right_side)
                read = {s.register for s in sides if isinstance(s, pred.RegisterAttribute)}
                if not read <= dict(v).keys():
                    return False
                return compare(op, *(self.value(s, i, v) for s in sides))
            case predicate:
                return satisfies(self.events[i], predicate)

    def value(self, side: pred.Expression, i: int, v: Contents) -> Value:
        match side:
            case pred.RegisterAttribute(r, "type"):
                return self.events[dict(v)[r]].type
            case pred.RegisterAttribute(r, attribute):
                return self.events[dict(v)[r]].attributes.get(attribute)
            case expression:
                return evaluate(self.events[i], expression)

    def time(self, i: int, attribute: str) -> Fraction:
        value = self.events[i].attributes[attribute]
        assert isinstance(value, (int, float))
        return Fraction(value)


def upto(M: Marks, m: int) -> Marks:
    """The marks up to position m."""
    return frozenset(p for p in M if p <= m)
