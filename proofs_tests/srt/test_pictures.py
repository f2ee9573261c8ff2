"""The transducers of the report, drawn: guards, marks and writes on the edges (SRT Fig. 5)."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from cerlab.automata.registers import Transducer
from cerlab.automata.unrolled import macro_states
from cerlab.viz import dot_text
from cerlab.viz.deterministic import machine_text
from cerlab.viz.machines import srt_graph
from cerlab.viz.tikz import machine_tikz
from proofs_tests.command import Cli
from proofs_tests.sremo.tables import E1
from proofs_tests.srt.figures import FIG_1, FIG_3, FIG_4, FIG_5A, FIG_5B, FIG_12, FIG_14

FIGURES = {
    "1": FIG_1,
    "3": FIG_3,
    "4": FIG_4,
    "5a": FIG_5A,
    "5b": FIG_5B,
    "12": FIG_12,
    "14": FIG_14,
}
each_figure = pytest.mark.parametrize("T", FIGURES.values(), ids=FIGURES)


def test_figure_1_as_text_and_dot() -> None:
    assert machine_text(FIG_1).splitlines() == [
        "SRT: 3 states, initial 0, final {2}, registers r1",
        "  0 -> 1  type = 'B' / • ↓ r1",
        "  1 -> 1  TRUE / ∘",
        "  1 -> 2  type = 'S' AND id = r1.id / •",
    ]
    assert (
        dot_text(srt_graph(FIG_1, names=["qs", "q1", "qf"]))
        == """\
digraph srt {
  rankdir=LR;
  node [shape=circle, fontname="Helvetica"];
  edge [fontname="Helvetica"];
  q0 [label="qs"];
  q1 [label="q1"];
  q2 [label="qf", shape=doublecircle];
  start0 [shape=point, label=""];
  start0 -> q0;
  q0 -> q1 [label="type = 'B' / • ↓ r1"];
  q1 -> q1 [label="TRUE / ∘"];
  q1 -> q2 [label="type = 'S' AND id = r1.id / •"];
}
"""
    )


def test_figure_4_as_tikz() -> None:
    assert machine_tikz(FIG_4).splitlines()[4:] == [
        r"  \node[state, initial] (q0) {$0$};",
        r"  \node[state, right=of q0] (q1) {$1$};",
        r"  \node[state, accepting, right=of q1] (q2) {$2$};",
        r"  \path (q0) edge[loop above] node[says] {TRUE / $\circ$} (q0);",
        r"  \path (q0) edge node[says] {type = 'B' / $\bullet$ $\downarrow$ r1} (q1);",
        r"  \path (q1) edge[loop above] node[says] {TRUE / $\circ$} (q1);",
        r"  \path (q1) edge node[says] {type = 'S' \\ AND id = r1.id / $\bullet$} (q2);",
        r"\end{tikzpicture}",
    ]


@each_figure
def test_every_transition_and_empty_move_is_an_edge(T: Transducer) -> None:
    edges = re.findall(r"^  q(\d+) -> q(\d+) \[label=", dot_text(T), re.M)
    steps = [(t.source, t.target) for t in T.Delta] + list(T.moves)
    assert [(int(p), int(q)) for p, q in edges] == steps
    assert dot_text(T).count("ε") == len(T.moves)
    tikz = machine_tikz(T)
    assert tikz.count(r"\node[state") == T.states
    assert tikz.count(r"\path") == len(set(steps))
    assert tikz.isascii()
    assert str(T) == machine_text(T)


def test_figure_5_b_names_its_sets() -> None:
    names = ["{" + ",".join(map(str, sorted(X))) + "}" for X in macro_states(FIG_5A)]
    dot = dot_text(srt_graph(FIG_5B, names=names))
    assert '[label="{1,2}"]' in dot
    assert "NOT type = 'B' / ∘" in dot
    assert "type = 'B' / ∘ ↓ b1" in dot


@pytest.mark.parametrize(
    ("form", "draw"), [("text", machine_text), ("dot", dot_text), ("tikz", machine_tikz)]
)
def test_show(form: str, draw: Callable[[Transducer], str], cli: Cli) -> None:
    """``cerlab show --what srt`` of Example 19 is Fig. 1."""
    assert cli("show", E1, "--what", "srt", "--format", form).out.strip() == draw(FIG_1).strip()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["A+ AS a ; B AS b FILTER a.v != b.v", "--what", "srt"], "CER0491"),
        (["<TRUE>^", "--what", "srt", "--format", "json"], "CER0410"),
        (["<TRUE>^", "--what", "cea"], "CER0483"),
        (["(<TRUE>^)[within 3 t]", "--what", "srt"], "CER0486"),
    ],
)
def test_what_is_not_drawn_is_refused_by_name(arguments: list[str], code: str, cli: Cli) -> None:
    assert code in cli("show", *arguments, status=2).err
