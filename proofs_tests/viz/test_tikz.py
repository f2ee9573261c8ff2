"""Machines as TikZ: sound LaTeX, with no label on a state or on another label."""

from __future__ import annotations

import re
from cmath import rect
from itertools import combinations
from math import hypot, radians
from random import Random

import pytest

import cerlab
from cerlab import ResourceLimit
from cerlab.automata.automaton import (
    AnchoredCea,
    IntervalCea,
    LabelTransition,
    Mark,
    Transition,
    Ucea,
    Vcea,
)
from cerlab.predicates import syntax as pred
from cerlab.viz.graph import graph_of
from cerlab.viz.tikz import latex_text, layers, machine_tikz
from proofs_tests.io.machine_cases import random_machine, tower
from proofs_tests.suite import random_suite

LARGE = pred.Comparison(pred.Operator.GT, pred.Attribute("v_1"), pred.Constant(3))


def test_deep_predicates_are_refused() -> None:
    with pytest.raises(ResourceLimit, match="CER0602"):
        machine_tikz(tower(100_000))


def test_the_picture_of_a_small_machine() -> None:
    Delta = (
        Transition(0, LARGE, Mark.TAKE, 1),
        Transition(1, pred.TypeIs("50%"), Mark.SKIP, 2),
        Transition(2, pred.EVERYTHING, Mark.SKIP, 1),
        Transition(0, pred.EVERYTHING, Mark.TAKE, 2),
        Transition(1, pred.EVERYTHING, Mark.SKIP, 1),
        Transition(1, pred.TypeIs("{A}"), Mark.TAKE, 1),
        Transition(3, pred.EVERYTHING, Mark.TAKE, 3),
    )
    assert machine_tikz(AnchoredCea(4, Delta, frozenset({0}), frozenset({1, 3}))) == (
        r"""% \usepackage{tikz}
% \usetikzlibrary{automata, positioning}
\begin{tikzpicture}[->, auto, node distance=16mm and 34mm, initial text=,
    says/.style={align=center, font=\ttfamily\scriptsize}]
  \node[state, initial] (q0) {$0$};
  \node[state, accepting, below=of q0] (q3) {$3$};
  \node[state, accepting, right=of q0] (q1) {$1$};
  \node[state, below=of q1] (q2) {$2$};
  \path (q0) edge node[says] {v\_1 > 3 / $\bullet$} (q1);
  \path (q1) edge[bend left] node[says] {type = '50\%' / $\circ$} (q2);
  \path (q2) edge[bend left] node[says] {TRUE / $\circ$} (q1);
  \path (q0) edge node[says, swap] {TRUE / $\bullet$} (q2);
  \path (q1) edge[loop above] node[says] {TRUE / $\circ$ \\ type = '\{A\}' / $\bullet$} (q1);
  \path (q3) edge[loop above] node[says] {TRUE / $\bullet$} (q3);
\end{tikzpicture}
"""
    )


def test_edges_past_other_states_are_bent() -> None:
    Delta = tuple(Transition(p, pred.EVERYTHING, Mark.SKIP, q) for p, q in ((0, 1), (1, 2), (2, 3)))
    back = Transition(3, pred.EVERYTHING, Mark.TAKE, 1)
    text = machine_tikz(IntervalCea(4, (*Delta, back), frozenset({0}), frozenset()))
    assert r"(q3) edge[bend left] node" in text
    assert text.count("bend") == 1


def test_labels_are_braced_sets() -> None:
    Delta = (LabelTransition(0, pred.EVERYTHING, frozenset({"y", "x_1"}), 0),)
    for A in (Vcea(1, Delta, frozenset(), frozenset()), Ucea(1, Delta, frozenset(), frozenset())):
        assert r"{TRUE / \{x\_1, y\}}" in machine_tikz(A)


def test_special_characters_are_escaped() -> None:
    assert latex_text("\\{}$&#%_^~`") == (
        r"\textbackslash{}\{\}\$\&\#\%\_\textasciicircum{}\textasciitilde{}\textasciigrave{}"
    )
    assert latex_text("a\n\0é∘•") == r"a\textbackslash{}n\textbackslash{}x00é$\circ$$\bullet$"


@pytest.mark.parametrize("states", [0, 1, 5])
def test_layers_hold_every_state_once(states: int) -> None:
    for seed in range(100):
        rng = Random(seed)
        count = rng.randrange(6) if states else 0
        moves = [(rng.randrange(states), rng.randrange(states)) for _ in range(count)]
        initial = sorted(rng.sample(range(states), rng.randrange(states + 1)))
        columns = layers(states, initial, moves)
        assert sorted(q for column in columns for q in column) == list(range(states))
        assert all(columns)
        assert not initial or columns[0][: len(initial)] == initial


