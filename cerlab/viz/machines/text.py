"""Formulas and machines as plain text, for terminals and for `str`."""

from __future__ import annotations

from collections.abc import Iterable

from cerlab import display
from cerlab.automata.automaton import IntervalCea, LabelTransition, Transition, Vcea
from cerlab.automata.determinise import DeterministicCea
from cerlab.automata.strategy import StrategyCea
from cerlab.display import tree_lines
from cerlab.logic.cel.syntax import Formula, children
from cerlab.logic.cel.text import node_text
from cerlab.model.stream import Stream
from cerlab.predicates.text import name_text, predicate_text
from cerlab.viz.graph import Graph, NodeKind
from cerlab.viz.machines.exploration import ExploredCea, explored


def tree_text(phi: Formula) -> str:
    """A formula as a tree, one node a line.

    >>> from cerlab.logic.cel import syntax as cel
    >>> print(tree_text(cel.Seq(cel.Atom("A"), cel.Plus(cel.Atom("B")))))
    ;
    ├─ A
    └─ +
       └─ B
    """
    return tree_lines(phi, node_text, children)


def labels_text(labels: frozenset[str]) -> str:
    """A set of labels, ∘ for none."""
    return "{" + ", ".join(map(name_text, sorted(labels))) + "}" if labels else "∘"


def vcea_text(A: Vcea) -> str:
    """A VCEA, one transition a line."""
    head = f"VCEA: {_count(A.states, 'state')}, initial {_set(A.I)}, final {_set(A.F)}"
    return "\n".join([head, *(f"  {_vcea_line(t)}" for t in A.Delta)])


def _vcea_line(t: LabelTransition) -> str:
    return f"{t.source} -> {t.target}  {predicate_text(t.predicate)} / {labels_text(t.labels)}"


def cea_text(A: IntervalCea) -> str:
    """A CEA, one transition a line; • takes the event, ∘ skips it."""
    head = f"CEA: {_count(A.states, 'state')}, initial {A.q0}, final {_set(A.F)}"
    return "\n".join([head, *(f"  {_cea_line(t)}" for t in A.Delta)])


def _cea_line(t: Transition) -> str:
    return f"{t.source} -> {t.target}  {predicate_text(t.predicate)} / {t.mark.value}"


def det_text(det: DeterministicCea | StrategyCea, *, limit: int | None = None) -> str:
    """An I/O-deterministic CEA, explored over its minterms, with the legend of its guards.

    With a `limit`, only the moves of so many states are looked at.
    """
    return explored_text(explored(det, limit=limit))


def explored_text(A: ExploredCea) -> str:
    """The same for what is explored already."""
    count = _count(len(A.states), "macro-state")
    lines = [f"{A.kind}: {count}, initial 0, final {_set(A.final)}"]
    lines += [f"  state {n} = {state}" for n, state in enumerate(A.states)]
    lines += [f"  {m.source} -> {m.target}  {A.guard(m)} / {m.mark.value}" for m in A.moves]
    lines += ["  guards, bit by bit:"] if A.legend else []
    lines += [f"    bit {bit}: {predicate}" for bit, predicate in enumerate(A.legend)]
    if not A.whole:
        lines.append("  .. there is more: the moves of the last states were not looked at")
    if not A.exact:
        lines.append("  (LIKE, arithmetic and two-attribute comparisons are taken as independent)")
    return "\n".join(lines)


def graph_text(graph: Graph) -> str:
    """A machine that is a graph, one transition a line."""
    called = {node.id: node.label for node in graph.nodes}
    initial = ", ".join(node.label for node in graph.nodes if node.is_initial)
    final = ", ".join(node.label for node in graph.nodes if node.kind is NodeKind.FINAL)
    head = f"{graph.title}, initial {{{initial}}}, final {{{final}}}"
    edges = (f"  {called[e.source]} -> {called[e.target]}  {e.label}" for e in graph.edges)
    return "\n".join([head, *edges])


def first_lines(text: str, shown: int = 50) -> str:
    """A text of many lines, cut for a display, which says so.

    >>> print(first_lines("a\\nb\\nc\\nd", 2))
    a
    b
    .. showing 2 of 4 lines
    """
    lines = text.split("\n")
    if len(lines) <= shown + 1:
        return text
    return "\n".join([*lines[:shown], f".. showing {shown} of {len(lines):,} lines"])


def stream_text(stream: Stream) -> str:
    """The first events of a stream, one a line."""
    shown = 20
    lines = [f"{_count(len(stream), 'event')}"]
    for position, event in enumerate(stream.head(shown)):
        values = ", ".join(f"{name}={value}" for name, value in event.attributes.items())
        prefix = f"{event.stream}>" if event.stream else ""
        lines.append(f"  {position}: {prefix}{event.type}({values})")
    if len(stream) > shown:
        lines.append(f"  .. showing {shown} of {len(stream):,}")
    return "\n".join(lines)


def _set(states: Iterable[int]) -> str:
    return "{" + ", ".join(map(str, sorted(states))) + "}"


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}" + ("" if n == 1 else "s")


display.register(Stream, "text/plain", stream_text)
