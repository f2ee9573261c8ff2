"""The operators and functions of row expressions, one row for each.

A row has the number of arguments, the type rule, the scalar form, the column form with its domain,
and the opcode of the stack machine. The builder, the types, the interpreter, the columns and the
compiler read it. The oracle (`cerlab.rows.expression_semantics`) shares nothing with it.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Sequence
from enum import Enum
from functools import lru_cache, partial, reduce
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, assert_never

from cerlab.budget import poll
from cerlab.model.event import UNITS, Duration, Timestamp, is_in_calendar, moment_of_text
from cerlab.predicates import syntax as pred
from cerlab.predicates.truth import compute, kind_of_result, negate
from cerlab.rows import expressions as ex

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.compute as pc
else:

    class _Arrow:
        """pyarrow or its functions, loaded at the first use: a text is read and bound without."""

        def __getattr__(self, name: str) -> Any:
            import pyarrow.compute

            value = getattr(pyarrow.compute if self is pc else pyarrow, name)
            setattr(self, name, value)
            return value

    pa, pc = _Arrow(), _Arrow()


# -- types -------------------------------------------------------------------------------------


class Kind(Enum):
    """The kind of an expression's values; `OTHER` columns are passed through and never read."""

    BOOLEAN = "boolean"
    INTEGER = "integer"
    DOUBLE = "double"
    TEXT = "text"
    MOMENT = "moment"
    DURATION = "duration"
    NULL = "NULL"
    OTHER = "no scalar"


