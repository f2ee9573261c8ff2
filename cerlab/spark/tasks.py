"""Tasks that read Parquet files directly: ranges of sorted rows, and surveys of other rows."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial
from time import process_time
from typing import Any, NamedTuple
from uuid import uuid4
from zlib import crc32

import numpy as np

from cerlab.engine.row_order import first_problem, increase, is_stream
from cerlab.errors import BadData, DataPlace
from cerlab.io.answers import ROWS, parquet_encoding
from cerlab.io.arrow import ColumnFile, unreadable
from cerlab.io.conversion import Key
from cerlab.io.formats import FORMATS
from cerlab.io.options import empty
from cerlab.io.parts import one_array
from cerlab.model.arrays import array_from, order_of
from cerlab.model.columns import array_of
from cerlab.predicates.columns import SymbolStage
from cerlab.predicates.syntax import Predicate
from cerlab.spark.evaluation import Job, new_evaluation
from cerlab.spark.footers import Columns, RowGroup, inside, parquet_file, resolve
from cerlab.spark.packets import ROWS_OF_A_PACKET, change_error, packets_of_cuts
from cerlab.spark.plan import attributes_computed, engine_column
from cerlab.spark.ranges import BitFields, FileRanges, UnorderedFiles
from cerlab.spark.runs import HINTS, SIZE, integers, numbers_in, run_table, tables_of

RUN_IN_FILES = 1 << 15
"""Rows of a run of a task, for a stream whose rows Spark reads."""


SPENT = {"reading": 0.0, "writing": 0.0}
"""CPU seconds that this process spent in files; the rest of a task counts as ``python``."""


class EventFile(NamedTuple):
    """A file of events."""

    place: str
    kind: str
    """Its format."""
    keys: Mapping[str, Key]
    """The keys of the folders that contain the file."""

    def scalars(self, schema: Any) -> dict[str, Any]:
        """Return the folder keys as Arrow scalars, in the types of a schema."""
        import pyarrow as pa

        scalars = {}
        for name, key in self.keys.items():
            kind = schema.field(name).type
            values = array_of([key.text if pa.types.is_string(kind) else key.value])
            scalars[name] = pa.nulls(1, kind)[0] if values is None else values.cast(kind)[0]
        return scalars


@contextmanager
def spending(on: str) -> Iterator[None]:
    """Count the CPU seconds of the block as reading or writing."""
    begins = process_time()
    try:
        yield
    finally:
        SPENT[on] += process_time() - begins


def timed(
    batches: Iterable[Any],
    function: Callable[[Iterable[Any]], Iterator[Any]],
    clocks: Mapping[str, Any],
) -> Iterator[Any]:
    """Yield the results of a task, and add its CPU seconds to accumulators by name."""
    begins, before = process_time(), dict(SPENT)
    try:
        yield from function(batches)
    finally:
        in_files = {name: seconds - before[name] for name, seconds in SPENT.items()}
        for name, seconds in in_files.items():
            clocks[name].add(seconds)
        clocks["python"].add(process_time() - begins - sum(in_files.values()))


def evaluate_files(batches: Iterable[Any], job: Job, ranges: FileRanges) -> Iterator[Any]:
    """Yield the answers that end in some ranges, as record batches.

    `batches` have ``id``, the ranges.
    """
    for part in numbers_in(batches):
        yield from answers_of_range(part, job, ranges)


def write_answers(
    batches: Iterable[Any],
    evaluate: Callable[[Iterable[Any]], Iterator[Any]],
    folder: str,
    schema: Any,
) -> Iterator[Any]:
    """Write the results of a task as a Parquet file with a unique name.

    Yields a record batch of its ``name`` (text) and ``answers`` (int64). A task that runs twice
    writes two files; only the names that the driver receives are answers. The columns are those of
    the schema in order, whatever their names.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    name, rows = f"part-{uuid4().hex}.parquet", 0
    files, path = resolve(inside(folder, name))
    answers = (
        pa.RecordBatch.from_arrays(each.columns, schema.names).cast(schema)
        for each in evaluate(batches)
    )
    with pq.ParquetWriter(path, schema, filesystem=files, **parquet_encoding(schema)) as writer:
        for table in tables_of(answers, ROWS):
            with spending("writing"):
                writer.write_table(table)
            rows += table.num_rows
    yield pa.RecordBatch.from_pydict({"name": [name], "answers": [rows]})


