"""Timelines as values: events on an axis, answers in tracks, and their style."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from cerlab.errors import UsageError, nearest
from cerlab.model.answer import ComplexEvent
from cerlab.model.event import Event
from cerlab.predicates.text import answer_text, count_text, number_text
from cerlab.viz.graph import ON_ITS_OWN

FEW = 3
"""Most missing answers drawn hollow in a row; a note has the number if there are more."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a timeline: the answers of a query, strategy or evaluator.

    `answers` are sorted by end. `total` is their number, None if it was not counted. If `answers`
    are not all, they are all that end before `complete_before`.
    """

    name: str
    answers: tuple[ComplexEvent, ...]
    total: int | None
    complete_before: int | None = None


@dataclass(frozen=True, slots=True)
class Tick:
    """A shown event: its position, its place on the axis, its type and its label."""

    position: int
    event: Event
    place: float
    kind: str
    label: str


@dataclass(frozen=True, slots=True)
class Bar:
    """A shown answer: its track, from 0, and the indices of the rows that have it."""

    answer: ComplexEvent
    track: int
    rows: frozenset[int]


@dataclass(frozen=True, slots=True, repr=False)
class Drawing:
    """A timeline laid out: events as `ticks` and answers as `bars`.

    `length` is the number of events in the stream. `distinct` is the number of answers compared; if
    a row is not listed to its end, only those that end before. Others are shown only in rows that
    have them. `row_counts` is the number of compared answers in each row, `common` the number in
    all rows. `axis` is the attribute that places the events (None: their position), `label` the
    attribute written beside them.
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


def lacks(T: Drawing, row: int, bar: Bar) -> bool:
    """Return whether a row lacks an answer; False if unknown."""
    end = T.rows[row].complete_before
    return row not in bar.rows and (end is None or bar.answer.end < end)


def differs(T: Drawing, bar: Bar) -> bool:
    """Return whether some row lacks an answer that another one has."""
    return any(lacks(T, row, bar) for row in range(len(T.rows)))


def telling(T: Drawing) -> frozenset[tuple[Bar, int]]:
    """Return the answers that some rows have and others lack, each with a row that has it.

    A row that has every answer is ignored if the others can be compared without it. If most answers
    of a row would qualify, the result is empty.
    """
    rivals = {number for number, count in enumerate(T.row_counts) if count < T.distinct}
    if len(rivals) < 2:
        rivals = set(range(len(T.rows)))
    apart = [bar for bar in T.bars if any(lacks(T, row, bar) for row in rivals)]
    for row in rivals:
        different = sum(row in bar.rows for bar in apart)
        if different > FEW and 2 * different > sum(row in bar.rows for bar in T.bars):
            return frozenset()
    return frozenset((bar, row) for bar in apart for row in bar.rows & rivals)


def in_row(T: Drawing, row: int) -> list[tuple[Bar, int]]:
    """Return the answers to draw in a row with their tracks; missing answers are drawn too.

    In rows without gaps, an answer has the same track as in other rows, so missing answers line up;
    a row that lacks more gets separate tracks.
    """
    shown = [bar for bar in T.bars if row in bar.rows or lacks(T, row, bar)]
    if sum(row not in bar.rows for bar in shown) <= FEW:
        return [(bar, bar.track) for bar in shown]
    places = {tick.position: tick.place for tick in T.ticks}
    own = [bar for bar in T.bars if row in bar.rows]
    spans = (span(bar.answer, places) for bar in own)
    return list(zip(own, first_fit(spans), strict=True))


def span(answer: ComplexEvent, places: Mapping[int, float]) -> tuple[float, float]:
    """Return the left and the right end of an answer on the axis."""
    start, end = places[answer.start], places[answer.end]
    return min(start, end), max(start, end)


def first_fit(spans: Iterable[tuple[float, float]]) -> Iterator[int]:
    """Yield a track for each interval, so that intervals in one track do not touch."""
    free: list[float] = []
    for start, end in spans:
        # sorted by start, the first free track gives the smallest number of tracks
        track = next((n for n, until in enumerate(free) if until <= start), len(free))
        free[track : track + 1] = [end + 0.5]
        yield track


