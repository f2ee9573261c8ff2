"""The streaming pipeline: a stream of events to a stream of answers, and files in and out."""

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
"""Names of observed metrics begin with it; `row_counts` reads them."""


@lists_options(StreamOptions, buckets=BUCKETS)
def match_stream(
    sdf: DataFrame,
    query: QueryInput,
    *,
    position: str,
    lateness: Length,
    **options: Unpack[StreamOptions],
) -> DataFrame:
    """The answers of a query on a streaming DataFrame, for an append sink with a checkpoint.

    The rows of each key are read in the order of their times: a row waits until one of its key has
    come that is more than `lateness` after it. So rows may come in any order in which none is that
    much older than one of its key that came in an earlier micro-batch; the answers are then those
    of `match` on the same rows. With lateness 0 they have to come in order; rows of the same time
    may come in any.

    ``position``    a column of different integers, increasing with the time; answers give them
    ``lateness``    ``"10 seconds"``, a `timedelta`, or a number in the unit of the time
    ``time, unit``  the column of times, and what its numbers mean; by default what the window is
                    measured on; without such a window the positions are the times
    ``lag``         how far a key may be behind the newest row of all keys. Then rows also stop to
                    wait when all keys have passed them, and a key whose window has passed leaves
                    no state. Without it a key is judged by its own rows alone, and kept for ever
    ``type``        the event type of all rows, where no column has it
    ``type_column`` the column of the event types, where it is not called ``type``
    ``mode``        ``"keys"`` or ``"one"``; by default the first that is exact
    ``partition``   with True each row has its key besides, as a struct ``partition``
    ``columns``     rows with names instead of positions, as `match` takes them; the state then has
                    the events that answers to come can span
    ``checkpoint``  the place that the streaming query gets as ``checkpointLocation``. Then what it
                    was begun with is checked here, at once; without it at the first row of a key
                    that has a state, and rows of new keys have answers until then
    ``output``      with it, the folder of the Parquet sink: that of another checkpoint is refused
    ``quarantine``  with True rows without position, time or type, and repeated ones, do not stop
                    the query: they leave as rows with a struct ``quarantine``
    ``buckets``     the groups that keys are spread over, 16 by default: as many tasks run at most

    Columns ``start``, ``end``, ``positions``, ``partition`` if asked for, and ``late``: NULL for an
    answer. A late row, one that belongs before rows already read or is more than `lag` behind,
    leaves as a row that has its position in ``late`` and NULL in the others; it is in no answer. So
    does a row in quarantine, which has its position, file and the reason ``why`` in ``quarantine``.
    A row that is repeated after it was read is late. What still waits when a query stops is in its
    checkpoint, and is read when it goes on; a row that is later by more than the lateness, of each
    key or with `lag` of any, releases it. `row_counts` says how much waits.

    Sets the state store of the session to RocksDB, and the sizes of its batches for Python to those
    of streams where `cerlab.spark.session` has made it. Raises `UsageError` where another store is
    set, or for columns that are not there, `Unsupported` for a mode that is not exact, `BadData`
    for a checkpoint of another query or other settings, or a damaged one. The streaming query fails
    with `BadData` for another query's too, for rows without position, time or type, and for
    positions that do not increase with the time.
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
    """Return the answers of a request under the state store and the checkpoint that they need."""
    use_rocksdb(spark)
    if checkpoint is not None:
        claim(spark, checkpoint, digest(request.job))
        check_logs(spark, checkpoint, output)
    return stream_answers(request)


@lists_options(StreamOptions, buckets=BUCKETS)
def matching_stream(
    query: QueryInput, *, position: str, lateness: Length, **options: Unpack[StreamOptions]
) -> Callable[[DataFrame], DataFrame]:
    """`match_stream` for ``sdf.transform(matching_stream(query, ..))``; the same arguments."""
    refuse_misspelt(options, StreamOptions.__optional_keys__)
    return lambda sdf: match_stream(sdf, query, position=position, lateness=lateness, **options)


def use_rocksdb(spark: SparkSession) -> None:
    """Set the state store of a session, and batches for streams where `session` has set others.

    Raises `UsageError` where another store is set.
    """
    provider = spark.conf.get(PROVIDER, "")
    if provider and provider != ROCKSDB:
        raise UsageError(
            "CER0880",
            f"state as bytes needs RocksDB, and {PROVIDER} is {provider}",
            hint=f"set it to {ROCKSDB}",
        )
    spark.conf.set(PROVIDER, ROCKSDB)
    if all(spark.conf.get(name) == value for name, value in BATCHES.items()):
        set_batches(spark, BATCHES_OF_STREAMS)


def stream_answers(request: StreamRequest) -> DataFrame:
    """The DataFrame of answers and late rows."""
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
    """The numbers of rows of a micro-batch, of the progress that Spark reports.

    For ``query.lastProgress`` and those of ``query.recentProgress``. ``answers``, ``late`` and
    ``quarantine`` rows that it gave; ``waiting`` rows that it held back, of ``waiting_keys``, and
    how far the first of them is ``behind`` the newest row, in the unit of the time: more than the
    lateness where a key is silent. What waits is counted in the buckets that had a row.
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
    if "schema" in cells:  # what Spark Connect makes of a row
        names = (field["name"] for field in cells["schema"]["fields"])
        cells = dict(zip(names, cells["values"], strict=True))
    return cells


