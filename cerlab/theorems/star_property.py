"""The *-property: what is not marked does not matter (SOCEL Sec. 5.2).

A processing function f has it if every complex event C of f on S is one of f on every stream that
has the same labelled events in the same order, whatever is before, between and after them. All
streams cannot be tried; one edit of one stream can, and refutes it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from cerlab.logic.cel.semantics import valuations
from cerlab.logic.cel.syntax import Formula
from cerlab.model.answer import Labels
from cerlab.model.event import Event

Stream: TypeAlias = Sequence[Event]
Function: TypeAlias = Callable[[Stream], frozenset[Labels]]
"""Labelled complex events of a stream, at any position: ``f`` of the paper."""


@dataclass(frozen=True, slots=True)
class Edit:
    """At a position: `event` put in before it (0 deletions), in its place (1), or nothing (1)."""

    position: int
    deletions: int
    event: Event | None

    def stream(self, S: Stream) -> tuple[Event, ...]:
        """The stream after the edit."""
        new = () if self.event is None else (self.event,)
        return (*S[: self.position], *new, *S[self.position + self.deletions :])

    def position_after(self, position: int) -> int:
        """Where an event that the edit leaves alone is afterwards."""
        shift = (self.event is not None) - self.deletions
        return position + shift if position >= self.position + self.deletions else position

    def touches(self, C: Labels) -> bool:
        """Whether it removes or replaces an event of the complex event."""
        return bool(self.deletions) and any(self.position in D for D in C.values())


@dataclass(frozen=True, slots=True)
class Violation:
    """A complex event of the first stream, and where it should be in the second and is not."""

    before: Labels
    expected: Labels
    stream: tuple[Event, ...]


def labelled_answers(phi: Formula) -> Function:
    """The processing function of a formula: the labels of its valuations."""
    return lambda S: frozenset(Labels(V.labels) for V in valuations(phi, S))


def star_violation(f: Function, S: Stream, edit: Edit) -> Violation | None:
    """A complex event that the edit loses though it leaves all its events alone (SOCEL Sec. 5.2).

    None says that this edit of this stream does not refute the *-property.

    >>> from cerlab.logic.ceql.parser import parse_cel
    >>> S = [Event("A"), Event("A")]
    >>> break_in = Edit(1, 0, Event("B"))
    >>> star_violation(labelled_answers(parse_cel("A ; A")[0]), S, break_in) is None
    True
    >>> contiguous = labelled_answers(parse_cel("A : A")[0])
    >>> star_violation(contiguous, S, break_in).expected
    {'A': (0, 2)}
    """
    new_stream = edit.stream(S)
    after = f(new_stream)
    for C in sorted(f(S), key=repr):
        if edit.touches(C):
            continue
        image = Labels({X: tuple(map(edit.position_after, D)) for X, D in C.items()})
        if image not in after:
            return Violation(C, image, new_stream)
    return None
