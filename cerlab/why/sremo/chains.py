"""Derivations one after another: concatenation, iteration, and the gaps of strategies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias, assert_never

from cerlab.logic.sremo.syntax import SKIP, Concat, Plus, SkipAny, SkipNext, Sremo, Star
from cerlab.why.failure import HEAVY, LIGHT, Failure, Kind, Path, Relax, Remove, placed
from cerlab.why.goal import NEARBY
from cerlab.why.sremo.derivation import SremoDerivation, Stored
from cerlab.why.sremo.goal import Goal, Table, leftover, said
from cerlab.why.sremo.negation import instance_in_gap, unknown, without_marks

Readings: TypeAlias = Callable[[Goal, Sremo, Path, int, Stored], list[SremoDerivation]]
"""The search itself, which stands above."""

Operator: TypeAlias = Concat | Star | Plus | SkipAny | SkipNext
"""What has parts one after another."""


class Part(NamedTuple):
    """A part of a chain, and the operator before it, which says what may be skipped there."""

    e: Sremo
    path: Path
    operator: Operator
    operator_path: Path


def parts_of(e: Concat, path: Path) -> list[Part]:
    """The parts of ``e . .. . e``, which nests to the left."""
    operators: list[tuple[Concat, Path]] = []
    first: Sremo = e
    while isinstance(first, Concat):
        operators.append((first, path))
        first, path = first.left, (*path, 0)
    parts = [Part(first, path, e, path)]
    parts += [Part(each.right, (*at, 1), each, at) for each, at in reversed(operators)]
    return parts


class Chains:
    """Makes chains of what `readings` finds for their parts."""

    def __init__(self, goal: Goal, readings: Readings) -> None:
        self._goal = goal
        self._readings = readings

    def sequences(
        self, e: Sremo, path: Path, i: int, v: Stored, parts: Sequence[Part]
    ) -> list[SremoDerivation]:
        """One derivation of each part, in their order."""
        found = [SremoDerivation(e, path, i, i, (), v)]
        for n, part in enumerate(parts):
            table = Table(self._goal)
            for before in found:
                for longer in self._gone_on(before, part, first=n == 0):
                    table.offer(longer)
            found = table.found()
        return found

    def iterations(
        self, e: Sremo, path: Path, i: int, v: Stored, body: Part, *, none: bool
    ) -> list[SremoDerivation]:
        """One round, two rounds, ..; and no round, if that is allowed.

        A round has to go on, or it is the first.
        """
        rounds = Table(self._goal)
        nothing = SremoDerivation(e, path, i, i, (), v)
        if none:
            rounds.offer(nothing)
        latest = list(self._gone_on(nothing, body, first=True))
        for d in latest:
            rounds.offer(d)
        while latest:
            latest = [
                longer
                for d in latest
                for longer in self._gone_on(d, body, first=False)
                if longer.end > d.end and rounds.offer(longer)
            ]
        return rounds.found()

    def _gone_on(
        self, before: SremoDerivation, part: Part, *, first: bool
    ) -> Iterator[SremoDerivation]:
        """A chain with one more part, which may start after a gap unless it is the first."""
        gaps: Iterable[tuple[int, tuple[Failure, ...]]] = [(before.end, ())]
        if not first:
            gaps = self._gaps(before, part)
        for k, wrong in gaps:
            for d in self._readings(self._goal, part.e, part.path, k, before.registers):
                if d.end > k or not any(failure.kind is Kind.GAP for failure in wrong):
                    yield _joined(before, wrong, d)

    def _gaps(
        self, before: SremoDerivation, part: Part
    ) -> Iterator[tuple[int, tuple[Failure, ...]]]:
        """Where the next part may start, and what is wrong with the gap before it."""
        match part.operator:
            case SkipAny():
                yield from self._skipped(before.end)
            case SkipNext():
                yield from self._without_instance(before, part, part.operator)
            case _:
                yield before.end, ()
                if self._goal.allowance >= LIGHT and before.end > before.start:
                    yield from self._too_far(before, part)

    def _skipped(self, end: int) -> Iterator[tuple[int, tuple[Failure, ...]]]:
        """Any gap, as long as it leaves out no more marked positions than allowed."""
        for k in range(end, self._goal.end + 1):
            failures = leftover(self._goal, self._goal.asked_between(end, k))
            if HEAVY * len(failures) > self._goal.allowance:
                return
            yield k, failures

    def _without_instance(
        self, before: SremoDerivation, part: Part, e: SkipNext
    ) -> Iterator[tuple[int, tuple[Failure, ...]]]:
        """The gaps that hold no instance of the next part, which runs with what is stored."""
        inside, v = without_marks(self._goal, part.e), before.registers
        instances: dict[int, SremoDerivation] = {}
        for k, failures in self._skipped(before.end):
            if not unknown(part.e, v):
                found = self._readings(inside, part.e, part.path, k, v)
                if found:
                    instances[k] = min(found, key=lambda d: d.end)
            held = instance_in_gap(e, part.e, part.operator_path, instances, k)
            if held and self._goal.allowance < LIGHT:
                return
            yield k, held + failures

    def _too_far(
        self, before: SremoDerivation, part: Part
    ) -> Iterator[tuple[int, tuple[Failure, ...]]]:
        """Gaps where the operator allows none."""
        goal, end = self._goal, before.end
        near = goal.end if goal.narrow else min(goal.end, end + NEARBY)
        places = sorted({*range(end + 1, near), *goal.asked_between(end + 1, goal.end)})
        for k in places:
            skipped = goal.asked_between(end, k)
            if LIGHT + HEAVY * len(skipped) > goal.allowance:
                return
            yield k, (_gap(part, end, k), *leftover(goal, skipped))


def _gap(part: Part, end: int, start: int) -> Failure:
    """There are events where the operator allows none."""
    n = start - end
    sign, weaker = _weaker(part.operator)
    words = f"gap of {n} event{'s' if n > 1 else ''} at '{sign}', between {end - 1} and {start}"
    repairs = (Relax(part.operator_path, weaker), Remove(tuple(range(end, start))))
    ends = (end - 1, start)
    return Failure(Kind.GAP, words, said(part.operator), part.operator_path, ends, repairs)


def _weaker(operator: Operator) -> tuple[str, Sremo]:
    """The sign of an operator, and what allows gaps."""
    match operator:
        case Concat(left, right):
            return ".", Concat(Concat(left, SKIP), right)
        case Star():
            return "*", SkipAny((operator,))
        case Plus():
            return "+", SkipAny((operator,))
        case SkipAny() | SkipNext():
            raise AssertionError("strategies allow gaps")
        case _:
            assert_never(operator)


def _joined(
    before: SremoDerivation, wrong: tuple[Failure, ...], d: SremoDerivation
) -> SremoDerivation:
    """A chain and the next part, what is missing on either side placed by the other."""
    earlier, later = before.failures, d.failures
    if earlier and d.end > d.start:
        earlier = placed(earlier, before=d.start)
    if later and before.end > before.start:
        later = placed(later, after=before.end - 1)
    return SremoDerivation(
        before.part,
        before.path,
        before.start,
        d.end,
        before.marks + d.marks,
        d.registers,
        (*before.children, d),
        earlier + wrong + later,
    )
