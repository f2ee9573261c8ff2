"""Timelines as SVG documents and as Matplotlib plots; equal timelines have equal bytes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

from cerlab import display
from cerlab.errors import Unsupported
from cerlab.model.event import value_of
from cerlab.predicates.text import answer_text, count_text, cut, event_text
from cerlab.viz.html import block, escape
from cerlab.viz.timeline_value import (
    COLOURS,
    LIGHT,
    MARKERS,
    Bar,
    Drawing,
    Tick,
    comparison,
    description,
    extent,
    glyph,
    in_row,
    kinds,
    look,
    number_of,
    row_text,
    style,
    telling,
    track_count,
)

PLOT = 680
"""Width available to the axis, in pixels."""

STEP = 46
"""Distance of events in pixels, if there is room and no label is wider."""

TRACK = 24

HEAD = 66

AXIS = 34

MARGIN = 14

LEAST = 0.87
"""Smallest scale of a timeline in a narrow page; below, it scrolls."""

CHARACTER = 6.6
"""Assumed width of a character of 12 pixels."""

CAPITAL = 8.4
"""Assumed width of a capital of 12 pixels: names of types often consist of capitals."""


@dataclass(frozen=True, slots=True)
class _Sheet:
    """The geometry of a timeline in pixels, and the numbers of event types."""

    T: Drawing
    left: float
    step: float
    kinds: dict[str, int]
    ticks: dict[int, Tick]
    telling: frozenset[tuple[Bar, int]]

    def x(self, tick: Tick) -> float:
        return self.left + self.step * tick.place

    def top(self, row: int) -> float:
        return HEAD + sum(TRACK * track_count(self.T, above) + 24 for above in range(row))

    def middle(self, row: int, track: int) -> float:
        return self.top(row) + 12 + TRACK * (track + 0.5)

    @property
    def right(self) -> float:
        half = [_width(cut(tick.label, 12)) / 2 for tick in sorted(self.T.ticks, key=self.x)[-1:]]
        return max(map(self.x, self.T.ticks), default=self.left) + max(MARGIN, *half, 0) + 4

    def mark(self, tick: Tick, y: float, state: str = "on") -> str:
        scale = "" if self.step >= 11 else _n(max(0.5, self.step / 11))
        return glyph(self.kinds[tick.kind], _n(self.x(tick)), _n(y), state, scale)


def timeline_svg(T: Drawing, theme: str = "auto") -> str:
    """Return a timeline as an SVG document; raises `UsageError` for an unknown theme."""
    sheet = _sheet(T)
    foot = list(filter(None, [comparison(T), extent(T)]))
    key, lines, right = _legend(sheet)
    below = sheet.top(len(T.rows)) + 22 + 20 * lines
    height = _n(below + 16 * len(foot))
    width = _n(max(sheet.right, right, 320, *(CHARACTER * len(line) + 2 * MARGIN for line in foot)))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" class="cerlab-timeline"'
        f' width="{width}" height="{height}" viewBox="0 0 {width} {height}">',
        f"<title>{escape(_title(T))}</title>",
        f"<desc>{escape(description(T))}</desc>",
        f"<style>{style(theme)}</style>",
        *_axis(sheet),
        *(line for row in range(len(T.rows)) for line in _row(sheet, row)),
        *key,
        *(_text(MARGIN, below + 16 * n, line, "small") for n, line in enumerate(foot)),
    ]
    return "\n".join([*parts, "</svg>", ""])


def _sheet(T: Drawing) -> _Sheet:
    names = [max(1.12 * len(row.name), 0.95 * len(row_text(T, n))) for n, row in enumerate(T.rows)]
    left = MARGIN + min(200.0, CHARACTER * max(names, default=4)) + 32
    span = max((tick.place for tick in T.ticks), default=0)
    ticks = {tick.position: tick for tick in T.ticks}
    numbers = {name: number_of(name) for name in kinds(T)}
    labels = [_width(cut(tick.label, 12)) for tick in T.ticks]
    step = min(max(STEP, 6 + max(labels, default=0)), PLOT / max(span, 1))
    return _Sheet(T, left, step, numbers, ticks, telling(T))


def _title(T: Drawing) -> str:
    return f"Timeline: {', '.join(cut(row.name, 40) for row in T.rows) or 'events'}"


def _axis(sheet: _Sheet) -> Iterable[str]:
    """Yield SVG for the events on their axis, with labels and positions where there is room."""
    T = sheet.T
    if not T.ticks:
        yield _text(MARGIN, AXIS, "no events", "small")
        return
    above = [cut(tick.label, 12) for tick in T.ticks]
    if len(_fitting(sheet, above)) < len(above):
        above = [""] * len(above)
    elif T.label:
        yield _text(MARGIN, AXIS - 12, cut(T.label, 20), "small")
    yield _text(MARGIN, AXIS + 21, f"by {cut(T.axis, 20)}" if T.axis else "position", "small")
    yield f'<path d="M{_n(sheet.left)} {AXIS}H{_n(max(map(sheet.x, T.ticks)))}"/>'
    yield from _breaks(sheet)
    below = [_place_text(T, tick) for tick in T.ticks]
    fitting = _fitting(sheet, below)
    positions = {p for bar in T.bars for p in bar.answer.positions}
    for n, tick in enumerate(T.ticks):
        under = below[n] if n in fitting else ""
        yield from _event(sheet, tick, above[n], under, guide=tick.position in positions)


def _event(sheet: _Sheet, tick: Tick, above: str, below: str, *, guide: bool) -> Iterable[str]:
    x = sheet.x(tick)
    title = escape(f"{tick.position}: {event_text(tick.event)}")
    yield f'<g class="event" data-position="{tick.position}"><title>{title}</title>'
    if guide:
        bottom = sheet.top(len(sheet.T.rows)) - 6
        yield f'<path class="guide" d="M{_n(x)} {AXIS + 26}V{_n(bottom)}"/>'
    yield sheet.mark(tick, AXIS)
    if above:
        yield _text(x, AXIS - 12, above, "mid")
    if below:
        yield _text(x, AXIS + 21, below, "mid small")
    yield "</g>"


def _place_text(T: Drawing, tick: Tick) -> str:
    return str(tick.position) if T.axis is None else cut(str(value_of(tick.event, T.axis)), 24)


def _breaks(sheet: _Sheet) -> Iterable[str]:
    """Yield SVG for the breaks of the axis where events are omitted."""
    ticks = sheet.T.ticks
    for before, after in pairwise(ticks):
        left_out = after.position - before.position - 1
        if left_out and sheet.T.axis is None:
            x = (sheet.x(before) + sheet.x(after)) / 2
            title = f"{count_text(left_out, 'event')} not shown"
            d = f"M{_n(x - 5)} {AXIS + 5}l5 -10m5 0l-5 10"
            yield f'<path class="break" d="{d}"><title>{title}</title></path>'


def _fitting(sheet: _Sheet, texts: list[str]) -> frozenset[int]:
    """Return the indices of texts that fit side by side above the axis, from the left."""
    free = float("-inf")
    fits = set()
    for n, (tick, text) in enumerate(zip(sheet.T.ticks, texts, strict=True)):
        half = _width(text) / 2 + 2
        if sheet.x(tick) - half >= free:
            fits.add(n)
            free = sheet.x(tick) + half
    return frozenset(fits)


def _row(sheet: _Sheet, row: int) -> Iterable[str]:
    T, top = sheet.T, sheet.top(row)
    yield f'<g class="row" data-row="{row}">'
    yield f'<path class="rule" d="M{MARGIN} {_n(top)}H{_n(sheet.right)}"/>'
    yield _text(MARGIN, top + 26, cut(T.rows[row].name, 28), "name")
    yield _text(MARGIN, top + 41, row_text(T, row), "small")
    for bar, track in in_row(T, row):
        yield from _bar(sheet, bar, row, track)
    yield "</g>"


def _bar(sheet: _Sheet, bar: Bar, row: int, track: int) -> Iterable[str]:
    """Yield SVG for an answer in a row, or for the outline of an answer that the row lacks."""
    answer, has, different = bar.answer, row in bar.rows, (bar, row) in sheet.telling
    start, end = (sheet.x(sheet.ticks[p]) for p in (answer.start, answer.end))
    y = sheet.middle(row, track)
    kind = "ghost" if not has else "answer differs" if different else "answer"
    words = answer_text(answer) + ("" if has else ": lacking here")
    yield (
        f'<g class="{kind}" data-start="{answer.start}" data-end="{answer.end}"'
        f' data-positions="{" ".join(map(str, answer.positions))}"><title>{words}</title>'
    )
    if different:
        yield _pill(min(start, end) - 9, y - 10, abs(end - start) + 18, 20)
    bare = {answer.start: start, answer.end: end}.items()
    ends = "".join(f"M{_n(x)} {_n(y - 4)}v8" for p, x in bare if p not in answer.positions)
    yield f'<path class="interval" d="M{_n(start)} {_n(y)}H{_n(end)}{ends}"/>'
    marks = [sheet.ticks[p] for p in answer.positions if p in sheet.ticks]
    if has and len(marks) > 1:
        xs = map(sheet.x, marks)
        arcs = "".join(_arc(left, right, y) for left, right in pairwise(xs))
        yield f'<path class="arc" d="{arcs}"/>'
    yield from (sheet.mark(tick, y, "on" if has else "off") for tick in marks)
    yield "</g>"


def _arc(left: float, right: float, y: float) -> str:
    rise = min(17.0, 4 + abs(right - left) / 6)
    return f"M{_n(left)} {_n(y)}Q{_n((left + right) / 2)} {_n(y - rise)} {_n(right)} {_n(y)}"


def _pill(x: float, y: float, width: float, height: float) -> str:
    return (
        f'<rect class="pill" x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}"'
        f' rx="{_n(height / 2)}"/>'
    )


def _legend(sheet: _Sheet) -> tuple[list[str], int, float]:
    """Return the legend as SVG, its number of lines, and its width."""
    T, top = sheet.T, sheet.top(len(sheet.T.rows))
    entries = [(cut(name, 28), glyph(n, "0", "0", "on")) for name, n in sheet.kinds.items()]
    if sheet.telling:
        entries.append(("in some rows only", _pill(-8, -7, 18, 14)))
    if any(row not in bar.rows for row in range(len(T.rows)) for bar, _ in in_row(T, row)):
        lacking = '<g class="ghost"><path class="interval" d="M-8 0h18"/></g>'
        entries.append(("lacking in this row", lacking))
    parts = [f'<path class="rule" d="M{MARGIN} {_n(top)}H{_n(sheet.right)}"/>'] if T.rows else []
    x, line, right = MARGIN + 6.0, 0, 0.0
    for text, sample in entries:
        width = 40 + (CHARACTER + 0.8) * len(text)
        if x > MARGIN + 6 and x + width > max(sheet.right, 480):
            x, line = MARGIN + 6.0, line + 1
        place = f"translate({_n(x)} {_n(top + 18 + 20 * line)})"
        parts.append(f'<g class="key" transform="{place}">{sample}{_text(15, 4, text)}</g>')
        x += width
        right = max(right, x)
    return parts, line + 1 if entries else 0, right


def _text(x: float, y: float, text: str, kind: str = "") -> str:
    attribute = f' class="{kind}"' if kind else ""
    return f'<text{attribute} x="{_n(x)}" y="{_n(y)}">{escape(text)}</text>'


def _width(text: str) -> float:
    """Return the estimated width of a text of 12 pixels."""
    return sum(CAPITAL if letter.isupper() else CHARACTER for letter in text)


def _n(value: float) -> str:
    """Return a length as text, rounded to hundredths."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def within_page(T: Drawing) -> str:
    """Return a timeline as SVG that scales with the page, but not below a readable size."""
    svg = timeline_svg(T)
    width = float(svg.split(' width="', 1)[1].split('"', 1)[0])
    return svg.replace("<svg ", f'<svg style="min-width:{LEAST * width:.0f}px" ', 1)


