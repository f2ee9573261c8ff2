"""How an expression may begin, which says how far before the first mark to look."""

from __future__ import annotations

from typing import assert_never

from cerlab.logic.sremo.syntax import (
    Alternation,
    Concat,
    Empty,
    Epsilon,
    Intersection,
    LengthWindow,
    Negation,
    Option,
    Plus,
    SkipAny,
    SkipNext,
    SpanWindow,
    Sremo,
    Star,
    Terminal,
    Within,
)


def may_begin_unmarked(e: Sremo) -> bool:
    """Whether the first event that it consumes may be one that it does not mark.

    It may say yes where that cannot happen.
    """
    match e:
        case Epsilon() | Empty():
            return False
        case Terminal(_, marked):
            return not marked
        case Negation():
            return True
        case Concat(left, right):
            return may_begin_unmarked(left) or (may_be_empty(left) and may_begin_unmarked(right))
        case Alternation(left, right):
            return may_begin_unmarked(left) or may_begin_unmarked(right)
        case Intersection(left, right):
            return may_begin_unmarked(left) and may_begin_unmarked(right)
        case SkipAny((first, *others)) | SkipNext((first, *others)):
            gap = may_be_empty(first) and (bool(others) or isinstance(first, Star | Plus))
            return gap or may_begin_unmarked(first)
        case SkipAny() | SkipNext():
            return False
        case SpanWindow() | LengthWindow() | Within() | Star() | Plus() | Option():
            return may_begin_unmarked(e.body)
        case _:
            assert_never(e)


def may_be_empty(e: Sremo) -> bool:
    """Whether it may consume nothing; it may say yes where that cannot happen."""
    match e:
        case Terminal():
            return False
        case Epsilon() | Empty() | Star() | Option() | Negation():
            return True
        case Concat(left, right) | Intersection(left, right):
            return may_be_empty(left) and may_be_empty(right)
        case Alternation(left, right):
            return may_be_empty(left) or may_be_empty(right)
        case SkipAny(operands) | SkipNext(operands):
            return all(map(may_be_empty, operands))
        case SpanWindow() | LengthWindow() | Within() | Plus():
            return may_be_empty(e.body)
        case _:
            assert_never(e)
