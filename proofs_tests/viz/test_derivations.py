"""Derivations as trees: each part with what it contributes, failures brought forward."""

from __future__ import annotations

from pathlib import Path
from random import Random
from xml.etree import ElementTree

import cerlab
from cerlab import Stream, display
from cerlab.logic.cel.syntax import subformulas
from cerlab.viz import EdgeKind, NodeKind, graph_of, svg
from cerlab.why import why
from proofs_tests.random_cases import random_case
from proofs_tests.suite import random_suite

FOLDER = Path(__file__).parents[2] / "examples" / "core_figure3"
QUERY = cerlab.parse_query("SELECT * WHERE A ; B AS x")
EVENTS = Stream.from_events([{"type": kind} for kind in "ACB"])


def test_a_match_by_hand() -> None:
    graph = graph_of(why(QUERY, EVENTS, (0, 2)).derivation)
    assert [(n.label, n.under, n.kind) for n in graph.nodes] == [
        (";", "[0, 2]\nA {0}\nB {2}\nx {2}", NodeKind.PART),
        ("A", "[0, 0]\nA {0}", NodeKind.PART),
        ("AS x", "[2, 2]\nB {2}\nx {2}", NodeKind.PART),
        ("B", "[2, 2]\nB {2}", NodeKind.PART),
    ]
    assert [(e.source, e.target) for e in graph.edges] == [("n0", "n1"), ("n0", "n2"), ("n2", "n3")]
    assert graph.title == "Derivation of 4 nodes: a match"
    assert not graph.legend


def test_what_fails_is_brought_forward_and_told() -> None:
    graph = graph_of(why(QUERY, EVENTS, (0, 1)).derivation)
    assert [n.label for n in graph.nodes if n.kind is NodeKind.FAILED] == ["B ✗"]
    assert graph.title.endswith("not a match")
    assert any("event 1 is C" in line for line in graph.legend)


def test_a_sremo_says_its_parts_its_marks_and_its_registers() -> None:
    events = [{"type": "A", "v": 1}, {"type": "C", "v": 3}, {"type": "B", "v": 0}]
    expression = cerlab.parse_sremo("<type = 'A'>^ -> r . <TRUE>* . <v > r.v>^")
    graph = graph_of(cerlab.why(expression, events, [0, 2]).derivation)
    assert [(n.label, n.under) for n in graph.nodes] == [
        (".", "[0, 2]\n^ {0, 2}\nr = 0"),
        ("<type = 'A'>^ -> r", "[0, 0]\n^ {0}\nr = 0"),
        ("<TRUE>*", "[1, 1]\nr = 0"),
        ("<v > r.v>^ ✗", "[2, 2]\n^ {2}\nr = 0"),
    ]
    assert graph.legend == ("event 2 fails v > r.v: v is 0, r is event 0 with v 1",)


def test_a_notebook_shows_the_tree_once() -> None:
    explanation = why(
        "A ; B FILTER B[v > 7]", [{"type": "A", "v": 1}, {"type": "B", "v": 5}], (0, 1)
    )
    html = display.mimebundle(explanation)["text/html"]
    words, picture = html.split("<svg", 1)
    assert "B at 1 fails v &gt; 7: v is 5" in words
    assert "├─" not in words
    assert "1: B(v=5)" in picture
    assert "fails" not in picture


@random_suite(1_000)
def test_derivations_of_answers_are_drawn_whole(rng: Random) -> bool:
    sample = random_case(rng)
    answers = cerlab.evaluate(sample.query, sample.stream)
    if not answers:
        return False
    answer = rng.choice(answers)
    explanation = why(sample.query, sample.stream, answer.positions, answer.start, answer.end)
    root = explanation.derivation
    assert root is not None
    graph = graph_of(root)
    assert len(graph.nodes) == sum(1 for _ in root)
    assert len(graph.edges) == len(graph.nodes) - 1
    assert {edge.kind for edge in graph.edges} <= {EdgeKind.CHILD}
    assert all(node.kind is NodeKind.PART for node in graph.nodes)
    parts = set(subformulas(sample.query.formula))
    assert {here.part for here in root} <= parts
    ElementTree.fromstring(svg(graph))
    bundle = display.mimebundle(explanation)
    assert set(bundle) == {"text/plain", "text/html", "image/svg+xml"}
    return True
