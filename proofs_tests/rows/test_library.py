"""Each row of the library against the oracle, with values at the bounds: a new row by itself."""

from __future__ import annotations

import math
import re
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from cerlab import CerlabError, Duration, Timestamp, match_recognize
from cerlab.rows import expressions as ex
from cerlab.rows import library
from cerlab.rows.calendar_forms import PARTS
from cerlab.rows.column_forms import NotColumnar, everywhere
from cerlab.rows.expression_semantics import operation
from cerlab.rows.kinds import Kind, WrongKind
from cerlab.rows.library import ALIASES, FUNCTIONS, LIBRARY
from proofs_tests.suite import Suite, random_suite

DAY = 24 * 3600 * 10**9
VALUES: dict[Kind, list[Any]] = {
    Kind.BOOLEAN: [True, False],
    Kind.INTEGER: [
        *(0, 1, -1, 2, 3, -7, 15, -25, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1),
        *(2**53 - 1, 2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63)),
    ],
    Kind.DOUBLE: [
        *(0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 1.0, 0.49999999999999994, 2.675, 1e-9, -7.25),
        *(float(2**53), 2.0**53 + 2, 2.0**63, -(2.0**63), 2.0**31, 2147483647.5, 1e22, 1e200),
        *(1e300, 1.7976931348623157e308, 5e-324, math.inf, -math.inf, math.nan),
    ],
    Kind.TEXT: [
        *("", "a", "A", "aB", "ab", "b", "a%", "%", "_", "a_", "%b", "\\", "\\%", "a\nb", "."),
        *("\u00df", "\u0130", "\U0001f600", "\uffff", "\u01c5", "nan", "inf", "true", "0x1F"),
        *("2.5", "-2.5", ".5", "5.", " 12 ", "1e3", "1_0", "1__0", "-0.5", "0e99", "5e-1", "+7"),
        *("2147483647.5", "9223372036854775807", "9223372036854775808", "1e18", "4e18", "\u0663"),
        *("-9223372036854775808.49", "0.49999999999999999999", "1e-400", "1e400", "00012", "1 2"),
        *("2024-01-31", "2024-01-31 10:00:00.5+01:00", "0001-01-01", "9999-12-31 23:59:59"),
    ],
    Kind.MOMENT: [Timestamp(n) for n in (0, -1, DAY, DAY - 1, 2**63 - 1, -(2**63), 10**18 + 1)],
    Kind.DURATION: [Duration(n) for n in (0, 1, -1, DAY, 10**9, 2**63 - 1, -(2**63), 3)],
    Kind.NULL: [None],
}
TYPES = {
    Kind.BOOLEAN: pa.bool_(),
    Kind.INTEGER: pa.int64(),
    Kind.DOUBLE: pa.float64(),
    Kind.TEXT: pa.large_string(),
    Kind.NULL: pa.null(),
}
OPERATORS: dict[str, Any] = {
    "AND": ex.And,
    "OR": ex.Or,
    "NOT": ex.Not,
    "-x": ex.Negative,
    "||": ex.Concatenation,
    "LIKE": ex.Like,
}
CALLS = ("CAST AS DECIMAL",)
"""Rows that are calls, though their names begin like those of operators."""
SIGNS: tuple[tuple[Any, Any], ...] = (
    (ex.ArithmeticOperator, ex.Arithmetic),
    (ex.ComparisonOperator, ex.Comparison),
)


def expression(name: str, arguments: tuple[ex.Expression, ...]) -> ex.Operation:
    """The expression of a row of the library."""
    if name in OPERATORS:
        return OPERATORS[name](*arguments)  # type: ignore[no-any-return]
    if name.startswith("CAST AS ") and name not in CALLS:
        return ex.Cast(arguments[0], ex.CastType(name.removeprefix("CAST AS ")))
    for signs, node in SIGNS:
        if name in {sign.value for sign in signs}:
            return node(signs(name), *arguments)  # type: ignore[no-any-return]
    return ex.Call(name, arguments)


def accepted(name: str) -> list[tuple[Kind, ...]]:
    """The kinds of arguments that a row accepts."""
    function, found = LIBRARY[name], []
    most = min(function.most or 3, function.least + 2)
    for count in range(function.least, most + 1):
        for kinds in product(VALUES, repeat=count):
            try:
                function.type(name, kinds)
            except WrongKind:
                continue
            found.append(kinds)
    return found


