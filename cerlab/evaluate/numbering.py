"""The values of events and of totals as integers of the kernel, over many batches."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Collection, Sequence
from itertools import groupby
from math import prod
from typing import Any

import numpy as np

from cerlab.engine.kernels.arrays import Int64s
from cerlab.engine.kernels.limbs import BITS
from cerlab.engine.measures import (
    MOST_INTEGER,
    NOTHING,
    AggregateInputs,
    EndTotals,
    Integers,
    Numbers,
    integers,
    largest,
)
from cerlab.engine.reference.totals import Greatest, Total
from cerlab.evaluate.aggregates import EXPONENT, Request, numbers_in
from cerlab.evaluate.groups import Groups, one_nan
from cerlab.model.columns import values_of
from cerlab.model.event import Value
from cerlab.model.stream import Stream


class Unfit(Exception):
    """A batch has values that the arrays of before do not represent."""


class Numbering:
    """The values of events and of totals as integers of the kernel.

    Sums of doubles are multiples of a power of two; least values are compared by keys that leave
    room between them; groups have mixed digits with room for more values.
    """

    def __init__(
        self,
        request: Request,
        stream: Stream,
        doubles: Collection[str],
        numbered: Groups,
        totals: Sequence[Total] = (),
        groups: Sequence[int] = (),
    ) -> None:
        """Represent the values of some totals and groups, and of a batch."""
        self._request, self._numbered = request, numbered
        values = _Values(stream)
        self._units: list[int | None] = []
        for n, (_, attribute) in enumerate(request.summands):
            self._units.append(None)
            if attribute in doubles:
                rests = (total.sums[3 * n + 2] for total in totals)
                units = [_zeros(rest) - EXPONENT for rest in rests if rest]
                unit = min(0, values.numbers(attribute).exponent, *units)
                # a limb at once, so that few values need another unit; no double needs a lower one
                self._units[n] = max(unit // BITS * BITS, -EXPONENT)
        self._orders = []
        for n, measure in enumerate(request.extremes):
            extremes = (total.least[n] for total in totals)
            plain = (x.value if isinstance(x, Greatest) else x for x in extremes)
            known = {*plain, *values.comparable(measure.place[1])} - {None}
            self._orders.append(_Order(known))
        self._numbers: list[dict[Value, int]] = [{None: 0} for _ in request.labelled]
        of_groups = [numbered.values_of(group) for group in dict.fromkeys(groups)]
        for n, (column, number) in enumerate(zip(request.labelled, self._numbers, strict=True)):
            for value in (*(of[n] for of in of_groups), *values.of(str(column.attribute))):
                number.setdefault(value, len(number))
        self._room = [1 << len(number).bit_length() for number in self._numbers]

    @property
    def groups(self) -> int:
        """The number of groups that there is room for."""
        return prod(self._room)

    def inputs(self, stream: Stream, doubles: Collection[str]) -> AggregateInputs:
        """The integers that runs carry, by event of a batch; raises `Unfit`."""
        request, values = self._request, _Values(stream)
        sums: list[tuple[str, Integers]] = []
        for (label, attribute), unit in zip(request.summands, self._units, strict=True):
            of = values.numbers(attribute)
            if (unit is None) == (attribute in doubles) or of.exponent < (unit or 0):
                raise Unfit
            whole = _shifted(of.integers, of.exponent - (unit or 0))
            sums += (label, whole), (label, of.present)
        least = []
        for measure, order in zip(request.extremes, self._orders, strict=True):
            keys = order.keys_of(values.comparable(measure.place[1]))
            greatest = measure.function == "max"
            least.append(
                (measure.place[0], np.where(keys < 0, -1, LAST - keys if greatest else keys))
            )
        groups = []
        for column, number, room in zip(request.labelled, self._numbers, self._room, strict=True):
            read = values.of(str(column.attribute))
            of_events = np.array([number.setdefault(v, len(number)) for v in read], np.int64)
            if len(number) > room:
                raise Unfit
            groups.append((column.label, of_events, room))
        return AggregateInputs(tuple(sums), tuple(least), tuple(groups))

    def columns(
        self,
        partitions: Sequence[int],
        starts: Sequence[int],
        groups: Sequence[int],
        totals: Sequence[Total],
    ) -> EndTotals:
        """Totals as columns, by partition in place of the end."""
        sums: list[Integers] = []
        for n, unit in enumerate(self._units):
            parts = [total.sums[3 * n : 3 * n + 3] for total in totals]
            whole = [value for _, value, _ in parts]
            if unit is not None:
                whole = [
                    ((value << EXPONENT) + rest) >> unit + EXPONENT for _, value, rest in parts
                ]
            sums += integers(whole), integers([count for count, _, _ in parts])
        least = []
        for n, (measure, order) in enumerate(
            zip(self._request.extremes, self._orders, strict=True)
        ):
            values = [total.least[n] for total in totals]
            keys = order.keys_of([x.value if isinstance(x, Greatest) else x for x in values])
            greatest = measure.function == "max"
            least.append(np.where(keys < 0, NOTHING, LAST - keys if greatest else keys))
        numbers = {group: self._number_of(group) for group in dict.fromkeys(groups)}
        return EndTotals(
            *(integers(partitions), integers(starts), integers([numbers[g] for g in groups])),
            *(integers([total.runs for total in totals]), tuple(sums), tuple(least)),
        )

    def _number_of(self, group: int) -> int:
        number, stride = 0, 1
        values = self._numbered.values_of(group)
        for value, numbers, room in zip(values, self._numbers, self._room, strict=True):
            number += stride * numbers[value]
            stride *= room
        return number

    def totals(self, ends: EndTotals) -> list[Total]:
        """The totals that the integers of some rows stand for."""
        runs = ends.runs.tolist()
        sums: list[list[int]] = []
        for n, unit in enumerate(self._units):
            values, counts = (ends.sums[2 * n + m].tolist() for m in range(2))
            nothing = [0] * len(values)
            if unit is None:
                sums += counts, values, nothing
            else:
                sums += counts, nothing, [x << unit + EXPONENT for x in values]
        least: list[Sequence[Any]] = []
        for measure, order, keys in zip(
            self._request.extremes, self._orders, ends.least, strict=True
        ):
            if measure.function == "max":
                values = order.values_of(np.where(keys == NOTHING, NOTHING, LAST - keys))
                least.append([None if value is None else Greatest(value) for value in values])
            else:
                least.append(order.values_of(keys))
        of_row = zip(*sums, strict=True) if sums else ((),) * len(runs)
        least_of_row = zip(*least, strict=True) if least else ((),) * len(runs)
        return [Total(*each) for each in zip(runs, of_row, least_of_row, strict=True)]

    def groups_of(self, groups: Int64s) -> list[int]:
        """The groups of runs that numbers of the kernel stand for."""
        known, of = [list(number) for number in self._numbers], dict[int, int]()
        for group in np.unique(groups).tolist():
            rest, values = group, list[Value]()
            for names, room in zip(known, self._room, strict=True):
                values.append(names[rest % room])
                rest //= room
            of[group] = self._numbered.group_of(values)
        return [of[group] for group in groups.tolist()]


class _Values:
    """The values of the attributes of a batch."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._values: dict[str, list[Value]] = {}

    def numbers(self, attribute: str) -> Numbers:
        """The numbers of an attribute."""
        return numbers_in(self._stream, attribute)

    def of(self, attribute: str) -> list[Value]:
        """The values, NaN as one object, which alone equals itself as a key of a dict."""
        if attribute not in self._values:
            column = self._stream.columns.get(attribute)
            none = [None] * len(self._stream)
            read = none if column is None else values_of(column, attribute)
            self._values[attribute] = [*map(one_nan, read)]
        return self._values[attribute]

    def comparable(self, attribute: str) -> list[Value]:
        """The values, None for NaN, which has no place in an order."""
        return [None if v != v else v for v in self.of(attribute)]


