"""How long the slice of a string can be that a subexpression consumes.

A negation of what writes registers needs a bound on it. A window on the length gives one to all
inside; a window on the span of the marks to what has a mark of the same body on either side.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from cerlab.logic.sremo import syntax as sre
from cerlab.logic.sremo.rewrite import rewritten


@dataclass(frozen=True, slots=True)
class Span:
    """A window on the span of marks around here, and whether some mark is always before and after.

    The marks are those of the body that the window is on.
    """

    width: int
    before: bool = False
    after: bool = False


@dataclass(frozen=True, slots=True)
class Slice:
    """What is known of the events that a subexpression consumes: bounds on how many they are."""

    length: int | None = None
    spans: tuple[Span, ...] = ()

    @property
    def longest(self) -> int | None:
        """The most events there can be in a match of the whole; None if nothing bounds them."""
        bounds = [span.width for span in self.spans if span.before and span.after]
        bounds += [] if self.length is None else [self.length]
        return min(bounds, default=None)

    def in_length(self, w: int) -> Slice:
        """The same inside a window on the length."""
        return replace(self, length=w if self.length is None else min(w, self.length))

    def in_span(self, w: int) -> Slice:
        """The same inside a window on the span of the marks."""
        return replace(self, spans=(*self.spans, Span(w)))


WHOLE = Slice()
"""Any string."""


def after(here: Slice, e: sre.Sremo) -> Slice:
    """What follows e in a sequence that consumes the slice."""
    has_mark = always_marks(e)
    spans = (replace(span, before=span.before or has_mark) for span in here.spans)
    return replace(here, spans=tuple(spans))


def before(here: Slice, e: sre.Sremo) -> Slice:
    """What comes before e in a sequence that consumes the slice."""
    has_mark = always_marks(e)
    spans = (replace(span, after=span.after or has_mark) for span in here.spans)
    return replace(here, spans=tuple(spans))


def always_marks(e: sre.Sremo) -> bool:
    """Whether the grammar tells that every match of e marks some event.

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
            return always_marks(rewritten(e))
        case _:
            return False
