"""Row groups of Parquet files that lie among one another: what orders their rows, for a survey.

Only keys and times are read, where the files lie; Spark moves them in shuffle units, and no row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from cerlab.spark.plan.bit_fields import BitFields
from cerlab.spark.plan.files import UnorderedFiles
from cerlab.spark.plan.footers import Columns, RowGroup
from cerlab.spark.tasks.files import are_named, open_file, types_of
from cerlab.spark.tasks.rows import numbers_in
from cerlab.spark.tasks.shuffle_units import units_of_cuts

SAMPLE_GROUPS = 8
"""From so many row groups a sample is taken, about."""


def sample_of_files(files: UnorderedFiles, rows: int) -> list[tuple[Any, ...]]:
    """The keys of about so many rows in order, of some row groups; none of NULL."""
    groups = files.groups[:: max(1, len(files.groups) // SAMPLE_GROUPS)]
    step = max(1, sum(group.rows for group in groups) // rows)
    sample: list[tuple[Any, ...]] = []
    for group in groups:
        keys = _read(group, list(files.columns.keys))
        places = zip(*(keys.column(n)[::step].to_pylist() for n in keys.column_names), strict=True)
        sample += (place for place in places if None not in place)
    return sorted(sample)


def units_of_files(
    batches: Iterable[Any],
    files: UnorderedFiles,
    tasks: int,
    cuts: Sequence[tuple[Any, ...]],
    parts: int,
) -> Iterator[Any]:
    """Keys and times as units between cuts; the rows of `batches` are ``id``, numbers of tasks."""
    groups = (group for number in numbers_in(batches) for group in files.groups[number::tasks])
    fields = files.fields
    rows = (_ordering(group, files.columns, fields) for group in groups)
    places = cuts if fields is None else [(fields.least_at(cut),) for cut in cuts]
    yield from units_of_cuts(rows, places, parts)


def _ordering(group: RowGroup, columns: Columns, fields: BitFields | None) -> Any:
    """The columns of `cerlab.spark.plan.runs`; those in `fields` as one.

    An event without a type has no place, nor has one outside of what the footers state.
    """
    import pyarrow as pa

    rows = _read(group, columns.read)
    arrays = {f"k{n}": rows.column(name).cast(pa.int64()) for n, name in enumerate(columns.keys)}
    if columns.time is not None:
        arrays["time"] = rows.column(columns.time).cast(pa.int64())
    arrays = {name: column.combine_chunks() for name, column in arrays.items()}
    if fields is not None:
        arrays = {"k0": fields.encode(arrays)}
    if not all(map(are_named, types_of(rows, columns).chunks)):
        arrays["k0"] = pa.nulls(rows.num_rows, pa.int64())
    return pa.RecordBatch.from_pydict(arrays)


def _read(group: RowGroup, names: list[str]) -> Any:
    file = open_file(group.path, names)
    return file.read_row_group(group.number, columns=names, use_threads=False)
