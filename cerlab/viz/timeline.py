"""Timelines: events of a stream with rows of answers below, as text, SVG and Matplotlib plots."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from string import ascii_letters
from typing import Any, TypeAlias

from cerlab import display, io
from cerlab.display import Drawable
from cerlab.errors import printable
from cerlab.model.answer import ComplexEvent, Valuation, by_end, complex_event
from cerlab.model.clauses import TimeWindow
from cerlab.model.event import Event, Value, value_of
from cerlab.model.stream import Instant, Stream, TimeAxis, TimeUnit, clock_for
from cerlab.predicates.text import cut, value_in_words
from cerlab.viz.timeline_value import (
    Bar,
    Drawing,
    Row,
    Tick,
    comparison,
    extent,
    first_fit,
    in_row,
    kinds,
    span,
    telling,
    track_count,
)

__all__ = ["Row", "Timeline", "timeline"]

EVENTS = 80
"""Most events of a stream that are shown (default)."""

ANSWERS = 24
"""Most distinct answers that are shown (default)."""

NEIGHBOURS = 2
"""Events shown on each side of the shown answers if others are omitted."""

BREAK = 1.5
"""Width of a gap of omitted events on the axis, in steps."""

Answer: TypeAlias = ComplexEvent | Valuation


@dataclass(frozen=True, slots=True, repr=False)
class Timeline(Drawable, Drawing):
    """A timeline of rows of answers, which can be drawn."""

    def svg(self, theme: str = "auto") -> str:
        """Return the timeline as an SVG document.

        Args:
            theme: ``"light"``, ``"dark"``, or ``"auto"`` for the viewer's theme.

        Raises:
            UsageError: The theme is unknown.
        """
        from cerlab.viz.timeline_svg import timeline_svg

        return timeline_svg(self, theme)

    def plot(self, ax: Any = None) -> Any:
        """Draw the timeline with Matplotlib on the given or new axes; return the axes.

        Args:
            ax: Axes of Matplotlib (default: those of a new figure).

        Raises:
            Unsupported: Matplotlib is missing.
        """
        from cerlab.viz.timeline_svg import timeline_plot

        return timeline_plot(self, ax)


def timeline(
    rows: Mapping[str, Iterable[Answer]] | Iterable[Row],
    events: Any,
    *,
    axis: str | None = None,
    by: str = "type",
    label: str | None = None,
    shown_events: int = EVENTS,
    shown_answers: int = ANSWERS,
) -> Timeline:
    """Return a timeline of named lists of answers.

    Args:
        rows: Lists of answers by name.
        events: Anything that `cerlab.evaluate` accepts.
        axis: An attribute of numbers or timestamps that places the events (default: one step
            apart).
        by: The attribute that distinguishes kinds of events (default: the type).
        label: The attribute written beside the events (default: `by`).
        shown_events: Most events to show: those that the shown answers need, and their neighbours.
        shown_answers: Most answers of each row; those that are not in every row come first.

    Raises:
        BadData: An event has no value of `axis`.

    >>> both = [ComplexEvent(0, 2, (0, 2)), ComplexEvent(1, 2, (1, 2))]
    >>> print(timeline({"ALL": both, "LAST": both[1:]}, [{"type": k} for k in "AAB"]))
          0 1 2
          A A B
    ALL   ●━━━●
            ●─●
    LAST  ○╌╌╌○
            ●─●
    Not in every row: 1 of 2 answers.
    """
    stream = io.as_stream(events)
    all_rows = tuple(_rows(rows))
    rows_of = _rows_of(all_rows)
    compared = _comparable(all_rows, rows_of).values()
    room = (max(2, shown_events), shown_answers)
    visible, positions = _selection(rows_of, len(all_rows), len(stream), room)
    ticks = _ticks(stream, positions, axis, (by, label or by))
    bars = tuple(_bars(visible, {tick.position: tick.place for tick in ticks}))
    counts = tuple(sum(n in having for having in compared) for n in range(len(all_rows)))
    common = sum(len(having) == len(all_rows) for having in compared)
    return Timeline(ticks, all_rows, bars, len(stream), len(compared), counts, common, axis, label)


def _rows(rows: Mapping[str, Iterable[Answer]] | Iterable[Row]) -> Iterable[Row]:
    if not isinstance(rows, Mapping):
        yield from rows
        return
    for name, answers in rows.items():
        distinct = {complex_event(a) if isinstance(a, Valuation) else a for a in answers}
        yield Row(name, tuple(sorted(distinct, key=by_end)), len(distinct))


def _rows_of(rows: Sequence[Row]) -> dict[ComplexEvent, frozenset[int]]:
    """Return the answers of all rows by end, each with the rows that have it."""
    rows_of: dict[ComplexEvent, set[int]] = {}
    for number, row in enumerate(rows):
        for answer in row.answers:
            rows_of.setdefault(answer, set()).add(number)
    return {answer: frozenset(rows_of[answer]) for answer in sorted(rows_of, key=by_end)}


def _comparable(
    rows: Sequence[Row], rows_of: Mapping[ComplexEvent, frozenset[int]]
) -> dict[ComplexEvent, frozenset[int]]:
    """Return the answers in the part of the stream for which every row is listed.

    If a row is not listed to its end, it is unknown whether later answers are in it.
    """
    horizons = [row.complete_before for row in rows if row.complete_before is not None]
    if len(rows) == 1 or not horizons:
        return {**rows_of}
    return {answer: having for answer, having in rows_of.items() if answer.end < min(horizons)}


def _selection(
    rows_of: Mapping[ComplexEvent, frozenset[int]], rows: int, length: int, room: tuple[int, int]
) -> tuple[dict[ComplexEvent, frozenset[int]], list[int]]:
    """Return the answers and positions to show; answers that distinguish rows come first.

    `room` is the number of events and the number of answers in each row. A row also shows the
    answers of other rows that it has. A single answer that needs more events is shown with its
    interval and its first positions.
    """
    events, answers = room
    positions: set[int] = set()
    choice: set[ComplexEvent] = set()
    shown = [0] * rows
    # a stream that fits is shown whole, so an answer never needs more room
    room_for = length if length <= events else events
    # a row with few answers shows all of them, even beside a row with many
    for number, answer in _by_interest(rows_of, rows, answers):
        own = {answer.start, answer.end, *answer.positions}
        fits = not choice or len(positions | own) <= room_for
        if shown[number] < answers and answer not in choice and fits:
            choice.add(answer)
            positions |= own
            for having in rows_of[answer]:
                shown[having] += 1
    if length > events and len(positions) > events:
        (only,) = choice
        positions = {only.start, only.end, *only.positions[: events - 2]}
    visible = {answer: having for answer, having in rows_of.items() if answer in choice}
    if not positions or (length <= events and len(visible) == len(rows_of)):
        return visible, list(range(min(length, events)))
    reach = events if len(visible) == len(rows_of) else NEIGHBOURS
    return visible, _with_neighbours(positions, length, events, reach)


def _by_interest(
    rows_of: Mapping[ComplexEvent, frozenset[int]], rows: int, answers: int
) -> Iterator[tuple[int, ComplexEvent]]:
    """Yield answers, the most interesting first, each with the number of a row that has it.

    Answers that distinguish rows come first, with a quarter of the room reserved for common ones.
    """
    of_row = [[answer for answer, having in rows_of.items() if n in having] for n in range(rows)]
    apart = [[answer for answer in own if len(rows_of[answer]) < rows] for own in of_row]
    common = [[answer for answer in own if len(rows_of[answer]) == rows] for own in of_row]
    most = answers - answers // 4
    numbers = sorted(range(rows), key=lambda n: len(of_row[n]))
    for part in ([own[:most] for own in apart], common, [own[most:] for own in apart]):
        for number in numbers:
            yield from ((number, answer) for answer in part[number])


def _with_neighbours(positions: set[int], length: int, room: int, reach: int) -> list[int]:
    """Return positions with their nearest neighbours, `room` in total."""
    region = set(positions)
    edge = sorted(region)
    for _ in range(reach):
        beside = [q for p in edge for q in (p + 1, p - 1) if 0 <= q < length and q not in region]
        # one distance at a time, so that the nearest come first
        edge = list(dict.fromkeys(beside))[: max(0, room - len(region))]
        region.update(edge)
    return sorted(region)


def _ticks(
    stream: Stream, positions: Sequence[int], axis: str | None, names: tuple[str, str]
) -> tuple[Tick, ...]:
    events = [stream[position] for position in positions]
    places = _steps(positions) if axis is None else _times(events, positions, axis)
    kinds, labels = ([_word(value_of(event, name)) for event in events] for name in names)
    return tuple(map(Tick, positions, events, places, kinds, labels))


def _word(value: Value) -> str:
    return "none" if value is None else value_in_words(value)


def _steps(positions: Sequence[int]) -> list[float]:
    """Return places one step apart, with wider gaps where events are omitted."""
    places: list[float] = []
    for before, position in zip((None, *positions), positions, strict=False):
        gap = 1.0 if before is None or position == before + 1 else 1.0 + BREAK
        places.append(places[-1] + gap if places else 0.0)
    return places


def _times(events: Sequence[Event], positions: Sequence[int], axis: str) -> list[float]:
    """Return places proportional to the times of events."""
    clock = clock_for(TimeWindow(0), TimeAxis(axis, TimeUnit.NS))
    instants: list[Instant] = [clock(e, p) for e, p in zip(events, positions, strict=True)]
    first, last = min(instants, default=0), max(instants, default=0)
    scale = (len(events) - 1) / (last - first) if last > first else 0
    return [float((instant - first) * scale) for instant in instants]


def _bars(
    rows_of: Mapping[ComplexEvent, frozenset[int]], places: Mapping[int, float]
) -> Iterable[Bar]:
    """Yield the answers from left to right, each with its track."""
    answers = sorted(rows_of, key=lambda a: (span(a, places), a.end, a.positions))
    spans = (span(answer, places) for answer in answers)
    for answer, track in zip(answers, first_fit(spans), strict=True):
        yield Bar(answer, track, rows_of[answer])


_LONG = 4
"""Longest name of a kind in a column; longer names become letters."""

_NAME = 20
"""Longest name of a row or kind, in characters; longer names are cut."""


def timeline_text(T: Drawing) -> str:
    """Return a timeline as text.

    Filled marks are answers, ``━`` marks those that distinguish rows, hollow marks those that a row
    lacks.
    """
    if T.axis is not None:
        T = _by_position(T)
    short_names, key = _names_of_kinds(T)
    labels = [short_names[tick.kind] for tick in T.ticks]
    positions = [str(tick.position) for tick in T.ticks]
    width = max(map(len, labels + positions), default=1) + 1
    names = [cut(row.name, _NAME) for row in T.rows]
    gutter = max(map(len, names), default=0) + 2
    lines = [
        " " * gutter + "".join(text.ljust(width) for text in texts).rstrip()
        for texts in (positions, labels)
    ]
    columns = _columns(T, width)
    for number, name in enumerate(names):
        for k, line in enumerate(_tracks(T, number, columns)):
            lines.append(((name if k == 0 else "").ljust(gutter) + line).rstrip())
    lines += filter(None, [key, comparison(T), extent(T)])
    return printable("\n".join(lines))


def _by_position(T: Drawing) -> Drawing:
    """Return the timeline laid out by position instead of time."""
    ticks = tuple(replace(tick, place=float(n)) for n, tick in enumerate(T.ticks))
    rows_of = {bar.answer: bar.rows for bar in T.bars}
    bars = tuple(_bars(rows_of, {tick.position: tick.place for tick in ticks}))
    return replace(T, ticks=ticks, bars=bars)


def _names_of_kinds(T: Drawing) -> tuple[dict[str, str], str]:
    """Return the names of event types in a text column, and a legend of abbreviations."""
    every = kinds(T)
    if max(map(len, every), default=0) <= _LONG:
        return {name: name for name in every}, ""
    letters = {
        name: ascii_letters[n] if n < len(ascii_letters) else "?" for n, name in enumerate(every)
    }
    return letters, ", ".join(f"{letter} = {cut(name, _NAME)}" for name, letter in letters.items())


def _columns(T: Drawing, width: int) -> dict[int, int]:
    return {tick.position: n * width for n, tick in enumerate(T.ticks)}


def _tracks(T: Drawing, row: int, columns: dict[int, int]) -> Iterable[str]:
    length = max(columns.values(), default=0) + 1
    lines = [[" "] * length for _ in range(track_count(T, row))]
    apart = telling(T)
    for bar, track in in_row(T, row):
        _draw(lines[track], bar, row in bar.rows, (bar, row) in apart, columns)
    return ("".join(line) for line in lines)


def _draw(line: list[str], bar: Bar, has: bool, different: bool, columns: dict[int, int]) -> None:
    first, last = columns[bar.answer.start], columns[bar.answer.end]
    stroke, mark = ("╌", "○") if not has else ("━", "●") if different else ("─", "●")
    line[first : last + 1] = stroke * (last - first + 1)
    line[first], line[last] = ("├", "┤") if first < last else ("│", "│")
    for position in bar.answer.positions:
        if position in columns:
            line[columns[position]] = mark


display.register(Drawing, "text/plain", timeline_text)
