"""SREMO to symbolic register transducers: one construction for each operator (SRT Thm. 27)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count
from typing import assert_never

from cerlab.automata.automaton import Mark, as_kind
from cerlab.automata.epsilon import choice, sequence, star
from cerlab.automata.registers import EpsilonSrt, Srt
from cerlab.automata.registers.complement import complement
from cerlab.automata.registers.compose import empty_word, nothing, one_event
from cerlab.automata.registers.epsilon import without_epsilon
from cerlab.automata.registers.liveness import without_dead_writes
from cerlab.automata.registers.product import product
from cerlab.automata.registers.reduce import quotient, smaller
from cerlab.automata.registers.transducer import written_registers
from cerlab.automata.registers.trim import longest
from cerlab.automata.registers.unroll import unroll
from cerlab.automata.registers.windows import length_window, span_window
from cerlab.budget import step_budget
from cerlab.compile.slices import WHOLE, Slice, after, before
from cerlab.errors import Unsupported
from cerlab.logic.sremo import syntax as sre
from cerlab.logic.sremo.check import check_sremo
from cerlab.logic.sremo.registers import reads
from cerlab.logic.sremo.rewrite import rewritten


@dataclass(frozen=True, slots=True)
class _Surroundings:
    """What a subexpression is compiled under: reg(e) of the whole, its slice, names for copies."""

    R: frozenset[str]
    slice: Slice
    occurrences: Iterator[int]


SMALLER = "negate less, or under a window that is shorter"


@step_budget("the transducer of the expression", SMALLER)
def sremo_to_srt(e: sre.Sremo, around: Slice = WHOLE) -> EpsilonSrt:
    """A transducer with the same matches on every string (SRT Thm. 27).

    Registers are those of the whole expression, shared by all parts; the complements in it write
    some of their own. Of the operators of SRT Def. 15 the size is linear. Windows in positions
    multiply states by their width; a negation is determinised, under the window around it if what
    it negates writes registers that it reads. `around` says what else bounds the strings.

    Raises `IllFormed` (see `check_sremo`), `Unsupported` for windows in time, which `register_plan`
    takes on the outside, and for a negation that writes registers and has no window, and
    `ResourceLimit` where determinisation grows too large.

    >>> from cerlab.logic.sremo.parser import parse_sremo
    >>> T = sremo_to_srt(parse_sremo("(<v < 1>^ -> r | <v > 5>^ -> r) . <v = r.v>^"))
    >>> T.states, len(T.Delta), len(T.moves), sorted(T.R)
    (8, 3, 5, ['r'])
    """
    check_sremo(e)
    return _compile(e, _Surroundings(registers(e), around, count(1)))


def registers(e: sre.Sremo) -> frozenset[str]:
    """``reg(e)``: all that is read or written, below a negation too (SRT Thm. 27)."""
    terminals = (each for each in sre.subexpressions(e) if isinstance(each, sre.Terminal))
    return reads(e).union(*(terminal.writes for terminal in terminals))


def _compile(e: sre.Sremo, here: _Surroundings) -> EpsilonSrt:
    match e:
        case sre.Epsilon():
            return empty_word()
        case sre.Empty():
            return nothing()
        case sre.Terminal(phi, marked, W):
            return one_event(phi, Mark.TAKE if marked else Mark.SKIP, W, here.R)
        case sre.Concat(left, right):
            first = _compile(left, replace(here, slice=before(here.slice, right)))
            second = _compile(right, replace(here, slice=after(here.slice, left)))
            return sequence(first, second)
        case sre.Alternation(left, right):
            return choice(_compile(left, here), _compile(right, here))
        case sre.Star(body):
            return star(_compile(body, here))
        case sre.SpanWindow(body, w):
            inside = replace(here, slice=here.slice.in_span(w))
            return _as_part(span_window(without_epsilon(_compile(body, inside)), w))
        case sre.LengthWindow(body, w):
            inside = replace(here, slice=here.slice.in_length(w))
            return _as_part(length_window(without_epsilon(_compile(body, inside)), w))
        case sre.Within():
            raise Unsupported(
                "CER0486",
                "a window in time inside an expression has no transducer",
                hint='put it around the whole expression, or use evaluator="reference"',
            )
        case sre.Intersection(left, right):
            parts = (without_epsilon(_compile(part, here)) for part in (left, right))
            return _as_part(product(*parts))
        case sre.Negation(body):
            return _as_part(_negation(body, here))
        case sre.Plus() | sre.Option() | sre.SkipAny() | sre.SkipNext():
            return _compile(rewritten(e), here)
        case _:
            assert_never(e)


def _negation(body: sre.Sremo, here: _Surroundings) -> Srt:
    """What consumes and marks nothing that the body consumes (SRT Sec. 5.2; SRT Cor. 43).

    A body that writes nothing which it reads later is determinised as it is. Another one is
    unrolled, either because its strings are short or because the slice is; then it has registers
    of its own, and reads of others what they held when the negation began. Marks inside it are
    none of the match, so windows on marks bound what is in it only by its own length.
    """
    alone = replace(here, slice=Slice(here.slice.longest))
    T = quotient(without_dead_writes(smaller(_compile(body, alone))))
    if not written_registers(T):
        return complement(T)
    bounds = [n for n in (longest(T), here.slice.longest) if n is not None]
    if not bounds:
        raise Unsupported(
            "CER0487",
            "a negation of what writes registers and reads them has no transducer without a window "
            "(SRT Thm. 35)",
            hint="put a window [len<=w] on it or around it, or [1..w] with marks before and after",
        )
    prefix = f"n{next(here.occurrences)}b"
    return complement(unroll(T, min(bounds), here.R, prefix=prefix))


def _as_part(T: Srt) -> EpsilonSrt:
    """The same with one final state, as part of a larger one."""
    return sequence(as_kind(T, EpsilonSrt), empty_word())
