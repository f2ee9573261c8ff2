"""The columnar predicate stage against the scalar truth, bit by bit; partition ids against keys.

The expected values of a column are made before the column: no reader of Arrow is trusted twice.

One file, because the random columns serve the stage, the partition ids, the mutants and the run
without the JIT.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cerlab.errors import BadData
from cerlab.model.event import Event, Timestamp, Value
from cerlab.predicates import key_codes
from cerlab.predicates.bitvector import (
    SymbolStage,
    arrays,
    axes,
    columns,
    compacted,
    cuts,
    kernels,
    stage,
    twins,
)
from cerlab.predicates.key_codes import KeyCodes
from cerlab.predicates.keys import partition_key
from cerlab.predicates.syntax import (
    EVERYTHING,
    Arithmetic,
    Attribute,
    Between,
    Comparison,
    Complement,
    Computed,
    Conjunction,
    Constant,
    Disjunction,
    Expression,
    Like,
    Member,
    Negated,
    Operator,
    Predicate,
    StreamIs,
    TypeIs,
)
from cerlab.predicates.truth import satisfies
from cerlab.testing import ATTRIBUTES, STREAMS, TYPES, random_predicate
from proofs_tests.suite import Suite

JIT = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")
DEEP = 20_000 if JIT else 1_000
SECONDS = 8.0 if JIT else 1.0

NAN, INF = math.nan, math.inf
INTEGERS: tuple[int, ...] = (
    *(0, 1, -1, 2, 3, 100, 2**31, 2**51, 2**53 - 1, 2**53, 2**53 + 1, -(2**53) - 1),
    *(2**63 - 1, -(2**63), 2**63, 2**64 - 1),
)
FLOATS: tuple[float, ...] = (
    *(0.0, -0.0, 0.5, 1.0, 1.5, 2.0, 0.1, 2.0**53, 2.0**53 + 2, 2.0**51 + 0.5, -(2.0**53)),
    *(2.0**63, 2.0**64, 5e-324, sys.float_info.max, INF, -INF, NAN),
)
TEXTS = ("a", "b", "ab", "", "é", "A")
MOMENTS = (0, 1, -1, 999, 1_000, 86_400 * 10**9, 10**18, -(10**18) - 1)
CONSTANTS: tuple[Value, ...] = (
    *INTEGERS,
    *FLOATS,
    *TEXTS,
    *map(Timestamp, MOMENTS),
    *(True, False, None),
    *(2**70, -(2**70), 10**400),
    Timestamp(2**70),
)

UNITS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
WHOLE = {
    **{f"int{bits}": (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": (0, 2**bits - 1) for bits in (8, 16, 32, 64)},
}
CASES = (
    *("mixed", "mixed", "list", "null", "bool", "text", "large", "view", "date32", "date64"),
    *("whole", "whole", "whole", "float64", "float64", "float32", "float16", "moment", "moment"),
)
Palette = tuple[Value, ...]
"""The constants of one case, and the values that its columns prefer."""

Batch = tuple[dict[str, Any], list[Event]]


def random_column(rng: Random, length: int, palette: Palette) -> tuple[Any, list[Value]]:
    """A column of some type, and the values of its events."""
    case = rng.choice(CASES)
    nulls = rng.choice((0.0, 0.2))

    def some(pool: Sequence[Any]) -> list[Any]:
        few = [each for each in pool if each in palette]
        few += rng.sample(pool, min(len(pool), 2))
        return [None if rng.random() < nulls else rng.choice(few) for _ in range(length)]

    match case:
        case "mixed":
            values: list[Value] = some((*palette, *rng.sample(CONSTANTS, 3)))
            return values, values
        case "list":
            values = some(rng.choice((INTEGERS, FLOATS, TEXTS, (True, False))))
            return tuple(values), values
        case "null":
            return pa.nulls(length), [None] * length
        case "bool":
            values = some((True, False))
            array = pa.array(values, pa.bool_())
        case "text" | "large" | "view":
            values = some(TEXTS)
            kinds = {"text": pa.string(), "large": pa.large_string(), "view": pa.string_view()}
            array = pa.array(values, kinds[case])
        case "whole":
            name = rng.choice(sorted(WHOLE))
            low, high = WHOLE[name]
            values = some([n for n in (*INTEGERS, low, high) if low <= n <= high])
            array = pa.array(values, getattr(pa, name)())
        case "float64" | "float32" | "float16":
            dtype = getattr(np, case)
            with np.errstate(over="ignore"):
                pool = [float(dtype(x)) for x in (*FLOATS, rng.uniform(-2, 2))]
            values = some(pool)
            filled = [0.0 if x is None else x for x in values]
            with np.errstate(over="ignore"):
                absent = np.array([x is None for x in values], bool)
                array = pa.array(np.array(filled, dtype), mask=absent, from_pandas=False)
        case "moment":
            unit = rng.choice(sorted(UNITS))
            liked = [m.nanoseconds for m in palette if isinstance(m, Timestamp)]
            wanted = [n // UNITS[unit] for n in (*MOMENTS[:2], *liked)]
            counts = some([n for n in wanted if abs(n * UNITS[unit]) < 2**63])
            values = [None if n is None else Timestamp(n * UNITS[unit]) for n in counts]
            zone = rng.choice((None, "UTC", "America/Santiago"))
            array = pa.array(counts, pa.int64()).cast(pa.timestamp(unit, zone))
        case _:
            days = some((0, 1, -1, 11_574, 20_000))
            values = [None if n is None else Timestamp(n * 86_400 * 10**9) for n in days]
            array = pa.array(days, pa.int32()).cast(pa.date32())
            array = array.cast(pa.date64()) if case == "date64" else array
    return dressed(rng, array), values


def dressed(rng: Random, array: Any) -> Any:
    """The same values as a dictionary, a slice, in chunks, or all of these."""
    length = len(array)
    sliced = rng.random() < 0.2
    if sliced:  # before the encoding: pyarrow spoils dictionaries of float16 when it joins them
        array = pa.concat_arrays([array, array])
    if rng.random() < 0.3:
        array = array.dictionary_encode()
    if sliced:
        array = array[length:]
    if rng.random() < 0.3:
        cut = rng.randrange(len(array) + 1)
        return pa.chunked_array([array[:cut], array[cut:], array[:0]], array.type)
    return array


def random_expression(rng: Random, palette: Palette, depth: int = 2) -> Expression:
    if depth == 0 or rng.random() < 0.6:
        named = rng.random() < 0.6
        return Attribute(rng.choice("vvw")) if named else Constant(rng.choice(palette))
    if rng.random() < 0.2:
        return Negated(random_expression(rng, palette, depth - 1))
    left, right = (random_expression(rng, palette, depth - 1) for _ in range(2))
    return Computed(rng.choice(list(Arithmetic)), left, right)


def random_question(rng: Random, palette: Palette, depth: int = 3) -> Predicate:
    """A predicate of any shape over v, w, type and stream."""
    choice = rng.randrange(12 if depth else 9)
    v = Attribute(rng.choice("vvw"))
    operator = rng.choice(list(Operator))
    match choice:
        case 0:
            return random_predicate(rng, ATTRIBUTES)
        case 1:
            return rng.choice((TypeIs(rng.choice(TYPES)), StreamIs("S"), EVERYTHING))
        case 2:
            return Comparison(
                operator, random_expression(rng, palette), random_expression(rng, palette)
            )
        case 3 | 4:
            sides = (v, Constant(rng.choice(palette)))
            return Comparison(operator, *rng.choice((sides, sides[::-1])))
        case 5:
            some = tuple(map(Constant, rng.sample(palette, 3)))
            operand = v if rng.random() < 0.7 else random_expression(rng, palette)
            return Member(operand, some, rng.random() < 0.3)
        case 6:
            low, high = (
                None if rng.random() < 0.3 else random_expression(rng, palette, 1) for _ in "ab"
            )
            operand = v if rng.random() < 0.7 else random_expression(rng, palette)
            return Between(operand, low, high, rng.random() < 0.3)
        case 7:
            return Like(v, rng.choice(("a", "^b", "[ab]$", "^$", "é|A")))
        case 8:
            name = rng.choice(("v", "type", "stream"))
            return Comparison(operator, Attribute(name), Attribute("w"))
        case 9:
            return Complement(random_question(rng, palette, depth - 1))
        case _:
            both = (
                random_question(rng, palette, depth - 1),
                random_question(rng, palette, depth - 1),
            )
            return Conjunction(*both) if rng.random() < 0.5 else Disjunction(*both)


def random_batch(rng: Random, length: int, palette: Palette = CONSTANTS) -> Batch:
    """Columns, and the events that they hold."""
    types = [rng.choice(TYPES) for _ in range(length)]
    text = rng.choice((pa.string(), pa.large_string()))
    given = {"type": rng.choice((types, dressed(rng, pa.array(types, text))))}
    streams: list[Any] = [None] * length
    if rng.random() < 0.5:
        streams = [rng.choice((None, *STREAMS)) for _ in range(length)]
        given["stream"] = rng.choice((streams, dressed(rng, pa.array(streams, text))))
    attributes: dict[str, list[Value]] = {}
    for name in "vwx":
        if rng.random() < 0.9:
            given[name], attributes[name] = random_column(rng, length, palette)
    events = [
        Event(types[i], {name: each[i] for name, each in attributes.items()}, streams[i])
        for i in range(length)
    ]
    return given, events


def vector(event: Event, predicates: Sequence[Predicate]) -> int:
    return sum(1 << k for k, P in enumerate(predicates) if satisfies(event, P))


def check_batch(one: SymbolStage, batch: Batch) -> list[int]:
    """The vectors of the events of a batch, each compared with the scalar truth."""
    given, events = batch
    symbols = one.symbols(given, len(events))
    assert symbols.shape == (len(events),)
    assert symbols.dtype in (np.uint8, np.uint16, np.uint32)
    got = [one.vectors[s] for s in symbols.tolist()]
    for event, its_vector in zip(events, got, strict=True):
        assert its_vector == vector(event, one.predicates), event
    return got


def check_case(rng: Random) -> bool:
    """Several batches through one stage, in both orders; whether events differed."""
    palette = (0, *rng.sample(CONSTANTS, 8))
    predicates = [random_question(rng, palette) for _ in range(rng.randrange(2, 6))]
    sizes = rng.choice(((6,), (12,), (0, 6), (6, 12), (1, 6, 1), (12, 0, 6)))
    batches = [random_batch(rng, size, palette) for size in sizes]
    one = SymbolStage(predicates)
    forward = [check_batch(one, batch) for batch in batches]
    assert one.vectors[0] == 0
    assert len(set(one.vectors)) == len(one.vectors)
    if len(batches) > 1:
        other = SymbolStage(predicates)
        assert [check_batch(other, batch) for batch in batches[::-1]] == forward[::-1]
    return len({each for part in forward for each in part}) > 1


def test_each_event_has_the_vector_of_the_scalar_truth(suite: Suite) -> None:
    suite.run(check_case, deep_count=DEEP, seconds=SECONDS)


def test_so_it_does_where_no_table_has_a_cell_for_each_combination(
    suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stage, "MAX_CELLS", 2)
    monkeypatch.setattr(arrays, "MAX_KEY", 4)
    monkeypatch.setattr(axes, "MAX_KEPT", 3)
    suite.run(check_case, deep_count=DEEP, seconds=SECONDS / 2)


def one_column(predicates: Sequence[Predicate], column: Any) -> list[list[bool]]:
    """For each event, which predicates hold."""
    one = SymbolStage(predicates)
    symbols = one.symbols({"type": ["A"] * len(column), "v": column}, len(column))
    return [[bool(one.vectors[s] >> k & 1) for k in range(len(predicates))] for s in symbols]


V = Attribute("v")


def about(constant: Value) -> list[Predicate]:
    """``v < c``, ``v = c``, ``v > c``, ``v != c``."""
    operators = (Operator.LT, Operator.EQ, Operator.GT, Operator.NE)
    return [Comparison(each, V, Constant(constant)) for each in operators]


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
    less = Comparison(Operator.LT, Attribute("v"), Attribute("w"))
    more = Comparison(Operator.NE, Attribute("w"), Attribute("v"))
    one = SymbolStage([less, more])
    for w in (pa.array([3.0, NAN, 1.0, 1.0]), pa.array([3, 0, 1, 1]), [3, NAN, 1, 1.0]):
        symbols = one.symbols({"type": ["A"] * 4, "v": column, "w": w}, 4)
        assert [one.vectors[s] for s in symbols] == [3, 0, 0, 0]


def test_symbols_of_no_events_and_of_no_predicates() -> None:
    assert SymbolStage(about(1)).symbols({"type": [], "v": pa.array([], pa.int64())}, 0).size == 0
    assert SymbolStage([]).symbols({"type": ["A"]}, 1).tolist() == [0]
    always = SymbolStage([EVERYTHING, Comparison(Operator.LT, Constant(1), Constant(2))])
    assert always.symbols({"type": ["A", "B"]}, 2).tolist() == [1, 1]
    assert always.vectors == [0, 3]


def test_symbols_grow_to_16_bits() -> None:
    one = SymbolStage([Comparison(Operator.EQ, V, Constant(n)) for n in range(300)])
    few = one.symbols({"type": ["A"] * 3, "v": pa.array([7, 5, 1000])}, 3)
    assert few.dtype == np.uint8
    assert few.tolist() == [1, 2, 0]
    many = one.symbols({"type": ["A"] * 1000, "v": pa.array(range(1000))}, 1000)
    assert many.dtype == np.uint16
    assert [one.vectors[s] for s in many] == [1 << n if n < 300 else 0 for n in range(1000)]
    assert one.symbols({"type": ["A"], "v": [5]}, 1).tolist() == [2]


@pytest.mark.parametrize("max_cells", [2**20, 2**10])
def test_symbols_grow_to_32_bits(monkeypatch: pytest.MonkeyPatch, max_cells: int) -> None:
    monkeypatch.setattr(stage, "MAX_CELLS", max_cells)
    names = [f"b{k}" for k in range(17)]
    one = SymbolStage([Comparison(Operator.EQ, Attribute(b), Constant(True)) for b in names])
    n = 2**16 + 10
    rows = np.arange(n)
    given = {b: pa.array((rows >> k & 1).astype(bool)) for k, b in enumerate(names)}
    symbols = one.symbols({"type": ["A"] * n, **given}, n)
    assert symbols.dtype == np.uint32
    assert [one.vectors[s] for s in symbols.tolist()] == rows.tolist()


def test_a_product_of_many_cut_points_is_no_table() -> None:
    names = [f"c{k}" for k in range(8)]
    predicates = [
        Comparison(Operator.LT, Attribute(name), Constant(n)) for name in names for n in range(8)
    ]
    one = SymbolStage(predicates)
    rng = Random(1)
    values = {name: [rng.randrange(-1, 10) for _ in range(500)] for name in names}
    given = {"type": ["A"] * 500, **{name: pa.array(each) for name, each in values.items()}}
    events = [Event("A", {name: each[i] for name, each in values.items()}) for i in range(500)]
    check_batch(one, (given, events))
    assert one._lut is None


def test_many_constants_are_searched_by_halves() -> None:
    rng = Random(2)
    for count in (15, 16, 17, 40, 301):
        constants = [rng.uniform(-5, 5) for _ in range(count)]
        one = SymbolStage([Member(V, tuple(map(Constant, constants[:3]))), *map(below, constants)])
        values = [*constants, *(math.nextafter(c, INF) for c in constants), NAN, INF, -INF, 0.0]
        events = [Event("A", {"v": x}) for x in values]
        check_batch(one, ({"type": ["A"] * len(values), "v": pa.array(values)}, events))


def below(cut: float) -> Predicate:
    return Comparison(Operator.LE, V, Constant(cut))


def test_known_values_cost_no_evaluation(monkeypatch: pytest.MonkeyPatch) -> None:
    evaluated: list[Event] = []

    def counted(event: Event, predicate: Predicate) -> bool:
        evaluated.append(event)
        return satisfies(event, predicate)

    monkeypatch.setattr(axes, "satisfies", counted)
    total = Computed(Arithmetic.ADD, V, Constant(1))
    one = SymbolStage([Like(Attribute("w"), "a"), Comparison(Operator.GT, total, Constant(3))])
    given = {"w": pa.array(["a", "b"] * 500), "v": pa.array([1, 2, 3, 4] * 250)}
    one.symbols({"type": ["A"] * 1000, **given}, 1000)
    assert len(evaluated) == 2 + 1 + 4 + 1  # the distinct values, and NULL
    one.symbols({"type": ["A"], "w": ["b"], "v": [4]}, 1)
    one.symbols({"type": ["A"], "w": pa.array(["a"]).dictionary_encode(), "v": [2]}, 1)
    assert len(evaluated) == 8
    one.symbols({"type": ["A"], "v": pa.array([2.0])}, 1)  # 2.0 and 2 add up differently
    assert len(evaluated) == 9


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


def check_keys(rng: Random) -> bool:
    """Partition ids of several batches: equal exactly where the keys are, and in order."""
    names = tuple(
        rng.choice(("v", "w", "type", "type", "stream")) for _ in range(rng.choice((0, 1, 1, 2, 3)))
    )
    palette = tuple(rng.sample(CONSTANTS, 8))
    keys = KeyCodes(names)
    id_of: dict[Any, int] = {}
    for _ in range(rng.choice((1, 2, 3))):
        given, events = random_batch(rng, rng.choice((0, 1, 6, 12)), palette)
        codes = keys.codes(given, len(events))
        assert codes.dtype == np.int64
        expected = []
        for event in events:
            key = partition_key(event, names)
            expected.append(-1 if key is None else id_of.setdefault(key, len(id_of)))
        assert codes.tolist() == expected
        assert keys.count == len(id_of)
    return len(id_of) > 1


def test_partition_ids_are_equal_exactly_where_keys_are(suite: Suite) -> None:
    suite.run(check_keys, deep_count=DEEP, seconds=SECONDS / 2, needs_answers=0.4)


def test_so_they_are_where_no_table_has_a_cell_for_each_key(
    suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_codes, "MAX_CELLS", 20)
    monkeypatch.setattr(arrays, "MAX_KEY", 20)
    suite.run(check_keys, deep_count=DEEP, seconds=SECONDS / 4, needs_answers=0.4)


def test_one_is_one_point_zero_and_not_true() -> None:
    keys = KeyCodes(["k"])
    assert keys.codes({"k": [1, 1.0, True, "1", None, NAN, -0.0, 0]}, 8).tolist() == [
        *(0, 0, 1, 2, -1, -1, 3, 3)
    ]
    assert keys.codes({"k": pa.array([1.0, NAN, 0.0, None])}, 4).tolist() == [0, -1, 3, -1]
    assert keys.codes({"k": pa.array([True, False])}, 2).tolist() == [1, 4]
    assert keys.codes({"k": pa.array([2**53 + 1, 2**53])}, 2).tolist() == [5, 6]
    assert keys.codes({"k": pa.array([2.0**53])}, 1).tolist() == [6]
    assert keys.codes({}, 2).tolist() == [-1, -1]
    assert keys.count == 7


def random_arrays(rng: np.random.Generator) -> dict[str, tuple[Any, ...]]:
    """Arguments of each kernel; the last arrays are written."""
    n = int(rng.choice([0, 1, 10, 2_047, 2_048, 5_000]) if JIT else rng.choice([0, 1, 10, 100]))
    table_of = np.dtype(rng.choice(["uint8", "uint16", "uint32"]))
    dtype = np.dtype(rng.choice(["int64", "uint64", "float64"]))
    starts = np.unique(rng.integers(0, 60, int(rng.choice([1, 3, 16, 17, 40]))).astype(dtype))
    values = rng.integers(0, 60, n).astype(dtype)
    if dtype == np.float64:
        starts[0] = -np.inf
        values[rng.random(n) < 0.1] = np.nan
        values[rng.random(n) < 0.1] = np.inf
    table = rng.integers(0, 200, 64).astype(table_of)
    shape = [int(k) for k in rng.integers(1, 6, int(rng.choice([1, 2, 4])))]
    strides = np.cumprod([1, *shape[:-1]]).astype(np.int32)
    classes = np.concatenate([rng.integers(0, k, n) for k in shape]).astype(table_of)
    lut = np.full(int(np.prod(shape)) + 3, kernels.UNKNOWN, np.int32)
    lut[rng.random(lut.size) < 0.5] = 7
    pending = np.zeros(lut.size, np.int32)
    return {
        "translate": (rng.integers(0, 64, n).astype(np.uint32), table, np.zeros(n, table_of)),
        "regions": (values, starts, table, np.zeros(n, table_of)),
        "fuse": (classes, strides, 3, lut, np.zeros(n, np.uint16), pending),
        "compact": (rng.integers(0, 64, n).astype(table_of), table % 2 == 0, np.zeros(n, np.int64)),
    }


def check_twins(rng: Random) -> bool:
    """A kernel and its twin return the same and write the same."""
    numbers = np.random.default_rng(rng.randrange(2**32))
    written = 0
    for name, arguments in random_arrays(numbers).items():
        ours, theirs = ([_copy(each) for each in arguments] for _ in range(2))
        results = getattr(kernels, name)(*ours), getattr(twins, name)(*theirs)
        assert results[0] == results[1], name
        if name == "fuse" and results[0]:  # the symbols are not to be used
            ours[4] = theirs[4] = None
        if name == "compact":
            ours[2], theirs[2] = ours[2][: results[0]], theirs[2][: results[1]]
        for mine, yours in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(mine, yours, name)
        written += sum(bool(np.any(each)) for each in ours[2:4] if isinstance(each, np.ndarray))
    return written > 0


def _copy(each: Any) -> Any:
    return each.copy() if isinstance(each, np.ndarray) else each


def test_kernels_and_their_twins_agree(suite: Suite) -> None:
    suite.run(check_twins, deep_count=DEEP // 10, seconds=SECONDS / 2)


def test_compacted_keeps_the_indices_of_kept_symbols() -> None:
    symbols = np.array([0, 2, 1, 2, 0], np.uint8)
    kept = compacted(symbols, np.array([False, False, True]))
    assert kept.dtype == np.int64
    assert kept.tolist() == [1, 3]
    assert compacted(symbols[:0], np.zeros(0, bool)).tolist() == []
    assert compacted(symbols, np.ones(3, bool)).tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(IndexError, match="symbol 2"):
        compacted(symbols, np.array([True, True]))


def cut_below(values: Any, starts: Any, table: Any, out: Any) -> None:
    """A number is at a start only if it is above it."""
    out[:] = table[np.where(values == values, np.searchsorted(starts, values, side="left"), 0)]


def nan_is_large(values: Any, starts: Any, table: Any, out: Any) -> None:
    """NaN lies beyond the last cut."""
    out[:] = table[np.searchsorted(starts, values, side="right")]


def mutate_regions(regions: Callable[..., None]) -> Callable[[pytest.MonkeyPatch], None]:
    operations = SimpleNamespace(**{**vars(twins), "regions": regions})
    return lambda patch: patch.setattr(axes, "operations", lambda: operations)


def untyped(patch: pytest.MonkeyPatch) -> None:
    """1, 1.0 and TRUE are one value to the memory."""
    patch.setattr(axes, "same", lambda value: value)


def rounded_constants(patch: pytest.MonkeyPatch) -> None:
    """Constants become floats before they cut."""
    exact = cuts.numbers_of

    def rounded(values: Any, *, moments: bool) -> list[int | float]:
        return [float(min(max(n, -(2**70)), 2**70)) for n in exact(values, moments=moments)]

    patch.setattr(cuts, "numbers_of", rounded)


def stale_dictionary(patch: pytest.MonkeyPatch) -> None:
    """The table of the last dictionary serves for the next one of its length."""
    exact = columns.Lookup._table

    def stale(self: Any, dictionary: Any, name: str, numbers_of: Any) -> Any:
        if self._last is not None and len(self._last[0]) == len(dictionary):
            return self._last[1]
        return exact(self, dictionary, name, numbers_of)

    patch.setattr(columns.Lookup, "_table", stale)


MUTANTS: Mapping[str, Callable[[pytest.MonkeyPatch], None]] = {
    "a cut belongs to the stretch below": mutate_regions(cut_below),
    "NaN is a number": mutate_regions(nan_is_large),
    "equal values of two types are one": untyped,
    "constants are rounded": rounded_constants,
    "a dictionary is known by its length": stale_dictionary,
}


@pytest.mark.skipif(not JIT, reason="once is enough")
@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_are_killed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mutant that is right on fewer than half of the cases would prove little."""
    MUTANTS[name](monkeypatch)
    wrong = 0
    for seed in range(600):
        try:
            check_case(Random(seed))
        except AssertionError:
            wrong += 1
    assert 0 < wrong <= 300


@pytest.mark.skipif(not JIT, reason="the JIT is off already")
def test_all_this_without_the_jit() -> None:
    here = Path(__file__)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(here)]
    done = subprocess.run(
        command,
        cwd=here.parents[2],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:]


def test_importing_the_stage_loads_neither_numpy_nor_numba() -> None:
    code = (
        "import sys, cerlab.predicates.bitvector, cerlab.predicates.key_codes;"
        "print([m for m in ('numpy', 'numba', 'pyarrow') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
