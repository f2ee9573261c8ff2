"""The state of a key bucket between micro-batches, as bytes, and its checkpoints."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from cerlab.automata.strategy import Machine
from cerlab.engine import codec
from cerlab.engine.codec import Layout, other_version
from cerlab.engine.instants import Instants, list_of
from cerlab.engine.reorder import Sequences
from cerlab.engine.state import NAMES, TECS, check_nodes, with_names, with_numbers
from cerlab.engine.state_checks import expect, is_inside, reading_state
from cerlab.errors import BadData, DataPlace
from cerlab.model.stream import Instant
from cerlab.spark.stream.engine import EventTable, GivenEnds

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


VERSION = 4

ANOTHER = "the checkpoint is of another query, or of another time, position, lateness or lag"

GO_ON = "go on with those it was begun with, or start again with another checkpoint"

RUNS = {"runs": "|u1 run_bytes"}
"""Table of the states of register runs, by sequence, in place of the arrays of `TECS`."""

SEQUENCES = {
    "released": "|b1 sequences",
    "last_position": "<i8 sequences",
    "event_sequence": "<i8 events",
    "event_number": "<i8 events",
    "event_position": "<i8 events",
    "instants": "<i8 whole_instants",
    "keys": "|u1 key_bytes",
    "held": "|u1 held_bytes",
    "recent": "|u1 recent_bytes",
}
"""Arrays of every state besides ``last_time``; the last three are Arrow tables."""

GIVEN = {
    "given_sequence": "<i8 given",
    "given_number": "<i8 given",
    "given_instants": "<i8 whole_given",
    "counts": "<i8 sequences",
}
"""The arrays of `GivenEnds`, in the states of a query with THROTTLE."""


@dataclass(frozen=True, slots=True)
class BucketState:
    """The state of a bucket of keys."""

    sequences: Sequences
    keys: Any
    """The table of the keys, in the order of their partition numbers."""
    events: EventTable
    """The events that later answers may need."""
    recent: Any
    """The rows that later answers may contain, by number; empty without named columns."""
    arrays: Mapping[str, Any] | None = None
    """The arrays of the engine; None before it has read an event."""
    read: int = 0
    """The number of released events."""
    timer: int | None = None
    """The watermark in milliseconds at which Spark must process the bucket again."""
    given: GivenEnds | None = None
    """The ends that THROTTLE gave last; None without THROTTLE."""


def layout_of(machine: Machine | None, state: BucketState) -> Layout:
    """Return the layout of the bytes of a `BucketState`; `machine` is None without an automaton."""
    of_engine, names = (RUNS, {}) if machine is None else (TECS, NAMES)
    times = state.sequences.time
    arrays = {**of_engine, "last_time": f"{times.dtype.str} sequences", **SEQUENCES}
    values = {"read": int, "timer": int | None, "instants": tuple | None, **names}
    if state.given is not None:
        arrays, values = {**arrays, **GIVEN}, {**values, "given": tuple | None}
    return Layout("cerlab-stream", VERSION, values, arrays)


def state_to_bytes(state: BucketState, machine: Machine | None, job: str) -> bytes:
    """Return a state as bytes; `job` is the digest that reading them requires."""
    assert state.arrays is not None
    names: Mapping[str, Any] = {}
    arrays: Mapping[str, Any]
    if machine is None:
        arrays = {"runs": _table_bytes(_runs_table(state.arrays["run"]))}
    else:
        names, arrays = with_names(machine, state.arrays)
    sequences, events = state.sequences, state.events
    listed, instants = _instants_to_write(events.instants)
    values = {"read": state.read, "timer": state.timer, "instants": listed, **names}
    arrays = {
        **arrays,
        "released": sequences.has_released,
        "last_time": sequences.time,
        "last_position": sequences.position,
        "event_sequence": events.sequence,
        "event_number": events.number,
        "event_position": events.position,
        "instants": instants,
        "keys": _table_bytes(state.keys),
        "held": _table_bytes(sequences.pending_rows),
        "recent": _table_bytes(state.recent),
    }
    if (given := state.given) is not None:
        values["given"], arrays["given_instants"] = _instants_to_write(given.instants)
        arrays["given_sequence"], arrays["given_number"] = given.sequence, given.number
        arrays["counts"] = given.counts
    return codec.write(layout_of(machine, state), job, values, arrays)


def _instants_to_write(instants: Instants) -> tuple[list[Instant] | None, Any]:
    """Return instants as a list and an empty array, or as None and an array."""
    if isinstance(instants, np.ndarray):
        return None, instants
    return list_of(instants), np.zeros(0, np.int64)


def _read_instants(listed: tuple[Instant, ...] | None, array: Any) -> Instants:
    """Return the instants that `_instants_to_write` encoded; raise for other values."""
    if listed is None:
        times: Instants = array
        return times
    expect(all(type(t) is int or isinstance(t, Fraction) for t in listed), "an instant")
    return list(listed)


def state_from_bytes(
    state: bytes, machine: Machine | None, job: str, empty: BucketState, *, by_key: bool
) -> BucketState:
    """Return the state from bytes; `empty` is the state of a new bucket, with its schemas.

    Raises `BadData` for bytes that are not a state, of another version, or of another query or
    settings.
    """
    values, arrays = codec.read(layout_of(machine, empty), job, state)
    with reading_state():
        return _check_state(_read(values, arrays, machine, empty), by_key=by_key)


def _read(
    values: Mapping[str, Any],
    arrays: Mapping[str, Any],
    machine: Machine | None,
    empty: BucketState,
) -> BucketState:
    instants = _read_instants(values["instants"], arrays["instants"])
    given = None
    if empty.given is not None:
        times = _read_instants(values["given"], arrays["given_instants"])
        given = GivenEnds(arrays["given_sequence"], arrays["given_number"], times, arrays["counts"])
    pending = _table(arrays["held"], empty.sequences.pending_rows.schema)
    return BucketState(
        Sequences(arrays["released"], arrays["last_time"], arrays["last_position"], pending),
        _table(arrays["keys"], empty.keys.schema),
        EventTable(
            arrays["event_sequence"],
            arrays["event_number"],
            arrays["event_position"],
            instants,
        ),
        _table(arrays["recent"], empty.recent.schema),
        _engine_arrays(values, arrays, machine),
        values["read"],
        values["timer"],
        given,
    )


def _engine_arrays(
    values: Mapping[str, Any], arrays: Mapping[str, Any], machine: Machine | None
) -> Mapping[str, Any]:
    """Return the arrays from which an engine continues."""
    if machine is None:
        return {"run": _table(arrays["runs"], _runs_table(()).schema).column("run").to_pylist()}
    return with_numbers(machine, values, {name: arrays[name] for name in TECS})


def _runs_table(runs: Sequence[bytes]) -> Any:
    import pyarrow as pa

    return pa.table({"run": pa.array(runs, pa.binary())})


def _check_state(state: BucketState, *, by_key: bool) -> BucketState:
    """Return the state after checking that its parts fit together; raises `BadData`."""
    arrays, events, sequences = state.arrays, state.events, state.sequences
    assert arrays is not None
    named = events.number
    if "run" in arrays:  # reading a run checks the run's own state
        expect(len(arrays["run"]) == len(sequences), "the runs")
    else:
        named = _check_engine(arrays, state)
    expect(len(sequences) == (state.keys.num_rows if by_key else 1), "the sequences")
    expect(len(events.instants) == len(events), "the number of instants")
    expect(is_inside(events.sequence, 0, len(sequences)), "the sequence of an event")
    expect(is_inside(events.number, 0, state.read), "the number of an event")
    expect((np.diff(events.sequence) >= 0).all(), "the order of the events")
    # np.unique hashes integers, which took ten times as long as sorting 100,000 of them
    expect((np.diff(np.sort(events.number)) > 0).all(), "equal numbers of events")
    expect(np.isin(named, events.number).all(), "an event that a node names")
    rows = [sequences.pending_rows.column(name) for name in ("sequence", "position", "time", "a0")]
    expect(not any(column.null_count for column in rows), "a row without position, time or type")
    expect(is_inside(rows[0].to_numpy(), 0, len(sequences)), "a row held back")
    recent_columns = [state.recent.column(name) for name in ("number", "sequence", "position")]
    expect(
        not any(column.null_count for column in recent_columns), "a row without number or position"
    )
    recent = recent_columns[0].to_numpy()
    expect(is_inside(recent, 0, state.read) and (np.diff(recent) > 0).all(), "the number of a row")
    expect(is_inside(recent_columns[1].to_numpy(), 0, len(sequences)), "the sequence of a row")
    if state.recent.num_rows:
        expect(np.isin(named, recent).all(), "a row that a node names")
    if state.given is not None:
        _check_given(state.given, state)
    return state


def _check_given(given: GivenEnds, state: BucketState) -> None:
    """Check the ends that THROTTLE gave."""
    expect(len(given.instants) == len(given), "the times of ends")
    expect(is_inside(given.sequence, 0, len(state.sequences)), "the sequence of an end")
    expect((np.diff(given.sequence) > 0).all(), "the sequences of ends")
    expect(is_inside(given.number, 0, state.read), "an end")
    expect(is_inside(given.counts, 0, state.read + 1), "how many events a sequence has")


def _check_engine(arrays: Mapping[str, Any], state: BucketState) -> Any:
    """Check the arrays of an engine; return the numbers of the events in its nodes."""
    expect(is_inside(arrays["seen"], 0, state.read + 1), "how many events a partition has seen")
    check_nodes(arrays, state.read, state.read)
    count, keys = len(arrays["length"]), state.keys
    expect(count == keys.num_rows if keys.num_columns else count <= 1, "the partitions")
    return arrays["position"][arrays["position"] >= 0]


def _table_bytes(rows: Any) -> Any:
    import pyarrow as pa

    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows.combine_chunks())
    return np.frombuffer(sink.getvalue(), np.uint8)


def _table(content: Any, schema: Any) -> Any:
    import pyarrow as pa

    read = pa.ipc.open_stream(pa.py_buffer(content)).read_all()
    expect(read.schema.equals(schema), "the columns of its rows")
    read.validate(full=True)
    return read


CLAIM = "cerlab-query"
"""Folder in a checkpoint that records the query of the checkpoint."""

_FILE = re.compile(r"(\d+)(\.compact)?")

_READ = re.compile(r'^\{"logOffset":(\d+)\}$', re.MULTILINE)
"""The last entry of ``sources`` that a micro-batch reads, in the form of ``offsets``."""


@dataclass(frozen=True, slots=True)
class Log:
    """A log of Spark on any file system, as numbered entries."""

    place: str
    names: dict[int, str]

    @property
    def newest(self) -> int:
        """The number of the last entry, -1 for an empty log."""
        return max(self.names, default=-1)

    def check_whole(self) -> None:
        """Raise `BadData` if an entry before the newest one is missing.

        Compact ones contain all.
        """
        compact = [n for n, name in self.names.items() if name.endswith(".compact")]
        for number in range(max(compact, default=0), self.newest):
            if number not in self.names:
                raise damage_error(self.place, f"entry {number} is missing")


def damage_error(place: str, message: str, hint: str = "") -> BadData:
    """Return the error for a damaged log."""
    hint += "use older copies of checkpoint and output, or start again with other places"
    return BadData("CER0778", message, place=DataPlace(place), hint=hint)


def check_logs(spark: SparkSession, checkpoint: str, output: str | None = None) -> None:
    """Raise `BadData` if the logs of a checkpoint, or of it and its output, are inconsistent.

    Also if one does not match its checksum, on file systems that store checksums. The JVM of the
    session reads them; Spark Connect has no JVM here, so only Spark's own checks apply.
    """
    if getattr(spark, "_jvm", None) is None:
        return
    place = checkpoint.rstrip("/")
    offsets, commits, sources = (
        _log(spark, f"{place}/{folder}") for folder in ("offsets", "commits", "sources/0")
    )
    if commits.newest > offsets.newest:
        raise damage_error(offsets.place, f"micro-batch {commits.newest} ended before it began")
    sources.check_whole()
    for number in sources.names:
        _log_text(spark, sources, number)
    if commits.names:
        _log_text(spark, commits, commits.newest)
    if offsets.names:
        text = _log_text(spark, offsets, offsets.newest)
        if (read := _READ.search(text)) is not None and int(read[1]) > sources.newest:
            raise damage_error(sources.place, f"entry {read[1]}, which was read, is missing")
    if output is not None:
        _check_output(_log(spark, f"{output.rstrip('/')}/_spark_metadata"), offsets, commits)


def _check_output(answers: Log, offsets: Log, commits: Log) -> None:
    """Raise `BadData` unless the output has the answers of exactly the finished micro-batches."""
    if answers.newest > offsets.newest:
        message = f"it has the answers of micro-batch {answers.newest}, which has not begun"
        raise damage_error(answers.place, f"{message} by {offsets.place}")
    if answers.newest < commits.newest:
        message = f"it lacks the answers of micro-batch {commits.newest}"
        hint = "give the output that the checkpoint began with; if that is this one, "
        raise damage_error(answers.place, message, hint)
    answers.check_whole()


def _log(spark: Any, place: str) -> Log:
    files, path = _file_system(spark, place)
    entries = files.listStatus(path) if files.exists(path) else ()
    matches = (_FILE.fullmatch(each.getPath().getName()) for each in entries)
    return Log(place, {int(each[1]): each[0] for each in matches if each is not None})


def _log_text(spark: Any, log: Log, number: int) -> str:
    """Return a log entry, which the file system compares with its checksum."""
    from py4j.protocol import Py4JJavaError

    files, path = _file_system(spark, f"{log.place}/{log.names[number]}")
    try:
        stream = files.open(path)
        try:
            return str(spark._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()
    except Py4JJavaError as error:
        raise damage_error(
            log.place, f"entry {number}: {error.java_exception.getMessage()}"
        ) from None


def _file_system(spark: Any, place: str) -> tuple[Any, Any]:
    """Return a path's file system and the path, as Spark's objects."""
    path = spark._jvm.org.apache.hadoop.fs.Path(place)
    return path.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf()), path


def claim(spark: SparkSession, checkpoint: str, job: str) -> None:
    """Write the query of a checkpoint into the checkpoint, unless it is there already.

    `job` is `cerlab.spark.stream.step.digest`. Raises `BadData` for a checkpoint of another
    version, another query or other settings, before it is used.
    """
    place = f"{checkpoint.rstrip('/')}/{CLAIM}"
    owners = _owners(spark, place)
    if not owners:
        frame = spark.createDataFrame([(f"{VERSION} {job}",)], "job string").coalesce(1)
        frame.write.mode("overwrite").text(place)
        return
    version, _, owner = owners[0].partition(" ")
    if version != str(VERSION):
        raise other_version(version if owner else "before 4", VERSION)
    if owner != job:
        raise BadData("CER0776", ANOTHER, place=DataPlace(checkpoint), hint=GO_ON)


def _owners(spark: Any, place: str) -> list[str]:
    """Return the queries that a checkpoint records: one, or none before the first start."""
    from pyspark.errors import AnalysisException

    if getattr(spark, "_jvm", None) is not None:
        files, path = _file_system(spark, place)
        if not files.exists(path):  # reading a missing file, Spark would print a stack
            return []
    try:
        return [row[0] for row in spark.read.text(place).collect()]
    except AnalysisException:
        return []
