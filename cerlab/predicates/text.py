"""Predicates, conditions and names as text: what the parser reads back to the same tree."""

from __future__ import annotations

import re
from typing import assert_never

from cerlab import display
from cerlab.model.event import Timestamp, Value
from cerlab.predicates.condition import Applied, Both, Condition, Correlation, Either, On
from cerlab.predicates.second_order import SetOf
from cerlab.predicates.syntax import (
    Arithmetic,
    Attribute,
    Between,
    Comparison,
    Complement,
    Computed,
    Conjunction,
    Constant,
    Disjunction,
    Everything,
    Expression,
    Like,
    Member,
    Negated,
    Predicate,
    StreamIs,
    TypeIs,
)

KEYWORDS = frozenset(
    [
        "ALL",
        "AND",
        "ANY",
        "AS",
        "BOOLEAN",
        "BY",
        "CONSUME",
        "CREATE",
        "DECLARE",
        "EVENT",
        "EVENTS",
        "FALSE",
        "FILTER",
        "FROM",
        "HOUR",
        "HOURS",
        "IN",
        "LAST",
        "LIKE",
        "LIMIT",
        "MAX",
        "MINUTE",
        "MINUTES",
        "NEXT",
        "NONE",
        "NOT",
        "NULL",
        "NXT",
        "OR",
        "PARTITION",
        "PROJECT",
        "RANGE",
        "RENAME",
        "SECOND",
        "SECONDS",
        "SELECT",
        "STREAM",
        "STRICT",
        "TRUE",
        "UNLESS",
        "WHERE",
        "WITHIN",
    ]
)
"""Words that are back-quoted when they are printed as names."""

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")


def name_text(name: str) -> str:
    """A name as the parser reads it, back-quoted where it has to be.

    >>> name_text("price"), name_text("select"), name_text("two words")
    ('price', '`select`', '`two words`')
    """
    if _PLAIN_NAME.fullmatch(name) and name.upper() not in KEYWORDS:
        return name
    return "`" + name.replace("`", "``") + "`"


def value_text(value: Value) -> str:
    """A constant as the parser reads it.

    >>> value_text("it's"), value_text(True), value_text(1e30)
    ("'it''s'", 'TRUE', '1e+30')
    """
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, Timestamp):
        return str(value)
    return repr(value)


_LEVEL = {
    Arithmetic.ADD: 1,
    Arithmetic.SUB: 1,
    Arithmetic.MUL: 2,
    Arithmetic.DIV: 2,
    Arithmetic.MOD: 2,
}


def expression_text(expression: Expression, level: int = 0) -> str:
    """An expression, in parentheses where it binds looser than `level`."""
    match expression:
        case Constant(value):
            return value_text(value)
        case Attribute(name):
            return name_text(name)
        case Computed(op, left, right):
            own = _LEVEL[op]
            text = f"{expression_text(left, own)} {op.value} {expression_text(right, own + 1)}"
            return f"({text})" if own < level else text
        case Negated(operand):
            return f"-({expression_text(operand)})"
        case _:
            assert_never(expression)


def predicate_text(predicate: Predicate, level: int = 0) -> str:
    """A predicate, in parentheses where it binds looser than `level` (OR 0, AND 1, NOT 2)."""
    match predicate:
        case Everything():
            return "TRUE"
        case TypeIs(type_name):
            return f"type = {value_text(type_name)}"
        case StreamIs(stream):
            return f"stream = {value_text(stream)}"
        case Comparison(op, left, right):
            return f"{expression_text(left)} {op.value} {expression_text(right)}"
        case Member(operand, values, negated):
            listed = ", ".join(map(expression_text, values))
            return f"{expression_text(operand)} {_in(negated)} {{{listed}}}"
        case Between(operand, low, high, negated):
            return _between_text(operand, low, high, negated)
        case Like(operand, pattern):
            return f"{expression_text(operand)} LIKE {value_text(pattern)}"
        case Conjunction(left_part, right_part):
            text = f"{predicate_text(left_part, 1)} AND {predicate_text(right_part, 2)}"
            return f"({text})" if level > 1 else text
        case Disjunction(left_part, right_part):
            text = f"{predicate_text(left_part, 0)} OR {predicate_text(right_part, 1)}"
            return f"({text})" if level > 0 else text
        case Complement(inner):
            return f"NOT {predicate_text(inner, 2)}"
        case _:
            assert_never(predicate)


def _in(negated: bool) -> str:
    return "NOT IN" if negated else "IN"


def _between_text(
    operand: Expression, low: Expression | None, high: Expression | None, negated: bool
) -> str:
    """``v IN {1..2}``, ``v IN RANGE(w, 2)``.

    CEQL has no range that is open and has a computed end; a comparison means the same.
    """
    value = expression_text(operand)
    low_text = "" if low is None else expression_text(low)
    high_text = "" if high is None else expression_text(high)
    if isinstance(low, Constant | None) and isinstance(high, Constant | None):
        return f"{value} {_in(negated)} {{{low_text}..{high_text}}}"
    if low is None:
        return f"{value} {'>' if negated else '<='} {high_text}"
    if high is None:
        return f"{value} {'<' if negated else '>='} {low_text}"
    return f"{value} {_in(negated)} RANGE({low_text}, {high_text})"


def condition_text(condition: Condition, level: int = 0) -> str:
    """A condition, in parentheses where it binds looser than `level` (OR 0, AND 1)."""
    match condition:
        case On(label, predicate):
            return f"{name_text(label)}[{predicate_text(predicate)}]"
        case Correlation(op, left, right):
            return (
                f"{name_text(left.label)}.{name_text(left.attribute)} {op.value} "
                f"{name_text(right.label)}.{name_text(right.attribute)}"
            )
        case Applied(P, arguments):
            return f"{name_text(P.name)}({', '.join(map(_argument_text, arguments))})"
        case Both(first, second):
            text = f"{condition_text(first, 1)} AND {condition_text(second, 2)}"
            return f"({text})" if level > 1 else text
        case Either(first, second):
            text = f"{condition_text(first, 0)} OR {condition_text(second, 1)}"
            return f"({text})" if level > 0 else text
        case _:
            assert_never(condition)


def _argument_text(argument: SetOf | Value) -> str:
    if not isinstance(argument, SetOf):
        return value_text(argument)
    attribute = "" if argument.attribute is None else f".{name_text(argument.attribute)}"
    return name_text(argument.label) + attribute


for _kind in Predicate.__args__:
    display.register(_kind, "text/plain", predicate_text)
