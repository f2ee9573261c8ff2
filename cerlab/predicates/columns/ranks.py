"""Codes of values: integers that compare as the values do, in all batches of a stream.

All values that are compared with each other share one numbering. A code has the kind of its value
in the bits from `KIND` on; below, it grows with the value. Two values compare if their kinds are
equal, and then as their codes; NULL, NaN and missing values are -1, which compares with nothing.
Numbers are ordered by exact value, so 1 and 1.0 have one code.

A stream keeps bringing new values, so codes leave gaps: a new value gets a code between those of
its neighbours. When a gap is used up, the codes of its kind are spread again, and `take_moves`
returns the old and new codes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cerlab.model.arrays import array_from
from cerlab.model.columns import Column, values_of
from cerlab.model.event import Duration, Event, Timestamp, Value
from cerlab.predicates.columns.axes import computed
from cerlab.predicates.columns.pieces import DictionaryCodes, Numbers, Piece
from cerlab.predicates.syntax import Attribute, Expression
from cerlab.predicates.text import expression_text
from cerlab.predicates.truth import evaluate, kind_of

KINDS = ("boolean", "number", "text", "timestamp", "duration")

_OF_TIME: Mapping[str, type[Timestamp] | type[Duration]]
_OF_TIME = {"timestamp": Timestamp, "duration": Duration}
"""Kinds whose values are ordered by their nanoseconds."""

KIND = 60
"""Number of bits in which codes of one kind differ."""

NOTHING = -1
"""Code of values that compare with nothing."""

MIDDLE = 1 << KIND - 1
"""Code in the middle of a kind, around which values are spread."""

SPACING = (1 << KIND - 22) + 1
"""Initial gap between neighbours: 2^21 values fit on either side of the middle.

It is odd, since lists of configurations are found by the lowest bits of a code.
"""

Moves: TypeAlias = Mapping[int, tuple[NDArray[np.int64], NDArray[np.int64]]]
"""Old codes of values by kind, ascending, with their new codes."""


class NoCodesLeft(Exception):
    """Error: no code is left between the codes of a new value's neighbours."""


class _Distinct(NamedTuple):
    """The distinct values in a piece of a column, sorted within each kind, and each event's index.

    `place` counts over the values of all kinds; one past the last means a value without a code.
    """

    kinds: list[tuple[int, NDArray[Any]]]
    place: NDArray[np.integer[Any]]


