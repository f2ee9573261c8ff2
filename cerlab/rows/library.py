"""The operators and functions of row expressions, in one table.

A table row has the number of arguments, the type rule, the scalar form, the column form with its
domain, and the opcode of the stack machine. The builder, the types, the interpreter, the columns
and the compiler read the table. The oracle (`cerlab.rows.expression_semantics`) shares nothing
with it, nor with the modules it is made from: `kinds`, `scalar_forms` and `column_forms`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import NamedTuple, assert_never

from cerlab.budget import poll
from cerlab.model.event import UNITS
from cerlab.rows import calendar_forms as calendar
from cerlab.rows import column_forms as columns
from cerlab.rows import expressions as ex
from cerlab.rows import scalar_forms as scalars
from cerlab.rows.column_forms import Domain, NotColumnar, Values, everywhere
from cerlab.rows.kinds import (
    NUMBERS,
    TIMES,
    Kind,
    TypeRule,
    WrongKind,
    accepting,
    common,
    comparable,
    kind_of_first,
    number,
    number_or_time,
)
from cerlab.rows.scalar_forms import Scalar, strict


class Function(NamedTuple):
    """An operator or function: kinds, scalar form and column form."""

    least: int
    """The least number of arguments."""
    most: int | None
    """The greatest number of arguments, None for no limit."""
    type: TypeRule
    scalar: Scalar
    column: Callable[..., Values] | None = None
    domain: Domain = everywhere
    """The rows where the column form equals the scalar form."""
    opcode: str | None = None
    """The name of the operator in `cerlab.rows.value_kernels`."""
    is_strict: bool = True
    """True if the result is NULL whenever an argument is NULL."""


def _comparison(scalar: Scalar, kernel: str, opcode: str) -> Function:
    form = columns.as_doubles(columns.kernel(kernel))
    return Function(2, 2, comparable, scalar, form, columns.ordered, opcode)


def _arithmetic(
    sign: str,
    scalar: Scalar,
    form: Callable[..., Values],
    opcode: str,
    domain: Domain = everywhere,
) -> Function:
    scalar = scalars.computed(sign, scalar)
    return Function(2, 2, number_or_time, scalar, columns.as_doubles(form), domain, opcode)


def _of_number(accepted: tuple[Kind, ...], scalar: Scalar, kernel: str, opcode: str) -> Function:
    rule = accepting(" or a ".join(["a number", "duration"][: len(accepted) - 2]), accepted)
    return Function(1, 1, rule, strict(scalar), columns.kernel(kernel), everywhere, opcode)


def _logical(count: int, scalar: Scalar, kernel: str, opcode: str) -> Function:
    rule = accepting("truth values", (Kind.BOOLEAN, Kind.NULL), result=Kind.BOOLEAN)
    form = columns.kernel(kernel)
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
    form = None if kind is None else partial(columns.cast_column, kind)
    return Function(1, 1, rule, strict(scalar), form, domain)


def _of_numbers(count: int, scalar: Scalar, kernel: str) -> Function:
    rule = accepting("numbers", NUMBERS, result=Kind.DOUBLE)
    return Function(count, count, rule, strict(scalar), columns.of_doubles(kernel))


def _trim(scalar: Scalar, kernel: str) -> Function:
    form = columns.trimmed_column(kernel, scalars.SPACES)
    return _of_texts(scalar, form, columns.has_one_text, most=2)


_MOMENTS = (Kind.MOMENT, Kind.NULL)


def _extract(part: str) -> Function:
    rule = accepting("a moment", _MOMENTS, result=Kind.INTEGER)
    if part in calendar.OF_DURATIONS:
        rule = accepting("a moment or a duration", (*TIMES, Kind.NULL), result=Kind.INTEGER)
    scalar, form = partial(calendar.part_of, part), calendar.part_column(part)
    return Function(1, 1, rule, strict(scalar), form, columns.integers)


def _date_trunc(unit: str) -> Function:
    rule = accepting("a moment", _MOMENTS)
    scalar, form = partial(calendar.truncated, unit), calendar.truncated_column(unit)
    return Function(1, 1, rule, strict(scalar), form, columns.after(calendar.LEAST))


def _null_if_column(a: Values, b: Values) -> Values:
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.if_else(pc.fill_null(values_over("=", a, b), False), pa.scalar(None, a.type), a)


def _best_column(sign: str, *values: Values) -> Values:
    import pyarrow.compute as pc

    columns.same_type(values)
    return reduce(lambda best, v: pc.if_else(values_over(sign, v, best), v, best), values)


FUNCTIONS: dict[str, Function] = {
    "ABS": _of_number(NUMBERS, abs, "abs_checked", "ABSOLUTE"),
    "CHAR_LENGTH": _of_texts(len, columns.text_length, result=Kind.INTEGER),
    "COALESCE": Function(
        1, None, common, scalars.coalesce, columns.coalesce_column, everywhere, "COALESCE", False
    ),
    "CONCAT": _of_texts(lambda *texts: "".join(texts), columns.joined, most=None),
    "GREATEST": Function(
        1, None, common, strict(partial(scalars.best, scalars.above)), partial(_best_column, ">")
    ),
    "LEAST": Function(
        1, None, common, strict(partial(scalars.best, scalars.below)), partial(_best_column, "<")
    ),
    "LN": _of_numbers(1, scalars.logarithm, "ln"),
    "LOWER": _of_texts(str.lower, columns.kernel("ascii_lower"), columns.is_ascii),
    "LTRIM": _trim(scalars.trimmed_left, "utf8_ltrim"),
    "MOD": Function(
        2,
        2,
        number,
        scalars.computed("%", scalars.remainder),
        columns.remainder_column,
        columns.integers,
        "MOD",
    ),
    "NULLIF": Function(
        2, 2, kind_of_first, scalars.null_if, _null_if_column, everywhere, "NULL_IF", False
    ),
    "POSITION": _of_texts(
        scalars.position,
        columns.position_column,
        columns.found_by_bytes,
        count=2,
        most=2,
        result=Kind.INTEGER,
    ),
    "POWER": _of_numbers(2, scalars.power, "power"),
    "ROUND": Function(
        *(1, 2, accepting("a number, and a number of places", NUMBERS, (Kind.INTEGER, Kind.NULL))),
        *(strict(scalars.rounded), columns.round_column, columns.moderate),
    ),
    "RTRIM": _trim(scalars.trimmed_right, "utf8_rtrim"),
    "SQRT": _of_numbers(1, scalars.square_root, "sqrt"),
    "SUBSTRING": Function(
        2,
        3,
        accepting("a text and integers", (Kind.TEXT, Kind.NULL), (Kind.INTEGER, Kind.NULL)),
        strict(scalars.substring),
        columns.substring_column,
        columns.has_one_slice,
    ),
    "TRIM": _trim(scalars.trimmed, "utf8_trim"),
    "UPPER": _of_texts(str.upper, columns.kernel("ascii_upper"), columns.is_ascii),
}
"""The functions that queries call by name."""

ALIASES = {
    "LENGTH": "CHAR_LENGTH",
    "CHARACTER_LENGTH": "CHAR_LENGTH",
    "POW": "POWER",
    "SUBSTR": "SUBSTRING",
}

LIBRARY: dict[str, Function] = FUNCTIONS | {
    "=": _comparison(scalars.equal, "equal", "EQ"),
    "<>": _comparison(scalars.compared(operator.ne), "not_equal", "NE"),
    "<": _comparison(scalars.below, "less", "LT"),
    "<=": _comparison(scalars.at_most, "less_equal", "LE"),
    ">": _comparison(scalars.above, "greater", "GT"),
    ">=": _comparison(scalars.at_least, "greater_equal", "GE"),
    "+": _arithmetic("+", operator.add, columns.kernel("add_checked"), "ADD"),
    "-": _arithmetic("-", operator.sub, columns.kernel("subtract_checked"), "SUB"),
    "*": _arithmetic("*", operator.mul, columns.kernel("multiply_checked"), "MUL"),
    "/": _arithmetic("/", operator.truediv, columns.quotient_column, "DIV", columns.whole),
    "%": _arithmetic("%", scalars.remainder, columns.remainder_column, "MOD", columns.integers),
    "-x": _of_number((*NUMBERS, Kind.DURATION), scalars.negative, "negate_checked", "NEGATE"),
    "||": _of_texts(operator.add, columns.joined, count=2, most=2),
    "LIKE": _of_texts(
        scalars.is_like,
        columns.like_column,
        columns.like_alike,
        count=2,
        most=2,
        result=Kind.BOOLEAN,
    ),
    "AND": _logical(2, scalars.conjunction, "and_kleene", "AND"),
    "OR": _logical(2, scalars.disjunction, "or_kleene", "OR"),
    "NOT": _logical(1, strict(operator.not_), "invert", "NOT"),
    "EXTRACT EPOCH": Function(
        *(1, 1, accepting("a moment or a duration", (*TIMES, Kind.NULL), result=Kind.DOUBLE)),
        strict(lambda time: time.nanoseconds / 10**9),
    ),
    "EXTRACT JULIAN": Function(
        *(1, 1, accepting("a moment", _MOMENTS, result=Kind.DOUBLE), strict(calendar.julian)),
    ),
    **{f"EXTRACT {part}": _extract(part) for part in calendar.PARTS},
    **{f"DATE_TRUNC {unit}": _date_trunc(unit) for unit in calendar.UNITS_OF_TRUNCATION},
    "CAST AS DECIMAL": Function(
        3,
        3,
        accepting(
            "a number, a truth value or a text",
            (*NUMBERS, Kind.BOOLEAN, Kind.TEXT),
            (Kind.INTEGER,),
            result=Kind.DOUBLE,
        ),
        strict(scalars.to_decimal),
        columns.decimal_column,
        columns.has_decimals,
    ),
    "CAST AS INTEGER": _cast(
        Kind.INTEGER, partial(scalars.to_integer, 32), "int64", partial(columns.castable, 2**31 - 1)
    ),
    "CAST AS BIGINT": _cast(
        Kind.INTEGER,
        partial(scalars.to_integer, 64),
        "int64",
        partial(columns.castable, columns.WHOLE),
    ),
    "CAST AS DOUBLE": _cast(Kind.DOUBLE, scalars.to_double, "float64", columns.no_text),
    "CAST AS VARCHAR": _cast(Kind.TEXT, scalars.to_text, "large_string", columns.no_double),
    "CAST AS TIMESTAMP": _cast(Kind.MOMENT, partial(scalars.to_moment, 1)),
    "CAST AS DATE": _cast(Kind.MOMENT, partial(scalars.to_moment, UNITS["DAY"])),
}
"""All operators and functions, by the names that `application` returns."""


def application(e: ex.Application) -> tuple[str, tuple[ex.Expression, ...]]:
    """Return the name in `library` of an operator or function, and its arguments."""
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


BLOCK = 1 << 16
"""The number of rows whose Python values are in memory together."""


def values_over(name: str, *arguments: Values) -> Values:
    """Return an operator or function applied to columns.

    The column form computes the rows of its domain, the scalar form the others. Raises
    `NotColumnar`, or an error of Arrow, if no column can hold the result.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    function = LIBRARY[name]
    inside = function.column is not None and function.domain(*arguments)
    if inside is True:
        assert function.column is not None
        return function.column(*arguments)
    try:
        kind = function.type(name, [_KIND_OF.get(str(a.type), Kind.OTHER) for a in arguments])
    except WrongKind:  # the integers represent timestamps or durations
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
    """Return a function applied to columns value by value, in Python."""
    import pyarrow as pa

    kind = pa.type_for_alias(arrow_type)
    arrays = [a for a in arguments if not isinstance(a, pa.Scalar)]
    if not arrays:
        return pa.scalar(function.scalar(*(a.as_py() for a in arguments)), kind)
    if len(arrays) == 1 and function.is_strict and pa.types.is_large_string(arrays[0].type):
        # compute the function once for equal texts
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