def _html(T: Drawing) -> str:
    """Return a timeline as HTML in the theme of the page."""
    return block(within_page(T))


display.register(Drawing, "image/svg+xml", timeline_svg)
display.register(Drawing, "text/html", _html)


def timeline_plot(T: Drawing, ax: Any = None) -> Any:
    """Draw a timeline on `ax`, or on new axes; return the axes.

    Rows go down from 0; events are above them, at 1. Raises `Unsupported` without Matplotlib.
    """
    tops = list(accumulate((track_count(T, row) + 0.8 for row in range(len(T.rows))), initial=0.0))
    ax = _axes(T, tops[-1]) if ax is None else ax
    numbers = {name: number_of(name) for name in kinds(T)}
    for tick in T.ticks:
        _mark(ax, tick.place, 1, numbers[tick.kind], hollow=False)
    for row in range(len(T.rows)):
        ax.axhline(0.3 - tops[row], color=LIGHT["rule"], linewidth=0.8, zorder=0)
        for bar, track in in_row(T, row):
            _plot_bar(ax, T, bar, row, -tops[row] - track - 0.2, numbers)
    _labels(ax, T, tops)
    for name, n in numbers.items():
        shape, colour = look(n)
        ax.plot([], [], MARKERS[shape], color=COLOURS[colour], label=_plain(cut(name, 28)))
    if numbers:
        ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False)
    return ax


