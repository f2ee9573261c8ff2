"""Parquet and Arrow IPC files in pieces: what they hold, and their rows batch by batch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cerlab.io import arrow

_PAGES = 1 << 20
"""How many bytes of a column of Parquet are read ahead, however long its row groups are."""


def record_batches(path: Path, kind: str, size: int) -> Iterator[Any]:
    """The rows of a file as pyarrow RecordBatches of at most `size`.

    Parquet is read by pages; of Arrow IPC one of its own batches is in memory at a time. Raises
    `BadData` for what cannot be read.
    """
    with _reading(path, kind):
        if kind == "parquet":
            yield from _parquet_batches(path, size)
            return
        for batch in _ipc_batches(path):
            for start in range(0, batch.num_rows, size):
                yield batch.slice(start, size)


def _parquet_batches(path: Path, size: int) -> Iterator[Any]:
    import pyarrow.parquet as parquet

    with parquet.ParquetFile(path, pre_buffer=False, buffer_size=_PAGES) as file:
        yield from file.iter_batches(batch_size=size)


def _ipc_batches(path: Path) -> Iterator[Any]:
    import pyarrow as pa

    if arrow.is_streamed(path):
        with pa.OSFile(str(path)) as raw, pa.ipc.open_stream(raw) as reader:
            yield from reader
        return
    if not _is_ipc(path):  # the first version of Feather has no batches
        yield from arrow.read_file(path, "arrow").to_batches()
        return
    with pa.OSFile(str(path)) as raw, pa.ipc.open_file(raw) as file:
        for n in range(file.num_record_batches):
            yield file.get_batch(n)


def arrow_schema(path: Path, kind: str) -> Any:
    """The pyarrow Schema of a file, without its rows; raises as `record_batches`."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    with _reading(path, kind):
        if kind == "parquet":
            return parquet.read_schema(path)
        if arrow.is_streamed(path):
            with pa.OSFile(str(path)) as raw, pa.ipc.open_stream(raw) as reader:
                return reader.schema
        if not _is_ipc(path):
            return arrow.read_file(path, kind).schema
        with pa.OSFile(str(path)) as raw, pa.ipc.open_file(raw) as file:
            return file.schema


def row_count(path: Path, kind: str) -> int:
    """How many rows a file says that it has, without reading them; raises as `record_batches`.

    Arrow's streaming format says it batch by batch, so that all of them are passed.
    """
    import pyarrow.dataset as dataset
    import pyarrow.parquet as parquet

    with _reading(path, kind):
        if kind == "parquet":
            return int(parquet.read_metadata(path).num_rows)
        if arrow.is_streamed(path):
            return sum(batch.num_rows for batch in _ipc_batches(path))
        if not _is_ipc(path):
            return int(arrow.read_file(path, kind).num_rows)
        return int(dataset.dataset(path, format="ipc").count_rows())


def _is_ipc(path: Path) -> bool:
    with path.open("rb") as raw:
        return raw.read(6) == b"ARROW1"


@contextmanager
def _reading(path: Path, kind: str) -> Iterator[None]:
    """What pyarrow says of a file that is none of this kind, as the error of `arrow.read_file`."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowInvalid, pa.ArrowTypeError, OSError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise arrow.unreadable(path, kind, error) from None
