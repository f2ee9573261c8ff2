"""Operators and functions of row expressions on Python values.

The oracle (`cerlab.rows.expression_semantics`) has separate definitions of each.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from functools import lru_cache, reduce
from typing import Any, TypeAlias

from cerlab.model.event import Duration, Timestamp, is_in_calendar, moment_of_text
from cerlab.predicates import syntax as pred
from cerlab.predicates.truth import compute, negate

Scalar: TypeAlias = Callable[..., Any]


def strict(function: Scalar) -> Scalar:
    """Return a function extended to NULL: it returns NULL for NULL, and if a double overflows."""

    def of_values(*arguments: Any) -> Any:
        if None in arguments:
            return None
        try:
            return function(*arguments)
        except (OverflowError, ZeroDivisionError):
            return None

    return of_values


def compared(compare: Callable[[Any, Any], bool]) -> Scalar:
    """Return a comparison in which NaN equals itself and is greater than every number."""

    def test(a: Any, b: Any) -> bool | None:
        if a is None or b is None:
            return None
        if a != a or b != b:  # a NaN
            return compare(a != a, b != b)
        return compare(a, b)

    return test


equal, below, above = map(compared, (operator.eq, operator.lt, operator.gt))
at_least, at_most = map(compared, (operator.ge, operator.le))


def conjunction(a: Any, b: Any) -> bool | None:
    """Return ``a AND b``."""
    if a is False or b is False:
        return False
    return None if a is None or b is None else True


def disjunction(a: Any, b: Any) -> bool | None:
    """Return ``a OR b``."""
    if a is True or b is True:
        return True
    return None if a is None or b is None else False


def computed(sign: str, function: Scalar) -> Scalar:
    """Return an operator on numbers, extended to timestamps and durations."""
    of_numbers, of_times = strict(function), pred.Arithmetic(sign)

    def of_values(a: Any, b: Any) -> Any:
        try:
            return of_numbers(a, b)
        except TypeError:  # timestamps and durations do not define Python's operators
            return compute(of_times, a, b)

    return of_values


def remainder(a: Any, b: Any) -> Any:
    """Return ``a % b``, which has the sign of a."""
    if b == 0:
        raise ZeroDivisionError
    if isinstance(a, int) and isinstance(b, int):
        rest = abs(a) % abs(b)
        return -rest if a < 0 else rest
    return math.nan if math.isinf(a) else math.fmod(a, b)


def negative(a: Any) -> Any:
    """Negate a number or a duration."""
    return negate(a) if isinstance(a, Duration) else -a


def is_like(text: str, pattern: str) -> bool:
    """Return whether a text matches an SQL LIKE pattern."""
    return _like_regex(pattern).fullmatch(text) is not None


@lru_cache(maxsize=1024)
def _like_regex(pattern: str) -> re.Pattern[str]:
    signs = {"%": ".*", "_": "."}
    return re.compile("".join(signs.get(c) or re.escape(c) for c in pattern), re.DOTALL)


def coalesce(*values: Any) -> Any:
    """Return the first value that is not NULL."""
    for value in values:
        if value is not None:
            return value
    return None


def null_if(a: Any, b: Any) -> Any:
    """Return NULL for equal values, otherwise the first."""
    return None if equal(a, b) else a


def best(better: Scalar, *values: Any) -> Any:
    """Return the least or greatest value, by the comparison `better`."""
    # the first of equal values, because 1 and 1.0 have different texts
    return reduce(lambda best, value: value if better(value, best) else best, values)


def rounded(x: Any, places: int = 0) -> Any:
    """Return ``ROUND(x, places)``; ties round away from 0.

    >>> rounded(-2.5), rounded(0.49999999999999994), rounded(1250, -2), rounded(float("inf"), 3)
    (-3.0, 0.0, 1300, inf)
    """
    if isinstance(x, int):
        if places >= 0:
            return x
        tens = 10 ** min(-places, 60)
        whole, rest = divmod(abs(x), tens)
        return (-1 if x < 0 else 1) * (whole + (2 * rest >= tens)) * tens
    if not math.isfinite(x):
        return x
    far = x if places > 0 else 0.0
    try:
        tens = math.pow(10.0, abs(places))
    except OverflowError:
        return far
    shifted = x * tens if places >= 0 else x / tens
    rest, whole = math.modf(shifted)
    if abs(rest) >= 0.5:
        whole += math.copysign(1.0, shifted)
    result = whole / tens if places >= 0 else whole * tens
    return result if math.isfinite(result) else far


_FIGURES = r"\d+(?:_\d+)*"
_DECIMAL = re.compile(
    rf"([+-]?)(?=\.?\d)({_FIGURES})?\.?((?<=\.){_FIGURES})?(?:[eE]([+-]?\d{{1,5}}))?", re.ASCII
)


def _nearest_integer(text: str) -> int | None:
    """Return the integer nearest to a decimal or hexadecimal number in a text."""
    text = text.strip(" \t\n\r\v\f")
    if re.fullmatch(r"0[xX][0-9a-fA-F]+", text):
        return int(text, 16)
    if (number := _DECIMAL.fullmatch(text)) is None:
        return None
    sign, whole, fraction, exponent = number.groups("")
    whole, fraction = whole.replace("_", ""), fraction.replace("_", "")
    figures = (whole + fraction).lstrip("0")
    # the number of digits before the decimal point, after applying the exponent
    before = len(figures) - len(fraction) + int(exponent or 0)
    if not figures or before < 0:
        return 0
    if before > 40:  # beyond 64 bits
        return None
    nearest = int(figures[:before].ljust(before, "0") or "0")
    nearest += figures[before : before + 1] >= "5"
    return -nearest if sign == "-" else nearest


def to_integer(bits: int, value: Any) -> int | None:
    """Return a value as an integer of `bits` bits; NULL if it does not fit."""
    if isinstance(value, str):
        whole = _nearest_integer(value)
    else:  # ties round to even; NaN and infinities raise errors
        whole = round(value) if value - value == 0 else None
    return whole if whole is not None and -(1 << bits - 1) <= whole < 1 << bits - 1 else None


def to_double(value: Any) -> float | None:
    """Return a value as a double; NULL for a text that is not a number."""
    if isinstance(value, str) and not value.isascii():
        return None  # float() also accepts digits of other scripts
    try:
        return float(value)
    except ValueError:
        return None


def to_text(value: Any) -> str:
    """Return a value as text."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def to_moment(unit: int, value: Any) -> Timestamp | None:
    """Return a value as a timestamp truncated to a unit; NULL for other texts."""
    moment = moment_of_text(value) if isinstance(value, str) else value
    if moment is None or not is_in_calendar(moment.nanoseconds):
        return None
    return Timestamp(moment.nanoseconds - moment.nanoseconds % unit)


