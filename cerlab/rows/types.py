"""Row patterns against the columns of a table: names, static types, columns of the result.

Everything here is found before a row is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple, TypeAlias, assert_never

from cerlab.errors import nearest
from cerlab.model.clauses import TimeWindow
from cerlab.model.event import Duration
from cerlab.predicates import syntax as pred
from cerlab.predicates.truth import kind_of_result
from cerlab.rows import expressions as ex
from cerlab.rows import syntax as rp
from cerlab.rows.syntax import RowPattern, duplicate, ill_formed, mismatch, place_of


class Kind(Enum):
    """The kind of an expression's values; `OTHER` columns are passed through and never read."""

    BOOLEAN = "boolean"
    INTEGER = "integer"
    DOUBLE = "double"
    TEXT = "text"
    MOMENT = "moment"
    DURATION = "duration"
    NULL = "NULL"
    OTHER = "no scalar"


Columns: TypeAlias = Mapping[str, Kind]
"""The columns of a table, in order."""

_NUMBERS = (Kind.INTEGER, Kind.DOUBLE, Kind.NULL)

_TIMES = (Kind.MOMENT, Kind.DURATION)

_NAMES = {Kind.MOMENT: "timestamp", Kind.DURATION: "duration"}
_NAMES |= {Kind.INTEGER: "number", Kind.DOUBLE: "number"}
"""Kinds as `cerlab.predicates.truth` names them."""

_LITERALS = {Kind.MOMENT: "TIMESTAMP '2024-01-31 10:00'", Kind.DURATION: "INTERVAL '5' SECOND"}
"""A literal of each kind, for hints."""

_KINDS = {"timestamp": Kind.MOMENT, "duration": Kind.DURATION, "number": Kind.DOUBLE, None: None}


class StaticType(NamedTuple):
    """The static type of an expression: its kind, and the column whose very type it has."""

    kind: Kind
    column: str | None = None


@dataclass(frozen=True, slots=True)
class InputColumn:
    """A column of the result that is one of the table."""

    name: str
    column: str


@dataclass(frozen=True, slots=True)
class MeasureColumn:
    """A column of the result that is the index-th measure."""

    name: str
    index: int
    type: StaticType


OutputColumn: TypeAlias = InputColumn | MeasureColumn


@dataclass(frozen=True, slots=True)
class Binding:
    """A query on a table: the column that each name stands for, the columns of the result."""

    names: Mapping[str, str]
    output: tuple[OutputColumn, ...]
    kinds: Columns = field(default_factory=dict)
    """The kind of each column of the table."""


def bind(query: RowPattern, columns: Columns) -> Binding:
    """Return the query on a table of these columns.

    Raises `IllFormed` (`unknown-column`, `ambiguous-column`, `duplicate-column`, `no-columns`) and
    `TypeMismatch` (`type`).
    """
    names: dict[str, str] = {}
    for column in _references(query):
        names[column.name] = _resolve(query, column, columns)
    scope = _Scope(query, columns, names)
    for key in (*query.partition_by, *(item.column for item in query.order_by)):
        scope.type_of(key)
    for definition in query.define:
        scope.need(
            definition.condition, (Kind.BOOLEAN, Kind.NULL), "a condition has to be a boolean"
        )
    if query.within is not None:
        moments = isinstance(query.within, TimeWindow)
        kinds = (Kind.MOMENT, Kind.NULL) if moments else _NUMBERS
        message = "an interval measures moments, a number measures numbers"
        scope.need(query.order_by[0].column, kinds, message)
    types = [scope.type_of(measure.expression) for measure in query.measures]
    output = _output(query, names, columns, types)
    return Binding(names, _select(query, output), columns)


def kinds_of(query: RowPattern, binding: Binding) -> Callable[[ex.Expression], Kind]:
    """Return the function that gives the static kind of an expression of a bound query."""
    scope = _Scope(query, binding.kinds, binding.names)
    return lambda e: scope.type_of(e).kind


def _references(query: RowPattern) -> Iterator[ex.Column]:
    yield from query.partition_by
    yield from (item.column for item in query.order_by)
    bodies = [definition.condition for definition in query.define]
    for body in (*bodies, *(measure.expression for measure in query.measures)):
        yield from (each for each in ex.subexpressions(body) if isinstance(each, ex.Column))


