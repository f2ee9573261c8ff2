"""``cerlab spark``: a query on files of any size, by Spark."""

from __future__ import annotations

import argparse
import logging
import os
import shlex
import sys
import traceback
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypedDict
from warnings import warn

from cerlab.cli.command import BAD, OK
from cerlab.cli.options import OF_SELECT, columns_of, comma_separated, read_query, time_option
from cerlab.display import terminal
from cerlab.errors import CerlabError, CerlabWarning, UsageError
from cerlab.model.event import TypeColumn
from cerlab.model.stream import time_axis

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from cerlab.compile.pattern import Pattern
    from cerlab.spark.inputs import Inputs

DESCRIPTION = """\
Evaluate a query on files with Spark, and write the answers to Parquet files. The answers are those
of `cerlab run`, in any order, with the columns start, end and positions. Spark does not keep the
order of rows, so name the columns that order them (--order-by) or contain their positions
(--position). Input and output may be on any file system that pyarrow supports
(s3://bucket/folder?region=.., gs:, hdfs:); credentials come from the environment.

With --stream, the command reads the files in the input folder and saves the state of each key in a
checkpoint. The next run continues with the new files, also after a crash, and no answer is lost or
repeated. The rows of a key may arrive in any order within --lateness. For each later row, the
column `late` contains its position. Read the output with Spark, which ignores incomplete files.
"""

EPILOG = """\
  cerlab spark query.ceql --input events.parquet --output answers --order-by ts,id
  cerlab spark query.ceql --input events.csv --position n --explain
  cerlab spark query.ceql --input s3://lake/day --output s3://lake/found --position n
  cerlab spark query.ceql --input arriving/ --output answers --stream --time ts --position id \\
      --lateness "10 seconds" --lag "1 hour"
  cerlab spark query.ceql --input lake --output found --order-by ts \\
      --ends-in 2024-03-01 2024-03-02
  cerlab spark --doctor
"""


def run(arguments: argparse.Namespace) -> int:
    """Run ``cerlab spark``."""
    from cerlab.spark import doctor
    from cerlab.spark.launch import spark_session_class

    if arguments.doctor:
        able, lines = doctor()
        print("\n".join(lines))
        return OK if able else BAD
    _check(arguments)
    spark_session_class()
    query = read_query(arguments)
    _check_query(query, arguments)
    found = _inputs(arguments)
    small = 0 if arguments.stream or arguments.explain else _bytes_if_small(found)
    short_lived, debug = small > 0 or _tasks_read(query, arguments, found), arguments.debug
    with _errors_of_spark(*found.places, arguments.output, debug=debug), ExitStack() as stack:
        started = _session(arguments.master, short_lived=short_lived, debug=debug)
        spark = stack.enter_context(started)
        stack.enter_context(_progress(spark))
        if arguments.stream:
            status = _run_stream(spark, query, arguments, found)
        else:
            status = _run_batch(spark, query, arguments, found, small)
        if arguments.verbose:
            print(_where_time_went(spark), file=sys.stderr)
        return status


_SPENT_ON = {
    "reading": "files, and Java in the stages that read them",
    "shuffle": "Java in the other stages",
    "python": "sorting and the engine",
    "writing": "files, and Java in the stages that write them",
    "java": "its start and its compiler, Spark's plans",
}


def _where_time_went(spark: SparkSession) -> str:
    """Return a table of the CPU seconds of a session."""
    from cerlab.spark import time_spent

    spent = time_spent(spark)
    lines = [f"{name:8} {spent[name]:9.2f}  {text}" for name, text in _SPENT_ON.items() if spent]
    return "\n".join(["where the time went, in CPU seconds of all tasks", *lines])


SMALL = 256 << 20
"""Below this many bytes, the local engine finishes before Spark has started."""

_BYTES_A_SECOND = 100e6
"""Bytes that the local engine reads per second at least, to estimate its time in a warning."""


