"""Predicates as columns of Spark against `cerlab.predicates.truth`: each cell, in every corner."""

from __future__ import annotations

import math
from decimal import Decimal
from itertools import product
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from cerlab import Event, satisfies
from cerlab.model.event import Value, to_value
from cerlab.predicates import syntax as pred
from cerlab.spark import predicates as module
from cerlab.spark.frame import source_of
from cerlab.spark.predicates import Inexact, column_above, column_where
from proofs_tests.suite import Suite

INT64 = [-(2**63), -(2**63) + 1, 2**63 - 1, 2**63 - 2]
NEAR_2_53 = [s * (2**53 + d) for s in (1, -1) for d in (-1, 0, 1, 2)]
FLOATS = [0.0, -0.0, 0.5, -0.5, math.inf, -math.inf, math.nan, 5e-324, 1e300, 2.0**53, 2.0**63]
FLOATS += [
    -(2.0**63),
    2.0**53 + 2,
    math.nextafter(2.0**63, 0),
    0.1,
    float(pa.scalar(0.1, pa.float32()).as_py()),
]
TEXTS = ["", "a", "A", "ab", "a\0", "\0", "ä", "\uffff", "\U0001f600", "\ue000", "z", " a", "a "]
DECIMALS = [Decimal(n).scaleb(-2) for n in (0, 1, -10, 50, 100, -12800, 10**15 - 1, 1 - 10**15)]
VALUES: dict[str, tuple[Any, list[Any]]] = {
    "long": (pa.int64(), [*INT64, *NEAR_2_53, 0, 1, -1, None]),
    "other": (pa.int64(), [*INT64, *NEAR_2_53, 0, 1, -1, None]),
    "byte": (pa.int8(), [-128, 127, 0, 1, None]),
    "double": (pa.float64(), [*FLOATS, None]),
    "second": (pa.float64(), [*FLOATS, None]),
    "float": (pa.float32(), [0.0, -0.0, 0.5, math.inf, -math.inf, math.nan, 16777216.0, None]),
    "price": (pa.decimal128(15, 2), [*DECIMALS, None]),
    "cost": (pa.decimal128(15, 2), [*DECIMALS, None]),
    "whole": (pa.decimal128(12, 0), [Decimal(n) for n in (0, 1, -1, 127, 10**12 - 1)]),
    "text": (pa.string(), [*TEXTS, None]),
    "more": (pa.string(), [*TEXTS, None]),
    "flag": (pa.bool_(), [True, False, None]),
    "type": (pa.string(), [text for text in TEXTS if text]),
    "stream": (pa.string(), [*TEXTS, None]),
}
CONSTANTS: list[Value] = [*INT64, *NEAR_2_53, 2**63, -(2**63) - 1, 10**400, -(10**400), 0, 1, -1]
CONSTANTS += [
    127,
    128,
    -129,
    16777217,
    *(x for x in FLOATS if not math.isnan(x)),
    *TEXTS,
    True,
    False,
]
ROWS = 100


def rows(rng: Random) -> Any:
    """Rows of drawn cells, each value of a column at least once."""
    columns = {}
    for name, (kind, values) in VALUES.items():
        cells = [*values, *rng.choices(values, k=ROWS - len(values))]
        rng.shuffle(cells)
        columns[name] = pa.array(cells, kind)
    return pa.table(columns)


def atom(rng: Random) -> pred.Predicate:
    """An atom of any shape, mostly over values that compare."""
    operand = pred.Attribute(rng.choice([*VALUES, "nowhere"]))
    low, high = (constant(rng, operand.name) for _ in range(2))
    match rng.randrange(8):
        case 0:
            return rng.choice((pred.TypeIs, pred.StreamIs))(rng.choice(TEXTS))
        case 1:
            others = [n for n in VALUES if VALUES[n][0] == VALUES.get(operand.name, (None,))[0]]
            return pred.Comparison(op(rng), operand, pred.Attribute(rng.choice(others or ["long"])))
        case 2:
            values = tuple(constant(rng, operand.name) for _ in range(rng.randrange(4)))
            return pred.Member(operand, values, rng.random() < 0.5)
        case 3:
            ends = [(low, high), (low, None), (None, high)]
            return pred.Between(operand, *rng.choice(ends), rng.random() < 0.5)
        case 4:
            return pred.Comparison(op(rng), low, operand)
        case _:
            return pred.Comparison(op(rng), operand, low)


def op(rng: Random) -> pred.Operator:
    return rng.choice(list(pred.Operator))


def constant(rng: Random, name: str) -> pred.Constant:
    """As a rule of the kind of the attribute, and often one of its values."""
    values = [v for v in VALUES.get(name, (None, [0]))[1] if v is not None and v == v]
    if rng.random() < 0.4:
        return pred.Constant(to_value(rng.choice(values)))
    kinds = [v for v in CONSTANTS if isinstance(v, str) == isinstance(values[0], str)]
    return pred.Constant(rng.choice(kinds if rng.random() < 0.9 else CONSTANTS))