def _resolve(query: RowPattern, column: ex.Column, columns: Iterable[str]) -> str:
    """Return the column of that exact name, else the single one that agrees but for case."""
    names = list(columns)
    if column.name in names:
        return column.name
    agreeing = [name for name in names if name.casefold() == column.name.casefold()]
    place = place_of(query, column)
    if not agreeing:
        message = f"there is no column '{column.name}'"
        raise ill_formed("unknown-column", message, place, nearest(column.name, names))
    if len(agreeing) > 1:
        message = f"'{column.name}' may be any of {', '.join(agreeing)}"
        raise ill_formed("ambiguous-column", message, place, "spell it exactly")
    return agreeing[0]


def _output(
    query: RowPattern, names: Mapping[str, str], columns: Columns, types: list[StaticType]
) -> tuple[OutputColumn, ...]:
    """Keys, measures, and under ALL ROWS the remaining columns of the table."""
    keys = [column.name for column in query.partition_by]
    if query.rows is not rp.Rows.ONE:
        keys += [item.column.name for item in query.order_by]
    first = list(dict.fromkeys(names[key] for key in keys))
    remaining = [] if query.rows is rp.Rows.ONE else [c for c in columns if c not in first]
    output: list[OutputColumn] = [InputColumn(name, name) for name in first]
    for i, (measure, kind) in enumerate(zip(query.measures, types, strict=True)):
        output.append(MeasureColumn(measure.name, i, kind))
    output += [InputColumn(name, name) for name in remaining]
    _distinct(query, output)
    return tuple(output)


def _distinct(query: RowPattern, output: Iterable[OutputColumn]) -> None:
    names = set[str]()
    for column in output:
        if column.name.casefold() in names:
            namesakes = (m for m in query.measures if m.name.casefold() == column.name.casefold())
            raise duplicate(column.name, place_of(query, next(namesakes, None)))
        names.add(column.name.casefold())
    if not names:
        raise ill_formed("no-columns", "neither the clause nor the table has a column")


def _select(query: RowPattern, output: tuple[OutputColumn, ...]) -> tuple[OutputColumn, ...]:
    """Return the columns of the SELECT around the clause."""
    if query.select is None or query.select.items is None:
        return output
    by_name = {column.name: column for column in output}
    result: list[OutputColumn] = []
    for item in query.select.items:
        column = by_name[_resolve(query, item.column, by_name)]
        name = item.name if item.name is not None else column.name
        match column:
            case InputColumn(_, source):
                result.append(InputColumn(name, source))
            case MeasureColumn(_, index, kind):
                result.append(MeasureColumn(name, index, kind))
    _distinct(query, result)
    return tuple(result)


