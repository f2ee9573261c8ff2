"""Emptiness, containment and equivalence of machines, with a shortest stream (CORE Sec. 3).

Two machines are read together, event by event: first both wait, then a run with the same start and
the same marks goes on in each. A breadth-first search finds the fewest events after which one
accepts and the other does not. Events are the minterms of both machines' predicates: what they
cannot tell apart is one event.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import NamedTuple

from cerlab.automata.automaton import Mark
from cerlab.automata.deterministic import Deterministic, Moves
from cerlab.budget import spend
from cerlab.predicates.minterms import Minterm

STUCK = Moves(None, None)


class Side(Enum):
    """Which of two machines."""

    LEFT = "left"
    RIGHT = "right"


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """A window in time; `axis` names the measured attribute, `width` is inclusive."""

    axis: str
    width: Fraction


@dataclass(frozen=True, slots=True)
class WindowedMachine:
    """A machine and its window: up to `events` events after the first one, or a span of time."""

    machine: Deterministic
    events: int | None = None
    span: TimeSpan | None = None

    def fits(self, length: int) -> bool:
        """Whether an answer over so many events is inside the window, counted in events."""
        return self.events is None or length - 1 <= self.events


class Difference(NamedTuple):
    """A shortest stream after which `side` has an answer that the other lacks.

    `events` are indices of minterms; the answer starts at `start`, ends at the last event and takes
    the `marks` from there on. With `late`, the two accept alike, but the other's window of time is
    shorter, and the time from start to end has to be between the two.
    """

    events: tuple[int, ...]
    start: int
    marks: tuple[Mark, ...]
    side: Side
    late: bool

    @property
    def positions(self) -> tuple[int, ...]:
        """The positions that the answer takes."""
        return tuple(self.start + k for k, m in enumerate(self.marks) if m is Mark.TAKE)


class _Node(NamedTuple):
    """A pair of idle states, or of states of one run with its capped length."""

    left: int | None
    right: int | None
    length: int


class _Step(NamedTuple):
    came_from: _Node | None
    event: int
    mark: Mark | None


class Joint:
    """The minterms of two machines, as pairs of their symbols."""

    def __init__(
        self, left: Deterministic, right: Deterministic, minterms: Sequence[Minterm]
    ) -> None:
        """`minterms` are those of the left predicates followed by the right ones."""
        width = len(left.predicates)
        low = (1 << width) - 1
        self.symbols = tuple((m.symbol & low, m.symbol >> width) for m in minterms)


def shortest_difference(
    left: WindowedMachine,
    right: WindowedMachine,
    joint: Joint,
    usable: Sequence[int],
    *,
    sides: Sequence[Side] = tuple(Side),
    below: float = math.inf,
) -> Difference | None:
    """Return the fewest events after which one of the `sides` has an answer that the other lacks.

    `usable` are the minterms that streams may be made of. None says that there is no such stream
    with fewer than `below` events.
    Raises `ResourceLimit` where the search takes too many steps.
    """
    # Runs beyond every window fit none of them, so their lengths need not be told apart.
    cap = 2 + max((w.events for w in (left, right) if w.events is not None), default=0)
    start = _Node(left.machine.idle, right.machine.idle, 0)
    steps: dict[_Node, _Step] = {start: _Step(None, -1, None)}
    frontier = [start]
    length = 0
    while frontier and (length := length + 1) < below:
        nodes: list[_Node] = []
        for node in frontier:
            for event, mark, target in _moves(node, left, right, joint, usable, cap):
                spend()
                if target in steps:
                    continue
                steps[target] = _Step(node, event, mark)
                # tested where it is met, not where it goes on: the first one is shortest
                for side in sides:
                    verdict = _differs(target, left, right, side)
                    if verdict is not None:
                        return _difference(target, steps, side, late=verdict)
                nodes.append(target)
        frontier = nodes
    return None


def _moves(
    node: _Node,
    left: WindowedMachine,
    right: WindowedMachine,
    joint: Joint,
    usable: Sequence[int],
    cap: int,
) -> Iterator[tuple[int, Mark | None, _Node]]:
    A, B = left.machine, right.machine
    length = min(node.length + 1, cap)
    for event in usable:
        a, b = joint.symbols[event]
        p, q = node.left, node.right
        if node.length == 0:
            assert p is not None
            assert q is not None
            yield event, None, _Node(A.wait(p, a), B.wait(q, b), 0)
            moves = (A.begin(p, a), B.begin(q, b))
        else:
            moves = (
                A.step(p, a) if p is not None else STUCK,
                B.step(q, b) if q is not None else STUCK,
            )
        for mark, one, other in zip((Mark.TAKE, Mark.SKIP), *moves, strict=True):
            if one is not None or other is not None:
                yield event, mark, _Node(one, other, length)


def _differs(node: _Node, left: WindowedMachine, right: WindowedMachine, side: Side) -> bool | None:
    """Whether the side has an answer here that the other lacks: None no, True by time only."""
    if node.length == 0:
        return None
    ours, theirs = (left, right) if side is Side.LEFT else (right, left)
    p, q = (node.left, node.right) if side is Side.LEFT else (node.right, node.left)
    if p is None or not ours.machine.final[p] or not ours.fits(node.length):
        return None
    if q is None or not theirs.machine.final[q] or not theirs.fits(node.length):
        return False
    # one event lasts no time, so every window of time holds it
    return True if node.length > 1 and _outlasts(ours.span, theirs.span) else None


def _outlasts(ours: TimeSpan | None, theirs: TimeSpan | None) -> bool:
    """Whether some span of time is inside our window and outside theirs."""
    if theirs is None:
        return False
    return ours is None or ours.axis != theirs.axis or ours.width > theirs.width


def _difference(node: _Node, steps: dict[_Node, _Step], side: Side, *, late: bool) -> Difference:
    events: list[int] = []
    marks: list[Mark] = []
    step = steps[node]
    while step.came_from is not None:
        events.append(step.event)
        if step.mark is not None:
            marks.append(step.mark)
        step = steps[step.came_from]
    events.reverse()
    marks.reverse()
    return Difference(tuple(events), len(events) - len(marks), tuple(marks), side, late)