def predicate(rng: Random, depth: int = 2) -> pred.Predicate:
    if depth == 0 or rng.random() < 0.4:
        return atom(rng)
    if rng.random() < 0.3:
        return pred.Not(predicate(rng, depth - 1))
    return rng.choice((pred.And, pred.Or))(predicate(rng, depth - 1), predicate(rng, depth - 1))


def events_of(table: Any) -> list[Event]:
    events = []
    for row in table.to_pylist():
        kind, stream = row.pop("type"), row.pop("stream")
        events.append(Event(kind, {name: to_value(v) for name, v in row.items()}, stream))
    return events


def check_cells(spark: Any, rng: Random, count: int) -> int:
    """Check `count` predicates on the rows of a table; return the number of true cells."""
    table = rows(rng)
    source, events = source_of(spark.createDataFrame(table), None), events_of(table)
    predicates = [predicate(rng, rng.choice((0, 0, 2))) for _ in range(count)]
    columns = [column_where(P, source).alias(f"p{n}") for n, P in enumerate(predicates)]
    cells_by_spark = source.frame.select(*columns).toArrow()
    true = 0
    for n, P in enumerate(predicates):
        for event, cell in zip(events, cells_by_spark.column(f"p{n}").to_pylist(), strict=True):
            assert bool(cell) is satisfies(event, P), f"{P} on {event}: {cell}"
            true += bool(cell)
    return true


def test_every_cell_is_that_of_the_scalar_truth(spark: Any, suite: Suite) -> None:
    """200,000 cells: ten predicates on a hundred rows at a time."""
    suite.run(lambda rng: check_cells(spark, rng, 10) > 0, deep_count=200)


INEXACT: list[pred.Predicate] = [
    pred.Like(pred.Attribute("text"), "a.*"),
    pred.Comparison(pred.Operator.EQ, pred.Attribute("long"), pred.Attribute("double")),
    pred.Comparison(
        pred.Operator.GT,
        pred.Computed(pred.Arithmetic.ADD, pred.Attribute("long"), pred.Constant(1)),
        pred.Constant(0),
    ),
    pred.Comparison(pred.Operator.EQ, pred.Attribute("decimal"), pred.Constant(1)),
    pred.Comparison(pred.Operator.EQ, pred.Attribute("moment"), pred.Attribute("moment")),
    pred.Comparison(pred.Operator.EQ, pred.Attribute("collated"), pred.Constant("a")),
    pred.Comparison(pred.Operator.EQ, pred.Attribute("text"), pred.Constant("\ud800")),
]


@pytest.mark.parametrize("P", INEXACT, ids=lambda P: type(P).__name__)
def test_what_spark_might_say_otherwise_is_left_out(spark: Any, P: Any) -> None:
    frame = spark.createDataFrame(rows(Random(1))).selectExpr(
        "*",
        "CAST(1 AS DECIMAL(16, 2)) AS decimal",
        "TIMESTAMP'2020-01-01' AS moment",
        "collate('A', 'UTF8_LCASE') AS collated",
    )
    with pytest.raises(Inexact):
        column_where(P, source_of(frame, None))


def test_a_bound_leaves_no_event_out(spark: Any) -> None:
    """Atoms that have no column may hold anywhere, also under a negation."""
    rng = Random(3)
    table = rows(rng)
    source, events = source_of(spark.createDataFrame(table), None), events_of(table)
    predicates: list[pred.Predicate] = []
    for inexact, _ in product((INEXACT[0], INEXACT[1], INEXACT[2]), range(10)):
        other = rng.choice((inexact, pred.negation(inexact)))
        inner = rng.choice((pred.conjunction, pred.disjunction))(predicate(rng, 1), other)
        predicates.append(rng.choice((inner, pred.negation(inner))))
    columns = [column_above(P, source).alias(f"p{n}") for n, P in enumerate(predicates)]
    cells_by_spark = source.frame.select(*columns).toArrow()
    events_out = 0
    for n, P in enumerate(predicates):
        cells = cells_by_spark.column(f"p{n}").to_pylist()
        assert all(cell or not satisfies(e, P) for e, cell in zip(events, cells, strict=True))
        events_out += sum(not cell for cell in cells)
    assert events_out > ROWS


@pytest.mark.parametrize("name", ["_is_number", "_on_integers", "_on_floats"])
def test_a_corner_that_is_cut_is_seen(
    spark: Any, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    from pyspark.sql import functions as fn

    def clamp(op: Any, constant: Any) -> Any:
        return op, max(-(2**63), min(2**63 - 1, int(constant))) if constant == constant else None

    rough: dict[str, Any] = {
        "_is_number": lambda values: fn.lit(True),
        "_on_integers": lambda op, c: clamp(op, 0 if abs(c) == math.inf else c),
        "_on_floats": lambda op, c: (op, float(max(-(2**63), min(2**63, c)))),
    }
    monkeypatch.setattr(module, name, rough[name])
    with pytest.raises(AssertionError):
        check_cells(spark, Random(5), 150)
