"""Formulas as text: what the parser reads back to the same tree."""

from __future__ import annotations

from itertools import starmap
from typing import assert_never

from cerlab import display
from cerlab.logic.cel import syntax as cel
from cerlab.predicates.text import name_text, predicate_text

# How tightly an operator binds. FILTER is a suffix on everything to its left inside the
# parentheses, so a filtered formula needs none at the left edge of an operator of any level.
_UNLESS, _CHOICE, _CONCAT, _SEQ, _POSTFIX = range(5)


def formula_text(phi: cel.Formula, level: int = _UNLESS, *, leftmost: bool = True) -> str:
    """The formula, in parentheses where it binds looser than `level`.

    `leftmost` says that nothing of an enclosing operator stands to the left, inside the same
    parentheses.

    >>> formula_text(cel.Seq(cel.Or(cel.Atom("A"), cel.Atom("B")), cel.Atom("C")))
    '(A OR B) ; C'
    """
    match phi:
        case cel.Atom(R, stream):
            return label_text(stream, R)
        case cel.Not(body):
            return f"NOT({formula_text(body)})"
        case cel.As(body, label):
            return f"{formula_text(body, _POSTFIX, leftmost=leftmost)} AS {name_text(label)}"
        case cel.Filter(body, condition):
            inner = formula_text(body)
            text = f"{inner} FILTER {predicate_text(condition, 1)}"
            return text if leftmost else f"({text})"
        case cel.Or(left, right):
            return _infix("OR", left, right, _CHOICE, level, leftmost)
        case cel.And(left, right):
            return _infix("AND", left, right, _CHOICE, level, leftmost)
        case cel.All(left, right):
            return _infix("ALL", left, right, _CHOICE, level, leftmost)
        case cel.Unless(left, right):
            return _infix("UNLESS", left, right, _UNLESS, level, leftmost)
        case cel.Seq(left, right):
            return _infix(";", left, right, _SEQ, level, leftmost)
        case cel.Concat(left, right):
            return _infix(":", left, right, _CONCAT, level, leftmost)
        case cel.Plus(body):
            return f"{formula_text(body, _POSTFIX, leftmost=leftmost)}+"
        case cel.ConcatPlus(body):
            return f"{formula_text(body, _POSTFIX, leftmost=leftmost)}:+"
        case cel.Project(_, body):
            return f"{node_text(phi)}({formula_text(body)})"
        case cel.Rename(old, new, body):
            return f"RENAME[{name_text(old)} -> {name_text(new)}]({formula_text(body)})"
        case cel.Select(strategy, body):
            return f"{strategy.value}({formula_text(body)})"
        case _:
            assert_never(phi)


def label_text(stream: str | None, label: str) -> str:
    """``x``, or ``S>x`` for its events of one stream."""
    return name_text(label) if stream is None else f"{name_text(stream)}>{name_text(label)}"


def _infix(
    word: str, left: cel.Formula, right: cel.Formula, own: int, level: int, leftmost: bool
) -> str:
    needs_brackets = own < level
    before = formula_text(left, own, leftmost=leftmost or needs_brackets)
    text = f"{before} {word} {formula_text(right, own + 1, leftmost=False)}"
    return f"({text})" if needs_brackets else text


def node_text(phi: cel.Formula) -> str:
    """What one node of a formula says, without its subformulas.

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
        case cel.Project(labels, _, of_streams):
            pairs = [(None, label) for label in sorted(labels)] + sorted(of_streams)
            return f"PROJECT[{', '.join(starmap(label_text, pairs))}]"
        case cel.Rename(old, new):
            return f"RENAME[{name_text(old)} -> {name_text(new)}]"
        case cel.Select(strategy):
            return strategy.value
        case _:
            assert_never(phi)


for _kind in cel.Formula.__args__:
    display.register(_kind, "text/plain", formula_text)
