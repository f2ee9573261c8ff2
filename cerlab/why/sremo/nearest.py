"""The derivation that comes nearest to the positions, with all that it fails (SRT Def. 32)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from cerlab.logic.sremo.registers import reads
from cerlab.logic.sremo.syntax import Sremo, Terminal, children
from cerlab.model.answer import Positions
from cerlab.model.stream import Stream
from cerlab.why.attempt import NEAR
from cerlab.why.failure import HEAVY, Failure, Insert, Kind, Path, Reach, blamed, cost
from cerlab.why.goal import NEARBY
from cerlab.why.sremo.agreement import agreed, shown
from cerlab.why.sremo.derivation import SremoDerivation
from cerlab.why.sremo.goal import Goal, leftover
from cerlab.why.sremo.reach import may_begin_unmarked
from cerlab.why.sremo.search import readings


@dataclass(frozen=True, slots=True)
class Asked:
    """Positions of a stream, at least one, and the interval of the answer, as far as given."""

    e: Sremo
    stream: Stream
    positions: Positions
    start: int | None
    end: int | None

    def goal(self, allowance: int) -> Goal:
        """What is looked for, up to the last position."""
        events, end = self.stream.events, self.positions[-1] + 1
        return Goal(events, self.positions, end, reads(self.e), allowance)


FARTHEST = 12 * HEAVY
"""The highest cost of what a derivation fails that is looked for."""


def nearest(asked: Asked) -> tuple[SremoDerivation | None, tuple[Failure, ...]]:
    """The derivation that costs least to mend, with all that it fails; None if all fail too much.

    Of those that cost the same, the one that blames fewest events is first, then the shortest.
    """
    allowance = HEAVY - 1
    while allowance <= FARTHEST:
        ranked = [
            (_price(d, failures), blamed(failures), d.end - d.start, -d.start, d, failures)
            for d, failures in _attempts(asked, allowance)
        ]
        if allowed := [each for each in ranked if each[0] <= allowance]:
            *_, found, failures = min(allowed, key=lambda each: each[:4])
            return found, failures
        allowance += 1 if allowance < 2 * HEAVY else HEAVY
    words = f"any reading fails more than {FARTHEST // HEAVY} obligations at these positions"
    return None, (Failure(Kind.FAR, words),)


def _price(d: SremoDerivation, failures: tuple[Failure, ...]) -> int:
    """What it costs to mend; no event at all is never shown, so that is the last resort."""
    return cost(failures) + (0 if d.end > d.start or d.failures else 2 * HEAVY)


def _attempts(
    asked: Asked, allowance: int
) -> Iterator[tuple[SremoDerivation, tuple[Failure, ...]]]:
    """Derivations with failures, those of what they leave out before and after among them."""
    goal, M = asked.goal(allowance), asked.positions
    lo = max(0, M[0] - (NEAR if may_begin_unmarked(asked.e) else NEARBY))
    for m in range(lo, goal.end + 1):
        before = leftover(goal, goal.asked_between(lo, m))
        if HEAVY * len(before) > allowance:
            return
        for d in readings(goal, asked.e, (), m, ()):
            failures = tuple(_at_an_end(asked.e, failure) for failure in d.failures)
            if (inside := shown(d, agreed(d, failures))) is not None:
                after = leftover(goal, goal.asked_between(d.end, goal.end))
                yield d, before + inside + after + out_of_interval(asked)


def _at_an_end(e: Sremo, failure: Failure) -> Failure:
    """Before the first and after the last position, it is positions that are missing."""
    match failure.repairs:
        case (Insert(path, None, int(before)), *_):
            words = f"no position is given for {failure.part} before {before}"
        case (Insert(path, int(after), None), *_) if _is_marked(e, path):
            words = f"no position is given for {failure.part} after {after}"
        case (Insert(path, int(after), None), *_):
            words = f"{failure.part} reads an event after {after}, where a match has ended"
        case _:
            return failure
    return replace(failure, words=words)


def _is_marked(e: Sremo, path: Path) -> bool:
    for n in path:
        e = children(e)[n]
    return isinstance(e, Terminal) and e.marked


def out_of_interval(asked: Asked) -> tuple[Failure, ...]:
    """Another interval than the one that was asked for: it is from the first mark to the last."""
    real = (asked.positions[0], asked.positions[-1])
    given = (
        real[0] if asked.start is None else asked.start,
        real[1] if asked.end is None else asked.end,
    )
    if given == real:
        return ()
    words = f"it starts at {real[0]} and ends at {real[1]}, not [{given[0]}, {given[1]}]"
    return (Failure(Kind.INTERVAL, words, positions=real, repairs=(Reach(*real),)),)