def track_count(T: Drawing, row: int) -> int:
    """Return the number of tracks of a row, at least one."""
    return 1 + max((track for _, track in in_row(T, row)), default=0)


def kinds(T: Drawing) -> tuple[str, ...]:
    """Return the types of the shown events in the order of their first occurrence."""
    return tuple(dict.fromkeys(tick.kind for tick in T.ticks))


COLOURS = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#56b4e9", "#cc79a7", "#f0e442")
"""The palette of Okabe and Ito without black, readable with colour blindness."""

SHAPES = (
    "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0 -10 0z",
    "M-4.5 -4.5h9v9h-9z",
    "M0 -5.8L5.4 4H-5.4z",
    "M0 -6L6 0L0 6L-6 0z",
    "M0 5.8L5.4 -4H-5.4z",
    "M-5.7 0L-2.8 -5H2.8L5.7 0L2.8 5H-2.8z",
    "M-2 -5.5H2V-2H5.5V2H2V5.5H-2V2H-5.5V-2H-2z",
)
"""Circle, square, triangle, diamond, inverted triangle, hexagon and cross, about the origin."""

MARKERS = ("o", "s", "^", "D", "v", "H", "P")
"""Matplotlib's names of `SHAPES`."""

LIGHT = {
    "ink": "#1b1b1b",
    "soft": "#5b5b5b",
    "line": "#8a8a8a",
    "rule": "#d4d4d4",
    "guide": "#ececec",
    "span": "#b4b4b4",
    "pill": "#f9f0a6",
    "edge": "#b8a300",
    "blue": COLOURS[0],
}

DARK = {
    "ink": "#ececec",
    "soft": "#b0b0b0",
    "line": "#8f8f8f",
    "rule": "#4a4a4a",
    "guide": "#2e2e2e",
    "span": "#6f6f6f",
    "pill": "#45400f",
    "edge": "#a59300",
    "blue": "#4aa3df",
}

THEMES = {"light": LIGHT, "dark": DARK}

_SCOPE = "svg.cerlab-timeline"

_RULES = (
    ("", 'font:12px "Helvetica Neue",Helvetica,Arial,sans-serif;max-width:100%;height:auto'),
    ("text", "fill:%ink;stroke:none"),
    (".small", "font-size:11px;fill:%soft"),
    (".mid", "text-anchor:middle"),
    (".name", "font-weight:600"),
    ("path", "fill:none;stroke:%line"),
    (".rule", "stroke:%rule"),
    (".guide", "stroke:%guide"),
    (".interval", "stroke:%span"),
    (".arc", "stroke:%soft;stroke-width:1.3"),
    (".pill", "fill:%pill;stroke:%edge"),
    (".ghost .interval", "stroke:%line;stroke-dasharray:3 3"),
    (".on", "stroke:%ink;stroke-width:.7"),
    *((f".c{n}", f"fill:{colour}") for n, colour in enumerate(COLOURS)),
    (".c0", "fill:%blue"),
    (".off", "fill:none;stroke:%line"),
)


def style(theme: str) -> str:
    """Return the CSS of a theme; ``"auto"`` follows the viewer's system and Jupyter."""
    if theme == "auto":
        variables = {name: f"var(--{name})" for name in LIGHT}
        light, dark = _variables(LIGHT), _variables(DARK)
        return "\n".join(
            [
                f"{_SCOPE}{{{light}}}",
                f"@media (prefers-color-scheme:dark){{{_SCOPE}{{{dark}}}}}",
                f'[data-jp-theme-light="true"] {_SCOPE}{{{light}}}',
                f'[data-jp-theme-light="false"] {_SCOPE}{{{dark}}}',
                _rules(variables),
                ON_ITS_OWN,
            ]
        )
    if theme not in THEMES:
        hint = nearest(theme, ("auto", *THEMES))
        raise UsageError("CER0840", f"unknown theme '{theme}'", hint=hint)
    return _rules(THEMES[theme])


def _variables(palette: Mapping[str, str]) -> str:
    return "".join(f"--{name}:{colour};" for name, colour in palette.items())


def _rules(palette: Mapping[str, str]) -> str:
    text = "\n".join(f"{_SCOPE} {which}{{{what}}}" for which, what in _RULES)
    for name, colour in palette.items():
        text = text.replace(f"%{name}", colour)
    return text


