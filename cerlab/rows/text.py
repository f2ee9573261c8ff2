"""Row patterns as text that the parser reads as equal patterns."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import assert_never

from cerlab import display
from cerlab.model.clauses import TimeWindow
from cerlab.model.event import UNITS, Duration, Timestamp
from cerlab.rows import expressions as ex
from cerlab.rows import syntax as rp

_ALTERNATION, _CONCAT, _FACTOR, _ATOM = range(4)


def pattern_text(p: rp.Pattern, level: int = _ALTERNATION) -> str:
    """Return the text of a pattern, in parentheses if it binds less tightly than `level`.

    >>> A, B = rp.Variable("A"), rp.Variable("b")
    >>> pattern_text(rp.Concat((rp.Repetition(rp.Alternation((A, B)), 0, None, True), A)))
    '(A | "b")*? A'
    """
    match p:
        case rp.Variable(name):
            return name_text(name)
        case rp.Empty():
            return "()"
        case rp.PartitionStart():
            return "^"
        case rp.PartitionEnd():
            return "$"
        case rp.Concat(parts):
            text = " ".join(pattern_text(part, _FACTOR) for part in parts)
            return f"({text})" if level > _CONCAT else text
        case rp.Alternation(parts):
            text = " | ".join(pattern_text(part, _CONCAT) for part in parts)
            return f"({text})" if level > _ALTERNATION else text
        case rp.Permute(parts):
            return f"PERMUTE({', '.join(map(pattern_text, parts))})"
        case rp.Exclusion(body):
            return f"{{- {pattern_text(body)} -}}"
        case rp.Repetition(body, lo, hi, reluctant):
            text = pattern_text(body, _ATOM) + _bounds_text(lo, hi) + "?" * reluctant
            return f"({text})" if level > _FACTOR else text
        case _:
            assert_never(p)


def _bounds_text(lo: int, hi: int | None) -> str:
    match lo, hi:
        case 0, None:
            return "*"
        case 1, None:
            return "+"
        case 0, 1:
            return "?"
        case _, None:
            return f"{{{lo},}}"
        case _:
            return f"{{{lo}}}" if lo == hi else f"{{{lo},{hi}}}"


def name_text(name: str) -> str:
    """Return the text of a variable's name, in quotes unless it is regular and upper case.

    >>> name_text("A"), name_text("a"), name_text("PERMUTE")
    ('A', '"a"', '"PERMUTE"')
    """
    # every reader takes a quoted word as a name, even one that another system reserves
    regular = re.fullmatch(r"[A-Z_][A-Z_0-9]*", name) and name not in _QUOTED_WORDS
    return name if regular else f'"{name.replace(chr(34), chr(34) * 2)}"'


def column_text(name: str) -> str:
    """Return the text of a column's name, in quotes unless it is a regular identifier."""
    regular = re.fullmatch(r"[A-Za-z_][A-Za-z_0-9]*", name) and name.upper() not in _QUOTED_WORDS
    return name if regular else f'"{name.replace(chr(34), chr(34) * 2)}"'


_KEYWORDS = (
    "ALL AND ANY AS ASC BETWEEN BY CASE DEFINE DESC DISTINCT ELSE END EXISTS FALSE FINAL "
    "FIRST FROM IN INTERVAL IS LAST LIKE MATCH_RECOGNIZE MEASURES NEXT NOT NULL NULLS ONE OR "
    "ORDER PARTITION PATTERN PERMUTE PREV ROW ROWS RUNNING SELECT SOME SUBSET THEN TRUE "
    "UNKNOWN WHEN WHERE WITH WITHIN AFTER"
)

_QUOTED_WORDS = frozenset(_KEYWORDS.split())
"""Words that are quoted when they are names, because other systems reserve them."""

_OR, _AND, _NOT, _TEST, _CONCATENATION, _SUM, _PRODUCT, _SIGN, _OPERAND = range(9)


def expression_text(e: ex.Expression | ex.AllRows, level: int = _OR) -> str:
    """Return the text of an expression, in parentheses if it binds less tightly than `level`."""
    own, text = _level_and_text(e)
    return f"({text})" if own < level else text


