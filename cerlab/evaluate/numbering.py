"""Values of events and totals as integers of the kernel, over many batches."""

from __future__ import annotations

from collections.abc import Collection, Sequence
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
from cerlab.model.columns import Column, values_of
from cerlab.model.event import Value
from cerlab.model.stream import Stream
from cerlab.predicates.columns.ranks import NoCodesLeft, Ranks


class Unfit(Exception):
    """The signal that existing arrays cannot represent the values of a batch."""


class Numbering:
    """The representation of values of events and totals as integers of the kernel.

    Sums of doubles are multiples of a power of two; least values are compared by keys that leave
    room between them; groups have digits in mixed radix with room for more values.
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
        """Convert the values of a batch, of earlier totals and of groups to integers."""
        self._request, self._numbered = request, numbered
        values = _Values(stream)
        self._units: list[int | None] = []
        for n, (_, attribute) in enumerate(request.summands):
            self._units.append(None)
            if attribute in doubles:
                rests = (total.sums[3 * n + 2] for total in totals)
                units = [_zeros(rest) - EXPONENT for rest in rests if rest]
                unit = min(0, values.numbers(attribute).exponent, *units)
                # round down to whole limbs, so that later values rarely need a smaller unit
                self._units[n] = max(unit // BITS * BITS, -EXPONENT)
        self._ranks = [Ranks() for _ in request.extremes]
        for n, (measure, ranks) in enumerate(zip(request.extremes, self._ranks, strict=True)):
            name = measure.place[1]
            if totals:
                ranks.of_column(_plain([total.least[n] for total in totals]), name)
            ranks.of_column(values.column(name), name)
            ranks.fix()
        self._most = [MOST_VALUES + 4 * len(ranks) for ranks in self._ranks]
        self._numbers: list[dict[Value, int]] = [{None: 0} for _ in request.labelled]
        of_groups = [numbered.values_of(group) for group in dict.fromkeys(groups)]
        for n, (column, number) in enumerate(zip(request.labelled, self._numbers, strict=True)):
            for value in (*(of[n] for of in of_groups), *values.of(str(column.attribute))):
                number.setdefault(value, len(number))
        self._room = [1 << len(number).bit_length() for number in self._numbers]

    @property
    def groups(self) -> int:
        """The number of groups that the arrays can hold."""
        return prod(self._room)

    def inputs(self, stream: Stream, doubles: Collection[str]) -> AggregateInputs:
        """Return the integers that runs add up, by event of a batch; raise `Unfit`."""
        request, values = self._request, _Values(stream)
        sums: list[tuple[str, Integers]] = []
        for (label, attribute), unit in zip(request.summands, self._units, strict=True):
            of = values.numbers(attribute)
            if (unit is None) == (attribute in doubles) or of.exponent < (unit or 0):
                raise Unfit
            whole = _shifted(of.integers, of.exponent - (unit or 0))
            sums += (label, whole), (label, of.present)
        least = []
        for measure, ranks, most in zip(request.extremes, self._ranks, self._most, strict=True):
            label, name = measure.place
            try:
                codes = ranks.of_column(values.column(name), name)
            except NoCodesLeft:
                raise Unfit from None
            if len(ranks) > most:
                raise Unfit
            greatest = measure.function == "max"
            least.append((label, np.where(codes < 0, -1, LAST - codes if greatest else codes)))
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
        """Return totals as columns, with the partition in place of the end."""
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
        for n, (measure, ranks) in enumerate(zip(self._request.extremes, self._ranks, strict=True)):
            codes = ranks.of_column(_plain([total.least[n] for total in totals]), measure.place[1])
            greatest = measure.function == "max"
            least.append(np.where(codes < 0, NOTHING, LAST - codes if greatest else codes))
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
        """Return the totals of some rows, converted from the kernel's integers."""
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
        for measure, ranks, codes in zip(
            self._request.extremes, self._ranks, ends.least, strict=True
        ):
            greatest = measure.function == "max"
            values = ranks.values(
                np.where(codes == NOTHING, -1, LAST - codes if greatest else codes)
            )
            if greatest:
                values = [None if value is None else Greatest(value) for value in values]
            least.append(values)
        of_row = zip(*sums, strict=True) if sums else ((),) * len(runs)
        least_of_row = zip(*least, strict=True) if least else ((),) * len(runs)
        return [Total(*each) for each in zip(runs, of_row, least_of_row, strict=True)]

    def groups_of(self, groups: Int64s) -> list[int]:
        """Return the number in `Groups` for each of the kernel's group numbers."""
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
        """Return an attribute's values as numbers."""
        return numbers_in(self._stream, attribute)

    def column(self, attribute: str) -> Column:
        """Return an attribute's values, or NULL if no event has the attribute."""
        return self._stream.columns.get(attribute, [None] * len(self._stream))

    def of(self, attribute: str) -> list[Value]:
        """Return an attribute's values with one NaN object for all, so that dicts find NaN."""
        if attribute not in self._values:
            read = values_of(self.column(attribute), attribute)
            self._values[attribute] = [*map(one_nan, read)]
        return self._values[attribute]


LAST = NOTHING - 1
"""Upper bound of the codes of values, which are above 0 and below it."""

MOST_VALUES = 1 << 16
"""Values after which all are numbered again, besides four times the initial ones."""


def _plain(extremes: Sequence[Any]) -> list[Value]:
    return [each.value if isinstance(each, Greatest) else each for each in extremes]


def _zeros(x: int) -> int:
    """Return the number of trailing zero bits."""
    return (x & -x).bit_length() - 1


def _shifted(numbers: Integers, by: int) -> Integers:
    fits = largest(numbers) << by <= MOST_INTEGER
    return (numbers if fits else numbers.astype(object)) << by