_numbers: dict[str, int] = {}
"""Number of each kind of event, in the order in which this process first drew them."""


def number_of(kind: str) -> int:
    """Return the number of an event type, constant within a process."""
    return _numbers.setdefault(kind, len(_numbers))


@contextmanager
def own_numbers() -> Iterator[None]:
    """Assign event types numbers from 0 in this block, whatever was drawn before."""
    previous = dict(_numbers)
    _numbers.clear()
    try:
        yield
    finally:
        _numbers.clear()
        _numbers.update(previous)


def look(kind: int) -> tuple[int, int]:
    """Return the shape and the colour of an event type by its number.

    >>> look(1), look(8)
    ((1, 1), (2, 1))
    """
    turn, colour = divmod(kind, len(COLOURS))
    return (colour + turn) % len(SHAPES), colour


def glyph(kind: int, x: str, y: str, state: str, scale: str = "") -> str:
    """Return the SVG mark of an event type at a place; `state` is ``on`` or ``off`` (hollow)."""
    shape, colour = look(kind)
    place = f"translate({x} {y})" + (f" scale({scale})" if scale else "")
    return f'<path class="{state} c{colour}" transform="{place}" d="{SHAPES[shape]}"/>'


def row_text(T: Drawing, number: int) -> str:
    """Return the number of a row's answers as text: ``5 answers, lacks 1``.

    Missing answers are counted among the answers that were compared.
    """
    row = T.rows[number]
    parts = [_total(row)]
    if len(T.rows) > 1:
        lacks = T.distinct - T.row_counts[number]
        parts += [f"lacks {number_text(lacks)}"] if lacks else []
    return ", ".join(parts)


def _total(row: Row) -> str:
    if row.total is not None:
        return count_text(row.total, "answer")
    return f"over {count_text(len(row.answers), 'answer')}"


def comparison(T: Drawing) -> str:
    """Return a sentence about whether the rows agree; empty for a single row."""
    if len(T.rows) < 2:
        return ""
    ends = [row.complete_before for row in T.rows if row.complete_before is not None]
    until = f" that end before position {min(ends):,}" if ends else ""
    if T.distinct == T.common:
        return f"All rows have the same {count_text(T.distinct, 'answer')}{until}."
    differing = number_text(T.distinct - T.common)
    return f"Not in every row: {differing} of {count_text(T.distinct, 'answer')}{until}."


def extent(T: Drawing) -> str:
    """Return a text on how much of stream and answers is shown; empty if all."""
    parts = []
    if len(T.ticks) < T.length:
        parts.append(_events(T))
    listed = len({answer for row in T.rows for answer in row.answers})
    total: int | None = listed
    if any(row.complete_before is not None for row in T.rows):
        total = T.rows[0].total if len(T.rows) == 1 else None
    if total is None:
        parts.append(f"{len(T.bars)} of over {count_text(listed, 'answer')}")
    elif len(T.bars) < total:
        parts.append(f"{len(T.bars)} of {count_text(total, 'answer')}")
    positions = {tick.position for tick in T.ticks}
    if any(p not in positions for bar in T.bars for p in bar.answer.positions):
        parts.append("positions in the gaps are not drawn")
    return "; ".join(parts)


def _events(T: Drawing) -> str:
    first, last = T.ticks[0].position, T.ticks[-1].position
    if last - first + 1 == len(T.ticks):
        return f"events {first:,}-{last:,} of {T.length:,}"
    return f"{len(T.ticks)} of {T.length:,} events"


def description(T: Drawing) -> str:
    """Return a text that describes a timeline to readers who cannot see it."""
    lines = [f"{count_text(T.length, 'event')}, {count_text(len(T.rows), 'row')} of answers."]
    lines += [f"{row.name}: {row_text(T, n)}." for n, row in enumerate(T.rows)]
    lines += [_bar(T, bar.answer, bar.rows) for bar in T.bars if differs(T, bar)]
    lines += filter(None, [comparison(T), extent(T)])
    return " ".join(lines)


def _bar(T: Drawing, answer: ComplexEvent, rows: Iterable[int]) -> str:
    names = ", ".join(T.rows[n].name for n in sorted(rows))
    return f"{answer_text(answer)} only in {names}."
