"""Timelines with Matplotlib, to stand beside curves or to be changed by hand."""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import Any

from cerlab.errors import Unsupported
from cerlab.predicates.words import cut
from cerlab.viz.timeline.style import COLOURS, LIGHT, MARKERS, look, number_of
from cerlab.viz.timeline.value import Bar, Drawing, in_row, kinds, telling, track_count
from cerlab.viz.timeline.words import comparison, extent, row_text


def timeline_plot(T: Drawing, ax: Any = None) -> Any:
    """Draw on `ax`, or on the axes of a new figure, and return the axes.

    Rows go down from 0; events stand above them, at 1. Raises `Unsupported` without Matplotlib.
    """
    tops = list(accumulate((track_count(T, row) + 0.8 for row in range(len(T.rows))), initial=0.0))
    ax = _axes(T, tops[-1]) if ax is None else ax
    numbers = {name: number_of(name) for name in kinds(T)}
    for tick in T.ticks:
        _mark(ax, tick.place, 1, numbers[tick.kind], hollow=False)
    for row in range(len(T.rows)):
        ax.axhline(0.3 - tops[row], color=LIGHT["rule"], linewidth=0.8, zorder=0)
        for bar, track in in_row(T, row):
            _bar(ax, T, bar, row, -tops[row] - track - 0.2, numbers)
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
            "this drawing needs Matplotlib, which is not installed",
            hint="pip install 'cerlab[viz]', or take the SVG",
        ) from error
    width = 3 + 0.35 * min(24, max((tick.place for tick in T.ticks), default=0))
    figure = Figure(figsize=(width, 1.4 + 0.28 * height), layout="constrained")
    return figure.subplots()


def _bar(ax: Any, T: Drawing, bar: Bar, row: int, y: float, numbers: dict[str, int]) -> None:
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
            _arc(ax, before.place, after.place, y)
    for tick in marks:
        _mark(ax, tick.place, y, numbers[tick.kind], hollow=not has)


def _arc(ax: Any, left: float, right: float, y: float) -> None:
    """From one mark to the next, higher if they are farther apart."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    top = y + min(0.7, 0.2 + (right - left) / 4)
    bow = Path([(left, y), ((left + right) / 2, top), (right, y)], [1, 3, 3])
    ax.add_patch(PathPatch(bow, fill=False, edgecolor=LIGHT["soft"], linewidth=1.1, zorder=2))


def _mark(ax: Any, x: float, y: float, kind: int, *, hollow: bool) -> None:
    shape, colour = look(kind)
    face = "none" if hollow else COLOURS[colour]
    edge = LIGHT["line"] if hollow else LIGHT["ink"]
    ax.plot(
        [x], [y], MARKERS[shape],
        markersize=6, markerfacecolor=face, markeredgecolor=edge, markeredgewidth=0.7, zorder=3,
    )  # fmt: skip


def _labels(ax: Any, T: Drawing, tops: list[float]) -> None:
    """Rows by name on the left, positions below, what is left out as the title."""
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
    """Text that Matplotlib does not read as mathematics."""
    return text.replace("$", r"\$")
