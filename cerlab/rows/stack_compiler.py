"""Compilation of conditions to programs of a stack machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cerlab.engine.kernels.arrays import Int32s
from cerlab.rows import expressions as ex
from cerlab.rows import syntax as rp
from cerlab.rows import value_kernels as do
from cerlab.rows.column_forms import WHOLE, NotColumnar, Values
from cerlab.rows.columns import (
    OrderedRows,
    at_rows,
    limbs_of_doubles,
    ranks,
    spread,
    without_nan,
)
from cerlab.rows.compile import Machine
from cerlab.rows.engine import MatchConditions, longest_of
from cerlab.rows.interpreter import of_row
from cerlab.rows.library import LIBRARY, application, values_over
from cerlab.rows.machine import Memory
from cerlab.rows.times import over_integers, scaled

Kind: TypeAlias = Literal["boolean", "integer", "double", "null"]


class Code(NamedTuple):
    """A program that computes a value, with the value's kind and a bound if it is an integer."""

    ops: tuple[tuple[int, int], ...]
    kind: Kind
    most: int = 0


class Landing(NamedTuple):
    """The place where a column is read: the current row, or a row of a name in the match."""

    where: int
    name: str | None = None
    offset: int = 0


class Read(NamedTuple):
    """A column or constant to read, and where."""

    values: Values
    landing: Landing


class Label(NamedTuple):
    """The label (variable) of a row to read, and where the row is."""

    values: Values
    landing: Landing
    step: int


OWN = Landing(do.OWN)


def label_read(e: ex.Expression) -> tuple[ex.Edge, int] | None:
    """Return FIRST or LAST of the label that an expression reads, and the offset from its row."""
    match e:
        case ex.Classifier():
            return ex.Last(e), 0
        case ex.First(ex.Classifier()) | ex.Last(ex.Classifier()):
            return e, 0
        case ex.Prev(body, j) | ex.Next(body, j):
            inner = label_read(body)
            return None if inner is None else (inner[0], -j if isinstance(e, ex.Prev) else j)
        case _:
            return None


def operator_code(kind: Kind, *codes: Code, op: tuple[int, int], most: int = 0) -> Code:
    """Return the program of an operator, after the programs of its operands."""
    return Code((*(each for code in codes for each in code.ops), op), kind, most)


def common(codes: list[Code]) -> tuple[Any, ...]:
    """Return the kind that all results have, followed by their programs."""
    kinds = {code.kind for code in codes} - {"null"}
    if len(kinds) > 1:
        raise NotColumnar
    return (kinds.pop() if kinds else "null", *codes)


def within(most: int) -> None:
    """Raise `NotColumnar` for integers that doubles cannot represent exactly."""
    if most > WHOLE:
        raise NotColumnar


def kind_of(values: Values) -> tuple[Kind, int]:
    """Return the kind of a column of numbers, and the largest magnitude of its integers."""
    kind = values.type
    if pa.types.is_null(kind):
        return "null", 0
    if pa.types.is_boolean(kind):
        return "boolean", 1
    if pa.types.is_float64(kind):
        return "double", 0
    if not pa.types.is_int64(kind):
        raise NotColumnar
    most = greatest(values)
    within(most)
    return "integer", most


def greatest(values: Values) -> int:
    """Return the largest magnitude in a column of integers."""
    ends = pc.min_max(pa.array([values]) if isinstance(values, pa.Scalar) else values).as_py()
    return max(abs(int(ends["min"] or 0)), abs(int(ends["max"] or 0)))


def by_rank(left: Values, right: Values) -> bool:
    """Return whether columns are compared by ranks: texts, or integers beyond 2**53."""
    if left.type != right.type:
        return False
    if pa.types.is_int64(left.type):
        return max(greatest(left), greatest(right)) > WHOLE
    return bool(pa.types.is_large_string(left.type))


_LABEL = {do.FIRST: do.FIRST_LABEL, do.LAST: do.LAST_LABEL}

MOST_REGISTERS = 64
"""The most numbers in the key of a failure."""


