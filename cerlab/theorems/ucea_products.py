"""AND and ALL under the *-semantics, as products of UCEA (SOCEL Sec. 5.2)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from cerlab.automata.automaton import START, LabelTransition, Ucea, outgoing
from cerlab.automata.explore import explore
from cerlab.automata.product import pairs
from cerlab.predicates.syntax import Predicate, conjunction

Pair: TypeAlias = tuple[int, int]
"""Where each of the two is; `START` before its first move."""


def and_product(A: Ucea, B: Ucea) -> Ucea:
    """What both give under the *-semantics (SOCEL Sec. 5.2).

    A state is a state of each, after the same events with the same labels: they move together.
    """

    def joint(s: LabelTransition, t: LabelTransition) -> _Test | None:
        return _together(s, t) if s.labels and s.labels == t.labels else None

    return pairs(A, B, joint, Ucea)


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
    left, right = outgoing(A), outgoing(B)

    def follow(state: Pair) -> Iterator[tuple[_Test, Pair]]:
        p, q = state
        for s in _with_labels(left[p]):
            yield (s.predicate, s.labels), (s.target, q)
        for t in _with_labels(right[q]):
            yield (t.predicate, t.labels), (p, t.target)
        for s in _with_labels(left[p]):
            for t in _with_labels(right[q]):
                yield _together(s, t), (s.target, t.target)

    def final(state: Pair) -> bool:
        return state[0] in A.F and state[1] in B.F

    return explore((START, START), follow, final, Ucea)


_Test: TypeAlias = tuple[Predicate, frozenset[str]]


def _with_labels(transitions: list[LabelTransition]) -> list[LabelTransition]:
    return [t for t in transitions if t.labels]


def _together(s: LabelTransition, t: LabelTransition) -> _Test:
    """Both read the event; it gets the labels of both."""
    return conjunction(s.predicate, t.predicate), s.labels | t.labels