class Ranks:
    """Codes for the values of a stream: integers that compare as the values do."""

    def __init__(self, constants: Iterable[Value] = ()) -> None:
        self._is_fixed = False
        self._kinds = [_Ordered() for _ in KINDS]
        self._before: dict[int, tuple[NDArray[Any], NDArray[np.int64]]] = {}
        self._constants = tuple(constants)
        self.constants = self._of_constants()
        """Codes of the constants."""

    def __len__(self) -> int:
        """Return the number of values that have a code."""
        return sum(len(kind.codes) for kind in self._kinds)

    def of_columns(
        self, columns: Mapping[str, Column], wanted: Sequence[Expression], length: int
    ) -> list[NDArray[np.int64]]:
        """Return the codes of expressions on each event of a batch, each int64 (length,).

        An attribute without a column is missing in every event. Raises `BadData` for column types
        that are not values of events.

        >>> from cerlab.predicates.syntax import Attribute
        >>> codes = Ranks()
        >>> columns = {"x": [True, 2, 0.5], "y": [0.5, 2.0, "b"]}
        >>> x, y = codes.of_columns(columns, [Attribute("x"), Attribute("y")], 3)
        >>> [int(code) >> KIND for code in (*x, *y)], bool(x[1] == y[1]), bool(x[2] < x[1])
        ([0, 1, 1, 1, 1, 2], True, True)
        """
        parts = [
            [_distinct(piece, expression_text(each)) for piece in computed(each, columns, length)]
            for each in wanted
        ]
        for part in parts:
            for distinct in part:
                for kind, values in distinct.kinds:
                    self._add(kind, values)
        missing = np.full(length, NOTHING, np.int64)
        by_column = ([self._codes(distinct) for distinct in part] for part in parts)
        return [np.concatenate(codes) if codes else missing for codes in by_column]

    def of_column(self, column: Column, name: str) -> NDArray[np.int64]:
        """Return the codes of one column's values; raises the errors of `of_columns`."""
        return self.of_columns({name: column}, [Attribute(name)], len(column))[0]

    def of_events(self, events: Sequence[Event], wanted: Sequence[Expression]) -> list[list[int]]:
        """Return the codes of expressions on a few events, without columns."""
        columns = [[evaluate(event, each) for event in events] for each in wanted]
        codes = [list(map(self._code, column)) for column in columns]
        return list(map(self.of_values, columns)) if self._before else codes

    def _of_constants(self) -> NDArray[np.int64]:
        return np.array(self.of_values(self._constants), np.int64)

    def take_moves(self) -> Moves:
        """Return, by kind, the codes changed since the last call: old and new ones."""
        if not self._before:
            return {}
        self.constants = self._of_constants()
        before, self._before = self._before, {}
        return {
            kind: (codes, self._kinds[kind].look_up(values))
            for kind, (values, codes) in before.items()
        }

    def fix(self) -> None:
        """Do not change codes any more; a new value may raise `NoCodesLeft` instead."""
        self.take_moves()
        self._is_fixed = True

    def keep(self, codes: NDArray[np.int64]) -> None:
        """Forget all values except constants and those with the given codes."""
        # sorting takes a third of the time of np.unique with np.isin (2026-11-29)
        kept = np.sort(np.append(codes, self.constants))
        for ordered in self._kinds:
            ordered.keep(kept)

    def values(self, codes: NDArray[np.int64]) -> list[Value]:
        """Return the values with the given codes; None for `NOTHING`."""
        result: list[Value] = [None] * len(codes)
        kinds = np.where(codes < 0, NOTHING, codes >> KIND)
        for kind in set(kinds.tolist()) - {NOTHING}:
            values, own = self._kinds[kind].arrays()
            (at,) = np.nonzero(kinds == kind)
            found = values[np.searchsorted(own, codes[at])].tolist()
            of_time = _OF_TIME.get(KINDS[kind])
            for n, value in zip(at.tolist(), found, strict=True):
                result[n] = of_time(value) if of_time else value
        return result

    def of_values(self, values: Sequence[Value]) -> list[int]:
        """Return the codes of values."""
        # a later value may move the codes of earlier ones: then look all up again
        codes = list(map(self._code, values))
        return list(map(self._code, values)) if self._before else codes

    def _add(self, kind: int, values: NDArray[Any]) -> None:
        ordered = self._kinds[kind]
        if not ordered.add(values, kind):
            if self._is_fixed:
                raise NoCodesLeft
            self._before.setdefault(kind, ordered.arrays())
            ordered.spread(values, kind)

    def _code(self, value: Value) -> int:
        if (name := kind_of(value)) is None:
            return NOTHING
        kind, plain = KINDS.index(name), _plain(value)
        if (code := self._kinds[kind].code(plain, kind)) is None:
            self._add(kind, _sorted_array([plain]))
            code = self._kinds[kind].code(plain, kind)
            assert code is not None
        return code

    def _codes(self, distinct: _Distinct) -> NDArray[np.int64]:
        known = [self._kinds[kind].look_up(values) for kind, values in distinct.kinds]
        codes: NDArray[np.int64] = np.concatenate([*known, [NOTHING]])[distinct.place]
        return codes


