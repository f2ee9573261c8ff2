"""A folder that files arrive in as a stream, and answers as Parquet, each once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cerlab.errors import BadData, DataPlace
from cerlab.model.schema import Schema
from cerlab.spark.batch import inputs
from cerlab.spark.batch.frame import quoted
from cerlab.spark.stream.checkpoint import check_logs
from cerlab.spark.stream.match_stream import row_counts

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery


STARTS = 5
"""How often a query is started in all, if Spark gives up on its Python worker."""

_GAVE_UP = "Python worker failed to connect back"
"""Spark waits ten seconds for it, which can be too short on a busy machine."""


@dataclass(frozen=True, slots=True)
class Done:
    """What a streaming query has read and written."""

    batches: int
    events: int
    answers: int
    late: int
    buckets: int
    """How many buckets of keys have a state at the end."""


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
    `cerlab.spark.batch.inputs.read` reads and checks them; a file with others fails the query.
    Raises `BadData` as it does, and for Parquet of other types than the schema declares.
    """
    kind = format or inputs.format_of(path)
    kinds = inputs.read(spark, path, format=kind, schema=schema).schema
    reader = spark.readStream.option("maxFilesPerTrigger", files)
    match kind:
        case "csv":
            options = {"header": True, "quote": '"', "escape": '"', "mode": "FAILFAST"}
            frame = reader.schema(kinds).csv(path, enforceSchema=False, encoding="UTF-8", **options)
            return frame.select(*(_plain(frame, field) for field in kinds.fields))
        case "ndjson":
            return reader.schema(kinds).json(path, mode="FAILFAST")
        case _:
            file_schema = spark.read.parquet(path).schema
            for field in file_schema.fields:
                if field.dataType != kinds[field.name].dataType:
                    place = DataPlace(path, None, field.name)
                    raise BadData(
                        "CER0786",
                        "the schema declares another type",
                        place=place,
                        hint="declare the type that the file has",
                    )
            return reader.schema(file_schema).parquet(path)


def _plain(frame: DataFrame, field: Any) -> Column:
    """A column of text as `cerlab.spark.batch.inputs` reads it: empty cells and NULL are NULL."""
    from pyspark.sql import functions as fn

    cell = frame[quoted(field.name)]
    if field.dataType.simpleString() != "string":
        return cell
    empty = (cell == "") | (fn.upper(cell) == "NULL")
    return fn.when(~empty, cell).alias(field.name)


def write_stream(
    answers: DataFrame,
    output: str,
    checkpoint: str,
    *,
    follow: bool = False,
) -> Done:
    """Write answers and late rows as Parquet until what is there has been read.

    With `follow` it goes on until it is interrupted. Run again with the same checkpoint it goes on
    where it was, also after a kill: the output is to be read by Spark, which knows which of its
    files count. Where Spark gives up on a Python worker that starts slowly, the query is started
    again, for the same reason. Raises `BadData` for a checkpoint whose logs are damaged, or are not
    those of the output.
    """
    from pyspark.errors import StreamingQueryException

    check_logs(answers.sparkSession, checkpoint, output)

    writer = answers.writeStream.format("parquet").outputMode("append").option("path", output)
    writer = writer.option("checkpointLocation", checkpoint)
    if not follow:
        writer = writer.trigger(availableNow=True)
    batches: dict[int, Done] = {}
    for start in range(1, STARTS + 1):
        try:
            _run(writer.start(), batches)
            break
        except StreamingQueryException as error:
            if start == STARTS or _GAVE_UP not in str(error):
                raise
    return _total(batches)


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
    return Done(1, int(progress.numInputRows), counts["answers"], counts["late"], buckets)


def _total(batches: dict[int, Done]) -> Done:
    return Done(
        len(batches),
        sum(each.events for each in batches.values()),
        sum(each.answers for each in batches.values()),
        sum(each.late for each in batches.values()),
        batches[max(batches)].buckets if batches else 0,
    )
