"""Columns whose buffers do not fit: `BadData` with the file, however they come, never a crash."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import cerlab
from proofs_tests.command import Cli


def texts(offsets: list[int], data: bytes = b"ABAB", *, nulls: bytes | None = None) -> Any:
    """`nulls` has a bit for each text that is there."""
    validity = None if nulls is None else pa.py_buffer(nulls)
    buffers = [validity, pa.py_buffer(np.array(offsets, np.int32)), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.string(), len(offsets) - 1, buffers)


def codes(numbers: list[int]) -> Any:
    return pa.DictionaryArray.from_arrays(
        pa.array(numbers, pa.int8()), pa.array(["A", "B"]), safe=False
    )


def moments_in_no_zone() -> Any:
    """Moments whose time zone has a name that is not UTF-8."""
    sink = pa.BufferOutputStream()
    as_file(pa.table({"type": ["A"] * 4, "n": pa.array([1] * 4, pa.timestamp("s", "ZZ"))}), sink)
    content = sink.getvalue().to_pybytes().replace(b"ZZ", b"\xc3Z")
    return pa.ipc.open_file(content).read_all()


def as_file(table: Any, sink: Any) -> None:
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


UNSOUND = {
    "offset": pa.table({"type": texts([0, 1 << 30, 2, 3, 4])}),
    "code": pa.table({"type": codes([0, 1, 99, 0])}),
    "unicode": pa.table({"type": texts([0, 1, 2, 3, 4], b"AB\xffB")}),
    "time zone": moments_in_no_zone(),
    "scale": pa.table({"type": ["A"] * 4, "n": pa.nulls(4, pa.decimal128(22, 131074))}),
    "attribute": pa.table({"type": ["A"] * 4, "n": texts([0, 2, -9, 3, 4])}),
    "order": pa.table({"type": texts([0, 3, 2, 3, 4])}),
    "offset at NULL": pa.table({"type": ["A"] * 4, "n": texts([0, 2, 1, 3, 4], nulls=b"\x0d")}),
}


@pytest.mark.parametrize("evaluator", ["compiled", "tecs"])
@pytest.mark.parametrize("name", UNSOUND)
def test_a_table_that_is_not_sound_is_refused(name: str, evaluator: Any) -> None:
    with pytest.raises(cerlab.BadData, match="is damaged") as caught:
        cerlab.evaluate("A FILTER A[n = 'x']", UNSOUND[name], evaluator=evaluator)
    assert caught.value.column == UNSOUND[name].column_names[-1]
    assert caught.value.file == "the table"


def test_rows_of_a_table_that_is_not_sound_are_refused() -> None:
    clause = "MATCH_RECOGNIZE (MEASURES LAST(A.type) AS m PATTERN (A) DEFINE A AS type = 'A')"
    for table in UNSOUND.values():
        with pytest.raises(cerlab.BadData, match="is damaged"):
            cerlab.match_recognize(clause, table)


def as_stream(table: Any, sink: Any) -> None:
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)


@pytest.mark.parametrize("write", [as_file, as_stream])
@pytest.mark.parametrize("name", UNSOUND)
@pytest.mark.parametrize("evaluator", ["compiled", "tecs"])
def test_a_file_that_is_not_sound_is_refused(
    tmp_path: Path, name: str, write: Callable[[Any, Any], None], evaluator: str, cli: Cli
) -> None:
    """As a whole (the tECS) and in batches (the compiled engine)."""
    path = str(tmp_path / "e.arrow")
    write(UNSOUND[name], path)
    message = cli("run", "A FILTER A[n = 'x']", path, "--evaluator", evaluator, status=2).err
    assert "CER0747" in message
    assert "e.arrow" in message


def test_every_file_that_is_cut_off_says_which_it_is(tmp_path: Path) -> None:
    whole = pa.table({"type": ["A", "B"], "n": ["x", None], "v": [1, 2]})
    for write in (parquet.write_table, as_file, as_stream):
        sink = pa.BufferOutputStream()
        write(whole, sink)
        data = sink.getvalue().to_pybytes()
        path = tmp_path / ("e.parquet" if write is parquet.write_table else "e.arrow")
        for length in range(1, len(data), 7):
            path.write_bytes(data[:length])
            for read in (cerlab.Stream.read, lambda p: list(cerlab.io.batches(p))):
                with pytest.raises(cerlab.BadData) as caught:
                    read(path)
                assert caught.value.file == str(path)


@pytest.mark.parametrize("name", ["e.csv", "e.ndjson"])
def test_rows_of_a_file_that_is_no_text_are_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"type,v\n\xff,1\n" if name == "e.csv" else b'{"v": "\xff"}\n')
    clause = "MATCH_RECOGNIZE (MEASURES LAST(A.v) AS m PATTERN (A) DEFINE A AS v > 1)"
    with pytest.raises(cerlab.BadData) as caught:
        cerlab.match_recognize(clause, tmp_path / name)
    assert caught.value.file == str(tmp_path / name)


def test_codes_of_records_without_rows_hold_no_event(tmp_path: Path) -> None:
    kind = pa.dictionary(pa.int32(), pa.struct([("a", pa.int32())]))
    table = pa.table({"type": pa.array([], pa.string()), "n": pa.chunked_array([], kind)})
    with pa.ipc.new_file(tmp_path / "e.arrow", table.schema):
        pass
    assert list(cerlab.Stream.read(tmp_path / "e.arrow")) == []