def _bytes_if_small(found: Inputs) -> int:
    """Return the size of files that the local engine reads before Spark starts, otherwise 0."""
    from cerlab.spark.footers import local_path

    files = [local_path(file.place) for file in found.files]
    local = [file for file in files if file is not None]
    size = sum(file.stat().st_size for file in local)
    return size if 0 < len(files) == len(local) and size < SMALL else 0


def _warn_of_small(size: int) -> None:
    """Warn that the data are small: the local engine would answer before Spark starts."""
    seconds = 1 + size / _BYTES_A_SECOND
    text = f"the events have {size / 1e6:,.1f} MB, which is little for Spark"
    message = f"CER0951: {text}: cerlab run takes about {seconds:.0f} s"
    warn(CerlabWarning(message), stacklevel=2)


def _tasks_read(query: Pattern, arguments: argparse.Namespace, found: Inputs) -> bool:
    """Return whether tasks will read the files; footers show this before Spark starts.

    Then the JVM moves only a few large units, and a short-lived one saves 4 CPU seconds on 20
    million unsorted rows. If the JVM moves rows, a short-lived one costs a third more.
    """
    from cerlab.spark.footers import are_ordered, has_column, have_integers, local_path
    from cerlab.spark.plan import Mode, why_not

    if arguments.stream or found.format != "parquet" or query.machine_kind != "automaton":
        return False
    paths, keys = [file.place for file in found.files], comma_separated(arguments.order_by)
    if any(local_path(path) is None for path in paths):
        return True  # read remote footers only in the run
    if arguments.position and arguments.position not in keys:
        keys = [*keys, arguments.position]
    if query.ast.streams and paths and has_column(paths[0], "stream"):
        return False  # FROM drops events, but footers count all rows
    if paths and have_integers(paths[0], keys):
        return True
    by_ranges = arguments.mode != Mode.KEYS.value and why_not(query.plan, Mode.RANGES) is None
    return by_ranges and are_ordered(paths, keys, has_position=arguments.position is not None)


