"""A range of a stream that lies in Parquet files: its row groups are read and evaluated here.

No row goes through Spark. A task reads the clusters of its range and those of one window before it,
sorts the rows of a cluster where they are not in order, and checks all that their footers stated.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from cerlab.errors import BadData
from cerlab.spark.plan.files import FileRanges
from cerlab.spark.plan.footers import Columns, RowGroup
from cerlab.spark.plan.order import first_problem
from cerlab.spark.plan.runs import run_table
from cerlab.spark.plan.survey import HINTS
from cerlab.spark.tasks.evaluation import Evaluation, Job
from cerlab.spark.tasks.shuffle_units import changed

RUN_IN_FILES = 1 << 15
"""How many rows a run has that a task tells of, for a stream whose rows Spark reads."""


def evaluate_files(batches: Iterable[Any], job: Job, ranges: FileRanges) -> Iterator[Any]:
    """The answers that end in some ranges, as record batches; the rows of `batches` are ``id``."""
    for batch in batches:
        for part in batch.column(0).to_pylist():
            yield from answers_of_range(part, job, ranges)


def write_files(
    batches: Iterable[Any], job: Job, ranges: FileRanges, folder: str, schema: Any
) -> Iterator[Any]:
    """A Parquet file for each range, under a name that no other task has.

    Yields record batches of ``name`` (text) and ``answers`` (int64). A task that runs twice writes
    two files; only the names that the driver was given are answers.
    """
    from uuid import uuid4

    import pyarrow as pa
    import pyarrow.parquet as pq

    for batch in batches:
        for part in batch.column(0).to_pylist():
            name, answers = f"part-{part:05}-{uuid4().hex}.parquet", 0
            with pq.ParquetWriter(Path(folder) / name, schema) as writer:
                for found in answers_of_range(part, job, ranges):
                    writer.write_batch(found)
                    answers += found.num_rows
            yield pa.RecordBatch.from_pydict({"name": [name], "answers": [answers]})


def runs_of_files(batches: Iterable[Any], ranges: FileRanges) -> Iterator[Any]:
    """The runs of some ranges (`cerlab.spark.plan.runs.run_table`), as record batches.

    The last has ``what`` is wrong, where something is. The keys are integers.
    """
    import pyarrow as pa

    keys = [f"{end}{n}" for end in "fl" for n in range(len(ranges.columns.keys))]
    integers = [*keys, "rows", "kept", "first_time", "last_time"]
    schema = pa.schema([*((name, pa.int64()) for name in integers), ("what", pa.string())])
    for batch in batches:
        for part in batch.column(0).to_pylist():
            begins = bisect_left(ranges.assignment.part, part)
            try:
                for _, rows in _rows_of_range(part, ranges, begins):
                    (whole,) = _checked(rows, ranges).combine_chunks().to_batches()
                    made = run_table(whole, range(0, whole.num_rows, RUN_IN_FILES))
                    yield made.append_column("what", pa.nulls(made.num_rows, pa.string()))
            except BadData as error:
                yield pa.RecordBatch.from_pylist([{"what": str(error)}], schema)


def answers_of_range(part: int, job: Job, ranges: FileRanges) -> Iterator[Any]:
    """The answers that end in a range, as record batches, in the order of their ends.

    Raises `BadData` for rows that are not as the footers state, and for those that are no stream.
    """
    assignment = ranges.assignment
    begins = bisect_left(assignment.reader, part)
    run = Evaluation(job)
    run.own, run.first = None, assignment.before[begins]
    for number, rows in _rows_of_range(part, ranges, begins):
        if assignment.part[number] == part and run.own is None:
            run.own = run.read
        yield from run.push(_for_engine(rows, ranges.columns))
    yield from run.finish()


def _rows_of_range(part: int, ranges: FileRanges, begins: int) -> Iterator[tuple[int, Any]]:
    """The clusters of a range from number `begins` on, each in order and checked."""
    opened = lru_cache(maxsize=4)(partial(_opened, read=ranges.columns.read))
    before, read = None, ranges.assignment.before[begins]
    for number in range(begins, bisect_right(ranges.assignment.part, part)):
        groups = ranges.clusters[number]
        tables = [_row_group(opened(group.path), group, ranges.columns) for group in groups]
        rows = _in_order(tables, ranges.columns)
        checked = _checked(rows, ranges)
        if (problem := first_problem(before, checked, ranges.labels)) is not None:
            place = read + problem.row
            if ranges.columns.has_position:
                place = checked.column("position")[problem.row].as_py()
            what = f"at position {place}: {problem.what}"
            raise BadData(problem.code, what, hint=HINTS[problem.code])
        before, read = checked.slice(checked.num_rows - 1), read + checked.num_rows
        yield number, rows


def _in_order(tables: list[Any], columns: Columns) -> Any:
    """The rows of a cluster, sorted where they are not in order."""
    import pyarrow as pa

    table = tables[0] if len(tables) == 1 else pa.concat_tables(tables, promote_options="default")
    keys = [integers(table, name) for name in columns.keys]
    back, same = np.zeros(table.num_rows - 1, bool), np.ones(table.num_rows - 1, bool)
    for key in keys:
        back |= same & (key[1:] < key[:-1])
        same &= key[1:] == key[:-1]
    return table.take(np.lexsort(keys[::-1])) if back.any() else table


def _row_group(file: Any, group: RowGroup, columns: Columns) -> Any:
    """The rows of a row group; raises `BadData` where they are not as its footer has stated."""
    table = file.read_row_group(group.number, columns=columns.read, use_threads=False)
    stated = dict(zip(columns.keys, zip(group.first, group.last, strict=True), strict=True))
    if columns.time is not None:
        stated[columns.time] = group.first_time, group.last_time
    for name, (least, greatest) in stated.items():
        if table.column(name).null_count:
            raise changed(f"'{name}' of {group.path} has NULL where its footer says it has none")
        values = integers(table, name)
        if len(values) != group.rows or values.min() < least or values.max() > greatest:
            raise changed(f"{group.path} has other rows than its footer says: see '{name}'")
    return table


def _opened(path: str, read: list[str]) -> Any:
    """A Parquet file whose text is read as codes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pq.read_schema(path)
    text = [
        name
        for name in read
        if pa.types.is_string(schema.field(name).type)
        or pa.types.is_large_string(schema.field(name).type)
    ]
    return pq.ParquetFile(path, read_dictionary=text)