def key(value: Any) -> Any:
    """The value with its type; NaN equals itself, and the zeros differ."""
    return type(value), repr(value)


def alike(name: str, rng: Random) -> bool:
    """Compare the scalar form and the values over columns with the oracle, on some rows.

    True if columns have the values, or none of their types is that of an argument or result.
    """
    kinds = rng.choice(ACCEPTED[name])
    while Kind.NULL in kinds and rng.random() < 0.9:
        kinds = rng.choice(ACCEPTED[name])
    size = rng.choice((1, 3, 40))
    # a NULL of no type comes from a literal
    shared = [kind is Kind.NULL or rng.random() < 0.3 for kind in kinds]
    columns = []
    for kind, same in zip(kinds, shared, strict=True):
        column = [None if rng.random() < 0.1 else rng.choice(VALUES[kind]) for _ in range(size)]
        columns.append([column[0]] * size if same else column)
    rows = [*zip(*columns, strict=True)]
    e = expression(name, tuple(ex.Column(str(i)) for i in range(len(kinds))))
    assert library.application(e) == (name, ex.children(e))  # type: ignore[arg-type]

    def oracle(row: tuple[Any, ...]) -> Any:
        return key(operation(e, lambda part: row[int(part.name)]))  # type: ignore[union-attr]

    expected = [*map(oracle, rows)]
    context = f"{name} {kinds} {columns}"
    assert [key(LIBRARY[name].scalar(*row)) for row in rows] == expected, context
    result = LIBRARY[name].type(name, kinds)
    if not {*kinds, result} <= set(TYPES):
        return True

    def over_columns(some: slice) -> list[Any]:
        arguments = [
            pa.scalar(c[0], TYPES[kind]) if same else pa.array(c[some], TYPES[kind])
            for c, kind, same in zip(columns, kinds, shared, strict=True)
        ]
        values = library.values_over(name, *arguments)
        every = values.to_pylist() if isinstance(values, pa.Array) else [values.as_py()]
        return [*map(key, every if isinstance(values, pa.Array) else every * len(rows[some]))]

    # a result that no column holds refuses all rows, so each is compared alone, too
    compared = False
    for some in (slice(0, size), *(slice(i, i + 1) for i in range(size))):
        try:
            assert over_columns(some) == expected[some], context
            compared = True
        except REFUSED as error:
            if "Failed to parse" in str(error):
                raise AssertionError(context) from error
    return compared


LEAVES = {
    Kind.BOOLEAN: ("b", "PREV(b)", "TRUE", "A.b", "LAST(b, 1)"),
    Kind.INTEGER: ("x", "PREV(x)", "2", "A.x", "FIRST(x)", "LAST(x, 1)", "COUNT(*)", "MAX(x)"),
    Kind.DOUBLE: ("y", "NEXT(y)", "2.5", "A.y", "FIRST(A.y)", "MIN(y)"),
    Kind.TEXT: ("t", "PREV(t)", "'a%'", "A.t", "FIRST(t)", "CLASSIFIER()", "CLASSIFIER(A)"),
    Kind.NULL: ("NULL",),
}
"""Operands; the first three read the row under test and its neighbours."""


def term(rng: Random, kind: Kind, depth: int, *, row: bool) -> str:
    """The text of an expression of a kind; of the row alone, or of the match, too."""
    ways = [(n, k) for n, k in RESULTS[kind] if Kind.NULL not in k or rng.random() < 0.02]
    if depth == 0 or not ways or rng.random() < 0.2:
        return rng.choice(LEAVES[kind][: 3 if row else None])
    name = rng.choice([name for name, _ in ways])
    kinds = rng.choice([kinds for each, kinds in ways if each == name])
    parts = [term(rng, each, depth - 1, row=row) for each in kinds]
    if name == "POSITION":
        return f"POSITION({parts[0]} IN {parts[1]})"
    if name in FUNCTIONS:
        return f"{name}({', '.join(parts)})"
    if name == "CAST AS DECIMAL":
        return f"CAST({parts[0]} AS DECIMAL(5, 2))"
    if name.startswith("CAST AS "):
        return f"CAST({parts[0]} AS {name.removeprefix('CAST AS ')})"
    if len(parts) == 1:
        return f"(NOT {parts[0]})" if name == "NOT" else f"(- {parts[0]})"
    return f"({parts[0]} {name} {parts[1]})"


