"""Wrong versions of what puts rows of no order together, killed by streams that lie anyhow."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pytest

from cerlab import CerlabError
from cerlab.spark import ends, packets, tasks
from cerlab.spark import ranges as bit_fields
from cerlab.spark.plan import Mode
from cerlab.spark.runs import tables_of
from proofs_tests.mutants.driver import Judge, kills, mutant
from proofs_tests.spark.test_any_split import check
from proofs_tests.spark.test_ends import check_ends
from proofs_tests.spark.test_row_packets import check as check_rows

_PACKETS = packets._packets


def full_fields_overflow(column: tuple[str, int, int]) -> int:
    """The greatest value of a field has one bit more where it is a power of two."""
    _, least, greatest = column
    return max(0, greatest - least - 1).bit_length()


def the_last_reader_is_left_out(run: int, parts: Sequence[int], rows: Any) -> Any:
    """The range that is furthest from a run does not get it."""
    return _PACKETS(run, parts[:-1] or parts, rows)


_TOGETHER = packets._together


def one_after_another(batches: list[Any]) -> Any:
    """Three and more units of a run are taken as stretches of its order."""
    if len(batches) < 3:
        return _TOGETHER(batches)
    batches = sorted(batches, key=lambda rows: packets._place(rows, 0))
    return pa.Table.from_batches(batches).combine_chunks().to_batches()[0]


def in_none(seed: int) -> bool:
    """A stream whose rows lie in no order; an error of the pipeline is as wrong as an answer."""
    try:
        return check(Random(seed), Mode.RANGES, ordered=False)
    except (CerlabError, pytest.fail.Exception) as error:
        raise AssertionError from error


SEEDS = Judge(in_none, 300)


def ends_too(rng: Random) -> bool:
    """A part of a stream, in a random mode; an error of the pipeline is as wrong as an answer."""
    try:
        return check_ends(rng, rng.choice(list(Mode)))
    except (CerlabError, pytest.fail.Exception) as error:
        raise AssertionError from error


OF_ENDS = Judge(lambda seed: ends_too(Random(seed)), 300)

_LEAST = ends.least_number


def the_greatest_not_above(bound: Fraction, *, whole: bool) -> int | float:
    """A time between two integers is the lower one."""
    return _LEAST(bound if bound.denominator == 1 else bound - 1, whole=whole)


def all_rows_of_the_range(rows: ends.OwnRows) -> int:
    """Answers that end before the first time are given."""
    return rows.read if rows.own is None else rows.own


def rows_after_the_last_time(self: ends.OwnRows, rows: Any) -> Any:
    """Answers that end after the last time are given."""
    whole, size = _TAKE(self, rows), self.read
    self.read = size + rows.num_rows - whole.num_rows
    return rows


_TAKE = ends.OwnRows.take


def row_pattern(seed: int) -> bool:
    """A row pattern on files that tasks read; an error of the pipeline is as wrong as a row."""
    with TemporaryDirectory() as folder:
        try:
            return check_rows(Random(seed), Path(folder, "rows"))
        except CerlabError as error:
            raise AssertionError from error


OF_ROWS = Judge(row_pattern, 100)


def without_a_key(batches: Any, buckets: int) -> Any:
    """Rows whose key is NULL are in no partition, as events without a key are in no substream."""
    for rows in tables_of(batches):
        yield from packets._in_buckets(0, rows.combine_chunks().to_batches()[0], buckets)


def by_row(keys: Sequence[Any], rows: int, buckets: int) -> Any:
    """A row's bucket is that of its place, not that of its key."""
    return pa.array([n % buckets for n in range(rows)], pa.int64())


MUTANTS = [
    mutant(OF_ENDS, ends, "least_number", the_greatest_not_above),
    mutant(OF_ENDS, ends.OwnRows, "first_own", property(all_rows_of_the_range), id="all_rows"),
    mutant(OF_ENDS, ends.OwnRows, "take", rows_after_the_last_time),
    mutant(SEEDS, bit_fields, "_width", full_fields_overflow),
    mutant(SEEDS, packets, "_packets", the_last_reader_is_left_out),
    mutant(SEEDS, packets, "_together", one_after_another),
    mutant(OF_ROWS, packets, "packets_of_keys", without_a_key),
    mutant(OF_ROWS, tasks, "buckets_of_keys", by_row),
]


test_the_mutant_is_killed = kills(MUTANTS)
