"""Rows of a long stream, put together by group in a temporary file: one group is in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from tempfile import TemporaryFile, gettempdir
from typing import IO, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cerlab.budget import poll
from cerlab.model.arrays import array_from
from cerlab.predicates.columns.key_codes import rows_by_code


@contextmanager
def temporary_file() -> Iterator[IO[bytes]]:
    """Yield a temporary file; an `OSError`, as of a full disk, names its folder."""
    try:
        with TemporaryFile() as file:
            yield file
    except OSError as error:
        error.filename = error.filename or gettempdir()
        raise


class GroupedRows:
    """Rows by group in a file of Arrow IPC, written part by part and read group by group."""

    def __init__(self, file: IO[bytes], groups: int) -> None:
        self._file, self._number = file, count()
        self._writer: Any = None
        self._batches: list[list[int]] = [[] for _ in range(groups)]
        """The numbers of the batches of each group."""

    def write(self, columns: Mapping[str, Any], of_row: NDArray[np.int64]) -> None:
        """Append rows, of the same Arrow types in each call, and the group of each row."""
        poll()
        order = array_from(rows_by_code(of_row, len(self._batches)))
        rows = {name: _plain(column).take(order) for name, column in columns.items()}
        batch = pa.RecordBatch.from_pydict(rows)
        if self._writer is None:
            self._writer = pa.ipc.new_file(pa.PythonFile(self._file, "w"), batch.schema)
        start = 0
        for group, size in enumerate(np.bincount(of_row).tolist()):
            if size:
                self._writer.write_batch(batch.slice(start, size))
                self._batches[group].append(next(self._number))
            start += size

    def tables(self) -> Iterator[Any]:
        """Yield the rows of each group as a table, in the order in which they were written."""
        if self._writer is None:
            return
        self._writer.close()
        self._file.seek(0)
        with pa.ipc.open_file(pa.PythonFile(self._file, "r")) as reader:
            for numbers in self._batches:
                poll()
                yield pa.Table.from_batches(map(reader.get_batch, numbers), reader.schema)


def _plain(column: Any) -> Any:
    """Return a column as one array, with text decoded, since parts differ in dictionaries."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
