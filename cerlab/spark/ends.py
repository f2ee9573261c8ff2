"""Answers that end between two times: a daily run reads that day and one window before it."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import ceil, inf, nextafter
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from cerlab.automata.plan import PlanClauses
from cerlab.compile.pattern import Pattern
from cerlab.errors import CerlabError, Unsupported, UsageError
from cerlab.logic.cel.syntax import is_timed
from cerlab.model.arrays import numbers_of
from cerlab.model.clauses import EventWindow
from cerlab.model.columns import is_moment
from cerlab.model.event import Timestamp, moment_of_data, to_value
from cerlab.model.stream import TimeAxis, Until
from cerlab.spark.footers import unit_of
from cerlab.spark.plan import Mode, time_attribute, why_not, window_width

if TYPE_CHECKING:
    from pyspark.sql import Column


EndTimes: TypeAlias = tuple[Until, Until]
"""First time of an end, and the time before which all ends lie, as users write them."""


@dataclass(frozen=True, slots=True)
class EndsIn:
    """Ends from time `first` to before `stop`, in nanoseconds of moments or as plain numbers."""

    attribute: str
    are_moments: bool
    reads: Fraction
    """The first time at which an answer may begin: `first` minus the window."""
    first: Fraction
    stop: Fraction

    def rows(self, times: Any) -> tuple[int, int]:
        """Return the number of rows before `first` and before `stop`; `times` do not go back."""
        times = times.combine_chunks() if hasattr(times, "chunks") else times
        if is_moment(times.type):
            unit = unit_of(times.type) or 1
            numbers, bounds = times, (self.first / unit, self.stop / unit)
            numbers = numbers.cast("int32") if unit_of(times.type) == _DAY else numbers
            numbers = numbers_of(numbers.cast("int64"))
        else:
            bounds = self.first, self.stop
            numbers = numbers_of(times.cast("double") if _is_decimal(times) else times)
        least = (least_number(bound, whole=numbers.dtype.kind in "iu") for bound in bounds)
        first, stop = (int(np.searchsorted(numbers, each, "left")) for each in least)
        return first, stop

    def holds_group(self, first: int, last: int, unit: int) -> bool:
        """Return whether rows from time `first` to `last`, in steps of `unit`, may be needed."""
        return last * unit >= self.reads and first * unit < self.stop

    def is_before(self, last: int, unit: int) -> bool:
        """Return whether rows up to a time, in steps of `unit`, precede all rows that are read."""
        return last * unit < self.reads

    def text(self) -> str:
        """Return the two times as text for users."""
        first, stop, reads = map(self._text, (self.first, self.stop, self.reads))
        return f"from {first} to before {stop}; rows from {reads} on are read"

    def _text(self, time: Fraction) -> str:
        if self.are_moments:
            return str(Timestamp(ceil(time)))
        return str(int(time) if time.denominator == 1 else float(time))


_DAY = 86_400 * 10**9


def _is_decimal(column: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_decimal(column.type))


def least_number(bound: Fraction, *, whole: bool) -> int | float:
    """Return the least int64, or double, that is at least a bound, or the type's greatest value.

    >>> least_number(Fraction(7, 2), whole=True), least_number(Fraction(1, 10), whole=False)
    (4, 0.1)
    """
    if whole:
        return min(max(ceil(bound), -(2**63)), 2**63 - 1)
    number = float(bound)
    return number if number >= bound else nextafter(number, inf)


class OwnRows:
    """The rows that a task reads, and the first row whose answers belong to the task."""

    def __init__(self, ends: EndsIn | None, attributes: tuple[str, ...]) -> None:
        self._ends = ends
        self._clock = None if ends is None else f"a{attributes.index(ends.attribute)}"
        self._early = 0
        self.first = 0
        self.own: int | None = 0
        """The first own row of a range; None before it is read."""
        self.read = 0

    @property
    def first_own(self) -> int:
        """The first row, in reading order, at which answers are returned."""
        return max(self.read if self.own is None else self.own, self._early)

    def take(self, rows: Any) -> Any:
        """Count rows as read; return those that may be in an answer."""
        if self._ends is not None and rows.num_rows:
            early, size = self._ends.rows(rows.column(self._clock))
            self._early = self.read + early if early else self._early
            rows = rows.slice(0, size)
        self.read += rows.num_rows
        return rows


def ends_of(
    pair: EndTimes | None,
    pattern: Pattern,
    plan: PlanClauses,
    time: TimeAxis | None,
    *,
    are_moments: bool,
) -> EndsIn | None:
    """Return the requested range of ends, None for all ends.

    Raises `Unsupported` for a query whose answers depend on more than one window in time, and
    `UsageError` for times that do not fit the column.
    """
    if pair is None:
        return None
    refuse_unbounded(pattern, plan)
    attribute = time_attribute(plan.window, time)
    assert attribute is not None
    first, stop = _times(pair, attribute, are_moments=are_moments)
    if first >= stop:
        raise _no_times(f"{pair[0]} is not before {pair[1]}", are_moments=are_moments)
    return EndsIn(attribute, are_moments, first - window_width(plan.window, time, 1), first, stop)


def refuse_unbounded(pattern: Pattern, plan: PlanClauses) -> None:
    """Raise `Unsupported` for a query whose answers depend on more than one window in time."""
    why = why_not(plan, Mode.RANGES)
    if plan.window is None or isinstance(plan.window, EventWindow):
        why = "it has no window in time, before which nothing need be read"
    elif why is None and (
        pattern.machine_kind not in ("automaton", "registers", "listed")
        or is_timed(pattern.ast.formula)
    ):
        why = "a wait, a look-back or a strategy inside the formula reads more than its answers"
    if why is not None:
        raise Unsupported(
            "CER0488",
            f"ends_in is not exact for this query: {why}",
            hint="add WITHIN with a duration, or leave ends_in out",
        )


def _times(pair: EndTimes, attribute: str, *, are_moments: bool) -> tuple[Fraction, Fraction]:
    if isinstance(pair, str) or len(pair) != 2:
        raise _no_times(f"expected two times, got {pair!r}", are_moments=are_moments)
    first, stop = (_time(each, attribute, are_moments=are_moments) for each in pair)
    return first, stop


def _time(given: Any, attribute: str, *, are_moments: bool) -> Fraction:
    """Return a time in nanoseconds; a plain number stays unchanged."""
    try:
        value = moment_of_data(given) if are_moments and isinstance(given, str) else given
        value = Decimal(value) if isinstance(value, str) else value
        value = value if isinstance(value, Decimal | Fraction) else to_value(value)
        if are_moments and isinstance(value, Timestamp):
            return Fraction(value.nanoseconds)
        if are_moments or isinstance(value, bool):
            raise ValueError
        if isinstance(value, int | float | Decimal | Fraction):
            return Fraction(value)
    except (CerlabError, ArithmeticError, ValueError):  # NaN and infinities are not times
        pass
    kind = "moments" if are_moments else "numbers"
    message = f"{given!r} is not a time of '{attribute}', whose times are {kind}"
    raise _no_times(message, are_moments=are_moments)


def _no_times(message: str, *, are_moments: bool) -> UsageError:
    example = '("2024-03-01", "2024-03-02")' if are_moments else "(1000, 2000)"
    return UsageError("CER0852", f"ends_in: {message}", hint=f"ends_in={example}, for example")


def rows_of_ends(ends: EndsIn, clock: Column, *, whole: bool) -> tuple[Column, Column]:
    """Return conditions of Spark for rows to read, and for rows that precede all of these.

    `clock` is the column of `cerlab.spark.frame.time_column`. A row without a time is read, and
    raises the same error as without `ends_in`.
    """
    from pyspark.sql import functions as fn

    unit = 1_000 if ends.are_moments else 1
    reads, stop = (least_number(t / unit, whole=whole) for t in (ends.reads, ends.stop))
    inside = clock.isNull() | ((clock >= reads) & (clock < stop))
    return inside if whole else inside | fn.isnan(clock), clock < reads