def _level_and_text(e: ex.Expression | ex.AllRows) -> tuple[int, str]:
    """Return how tightly an expression binds, and its text."""
    match e:
        case ex.Literal(value):
            return _OPERAND, _literal_text(value)
        case ex.Column(name, qualifier):
            return _OPERAND, _qualifier_text(qualifier) + column_text(name)
        case ex.AllRows(qualifier):
            return _OPERAND, _qualifier_text(qualifier) + "*"
        case ex.Negative(body):
            return _SIGN, f"-{expression_text(body, _OPERAND)}"
        case ex.Arithmetic(operator, left, right):
            loose = operator in (ex.ArithmeticOperator.ADD, ex.ArithmeticOperator.SUB)
            own = _SUM if loose else _PRODUCT
            return own, _infix(left, operator.value, right, own)
        case ex.Concatenation(left, right):
            return _CONCATENATION, _infix(left, "||", right, _CONCATENATION)
        case ex.Comparison(operator, left, right):
            sides = (expression_text(side, _CONCATENATION) for side in (left, right))
            return _TEST, f" {operator.value} ".join(sides)
        case ex.And(left, right):
            return _AND, _infix(left, "AND", right, _AND)
        case ex.Or(left, right):
            return _OR, _infix(left, "OR", right, _OR)
        case ex.Not(body):
            return _NOT, f"NOT {expression_text(body, _TEST)}"
        case ex.Like(body, pattern):
            sides = (expression_text(side, _CONCATENATION) for side in (body, pattern))
            return _TEST, " LIKE ".join(sides)
        case ex.In(body, members):
            return _TEST, f"{expression_text(body, _CONCATENATION)} IN ({_comma_list(members)})"
        case ex.Between(body, low, high):
            parts = [expression_text(part, _CONCATENATION) for part in (body, low, high)]
            return _TEST, f"{parts[0]} BETWEEN {parts[1]} AND {parts[2]}"
        case ex.Is(body, truth):
            return _TEST, f"{expression_text(body, _CONCATENATION)} IS {_literal_text(truth)}"
        case _:
            return _OPERAND, _call_text(e)


def _call_text(
    e: ex.Classifier | ex.MatchNumber | ex.Navigation | ex.Aggregate | ex.Cast | ex.Case | ex.Call,
) -> str:
    match e:
        case ex.Classifier(qualifier):
            return f"CLASSIFIER({name_text(qualifier) if qualifier else ''})"
        case ex.MatchNumber():
            return "MATCH_NUMBER()"
        case ex.First() | ex.Last():
            return "FINAL " * e.final + _navigation_text(e, default=0)
        case ex.Prev() | ex.Next():
            return _navigation_text(e, default=1)
        case ex.Aggregate(ex.AggregateFunction.COUNT_DISTINCT, body, final):
            return "FINAL " * final + f"COUNT(DISTINCT {expression_text(body)})"
        case ex.Aggregate(function, body, final, rest):
            arguments = ", ".join(map(expression_text, (body, *rest)))
            return "FINAL " * final + f"{function.value}({arguments})"
        case ex.Case(operand, branches, otherwise):
            parts = ["CASE", expression_text(operand) if operand else ""]
            parts += [f"WHEN {expression_text(a)} THEN {expression_text(b)}" for a, b in branches]
            parts += [f"ELSE {expression_text(otherwise)}" if otherwise else "", "END"]
            return " ".join(filter(None, parts))
        case ex.Cast(body, type):
            return f"CAST({expression_text(body)} AS {type.value})"
        case ex.Call("POSITION", (part, text)):
            sides = (expression_text(side, _CONCATENATION) for side in (part, text))
            return f"POSITION({' IN '.join(sides)})"
        case ex.Call("CAST AS DECIMAL", (argument, digits, places)):
            type_text = f"DECIMAL({expression_text(digits)}, {expression_text(places)})"
            return f"CAST({expression_text(argument)} AS {type_text})"
        case ex.Call(function, (argument,)) if function.startswith("EXTRACT "):
            return f"EXTRACT({function.split()[1]} FROM {expression_text(argument)})"
        case ex.Call(function, (argument,)) if function.startswith("DATE_TRUNC "):
            return f"DATE_TRUNC('{function.split()[1]}', {expression_text(argument)})"
        case ex.Call(function, arguments):
            return f"{function}({_comma_list(arguments)})"
        case _:
            assert_never(e)


def _infix(left: ex.Expression, sign: str, right: ex.Expression, own: int) -> str:
    return f"{expression_text(left, own)} {sign} {expression_text(right, own + 1)}"


