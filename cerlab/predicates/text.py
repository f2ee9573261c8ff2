"""Predicates, guards, conditions and names as text that the parser reads, and values in words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Set
from functools import partial
from itertools import islice
from math import log10
from typing import Any, TypeGuard, assert_never, get_args

from cerlab import display
from cerlab.errors import printable
from cerlab.model.answer import ComplexEvent
from cerlab.model.event import (
    NO_VALUE,
    UNITS,
    Duration,
    Event,
    Timestamp,
    Value,
    duration_parts,
    shown,
)
from cerlab.predicates import syntax as pred
from cerlab.predicates.condition import (
    Application,
    Condition,
    Correlation,
    On,
    SetOf,
)

WORDS = {
    "clause": "SELECT FROM WHERE PARTITION BY WITHIN CONSUME GROUP LIMIT THROTTLE FILTER AS "
    "CREATE DECLARE STREAM EVENT",
    "strategy": "ALL ANY NONE STRICT NEXT NXT LAST MAX",
    "operator": "AND OR NOT UNLESS PROJECT RENAME WAIT LOOKBACK IN LIKE RANGE",
    "unit": "EVENTS HOURS HOUR MINUTES MINUTE SECONDS SECOND",
    "constant": "TRUE FALSE NULL BOOLEAN",
}
"""Keywords of CEQL by role: those of its grammar, and two that names should avoid.

