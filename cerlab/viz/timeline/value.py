"""The value of a timeline: events on an axis, answers in tracks, a row for each source."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from cerlab.model.answer import ComplexEvent
from cerlab.model.event import Event

FEW = 3
"""So many answers that a row lacks are drawn in it, hollow; of more it is said how many."""


@dataclass(frozen=True, slots=True)
class Row:
    """The answers of one query, strategy or evaluator.

    `answers` are by end. `total` says how many there are, None if nobody counted. If `answers` are
    not all, they are all that end before `complete_before`.
    """

    name: str
    answers: tuple[ComplexEvent, ...]
    total: int | None
    complete_before: int | None = None


@dataclass(frozen=True, slots=True)
class Tick:
    """A shown event: its position, its place on the axis in steps, its kind, what it is called."""

    position: int
    event: Event
    place: float
    kind: str
    label: str


@dataclass(frozen=True, slots=True)
class Bar:
    """A shown answer: its track, from 0, and the rows that have it, by number."""

    answer: ComplexEvent
    track: int
    rows: frozenset[int]


@dataclass(frozen=True, slots=True, repr=False)
class Drawing:
    """Rows of answers under events; `bars` and `ticks` are those of them that are shown.

    `length` counts the events of the stream, `distinct` the answers that were compared,
    `row_counts` those of them that each row has, `common` those that all have. `axis` is the
    attribute that places the events, None where their positions do, `label` the one that is written
    beside them.
    """

    ticks: tuple[Tick, ...]
    rows: tuple[Row, ...]
    bars: tuple[Bar, ...]
    length: int
    distinct: int
    row_counts: tuple[int, ...]
    common: int
    axis: str | None = None
    label: str | None = None

    def __repr__(self) -> str:
        return f"<Timeline of {len(self.bars)} answers on {self.length} events>"


def differs(T: Drawing, bar: Bar) -> bool:
    """Whether some row lacks an answer."""
    return len(bar.rows) < len(T.rows)


def telling(T: Drawing) -> frozenset[tuple[Bar, int]]:
    """The answers that tell rows apart, each with a row that has it; none if they are most of one.

    Some rows have such an answer and some have not. A row that has every answer is left out where
    others can be compared without it.
    """
    rivals = {number for number, count in enumerate(T.row_counts) if count < T.distinct}
    if len(rivals) < 2:
        rivals = set(range(len(T.rows)))
    apart = [bar for bar in T.bars if not rivals <= bar.rows]
    for row in rivals:
        different = sum(row in bar.rows for bar in apart)
        if different > FEW and 2 * different > sum(row in bar.rows for bar in T.bars):
            return frozenset()
    return frozenset((bar, row) for bar in apart for row in bar.rows & rivals)


def in_row(T: Drawing, row: int) -> list[tuple[Bar, int]]:
    """The bars of a row, each in its track: its answers, and the `FEW` that it lacks.

    Rows without gaps have each answer in the same track, so that what one lacks is below what
    another has; one that lacks more has tracks of its own.
    """
    if sum(row not in bar.rows for bar in T.bars) <= FEW:
        return [(bar, bar.track) for bar in T.bars]
    places = {tick.position: tick.place for tick in T.ticks}
    own = [bar for bar in T.bars if row in bar.rows]
    spans = ((places[bar.answer.start], places[bar.answer.end]) for bar in own)
    return list(zip(own, first_fit(spans), strict=True))


def first_fit(spans: Iterable[tuple[float, float]]) -> Iterator[int]:
    """For each span, by start, the first track that is free from half a step before it."""
    free: list[float] = []
    for start, end in spans:
        track = next((n for n, until in enumerate(free) if until <= start), len(free))
        free[track : track + 1] = [max(start, end) + 0.5]
        yield track


def track_count(T: Drawing, row: int) -> int:
    """How many tracks a row has, at least one."""
    return 1 + max((track for _, track in in_row(T, row)), default=0)


def kinds(T: Drawing) -> tuple[str, ...]:
    """The kinds of the shown events, in the order in which they first occur."""
    return tuple(dict.fromkeys(tick.kind for tick in T.ticks))