@dataclass(slots=True)
class Compiler:
    """A compiler of conditions; `sets` are the variables of each name.

    `sets` are the variables of each name, `longest` bounds the rows of a match.
    """

    R: OrderedRows
    sets: Mapping[str | None, frozenset[str]]
    variables: tuple[str, ...]
    longest: int
    own: frozenset[str | None] = frozenset()
    """The names whose last row is the row under test of the condition being compiled."""
    names: list[str | None] = field(default_factory=list)
    constants: list[float] = field(default_factory=list)
    loads: list[tuple[int, int, int, int, int]] = field(default_factory=list)
    columns: list[tuple[Any, Any]] = field(default_factory=list)
    numbers: dict[int, tuple[int, Values]] = field(default_factory=dict)
    """The number of each column, by its identity."""
    labels: list[Any] = field(default_factory=list)
    folds: list[tuple[int, ...]] = field(default_factory=list)
    limbs: list[NDArray[np.int64]] = field(default_factory=list)

    def name(self, x: str | None) -> int:
        """Return the number of a name, assigned at first use."""
        if x not in self.names:
            self.names.append(x)
        return self.names.index(x)

    def code(self, e: ex.Expression) -> Code:
        """Return the program that computes an expression."""
        return self._number(self._operand(e))

    def _operand(self, e: ex.Expression) -> Code | Read | Label:
        if of_row(e, self.own):
            return Read(at_rows(e, self.R), OWN)
        if (label := label_read(e)) is not None:
            edge, step = label
            names = pa.array(self.variables, pa.large_string())
            # a longer step ends outside the match too, but might not fit 32 bits
            step = max(-self.longest, min(step, self.longest))
            return Label(names, self._landing(edge), step)
        match e:
            case ex.Column(_, x):
                return Read(at_rows(e, self.R), Landing(do.LAST, x))
            case ex.First(body) | ex.Last(body):
                return Read(at_rows(body, self.R), self._landing(e))
            case ex.Prev(body, j) | ex.Next(body, j):
                edge = body if isinstance(body, ex.First | ex.Last) else ex.Last(body)
                neighbour = type(e)(edge.body, j)
                return Read(at_rows(neighbour, self.R), self._landing(edge))
            case ex.MatchNumber():
                return self._load(do.NUMBER, 0, 0, 0, "integer", len(self.R))
            case ex.Aggregate():
                return self._aggregate(e)
            case ex.Literal() | ex.Classifier():
                raise AssertionError("literals and labels are compiled before")
            case _:
                return self._operation(e)

    def _landing(self, e: ex.Edge) -> Landing:
        where = do.FIRST if isinstance(e, ex.First) else do.LAST
        return Landing(where, ex.variable_of(e.body), min(e.offset, self.longest))

    def _number(self, read: Code | Read | Label) -> Code:
        """Return the program that reads a column, a constant or a label as a number."""
        if isinstance(read, Code):
            return read
        kind, most = kind_of(read.values)
        if _is_constant(read):
            value = read.values.as_py()
            if value != value:  # the kernel's NULL
                raise NotColumnar
            self.constants.append(float("nan") if value is None else float(value))
            return Code(((do.CONSTANT, len(self.constants) - 1),), kind, most)
        where, name, offset = read.landing
        if isinstance(read, Label):
            if read.values.null_count:
                raise NotColumnar
            self.labels.append(read.values.cast(pa.float64()).to_numpy())
            where, table = _LABEL[where], len(self.labels) - 1
            return self._load(where, self.name(name), offset, table, kind, most, read.step)
        k = self.name(name) if where != do.OWN else 0
        return self._load(where, k, offset, self._column_number(read.values), kind, most)

    def _column_number(self, values: Values) -> int:
        """Return the number of a column, after adding it as doubles if it is new."""
        if id(values) in self.numbers:
            return self.numbers[id(values)][0]
        # keep the values, because Python may reuse the id of a deleted object
        self.numbers[id(values)] = len(self.columns), values
        column = spread(values, len(self.R))
        null = pc.is_null(column).to_numpy(zero_copy_only=False).astype(np.uint8)
        doubles = pc.fill_null(column.cast(pa.float64()), 0.0).to_numpy(zero_copy_only=False)
        self.columns.append((doubles, null))
        return len(self.columns) - 1

    def _load(
        self,
        where: int,
        name: int,
        offset: int,
        column: int,
        kind: Kind,
        most: int = 0,
        step: int = 0,
    ) -> Code:
        self.loads.append((where, name, offset, column, step))
        return Code(((do.LOAD, len(self.loads) - 1),), kind, most)

    def _aggregate(self, e: ex.Aggregate) -> Code:
        x = self.name(ex.variable_of(e.body))
        labels = isinstance(e.body, ex.Classifier) and e.function is ex.AggregateFunction.COUNT
        if isinstance(e.body, ex.AllRows) or labels:  # every row of a match has a label
            return self._load(do.SIZE, x, 0, 0, "integer", self.longest)
        values = at_rows(e.body, self.R)
        kind, most = kind_of(values)
        if (which := getattr(do, e.function.name, None)) is None:
            raise NotColumnar
        exact: tuple[int, int, int] = (0, 0, 0)
        if which in (do.SUM, do.AVG):
            # a sum is at most the greatest value times the longest match
            most *= self.longest
            if kind == "double":  # the exact sum is rounded once
                of_rows, exponent = limbs_of_doubles(spread(values, len(self.R)))
                exact = (sum(map(len, self.limbs)), len(of_rows), exponent)
                self.limbs.append(of_rows)
        within(most)
        if which in (do.MIN, do.MAX):
            without_nan(values)
        self.folds.append((which, x, self._column_number(values), *exact))
        if which == do.COUNT:
            kind, most = "integer", self.longest
        elif which == do.AVG:
            kind = "double"
        return self._load(which, x, len(self.folds) - 1, 0, kind, most)

    def _operation(self, e: ex.Operation) -> Code | Read | Label:
        match e:
            case ex.Is(body, None):
                return self._is_null(self._operand(body))
            case ex.Is(body, truth):
                return operator_code("boolean", self.code(body), op=(do.IS, int(bool(truth))))
            case ex.In(body, members):
                tests = [self._comparison(do.EQ, *self._operands(body, m)) for m in members]
                return reduce(lambda a, b: operator_code("boolean", a, b, op=(do.OR, 0)), tests)
            case ex.Between(body, low, high):
                at_least = self._comparison(do.GE, *self._operands(body, low))
                at_most = self._comparison(do.LE, *self._operands(body, high))
                return operator_code("boolean", at_least, at_most, op=(do.AND, 0))
            case ex.Case():
                return self._case(e)
            case _:
                name, arguments = application(e)
                return self._application(name, self._operands(*arguments))

    def _operands(self, *parts: ex.Expression) -> list[Code | Read | Label]:
        return [self._operand(part) for part in parts]

    def _application(self, name: str, operands: list[Code | Read | Label]) -> Code | Read | Label:
        function = LIBRARY[name]
        # `_arithmetic` checks the bounds for units larger than nanoseconds
        at_one_place = function.is_strict and (function.opcode is None or self.R.unit == 1)
        if at_one_place and (read := _at_one_place(name, operands)) is not None:
            return read
        if function.opcode is None:
            raise NotColumnar
        op = getattr(do, function.opcode)
        if do.EQ <= op <= do.GE:
            return self._comparison(op, *operands)
        codes = list(map(self._number, operands))
        if op in (do.AND, do.OR, do.NOT):
            return operator_code("boolean", *codes, op=(op, 0))
        if op in (do.COALESCE, do.NULL_IF):
            return _choice(op, codes)
        return self._arithmetic(op, codes)

    def _is_null(self, operand: Code | Read | Label) -> Code:
        """Return the program of IS NULL for any value."""
        if not isinstance(operand, Code):
            there = pc.if_else(pc.is_null(operand.values), pa.scalar(None, pa.bool_()), True)
            operand = operand._replace(values=there)
        return operator_code("boolean", self._number(operand), op=(do.IS_NULL, 0))

    def _comparison(self, op: int, a: Code | Read | Label, b: Code | Read | Label) -> Code:
        if not isinstance(a, Code) and not isinstance(b, Code) and by_rank(a.values, b.values):
            columns = {id(each.values): each.values for each in (a, b)}
            places = dict(zip(columns, ranks(*columns.values()), strict=True))
            a, b = (each._replace(values=places[id(each.values)]) for each in (a, b))
        return operator_code("boolean", self._number(a), self._number(b), op=(op, 0))

    def _arithmetic(self, op: int, codes: list[Code]) -> Code:
        double = op == do.DIV or any(code.kind == "double" for code in codes)
        most = 0
        if not double:
            sizes = [code.most for code in codes]
            most = sizes[0] * sizes[1] if op == do.MUL else sum(sizes)
            within(most)
            # times are limited to 64 bits of nanoseconds
            if self.R.unit > 1 and most * self.R.unit >= 1 << 62:
                raise NotColumnar
        return operator_code("double" if double else "integer", *codes, op=(op, 0), most=most)

    def _case(self, e: ex.Case) -> Code:
        results = [self.code(result) for _, result in e.branches]
        otherwise = self.code(ex.Literal(None) if e.otherwise is None else e.otherwise)
        kind, *_ = common([*results, otherwise])
        value = otherwise
        for (test, _), result in zip(reversed(e.branches), reversed(results), strict=True):
            if e.operand is None:
                condition = self.code(test)
            else:
                condition = self._comparison(do.EQ, *self._operands(e.operand, test))
            value = operator_code(kind, condition, result, value, op=(do.CHOOSE, 0))
        return value._replace(most=max(code.most for code in (*results, otherwise)))


