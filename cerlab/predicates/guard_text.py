"""Guards as text: what the parser of SREMO reads back to the same tree (DESIGN 2.5)."""

from __future__ import annotations

from cerlab import display
from cerlab.predicates.guards import (
    And,
    Guard,
    Not,
    Operand,
    Or,
    RegisterAttribute,
    RegisterComparison,
)
from cerlab.predicates.text import expression_text, name_text, predicate_text

_OR, _AND, _NOT = range(3)


def guard_text(guard: Guard, level: int = _OR) -> str:
    """A guard, in parentheses where it binds looser than `level` (OR 0, AND 1, NOT 2).

    >>> from cerlab.predicates.syntax import Attribute, Operator, TypeIs
    >>> same = RegisterComparison(Operator.EQ, Attribute("id"), RegisterAttribute("r", "id"))
    >>> guard_text(Not(And(TypeIs("A"), same)))
    "NOT (type = 'A' AND id = r.id)"
    """
    match guard:
        case RegisterComparison(op, left, right):
            return f"{_operand_text(left)} {op.value} {_operand_text(right)}"
        case Not(operand):
            return f"NOT {guard_text(operand, _NOT)}"
        case And(first, second):
            text = f"{guard_text(first, _AND)} AND {guard_text(second, _NOT)}"
            return f"({text})" if level > _AND else text
        case Or(first, second):
            text = f"{guard_text(first, _OR)} OR {guard_text(second, _AND)}"
            return f"({text})" if level > _OR else text
        case predicate:
            return predicate_text(predicate)


def _operand_text(operand: Operand) -> str:
    match operand:
        case RegisterAttribute(register, attribute):
            return f"{name_text(register)}.{name_text(attribute)}"
        case expression:
            return expression_text(expression)


for _kind in (RegisterComparison, Not, And, Or):
    display.register(_kind, "text/plain", guard_text)
