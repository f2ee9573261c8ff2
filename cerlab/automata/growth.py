"""How fast the number of answers per event can grow with the stream: the ambiguity of a machine.

An answer is a run of an I/O-deterministic machine; so the answers that end at one event are the
runs of the machine, with its marks forgotten, on the stream up to there. Their number is bounded,
or polynomial, or exponential, by patterns that A. Weber and H. Seidl gave ("On the degree of
ambiguity of finite automata", 1991): two different ways from a state back to itself on the same
events make it exponential; a chain of d pairs of states p, q with loops at both and a way from p to
q, all three on the same events, makes it polynomial of degree d.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, combinations, product

from cerlab.automata.deterministic import Deterministic, Node, moves_over
from cerlab.automata.explore import along, reachable

MAX_NODES = 60
"""The largest machine whose degree is computed; products of three states are searched."""


@dataclass(frozen=True, slots=True)
class Growth:
    """The number of answers per event after n events: O(n^degree), or exponential."""

    degree: int | None
    """None is exponential."""

    def __str__(self) -> str:
        if self.degree is None:
            return "exponential"
        return "constant" if self.degree == 0 else f"polynomial of degree {self.degree}"


@dataclass(frozen=True, slots=True)
class _Graph:
    """Useful nodes and, by node and symbol, where its different moves lead (one entry each)."""

    nodes: tuple[Node, ...]
    after: dict[Node, dict[int, tuple[Node, ...]]]


def growth_of(machine: Deterministic, symbols: Sequence[int]) -> Growth | None:
    """The growth over streams of these symbols; None if the machine is too large to say."""
    graph = _useful(machine, symbols)
    if graph is None or len(graph.nodes) > MAX_NODES:
        return None
    if _is_exponential(graph):
        return Growth(None)
    return Growth(_degree(graph))


def _useful(machine: Deterministic, symbols: Sequence[int]) -> _Graph | None:
    """The idle states and the others, reachable and on the way to a final one."""
    follow = moves_over(machine, symbols)
    after: dict[Node, dict[int, tuple[Node, ...]]] = {}

    def targets_of(node: Node) -> Iterator[Node]:
        rows: dict[int, list[Node]] = {symbol: [] for symbol in symbols}
        for (symbol, _), target in follow(node):
            rows[symbol].append(target)
        after[node] = {symbol: tuple(row) for symbol, row in rows.items()}
        return chain.from_iterable(rows.values())

    start: Node = ("idle", machine.idle)
    for count, _ in enumerate(reachable((start,), targets_of)):
        if count > 4 * MAX_NODES:
            return None
    final = [node for node in after if node[0] == "run" and machine.final[node[1]]]
    edges = ((r, n) for n, rows in after.items() for targets in rows.values() for r in targets)
    useful = set(reachable(final, along(edges)))
    useful_after = {
        n: {s: tuple(r for r in targets if r in useful) for s, targets in after[n].items()}
        for n in after
        if n in useful
    }
    return _Graph(tuple(sorted(useful)), useful_after)


def _is_exponential(graph: _Graph) -> bool:
    """Whether some state has two different ways back to itself on the same events."""
    return any(
        (p, p) in reachable(_diverging(graph, p), lambda pair: _together(graph, pair))
        for p in graph.nodes
        if _loops(graph, p)
    )


def _diverging(graph: _Graph, p: Node) -> Iterator[tuple[Node, ...]]:
    """Where two ways from p lead that part on the same event for the first time."""
    for n in _reached_from(graph, p):
        for targets in graph.after[n].values():
            yield from combinations(targets, 2)


def _together(graph: _Graph, nodes: tuple[Node, ...]) -> Iterator[tuple[Node, ...]]:
    """Where one event can lead from some nodes at once."""
    first, *others = (graph.after[n] for n in nodes)
    for symbol, targets in first.items():
        yield from product(targets, *(after.get(symbol, ()) for after in others))


def _loops(graph: _Graph, p: Node) -> bool:
    return any(p in _reached_from(graph, r) for r in _next(graph, p))


def _degree(graph: _Graph) -> int:
    """The longest chain of pairs (p, q) with loops at both and a way between, on equal events."""
    pairs = [
        (p, q)
        for p in graph.nodes
        for q in graph.nodes
        if p != q and _loops(graph, p) and _loops(graph, q) and _hands_over(graph, p, q)
    ]
    reach = {n: _reached_from(graph, n) for n in graph.nodes}

    @cache
    def longest(pair: tuple[Node, Node]) -> int:
        """It ends: no pair comes after itself, since the machine is not exponential."""
        return 1 + max((longest(other) for other in pairs if other[0] in reach[pair[1]]), default=0)

    return max(map(longest, pairs), default=0)


def _hands_over(graph: _Graph, p: Node, q: Node) -> bool:
    """Whether some events lead from p to p, from p to q, and from q to q."""
    start: tuple[Node, ...] = (p, p, q)
    return (p, q, q) in reachable((start,), lambda nodes: _together(graph, nodes))


def _reached_from(graph: _Graph, n: Node) -> set[Node]:
    return set(reachable({n}, lambda q: _next(graph, q)))


def _next(graph: _Graph, n: Node) -> list[Node]:
    return [r for targets in graph.after[n].values() for r in targets]
