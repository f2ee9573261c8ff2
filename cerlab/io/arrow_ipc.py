"""Arrow IPC, including Feather: record batches, in a file with a footer or as a stream."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from cerlab.computed import cached_property
from cerlab.errors import BadData, DataPlace
from cerlab.io.arrow import ColumnFile
from cerlab.io.formats import Format, register

STREAM_MAGIC = b"\xff\xff\xff\xff"
"""The first bytes of a message of Arrow's streaming format."""

FEATHER_1 = b"FEA1"
"""The first bytes of Feather version 1, which pyarrow reads without checks, so it is refused."""


class IpcColumns(ColumnFile):
    """An open file of Arrow IPC."""

    format = "arrow"

    def _open(self) -> Any:
        magic = self._raw.read(4)
        if magic == FEATHER_1:
            raise BadData(
                "CER0742",
                "Feather version 1 is not supported",
                place=DataPlace(self.file),
                hint="write the file again with pyarrow.feather.write_feather (version 2)",
            )
        self._is_streamed = magic == STREAM_MAGIC
        return self._reader().schema

    def _reader(self, names: Sequence[str] | None = None) -> Any:
        """Return a reader from the file's beginning, for some columns if the file has a footer."""
        import pyarrow as pa

        self._raw.seek(0)
        if self._is_streamed:
            return pa.ipc.open_stream(self._raw)
        if names is None:
            return pa.ipc.open_file(self._raw)
        read = [n for n, field in enumerate(self._schema) if field.name in names]
        return pa.ipc.open_file(self._raw, options=pa.ipc.IpcReadOptions(included_fields=read))

    @cached_property
    def length(self) -> int:
        """The number of rows, summed over all batches, because each batch states only its own."""
        with self._reading():
            return sum(batch.num_rows for batch in self._batches(0, self.fields.names[:1], None))

    @property
    def reads_by_column(self) -> bool:
        """True if the file has a footer, which states where each column is."""
        return not self._is_streamed

    def _batches(
        self,
        size: int,
        names: Sequence[str] | None,
        texts: Sequence[str] | None,
        part: None = None,
    ) -> Iterator[Any]:
        reader = self._reader(names)
        if self._is_streamed:
            yield from reader
            return
        for n in range(reader.num_record_batches):
            yield reader.get_batch(n)


register(
    Format(
        "arrow",
        (".arrow", ".arrows", ".ipc", ".feather"),
        magic=(b"ARROW1", STREAM_MAGIC, FEATHER_1),
        columns=IpcColumns,
    )
)
