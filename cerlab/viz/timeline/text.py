"""Timelines as text: a column for each event, a line for each track."""

from __future__ import annotations

from collections.abc import Iterable
from string import ascii_letters

from cerlab import display
from cerlab.predicates.words import cut
from cerlab.viz.timeline.value import Bar, Drawing, in_row, kinds, telling, track_count
from cerlab.viz.timeline.words import comparison, extent

_LONG = 4
"""Kinds with longer names are shown as letters."""

_NAME = 20


def timeline_text(T: Drawing) -> str:
    """Filled marks are answers, ``━`` what tells rows apart, hollow marks what a row lacks."""
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
    return "\n".join(lines)


def _names_of_kinds(T: Drawing) -> tuple[dict[str, str], str]:
    """What each kind is called in a column, and the key to that if it is needed."""
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
