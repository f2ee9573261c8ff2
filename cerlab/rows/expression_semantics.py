"""The meaning of row expressions: one case per production, with SQL's operators and casts."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from typing import Any, assert_never

from cerlab.model.event import UNITS, Duration, Timestamp, Value, is_in_calendar, moment_of_text
from cerlab.rows import expressions as ex
from cerlab.rows.expressions import CastType


@dataclass(frozen=True, slots=True)
class Partition:
    """The rows of one ordered partition; `names` maps names in the query to columns."""

    rows: Sequence[Mapping[str, Value]]
    names: Mapping[str, str]

    def value(self, i: int, column: str) -> Value:
        """Return the value of a column in row i."""
        return self.rows[i].get(self.names[column])


@dataclass(frozen=True, slots=True)
class Context:
    """The context of an expression: partition, match, and number of the match."""

    T: Partition
    s: int
    m: Sequence[str]
    """The variable that each row from s on is mapped to."""
    k: int
    """Number of rows of the mapping that RUNNING sees."""
    z: int
    """Number of labels that CLASSIFIER at a row sees."""
    N: int
    members: Mapping[str | None, frozenset[str]]


def rows_of(x: str | None, c: Context, *, final: bool = False) -> list[int]:
    """Return the rows of name x, ascending: rows(x, RUNNING) or rows(x, FINAL)."""
    visible = len(c.m) if final else c.k
    return [c.s + i for i in range(visible) if c.m[i] in c.members[x]]


def value(e: ex.Expression, c: Context) -> Value:
    """Return the value of an expression in a context."""
    match e:
        case ex.Literal(constant):
            return constant
        case ex.Column(name, x):
            R = rows_of(x, c)
            return c.T.value(R[-1], name) if R else None
        case ex.Classifier(x):
            R = rows_of(x, c)
            return c.m[R[-1] - c.s] if R else None
        case ex.MatchNumber():
            return c.N
        case ex.First(body) | ex.Last(body):
            p = navigated_row(e, c)
            return None if p is None else value_at(body, p, c)
        case ex.Prev(body, j):
            return _step(body, -j, c)
        case ex.Next(body, j):
            return _step(body, j, c)
        case ex.Aggregate(function, body, final, rest):
            R = rows_of(ex.variable_of(e), c, final=final)
            if isinstance(body, ex.AllRows):
                return len(R)
            if rest:
                return of_pairs(function, [[value_at(x, p, c) for x in (body, *rest)] for p in R])
            if function is ex.AggregateFunction.ARRAY_AGG:
                return [value_at(body, p, c) for p in R] or None  # type: ignore[return-value]  # a list
            return aggregate(function, [value_at(body, p, c) for p in R])
        case _:
            return operation(e, lambda operand: value(operand, c))


def navigated_row(e: ex.First | ex.Last, c: Context) -> int | None:
    """Return the row that FIRST or LAST selects; None if the name has too few rows."""
    R = rows_of(ex.variable_of(e.body), c, final=e.final)
    if len(R) <= e.offset:
        return None
    return R[e.offset] if isinstance(e, ex.First) else R[-1 - e.offset]


def _step(body: ex.Expression, j: int, c: Context) -> Value:
    """Return the value of PREV (j < 0) or NEXT (j > 0) of an expression."""
    operand = body
    if isinstance(body, ex.First | ex.Last):
        p, operand = navigated_row(body, c), body.body
    else:
        R = rows_of(ex.variable_of(body), c)
        p = R[-1] if R else None
    if p is None or not 0 <= p + j < len(c.T.rows):
        return None
    return value_at(operand, p + j, c)


def value_at(e: ex.Expression, p: int, c: Context) -> Value:
    """Return the value of an expression whose columns are all read at row p."""
    match e:
        case ex.Literal(constant):
            return constant
        case ex.Column(name):
            return c.T.value(p, name)
        case ex.Classifier():
            return c.m[p - c.s] if 0 <= p - c.s < c.z else None
        case ex.MatchNumber():
            return c.N
        case ex.First() | ex.Last() | ex.Prev() | ex.Next() | ex.Aggregate():
            raise AssertionError("navigation does not nest here: see check_row_pattern")
        case _:
            return operation(e, lambda operand: value_at(operand, p, c))


Operand = Callable[[ex.Expression], Value]
"""The value of an operand, in the context of the operator."""


def order_key(value: Any) -> tuple[bool, Any]:
    """Return the sort key of a value; NaN comes after all numbers."""
    not_a_number = isinstance(value, float) and math.isnan(value)
    return (not_a_number, 0 if not_a_number else value)


def operation(e: ex.Operation, operand: Operand) -> Value:
    """Return the value of an operator or function on values."""
    match e:
        case ex.And(left, right):
            return conjunction((truth(operand(left)), truth(operand(right))))
        case ex.Or(left, right):
            return disjunction((truth(operand(left)), truth(operand(right))))
        case ex.Not(body):
            return negation(truth(operand(body)))
        case ex.Is(body, None):
            return operand(body) is None
        case ex.Is(body, target):
            return operand(body) is target
        case ex.Like(body, pattern):
            return _like(operand(body), operand(pattern))
        case ex.Cast(body, to):
            subject = operand(body)
            return None if subject is None else cast(subject, to)
        case ex.In(body, members):
            return disjunction([equal(operand(body), operand(each)) for each in members])
        case ex.Between(body, low, high):
            at_least = compare(ex.ComparisonOperator.GE, operand(body), operand(low))
            at_most = compare(ex.ComparisonOperator.LE, operand(body), operand(high))
            return conjunction((at_least, at_most))
        case ex.Comparison(operator, left, right):
            return compare(operator, operand(left), operand(right))
        case ex.Negative(body):
            number: Any = operand(body)
            if isinstance(number, Duration):
                return arithmetic(ex.ArithmeticOperator.SUB, Duration(0), number)
            return None if number is None else -number
        case ex.Arithmetic(operator, left, right):
            return arithmetic(operator, operand(left), operand(right))
        case ex.Concatenation(left, right):
            a, b = operand(left), operand(right)
            return a + b if isinstance(a, str) and isinstance(b, str) else None
        case ex.Case():
            return _case(e, operand)
        case ex.Call(function, arguments):
            return _function_value(function, [operand(each) for each in arguments])
        case _:
            assert_never(e)


def _like(text: Value, pattern: Value) -> bool | None:
    """Return whether all of a text matches a pattern with % and _."""
    if not isinstance(text, str) or not isinstance(pattern, str):
        return None
    ends = {0}
    for sign in pattern:
        if sign == "%":
            ends = set(range(min(ends), len(text) + 1)) if ends else ends
        else:
            ends = {n + 1 for n in ends if n < len(text) and sign in ("_", text[n])}
    return len(text) in ends


def truth(value: Value) -> bool | None:
    """Return a value as a truth value; the type check excludes other kinds."""
    return value if isinstance(value, bool) else None


def negation(a: bool | None) -> bool | None:
    """Return NOT of a truth value."""
    return None if a is None else not a


def conjunction(values: Iterable[bool | None]) -> bool | None:
    """Return AND of truth values: FALSE if one is FALSE, otherwise NULL if one is NULL."""
    truths = list(values)
    if False in truths:
        return False
    return None if None in truths else True


def disjunction(values: Iterable[bool | None]) -> bool | None:
    """Return OR of truth values: TRUE if one is TRUE, otherwise NULL if one is NULL."""
    truths = list(values)
    if True in truths:
        return True
    return None if None in truths else False


def equal(a: Value, b: Value) -> bool | None:
    """Return ``a = b``."""
    return compare(ex.ComparisonOperator.EQ, a, b)


def compare(operator: ex.ComparisonOperator, a: Value, b: Value) -> bool | None:
    """Return ``a operator b``; NULL if one side is NULL; numbers compare exactly."""
    if a is None or b is None:
        return None
    x, y = order_key(a), order_key(b)
    match operator:
        case ex.ComparisonOperator.EQ:
            return x == y
        case ex.ComparisonOperator.NE:
            return x != y
        case ex.ComparisonOperator.LT:
            return x < y
        case ex.ComparisonOperator.LE:
            return x <= y
        case ex.ComparisonOperator.GT:
            return x > y
        case ex.ComparisonOperator.GE:
            return x >= y
        case _:
            assert_never(operator)


def arithmetic(operator: ex.ArithmeticOperator, a: Any, b: Any) -> Value:
    """Return ``a operator b`` for numbers, exact for integers.

    ``/`` is a double, NULL by zero; % has a's sign.
    """
    if a is None or b is None:
        return None
    if isinstance(a, Timestamp | Duration) or isinstance(b, Timestamp | Duration):
        return _time_arithmetic(operator.value, a, b)
    result: Value
    try:
        match operator:
            case ex.ArithmeticOperator.ADD:
                result = a + b
            case ex.ArithmeticOperator.SUB:
                result = a - b
            case ex.ArithmeticOperator.MUL:
                result = a * b
            case ex.ArithmeticOperator.DIV:
                result = a / b if b else None
            case ex.ArithmeticOperator.MOD:
                result = _remainder(a, b) if b else None
            case _:
                assert_never(operator)
    except OverflowError:  # an integer beyond the largest double
        return None
    return result


def _time_arithmetic(operator: str, a: Any, b: Any) -> Value:
    """Return ``a operator b`` with timestamps or durations, rounded half to even.

    NULL if a side or the result exceeds 64 bits, for NaN and infinities, and for division by 0.
    """
    sides = [s.nanoseconds if isinstance(s, Timestamp | Duration) else s for s in (a, b)]
    if any(isinstance(n, int) and not -(2**63) <= n < 2**63 for n in sides):
        return None
    if not all(math.isfinite(n) for n in sides) or (operator == "/" and not sides[1]):
        return None
    x, y = map(Fraction, sides)
    match type(a), operator, type(b):
        case (_, "+", _) if Timestamp in (type(a), type(b)):
            return _of_64_bits(Timestamp, x + y)
        case _, "+", _:
            return _of_64_bits(Duration, x + y)
        case _, "-", _ if type(a) is not type(b):
            return _of_64_bits(Timestamp, x - y)
        case _, "-", _:
            return _of_64_bits(Duration, x - y)
        case _, "*", _:
            return _of_64_bits(Duration, x * y)
        case _, "/", _ if type(a) is type(b):
            return float(x / y)
        case _, "/", _:
            return _of_64_bits(Duration, x / y)
        case _:
            raise AssertionError("types are checked before")


def _of_64_bits(kind: type[Timestamp] | type[Duration], exact: Fraction) -> Value:
    nanoseconds = round(exact)  # ties round to even
    return kind(nanoseconds) if -(2**63) <= nanoseconds < 2**63 else None


def _remainder(a: int | float, b: int | float) -> int | float:
    if isinstance(a, int) and isinstance(b, int):
        return abs(a) % abs(b) * (-1 if a < 0 else 1)
    return math.nan if math.isinf(a) else math.fmod(a, b)


def _case(e: ex.Case, operand: Operand) -> Value:
    """Return the result of the first branch that holds, otherwise ELSE, which is NULL if absent."""
    for test, result in e.branches:
        if e.operand is None:
            holds = truth(operand(test))
        else:
            holds = equal(operand(e.operand), operand(test))
        if holds is True:
            return operand(result)
    return None if e.otherwise is None else operand(e.otherwise)


def _function_value(function: str, arguments: Sequence[Any]) -> Value:
    if function == "COALESCE":
        return next((value for value in arguments if value is not None), None)
    if function == "NULLIF":
        return None if equal(*arguments) is True else arguments[0]
    if None in arguments:
        return None
    value: Any = arguments[0]
    values: Mapping[str, Callable[[], Value]] = {
        "ABS": lambda: abs(value),
        "CHAR_LENGTH": lambda: len(value),
        "CONCAT": lambda: "".join(arguments),
        "CAST AS DECIMAL": lambda: decimal(*arguments),
        "EXTRACT EPOCH": lambda: epoch(value),
        "GREATEST": lambda: max(arguments, key=order_key),
        "LEAST": lambda: min(arguments, key=order_key),
        "LN": lambda: logarithm(float(value)),
        "LOWER": lambda: str(value).lower(),
        "LTRIM": lambda: trimmed(*arguments, right=False),
        "MOD": lambda: arithmetic(ex.ArithmeticOperator.MOD, *arguments),
        "POSITION": lambda: arguments[1].find(value) + 1,
        "POWER": lambda: power(*map(float, arguments)),
        "ROUND": lambda: rounded(*arguments),
        "RTRIM": lambda: trimmed(*arguments, left=False),
        "SQRT": lambda: math.sqrt(value) if value >= 0 else math.nan,
        "SUBSTRING": lambda: substring(*arguments),
        "TRIM": lambda: trimmed(*arguments),
        "UPPER": lambda: str(value).upper(),
    }
    if function not in values:
        word, part = function.split()
        return extract(part, value) if word == "EXTRACT" else truncated(part, value)
    try:
        return values[function]()
    except OverflowError:  # an integer beyond the largest double
        return None


def trimmed(
    text: str, characters: str | None = None, *, left: bool = True, right: bool = True
) -> str:
    """Return TRIM of a text; without `characters`, it removes spaces as Unicode defines them."""
    begin, end = 0, len(text)

    def goes(sign: str) -> bool:
        if characters is None:
            return unicodedata.category(sign) == "Zs"
        return sign in characters

    while left and begin < end and goes(text[begin]):
        begin += 1
    while right and begin < end and goes(text[end - 1]):
        end -= 1
    return text[begin:end]


def substring(text: str, start: int, length: int | None = None) -> str | None:
    """Return the characters from place `start` on, counted from the end if it is negative."""
    if any(not -(2**32) <= n < 2**32 for n in (start, length or 0)):
        return None
    first = start if start >= 0 else len(text) + start + 1
    last = len(text) + 1 if length is None else first + length
    low, high = (first, last) if last >= first else (last, first)
    return "".join(sign for place, sign in enumerate(text, 1) if low <= place < high)


def power(x: float, y: float) -> float:
    """Return x to the power of y; infinities and NaN as in IEEE 754."""
    if x == 0 and y < 0:
        is_odd = y % 2 == 1
        return math.copysign(math.inf, x) if is_odd else math.inf
    if x < 0 and math.isfinite(x) and math.isfinite(y) and y != int(y):
        return math.nan
    try:
        return math.pow(x, y)
    except OverflowError:
        return -math.inf if x < 0 and y % 2 == 1 else math.inf


def logarithm(x: float) -> float:
    """Return the natural logarithm."""
    if x == 0:
        return -math.inf
    return math.log(x) if x > 0 else math.nan


def decimal(value: bool | float | str, digits: int, places: int) -> float | None:
    """Return the double nearest to a decimal; NULL if it needs more digits.

    Ties round away from 0: for a text by its own digits, for a number by its product in doubles.
    """
    if not 0 <= places <= digits <= 15:
        return None
    if isinstance(value, str):
        text = value.strip(" \t\n\r\v\f")
        if not _NUMBER.fullmatch(text) or (Decimal(text) and Decimal(text).adjusted() > 40):
            return None
        exact = Fraction(Decimal(text).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP))
    else:
        product = float(value) * 10**places
        if not math.isfinite(product):
            return None
        exact = Fraction(_nearest(product)) / 10**places
    return float(exact) if abs(exact) < 10 ** (digits - places) else None


def extract(part: str, time: Timestamp | Duration) -> int | float:
    """Return ``EXTRACT(part FROM time)``, computed by Python's calendar."""
    n = time.nanoseconds
    if isinstance(time, Duration):
        seconds = Fraction(abs(n), 10**9)
        whole: Mapping[str, Fraction] = {
            "DAY": seconds / 86_400,
            "HOUR": seconds % 86_400 / 3_600,
            "MINUTE": seconds % 3_600 / 60,
            "SECOND": seconds % 60,
            "MILLISECOND": seconds % 60 * 1_000,
            "MICROSECOND": seconds % 60 * 1_000_000,
        }
        return int(whole[part]) * (1 if n >= 0 else -1)
    days, rest = divmod(n, UNITS["DAY"])
    day = _EPOCH + timedelta(days)
    iso_year, week, weekday = day.isocalendar()
    parts: Mapping[str, int | float] = {
        "ERA": 1,  # Python's first year is 1
        "MILLENNIUM": math.ceil(day.year / 1000),
        "CENTURY": math.ceil(day.year / 100),
        "DECADE": day.year // 10,
        "YEAR": day.year,
        "ISOYEAR": iso_year,
        "QUARTER": math.ceil(day.month / 3),
        "MONTH": day.month,
        "WEEK": week,
        "YEARWEEK": iso_year * 100 + week,
        "DAY": day.day,
        "DOW": weekday % 7,
        "ISODOW": weekday,
        "DOY": day.timetuple().tm_yday,
        "JULIAN": days + 2_440_588 + rest / UNITS["DAY"],
        "HOUR": rest // UNITS["HOUR"],
        "MINUTE": rest // UNITS["MINUTE"] % 60,
        "SECOND": rest // UNITS["SECOND"] % 60,
        "MILLISECOND": rest // 10**6 % 60_000,
        "MICROSECOND": rest // 10**3 % 60_000_000,
    }
    return parts[part]