def _comma_list(parts: tuple[ex.Expression, ...]) -> str:
    return ", ".join(map(expression_text, parts))


def _navigation_text(e: ex.Navigation, default: int) -> str:
    offset = "" if e.offset == default else f", {e.offset}"
    return f"{type(e).__name__.upper()}({expression_text(e.body)}{offset})"


def _qualifier_text(qualifier: str | None) -> str:
    return f"{name_text(qualifier)}." if qualifier is not None else ""


def _literal_text(value: object) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).upper()
        case str():
            return f"'{value.replace(chr(39), chr(39) * 2)}'"
        case Timestamp():
            return f"TIMESTAMP '{value}'"
        case Duration(nanoseconds):
            unit = next((u for u, n in UNITS.items() if nanoseconds % n == 0), "SECOND")
            return f"INTERVAL '{_decimal(nanoseconds, UNITS[unit])}' {unit}"
        case _:
            return str(value)


def _decimal(nanoseconds: int, unit: int) -> str:
    whole, rest = divmod(abs(nanoseconds), unit)
    return "-" * (nanoseconds < 0) + f"{whole}" + f".{rest:09d}".rstrip("0") * bool(rest)


def row_pattern_text(query: rp.RowPattern) -> str:
    """Return the canonical text of a row pattern, one clause per line."""
    d, skips = query.within, not isinstance(query.skip, rp.PastLastRow)
    width = f"INTERVAL '{d.nanoseconds}' NANOSECOND" if isinstance(d, TimeWindow) else f"{d}"
    within = "" if d is None else f" WITHIN {width}"
    lines = [
        *_clause("PARTITION BY", (column_text(column.name) for column in query.partition_by)),
        *_clause("ORDER BY", map(_order_text, query.order_by)),
        *_clause(
            "MEASURES",
            (f"{expression_text(m.expression)} AS {column_text(m.name)}" for m in query.measures),
        ),
        *([] if query.rows is rp.RowsPerMatch.ONE else [query.rows.value]),
        *([f"AFTER MATCH SKIP {skip_text(query.skip)}"] if skips else []),
        f"PATTERN ({pattern_text(query.pattern)}){within}",
        *_clause("SUBSET", map(_subset_text, query.subsets)),
        *_clause("DEFINE", map(_definition_text, query.define)),
    ]
    clause = "MATCH_RECOGNIZE (\n" + "\n".join(f"  {line}" for line in lines) + "\n)"
    return clause if query.select is None else _select_text(query.select, clause)


def _clause(words: str, parts: Iterable[str]) -> list[str]:
    """Return a clause with its parts; an empty list if there are no parts."""
    return [f"{words} {text}"] if (text := ", ".join(parts)) else []


def _order_text(item: rp.OrderItem) -> str:
    nulls = " NULLS FIRST" if item.nulls_first else ""
    return column_text(item.column.name) + " DESC" * item.descending + nulls


def skip_text(skip: rp.Skip) -> str:
    """Return the text of AFTER MATCH SKIP."""
    match skip:
        case rp.PastLastRow():
            return "PAST LAST ROW"
        case rp.ToNextRow():
            return "TO NEXT ROW"
        case rp.ToFirst(name):
            return f"TO FIRST {name_text(name)}"
        case rp.ToLast(name):
            return f"TO LAST {name_text(name)}"
        case _:
            assert_never(skip)


def _subset_text(union: rp.Subset) -> str:
    return f"{name_text(union.name)} = ({', '.join(map(name_text, union.variables))})"


def _definition_text(definition: rp.Definition) -> str:
    return f"{name_text(definition.variable)} AS {expression_text(definition.condition)}"


def _select_text(select: rp.Select, clause: str) -> str:
    items = "*"
    if select.items is not None:
        items = ", ".join(map(_item_text, select.items))
    name = f" AS {name_text(select.input)}" if select.input else ""
    alias = f" AS {name_text(select.alias)}" if select.alias else ""
    return f"SELECT {items} FROM {name_text(select.table)}{name} {clause}{alias}"


def _item_text(item: rp.SelectItem) -> str:
    name = f" AS {column_text(item.name)}" if item.name else ""
    return column_text(item.column.name) + name


display.register(rp.RowPattern, "text/plain", row_pattern_text)


for _kind in rp.Pattern.__args__:
    display.register(_kind, "text/plain", pattern_text)


for _group in ex.Expression.__args__:
    display.register(_group, "text/plain", expression_text)
