"""Throughput of the queries of the FOUND paper on its two random streams, and with consumption.

    python -m proofs_tests.benchmarks --queries foundations --events 1000000 --runs 5 \\
        --format ndjson -o figures/data/foundations_throughput.ndjson
    python figures/foundations_throughput.py

The first command measures, and the second draws `figures/foundations_throughput.svg` from what it
wrote: the queries of Table 1 under selection strategies on S1 and S2 (as Figure 5 of the paper),
and CPU seconds on a million events where each answer consumes all that was read (as Table 2). With
strategies the events are processed and the answers are not listed: their positions are not bounded
by the length of the query. With consumption all answers are listed; above the points is how many
there were each time, and in brackets what the paper says: for Q4 to Q6 that mean depends on the few
longest iterations of a stream, so no two streams have the same.
"""

from __future__ import annotations

import curves
from curves import BLUE, GRAY, GREEN, HERE, ORANGE, Row
from matplotlib.axes import Axes
from matplotlib.figure import Figure

OUT = HERE / "foundations_throughput.svg"

QUERIES = [f"Q{n}" for n in range(1, 7)]
STREAMS = {"S1": "S1: all types alike", "S2": "S2: A to E as 4 : 3 : 2 : 1 : 2"}
STRATEGIES = {
    None: (GRAY, "", "no strategy"),
    "LAST": (BLUE, "", "LAST"),
    "MAX": (ORANGE, "////", "MAX"),
    "NEXT": (GREEN, "....", "NEXT"),
}
"""Colour, hatch and label of the bars."""


def strategies(axis: Axes, stream: str, rows: list[Row]) -> None:
    """Bars for each query on a stream."""
    for k, (strategy, (colour, hatch, label)) in enumerate(STRATEGIES.items()):
        rates = {
            row["query"]: row["events_per_second"] / 1e6
            for row in rows
            if row["stream"] == stream and "strategy" in row and row["strategy"] == strategy
        }
        places = [n + 0.2 * (k - 1.5) for n in range(len(QUERIES))]
        heights = [rates[query] for query in QUERIES]
        bar = {"color": colour, "hatch": hatch, "edgecolor": "white", "linewidth": 0}
        axis.bar(places, heights, width=0.19, label=label, **bar)
    labelled(axis, STREAMS[stream])


def consumption(axis: Axes, rows: list[Row]) -> None:
    """Points of seconds, as a bar on a logarithmic axis has no length to compare; with answers."""
    found = {row["query"]: row for row in rows if "seconds" in row}
    heights = [found[query]["seconds"] for query in QUERIES]
    axis.plot(range(len(QUERIES)), heights, "o", color=BLUE)
    axis.set_yscale("log")
    axis.set_ylim(min(heights) / 3, max(heights) * 5)
    for n, query in enumerate(QUERIES):
        row = found[query]
        told = f"{row['per_end']:.3g}\n({row['paper_per_end']})"
        axis.text(n, 1.3 * heights[n], told, ha="center", va="bottom", fontsize=7)
    labelled(axis, "All answers, with CONSUME BY ANY")
    axis.set_xlabel("above: answers each time (in the paper)", fontsize=8)
    axis.set_ylabel("CPU seconds", fontsize=8)


def labelled(axis: Axes, title: str) -> None:
    """Words of a panel."""
    axis.set_xticks(range(len(QUERIES)), QUERIES)
    axis.set_title(title, fontsize=9)
    axis.tick_params(labelsize=7)


def draw() -> Figure:
    """All panels."""
    rows = curves.read("foundations_throughput")
    figure = Figure(figsize=(12, 3.4), layout="constrained")
    first, second, third = figure.subplots(1, 3)
    second.sharey(first)
    for axis, stream in zip((first, second), STREAMS, strict=True):
        strategies(axis, stream, rows)
    first.set_ylim(0, 1.3 * max(row.get("events_per_second", 0) for row in rows) / 1e6)
    first.set_ylabel("million events/s of CPU, without output", fontsize=8)
    first.legend(fontsize=7, ncols=4, loc="upper center")
    consumption(third, rows)
    events = rows[0]["events"]
    title = f"{events:,} random events: selection strategies (Fig. 5), and consumption (Table 2)"
    figure.suptitle(title, fontsize=9)
    return figure


def main() -> None:
    """Write the figure, the same bytes every time."""
    curves.save(draw(), OUT)


if __name__ == "__main__":
    main()
