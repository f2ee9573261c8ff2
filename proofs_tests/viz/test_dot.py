"""DOT text: small machines by hand, what parsers read of it, the same bytes in every process."""

from __future__ import annotations

import os
import subprocess
import sys
from random import Random
from typing import Any
from xml.etree import ElementTree

import networkx as nx
import pygraphviz
import pytest

import cerlab
from cerlab.automata.automaton import (
    AnchoredCea,
    EmptyMove,
    EpsilonCea,
    IntervalCea,
    LabelTransition,
    Mark,
    Transition,
    Ucea,
    Vcea,
)
from cerlab.automata.registers import EpsilonSrt, RegisterTransition
from cerlab.automata.strategy import StrategyCea
from cerlab.logic.cel.syntax import As, Atom
from cerlab.model.clauses import Strategy
from cerlab.predicates.syntax import EVERYTHING, TypeIs
from cerlab.viz import NodeKind, dot_text, graph_of, svg
from cerlab.viz.deterministic import minterm_table
from proofs_tests.suite import random_suite
from proofs_tests.viz.values import KINDS, random_value

A, B = TypeIs("A"), TypeIs("B")
X = frozenset({"x"})
HEAD = """\
  rankdir=LR;
  node [shape=circle, fontname="Helvetica"];
  edge [fontname="Helvetica"];
"""
TAKE, SKIP, ONE = Mark.TAKE, Mark.SKIP, frozenset({1})
Q0 = """\
  q0 [label="0"];
  q1 [label="1", shape=doublecircle];
  start0 [shape=point, label=""];
  start0 -> q0;
"""
BY_HAND: dict[str, tuple[Any, str]] = {
    "vcea": (
        Vcea(2, (LabelTransition(0, A, X, 1), LabelTransition(1, B, frozenset(), 1)), {0}, ONE),  # type: ignore[arg-type]
        f"digraph vcea {{\n{HEAD}{Q0}"
        "  q0 -> q1 [label=\"type = 'A' / {x}\"];\n"
        "  q1 -> q1 [label=\"type = 'B' / ∘\"];\n}\n",
    ),
    "ucea": (
        Ucea(2, (LabelTransition(0, A, X, 1),), frozenset({0}), ONE),
        f"digraph ucea {{\n{HEAD}{Q0}  q0 -> q1 [label=\"type = 'A' / {{x}}\"];\n}}\n",
    ),
    "cea": (
        IntervalCea(
            2, (Transition(0, A, TAKE, 1), Transition(1, EVERYTHING, SKIP, 1)), frozenset({0}), ONE
        ),
        f"digraph cea {{\n{HEAD}{Q0}"
        "  q0 -> q1 [label=\"type = 'A' / •\"];\n"
        '  q1 -> q1 [label="TRUE / ∘"];\n}\n',
    ),
    "two initial states": (
        AnchoredCea(2, (Transition(0, A, TAKE, 1),), frozenset({0, 1}), frozenset()),
        f"digraph anchored_cea {{\n{HEAD}"
        '  q0 [label="0"];\n  q1 [label="1"];\n'
        '  start0 [shape=point, label=""];\n  start0 -> q0;\n'
        '  start1 [shape=point, label=""];\n  start1 -> q1;\n'
        "  q0 -> q1 [label=\"type = 'A' / •\"];\n}\n",
    ),
    "empty moves": (
        EpsilonCea(2, (Transition(0, A, TAKE, 1),), frozenset({0}), ONE, moves=(EmptyMove(1, 0),)),
        f"digraph epsilon_cea {{\n{HEAD}{Q0}"
        "  q0 -> q1 [label=\"type = 'A' / •\"];\n"
        '  q1 -> q0 [label="ε"];\n}\n',
    ),
    "transducer with empty moves": (
        EpsilonSrt(
            2,
            (RegisterTransition(0, A, TAKE, frozenset({"r"}), 1),),
            frozenset({0}),
            ONE,
            moves=(EmptyMove(1, 0),),
            R=frozenset({"r"}),
        ),
        f"digraph srt {{\n{HEAD}{Q0}"
        "  q0 -> q1 [label=\"type = 'A' / • ↓ r\"];\n"
        '  q1 -> q0 [label="ε"];\n}\n',
    ),
    "deterministic": (
        cerlab.parse_query("SELECT * WHERE A+").det,
        f"digraph det {{\n{HEAD}"
        '  q0 [label="{0}"];\n'
        '  q1 [label="{1, 2}", shape=doublecircle];\n'
        '  q2 [label="{2}"];\n'
        '  start0 [shape=point, label=""];\n  start0 -> q0;\n'
        "  q0 -> q1 [label=\"type = 'A' / •\"];\n"
        '  q1 -> q2 [label="TRUE / ∘"];\n'
        "  q1 -> q1 [label=\"type = 'A' / •\"];\n"
        '  q2 -> q2 [label="TRUE / ∘"];\n'
        "  q2 -> q1 [label=\"type = 'A' / •\"];\n}\n",
    ),
    "formula": (
        As(Atom('a"b\\c'), "x"),
        'digraph formula {\n  node [shape=box, style=rounded, fontname="Helvetica"];\n'
        '  edge [fontname="Helvetica"];\n'
        '  n0 [label="AS x"];\n  n1 [label="a\\"b\\\\c"];\n  n0 -> n1;\n}\n',
    ),
    "expression": (
        cerlab.parse_sremo("<TRUE>* . EPS"),
        'digraph sremo {\n  node [shape=box, style=rounded, fontname="Helvetica"];\n'
        '  edge [fontname="Helvetica"];\n'
        '  n0 [label="."];\n  n1 [label="*"];\n  n2 [label="<TRUE>"];\n  n3 [label="EPS"];\n'
        "  n0 -> n1;\n  n1 -> n2;\n  n0 -> n3;\n}\n",
    ),
    "table": (
        minterm_table(cerlab.parse_query("SELECT * WHERE A").det),
        f"digraph table {{\n{HEAD}  label=\"bit 0: type = 'A'\\l\"; labeljust=l;\n"
        '  table [shape=plain, label=<<TABLE BORDER="0" CELLBORDER="1" CELLSPACING="0" '
        'CELLPADDING="4">'
        "<TR><TD><B>state</B></TD><TD><B>0</B></TD><TD><B>1</B></TD></TR>"
        "<TR><TD><B>&gt;0 {0}</B></TD><TD>-</TD><TD>•1</TD></TR>"
        "<TR><TD><B>1 {1} *</B></TD><TD>-</TD><TD>-</TD></TR></TABLE>>];\n}\n",
    ),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_small_values_as_dot_by_hand(name: str) -> None:
    value, expected = BY_HAND[name]
    assert dot_text(value) == expected


def test_the_machine_of_a_strategy_begins_idle() -> None:
    text = dot_text(StrategyCea(cerlab.parse_query("SELECT * WHERE A").cea, Strategy.MAX))
    assert '  q0 [label="idle"];' in text
    assert "  q0 -> q0 [label=\"NOT type = 'A' / ∘\"];" in text


@random_suite(2_000)
def test_graphviz_and_networkx_read_the_nodes_and_edges(rng: Random) -> bool:
    """With a theme and without: ids, ends of edges and labels as the graph has them."""
    value = random_value(rng)
    graph = graph_of(value)
    nodes = {node.id for node in graph.nodes}
    plain = pygraphviz.AGraph(string=dot_text(graph))
    assert nodes <= set(plain.nodes())
    assert all(n in nodes or n.startswith(("start", "at")) for n in plain.nodes())
    read = nx.nx_agraph.from_agraph(plain)
    edges = sorted((e.source, e.target) for e in graph.edges)
    invisible = [edge for edge in read.edges(data=True) if edge[2].get("style") == "invis"]
    edges_of_networkx = [(p, q) for p, q in read.edges() if p in nodes]
    assert sorted(edges_of_networkx) == edges
    assert len(invisible) == max(0, len(graph.columns) - 1)
    dark = pygraphviz.AGraph(string=dot_text(graph, "dark"))
    assert set(dark.nodes()) == set(plain.nodes())
    edges_of_graphviz = {(p, q) for p, q in dark.edges() if p in nodes}
    assert edges_of_graphviz == set(edges)
    return bool(graph.edges)


@random_suite(1_000)
def test_labels_are_drawn_as_they_are(rng: Random) -> bool:
    """Quotes, backslashes, lines, entities: the text in the SVG is what the label says."""
    texts = ('"', "\\", "\\n", "\n", "&lt;", "&", "<b>", "|", "{x}", "\\l", "é", "∘", "%", "\\N")
    name = "A" + "".join(rng.choices(texts, k=rng.randrange(4))) + "Z"
    root = ElementTree.fromstring(svg(Atom(name)))
    lines = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "\n".join(filter(None, lines)) == "\n".join(filter(None, name.split("\n")))
    return True


def test_a_limit_on_lines_keeps_a_long_label_legible() -> None:
    many = " OR ".join(f"v = {n}" for n in range(60))
    query = cerlab.parse_query(f"SELECT * WHERE A FILTER A[{many}]")
    light = dot_text(query.cea, "light")
    (label,) = (line for line in light.splitlines() if line.startswith("  q0 -> q1"))
    assert len(label) < 400
    assert "…" in label
    assert "v = 59" in dot_text(query.cea)


PROGRAM = """
from random import Random
from cerlab.viz import dot_text, svg
from proofs_tests.viz.values import KINDS
for name, draw in KINDS.items():
    for seed in range(3):
        value = draw(Random(seed))
        print(name, seed, dot_text(value), dot_text(value, "light"))
    print(svg(value))
"""


def test_dot_and_svg_are_equal_under_three_hash_seeds() -> None:
    texts = set()
    for seed in ("0", "1", "2024"):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode()
        texts.add(done.stdout)
    assert len(texts) == 1
    assert next(iter(texts)).count(b"<svg") == len(KINDS)


def test_every_kind_of_node_has_a_shape() -> None:
    values = (random_value(Random(seed)) for seed in range(400))
    kinds = {node.kind for value in values for node in graph_of(value).nodes}
    assert kinds == set(NodeKind) - {NodeKind.FAILED}, "what fails is of derivations"
