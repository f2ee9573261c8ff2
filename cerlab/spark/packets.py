"""Packets: many events of a run as one binary value, so that Spark moves a few large rows.

A row of packets has these columns. The binary is a stream of Arrow's IPC format.

    ``part``    int32, the range or the bucket of keys that it is for
    ``run``     int32, the run of a `RangeAssignment` that its events are of
    ``packet``  the events in order: ``k0 k1 ..``, ``kept`` if the query has FROM and positions are
                counted, and the attributes that are read

The packets of a run are merged where they arrive. So the result does not depend on which tasks made
them, nor on the order of their rows.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby, pairwise
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

import numpy as np

from cerlab.engine.row_order import ColumnNames
from cerlab.errors import BadData
from cerlab.model.arrays import array_from, numbers_of, order_of
from cerlab.model.columns import decoded
from cerlab.spark.evaluation import Job, new_evaluation
from cerlab.spark.ranges import BitFields, RangeAssignment
from cerlab.spark.runs import SIZE, descents, is_whole, keys_in, survey_run, tables_of

ROWS_OF_A_PACKET = 1 << 18
"""Least number of rows that a task collects before it makes packets."""

BYTES_OF_A_PACKET = 1 << 20
"""Size of a packet, unless a single row is larger: a task receives 128 packets at a time."""


class Placing(NamedTuple):
    """Properties of sent rows: the source of their positions, and whether all rows are sent."""

    has_positions: bool
    """True if the last ordering key is the position."""
    is_numbered: bool = False
    """True if positions are row numbers; otherwise the sent events are consecutive."""
    whole: bool = True
    """True if the sent rows are all rows that `RangeAssignment.rows_in_from` counts."""
    fields: BitFields | None = None
    """The fields packed in the column ``k0``, if it is not the first key."""


def change_error(message: str) -> BadData:
    """Return the error for rows that changed since the first pass."""
    hint = "the DataFrame changes each time it is read: write or cache it first"
    return BadData("CER0783", message, hint=hint)


# -- where rows are read -------------------------------------------------------------------------


def packets_of_ranges(
    batches: Iterable[Any], assignment: RangeAssignment, size: int = ROWS_OF_A_PACKET
) -> Iterator[Any]:
    """Yield rows in their present order as packets, each for all ranges that read it.

    Raises `BadData` for rows that are in no run of the first pass.
    """
    for run, rows in _by_run(batches, assignment, size):
        yield from _packets(run, range(assignment.part[run], assignment.reader[run] + 1), rows)


def packets_of_buckets(
    batches: Iterable[Any],
    assignment: RangeAssignment,
    buckets: int,
    fields: BitFields | None = None,
    size: int = ROWS_OF_A_PACKET,
) -> Iterator[Any]:
    """Yield rows with a ``group`` as packets, one for each bucket and run."""
    for run, rows in _by_run(batches, assignment, size):
        yield from _in_buckets(run, rows, buckets, fields)


def packets_of_keys(batches: Iterable[Any], buckets: int) -> Iterator[Any]:
    """Yield rows with a ``group`` as packets, one for each bucket; NULL is a key."""
    for table in tables_of(batches, ROWS_OF_A_PACKET):
        (rows,) = table.combine_chunks().to_batches()
        group = rows.column("group").fill_null(0)
        place = rows.schema.get_field_index("group")
        yield from _in_buckets(0, rows.set_column(place, "group", group), buckets)


def packets_of_cuts(
    batches: Iterable[Any],
    cuts: Sequence[tuple[Any, ...]],
    parts: int,
    size: int = ROWS_OF_A_PACKET,
) -> Iterator[Any]:
    """Yield rows as packets: run k lies between cut k - 1 and cut k; NULL is in the first run."""
    for table in tables_of(batches, size):
        for run, piece in _pieces(table, cuts):
            yield from _packets(run, [run * parts // (len(cuts) + 1)], piece)


def _by_run(
    batches: Iterable[Any], assignment: RangeAssignment, size: int
) -> Iterator[tuple[int, Any]]:
    """Yield the rows by the run (a stretch of rows that one task reads) that contains them."""
    for table in tables_of(batches, size):
        for run, piece in _pieces(table, assignment.first[1:]):
            first, last = _ends(piece)
            has_place = assignment.first and None not in (*first, *last)
            if not has_place or first < assignment.first[run] or last > assignment.last[run]:
                message = "some rows were not in the first pass, by the columns that order it"
                raise change_error(message)
            yield run, piece


def _pieces(table: Any, cuts: Sequence[tuple[Any, ...]]) -> Iterator[tuple[int, Any]]:
    """Yield the rows between cuts, sorted unless a single integer orders them.

    With a single integer, the receiving task sorts more cheaply: here rows are only distributed,
    in 8 ns each; a sort would take 60.
    """
    (rows,) = table.combine_chunks().to_batches()
    if not (cuts and _has_integer_key(rows)):
        yield from _between(_in_order(rows), cuts)
        return
    run = runs_of_integers(
        numbers_of(rows.column("k0")), np.array([cut for (cut,) in cuts], np.int64)
    )
    yield from _dealt(rows, run, len(cuts) + 1)


def _dealt(rows: Any, number: Any, count: int) -> Iterator[tuple[int, Any]]:
    """Yield the rows grouped by `number`, which is below `count`; each group keeps its order."""
    if (number[1:] < number[:-1]).any():
        # NumPy uses a radix sort for integers this small: 3 ns each
        rows = rows.take(order_of(number.astype(np.min_scalar_type(count))))
    ends = np.cumsum(np.bincount(number, minlength=count)).tolist()
    for each, (start, end) in enumerate(pairwise([0, *ends])):
        if start < end:
            yield each, rows.slice(start, end - start)


def _has_integer_key(rows: Any) -> bool:
    return keys_in(rows) == ["k0"] and is_whole(rows.column("k0"))


def _ends(piece: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return the least and the greatest key of some rows of one run."""
    if _has_integer_key(piece):
        keys = numbers_of(piece.column("k0"))
        return (int(keys.min()),), (int(keys.max()),)
    return _place(piece, 0), _place(piece, piece.num_rows - 1)