def to_decimal(value: Any, digits: int, places: int) -> float | None:
    """Return the double nearest to a decimal; NULL if it needs more digits."""
    if not 0 <= places <= digits <= 15:
        return None
    if isinstance(value, str):
        if (sign_and_figures := _scaled(value, places)) is None:
            return None
        scaled: float = sign_and_figures
    else:
        shifted = float(value) * 10**places
        if not math.isfinite(shifted):
            return None
        rest, scaled = math.modf(shifted)
        if abs(rest) >= 0.5:
            scaled += math.copysign(1.0, shifted)
    # decimals have no -0
    return scaled / 10**places + 0.0 if abs(scaled) < 10**digits else None


def _scaled(text: str, places: int) -> int | None:
    """Return a text's number times a power of ten as the nearest integer; ties away from 0."""
    text = text.strip(" \t\n\r\v\f")
    number = _DECIMAL.fullmatch(text)
    if number is None:
        return None
    mantissa, _, exponent = text.lower().partition("e")
    return _nearest_integer(f"{mantissa}e{int(exponent or 0) + places}")


SPACES = " \xa0\u1680\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
"""The separators of Unicode that are spaces: TRIM leaves tabs and line ends."""


def trimmed(text: str, characters: str = SPACES) -> str:
    """Return a text without the given characters at both ends."""
    return text.strip(characters)


def trimmed_left(text: str, characters: str = SPACES) -> str:
    """Return a text without the given characters at its beginning."""
    return text.lstrip(characters)


def trimmed_right(text: str, characters: str = SPACES) -> str:
    """Return a text without the given characters at its end."""
    return text.rstrip(characters)


FARTHEST = 1 << 32
"""The limit on places and lengths of SUBSTRING."""


def substring(text: str, start: int, length: int | None = None) -> str | None:
    """Return ``SUBSTRING(text, start, length)``; a negative start counts from the end.

    A negative length selects the characters before `start`. NULL beyond 32 bits.

    >>> substring("hello", 2, 3), substring("hello", -2), substring("hello", 3, -2)
    ('ell', 'lo', 'he')
    """
    if not all(-FARTHEST <= number < FARTHEST for number in (start, length or 0)):
        return None
    begin = start - 1 if start >= 0 else len(text) + start
    if length is None:
        return text[max(begin, 0) :]
    begin, end = sorted((begin, begin + length))
    return text[max(begin, 0) : max(end, 0)]


def position(part: str, text: str) -> int:
    """Return ``POSITION(part IN text)``, from 1; 0 if absent."""
    return text.find(part) + 1


def power(x: Any, y: Any) -> float:
    """Return ``POWER(x, y)`` as a double; infinities and NaN as in IEEE 754."""
    x, y = float(x), float(y)
    is_odd = math.isfinite(y) and math.fmod(y, 2.0) in (1.0, -1.0)
    try:
        return math.pow(x, y)
    except OverflowError:
        return -math.inf if x < 0 and is_odd else math.inf
    except ValueError:  # 0 to a negative power, or a root of a negative number
        return math.copysign(math.inf, x if is_odd else 1.0) if x == 0 else math.nan


def square_root(x: Any) -> float:
    """Return ``SQRT(x)``, NaN for a negative number."""
    return math.nan if float(x) < 0 else math.sqrt(float(x))


def logarithm(x: Any) -> float:
    """Return ``LN(x)``: minus infinity for 0, NaN for a negative number."""
    number = float(x)
    if number <= 0:
        return -math.inf if number == 0 else math.nan
    return math.log(number)
