"""Regular expressions with registers and marks, one dataclass per production (SRT Def. 15).

The core is the paper's; the operators that it introduces later follow, each an expression again;
last come their registers, rewritings and checks.
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
    """The expression ``EPS``, which matches no events."""


@drawable
@dataclass(frozen=True, slots=True)
class Empty:
    """The expression ``EMPTY``, which has no match."""


@drawable
@dataclass(frozen=True, slots=True)
class Terminal:
    """One event: ``<guard>``, ``<guard>^``, ``<guard>^ -> r``, ``<guard> -> {r, s}``.

    `marked` (the paper's output •) puts its position into the match; after the guard is evaluated,
    the event is stored in all registers of `writes`.
    """

    guard: Guard
    marked: bool = False
    writes: frozenset[str] = frozenset()


@drawable
@dataclass(frozen=True, slots=True)
class Concat:
    """A sequence ``left . right``: right immediately after left."""

    left: Sremo
    right: Sremo


@drawable
@dataclass(frozen=True, slots=True)
class Alternation:
    """A choice ``left | right``."""

    left: Sremo
    right: Sremo


@drawable
@dataclass(frozen=True, slots=True)
class Star:
    """An iteration ``body*``: body any number of times, without gaps; registers are kept."""

    body: Sremo


@drawable
@dataclass(frozen=True, slots=True)
class SpanWindow:
    """A window ``body[1..width]``: at most `width` positions from the first to the last mark."""

    body: Sremo
    width: int


@drawable
@dataclass(frozen=True, slots=True)
class LengthWindow:
    """A window ``body[len<=width]``: at most `width` events, marked or not."""

    body: Sremo
    width: int


@drawable
@dataclass(frozen=True, slots=True)
class Within:
    """A window ``body[within width attribute]``: at most `width` from first to last mark."""

    body: Sremo
    width: int | float
    attribute: str


@drawable
@dataclass(frozen=True, slots=True)
class Intersection:
    """An intersection ``left & right``: matches of both sides with equal events and marks."""

    left: Sremo
    right: Sremo


@drawable
@dataclass(frozen=True, slots=True)
class Negation:
    """A negation ``!body``: events that the body does not match; it has no marks."""

    body: Sremo


@drawable
@dataclass(frozen=True, slots=True)
class Plus:
    """An iteration ``body+``: body once or more, without gaps."""

    body: Sremo


@drawable
@dataclass(frozen=True, slots=True)
class Option:
    """An option ``body?``: body once or not at all."""

    body: Sremo


@drawable
@dataclass(frozen=True, slots=True)
class SkipAny:
    """Skip-till-any-match ``#(e, .., e)``: a sequence or iteration with any gaps."""

    operands: tuple[Sremo, ...]


@drawable
@dataclass(frozen=True, slots=True)
class SkipNext:
    """Skip-till-next-match ``@(e, .., e)``: no gap contains a match of the next part."""

    operands: tuple[Sremo, ...]


Window: TypeAlias = SpanWindow | LengthWindow | Within
Strategy: TypeAlias = SkipAny | SkipNext
DerivedOperator: TypeAlias = Plus | Option | Strategy
Core: TypeAlias = Epsilon | Empty | Terminal | Concat | Alternation | Star
Sremo: TypeAlias = Core | Window | Intersection | Negation | DerivedOperator
EPSILON = Epsilon()

SKIP = Star(Terminal(EVERYTHING))
"""The expression ``<TRUE>*``: any events, none of them marked."""


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
    """Return the expression with the part at a path of child numbers replaced."""
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
    """Return the registers that some guard of the expression reads."""
    return frozenset[str]().union(
        *(registers_of(each.guard) for each in subexpressions(e) if isinstance(each, Terminal))
    )


def writes(e: Sremo) -> frozenset[str]:
    """Return the registers that the expression may write.

    A negation writes no register, whatever is below it.
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
    """Return a derived operator in terms of the basic ones (SRT Def. 44).

    A strategy of a single iteration puts its gaps between the iterations; of another single operand
    it is that operand. It does not affect sequences or iterations below its operands.

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
            raise AssertionError("a strategy without operands, which `check_sremo` refuses")
        case _:
            assert_never(e)


def absence(e: Sremo) -> Sremo:
    """Return ``!(skip . e . skip)``: events without any match of e among them."""
    return Negation(sequence([SKIP, e, SKIP]))


def sequence(parts: Iterable[Sremo]) -> Sremo:
    """Return ``e . .. . e``, the sequence of one or more expressions."""
    return reduce(Concat, parts)


def streaming(e: Sremo) -> Sremo:
    """Return ``<TRUE>* . e``: the matches of the expression after any events (SRT Def. 32)."""
    return Concat(SKIP, e)


MAX_DEPTH = 200
"""The depth of the deepest expression that is read or evaluated, derived operators rewritten."""

PlaceOf = Callable[[object], SourcePlace | None]
"""Return the place of a node in its text."""


def check_sremo(e: Sremo, place: PlaceOf = lambda node: None) -> None:
    """Raise `IllFormed` unless all windows, strategies and intersections are valid.

    A span window needs a width of at least 1 (SRT Def. 39), other windows at least 0; a strategy
    needs an operand; what one side of an intersection writes the other may not use (SRT Thm. 34 has
    the stronger condition that they share no register at all). Raise `ResourceLimit` for an
    expression deeper than `MAX_DEPTH`.
    """
    _check_depth(e, place)
    for each in subexpressions(e):
        match each:
            case SpanWindow(_, width) if width < 1:
                raise _wrong("CER0280", "a window [1..w] needs w >= 1 (SRT Def. 39)", place(each))
            case LengthWindow(_, width) if width < 0:
                raise _wrong("CER0280", "a window [len<=w] needs w >= 0", place(each))
            case Within(_, duration, _) if not 0 <= duration < math.inf:
                raise _wrong("CER0280", "a window [within n ..] needs a finite n >= 0", place(each))
            case SkipAny(()) | SkipNext(()):
                raise _wrong("CER0281", "a strategy needs at least one operand", place(each))
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
                hint="let each side write other registers; both may read earlier ones",
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
    """Return how many levels deeper operands are after an operator is rewritten."""
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
