"""The text of formulas, which the parser reads back as equal formulas."""

from __future__ import annotations

from decimal import Decimal
from itertools import starmap
from typing import assert_never

from cerlab import display
from cerlab.logic.cel import syntax as cel
from cerlab.model.clauses import AttributeWindow, EventWindow, TimeWindow, Window
from cerlab.predicates.text import name_text, predicate_text, value_text

# How tightly operators bind. FILTER applies to all to its left inside the parentheses.
_UNLESS, _CHOICE, _CONCAT, _SEQ, _POSTFIX = range(5)
_LEVELS: dict[type[cel.Binary], int] = {
    cel.Unless: _UNLESS,
    **dict.fromkeys((cel.Or, cel.And, cel.All), _CHOICE),
    cel.Concat: _CONCAT,
    cel.Seq: _SEQ,
}


def formula_text(phi: cel.Formula, level: int = _UNLESS, *, leftmost: bool = True) -> str:
    """Return the text of a formula, in parentheses if it binds less tightly than `level`.

    `leftmost` is True if no part of an enclosing operator is to its left inside the same
    parentheses.

    >>> formula_text(cel.Seq(cel.Or(cel.Atom("A"), cel.Atom("B")), cel.Atom("C")))
    '(A OR B) ; C'
    """
    match phi:
        case cel.Atom(R, stream):
            return label_text(stream, R)
        case cel.Filter(body):
            text = f"{formula_text(body)} FILTER {predicate_text(phi.condition, 1)}"
            return text if leftmost else f"({text})"
        case cel.As(body) | cel.Wait(body) | cel.Lookback(body):
            return f"{formula_text(body, _POSTFIX, leftmost=leftmost)} {node_text(phi)}"
        case cel.Plus(body) | cel.ConcatPlus(body) | cel.Count(body):
            return f"{formula_text(body, _POSTFIX, leftmost=leftmost)}{node_text(phi)}"
        case cel.Not() | cel.Project() | cel.Rename() | cel.Select():
            return f"{node_text(phi)}{_in_parentheses(phi.body)}"
        case cel.Within(body):
            return f"({formula_text(body)} {node_text(phi)})"
        case cel.Or() | cel.And() | cel.All() | cel.Unless() | cel.Seq() | cel.Concat():
            return _infix(phi, level, leftmost)
        case _:
            assert_never(phi)


def _in_parentheses(phi: cel.Formula) -> str:
    """Return a formula's text in parentheses, unless it is a window, which has its own."""
    text = formula_text(phi)
    return text if isinstance(phi, cel.Within) else f"({text})"


def label_text(stream: str | None, label: str) -> str:
    """Return the text of a label: ``x``, or ``S>x`` for its events in stream S."""
    return name_text(label) if stream is None else f"{name_text(stream)}>{name_text(label)}"


def _infix(phi: cel.Binary, level: int, leftmost: bool) -> str:
    own = _LEVELS[type(phi)]
    needs_brackets = own < level
    before = formula_text(phi.left, own, leftmost=leftmost or needs_brackets)
    text = f"{before} {node_text(phi)} {formula_text(phi.right, own + 1, leftmost=False)}"
    return f"({text})" if needs_brackets else text


def node_text(phi: cel.Formula) -> str:
    """Return the text of a formula's outermost operator, without its subformulas.

    >>> node_text(cel.As(cel.Atom("A"), "x"))
    'AS x'
    """
    match phi:
        case cel.Atom(R, stream):
            return f"{stream}>{R}" if stream else R
        case cel.Not():
            return "NOT"
        case cel.As(_, label):
            return f"AS {name_text(label)}"
        case cel.Filter(_, condition):
            return f"FILTER {predicate_text(condition)}"
        case cel.Or() | cel.And() | cel.All() | cel.Unless():
            return type(phi).__name__.upper()
        case cel.Seq():
            return ";"
        case cel.Concat():
            return ":"
        case cel.Plus():
            return "+"
        case cel.ConcatPlus():
            return ":+"
        case cel.Count(_, least, most, gaps):
            times = f"{least}" if least == most else f"{least},{'' if most is None else most}"
            return f"{'' if gaps else ':'}{{{times}}}"
        case cel.Project(labels, _, of_streams):
            pairs = [(None, label) for label in sorted(labels)] + sorted(of_streams)
            return f"PROJECT[{', '.join(starmap(label_text, pairs))}]"
        case cel.Rename(old, new):
            return f"RENAME[{name_text(old)} -> {name_text(new)}]"
        case cel.Select(strategy):
            return strategy.value
        case cel.Within(_, window):
            return f"WITHIN {window_text(window)}"
        case cel.Wait(_, length):
            return f"WAIT {window_text(length)}"
        case cel.Lookback(_, length):
            return f"LOOKBACK {window_text(length)}"
        case _:
            assert_never(phi)


def window_text(window: Window) -> str:
    """Return the text of a window, as in a query.

    >>> window_text(TimeWindow(3_690_500_000_000))
    '1 HOURS 1 MINUTES 30.5 SECONDS'
    """
    match window:
        case EventWindow(width):
            return f"{width} EVENTS"
        case AttributeWindow(width, attribute):
            return f"{value_text(width)} [{name_text(attribute)}]"
        case TimeWindow(nanoseconds):
            minutes, rest = divmod(nanoseconds, 60 * 10**9)
            hours, minutes = divmod(minutes, 60)
            seconds = format((Decimal(rest) / 10**9).normalize(), "f")
            parts = [
                f"{hours} HOURS" if hours else "",
                f"{minutes} MINUTES" if minutes else "",
                f"{seconds} SECONDS" if rest or not nanoseconds else "",
            ]
            return " ".join(filter(None, parts))
        case _:
            assert_never(window)


for _kind in cel.Formula.__args__:
    display.register(_kind, "text/plain", formula_text)
