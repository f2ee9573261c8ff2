"""What an expression has to satisfy besides its grammar (SRT Def. 39; SRT Thm. 34).

Reading a register that nothing has written is well-formed: the atom is false then (SRT Def. 13).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from cerlab.errors import IllFormed, ResourceLimit, SourcePlace
from cerlab.logic.sremo import syntax as sre
from cerlab.logic.sremo.registers import reads, writes

MAX_DEPTH = 200
"""The deepest expression that is read or evaluated, derived operators rewritten."""

PlaceOf = Callable[[object], SourcePlace | None]
"""Where a node stands in a text."""


def check_sremo(e: sre.Sremo, place: PlaceOf = lambda node: None) -> None:
    """Raise `IllFormed` unless all windows, strategies and intersections are in order.

    A span window is of one position or more (SRT Def. 39), other windows of nothing or more; a
    strategy has operands; what one side of an intersection writes the other does not use
    (SRT Thm. 34 has the stronger condition that they share no register at all). Raises
    `ResourceLimit` for what is deeper than `MAX_DEPTH`.
    """
    _check_depth(e, place)
    for each in sre.subexpressions(e):
        match each:
            case sre.SpanWindow(_, width) if width < 1:
                raise _wrong("CER0280", "a window [1..w] has w >= 1 (SRT Def. 39)", place(each))
            case sre.LengthWindow(_, width) if width < 0:
                raise _wrong("CER0280", "a window [len<=w] has w >= 0", place(each))
            case sre.Within(_, duration, _) if not 0 <= duration < math.inf:
                raise _wrong("CER0280", "a window [within n ..] has a finite n >= 0", place(each))
            case sre.SkipAny(()) | sre.SkipNext(()):
                raise _wrong("CER0281", "a strategy has one operand or more", place(each))
            case sre.Intersection():
                _check_intersection(each, place)
            case _:
                pass


def _check_intersection(e: sre.Intersection, place: PlaceOf) -> None:
    for writer, other in ((e.left, e.right), (e.right, e.left)):
        if registers := writes(writer) & (reads(other) | writes(other)):
            raise IllFormed(
                "CER0282",
                f"one side of & writes the register '{min(registers)}', which the other side uses "
                "(side condition of SRT Thm. 34)",
                place=place(e),
                hint="let each side write registers of its own; both may read what came before",
            )


def _check_depth(e: sre.Sremo, place: PlaceOf) -> None:
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
        pending.extend((below, depth + 1) for below in sre.children(each))


def _rewritten_depth(e: sre.Sremo) -> int:
    """How much deeper the operands stand once the operator is rewritten."""
    match e:
        case sre.Option():
            return 1
        case sre.Plus():
            return 2
        case sre.SkipAny(operands) | sre.SkipNext(operands):
            return 2 * len(operands) + 3
        case _:
            return 0


def _wrong(code: str, message: str, place: SourcePlace | None) -> IllFormed:
    hint = "write e[1..w], e[len<=w], e[within n attr], #(e, ..) or @(e, ..)"
    return IllFormed(code, message, place=place, hint=hint)