_CELLS = 1 << 12
"""Cells of equal width in the lookup table of integers; few cells contain a cut."""


def runs_of_integers(keys: Any, cuts: Any) -> Any:
    """Return for each key the number of cuts up to it; `cuts` increase. Shape (keys,).

    By cells: 5 ns a key; a search would take 30, and a sort of the keys 50.
    """
    low, high = int(keys.min()), int(keys.max())
    kind = np.min_scalar_type(len(cuts))
    if max(-low, high) >= 1 << 62:
        return np.searchsorted(cuts, keys, "right").astype(kind)
    width = max(0, (high - low).bit_length() - _CELLS.bit_length() + 1)
    starts = low + (np.arange(_CELLS + 1) << width)
    first = np.searchsorted(cuts, starts[:-1], "right").astype(kind)
    last = np.searchsorted(cuts, starts[1:] - 1, "right")
    cells = (keys - low) >> width
    run = first[cells]
    (inside,) = np.nonzero((first != last)[cells])
    run[inside] = np.searchsorted(cuts, keys[inside], "right")
    return run


def _in_order(table: Any) -> Any:
    """Return the rows sorted by their ordering keys."""
    import pyarrow as pa

    rows = table
    if not isinstance(table, pa.RecordBatch):
        (rows,) = table.combine_chunks().to_batches()
    return rows.take(_order(rows)) if descents(rows).any() else rows


def _order(rows: Any) -> Any:
    """Return the row indices sorted by the ordering keys; NULL and NaN come first."""
    import pyarrow as pa
    import pyarrow.compute as pc

    keys = [rows.column(name) for name in keys_in(rows)]
    if all(map(is_whole, keys)):
        return array_from(order_of(*map(numbers_of, keys)))
    valid = [pc.invert(pc.is_null(key, nan_is_null=True)) for key in keys]
    pairs = [column for pair in zip(valid, keys, strict=True) for column in pair]
    table = pa.table(pairs, names=[str(n) for n in range(len(pairs))])
    return pc.sort_indices(table, sort_keys=[(name, "ascending") for name in table.column_names])


def _between(rows: Any, cuts: Sequence[tuple[Any, ...]]) -> Iterator[tuple[int, Any]]:
    """Yield sorted rows in pieces, cut before the first row at or above each cut."""
    start = 0
    while start < rows.num_rows:
        place = _place(rows, start)
        run, end = 0 if None in place else bisect_right(cuts, place), rows.num_rows
        if run < len(cuts):
            reaches = partial(_reaches, rows, cuts[run])
            end = bisect_left(range(rows.num_rows), True, lo=start, key=reaches)
        yield run, rows.slice(start, end - start)
        start = end


def _reaches(rows: Any, cut: tuple[Any, ...], row: int) -> bool:
    place = _place(rows, row)
    return None not in place and place >= cut


