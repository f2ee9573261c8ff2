"""Answers from Parquet files that tasks read, or from rows that Spark moves in packets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from operator import and_
from typing import TYPE_CHECKING, Any

from cerlab.spark import packets as tasks
from cerlab.spark.ends import EndsIn
from cerlab.spark.footers import (
    Columns,
    NoEnds,
    NoProof,
    RowGroups,
    check_columns,
    layout,
    parquet_file,
    row_groups,
    unit_of,
    warn_of_lost_columns,
)
from cerlab.spark.frame import WHOLE, Source, group_of, map_batches
from cerlab.spark.packets import Placing
from cerlab.spark.plan import Mode, why_not
from cerlab.spark.ranges import (
    BitFields,
    FileRanges,
    RangeAssignment,
    UnorderedFiles,
    bit_fields,
    ranges_in_files,
)
from cerlab.spark.relevant_events import RelevantEvents, relevant_tests
from cerlab.spark.request import Request, answer_schema, keys_of
from cerlab.spark.scans import ScannedFiles, bare_scan, scan_below
from cerlab.spark.tasks import GroupedRows, ends_of_groups, evaluate_files, packets_of_groups
from cerlab.spark.writer import TaskAnswers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def file_ranges(request: Request) -> FileRanges:
    """Return the ranges of a stream that Parquet files store in order.

    Raises `NoProof` with the reason why Spark moves rows.
    """
    mode = request.choice.mode
    if request.choice.is_default and why_not(request.plan, Mode.RANGES) is None:
        mode = Mode.RANGES
    if mode is Mode.KEYS:
        raise NoProof("the events of a key may lie in all files")
    if request.from_filter is not None:
        raise NoProof("FROM drops events that footers count")
    return _ranges(request, *_footers(request, bare_scan, request.attributes), mode)


def _ranges(request: Request, columns: Columns, footers: RowGroups, mode: Mode) -> FileRanges:
    lie, plan, time = layout(footers, columns), request.plan, request.time
    kinds, labels = dict(footers.kinds), request.labels
    in_files = dict(zip((*labels.keys, labels.time), (*columns.keys, columns.time), strict=True))
    units = ((n, unit_of(kinds[column])) for n, column in in_files.items() if n and column)
    labels = replace(labels, units=tuple((n, unit) for n, unit in units if unit is not None))
    return ranges_in_files(lie, columns, labels, plan, time, mode, request.parts)


def files_below(request: Request) -> FileRanges | UnorderedFiles:
    """Return the files of which a DataFrame selects rows, and the columns that order the rows.

    Raises `NoProof` with the reason why Spark must read the rows.
    """
    from pyarrow.types import is_signed_integer, is_timestamp

    columns, footers = _footers(request, scan_below, ("type",))
    kinds, ordering = dict(footers.kinds), {*columns.keys, columns.time} - {None}
    for kind in (kinds[str(name)] for name in ordering):
        if not is_signed_integer(kind) and not (is_timestamp(kind) and kind.unit == "us"):
            raise NoProof("the stream is ordered by moments, which Spark counts in other units")
    if footers.overlap_much:
        return UnorderedFiles(footers.groups, columns, footers.before)
    return _ranges(request, columns, footers, Mode.KEYS)


def all_groups(request: Request) -> UnorderedFiles:
    """Return all row groups of a DataFrame that is exactly a set of Parquet files.

    Raises `NoProof` with the reason why Spark must read the rows.
    """
    if request.from_filter is not None:
        raise NoProof("FROM drops events")
    columns, footers = _footers(request, bare_scan, request.attributes)
    return UnorderedFiles(footers.groups, columns, footers.before)


def check_files(request: Request) -> None:
    """Compare the columns of a DataFrame's files, as far as the query reads them.

    Raises and warns as `cerlab.spark.footers.check_columns`; no check for other DataFrames.
    """
    source, labels = request.source, request.labels
    try:
        scan = _files_of(request, scan_below)
    except NoProof:
        return
    paths, names, keys = scan.paths, scan.names, {name for each in scan.keys for name in each}
    in_files = {user: names.get(f"c{n}") for n, user in enumerate(source.names)}
    read = dict.fromkeys((*labels.keys, labels.time, *request.attributes))
    columns = (in_files.get(name) for name in read if name is not None)
    check_columns(paths, [name for name in columns if name is not None and name not in keys])
    lost = (name for name in read if name is not None and name not in in_files)
    warn_of_lost_columns(paths, [*lost])


def why_not_files(request: Request) -> str | None:
    """Return why tasks cannot read the files directly; None if they can."""
    try:
        file_ranges(request)
    except NoProof as reason:
        return str(reason)
    return None


def same_types(source: Source, names: Mapping[str, str], footers: RowGroups) -> None:
    """Raise `NoProof` for a column that Spark was told to read as another type."""
    from pyspark.sql.pandas.types import from_arrow_type

    users = {f"c{n}": user for n, user in enumerate(source.names)}
    by_file = {file: users[name] for name, file in names.items()}
    for name, kind in footers.kinds:
        without_zone = getattr(kind, "tz", None) is None
        spark_kind = from_arrow_type(kind, prefer_timestamp_ntz=without_zone).simpleString()
        kind_in_frame = source.kind(by_file[name])
        if kind_in_frame == "decimal":
            kind_in_frame = source.type_of(by_file[name]).simpleString()
        if kind_in_frame != spark_kind:
            raise NoProof(
                f"'{name}' is {spark_kind} in the files, and Spark reads it as another type"
            )


def _columns(request: Request, names: Mapping[str, str], attributes: Sequence[str]) -> Columns:
    """Return the file columns for the columns of a DataFrame; `names` maps between them.

    Raises `NoProof` if a column that orders the stream is not in the files.
    """
    source = request.source
    by_user = {user: names.get(f"c{n}") for n, user in enumerate(source.names)}

    def ordering(name: str) -> str:
        if (column := by_user[name]) is None:
            raise NoProof(f"'{name}' is computed")
        return column

    if "type" in by_user and by_user["type"] is None:
        raise NoProof("the type of events is computed")
    return Columns(
        keys=tuple(map(ordering, request.labels.keys)),
        has_position=request.position is not None,
        time=None if request.labels.time is None else ordering(request.labels.time),
        attributes=tuple(map(by_user.get, attributes)),
        type=source.type,
    )


def _footers(
    request: Request,
    scan: Callable[[DataFrame], ScannedFiles],
    attributes: Sequence[str],
) -> tuple[Columns, RowGroups]:
    """Return the columns of the files that tasks read, or of a scan's files, and their footers.

    If footers lack the ends of columns that order the stream, tasks read these columns.
    """
    files, source = _files_of(request, scan), request.source
    columns = _columns(request, files.names, attributes)
    try:
        footers = row_groups(files.paths, columns, files.keys, source.measured)
    except NoEnds:
        _measure(request, files, columns)
        footers = row_groups(files.paths, columns, files.keys, source.measured)
    same_types(source, files.names, footers)
    return columns, footers if request.ends is None else _of_ends(footers, request.ends)


def _of_ends(footers: RowGroups, ends: EndsIn) -> RowGroups:
    """Return the row groups that may contain an event of an answer with its end in `ends`."""
    unit, groups = footers.unit, footers.groups
    early = (group.rows for group in groups if ends.is_before(group.last_time, unit))
    read = (g for g in groups if ends.holds_group(g.first_time, g.last_time, unit))
    return replace(footers, groups=tuple(read), before=sum(early))


def _measure(request: Request, files: ScannedFiles, columns: Columns) -> None:
    """Compute the least and greatest values of the ordering columns in all row groups, by tasks.

    A million moments of INT96 take 0.03 CPU seconds, against 2.5 if Spark reads the rows.
    """
    in_folders = {name for each in files.keys for name in each}
    ordering = dict.fromkeys((*columns.keys, columns.time))
    names = [name for name in ordering if name is not None and name not in in_folders]
    counts = ((path, parquet_file(path).num_row_groups) for path in files.paths)
    groups = [(path, number) for path, count in counts for number in range(count)]
    schema = ", ".join(
        ["group bigint", *(f"{e}{n} bigint" for n in range(len(names)) for e in "fl")]
    )
    find = partial(ends_of_groups, groups=groups, names=names)
    numbers = request.source.frame.sparkSession.range(
        0, len(groups), 1, max(1, min(len(groups), request.parts))
    )
    for row in map_batches(numbers, find, schema).toArrow().to_pylist():
        known = {name: (row[f"f{n}"], row[f"l{n}"]) for n, name in enumerate(names)}
        request.source.measured[groups[row["group"]]] = known


def _files_of(request: Request, scan: Callable[[DataFrame], ScannedFiles]) -> ScannedFiles:
    """Return the files that tasks read, or otherwise the files of a scan."""
    source = request.source
    if not source.files:
        return scan(source.frame)
    names = {f"c{n}": name for n, name in enumerate(source.names_in_files)}
    return ScannedFiles([file.place for file in source.files], names, source.keys)


def answers_in_files(request: Request, ranges: FileRanges) -> TaskAnswers:
    """Return the answers of all ranges; Spark moves only a number for each range."""
    evaluate = partial(evaluate_files, job=request.job, ranges=ranges)
    numbers = numbers_of(request.source, ranges.parts)
    return TaskAnswers(numbers, evaluate, answer_schema(request), read_files=True)


def numbers_of(source: Source, tasks: int) -> DataFrame:
    """Return a frame of task numbers, one in each Spark task."""
    return source.frame.sparkSession.range(0, tasks, 1, max(1, tasks))


ROWS_OF_A_BUCKET = 1 << 22
"""Approximate number of rows in a bucket of keys."""

PACKETS = "part int, run int, packet binary"


def answers_in_packets(
    request: Request,
    assignment: RangeAssignment,
    mode: Mode,
    events: RelevantEvents,
    files: UnorderedFiles | None = None,
) -> TaskAnswers:
    """Return the answers; a task receives the packets of one range, or one bucket of keys.

    Tasks read `files` themselves if these contain all rows.
    """
    is_numbered, buckets = request.is_numbered(mode), None
    if mode is Mode.KEYS:
        buckets = max(request.parts, -(-sum(assignment.rows) // ROWS_OF_A_BUCKET))
    fields = None if files else _fields(request, assignment, events, buckets)
    schema, job, counts_others = answer_schema(request), events.job, False
    if files:
        # 5 million rows by key, cold: 5 to 6 CPU s, not 30 (JVM) or 14 (repartition by key)
        job, source = request.job, _grouped(request, files, buckets)
        rows, counts_others = numbers_of(request.source, source.tasks), source.counts_others
        if source.fields is not None:
            assignment = source.fields.over(assignment)
    else:
        rows = _rows(request, events, is_numbered=is_numbered, buckets=buckets)
    numbered, whole = is_numbered or counts_others, events.condition is None
    placing = Placing(request.position is not None, numbered, whole, fields)
    if fields is not None:
        rows, assignment = _with_bit_fields(rows, fields), fields.over(assignment)
    spread: Callable[[Iterable[Any]], Iterator[Any]]
    spread = partial(tasks.packets_of_ranges, assignment=assignment)
    if not (is_numbered or buckets is None):
        spread = partial(
            tasks.packets_of_buckets, assignment=assignment, buckets=buckets, fields=fields
        )
    if files:
        spread = partial(packets_of_groups, files=source, spread=spread)
    parts = assignment.parts if buckets is None or is_numbered else buckets
    packets = by_part(map_batches(rows, spread, PACKETS), parts)
    if buckets is None:
        evaluate = partial(tasks.evaluate_ranges, job=job, assignment=assignment, placing=placing)
        return TaskAnswers(packets, evaluate, schema)
    if is_numbered:
        number = partial(
            tasks.number_packets, assignment=assignment, buckets=buckets, placing=placing
        )
        packets = by_part(map_batches(packets, number, PACKETS), buckets)
    return TaskAnswers(packets, partial(tasks.evaluate_buckets, job=job, fields=fields), schema)


def _grouped(request: Request, files: UnorderedFiles, buckets: int | None) -> GroupedRows:
    """Return the rows of files by groups, read by at most one task for each part.

    If positions are numbers of rows, several keys are one if they fit; events that satisfy no test
    are then only counted. If positions are given, such events are dropped.
    """
    names = dict.fromkeys(request.plan.partition)
    partition = tuple(request.attributes.index(name) for name in names)
    tasks_of_files = max(1, min(len(files.groups), request.parts))
    fields = files.key_fields if request.position is None else None
    counted = request.position is None
    is_one = fields is not None or len(request.keys) == 1 or not counted
    tests = relevant_tests(request.plan) if is_one and request.names is None else None
    return GroupedRows(
        files.groups,
        files.columns,
        tasks_of_files,
        partition,
        buckets,
        request.attributes,
        tests,
        counted and tests is not None,
        fields,
    )


def _rows(
    request: Request, events: RelevantEvents, *, is_numbered: bool, buckets: int | None
) -> DataFrame:
    """Return the relevant rows with their order, and only the columns that are read.

    Events of other streams are counted if positions are.
    """
    from pyspark.sql import functions as fn

    rows, columns = request.rows, [*keys_of(request), *events.columns]
    if events.condition is not None:
        rows = rows.where(events.condition)
    if request.from_filter is not None and not is_numbered:
        rows = rows.where(request.from_filter)
    elif request.from_filter is not None:
        columns.append(request.from_filter.alias("kept"))
    if buckets is not None:
        group, present = group_of(request.source, request.plan.partition)
        bucket = fn.pmod(group, fn.lit(buckets))
        if is_numbered:
            bucket = fn.when(present, bucket)
        else:
            rows = rows.where(present)
        columns.append(bucket.alias("group"))
    return rows.select(*columns)


def _fields(
    request: Request, assignment: RangeAssignment, events: RelevantEvents, buckets: int | None
) -> BitFields | None:
    """Return the fields of an event that move as one integer; None if they move as columns.

    The first pass knows the ranges of the first key, the positions and the times. Moving 5 million
    rows costs 4.7 to 5.3 CPU s this way, and 5.8 to 6.0 as columns.
    """
    names, source = request.labels.keys, request.source
    whole = all(source.kind(name) in WHOLE for name in names)
    if request.position is None or request.names is not None or not whole or len(names) > 2:
        return None
    if not assignment.first:
        return None
    ends = zip(assignment.first[0], assignment.last[-1], strict=True)
    others = [("a0", 0, (1 << events.bits) - 1)]
    if buckets is not None:
        others.append(("group", 0, buckets - 1))
    time = request.labels.time
    if time is not None and assignment.times is not None and source.kind(time) == "bigint":
        others.append((f"a{events.job.attributes.index(time)}", *assignment.times))
    return bit_fields([(f"k{n}", *each) for n, each in enumerate(ends)], others)


def _with_bit_fields(rows: DataFrame, fields: BitFields) -> DataFrame:
    """Return the rows with one column for all `fields`; NULL if a value is out of range."""
    from pyspark.sql import functions as fn

    inside = [
        fn.col(field.name).between(field.least, field.greatest)
        for field in fields.fields
        # these columns are computed here, so their values are in range
        if field.name not in ("a0", "group")
    ]
    above = [
        fn.shiftleft(fn.col(field.name) - fn.lit(field.least).cast("bigint"), field.shift)
        for field in fields.fields
    ]
    code = fn.when(reduce(and_, inside), reduce(lambda a, b: a.bitwiseOR(b), above))
    others = [name for name in rows.columns if name not in fields.names]
    return rows.select(code.alias("k0"), *others)


def by_part(packets: DataFrame, parts: int) -> DataFrame:
    """Return the packets of each part in one task, in the order of their runs.

    They are not sorted by part, which is constant in a task: sorting a single integer is a radix
    sort.
    """
    return packets.repartitionById(max(1, parts), "part").sortWithinPartitions("run")
