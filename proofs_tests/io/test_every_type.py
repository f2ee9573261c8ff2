"""Tables with columns of every Arrow type through every way out and back: equal, or refused."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable
from contextlib import redirect_stdout
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as parquet
import pytest

import cerlab
from cerlab import Event
from cerlab.io.answers import json_value
from cerlab.io.sink import open_sink
from cerlab.model.event import value_of
from proofs_tests.command import command
from proofs_tests.suite import random_suite

WORDS = [
    "",
    "a",
    "7",
    "TRUE",
    "nan",
    "é",
    'x"y',
    "a,b",
    "a\nb",
    "a\rb",
    " c ",
    "NULL",
    "2020-01-02",
]
WORDS += ["it's", "#", "\u2028", "9223372036854775808", "PT5S", "{", "\x1b"]
FLOATS = [0.0, -0.0, 1.5, 1e300, 5e-324, 2.0**63, math.nan, math.inf, -math.inf]
MOMENTS = [datetime(2020, 1, 2), datetime(9999, 12, 31), datetime(1, 1, 1), datetime(1969, 12, 31)]


def integers(bits: int, signed: bool, _: Random) -> list[int]:
    least, most = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    return [0, 1, 7, least, most, min(most, 2**53 + 1)]


def in_unit(kind: Any, rng: Random) -> list[int]:
    per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit]
    far = [n for n in (-62_135_596_800, 253_402_214_400) if abs(n * per_second) < 2**63]
    seconds = rng.choice(([0, 1_600_000_000], [0, *far]))
    return [n * per_second for n in seconds] + [seconds[-1] * per_second + 1]


UNITS = ("s", "ms", "us", "ns")
VALUES: dict[Any, Callable[[Random], list[Any]]] = {
    **{
        getattr(pa, f"{'' if signed else 'u'}int{bits}")(): partial(integers, bits, signed)
        for bits in (8, 16, 32, 64)
        for signed in (True, False)
    },
    pa.null(): lambda _: [None],
    pa.bool_(): lambda _: [True, False],
    pa.float16(): lambda _: [np.float16(n) for n in (0.5, 2, math.nan, math.inf)],
    pa.float32(): lambda _: [0.5, 16777216.0, math.nan, math.inf],
    pa.float64(): lambda rng: rng.choice((FLOATS, FLOATS[:6])),
    **{kind: lambda rng: rng.sample(WORDS, 3) for kind in (pa.string(), pa.large_string())},
    pa.string_view(): lambda rng: rng.sample(WORDS, 3),
    **{kind: lambda _: [b"x", b"\xff"] for kind in (pa.binary(), pa.large_binary())},
    pa.binary(1): lambda _: [b"x", b"\xff"],
    pa.binary_view(): lambda _: [b"x"],
    **{pa.timestamp(unit): lambda _: [] for unit in UNITS},
    **{pa.timestamp(unit, "UTC"): lambda _: [] for unit in UNITS},
    pa.timestamp("us", "America/New_York"): lambda _: [],
    **{pa.duration(unit): lambda _: [0, 1, -5, 2**60] for unit in UNITS},
    pa.date32(): lambda _: [m.date() for m in MOMENTS],
    pa.date64(): lambda _: [m.date() for m in MOMENTS],
    **{pa.time32(unit): lambda _: [0, 1] for unit in UNITS[:2]},
    **{pa.time64(unit): lambda _: [0, 1] for unit in UNITS[2:]},
    pa.month_day_nano_interval(): lambda _: [pa.MonthDayNano([1, 2, 3])],
    pa.decimal128(5, 2): lambda _: [Decimal("1.50"), Decimal(-3)],
    pa.decimal128(38, 0): lambda rng: rng.choice(([Decimal(10**37)], [Decimal(7)])),
    pa.decimal256(76, 30): lambda rng: [
        Decimal(1),
        Decimal(rng.choice(("1.5", "0.1" + "0" * 20 + "1"))),
    ],
    pa.list_(pa.int64()): lambda _: [[1], []],
    pa.large_list(pa.string()): lambda _: [["a"]],
    pa.list_(pa.int64(), 2): lambda _: [[1, 2]],
    pa.struct([("x", pa.int64())]): lambda _: [{"x": 1}],
    pa.map_(pa.string(), pa.int64()): lambda _: [[("a", 1)]],
    pa.dictionary(pa.int8(), pa.string()): lambda rng: rng.sample(WORDS, 3),
    pa.dictionary(pa.int32(), pa.int64()): lambda _: [1, 2],
}
"""Values of each type; those of moments are numbers of their unit."""


def column(kind: Any, rng: Random, rows: int) -> Any:
    values = in_unit(kind, rng) if pa.types.is_timestamp(kind) else VALUES[kind](rng)
    nulls = rng.choice((0.0, 0.3))
    some = [None if rng.random() < nulls else rng.choice(values) for _ in range(rows)]
    if pa.types.is_dictionary(kind):
        return pa.array(some, kind.value_type).dictionary_encode().cast(kind)
    if any(test(kind) for test in (pa.types.is_timestamp, pa.types.is_duration)):
        return pa.array(some, pa.int64()).cast(kind)
    return pa.array(some, kind)


def table_of(rng: Random) -> Any:
    rows = rng.choice((0, 1, 3, 3, 6))
    kinds = rng.sample([*VALUES], rng.choice((1, 1, 1, 2, 3)))
    columns = {f"c{n}": column(kind, rng, rows) for n, kind in enumerate(kinds)}
    return pa.table({"type": pa.array(rng.choices("AB", k=rows), pa.string()), **columns})


def exact(value: Any) -> Any:
    """A value as a key that only an equal one of its type has; NaN is one value."""
    if isinstance(value, float):
        return ("number", "nan") if value != value else ("number", value)
    return ("number", value) if type(value) is int else (type(value), value)


def values_of(events: list[Event], names: list[str]) -> list[list[Any]]:
    return [[exact(value_of(event, name)) for name in ("type", *names)] for event in events]


def unreadable(table: Any) -> set[str]:
    """The columns that hold no values of events, by their types and values."""
    names = set()
    for field in table.schema:
        kind, t = field.type, pa.types
        tests = (t.is_nested, t.is_time, t.is_interval, t.is_fixed_size_binary, t.is_binary)
        if any(test(kind) for test in (*tests, t.is_large_binary, t.is_binary_view)):
            names.add(field.name)
        elif t.is_decimal(kind):
            column = table.column(field.name).to_pylist()
            if any(
                d is not None and d != d.to_integral_value() and Decimal(repr(float(d))) != d
                for d in column
            ):
                names.add(field.name)
    return names


def refusals(text: str, names: set[str], codes: tuple[str, ...]) -> None:
    """Require that a refusal has one of some codes, and names a column."""
    assert text.startswith(codes), text
    assert any(f"'{name}'" in text for name in names), text


@pytest.mark.filterwarnings("ignore::cerlab.CerlabWarning")
@random_suite(2_000)
def test_equal_or_refused_by_name(rng: Random, tmp_path: Path) -> bool:
    table = table_of(rng)
    names = table.column_names[1:]
    bad = unreadable(table)
    stream = cerlab.Stream(table)
    # iteration: as pyarrow has the values, or an error that names the column
    for event in stream:
        assert list(event.attributes) == names
        if bad:
            with pytest.raises(cerlab.BadData) as caught:
                dict(event.attributes)
            refusals(str(caught.value), bad, ("CER0741", "CER0720"))
    source = tmp_path / rng.choice(("e.arrow", "e.parquet"))
    try:
        if source.suffix == ".arrow":
            feather.write_feather(table, source, compression="uncompressed")
        else:
            parquet.write_table(table, source)
    except (pa.ArrowException, OSError):  # a type that the format lacks
        return True
    if not bad:
        events = list(stream)
        assert values_of(list(cerlab.Stream(stream.to_arrow())), names) == values_of(events, names)
        for name in names:
            for event, value in zip(events, table.column(name), strict=True):
                assert exact(event.attributes[name]) == exact(of_arrow(value)), (name, value)
    for kind in ("csv", "ndjson", "core", "parquet", "arrow"):
        target = tmp_path / f"out.{kind}"
        target.unlink(missing_ok=True)
        status, _, error = command("convert", source, target)
        if status:
            assert status == 2
            codes = ("CER0749",) if not bad else ("CER0741", "CER0720", "CER0749")
            refusals(error, set(names), (*codes, "CER0740"))
            assert not target.exists()
            assert bad or kind in ("csv", "ndjson", "core"), error
            continue
        assert not bad or not table.num_rows, f"{kind} lost {bad}"
        if target.stat().st_size:
            again = list(cerlab.Stream.read(target))
            assert values_of(again, names) == values_of(list(stream), names), (kind, table)
    status, out, error = command("run", "A", source, "--events", "-q")
    has_answers = "A" in table.column("type").to_pylist()
    if bad and has_answers:
        assert status == 2
        refusals(error, bad, ("CER0741", "CER0720"))
    else:
        assert status == 0, error
        for line in filter(None, out.split("\n")):
            for shown in json.loads(line)["events"]:
                own = stream[shown["position"]].attributes
                wanted = {name: json_value(value) for name, value in own.items()}
                assert json.dumps({n: shown[n] for n in names}) == json.dumps(wanted)
    return bool(table.num_rows)


def of_arrow(value: Any) -> Any:
    """What pyarrow says a value is, moments and durations by their numbers."""
    if isinstance(value, pa.DictionaryScalar):
        value = value.value if value.is_valid else pa.scalar(None)
    if not value.is_valid:
        return None
    kind = value.type
    factor = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
    if pa.types.is_timestamp(kind):
        return cerlab.Timestamp(value.value * factor[kind.unit])
    if pa.types.is_duration(kind):
        return cerlab.Duration(value.value * factor[kind.unit])
    plain = value.as_py()
    if isinstance(plain, date):
        return cerlab.Timestamp((plain - date(1970, 1, 1)).days * 86_400 * 10**9)
    if isinstance(plain, Decimal):
        return int(plain) if plain == plain.to_integral_value() else float(plain)
    return float(plain) if isinstance(plain, np.floating) else plain


def text_of(stream: cerlab.Stream, form: str) -> str:
    """Return the lines of a stream, or the error."""
    try:
        with redirect_stdout(io.StringIO()) as out, open_sink(None, form) as sink:
            sink.events(stream)
    except cerlab.CerlabError as error:
        return str(error)
    return out.getvalue()


@pytest.mark.filterwarnings("ignore:CER09")
@random_suite(1_000)
def test_columns_of_text_become_the_text_of_their_events(rng: Random, tmp_path: Path) -> bool:
    """Events of NDJSON may lack attributes, which stay away; all events of a CSV have all."""
    rows, streams = [], ["S", None][: rng.randrange(1, 3)]
    for _ in range(rng.randrange(1, 12)):
        row = {"type": rng.choice("AB"), "stream": rng.choice(streams)}
        row |= {name: rng.choice(values) for name, values in CELLS.items()}
        lacks = rng.random() < 0.1 and rng.choice([*CELLS])
        rows.append({name: value for name, value in row.items() if name != lacks})
    names = ("type", "stream", *CELLS)
    lines = [names, *(["" if row.get(n) is None else row[n] for n in names] for row in rows)]
    texts = {
        "csv": "".join(",".join(map(str, line)) + "\n" for line in lines),
        "ndjson": "".join(json.dumps(row) + "\n" for row in rows),
    }
    for kind, text in texts.items():
        (tmp_path / f"e.{kind}").write_text(text)
        stream = cerlab.Stream.read(tmp_path / f"e.{kind}")
        for form in texts:
            assert text_of(stream, form) == text_of(cerlab.Stream([*stream]), form), text
    return True


CELLS: dict[str, list[Any]] = {
    "n": [0, 7, -1],
    "d": [0.5, 1e300, None],
    "b": [True, False],
    "s": ["x", "y z", "é"],
}
"""The values of each attribute."""


@pytest.mark.filterwarnings("ignore:CER09")
@random_suite(20_000, needs_answers=0.25)
def test_columns_become_the_text_of_their_events(rng: Random) -> bool | None:
    """The same lines, or the same error, from the columns of a table as from single events."""
    table = table_of(rng)
    if unreadable(table) or not len(table):
        return None
    stream = cerlab.Stream(table)
    texts = [text_of(stream, form) for form in ("csv", "ndjson")]
    events = cerlab.Stream([*stream])
    assert texts == [text_of(events, form) for form in ("csv", "ndjson")], table.schema
    return any(not text.startswith("CER") for text in texts)
