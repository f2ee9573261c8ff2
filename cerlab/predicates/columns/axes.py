"""Evaluation of atoms and expressions on columns, a second implementation of `predicates.truth`.

For the atoms over the same attributes, each event has one class, which decides all of them.

Numbers form a line cut at the constants, with one class for each interval. No number of a dtype
lies between two neighbouring starts without being in the interval of the first, and no constant
separates two numbers of an interval. So one evaluation at each start of an interval decides every
number of the dtype. This is exact: integers and floats compare by value.

Expressions over doubles, integers, timestamps and durations in one array each are computed on
arrays if no result can exceed 64 bits or a double's 53 bits; others once for each distinct
combination of values.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from cerlab.computed import cached_property
from cerlab.model.columns import Column, take_columns
from cerlab.model.event import Duration, Event, Timestamp, Value, value_of
from cerlab.predicates import syntax as pred
from cerlab.predicates.columns.lookup_tables import BLOCK, Codes, Stretches
from cerlab.predicates.columns.pieces import (
    DictionaryCodes,
    Lookup,
    Numbers,
    OfTime,
    Piece,
    ValueList,
    columns_of,
    combinations,
    concatenate,
    look_up,
    narrow,
    one_array,
    operations,
    pieces,
    same,
)
from cerlab.predicates.truth import evaluate, kind_of, satisfies

_BOUNDS = {"int64": (-(2**63), 2**63 - 1), "uint64": (0, 2**64 - 1)}
_NOWHERE = Event("nowhere")


def constants(atoms: Iterable[pred.Atom]) -> list[Value] | None:
    """Return the constants that atoms compare an attribute with; None if one also computes."""
    values: list[Value] = []
    for atom in atoms:
        for side in pred.operands(atom):
            if not any(isinstance(leaf, pred.Attribute) for leaf in pred.leaves_of(side)):
                values.append(evaluate(_NOWHERE, side))
            elif not isinstance(side, pred.Attribute):
                return None
    return values


def numbers_of(values: Iterable[Value], of_time: OfTime) -> list[int | float]:
    """Return the constants that numbers, timestamps or durations of a column are compared with."""
    if of_time is not None:
        return [value.nanoseconds for value in values if isinstance(value, of_time)]
    return [
        value for value in values if isinstance(value, (int, float)) and kind_of(value) == "number"
    ]


def starts_of(cuts: Iterable[int | float], dtype: str) -> list[int] | list[float]:
    """Return where the intervals between constants start, for numbers of an array type.

    >>> starts_of([2**53 + 0.5, 3], "int64")[1:]
    [3, 4, 9007199254740992, 9007199254740993]
    """
    if dtype == "float64":
        floats = {-math.inf}
        for cut in cuts:
            floats.update(_floats_from(cut))
        return sorted(floats)
    low, high = _BOUNDS[dtype]
    integers = {low}
    for cut in cuts:
        integers.update(max(start, low) for start in _integers_from(cut) if start <= high)
    return sorted(integers)


def _floats_from(cut: int | float) -> Sequence[float]:
    """Return the least double >= `cut`, then the least double > `cut`, if both exist and differ."""
    try:
        near = float(cut)
    except OverflowError:
        near = math.inf if cut > 0 else -math.inf
    if near > cut:
        return (near,)
    above = math.nextafter(near, math.inf)
    first = above if near < cut else near
    return (first,) if near == math.inf else (first, above)


def _integers_from(cut: int | float) -> Sequence[int]:
    """Return the least integer >= `cut` and the least integer > `cut`."""
    if isinstance(cut, float) and math.isinf(cut):
        return () if cut > 0 else (_BOUNDS["int64"][0],)
    return (math.ceil(cut), math.floor(cut) + 1)


MAX_ATOMS = 12
"""Above this many atoms, a table of their truth values is too large."""

MODERATE = 2.0**31
"""Products of two numbers below this, and sums of many, stay within 64 bits."""

MAX_VALUES = 2**20
"""Capacity of the cache from values to classes; it is cleared when full."""

_DTYPES = {int: "int64", float: "float64", Timestamp: "int64", Duration: "int64"}
_OF_TIME: dict[type, OfTime] = {Timestamp: Timestamp, Duration: Duration}
_BEYOND = 2**63
"""The least positive number beyond int64."""


class Axis:
    """Classes of events by some attributes; in a class, each atom is true or false for all events.

    ``masks[c]`` has bit b set if the atom numbered b holds in the events of class c. Classes are
    numbered in order of discovery, consistently in all batches.
    """

    def __init__(self, names: tuple[str, ...], atoms: Sequence[tuple[int, pred.Atom]]) -> None:
        self.names = names
        self.masks: list[int] = []
        self._atoms = tuple(atoms)
        self._class_with: dict[int, int] = {}
        self._class_of: dict[Any, int] = {}
        self._comparisons = [atom for _, atom in atoms if isinstance(atom, pred.Comparison)]
        self._stretches: dict[tuple[str, OfTime], Stretches[Any, Any]] = {}
        self._scalar: dict[type, tuple[list[Any], list[int]]] = {}
        self._lookup = Lookup()

    @cached_property
    def _constants(self) -> Sequence[Any] | None:
        """The constants that atoms compare numbers with; None if an atom also computes."""
        return constants([atom for _, atom in self._atoms]) if len(self.names) == 1 else None

    def class_of(self, values: tuple[Value, ...]) -> int:
        """Return the class of events with these values of the axis's attributes."""
        key = tuple(map(same, values))
        number = self._class_of.get(key)
        if number is None:
            attributes: dict[str, Any] = dict(zip(self.names, values, strict=True))
            event = Event(attributes.pop("type", ""), attributes, attributes.pop("stream", None))
            number = self._class_by_truth(event)
            # the numbers of classes remain valid, since only the cache is cleared
            if len(self._class_of) >= MAX_VALUES:
                self._class_of.clear()
            self._class_of[key] = number
        return number

    def class_of_event(self, event: Event) -> int:
        """Return the class of one event."""
        if len(self.names) != 1:
            return self._class_by_truth(event)
        value = value_of(event, self.names[0])
        kind = type(value)
        if kind is str and (known := self._class_of.get(((str, value),))) is not None:
            return known
        if kind not in _DTYPES or self._constants is None:
            return self.class_of((value,))
        number: Any = value.nanoseconds if isinstance(value, Timestamp | Duration) else value
        # 64-bit columns cannot hold the number, so their intervals do not include it
        if kind is not float and not -_BEYOND <= number < _BEYOND:
            return self._class_by_truth(event)
        scalar = self._scalar.get(kind)
        if scalar is None:
            stretches = self._stretches_of(_DTYPES[kind], _OF_TIME.get(kind))
            scalar = self._scalar[kind] = (stretches.starts.tolist(), stretches.table.tolist())
        starts, classes = scalar
        # `number != number`: NaN, which has the first class
        return classes[0 if number != number else bisect_right(starts, number)]

    def _class_by_truth(self, event: Event) -> int:
        """Return the class of an event by `predicates.truth`."""
        return self._class_of_mask(sum(1 << n for n, atom in self._atoms if satisfies(event, atom)))

    def _class_of_mask(self, mask: int) -> int:
        number = self._class_with.setdefault(mask, len(self.masks))
        if number == len(self.masks):
            self.masks.append(mask)
        return number

    def _classes_of(self, values: Sequence[Value]) -> list[int]:
        return [self.class_of((value,)) for value in values]

    def classes(self, columns: Mapping[str, Column], length: int) -> Codes | int:
        """Return the class of each event, or one integer if all events share a class."""
        present = columns_of(columns, self.names, length)
        if not present:
            return self.class_of((None,) * len(self.names))
        is_plain = len(self.names) == 1 and self._constants is not None
        if not is_plain and len(self._comparisons) == len(self._atoms) <= MAX_ATOMS:
            by_truth = self._by_truth(present, length)
            if by_truth is not None:
                return by_truth
        if len(self.names) == 1:
            return self._by_values(present[self.names[0]])
        return self._by_combinations(present, length)

    def _by_values(self, column: Column) -> Codes:
        """Return the classes for one attribute, by intervals of numbers or value by value."""
        parts: list[Codes] = []
        for piece in pieces(column, self.names[0], numeric=self._constants is not None):
            match piece:
                case Numbers():
                    parts.append(self._by_stretches(piece))
                case DictionaryCodes() | ValueList():
                    parts.append(self._lookup.numbers(piece, self.names[0], self._classes_of))
                case _:
                    assert_never(piece)
        return concatenate(parts)

    def _stretches_of(self, dtype: str, of_time: OfTime) -> Stretches[Any, Any]:
        """Return the intervals between constants, with their classes, for an array type."""
        if (dtype, of_time) not in self._stretches:
            constants = numbers_of(self._constants or (), of_time)
            starts = starts_of(constants, dtype)
            firsts: list[Value] = [of_time(int(n)) for n in starts] if of_time else [*starts]
            table = narrow([self.class_of((value,)) for value in (None, *firsts)])
            self._stretches[dtype, of_time] = Stretches(np.array(starts, dtype), table)
        return self._stretches[dtype, of_time]

    def _by_stretches(self, piece: Numbers) -> Codes:
        stretches = self._stretches_of(str(piece.values.dtype), piece.of_time)
        out = np.empty(piece.values.size, stretches.table.dtype)
        operations().regions(piece.values, stretches, out, np.empty(BLOCK, np.uint32))
        if piece.nulls is not None:
            out[piece.nulls] = stretches.table[0]
        return out

    def _by_truth(self, present: Mapping[str, Column], length: int) -> Codes | None:
        """Return classes from comparisons of arrays; None if the columns do not allow it.

        The few rows outside the domain of arrays are evaluated by combinations. It is impossible
        for other columns, and if most rows are outside.
        """
        truth = self._truth(present, length)
        if truth is not None:
            return self._classes_of_truth(truth)
        inside = _moderate_rows(present, self.names)
        if inside is None or 2 * inside.size < length or inside.size == length:
            return None
        truth = self._truth(take_columns(present, inside), inside.size)
        if truth is None:
            return None
        outside = np.setdiff1d(np.arange(length), inside, assume_unique=True)
        others = self._by_combinations(take_columns(present, outside), outside.size)
        classes = np.empty(length, np.uint32)
        classes[inside], classes[outside] = self._classes_of_truth(truth), others
        return classes

    def _truth(self, present: Mapping[str, Column], length: int) -> NDArray[np.uint32] | None:
        """Return which atoms hold in each event, as bits; None if arrays cannot decide."""
        bits = np.zeros(length, np.uint32)
        for bit, atom in enumerate(self._comparisons):
            truth = compared(atom, present, length)
            if truth is None:
                return None
            bits |= truth.astype(np.uint32) << np.uint32(bit)
        return bits

    def _classes_of_truth(self, truth: NDArray[np.uint32]) -> Codes:
        is_there = np.zeros(1 << len(self._atoms), np.bool_)
        is_there[truth] = True
        table = np.zeros(is_there.size, np.uint32)
        for bits in np.flatnonzero(is_there).tolist():
            mask = sum(1 << n for k, (n, _) in enumerate(self._atoms) if bits >> k & 1)
            table[bits] = self._class_of_mask(mask)
        return look_up(truth, table)

    def _by_combinations(self, present: Mapping[str, Column], length: int) -> Codes:
        """Return the classes for several attributes, evaluating each distinct combination once."""
        rows, code = distinct_rows(present, self.names, length)
        classes = [self.class_of(row) for row in rows]
        return look_up(code, narrow(classes))