def rows_of_files(batches: Iterable[Any], files: Sequence[EventFile], schema: Any) -> Iterator[Any]:
    """Yield all rows of some column files, with the keys of their folders.

    The rows of `batches` are ``id``, the numbers of these files. Raises `BadData` for values that
    do not fit the types of the schema.
    """
    import pyarrow as pa

    for number in numbers_in(batches):
        file = files[number]
        keys = file.scalars(schema)
        with spending("reading"):
            for rows in column_file(file).batches(SIZE):
                try:
                    columns = [_as_field(rows, field, keys) for field in schema]
                except pa.ArrowException as error:
                    raise BadData(
                        "CER0742",
                        f"a column has values that do not fit its type in Spark: {error}",
                        place=DataPlace(file.place),
                        hint="write moments in microseconds, and integers in 64 bits",
                    ) from None
                yield pa.RecordBatch.from_arrays(columns, schema=schema)


def column_file(file: EventFile) -> ColumnFile:
    """Return an open file of columns; raises `BadData` if it cannot be read."""
    kind = FORMATS[file.kind].columns
    assert kind is not None
    files, path = resolve(file.place)
    if files.get_file_info(path).size == 0:
        raise empty(file.place)
    return kind(lambda _: files.open_input_file(path), file.place)


def _as_field(rows: Any, field: Any, keys: Mapping[str, Any]) -> Any:
    """Return a column of some rows in a Spark type; NULL if no column has the name."""
    import pyarrow as pa

    if field.name not in rows.schema.names:
        return pa.repeat(keys.get(field.name, pa.scalar(None, field.type)), rows.num_rows)
    column = rows.column(field.name)
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return column.cast(field.type)


def ends_of_groups(
    batches: Iterable[Any], groups: Sequence[tuple[str, int]], names: Sequence[str]
) -> Iterator[Any]:
    """Yield the least and greatest values of columns in some row groups, as integers.

    The rows of `batches` are ``id``, the numbers of these groups; for a column with NULL both are
    NULL.
    """
    import pyarrow as pa

    for number in numbers_in(batches):
        path, group = groups[number]
        file = open_file(path, names)
        row: dict[str, Any] = {"group": [number]}
        for n, name in enumerate(names):
            with spending("reading"):
                table = file.read_row_group(group, columns=[name], use_threads=False)
            column = table.column(0)
            whole = None if column.null_count or not len(column) else integers(table, name)
            row |= {f"{e}{n}": [None if whole is None else int(f(whole))] for e, f in _ENDS}
        schema = pa.schema([(name, pa.int64()) for name in row])
        yield pa.RecordBatch.from_pydict(row, schema)


_ENDS = (("f", np.min), ("l", np.max))


def runs_of_files(batches: Iterable[Any], ranges: FileRanges) -> Iterator[Any]:
    """Yield the runs of some ranges (`cerlab.spark.runs.run_table`), as record batches.

    The last batch has the fault in ``text``, if there is one. The keys are integers.
    """
    import pyarrow as pa

    keys = [f"{end}{n}" for end in "fl" for n in range(len(ranges.columns.keys))]
    numbers = [*keys, "rows", "kept", "first_time", "last_time"]
    schema = pa.schema([*((name, pa.int64()) for name in numbers), ("text", pa.string())])
    for part in numbers_in(batches):
        begins = bisect_left(ranges.assignment.part, part)
        try:
            for _, cluster in _clusters_of_range(part, ranges, begins):
                whole = pa.RecordBatch.from_pydict(_places(cluster, ranges.columns))
                runs = run_table(whole, range(0, whole.num_rows, RUN_IN_FILES))
                yield runs.append_column("text", pa.nulls(runs.num_rows, pa.string()))
        except BadData as error:
            yield pa.RecordBatch.from_pylist([{"text": str(error)}], schema)


def answers_of_range(part: int, job: Job, ranges: FileRanges) -> Iterator[Any]:
    """Yield the answers that end in a range, as record batches sorted by end.

    Raises `BadData` for rows that differ from the footers, or are not a stream.
    """
    assignment = ranges.assignment
    begins = bisect_left(assignment.reader, part)
    run = new_evaluation(job)
    run.own, run.first = None, assignment.before[begins]
    for number, cluster in _clusters_of_range(part, ranges, begins):
        if assignment.part[number] == part and run.own is None:
            run.own = run.read
        yield from run.push(_for_engine(cluster, ranges.columns))
    yield from run.finish()


class _Cluster(NamedTuple):
    """The rows of a cluster, and its ordering columns by name, as int64."""

    rows: Any
    numbers: Mapping[str, Any]