def _rows(request: StreamRequest) -> DataFrame:
    """The rows of the streams in FROM that have a key, with all that tasks read.

    The watermark, if there is one, is on a column that is dropped again: Spark would leave out the
    rows that it has passed, and the late ones are reported here. It is never below 0, which stands
    for none: until there are times above 0 nothing is let go.
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
            condition = None  # NULL is a key of a row pattern
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
    """Raise `UsageError` for rows with a watermark, which over Spark Connect Spark finds later."""
    java = getattr(rows, "_jdf", None)
    if java is not None and "EventTimeWatermark" in java.queryExecution().analyzed().toString():
        raise two_watermarks()


def _file(rows: DataFrame) -> Column:
    """The file that each row is from; empty where Spark cannot tell, after a join for example."""
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
    """The columns of the result of a row pattern, as they are called."""
    from pyspark.sql import functions as fn
    from pyspark.sql.pandas.types import from_arrow_schema

    for n, field in enumerate(from_arrow_schema(schema).fields):
        yield restore(fn.col(f"n{n}"), field.dataType).alias(field.name)


def _columns_with_names(request: StreamRequest, names: RowNames) -> Iterator[Column]:
    """The columns of rows with names, as they are called."""
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
    """The columns of the frames of `BucketProcessor`."""
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
    """Return a schema with columns ``n0``, ``n1``, .. for fields."""
    for n, field in enumerate(fields):
        schema.add(f"n{n}", pandas_type(field.dataType))
    return schema


STARTS = 60
"""Starts of a query at most, if Spark gives up on its Python worker: ten minutes in all."""

_GAVE_UP = "Python worker failed to connect back"
"""Spark waits ten seconds for the worker of a query's start, and no setting makes it wait longer.

On a busy machine a process that imports PySpark can take more.
"""


@dataclass(frozen=True, slots=True)
class Done:
    """Counts of rows that a streaming query has read and written."""

    batches: int
    events: int
    answers: int
    late: int
    quarantine: int
    waiting: int
    """The number of rows that wait at the end, at least: as many as the last micro-batch saw."""
    buckets: int
    """Buckets of keys that have a state at the end."""


@keywords_by_name
def read_stream(
    spark: SparkSession,
    path: str,
    *,
    format: str | None = None,
    schema: Schema | None = None,
    files: int = 16,
) -> DataFrame:
    """The events of the files of a folder as they arrive, at most `files` in a micro-batch.

    The columns and their types are those of the files that are there, as
    `cerlab.spark.read` reads and checks them; a file with others fails the query.
    Raises `BadData` as it does, and for Parquet of other types than the schema declares.
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
            hint = "let files of Parquet arrive: cerlab convert"
            raise UsageError("CER0811", "Spark has no streams of Arrow IPC", hint=hint)
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
            if not found.key_kinds:  # else Spark takes the keys of folders for columns, too
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

    With `follow` it goes on until it is interrupted. Run again with the same checkpoint it goes on
    where it was, also after a kill: the output is to be read by Spark, which knows which of its
    files count. Where Spark gives up on a Python worker that starts slowly, the query is started
    again, for the same reason. Raises `BadData` for a checkpoint whose logs are damaged, or are not
    those of the output.
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
    """Run a query, and start it again if Spark gave up on its Python worker."""
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
    """Wait until a query ends, and note what its micro-batches do."""
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