def _axes(T: Drawing, height: float) -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise Unsupported(
            "CER0499",
            "drawing needs Matplotlib, which is not installed",
            hint="pip install 'cerlab[viz]', or use the SVG",
        ) from error
    width = 3 + 0.35 * min(24, max((tick.place for tick in T.ticks), default=0))
    figure = Figure(figsize=(width, 1.4 + 0.28 * height), layout="constrained")
    return figure.subplots()


def _plot_bar(ax: Any, T: Drawing, bar: Bar, row: int, y: float, numbers: dict[str, int]) -> None:
    ticks = {tick.position: tick for tick in T.ticks}
    answer, has = bar.answer, row in bar.rows
    start, end = (ticks[p].place for p in (answer.start, answer.end))
    if (bar, row) in telling(T):
        ax.plot(
            [start, end],
            [y, y],
            color=LIGHT["pill"],
            linewidth=11,
            solid_capstyle="round",
            zorder=1,
        )
    line = {"color": LIGHT["line"], "linewidth": 1, "linestyle": "-" if has else ":"}
    ax.plot([start, end], [y, y], zorder=2, **line)
    marks = [ticks[position] for position in answer.positions if position in ticks]
    if has:
        for before, after in pairwise(marks):
            _plot_arc(ax, before.place, after.place, y)
    for tick in marks:
        _mark(ax, tick.place, y, numbers[tick.kind], hollow=not has)