def distinct_rows(
    columns: Mapping[str, Column], names: Sequence[str], length: int
) -> tuple[list[tuple[Value, ...]], NDArray[np.uint32]]:
    """Return the distinct combinations of values, and the index of each event's combination."""
    parts: list[Codes] = []
    values: list[list[Value]] = []
    for name in names:
        distinct = _Distinct()
        parts.append(
            distinct.numbers(columns[name], name) if name in columns else np.zeros(length, np.uint8)
        )
        values.append(distinct.values)
    first, code = combinations(parts, [len(each) for each in values])
    places = np.stack([part[first].astype(np.int64) for part in parts], axis=1).tolist()
    rows = [tuple(each[k] for each, k in zip(values, row, strict=True)) for row in places]
    return rows, code


class _Distinct:
    """The distinct values in one batch of a column, NULL first."""

    def __init__(self) -> None:
        self.values: list[Value] = [None]
        self._number: dict[Any, int] = {None: 0}

    def _numbers_of(self, values: Sequence[Value]) -> list[int]:
        return [self._number_of(value) for value in values]

    def _number_of(self, value: Value) -> int:
        number = self._number.setdefault(same(value), len(self.values))
        if number == len(self.values):
            self.values.append(value)
        return number

    def numbers(self, column: Column, name: str) -> Codes:
        """Return, for each event, the index of its value in ``values``."""
        lookup = Lookup()
        return concatenate(
            [
                lookup.numbers(piece, name, self._numbers_of)
                for piece in pieces(column, name, numeric=False)
                if not isinstance(piece, Numbers)
            ]
        )