def _clusters_of_range(
    part: int, ranges: FileRanges, begins: int
) -> Iterator[tuple[int, _Cluster]]:
    """Yield the clusters of a range from number `begins` on, each sorted and checked.

    Between clusters no check is needed: the footers prove their order.
    """
    file_of = lru_cache(maxsize=4)(partial(open_file, read=ranges.columns.read))
    for number in range(begins, bisect_right(ranges.assignment.part, part)):
        groups = ranges.clusters[number]
        cluster = _in_order(
            [_row_group(file_of(g.path, keys=(*g.keys,)), g, ranges.columns) for g in groups],
            ranges.columns,
        )
        if not _is_stream(cluster, ranges.columns):
            _refuse(cluster, ranges, ranges.assignment.before[number])
        yield number, cluster


def _in_order(groups: list[_Cluster], columns: Columns) -> _Cluster:
    """Return row groups as a cluster, sorted if their rows are not in order."""
    import pyarrow as pa

    rows, numbers = groups[0]
    if len(groups) > 1:
        rows = pa.concat_tables([group.rows for group in groups], promote_options="default")
        numbers = {name: np.concatenate([g.numbers[name] for g in groups]) for name in numbers}
    keys = [numbers[name] for name in columns.keys]
    if increase(keys):
        return _Cluster(rows, numbers)
    order = order_of(*keys)
    return _Cluster(rows.take(order), {name: each[order] for name, each in numbers.items()})


def _is_stream(cluster: _Cluster, columns: Columns) -> bool:
    """Return whether sorted rows are a valid stream, without ties or times that go back."""
    keys = [cluster.numbers[name] for name in columns.keys]
    times = None if columns.time is None else cluster.numbers[columns.time]
    in_order = is_stream(keys, times, positions=columns.has_position)
    return in_order and all(map(are_named, types_of(cluster.rows, columns).chunks))