_EPOCH = date(1970, 1, 1)

_LENGTHS = {**UNITS, "MICROSECOND": 10**3}

_YEARS = {"YEAR": 1, "DECADE": 10, "CENTURY": 100, "MILLENNIUM": 1000}


def truncated(unit: str, moment: Timestamp) -> Value:
    """Return ``DATE_TRUNC(unit, time)``; NULL if it exceeds 64 bits of nanoseconds."""
    n = moment.nanoseconds
    if unit in _LENGTHS:
        return _of_64_bits(Timestamp, Fraction(n // _LENGTHS[unit] * _LENGTHS[unit]))
    day = _EPOCH + timedelta(n // UNITS["DAY"])
    if unit in _YEARS:
        year = day.year // _YEARS[unit] * _YEARS[unit]
        # the year 0 exceeds 64 bits of nanoseconds
        first = date(max(year, 1), 1, 1)
    elif unit == "ISOYEAR":
        first = date.fromisocalendar(day.isocalendar().year, 1, 1)
    elif unit == "WEEK":
        first = date.fromisocalendar(*day.isocalendar()[:2], 1)
    else:
        first = day.replace(month=day.month if unit == "MONTH" else (day.month - 1) // 3 * 3 + 1)
        first = first.replace(day=1)
    return _of_64_bits(Timestamp, Fraction((first - _EPOCH).days * UNITS["DAY"]))


def aggregate(function: ex.AggregateFunction, values: Sequence[Any]) -> Value:
    """Return an aggregate of values, ignoring NULL.

    Without values, COUNT is 0 and the others are NULL.
    """
    present = [value for value in values if value is not None]
    if function is ex.AggregateFunction.COUNT:
        return len(present)
    if function is ex.AggregateFunction.COUNT_DISTINCT:
        return len(set(map(order_key, present)))
    if not present:
        return None
    match function:
        case ex.AggregateFunction.SUM:
            return total(present)  # type: ignore[no-any-return]  # a value
        case ex.AggregateFunction.AVG if isinstance(present[0], Duration):
            return Duration(round(Fraction(total(present).nanoseconds, len(present))))
        case ex.AggregateFunction.AVG:
            return arithmetic(ex.ArithmeticOperator.DIV, total(present), len(present))
        case ex.AggregateFunction.MIN:
            return min(present, key=order_key)  # type: ignore[no-any-return]  # a value
        case ex.AggregateFunction.MAX:
            return max(present, key=order_key)  # type: ignore[no-any-return]  # a value
        case ex.AggregateFunction.STDDEV | ex.AggregateFunction.VARIANCE:
            variance = spread(present, 1)
        case ex.AggregateFunction.STDDEV_POP | ex.AggregateFunction.VAR_POP:
            variance = spread(present, 0)
        case _:
            raise AssertionError("aggregates of pairs and lists have no single values")
    if variance is None or "VAR" in function.value:
        return variance
    return math.sqrt(variance)


def spread(numbers: Sequence[float], less: int) -> float | None:
    """Return the variance over n - `less`, by Welford's recurrence.

    In doubles, as in DuckDB: infinities and NaN pass through; for one value it is 0 or NULL.
    """
    if len(numbers) == 1:
        return None if less else 0.0
    mean = squares = 0.0
    for n, number in enumerate(map(_double, numbers), 1):
        # the distance of an integer beyond the largest double is NaN
        before = (math.nan if number is None else number) - mean
        mean += before / n
        squares += before * ((math.nan if number is None else number) - mean)
    return squares / (len(numbers) - less)


def of_pairs(function: ex.AggregateFunction, pairs: Sequence[Sequence[Any]]) -> Value:
    """Return MAX_BY, MIN_BY or LISTAGG, ignoring rows where a value is NULL."""
    present = [pair for pair in pairs if None not in pair]
    if not present:
        return None
    if function is ex.AggregateFunction.LISTAGG:
        return str(present[0][1]).join(text for text, _ in present)
    best = max if function is ex.AggregateFunction.MAX_BY else min
    # ties: the first row
    return best(present, key=lambda pair: order_key(pair[1]))[0]  # type: ignore[no-any-return]  # a value


def total(numbers: Sequence[Any]) -> Any:
    """Return a sum: exact for integers and durations, correctly rounded for doubles."""
    if isinstance(numbers[0], Duration):
        return Duration(sum(each.nanoseconds for each in numbers))
    if all(isinstance(number, int) for number in numbers):
        return int(sum(numbers))
    try:
        return math.fsum(numbers)
    except (OverflowError, ValueError):  # infinite values, or a sum that overflows
        return sum(map(float, numbers))


_DIGITS = r"\d(?:_?\d)*"
_NUMBER = re.compile(
    rf"[+-]?(?:{_DIGITS}\.?(?:{_DIGITS})?|\.{_DIGITS})(?:[eE][+-]?\d{{1,5}})?", re.ASCII
)
_BITS = {CastType.INTEGER: 32, CastType.BIGINT: 64}


def cast(value: Any, to: CastType) -> Value:
    """Return a value converted to a type; NULL if that is impossible.

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
            if moment is None or not is_in_calendar(moment.nanoseconds):
                return None
            day = UNITS["DAY"] if to is CastType.DATE else 1
            return Timestamp(moment.nanoseconds // day * day)


def _whole(value: bool | float | str) -> int | None:
    """Return the nearest integer; ties go to the even one, but away from 0 for texts."""
    if isinstance(value, str):
        text = value.strip(" \t\n\r\v\f")
        if re.fullmatch(r"0[xX][0-9a-fA-F]+", text):
            return int(text, 16)
        if not _NUMBER.fullmatch(text):
            return None
        number = Decimal(text)
        # exceeds 64 bits; `int` would allocate as many digits as the exponent says
        if number and number.adjusted() > 40:
            return None
        return int(number.to_integral_value(ROUND_HALF_UP))  # away from 0
    return round(value) if math.isfinite(value) else None


def _double(value: bool | float | str) -> float | None:
    try:
        # float() also accepts digits of other scripts, which SQL does not
        return float(value) if not isinstance(value, str) or value.isascii() else None
    except ValueError:
        return None
    except OverflowError:  # an integer beyond the largest double
        return None


def rounded(x: int | float, places: int = 0) -> int | float:
    """Return ``ROUND(x, places)``; ties round away from 0.

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
    # floor(x + 0.5) would be 1 for 0.49999999999999994
    whole = math.copysign(math.floor(abs(x)), x)
    return whole + math.copysign(1.0, x) if abs(x - whole) >= 0.5 else whole


def epoch(value: Timestamp | Duration) -> float:
    """Return a duration, or a timestamp since 1970, in seconds as the nearest double."""
    return value.nanoseconds / 10**9