def _at_one_place(name: str, operands: list[Code | Read | Label]) -> Read | Label | None:
    """Return a function of values read at one place as one value read there; otherwise None."""
    read = [each for each in operands if not isinstance(each, Code)]
    places = {each._replace(values=None) for each in read if not _is_constant(each)}
    if len(read) < len(operands) or len(places) != 1:
        return None
    return places.pop()._replace(values=values_over(name, *(each.values for each in read)))


def _is_constant(read: Read | Label) -> bool:
    return isinstance(read.values, pa.Scalar) and read.landing == OWN


def _choice(op: int, codes: list[Code]) -> Code:
    kind, *_ = common(codes)
    result = codes[-1]
    for code in reversed(codes[:-1]):
        result = operator_code(kind, code, result, op=(op, 0))
    return result._replace(kind=kind, most=max(code.most for code in codes))


def match_conditions(M: Machine, R: OrderedRows) -> MatchConditions:
    """Return the compiled conditions that read other rows of the match."""
    sets, variables = rp.members(M.query), rp.variables(M.query.pattern)
    conditions = {d.variable: d.condition for d in M.query.define if d.variable in M.of_mapping}
    R = scaled(R, conditions.values())
    conditions = {v: over_integers(e, R) for v, e in conditions.items()}
    C = Compiler(R, sets, variables, longest_of(R.last))
    first, ops = [0], list[tuple[int, int]]()
    for v in variables:
        if v in conditions:
            # names whose last row is the current row
            C.own = frozenset(x for x, members in sets.items() if v in members)
            ops += C.code(conditions[v]).ops
        first.append(len(ops))
    registers = None if M.memory is Memory.NONE else _failure_registers(C, M)
    n, deepest = len(R), len(ops) + 1
    programs = do.Programs(
        np.array(first, np.int32),
        np.array([op for op, _ in ops], np.int32),
        np.array([argument for _, argument in ops], np.int32),
        np.array(C.constants, np.float64),
        np.array(C.loads, np.int32).reshape(-1, 5),
        np.array([values for values, _ in C.columns], np.float64).reshape(len(C.columns), n),
        np.array([null for _, null in C.columns], np.uint8).reshape(len(C.columns), n),
        np.array(C.labels, np.float64).reshape(len(C.labels), len(variables)),
        np.array(C.folds, np.int32).reshape(-1, 6),
        np.concatenate([np.zeros((0, n), np.int64), *C.limbs]),
        np.zeros(deepest, np.float64),
        np.zeros(deepest, np.uint8),
    )
    membership = np.array([[v in sets[x] for x in C.names] for v in variables], np.uint8)
    return MatchConditions(programs, membership.reshape(len(membership), len(C.names)), registers)


def _failure_registers(C: Compiler, M: Machine) -> Int32s:
    """Return the registers on which a failed search depends.

    They include the start of the match if failures are kept across matches.
    """
    registers = [(do.OWN, 0, 0)] if M.memory is Memory.MATCH else []
    # sorted, so that the table does not depend on a hash seed
    for r in sorted(M.read, key=repr):
        where = {"first": do.FIRST, "last": do.LAST, "number": do.SIZE}[r.kind]
        places = range(min(max(1, r.rows), C.longest))
        registers += [(where, C.name(r.name), j) for j in places]
        if r.labels:
            registers += [(_LABEL[where], C.name(r.name), j) for j in places]
        if len(registers) > MOST_REGISTERS:
            raise NotColumnar
    return np.array(registers, np.int32).reshape(-1, 3)
