"""Sets of matches as nodes that share parts: each event extends sets by its position.

Each event creates a node at most once, so there are at most as many nodes as extensions and
unions, regardless of the number of matches in them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from cerlab.model.answer import Positions


@dataclass(frozen=True, slots=True, eq=False)
class EmptyMatch:
    """The set whose only match has no positions."""


@dataclass(frozen=True, slots=True, eq=False)
class Extension:
    """The set of matches of `before`, each with `position` added at its end."""

    before: MarkSet
    position: int


@dataclass(frozen=True, slots=True, eq=False)
class Either:
    """The union of several sets of matches, which may overlap."""

    parts: tuple[MarkSet, ...]


MarkSet: TypeAlias = EmptyMatch | Extension | Either


EMPTY_MATCH = EmptyMatch()


class Growth:
    """The sets that one event creates; sets from equal parts are one object."""

    def __init__(self, position: int) -> None:
        self._position = position
        self._extensions: dict[int, Extension] = {}
        self._either: dict[frozenset[int], Either] = {}

    def with_mark(self, before: MarkSet) -> MarkSet:
        """Return the set of matches of `before`, each extended by the event's position."""
        # by identity: comparing nodes would expand their shared parts
        return self._extensions.setdefault(id(before), Extension(before, self._position))

    def either(self, parts: Iterable[MarkSet]) -> MarkSet:
        """Return the union of sets of matches."""
        different = {id(part): part for part in parts}
        if len(different) == 1:
            return next(iter(different.values()))
        union = Either(tuple(different.values()))
        return self._either.setdefault(frozenset(different), union)


def matches_of(node: MarkSet) -> Iterator[Positions]:
    """Yield the matches of a set; a match in several parts is repeated.

    >>> first = Extension(EMPTY_MATCH, 0)
    >>> later = Extension(Either((first, EMPTY_MATCH)), 3)
    >>> sorted(matches_of(Either((Extension(first, 2), later))))
    [(0, 2), (0, 3), (3,)]
    """
    pending: list[tuple[MarkSet, Positions]] = [(node, ())]
    while pending:
        node, later = pending.pop()
        match node:
            case EmptyMatch():
                yield later
            case Extension(before, position):
                pending.append((before, (position, *later)))
            case Either(parts):
                pending += ((part, later) for part in parts)
            case _:
                assert_never(node)


def each_once(sets: list[MarkSet]) -> Iterator[tuple[int, ...]]:
    """Yield the matches of several sets, each match once."""
    matches: set[tuple[int, ...]] = set()
    for marks in sets:
        for M in matches_of(marks):
            if M not in matches:
                matches.add(M)
                yield M
