"""Derived operators by the others: one step of rewriting each (SRT Def. 44; SRT Sec. 5.3).

``@`` is not what the paper prints (SRT Def. 45): ``(!e)*`` may hold two instances of e, so the gap
here is ``!(skip . e . skip)``, the runs of events with no instance of e in them (erratum SRT-E20).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import assert_never

from cerlab.logic.sremo import syntax as sre


def rewritten(e: sre.DerivedOperator) -> sre.Sremo:
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
        case sre.Plus(body):
            return sre.Concat(body, sre.Star(body))
        case sre.Option(body):
            return sre.Alternation(sre.EPSILON, body)
        case sre.SkipAny((sre.Star(body),)) | sre.SkipNext((sre.Star(body),)):
            return sre.Alternation(sre.EPSILON, rewritten(type(e)((sre.Plus(body),))))
        case sre.SkipAny((sre.Plus(body),)):
            return sre.Concat(body, sre.Star(sre.Concat(sre.SKIP, body)))
        case sre.SkipNext((sre.Plus(body),)):
            return sre.Concat(body, sre.Star(sre.Concat(absence(body), body)))
        case sre.SkipAny((first, *others)):
            return sequence([first, *(each for e in others for each in (sre.SKIP, e))])
        case sre.SkipNext((first, *others)):
            return sequence([first, *(each for e in others for each in (absence(e), e))])
        case sre.SkipAny() | sre.SkipNext():
            raise AssertionError("a strategy has operands, which `check_sremo` makes sure of")
        case _:
            assert_never(e)


def absence(e: sre.Sremo) -> sre.Sremo:
    """``!(skip . e . skip)``: any events without an instance of e among them."""
    return sre.Negation(sequence([sre.SKIP, e, sre.SKIP]))


def sequence(parts: Iterable[sre.Sremo]) -> sre.Sremo:
    """``e . .. . e``, of one or more."""
    return reduce(sre.Concat, parts)


def streaming(e: sre.Sremo) -> sre.Sremo:
    """``<TRUE>* . e``: the matches of the expression that begin anywhere (SRT Def. 32)."""
    return sre.Concat(sre.SKIP, e)
