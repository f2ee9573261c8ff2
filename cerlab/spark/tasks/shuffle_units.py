"""Packs: the rows of a run as one binary, so that Spark moves a few large rows and sorts those.

A row of packs has these columns; what is in the binary is a stream of Arrow's IPC format.

``part``      int32, the range that it is for
``run``       int32, the run of a `Dealing` that its rows are of
``k0 k1 ..``  the keys of its first row
``pack``      the rows: their keys, ``kept`` where the query has FROM, and what is read of them

The packs of a run are put together where they arrive, so it does not matter which tasks made them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

import numpy as np

from cerlab.spark.plan.assignment import Dealing
from cerlab.spark.plan.runs import ascending
from cerlab.spark.tasks.evaluation import Evaluation, Job
from cerlab.spark.tasks.ranges_and_keys import changed, same_as_surveyed
from cerlab.spark.tasks.rows import SIZE, gathered, keys_in


def packed(batches: Iterable[Any], deal: Dealing, size: int = SIZE) -> Iterator[Any]:
    """Rows as they lie to packs: a pack for each range that reads them, of one run each.

    Raises `BadData` for rows that are in no run of the first pass.
    """
    import pyarrow as pa

    for table in gathered(batches, size):
        (rows,) = table.combine_chunks().to_batches()
        for stretch in ascending(rows):
            for run, piece in _by_run(stretch, deal):
                pack = _pack(run, piece)
                for part in range(deal.part[run], deal.reader[run] + 1):
                    yield pack.set_column(0, "part", pa.array([part], pa.int32()))


def _by_run(rows: Any, deal: Dealing) -> Iterator[tuple[int, Any]]:
    """Ascending rows, cut where the next run begins."""
    columns = [rows.column(key) for key in keys_in(rows)]

    def place(row: int) -> tuple[Any, ...]:
        return tuple(column[row].as_py() for column in columns)

    start, every = 0, range(rows.num_rows)
    while start < rows.num_rows:
        run = bisect_right(deal.first, place(start)) - 1
        end = rows.num_rows
        if run + 1 < len(deal.first):
            end = bisect_left(every, deal.first[run + 1], lo=start, key=place)
        if run < 0 or place(end - 1) > deal.last[run]:
            raise changed(f"a row with the keys {place(end - 1)} was not there in the first pass")
        yield run, rows.slice(start, end - start)
        start = end


def _pack(run: int, rows: Any) -> Any:
    """A record batch of one pack, for no part yet."""
    import pyarrow as pa

    columns = {
        "part": pa.array([-1], pa.int32()),
        "run": pa.array([run], pa.int32()),
        **{key: rows.column(key).slice(0, 1) for key in keys_in(rows)},
        "pack": pa.array([_written(rows)], pa.binary()),
    }
    return pa.RecordBatch.from_pydict(columns)


def _written(rows: Any) -> bytes:
    import pyarrow as pa

    with pa.BufferOutputStream() as sink:
        with pa.ipc.new_stream(sink, rows.schema) as stream:
            stream.write_batch(rows)
        written: bytes = sink.getvalue().to_pybytes()
    return written


class _Rows(NamedTuple):
    part: int
    run: int
    rows: Any
    """A record batch: the kept rows of the run, in order."""


def _unpacked(batches: Iterable[Any], deal: Dealing, *, number: bool) -> Iterator[_Rows]:
    """The runs of some parts, each part's in order; with `number` all have a ``position``.

    Raises `BadData` if a run or a part has another number of rows than in the first pass.
    """
    sent = (row for batch in batches for row in zip(*map(_values, batch.columns), strict=True))
    for part, packs in groupby(sent, key=itemgetter(0)):
        expected = slice(bisect_left(deal.reader, part), bisect_right(deal.part, part))
        read = 0
        for run, some in groupby(packs, key=itemgetter(1)):
            rows = _together([pack for *_, pack in some])
            same_as_surveyed(rows.num_rows, deal.rows[run])
            read += rows.num_rows
            yield _Rows(part, run, _placed(rows, deal.before[run], number=number))
        same_as_surveyed(read, sum(deal.rows[expected]))


def _together(packs: list[Any]) -> Any:
    """The rows of some packs of a run, sorted if there are several."""
    import pyarrow as pa

    made = [batch for pack in packs for batch in pa.ipc.open_stream(pack)]
    if len(made) == 1:
        return made[0]
    order = [(key, "ascending") for key in keys_in(made[0])]
    (rows,) = pa.Table.from_batches(made).sort_by(order).combine_chunks().to_batches()
    return rows


def _values(column: Any) -> Any:
    """Integers as such, and binaries without a copy."""
    import pyarrow as pa

    if pa.types.is_integer(column.type):
        return column.to_pylist()
    return (value.as_buffer() for value in column)


def _placed(rows: Any, before: int, *, number: bool) -> Any:
    """The kept rows, with positions where there are none and they would not be consecutive."""
    import pyarrow as pa

    names = rows.schema.names
    if "position" not in names and (number or "kept" in names):
        places = np.arange(before, before + rows.num_rows)
        rows = rows.append_column("position", pa.array(places))
    if "kept" in names:
        rows = rows.filter(rows.column("kept")).drop_columns(["kept"])
    return rows.drop_columns(keys_in(rows))


def number_packs(batches: Iterable[Any], deal: Dealing) -> Iterator[Any]:
    """The rows in packs with their ``position``, the index in the stream, as the last column."""
    for pack in _unpacked(batches, deal, number=True):
        if pack.rows.num_rows:
            yield pack.rows


def evaluate_packs(
    batches: Iterable[Any], job: Job, deal: Dealing, size: int = SIZE
) -> Iterator[Any]:
    """The answers that end in the parts whose packs these are; each part's come in order."""
    packs = _unpacked(batches, deal, number=False)
    for part, some in groupby(packs, key=attrgetter("part")):
        run = Evaluation(job)
        run.own, run.first = None, deal.before[bisect_left(deal.reader, part)]
        for own, inside in groupby(some, key=lambda pack: deal.part[pack.run] == pack.part):
            if own:
                run.own = run.read
            for rows in gathered((pack.rows for pack in inside), size):
                yield from run.push(rows)
        yield from run.finish()
