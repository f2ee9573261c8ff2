"""Symbolic register transducers back to SREMO, by elimination of states (SRT Lemma S2).

A transition is a terminal: guard, mark and registers to write are parts of the letter, and what one
part of an expression writes the next one reads, as on a run. So nothing is asked of registers or
marks; that the last transition marks is no part of acceptance (erratum SRT-E7). A transition that
writes several registers needs the sets of SRT-E9, or `single_register` first (SRT Lemma S1).
"""

from __future__ import annotations

from typing import NamedTuple

from cerlab.automata.automaton import Mark
from cerlab.automata.registers import RegisterTransition, Transducer
from cerlab.errors import ResourceLimit
from cerlab.logic.sremo import syntax as sre
from cerlab.logic.sremo.check import check_sremo
from cerlab.theorems.elimination import END, START, Edge, Operations, add_edge, eliminate

MAX_SIZE = 20_000
"""The largest expression that is made."""


def srt_to_sremo(T: Transducer) -> sre.Sremo:
    """An expression with the same matches on every string (SRT Lemma S2).

    From given registers it leads to the same ones too. It has the operators of SRT Def. 15 alone,
    and may be exponentially larger. Raises `ResourceLimit` above `MAX_SIZE` operators and atoms,
    and for what is nested too deep (see `check_sremo`).

    >>> from cerlab.compile.sremo_to_srt import sremo_to_srt
    >>> from cerlab.logic.sremo.parser import parse_sremo
    >>> T = sremo_to_srt(parse_sremo("<v < 1>^ -> r . (<v = r.v>^ -> r)+"))
    >>> print(srt_to_sremo(T))
    <v < 1>^ -> r . <v = r.v>^ -> r . (<v = r.v>^ -> r)*
    """
    edges: dict[Edge, _Ways] = {(START, T.q0): _NOTHING_READ}
    for t in dict.fromkeys(T.Delta):
        add_edge(edges, (t.source, t.target), _one_event(t), _either)
    for p, q in T.moves:
        add_edge(edges, (p, q), _NOTHING_READ, _either)
    for q in sorted(T.F):
        add_edge(edges, (q, END), _NOTHING_READ, _either)
    ways = eliminate(edges, Operations(_either, _through))
    if ways is None:
        return sre.Empty()
    if ways.size > MAX_SIZE:
        raise ResourceLimit(
            "CER0687",
            f"the expression has {ways.size:,} operators and atoms, more than {MAX_SIZE:,}",
            hint="eliminating states multiplies them: take a transducer of fewer states",
        )
    check_sremo(ways.e)
    return ways.e


class _Ways(NamedTuple):
    """The expression of the ways between two states, its size, and whether that may be nothing.

    Parts are shared between expressions, so that to make one is cheap however large it is.
    """

    e: sre.Sremo
    size: int
    may_be_empty: bool


_NOTHING_READ = _Ways(sre.EPSILON, 1, True)


def _one_event(t: RegisterTransition) -> _Ways:
    return _Ways(sre.Terminal(t.guard, t.mark is Mark.TAKE, t.writes), 1, False)


def _either(a: _Ways, b: _Ways) -> _Ways:
    """``a | b``, and no EPS where it adds nothing."""
    for one, other in ((a, b), (b, a)):
        if isinstance(one.e, sre.Epsilon):
            return _or_nothing(other)
    return _Ways(sre.Alternation(a.e, b.e), a.size + b.size + 1, a.may_be_empty or b.may_be_empty)


def _or_nothing(a: _Ways) -> _Ways:
    """``EPS | a``; of ``e . e*`` that is ``e*``, which is half as large."""
    match a.e:
        case _ if a.may_be_empty:
            return a
        case sre.Concat(first, sre.Star(body) as iteration) if body is first:
            return _Ways(iteration, a.size // 2, True)
        case _:
            return _Ways(sre.Alternation(sre.EPSILON, a.e), a.size + 2, True)


def _through(first: _Ways, loop: _Ways | None, last: _Ways) -> _Ways:
    return _then(first if loop is None else _then(first, _again(loop)), last)


def _then(a: _Ways, b: _Ways) -> _Ways:
    """``a . b``, and no EPS in it."""
    if isinstance(a.e, sre.Epsilon):
        return b
    if isinstance(b.e, sre.Epsilon):
        return a
    return _Ways(sre.Concat(a.e, b.e), a.size + b.size + 1, a.may_be_empty and b.may_be_empty)


def _again(a: _Ways) -> _Ways:
    """``a*``, which is EPS if nothing is read."""
    return a if isinstance(a.e, sre.Epsilon | sre.Star) else _Ways(sre.Star(a.e), a.size + 1, True)
