"""Places, messages and hints of the errors of row patterns; the suite has their kinds and codes."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest

import cerlab
from cerlab import (
    BadData,
    CerlabError,
    QuerySyntaxError,
    ResourceLimit,
    TypeMismatch,
    match_recognize,
    parse_rows,
)
from cerlab.conformance import Case, cases
from cerlab.conformance.replies import reply_of

CLAUSE = "MATCH_RECOGNIZE (MEASURES 1 AS m PATTERN (A))"


def error_of(case: Case) -> CerlabError:
    """Return the error of a case."""
    with pytest.raises(CerlabError) as caught:
        match_recognize(case.query, case.rows)
    return caught.value


def test_ill_formed_queries_are_refused_before_any_table() -> None:
    for case in cases("rows-syntax", "rows-ill-formed", "rows-refused"):
        with pytest.raises(CerlabError, match=case.expected["code"]):
            parse_rows(case.query)
    for case in cases("rows-columns-and-types"):
        assert parse_rows(case.query), case.id


def test_syntax_errors_have_a_place_in_the_text() -> None:
    for case in cases("rows-syntax"):
        error = error_of(case)
        assert isinstance(error, QuerySyntaxError)
        assert error.line == 1
        assert 1 <= error.column <= len(case.query) + 1, case.id


def test_a_caret_is_under_the_whole_name_of_a_column() -> None:
    for case in cases("rows-columns-and-types"):
        if "at" in case.expected:
            assert reply_of(case)["at"] == case.expected["at"], case.id


def test_what_sqlglot_says_is_said_once() -> None:
    """Its own text repeats the place, with codes of terminals around it."""
    with pytest.raises(QuerySyntaxError) as caught:
        parse_rows("MATCH_RECOGNIZE (MEASURES x BETWEEN 1 2 AS m PATTERN (A))")
    assert caught.value.message == "Expecting AND"


def names_the_construct(case: Case) -> bool:
    """Return whether the error of a case names the construct that the case is named after."""
    message = re.sub(r"[^a-z0-9]+", "-", str(reply_of(case).get("refused", "")).lower())
    return re.sub(r"^\d+-\d+-", "", case.id.partition("/")[2]) in message


REFUSED = [case for case in cases("rows-refused") if "/3-6-" not in case.id]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.id)
def test_a_refusal_names_the_construct_and_its_place(case: Case) -> None:
    assert names_the_construct(case)
    assert error_of(case).place is not None


STUCK = [case for case in cases("rows-scan") if case.kind == "error"]


@pytest.mark.parametrize("case", STUCK, ids=lambda case: case.id)
def test_a_scan_that_stops_names_the_variable(case: Case) -> None:
    error, skip = error_of(case), re.search(r"SKIP TO (?:FIRST|LAST) (\w)", case.query)
    assert isinstance(error, BadData)
    assert skip is not None
    name = {"CER0788": "skip-absent", "CER0789": "skip-first"}[error.code]
    assert re.search(rf"{name}: .* (of|to) {skip[1]}\b", error.message)
    assert ("NEXT ROW" in error.hint) == (name == "skip-first")


HINTS = [
    ("ill-formed/3-4-nearest", "did you mean 'UP'"),
    ("ill-formed/6-9-first-of-last", "PREV(LAST("),
    ("columns-and-types/2-2-nearest", "did you mean 't'"),
    *((f"times/13-no-value-of-{name}", "INTERVAL") for name in ("ts-plus-1", "ts-plus-u")),
    ("times/13-no-value-of-1-minus-d", "INTERVAL"),
    ("times/13-no-value-of-d-above-5", "INTERVAL '5' SECOND"),
    ("times/13-no-value-of-ts-above-2024-01-31", "TIMESTAMP '2024-01-31 10:00'"),
    ("times/13-no-value-of-ts-above-5", "TIMESTAMP"),
    ("times/13-no-value-of-cast-x-as-decimal-18-1", "at most 15"),
    ("times/13-no-value-of-extract-timezone-from-ts", "no zone"),
    *(
        (f"times/13-no-value-of-{name}", "30 SECONDS")
        for name in (
            *("interval-1", "interval-1-day-to", "interval-1-60-hour-to-minute"),
            *("interval-1-30-minute-to-hour", "interval-x-hour", "1-minute-1-hour"),
        )
    ),
    ("times/13-no-value-of-timestamp-31-1-2024", "TIMESTAMP '"),
    ("times/13-no-value-of-date-2024-01-31-10-00", "DATE '"),
]
"""Cases, and a part of the hint of each."""


@pytest.mark.parametrize(("id", "part"), HINTS)
def test_a_hint_says_what_to_write(id: str, part: str) -> None:
    (case,) = (case for case in cases() if case.id == f"rows-{id}")
    assert part in error_of(case).hint


def test_too_long_and_too_deep() -> None:
    deep = "(" * 300 + "x" + ")" * 300
    chain = " AND ".join(["x"] * 300)
    for text in (
        f"{CLAUSE}{' ' * 100_000}",
        *(f"MATCH_RECOGNIZE (MEASURES {e} AS m PATTERN (A))" for e in (deep, chain)),
    ):
        with pytest.raises(ResourceLimit):
            parse_rows(text)
    with pytest.raises(ResourceLimit):
        parse_rows(f"MATCH_RECOGNIZE (MEASURES 1 AS m PATTERN ({'(' * 300}A{')' * 300}))")


@pytest.mark.parametrize(
    "where", ["1 AS m PATTERN (A{N})", "PREV(x, N) AS m PATTERN (A)", "N AS m"]
)
def test_a_number_of_thousands_of_digits(where: str) -> None:
    with pytest.raises(CerlabError, match="CER0204"):
        parse_rows(f"MATCH_RECOGNIZE (MEASURES {where.replace('N', '1' * 5_000)})")


def test_a_column_of_lists_has_no_value() -> None:
    with pytest.raises(TypeMismatch, match="CER0350: type"):
        match_recognize(CLAUSE.replace("1 AS", "LAST(o) AS"), pa.table({"o": [[1]]}))


def test_a_column_of_mixed_values_is_named() -> None:
    with pytest.raises(TypeMismatch, match="type: column 'x'"):
        match_recognize(CLAUSE, [{"x": 1}, {"x": "a"}])


WRONG_COUNTS = [
    *((name, n) for name in ("ABS", "CHAR_LENGTH", "LENGTH", "LOWER", "UPPER") for n in (0, 2)),
    *((name, n) for name in ("MOD", "NULLIF", "POWER", "DATE_TRUNC") for n in (0, 1, 3)),
    *((name, n) for name in ("LN", "SQRT") for n in (0, 2)),
    *((name, n) for name in ("TRIM", "LTRIM", "RTRIM") for n in (0, 3)),
    *((name, n) for name in ("SUBSTRING", "SUBSTR") for n in (1, 4)),
    *(
        ("ROUND", 0),
        ("ROUND", 3),
        ("GREATEST", 0),
        ("LEAST", 0),
        ("CONCAT", 0),
        ("COALESCE", 0),
        ("MATCH_NUMBER", 1),
        ("CLASSIFIER", 2),
    ),
    *((name, n) for name in ("PREV", "NEXT", "FIRST", "LAST") for n in (0, 3)),
    *((name, n) for name in ("SUM", "AVG", "MIN", "MAX", "COUNT") for n in (0, 2)),
]
"""Functions, and numbers of arguments that they do not accept."""


@pytest.mark.parametrize(("name", "count"), WRONG_COUNTS)
def test_a_function_refuses_a_wrong_number_of_arguments(name: str, count: int) -> None:
    with pytest.raises(cerlab.IllFormed):
        parse_rows(f"MATCH_RECOGNIZE (MEASURES {name}({', '.join('x' * count)}) AS m PATTERN (A))")
