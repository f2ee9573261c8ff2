"""Sizes of automata as the theorems say, measured and plotted (CORE Thm. 2; FOUND Thm. 4).

    python figures/automata_sizes.py

writes `figures/automata_sizes.svg`: for the families of the papers, the states of the CEA of a
formula (linear), of STRICT (at most twice as many before determinisation), and of the machines of
NEXT, LAST and MAX that streams reach (at most exponential); and transitions, which are quadratic
for a sequence of two choices (erratum E10) and linear with empty moves.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from cerlab.api import parse_formula
from cerlab.automata.strategy import StrategyCea
from cerlab.compile.cel_to_vcea import cel_to_vcea, vcea_to_cea
from cerlab.compile.foundations import focel_to_epsilon_cea
from cerlab.io.output import whole_file
from cerlab.model.clauses import Strategy
from cerlab.predicates.minterms import minterms
from cerlab.theorems.foundations import reachable_states

OUT = Path(__file__).with_suffix(".svg")
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#000000")
MARKERS = ("-o", "-s", "-^", "-D", "-v")
WIDTHS = (4.5, 1.8, 3.4, 1.6, 1.0)
"""STRICT may lie on the CEA, and MAX on NEXT, so these are thinner."""


def sequence(n: int) -> str:
    """``T1 ; T2 ; .. ; Tn``."""
    return " ; ".join(f"T{k}" for k in range(1, n + 1))


def iterations(n: int) -> str:
    """``T1+ ; T2+ ; .. ; Tn+``."""
    return " ; ".join(f"T{k}+" for k in range(1, n + 1))


def nested(n: int) -> str:
    """``((T1+ ; T2)+ ; T3)+ ..``, n iterations inside each other."""
    text = "T1+"
    for k in range(2, n + 1):
        text = f"({text} ; T{k})+"
    return text


def choices(k: int) -> str:
    """``(T1 OR .. OR Tk) ; (T1 OR .. OR Tk)``."""
    one = "(" + " OR ".join(f"T{i}" for i in range(1, k + 1)) + ")"
    return f"{one} ; {one}"


def states(text: str, strategy: Strategy | None) -> int:
    """States of the CEA, or of a strategy's machine, idle states included."""
    cea = vcea_to_cea(cel_to_vcea(parse_formula(text)))
    if strategy is None:
        return cea.states
    machine = StrategyCea(cea, strategy)
    return reachable_states(machine, [m.symbol for m in minterms(machine.predicates)])


FAMILIES: dict[str, tuple[Callable[[int], str], range]] = {
    "T1 ; .. ; Tn": (sequence, range(1, 9)),
    "T1+ ; .. ; Tn+": (iterations, range(1, 6)),
    "((T1+ ; T2)+ ; ..)+": (nested, range(1, 6)),
}


def draw() -> Figure:
    """The four panels."""
    figure = Figure(figsize=(11, 3.2), layout="constrained")
    figure.suptitle("Automata by the size of a formula; lines that coincide lie one on another")
    axes = figure.subplots(1, len(FAMILIES) + 1)
    for axis, (name, (family, sizes)) in zip(axes, FAMILIES.items(), strict=False):
        for k, strategy in enumerate((None, *Strategy)):
            made = [states(family(n), strategy) for n in sizes]
            label = "CEA" if strategy is None else strategy.value
            line = {"color": COLOURS[k], "linewidth": WIDTHS[k], "markersize": 1.6 * WIDTHS[k] + 1}
            axis.plot(list(sizes), made, MARKERS[k], label=label, **line)
        axis.set_yscale("log")
        axis.set_title(name, fontsize=9)
        axis.set_xlabel("n")
    axes[0].set_ylabel("states")
    axes[0].legend(fontsize=7)
    last, widths = axes[-1], (2, 4, 8, 16)
    plain = [len(cel_to_vcea(parse_formula(choices(k))).Delta) for k in widths]
    empty = []
    for k in widths:
        A = focel_to_epsilon_cea(parse_formula(choices(k)))
        empty.append(len(A.Delta) + len(A.moves))
    last.plot(widths, plain, marker="o", markersize=3, color=COLOURS[0], label="VCEA")
    last.plot(widths, empty, marker="s", markersize=3, color=COLOURS[1], label="with empty moves")
    last.set_title("(T1 OR .. OR Tk) ; (..)", fontsize=9)
    last.set_xlabel("k")
    last.set_ylabel("transitions")
    last.legend(fontsize=7)
    return figure


def main() -> None:
    """Write the figure, the same bytes every time."""
    mpl.rcParams["svg.hashsalt"] = "cerlab"
    mpl.rcParams["svg.fonttype"] = "none"
    with whole_file(OUT) as file:
        draw().savefig(file, format="svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
