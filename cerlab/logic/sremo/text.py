"""Expressions as text: what the parser reads back to the same tree (DESIGN 2.5)."""

from __future__ import annotations

from typing import assert_never

from cerlab import display
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
from cerlab.predicates.text import name_text, predicate_text

_ALTERNATION, _INTERSECTION, _CONCAT, _NEGATION, _POSTFIX = range(5)


def sremo_text(e: Sremo, level: int = _ALTERNATION) -> str:
    """The expression, in parentheses where it binds looser than `level`.

    >>> sremo_text(Concat(Alternation(Epsilon(), Empty()), Star(Negation(Epsilon()))))
    '(EPS | EMPTY) . (!EPS)*'
    """
    match e:
        case Epsilon():
            return "EPS"
        case Empty():
            return "EMPTY"
        case Terminal():
            text = _terminal_text(e)
            return f"({text})" if e.writes and level == _POSTFIX else text
        case Concat(left, right):
            return _infix(".", left, right, _CONCAT, level)
        case Alternation(left, right):
            return _infix("|", left, right, _ALTERNATION, level)
        case Star(body):
            return f"{sremo_text(body, _POSTFIX)}*"
        case SpanWindow(body, width):
            return f"{sremo_text(body, _POSTFIX)}[1..{width}]"
        case LengthWindow(body, width):
            return f"{sremo_text(body, _POSTFIX)}[len<={width}]"
        case Within(body, elapsed, attribute):
            return f"{sremo_text(body, _POSTFIX)}[within {elapsed} {name_text(attribute)}]"
        case Intersection(left, right):
            return _infix("&", left, right, _INTERSECTION, level)
        case Negation(body):
            text = f"!{sremo_text(body, _NEGATION)}"
            return f"({text})" if level > _NEGATION else text
        case Plus(body):
            return f"{sremo_text(body, _POSTFIX)}+"
        case Option(body):
            return f"{sremo_text(body, _POSTFIX)}?"
        case SkipAny(operands):
            return f"#({', '.join(map(sremo_text, operands))})"
        case SkipNext(operands):
            return f"@({', '.join(map(sremo_text, operands))})"
        case _:
            assert_never(e)


def _infix(sign: str, left: Sremo, right: Sremo, own: int, level: int) -> str:
    text = f"{sremo_text(left, own)} {sign} {sremo_text(right, own + 1)}"
    return f"({text})" if own < level else text


def _terminal_text(e: Terminal) -> str:
    registers = ", ".join(map(name_text, sorted(e.writes)))
    if len(e.writes) > 1:
        registers = f"{{{registers}}}"
    return f"<{predicate_text(e.guard)}>{'^' * e.marked}{' -> ' * bool(e.writes)}{registers}"


def node_text(e: Sremo) -> str:
    """What one node of a SREMO says, without its subexpressions.

    >>> node_text(SpanWindow(Epsilon(), 3))
    '[1..3]'
    """
    match e:
        case Epsilon() | Empty() | Terminal():
            return str(e)
        case Concat():
            return "."
        case Alternation():
            return "|"
        case Intersection():
            return "&"
        case Star():
            return "*"
        case Plus():
            return "+"
        case Option():
            return "?"
        case Negation():
            return "!"
        case SpanWindow(_, width):
            return f"[1..{width}]"
        case LengthWindow(_, width):
            return f"[len<={width}]"
        case Within(_, width, attribute):
            return f"[within {width} {name_text(attribute)}]"
        case SkipAny():
            return "#"
        case SkipNext():
            return "@"
        case _:
            assert_never(e)


for _kind in Sremo.__args__:
    display.register(_kind, "text/plain", sremo_text)
