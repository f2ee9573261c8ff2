"""Look-backs: they move the starts of answers to earlier events of the substream.

`f LOOKBACK d` moves the start of an answer to an earlier event, and leaves the rest unchanged. Time
does not go back, so the look-backs of a substream do not decrease. So a bound on moved starts is
equivalent to a bound on the starts of the body: the least start whose look-back satisfies it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from operator import le
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from cerlab.automata.plan import ExceptIf, HoldWithin, LookBack, WaitBranch
from cerlab.engine.answers import AnswerBatch
from cerlab.engine.instants import Instants, first_in_group, take_instants
from cerlab.engine.kernels.arrays import NONE, Int64s
from cerlab.engine.state_checks import bad_state, check_times, expect, is_whole
from cerlab.model.answer import ComplexEvent
from cerlab.model.arrays import order_of
from cerlab.model.clauses import AttributeWindow, TimeWindow, Window
from cerlab.model.stream import Instant, width_of

Length: TypeAlias = TimeWindow | AttributeWindow


class Moved(NamedTuple):
    """A bound on the start of an answer, after some look-backs have moved the start."""

    branch: int
    many: int
    """The number of look-backs before the bound."""
    by: Window | int
    """A window, or the number of a rival."""


Source: TypeAlias = Window | int | Moved
"""The source of a bound: a window, the number of a rival, or either of them on moved starts."""


def sources_of(number: int, branch: WaitBranch) -> list[Source | None]:
    """Return the key of each step's bound on starts in `bounds`; None for steps without a bound."""
    sources: list[Source | None] = []
    many = 0
    for step in branch.steps:
        many += isinstance(step, LookBack)
        if not isinstance(step, HoldWithin | ExceptIf):
            sources.append(None)
            continue
        by = step.window if isinstance(step, HoldWithin) else step.rival
        # a bound on the last event does not bound starts
        is_moved = many > 0 and not step.of_last
        sources.append(Moved(number, many, by) if is_moved else by)
    return sources


class _Line:
    """The recent events of a substream, and where look-backs move them."""

    def __init__(self, many: int) -> None:
        self.first = 0
        self.positions: list[int] = []
        self.times: list[list[Instant]] = [[] for _ in range(many)]
        self.inside: list[list[int]] = [[] for _ in range(many)]
        """For each length the number of the first event inside, at each event."""
        self.starts: list[list[int]] = [[] for _ in range(many)]
        """For each number of look-backs, the position that the start has moved to."""
        self.least = 0
        """The least start that satisfies all bounds, at the last event."""

    def columns(self) -> list[list[Any]]:
        """Return the lists that hold one element for each event."""
        return [self.positions, *self.times, *self.inside, *self.starts]


