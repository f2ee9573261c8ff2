"""Decisions about machines: emptiness, containment, equivalence (CORE Sec. 3), growth of answers.

Two machines are read together, event by event: first both wait, then a run with the same start and
the same marks goes on in each. A breadth-first search finds the fewest events after which one
accepts and the other does not: a shortest stream. Events are the minterms of both machines'
predicates: what they cannot tell apart is one event.

The number of answers per event grows with the stream by the ambiguity of a machine. An answer is a
run of an I/O-deterministic machine; so the answers that end at one event are the runs of the
machine, with its marks forgotten, on the stream up to there. Their number is bounded, or
polynomial, or exponential, by patterns that A. Weber and H. Seidl gave ("On the degree of ambiguity
of finite automata", 1991): two different ways from a state back to itself on the same events make
it exponential; a chain of d pairs of states p, q with loops at both and a way from p to q, all
three on the same events, makes it polynomial of degree d. C. Allauzen, M. Mohri and A. Rastogi
("General algorithms for testing the ambiguity of finite automata", 2008) search for both in
products of strong components, in cubic time.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from itertools import chain, combinations, product
from typing import NamedTuple

from cerlab.automata.automaton import Mark
from cerlab.automata.deterministic import Deterministic, Moves, Node, moves_over
from cerlab.automata.explore import reachable, strong_components, successors_by
from cerlab.budget import spend, step_budget
from cerlab.predicates.minterms import Minterm

STUCK = Moves(None, None)


class Side(Enum):
    """One of two compared machines: the left or the right."""

    LEFT = "left"
    RIGHT = "right"


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """A window in time: `axis` names the attribute that measures it, `width` is inclusive."""

    axis: str
    width: Fraction


@dataclass(frozen=True, slots=True)
class WindowedMachine:
    """A machine with a window: at most `events` events after the first one, or a span of time."""

    machine: Deterministic
    events: int | None = None
    span: TimeSpan | None = None

    def fits(self, length: int) -> bool:
        """Return whether the window in events contains an answer of `length` events."""
        return self.events is None or length - 1 <= self.events


class Difference(NamedTuple):
    """A shortest stream after which the machine `side` has an answer that the other lacks.

    `events` are indices of minterms; the answer starts at `start`, ends at the last event and takes
    the `marks` from `start` on. With `late`, both machines accept the answer, but the other's
    window of time is shorter: the time from start to end must lie between the two.
    """

    events: tuple[int, ...]
    start: int
    marks: tuple[Mark, ...]
    side: Side
    late: bool

    @property
    def positions(self) -> tuple[int, ...]:
        """The positions of the answer."""
        return tuple(self.start + k for k, m in enumerate(self.marks) if m is Mark.TAKE)


class _Node(NamedTuple):
    """A search node: two idle states (length 0), or the states of one run and its capped length."""

    left: int | None
    right: int | None
    length: int


class _Origin(NamedTuple):
    came_from: _Node | None
    event: int
    mark: Mark | None


class Joint:
    """The minterms of two machines, each as a pair of symbols."""

    def __init__(
        self, left: Deterministic, right: Deterministic, minterms: Sequence[Minterm]
    ) -> None:
        """Pair the symbols of both machines; minterms are of the left, then the right predicates.

        `minterms` are of the left predicates, then of the right.
        """
        width = len(left.predicates)
        low = (1 << width) - 1
        self.symbols = tuple((m.symbol & low, m.symbol >> width) for m in minterms)


def shortest_difference(
    left: WindowedMachine,
    right: WindowedMachine,
    joint: Joint,
    usable: Sequence[int],
    *,
    sides: Sequence[Side] = tuple(Side),
    below: float = math.inf,
) -> Difference | None:
    """Return a shortest stream after which one of the `sides` has an answer the other lacks.

    `usable` are the minterms that streams may be made of. Returns None if no stream with fewer than
    `below` events separates the machines. Raises `ResourceLimit` if the search takes too many
    steps.
    """
    # runs longer than every window are alike, so the length is capped there
    cap = 2 + max((w.events for w in (left, right) if w.events is not None), default=0)
    start = _Node(left.machine.idle, right.machine.idle, 0)
    steps: dict[_Node, _Origin] = {start: _Origin(None, -1, None)}
    frontier = [start]
    length = 0
    while frontier and (length := length + 1) < below:
        nodes: list[_Node] = []
        for node in frontier:
            for event, mark, target in _moves(node, left, right, joint, usable, cap):
                spend()
                if target in steps:
                    continue
                steps[target] = _Origin(node, event, mark)
                # compare when a node is found: the first difference is then a shortest one
                for side in sides:
                    verdict = _differs(target, left, right, side)
                    if verdict is not None:
                        return _difference(target, steps, side, late=verdict)
                nodes.append(target)
        frontier = nodes
    return None


def _moves(
    node: _Node,
    left: WindowedMachine,
    right: WindowedMachine,
    joint: Joint,
    usable: Sequence[int],
    cap: int,
) -> Iterator[tuple[int, Mark | None, _Node]]:
    A, B = left.machine, right.machine
    length = min(node.length + 1, cap)
    for event in usable:
        a, b = joint.symbols[event]
        p, q = node.left, node.right
        if node.length == 0:
            assert p is not None
            assert q is not None
            yield event, None, _Node(A.wait(p, a), B.wait(q, b), 0)
            moves = (A.begin(p, a), B.begin(q, b))
        else:
            moves = (
                A.step(p, a) if p is not None else STUCK,
                B.step(q, b) if q is not None else STUCK,
            )
        for mark, one, other in zip((Mark.TAKE, Mark.SKIP), *moves, strict=True):
            if one is not None or other is not None:
                yield event, mark, _Node(one, other, length)


def _differs(node: _Node, left: WindowedMachine, right: WindowedMachine, side: Side) -> bool | None:
    """Return True if windows in time distinguish the sides, False if states do, otherwise None.

    False: the other does not accept at all.
    """
    if node.length == 0:
        return None
    ours, theirs = (left, right) if side is Side.LEFT else (right, left)
    p, q = (node.left, node.right) if side is Side.LEFT else (node.right, node.left)
    if p is None or not ours.machine.final[p] or not ours.fits(node.length):
        return None
    if q is None or not theirs.machine.final[q] or not theirs.fits(node.length):
        return False
    # a single event has duration 0, which is inside every window in time
    return True if node.length > 1 and _outlasts(ours.span, theirs.span) else None


def _outlasts(ours: TimeSpan | None, theirs: TimeSpan | None) -> bool:
    """Return whether some duration fits the window `ours` and not `theirs`."""
    if theirs is None:
        return False
    return ours is None or ours.axis != theirs.axis or ours.width > theirs.width


def _difference(node: _Node, steps: dict[_Node, _Origin], side: Side, *, late: bool) -> Difference:
    events: list[int] = []
    marks: list[Mark] = []
    step = steps[node]
    while step.came_from is not None:
        events.append(step.event)
        if step.mark is not None:
            marks.append(step.mark)
        step = steps[step.came_from]
    events.reverse()
    marks.reverse()
    return Difference(tuple(events), len(events) - len(marks), tuple(marks), side, late)


MAX_NODES = 500
"""The largest machine whose degree is computed: its strong components take quadratic time."""


@dataclass(frozen=True, slots=True)
class Growth:
    """The growth of the number of answers per event: O(n^degree) after n events, or exponential."""

    degree: int | None
    """The degree of the polynomial; None: exponential."""

    def __str__(self) -> str:
        if self.degree is None:
            return "exponential"
        return "constant" if self.degree == 0 else f"polynomial of degree {self.degree}"


@dataclass(frozen=True, slots=True)
class _Graph:
    """The graph of a machine's reachable nodes from which a final state can be reached.

    `after` lists, by node and symbol, the targets of its different moves.
    """

    nodes: tuple[Node, ...]
    after: dict[Node, dict[int, tuple[Node, ...]]]

    def next(self, node: Node) -> Iterator[Node]:
        """Yield the nodes after one event from a node."""
        return chain.from_iterable(self.after[node].values())

    def together(self, *nodes: tuple[Node, Collection[Node]]) -> Iterator[tuple[Node, ...]]:
        """Yield tuples of nodes after one common event from several nodes, each in a given set."""
        rows = [self.after[node] for node, _ in nodes]
        for symbol in rows[0]:
            yield from product(
                *(
                    [r for r in row[symbol] if r in among]
                    for row, (_, among) in zip(rows, nodes, strict=True)
                )
            )


def growth_of(machine: Deterministic, symbols: Sequence[int]) -> Growth | None:
    """Return how the number of answers grows on streams of these symbols.

    None if the machine is too large to decide it.

    Raises `ResourceLimit` if the search takes too many steps.
    """
    graph = _useful(machine, symbols)
    if graph is None or len(graph.nodes) > MAX_NODES:
        return None
    with step_budget("the growth of a query"):
        loops = [each for each in strong_components(graph.nodes, graph.next) if each.loops]
        # test this first, because `_degree` assumes that growth is not exponential
        if any(_is_exponential(graph, each.members) for each in loops):
            return Growth(None)
        return Growth(_degree(graph, [each.members for each in loops]))


def _useful(machine: Deterministic, symbols: Sequence[int]) -> _Graph | None:
    """Return the graph of nodes between start and acceptance; None if it is too large."""
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
        # allow four times as many nodes: those that reach no final node are dropped below
        if count > 4 * MAX_NODES:
            return None
    final = [node for node in after if node[0] == "run" and machine.final[node[1]]]
    edges = ((r, n) for n, rows in after.items() for targets in rows.values() for r in targets)
    useful = set(reachable(final, successors_by(edges)))
    useful_after = {
        n: {s: tuple(r for r in targets if r in useful) for s, targets in after[n].items()}
        for n in after
        if n in useful
    }
    return _Graph(tuple(sorted(useful)), useful_after)


def _is_exponential(graph: _Graph, component: frozenset[Node]) -> bool:
    """Return whether two paths on equal events lead from one state of a component to itself.

    If one state of the component has two, all have. Both ways stay inside the component, so the
    search begins where two moves of one state diverge, and ends where both ways have led to the
    same state p.
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
    """Return the degree of growth, for a machine whose growth is not exponential.

    Each of the `components` comes before the components that lead to it. Whether one pair can
    follow another depends on their components alone, so only the longest chain from each component
    is kept, and the best continuations are tried first.
    """
    ahead = {n: set(reachable([n], graph.next)) for n in graph.nodes}
    longest: dict[frozenset[Node], int] = {}
    for source in components:
        later = [each for each in longest if not ahead[min(source)].isdisjoint(each)]
        best = max((longest[each] for each in later), default=0)
        for target in sorted(later, key=lambda each: -longest[each]):
            if longest[target] < best:  # sorted by length, so no later target gives a longer chain
                break
            between = {n for n in ahead[min(source)] if not ahead[n].isdisjoint(target)}
            if _hands_over(graph, source, between, target):
                best = longest[target] + 1
        longest[source] = best
    return max(longest.values(), default=0)


def _hands_over(
    graph: _Graph, source: frozenset[Node], between: set[Node], target: frozenset[Node]
) -> bool:
    """Return whether equal events lead from p to p, p to q and q to q, for some p and q.

    This holds if (p, q, q) is reached from (p, p, q). With an extra edge from each (p, q, q) to its
    (p, p, q), both are then in one strong component; conversely, such a component has a pair p, q
    that events alone connect.
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
