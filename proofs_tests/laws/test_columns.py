"""The columnar predicate stage against the scalar truth, bit by bit."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cerlab import BadData, Event, Timestamp, satisfies
from cerlab.model.arrays import order_of
from cerlab.model.columns import array_of
from cerlab.model.event import Value
from cerlab.predicates import columns as stage
from cerlab.predicates import syntax as pred
from cerlab.predicates.columns import SymbolStage, axes
from cerlab.predicates.columns import pieces as arrays
from cerlab.predicates.columns.key_codes import KeyCodes
from proofs_tests.laws.random_columns import (
    DEEP,
    INF,
    NAN,
    UNITS,
    check_batch,
    check_case,
)
from proofs_tests.suite import Suite


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, None, -(2**63), 2**63 - 1], pa.int64()),
        ([True, None, False] * 7, pa.bool_()),
        ([0.5, None, float("nan"), float("inf"), -0.0], pa.float64()),
        (["a", None, "", "é\0𝄞"], pa.string()),
        ([None, None], pa.null()),
        ([], pa.null()),
    ],
)
def test_values_of_one_type_are_what_pyarrow_makes_of_them(values: list[Any], kind: Any) -> None:
    array = array_of(values)
    assert array is not None
    assert array.type == kind
    array.validate(full=True)
    assert str(array) == str(pa.array(values, kind, from_pandas=False))


@pytest.mark.parametrize("values", [[2**63], ["\ud800"], [1, True], [1, 1.0], [b"x"]])
def test_what_no_column_holds_exactly_stays_a_list(values: list[Any]) -> None:
    assert array_of(values) is None


def test_each_event_has_the_vector_of_the_scalar_truth(suite: Suite) -> None:
    suite.run(check_case, deep_count=DEEP)


def test_so_it_does_where_no_table_has_a_cell_for_each_combination(
    suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stage, "MAX_CELLS", 2)
    monkeypatch.setattr(arrays, "MAX_KEY", 4)
    monkeypatch.setattr(axes, "MAX_VALUES", 3)
    suite.run(check_case, deep_count=DEEP)


def one_column(predicates: Sequence[pred.Predicate], column: Any) -> list[list[bool]]:
    """For each event, which predicates hold."""
    one = SymbolStage(predicates)
    symbols = one.symbols({"type": ["A"] * len(column), "v": column}, len(column))
    return [[bool(one.vectors[s] >> k & 1) for k in range(len(predicates))] for s in symbols]


V = pred.Attribute("v")


def about(constant: Value) -> list[pred.Predicate]:
    """``v < c``, ``v = c``, ``v > c``, ``v != c``."""
    operators = (pred.Operator.LT, pred.Operator.EQ, pred.Operator.GT, pred.Operator.NE)
    return [pred.Comparison(each, V, pred.Constant(constant)) for each in operators]


BELOW, SAME, ABOVE, NOTHING = ([c == "1" for c in row] for row in ("1001", "0100", "0011", "0000"))


ROWS: list[tuple[Value, Any, list[list[bool]]]] = [
    (0, pa.array([NAN, -0.0, 0.0, 5e-324, None]), [NOTHING, SAME, SAME, ABOVE, NOTHING]),
    (-0.0, pa.array([0, -1, 1, None], pa.int8()), [SAME, BELOW, ABOVE, NOTHING]),
    (INF, pa.array([INF, -INF, NAN, 1e308]), [SAME, BELOW, NOTHING, BELOW]),
    (-INF, pa.array([INF, -INF, NAN, -1e308]), [ABOVE, SAME, NOTHING, ABOVE]),
    (INF, pa.array([2**63 - 1, -(2**63)]), [BELOW, BELOW]),
    (-INF, pa.array([2**63 - 1, -(2**63)]), [ABOVE, ABOVE]),
    (-INF, pa.array([0], pa.uint64()), [ABOVE]),
    (NAN, pa.array([NAN, 0.0, INF, None]), [NOTHING] * 4),
    (2.0**53, pa.array([2**53 - 1, 2**53, 2**53 + 1]), [BELOW, SAME, ABOVE]),
    (2**53 + 1, pa.array([2.0**53, 2.0**53 + 2]), [BELOW, ABOVE]),
    (2.0**51 + 0.5, pa.array([2**51, 2**51 + 1]), [BELOW, ABOVE]),
    (2.0**63, pa.array([2**63 - 1, -(2**63)]), [BELOW, BELOW]),
    (-(2.0**63), pa.array([-(2**63), 1 - 2**63]), [SAME, ABOVE]),
    (2**63, pa.array([2**63 - 1, 2**63, 2**64 - 1], pa.uint64()), [BELOW, SAME, ABOVE]),
    (2.0**64, pa.array([2**64 - 1, 0], pa.uint64()), [BELOW, BELOW]),
    (2**64 - 1, pa.array([2.0**64, math.nextafter(2.0**64, 0)]), [ABOVE, BELOW]),
    (-1, pa.array([0, 2**64 - 1], pa.uint64()), [ABOVE, ABOVE]),
    (2**63 - 1, pa.array([2**63 - 2, 2**63 - 1]), [BELOW, SAME]),
    (2**64 - 1, pa.array([2**64 - 2, 2**64 - 1], pa.uint64()), [BELOW, SAME]),
    (2e19, pa.array([0, 2**64 - 1], pa.uint64()), [BELOW, BELOW]),
    (-(2**63), pa.array([-(2**63), 1 - 2**63]), [SAME, ABOVE]),
    (10**400, pa.array([1e308, INF, -INF]), [BELOW, ABOVE, BELOW]),
    (-(10**400), pa.array([-1e308, INF, -INF]), [ABOVE, ABOVE, BELOW]),
    (0.1, pa.array([0.1], pa.float32()), [ABOVE]),
    (True, pa.array([1, 0]), [NOTHING, NOTHING]),
    (1, pa.array([True, False]), [NOTHING, NOTHING]),
    (False, pa.array([True, False, None]), [ABOVE, SAME, NOTHING]),
    ("", pa.array(["", "a", None]), [SAME, ABOVE, NOTHING]),
    ("é", pa.array(["z", "é", "\U0001f600"]).dictionary_encode(), [BELOW, SAME, ABOVE]),
    ("a", pa.array(["a", None, "b", "a"]).dictionary_encode()[1:], [NOTHING, ABOVE, SAME]),
    (1, pa.array([1, 2, None]).dictionary_encode(), [SAME, ABOVE, NOTHING]),
    ("a", pa.DictionaryArray.from_arrays([0, 1, None], [None, "a"]), [NOTHING, SAME, NOTHING]),
    ("a", ["a", 1, True, None, NAN, "b"], [SAME, *[NOTHING] * 4, ABOVE]),
    (2**70, [2**70, 2**70 + 1, 2.0**70, 0.5], [SAME, ABOVE, SAME, BELOW]),
    ("a", ["\ud800", "a"], [ABOVE, SAME]),
    (1, pa.nulls(2), [NOTHING, NOTHING]),
    (1, pa.chunked_array([[1], [], [2, None]]), [SAME, ABOVE, NOTHING]),
    (1, pa.chunked_array([], pa.int64()), []),
    (1, pa.array([0.5, 1]).cast(pa.decimal128(5, 2)), [BELOW, SAME]),
    (Timestamp(10**9), pa.array([10**9], pa.int64()), [NOTHING]),
    (10**9, pa.array([10**9]).cast(pa.timestamp("ns")), [NOTHING]),
    (Timestamp(2**70), pa.array([1]).cast(pa.timestamp("s")), [BELOW]),
    (Timestamp(0), pa.array([-1, 0, 1], pa.int32()).cast(pa.date32()), [BELOW, SAME, ABOVE]),
    (Timestamp(1), [Timestamp(0), None, Timestamp(1)], [BELOW, NOTHING, SAME]),
    (Timestamp(1), [Timestamp(2**70), Timestamp(1)], [ABOVE, SAME]),
]


@pytest.mark.parametrize(("constant", "column", "expected"), ROWS, ids=map(str, range(len(ROWS))))
def test_a_value_is_below_at_or_above_a_constant_or_does_not_compare(
    constant: Value, column: Any, expected: list[list[bool]]
) -> None:
    assert one_column(about(constant), column) == expected


@pytest.mark.parametrize("unit", sorted(UNITS))
@pytest.mark.parametrize("zone", [None, "UTC", "Asia/Kolkata"])
def test_moments_of_all_units_are_exact(unit: str, zone: str | None) -> None:
    column = pa.array([-1, 0, 1, None], pa.int64()).cast(pa.timestamp(unit, zone))
    expected = [BELOW, BELOW, SAME, NOTHING]
    assert one_column(about(Timestamp(UNITS[unit])), column) == expected
    assert one_column(about(Timestamp(UNITS[unit])), column.dictionary_encode()) == expected


@pytest.mark.parametrize(
    "column",
    [pa.array([2.5, NAN, None, 1.0]), pa.chunked_array([[2.5, NAN], [None, 1.0]])],
)
def test_two_attributes_compare_by_value(column: Any) -> None:
    less = pred.Comparison(pred.Operator.LT, pred.Attribute("v"), pred.Attribute("w"))
    more = pred.Comparison(pred.Operator.NE, pred.Attribute("w"), pred.Attribute("v"))
    one = SymbolStage([less, more])
    for w in (pa.array([3.0, NAN, 1.0, 1.0]), pa.array([3, 0, 1, 1]), [3, NAN, 1, 1.0]):
        symbols = one.symbols({"type": ["A"] * 4, "v": column, "w": w}, 4)
        assert [one.vectors[s] for s in symbols] == [3, 0, 0, 0]


def test_symbols_of_no_events_and_of_no_predicates() -> None:
    assert SymbolStage(about(1)).symbols({"type": [], "v": pa.array([], pa.int64())}, 0).size == 0
    assert SymbolStage([]).symbols({"type": ["A"]}, 1).tolist() == [0]
    always = SymbolStage(
        [pred.EVERYTHING, pred.Comparison(pred.Operator.LT, pred.Constant(1), pred.Constant(2))]
    )
    assert always.symbols({"type": ["A", "B"]}, 2).tolist() == [1, 1]
    assert always.vectors == [0, 3]


def test_symbols_grow_to_16_bits() -> None:
    one = SymbolStage([pred.Comparison(pred.Operator.EQ, V, pred.Constant(n)) for n in range(300)])
    few = one.symbols({"type": ["A"] * 3, "v": pa.array([7, 5, 1000])}, 3)
    assert few.dtype == np.uint8
    assert few.tolist() == [1, 2, 0]
    many = one.symbols({"type": ["A"] * 1000, "v": pa.array(range(1000))}, 1000)
    assert many.dtype == np.uint16
    assert [one.vectors[s] for s in many] == [1 << n if n < 300 else 0 for n in range(1000)]
    assert one.symbols({"type": ["A"], "v": [5]}, 1).tolist() == [2]


def test_combinations_of_more_columns_than_an_integer_numbers() -> None:
    """Seven columns of 1,024 values: 2^70 combinations, and rows that differ in the first alone."""
    parts = [np.array([0, 512], np.uint32), *[np.zeros(2, np.uint32)] * 6]
    first, code = arrays.combinations(parts, [1024] * 7)
    assert (first.tolist(), code.tolist()) == ([0, 1], [0, 1])


@pytest.mark.parametrize("max_cells", [2**20, 100])
def test_symbols_are_as_narrow_as_they_fit(monkeypatch: pytest.MonkeyPatch, max_cells: int) -> None:
    """Eight booleans have 256 vectors, which fit into 8 bits; one more has not."""
    monkeypatch.setattr(stage, "MAX_CELLS", max_cells)
    names = [f"b{k}" for k in range(9)]
    one = SymbolStage(
        [pred.Comparison(pred.Operator.EQ, pred.Attribute(b), pred.Constant(True)) for b in names]
    )
    for n, dtype in ((256, np.uint8), (257, np.uint16)):
        rows = np.arange(n)
        columns = {b: pa.array((rows >> k & 1).astype(bool)) for k, b in enumerate(names)}
        symbols = one.symbols({"type": ["A"] * n, **columns}, n)
        assert symbols.dtype == dtype
        assert [one.vectors[s] for s in symbols.tolist()] == rows.tolist()


@pytest.mark.parametrize("max_cells", [2**20, 2**10])
def test_symbols_grow_to_32_bits(monkeypatch: pytest.MonkeyPatch, max_cells: int) -> None:
    monkeypatch.setattr(stage, "MAX_CELLS", max_cells)
    names = [f"b{k}" for k in range(17)]
    one = SymbolStage(
        [pred.Comparison(pred.Operator.EQ, pred.Attribute(b), pred.Constant(True)) for b in names]
    )
    n = 2**16 + 10
    rows = np.arange(n)
    columns = {b: pa.array((rows >> k & 1).astype(bool)) for k, b in enumerate(names)}
    symbols = one.symbols({"type": ["A"] * n, **columns}, n)
    assert symbols.dtype == np.uint32
    assert [one.vectors[s] for s in symbols.tolist()] == rows.tolist()


def test_a_product_of_many_cut_points_is_no_table() -> None:
    names = [f"c{k}" for k in range(8)]
    predicates = [
        pred.Comparison(pred.Operator.LT, pred.Attribute(name), pred.Constant(n))
        for name in names
        for n in range(8)
    ]
    one = SymbolStage(predicates)
    rng = Random(1)
    values = {name: [rng.randrange(-1, 10) for _ in range(500)] for name in names}
    columns = {"type": ["A"] * 500, **{name: pa.array(each) for name, each in values.items()}}
    events = [Event("A", {name: each[i] for name, each in values.items()}) for i in range(500)]
    check_batch(one, (columns, events))
    assert one._lut is None


@pytest.mark.long
def test_many_constants_are_searched_by_halves() -> None:
    rng = Random(2)
    for count in (15, 16, 17, 40, 301):
        constants = [rng.uniform(-5, 5) for _ in range(count)]
        one = SymbolStage(
            [pred.Member(V, tuple(map(pred.Constant, constants[:3]))), *map(below, constants)]
        )
        values = [*constants, *(math.nextafter(c, INF) for c in constants), NAN, INF, -INF, 0.0]
        events = [Event("A", {"v": x}) for x in values]
        check_batch(one, ({"type": ["A"] * len(values), "v": pa.array(values)}, events))


def below(cut: float) -> pred.Predicate:
    return pred.Comparison(pred.Operator.LE, V, pred.Constant(cut))


def test_known_values_cost_no_evaluation(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Event] = []

    def count_call(event: Event, predicate: pred.Predicate) -> bool:
        calls.append(event)
        return satisfies(event, predicate)

    monkeypatch.setattr(axes, "satisfies", count_call)
    total = pred.Computed(pred.Arithmetic.ADD, V, pred.Constant(1))
    one = SymbolStage(
        [
            pred.Like(pred.Attribute("w"), "a"),
            pred.Comparison(pred.Operator.GT, total, pred.Constant(3)),
        ]
    )
    columns = {"w": pa.array(["a", "b"] * 500), "v": pa.array([1, 2, 3, 4] * 250)}
    one.symbols({"type": ["A"] * 1000, **columns}, 1000)
    assert len(calls) == 2 + 1  # the distinct texts, and NULL; numbers are compared as arrays
    one.symbols({"type": ["A"], "w": ["b"], "v": [4]}, 1)
    one.symbols({"type": ["A"], "w": pa.array(["a"]).dictionary_encode(), "v": [2]}, 1)
    assert len(calls) == 3
    one.symbols({"type": ["A"], "w": ["c"]}, 1)
    assert len(calls) == 5  # and that `v` is missing


def test_columns_of_other_lengths_and_types_are_refused() -> None:
    one = SymbolStage(about(1))
    with pytest.raises(ValueError, match="column 'v' has 2 values for 3 events"):
        one.symbols({"type": ["A"] * 3, "v": [1, 2]}, 3)
    with pytest.raises(ValueError, match="column 'k' has 1 values for 2 events"):
        KeyCodes(["k"]).codes({"k": [1]}, 2)
    for column in (pa.array([[1]]), pa.array([b"a"]), pa.array([1]).cast(pa.time64("ns"))):
        with pytest.raises(BadData, match="CER0741"):
            one.symbols({"type": ["A"], "v": column}, 1)
    with pytest.raises(BadData, match="CER0740"):
        one.symbols({"type": ["A"], "v": pa.array([2**62]).cast(pa.timestamp("s"))}, 1)


def test_importing_the_stage_loads_neither_numba_nor_arrow() -> None:
    code = (
        "import sys, cerlab.predicates.columns, cerlab.predicates.columns.key_codes;"
        "print([m for m in ('numba', 'pyarrow') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("few", [0, 1 << 10])
def test_rows_in_order_are_those_of_a_sort(
    suite: Suite, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Integers near each other and as far apart as 64 bits, floats, booleans; equal ones stay."""
    monkeypatch.setattr("cerlab.model.arrays._FEW", few)

    def key(rng: Random, rows: int) -> Any:
        most = rng.choice((1, 5, rows + 1, 2**16 - 1, 2**16, 2**40, 2**63 - 1))
        least = rng.choice((0, -most))
        integers = np.array([rng.randint(least, most) for _ in range(rows)], np.int64)
        if rng.random() < 0.5:  # one far away: the others have the same highest bits
            integers[:1] = rng.choice((-(2**63), 2**63 - 1))
        return integers if rng.random() < 0.8 else integers.astype(rng.choice((float, bool)))

    def case(rng: Random) -> bool:
        rows = rng.choice((0, 1, 2, 9, 40, 300))
        keys = [key(rng, rows) for _ in range(rng.choice((1, 1, 2, 3)))]
        found = order_of(*keys)
        assert found.dtype == np.int64
        assert found.tolist() == np.lexsort(keys[::-1]).tolist(), keys
        return rows > 1

    suite.run(case, deep_count=4_000)