def _run_batch(
    spark: SparkSession, query: Pattern, arguments: argparse.Namespace, found: Inputs, small: int
) -> int:
    """Write the answers; `small` is the result of `_bytes_if_small`, for the warning."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    from cerlab.spark import inputs
    from cerlab.spark.batch import explanation, warn_about_answers, write
    from cerlab.spark.first_pass import first_pass
    from cerlab.spark.footers import local_path
    from cerlab.spark.frame import with_types
    from cerlab.spark.request import request_of

    column, unit = time_option(arguments)
    types = _types(arguments)
    frame = with_types(inputs.frame_of(spark, found, query.schema), types["type_column"])
    if small:
        _warn_of_small(small)
    request = request_of(
        frame,
        query,
        comma_separated(arguments.order_by),
        arguments.position,
        files=found.ordered_by_tasks if query.schema is None else (),
        time=column,
        unit=unit,
        mode=arguments.mode,
        parts=arguments.parts,
        partition=arguments.partition,
        columns=_columns(arguments),
        ends_in=arguments.ends_in,
        **types,
    )
    ranges = first_pass(request)
    if arguments.explain:
        print(explanation(request, ranges, query.text))
        return OK
    output, overwrite = arguments.output, arguments.overwrite
    events = [file.place for file in found.files]
    rows = write(request, ranges, output, overwrite=overwrite, events=events)
    if not arguments.quiet:
        command = shlex.join(["cerlab", "why", arguments.query, *found.places])
        is_here = all(map(local_path, found.places))
        ask = f"{command} says why" if is_here else "cerlab why says why, of a copy on this machine"
        # tasks may have read files that Spark itself cannot read
        with suppress(PySparkException, Py4JError):
            warn_about_answers(query, request.source, rows, ask)
    return OK


def _run_stream(
    spark: SparkSession, query: Pattern, arguments: argparse.Namespace, found: Inputs
) -> int:
    from cerlab.spark.frame import with_types
    from cerlab.spark.request import parallelism
    from cerlab.spark.stream.match import read_stream, stream_answers, use_rocksdb, write_stream
    from cerlab.spark.stream.request import stream_explanation, stream_request_of
    from cerlab.spark.stream.state import claim
    from cerlab.spark.stream.step import BUCKETS, digest

    column, unit = time_option(arguments)
    frame = read_stream(
        spark,
        found.places[0],
        format=arguments.input_format,
        schema=query.schema,
        files=arguments.files,
    )
    types = _types(arguments)
    request = stream_request_of(
        with_types(frame, types["type_column"]),
        query,
        position=arguments.position,
        lateness=arguments.lateness,
        time=column,
        unit=unit,
        lag=arguments.lag,
        mode=arguments.mode,
        partition=arguments.partition,
        columns=_columns(arguments),
        quarantine=arguments.with_quarantine,
        buckets=arguments.buckets or BUCKETS,
        **types,
    )
    if arguments.explain:
        print(stream_explanation(request, query.text))
        return OK
    checkpoint = arguments.checkpoint or f"{arguments.output.rstrip('/')}/_checkpoint"
    use_rocksdb(spark)
    spark.conf.set("spark.sql.shuffle.partitions", arguments.parts or 2 * parallelism(frame))
    claim(spark, checkpoint, digest(request.job))
    result = write_stream(
        stream_answers(request), arguments.output, checkpoint, follow=arguments.follow
    )
    counts = f"{result.events:,} events, {result.answers:,} answers, {result.late:,} late rows"
    if arguments.with_quarantine:
        counts += f", {result.quarantine:,} in quarantine"
    if result.waiting:
        counts += f", {result.waiting:,} or more rows that wait,"
    states = f"in {result.batches:,} micro-batches; {result.buckets:,} buckets of keys have a state"
    print(f"{counts} {states}", file=sys.stderr)
    return OK


class _Types(TypedDict):
    type: str | None
    type_column: str | None


def _types(arguments: argparse.Namespace) -> _Types:
    """Return the source of event types: one type, or the column of ``--type-column``."""
    given: str | None = arguments.type
    if isinstance(given, TypeColumn):
        return {"type": None, "type_column": str(given)}
    return {"type": given, "type_column": None}


def _columns(arguments: argparse.Namespace) -> str | list[str] | None:
    """Return the columns of rows with names, in the form that `cerlab.spark.match` accepts."""
    return columns_of(arguments) or (None if arguments.columns is None else OF_SELECT)


_OF_STREAMS = ("lateness", "lag", "checkpoint", "follow", "buckets")


def _check(arguments: argparse.Namespace) -> None:
    names = ("query", "input") if arguments.explain else ("query", "input", "output")
    if arguments.stream and len(arguments.input or ()) > 1:
        hint = "name the folder that files arrive in"
        raise UsageError("CER0886", "--stream reads one --input", hint=hint)
    if arguments.stream:
        names = (*names, "position", "lateness")
        _refuse(arguments, "order_by", "overwrite", "ends_in", why="a batch")
    else:
        _refuse(arguments, *_OF_STREAMS, why="--stream")
        if arguments.with_quarantine:
            hint = "leave it out, or add --stream"
            raise UsageError("CER0886", "--quarantine is for --stream", hint=hint)
    missing = [
        name if name == "query" else f"--{name}" for name in names if not getattr(arguments, name)
    ]
    if missing:
        raise UsageError(
            "CER0820",
            f"missing: {', '.join(missing)}",
            hint="the query comes before --input: see cerlab spark --help",
        )


def _check_query(query: Pattern, arguments: argparse.Namespace) -> None:
    """Raise the errors that the command line alone shows, before Spark starts."""
    from cerlab.spark.plan import choose_mode
    from cerlab.spark.request import check_count, check_partition, no_order

    for name in ("parts", "buckets", "files"):
        check_count(name, getattr(arguments, name))
    column, unit = time_option(arguments)
    if column is not None:
        time_axis(column, unit)
    if arguments.stream:
        return
    if not (arguments.order_by or arguments.position):
        raise no_order()
    plan = query.plan if query.machine_kind == "automaton" else query.registers
    check_partition(plan, with_partition=arguments.partition)
    if query.machine_kind == "automaton":
        choose_mode(plan, arguments.mode)


def _inputs(arguments: argparse.Namespace) -> Inputs:
    """Return the files of the input, before Spark starts.

    Raises for an existing output and for missing files. Other file systems are checked through
    pyarrow if it supports them.
    """
    from cerlab.spark.footers import why_not_opened
    from cerlab.spark.inputs import inputs_of
    from cerlab.spark.writer import refuse_existing, refuse_input

    output = arguments.output
    if not (arguments.stream or arguments.explain or arguments.overwrite):
        if why_not_opened(output) is None:
            refuse_existing(output)
    elif not (arguments.stream or arguments.explain):
        refuse_input(output, arguments.input)
    return inputs_of(arguments.input, arguments.input_format)


def _refuse(arguments: argparse.Namespace, *names: str, why: str) -> None:
    options = [f"--{name.replace('_', '-')}" for name in names if getattr(arguments, name)]
    if options:
        raise UsageError(
            "CER0886", f"{', '.join(options)} has a meaning for {why} only", hint="leave them out"
        )


@contextmanager
def _errors_of_spark(*places: str | None, debug: bool) -> Iterator[None]:
    """Turn Spark's exceptions into cerlab's; with --debug, keep Java's messages.

    `places` are those of events and answers.
    """
    from cerlab.spark.failures import failures

    with failures(*places):
        try:
            yield
        except CerlabError:
            raise
        except Exception:
            if debug:
                traceback.print_exc()
            raise


_CASE = {"spark.sql.caseSensitive": "true"}
"""The setting that makes names of attributes case-sensitive."""


@contextmanager
def _session(master: str | None, *, short_lived: bool, debug: bool) -> Iterator[SparkSession]:
    """Start Spark; show the output of Java, its workers and py4j under --debug only."""
    from cerlab.spark import session

    if debug:
        yield session(master, _CASE, short_lived=short_lived)
        return
    sys.stderr.flush()
    ours, nothing = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 2)  # the JVM and its workers inherit standard error as it is when they start
    try:
        spark = session(master, _CASE, short_lived=short_lived)
    finally:
        sys.stderr.flush()
        os.dup2(ours, 2)
        os.close(ours)
        os.close(nothing)
    context = getattr(spark, "sparkContext", None)  # Spark Connect has none
    if (server := getattr(context, "_accumulatorServer", None)) is not None:
        server.handle_error = lambda *_: None  # py4j would print a stack when the JVM ends
    before = logging.root.manager.disable
    logging.disable()
    try:
        yield spark
    finally:
        logging.disable(before)


@contextmanager
def _progress(spark: SparkSession) -> Iterator[None]:
    """Show a progress bar, on a terminal, for each stage that lasts over two seconds.

    A session of Spark Connect shows its own bar.
    """
    context = getattr(spark, "sparkContext", None)
    if context is None or not sys.stderr.isatty():
        yield
        return
    import threading

    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    bars = Progress(
        *columns, TimeElapsedColumn(), console=Console(file=terminal(sys.stderr)), transient=True
    )
    over = threading.Event()
    watch_arguments = (context.statusTracker(), bars, over)
    thread = threading.Thread(target=_watch, args=watch_arguments, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        bars.stop()


def _watch(tracker: Any, bars: Any, over: Any) -> None:
    task = bars.add_task("starting", total=None)
    over.wait(2.0)
    while not over.wait(0.5):
        if not bars.live.is_started:
            bars.start()
        for number in tracker.getActiveStageIds():
            if (stage := tracker.getStageInfo(number)) is not None:
                count, total = stage.numCompletedTasks, stage.numTasks
                bars.update(task, description=stage.name[:40], completed=count, total=total)
