"""Sets of matches that share their beginnings: a graph that grows by one node for an event."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from cerlab.model.answer import Positions


@dataclass(frozen=True, slots=True, eq=False)
class Unmarked:
    """The set of the empty match alone."""


@dataclass(frozen=True, slots=True, eq=False)
class Marked:
    """The matches of `before`, each with one position more at its end."""

    before: MarkSet
    position: int


@dataclass(frozen=True, slots=True, eq=False)
class Either:
    """The matches of all the parts, which may overlap."""

    parts: tuple[MarkSet, ...]


MarkSet: TypeAlias = Unmarked | Marked | Either
UNMARKED = Unmarked()


class Growth:
    """The nodes that one event makes, each once: equal parts make the same node."""

    def __init__(self, position: int) -> None:
        self._position = position
        self._marked: dict[int, Marked] = {}
        self._either: dict[frozenset[int], Either] = {}

    def marked(self, before: MarkSet) -> MarkSet:
        """Those matches with the position of the event."""
        return self._marked.setdefault(id(before), Marked(before, self._position))

    def either(self, parts: Iterable[MarkSet]) -> MarkSet:
        """The union."""
        different = {id(part): part for part in parts}
        if len(different) == 1:
            return next(iter(different.values()))
        made = Either(tuple(different.values()))
        return self._either.setdefault(frozenset(different), made)


def listed(node: MarkSet) -> Iterator[Positions]:
    """The matches of a set; one that two parts of it have is there twice.

    >>> first = Marked(UNMARKED, 0)
    >>> sorted(listed(Either((Marked(first, 2), Marked(Either((first, UNMARKED)), 3)))))
    [(0, 2), (0, 3), (3,)]
    """
    pending: list[tuple[MarkSet, Positions]] = [(node, ())]
    while pending:
        here, later = pending.pop()
        match here:
            case Unmarked():
                yield later
            case Marked(before, position):
                pending.append((before, (position, *later)))
            case Either(parts):
                pending += ((part, later) for part in parts)
            case _:
                assert_never(here)