class _Ordered:
    """The sorted values of one kind with their codes, as arrays or as lists."""

    def __init__(self) -> None:
        self.values: Any = []
        self.codes: Any = []

    def lists(self) -> tuple[list[Any], list[int]]:
        """Return the values and codes as lists, in which inserting one value is fast."""
        if not isinstance(self.codes, list):
            self.values, self.codes = self.values.tolist(), self.codes.tolist()
        return self.values, self.codes

    def arrays(self) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Return the values and codes as arrays."""
        if isinstance(self.codes, list):
            self.values, self.codes = _sorted_array(self.values), np.array(self.codes, np.int64)
        return self.values, self.codes

    def code(self, value: Any, kind: int) -> int | None:
        """Return the code of a value, assigning a new one; None if its neighbours leave no gap."""
        values, codes = self.lists()
        at = bisect_left(values, value)
        if at < len(values) and values[at] == value:
            return codes[at]
        low, high = _gap(codes, at, 1, kind)
        if high - low < 2:
            return None
        values.insert(at, value)
        # in the middle, so that both sides of the gap keep equal room
        codes.insert(at, low + (high - low) // 2)
        return codes[at]

    def add(self, fresh: NDArray[Any], kind: int) -> bool:
        """Assign codes between neighbours to new values; return False if a gap is too small."""
        values, fresh = _of_one_dtype(self.arrays()[0], fresh)
        codes = self.codes
        at = np.searchsorted(values, fresh)
        if len(values):
            is_fresh = values[np.minimum(at, len(values) - 1)] != fresh
            at, fresh = at[is_fresh], fresh[is_fresh]
        gaps, first, counts = np.unique(at, return_index=True, return_counts=True)
        if not len(gaps):
            return True
        low, high = np.append(-1, codes)[gaps], np.append(codes, -1)[gaps]
        for n in {0, len(gaps) - 1}:  # the first and the last gap may be at an end of the range
            low[n], high[n] = _gap(codes, int(gaps[n]), int(counts[n]), kind)
        steps = (high - low) // (counts + 1)
        if (steps < 1).any():
            return False
        rank = np.arange(len(at)) - np.repeat(first, counts)
        new = np.repeat(low, counts) + np.repeat(steps, counts) * (rank + 1)
        self.values, self.codes = np.insert(values, at, fresh), np.insert(codes, at, new)
        return True

    def spread(self, fresh: NDArray[Any], kind: int) -> None:
        """Assign new codes to all values, including new ones, with equal gaps."""
        self.values = np.unique(np.concatenate(_of_one_dtype(self.arrays()[0], fresh)))
        count = len(self.values)
        # odd, because hash buckets use the lowest bits: even steps would use half of them
        step = (min(SPACING, (1 << KIND) // (count + 2)) - 1) | 1
        first = (kind << KIND) + MIDDLE - step * (count // 2)
        self.codes = first + step * np.arange(count, dtype=np.int64)

    def look_up(self, values: NDArray[Any]) -> NDArray[np.int64]:
        """Return the codes of values that all have one."""
        known, values = _of_one_dtype(self.arrays()[0], values)
        found: NDArray[np.int64] = self.codes[np.searchsorted(known, values)]
        return found

    def keep(self, codes: NDArray[np.int64]) -> None:
        """Forget all values except those with the given sorted codes."""
        values, own = self.arrays()
        at = np.searchsorted(codes, own)
        is_kept = np.append(codes, NOTHING)[at] == own
        self.values, self.codes = values[is_kept], own[is_kept]


def _gap(codes: Any, at: int, count: int, kind: int) -> tuple[int, int]:
    """Return the codes below and above the gap into which `count` values before index `at` fit.

    At either end they get `SPACING` each and no more, so that times, which only grow, do not
    exhaust the range.
    """
    first, room = kind << KIND, (count + 1) * SPACING
    if not len(codes):
        low = max(first + MIDDLE - room // 2, first - 1)
        return low, min(low + room, first + (1 << KIND))
    if at == len(codes):
        low = int(codes[-1])
        return low, min(low + room, first + (1 << KIND))
    high = int(codes[at])
    return (int(codes[at - 1]) if at else max(first - 1, high - room)), high


def _sorted_array(values: Sequence[Any]) -> NDArray[Any]:
    """Return values of one kind as an array of the smallest exact type."""
    types = set(map(type, values))
    if types <= {int}:
        try:
            return np.array(values, np.int64)
        except OverflowError:
            pass
    if types == {float}:
        return np.array(values, np.float64)
    array = np.empty(len(values), object)
    array[:] = values
    return array


def _of_one_dtype(a: NDArray[Any], b: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return two arrays in a common type that holds their values exactly."""
    if not len(a):
        return a.astype(b.dtype), b
    if not len(b):
        return a, b.astype(a.dtype)
    if a.dtype == b.dtype:
        return a, b
    if object not in (a.dtype, b.dtype):  # integers and doubles
        whole = a if a.dtype == np.int64 else b
        # doubles represent all integers up to this limit, but not beyond
        if max(abs(int(whole.min())), abs(int(whole.max()))) <= 1 << 53:
            return a.astype(np.float64), b.astype(np.float64)
    return a.astype(object), b.astype(object)


