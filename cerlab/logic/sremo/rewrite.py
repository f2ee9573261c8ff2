"""Derived operators by the others: one step of rewriting each (SRT Def. 44; SRT Sec. 5.3).

``@`` is not what the paper prints (SRT Def. 45): ``(!e)*`` may hold two instances of e, so the gap
here is ``!(skip . e . skip)``, the runs of events with no instance of e in them (erratum SRT-E20).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import assert_never

from cerlab.logic.sremo.syntax import (
    EPSILON,
    SKIP,
    Alternation,
    Concat,
    Derived,
    Negation,
    Option,
    Plus,
    SkipAny,
    SkipNext,
    Sremo,
    Star,
)


def rewritten(e: Derived) -> Sremo:
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
