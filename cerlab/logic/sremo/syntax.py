"""Symbolic regular expressions with memory and output, one dataclass per production (SRT Def. 15).

The core is the paper's; then come the operators that it introduces later, each an expression again;
then their registers, rewritings and checks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TypeAlias, assert_never

from cerlab.display import drawable
from cerlab.errors import IllFormed, ResourceLimit, SourcePlace
from cerlab.predicates.syntax import EVERYTHING, Guard, registers_of


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
    """``!body``: any run of events that the body does not match; no marks, no writes."""

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
    """Return the direct subexpressions, from left to right."""
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
    """Return the expression with `part` at a path: at each step down, the number of the child."""
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
    """Yield the expression and all its subexpressions, outermost first, left to right."""
    pending = [e]
    while pending:
        each = pending.pop()
        yield each
        pending.extend(reversed(children(each)))


def reads(e: Sremo) -> frozenset[str]:
    """The registers that some guard of the expression reads."""
    return frozenset[str]().union(
        *(registers_of(each.guard) for each in subexpressions(e) if isinstance(each, Terminal))
    )


def writes(e: Sremo) -> frozenset[str]:
    """The registers that the expression may leave with another event than it found in them.

    A negation writes none, whatever is written below it.
    """
    registers: set[str] = set()
    pending = [e]
    while pending:
        each = pending.pop()
        if isinstance(each, Terminal):
            registers |= each.writes
        if not isinstance(each, Negation):
            pending.extend(children(each))
    return frozenset(registers)


def rewritten(e: DerivedOperator) -> Sremo:
    """The expression that a derived operator stands for (SRT Def. 44).

    A strategy of a single iteration puts its gaps between the iterations; of another single
    operand it is that operand. It reaches no sequence or iteration below its operands.

    >>> from cerlab.logic.sremo.parser import parse_sremo
    >>> print(rewritten(parse_sremo("#(<v = 0>^, <v = 1>^)")))
    <v = 0>^ . <TRUE>* . <v = 1>^
    >>> print(rewritten(parse_sremo("@((<v = 0>^)+)")))
    <v = 0>^ . (!(<TRUE>* . <v = 0>^ . <TRUE>*) . <v = 0>^)*
    """
    match e:
        case Plus(body):
            return Concat(body, Star(body))
        case Option(body):
            return Alternation(EPSILON, body)
        case SkipAny((Star(body),)) | SkipNext((Star(body),)):
            return Alternation(EPSILON, rewritten(type(e)((Plus(body),))))
        case SkipAny((Plus(body),)):
            return Concat(body, Star(Concat(SKIP, body)))
        case SkipNext((Plus(body),)):
            return Concat(body, Star(Concat(absence(body), body)))
        case SkipAny((first, *others)):
            return sequence([first, *(each for e in others for each in (SKIP, e))])
        case SkipNext((first, *others)):
            return sequence([first, *(each for e in others for each in (absence(e), e))])
        case SkipAny() | SkipNext():
            raise AssertionError("a strategy has operands, which `check_sremo` makes sure of")
        case _:
            assert_never(e)


def absence(e: Sremo) -> Sremo:
    """``!(skip . e . skip)``: any events without an instance of e among them."""
    return Negation(sequence([SKIP, e, SKIP]))


def sequence(parts: Iterable[Sremo]) -> Sremo:
    """``e . .. . e``, of one or more."""
    return reduce(Concat, parts)


def streaming(e: Sremo) -> Sremo:
    """``<TRUE>* . e``: the matches of the expression that begin anywhere (SRT Def. 32)."""
    return Concat(SKIP, e)


MAX_DEPTH = 200
"""The deepest expression that is read or evaluated, derived operators rewritten."""

PlaceOf = Callable[[object], SourcePlace | None]
"""Return the place of a node in its text."""


def check_sremo(e: Sremo, place: PlaceOf = lambda node: None) -> None:
    """Raise `IllFormed` unless all windows, strategies and intersections are in order.

    A span window is of one position or more (SRT Def. 39), other windows of nothing or more; a
    strategy has operands; what one side of an intersection writes the other does not use
    (SRT Thm. 34 has the stronger condition that they share no register at all). Raises
    `ResourceLimit` for what is deeper than `MAX_DEPTH`.
    """
    _check_depth(e, place)
    for each in subexpressions(e):
        match each:
            case SpanWindow(_, width) if width < 1:
                raise _wrong("CER0280", "a window [1..w] has w >= 1 (SRT Def. 39)", place(each))
            case LengthWindow(_, width) if width < 0:
                raise _wrong("CER0280", "a window [len<=w] has w >= 0", place(each))
            case Within(_, duration, _) if not 0 <= duration < math.inf:
                raise _wrong("CER0280", "a window [within n ..] has a finite n >= 0", place(each))
            case SkipAny(()) | SkipNext(()):
                raise _wrong("CER0281", "a strategy has one operand or more", place(each))
            case Intersection():
                _check_intersection(each, place)
            case _:
                pass


def _check_intersection(e: Intersection, place: PlaceOf) -> None:
    for writer, other in ((e.left, e.right), (e.right, e.left)):
        if registers := writes(writer) & (reads(other) | writes(other)):
            raise IllFormed(
                "CER0282",
                f"one side of & writes the register '{min(registers)}', which the other side uses "
                "(side condition of SRT Thm. 34)",
                place=place(e),
                hint="let each side write other registers; both may read what came before",
            )


def _check_depth(e: Sremo, place: PlaceOf) -> None:
    pending = [(e, 1)]
    while pending:
        each, depth = pending.pop()
        depth += _rewritten_depth(each)
        if depth > MAX_DEPTH:
            raise ResourceLimit(
                "CER0680",
                f"the expression nests or chains more than {MAX_DEPTH} operators, "
                "derived operators counted as what they stand for",
                place=place(each),
                hint="write e[1..w] for a window, <a OR b> for a choice of events",
            )
        pending.extend((below, depth + 1) for below in children(each))


def _rewritten_depth(e: Sremo) -> int:
    """Return the depth that rewriting an operator adds to its operands."""
    match e:
        case Option():
            return 1
        case Plus():
            return 2
        case SkipAny(operands) | SkipNext(operands):
            return 2 * len(operands) + 3
        case _:
            return 0


def _wrong(code: str, message: str, place: SourcePlace | None) -> IllFormed:
    hint = "write e[1..w], e[len<=w], e[within n attr], #(e, ..) or @(e, ..)"
    return IllFormed(code, message, place=place, hint=hint)
