"""Rows under a schema read as columns are what they are row by row, errors included."""

from __future__ import annotations

import json
import re
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import cerlab
from cerlab import Schema, Stream
from cerlab.io import batches, declared, text_reader
from cerlab.io.arrow import table_events
from cerlab.io.conversion import RowReading
from cerlab.io.parts import RowPart
from cerlab.model.event import (
    AttributeDeclaration,
    AttributeType,
    EventDeclaration,
    StreamDeclaration,
)
from proofs_tests.io.test_text import (
    DECIMALS,
    EVERY,
    INTEGERS,
    JSON_ODD,
    QUOTATIONS,
    TEXTS,
    check_columns,
    outcome,
    reading,
    typed_events,
    whole,
)
from proofs_tests.suite import Suite

NAMES = ("v", "w", "größe", "n_1", "id")
MOMENTS = ("2024-01-01", "2024-02-29T10:00:00.000000001", "1969-12-31 23:59:59.5+02:00", "20240101")
DURATIONS = ("PT30S", "-P1DT2H", "pt0.000000001s", "P1M", "PT", "PT1.5M")
POOLS = {
    AttributeType.INT: INTEGERS,
    AttributeType.DOUBLE: (*INTEGERS, *DECIMALS, "nan"),
    AttributeType.STRING: (*TEXTS, *QUOTATIONS[:4], *INTEGERS, "TRUE", "é "),
    AttributeType.BOOLEAN: ("TRUE", "false", "True"),
    AttributeType.TIMESTAMP: MOMENTS,
    AttributeType.DURATION: DURATIONS[:3],
}
JSON_POOLS = {
    AttributeType.INT: ("0", "-7", "123456789012345678"),
    AttributeType.DOUBLE: ("0.5", "12", "-1e3", "0.1234567890123456789"),
    AttributeType.STRING: ('"x"', '"é"', '"7"', '""'),
    AttributeType.BOOLEAN: ("true", "false"),
    AttributeType.TIMESTAMP: tuple(f'"{moment}"' for moment in MOMENTS),
    AttributeType.DURATION: tuple(f'"{duration}"' for duration in DURATIONS[:3]),
}
VALUES: dict[AttributeType, tuple[Any, ...]] = {
    AttributeType.INT: (0, -7, 2**62 + 1),
    AttributeType.DOUBLE: (0.5, -1e300, float("nan")),
    AttributeType.STRING: ("x", "é", ""),
    AttributeType.BOOLEAN: (True, False),
    AttributeType.TIMESTAMP: MOMENTS,
    AttributeType.DURATION: DURATIONS,
}


def schema_of(rng: Random) -> Schema:
    """Streams S and T with event types of few attributes, most of one type under each name."""
    types = {name: rng.choice(list(AttributeType)) for name in NAMES}
    differ = rng.random() < 0.1

    def event(name: str) -> EventDeclaration:
        names = rng.sample(NAMES, rng.randrange(4))
        odd = {n: rng.choice(list(AttributeType)) for n in names if differ}
        return EventDeclaration(
            name,
            tuple(AttributeDeclaration(n, {**types, **odd}[n], rng.random() < 0.4) for n in names),
        )

    streams = rng.choice((("S",), ("S", "T")))
    return Schema(tuple(StreamDeclaration(s, (event("A"), event("B"))) for s in streams))


def attributes(rng: Random, of: EventDeclaration, odd: float, pools: Any) -> dict[str, Any]:
    """Texts of values of an event, mostly as they are declared."""
    values = {}
    for each in of.attributes:
        if each.nullable and rng.random() < 0.2:
            continue
        values[each.name] = rng.choice(pools[each.type])
    if rng.random() < odd:
        every = (*JSON_ODD, "null") if pools is JSON_POOLS else EVERY
        values[rng.choice(NAMES)] = rng.choice(every)
    return values


