"""Throughput and memory on the queries of the CORE paper, laid out as there.

    python -m proofs_tests.benchmarks --stream all --queries figures --decoy --memory \\
        --format ndjson -o figures/data/core_throughput.ndjson
    python figures/core_throughput.py

The first command measures on the synthetic streams, begun with the event that queries without
output wait for, so that no engine sees that it never occurs (add ``--against pycer`` for CORE);
the second draws `figures/core_throughput.svg` from what it wrote: sequences by their length with
and without output (as Figure 7 of the paper), by the window, also under a selection strategy (as
Figures 8 and 11), and the other operators (as Figure 9). Throughput is events per second of CPU
time; with output, the first 1000 answers of each event are listed and then all is consumed. The
ceiling is the predicate stage, which any exact engine pays, measured in the same run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import curves
from curves import HERE, Row
from matplotlib.axes import Axes
from matplotlib.figure import Figure

OUT = HERE / "core_throughput.svg"

STREAMS = {"stocks": ("Stock market", "S"), "homes": ("Smart homes", "H"), "taxi": ("Taxi", "T")}
LENGTHS = (3, 6, 9, 12, 24)
GRAY = "#e6e6e6"

Rows = dict[tuple[str, str], Row]
"""The rows by stream and name of the query."""


def cerlab(row: Row) -> float:
    """Events per CPU second of the compiled engine."""
    return float(row["events_per_second"])


def ceiling(row: Row) -> float:
    """Events per CPU second of the predicate stage alone."""
    return float(row["events_per_second"] / row["of_predicate_stage"])


def core(row: Row) -> float | None:
    """Events per CPU second of CORE through its Python package, if it was measured."""
    cpu = row.get("pycer_cpu")
    return None if cpu is None else float(row["events"] / cpu)


SERIES: dict[str, tuple[Callable[[Row], float | None], str, str]] = {
    "predicate stage": (ceiling, "#999999", ":"),
    "cerlab": (cerlab, "#0072B2", "-"),
    "CORE (pycer)": (core, "#E69F00", "-"),
}
"""What is drawn: its figure for a row, colour and line."""


def read() -> Rows:
    """The measurements."""
    return {(row["stream"], row["query"]): row for row in curves.read("core_throughput")}


def plot(axis: Axes, xs: Sequence[object], rows: Sequence[Row]) -> None:
    """One line for each series that has figures."""
    for name, (figure_of, colour, line) in SERIES.items():
        heights = [figure_of(row) for row in rows]
        if all(heights):
            ticks = [str(x) for x in xs]
            axis.plot(ticks, heights, line, marker="o", markersize=3, color=colour, label=name)
    axis.set_yscale("log")
    axis.tick_params(labelsize=7)


def by_length(axes: Any, rows: Rows) -> None:
    """Two rows of panels: throughput, and memory; without output in gray."""
    for k, (stream, (title, letter)) in enumerate(STREAMS.items()):
        for column, form in ((k, " ANY 1000"), (k + 3, "'")):
            some = [rows[stream, f"{letter}{n}{form}"] for n in LENGTHS]
            throughput, memory = axes[:, column]
            plot(throughput, LENGTHS, some)
            taken = [row["memory_peak"] / 1e6 for row in some]
            memory.plot([str(n) for n in LENGTHS], taken, marker="o", markersize=3, color="#0072B2")
            memory.tick_params(labelsize=7)
            memory.set_xlabel("length n", fontsize=8)
            throughput.set_title(title, fontsize=9)
            if column >= len(STREAMS):
                throughput.set_facecolor(GRAY)
                memory.set_facecolor(GRAY)
    axes[1, 0].set_ylim(0, 1.3 * max(row["memory_peak"] / 1e6 for row in rows.values()))
    axes[0, 0].set_ylabel("events/s of CPU", fontsize=8)
    axes[1, 0].set_ylabel("peak memory, MB", fontsize=8)
    axes[0, 0].legend(fontsize=6)


def by_window(axes: Any, rows: Rows) -> None:
    """A panel for each stream: the sequence of three without output in wider windows."""
    wide = ("T", "2T", "3T", "4T")
    for axis, (stream, (title, letter)) in zip(axes, STREAMS.items(), strict=True):
        names = [f"{letter}3'", *(f"{letter}3' x{k}" for k in (2, 3, 4))]
        plot(axis, wide, [rows[stream, name] for name in names])
        last = [cerlab(rows[stream, f"{name} LAST"]) for name in names]
        _, colour, _ = SERIES["cerlab"]
        axis.plot(wide, last, "--", marker="s", markersize=3, color=colour, label="cerlab, LAST")
        axis.set_title(title, fontsize=9)
        axis.set_xlabel("window", fontsize=8)
    axes[0].set_ylabel("events/s of CPU", fontsize=8)
    axes[0].legend(fontsize=6)


def other_operators(axis: Axes, rows: Rows) -> None:
    """Points for Q1 to Q7 on stocks: a bar on a logarithmic axis has no length to compare."""
    names = [f"Q{n}" for n in range(1, 8)]
    some = [rows["stocks", f"{name} ANY 1000"] for name in names]
    for k, (name, (figure_of, colour, _)) in enumerate(SERIES.items()):
        heights = [figure_of(row) for row in some]
        if all(heights):
            places = [n + 0.15 * (k - 1) for n in range(len(names))]
            axis.plot(places, heights, "soD"[k], markersize=5, color=colour, label=name)
    axis.grid(axis="x", color=GRAY)
    axis.set_yscale("log")
    axis.set_xticks(range(len(names)), names)
    axis.tick_params(labelsize=7)
    axis.set_title("Other operators, stock market", fontsize=9)
    axis.set_ylim(top=10 * axis.get_ylim()[1])
    axis.legend(fontsize=6, ncols=3)


def draw() -> Figure:
    """All panels."""
    rows = read()
    figure = Figure(figsize=(12, 9), layout="constrained")
    lengths, others = figure.subfigures(2, 1, height_ratios=[1.35, 1])
    events = max(row["events"] for row in rows.values())
    lengths.suptitle(
        f"Sequences by length, with output (white) and without (gray); {events:,} events",
        fontsize=9,
    )
    by_length(lengths.subplots(2, 2 * len(STREAMS), sharey="row"), rows)
    windows, operators = others.subfigures(1, 2, width_ratios=[1.4, 1])
    windows.suptitle("Three events without output, by window", fontsize=9)
    by_window(windows.subplots(1, len(STREAMS), sharey=True), rows)
    other_operators(operators.subplots(), rows)
    return figure


def main() -> None:
    """Write the figure, the same bytes every time."""
    curves.save(draw(), OUT)


if __name__ == "__main__":
    main()
