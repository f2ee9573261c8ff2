"""What is shown of a timeline: events on an axis, answers in lanes, a row for each source."""

from __future__ import annotations

from dataclasses import dataclass

from cerlab.model.answer import ComplexEvent
from cerlab.model.event import Event


@dataclass(frozen=True, slots=True)
class Row:
    """What one query, strategy or evaluator answered.

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
    """A shown answer: its lane, from 0, and the rows that have it, by number."""

    answer: ComplexEvent
    lane: int
    rows: frozenset[int]


@dataclass(frozen=True, slots=True, repr=False)
class Drawing:
    """Rows of answers under events; `bars` and `ticks` are what is shown of them.

    `length` counts the events of the stream, `distinct` the answers that were compared, `held`
    those of them that each row has, `common` those that all have. `axis` is the attribute that
    places the events, None where their positions do, `label` the one that is written beside them.
    """

    ticks: tuple[Tick, ...]
    rows: tuple[Row, ...]
    bars: tuple[Bar, ...]
    length: int
    distinct: int
    held: tuple[int, ...]
    common: int
    axis: str | None = None
    label: str | None = None

    def __repr__(self) -> str:
        return f"<Timeline of {len(self.bars)} answers on {self.length} events>"


def differs(T: Drawing, bar: Bar) -> bool:
    """Whether some row lacks an answer."""
    return len(bar.rows) < len(T.rows)


def lanes(T: Drawing) -> int:
    """How many lanes a row has, at least one."""
    return 1 + max((bar.lane for bar in T.bars), default=0)


def kinds(T: Drawing) -> tuple[str, ...]:
    """The kinds of the shown events, in the order in which they first occur."""
    return tuple(dict.fromkeys(tick.kind for tick in T.ticks))
