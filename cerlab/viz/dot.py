"""DOT text of formulas and machines: left to right, deterministic to the byte.

The text is for any Graphviz, or for ``pygraphviz.AGraph(string=..)``.
"""

from __future__ import annotations

from collections.abc import Iterable

from cerlab.automata.cea import IntervalCea
from cerlab.automata.determinise import DeterministicCea
from cerlab.automata.strategy import StrategyCea
from cerlab.automata.vcea import Vcea
from cerlab.logic.cel.syntax import Formula, children
from cerlab.predicates.text import predicate_text
from cerlab.viz.macro import explored
from cerlab.viz.text import labels_text, node_text


def formula_dot(phi: Formula) -> str:
    """A formula as a tree, from the top down."""
    nodes: list[str] = []
    edges: list[str] = []

    def visit(psi: Formula) -> int:
        number = len(nodes)
        nodes.append(f'  n{number} [label="{_escape(node_text(psi))}"];')
        for child in children(psi):
            edges.append(f"  n{number} -> n{visit(child)};")
        return number

    visit(phi)
    head = ["digraph formula {", '  node [shape=box, style=rounded, fontname="Helvetica"];']
    return "\n".join([*head, *nodes, *edges, "}", ""])


def vcea_dot(A: Vcea) -> str:
    """A VCEA; edges say predicate / labels."""
    edges = [
        (t.source, f"{predicate_text(t.predicate)} / {labels_text(t.labels)}", t.target)
        for t in A.Delta
    ]
    return states_dot("vcea", [str(q) for q in range(A.states)], A.I, A.F, edges)


def cea_dot(A: IntervalCea) -> str:
    """A CEA; edges say predicate / mark."""
    edges = [
        (t.source, f"{predicate_text(t.predicate)} / {t.mark.value}", t.target) for t in A.Delta
    ]
    return states_dot("cea", [str(q) for q in range(A.states)], {A.q0}, A.F, edges)


def det_dot(det: DeterministicCea | StrategyCea) -> str:
    """An I/O-deterministic CEA, explored; the guards' legend is the graph's label."""
    A = explored(det)
    edges = [(m.source, f"{A.guard(m)} / {m.mark.value}", m.target) for m in A.moves]
    legend = "".join(f"bit {bit}: {text}\\l" for bit, text in enumerate(map(_escape, A.legend)))
    return states_dot("det", list(A.states), {0}, A.final, edges, legend)


def states_dot(
    name: str,
    states: list[str],
    initial: Iterable[int],
    final: Iterable[int],
    edges: Iterable[tuple[int, str, int]],
    legend: str = "",
) -> str:
    """States, by what they are called, and edges, whatever they say, as a ``digraph``."""
    accepting = set(final)
    lines = [
        f"digraph {name} {{",
        "  rankdir=LR;",
        '  node [shape=circle, fontname="Helvetica"];',
        '  edge [fontname="Helvetica"];',
    ]
    if legend:
        lines.append(f'  label="{legend}"; labeljust=l;')
    for q, label in enumerate(states):
        shape = ", shape=doublecircle" if q in accepting else ""
        lines.append(f'  q{q} [label="{_escape(label)}"{shape}];')
    for q in sorted(initial):
        lines.append(f'  start{q} [shape=point, label=""];')
        lines.append(f"  start{q} -> q{q};")
    lines += [
        f'  q{source} -> q{target} [label="{_escape(label)}"];' for source, label, target in edges
    ]
    return "\n".join([*lines, "}", ""])


def _escape(text: str) -> str:
    return (
        text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\0", "\\\\0")
    )
