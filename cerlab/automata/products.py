"""Products of automata; AND and ALL under the *-semantics (SOCEL Sec. 5.2).

In a product, each of the two automata is in one of its states, or has not moved yet: None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeAlias, TypeVar

from cerlab.automata.automaton import LabelTransition, Ucea
from cerlab.automata.explore import Explored, explore
from cerlab.predicates.syntax import Predicate, conjunction

Side: TypeAlias = int | None
"""Where one of the two is; None before its first move."""

Pair: TypeAlias = tuple[Side, Side]

BEFORE: Pair = (None, None)


class _Step(Protocol):
    @property
    def source(self) -> int: ...


AnyStep = TypeVar("AnyStep", bound=_Step)
Label = TypeVar("Label")


def moves_from(Delta: Iterable[AnyStep], I: Iterable[int]) -> Callable[[Side], list[AnyStep]]:
    """The transitions that leave a state; before the first move, those of all initial states."""
    leaving: dict[Side, list[AnyStep]] = {}
    for t in dict.fromkeys(Delta):
        leaving.setdefault(t.source, []).append(t)
    leaving[None] = [t for q in sorted(I) for t in leaving.get(q, ())]
    return lambda q: leaving.get(q, [])


def pairs(
    follow: Callable[[Pair], Iterable[tuple[Label, Pair]]], F1: frozenset[int], F2: frozenset[int]
) -> Explored[Pair, Label]:
    """What a product reaches from `BEFORE`; both have to end in a final state."""
    return explore(BEFORE, follow, lambda pair: pair[0] in F1 and pair[1] in F2)


def and_product(A: Ucea, B: Ucea) -> Ucea:
    """What both give under the *-semantics (SOCEL Sec. 5.2).

    A state is a state of each, after the same events with the same labels: they move together.
    """
    left, right = moves_from(A.Delta, A.I), moves_from(B.Delta, B.I)

    def follow(pair: Pair) -> Iterator[tuple[_Test, Pair]]:
        for s in left(pair[0]):
            for t in right(pair[1]):
                if s.labels and s.labels == t.labels:
                    yield _together(s, t), (s.target, t.target)

    return _ucea(pairs(follow, A.F, B.F))


def all_product(A: Ucea, B: Ucea) -> Ucea:
    """One complex event of each, united, under the *-semantics (SOCEL Sec. 5.2).

    A state is a state of each, or that one has not moved yet. At an event that the answer labels A
    moves, or B moves, or both do, and then their labels are united.

    >>> from cerlab.predicates.syntax import TypeIs
    >>> a, b = (
    ...     Ucea(2, (LabelTransition(0, TypeIs(R), frozenset(R), 1),), frozenset({0}),
    ...          frozenset({1})) for R in "AB"
    ... )
    >>> [(t.source, "".join(sorted(t.labels)), t.target) for t in all_product(a, b).Delta]
    [(0, 'A', 1), (0, 'B', 2), (0, 'AB', 3), (1, 'B', 3), (2, 'A', 3)]
    """
    left, right = moves_from(A.Delta, A.I), moves_from(B.Delta, B.I)

    def follow(pair: Pair) -> Iterator[tuple[_Test, Pair]]:
        p, q = pair
        for s in _labelled(left(p)):
            yield (s.predicate, s.labels), (s.target, q)
        for t in _labelled(right(q)):
            yield (t.predicate, t.labels), (p, t.target)
        for s in _labelled(left(p)):
            for t in _labelled(right(q)):
                yield _together(s, t), (s.target, t.target)

    return _ucea(pairs(follow, A.F, B.F))


_Test: TypeAlias = tuple[Predicate, frozenset[str]]


def _labelled(transitions: list[LabelTransition]) -> list[LabelTransition]:
    return [t for t in transitions if t.labels]


def _together(s: LabelTransition, t: LabelTransition) -> _Test:
    """Both read the event; it gets the labels of both."""
    return conjunction(s.predicate, t.predicate), s.labels | t.labels


def _ucea(found: Explored[Pair, _Test]) -> Ucea:
    number = {pair: n for n, pair in enumerate(found.states)}
    Delta = dict.fromkeys(
        LabelTransition(number[source], P, L, number[target])
        for source, (P, L), target in found.moves
    )
    F = frozenset(number[pair] for pair in found.final)
    return Ucea(len(number), tuple(Delta), frozenset({0}), F)