@dataclass(frozen=True, slots=True)
class _Scope:
    """The columns that names stand for, and where errors are."""

    query: RowPattern
    columns: Columns
    names: Mapping[str, str]

    def need(self, e: ex.Expression, kinds: tuple[Kind, ...], message: str) -> Kind:
        """Return the kind of an expression; raise `TypeMismatch` if `kinds` lacks it."""
        kind = self.type_of(e).kind
        if kind not in kinds:
            raise mismatch(f"{message}, got {kind.value}", place_of(self.query, e))
        return kind

    def comparable(self, e: ex.Expression, *others: ex.Expression) -> None:
        """Numbers compare with numbers, any other kind with itself."""
        for other in others:
            kinds = {self.type_of(e).kind, self.type_of(other).kind} - {Kind.NULL}
            if len(kinds) > 1 and kinds != {Kind.INTEGER, Kind.DOUBLE}:
                kind_names = " and ".join(sorted(kind.value for kind in kinds))
                hint = next((_LITERALS[k] for k in kinds if k in _LITERALS), "")
                hint = f"write {hint}" if hint else "compare values of one kind"
                raise mismatch(f"{kind_names} do not compare", place_of(self.query, other), hint)

    def common_type(self, parts: Iterable[ex.Expression]) -> StaticType:
        """Return the common kind of several expressions; numbers of both kinds are doubles."""
        operands = list(parts)
        for part in operands[1:]:
            self.comparable(operands[0], part)
        kinds = {self.type_of(part).kind for part in operands} - {Kind.NULL}
        if not kinds:
            return StaticType(Kind.NULL)
        self.comparable(*operands)
        return StaticType(Kind.DOUBLE if Kind.DOUBLE in kinds else next(iter(kinds)))

    def type_of(self, e: ex.Expression) -> StaticType:
        """Return the static type of an expression."""
        match e:
            case ex.Literal(value):
                return StaticType(kind_of(value))
            case ex.Column(name):
                kind = self.columns[self.names[name]]
                if kind is Kind.OTHER:
                    message = f"column '{name}' holds {kind.value}"
                    raise mismatch(message, place_of(self.query, e), "cast it, or leave it out")
                return StaticType(kind, self.names[name])
            case ex.Classifier():
                return StaticType(Kind.TEXT)
            case ex.MatchNumber():
                return StaticType(Kind.INTEGER)
            case ex.First(body) | ex.Last(body) | ex.Prev(body) | ex.Next(body):
                return self.type_of(body)
            case ex.Aggregate(function, body):
                return self._aggregate(function, body)
            case _:
                return self._operation(e)

    def _aggregate(
        self, function: ex.AggregateFunction, body: ex.Expression | ex.AllRows
    ) -> StaticType:
        if isinstance(body, ex.AllRows):
            return StaticType(Kind.INTEGER)
        operand_type = self.type_of(body)
        match function:
            case ex.AggregateFunction.COUNT:
                return StaticType(Kind.INTEGER)
            case ex.AggregateFunction.MIN | ex.AggregateFunction.MAX:
                return operand_type
            case ex.AggregateFunction.SUM | ex.AggregateFunction.AVG:
                message = f"{function.value} expects numbers or durations"
                if self.need(body, (*_NUMBERS, Kind.DURATION), message) is Kind.DURATION:
                    return StaticType(Kind.DURATION)
                exact = (
                    function is ex.AggregateFunction.SUM and operand_type.kind is not Kind.DOUBLE
                )
                return StaticType(Kind.INTEGER if exact else Kind.DOUBLE)
            case _:
                assert_never(function)

    def _operation(self, e: ex.Operation) -> StaticType:
        match e:
            case ex.Negative(body):
                kinds = (*_NUMBERS, Kind.DURATION)
                return StaticType(self.need(body, kinds, "- expects a number or a duration"))
            case ex.Arithmetic(operator, left, right):
                return self._arithmetic(e, operator, left, right)
            case ex.Concatenation(left, right):
                for side in (left, right):
                    self.need(side, (Kind.TEXT, Kind.NULL), "|| expects texts")
                return StaticType(Kind.TEXT)
            case ex.Comparison(_, left, right):
                self.comparable(left, right)
            case ex.And(left, right) | ex.Or(left, right):
                self._booleans(left, right)
            case ex.Not(body):
                self._booleans(body)
            case ex.Like(body, pattern):
                for side in (body, pattern):
                    self.need(side, (Kind.TEXT, Kind.NULL), "LIKE expects texts")
            case ex.Cast(body, type):
                return self._cast(body, type)
            case ex.In(body, members):
                self.comparable(body, *members)
            case ex.Between(body, low, high):
                self.comparable(body, low, high)
            case ex.Is(body, truth):
                self.type_of(body)
                if truth is not None:
                    self._booleans(body)
            case ex.Case(operand, branches, otherwise):
                return self._case(operand, branches, otherwise)
            case ex.Call(function, arguments):
                return self._call(function, arguments)
            case _:
                assert_never(e)
        return StaticType(Kind.BOOLEAN)

    def _booleans(self, *operands: ex.Expression) -> None:
        for operand in operands:
            self.need(operand, (Kind.BOOLEAN, Kind.NULL), "expected a truth value")

    def _arithmetic(
        self,
        e: ex.Expression,
        operator: ex.ArithmeticOperator,
        left: ex.Expression,
        right: ex.Expression,
    ) -> StaticType:
        kinds = self.type_of(left).kind, self.type_of(right).kind
        if not set(kinds) & set(_TIMES):
            return self._number((left, right), operator)
        if Kind.NULL in kinds:
            return StaticType(Kind.NULL)
        names = [_NAMES.get(kind) for kind in kinds]
        result = _KINDS[kind_of_result(pred.Arithmetic(operator.value), *names)]
        if result is None:
            what = " and ".join(kind.value for kind in kinds)
            message = f"{operator.value} does not take {what}"
            hint = "a moment and a duration, INTERVAL '30' MINUTE, give a moment"
            raise mismatch(message, place_of(self.query, e), hint)
        return StaticType(result)

    def _number(
        self, operands: tuple[ex.Expression, ...], operator: ex.ArithmeticOperator
    ) -> StaticType:
        kinds = {
            self.need(each, _NUMBERS, f"{operator.value} expects numbers") for each in operands
        }
        exact = operator is not ex.ArithmeticOperator.DIV and Kind.DOUBLE not in kinds
        return StaticType(Kind.INTEGER if exact else Kind.DOUBLE)

    def _case(
        self,
        operand: ex.Expression | None,
        branches: tuple[tuple[ex.Expression, ex.Expression], ...],
        otherwise: ex.Expression | None,
    ) -> StaticType:
        tests = [test for test, _ in branches]
        if operand is None:
            self._booleans(*tests)
        else:
            self.comparable(operand, *tests)
        results = [result for _, result in branches]
        return self.common_type([*results, *([otherwise] if otherwise is not None else [])])

    def _cast(self, body: ex.Expression, type: ex.CastType) -> StaticType:
        plain: tuple[Kind, ...] = (*_NUMBERS, Kind.BOOLEAN, Kind.TEXT)
        match type:
            case ex.CastType.TIMESTAMP | ex.CastType.DATE:
                result, plain = Kind.MOMENT, (Kind.TEXT, Kind.MOMENT, Kind.NULL)
            case ex.CastType.INTEGER | ex.CastType.BIGINT:
                result = Kind.INTEGER
            case ex.CastType.DOUBLE:
                result = Kind.DOUBLE
            case ex.CastType.VARCHAR:
                result = Kind.TEXT
            case _:
                assert_never(type)
        self.need(body, plain, f"CAST AS {type.value} does not take this")
        return StaticType(result)

    def _call(self, function: ex.Function, arguments: tuple[ex.Expression, ...]) -> StaticType:
        match function:
            case ex.Function.COALESCE:
                return self.common_type(arguments)
            case ex.Function.LOWER | ex.Function.UPPER:
                self.need(arguments[0], (Kind.TEXT, Kind.NULL), f"{function.value} expects a text")
                return StaticType(Kind.TEXT)
            case ex.Function.CHAR_LENGTH:
                self.need(arguments[0], (Kind.TEXT, Kind.NULL), "CHAR_LENGTH expects a text")
                return StaticType(Kind.INTEGER)
            case ex.Function.ABS:
                return StaticType(self.need(arguments[0], _NUMBERS, "ABS expects a number"))
            case ex.Function.MOD:
                return self._number(arguments, ex.ArithmeticOperator.MOD)
            case ex.Function.ROUND:
                for places in arguments[1:]:
                    integers = (Kind.INTEGER, Kind.NULL)
                    self.need(places, integers, "ROUND expects a number of places")
                return StaticType(self.need(arguments[0], _NUMBERS, "ROUND expects a number"))
            case ex.Function.EPOCH:
                message = "EXTRACT(EPOCH ..) expects a moment or a duration"
                self.need(arguments[0], (*_TIMES, Kind.NULL), message)
                return StaticType(Kind.DOUBLE)
            case ex.Function.NULLIF:
                self.comparable(*arguments)
                return StaticType(self.type_of(arguments[0]).kind)
            case _:
                assert_never(function)


def kind_of(value: object) -> Kind:
    """Return the kind of a literal."""
    match value:
        case None:
            return Kind.NULL
        case bool():
            return Kind.BOOLEAN
        case int():
            return Kind.INTEGER
        case float():
            return Kind.DOUBLE
        case str():
            return Kind.TEXT
        case Duration():
            return Kind.DURATION
        case _:
            return Kind.MOMENT