@random_suite(5_000)
def test_pictures_of_random_machines_are_sound(rng: Random) -> bool:
    names = ("A", "a_b", "100%", "#&~^", "{", "}", "\\", "$x$", "it's", "`", "\n")

    def random_type(rng: Random) -> pred.Predicate:
        return pred.TypeIs("".join(rng.sample(names, rng.randrange(3))))

    A = random_machine(rng, random_type)
    text = machine_tikz(A)
    assert machine_tikz(A) == text
    bare = re.sub(r"\\[{}$&#%_\\]", "", text[text.index(r"\begin") :])  # without what is escaped
    assert not set("&#%_^~`") & set(bare)
    assert bare.count("$") % 2 == 0
    depth = 0
    for character in bare:
        depth += {"{": 1, "}": -1}.get(character, 0)
        assert depth >= 0
    assert depth == 0
    nodes = re.findall(r"^  \\node\[([^\]]*)\] \(q(\d+)\)", text, re.MULTILINE)
    assert sorted(int(q) for _, q in nodes) == list(range(A.states))
    assert {int(q) for how, q in nodes if "accepting" in how} == A.F
    assert sorted(int(q) for how, q in nodes if "initial" in how) == sorted(A.I)
    edges = re.findall(r"^  \\path \(q(\d+)\) .* \(q(\d+)\);$", text, re.MULTILINE)
    assert len(edges) == len({(t.source, t.target) for t in A.Delta})
    return bool(A.Delta)


PICTURES = [
    ("A ; B+", "cea"),  # the example of the manual
    ("A ; B+", "det"),
    ("A ; B+", "vcea"),
    ("A ; B+", "max"),
    ("SELECT * WHERE A AS x ; B+ FILTER x[v > 1]", "cea"),
    ("A ; (B OR C)+ ; D", "cea"),
    ("(A OR B)+ ; C ; D{3}", "vcea"),
    ("(A ; B) OR (C : D) OR (B ; E+)", "det"),
    ("(A:B):+ ; (C OR D OR E)+ ; A", "cea"),
    ("A AS a ; B AS b ; C AS c FILTER b.v > a.v AND c.v < b.v", "srt"),
]


@pytest.mark.parametrize("rankdir", [None, "RL", "TB", "BT"])
@pytest.mark.parametrize(("query", "what"), PICTURES)
def test_no_label_lies_on_a_state_or_on_another_label(
    query: str, what: str, rankdir: str | None
) -> None:
    """Those of the default direction were compiled by a LaTeX in WebAssembly, and looked at."""
    states, labels = boxes(machine_tikz(cerlab.show(query, what=what), rankdir=rankdir))
    assert labels
    for one, other in combinations(labels, 2):
        assert not overlap(labels[one], labels[other]), (one, other)
    for label, box in labels.items():
        assert not any(overlap(box, state) for state in states.values()), label
    for one, other in combinations(states, 2):
        assert not overlap(states[one], states[other]), (one, other)


def test_boxes_see_labels_that_overlap() -> None:
    """The manual's example as it was: the loop of 3 lay on the edge to 2."""
    text = machine_tikz(cerlab.parse_query("SELECT * WHERE A ; B+").cea)
    _, labels = boxes(text.replace("loop below", "loop above").replace(", swap", ""))
    assert any(overlap(*pair) for pair in combinations(labels.values(), 2))


Box = tuple[float, float, float, float]


def boxes(text: str) -> tuple[dict[str, Box], dict[str, Box]]:
    """Return the boxes of states and labels in millimetres, as TikZ places them."""
    down, right = (int(mm) for mm in re.findall(r"node distance=(\d+)mm and (\d+)mm", text)[0])
    named = re.search(r"minimum size=(\d+)mm", text)
    radius = float(named[1]) / 2 if named else 4.4
    away = {"right": right + 2 * radius, "below": -1j * (down + 2 * radius)}
    away |= {"left": -away["right"], "above": -away["below"]}
    at: dict[str, complex] = {}
    for options, name in re.findall(r"\\node\[(state[^\]]*)\] \((q\d+)\)", text):
        beside = re.search(r"(right|left|below|above)=of (q\d+)", options)
        at[name] = at[beside[2]] + away[beside[1]] if beside else 0
    labels = {}
    path = r"\\path \((q\d+)\) edge(?:\[([^\]]*)\])? node\[says([^\]]*)\] \{(.*)\} \((q\d+)\);"
    for source, shape, says, label, target in re.findall(path, text):
        point, ahead = on_edge(at[source], at[target], shape, position(says), radius)
        lines = re.sub(r"\$\\\w+\$", "o", label).split(r" \\ ")
        width = 1.31 * max(len(re.sub(r"\\(?=[^a-z])", "", line)) for line in lines) + 1.6
        height = 2.8 * len(lines) + 1.6
        side = ahead * (-1j if "swap" in says else 1j)
        x = point.real + (side.real > 0.05) * width / 2 - (side.real < -0.05) * width / 2
        y = point.imag + (side.imag > 0.05) * height / 2 - (side.imag < -0.05) * height / 2
        box = (x - width / 2, y - height / 2, x + width / 2, y + height / 2)
        labels[f"{source} {target} {label}"] = box
    circle = {
        q: (p.real - radius, p.imag - radius, p.real + radius, p.imag + radius)
        for q, p in at.items()
    }
    return circle, labels