def _plot_arc(ax: Any, left: float, right: float, y: float) -> None:
    """Draw an arc between two events, higher for larger distances."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    top = y + min(0.7, 0.2 + abs(right - left) / 4)
    bow = Path([(left, y), ((left + right) / 2, top), (right, y)], [1, 3, 3])
    ax.add_patch(PathPatch(bow, fill=False, edgecolor=LIGHT["soft"], linewidth=1.1, zorder=2))


def _mark(ax: Any, x: float, y: float, kind: int, *, hollow: bool) -> None:
    shape, colour = look(kind)
    face = "none" if hollow else COLOURS[colour]
    edge = LIGHT["line"] if hollow else LIGHT["ink"]
    ax.plot(
        [x], [y], MARKERS[shape],
        markersize=6, markerfacecolor=face, markeredgecolor=edge, markeredgewidth=0.7, zorder=3,
    )  # fmt: skip # one argument per line would take three times as many lines


def _labels(ax: Any, T: Drawing, tops: list[float]) -> None:
    """Write the names of rows, the positions, and a title about the omitted part."""
    middles = [-tops[row] - (track_count(T, row) - 1) / 2 - 0.2 for row in range(len(T.rows))]
    names = [f"{_plain(cut(row.name, 28))}\n{row_text(T, n)}" for n, row in enumerate(T.rows)]
    ax.set_yticks([1, *middles], ["events", *names])
    step = max(1, -(-len(T.ticks) // 24))
    some = T.ticks[::step]
    ax.set_xticks([tick.place for tick in some], [str(tick.position) for tick in some])
    ax.set_xlabel(
        "position" if T.axis is None else f"position, placed by {_plain(cut(T.axis, 20))}"
    )
    ax.set_ylim(-max(1.8, tops[-1]) + 0.2, 1.7)
    ax.tick_params(length=0)
    for side in ("left", "right", "top"):
        ax.spines[side].set_visible(False)
    if title := "\n".join(filter(None, [comparison(T), extent(T)])):
        ax.set_title(title, fontsize="small", loc="left")


def _plain(text: str) -> str:
    """Return a text that Matplotlib does not read as a formula."""
    return text.replace("$", r"\$")
