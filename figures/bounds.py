"""The bounds of the papers as operations counted over growing families, beside the theorems' lines.

    python -m proofs_tests.complexity.bounds && python figures/bounds.py

reads `data/bounds.ndjson` and writes `bounds.svg`. A power is a line where both axes are
logarithmic, an exponential one where only that of the counts is. The line of a theorem, dashed,
goes through the first count. Under each panel stand the fitted slope, with its 95 % confidence, and
that of the theorem.
"""

from __future__ import annotations

from math import log2
from pathlib import Path
from textwrap import fill

from curves import BLUE, GRAY, read, save
from matplotlib.figure import Figure

OUT = Path(__file__).with_suffix(".svg")
COLUMNS = 5
WIDTH = 32
"""Characters of a title or a label in a line, lest it run into the next panel."""


def draw() -> Figure:
    """A panel for each bound."""
    rows = read("bounds")
    height = -(-len(rows) // COLUMNS)
    figure = Figure(figsize=(2.4 * COLUMNS, 2.6 * height), layout="constrained")
    figure.suptitle(
        "Operations counted (solid) beside the line of the theorem (dashed)", fontsize=10
    )
    axes = figure.subplots(height, COLUMNS).flat
    for axis, row in zip(axes, rows, strict=False):
        sizes, counts = row["sizes"], row["counts"]
        at = row["at"]
        line = [counts[0] * 2 ** (row["slope"] * (x - at[0])) for x in at]
        if at == [round(log2(n), 3) for n in sizes]:
            axis.set_xscale("log", base=2)
        axis.set_yscale("log", base=2)
        axis.set_ylim(0.7 * min(counts), 4 * max(counts))
        axis.plot(sizes, line, color=GRAY, linestyle="--", linewidth=1)
        axis.plot(sizes, counts, marker="o", markersize=3, linewidth=1, color=BLUE)
        axis.set_title(f"{row['key']}\n{fill(row['says'], WIDTH)}", fontsize=8)
        fitted = f"{row['fitted']:.2f} ± {row['within']:.2f}, theorem {row['slope']:.2f}"
        axis.set_xlabel(f"{fill(row['family'], WIDTH)}\nslope {fitted}", fontsize=7)
        axis.tick_params(labelsize=7)
    for axis in list(figure.axes)[len(rows) :]:
        axis.set_axis_off()
    return figure


def main() -> None:
    """Write the figure, the same bytes every time."""
    save(draw(), OUT)


if __name__ == "__main__":
    main()
