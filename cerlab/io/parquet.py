"""Parquet: columns in row groups, and a footer that states their lengths."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from cerlab.budget import bytes_left, poll
from cerlab.errors import BadData, DataPlace
from cerlab.io.arrow import ColumnFile
from cerlab.io.formats import Format, register
from cerlab.model.arrays import numbers_of
from cerlab.model.columns import nanoseconds
from cerlab.threads import count as threads_to_use

_PAGES = 1 << 20
"""Bytes of a column that are read ahead, regardless of the size of row groups."""

_ROWS_OF_THREAD = 1 << 17
"""Rows of a column for which a thread pays: it starts in 0.1 ms, and reads the rows in 1 ms."""

_PAGE_ROWS = 1_024
"""Rows that writers put into a page before they check its size."""

_SHARE = 16
"""Share of the free memory for a batch: Arrow holds several batches while reading."""

_BYTES_OF_CODE = 4
"""Bytes per value up to which text is read as dictionary codes.

Longer texts are mostly different, or not encoded in the file. Reading three million texts of
300,000 users as codes takes 0.7 s; as texts that are encoded together later, 0.1 s and 0.5 s.
"""

_LONG_TEXT = 64
"""Bytes per value above which text stays encoded: a few long texts may fill all rows."""


class ParquetColumns(ColumnFile):
    """An open file of Parquet."""

    format = "parquet"

    def _open(self) -> Any:
        self._options: dict[str, Any] = {}
        file = self._file()
        self._options["metadata"] = file.metadata
        columns = map(file.schema.column, range(len(file.schema)))
        old = [column.name for column in columns if column.physical_type == "INT96"]
        if old and self._are_far(old):
            self._options["coerce_int96_timestamp_unit"] = "us"
            file = self._file()
        return file.schema_arrow

    def _file(self, **options: Any) -> Any:
        from pyarrow import parquet  # loads on first use

        return parquet.ParquetFile(self._raw, **{**self._options, **options})

    def _are_far(self, names: list[str]) -> bool:
        """Return whether moments stored as INT96 are outside 64 bits of nanoseconds.

        pyarrow reads these 96 bits as nanoseconds in 64 bits without reporting overflow. So they
        are read as microseconds first, the unit of Spark and Hive. Raises `BadData` if they are far
        away and finer than microseconds.
        """

        def batches(unit: str) -> Iterator[Any]:
            for batch in self._file(coerce_int96_timestamp_unit=unit).iter_batches(columns=names):
                poll()
                yield batch

        if all(nanoseconds(column) is not None for batch in batches("us") for column in batch):
            return False
        for coarse, fine in zip(batches("us"), batches("ns"), strict=True):
            for name, one, other in zip(coarse.schema.names, coarse, fine, strict=True):
                micros, nanos = (numbers_of(e.view("int64").drop_null()) for e in (one, other))
                if (micros * 1000 != nanos).any():  # both are modulo 2^64
                    message = f"column '{name}' of INT96 has moments that 64 bits of no unit hold"
                    hint = "they are far away, or finer than microseconds: write it as TIMESTAMP"
                    place = DataPlace(self.file, None, name)
                    raise BadData("CER0740", message, place=place, hint=hint)
        return True

    @property
    def length(self) -> int:
        """The number of rows."""
        return int(self._options["metadata"].num_rows)

    def _chunks(self, name: str) -> list[Any]:
        """Return the footer's entries for a column, one per row group."""
        footer = self._options["metadata"]
        own = [k for k in range(footer.num_columns) if footer.schema.column(k).path == name]
        groups = map(footer.row_group, range(footer.num_row_groups))
        return [group.column(k) for group in groups for k in own]

    def has_texts(self, name: str) -> bool:
        """Return whether the footer states that every value of a column is a non-empty text.

        A statistic may shorten the smallest text, but not to the empty text.
        """
        of_groups = [chunk.statistics for chunk in self._chunks(name)]
        return all(
            of is not None and of.has_min_max and of.has_null_count and not of.null_count and of.min
            for of in of_groups
        )

    def _differs(self, name: str) -> bool:
        own = self._chunks(name)
        values, size = (
            sum(int(getattr(chunk, of)) for chunk in own)
            for of in ("num_values", "total_uncompressed_size")
        )
        return _BYTES_OF_CODE * values < size <= _LONG_TEXT * values

    @property
    def schema(self) -> Any:
        """The schema of the file's columns, in which all text is dictionary-encoded."""
        import pyarrow as pa

        fields = self._schema
        for n, field in enumerate(fields):
            if pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
                fields = fields.set(n, field.with_type(pa.dictionary(pa.int32(), field.type)))
        return fields

    def _shares(self, part: Sequence[int] | None) -> Sequence[Sequence[int] | None]:
        groups = range(self._options["metadata"].num_row_groups) if part is None else part
        threads = max(1, min(threads_to_use(), self.rows_of(part) // _ROWS_OF_THREAD, len(groups)))
        cuts = [len(groups) * n // threads for n in range(threads + 1)]
        return [groups[a:b] for a, b in pairwise(cuts)] if threads > 1 else [part]

    def parts(self, size: int) -> Sequence[Sequence[int] | None]:
        """Return the row groups of each part of the file."""
        parts, rows = list[list[int]]([[]]), 0
        for n in range(self._options["metadata"].num_row_groups):
            if rows >= size:
                parts.append([])
                rows = 0
            parts[-1].append(n)
            rows += self.rows_of([n])
        return parts if len(parts) > 1 else [None]

    def rows_of(self, part: Sequence[int] | None) -> int:
        """Return the number of rows of some row groups."""
        if part is None:
            return self.length
        footer = self._options["metadata"]
        return sum(int(footer.row_group(n).num_rows) for n in part)

    def _batches(
        self,
        size: int,
        names: Sequence[str] | None,
        texts: Sequence[str] | None,
        part: Sequence[int] | None = None,
    ) -> Iterator[Any]:
        # pre_buffer would hold whole row groups in memory
        file = self._file(pre_buffer=False, buffer_size=_PAGES, read_dictionary=texts)
        rows = _rows_at_once(file.metadata, size, names)
        # in pyarrow's thread pool, one column would wait for the columns of other threads
        alone = names is not None and len(names) == 1
        yield from file.iter_batches(rows, part, names, use_threads=not alone)


def _rows_at_once(footer: Any, size: int, names: Sequence[str] | None) -> int:
    """Return `size`, or fewer rows if a memory limit leaves too little room.

    The footer of the file states the sizes. Raises `ResourceLimit` if even a page, the least that a
    writer stores, is too large.
    """
    room = bytes_left()
    if room == math.inf:
        return size
    row, page = 1.0, 0.0
    for group in map(footer.row_group, range(footer.num_row_groups)):
        columns = map(group.column, range(group.num_columns))
        read = (c for c in columns if names is None or c.path_in_schema.split(".")[0] in names)
        whole = sum(c.total_uncompressed_size for c in read)
        row = max(row, whole / max(group.num_rows, 1))
        page = max(page, min(whole, row * _PAGE_ROWS))
    # pages are decompressed as a whole, however few rows are requested
    poll(int(page))
    return max(1, min(size, int(room / row / _SHARE)))


register(Format("parquet", (".parquet", ".pq"), magic=(b"PAR1",), columns=ParquetColumns))
