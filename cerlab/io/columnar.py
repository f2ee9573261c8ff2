"""Parquet and Arrow IPC files in pieces: what they hold, and their rows batch by batch."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from cerlab.io import arrow
from cerlab.model.columns import is_moment, is_text

_PAGES = 1 << 20
"""How many bytes of a column of Parquet are read ahead, however long its row groups are."""


def record_batches(
    path: Path, kind: str, size: int, names: Sequence[str] | None = None
) -> Iterator[Any]:
    """The rows of a file as pyarrow RecordBatches of at most `size`, or those columns of them.

    Parquet is read by pages; of Arrow IPC one of its own batches is in memory at a time. Raises
    `BadData` for what cannot be read.
    """
    with arrow.reading(path, kind):
        if kind == "parquet":
            yield from _parquet_batches(path, size, names)
            return
        for batch in _ipc_batches(path, names):
            for start in range(0, batch.num_rows, size):
                yield batch.slice(start, size)


def _parquet_batches(path: Path, size: int, names: Sequence[str] | None) -> Iterator[Any]:
    fields = _arrow_schema(path, "parquet")
    texts = [field.name for field in fields if is_text(field.type)] if names is not None else None
    options = {"pre_buffer": False, "buffer_size": _PAGES, "read_dictionary": texts}
    with arrow.parquet_file(path, **options) as file:
        yield from file.iter_batches(batch_size=size, columns=names)


def _ipc_batches(path: Path, names: Sequence[str] | None = None) -> Iterator[Any]:
    """The batches of a file; with `names` perhaps those columns alone."""
    import pyarrow as pa

    if arrow.is_streamed(path):
        with pa.OSFile(str(path)) as raw, pa.ipc.open_stream(raw) as reader:
            yield from reader
        return
    if not _is_ipc(path):  # the first version of Feather has no batches
        yield from arrow.read_file(path, "arrow").to_batches()
        return
    with pa.OSFile(str(path)) as raw:
        with pa.ipc.open_file(raw) as file:
            fields = file.schema
        read = [n for n, field in enumerate(fields) if names is None or field.name in names]
        options = pa.ipc.IpcReadOptions(included_fields=read)
        with pa.ipc.open_file(raw, options=options) as file:
            for n in range(file.num_record_batches):
                yield file.get_batch(n)


def no_rows(fields: Any) -> Any:
    """The table without rows that has these columns; pyarrow's `empty_table` loads pandas."""
    import pyarrow as pa

    return pa.Table.from_batches([], schema=fields)


def readable_apart(fields: Any, names: Collection[str]) -> list[str] | None:
    """The columns to read of a file for some `names` of them; None where all have to be read.

    Those that hold no values of events are errors, and moments may be out of range, so that these
    are read too.
    """
    import pyarrow as pa

    if len(set(fields.names)) < len(fields) or not all(arrow.is_readable(f.type) for f in fields):
        return None
    exact = pa.timestamp("ns")
    return [f.name for f in fields if f.name in names or (is_moment(f.type) and f.type != exact)]


def arrow_schema(path: Path, kind: str) -> Any:
    """The columns of a file as a pyarrow Schema; raises as `record_batches`."""
    import pyarrow as pa

    with arrow.reading(path, kind):
        fields = _arrow_schema(path, kind)
        return pa.schema([(field.name, field.type) for field in fields])  # names that are text


def _arrow_schema(path: Path, kind: str) -> Any:
    import pyarrow as pa

    if kind == "parquet":
        with arrow.parquet_file(path) as file:
            return file.schema_arrow
    if arrow.is_streamed(path):
        with pa.OSFile(str(path)) as raw, pa.ipc.open_stream(raw) as reader:
            return reader.schema
    if not _is_ipc(path):
        return arrow.read_file(path, kind).schema
    with pa.OSFile(str(path)) as raw, pa.ipc.open_file(raw) as file:
        return file.schema


def row_count(path: Path, kind: str) -> int:
    """How many rows a file says that it has; raises as `record_batches`.

    Arrow IPC says it batch by batch, so that all of them are passed, with one column.
    """
    with arrow.reading(path, kind):
        if kind == "parquet":
            with arrow.parquet_file(path) as file:
                return int(file.metadata.num_rows)
        if not arrow.is_streamed(path) and not _is_ipc(path):
            return int(arrow.read_file(path, kind).num_rows)
        return sum(
            batch.num_rows for batch in _ipc_batches(path, arrow_schema(path, kind).names[:1])
        )


def _is_ipc(path: Path) -> bool:
    with path.open("rb") as raw:
        return raw.read(6) == b"ARROW1"
