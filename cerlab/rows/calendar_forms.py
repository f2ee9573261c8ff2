"""Parts of timestamps and durations, and timestamps truncated to a unit, of values and of columns.

Moments are in the years 1 to 9999.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from cerlab.model.event import UNITS, Duration, Timestamp
from cerlab.rows.column_forms import Values, cast_column, kernel

_DAY = UNITS["DAY"]


class Day(NamedTuple):
    """A calendar day: the days since 1970-01-01, the year, the month, the day of the month."""

    number: int
    year: int
    month: int
    day: int


_OF_400_YEARS = 146_097
"""The days of 400 years, the period of the calendar."""


def day_of(number: int) -> Day:
    """Return the calendar day that is `number` days after 1970-01-01."""
    # years begin in March here, which makes the leap day the last day of a year
    era, day = divmod(number + 719_468, _OF_400_YEARS)
    year = (day - day // 1_460 + day // 36_524 - day // 146_096) // 365
    day -= 365 * year + year // 4 - year // 100
    month = (5 * day + 2) // 153
    rest = day - (153 * month + 2) // 5
    is_next = month >= 10
    return Day(number, 400 * era + year + is_next, month - 9 if is_next else month + 3, rest + 1)


def number_of(year: int, month: int = 1, day: int = 1) -> int:
    """Return the number of days from 1970-01-01 to a date."""
    era, of_era = divmod(year - (month <= 2), 400)
    of_year = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
    return era * _OF_400_YEARS + 365 * of_era + of_era // 4 - of_era // 100 + of_year - 719_468


def _monday(number: int) -> int:
    return number - (number + 3) % 7


def _iso_year(day: Day) -> int:
    return day_of(_monday(day.number) + 3).year


def _week(day: Day) -> int:
    thursday = day_of(_monday(day.number) + 3)
    return (thursday.number - number_of(thursday.year)) // 7 + 1


_OF_DAY: dict[str, Callable[[Day], int]] = {
    "ERA": lambda day: 1,
    "MILLENNIUM": lambda day: (day.year - 1) // 1000 + 1,
    "CENTURY": lambda day: (day.year - 1) // 100 + 1,
    "DECADE": lambda day: day.year // 10,
    "YEAR": lambda day: day.year,
    "ISOYEAR": _iso_year,
    "QUARTER": lambda day: (day.month + 2) // 3,
    "MONTH": lambda day: day.month,
    "WEEK": _week,
    "YEARWEEK": lambda day: 100 * _iso_year(day) + _week(day),
    "DAY": lambda day: day.day,
    "DOW": lambda day: (day.number + 4) % 7,
    "ISODOW": lambda day: (day.number + 3) % 7 + 1,
    "DOY": lambda day: day.number - number_of(day.year) + 1,
}
"""The parts of a day."""

_OF_TIME = {
    "HOUR": (_DAY, UNITS["HOUR"]),
    "MINUTE": (UNITS["HOUR"], UNITS["MINUTE"]),
    "SECOND": (UNITS["MINUTE"], UNITS["SECOND"]),
    "MILLISECOND": (UNITS["MINUTE"], 10**6),
    "MICROSECOND": (UNITS["MINUTE"], 10**3),
}
"""The parts of a time: the rest of the first number of nanoseconds, in units of the second."""

OF_DURATIONS = ("DAY", *_OF_TIME)
"""The parts that durations have."""

PARTS = (*_OF_DAY, *_OF_TIME)
"""The parts that are integers."""

UNITS_OF_TRUNCATION = tuple(
    part for part in PARTS if part not in ("ERA", "YEARWEEK", "DOW", "ISODOW", "DOY")
)

_SYNONYMS = {"DAYOFWEEK": "DOW", "WEEKDAY": "DOW", "DAYOFYEAR": "DOY", "WEEKOFYEAR": "WEEK"}
_SYNONYMS |= {f"{part}S": part for part in ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", *_OF_TIME)}


def part_name(word: str) -> str:
    """Return the name of a part, such as ``hour``, from its singular or plural."""
    return _SYNONYMS.get(word.upper(), word.upper())


def part_of(name: str, time: Timestamp | Duration) -> int:
    """Return a part of a timestamp or duration; parts of a negative duration are negative."""
    n = time.nanoseconds
    if isinstance(time, Duration) and n < 0:
        return -part_of(name, Duration(-n))
    if name in _OF_TIME:
        whole, unit = _OF_TIME[name]
        return n % whole // unit
    return n // _DAY if isinstance(time, Duration) else _OF_DAY[name](day_of(n // _DAY))


def julian(time: Timestamp) -> float:
    """Return the Julian day, counted from midnight as in DuckDB."""
    number, rest = divmod(time.nanoseconds, _DAY)
    return number + 2_440_588 + rest / _DAY


def _first_of_years(years: int, day: Day) -> int:
    return number_of(day.year // years * years)


_BEGINS: dict[str, Callable[[Day], int]] = {
    "MILLENNIUM": partial(_first_of_years, 1000),
    "CENTURY": partial(_first_of_years, 100),
    "DECADE": partial(_first_of_years, 10),
    "YEAR": partial(_first_of_years, 1),
    "ISOYEAR": lambda day: _monday(number_of(_iso_year(day), 1, 4)),
    "QUARTER": lambda day: number_of(day.year, (day.month + 2) // 3 * 3 - 2),
    "MONTH": lambda day: number_of(day.year, day.month),
    "WEEK": lambda day: _monday(day.number),
    "DAY": lambda day: day.number,
}
"""The day that begins a unit."""


def truncated(unit: str, moment: Timestamp) -> Timestamp | None:
    """Return a timestamp truncated to a unit; NULL if it exceeds 64 bits of nanoseconds."""
    n = moment.nanoseconds
    if unit in _OF_TIME:
        begin = n - n % _OF_TIME[unit][1]
    else:
        begin = _BEGINS[unit](day_of(n // _DAY)) * _DAY
    return Timestamp(begin) if -(1 << 63) <= begin < 1 << 63 else None


_KERNELS = {"ISOYEAR": "iso_year", "WEEK": "iso_week", "DOY": "day_of_year"}
_KERNELS |= {part: part.lower() for part in ("YEAR", "QUARTER", "MONTH", "DAY")}
_KERNELS |= {part: part.lower() for part in ("HOUR", "MINUTE", "SECOND")}


def _moments(nanoseconds: Values) -> Values:
    return kernel("cast")(nanoseconds, "timestamp[ns]")


def part_column(name: str) -> Callable[[Values], Values] | None:
    """Return the function for a part of timestamps, such as the hour; None if there is none."""
    if name in _KERNELS:
        return lambda x: cast_column("int64", kernel(_KERNELS[name])(_moments(x)))
    if name in ("DOW", "ISODOW"):
        first, zero = (7, True) if name == "DOW" else (1, False)
        day_of_week = kernel("day_of_week")
        return lambda x: cast_column(
            "int64", day_of_week(_moments(x), count_from_zero=zero, week_start=first)
        )
    return None


_CUTS = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", *_OF_TIME)


def truncated_column(unit: str) -> Callable[[Values], Values] | None:
    """Return a column of timestamps truncated to a unit; None if Arrow cannot compute it."""
    if unit not in _CUTS:
        return None
    return lambda x: cast_column("int64", kernel("floor_temporal")(_moments(x), unit=unit.lower()))


LEAST = -(1 << 63) + 400 * _DAY
"""The least moment, in nanoseconds, after which every unit begins within 64 bits."""