LAST = 1 << 62
"""Keys of values are above 0 and below this."""

MOST_VALUES = 1 << 16
"""An order forgets values that no total has when it has so many, and four times its first ones."""


class _Order:
    """The order of values as integers with room between them."""

    def __init__(self, values: Collection[Any]) -> None:
        self._values: list[Any] = sorted(values)
        gap = LAST // (len(values) + 1)
        self._keys = [gap * (n + 1) for n in range(len(values))]
        self._most = MOST_VALUES + 4 * len(values)
        self._key: dict[Any, int] = {}
        self._value: dict[int, Any] = {}
        self._note(self._values, self._keys)

    def _note(self, values: Sequence[Any], keys: Sequence[int]) -> None:
        self._key.update(zip(values, keys, strict=True))
        self._value.update(zip(keys, values, strict=True))

    def keys_of(self, values: Sequence[Any]) -> Int64s:
        """The keys of values, -1 for None; raises `Unfit` where there is no room for new ones."""
        fresh = {value for value in values if value is not None and value not in self._key}
        if fresh:
            self._insert(sorted(fresh))
        return np.array([-1 if v is None else self._key[v] for v in values], np.int64)

    def _insert(self, fresh: Sequence[Any]) -> None:
        if len(self._values) + len(fresh) > self._most:
            raise Unfit
        between = groupby(fresh, lambda value: bisect(self._values, value))
        bounds, keys = [0, *self._keys, LAST], list[int]()
        for at, some in between:
            count, (low, high) = len([*some]), bounds[at : at + 2]
            if high - low <= count:
                raise Unfit
            keys += (low + (high - low) * (n + 1) // (count + 1) for n in range(count))
        self._values, self._keys = sorted([*self._values, *fresh]), sorted([*self._keys, *keys])
        self._note(fresh, keys)

    def values_of(self, keys: Int64s) -> list[Any]:
        """The values of keys, None for `NOTHING`."""
        return [None if key == NOTHING else self._value[key] for key in keys.tolist()]


def _zeros(x: int) -> int:
    """Return the number of zeros at the end of the binary digits of a number."""
    return (x & -x).bit_length() - 1


def _shifted(numbers: Integers, by: int) -> Integers:
    fits = largest(numbers) << by <= MOST_INTEGER
    return (numbers if fits else numbers.astype(object)) << by
