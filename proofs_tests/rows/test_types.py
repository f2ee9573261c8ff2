"""The types of the columns of a result."""

from __future__ import annotations

from decimal import Decimal
from random import Random

import pyarrow as pa
import pytest

from cerlab import match_recognize
from cerlab.rows.recognise import RowEvaluator

TYPES = [
    ("COUNT(*)", pa.int64()), ("MATCH_NUMBER()", pa.int64()), ("AVG(i)", pa.float64()),
    ("CLASSIFIER()", pa.string()), ("MIN(t)", pa.large_string()), ("LAST(i)", pa.int16()),
    ("PREV(f)", pa.float32()), ("SUM(i)", pa.int64()), ("SUM(f)", pa.float64()),
    ("i + 1", pa.int64()), ("i / 2", pa.float64()), ("i * 0.5", pa.float64()),
    ("NULL", pa.null()), ("i > 1", pa.bool_()), ("t || 'a'", pa.string()),
    ("PREV(d)", pa.date32()), ("PREV(s)", pa.timestamp("us", "UTC")),
    ("CASE WHEN i = 1 THEN 1 ELSE 0.5 END", pa.float64()), ("COALESCE(NULL, i)", pa.int64()),
    ("MIN(c)", pa.decimal128(20, 3)), ("B.c", pa.decimal128(20, 3)), ("SUM(c)", pa.float64()),
    ("c + 1", pa.float64()), ("ARRAY_AGG(c)", pa.list_(pa.decimal128(20, 3))),
    ("LAST(w)", pa.dictionary(pa.int8(), pa.decimal128(9, 0))), ("SUM(w)", pa.int64()),
    ("ABS(i)", pa.int64()), ("B.i", pa.int16()), ("LENGTH(t)", pa.int64()),
]  # fmt: skip
ONE = pa.table(
    {
        "i": pa.array([1], pa.int16()),
        "t": pa.array(["a"], pa.large_string()),
        "f": pa.array([1.5], pa.float32()),
        "c": pa.array([Decimal("1.5")], pa.decimal128(20, 3)),
        "w": pa.array([Decimal(7)], pa.decimal128(9, 0))
        .dictionary_encode()
        .cast(pa.dictionary(pa.int8(), pa.decimal128(9, 0))),
        "d": pa.array([7], pa.date32()),
        "s": pa.array([7], pa.timestamp("us", "UTC")),
    }
)


def type_of(measure: str, table: pa.Table) -> pa.DataType:
    """The type of the column of a measure."""
    query = f"MATCH_RECOGNIZE (MEASURES {measure} AS m PATTERN (A B?))"
    return match_recognize(query, table).schema.field("m").type


@pytest.mark.parametrize(("measure", "expected"), TYPES, ids=lambda each: f"8.6-{each}")
def test_a_measure_has_its_static_type(measure: str, expected: pa.DataType) -> None:
    assert type_of(measure, ONE) == expected
    assert type_of(measure, ONE.slice(0, 0)) == expected


@pytest.mark.parametrize("evaluator", ["compiled", "search", "reference"])
def test_decimals_come_back_as_they_were(evaluator: RowEvaluator) -> None:
    rng = Random(3)
    for _ in range(60):
        digits = rng.randint(1, 15)
        scale = rng.randint(0, digits)
        whole = [rng.randint(-(10**digits) + 1, 10**digits - 1) for _ in range(20)]
        values = [None if n % 7 == 0 else Decimal(n).scaleb(-scale) for n in whole]
        table = pa.table({"n": range(20), "x": pa.array(values, pa.decimal128(digits, scale))})
        clause = """MATCH_RECOGNIZE (ORDER BY n MEASURES LAST(A.x) AS last, MAX(A.n) AS at
            PATTERN (A+ B?) DEFINE A AS PREV(n) IS NULL OR x < PREV(x))"""
        result = match_recognize(clause, table, evaluator=evaluator)
        at = result.column("at").to_pylist()
        assert result.column("last").to_pylist() == [values[n] for n in at]
        assert result.num_rows


def test_columns_of_any_type_are_handed_through() -> None:
    """12.2: columns that are not read may have any type."""
    table = pa.table({"x": [1, 2], "l": [[1], [2, 3]]})
    result = match_recognize(
        "MATCH_RECOGNIZE (ALL ROWS PER MATCH PATTERN (A) DEFINE A AS x > 1)", table
    )
    assert result == table.slice(1)
