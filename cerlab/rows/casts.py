"""CAST, ROUND and EXTRACT(EPOCH ..), as DuckDB has them; what cannot be cast is NULL."""

from __future__ import annotations

import math
import re
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from cerlab.model.event import UNITS, Duration, Timestamp, Value, moment_of_text
from cerlab.rows.expressions import CastType

_DIGITS = r"\d(?:_?\d)*"
_NUMBER = re.compile(
    rf"[+-]?(?:{_DIGITS}\.?(?:{_DIGITS})?|\.{_DIGITS})(?:[eE][+-]?\d{{1,5}})?", re.ASCII
)
_BITS = {CastType.INTEGER: 32, CastType.BIGINT: 64}


def cast(value: Any, to: CastType) -> Value:
    """Return a value that is not NULL as another type, NULL where it has none there.

    >>> cast("2.5", CastType.INTEGER), cast(2.5, CastType.INTEGER), cast("x", CastType.DOUBLE)
    (3, 2, None)
    """
    match to:
        case CastType.INTEGER | CastType.BIGINT:
            number = _whole(value)
            limit = 1 << _BITS[to] - 1
            return number if number is not None and -limit <= number < limit else None
        case CastType.DOUBLE:
            return _double(value)
        case CastType.VARCHAR:
            return str(value).lower() if isinstance(value, bool) else str(value)
        case CastType.TIMESTAMP | CastType.DATE:
            moment = moment_of_text(value) if isinstance(value, str) else value
            if moment is None or not -(2**63) <= moment.nanoseconds < 2**63:
                return None
            day = UNITS["DAY"] if to is CastType.DATE else 1
            return Timestamp(moment.nanoseconds // day * day)


def _whole(value: bool | float | str) -> int | None:
    """The nearest integer: of two that are as near, of a text the larger one, else the even one."""
    if isinstance(value, str):
        text = value.strip(" \t\n\r\v\f")
        if re.fullmatch(r"0[xX][0-9a-fA-F]+", text):
            return int(text, 16)
        if not _NUMBER.fullmatch(text):
            return None
        number = Decimal(text)
        # Far beyond 64 bits, and `int` would write out as many digits as the exponent says.
        if number.adjusted() > 40:
            return None
        return int(number.to_integral_value(ROUND_HALF_UP))  # away from 0
    return round(value) if math.isfinite(value) else None


def _double(value: bool | float | str) -> float | None:
    try:
        # Python reads the digits of every script.
        return float(value) if not isinstance(value, str) or value.isascii() else None
    except ValueError:
        return None
    except OverflowError:  # an integer beyond all doubles
        return None


def rounded(x: int | float, places: int = 0) -> int | float:
    """Return ``ROUND(x, places)``: of two as near the one away from 0.

    >>> rounded(2.5), rounded(-2.345, 2), rounded(12350, -2), rounded(0.49999999999999994)
    (3.0, -2.35, 12400, 0.0)
    """
    if isinstance(x, int):
        unit = int(10 ** min(max(-places, 0), 60))
        whole = (abs(x) + unit // 2) // unit * unit
        return whole if x >= 0 else -whole
    if not math.isfinite(x):
        return x
    try:
        scale = 10.0 ** abs(places)
    except OverflowError:
        return x if places > 0 else 0.0
    if places < 0:
        result = _nearest(x / scale) * scale
        return result if math.isfinite(result) else 0.0
    result = _nearest(x * scale) / scale
    return result if math.isfinite(result) else x


def _nearest(x: float) -> float:
    if not math.isfinite(x):
        return x
    # Not the floor of x + 0.5, which for 0.49999999999999994 is 1 in doubles.
    whole = math.copysign(math.floor(abs(x)), x)
    return whole + math.copysign(1.0, x) if abs(x - whole) >= 0.5 else whole


def epoch(value: Timestamp | Duration) -> float:
    """Return the seconds of a duration, or since 1970, as the nearest double."""
    return value.nanoseconds / 10**9
