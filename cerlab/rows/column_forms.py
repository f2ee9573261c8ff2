"""Operators and functions of row expressions on Arrow columns, and where these are exact."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.compute as pc
else:

    class _Arrow:
        """The module pyarrow or pyarrow.compute, imported at first use."""

        def __getattr__(self, name: str) -> Any:
            import pyarrow.compute

            value = getattr(pyarrow.compute if self is pc else pyarrow, name)
            setattr(self, name, value)
            return value

    pa, pc = _Arrow(), _Arrow()


Values: TypeAlias = Any
"""A pyarrow Array, or a Scalar for a value that all rows share."""

WHOLE = 1 << 53
"""The limit below which every integer is exactly a double."""


class NotColumnar(Exception):
    """Error: Arrow cannot compute an expression exactly on these columns."""


Domain: TypeAlias = Callable[..., Any]
"""The test of rows where a column form is exact: True for all, False for none, or a mask.

The mask may be NULL where an argument is NULL.
"""


def everywhere(*arguments: Values) -> bool:
    """Return True: the column form is exact at every row."""
    return True


def _all(*masks: Any) -> Any:
    """Return the conjunction of masks and Booleans; a Boolean if it is equal for all rows."""
    rows = []
    for mask in masks:
        if isinstance(mask, bool | pa.Scalar):
            if (mask if isinstance(mask, bool) else mask.as_py()) is False:
                return False
        elif pc.all(mask).as_py() is False:
            rows.append(mask)
    return reduce(kernel("and_"), rows) if rows else True


def _up_to(most: int | float, values: Values) -> Any:
    """Return where numbers have a magnitude of at most `most`; false for NaN."""
    return pc.and_(pc.less_equal(values, most), pc.greater_equal(values, -most))


def whole(*arguments: Values) -> Any:
    """Return where integer arguments are exact as doubles."""
    return _all(*(_up_to(WHOLE, a) for a in arguments if pa.types.is_int64(a.type)))


def ordered(*arguments: Values) -> Any:
    """Return where Arrow's order is SQL's: no NaN, and integers that are exact as doubles."""
    doubles = [a for a in arguments if pa.types.is_float64(a.type)]
    exact = True if len(doubles) in (0, len(arguments)) else whole(*arguments)
    return _all(exact, *map(_not_nan, doubles))


def _not_nan(values: Values) -> Any:
    if isinstance(values, pa.Scalar):
        return not pc.is_nan(values).as_py()
    nan = pc.is_nan(values)
    return pc.invert(nan) if pc.any(nan).as_py() else True


def is_ascii(text: Values) -> Any:
    """Return where texts are ASCII."""
    # Arrow and Python differ on letters beyond ASCII; the kernel accepts no scalars
    return not isinstance(text, pa.Scalar) and _all(pc.string_is_ascii(text))


def like_alike(text: Values, pattern: Values) -> bool:
    """Return whether the pattern is one text without backslashes, Arrow's escape character."""
    return isinstance(pattern, pa.Scalar) and "\\" not in (pattern.as_py() or "\\")


def integers(*arguments: Values) -> bool:
    """Return whether all columns contain integers."""
    return all(pa.types.is_int64(a.type) for a in arguments)


def after(least: int) -> Domain:
    """Return a function that tests where integers are greater than a bound."""
    return lambda x: integers(x) and _all(pc.greater(x, least))


def moderate(x: Values, places: Values = None) -> Any:
    """Return where rounding is exact: the power of ten is a double, and no product overflows."""
    n = 0 if places is None else places.as_py() if isinstance(places, pa.Scalar) else None
    if pa.types.is_int64(x.type):
        return n is not None and n >= 0
    return n is not None and 0 <= n <= 22 and _all(_up_to(1e200, x))


def castable(most: int, x: Values) -> Any:
    """Return where numbers fit an integer type and are exact as doubles."""
    return not pa.types.is_large_string(x.type) and (
        pa.types.is_boolean(x.type) or _all(_up_to(min(most, WHOLE), x))
    )


def no_text(x: Values) -> bool:
    """Return whether a column contains no texts."""
    return not pa.types.is_large_string(x.type)


def no_double(x: Values) -> bool:
    """Return whether a column contains no doubles."""
    return not pa.types.is_float64(x.type)


def kernel(name: str) -> Callable[..., Values]:
    """Return a function of Arrow, imported at its first call."""
    return lambda *arguments, **options: getattr(pc, name)(*arguments, **options)


def as_doubles(function: Callable[[Values, Values], Values]) -> Callable[..., Values]:
    """Return a function that converts integers to doubles if the other argument is a double."""

    def of_columns(a: Values, b: Values) -> Values:
        if a.type != b.type:
            a, b = (cast_column("float64", x) if integers(x) else x for x in (a, b))
        return function(a, b)

    return of_columns


def _not_zero(values: Values) -> Values:
    return pc.if_else(pc.equal(values, 0), pa.scalar(None, values.type), values)


def quotient_column(a: Values, b: Values) -> Values:
    """Return the quotient of columns; NULL for a division by zero."""
    return pc.divide(cast_column("float64", a), _not_zero(cast_column("float64", b)))