def are_named(types: Any) -> bool:
    """Return whether all event types are non-empty texts."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if types.null_count:
        return False
    texts = types.dictionary if pa.types.is_dictionary(types.type) else types
    return not pc.any(pc.equal(texts, "")).as_py()


def _refuse(cluster: _Cluster, ranges: FileRanges, before: int) -> None:
    """Raise `BadData` for the first row that breaks the order; `before` rows precede."""
    import pyarrow as pa

    columns = ranges.columns
    events = pa.table({**_places(cluster, columns), "type": types_of(cluster.rows, columns)})
    if (problem := first_problem(None, events, ranges.labels)) is not None:
        place = before + problem.row
        if columns.has_position:
            place = events.column("position")[problem.row].as_py()
        message = f"at position {place}: {problem.text}"
        raise BadData(problem.code, message, hint=HINTS[problem.code])


def _row_group(file: Any, group: RowGroup, columns: Columns) -> _Cluster:
    """Return the rows of a row group; raises `BadData` if they contradict its footer."""
    table = _content(file, group, columns.read)
    ends = dict(zip(columns.keys, zip(group.first, group.last, strict=True), strict=True))
    if columns.time is not None:
        ends[columns.time] = group.first_time, group.last_time
    numbers = {}
    for name, (least, greatest) in ends.items():
        if table.column(name).null_count:
            raise change_error(f"'{name}' of {group.path} has NULL, against its footer")
        numbers[name] = values = integers(table, name)
        if len(values) != group.rows or values.min() < least or values.max() > greatest:
            raise change_error(f"the rows of {group.path} contradict its footer: see '{name}'")
    return _Cluster(table, numbers)


def _content(file: Any, group: RowGroup, names: list[str]) -> Any:
    """Return a row group as a table; raises `BadData` for a changed or damaged file."""
    import pyarrow as pa

    if group.number >= file.num_row_groups:
        raise change_error(f"{group.path} has {file.num_row_groups} row groups and had more")
    own = [name for name in names if name not in group.keys]
    try:
        with spending("reading"):
            table = file.read_row_group(group.number, columns=own, use_threads=False)
    except (pa.ArrowException, OSError) as error:
        raise unreadable(group.path, "whole Parquet", error) from None
    for name in (name for name in names if name in group.keys):
        table = table.append_column(name, pa.repeat(group.keys[name], group.rows))
    return table


def open_file(place: str, read: Sequence[str], keys: Collection[str] = ()) -> Any:
    """Return a Parquet file whose text columns in `read` are read as codes.

    Folders have the `keys`.
    """
    import pyarrow as pa

    file = parquet_file(place)
    own = [name for name in read if name not in keys]
    if lost := set(own) - {*file.schema_arrow.names}:
        raise change_error(f"{place} has lost its column '{min(lost)}'")
    kinds = {name: file.schema_arrow.field(name).type for name in own}
    is_text = (pa.types.is_string, pa.types.is_large_string)
    text = [name for name, kind in kinds.items() if any(holds(kind) for holds in is_text)]
    return parquet_file(place, metadata=file.metadata, read_dictionary=text) if text else file


def _places(cluster: _Cluster, columns: Columns) -> dict[str, Any]:
    """Return the ordering columns that `cerlab.spark.plan` defines, except the type."""
    numbers = {name: array_from(each) for name, each in cluster.numbers.items()}
    places = {f"k{n}": numbers[name] for n, name in enumerate(columns.keys)}
    if columns.has_position:
        places["position"] = numbers[columns.keys[-1]]
    return places if columns.time is None else {**places, "time": numbers[columns.time]}


def types_of(rows: Any, columns: Columns) -> Any:
    """Return the types of the events, as a chunked array."""
    import pyarrow as pa

    name = columns.attributes[0]
    if name is not None:
        return rows.column(name)
    return pa.chunked_array([pa.repeat(columns.type, rows.num_rows)])


def _for_engine(cluster: _Cluster, columns: Columns) -> Any:
    """Return the columns ``a0 a1 ..`` and ``position`` that `cerlab.spark.evaluation` reads."""
    import pyarrow as pa

    rows = cluster.rows
    arrays = {"a0": types_of(rows, columns)}
    for n, name in enumerate(columns.attributes[1:], 1):
        nothing = pa.nulls(rows.num_rows, pa.string())
        arrays[f"a{n}"] = nothing if name is None else rows.column(name)
    if columns.has_position:
        arrays["position"] = array_from(cluster.numbers[columns.keys[-1]])
    return pa.table(arrays)


SAMPLE_GROUPS = 8
"""Approximate number of row groups in a sample."""


def sample_of_files(files: UnorderedFiles, rows: int) -> list[tuple[Any, ...]]:
    """Return the keys of about `rows` rows in order, from some row groups, without NULL."""
    groups = files.groups[:: max(1, len(files.groups) // SAMPLE_GROUPS)]
    step = max(1, sum(group.rows for group in groups) // rows)
    sample: list[tuple[Any, ...]] = []
    for group in groups:
        table = _read(group, list(files.columns.keys))
        keys = (table.column(name)[::step].cast("int64") for name in files.columns.keys)
        places = zip(*(key.to_pylist() for key in keys), strict=True)
        sample += (place for place in places if None not in place)
    return sorted(sample)


class GroupedRows(NamedTuple):
    """Instructions to read whole row groups in tasks, so that no row passes through the JVM."""

    groups: tuple[RowGroup, ...]
    columns: Columns
    tasks: int
    partition: tuple[int, ...]
    """The indices of the attributes of PARTITION BY."""
    buckets: int | None
    """The number of key buckets; None if keys are not distributed."""
    attributes: tuple[str, ...] = ()
    tests: tuple[Predicate, ...] | None = None
    """Tests of which each relevant event satisfies one; None to keep all events."""
    counts_others: bool = False
    """True if other events are moved too, in order to be counted."""
    fields: BitFields | None = None
    """The keys combined in one column ``k0``, cheaper to sort and move; None for several."""


def packets_of_groups(
    batches: Iterable[Any], files: GroupedRows, spread: Callable[[Iterable[Any]], Iterator[Any]]
) -> Iterator[Any]:
    """Yield the packets that `spread` makes of all rows; `batches` have task numbers ``id``.

    Raises `BadData` for rows that differ from the footers.
    """
    evaluated: list[Any] = []
    counted: list[Any] = []
    for number in numbers_in(batches):
        for group in files.groups[number :: files.tasks]:
            for rows in _rows_to_spread(group, files):
                some = counted if rows.schema.names == ["k0"] else evaluated
                some.append(rows)
                if sum(each.num_rows for each in some) >= ROWS_OF_A_PACKET:
                    yield from spread(some)
                    some.clear()
    for some in (evaluated, counted):
        yield from spread(some)


def _rows_to_spread(group: RowGroup, files: GroupedRows) -> Iterator[Any]:
    """Yield the columns ``k0 .. a0 ..`` of a row group, and ``group``, the key's bucket.

    Events that are only counted are in separate batches with only ``k0``.
    """
    import pyarrow as pa

    columns = files.columns
    cluster = _row_group(open_file(group.path, columns.read, group.keys), group, columns)
    rows = _for_engine(cluster, columns)
    if columns.has_position:
        rows = rows.drop_columns("position")
    keys = {f"k{n}": array_from(cluster.numbers[name]) for n, name in enumerate(columns.keys)}
    if files.fields is not None:
        keys = {"k0": files.fields.encode(keys)}
    for name, column in keys.items():
        rows = rows.append_column(name, column)
    if files.buckets is not None:
        parts = [rows.column(f"a{n}") for n in files.partition]
        rows = rows.append_column("group", buckets_of_keys(parts, rows.num_rows, files.buckets))
    if files.tests is not None:
        computed = attributes_computed(files.tests)
        values = {
            name: engine_column(rows.column(f"a{n}"), name, computed)
            for n, name in enumerate(files.attributes)
        }
        kept = np.asarray(stage_of_tests(files.tests).symbols(values, rows.num_rows)) != 0
        if files.counts_others:
            others = keys["k0"].filter(pa.array(~kept))
            yield pa.RecordBatch.from_pydict({"k0": others})
        rows = rows.filter(pa.array(kept))
    yield from rows.combine_chunks().to_batches()


@lru_cache(maxsize=4)
def stage_of_tests(tests: tuple[Predicate, ...]) -> SymbolStage:
    """Return the symbols of events by the results of tests; 0 if no test holds."""
    return SymbolStage(tests)


def buckets_of_keys(keys: Sequence[Any], rows: int, buckets: int) -> Any:
    """Return a number below `buckets` for each row, equal for equal keys; NULL without a key."""
    number, absent = np.zeros(rows, np.uint64), np.zeros(rows, bool)
    for key in keys:
        codes = [_codes(chunk) for chunk in key.chunks]
        absent |= np.concatenate([missing for _, missing in codes])
        number = number * np.uint64(31) + np.concatenate([code for code, _ in codes])
    mixed = (number ^ (number >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
    bucket = (mixed >> np.uint64(32)) % np.uint64(buckets)
    return array_from(bucket.astype(np.int64), absent)


def _codes(key: Any) -> tuple[Any, Any]:
    """Return a number for each value, equal in all files, and which values are NULL or NaN."""
    import pyarrow as pa
    import pyarrow.compute as pc

    missing = pc.is_null(key, nan_is_null=True).to_numpy(zero_copy_only=False)
    if pa.types.is_string(key.type) or pa.types.is_large_string(key.type):
        key = key.dictionary_encode()
    if pa.types.is_dictionary(key.type):
        texts = [crc32(text.encode()) for text in key.dictionary.to_pylist()]
        indices = key.indices.fill_null(0).to_numpy()
        return np.array([*texts, 0], np.uint64)[indices], missing
    if pa.types.is_floating(key.type) or pa.types.is_decimal(key.type):  # -0.0 becomes 0.0
        values = key.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False) + 0.0
        return values.view(np.uint64), missing
    if pa.types.is_date32(key.type):
        key = key.cast(pa.int32())
    values = key.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    return values.view(np.uint64), missing


def packets_of_files(
    batches: Iterable[Any],
    files: UnorderedFiles,
    tasks: int,
    cuts: Sequence[tuple[Any, ...]],
    parts: int,
) -> Iterator[Any]:
    """Yield keys and times as packets between cuts; `batches` have task numbers ``id``."""
    groups = (group for number in numbers_in(batches) for group in files.groups[number::tasks])
    fields = files.fields
    rows = (_ordering(group, files.columns, fields) for group in groups)
    places = cuts if fields is None else [(fields.least_at(cut),) for cut in cuts]
    yield from packets_of_cuts(rows, places, parts)


def _ordering(group: RowGroup, columns: Columns, fields: BitFields | None) -> Any:
    """Return the ordering columns that `cerlab.spark.runs` needs, with `fields` combined.

    An event without a type has no place, nor has one outside the ranges in the footers.
    """
    import pyarrow as pa

    rows = _read(group, columns.read)
    arrays = {f"k{n}": rows.column(name).cast(pa.int64()) for n, name in enumerate(columns.keys)}
    if columns.time is not None:
        arrays["time"] = rows.column(columns.time).cast(pa.int64())
    arrays = {name: one_array(column) for name, column in arrays.items()}
    if fields is not None:
        arrays = {"k0": fields.encode(arrays)}
    if not all(map(are_named, types_of(rows, columns).chunks)):
        arrays["k0"] = pa.nulls(rows.num_rows, pa.int64())
    return pa.RecordBatch.from_pydict(arrays)


def _read(group: RowGroup, names: list[str]) -> Any:
    return _content(open_file(group.path, names, group.keys), group, names)
