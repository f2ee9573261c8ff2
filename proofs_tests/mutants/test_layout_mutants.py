"""Wrong versions of what puts rows of no order together, killed by streams that lie anyhow."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from cerlab import CerlabError
from cerlab.spark import packets
from cerlab.spark import ranges as bit_fields
from cerlab.spark.plan import Mode
from proofs_tests.mutants.driver import Judge, kills, mutant
from proofs_tests.spark.test_any_split import check

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

MUTANTS = [
    mutant(SEEDS, bit_fields, "_width", full_fields_overflow),
    mutant(SEEDS, packets, "_packets", the_last_reader_is_left_out),
    mutant(SEEDS, packets, "_together", one_after_another),
]


test_the_mutant_is_killed = kills(MUTANTS)
