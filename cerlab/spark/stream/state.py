"""State of a bucket of keys between micro-batches, as bytes, and checkpoints that hold it."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np

from cerlab.automata.strategy import Machine
from cerlab.engine.reorder import Sequences
from cerlab.engine.state import (
    check_nodes,
    check_pool,
    with_names,
    with_numbers,
)
from cerlab.engine.state_checks import MOST_EVENTS, expect
from cerlab.errors import BadData, DataPlace
from cerlab.spark.stream.engine import EventTable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


FORMAT = "cerlab-stream"

VERSION = 3

ANOTHER = "the checkpoint is of another query, or of another time, position, lateness or lag"

GO_ON = "go on with those it was begun with, or start again with another checkpoint"

ENGINE = {
    "position": "<i8",
    "left": "<i4",
    "right": "<i4",
    "max_start": "<i8",
    "pool": "<i4",
    "length": "<i8",
    "idle_state": "<i4",
    "seen": "<i8",
}
"""The arrays of an engine, as `engine.general.state` has them."""

RUNS = {"runs": "|u1"}
"""The table of the states of runs of registers, by sequence, in place of those arrays."""

SEQUENCES = {
    "released": "|b1",
    "last_time": "",
    "last_position": "<i8",
    "event_sequence": "<i8",
    "event_number": "<i8",
    "event_position": "<i8",
    "instants": "<i8",
    "keys": "|u1",
    "held": "|u1",
    "recent": "|u1",
}
"""Members of every state after these, and their types; ``last_time`` has that of the times."""

_WORD = 8

_UNREADABLE = (LookupError, TypeError, ValueError, ArithmeticError, OSError, RuntimeError)
"""Exceptions of reading invalid bytes; errors of Arrow and of recursion derive from these."""


@dataclass(frozen=True, slots=True)
class BucketState:
    """All that is known of a bucket."""

    sequences: Sequences
    keys: Any
    """The table of the keys, by the number of their partition."""
    events: EventTable
    """The events that can still matter."""
    recent: Any
    """The rows that answers to come can name, by number: a table, without rows where none are."""
    arrays: Mapping[str, Any] | None = None
    """Arrays of the engine; None before it has read anything."""
    read: int = 0
    """Number of released events."""
    timer: int | None = None
    """When Spark is to come back to the bucket, in milliseconds of the watermark."""


def members_of(machine: Machine | None) -> dict[str, str]:
    """The members of a state in their order, and their types; `machine` is None for registers."""
    return (RUNS if machine is None else ENGINE) | SEQUENCES


def state_to_bytes(state: BucketState, machine: Machine | None, job: str) -> bytes:
    """A state with arrays as bytes; `job` is the digest under which it is to be read again."""
    assert state.arrays is not None
    names: Mapping[str, Any] = {}
    arrays: Mapping[str, Any]
    if machine is None:
        arrays = {"runs": _table_bytes(_runs_table(state.arrays["run"]))}
    else:
        names, arrays = with_names(machine, state.arrays)
    sequences, events = state.sequences, state.events
    whole = isinstance(events.instants, np.ndarray)
    members = {
        **arrays,
        "released": sequences.has_released,
        "last_time": sequences.time,
        "last_position": sequences.position,
        "event_sequence": events.sequence,
        "event_number": events.number,
        "event_position": events.position,
        "instants": events.instants if whole else _text([str(t) for t in events.instants]),
        "keys": _table_bytes(state.keys),
        "held": _table_bytes(sequences.pending_rows),
        "recent": _table_bytes(state.recent),
    }
    parts = []
    for name, kind in members_of(machine).items():
        exact = kind and (name != "instants" or whole)
        array = np.asarray(members[name], kind) if exact else members[name]
        parts.append(np.ascontiguousarray(array).tobytes())
    # Each part begins at a multiple of eight bytes, where arrays of int64 may lie.
    body = b"".join(part + bytes(-len(part) % _WORD) for part in parts)
    header = {
        "format": FORMAT,
        "version": VERSION,
        "job": job,
        "checksum": crc32(body),
        "read": state.read,
        "timer": state.timer,
        **names,
        "whole": whole,
        "sizes": [len(part) for part in parts],
    }
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % _WORD)
    return b"".join((len(text).to_bytes(_WORD, "little"), text, body))


def state_from_bytes(
    state: bytes, machine: Machine | None, job: str, empty: BucketState, *, by_key: bool
) -> BucketState:
    """The state again; `empty` is that of a bucket of which nothing is known, with its schemas.

    Raises `BadData` for bytes that are no state, of another version, or made under another query
    or other settings.
    """
    try:
        begin = _WORD + int.from_bytes(state[:_WORD], "little")
        header: dict[str, Any] = json.loads(state[_WORD:begin])
        name, version = header["format"], header["version"]
        if name != FORMAT or version != VERSION:
            raise BadData(
                "CER0775",
                f"a state of version {version!r}, this one reads {VERSION}",
                hint="start again, with another checkpoint",
            )
        if header["job"] != job:
            raise BadData("CER0776", ANOTHER, hint=GO_ON)
        # A copy, as nothing can be written into an array over bytes.
        body = np.frombuffer(state, np.uint8, offset=begin).copy()
        if crc32(body.data) != header["checksum"]:
            raise _no_state("its checksum is another one")
        return _check_state(_read(header, body, machine, empty), by_key=by_key)
    except _UNREADABLE as error:
        raise _no_state(str(error)) from None


def _no_state(why: str) -> BadData:
    return BadData(
        "CER0774",
        f"these bytes are not the state of a bucket of keys: {why}",
        hint="start again from the events, with a new checkpoint",
    )


def _read(
    header: Mapping[str, Any], body: Any, machine: Machine | None, empty: BucketState
) -> BucketState:
    sizes, read, timer = header["sizes"], header["read"], header["timer"]
    ends = [0, *accumulate(size + -size % _WORD for size in sizes)]
    members = members_of(machine)
    parts = dict(zip(members, pairwise(ends), strict=True))
    buffers = {
        name: body[begin : begin + size]
        for (name, (begin, _)), size in zip(parts.items(), sizes, strict=True)
    }
    expect(type(read) is int and 0 <= read < MOST_EVENTS, "how many events were read")
    expect(timer is None or (type(timer) is int and 0 < timer < MOST_EVENTS), "when to come back")
    expect((buffers["released"] <= 1).all(), "whether a row has been released")
    kinds = members | {"last_time": empty.sequences.time.dtype}
    has_released, time, position, sequence, number, place = (
        buffers[name].view(kinds[name])
        for name in list(SEQUENCES)[: list(SEQUENCES).index("instants")]
    )
    instants: Any = buffers["instants"]
    if header["whole"]:
        instants = instants.view("<i8")
    else:
        instants = [_instant(text) for text in json.loads(instants.tobytes())]
    pending = _table(buffers["held"], empty.sequences.pending_rows.schema)
    return BucketState(
        Sequences(has_released, time, position, pending),
        _table(buffers["keys"], empty.keys.schema),
        EventTable(sequence, number, place, instants),
        _table(buffers["recent"], empty.recent.schema),
        _engine_arrays(header, buffers, machine),
        read,
        timer,
    )


def _engine_arrays(
    header: Mapping[str, Any], buffers: Mapping[str, Any], machine: Machine | None
) -> Mapping[str, Any]:
    """What the engine of a state goes on from."""
    if machine is None:
        return {"run": _table(buffers["runs"], _runs_table(()).schema).column("run").to_pylist()}
    arrays = {name: buffers[name].view(kind) for name, kind in ENGINE.items()}
    expect(all(isinstance(header[name], list) for name in ("states", "idle")), "the states")
    expect(_fits(arrays["idle_state"], len(header["idle"])), "an idle state")
    check_pool(arrays, len(header["states"]))
    return with_numbers(machine, header, arrays)


def _runs_table(runs: Sequence[bytes]) -> Any:
    import pyarrow as pa

    return pa.table({"run": pa.array(runs, pa.binary())})


def _check_state(state: BucketState, *, by_key: bool) -> BucketState:
    """The state, if what its parts say of each other is so; raises `BadData`."""
    arrays, events, sequences = state.arrays, state.events, state.sequences
    assert arrays is not None
    keys, named = {state.keys.num_rows}, events.number
    if "run" in arrays:  # the state of each is checked where it is read
        expect(len(arrays["run"]) == len(sequences), "the runs")
    else:
        named = _check_engine(arrays, state)
    expect({*map(len, sequences.arrays())} == (keys if by_key else {1}), "the sequences")
    lengths = {len(each) for each in (events.sequence, events.position, events.instants)}
    expect(lengths == {len(events)}, "the number of events")
    expect(_fits(events.sequence, len(sequences)), "the sequence of an event")
    expect(_fits(events.number, state.read), "the number of an event")
    expect((np.diff(events.sequence) >= 0).all(), "the order of the events")
    expect(len(np.unique(events.number)) == len(events), "equal numbers of events")
    expect(np.isin(named, events.number).all(), "an event that a node names")
    rows = [sequences.pending_rows.column(name) for name in ("sequence", "position", "time", "a0")]
    expect(not any(column.null_count for column in rows), "a row without position, time or type")
    expect(_fits(rows[0].to_numpy(), len(sequences)), "a row held back")
    recent_columns = [state.recent.column(name) for name in ("number", "sequence", "position")]
    expect(
        not any(column.null_count for column in recent_columns), "a row without number or position"
    )
    recent = recent_columns[0].to_numpy()
    expect(_fits(recent, state.read) and (np.diff(recent) > 0).all(), "the number of a row")
    expect(_fits(recent_columns[1].to_numpy(), len(sequences)), "the sequence of a row")
    if state.recent.num_rows:
        expect(np.isin(named, recent).all(), "a row that a node names")
    return state


def _check_engine(arrays: Mapping[str, Any], state: BucketState) -> Any:
    """Check the arrays of an engine; the numbers of the events that its nodes name."""
    expect(_fits(arrays["seen"], state.read + 1), "how many events a partition has seen")
    nodes = {len(arrays[name]) for name in ("position", "left", "right", "max_start")}
    expect(len(nodes) == 1, "the number of nodes")
    check_nodes(dict(arrays), state.read, state.read)
    counts, keys = {len(arrays[name]) for name in ("length", "idle_state", "seen")}, state.keys
    is_whole = counts == {keys.num_rows} if keys.num_columns else counts in ({0}, {1})
    expect(is_whole, "the partitions")
    return arrays["position"][arrays["position"] >= 0]


def _fits(array: Any, bound: int) -> bool:
    return bool(((array >= 0) & (array < bound)).all())


def _text(value: Any) -> Any:
    return np.frombuffer(json.dumps(value).encode(), np.uint8)


def _instant(text: str) -> int | Fraction:
    value = Fraction(text)
    return value.numerator if value.denominator == 1 else value


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
"""Folder in a checkpoint that names the query of the checkpoint."""

_FILE = re.compile(r"(\d+)(\.compact)?")

_READ = re.compile(r'^\{"logOffset":(\d+)\}$', re.MULTILINE)
"""The last entry of ``sources`` that a micro-batch reads, as ``offsets`` has it."""


@dataclass(frozen=True, slots=True)
class Log:
    """A log on whatever file system Spark has it: its entries by number."""

    place: str
    names: dict[int, str]

    @property
    def newest(self) -> int:
        """The number of its last entry, -1 for none."""
        return max(self.names, default=-1)

    def check_whole(self) -> None:
        """Raise `BadData` if an entry before the newest one is missing; compact ones hold all."""
        compact = [n for n, name in self.names.items() if name.endswith(".compact")]
        for number in range(max(compact, default=0), self.newest):
            if number not in self.names:
                raise damage_error(self.place, f"entry {number} is missing")


def damage_error(place: str, what: str, hint: str = "") -> BadData:
    """The error of a log that is not what it has to be."""
    hint += "go on with older copies of checkpoint and output, or begin anew with other places"
    return BadData("CER0778", what, place=DataPlace(place), hint=hint)


def check_logs(spark: SparkSession, checkpoint: str, output: str | None = None) -> None:
    """Raise `BadData` where the logs of a checkpoint, or of it and its output, do not fit together.

    Or where one is not what its checksum says, on file systems that keep some. The JVM of the
    session reads them; over Spark Connect there is none here, and what Spark checks is all.
    """
    if getattr(spark, "_jvm", None) is None:
        return
    place = checkpoint.rstrip("/")
    offsets, commits, sources = (
        _log(spark, f"{place}/{folder}") for folder in ("offsets", "commits", "sources/0")
    )
    if commits.newest > offsets.newest:
        raise damage_error(offsets.place, f"micro-batch {commits.newest} is over and has not begun")
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
    """The output has the answers of the micro-batches that are over, and of none to come."""
    if answers.newest > offsets.newest:
        what = f"it has the answers of micro-batch {answers.newest}, which has not begun"
        raise damage_error(answers.place, f"{what} by {offsets.place}")
    if answers.newest < commits.newest:
        what = f"it lacks the answers of micro-batch {commits.newest}"
        hint = "give the output that the checkpoint began with; if that is this one, "
        raise damage_error(answers.place, what, hint)
    answers.check_whole()


def _log(spark: Any, place: str) -> Log:
    files, path = _file_system(spark, place)
    entries = files.listStatus(path) if files.exists(path) else ()
    matches = (_FILE.fullmatch(each.getPath().getName()) for each in entries)
    return Log(place, {int(each[1]): each[0] for each in matches if each is not None})


def _log_text(spark: Any, log: Log, number: int) -> str:
    """An entry, which the file system compares with its checksum."""
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
    """The file system of a path, and the path, as Spark has them."""
    path = spark._jvm.org.apache.hadoop.fs.Path(place)
    return path.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf()), path


def claim(spark: SparkSession, checkpoint: str, job: str) -> None:
    """Write the query of a checkpoint into it, unless it is there already.

    `job` is `cerlab.spark.stream.step.digest`. Raises `BadData` for a checkpoint of another query
    or other settings, before anything of it is used.
    """
    place = f"{checkpoint.rstrip('/')}/{CLAIM}"
    owners = _owners(spark, place)
    if not owners:
        frame = spark.createDataFrame([(job,)], "job string").coalesce(1)
        frame.write.mode("overwrite").text(place)
    elif owners != [job]:
        raise BadData("CER0776", ANOTHER, place=DataPlace(checkpoint), hint=GO_ON)


def _owners(spark: Any, place: str) -> list[str]:
    """The queries that a checkpoint is of: one, or none before the first start."""
    from pyspark.errors import AnalysisException

    if getattr(spark, "_jvm", None) is not None:
        files, path = _file_system(spark, place)
        if not files.exists(path):  # reading it, Spark would print a stack
            return []
    try:
        return [row[0] for row in spark.read.text(place).collect()]
    except AnalysisException:
        return []
