"""Lengths of time as users write them, in the unit of a column of times."""

from __future__ import annotations

import math
import re
from datetime import timedelta
from fractions import Fraction
from typing import TypeAlias

from cerlab.errors import UsageError

Length: TypeAlias = str | int | float | timedelta
"""A number in the unit of the column, or a length of time: ``"10 seconds"``, a `timedelta`."""

_NANOSECONDS = {
    ("ns", "nanosecond"): 1,
    ("us", "microsecond"): 10**3,
    ("ms", "millisecond"): 10**6,
    ("s", "second"): 10**9,
    ("m", "minute"): 60 * 10**9,
    ("h", "hour"): 3_600 * 10**9,
    ("d", "day"): 86_400 * 10**9,
}
_UNITS = {name: size for names, size in _NANOSECONDS.items() for name in names}
_UNITS |= {f"{long}s": size for (_, long), size in _NANOSECONDS.items()}
_LENGTH = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*")


def length_in(unit: int | None, length: Length, what: str) -> Fraction:
    """A length in units of so many nanoseconds; a number without a unit is taken as it is.

    `unit` is None where nothing says what a number in the column means. Raises `UsageError`, which
    names the option `what`, for what is no length or cannot be converted.

    >>> length_in(1_000_000, "1.5 seconds", "lateness"), length_in(None, "20", "lateness")
    (Fraction(1500, 1), Fraction(20, 1))
    """
    if isinstance(length, timedelta):
        microseconds = length // timedelta(microseconds=1)
        return _in_unit(unit, Fraction(microseconds * 1_000), str(length), what)
    if isinstance(length, str):
        match = _LENGTH.fullmatch(length)
        if match is None or (match[2] and match[2].lower() not in _UNITS):
            raise _no_length(length, what)
        number = Fraction(match[1])
        if not match[2]:
            return number
        return _in_unit(unit, number * _UNITS[match[2].lower()], length, what)
    if isinstance(length, bool) or not math.isfinite(length) or length < 0:
        raise _no_length(length, what)
    return Fraction(length)


def _in_unit(unit: int | None, nanoseconds: Fraction, text: str, what: str) -> Fraction:
    if nanoseconds < 0:
        raise _no_length(text, what)
    if unit is None:
        raise UsageError(
            "CER0882",
            f"{what}={text!r}: nothing says what a number in the column of times means",
            hint="give unit= (on the command line: --time COLUMN:UNIT), or a plain number",
        )
    return nanoseconds / unit


def _no_length(length: object, what: str) -> UsageError:
    return UsageError(
        "CER0882",
        f"{what}={length!r} is no length of time",
        hint="a number that is not negative, or one with its unit, as '10 seconds'",
    )
