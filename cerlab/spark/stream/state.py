"""What is known of a key between micro-batches, as bytes: versioned, and no code runs to read it.

Eight bytes, little-endian, are the length of a header; the header is UTF-8 JSON; then come four
parts, one after the other, of the ``sizes`` that it gives. It has besides ``format``
("cerlab-stream"), ``version``, ``job`` (the digest of all that decides what the rest means),
``read`` (events released so far), ``released`` and ``timer``. The parts: the bytes of
`engine.general.state`; the events that those name, in their own counting, and the positions of
these, both int64 little-endian; an Arrow IPC stream of the rows that are kept
(`cerlab.spark.stream.reorder.Kept`).
"""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from cerlab.errors import BadData
from cerlab.spark.stream.reorder import Kept

FORMAT = "cerlab-stream"
VERSION = 1

ANOTHER = "the checkpoint is of another query, or of another time, position, lateness or lag"
GO_ON = "go on with those it was begun with, or start again with another checkpoint"

_LENGTH = 8
_INT64 = np.dtype("<i8")


@dataclass(frozen=True, slots=True)
class KeyState:
    """All that is known of a key."""

    kept: Kept
    engine: bytes | None = None
    """The state of an engine that has read what was released; None if nothing was."""
    read: int = 0
    """How many events that is."""
    index: Any = None
    """The events that the engine's state still names, in its own counting: int64, increasing."""
    place: Any = None
    """Their positions: int64."""
    timer: int | None = None
    """When Spark is to come back to the key, in milliseconds of the watermark."""


def packed(state: KeyState, job: str) -> bytes:
    """The state of a key as bytes; `job` is the digest under which it is to be read again."""
    none = np.zeros(0, _INT64)
    index, place = (none if each is None else each for each in (state.index, state.place))
    numbers = (np.asarray(each, _INT64).tobytes() for each in (index, place))
    parts = [state.engine or b"", *numbers, _written(state.kept.rows)]
    header = {
        "format": FORMAT,
        "version": VERSION,
        "job": job,
        "read": state.read,
        "released": state.kept.released,
        "timer": state.timer,
        "sizes": [len(part) for part in parts],
    }
    written = json.dumps(header).encode()
    return b"".join([len(written).to_bytes(_LENGTH, "little"), written, *parts])


def unpacked(state: bytes, job: str) -> KeyState:
    """The state again.

    Raises `BadData` for bytes that are no state, of another version, or made under another query
    or other settings.
    """
    begin = _LENGTH + int.from_bytes(state[:_LENGTH], "little")
    try:
        header: dict[str, Any] = json.loads(state[_LENGTH:begin])
        name, version = header["format"], header["version"]
    except (ValueError, KeyError, TypeError) as error:
        raise BadData(
            "CER0774",
            f"these bytes are no state of a key: {error}",
            hint="start again from the events, with a new checkpoint",
        ) from None
    if name != FORMAT or version != VERSION:
        raise BadData(
            "CER0775",
            f"a state of version {version!r}, this one reads {VERSION}",
            hint="start again, with another checkpoint",
        )
    if header["job"] != job:
        raise BadData("CER0776", ANOTHER, hint=GO_ON)
    ends = [begin, *(begin + end for end in accumulate(header["sizes"]))]
    if ends[-1] != len(state):
        raise BadData(
            "CER0774",
            "these bytes are no state of a key: some are missing",
            hint="start again from the events, with a new checkpoint",
        )
    engine, index, place, rows = (state[a:b] for a, b in pairwise(ends))
    return KeyState(
        Kept(_read(rows), header["released"]),
        engine or None,
        header["read"],
        np.frombuffer(index, _INT64),
        np.frombuffer(place, _INT64),
        header["timer"],
    )


def named(engine: bytes) -> Any:
    """The events that an engine's state still names, in its own counting: int64, increasing."""
    with np.load(io.BytesIO(engine), allow_pickle=False) as members:
        positions = np.unique(members["position"])
    return positions[positions >= 0]


def _written(rows: Any) -> bytes:
    import pyarrow as pa

    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows.combine_chunks())
    return sink.getvalue()


def _read(rows: bytes) -> Any:
    import pyarrow as pa

    return pa.ipc.open_stream(rows).read_all()