def _distinct(piece: Piece, name: str) -> _Distinct:
    match piece:
        case Numbers(values, nulls, of_time):
            kind = next((kind for kind, of in _OF_TIME.items() if of is of_time), "number")
            return _distinct_numbers(values, nulls, kind)
        case DictionaryCodes(codes, dictionary):
            at: NDArray[np.integer[Any]] = codes
            if len(dictionary) > len(codes):  # a batch of a table whose texts are mostly distinct
                used, at = np.unique(codes, return_inverse=True)
                dictionary = dictionary.take(array_from(used[used < len(dictionary)]))
            kinds, place = _distinct_values(values_of(dictionary, name))
            past = sum(len(values) for _, values in kinds)
            return _Distinct(kinds, np.append(place, past)[at])
        case _:
            return _distinct_values(piece.values)


def _distinct_numbers(
    values: NDArray[Any], nulls: NDArray[np.bool_] | None, kind: str
) -> _Distinct:
    if values.dtype == np.uint64 and len(values) and values.max() > np.iinfo(np.int64).max:
        values = values.astype(object)
    elif values.dtype != np.float64:
        values = values.astype(np.float64 if values.dtype.kind == "f" else np.int64)
    has_value = np.ones(len(values), np.bool_) if nulls is None else ~nulls
    if values.dtype == np.float64:
        # NaN differs from itself
        has_value &= values == values
    if has_value.all():
        distinct, place = _unique(values)
        return _Distinct([(KINDS.index(kind), distinct)], place)
    distinct, inverse = _unique(values[has_value])
    place = np.full(len(values), len(distinct), np.int64)
    place[has_value] = inverse
    return _Distinct([(KINDS.index(kind), distinct)], place)


def _unique(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the distinct values in order, and for each value its index among them."""
    if values.dtype == object or not (values[1:] >= values[:-1]).all():
        return np.unique(values, return_inverse=True)
    # times are sorted already, and np.unique would take ten times as long
    is_first = np.ones(len(values), np.bool_)
    np.not_equal(values[1:], values[:-1], out=is_first[1:])
    return values[is_first], np.cumsum(is_first) - 1


def _plain(value: Value) -> bool | int | float | str | None:
    return value.nanoseconds if isinstance(value, Timestamp | Duration) else value


def _distinct_values(values: Sequence[Value]) -> _Distinct:
    by_kind: list[dict[Any, None]] = [{} for _ in KINDS]
    keys: list[tuple[int, Any] | None] = []
    for value in values:
        name = kind_of(value)
        if name is None:
            keys.append(None)
            continue
        key = KINDS.index(name), _plain(value)
        by_kind[key[0]][key[1]] = None
        keys.append(key)
    kinds, number = [], dict[tuple[int, Any] | None, int]()
    for kind, distinct in enumerate(by_kind):
        in_order = sorted(distinct)
        number |= {(kind, value): len(number) + n for n, value in enumerate(in_order)}
        if in_order:
            kinds.append((kind, _sorted_array(in_order)))
    number[None] = len(number)
    return _Distinct(kinds, np.array([number[key] for key in keys], np.int64))
