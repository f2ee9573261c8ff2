"""Hostile files: of text, of Parquet and Arrow IPC, read as a user would."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any, get_args

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as parquet

import cerlab
import cerlab.io.text_reader
from cerlab.evaluate import EvaluatorName
from proofs_tests.hostile.mutators import NUMBERS, mutated_bytes, mutated_text

SCHEMA = "CREATE STREAM S { EVENT A { v:int, n:string? }, EVENT B { v:double, t:timestamp? } }"
QUERY = "SELECT * WHERE A ; B FILTER A[v > 0] WITHIN 5 EVENTS"
VALUES = (*NUMBERS[:14], 1.5, -0.0, "x", "é", "a,b", 'a"b', "", None, True, "2026-03-29T02:30:00")
ANY: tuple[EvaluatorName, ...] = ("auto", *get_args(EvaluatorName))
FORMATS = ("csv", "ndjson", "core")


def some_rows(rng: Random, count: int) -> list[dict[str, Any]]:
    """Rows that are events, most of them."""
    names = rng.sample(("v", "n", "t", "stream", "a b"), rng.randrange(1, 5))
    return [
        {"type": rng.choice("ABC"), **{n: rng.choice(VALUES) for n in names}} for _ in range(count)
    ]


def file_text(rng: Random, form: str) -> str:
    """The text of a file of events."""
    rows = some_rows(rng, rng.choice((1, 5, 40)))
    if form == "ndjson":
        return "".join(json.dumps(row) + "\n" for row in rows)
    if form == "core":
        texts = (",".join(f"{n}={v}" for n, v in row.items() if n != "type") for row in rows)
        return "".join(f"{row['type']}({text})\n" for row, text in zip(rows, texts, strict=True))
    return "\n".join([",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows), ""])


def text_file(rng: Random, folder: Path) -> None:
    """A file of text, read as a whole and in batches."""
    form = rng.choice(FORMATS)
    path = folder / f"e.{rng.choice((form, form, form, 'txt', 'csv', 'parquet'))}"
    path.write_bytes(
        mutated_bytes(rng, mutated_text(rng, file_text(rng, form)).encode(errors="replace"))
    )
    cerlab.io.text_reader.BLOCK = rng.choice((64, 1 << 22))
    read_file(rng, path)


def table(rng: Random) -> Any:
    """A table of events with columns of many types."""
    count = rng.choice((0, 1, 20, 300))
    columns = {"type": pa.array([rng.choice("ABC") for _ in range(count)])}
    for name in rng.sample(("v", "n", "t", "stream", "w"), rng.randrange(1, 5)):
        numbers = np.array([rng.randrange(100) for _ in range(count)], np.int64)
        texts = pa.array([rng.choice(("x", "yy", "é", None)) for _ in range(count)], pa.string())
        columns[name] = rng.choice(
            (
                lambda numbers=numbers: pa.array(numbers, rng.choice((pa.int64(), pa.uint8()))),
                lambda numbers=numbers: pa.array(numbers).cast(pa.float64()),
                lambda numbers=numbers: pa.array(numbers).cast(pa.timestamp("ms", "UTC")),
                lambda numbers=numbers: pa.array(numbers).cast(pa.decimal128(22, 2)),
                lambda numbers=numbers: pa.array(numbers > 50),
                lambda texts=texts: texts.dictionary_encode(),
                lambda texts=texts: texts,
                lambda texts=texts: texts.cast(pa.large_string()),
                lambda texts=texts: texts.cast(pa.string_view()),
                lambda numbers=numbers: pa.array(
                    [[n] for n in numbers.tolist()], pa.list_(pa.int64())
                ),
            )
        )()
    return pa.table(columns)


def columnar_bytes(rng: Random) -> tuple[str, bytes]:
    """A table as a file, and its suffix."""
    sink, rows = pa.BufferOutputStream(), table(rng)
    match rng.randrange(5):
        case 0:
            parquet.write_table(
                rows,
                sink,
                compression=rng.choice(("none", "snappy")),
                use_dictionary=rng.random() < 0.5,
                data_page_version=rng.choice(("1.0", "2.0")),
                row_group_size=rng.choice((7, 1000)),
            )
            return "parquet", sink.getvalue().to_pybytes()
        case 1:
            feather.write_feather(rows, sink, compression=rng.choice(("lz4", "uncompressed")))
        case 2:
            with pa.ipc.new_stream(sink, rows.schema) as writer:
                writer.write_table(rows, max_chunksize=rng.choice((7, 1000)))
        case _:
            with pa.ipc.new_file(sink, rows.schema) as writer:
                writer.write_table(rows, max_chunksize=rng.choice((7, 1000)))
    return "arrow", sink.getvalue().to_pybytes()


def columnar_file(rng: Random, folder: Path) -> None:
    """A file of Parquet or Arrow IPC, read as a whole and in batches."""
    suffix, data = columnar_bytes(rng)
    path = folder / f"e.{suffix}"
    path.write_bytes(mutated_bytes(rng, data))
    if rng.random() < 0.2:
        cerlab.match_recognize(
            "MATCH_RECOGNIZE (MEASURES LAST(B.v) AS m PATTERN (A B) DEFINE B AS v > PREV(v))",
            str(path),
        )
        return
    read_file(rng, path)


def read_file(rng: Random, path: Path) -> None:
    """Read a file, whole or in batches, and evaluate."""
    options: dict[str, Any] = rng.choice(
        (
            *({}, {}, {"type": "A"}, {"schema": SCHEMA}, {"time": "t", "unit": "s"}),
            *({"quarantine": path.with_name("aside")}, {"format": rng.choice(FORMATS)}),
        )
    )
    if rng.random() < 0.5:
        names = rng.choice((None, {"v"}, {"n", "t"}))
        for batch in cerlab.io.batches(
            path, size=rng.choice((3, 1000)), attributes=names, **options
        ):
            cerlab.evaluate(QUERY, batch, evaluator="compiled", limit=20)
        return
    stream = cerlab.Stream.read(path, sort=rng.random() < 0.1, **options)
    cerlab.evaluate(QUERY, stream, evaluator=rng.choice(ANY[:2]), limit=20)
    repr(stream.events[:20])