def _place(rows: Any, row: int) -> tuple[Any, ...]:
    """Return the ordering keys of a row; None for NaN, which has no place in an order."""
    values = (rows.column(name)[row].as_py() for name in keys_in(rows))
    return tuple(value if value == value else None for value in values)


def _in_buckets(
    run: int, rows: Any, buckets: int, fields: BitFields | None = None
) -> Iterator[Any]:
    """Yield the rows that have a group as packets, without the column of groups."""
    if "group" in rows.schema.names:
        group = rows.column("group")
        rows = rows.drop_columns(["group"])
    else:
        assert fields is not None
        group = fields.decode(rows).column("group")
    # events without a key are in no substream; they were sent to number the events after them
    if group.null_count:
        rows, group = rows.filter(group.is_valid()), group.drop_null()
    for number, some in _dealt(rows, np.mod(group.to_numpy(), buckets), buckets):
        yield from _packets(run, [number], some)


_LONG_DICTIONARY = 1 << 10
"""Most texts of a dictionary that each packet repeats; larger ones are split by packet."""


def _packets(run: int, parts: Sequence[int], rows: Any) -> Iterator[Any]:
    """Split rows by part, and yield the rows of each part as record batches."""
    import pyarrow as pa

    long = [
        (n, rows.schema.field(n).name)
        for n, column in enumerate(rows.columns)
        if pa.types.is_dictionary(column.type) and len(column.dictionary) > _LONG_DICTIONARY
    ]
    for n, name in long:
        rows = rows.set_column(n, name, decoded(rows.column(n)))
    step = max(1, rows.num_rows * BYTES_OF_A_PACKET // max(1, rows.nbytes))
    for start in range(0, rows.num_rows, step):
        some = rows.slice(start, step)
        for n, name in long:  # the packets of a run must have one type, whatever their files
            some = some.set_column(n, name, some.column(n).dictionary_encode())
        content = _ipc_bytes(some)
        columns = {
            "part": pa.array(parts, pa.int32()),
            "run": pa.array([run] * len(parts), pa.int32()),
            "packet": pa.array([content] * len(parts), pa.binary()),
        }
        yield pa.RecordBatch.from_pydict(columns)


def _ipc_bytes(rows: Any) -> bytes:
    import pyarrow as pa

    # the JVM spends much more on a byte than compression does
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with pa.BufferOutputStream() as sink:
        with pa.ipc.new_stream(sink, rows.schema, options=options) as stream:
            stream.write_batch(rows)
        content: bytes = sink.getvalue().to_pybytes()
    return content


# -- where packets arrive --------------------------------------------------------------------------


class RunRows(NamedTuple):
    """The events of a run, in order, as a part receives them."""

    part: int
    run: int
    rows: Any
    counted: Any = None
    """The keys of further events, which are only numbered, not evaluated."""

    @property
    def size(self) -> int:
        """The number of events, including events that only affect positions."""
        return int(self.rows.num_rows + (0 if self.counted is None else self.counted.num_rows))

    def are_counted(self, placing: Placing) -> bool:
        """Return whether all events only affect positions: ``k0`` is their only field."""
        return placing.fields is None and bool(self.rows.schema.names == ["k0"])


def runs_of_packets(batches: Iterable[Any]) -> Iterator[RunRows]:
    """Yield the runs of some parts in order, from packets sorted by part and run."""
    import pyarrow as pa

    rows = (row for batch in batches for row in zip(*map(_values, batch.columns), strict=True))
    for (part, run), packets in groupby(rows, key=itemgetter(0, 1)):
        batches = [batch for *_, packet in packets for batch in pa.ipc.open_stream(packet)]
        counted = [batch for batch in batches if batch.schema.names == ["k0"]]
        if len(counted) in (0, len(batches)):
            yield RunRows(part, run, _together(batches))
        else:
            evaluated = [batch for batch in batches if batch.schema.names != ["k0"]]
            yield RunRows(part, run, _together(evaluated), _together(counted))


def _together(batches: list[Any]) -> Any:
    """Return the rows of all packets of a run, in order."""
    import pyarrow as pa

    if len(batches) == 1:
        return _in_order(batches[0])
    places = [_place(rows, 0) for rows in batches]
    if not any(None in place for place in places):  # batches may be in order already
        batches = [batches[n] for n in sorted(range(len(batches)), key=places.__getitem__)]
    return _in_order(pa.Table.from_batches(batches))


def _values(column: Any) -> Any:
    """Return integers as a list, and binaries without copying them."""
    import pyarrow as pa

    if pa.types.is_integer(column.type):
        return column.to_pylist()
    return (value.as_buffer() for value in column)


def survey_packets(
    batches: Iterable[Any], labels: ColumnNames, *, positions: bool, fields: BitFields | None = None
) -> Iterator[Any]:
    """Yield one row that describes each run (`cerlab.spark.runs`)."""
    for packet in runs_of_packets(batches):
        rows = packet.rows if fields is None else fields.decode(packet.rows)
        if labels.time in labels.keys and "time" not in rows.schema.names:
            rows = rows.append_column("time", rows.column(f"k{labels.keys.index(labels.time)}"))
        yield survey_run(packet.run, rows, labels, positions=positions)


def number_packets(
    batches: Iterable[Any], assignment: RangeAssignment, buckets: int, placing: Placing
) -> Iterator[Any]:
    """Yield packets of ranges as packets of buckets, whose events are sorted by position."""
    for packet in _check_counts(runs_of_packets(batches), assignment, placing):
        if packet.are_counted(placing):
            continue
        rows = _with_positions(packet, assignment.before[packet.run], placing)
        names = ["k0" if name == "position" else name for name in rows.schema.names]
        yield from _in_buckets(packet.run, rows.rename_columns(names), buckets)


def evaluate_buckets(
    batches: Iterable[Any], job: Job, fields: BitFields | None = None, size: int = SIZE
) -> Iterator[Any]:
    """Yield the answers of the keys in some buckets; one engine reads each bucket.

    The last key of their events is the position.
    """
    placing = Placing(has_positions=True, fields=fields)
    for _, runs in groupby(runs_of_packets(batches), key=attrgetter("part")):
        run = new_evaluation(job)
        for rows in tables_of((_with_positions(each, 0, placing) for each in runs), size):
            yield from run.push(rows)
        yield from run.finish()


def evaluate_ranges(
    batches: Iterable[Any],
    job: Job,
    assignment: RangeAssignment,
    placing: Placing,
    size: int = SIZE,
) -> Iterator[Any]:
    """Yield the answers that end in the ranges of some packets, each range's in order."""
    packets = _check_counts(runs_of_packets(batches), assignment, placing)
    for part, some in groupby(packets, key=attrgetter("part")):
        run = new_evaluation(job)
        # events of the window before the range come first; answers that end in them are dropped
        run.own, run.first = None, assignment.before[bisect_left(assignment.reader, part)]
        for own, inside in groupby(
            some, key=lambda packet: assignment.part[packet.run] == packet.part
        ):
            if own:
                run.own = run.read
            evaluated = (packet for packet in inside if not packet.are_counted(placing))
            events = (_with_positions(u, assignment.before[u.run], placing) for u in evaluated)
            for rows in tables_of(events, size):
                yield from run.push(rows)
        yield from run.finish()


def _check_counts(
    packets: Iterable[RunRows], assignment: RangeAssignment, placing: Placing
) -> Iterator[RunRows]:
    """Yield the packets; raises `BadData` if a part's number of rows has changed."""
    if not placing.whole:
        yield from packets
        return
    counts = assignment.rows if placing.is_numbered else assignment.rows_in_from
    for part, some in groupby(packets, key=attrgetter("part")):
        read = 0
        for packet in some:
            _same(packet.size, counts[packet.run])
            read += packet.size
            yield packet
        # the runs that a part reads are consecutive, since `part` and `reader` ascend
        stretch = slice(bisect_left(assignment.reader, part), bisect_right(assignment.part, part))
        _same(read, sum(counts[stretch]))


def _same(read: int, before: int) -> None:
    if read != before:
        raise change_error(f"a stretch had {before} rows in the first pass and has {read} now")


def _with_positions(packet: RunRows, before: int, placing: Placing) -> Any:
    """Return the rows in FROM without keys, and with positions unless they are consecutive."""
    import pyarrow as pa

    rows = packet.rows
    if placing.fields is not None:
        rows = placing.fields.decode(rows)
        rows = rows.select([name for name in rows.schema.names if name != "group"])
    keys = keys_in(rows)
    if placing.has_positions:
        rows = rows.append_column("position", rows.column(keys[-1]))
    elif placing.is_numbered:
        places = np.arange(before, before + rows.num_rows)
        if packet.counted is not None:  # the numbers are exact, since no two events have equal keys
            others = numbers_of(packet.counted.column("k0"))
            places += np.searchsorted(others, numbers_of(rows.column("k0")))
        rows = rows.append_column("position", pa.array(places))
    if "kept" in rows.schema.names:
        rows = rows.filter(rows.column("kept")).drop_columns(["kept"])
    return rows.drop_columns(keys)
