"""Elimination of states: an automaton becomes one expression (SOCEL Sec. 6; SRT Lemma S2).

Of which language the expression is, and how large, the caller says: it gives what stands on the
edges and how that is put together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

START, END = -1, -2
"""The ends: nothing leads into the first and out of the second, and neither is removed."""

E = TypeVar("E")
Edge: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Operations(Generic[E]):
    """One or the other; and through a state, with its loop none or more times if it has one."""

    either: Callable[[E, E], E]
    through: Callable[[E, E | None, E], E]


def eliminate(edges: Mapping[Edge, E], operations: Operations[E]) -> E | None:
    """What leads from `START` to `END`; None if nothing does.

    An edge from p to q says what is read on the ways from p to q through the states removed so far.
    The state with the fewest ways through it goes first.

    >>> regex = Operations("({}|{})".format, lambda a, o, b: f"{a}({o})*{b}" if o else a + b)
    >>> eliminate({(START, 0): "a", (0, 0): "b", (0, END): "c", (START, END): "d"}, regex)
    '(d|a(b)*c)'
    """
    rest = dict(edges)
    states = {q for edge in edges for q in edge} - {START, END}
    while states:
        k = min(states, key=lambda q: (_ways(rest, q), q))
        states.remove(k)
        rest = _without(rest, k, operations)
    return rest.get((START, END))


def add_edge(edges: dict[Edge, E], edge: Edge, e: E, either: Callable[[E, E], E]) -> None:
    """Put an edge beside what is there between the same two states."""
    edges[edge] = either(edges[edge], e) if edge in edges else e


def _ways(edges: Mapping[Edge, E], k: int) -> int:
    """How many edges the removal of a state makes."""
    into = sum(1 for p, q in edges if q == k != p)
    out = sum(1 for p, q in edges if p == k != q)
    return into * out


def _without(edges: Mapping[Edge, E], k: int, operations: Operations[E]) -> dict[Edge, E]:
    """Every way through k becomes an edge around it."""
    rest = {edge: e for edge, e in edges.items() if k not in edge}
    into = [(p, e) for (p, q), e in edges.items() if q == k != p]
    out = [(q, e) for (p, q), e in edges.items() if p == k != q]
    loop = edges.get((k, k))
    for p, first in into:
        for q, last in out:
            through = operations.through(first, loop, last)
            add_edge(rest, (p, q), through, operations.either)
    return rest