def compared(
    atom: pred.Comparison, columns: Mapping[str, Column], length: int
) -> NDArray[np.bool_] | None:
    """Return whether a comparison holds in each event; None if arrays cannot decide.

    Integers and doubles compare by value: rounding an integer to a double keeps its order relative
    to all doubles except the one that it becomes.
    """
    if any(name not in columns for name in pred.attributes_in([atom.left, atom.right])):
        return np.zeros(length, np.bool_)
    left, right = (_numbers(side, columns, length) for side in (atom.left, atom.right))
    if left is None or right is None:
        return None
    truth = np.zeros(length, np.bool_)
    if left.of_time is not right.of_time:
        return truth
    a, b = left.values, right.values
    if a.dtype == b.dtype:
        truth |= _RELATIONS[atom.operator](a, b)
    elif a.dtype == np.int64:
        truth |= _RELATIONS[atom.operator](_order(a, b), 0)
    else:
        truth |= _RELATIONS[atom.operator](0, _order(b, a))
    for values, nulls in ((a, left.nulls), (b, right.nulls)):
        if nulls is not None:
            truth &= ~nulls
        if values.dtype == np.float64:
            truth &= values == values
    return truth


def _order(whole: NDArray[np.int64], doubles: NDArray[np.float64]) -> NDArray[np.int8]:
    """Return the sign of integers minus doubles, exactly: -1, 0 or 1; arbitrary for NaN."""
    near = whole.astype(np.float64)
    order = (near > doubles).astype(np.int8)
    order -= near < doubles
    same = near == doubles
    # 2^63 as a double is greater than all 64-bit integers
    with np.errstate(invalid="ignore"):
        exact = np.where(same & (doubles < 2.0**63), doubles, 0).astype(np.int64)
    beside = (whole > exact).astype(np.int8) - (whole < exact).astype(np.int8)
    at_end = doubles >= 2.0**63
    return np.where(same, np.where(at_end, np.int8(-1), beside), order).astype(np.int8)