class WrongKind(Exception):
    """An argument has a kind that is not accepted; `at` is its index, None for all of them."""

    def __init__(self, at: int | None, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.at, self.message, self.hint = at, message, hint


TypeRule: TypeAlias = Callable[[str, Sequence[Kind]], Kind]
"""The kind of the result, by the function's name and the arguments' kinds; raises `WrongKind`."""

NUMBERS = (Kind.INTEGER, Kind.DOUBLE, Kind.NULL)

TIMES = (Kind.MOMENT, Kind.DURATION)

_NAMES = {Kind.MOMENT: "timestamp", Kind.DURATION: "duration"}
_NAMES |= {Kind.INTEGER: "number", Kind.DOUBLE: "number"}
"""Kinds as `cerlab.predicates.truth` names them."""

_KINDS = {"timestamp": Kind.MOMENT, "duration": Kind.DURATION, "number": Kind.DOUBLE, None: None}

_LITERALS = {Kind.MOMENT: "TIMESTAMP '2024-01-31 10:00'", Kind.DURATION: "INTERVAL '5' SECOND"}
"""A literal of each kind, for hints."""


def accepting(noun: str, *accepted: tuple[Kind, ...], result: Kind | None = None) -> TypeRule:
    """Return the rule that each argument has an accepted kind.

    The last of `accepted` is that of all further arguments. The result has the kind of the first
    argument unless `result` is given.
    """

    def rule(name: str, kinds: Sequence[Kind]) -> Kind:
        for i, kind in enumerate(kinds):
            if kind not in accepted[min(i, len(accepted) - 1)]:
                raise WrongKind(i, f"{name} expects {noun}, got {kind.value}")
        return kinds[0] if result is None else result

    return rule


def _check_comparable(at: int, left: Kind, right: Kind) -> None:
    both = {left, right} - {Kind.NULL}
    if len(both) > 1 and both != {Kind.INTEGER, Kind.DOUBLE}:
        kind_names = " and ".join(sorted(kind.value for kind in both))
        literals = [_LITERALS[kind] for kind in both if kind in _LITERALS]
        hint = f"write {literals[0]}" if literals else "compare values of one kind"
        raise WrongKind(at, f"{kind_names} do not compare", hint)


def comparable(name: str, kinds: Sequence[Kind]) -> Kind:
    """Accept values that compare with the first; the result is a truth value."""
    for i, kind in enumerate(kinds):
        _check_comparable(i, kinds[0], kind)
    return Kind.BOOLEAN


def common(name: str, kinds: Sequence[Kind]) -> Kind:
    """Accept values that compare with each other; numbers of both kinds make a double."""
    for i, kind in enumerate(kinds):
        for before in kinds[:i]:
            _check_comparable(i, before, kind)
    present = set(kinds) - {Kind.NULL}
    return Kind.DOUBLE if Kind.DOUBLE in present else next(iter(present), Kind.NULL)


def _kind_of_first(name: str, kinds: Sequence[Kind]) -> Kind:
    """Accept values that compare with the first, and return its kind."""
    comparable(name, kinds)
    return kinds[0]


def _number(name: str, kinds: Sequence[Kind]) -> Kind:
    accepting("numbers", NUMBERS)(name, kinds)
    return Kind.DOUBLE if name == "/" or Kind.DOUBLE in kinds else Kind.INTEGER


def _number_or_time(name: str, kinds: Sequence[Kind]) -> Kind:
    if not set(kinds) & set(TIMES):
        return _number(name, kinds)
    if Kind.NULL in kinds:
        return Kind.NULL
    result = _KINDS[kind_of_result(pred.Arithmetic(name), *map(_NAMES.get, kinds))]
    if result is None:
        hint = "a moment and a duration, INTERVAL '30' MINUTE, give a moment"
        what = " and ".join(kind.value for kind in kinds)
        raise WrongKind(None, f"{name} does not take {what}", hint)
    return result


# -- scalar forms ------------------------------------------------------------------------------

Scalar: TypeAlias = Callable[..., Any]


def strict(function: Scalar) -> Scalar:
    """Return the function with NULL for NULL arguments, and for numbers beyond all doubles."""

    def of_values(*arguments: Any) -> Any:
        if None in arguments:
            return None
        try:
            return function(*arguments)
        except (OverflowError, ZeroDivisionError):
            return None

    return of_values


def _compared(compare: Callable[[Any, Any], bool]) -> Scalar:
    """Return a comparison; NaN equals itself and is greater than every number."""

    def test(a: Any, b: Any) -> bool | None:
        if a is None or b is None:
            return None
        if a != a or b != b:  # a NaN
            return compare(a != a, b != b)
        return compare(a, b)

    return test


equal, below, above = map(_compared, (operator.eq, operator.lt, operator.gt))
at_least, at_most = map(_compared, (operator.ge, operator.le))


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


def _computed(sign: str, function: Scalar) -> Scalar:
    """Return an operator of numbers, which also takes moments and durations."""
    of_numbers, of_times = strict(function), pred.Arithmetic(sign)

    def of_values(a: Any, b: Any) -> Any:
        try:
            return of_numbers(a, b)
        except TypeError:  # moments and durations have no operators of Python
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


def _negative(a: Any) -> Any:
    return negate(a) if isinstance(a, Duration) else -a


def _is_like(text: str, pattern: str) -> bool:
    return _like_regex(pattern).fullmatch(text) is not None


@lru_cache(maxsize=1024)
def _like_regex(pattern: str) -> re.Pattern[str]:
    signs = {"%": ".*", "_": "."}
    return re.compile("".join(signs.get(c) or re.escape(c) for c in pattern), re.DOTALL)


def _coalesce(*values: Any) -> Any:
    for value in values:
        if value is not None:
            return value
    return None


def _null_if(a: Any, b: Any) -> Any:
    return None if equal(a, b) else a


def _best(better: Scalar, *values: Any) -> Any:
    # of equal values the first: 1 and 1.0 are equal, and not the same text
    return reduce(lambda best, value: value if better(value, best) else best, values)


def rounded(x: Any, places: int = 0) -> Any:
    """Return ``ROUND(x, places)``: half away from 0, of doubles by doubles.

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
    """Return the integer nearest to a decimal or hexadecimal text, half away from 0."""
    text = text.strip(" \t\n\r\v\f")
    if re.fullmatch(r"0[xX][0-9a-fA-F]+", text):
        return int(text, 16)
    if (number := _DECIMAL.fullmatch(text)) is None:
        return None
    sign, whole, fraction, exponent = number.groups("")
    whole, fraction = whole.replace("_", ""), fraction.replace("_", "")
    figures = (whole + fraction).lstrip("0")
    # figures before the decimal point, which the exponent moves
    before = len(figures) - len(fraction) + int(exponent or 0)
    if not figures or before < 0:
        return 0
    if before > 40:  # beyond 64 bits
        return None
    nearest = int(figures[:before].ljust(before, "0") or "0")
    nearest += figures[before : before + 1] >= "5"
    return -nearest if sign == "-" else nearest


def _to_integer(bits: int, value: Any) -> int | None:
    if isinstance(value, str):
        whole = _nearest_integer(value)
    else:  # of two as near the even one; NaN and infinities have none
        whole = round(value) if value - value == 0 else None
    return whole if whole is not None and -(1 << bits - 1) <= whole < 1 << bits - 1 else None


def _to_double(value: Any) -> float | None:
    if isinstance(value, str) and not value.isascii():
        return None  # Python reads the digits of every script
    try:
        return float(value)
    except ValueError:
        return None


def _to_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _to_moment(unit: int, value: Any) -> Timestamp | None:
    moment = moment_of_text(value) if isinstance(value, str) else value
    if moment is None or not is_in_calendar(moment.nanoseconds):
        return None
    return Timestamp(moment.nanoseconds - moment.nanoseconds % unit)


# -- column forms and their domains ------------------------------------------------------------

Values: TypeAlias = Any
"""A pyarrow Array, or a Scalar for a value that all rows share."""

WHOLE = 1 << 53
"""Integers up to here are doubles exactly."""


class NotColumnar(Exception):
    """Arrow has no exact form of an expression on these columns."""


Domain: TypeAlias = Callable[..., Any]
"""The rows where a column form is exact: True for all, False for none, or a mask.

A mask may be NULL where an argument is.
"""


def everywhere(*arguments: Values) -> bool:
    """Return True: the column form is exact at every row."""
    return True


def _all(*masks: Any) -> Any:
    """Return the rows where all masks hold; True or False if that is so for all rows."""
    rows = []
    for mask in masks:
        if isinstance(mask, bool | pa.Scalar):
            if (mask if isinstance(mask, bool) else mask.as_py()) is False:
                return False
        elif pc.all(mask).as_py() is False:
            rows.append(mask)
    return reduce(_kernel("and_"), rows) if rows else True


def _up_to(most: int | float, values: Values) -> Any:
    """Return where the magnitude of numbers is at most `most`; NaN has none."""
    return pc.and_(pc.less_equal(values, most), pc.greater_equal(values, -most))


def _whole(*arguments: Values) -> Any:
    """Return where integers are doubles exactly."""
    return _all(*(_up_to(WHOLE, a) for a in arguments if pa.types.is_int64(a.type)))


def _ordered(*arguments: Values) -> Any:
    """Return where Arrow compares as SQL does: no NaN, and integers that are doubles exactly."""
    doubles = [a for a in arguments if pa.types.is_float64(a.type)]
    exact = True if len(doubles) in (0, len(arguments)) else _whole(*arguments)
    return _all(exact, *map(_not_nan, doubles))


def _not_nan(values: Values) -> Any:
    if isinstance(values, pa.Scalar):
        return not pc.is_nan(values).as_py()
    nan = pc.is_nan(values)
    return pc.invert(nan) if pc.any(nan).as_py() else True


def _ascii(text: Values) -> Any:
    # Arrow's letters are not quite Python's; there is no kernel for scalars
    return not isinstance(text, pa.Scalar) and _all(pc.string_is_ascii(text))


def _like_alike(text: Values, pattern: Values) -> bool:
    """Return whether the pattern is one text without Arrow's escape character."""
    return isinstance(pattern, pa.Scalar) and "\\" not in (pattern.as_py() or "\\")


def _integers(*arguments: Values) -> bool:
    return all(pa.types.is_int64(a.type) for a in arguments)


def _moderate(x: Values, places: Values = None) -> Any:
    """Return where the power of ten is one exact double, and no product leaves the doubles."""
    n = 0 if places is None else places.as_py() if isinstance(places, pa.Scalar) else None
    if pa.types.is_int64(x.type):
        return n is not None and n >= 0
    return n is not None and 0 <= n <= 22 and _all(_up_to(1e200, x))


def _castable(most: int, x: Values) -> Any:
    """Return where a number is in the range of an integer type, and of exact doubles."""
    return not pa.types.is_large_string(x.type) and (
        pa.types.is_boolean(x.type) or _all(_up_to(min(most, WHOLE), x))
    )


def _no_text(x: Values) -> bool:
    return not pa.types.is_large_string(x.type)


def _no_double(x: Values) -> bool:
    return not pa.types.is_float64(x.type)


def _kernel(name: str) -> Callable[..., Values]:
    """Return a function of Arrow, which is loaded when columns come."""
    return lambda *arguments: getattr(pc, name)(*arguments)


def _as_doubles(function: Callable[[Values, Values], Values]) -> Callable[..., Values]:
    """Return the function with doubles for integers, where these meet doubles."""

    def of_columns(a: Values, b: Values) -> Values:
        if a.type != b.type:
            a, b = (_cast_column("float64", x) if _integers(x) else x for x in (a, b))
        return function(a, b)

    return of_columns


def _not_zero(values: Values) -> Values:
    return pc.if_else(pc.equal(values, 0), pa.scalar(None, values.type), values)


def _quotient_column(a: Values, b: Values) -> Values:
    return pc.divide(_cast_column("float64", a), _not_zero(_cast_column("float64", b)))


def _remainder_column(a: Values, b: Values) -> Values:
    # Arrow's integer division truncates toward zero, as SQL's remainder wants
    divisor = _not_zero(b)
    return pc.subtract_checked(a, pc.multiply_checked(pc.divide_checked(a, divisor), divisor))


def same_type(values: Sequence[Values]) -> Any:
    """Return the Arrow type that results have in common; raises `NotColumnar` if they differ."""
    types = {each.type for each in values}
    if len(types) > 1:  # an integer beside doubles stays an integer: its text differs
        raise NotColumnar
    return types.pop()


def _coalesce_column(*values: Values) -> Values:
    same_type(values)
    return pc.coalesce(*values)


def _null_if_column(a: Values, b: Values) -> Values:
    return pc.if_else(pc.fill_null(values_over("=", a, b), False), pa.scalar(None, a.type), a)


def _like_column(text: Values, pattern: Values) -> Values:
    return pc.match_like(text, pattern.as_py())


def _joined(*texts: Values) -> Values:
    return pc.binary_join_element_wise(*texts, pa.scalar("", "large_string"))


def _best_column(sign: str, *values: Values) -> Values:
    same_type(values)
    return reduce(lambda best, v: pc.if_else(values_over(sign, v, best), v, best), values)


def _round_column(x: Values, places: Values = None) -> Values:
    if pa.types.is_int64(x.type):
        return x
    tens = 1.0 if places is None else 10.0 ** places.as_py()
    shifted = pc.multiply(x, tens)
    whole = pc.trunc(shifted)
    half = pc.greater_equal(pc.abs(pc.subtract(shifted, whole)), 0.5)
    # plus -0.0 leaves either zero as it is
    return pc.divide(pc.add(whole, pc.if_else(half, pc.sign(shifted), -0.0)), tens)


def _cast_column(kind: str, x: Values) -> Values:
    if kind == "int64" and pa.types.is_float64(x.type):
        x = pc.round(x, round_mode="half_to_even")
    return pc.cast(x, kind, safe=False)


# -- the library -------------------------------------------------------------------------------


class Function(NamedTuple):
    """A function or operator."""

    least: int
    """The least number of arguments."""
    most: int | None
    """The greatest number of arguments, None for any."""
    type: TypeRule
    scalar: Scalar
    column: Callable[..., Values] | None = None
    domain: Domain = everywhere
    """The rows where the column form has the values of the scalar form."""
    opcode: str | None = None
    """The name of the operator in `cerlab.rows.value_kernels`."""
    is_strict: bool = True
    """True if the result is NULL wherever an argument is."""


def _comparison(scalar: Scalar, kernel: str, opcode: str) -> Function:
    form = _as_doubles(_kernel(kernel))
    return Function(2, 2, comparable, scalar, form, _ordered, opcode)


def _arithmetic(
    sign: str,
    scalar: Scalar,
    form: Callable[..., Values],
    opcode: str,
    domain: Domain = everywhere,
) -> Function:
    scalar = _computed(sign, scalar)
    return Function(2, 2, _number_or_time, scalar, _as_doubles(form), domain, opcode)


def _of_number(accepted: tuple[Kind, ...], scalar: Scalar, kernel: str, opcode: str) -> Function:
    rule = accepting(" or a ".join(["a number", "duration"][: len(accepted) - 2]), accepted)
    return Function(1, 1, rule, strict(scalar), _kernel(kernel), everywhere, opcode)


def _logical(count: int, scalar: Scalar, kernel: str, opcode: str) -> Function:
    rule = accepting("truth values", (Kind.BOOLEAN, Kind.NULL), result=Kind.BOOLEAN)
    form = _kernel(kernel)
    return Function(count, count, rule, scalar, form, everywhere, opcode, count == 1)


def _of_texts(
    scalar: Scalar,
    form: Callable[..., Values],
    domain: Domain = everywhere,
    *,
    count: int = 1,
    most: int | None = 1,
    result: Kind = Kind.TEXT,
) -> Function:
    rule = accepting("a text", (Kind.TEXT, Kind.NULL), result=result)
    return Function(count, most, rule, strict(scalar), form, domain)


def _cast(
    result: Kind, scalar: Scalar, kind: str | None = None, domain: Domain = everywhere
) -> Function:
    rule = accepting(
        "a number, a truth value or a text", (*NUMBERS, Kind.BOOLEAN, Kind.TEXT), result=result
    )
    if result is Kind.MOMENT:
        rule = accepting("a text or a moment", (Kind.TEXT, Kind.MOMENT, Kind.NULL), result=result)
    form = None if kind is None else partial(_cast_column, kind)
    return Function(1, 1, rule, strict(scalar), form, domain)


FUNCTIONS: dict[str, Function] = {
    "ABS": _of_number(NUMBERS, abs, "abs_checked", "ABSOLUTE"),
    "CHAR_LENGTH": _of_texts(
        len, lambda a: pc.cast(pc.utf8_length(a), "int64"), result=Kind.INTEGER
    ),
    "COALESCE": Function(
        1, None, common, _coalesce, _coalesce_column, everywhere, "COALESCE", False
    ),
    "CONCAT": _of_texts(lambda *texts: "".join(texts), _joined, most=None),
    "GREATEST": Function(
        1, None, common, strict(partial(_best, above)), partial(_best_column, ">")
    ),
    "LEAST": Function(1, None, common, strict(partial(_best, below)), partial(_best_column, "<")),
    "LOWER": _of_texts(str.lower, _kernel("ascii_lower"), _ascii),
    "MOD": Function(2, 2, _number, _computed("%", remainder), _remainder_column, _integers, "MOD"),
    "NULLIF": Function(
        2, 2, _kind_of_first, _null_if, _null_if_column, everywhere, "NULL_IF", False
    ),
    "ROUND": Function(
        *(1, 2, accepting("a number, and a number of places", NUMBERS, (Kind.INTEGER, Kind.NULL))),
        *(strict(rounded), _round_column, _moderate),
    ),
    "UPPER": _of_texts(str.upper, _kernel("ascii_upper"), _ascii),
}
"""The functions that are called by name."""

ALIASES = {"LENGTH": "CHAR_LENGTH", "CHARACTER_LENGTH": "CHAR_LENGTH"}

LIBRARY: dict[str, Function] = FUNCTIONS | {
    "=": _comparison(equal, "equal", "EQ"),
    "<>": _comparison(_compared(operator.ne), "not_equal", "NE"),
    "<": _comparison(below, "less", "LT"),
    "<=": _comparison(at_most, "less_equal", "LE"),
    ">": _comparison(above, "greater", "GT"),
    ">=": _comparison(at_least, "greater_equal", "GE"),
    "+": _arithmetic("+", operator.add, _kernel("add_checked"), "ADD"),
    "-": _arithmetic("-", operator.sub, _kernel("subtract_checked"), "SUB"),
    "*": _arithmetic("*", operator.mul, _kernel("multiply_checked"), "MUL"),
    "/": _arithmetic("/", operator.truediv, _quotient_column, "DIV", _whole),
    "%": _arithmetic("%", remainder, _remainder_column, "MOD", _integers),
    "-x": _of_number((*NUMBERS, Kind.DURATION), _negative, "negate_checked", "NEGATE"),
    "||": _of_texts(operator.add, _joined, count=2, most=2),
    "LIKE": _of_texts(_is_like, _like_column, _like_alike, count=2, most=2, result=Kind.BOOLEAN),
    "AND": _logical(2, conjunction, "and_kleene", "AND"),
    "OR": _logical(2, disjunction, "or_kleene", "OR"),
    "NOT": _logical(1, strict(operator.not_), "invert", "NOT"),
    "EPOCH": Function(
        *(1, 1, accepting("a moment or a duration", (*TIMES, Kind.NULL), result=Kind.DOUBLE)),
        strict(lambda time: time.nanoseconds / 10**9),
    ),
    "CAST AS INTEGER": _cast(
        Kind.INTEGER, partial(_to_integer, 32), "int64", partial(_castable, 2**31 - 1)
    ),
    "CAST AS BIGINT": _cast(
        Kind.INTEGER, partial(_to_integer, 64), "int64", partial(_castable, WHOLE)
    ),
    "CAST AS DOUBLE": _cast(Kind.DOUBLE, _to_double, "float64", _no_text),
    "CAST AS VARCHAR": _cast(Kind.TEXT, _to_text, "large_string", _no_double),
    "CAST AS TIMESTAMP": _cast(Kind.MOMENT, partial(_to_moment, 1)),
    "CAST AS DATE": _cast(Kind.MOMENT, partial(_to_moment, UNITS["DAY"])),
}
"""All operators and functions, by the name that `application` gives."""


def application(e: ex.Application) -> tuple[str, tuple[ex.Expression, ...]]:
    """Return the name in the library of an operator or function, and its arguments."""
    match e:
        case ex.Call(name, arguments):
            return name, arguments
        case ex.Arithmetic(sign, left, right) | ex.Comparison(sign, left, right):
            return sign.value, (left, right)
        case ex.Concatenation(left, right):
            return "||", (left, right)
        case ex.And(left, right) | ex.Or(left, right) | ex.Like(left, right):
            return type(e).__name__.upper(), (left, right)
        case ex.Not(body):
            return "NOT", (body,)
        case ex.Negative(body):
            return "-x", (body,)
        case ex.Cast(body, to):
            return f"CAST AS {to.value}", (body,)
        case _:
            assert_never(e)


# -- values of columns -------------------------------------------------------------------------

BLOCK = 1 << 16
"""Rows whose Python values are in memory together."""


def values_over(name: str, *arguments: Values) -> Values:
    """Return a function's values on columns.

    The column form computes the rows of its domain, the scalar form the others. Raises
    `NotColumnar`, or an error of Arrow, where no column holds the result.
    """
    function = LIBRARY[name]
    inside = function.column is not None and function.domain(*arguments)
    if inside is True:
        assert function.column is not None
        return function.column(*arguments)
    try:
        kind = function.type(name, [_KIND_OF.get(str(a.type), Kind.OTHER) for a in arguments])
    except WrongKind:  # integers that stand for moments or durations
        raise NotColumnar from None
    arrow_type = _ARROW_TYPES.get(kind)
    if arrow_type is None:
        raise NotColumnar
    if inside is False:
        return _by_value(function, arguments, arrow_type)
    outside = pc.invert(pc.fill_null(inside, True))
    nulls = [
        a if isinstance(a, pa.Scalar) else pc.if_else(outside, pa.scalar(None, a.type), a)
        for a in arguments
    ]
    rest = [a if isinstance(a, pa.Scalar) else a.filter(outside) for a in arguments]
    assert function.column is not None
    values = pc.cast(function.column(*nulls), arrow_type)
    return pc.replace_with_mask(values, outside, _by_value(function, rest, arrow_type))


_ARROW_TYPES = {
    Kind.BOOLEAN: "bool",
    Kind.INTEGER: "int64",
    Kind.DOUBLE: "double",
    Kind.TEXT: "large_string",
    Kind.NULL: "null",
}

_KIND_OF = {arrow_type: kind for kind, arrow_type in _ARROW_TYPES.items()}


def _by_value(function: Function, arguments: Sequence[Values], arrow_type: str) -> Values:
    """Return the values of the scalar form."""
    kind = pa.type_for_alias(arrow_type)
    arrays = [a for a in arguments if not isinstance(a, pa.Scalar)]
    if not arrays:
        return pa.scalar(function.scalar(*(a.as_py() for a in arguments)), kind)
    if len(arrays) == 1 and function.is_strict and pa.types.is_large_string(arrays[0].type):
        # equal texts are computed once
        codes = arrays[0].dictionary_encode()
        if 2 * len(codes.dictionary) < len(codes):
            distinct = [codes.dictionary if a is arrays[0] else a for a in arguments]
            return _by_value(function, distinct, arrow_type).take(codes.indices)
    parts = []
    for begin in range(0, len(arrays[0]), BLOCK):
        poll()
        length = min(BLOCK, len(arrays[0]) - begin)
        columns = [
            [a.as_py()] * length if isinstance(a, pa.Scalar) else a.slice(begin, length).to_pylist()
            for a in arguments
        ]
        parts.append(pa.array(list(map(function.scalar, *columns)), kind))
    return pa.concat_arrays(parts) if parts else pa.array([], kind)
