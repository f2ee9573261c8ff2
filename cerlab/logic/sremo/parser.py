"""Parsing and printing of SREMO: sugar is expanded, and the place of each node stored."""

from __future__ import annotations

from typing import Any, assert_never

from lark import v_args
from lark.tree import Meta

from cerlab import display
from cerlab.logic.ceql.condition_builder import node
from cerlab.logic.ceql.parser import MOMENTS, TIME_WORDS, Builder
from cerlab.logic.parsing import Language, build, read, value
from cerlab.logic.sremo import syntax as sre
from cerlab.logic.sremo.syntax import Sremo, check_sremo
from cerlab.predicates import syntax as pred
from cerlab.predicates.text import name_text, predicate_text


@v_args(meta=True)
class SremoBuilder(Builder):
    """A builder of SREMO expressions, which uses CEQL's rules for names and predicates."""

    everything = node(pred.Everything)
    register_attribute = node(pred.RegisterAttribute)

    def comparison(self, meta: Meta, children: list[Any]) -> Any:
        """Build a comparison of the current event with itself or with a register."""
        left, op, right = children
        if any(isinstance(side, pred.RegisterAttribute) for side in (left, right)):
            return self._record(meta, pred.RegisterComparison(op, left, right), left, right)
        return super().comparison(meta, children)

    registers = value(lambda *names: frozenset(names))

    def terminal(self, meta: Meta, children: list[Any]) -> sre.Terminal:
        """Build a terminal ``<guard>^ -> r``."""
        guard, mark, registers = children
        terminal = sre.Terminal(guard, mark is not None, registers or frozenset())
        return self._record(meta, terminal, guard)

    epsilon = node(sre.Epsilon)
    empty = node(sre.Empty)
    alternation = node(sre.Alternation)
    intersection = node(sre.Intersection)
    concat = node(sre.Concat)
    negation = node(sre.Negation)
    star = node(sre.Star)
    plus = node(sre.Plus)
    option = node(sre.Option)
    skip_any = node(lambda *operands: sre.SkipAny(operands))
    skip_next = node(lambda *operands: sre.SkipNext(operands))

    def span_window(self, meta: Meta, children: list[Any]) -> sre.SpanWindow:
        """Build a window ``e[1..w]``."""
        body, _, width = children
        return self._record(meta, sre.SpanWindow(body, self._int(meta, width)), body)

    def length_window(self, meta: Meta, children: list[Any]) -> sre.LengthWindow:
        """Build a window ``e[len<=w]``."""
        body, width = children
        return self._record(meta, sre.LengthWindow(body, self._int(meta, width)), body)

    def within(self, meta: Meta, children: list[Any]) -> Any:
        """Build a window ``e[within n attr]``."""
        return self._record(meta, sre.Within(*children), children[0])


def parse_sremo(text: str) -> Sremo:
    """Return the expression in a text (SRT Def. 15).

    Args:
        text: The expression, such as ``<type = 'A'>^ . <TRUE>*``.

    Raises:
        QuerySyntaxError: The text is not an expression.
        IllFormed: A window, strategy or intersection is invalid (see `check_sremo`).
        ResourceLimit: The text is too long or too deep.

    >>> print(parse_sremo("<type='B'>^->r1 . <true>* . <type='S' and id=r1.id>^"))
    <type = 'B'>^ -> r1 . <TRUE>* . <type = 'S' AND id = r1.id>^
    """
    builder = SremoBuilder(text)
    e: Sremo = build(builder, read(_SREMO, text, "alternation"), too_deep="")
    check_sremo(e, builder.place_of)
    return e


def _hint(text: str, at: int, expected: tuple[str, ...]) -> str:
    """Return the hint for a sequence as in CEL, or for a type without ``<..>``."""
    if text.startswith(";", at):
        return "'.' is the sequence without gaps, #(e, e) the one with gaps"
    if text[at : at + 1].isalpha():
        return "an event of type A is <type = 'A'>, or <type = 'A'>^ to mark it"
    return ""


_SREMO = Language(
    "cerlab.logic.sremo",
    ("alternation",),
    noun="expression",
    hint=_hint,
    words={"ONE": "'1'", **TIME_WORDS},
    terminals=MOMENTS,
)

_ALTERNATION, _INTERSECTION, _CONCAT, _NEGATION, _POSTFIX = range(5)
_LEVELS = {sre.Alternation: _ALTERNATION, sre.Intersection: _INTERSECTION, sre.Concat: _CONCAT}


def sremo_text(e: sre.Sremo, level: int = _ALTERNATION) -> str:
    """Return the text of an expression, in parentheses if it binds less tightly than `level`.

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
    """Return the text of an expression's outermost operator, without its subexpressions.

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