_RELATIONS: dict[pred.Operator, Any] = {
    pred.Operator.EQ: np.equal,
    pred.Operator.NE: np.not_equal,
    pred.Operator.LT: np.less,
    pred.Operator.LE: np.less_equal,
    pred.Operator.GT: np.greater,
    pred.Operator.GE: np.greater_equal,
}


def _moderate_rows(columns: Mapping[str, Column], names: Sequence[str]) -> NDArray[np.int64] | None:
    """Return the rows with integers small enough for arithmetic; None for other columns."""
    inside: Any = True
    for name in names:
        found = one_array(columns[name], name) if name in columns else None
        if found is None:
            return None
        if found.values.dtype != np.float64:
            inside = inside & (found.values < MODERATE) & (found.values > -MODERATE)
    return np.flatnonzero(inside)


EXACT = 1 << 53
"""Largest integer up to which doubles represent all integers."""

LARGEST = (1 << 63) - 1

_OF_ARITHMETIC: dict[tuple[pred.Arithmetic, OfTime, OfTime], OfTime] = {
    (pred.Arithmetic.SUB, Timestamp, Timestamp): Duration,
    (pred.Arithmetic.ADD, Timestamp, Duration): Timestamp,
    (pred.Arithmetic.ADD, Duration, Timestamp): Timestamp,
    (pred.Arithmetic.SUB, Timestamp, Duration): Timestamp,
    (pred.Arithmetic.ADD, Duration, Duration): Duration,
    (pred.Arithmetic.SUB, Duration, Duration): Duration,
}
"""Operators that compute with nanoseconds as integers, with the type of their results."""


def computed(
    expression: pred.Expression, columns: Mapping[str, Column], length: int
) -> Sequence[Piece]:
    """Return the values of an expression on each event, in consecutive pieces.

    An attribute without a column is missing. Raises `BadData` for column types that are not values
    of events.

    >>> import numpy as np
    >>> twice = pred.Computed(pred.Arithmetic.MUL, pred.Constant(2), pred.Attribute("v"))
    >>> import pyarrow as pa
    >>> computed(twice, {"v": pa.array([1.5, np.nan])}, 2)[0].values.tolist()
    [3.0, nan]
    """
    if not length:
        return []
    if isinstance(expression, pred.Attribute):
        name = expression.name
        return [*pieces(columns[name], name, numeric=True)] if name in columns else []
    numbers = _numbers(expression, columns, length)
    return [numbers] if numbers is not None else [_by_values(expression, columns, length)]


def _by_values(expression: pred.Expression, columns: Mapping[str, Column], length: int) -> Piece:
    """Return an expression's values, evaluating each combination of attributes once."""
    names = pred.attributes_in([expression])
    rows, code = distinct_rows(columns, names, length)
    values: list[Value] = [
        evaluate(Event("", dict(zip(names, row, strict=True))), expression) for row in rows
    ]
    return ValueList([values[k] for k in code.tolist()])


