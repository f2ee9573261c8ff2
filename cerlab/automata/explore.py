"""Graph search: machines built from a start state and a function `follow`, and walks on graphs."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Generic, NamedTuple, TypeVar

from cerlab.automata.automaton import Automaton
from cerlab.budget import LESS, TRANSITION, spend, spend_over, step_budget
from cerlab.errors import ResourceLimit

State = TypeVar("State", bound=Hashable)
Label = TypeVar("Label")
Step = TypeVar("Step")
Parts = TypeVar("Parts", bound=tuple[Any, ...])
M = TypeVar("M", bound=Automaton[Any])


class Edge(NamedTuple, Generic[Label]):
    """``source -- label --> target``, between numbered macro-states."""

    source: int
    label: Label
    target: int


class Crawl(NamedTuple, Generic[State, Label]):
    """The reachable macro-states in order of discovery, and the edges between them."""

    states: tuple[State, ...]
    edges: tuple[Edge[Label], ...]


def explore(
    initial: State,
    follow: Callable[[State], Iterable[tuple[Parts, State]]],
    final: Callable[[State], bool],
    kind: type[M],
    *,
    R: frozenset[str] = frozenset(),
    most: int | None = None,
) -> M:
    """Return a machine of class `kind` whose states are those that `follow` reaches from `initial`.

    States are numbered breadth first from `initial`, which is 0. `follow` yields the parts of each
    transition's label and its target. Raises `ResourceLimit` if more than `most` states are
    reached, or the budget is spent: states and transitions are its steps.

    >>> from cerlab.automata.automaton import AnchoredCea, Mark
    >>> from cerlab.predicates.syntax import EVERYTHING
    >>> step = (EVERYTHING, Mark.TAKE)
    >>> A = explore("a", lambda w: [(step, w + "a")] if w < "aa" else [], "aa".__eq__, AnchoredCea)
    >>> A.states, [(t.source, t.target) for t in A.Delta], sorted(A.F)
    (2, [(0, 1)], [1])
    """
    graph = crawl(initial, follow, most=most)
    Delta = dict.fromkeys(
        kind.step(source, *parts, target) for source, parts, target in graph.edges
    )
    F = frozenset(n for n, state in enumerate(graph.states) if final(state))
    return kind(len(graph.states), tuple(Delta), frozenset({0}), F, R=R)


def crawl(
    initial: State,
    follow: Callable[[State], Iterable[tuple[Label, State]]],
    *,
    most: int | None = None,
) -> Crawl[State, Label]:
    """Return the states that `follow` reaches from `initial`, and the edges.

    Raises as `explore`.

    >>> crawl(0, lambda n: [("+1", n + 1)] if n < 2 else [], most=3).states
    (0, 1, 2)
    """
    number = {initial: 0}
    edges: list[Edge[Label]] = []
    pending = [initial]
    with step_budget():
        # the list grows during the loop
        for source, state in enumerate(pending):
            for label, target in follow(state):
                spend(TRANSITION)
                if target not in number:
                    number[target] = len(number)
                    pending.append(target)
                    if most is not None and len(number) > most:
                        raise ResourceLimit(
                            "CER0605", f"more than {most:,} states are reachable", hint=LESS
                        )
                edges.append(Edge(source, label, number[target]))
    return Crawl(tuple(number), tuple(edges))


def reachable(start: Iterable[State], after: Callable[[State], Iterable[State]]) -> Iterator[State]:
    """Yield the states `start` and all that `after` leads to, breadth first."""
    pending = list(dict.fromkeys(start))
    states = set(pending)
    for state in pending:
        spend()
        yield state
        for target in after(state):
            if target not in states:
                states.add(target)
                pending.append(target)


class Component(NamedTuple, Generic[State]):
    """A strong component: states that all lead to each other."""

    members: frozenset[State]
    loops: bool
    """True if a state leads back to itself; a single state does so only by a move to itself."""


def strong_components(
    start: Iterable[State], after: Callable[[State], Iterable[State]]
) -> Iterator[Component[State]]:
    """Yield the strong components reachable from `start`, each after the components it leads to.

    (R. Tarjan, "Depth-first search and linear graph algorithms", 1972.)

    >>> follows = {0: [1], 1: [2], 2: [1, 3], 3: []}
    >>> [(sorted(each.members), each.loops) for each in strong_components([0], follows.__getitem__)]
    [([3], False), ([1, 2], True), ([0], False)]
    """
    number: dict[State, int] = {}
    low: dict[State, int] = {}
    pending: list[State] = []  # states whose component is not complete
    place: dict[State, int] = {}  # the index of each state in `pending`
    closed: set[State] = set()
    loops: set[State] = set()
    # an explicit stack, because recursion would exceed Python's limit on deep machines
    path: list[tuple[State, Iterator[State]]] = []

    def enter(state: State) -> None:
        number[state] = low[state] = len(number)
        place[state] = len(pending)
        pending.append(state)
        path.append((state, iter(after(state))))

    for root in start:
        if root not in number:
            enter(root)
        while path:
            state, targets = path[-1]
            for target in targets:
                spend()
                if target not in number:
                    enter(target)
                    break
                if target not in closed:
                    low[state] = min(low[state], number[target])
                    loops |= {state} & {target}
            else:
                path.pop()
                if path:
                    before = path[-1][0]
                    low[before] = min(low[before], low[state])
                # a root: no later state leads back to an earlier one
                if low[state] == number[state]:
                    members = frozenset(pending[(at := place[state]) :])
                    del pending[at:]
                    closed |= members
                    yield Component(members, len(members) > 1 or state in loops)


def successors_by(edges: Iterable[tuple[State, State]]) -> Callable[[State], Iterable[State]]:
    """Return the function from a node to its successors, for a graph given by its edges."""
    after: dict[State, list[State]] = {}
    for source, target in edges:
        after.setdefault(source, []).append(target)
    return lambda state: after.get(state, ())


def trim(A: M) -> M:
    """Return a machine with equal runs and only states on accepting runs.

    A kind with a single initial state always keeps it. The remaining states keep their order and
    are renumbered from 0; registers stay, so that their meaning does not change.
    """
    edges = [(t.source, t.target) for t in (*A.Delta, *A.moves)]
    forward = reachable(A.I, successors_by(edges))
    backward = reachable(A.F, successors_by((q, p) for p, q in edges))
    useful = frozenset(forward).intersection(backward)
    number = {q: n for n, q in enumerate(sorted(useful | A.I if A.single else useful))}
    Delta, moves = (
        tuple(
            t._replace(source=number[t.source], target=number[t.target])
            for t in steps
            if t.source in number and t.target in useful
        )
        for steps in (A.Delta, A.moves)
    )
    I, F = (frozenset(number[q] for q in states if q in number) for states in (A.I, A.F))
    return replace(A, states=len(number), Delta=Delta, I=I, F=F, moves=moves)


Q = TypeVar("Q", bound=Hashable)


def coarsest(
    classes: Mapping[Q, int], behaviour: Callable[[Q, Mapping[Q, int]], Hashable]
) -> dict[Q, int]:
    """Return the coarsest refinement of `classes` whose members have equal `behaviour`.

    `behaviour` returns a key of the moves of a state, given the class of each target. Classes are
    numbered from 0 in the order of their first states.

    >>> follows = {0: 1, 1: 2, 2: 1, 3: 3}
    >>> coarsest({0: 0, 1: 1, 2: 0, 3: 0}, lambda q, c: c[follows[q]])
    {0: 0, 1: 1, 2: 0, 3: 2}
    """
    while True:
        numbers: dict[object, int] = {}
        refinement = {
            # the key contains the old class: classes only split, so the loop ends
            q: numbers.setdefault((own, behaviour(q, classes)), len(numbers))
            for q, own in classes.items()
        }
        if len(numbers) == len(set(classes.values())):
            return refinement
        classes = refinement


def distinct(steps: Iterable[Step]) -> tuple[Step, ...]:
    """Return the transitions in order, each once."""
    return tuple(dict.fromkeys(spend_over(steps)))