class LookBacks:
    """The look-backs of one branch, applied to the events of each substream."""

    def __init__(
        self, back: Sequence[Length], bounds: Sequence[Moved], *, of_one_event: bool
    ) -> None:
        """Create the look-backs; `of_one_event` means that each answer starts at its last event."""
        self.lengths = back
        self.bounds = bounds
        """The bounds on moved starts."""
        self._widths = [width_of(length) for length in back]
        self._of_one_event = of_one_event
        self._lines: dict[int, _Line] = {}
        self._of: dict[int, int] = {}
        """The target of each start, by position."""
        self._whole: tuple[Int64s, Int64s] | None = None
        """The events of a whole stream, and the targets of their look-backs as starts."""

    def read_whole(
        self,
        positions: Int64s,
        keys: Int64s,
        times: Sequence[Instants],
        bounds: Sequence[Int64s],
    ) -> list[Int64s]:
        """Read a whole stream; return, for each bound and event, the least permitted start.

        A least start may be later than the event itself: then no start survives there.
        """
        order = order_of(keys)
        order = order[np.count_nonzero(keys == NONE) :]
        groups, places = keys[order], positions[order]
        begins, at = [places], np.arange(len(order))
        for its_times, width in zip(times, self._widths, strict=True):
            first, _ = first_in_group(groups, take_instants(its_times, order), width)
            at = first[at]
            begins.append(places[at])
        moved = np.zeros(len(keys), np.int64)
        moved[order] = begins[-1]
        self._whole = positions, moved
        # add a multiple of the group, so that no bound matches an event of another group
        span = int(positions[-1]) + 2 if len(positions) else 1
        ends = np.searchsorted(groups, groups, "right")
        every = []
        for bound, wanted in zip(self.bounds, bounds, strict=True):
            keyed = groups * span + begins[bound.many]
            n = np.searchsorted(keyed, groups * span + np.minimum(wanted[order], span - 1))
            least = np.zeros(len(keys), np.int64)
            inside = places[np.minimum(n, len(places) - 1)] if len(places) else n
            least[order] = np.where(n < ends, inside, span)
            every.append(least)
        return every

    def read(
        self, key: int, position: int, times: Sequence[Instant], bounds: Sequence[int]
    ) -> list[int]:
        """Read an event; return the least start that look-backs move inside each bound.

        `times` are on the axis of each length.
        """
        if (line := self._lines.get(key)) is None:
            line = self._lines[key] = _Line(len(self.lengths))
        at = len(line.positions)
        line.positions.append(position)
        start = at
        for n, (now, width) in enumerate(zip(times, self._widths, strict=True)):
            line.times[n].append(now)
            first = line.inside[n][-1] - line.first if at else 0
            while line.times[n][first] < now - width:
                first += 1
            line.inside[n].append(first + line.first)
            start = line.inside[n][start] - line.first
            line.starts[n].append(line.positions[start])
        self._of[position] = line.starts[-1][-1]
        least = [
            self._least(line, bound.many, b) for bound, b in zip(self.bounds, bounds, strict=True)
        ]
        line.least = max((position if self._of_one_event else 0, *least))
        return least

    @staticmethod
    def _least(line: _Line, many: int, bound: int) -> int:
        """Return the least start that look-backs move to `bound` or later."""
        n = bisect_left(line.starts[many - 1], bound)
        return line.positions[n] if n < len(line.positions) else line.positions[-1] + 1

    def move(self, answers: Any) -> Any:
        """Return answers with their starts moved by the look-backs."""
        if self._whole is not None:
            positions, moved = self._whole
            return replace(answers, start=moved[np.searchsorted(positions, answers.start)])
        of = self._of
        try:
            if isinstance(answers, AnswerBatch):
                start = np.array([of[start] for start in answers.start.tolist()], np.int64)
                return replace(answers, start=start)
            return [ComplexEvent(of[a.start], a.end, a.positions) for a in answers]
        except KeyError:  # an edited state
            raise bad_state("the events that answers look back from") from None

    def forget(self) -> None:
        """Drop events where no later answer starts, if they are half of the stored ones."""
        # one look-back may move a start to an event that the next one moves
        if len(self.lengths) > 1:
            return
        for line in self._lines.values():
            many = bisect_left(line.positions, line.least)
            many = min(many, line.inside[0][-1] - line.first)
            if many > 64 and 2 * many > len(line.positions):
                for position in line.positions[:many]:
                    del self._of[position]
                for column in line.columns():
                    del column[:many]
                line.first += many

    def state(self) -> Any:
        """Return the state as nested tuples, for `resume`."""
        return [(key, line.first, line.least, *line.columns()) for key, line in self._lines.items()]

    def resume(self, state: Any, keys: int, read: int) -> None:
        """Restore the result of `state`; damaged values raise `BadData` or another error."""
        many = len(self.lengths)
        for key, first, least, *columns in state:
            expect(
                is_whole(key, 0, keys) and key not in self._lines, "the substream of a look-back"
            )
            expect(is_whole(first, 0, read + 1) and is_whole(least, 0, read + 1), "a look-back")
            expect(len(columns) == 1 + 3 * many, "the columns of a look-back")
            line = self._lines[key] = _Line(many)
            line.first, line.least = first, least
            for column, stored in zip(line.columns(), columns, strict=True):
                expect(len(stored) == len(columns[0]) > 0, "the events of a look-back")
                column += stored
            for column in line.times:
                check_times(column)
            for column in (line.positions, *line.starts):
                expect(all(is_whole(p, 0, read) for p in column), "a place of a look-back")
            expect(all(a < b for a, b in pairwise(line.positions)), "the places of a look-back")
            for column in (*line.inside, *line.starts):
                expect(all(a <= b for a, b in pairwise(column)), "the order of look-backs")
            for column in line.inside:
                inside = (is_whole(n, 0, first + at + 1) for at, n in enumerate(column))
                expect(all(inside) and column[-1] >= first, "the first event of a look-back")
            for column in line.starts:
                expect(all(map(le, column, line.positions)), "the start of a look-back")
            self._of |= zip(line.positions, line.starts[-1], strict=True)
