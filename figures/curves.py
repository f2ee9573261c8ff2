"""What the programs that draw measured curves have in common; it draws nothing itself."""

from __future__ import annotations

import json
import re
from io import StringIO
from pathlib import Path
from typing import Any, TypeAlias

import matplotlib as mpl
from matplotlib.figure import Figure

from cerlab.io.output import whole_text

HERE = Path(__file__).parent

BLUE, ORANGE, GREEN, PINK, GRAY = "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#999999"
"""Colours that are told apart with every kind of sight."""

Row: TypeAlias = dict[str, Any]
"""A measurement, as `python -m proofs_tests.benchmarks --format ndjson` writes it."""


def read(name: str) -> list[Row]:
    """The measurements in `data/`."""
    lines = (HERE / "data" / f"{name}.ndjson").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def save(figure: Figure, out: Path) -> None:
    """Write a figure as SVG, the same bytes every time."""
    drawn = StringIO()
    with mpl.rc_context({"svg.hashsalt": "cerlab", "svg.fonttype": "none"}):
        settled(figure).savefig(drawn, format="svg", metadata={"Date": None})
    svg = re.sub(r"(?<=[ \"])-0(?=[ \"])", "0", drawn.getvalue())  # one zero, not two
    names = dict.fromkeys(re.findall(r'<clipPath id="(\w+)"', svg))  # digests of exact places
    for n, name in enumerate(names):
        svg = svg.replace(name, f"clip{n}")
    with whole_text(out) as file:
        file.write(svg)


def settled(figure: Figure) -> Figure:
    """The figure with its layout rounded: the solver's last digits differ from run to run."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for axis in figure.get_axes():
        axis.set_position([round(side, 4) for side in axis.get_position().bounds])
    return figure
