"""Row patterns checked against a table: names, types, and the columns of the result.

All of these errors are found before a row is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias, assert_never

from cerlab.errors import nearest
from cerlab.model.clauses import TimeWindow
from cerlab.model.event import Duration
from cerlab.rows import expressions as ex
from cerlab.rows import syntax as rp
from cerlab.rows.kinds import NUMBERS, Kind, TypeRule, WrongKind, common, comparable
from cerlab.rows.library import LIBRARY, application
from cerlab.rows.syntax import RowPattern, duplicate, ill_formed, mismatch, place_of
from cerlab.rows.text import expression_text

Columns: TypeAlias = Mapping[str, Kind]
"""The columns of a table, in order; paths that a query reads are `PathColumn` keys."""


class PathColumn(str):
    """The name of a path to a nested field, which is not a column of the table."""

    __slots__ = ()


class StaticType(NamedTuple):
    """The static type of an expression: its kind, and a column with that exact type.

    For a list, `items` is the type of its values.
    """

    kind: Kind
    column: str | None = None
    items: StaticType | None = None


@dataclass(frozen=True, slots=True)
class InputColumn:
    """A result column copied from the table."""

    name: str
    column: str


@dataclass(frozen=True, slots=True)
class MeasureColumn:
    """A result column with the values of a measure, given by its index."""

    name: str
    index: int
    type: StaticType


OutputColumn: TypeAlias = InputColumn | MeasureColumn


@dataclass(frozen=True, slots=True)
class Binding:
    """A row pattern on a table: the column of each name, and the result columns."""

    names: Mapping[str, str]
    output: tuple[OutputColumn, ...]
    kinds: Columns = field(default_factory=dict)
    """The kind of each column of the table."""

    @property
    def inputs(self) -> list[str]:
        """The table columns in the result, in its order."""
        return [each.column for each in self.output if isinstance(each, InputColumn)]

    @property
    def read(self) -> list[str]:
        """The table columns that the query reads."""
        return [*dict.fromkeys([*self.names.values(), *self.inputs])]


def bind(query: RowPattern, columns: Columns) -> Binding:
    """Return a row pattern bound to the columns of a table.

    Raises `IllFormed` (`unknown-column`, `ambiguous-column`, `duplicate-column`, `no-columns`) and
    `TypeMismatch` (`type`).
    """
    names: dict[str, str] = {}
    for column in references(query):
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
        kinds = (Kind.MOMENT, Kind.NULL) if moments else NUMBERS
        message = "an interval measures moments, a number measures numbers"
        scope.need(query.order_by[0].column, kinds, message)
    types = [scope.type_of(measure.expression) for measure in query.measures]
    output = _output(query, names, columns, types)
    return Binding(names, _select(query, output), columns)


def kinds_of(query: RowPattern, binding: Binding) -> Callable[[ex.Expression], Kind]:
    """Return a function that returns the kind of an expression in a bound query."""
    scope = _Scope(query, binding.kinds, binding.names)
    return lambda e: scope.type_of(e).kind


def references(query: RowPattern) -> Iterator[ex.Column]:
    """Yield the columns that a query mentions, with repetitions."""
    yield from query.partition_by
    yield from (item.column for item in query.order_by)
    bodies = [definition.condition for definition in query.define]
    for body in (*bodies, *(measure.expression for measure in query.measures)):
        yield from (each for each in ex.subexpressions(body) if isinstance(each, ex.Column))


def _resolve(query: RowPattern, column: ex.Column, columns: Iterable[str]) -> str:
    """Return the column of a name: the exact one, or the only one that differs in case."""
    names = list(columns)
    if column.name in names:
        return column.name
    agreeing = [name for name in names if name.casefold() == column.name.casefold()]
    place = place_of(query, column)
    if not agreeing:
        message = f"there is no column '{column.name}'"
        hint = nearest(column.name, names)
        if column.name.upper() in ("CLASSIFIER", "MATCH_NUMBER"):
            hint = f"write {column.name.upper()}()"
        raise ill_formed("unknown-column", message, place, hint)
    if len(agreeing) > 1:
        message = f"'{column.name}' may be any of {', '.join(agreeing)}"
        raise ill_formed("ambiguous-column", message, place, "spell it exactly")
    return agreeing[0]


def _output(
    query: RowPattern, names: Mapping[str, str], columns: Columns, types: list[StaticType]
) -> tuple[OutputColumn, ...]:
    """Return the result columns: keys and measures, and under ALL ROWS all other columns."""
    keys = [column.name for column in query.partition_by]
    if query.rows is not rp.RowsPerMatch.ONE:
        keys += [item.column.name for item in query.order_by]
    first = list(dict.fromkeys(names[key] for key in keys))
    own = (name for name in columns if not isinstance(name, PathColumn) and name not in first)
    remaining = [] if query.rows is rp.RowsPerMatch.ONE else [*own]
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
    """Return the result columns of the SELECT around the clause."""
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
    """A query and the columns of its names."""

    query: RowPattern
    columns: Columns
    names: Mapping[str, str]

    def need(self, e: ex.Expression, kinds: tuple[Kind, ...], message: str) -> Kind:
        """Return the kind of an expression; raise `TypeMismatch` if `kinds` does not contain it."""
        kind = self.type_of(e).kind
        if kind not in kinds:
            raise mismatch(f"{message}, got {kind.value}", place_of(self.query, e))
        return kind

    def type_of(self, e: ex.Expression) -> StaticType:
        """Return the static type of an expression."""
        match e:
            case ex.Literal(value):
                return StaticType(kind_of(value))
            case ex.Column(name):
                kind = self.columns[self.names[name]]
                if kind is Kind.OTHER:
                    message = f"column '{name}' holds {kind.value}"
                    raise mismatch(
                        message, place_of(self.query, e), "cast the column, or leave it out"
                    )
                return StaticType(kind, self.names[name])
            case ex.Classifier():
                return StaticType(Kind.TEXT)
            case ex.MatchNumber():
                return StaticType(Kind.INTEGER)
            case ex.First(body) | ex.Last(body) | ex.Prev(body) | ex.Next(body):
                return self.type_of(body)
            case ex.Aggregate(function, body, _, rest):
                for part in rest:
                    self.type_of(part)
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
            case ex.AggregateFunction.COUNT | ex.AggregateFunction.COUNT_DISTINCT:
                return StaticType(Kind.INTEGER)
            case ex.AggregateFunction.MIN | ex.AggregateFunction.MAX:
                return operand_type
            case ex.AggregateFunction.MIN_BY | ex.AggregateFunction.MAX_BY:
                return operand_type
            case ex.AggregateFunction.ARRAY_AGG:
                return StaticType(Kind.LIST, items=operand_type)
            case ex.AggregateFunction.LISTAGG:
                message = f"{function.value} expects texts, as of CAST(.. AS VARCHAR)"
                self.need(body, (Kind.TEXT, Kind.NULL), message)
                return StaticType(Kind.TEXT)
            case ex.AggregateFunction.SUM | ex.AggregateFunction.AVG:
                message = f"{function.value} expects numbers or durations"
                if self.need(body, (*NUMBERS, Kind.DURATION), message) is Kind.DURATION:
                    return StaticType(Kind.DURATION)
                exact = (
                    function is ex.AggregateFunction.SUM and operand_type.kind is not Kind.DOUBLE
                )
                return StaticType(Kind.INTEGER if exact else Kind.DOUBLE)
            case (
                ex.AggregateFunction.STDDEV
                | ex.AggregateFunction.STDDEV_POP
                | ex.AggregateFunction.VARIANCE
                | ex.AggregateFunction.VAR_POP
            ):
                self.need(body, NUMBERS, f"{function.value} expects numbers")
                return StaticType(Kind.DOUBLE)
            case _:
                assert_never(function)

    def _operation(self, e: ex.Operation) -> StaticType:
        match e:
            case ex.In() | ex.Between():
                kind = self._by_rule(comparable, "", ex.children(e), e)
            case ex.Is(body, None):
                self.type_of(body)
                kind = Kind.BOOLEAN
            case ex.Is(body):
                kind = self._truths(body)
            case ex.Case(operand, branches, otherwise):
                tests = [test for test, _ in branches]
                if operand is None:
                    self._truths(*tests)
                else:
                    self._by_rule(comparable, "", [operand, *tests], e)
                results = [result for _, result in branches]
                results += [otherwise] if otherwise is not None else []
                kind = self._by_rule(common, "", results, e)
            case _:
                name, arguments = application(e)
                kind = self._by_rule(LIBRARY[name].type, name, arguments, e)
        return StaticType(kind)

    def _truths(self, *operands: ex.Expression) -> Kind:
        for operand in operands:
            self.need(operand, (Kind.BOOLEAN, Kind.NULL), "expected a truth value")
        return Kind.BOOLEAN

    def _by_rule(
        self, rule: TypeRule, name: str, arguments: Sequence[Any], e: ex.Expression
    ) -> Kind:
        """Return the kind of a function's result, by its rule.

        Raise `TypeMismatch` at the argument that is not accepted.
        """
        kinds = [self.type_of(each).kind for each in arguments]
        if Kind.LIST in kinds:
            place = place_of(self.query, arguments[kinds.index(Kind.LIST)])
            raise mismatch("a list can only be a whole measure, not an operand", place)
        try:
            return rule(name, kinds)
        except WrongKind as error:
            place = place_of(self.query, e if error.at is None else arguments[error.at])
            hint = error.hint
            if name == "-" and all(self.type_of(each).kind is Kind.TEXT for each in arguments):
                casts = (f"CAST({expression_text(each)} AS TIMESTAMP)" for each in arguments)
                hint = f"for times that are texts write {' - '.join(casts)}"
            raise mismatch(error.message, place, hint) from None


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