@random_suite(3_000)
def test_nested_functions_by_every_evaluator(rng: Random) -> bool | None:
    """Compare measures and conditions of nested functions by all evaluators."""
    kinds = {"b": Kind.BOOLEAN, "x": Kind.INTEGER, "y": Kind.DOUBLE, "t": Kind.TEXT}
    size, moderate = rng.randrange(2, 9), {k: v[:6] for k, v in VALUES.items()}
    some = rng.choice((VALUES, moderate))
    table = pa.table(
        {
            name: pa.array([rng.choice((*some[kind], None)) for _ in range(size)], TYPES[kind])
            for name, kind in kinds.items()
        }
    )
    result = rng.choice(list(kinds.values()))
    conditions = [
        term(rng, Kind.BOOLEAN, depth, row=rng.random() < share)
        for depth, share in ((3, 0.8), (2, 0.5))
    ]
    query = f"""MATCH_RECOGNIZE (MEASURES CLASSIFIER() AS v, {term(rng, result, 2, row=False)} AS m
        ALL ROWS PER MATCH PATTERN (A B* C?) DEFINE B AS {conditions[0]}, C AS {conditions[1]})"""
    outcomes = []
    for evaluator in ("reference", "search", "compiled"):
        try:
            rows = match_recognize(query, table, evaluator=evaluator)
            outcomes.append(repr([rows.schema, rows.to_pylist()]))
        except CerlabError as error:
            outcomes.append(error.code)
    assert outcomes[1] == outcomes[0], f"{query} {table.to_pylist()}"
    assert outcomes[2] in (outcomes[0], "CER0452"), f"{query} {table.to_pylist()}"
    return outcomes[2] == outcomes[0]


REFUSED = (NotColumnar, OverflowError, pa.ArrowInvalid, pa.ArrowNotImplementedError)
ACCEPTED = {name: accepted(name) for name in LIBRARY}
RESULTS = {
    kind: [
        (name, kinds)
        for name, every in ACCEPTED.items()
        for kinds in every
        if set(kinds) <= set(TYPES) and LIBRARY[name].type(name, kinds) is kind
    ]
    for kind in TYPES
}


@pytest.mark.parametrize("name", LIBRARY)
def test_a_row_has_the_values_of_the_oracle(name: str, suite: Suite) -> None:
    suite.run(lambda rng: alike(name, rng), deep_count=1_000, needs_answers=0.6)


@pytest.mark.parametrize("name", [name for name, f in LIBRARY.items() if f.is_strict])
def test_a_strict_function_of_null_is_null(name: str) -> None:
    function = LIBRARY[name]
    for count in range(max(1, function.least), (function.most or 4) + 1):
        for null in range(count):
            arguments = [None if i == null else "a" for i in range(count)]
            assert function.scalar(*arguments) is None


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, function in LIBRARY.items()
        if function.domain is not everywhere
        and any(set(kinds) <= set(TYPES) - {Kind.NULL} for kinds in ACCEPTED[name])
    ],
)
def test_a_domain_leaves_out_what_arrow_computes_otherwise(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = {**LIBRARY, name: LIBRARY[name]._replace(domain=everywhere)}
    monkeypatch.setattr(library, "LIBRARY", wrong)

    def cases() -> None:
        for seed in range(400):
            alike(name, Random(seed))

    with pytest.raises((AssertionError, AttributeError, TypeError)):
        cases()


def test_the_manual_has_every_function() -> None:
    manual = (Path(__file__).parents[2] / "docs/language/rows.md").read_text(encoding="utf-8")
    cells = re.findall(r"^\| (`[A-Z_]+\(.*?) \|", manual, re.MULTILINE)
    names = re.findall(r"`([A-Z_]+)\(", " ".join(cells))
    of_time = {name.split()[0] for name in LIBRARY if name.startswith(("EXTRACT ", "DATE_TRUNC "))}
    aggregates = {function.value.split()[0] for function in ex.AggregateFunction}
    others = of_time | aggregates
    assert sorted(name for name in names if name not in others) == sorted(FUNCTIONS)
    assert all(f"`{part}`" in manual for part in (*PARTS, "EPOCH"))
    assert others <= set(names)
    assert all(alias in manual for alias in ALIASES)