def position(says: str) -> float:
    given = re.search(r"pos=([\d.]+)", says)
    return float(given[1]) if given else 0.5


def on_edge(p: complex, q: complex, shape: str, t: float, radius: float) -> tuple[complex, complex]:
    """Return the point of an edge at `t`, and its direction there."""
    loops = {"loop above": 90, "loop below": 270, "loop left": 180, "loop right": 0}
    if shape in loops:
        out, into = rect(1, radians(loops[shape] + 15)), rect(1, radians(loops[shape] - 15))
        a, d = p + radius * out, p + radius * into
        reach = max(5, 8 * 0.3915 * abs(d - a))
    else:
        bend = re.fullmatch(r"bend (left|right)(?:=(\d+))?", shape)
        angle = (int(bend[2] or 30) if bend else 0) * (-1 if bend and bend[1] == "right" else 1)
        ahead = (q - p) / abs(q - p)
        out, into = ahead * rect(1, radians(angle)), -ahead * rect(1, radians(-angle))
        a, d = p + radius * out, q + radius * into
        reach = 0.3915 * abs(d - a)
    b, c = a + reach * out, d + reach * into
    ab, bc, cd = a + t * (b - a), b + t * (c - b), c + t * (d - c)
    left, right = ab + t * (bc - ab), bc + t * (cd - bc)
    return left + t * (right - left), (right - left) / abs(right - left)


def overlap(one: Box, other: Box) -> bool:
    across = min(one[2], other[2]) - max(one[0], other[0])
    return across > 0 and min(one[3], other[3]) - max(one[1], other[1]) > 0


def test_wide_guards_have_the_bits_and_the_legend_of_other_pictures() -> None:
    query = "(A OR B OR C OR D) ; E"
    text = machine_tikz(cerlab.show(query, what="det"))
    assert r"\node[says, align=left, anchor=north west] at (current bounding box" in text
    assert r"bit 0: type = 'A'" in text


@pytest.mark.parametrize("what", ["vcea", "cea", "det", "max", "last"])
@pytest.mark.parametrize("query", ["A ; B+", "SELECT * WHERE A ; (B OR C)+ ; D"])
def test_states_have_the_names_of_other_pictures(query: str, what: str) -> None:
    machine = cerlab.show(query, what=what)
    text = machine_tikz(machine)
    names = re.findall(r"\\node\[state[^\]]*\] \(q\d+\) \{(.*)\};", text)
    plain = {re.sub(r"[$\\]", "", name.replace(r" \\ ", " ")) for name in names}
    assert plain == {node.label for node in graph_of(machine).nodes}
    for lines in (name.replace("\\{", "{").split(r" \\ ") for name in names if "$" not in name):
        (diameter,) = re.findall(r"minimum size=(\d+)mm", text)
        assert hypot(1.31 * max(map(len, lines)), 2.8 * len(lines)) < int(diameter)


def test_directions_turn_the_picture() -> None:
    machine = cerlab.parse_query("SELECT * WHERE A ; B+").cea
    for rankdir, side, initial in (
        *(("LR", "right=of q0", "initial]"), ("RL", "left=of q0", "initial right]")),
        *(("TB", "below=of q0", "initial above]"), ("BT", "above=of q0", "initial below]")),
    ):
        text = machine_tikz(machine, rankdir=rankdir)
        assert side in text
        assert initial in text
    with pytest.raises(cerlab.UsageError, match="CER0822"):
        machine_tikz(machine, rankdir="up")
    assert machine_tikz(machine, rankdir="LR") == machine_tikz(machine)


def test_a_size_shrinks_larger_pictures_only() -> None:
    machine = cerlab.parse_query("SELECT * WHERE A ; B+").cea
    plain = machine_tikz(machine)
    assert machine_tikz(machine, size=(50, 50)) == plain
    assert machine_tikz(machine, size=(50, 0.5)).count(r"\resizebox{!}{0.5in}{%") == 1
    narrow = machine_tikz(machine, size=(8.5 / 2.54, 6))
    assert narrow == plain.replace(
        r"\begin{tikz", r"\resizebox{3.346in}{!}{%" + "\n" + r"\begin{tikz"
    ).replace(r"\end{tikzpicture}", r"\end{tikzpicture}}")
    with pytest.raises(cerlab.UsageError, match="CER0822"):
        machine_tikz(machine, size=3)  # type: ignore[arg-type]


def test_characters_beyond_latin_name_the_programs_that_have_them() -> None:
    letters = {
        name: machine_tikz(cerlab.parse_query(f"SELECT * WHERE `{name}`").cea) for name in "é登π"
    }
    assert ["LuaLaTeX" in text for text in letters.values()] == [False, True, True]
