"""SREMO to transducers and plans, with bounds on the lengths that subexpressions consume.

A negation of a body that writes registers needs such a bound. A window on the length bounds all of
its parts; a window on the span of the marks bounds a part with a mark of the same body on either
side.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count
from typing import assert_never

from cerlab.automata.automaton import Mark, as_kind
from cerlab.automata.compose import product, quotient
from cerlab.automata.epsilon import (
    choice,
    empty_word,
    nothing,
    one_event,
    sequence,
    smaller,
    star,
    streaming,
    without_epsilon,
)
from cerlab.automata.plan import MarkWindow, RegisterPlan
from cerlab.automata.registers import (
    EpsilonSrt,
    Srt,
    longest,
    without_dead_writes,
    written_registers,
)
from cerlab.automata.unrolled import complement, length_window, mark_bounded, span_window, unroll
from cerlab.budget import step_budget
from cerlab.errors import Unsupported
from cerlab.logic.sremo import syntax as sre
from cerlab.model.clauses import AttributeWindow, EventWindow


@dataclass(frozen=True, slots=True)
class Span:
    """A window on the marks of an expression, for one of its subexpressions.

    `before` and `after` are True if some mark of the body always precedes or follows the part.
    """

    width: int
    before: bool = False
    after: bool = False


@dataclass(frozen=True, slots=True)
class Slice:
    """Bounds on the number of events that a subexpression may consume."""

    length: int | None = None
    spans: tuple[Span, ...] = ()

    @property
    def longest(self) -> int | None:
        """The greatest number of events that the part may consume; None if unbounded."""
        bounds = [span.width for span in self.spans if span.before and span.after]
        bounds += [] if self.length is None else [self.length]
        return min(bounds, default=None)

    def in_length(self, w: int) -> Slice:
        """Return the bounds with the length limited to w."""
        return replace(self, length=w if self.length is None else min(w, self.length))

    def in_span(self, w: int) -> Slice:
        """Return the bounds inside a further window of w events on the marks."""
        return replace(self, spans=(*self.spans, Span(w)))


WHOLE = Slice()
"""The slice without any bound."""


def after(around: Slice, e: sre.Sremo) -> Slice:
    """Return the bounds for the part that follows `e` in a sequence with bounds `around`."""
    has_mark = always_marks(e)
    spans = (replace(span, before=span.before or has_mark) for span in around.spans)
    return replace(around, spans=tuple(spans))


def before(around: Slice, e: sre.Sremo) -> Slice:
    """Return the bounds for the part that precedes `e` in a sequence with bounds `around`."""
    has_mark = always_marks(e)
    spans = (replace(span, after=span.after or has_mark) for span in around.spans)
    return replace(around, spans=tuple(spans))


def always_marks(e: sre.Sremo) -> bool:
    """Return whether the grammar shows that every match of e marks some event.

    >>> from cerlab.logic.sremo.parser import parse_sremo
    >>> always_marks(parse_sremo("<TRUE>* . <v = 1>^+")), always_marks(parse_sremo("<v = 1>^?"))
    (True, False)
    """
    match e:
        case sre.Terminal(_, marked, _):
            return marked
        case sre.Concat(left, right) | sre.Intersection(left, right):
            return always_marks(left) or always_marks(right)
        case sre.Alternation(left, right):
            return always_marks(left) and always_marks(right)
        case sre.SpanWindow(body) | sre.LengthWindow(body) | sre.Within(body):
            return always_marks(body)
        case sre.Plus() | sre.Option() | sre.SkipAny() | sre.SkipNext():
            return always_marks(sre.rewritten(e))
        case _:
            return False


@dataclass(frozen=True, slots=True)
class _Surroundings:
    """Context of a subexpression: all registers, its bounds, and a counter that names copies."""

    R: frozenset[str]
    slice: Slice
    occurrences: Iterator[int]


SMALLER = "negate a smaller part, or under a shorter window"


@step_budget("the transducer of the expression", SMALLER)
def sremo_to_srt(e: sre.Sremo, around: Slice = WHOLE) -> EpsilonSrt:
    """Return a transducer with the matches of an expression (SRT Thm. 27).

    Registers are those of the whole expression, shared by all parts; the complements in it write
    some of their own. For the operators of SRT Def. 15 the size is linear. Windows in positions
    multiply states by their width; a negation is determinised, and is unrolled up to the window
    around it if its body writes registers that it reads. `around` gives further bounds on the
    strings. Raise `IllFormed` (see `check_sremo`), `Unsupported` for windows in time, which
    `register_plan` allows around the whole, and for a negation that writes registers and has no
    window, and `ResourceLimit` if determinisation grows too large.

    Args:
        e: An expression.
        around: Bounds on the strings (default: none).

    >>> from cerlab.logic.sremo.parser import parse_sremo
    >>> T = sremo_to_srt(parse_sremo("(<v < 1>^ -> r | <v > 5>^ -> r) . <v = r.v>^"))
    >>> T.states, len(T.Delta), len(T.moves), sorted(T.R)
    (8, 3, 5, ['r'])
    """
    sre.check_sremo(e)
    return _compile(e, _Surroundings(registers(e), around, count(1)))


def registers(e: sre.Sremo) -> frozenset[str]:
    """Return ``reg(e)``: all registers that an expression reads or writes (SRT Thm. 27)."""
    terminals = (each for each in sre.subexpressions(e) if isinstance(each, sre.Terminal))
    return sre.reads(e).union(*(terminal.writes for terminal in terminals))


def _compile(e: sre.Sremo, around: _Surroundings) -> EpsilonSrt:
    match e:
        case sre.Epsilon():
            return empty_word()
        case sre.Empty():
            return nothing()
        case sre.Terminal(phi, marked, W):
            return one_event(phi, Mark.TAKE if marked else Mark.SKIP, W, around.R)
        case sre.Concat(left, right):
            first = _compile(left, replace(around, slice=before(around.slice, right)))
            second = _compile(right, replace(around, slice=after(around.slice, left)))
            return sequence(first, second)
        case sre.Alternation(left, right):
            return choice(_compile(left, around), _compile(right, around))
        case sre.Star(body):
            return star(_compile(body, around))
        case sre.SpanWindow(body, w):
            inside = replace(around, slice=around.slice.in_span(w))
            return _as_part(span_window(without_epsilon(_compile(body, inside)), w))
        case sre.LengthWindow(body, w):
            inside = replace(around, slice=around.slice.in_length(w))
            return _as_part(length_window(without_epsilon(_compile(body, inside)), w))
        case sre.Within():
            raise Unsupported(
                "CER0486",
                "a window in time inside an expression has no transducer",
                hint='put the window around the whole expression, or use evaluator="reference"',
            )
        case sre.Intersection(left, right):
            parts = (without_epsilon(_compile(part, around)) for part in (left, right))
            return _as_part(product(*parts))
        case sre.Negation(body):
            return _as_part(_negation(body, around))
        case sre.Plus() | sre.Option() | sre.SkipAny() | sre.SkipNext():
            return _compile(sre.rewritten(e), around)
        case _:
            assert_never(e)


def _negation(body: sre.Sremo, around: _Surroundings) -> Srt:
    """Return the transducer of the strings that `body` does not match (SRT Sec. 5.2; SRT Cor. 43).

    A body that reads no register which it has written is determinised directly. Any other is
    unrolled, up to the length of its strings or of the slice; then its registers are separate,
    and it reads from the other registers the values that they held when the negation began.
    """
    # marks inside a negation are not marks of the match, so windows on marks do not bound them
    alone = replace(around, slice=Slice(around.slice.longest))
    T = quotient(without_dead_writes(smaller(_compile(body, alone))))
    if not written_registers(T):
        return complement(T)
    bounds = [n for n in (longest(T), around.slice.longest) if n is not None]
    if not bounds:
        raise Unsupported(
            "CER0487",
            "a negation of an expression that writes and reads registers has no transducer without "
            "a window (SRT Thm. 35)",
            hint="put a window [len<=w] on or around the negation, or [1..w] between marks",
        )
    prefix = f"n{next(around.occurrences)}b"
    return complement(unroll(T, min(bounds), around.R, prefix=prefix))


def _as_part(T: Srt) -> EpsilonSrt:
    """Return the transducer with one final state, to be part of a larger transducer."""
    return sequence(as_kind(T, EpsilonSrt), empty_word())


@step_budget("the transducer of the expression", SMALLER, own=1)
def register_plan(e: sre.Sremo) -> RegisterPlan:
    """Return the plan for streams: the transducer of ``<TRUE>* . e`` and windows (SRT Def. 32).

    Windows around the whole expression are left to the engine, where they cost no states: windows
    on marks directly, a window on the length if all matches mark the first and the last event, so
    that it is a window on marks. Raise as `sremo_to_srt`.

    Args:
        e: An expression.

    >>> from cerlab.logic.sremo.parser import parse_sremo
    >>> plan = register_plan(parse_sremo("(<v = 1>^ . <TRUE>* . <v = 2>^)[len<=30000]"))
    >>> plan.srt.states, plan.windows
    (3, (EventWindow(width=29999),))
    """
    sre.check_sremo(e)
    windows: list[MarkWindow] = []
    around, body = WHOLE, e
    while isinstance(body, sre.SpanWindow | sre.LengthWindow | sre.Within):
        match body:
            case sre.SpanWindow(_, w):
                # the paper counts all events of a window, EventWindow those after the first
                windows.append(EventWindow(w - 1))
                around = around.in_span(w)
            case sre.LengthWindow(_, w):
                around = around.in_length(w)
            case sre.Within(_, n, attribute):
                windows.append(AttributeWindow(n, attribute))
        body = body.body
    T = without_epsilon(sremo_to_srt(body, around))
    if around.length is not None and mark_bounded(T):
        windows.append(EventWindow(around.length - 1))
    # without marks at both ends, the window has to be built into the states
    elif around.length is not None:
        T = length_window(T, around.length)
    return RegisterPlan(smaller(streaming(T)), tuple(windows))
