"""The growth of the number of answers per event with the stream: the ambiguity of a machine.

An answer is a run of an I/O-deterministic machine; so the answers that end at one event are the
runs of the machine, with its marks forgotten, on the stream up to there. Their number is bounded,
or polynomial, or exponential, by patterns that A. Weber and H. Seidl gave ("On the degree of
ambiguity of finite automata", 1991): two different ways from a state back to itself on the same
events make it exponential; a chain of d pairs of states p, q with loops at both and a way from p to
q, all three on the same events, makes it polynomial of degree d. C. Allauzen, M. Mohri and A.
Rastogi ("General algorithms for testing the ambiguity of finite automata", 2008) search for both in
products of strong components, in cubic time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, product

from cerlab.automata.deterministic import Deterministic, Node, moves_over
from cerlab.automata.explore import along, reachable, strong_components
from cerlab.budget import step_budget

MAX_NODES = 500
"""The largest machine whose degree is computed: its strong components take quadratic time."""


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

    def next(self, node: Node) -> Iterator[Node]:
        """Yield where any event leads from a node."""
        return chain.from_iterable(self.after[node].values())

    def together(self, *nodes: tuple[Node, Collection[Node]]) -> Iterator[tuple[Node, ...]]:
        """Yield where one event leads from several nodes at once, each into some nodes."""
        rows = [self.after[node] for node, _ in nodes]
        for symbol in rows[0]:
            yield from product(
                *(
                    [r for r in row[symbol] if r in among]
                    for row, (_, among) in zip(rows, nodes, strict=True)
                )
            )


def growth_of(machine: Deterministic, symbols: Sequence[int]) -> Growth | None:
    """Return the growth over streams of these symbols; None if the machine is too large to say.

    Raises `ResourceLimit` where the search takes too many steps.
    """
    graph = _useful(machine, symbols)
    if graph is None or len(graph.nodes) > MAX_NODES:
        return None
    with step_budget("the growth of a query"):
        loops = [each for each in strong_components(graph.nodes, graph.next) if each.loops]
        # Chains of pairs end only where the machine is not exponential.
        if any(_is_exponential(graph, each.members) for each in loops):
            return Growth(None)
        return Growth(_degree(graph, [each.members for each in loops]))


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
        # nodes on no way to a final one are dropped below, so more may be met than are kept
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


def _is_exponential(graph: _Graph, component: frozenset[Node]) -> bool:
    """Return whether a state of a strong component has two ways back to itself on the same events.

    If one state of the component has, all have. The ways stay inside it, so the search begins where
    two moves of one state part, and ends where both ways have led to the same state p.
    """
    p = min(component)
    parted: set[tuple[Node, ...]] = {
        pair
        for n in component
        for targets in graph.after[n].values()
        for pair in combinations([r for r in targets if r in component], 2)
    }

    def follow(pair: tuple[Node, ...]) -> Iterator[tuple[Node, ...]]:
        return graph.together(*((n, component) for n in pair))

    return (p, p) in reachable(parted, follow)


def _degree(graph: _Graph, components: Sequence[frozenset[Node]]) -> int:
    """Return the length of the longest chain of pairs (p, q), none of which is exponential.

    `components` come in an order in which every one stands before those that lead to it. Whether a
    pair follows another one depends on their components alone, so of each component the longest
    chain that begins there is kept, and the best continuations are tried first.
    """
    ahead = {n: set(reachable([n], graph.next)) for n in graph.nodes}
    longest: dict[frozenset[Node], int] = {}
    for source in components:
        later = [each for each in longest if not ahead[min(source)].isdisjoint(each)]
        best = max((longest[each] for each in later), default=0)
        for target in sorted(later, key=lambda each: -longest[each]):
            if longest[target] < best:  # it cannot be longer than what is known
                break
            between = {n for n in ahead[min(source)] if not ahead[n].isdisjoint(target)}
            if _hands_over(graph, source, between, target):
                best = longest[target] + 1
        longest[source] = best
    return max(longest.values(), default=0)


def _hands_over(
    graph: _Graph, source: frozenset[Node], between: set[Node], target: frozenset[Node]
) -> bool:
    """Return whether for some p and q the same events lead from p to p, from p to q, from q to q.

    That is so if (p, q, q) is reached from (p, p, q). With a way back from each (p, q, q) to its
    (p, p, q), both are in one strong component; then they are so for one pair p, q by events alone.
    """

    def follow(nodes: tuple[Node, ...]) -> Iterator[tuple[Node, ...]]:
        a, b, c = nodes
        yield from graph.together((a, source), (b, between), (c, target))
        if b == c:
            yield a, a, c

    starts: list[tuple[Node, ...]] = [(p, p, q) for p in source for q in target]
    return any(
        any(a == b and (a, c, c) in each.members for a, b, c in each.members)
        for each in strong_components(starts, follow)
        if each.loops
    )