def integers(table: Any, name: str) -> Any:
    """A column without NULL as Parquet keeps it, int64: moments and days as their numbers."""
    import pyarrow as pa

    column = table.column(name).combine_chunks()
    if pa.types.is_date32(column.type):
        column = column.cast(pa.int32())
    return column.cast(pa.int64()).to_numpy(zero_copy_only=False)


def _checked(rows: Any, ranges: FileRanges) -> Any:
    """The columns of `cerlab.spark.plan.order`."""
    import pyarrow as pa

    columns = ranges.columns
    made = {f"k{n}": pa.array(integers(rows, name)) for n, name in enumerate(columns.keys)}
    if columns.has_position:
        made["position"] = made[f"k{len(columns.keys) - 1}"]
    if columns.time is not None:
        made["time"] = pa.array(integers(rows, columns.time))
    made["type"] = _type(rows, columns)
    return pa.table(made)


def _type(rows: Any, columns: Columns) -> Any:
    import pyarrow as pa

    name = columns.attributes[0]
    return pa.repeat(columns.type, rows.num_rows) if name is None else rows.column(name)


def _for_engine(rows: Any, columns: Columns) -> Any:
    """The columns ``a0 a1 ..``, and ``position``, of `cerlab.spark.tasks.evaluation`."""
    import pyarrow as pa

    made = {"a0": _type(rows, columns)}
    for n, name in enumerate(columns.attributes[1:], 1):
        nothing = pa.nulls(rows.num_rows, pa.string())
        made[f"a{n}"] = nothing if name is None else rows.column(name)
    if columns.has_position:
        made["position"] = pa.array(integers(rows, columns.keys[-1]))
    return pa.table(made)