def remainder_column(a: Values, b: Values) -> Values:
    """Return the remainder of columns; NULL if the divisor is zero."""
    # Arrow's integer division truncates toward zero, like SQL's remainder
    divisor = _not_zero(b)
    return pc.subtract_checked(a, pc.multiply_checked(pc.divide_checked(a, divisor), divisor))


def same_type(values: Sequence[Values]) -> Any:
    """Return the common Arrow type of columns; raise `NotColumnar` if they differ."""
    types = {each.type for each in values}
    if len(types) > 1:  # an integer among doubles stays an integer, which has another text
        raise NotColumnar
    return types.pop()


def coalesce_column(*values: Values) -> Values:
    """Return, in each row, the first of some values that is not NULL."""
    same_type(values)
    return pc.coalesce(*values)


def like_column(text: Values, pattern: Values) -> Values:
    """Return whether texts match one pattern of LIKE."""
    return pc.match_like(text, pattern.as_py())


def text_length(text: Values) -> Values:
    """Return the number of characters of texts."""
    return pc.cast(pc.utf8_length(text), "int64")


def joined(*texts: Values) -> Values:
    """Return texts joined row by row."""
    return pc.binary_join_element_wise(*texts, pa.scalar("", "large_string"))


def round_column(x: Values, places: Values = None) -> Values:
    """Return numbers rounded half away from zero."""
    if pa.types.is_int64(x.type):
        return x
    tens = 1.0 if places is None else 10.0 ** places.as_py()
    shifted = pc.multiply(x, tens)
    whole = pc.trunc(shifted)
    half = pc.greater_equal(pc.abs(pc.subtract(shifted, whole)), 0.5)
    # adding -0.0 keeps the sign of 0.0 and -0.0
    return pc.divide(pc.add(whole, pc.if_else(half, pc.sign(shifted), -0.0)), tens)


def cast_column(kind: str, x: Values) -> Values:
    """Return a column converted to an Arrow type."""
    if kind == "int64" and pa.types.is_float64(x.type):
        x = pc.round(x, round_mode="half_to_even")
    return pc.cast(x, kind, safe=False)


def decimal_column(x: Values, digits: Values, places: Values) -> Values:
    """Return decimals of `digits` digits, rounded to `places`.

    NULL if a value needs more digits.
    """
    tens = 10.0 ** places.as_py()
    shifted = pc.multiply(cast_column("float64", x), tens)
    whole = pc.trunc(shifted)
    half = pc.greater_equal(pc.abs(pc.subtract(shifted, whole)), 0.5)
    scaled = pc.add(whole, pc.if_else(half, pc.sign(shifted), 0.0))
    fits = pc.less(pc.abs(scaled), 10.0 ** digits.as_py())
    # + 0.0 removes the sign of -0.0, which decimals do not have
    values = pc.add(pc.divide(scaled, tens), 0.0)
    return pc.if_else(fits, values, pa.scalar(None, "float64"))


def has_decimals(x: Values, digits: Values, places: Values) -> bool:
    """Return whether numbers are cast to one decimal type in all rows."""
    if not no_text(x) or not isinstance(digits, pa.Scalar) or not isinstance(places, pa.Scalar):
        return False
    return None not in (digits.as_py(), places.as_py()) and (
        0 <= places.as_py() <= digits.as_py() <= 15
    )


def trimmed_column(name: str, spaces: str) -> Callable[..., Values]:
    """Return a function of Arrow that trims the characters of one text."""

    def column(text: Values, characters: Values = None) -> Values:
        return getattr(pc, name)(text, spaces if characters is None else characters.as_py())

    return column


def has_one_text(text: Values, characters: Values = None) -> bool:
    """Return whether the characters to trim are one text for all rows."""
    return characters is None or bool(isinstance(characters, pa.Scalar) and characters.as_py())


def substring_column(text: Values, start: Values, length: Values = None) -> Values:
    """Return substrings at places that are equal in all rows."""
    begin = start.as_py() - 1
    end = None if length is None else begin + length.as_py()
    return pc.utf8_slice_codeunits(text, begin, end)


def has_one_slice(text: Values, start: Values, length: Values = None) -> bool:
    """Return whether all texts are cut at equal places, counted from the start."""
    places = [start] if length is None else [start, length]
    if not all(isinstance(each, pa.Scalar) and each.as_py() is not None for each in places):
        return False
    return start.as_py() >= 1 and all(0 <= each.as_py() < 1 << 31 for each in places)


def position_column(part: Values, text: Values) -> Values:
    """Return the position of one text in the texts of a column."""
    return pc.add(pc.cast(pc.find_substring(text, part.as_py()), "int64"), 1)


def found_by_bytes(part: Values, text: Values) -> Any:
    """Return where texts are ASCII, so that Arrow's position in bytes is SQL's position."""
    one = isinstance(part, pa.Scalar) and bool(part.as_py())
    return one and is_ascii(text)


def of_doubles(name: str) -> Callable[..., Values]:
    """Return a function of Arrow applied to numbers as doubles."""
    return lambda *arguments: kernel(name)(*(cast_column("float64", a) for a in arguments))
