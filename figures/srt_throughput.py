"""Throughput and memory of the register patterns of the SRT paper on stocks, laid out as there.

    python -m proofs_tests.benchmarks --queries srt --data stocks.stream --memory --runs 5 \\
        --prefix 40000 --format ndjson -o figures/data/srt_throughput.ndjson
    python figures/srt_throughput.py

The first command measures on the stream of the paper, and the second draws
`figures/srt_throughput.svg` from what it wrote: sequences by their length (as Figure 2 of the
paper) and by the window (as Figure 3), iterations, plain and nested (as Figure 4), and the other
operators (as Figure 5). Throughput is events per second of CPU time, with all answers listed; where
there are more than five million, and as many as 10^47, they are counted instead. Algorithm 1 of the
paper, which has one run for each match, reads as many of the first events as it can in a second:
those are the quiet ones before the market opens, so its figures are rather high. Memory is what the
run adds to a fresh process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import curves
from curves import BLUE, GREEN, HERE, ORANGE, PINK, Row
from matplotlib.axes import Axes
from matplotlib.figure import Figure

OUT = HERE / "srt_throughput.svg"

WINDOWS = (500, 1_000, 2_000, 5_000, 10_000, 30_000)
SECONDS = [f"{window / 1000:g}" for window in WINDOWS]
NUMBERS = (1, 2, 3, 4)
"""The patterns of a family, by their length: as many blocks of three or four events."""

NESTED = ((BLUE, "o"), (ORANGE, "s"), (GREEN, "^"), (PINK, "D"))
"""Colour and marker of the four nested patterns."""

Rows = dict[tuple[str, int], Row]
"""The rows by pattern and window."""


def cerlab(row: Row) -> float:
    """Events per CPU second of the compiled engine."""
    return float(row["events_per_second"])


def algorithm_1(row: Row) -> float:
    """Events per CPU second of Algorithm 1 in Python."""
    return float(row["algorithm_1_events_per_second"])


def megabytes(row: Row) -> float:
    """What the run of the compiled engine adds to its process."""
    return float(row["memory_peak"] - row["memory_loaded"]) / 1e6


def read() -> Rows:
    """The measurements."""
    return {(row["query"], row["window"]): row for row in curves.read("srt_throughput")}


def plot(
    axis: Axes,
    ticks: Sequence[str],
    rows: Sequence[Row],
    figure_of: Callable[[Row], float],
    style: dict[str, Any],
) -> None:
    """A line; hollow where the engine counted."""
    style = {"markersize": 4, "linewidth": 1.2} | style
    axis.plot(ticks, [figure_of(row) for row in rows], **style)
    if figure_of is cerlab:
        places = [n for n, row in enumerate(rows) if not row["listed"]]
        heights = [figure_of(rows[n]) for n in places]
        hollow = {"markerfacecolor": "white", "color": style["color"], "marker": style["marker"]}
        axis.plot(places, heights, linestyle="none", markersize=style["markersize"], **hollow)


ENGINE = {"color": BLUE, "marker": "o", "label": "cerlab"}
RUNS = {"color": ORANGE, "marker": "^", "linestyle": "--", "label": "Algorithm 1, in Python"}


def throughput(axis: Axes, title: str, xlabel: str, ticks: Sequence[str], rows: list[Row]) -> None:
    """A panel with both."""
    plot(axis, ticks, rows, cerlab, ENGINE)
    plot(axis, ticks, rows, algorithm_1, RUNS)
    labelled(axis, title, xlabel)


def memory(axis: Axes, title: str, xlabel: str, ticks: Sequence[str], rows: list[Row]) -> None:
    """A panel with the memory of the run."""
    plot(axis, ticks, rows, megabytes, ENGINE)
    labelled(axis, title, xlabel)
    axis.set_ylim(0, 20)
    axis.set_yticks(range(0, 21, 5))


def labelled(axis: Axes, title: str, xlabel: str) -> None:
    """Words of a panel."""
    axis.set_title(title, fontsize=9)
    axis.set_xlabel(xlabel, fontsize=8)
    axis.tick_params(labelsize=7)


def nested(axis: Axes, title: str, rows: Rows, figure_of: Callable[[Row], float]) -> None:
    """The nested iterations: a line for each length, by the window."""
    for n, (colour, marker) in zip(NUMBERS, NESTED, strict=True):
        some = [rows[f"kn_{n}", window] for window in WINDOWS]
        line = "-" if figure_of is cerlab else "--"
        style = {"color": colour, "marker": marker, "linestyle": line, "label": f"{4 * n} events"}
        style |= {"linewidth": 5.6 - 1.2 * n, "markersize": 10.5 - 2 * n}  # some lie on others
        plot(axis, SECONDS, some, figure_of, style)
    labelled(axis, title, "window, s")


def other_operators(axis: Axes, rows: Rows) -> None:
    """Points for q1 to q5: a bar on a logarithmic axis has no length to compare."""
    names = [f"q{n}" for n in range(1, 6)]
    some = [rows[name, 1_000] for name in names]
    for figure_of, style in ((cerlab, ENGINE), (algorithm_1, RUNS)):
        plot(axis, names, some, figure_of, style | {"linestyle": "none"})
    axis.margins(x=0.15)
    labelled(axis, "Other operators, 1 s (Fig. 5)", "pattern")


def lengths(rows: Rows, family: str) -> list[Row]:
    """The four patterns of a family, in the narrowest window."""
    return [rows[f"{family}_{n}", 500] for n in NUMBERS]


def draw() -> Figure:
    """All panels."""
    rows = read()
    figure = Figure(figsize=(12, 6), layout="constrained")
    rates = [figure.add_subplot(2, 4, 1)]
    rates += [figure.add_subplot(2, 4, n, sharey=rates[0]) for n in (2, 3, 4, 7, 8)]
    sequences, by_window, iterations, others, deep, deep_runs = rates
    by_length = [str(3 * n) for n in NUMBERS]
    reg, reg_1 = lengths(rows, "reg"), [rows["reg_1", window] for window in WINDOWS]
    throughput(sequences, "Sequences, 0.5 s (Fig. 2)", "events in the pattern", by_length, reg)
    throughput(by_window, "Three events (Fig. 3)", "window, s", SECONDS, reg_1)
    k = lengths(rows, "k")
    throughput(iterations, "Iterations, 0.5 s (Fig. 4)", "events in the pattern", by_length, k)
    other_operators(others, rows)
    taken = figure.add_subplot(2, 4, 5)
    memory(taken, "Sequences, 0.5 s (Fig. 2)", "events in the pattern", by_length, reg)
    more = figure.add_subplot(2, 4, 6, sharey=taken)
    memory(more, "Three events (Fig. 3)", "window, s", SECONDS, reg_1)
    nested(deep, "Nested iterations (Fig. 4), cerlab", rows, cerlab)
    nested(deep_runs, "Nested iterations, Algorithm 1", rows, algorithm_1)
    for axis in rates:
        axis.set_yscale("log")
    sequences.set_ylim(3e2, 1e8)
    sequences.set_ylabel("events/s of CPU", fontsize=8)
    deep.set_ylabel("events/s of CPU", fontsize=8)
    taken.set_ylabel("memory of the run, MB", fontsize=8)
    sequences.legend(fontsize=7, loc="center right", bbox_to_anchor=(1, 0.63))
    deep.legend(fontsize=7, loc="lower left")
    deep_runs.legend(fontsize=7, loc="upper right")
    events = next(iter(rows.values()))["events"]
    figure.suptitle(
        f"Patterns on registers, {events:,} stock events; "
        "hollow: more than 5 million answers, counted and not listed",
        fontsize=9,
    )
    return figure


def main() -> None:
    """Write the figure, the same bytes every time."""
    curves.save(draw(), OUT)


if __name__ == "__main__":
    main()
