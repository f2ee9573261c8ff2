"""Random Parquet and Arrow files of every type: one stream by every door.

The doors are `Stream.read`, `batches`, row patterns, ``cerlab convert`` and ``cerlab run``.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as parquet
import pytest

import cerlab
from cerlab import Stream
from cerlab.io import batches
from proofs_tests.command import command
from proofs_tests.io.test_doors import Files as Texts
from proofs_tests.io.test_doors import check_converted, check_rows, check_run, outcome
from proofs_tests.io.test_every_type import VALUES, column
from proofs_tests.suite import Suite

WIDER = {
    pa.int8(): pa.int64(),
    pa.uint16(): pa.int32(),
    pa.int64(): pa.float64(),
    pa.float32(): pa.float64(),
    pa.timestamp("ms"): pa.timestamp("us"),
    pa.string(): pa.large_string(),
    pa.large_string(): pa.dictionary(pa.int8(), pa.string()),
    pa.bool_(): pa.null(),
}
"""Types of a column in one file, and in another one."""

APART = {pa.int64(): pa.string(), pa.bool_(): pa.float64(), pa.string(): pa.date32()}
"""Types that have no values in common."""

T = pa.types
TESTS: tuple[Callable[[Any], bool], ...]
TESTS = (T.is_integer, T.is_floating, T.is_boolean, T.is_timestamp, T.is_date, T.is_duration)
TESTS += (T.is_decimal, T.is_string, T.is_large_string, T.is_string_view, T.is_null)
EVENT_KINDS = [kind for kind in VALUES if any(test(kind) for test in (*TESTS, T.is_dictionary))]
"""The types that hold values of events."""


def tables_of(rng: Random) -> list[pa.Table]:
    """Draw the tables of some files, with the same columns for the most part."""
    kinds = rng.sample(EVENT_KINDS, rng.choice((1, 2, 3, 4)))
    if rng.random() < 0.05:
        kinds.append(rng.choice([*VALUES]))
    if rng.random() < 0.2:
        kinds[0] = rng.choice([*WIDER, *APART])
    tables = []
    for _ in range(rng.choice((1, 1, 2, 3))):
        rows = rng.choice((0, 1, 3, 8, 40))
        columns = {f"c{n}": column(kind, rng, rows) for n, kind in enumerate(kinds)}
        types = pa.array(rng.choices("AB", k=rows), pa.string())
        coded = rng.random() < 0.3
        tables.append(pa.table({"type": types.dictionary_encode() if coded else types, **columns}))
        others = APART if rng.random() < 0.2 else WIDER
        kinds = [others.get(kind, kind) if rng.random() < 0.3 else kind for kind in kinds]
        if rng.random() < 0.1:
            kinds.append(rng.choice(EVENT_KINDS))
    return tables


def write(rng: Random, tables: list[pa.Table], kind: str, folder: Path) -> list[Path]:
    """Write each table in one of the ways that its format has; those of no rows, too."""
    for path in folder.iterdir():
        path.unlink()
    paths = []
    for n, table in enumerate(tables):
        path = folder / f"part-{n}.{kind}"
        size = rng.choice((1, 3, 1_000))
        if kind == "parquet":
            parquet.write_table(
                table,
                path,
                row_group_size=size,
                use_dictionary=rng.random() < 0.5,
                compression=rng.choice(("snappy", "none", "zstd")),
                data_page_version=rng.choice(("1.0", "2.0")),
                store_schema=rng.random() < 0.7,
                write_statistics=rng.random() < 0.7,
            )
        elif rng.random() < 0.5:
            feather.write_feather(
                table, path, compression=rng.choice(("lz4", "uncompressed")), chunksize=size
            )
        else:
            opened = rng.choice((pa.ipc.new_file, pa.ipc.new_stream))
            with opened(path, table.schema) as writer:
                writer.write_table(table, max_chunksize=size)
        paths.append(path)
    return paths


def writable(tables: list[pa.Table], kind: str) -> bool:
    """Return whether a format has the types of some tables."""
    without = (T.is_float16, T.is_interval) if kind == "parquet" else ()
    fields = [field.type for table in tables for field in table.schema]
    if kind == "parquet" and any(T.is_duration(each) for each in fields):
        return True
    return not any(test(each) for each in fields for test in without)


def has_integers_beside_doubles(tables: list[pa.Table]) -> bool:
    """Return whether some column has integers in one table and doubles in another."""
    kinds = {(field.name, field.type) for table in tables for field in table.schema}
    integers = {name for name, kind in kinds if T.is_integer(kind)}
    return any(T.is_floating(kind) and name in integers for name, kind in kinds)


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_the_same_events_by_every_door(
    kind: str, suite: Suite, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("converted")

    def case(rng: Random) -> bool | None:
        tables = tables_of(rng)
        if not writable(tables, kind):
            return None
        paths = write(rng, tables, kind, tmp_path)
        size = rng.choice((1, 3, 1 << 16))
        doors: list[Callable[..., Any]] = [
            lambda o: [Stream.read(paths, **o)],
            lambda o: [Stream.read(tmp_path, **o)],
            lambda o: [Stream.read(str(tmp_path / "part-*"), **o)],
            lambda o: batches(paths, size=size, **o),
        ]
        expected = outcome(doors[0], {}, quarantine=False)
        for door in doors[1:]:
            found = outcome(door, {}, quarantine=False)
            # of two columns that hold no values of events a door may meet either one first
            if [found[0], expected[0]] not in (["CER0720", "CER0741"], ["CER0741", "CER0720"]):
                assert found[:1] == expected[:1], tables
        schemas = [table.schema for table in tables]
        if expected[0] == "CER0784":  # other columns matter to queries that read them
            with pytest.raises(cerlab.BadData, match=expected[0]):
                cerlab.parse_query("SELECT * WHERE A").run(paths).count()
        if not isinstance(expected[0], str):
            check_rows(paths, expected, mixed=has_integers_beside_doubles(tables))
        out = folder / f"out.{rng.choice(('csv', 'ndjson', 'core', 'parquet', 'arrow'))}"
        out.unlink(missing_ok=True)
        converted = command("convert", *paths, out)
        query = ["SELECT * WHERE A OR B", *paths, "--events"]
        ran = command("run", *query, *rng.choice(([], ["--evaluator", "compiled"])))
        if isinstance(expected[0], str):
            # a format that cannot hold another value may be the first to refuse
            codes = {converted: f"({expected[0]}|CER074[179]): ", ran: f"{expected[0]}: "}
            for (status, _, errors), code in codes.items():
                assert status == 2, errors
                assert re.search(code, errors), (errors, schemas)
            assert not out.exists()
            return True
        check_run(ran, paths, {})
        texts = Texts(kind, [], [], [], None)
        check_converted(converted, out.suffix[1:], texts, out, {}, expected[0])
        return bool(expected[0])

    with warnings.catch_warnings(action="ignore"):
        suite.run(case, deep_count=2_000)
