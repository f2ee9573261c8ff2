"""Derivations of a SREMO: which part consumes which events, with what in the registers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from cerlab.display import shown
from cerlab.logic.sremo.syntax import Sremo
from cerlab.model.answer import Positions
from cerlab.why.failure import Failure, Path

Stored: TypeAlias = tuple[tuple[str, int | None], ...]
"""Which event each register holds, by register; None is one that a part should have stored, for
which no event is there. Registers that are not listed are empty."""


@shown
@dataclass(frozen=True, slots=True)
class SremoDerivation:
    """One node: a subexpression, the events from `start` to before `end`, its marks among them.

    `registers` is what those hold after it that some guard reads. The children of an iteration are
    its rounds, also under a strategy, of an alternative the side that was taken, of an intersection
    both sides; a negation has none, nor has an iteration of one event that is neither marked nor
    stored. `failures` are the obligations that the node and those below it do not meet: without any
    it is one ``(e, S, i, j, M, v) |- v'`` (SRT Def. 17).
    """

    part: Sremo
    path: Path
    start: int
    end: int
    marks: Positions
    registers: Stored
    children: tuple[SremoDerivation, ...] = ()
    failures: tuple[Failure, ...] = ()

    @property
    def interval(self) -> tuple[int, int]:
        """From its first mark to its last, as an answer has it; it has a mark."""
        return self.marks[0], self.marks[-1]

    def __iter__(self) -> Iterator[SremoDerivation]:
        """The nodes, outermost first, left to right."""
        pending = [self]
        while pending:
            node = pending.pop()
            yield node
            pending.extend(reversed(node.children))