def lines(rng: Random, schema: Schema, kind: str, odd: float) -> list[str]:
    """The lines of a file."""
    order = rng.sample(NAMES, len(NAMES))
    with_stream = rng.random() < 0.5
    rows = [",".join(["type", *["stream"] * with_stream, *order])] if kind == "csv" else []
    pools = JSON_POOLS if kind == "ndjson" else POOLS
    for _ in range(rng.randrange(40)):
        stream = rng.choice(schema.streams)
        name = rng.choice(("A", "B")) if rng.random() >= odd / 4 else "C"
        event = stream.events[name == "B"]
        cells = attributes(rng, event, odd, pools)
        of = stream.name if with_stream else None
        if kind == "csv":
            cells = {n: c for n, c in cells.items() if c[:1] != "'"}
            row = [name, *[of or ""] * with_stream, *(cells.get(n, "") for n in order)]
            rows.append(",".join(row))
        elif kind == "core":
            pairs = ",".join(f"{n}={c}" for n, c in cells.items())
            rows.append(f"{of}>{name}({pairs})" if of else f"{name}({pairs})")
        else:
            members = {
                "type": json.dumps(name),
                **({"stream": json.dumps(of)} if of else {}),
                **cells,
            }
            rows.append("{" + ", ".join(f'"{n}": {c}' for n, c in members.items()) + "}")
    return rows


