"""Groups of running totals as integers, each standing for values of several attributes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from cerlab.engine.state_checks import expect, is_value, is_whole
from cerlab.model.event import Value

_CODE = 64
"""Number of bits in a group for the number of each value."""


class Groups:
    """The numbered values of some columns (0 for NULL), and the groups that they form."""

    def __init__(self, columns: Iterable[Sequence[Value]]) -> None:
        """Start with numbered values of each column."""
        self._values = [[*map(one_nan, values)] for values in columns]
        self._numbers = [{value: n for n, value in enumerate(of)} for of in self._values]

    def group_of(self, values: Iterable[Value]) -> int:
        """Return the group of some values, one for each column."""
        group = 0
        for n, value in enumerate(map(one_nan, values)):
            numbers = self._numbers[n]
            if (number := numbers.get(value)) is None:
                number = numbers[value] = len(numbers)
                self._values[n].append(value)
            group += number << _CODE * n
        return group

    def values_of(self, group: int) -> tuple[Value, ...]:
        """Return the values that form a group, one for each column."""
        return tuple(self.value_of(group, n) for n in range(len(self._values)))

    def value_of(self, group: int, n: int) -> Value:
        """Return the value of column n in a group."""
        return self._values[n][_number(group, n)]

    def state(self) -> list[list[Value]]:
        """Return the values of each column, in the order of their numbers."""
        return self._values

    def check(self, columns: int) -> None:
        """Raise `BadData` unless the values in a state belong to `columns` columns."""
        expect(len(self._values) == columns, "the groups")
        for values, numbers in zip(self._values, self._numbers, strict=True):
            expect(len(values) == len(numbers), "equal values of a group")
            expect(numbers.get(None) == 0 and all(map(is_value, values)), "the groups")

    def check_group(self, group: Any) -> None:
        """Raise `BadData` if `group` is not a group of the numbered values."""
        expect(is_whole(group, 0, 1 << _CODE * len(self._values)), "a group")
        for n, values in enumerate(self._values):
            expect(_number(group, n) < len(values), "a group")


def _number(group: int, n: int) -> int:
    return group >> _CODE * n & (1 << _CODE) - 1


def one_nan(value: Value) -> Value:
    """Return one NaN object for every NaN, and other values unchanged, so that dicts find them."""
    return math.nan if value != value else value
