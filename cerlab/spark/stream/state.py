"""What is known of a bucket of keys between micro-batches, as bytes; no code runs to read it.

Eight bytes, little-endian, are the length of a header; the header is UTF-8 JSON, filled up with
spaces to a multiple of eight; then come the members, one after the other, each filled up with zeros
in the same way. The header has ``format`` ("cerlab-stream"), ``version``, ``job`` (the digest of
all that decides what the rest means), ``checksum`` (CRC-32 of what follows it), ``read`` (events
released so far), ``timer``, ``states`` and ``idle`` (the macro-states that the arrays number from
0, as `engine.general.state` names them), and ``sizes``, the members' lengths in bytes. `MEMBERS`
are arrays, little-endian, but for four: ``keys``, ``held`` and ``recent`` are Arrow IPC streams
(the keys by number, the rows held back, those that rows with names are made of), and ``instants``
is JSON where they are not all int64.

The checksum finds damage; who can write a checkpoint can make a state. Such a state is checked
before a kernel sees it, as that of an engine is (`engine.general.state_check`).
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any
from zlib import crc32

import numpy as np

from cerlab.automata.machine import Machine
from cerlab.engine.general.state import with_names, with_numbers
from cerlab.engine.general.state_check import MOST_EVENTS, check_nodes, check_pool, expect
from cerlab.errors import BadData
from cerlab.spark.stream.engine import EventTable
from cerlab.spark.stream.reorder import Sequences

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

MEMBERS = ENGINE | {
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
"""The members in their order, and their types; ``last_time`` has that of the times."""

_WORD = 8

_UNREADABLE = (LookupError, TypeError, ValueError, ArithmeticError, OSError, RuntimeError)
"""What reading bytes that are no state may raise; errors of Arrow and of recursion are these."""


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
    """Those of the engine; None before it has read anything."""
    read: int = 0
    """How many events have been released."""
    timer: int | None = None
    """When Spark is to come back to the bucket, in milliseconds of the watermark."""


def state_to_bytes(state: BucketState, machine: Machine, job: str) -> bytes:
    """A state with arrays as bytes; `job` is the digest under which it is to be read again."""
    assert state.arrays is not None
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
    for name, kind in MEMBERS.items():
        exact = kind and (name != "instants" or whole)
        array = np.asarray(members[name], kind) if exact else members[name]
        parts.append(np.ascontiguousarray(array).tobytes())
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
    state: bytes, machine: Machine, job: str, empty: BucketState, *, by_key: bool
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
        body = np.frombuffer(state, np.uint8, offset=begin).copy()
        if crc32(body.data) != header["checksum"]:
            raise _no_state("its checksum is another one")
        return _check_state(_read(header, body, machine, empty), by_key=by_key)
    except _UNREADABLE as error:
        raise _no_state(str(error)) from None


def _no_state(why: str) -> BadData:
    return BadData(
        "CER0774",
        f"these bytes are no state of a bucket of keys: {why}",
        hint="start again from the events, with a new checkpoint",
    )


def _read(
    header: Mapping[str, Any], body: Any, machine: Machine, empty: BucketState
) -> BucketState:
    sizes, read, timer = header["sizes"], header["read"], header["timer"]
    ends = [0, *accumulate(size + -size % _WORD for size in sizes)]
    parts = dict(zip(MEMBERS, pairwise(ends), strict=True))
    buffers = {
        name: body[begin : begin + size]
        for (name, (begin, _)), size in zip(parts.items(), sizes, strict=True)
    }
    expect(type(read) is int and 0 <= read < MOST_EVENTS, "how many events were read")
    expect(timer is None or (type(timer) is int and 0 < timer < MOST_EVENTS), "when to come back")
    expect(all(isinstance(header[name], list) for name in ("states", "idle")), "the states")
    expect((buffers["released"] <= 1).all(), "whether a row has been released")
    kinds = MEMBERS | {"last_time": empty.sequences.time.dtype}
    arrays = {name: buffers[name].view(kinds[name]) for name in ENGINE}
    expect(_fits(arrays["idle_state"], len(header["idle"])), "an idle state")
    check_pool(arrays, len(header["states"]))
    has_released, time, position, sequence, number, place = (
        buffers[name].view(kinds[name])
        for name in list(MEMBERS)[len(ENGINE) : list(MEMBERS).index("instants")]
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
        with_numbers(machine, header, arrays),
        read,
        timer,
    )


def _check_state(state: BucketState, *, by_key: bool) -> BucketState:
    """The state, if what its parts say of each other is so; raises `BadData`."""
    arrays, events, sequences = state.arrays, state.events, state.sequences
    assert arrays is not None
    expect(_fits(arrays["seen"], state.read + 1), "how many events a partition has seen")
    nodes = {len(arrays[name]) for name in ("position", "left", "right", "max_start")}
    expect(len(nodes) == 1, "the number of nodes")
    check_nodes(dict(arrays), state.read, state.read)
    counts = {len(arrays[name]) for name in ("length", "idle_state", "seen")}
    keys = {state.keys.num_rows}
    expect(counts == keys if state.keys.num_columns else counts in ({0}, {1}), "the partitions")
    expect({*map(len, sequences.arrays())} == (keys if by_key else {1}), "the sequences")
    lengths = {len(each) for each in (events.sequence, events.position, events.instants)}
    expect(lengths == {len(events)}, "the number of events")
    expect(_fits(events.sequence, len(sequences)), "the sequence of an event")
    expect(_fits(events.number, state.read), "the number of an event")
    expect((np.diff(events.sequence) >= 0).all(), "the order of the events")
    expect(len(np.unique(events.number)) == len(events), "equal numbers of events")
    node_events = arrays["position"][arrays["position"] >= 0]
    expect(np.isin(node_events, events.number).all(), "an event that a node names")
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
        expect(np.isin(node_events, recent).all(), "a row that a node names")
    return state


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