@pytest.mark.parametrize("kind", ["core", "csv", "ndjson"])
def test_text_under_a_schema(
    kind: str, tmp_path: Path, suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_columns = []

    def count_rows(*rows: Any, **how: Any) -> RowPart:
        columns = declared.declared_rows(*rows, **how)
        by_columns.append(columns.count)
        return columns

    monkeypatch.setattr(text_reader, "declared_rows", count_rows)

    def case(rng: Random) -> bool:
        path, schema = tmp_path / f"e.{kind}", schema_of(rng)
        odd = rng.choice((0, 0, 0.02, 0.3))
        content = "".join(line + "\n" for line in lines(rng, schema, kind, odd))
        path.write_text(content)
        options: dict[str, Any] = {"schema": schema}
        if rng.random() < 0.3:
            options["quarantine"] = tmp_path / "aside"
        how = rng.choice((whole, lambda path, **o: batches(path, size=rng.choice((1, 7)), **o)))
        outcomes = []
        for at_once in (False, True):
            with reading(rng, at_once=at_once):
                outcomes.append(outcome(path, how, options))
        assert outcomes[1] == outcomes[0], (content, schema)
        return bool(outcomes[0][0])

    suite.run(case, deep_count=2_000, needs_answers=0.5)
    assert by_columns, "some lines are read by columns"


NUMBERS = [
    pa.array([2**53 + 1, 1, None]),
    pa.array([-(2**63), 2**63 - 1]),
    pa.array([2**63 - 1, 2**53 + 1], pa.uint64()),
    pa.array([-128, 127], pa.int8()),
    pa.array([0.1, float("inf")], pa.float32()),
    pa.array([0.1, 5e-324]),
]


@pytest.mark.parametrize("kind", ["table", "csv", "core", "ndjson"])
@pytest.mark.parametrize("numbers", NUMBERS, ids=lambda numbers: str(numbers.type))
def test_numbers_of_a_declared_double_are_the_nearest(
    numbers: Any, kind: str, tmp_path: Path
) -> None:
    values, schema = numbers.to_pylist(), "CREATE STREAM S { EVENT A { v:double?, w:int } }"
    if kind == "table":
        table = pa.table({"type": ["A"] * len(numbers), "v": numbers, "w": range(len(numbers))})
        stream = Stream.from_arrow(table, schema=schema)
    else:
        known = [value for value in values if value is not None and value != float("inf")]
        rows = {
            "csv": ["type,v,w", *(f"A,{value!r},0" for value in known)],
            "core": [f"A(v={value!r},w=0)" for value in known],
            "ndjson": [f'{{"type": "A", "v": {value!r}, "w": 0}}' for value in known],
        }
        (tmp_path / f"e.{kind}").write_text("".join(row + "\n" for row in rows[kind]))
        stream, values = Stream.read(tmp_path / f"e.{kind}", schema=schema), known
    expected = [None if value is None else float(value) for value in values]
    assert repr([event.attributes["v"] for event in stream]) == repr(expected)


def table_of(rng: Random, schema: Schema) -> Any:
    """A table of events of one type, which have all its columns; most as declared."""
    event = rng.choice(schema.streams[0].events)
    rows = rng.randrange(1, 10)
    columns: dict[str, Any] = {"type": [event.name] * rows}
    if rng.random() < 0.5:
        columns["stream"] = [schema.streams[0].name] * rows
    for each in event.attributes:
        pool = VALUES[each.type] + ((None,) if each.nullable or rng.random() < 0.1 else ())
        values = pa.array([rng.choice(pool) for _ in range(rows)])
        if each.type is AttributeType.DOUBLE and rng.random() < 0.5:
            values = pa.array([rng.choice((1, 2**53 + 1)) for _ in range(rows)])
        columns[each.name] = values.dictionary_encode() if rng.random() < 0.3 else values
    if rng.random() < 0.1:
        columns[rng.choice(NAMES)] = [rng.choice((1, "x", None))] * rows
    return pa.table(columns)


def test_tables_under_a_schema(suite: Suite) -> None:
    by_columns = []

    def case(rng: Random) -> bool:
        schema = schema_of(rng)
        table = table_of(rng, schema)
        row_by_row = RowReading("the table", schema)
        by_columns.append(declared.table_columns(table, row_by_row) is not None)
        try:
            expected = list(table_events(table, row_by_row))
        except cerlab.BadData as error:
            assert not by_columns[-1], (table, schema)
            with pytest.raises(cerlab.BadData, match=re.escape(str(error))):
                Stream.from_arrow(table, schema=schema)
            return False
        stream = Stream.from_arrow(table, schema=schema)
        assert typed_events(stream) == typed_events(expected), (table, schema)
        check_columns(stream)
        return True

    suite.run(case, deep_count=2_000, needs_answers=0.5)
    assert sum(by_columns) > len(by_columns) / 3


@pytest.mark.parametrize("at_once", [False, True])
@pytest.mark.parametrize("end", ["", "\n"])
def test_text_keeps_its_spaces_and_moments_have_one_type(
    end: str, *, at_once: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In every form of text, whether blocks are read by columns or by line."""
    schema = "CREATE STREAM S { EVENT A { s:string?, ts:timestamp?, v:int? } }"
    moments = [
        "2020-01-01T00:00:08Z",
        " 2020-01-01",
        "9999-12-31T00:00:00+01:00",
        "2020-01-01T00:00:09Z",
    ]
    texts = [" a ", "b", " ", "c "]
    rows = [*zip(texts, moments, strict=True)]
    forms = {
        "csv": ["s,type,ts,v", *(f"{s},A,{ts}, 7 " for s, ts in rows)],
        "CSV": ["s,type,ts,v", *(f'"{s}",A,"{ts}"," 7 "' for s, ts in rows)],
        "core": [f"A(s='{s}',ts={ts},v= 7 )" for s, ts in rows],
        "ndjson": [json.dumps({"type": "A", "s": s, "ts": ts.strip(), "v": 7}) for s, ts in rows],
    }
    expected = pa.table(
        {
            "type": ["A"] * 4,
            "s": texts,
            "ts": pa.array([1577836808, 1577836800, 253402210800, 1577836809], pa.timestamp("s")),
            "v": [7] * 4,
        }
    )
    for block in (1, 60, text_reader.BLOCK):
        monkeypatch.setattr(text_reader, "BLOCK", block)
        for form, some in forms.items():
            path = tmp_path / f"e.{form.lower()}"
            path.write_text("\n".join(some) + end)
            with reading(Random(0), at_once=at_once):
                table = Stream.read(path, schema=schema).to_arrow()
            assert table.schema.field("ts").type == pa.timestamp("us")
            plain = table.select(expected.column_names).cast(expected.schema)
            assert plain.to_pylist() == expected.to_pylist(), (form, block)
