"""Symbolic regular expressions with memory and output, one dataclass per production (SRT Def. 15).

The core is the paper's; then come the operators that it introduces later, each an expression again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from cerlab.display import drawable
from cerlab.predicates.syntax import EVERYTHING, Guard


@drawable
@dataclass(frozen=True, slots=True)
class Epsilon:
    """``EPS``: no event."""


@drawable
@dataclass(frozen=True, slots=True)
class Empty:
    """``EMPTY``: matches nothing, not even no events."""


@drawable
@dataclass(frozen=True, slots=True)
class Terminal:
    """``<guard>``, ``<guard>^``, ``<guard>^ -> r``, ``<guard> -> {r, s}``: one event.

    `marked` (the paper's output •) puts its position into the match; it is stored in all registers
    of `writes`, after the guard was read.
    """

    guard: Guard
    marked: bool = False
    writes: frozenset[str] = frozenset()


@drawable
@dataclass(frozen=True, slots=True)
class Concat:
    """``left . right``: right immediately after left."""

    left: Sremo
    right: Sremo


@drawable
@dataclass(frozen=True, slots=True)
class Alternation:
    """``left | right``."""

    left: Sremo
    right: Sremo


@drawable
@dataclass(frozen=True, slots=True)
class Star:
    """``body*``: none or more, contiguous; registers keep their values from one to the next."""

    body: Sremo


@drawable
@dataclass(frozen=True, slots=True)
class SpanWindow:
    """``body[1..width]``: from the first to the last marked position at most `width` positions."""

    body: Sremo
    width: int


@drawable
@dataclass(frozen=True, slots=True)
class LengthWindow:
    """``body[len<=width]``: at most `width` events, marked or not."""

    body: Sremo
    width: int


@drawable
@dataclass(frozen=True, slots=True)
class Within:
    """``body[within width attribute]``: at most `width` from the first marked time to the last."""

    body: Sremo
    width: int | float
    attribute: str


@drawable
@dataclass(frozen=True, slots=True)
class Intersection:
    """``left & right``: the same events with the same marks; neither writes what the other uses."""

    left: Sremo
    right: Sremo


@drawable
@dataclass(frozen=True, slots=True)
class Negation:
    """``!body``: any run of events that is none of body's; marks nothing and writes nothing."""

    body: Sremo


@drawable
@dataclass(frozen=True, slots=True)
class Plus:
    """``body+``: one or more, contiguous."""

    body: Sremo


@drawable
@dataclass(frozen=True, slots=True)
class Option:
    """``body?``: none or one."""

    body: Sremo


@drawable
@dataclass(frozen=True, slots=True)
class SkipAny:
    """``#(e, .., e)``: skip-till-any-match, a sequence with any gaps; of one iteration as well."""

    operands: tuple[Sremo, ...]


@drawable
@dataclass(frozen=True, slots=True)
class SkipNext:
    """``@(e, .., e)``: skip-till-next-match, no gap holds an instance of the next; also of one."""

    operands: tuple[Sremo, ...]


Window: TypeAlias = SpanWindow | LengthWindow | Within
Strategy: TypeAlias = SkipAny | SkipNext
DerivedOperator: TypeAlias = Plus | Option | Strategy
Core: TypeAlias = Epsilon | Empty | Terminal | Concat | Alternation | Star
Sremo: TypeAlias = Core | Window | Intersection | Negation | DerivedOperator

EPSILON = Epsilon()
SKIP = Star(Terminal(EVERYTHING))
"""``<TRUE>*``: any events, none of them marked."""


def children(e: Sremo) -> tuple[Sremo, ...]:
    """The direct subexpressions, from left to right."""
    match e:
        case Epsilon() | Empty() | Terminal():
            return ()
        case Concat(left, right) | Alternation(left, right) | Intersection(left, right):
            return (left, right)
        case SkipAny(operands) | SkipNext(operands):
            return operands
        case _:
            return (e.body,)


def with_part(e: Sremo, path: Sequence[int], part: Sremo) -> Sremo:
    """The expression with another subexpression at a path: the number of the child at each step."""
    if not path:
        return part
    n, *below = path
    inner = list(children(e))
    inner[n] = with_part(inner[n], below, part)
    match e:
        case Concat() | Alternation() | Intersection():
            return replace(e, left=inner[0], right=inner[1])
        case SkipAny() | SkipNext():
            return replace(e, operands=tuple(inner))
        case Epsilon() | Empty() | Terminal():
            raise IndexError(f"{e} has no subexpression {n}")
        case _:
            return replace(e, body=inner[0])


def subexpressions(e: Sremo) -> Iterator[Sremo]:
    """The expression and all its subexpressions, outermost first, left to right."""
    pending = [e]
    while pending:
        each = pending.pop()
        yield each
        pending.extend(reversed(children(each)))
