"""Expressions as text: what the parser reads back to the same tree (DESIGN 2.5)."""

from __future__ import annotations

from typing import assert_never

from cerlab import display
from cerlab.logic.sremo import syntax as sre
from cerlab.predicates.text import name_text, predicate_text

_ALTERNATION, _INTERSECTION, _CONCAT, _NEGATION, _POSTFIX = range(5)
_LEVELS = {sre.Alternation: _ALTERNATION, sre.Intersection: _INTERSECTION, sre.Concat: _CONCAT}


def sremo_text(e: sre.Sremo, level: int = _ALTERNATION) -> str:
    """The expression, in parentheses where it binds looser than `level`.

    >>> nothing, empty = sre.Epsilon(), sre.Empty()
    >>> sremo_text(sre.Concat(sre.Alternation(nothing, empty), sre.Star(sre.Negation(nothing))))
    '(EPS | EMPTY) . (!EPS)*'
    """
    match e:
        case sre.Epsilon():
            return "EPS"
        case sre.Empty():
            return "EMPTY"
        case sre.Terminal():
            text = _terminal_text(e)
            return f"({text})" if e.writes and level == _POSTFIX else text
        case sre.Alternation() | sre.Intersection() | sre.Concat():
            own = _LEVELS[type(e)]
            text = f"{sremo_text(e.left, own)} {node_text(e)} {sremo_text(e.right, own + 1)}"
            return f"({text})" if own < level else text
        case sre.Negation(body):
            text = f"!{sremo_text(body, _NEGATION)}"
            return f"({text})" if level > _NEGATION else text
        case sre.SkipAny(operands) | sre.SkipNext(operands):
            return f"{node_text(e)}({', '.join(map(sremo_text, operands))})"
        case (
            sre.Star()
            | sre.Plus()
            | sre.Option()
            | sre.SpanWindow()
            | sre.LengthWindow()
            | sre.Within()
        ):
            return f"{sremo_text(e.body, _POSTFIX)}{node_text(e)}"
        case _:
            assert_never(e)


def _terminal_text(e: sre.Terminal) -> str:
    registers = ", ".join(map(name_text, sorted(e.writes)))
    if len(e.writes) > 1:
        registers = f"{{{registers}}}"
    return f"<{predicate_text(e.guard)}>{'^' * e.marked}{' -> ' * bool(e.writes)}{registers}"


def node_text(e: sre.Sremo) -> str:
    """What one node of a SREMO says, without its subexpressions.

    >>> node_text(sre.SpanWindow(sre.Epsilon(), 3))
    '[1..3]'
    """
    match e:
        case sre.Epsilon() | sre.Empty() | sre.Terminal():
            return str(e)
        case sre.Concat():
            return "."
        case sre.Alternation():
            return "|"
        case sre.Intersection():
            return "&"
        case sre.Star():
            return "*"
        case sre.Plus():
            return "+"
        case sre.Option():
            return "?"
        case sre.Negation():
            return "!"
        case sre.SpanWindow(_, width):
            return f"[1..{width}]"
        case sre.LengthWindow(_, width):
            return f"[len<={width}]"
        case sre.Within(_, width, attribute):
            return f"[within {width} {name_text(attribute)}]"
        case sre.SkipAny():
            return "#"
        case sre.SkipNext():
            return "@"
        case _:
            assert_never(e)


for _kind in sre.Sremo.__args__:
    display.register(_kind, "text/plain", sremo_text)
