"""ORC: columns in stripes, written by Hive and Spark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from cerlab.io.arrow import ColumnFile
from cerlab.io.formats import Format, register


class OrcColumns(ColumnFile):
    """An open file of ORC."""

    format = "orc"

    def _open(self) -> Any:
        from pyarrow import orc  # loads on first use

        self._file = orc.ORCFile(self._raw)
        return self._file.schema

    @property
    def length(self) -> int:
        """The number of rows."""
        return int(self._file.nrows)

    def _batches(
        self,
        size: int,
        names: Sequence[str] | None,
        texts: Sequence[str] | None,
        part: None = None,
    ) -> Iterator[Any]:
        columns = None if names is None else [*names]
        for stripe in range(self._file.nstripes):
            yield self._file.read_stripe(stripe, columns)


register(Format("orc", (".orc",), magic=(b"ORC",), columns=OrcColumns))