EDGES = [0, 1, -1, 2**31, 2**53, 2**53 + 1, 2**62, 2**63 - 1, -(2**63), 1 - 2**63]
WHOLE = [*EDGES, *(-n for n in EDGES[3:7])]
DOUBLES = [
    *map(float, WHOLE),
    0.5,
    -0.5,
    1e300,
    -1e300,
    5e-324,
    math.inf,
    -math.inf,
    NAN,
    2.0**53 + 2,
]


@pytest.mark.parametrize("operator", pred.Operator)
@pytest.mark.parametrize("kind", ["int64", "double", "int and double", "uint64"])
@pytest.mark.parametrize(
    "sides", ["v w", "w v", "v+1 w", "v*2 w", "v%w 1", "v/w 2", "-v w", "v-w 0"]
)
def test_comparisons_by_arrays_are_those_of_the_scalar_truth(
    operator: pred.Operator, kind: str, sides: str
) -> None:
    """At the bounds of 64 bits and of doubles, each number with each, and NULL."""

    def side(text: str) -> pred.Expression:
        if text.lstrip("-").isdigit():
            return pred.Constant(int(text))
        if text.startswith("-"):
            return pred.Negated(pred.Attribute(text[1:]))
        if len(text) == 1:
            return pred.Attribute(text)
        return pred.Computed(pred.Arithmetic(text[1]), pred.Attribute(text[0]), side(text[2]))

    one, other = map(side, sides.split())
    left: list[Any] = {"int64": WHOLE, "uint64": [2**64 - 1, 2**63, 1]}.get(kind, DOUBLES)
    right: list[Any] = DOUBLES if kind == "double" else WHOLE
    pairs = [(v, w) for v in (*left, None) for w in (*right, None)]
    of_left = {"int64": pa.int64(), "uint64": pa.uint64()}.get(kind, pa.float64())
    v = pa.array([v for v, _ in pairs], of_left)
    w = pa.array([w for _, w in pairs], pa.float64() if kind == "double" else pa.int64())
    columns: dict[str, Any] = {"type": ["A"] * len(pairs), "v": v, "w": w}
    atom = pred.Comparison(operator, one, other)
    by_arrays = SymbolStage([atom])
    for rows in (slice(None), slice(1, None), slice(None, -1)):
        some = {name: column[rows] for name, column in columns.items()}
        symbols = by_arrays.symbols(some, len(pairs[rows]))
        found = [by_arrays.vectors[n] for n in symbols.tolist()]
        assert found == [satisfies(Event("A", {"v": a, "w": b}), atom) for a, b in pairs[rows]]
