"""Expressions from sqlglot's syntax trees, and patterns from parse trees.

Unsupported SQL raises an error that names the construct.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection
from fractions import Fraction
from typing import Any, TypeVar

from lark import Transformer, v_args
from lark.tree import Meta
from sqlglot import exp

from cerlab.errors import QuerySyntaxError, ResourceLimit, SourcePlace, Span, nearest
from cerlab.logic.parsing import Language, build, place_at, read, value
from cerlab.model.event import UNITS, Duration, Timestamp, Value, is_in_calendar, moment_of_text
from cerlab.model.paths import path_name
from cerlab.rows import expressions as ex
from cerlab.rows import syntax as rp
from cerlab.rows.calendar_forms import part_name
from cerlab.rows.library import ALIASES, FUNCTIONS, LIBRARY
from cerlab.rows.syntax import ill_formed, unsupported
from cerlab.rows.tokens import CALL, LITERAL, MODE, back_quote_hint, canonical

MAX_DEPTH = 200
"""The deepest expression that is read; a chain of n operators is n deep."""

_ARITHMETIC = {
    exp.Add: ex.ArithmeticOperator.ADD,
    exp.Sub: ex.ArithmeticOperator.SUB,
    exp.Mul: ex.ArithmeticOperator.MUL,
    exp.Div: ex.ArithmeticOperator.DIV,
    exp.Mod: ex.ArithmeticOperator.MOD,
}

_COMPARISONS = {
    exp.EQ: ex.ComparisonOperator.EQ,
    exp.NEQ: ex.ComparisonOperator.NE,
    exp.LT: ex.ComparisonOperator.LT,
    exp.LTE: ex.ComparisonOperator.LE,
    exp.GT: ex.ComparisonOperator.GT,
    exp.GTE: ex.ComparisonOperator.GE,
}

_BINARY: dict[type[exp.Expr], type[ex.And | ex.Or | ex.Concatenation]] = {
    exp.And: ex.And,
    exp.Or: ex.Or,
    exp.DPipe: ex.Concatenation,
}
_UNARY: dict[type[exp.Expr], type[ex.Not | ex.Negative]] = {exp.Not: ex.Not, exp.Neg: ex.Negative}
_NAVIGATION: dict[str, type[ex.First | ex.Last | ex.Prev | ex.Next]] = {
    "FIRST": ex.First,
    "LAST": ex.Last,
    "PREV": ex.Prev,
    "NEXT": ex.Next,
}

_AGGREGATES = {function.value: function for function in ex.AggregateFunction}
del _AGGREGATES["COUNT DISTINCT"]
_AGGREGATES |= {
    "STDDEV_SAMP": ex.AggregateFunction.STDDEV,
    "VAR_SAMP": ex.AggregateFunction.VARIANCE,
    "STRING_AGG": ex.AggregateFunction.LISTAGG,
}
_BY = (ex.AggregateFunction.MAX_BY, ex.AggregateFunction.MIN_BY)

_OF_MOMENTS = (
    exp.DataType.Type.TIMESTAMP,
    exp.DataType.Type.TIMESTAMPTZ,
    exp.DataType.Type.DATE,
)

_CASTS = {
    exp.DataType.Type.INT: ex.CastType.INTEGER,
    exp.DataType.Type.BIGINT: ex.CastType.BIGINT,
    exp.DataType.Type.DOUBLE: ex.CastType.DOUBLE,
    exp.DataType.Type.VARCHAR: ex.CastType.VARCHAR,
    exp.DataType.Type.TEXT: ex.CastType.VARCHAR,
    exp.DataType.Type.TIMESTAMP: ex.CastType.TIMESTAMP,
    exp.DataType.Type.TIMESTAMPTZ: ex.CastType.TIMESTAMP,
    exp.DataType.Type.DATE: ex.CastType.DATE,
}
_CAST_HINT = "casts are to INTEGER, BIGINT, DOUBLE, DECIMAL(p, s), VARCHAR(n), TIMESTAMP and DATE"

MOST_DIGITS = 15
"""Decimals of up to 15 digits have distinct nearest doubles; longer ones may share one."""

_FINER = {**UNITS, "MICROSECOND": 10**3, "NANOSECOND": 1}
"""The units of INTERVAL, in nanoseconds."""


def nanoseconds_of(number: str, unit: str) -> int | None:
    """Return a number with a unit of time in nanoseconds; None if that is not a whole number."""
    if not re.fullmatch(_NUMBER, number.strip(), re.ASCII):
        return None
    nanoseconds = Fraction(number) * _FINER[unit.upper().removesuffix("S")]
    return int(nanoseconds) if nanoseconds.denominator == 1 else None


_NUMBER = r"[+-]?(?=\.?\d)\d{0,40}(?:\.\d{0,40})?(?:[eE][+-]?\d{1,2})?"


def _of_units(text: str) -> int | None:
    """Return the nanoseconds of a text such as ``1 HOUR 30 MINUTES``; None for other texts."""
    words = text.split()
    units = [word.upper().removesuffix("S") for word in words[1::2]]
    if units != [unit for unit in UNITS if unit in units] or not units:
        return None
    parts = [
        Fraction(number) * UNITS[unit] if re.fullmatch(_NUMBER, number) else None
        for number, unit in zip(words[::2], units, strict=True)
    ]
    total = sum((part for part in parts if part is not None), Fraction(0))
    return None if None in parts or total.denominator != 1 else int(total)


_FIELDS = ("DAY", "HOUR", "MINUTE", "SECOND")


def _of_fields(text: str, first: str, last: str) -> int | None:
    """Return the nanoseconds of ``'1 02:30:00' DAY TO SECOND``; None for other texts.

    Every field except the first is less than one unit of the field before it.
    """
    begin, end = first.upper(), last.upper()
    if begin not in _FIELDS or end not in _FIELDS[_FIELDS.index(begin) + 1 :]:
        return None
    fields = _FIELDS[_FIELDS.index(begin) : _FIELDS.index(end) + 1]
    shapes = [r"(\d{1,9}(?:\.\d{1,9})?)" if f == "SECOND" else r"(\d{1,9})" for f in fields]
    gaps = [" " if field == "DAY" else ":" for field in fields[:-1]]
    pattern = "".join(shape + gap for shape, gap in zip(shapes, [*gaps, ""], strict=True))
    match = re.fullmatch(rf"([+-]?){pattern}", text.strip(), re.ASCII)
    if match is None:
        return None
    numbers = [Fraction(number) for number in match.groups()[1:]]
    wholes = {"HOUR": 24, "MINUTE": 60, "SECOND": 60}
    if any(n >= wholes[f] for n, f in zip(numbers[1:], fields[1:], strict=True)):
        return None
    total = int(sum(n * UNITS[f] for n, f in zip(numbers, fields, strict=True)))
    return -total if match[1] == "-" else total


_CALLS = (*_NAVIGATION, *_AGGREGATES, *FUNCTIONS, *ALIASES, "CLASSIFIER", "MATCH_NUMBER")
_CALLS += ("DATE_TRUNC", "EXTRACT", "CAST")

_SUBQUERY_HINT = (
    "a subquery can compute it as a column: "
    "SELECT * FROM (SELECT *, f(x) AS y FROM t) MATCH_RECOGNIZE (..)"
)


def _nearest_calls(name: str) -> str:
    """Return the function names most similar to a name, for a hint."""
    close = difflib.get_close_matches(name, sorted(_CALLS), n=3)
    return f"the nearest are {', '.join(close)}" if close else nearest(name, _CALLS)


Node = TypeVar("Node")


class ExpressionBuilder:
    """A builder of row expressions from sqlglot's nodes; `spans` has the place of each expression.

    `names` are the variables and unions, `inputs` the names of the input.
    """

    def __init__(self, text: str, names: Collection[str], inputs: Collection[str]) -> None:
        self.text = text
        self.names = names
        self.inputs = inputs
        self.spans: dict[int, Span] = {}
        self.nodes: list[object] = []
        self._around: SourcePlace | None = None
        self._depth = 0

    def record(self, node: Node, place: SourcePlace) -> Node:
        """Store the place of an expression, and return the expression."""
        self.spans[id(node)] = place.span
        self.nodes.append(node)
        return node

    def expression(self, node: exp.Expr, around: SourcePlace) -> ex.Expression:
        """Return the expression for a sqlglot node; `around` is the place for errors without one.

        Raises `IllFormed` (`arguments`, `offset`, `running-final`), `Unsupported`, and
        `ResourceLimit` for an expression that is too deep.
        """
        self._around, self._depth = around, 0
        return self._build(node)

    def _build(self, node: object) -> ex.Expression:
        assert isinstance(node, exp.Expr)
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise ResourceLimit(
                "CER0602",
                f"an expression nests or chains more than {MAX_DEPTH} operators",
                place=self._around,
                hint="to compare with many values, use IN (..)",
            )
        if MODE in node.meta and not self._takes_mode(node):
            raise ill_formed(
                "running-final",
                f"{node.meta[MODE]} is allowed only before FIRST, LAST and aggregates",
                self._place(node),
                "for the row before the last row of x in the match, write PREV(FINAL LAST(x.c))",
            )
        expression = self._operation(node) or self._leaf(node)
        self._depth -= 1
        return self.record(expression, self._place(node))

    def _takes_mode(self, node: exp.Expr) -> bool:
        return isinstance(node, exp.Anonymous) and (
            node.name.upper() in ("FIRST", "LAST", *_AGGREGATES)
        )

    def _operation(self, node: exp.Expr) -> ex.Expression | None:
        """Return the expression for an operator; None for a node that is not an operator."""
        if (kind := type(node)) in _ARITHMETIC:
            return ex.Arithmetic(_ARITHMETIC[kind], *self._sides(node))
        if kind in _COMPARISONS:
            return ex.Comparison(_COMPARISONS[kind], *self._sides(node))
        if kind in _BINARY:
            return _BINARY[kind](*self._sides(node))
        if kind in _UNARY:
            return _UNARY[kind](self._build(node.this))
        match node:
            case exp.Paren():
                return self._build(node.this)
            case exp.Is():
                return self._is(node)
            case exp.In() if set(node.args) == {"this", "expressions"} and node.expressions:
                return ex.In(self._build(node.this), tuple(map(self._build, node.expressions)))
            case exp.Like():
                test = ex.Like(*self._sides(node))
                return ex.Not(test) if node.args.get("negate") else test
            case exp.Between():
                parts = (node.this, node.args["low"], node.args["high"])
                return ex.Between(*map(self._build, parts))
            case exp.Case():
                return self._case(node)
        return None

    def _leaf(self, node: exp.Expr) -> ex.Expression:
        match node:
            case exp.Literal():
                return ex.Literal(self._constant(node))
            case exp.Boolean():
                return ex.Literal(bool(node.this))
            case exp.Null():
                return ex.Literal(None)
            case exp.Column() | exp.Dot():
                return self._column(node)
            case exp.Anonymous():
                return self._call(node)
            case exp.Interval(this=exp.Literal()):
                return ex.Literal(self._interval(node))
            case exp.Cast(this=exp.Literal(is_string=True)) if (
                node.to.this in _OF_MOMENTS and not node.meta.get(CALL)
            ):
                return ex.Literal(self._moment(node))
            case exp.Cast() if node.to.this == exp.DataType.Type.DECIMAL:
                return self._decimal(node)
            case exp.Cast() if node.to.this in _CASTS and (
                not node.to.expressions or _CASTS[node.to.this] is ex.CastType.VARCHAR
            ):
                self._check_text_of_decimal(node)
                return ex.Cast(self._build(node.this), _CASTS[node.to.this])
            case exp.Cast():
                raise unsupported(f"a cast to {node.to.sql()}", self._place(node), _CAST_HINT)
            case exp.Extract():
                return self._of_calendar("EXTRACT", node.name, node.args["expression"], node)
        name = _construct_name(node)
        raise unsupported(name, self._place(node), CONSTRUCT_HINTS.get(name, ""))

    def _of_calendar(self, function: str, word: str, argument: exp.Expr, node: exp.Expr) -> ex.Call:
        """Return the expression for EXTRACT or DATE_TRUNC."""
        name = f"{function} {part_name(word)}"
        if name not in LIBRARY:
            known = [each.split()[1] for each in LIBRARY if each.startswith(f"{function} ")]
            hint = nearest(word.upper(), known)
            if word.upper().startswith("TIMEZONE"):
                hint = "moments have no zone: they are compared by what they are in UTC"
            form = f"'{word}', .." if function == "DATE_TRUNC" else f"{word.upper()} FROM .."
            raise unsupported(f"{function}({form})", self._place(node), hint)
        return ex.Call(name, (self._build(argument),))

    def _decimal(self, node: exp.Cast) -> ex.Call:
        """Return the expression for ``CAST(e AS DECIMAL(p, s))``."""
        digits = [str(each.this) for each in node.to.expressions]
        p, s = (*(int(each) if each.isdecimal() else 0 for each in digits), 0, 0)[:2]
        if not 0 < p <= MOST_DIGITS or s > p:
            hint = f"write DECIMAL(p, s) with p digits, at most {MOST_DIGITS}, s of them decimals"
            raise unsupported(f"a cast to {node.to.sql()}", self._place(node), hint)
        parts = (self._build(node.this), ex.Literal(p), ex.Literal(s))
        return ex.Call("CAST AS DECIMAL", parts)

    def _check_text_of_decimal(self, node: exp.Cast) -> None:
        """Raise `Unsupported` if a decimal becomes text, for which SQL needs all its digits."""
        is_text = _CASTS[node.to.this] is ex.CastType.VARCHAR
        casts = (each.to.this for each in node.this.find_all(exp.Cast))
        if is_text and exp.DataType.Type.DECIMAL in casts:
            hint = "CAST(ROUND(x, 2) AS VARCHAR) is the text of a double"
            raise unsupported("a cast of a DECIMAL to text", self._place(node), hint)

    def _sides(self, node: exp.Expr) -> tuple[ex.Expression, ex.Expression]:
        return self._build(node.this), self._build(node.args["expression"])

    def _is(self, node: exp.Is) -> ex.Expression:
        match node.args["expression"]:
            case exp.Null():
                truth = None
            case exp.Boolean(this=value):
                truth = bool(value)
            case other:
                raise unsupported(f"IS {_construct_name(other)}", self._place(node))
        test = ex.Is(self._build(node.this), truth)
        return ex.Not(test) if node.args.get("negate") else test

    def _case(self, node: exp.Case) -> ex.Case:
        operand, otherwise = node.this, node.args.get("default")
        return ex.Case(
            self._build(operand) if operand else None,
            tuple(
                (self._build(arm.this), self._build(arm.args["true"])) for arm in node.args["ifs"]
            ),
            self._build(otherwise) if otherwise else None,
        )

    def _constant(self, node: exp.Literal) -> Value:
        if node.is_string:
            return str(node.this)
        digits = str(node.this)
        # integers of any size, because types are checked later, against a table
        if digits.isdecimal():
            return int(digits)
        try:
            number = float(digits)
        except ValueError:
            number = float("inf")
        if number == float("inf"):
            assert self._around is not None
            message = f"'{digits}' does not fit into 64 bits"
            raise QuerySyntaxError("CER0101", message, place=self._around, expected=())
        return number

    def _interval(self, node: exp.Interval) -> Duration:
        """Return ``30 SECONDS``, ``INTERVAL '30' MINUTE``, ``INTERVAL '1 02:30:00' DAY TO SECOND``.

        Raises `QuerySyntaxError` for text that is not a duration in nanoseconds of 64 bits.
        """
        match node.args.get("unit"):
            case exp.Var(this=unit) if unit == LITERAL:
                nanoseconds = _of_units(str(node.this.this))
            case exp.IntervalSpan(this=exp.Var() as first, expression=exp.Var() as last):
                nanoseconds = _of_fields(str(node.this.this), first.name, last.name)
            case exp.Var() as unit if unit.name.upper().removesuffix("S") not in _FINER:
                raise unsupported(f"an interval in {unit.name.upper()}", self._place(node))
            case exp.Var() as unit:
                nanoseconds = nanoseconds_of(str(node.this.this), unit.name)
            case _:
                nanoseconds = None
        if nanoseconds is None or not -(2**63) <= nanoseconds < 2**63:
            message = f"'{node.this.this}' is not a length of time in nanoseconds of 64 bits"
            hint = "write INTERVAL '30' MINUTE, INTERVAL '1 02:30:00' DAY TO SECOND, 30 SECONDS"
            raise self._no_time(node, message, hint)
        return Duration(nanoseconds)

    def _moment(self, node: exp.Cast) -> Timestamp:
        text = str(node.this.this)
        moment = moment_of_text(text)
        is_date = node.to.this == exp.DataType.Type.DATE
        if moment is None or (is_date and len(text) > len("2024-01-31")):
            hint = "write TIMESTAMP '2024-01-31 10:00:00.5+01:00', DATE '2024-01-31'"
            raise self._no_time(node, f"'{text}' is not a {'date' if is_date else 'moment'}", hint)
        if not is_in_calendar(moment.nanoseconds):
            raise self._no_time(node, "a moment outside the years 1 to 9999", "mind the zone")
        return moment

    def _no_time(self, node: exp.Expr, message: str, hint: str) -> QuerySyntaxError:
        place = self._place(node)
        return QuerySyntaxError("CER0102", message, place=place, expected=(), hint=hint)

    def _column(self, node: exp.Column | exp.Dot) -> ex.Column:
        parts = list(node.parts)
        if not all(isinstance(part, exp.Identifier) for part in parts):
            raise unsupported(f"'{node.sql()}'", self._place(node), "write x.c or c")
        names = [str(part.this) for part in parts]
        if len(parts) == 1:
            return ex.Column(names[0])
        qualifier, name = canonical(parts[0]), path_name(names[1:])
        if qualifier not in self.names and qualifier in self.inputs:
            return ex.Column(name)
        return ex.Column(name, self._variable(qualifier, self._place(node)))

    def _variable(self, name: str, place: SourcePlace) -> str:
        if name not in self.names:
            message = f"'{name}' is neither a variable of PATTERN nor a SUBSET"
            raise ill_formed("unknown-variable", message, place, nearest(name, self.names))
        return name

    def key(self, node: exp.Expr, place: SourcePlace, clause: str) -> ex.Column:
        """Return the column that PARTITION BY, ORDER BY or SELECT names.

        Raises `Unsupported` for other expressions, `IllFormed` (`unknown-variable`).
        """
        if not isinstance(node, exp.Column | exp.Dot) or node.is_star:
            hint = "name a column"
            if clause == "SELECT":
                hint = f"write MEASURES {node.sql()} AS x, and SELECT x"
            raise unsupported(f"an expression in {clause}", place, hint)
        parts = list(node.parts)
        qualifier, names = canonical(parts[0]), [str(part.this) for part in parts]
        if len(parts) > 1 and qualifier in self.inputs:
            names = names[1:]
        elif len(parts) > 1:
            message = f"'{qualifier}' does not name the table"
            hint = nearest(parts[0].name, self.inputs)
            hint = hint or f'write "{path_name(names)}" for a field of column {names[0]}'
            raise ill_formed("unknown-variable", message, place, hint)
        return self.record(ex.Column(path_name(names)), place)

    def _call(self, node: exp.Anonymous) -> ex.Expression:
        name, arguments = node.name.upper(), node.expressions
        final = node.meta.get(MODE) == "FINAL"
        if name in _NAVIGATION:
            return self._navigation(node, _NAVIGATION[name], final)
        if name in _AGGREGATES:
            return self._aggregate(node, _AGGREGATES[name], final)
        if name == "DATE_TRUNC":
            self._count(node, 2, 2)
            unit, argument = arguments
            if not (isinstance(unit, exp.Literal) and unit.is_string):
                message = "the unit of DATE_TRUNC is a text, as in DATE_TRUNC('month', ts)"
                raise ill_formed("arguments", message, self._place(node))
            return self._of_calendar(name, str(unit.this), argument, node)
        if function := FUNCTIONS.get(known := ALIASES.get(name, name)):
            self._count(node, function.least, function.most)
            return ex.Call(known, tuple(map(self._build, arguments)))
        if name == "MATCH_NUMBER":
            self._count(node, 0, 0)
            return ex.MatchNumber()
        if name == "CLASSIFIER":
            return self._classifier(node)
        hint = CONSTRUCT_HINTS.get(name) or f"{_nearest_calls(name)}; {_SUBQUERY_HINT}"
        raise unsupported(f"the function {name}", self._place(node), hint)

    def _classifier(self, node: exp.Anonymous) -> ex.Classifier:
        self._count(node, 0, 1)
        if not node.expressions:
            return ex.Classifier()
        match node.expressions[0]:
            case exp.Column(this=exp.Identifier() as name) as column if not column.table:
                return ex.Classifier(self._variable(canonical(name), self._place(node)))
        message = "CLASSIFIER expects a variable or no argument"
        raise ill_formed("arguments", message, self._place(node))

    def _navigation(
        self, node: exp.Anonymous, kind: type[ex.First | ex.Last | ex.Prev | ex.Next], final: bool
    ) -> ex.Expression:
        self._count(node, 1, 2)
        body, *rest = node.expressions
        if isinstance(body, exp.Star) or body.is_star:
            raise ill_formed(
                "arguments", f"{node.name.upper()} does not accept *", self._place(node)
            )
        if isinstance(body, exp.Null):
            name = node.name.upper()
            message = f"{name} expects the value of a row, got NULL"
            hint = f"write {name}(price) IS NULL to find a missing value"
            raise ill_formed("arguments", message, self._place(node), hint)
        offset = 1 if kind in (ex.Prev, ex.Next) else 0
        for literal in rest:
            if not (isinstance(literal, exp.Literal) and str(literal.this).isdecimal()) or (
                literal.is_string
            ):
                raise ill_formed(
                    "offset",
                    f"the offset of {node.name.upper()} is an integer from 0 on, as a literal",
                    self._place(node),
                )
            offset = int(literal.this)
        if kind is ex.Prev or kind is ex.Next:
            return kind(self._build(body), offset)
        return kind(self._build(body), offset, final)  # type: ignore[call-arg]  # First or Last

    def _aggregate(
        self, node: exp.Anonymous, function: ex.AggregateFunction, final: bool
    ) -> ex.Aggregate:
        listing = function is ex.AggregateFunction.LISTAGG
        self._count(node, 1 + (function in _BY), 1 + (function in _BY or listing))
        body, *others = node.expressions
        rest = tuple(map(self._build, others))
        if listing:
            rest = rest or (ex.Literal(","),)
            if not isinstance(rest[0], ex.Literal) or not isinstance(rest[0].value, str):
                message = f"the separator of {node.name.upper()} is a text in quotes"
                raise ill_formed("arguments", message, self._place(node))
        is_distinct = function is ex.AggregateFunction.COUNT and isinstance(body, exp.Distinct)
        if is_distinct and len(body.expressions) == 1 and not body.expressions[0].is_star:
            function, body = ex.AggregateFunction.COUNT_DISTINCT, body.expressions[0]
        if not body.is_star:
            return ex.Aggregate(function, self._build(body), final, rest)
        if function is not ex.AggregateFunction.COUNT:
            message = f"{function.value} expects an expression; only COUNT accepts *"
            raise ill_formed("arguments", message, self._place(node))
        qualifier = canonical(body.args["table"]) if isinstance(body, exp.Column) else None
        rows = self.record(ex.AllRows(qualifier), self._place(body))
        return ex.Aggregate(function, rows, final)

    def _count(self, node: exp.Anonymous, least: int, most: int | None) -> None:
        count = len(node.expressions)
        if count < least or (most is not None and count > most):
            bounds = f"{least}" if most == least else f"{least} to {most or 'any number'}"
            message = f"{node.name.upper()} expects {bounds} arguments, got {count}"
            raise ill_formed("arguments", message, self._place(node))

    def _place(self, node: exp.Expr) -> SourcePlace:
        """Return the span in the text of all parts of a node with known places."""
        ends = [
            (each.meta["start"], each.meta["end"]) for each in node.walk() if "start" in each.meta
        ]
        if not ends:
            assert self._around is not None
            return self._around
        start, end = min(start for start, _ in ends), max(end for _, end in ends)
        return place_at(self.text, start, end - start + 1)


_CONSTRUCTS: dict[type[exp.Expr], str] = {
    exp.Subquery: "a subquery",
    exp.Select: "a subquery",
    exp.Exists: "a subquery",
    exp.Cast: "a cast",
    exp.Distinct: "DISTINCT",
    exp.Filter: "FILTER",
    exp.Window: "OVER",
    exp.Interval: "an INTERVAL of something else than a text",
    exp.Ordered: "ORDER BY in an aggregate",
    exp.Order: "ORDER BY in an aggregate",
    exp.Star: "*",
}


CONSTRUCT_HINTS = {
    "LAG": "write PREV(v), or PREV(v, 2) for two rows before",
    "LEAD": "write NEXT(v), or NEXT(v, 2) for two rows after",
    "IN (SELECT ..)": "write the values: v IN (1, 2)",
    "DISTINCT": "a query of CEL counts different values: write "
    "SELECT * WHERE MAX(A+ AS a WITHIN 5 MINUTES) FILTER COUNT(DISTINCT a.user) >= 3",
}
"""Hints for functions and constructs of SQL that row patterns lack, by their names."""


def _construct_name(node: exp.Expr) -> str:
    """Return the SQL name of an unsupported construct, for an error."""
    if isinstance(node, exp.In) and node.args.get("query") is not None:
        return "IN (SELECT ..)"
    return _CONSTRUCTS.get(type(node), type(node).__name__.upper())


MAX_PATTERN_DEPTH = 100
"""The deepest pattern that is read."""

MAX_PERMUTE_PARTS = 8
"""Parts of PERMUTE, at most: 8 parts have 40,320 orders."""


def parse_pattern(
    text: str, start: int, end: int
) -> tuple[rp.Pattern, dict[int, Span], list[object]]:
    """Return the pattern in ``text[start:end]``, the places of its variables, and the variables.

    Spans are by identity; the variables are returned to keep their identities alive. Raises
    `QuerySyntaxError`, `IllFormed` (`quantifier`), `Unsupported`, `ResourceLimit`.
    """
    if not text[start:end].strip():
        place, expected = place_at(text, end, 1), ("a pattern",)
        hint = _hint("", 0, ())
        raise QuerySyntaxError("CER0101", "no pattern", place=place, expected=expected, hint=hint)
    # spaces replace the text before the pattern, so that places of errors are right
    blank = re.sub(r"[^\n]", " ", text[:start]) + text[start:end]
    builder = _PatternBuilder(text)
    _refuse_deep(text, start, end)
    try:
        pattern: rp.Pattern = build(builder, read(_PATTERN, blank, "pattern"))
    except QuerySyntaxError as error:
        raise _error_in_text(error, text) from None
    return pattern, builder.spans, builder.nodes


def _error_in_text(error: QuerySyntaxError, text: str) -> QuerySyntaxError:
    """Return an error of the pattern with its place in the whole text."""
    assert isinstance(error.place, SourcePlace)
    place = SourcePlace(text, error.place.span)
    result = QuerySyntaxError(error.code, error.message, place=place, expected=error.expected)
    result.hint = error.hint
    return result


def _refuse_deep(text: str, start: int, end: int) -> None:
    depth = 0
    # count parentheses in the text, because the tree's builder recurses once per level
    for sign in re.findall(r"[()]|\{-|-\}", text[start:end]):
        depth += 1 if sign in ("(", "{-") else -1
        if depth > MAX_PATTERN_DEPTH:
            message = f"the pattern nests more than {MAX_PATTERN_DEPTH} parentheses"
            hint = "omit parentheses that have no effect"
            raise ResourceLimit("CER0602", message, hint=hint)


@v_args(meta=True)
class _PatternBuilder(Transformer[Any, Any]):
    """A builder of patterns from parse trees, with one method per rule of ``grammar.lark``."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text
        self.spans: dict[int, Span] = {}
        self.nodes: list[object] = []

    def _place(self, meta: Meta) -> SourcePlace:
        span = Span(meta.line, meta.column, meta.end_line, meta.end_column)
        return SourcePlace(self.text, span)

    regular_name = value(lambda token: str(token).upper())
    quoted_name = value(lambda token: str(token)[1:-1].replace('""', '"'))
    name = value(str)

    def variable(self, meta: Meta, children: list[str]) -> rp.Variable:
        variable = rp.Variable(children[0])
        self.spans[id(variable)] = self._place(meta).span
        self.nodes.append(variable)
        return variable

    empty = value(rp.Empty)
    partition_start = value(rp.PartitionStart)
    partition_end = value(rp.PartitionEnd)
    sequence = value(lambda *parts: rp.Concat(parts))
    alternation = value(lambda *parts: rp.Alternation(parts))
    exclusion = value(rp.Exclusion)

    def permute(self, meta: Meta, children: list[Any]) -> rp.Permute:
        parts = tuple(children[1:])
        if len(parts) > MAX_PERMUTE_PARTS:
            raise unsupported(
                f"PERMUTE of {len(parts)} parts (more than {MAX_PERMUTE_PARTS})", self._place(meta)
            )
        return rp.Permute(parts)

    def repetition(self, meta: Meta, children: list[Any]) -> rp.Repetition:
        body, (lo, hi), reluctant = children
        if hi is not None and (hi < lo or hi < 1):
            raise ill_formed(
                "quantifier",
                f"{{{lo},{hi}}} allows no count: the bounds are lo <= hi and hi >= 1",
                self._place(meta),
                "for a pattern that reads no row, write ()",
            )
        return rp.Repetition(body, lo, hi, reluctant is not None)

    star = value(lambda: (0, None))
    plus = value(lambda: (1, None))
    option = value(lambda sign: (0, 1))
    exactly = value(lambda n: (int(n), int(n)))
    at_least = value(lambda low: (int(low), None))
    at_most = value(lambda high: (0, int(high)))
    from_to = value(lambda low, high: (int(low), int(high)))


def _hint(text: str, at: int, expected: tuple[str, ...]) -> str:
    if text[at : at + 1] in ("*", "+", "?", "{"):
        return "a quantified pattern can be quantified again in parentheses only: (A*)+"
    if hint := back_quote_hint(text, at):
        return hint
    if not text.strip():
        return "the empty pattern is written (), so PATTERN (()) has no row"
    return ""


_PATTERN = Language(
    "cerlab.rows",
    ("pattern",),
    noun="pattern",
    hint=_hint,
    words={
        "REGULAR": "a variable",
        "QUOTED": "a variable",
        "PERMUTE": "PERMUTE",
        "INT": "a number",
        "RELUCTANT": "'?'",
    },
)