This is the only list: quoting of names, highlighting and the parser's look-ahead use it.
"""

PREFIXES = {"(": ["NOT", "STRICT", "NEXT", "NXT", "LAST", "MAX"], "[": ["PROJECT", "RENAME"]}
"""Keywords that a formula may begin with, by the sign that follows."""

KEYWORDS = frozenset(" ".join(WORDS.values()).split())
"""Words that are back-quoted when printed as names."""

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")


def name_text(name: str) -> str:
    """Return a name as the parser reads it, with back-quotes if needed.

    >>> name_text("price"), name_text("select"), name_text("two words")
    ('price', '`select`', '`two words`')
    """
    if _PLAIN_NAME.fullmatch(name) and name.upper() not in KEYWORDS:
        return name
    return "`" + name.replace("`", "``") + "`"


def value_text(value: Value) -> str:
    """Return a constant as the parser reads it.

    >>> value_text("it's"), value_text(True), value_text(1e30)
    ("'it''s'", 'TRUE', '1e+30')
    >>> print(value_text(Duration(5_400_000_000_000)), value_text(Timestamp(0)), sep="; ")
    1 HOUR 30 MINUTES; TIMESTAMP '1970-01-01T00:00:00Z'
    """
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        # no other escape: the lexer takes every character up to the next quote literally
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, Timestamp):
        return f"TIMESTAMP '{value}'"
    if isinstance(value, Duration):
        parts = duration_parts(abs(value.nanoseconds))
        units = (f"{number} {unit}{'S' * (number != '1')}" for unit, number in parts)
        return "-" * (value.nanoseconds < 0) + " ".join(units)
    # the shortest decimal that the parser reads as the same double
    return repr(value)


def literal_hint(kinds: Set[str], constants: Iterable[Value] = ()) -> str:
    """Return a hint for a comparison of a time with another kind, or an empty text.

    >>> literal_hint({"duration", "number"}, [30]), literal_hint({"number", "text"})
    ('write 30 SECONDS', '')
    >>> literal_hint({"timestamp", "text"}, ["2024-01-31"])
    "write TIMESTAMP '2024-01-31'"
    >>> literal_hint({"duration", "text"}, ["5 minutes"])
    'write 5 MINUTES'
    >>> literal_hint({"duration", "text"})
    'declare the time in a schema, as timestamp or duration'
    """
    given = {type(value): value for value in constants}
    if "text" in kinds and str not in given and kinds & {"timestamp", "duration"}:
        return "declare the time in a schema, as timestamp or duration"
    number = given.get(int, given.get(float))
    if "duration" in kinds and number is not None:
        return f"write {value_text(number)} SECONDS"
    quoted = re.fullmatch(r"\s*([\d.]+)\s*(\w+?)S?\s*", str(given.get(str, "")).upper())
    if "duration" in kinds and quoted and quoted[2] in UNITS:
        return f"write {quoted[1]} {quoted[2]}S"
    if "timestamp" in kinds and kinds & {"text", "number"}:
        return f"write TIMESTAMP {value_text(given.get(str, '2024-01-31 10:00'))}"
    if {"duration", "number"} <= kinds:
        return "write a duration as a number times 1 SECOND"
    if {"timestamp", "duration"} <= kinds:
        return "write a timestamp and a duration, as TIMESTAMP '2024-01-31 10:00' + 5 SECONDS"
    return "write 5 SECONDS" if "duration" in kinds and len(kinds) > 1 else ""


_LEVEL = {
    pred.Arithmetic.ADD: 1,
    pred.Arithmetic.SUB: 1,
    pred.Arithmetic.MUL: 2,
    pred.Arithmetic.DIV: 2,
    pred.Arithmetic.MOD: 2,
}


def expression_text(expression: pred.Expression, level: int = 0) -> str:
    """Return an expression as text, in parentheses if it binds less tightly than `level`."""
    match expression:
        case pred.Constant(value):
            return value_text(value)
        case pred.Attribute(name):
            return name_text(name)
        case pred.LabelAttribute(name, attribute) | pred.RegisterAttribute(name, attribute):
            return f"{name_text(name)}.{name_text(attribute)}"
        case pred.Previous(name, attribute):
            return f"PREV({name_text(name)}.{name_text(attribute)})"
        case pred.OfGroup(function, name, attribute):
            of = name_text(name) + ("" if attribute is None else f".{name_text(attribute)}")
            return f"{function.value}{of})"
        case pred.Computed(op, left, right):
            own = _LEVEL[op]
            text = f"{expression_text(left, own)} {op.value} {expression_text(right, own + 1)}"
            return f"({text})" if own < level else text
        case pred.Negated(operand):
            text = expression_text(operand)
            # in parentheses, because a call alone would be a registered predicate
            is_call = isinstance(operand, pred.OfGroup | pred.Previous)
            return f"-{text}" if is_call else f"-({text})"
        case _:
            assert_never(expression)


def predicate_text(predicate: pred.Guard | Condition, level: int = 0) -> str:
    """Return a predicate, guard or condition of FILTER as text.

    It is in parentheses if it binds less tightly than `level` (OR 0, AND 1, NOT 2).

    >>> stored = pred.RegisterAttribute("r", "id")
    >>> same = pred.RegisterComparison(pred.Operator.EQ, pred.Attribute("id"), stored)
    >>> predicate_text(pred.Not(pred.And(pred.TypeIs("A"), same)))
    "NOT (type = 'A' AND id = r.id)"
    >>> predicate_text(pred.Or(pred.TypeIs("A"), same))
    "type = 'A' OR id = r.id"
    """
    match predicate:
        case pred.Everything():
            return "TRUE"
        case pred.TypeIs(type_name):
            return f"type = {value_text(type_name)}"
        case pred.StreamIs(stream):
            return f"stream = {value_text(stream)}"
        case (
            pred.Comparison(op, left, right)
            | pred.RegisterComparison(op, left, right)
            | Correlation(op, left, right)
        ):
            return f"{expression_text(left)} {op.value} {expression_text(right)}"
        case pred.Member(operand, values, negated):
            members = ", ".join(map(expression_text, values))
            return f"{expression_text(operand)} {_in(negated)} {{{members}}}"
        case pred.Between(operand, low, high, negated):
            return _between_text(operand, low, high, negated)
        case pred.Like(operand, pattern):
            return f"{expression_text(operand)} LIKE {value_text(pattern)}"
        case On(label, inner):
            carrier, of_each = pred.split_stream(inner)
            of_stream = "" if carrier is None else f"{name_text(carrier)}>"
            return f"{of_stream}{name_text(label)}[{predicate_text(of_each)}]"
        case Application(P, arguments):
            return f"{name_text(P.name)}({', '.join(map(_argument_text, arguments))})"
        case pred.And(left, right):
            text = f"{predicate_text(left, 1)} AND {predicate_text(right, 2)}"
            return f"({text})" if level > 1 else text
        case pred.Or(left, right):
            text = f"{predicate_text(left, 0)} OR {predicate_text(right, 1)}"
            return f"({text})" if level > 0 else text
        case pred.Not(inner):
            return f"NOT {predicate_text(inner, 2)}"
        case _:
            assert_never(predicate)


def _in(negated: bool) -> str:
    return "NOT IN" if negated else "IN"


def _between_text(
    operand: pred.Expression,
    low: pred.Expression | None,
    high: pred.Expression | None,
    negated: bool,
) -> str:
    """Return a range as text: ``v IN {1..2}``, ``v IN RANGE(w, 2)``.

    CEQL has no half-open range with a computed end; a comparison has the same meaning.
    """
    value = expression_text(operand)
    low_text = "" if low is None else expression_text(low)
    high_text = "" if high is None else expression_text(high)
    if isinstance(low, pred.Constant | None) and isinstance(high, pred.Constant | None):
        return f"{value} {_in(negated)} {{{low_text}..{high_text}}}"
    if low is None:
        return f"{value} {'>' if negated else '<='} {high_text}"
    if high is None:
        return f"{value} {'<' if negated else '>='} {low_text}"
    return f"{value} {_in(negated)} RANGE({low_text}, {high_text})"


def _argument_text(argument: SetOf | Value) -> str:
    if not isinstance(argument, SetOf):
        return value_text(argument)
    attribute = "" if argument.attribute is None else f".{name_text(argument.attribute)}"
    return name_text(argument.label) + attribute


for _kind in (
    pred.Everything,
    *get_args(pred.Atom),
    pred.RegisterComparison,
    pred.And,
    pred.Or,
    pred.Not,
):
    display.register(_kind, "text/plain", predicate_text)


_EXACT = 10**15
"""Integers from this one on are shown with an exponent."""

SOME = 20
"""Most positions of an answer in a line."""


def number_text(n: int) -> str:
    """Return a count as text, exact up to 10^15, otherwise by its first digits.

    >>> number_text(345816), number_text(2**100)
    ('345,816', 'about 1.27·10^30')
    """
    if n < 0:
        return f"-{number_text(-n)}" if -n < _EXACT else number_text(-n).replace(" ", " -")
    if n < _EXACT:
        return f"{n:,}"
    exponent, rest = divmod(log10(n), 1)
    return f"about {10**rest:.2f}·10^{exponent:.0f}"


def count_text(n: int, noun: str) -> str:
    """Return a count with a noun, such as "3 events".

    >>> count_text(1, "answer"), count_text(2000, "event")
    ('1 answer', '2,000 events')
    """
    return f"{number_text(n)} {noun}" + ("" if n == 1 else "s")


def event_text(event: Event, longest: int | None = 60, *, names: bool = True) -> str:
    """Return an event in one line of at most `longest` characters.

    Control characters are escaped.

    >>> sale = Event("SELL", {"price": 3, "name": "INTC"}, "S")
    >>> event_text(sale), event_text(sale, names=False), event_text(sale, 12)
    ("S>SELL(price=3, name='INTC')", "S>SELL(3, 'INTC')", 'S>SELL(pric…')
    """
    text = partial(_in_event, whole=longest is None)
    items = islice(shown(event).items(), longest)
    values = ", ".join(f"{name}=" * names + text(value) for name, value in items)
    prefix = f"{event.stream}>" if event.stream else ""
    whole = printable(f"{prefix}{event.type}({values})")
    return whole if longest is None else cut(whole, longest)


def _in_event(value: Any, *, whole: bool) -> str:
    if isinstance(value, Timestamp) or value is NO_VALUE:
        return str(value)
    return value_in_words(value) if _is_long(value) and not whole else value_text(value)


def value_in_words(value: Value) -> str:
    """Return a value as text; a very long integer is shortened.

    >>> value_in_words(10**400), value_in_words(-5)
    ('about 1.00·10^400', '-5')
    """
    return number_text(value) if _is_long(value) else str(value)


def _is_long(value: Value) -> TypeGuard[int]:
    return isinstance(value, int) and abs(value) >= _EXACT**2


def cut(text: str, longest: int) -> str:
    """Return a text in one line, with ``…`` in place of what exceeds the limit.

    >>> cut("a  line", 6), cut("a line", 5)
    ('a line', 'a li…')
    """
    line = " ".join(text.split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def answer_text(answer: ComplexEvent) -> str:
    """Return an answer as text: ``[0, 4] {0, 2, 4}``, with at most `SOME` positions.

    >>> answer_text(ComplexEvent(0, 4, (0, 2, 4)))
    '[0, 4] {0, 2, 4}'
    """
    return f"[{answer.start}, {answer.end}] {positions_text(answer.positions, SOME)}"


def positions_text(positions: Iterable[int], most: int | None = None) -> str:
    """Return positions as text, ``{0, 2, 4}``: all of them, or at most `most`.

    >>> positions_text(range(9), 3)
    '{0, 1, 2, .. 6 more}'
    """
    every = list(positions)
    parts = list(map(str, every[:most]))
    parts += [f".. {len(every) - len(parts):,} more"] * (len(parts) < len(every))
    return f"{{{', '.join(parts)}}}"
