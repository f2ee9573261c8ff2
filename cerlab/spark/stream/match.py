"""The functions for streams on Spark: a stream of events to a stream of answers, and files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from cerlab.compile.pattern import QueryInput, as_pattern
from cerlab.engine.late_events import Length
from cerlab.engine.reorder import FILE
from cerlab.errors import (
    BadData,
    DataPlace,
    UsageError,
    keywords_by_name,
    lists_options,
    refuse_misspelt,
)
from cerlab.model.event import Schema
from cerlab.spark import inputs
from cerlab.spark.batch import warn_about_attributes
from cerlab.spark.failures import failures, two_watermarks
from cerlab.spark.frame import group_of, with_types
from cerlab.spark.launch import BATCHES, BATCHES_OF_STREAMS, set_batches
from cerlab.spark.plan import Mode, warn_of_one_task
from cerlab.spark.request import answer_types
from cerlab.spark.stream.pandas_rows import attribute_columns, column_and_mask, pandas_type, restore
from cerlab.spark.stream.request import StreamOptions, StreamRequest, stream_request_of
from cerlab.spark.stream.state import check_logs, claim
from cerlab.spark.stream.step import BUCKETS, digest
from cerlab.spark.task_outputs import RowNames
from cerlab.spark.texts import EVENTS, text_stream

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery
    from pyspark.sql.types import StructField, StructType

T = TypeVar("T")

PROVIDER = "spark.sql.streaming.stateStore.providerClass"

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

METRICS = "cerlab"
"""Prefix of observed metrics, which `row_counts` reads."""


@lists_options(StreamOptions, buckets=BUCKETS)
def match_stream(
    sdf: DataFrame,
    query: QueryInput,
    *,
    position: str,
    lateness: Length,
    **options: Unpack[StreamOptions],
) -> DataFrame:
    """Return the answers of a query on a streaming DataFrame, for an append sink with a checkpoint.

    The rows of each key are read in the order of their times: a row waits until a row of its key
    arrives that is later by more than `lateness`. So rows may arrive in any order in which no row
    is that much older than a row of its key in an earlier micro-batch; the answers then equal those
    of `match`. With lateness 0 rows must arrive in order; rows of equal time may be in any order.

    The result has the columns ``start``, ``end``, ``positions``, ``partition`` if requested, and
    ``late``, which is NULL for an answer. A late row, which belongs before rows already read or is
    more than `lag` behind, becomes a row with its position in ``late`` and NULL elsewhere; it is in
    no answer. A row in quarantine has its position, file and the reason ``why`` in ``quarantine``.
    A row that is repeated after it was read is late. Rows that wait when a query stops are in its
    checkpoint, and are read when it continues; `row_counts` returns their number.

    The call sets the session's state store to RocksDB, and its batch sizes for Python to those of
    streams if `cerlab.spark.session` created it.

    Args:
        sdf: the streaming DataFrame.
        query: the query.
        position: a column of different integers that increase with the time; answers contain them.
        lateness: ``"10 seconds"``, a `timedelta`, or a number in the unit of the time.
        time: the column of times (default: that of the window; without one, the positions).
        unit: the unit of a numeric time.
        lag: how far a key may be behind the newest row of all keys. Rows then also stop waiting
            when all keys have passed them, and the state of a key is dropped after its window. By
            default a key is judged by its own rows alone, and kept for ever.
        type: the event type of all rows, if no column contains it.
        type_column: the column of event types, if it is not named ``type``.
        mode: ``"keys"`` or ``"one"`` (default: the first exact one).
        partition: add the key of each answer as a struct ``partition``.
        columns: rows with named columns instead of positions, as in `match`; the state then
            contains the events that later answers can span.
        checkpoint: the ``checkpointLocation`` of the streaming query, which is then checked
            immediately; by default at the first row of a key that has a state.
        output: with `checkpoint`, the folder of the Parquet sink: one of another checkpoint is
            refused.
        quarantine: emit rows without position, time or type, and repeated ones, as rows with a
            struct ``quarantine``; by default they stop the query.
        buckets: the number of groups that keys are distributed over, and the most parallel tasks
            (default: 16).

    Raises:
        UsageError: for another state store, or missing columns.
        Unsupported: for a mode that is not exact.
        BadData: for a damaged checkpoint, or one of another query or other settings.

    The streaming query fails with `BadData` for a checkpoint of another query, for rows without
    position, time or type, and for positions that do not increase with the time.
    """
    refuse_misspelt(options, StreamOptions.__optional_keys__)
    pattern, sdf = as_pattern(query), with_types(sdf, options.get("type_column"))
    warn_about_attributes(pattern, sdf.columns)
    with failures():
        request = stream_request_of(sdf, pattern, position=position, lateness=lateness, **options)
        return started(sdf.sparkSession, request, options.get("checkpoint"), options.get("output"))


def started(
    spark: SparkSession, request: StreamRequest, checkpoint: str | None, output: str | None
) -> DataFrame:
    """Return the answers of a request, after setting the state store and checkpoint."""
    use_rocksdb(spark)
    if checkpoint is not None:
        claim(spark, checkpoint, digest(request.job))
        check_logs(spark, checkpoint, output)
    return stream_answers(request)


@lists_options(StreamOptions, buckets=BUCKETS)
def matching_stream(
    query: QueryInput, *, position: str, lateness: Length, **options: Unpack[StreamOptions]
) -> Callable[[DataFrame], DataFrame]:
    """Return `match_stream` as a function for ``sdf.transform(matching_stream(query, ..))``.

    The arguments are those of `match_stream`.
    """
    refuse_misspelt(options, StreamOptions.__optional_keys__)
    return lambda sdf: match_stream(sdf, query, position=position, lateness=lateness, **options)


def use_rocksdb(spark: SparkSession) -> None:
    """Set the state store of a session, and batch sizes for streams if `session` set others.

    Raises `UsageError` for another store.
    """
    provider = spark.conf.get(PROVIDER, "")
    if provider and provider != ROCKSDB:
        raise UsageError(
            "CER0880",
            f"the state needs RocksDB, and {PROVIDER} is {provider}",
            hint=f"set it to {ROCKSDB}",
        )
    spark.conf.set(PROVIDER, ROCKSDB)
    if all(spark.conf.get(name) == value for name, value in BATCHES.items()):
        set_batches(spark, BATCHES_OF_STREAMS)


def stream_answers(request: StreamRequest) -> DataFrame:
    """Return the DataFrame of answers and late rows."""
    from pyspark.sql import functions as fn

    from cerlab.spark.stream.processor import BucketProcessor

    warn_of_one_task(request.choice, stacklevel=3)
    rows = (
        _rows(request)
        .groupBy("bucket")
        .transformWithStateInPandas(
            statefulProcessor=BucketProcessor(request.job),
            outputStructType=_schema(request),
            outputMode="Append",
            timeMode="None" if request.job.tick is None else "EventTime",
        )
    )
    columns: list[Column] = []
    if request.job.result is not None:
        columns += _columns_of_result(request.job.result)
    elif request.job.names is not None:
        columns += fn.col("start"), fn.col("end")
        columns += _columns_with_names(request, request.job.names)
    else:
        columns += fn.col("start"), fn.col("end"), fn.col("positions")
    if request.job.with_partition:
        columns.append(fn.struct(*_partition(request)).alias("partition"))
    columns.append(fn.col("late"))
    waits, bad = fn.col("waits"), fn.lit(None)
    if request.job.quarantine:
        bad = fn.col("why")
        fields = (fn.col("bad").alias("position"), fn.col("file"), fn.col("why"))
        columns.append(fn.when(bad.isNotNull(), fn.struct(*fields)).alias("quarantine"))
    late, set_apart = fn.count_if(fn.col("late").isNotNull()), fn.count_if(bad.isNotNull())
    return (
        rows.observe(
            f"{METRICS}-{digest(request.job)[:12]}",
            (fn.count_if(waits.isNull()) - late - set_apart).alias("answers"),
            late.alias("late"),
            set_apart.alias("quarantine"),
            fn.sum(waits[0]).alias("waiting"),
            fn.sum(waits[1]).alias("waiting_keys"),
            fn.max(waits[2]).alias("behind"),
        )
        .where(waits.isNull())
        .select(*columns)
    )


def row_counts(progress: Mapping[str, Any]) -> dict[str, float]:
    """Return how many rows of each kind a micro-batch had, from Spark's progress report.

    For ``query.lastProgress`` and the items of ``query.recentProgress``. The keys are ``answers``,
    ``late`` and ``quarantine``, the rows that it emitted; ``waiting``, the rows held back, of
    ``waiting_keys`` keys; and ``behind``, the distance of the first waiting row from the newest
    row, in the unit of the time: more than the lateness if a key is silent. Only buckets with a row
    in this micro-batch are counted.
    """
    counts = dict.fromkeys(("answers", "late", "quarantine", "waiting", "waiting_keys"), 0.0)
    counts["behind"] = 0.0
    for name, row in (progress.get("observedMetrics") or {}).items():
        if name.startswith(f"{METRICS}-"):
            cells = _metrics(row)
            for each in counts:
                counts[each] += cells[each] or 0
    return {name: n if name == "behind" else int(n) for name, n in counts.items()}


def _metrics(row: Any) -> dict[str, Any]:
    """Return observed metrics by name."""
    cells: dict[str, Any] = row.asDict()
    if "schema" in cells:  # Spark Connect returns names and values
        names = (field["name"] for field in cells["schema"]["fields"])
        cells = dict(zip(names, cells["values"], strict=True))
    return cells


def _rows(request: StreamRequest) -> DataFrame:
    """Return the rows in FROM that have a key, with all columns that tasks read.

    The watermark, if there is one, is on a column that is dropped again: Spark would remove the
    rows that it has passed, but late rows are reported here. It is never below 0, which means none:
    until there are times above 0, no state is dropped.
    """
    from pyspark.sql import functions as fn

    job, source = request.job, request.source
    columns: list[Column] = [*column_and_mask(request.position, "int64", "position", "no_position")]
    columns += column_and_mask(request.clock, job.time_kind, "time", "no_time")
    exact = job.names is not None or job.result is not None
    columns += attribute_columns(source, job.attributes, exact=exact)
    if request.choice.mode is Mode.KEYS:
        group, present = group_of(source, request.keys)
        bucket = fn.pmod(group, fn.lit(job.buckets))
        if job.result is not None:
            condition = None  # row patterns accept NULL as a key
        else:
            condition = present if request.from_filter is None else present & request.from_filter
    else:
        bucket, condition = fn.lit(0).cast("bigint"), request.from_filter
    if job.tick is not None and job.lag is not None:
        _refuse_watermark(source.frame)
        ticks = fn.floor(request.clock / fn.lit(job.tick)).cast("bigint")
        columns.append(fn.timestamp_millis(ticks).alias("watermark"))
    rows = source.frame if condition is None else source.frame.where(condition)
    rows = rows.select(bucket.alias("bucket"), *columns, _file(rows))
    if job.tick is not None and job.lag is not None:
        delay = f"{round(job.lag / job.tick)} milliseconds"
        rows = rows.withWatermark("watermark", delay).drop("watermark")
    return rows


def _refuse_watermark(rows: DataFrame) -> None:
    """Raise `UsageError` for rows with a watermark, which Spark Connect would detect only later."""
    java = getattr(rows, "_jdf", None)
    if java is not None and "EventTimeWatermark" in java.queryExecution().analyzed().toString():
        raise two_watermarks()


def _file(rows: DataFrame) -> Column:
    """Return the file of each row; empty if Spark does not know it, for example after a join."""
    from pyspark.errors import AnalysisException
    from pyspark.sql import functions as fn

    try:
        _ = rows.select(fn.input_file_name()).schema
    except AnalysisException:
        return fn.lit("").alias(FILE)
    return fn.input_file_name().alias(FILE)


def _partition(request: StreamRequest) -> list[Column]:
    from pyspark.sql import functions as fn

    return [
        restore(fn.col(f"p{n}"), request.source.type_of(name)).alias(name)
        for n, name in enumerate(request.keys)
    ]


def _columns_of_result(schema: Any) -> Iterator[Column]:
    """Yield the result columns of a row pattern, under their names."""
    from pyspark.sql import functions as fn
    from pyspark.sql.pandas.types import from_arrow_schema

    for n, field in enumerate(from_arrow_schema(schema).fields):
        yield restore(fn.col(f"n{n}"), field.dataType).alias(field.name)


def _columns_with_names(request: StreamRequest, names: RowNames) -> Iterator[Column]:
    """Yield the columns of rows, under their requested names."""
    from pyspark.sql import functions as fn
    from pyspark.sql.types import ArrayType

    fields: list[tuple[str, str | None, bool]] = [(name, name, False) for name in names.key]
    for column in names.columns:
        attribute = None if column.function == "count" else column.attribute
        fields.append((column.name, attribute, column in names.lists))
    for n, (name, attribute, is_list) in enumerate(fields):
        place = fn.col(f"n{n}")
        if attribute is not None:
            kind = request.source.type_of(attribute)
            place = restore(place, ArrayType(kind) if is_list else kind)
        yield place.alias(name)


def _schema(request: StreamRequest) -> StructType:
    """Return the schema of the frames that `BucketProcessor` returns."""
    from pyspark.sql.pandas.types import from_arrow_schema
    from pyspark.sql.types import ArrayType, LongType, StructField, StructType

    schema = StructType([StructField("start", LongType()), StructField("end", LongType())])
    if request.job.result is not None:
        fields = from_arrow_schema(request.job.result).fields
        schema = _with_cells(StructType(), fields)
    elif request.job.names is not None:
        schema = _with_cells(schema, answer_types(request.source, request.job.names).fields[2:])
    else:
        schema.add("positions", ArrayType(LongType()))
    if request.job.with_partition and request.job.names is None:
        sent_types = {field.name: field.dataType for field in _rows(request).schema}
        for n, attribute in enumerate(request.job.keys):
            schema.add(f"p{n}", sent_types[f"a{attribute}"])
    schema.add("late", LongType())
    for name, kind in request.job.marks.items():
        schema.add(name, kind)
    return schema


def _with_cells(schema: StructType, fields: Iterable[StructField]) -> StructType:
    """Return a schema with columns ``n0``, ``n1``, .. for some fields."""
    for n, field in enumerate(fields):
        schema.add(f"n{n}", pandas_type(field.dataType))
    return schema


STARTS = 60
"""Most starts of a query if Spark gives up on its Python worker: ten minutes in total."""

_GAVE_UP = "Python worker failed to connect back"
"""Spark waits ten seconds for the worker at the start of a query, and no setting extends it. On a
busy machine a process that imports PySpark can take longer."""


@dataclass(frozen=True, slots=True)
class Done:
    """The numbers of rows that a streaming query has read and written."""

    batches: int
    events: int
    answers: int
    late: int
    quarantine: int
    waiting: int
    """The least number of rows that wait at the end, counted in the last micro-batch."""
    buckets: int
    """The number of key buckets with a state at the end."""


@keywords_by_name
def read_stream(
    spark: SparkSession,
    path: str,
    *,
    format: str | None = None,
    schema: Schema | None = None,
    files: int = 16,
) -> DataFrame:
    """Return the events of a folder's files as they arrive.

    The columns and their types are those of the present files, as `cerlab.spark.read` reads and
    checks them; a file with other columns fails the query.

    Args:
        spark: the session.
        path: the folder.
        format: the format (default: by the name of each file).
        schema: the declared types.
        files: the most files of a micro-batch (default: 16).

    Raises:
        BadData: as `cerlab.spark.read`, and for Parquet of other types than the schema declares.
    """
    found = inputs.inputs_of(path, format)
    kind, kinds = found.format, inputs.frame_of(spark, found, schema).schema
    match kind:
        case "csv" | "ndjson" | "core":
            if schema is None:
                return text_stream(spark, path, kind, kinds, files)
            as_read = inputs.frame_of_texts(spark, found, untyped=True).schema
            frame = text_stream(spark, path, kind, as_read, files)
            frame = frame.toDF(*(f"c{n}" for n in range(len(as_read))))
            return frame.select(
                *(frame[f"c{n}"].cast(f.dataType).alias(f.name) for n, f in enumerate(kinds.fields))
            )
        case "arrow":
            hint = "convert the files to Parquet: cerlab convert"
            raise UsageError("CER0811", "Spark does not support streams of Arrow IPC", hint=hint)
        case _:
            file_schema = inputs.frame_of(spark, found).schema
            for field in file_schema.fields:
                if field.dataType != kinds[field.name].dataType:
                    place = DataPlace(path, None, field.name)
                    raise BadData(
                        "CER0786",
                        "the schema declares another type",
                        place=place,
                        hint="declare the type that the file has",
                    )
            reader = spark.readStream.option("maxFilesPerTrigger", files)
            if not found.key_kinds:  # otherwise Spark would read the keys of folders as columns too
                reader = reader.option("recursiveFileLookup", True)
            return reader.schema(file_schema).parquet(inputs.as_it_is(path))


@keywords_by_name
def write_stream(
    answers: DataFrame,
    output: str,
    checkpoint: str,
    *,
    follow: bool = False,
) -> Done:
    """Write answers and late rows as Parquet until all present rows have been read.

    Run again with the same checkpoint, it continues where it stopped, even after a kill. Read the
    output with Spark, which knows which of its files count. If Spark gives up on a Python worker
    that starts slowly, the query is restarted.

    Args:
        answers: the result of `match_stream`.
        output: the folder of the answers.
        checkpoint: the folder of the checkpoint.
        follow: continue until interrupted (default: False).

    Raises:
        BadData: for a checkpoint whose logs are damaged, or belong to another output.
    """
    check_logs(answers.sparkSession, checkpoint, output)

    writer = answers.writeStream.format("parquet").outputMode("append").option("path", output)
    writer = writer.option("checkpointLocation", checkpoint)
    if not follow:
        writer = writer.trigger(availableNow=True)
    batches: dict[int, Done] = {}
    with_restarts(lambda: _run(writer.start(), batches))
    return _total(batches)


def with_restarts(run: Callable[[], T]) -> T:
    """Run a query, and restart it if Spark gave up on its Python worker."""
    from pyspark.errors import StreamingQueryException

    start = 1
    while True:
        try:
            return run()
        except StreamingQueryException as error:
            if start == STARTS or _GAVE_UP not in str(error):
                raise
            start += 1


def _run(query: StreamingQuery, batches: dict[int, Done]) -> None:
    """Wait until a query ends, recording its micro-batches."""
    try:
        over = False
        while not over:
            over = bool(query.awaitTermination(0.5))
            for progress in query.recentProgress:
                batches[progress["batchId"]] = _done(progress)
    finally:
        query.stop()


def _done(progress: Any) -> Done:
    counts = row_counts(progress)
    buckets = sum(int(store.numRowsTotal) for store in progress.stateOperators)
    rows = {name: int(counts[name]) for name in ("answers", "late", "quarantine", "waiting")}
    observed = (progress.get("observedMetrics") or {}).items()
    of_texts = [_metrics(row)["events"] for name, row in observed if name.startswith(EVENTS)]
    events = sum(of_texts) if of_texts else progress.numInputRows
    return Done(1, int(events), **rows, buckets=buckets)


def _total(batches: dict[int, Done]) -> Done:
    last = batches[max(batches)] if batches else None
    return Done(
        len(batches),
        sum(each.events for each in batches.values()),
        sum(each.answers for each in batches.values()),
        sum(each.late for each in batches.values()),
        sum(each.quarantine for each in batches.values()),
        0 if last is None else last.waiting,
        0 if last is None else last.buckets,
    )