def _numbers(
    expression: pred.Expression, columns: Mapping[str, Column], length: int
) -> Numbers | None:
    """Return values as one array, with NaN or NULL where undefined; None if not all are numbers."""
    match expression:
        case pred.Attribute(name):
            found = one_array(columns[name], name) if name in columns else None
            return None if found is None or found.values.dtype == np.uint64 else found
        case pred.Constant(value):
            return _constant(value)
        case pred.Negated(operand):
            inner = _numbers(operand, columns, length)
            if inner is None or inner.of_time is Timestamp:
                return None
            zero = Numbers(np.zeros(1, np.int64), None, inner.of_time)
            return _compute(pred.Arithmetic.SUB, zero, inner)
        case pred.Computed(op, left, right):
            one, other = (_numbers(side, columns, length) for side in (left, right))
            return None if one is None or other is None else _compute(op, one, other)
        case pred.LabelAttribute() | pred.RegisterAttribute() | pred.OfGroup() | pred.Previous():
            raise AssertionError("predicates read only one event")
        case _:
            assert_never(expression)


def _constant(value: Value) -> Numbers | None:
    if isinstance(value, Timestamp | Duration):
        whole, of_time = value.nanoseconds, type(value)
        return Numbers(np.array([whole]), None, of_time) if abs(whole) <= LARGEST else None
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        return None
    if isinstance(value, int) and abs(value) > LARGEST:
        return None
    return Numbers(np.array([value]), None, None)


def _compute(op: pred.Arithmetic, left: Numbers, right: Numbers) -> Numbers | None:
    nulls = left.nulls if right.nulls is None else right.nulls
    if left.nulls is not None and right.nulls is not None:
        nulls = left.nulls | right.nulls
    if left.of_time or right.of_time:
        of_time = _OF_ARITHMETIC.get((op, left.of_time, right.of_time))
        whole = None if of_time is None else _of_integers(op, left.values, right.values)
        return None if whole is None else Numbers(whole, nulls, of_time)
    a, b = left.values, right.values
    if a.dtype == b.dtype == np.int64:
        # Python divides integers exactly and rounds once; doubles that hold them exactly do so too
        if op is pred.Arithmetic.DIV and max(_largest(a), _largest(b)) <= EXACT:
            return Numbers(_of_doubles(op, a, b), nulls, None)
        if op is pred.Arithmetic.MOD:
            return _modulo(a, b, nulls)
        whole = _of_integers(op, a, b)
        return None if whole is None else Numbers(whole, nulls, None)
    if op is pred.Arithmetic.MOD:
        return None
    return Numbers(_of_doubles(op, a, b), nulls, None)


def _modulo(a: NDArray[np.int64], b: NDArray[np.int64], nulls: Any) -> Numbers:
    """Return the remainder with the sign of the divisor; NULL if the divisor is zero."""
    zero = b == 0
    # the least integer modulo -1 overflows, with the correct remainder 0
    with np.errstate(over="ignore"):
        rest = np.mod(a, np.where(zero, np.int64(1), b))
    if zero.any():
        zero = np.broadcast_to(zero, rest.shape)
        nulls = zero.copy() if nulls is None else nulls | zero
    return Numbers(rest, nulls, None)


def _of_integers(
    op: pred.Arithmetic, a: NDArray[np.int64], b: NDArray[np.int64]
) -> NDArray[np.int64] | None:
    """Return the result on 64-bit integers; None if it may overflow."""
    if op is pred.Arithmetic.MUL:
        return a * b if _largest(a) * _largest(b) <= LARGEST else None
    if op in _SUMS and _largest(a) + _largest(b) <= LARGEST:
        whole: NDArray[np.int64] = _SUMS[op](a, b)
        return whole
    return None


def _of_doubles(op: pred.Arithmetic, a: NDArray[Any], b: NDArray[Any]) -> NDArray[np.float64]:
    """Return the result on doubles; NaN for a division by zero or an overflow."""
    x, y = a.astype(np.float64, copy=False), b.astype(np.float64, copy=False)
    with np.errstate(all="ignore"):
        result: NDArray[np.float64] = _OF_DOUBLES[op](x, y)
    # overflow is undefined, but an operand may be infinite
    undefined = np.isinf(result) & np.isfinite(x) & np.isfinite(y)
    if op is pred.Arithmetic.DIV:
        undefined |= y == 0
    result[undefined] = np.nan
    return result


_SUMS: dict[pred.Arithmetic, Any] = {pred.Arithmetic.ADD: np.add, pred.Arithmetic.SUB: np.subtract}
_OF_DOUBLES = {**_SUMS, pred.Arithmetic.MUL: np.multiply, pred.Arithmetic.DIV: np.divide}


def _largest(values: NDArray[np.int64]) -> int:
    """Return the largest magnitude in an array."""
    return max(abs(int(values.min())), abs(int(values.max()))) if len(values) else 0
