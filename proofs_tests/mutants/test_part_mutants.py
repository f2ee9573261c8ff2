"""Wrong versions of reading a stream part by part, each killed by files of small parts."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from random import Random
from typing import Any
from warnings import catch_warnings

from cerlab.engine.answers import events_of_streams
from cerlab.engine.totals import _Parts
from cerlab.errors import BadData
from cerlab.io import parts
from cerlab.io.arrow import ColumnFile
from cerlab.io.parquet import ParquetColumns
from cerlab.io.parts import StreamRows
from proofs_tests.differential.test_keys import queries_by_key
from proofs_tests.mutants.driver import kills, mutant, on_seeds

_TABLE = ColumnFile.table
_PARTS = ParquetColumns.parts
_ALL_PARTS = StreamRows.all_parts
_JOINED = parts._joined


def positions_in_the_part(self: _Parts) -> Iterator[Any]:
    """The positions of each part count from its own beginning."""
    for columns, length in self._stream.parts():
        yield events_of_streams(self._plan.streams, columns, length)


def the_first_rows(
    self: ColumnFile, names: Any = None, *, coded: bool = True, part: Any = None
) -> Any:
    """A part reads the first rows of the file."""
    whole = _TABLE(self, names, coded=coded)
    return whole if part is None else whole.slice(0, self.rows_of(part))


def without_the_last(self: ParquetColumns, size: int) -> Any:
    """The last part is left out if there are three."""
    parts = _PARTS(self, size)
    return parts[:-1] if len(parts) > 2 else parts


def parts_of_the_first(self: StreamRows, size: int) -> Iterator[Any]:
    """A file of several parts ends with its first."""
    return islice(_ALL_PARTS(self, size), 1)


def the_last_file_first(group: Any) -> Any:
    """Parts of several files have these in the opposite order."""
    return _JOINED(group[::-1])


def by_few_keys(rng: Random) -> bool:
    """Check a query by key; streams that are too long for it have no answers."""
    with catch_warnings(action="ignore"):
        try:
            return bool(queries_by_key(rng, most=60))
        except BadData as error:
            raise AssertionError("the events of every case are right") from error


SEEDS = on_seeds(by_few_keys, 300)

MUTANTS = [
    mutant(SEEDS, _Parts, "__iter__", positions_in_the_part),
    mutant(SEEDS, ColumnFile, "table", the_first_rows),
    mutant(SEEDS, ParquetColumns, "parts", without_the_last),
    mutant(SEEDS, StreamRows, "all_parts", parts_of_the_first),
    mutant(SEEDS, parts, "_joined", the_last_file_first),
]

test_the_mutant_is_killed = kills(MUTANTS)
