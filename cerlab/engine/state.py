"""The state of a run as bytes, and back: versioned, documented, and no code runs when it is read.

The bytes are an uncompressed ``.npz`` archive (read without pickle). Its member ``header`` is UTF-8
JSON: ``format`` ("cerlab-engine"), ``version``, ``plan`` (the digest of the plan), ``time`` (the
attribute and the unit that a window in hours, minutes or seconds is measured on), ``read`` (events
so far), ``keys`` (of the partitions, by id), ``states`` and ``idle`` (the macro-states that the
arrays number from 0), ``window`` (instants and positions still inside it). The other members are
the arrays ``position, left, right, max_start`` of the arena; of the partitions ``length,
idle_state, seen`` and ``pool``, which holds their entries one after the other; and ``digest``, the
SHA-256 of all that.

A state that was damaged is refused. The digest is no signature: who can write a state can make one.
Such a state is checked before it is used (`engine.state_checks`), so it cannot crash the process,
read its memory or run code. But it says what has happened before: it decides which answers come,
and how many, and that takes the time and the memory that so many answers take.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import struct
import zipfile
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cerlab.automata.plan import plan_digest
from cerlab.automata.strategy import (
    Machine,
    idle_of_name,
    name_of_idle,
    name_of_state,
    state_of_name,
)
from cerlab.engine.kernels.arrays import NONE, Arena
from cerlab.engine.kernels.enumeration import FINE, mark_entries, misplaced_entry, misplaced_node
from cerlab.engine.state_checks import bad_state, check_window, expect, is_whole
from cerlab.errors import BadData, CerlabError, UsageError
from cerlab.model.clauses import TimeWindow
from cerlab.model.documents import value_from_json, value_to_json
from cerlab.model.stream import TimeAxis, time_axis

if TYPE_CHECKING:
    from cerlab.automata.plan import Plan


FORMAT = "cerlab-engine"


VERSION = 3


MEMBERS = {
    "header": np.uint8,
    "position": np.int64,
    "left": np.int32,
    "right": np.int32,
    "max_start": np.int64,
    "length": np.int64,
    "idle_state": np.int32,
    "seen": np.int64,
    "pool": np.int32,
}
"""The members by name, without ``digest``: arrays of one dimension, little-endian."""


def state_to_bytes(
    plan: Plan,
    machine: Machine,
    time: TimeAxis | None,
    read: int,
    keys: Any,
    window: Any,
    arrays: dict[str, Any],
) -> bytes:
    """The bytes of a run; `arrays` are by the names above."""
    names, arrays = with_names(machine, arrays)
    times, positions = window
    header = {
        "format": FORMAT,
        "version": VERSION,
        "plan": plan_digest(plan),
        "time": axis_to_json(time) if isinstance(plan.window, TimeWindow) else None,
        "read": read,
        "keys": [[value_to_json(value) for value in key] for key in keys],
        **names,
        "window": [[_instant_text(t) for t in times], [int(p) for p in positions]],
    }
    return archive(arrays, header)


def archive(arrays: Mapping[str, Any], header: Mapping[str, Any]) -> bytes:
    """The archive of some members, with their digest."""
    contents = {**arrays, "header": np.frombuffer(json.dumps(header).encode(), np.uint8)}
    members = {name: np.asarray(contents[name], kind) for name, kind in MEMBERS.items()}
    buffer = io.BytesIO()
    digest = np.frombuffer(_digest(members), np.uint8)
    np.savez(buffer, **members, digest=digest)  # type: ignore[arg-type]
    return buffer.getvalue()


def _digest(members: Mapping[str, NDArray[Any]]) -> bytes:
    """SHA-256 of the lengths and the bytes of the members, in the order above."""
    digest = hashlib.sha256()
    for name in MEMBERS:
        digest.update(len(members[name]).to_bytes(8, "little"))
        digest.update(members[name].tobytes())
    return digest.digest()


def state_from_bytes(
    plan: Plan, machine: Machine, state: bytes
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The header and the arrays of a state, with the numbers that macro-states have here.

    Raises `BadData` for bytes that are no state, of another version, or of another query.
    """
    try:
        members = _members(state)
        header = json.loads(members["header"].tobytes())
        expect(isinstance(header, dict) and header.get("format") == FORMAT, "another format")
        if header.get("version") != VERSION:
            raise BadData(
                "CER0772",
                f"a state of version {header.get('version')!r}, this engine reads {VERSION}",
                hint="start again from the events",
            )
        # the version comes first: another one may compute its digest otherwise
        expect(members["digest"].tobytes() == _digest(members), "its digest is another one")
        if header["plan"] != plan_digest(plan):
            raise BadData(
                "CER0773",
                "this state is of another query",
                hint="open the query that it was taken from",
            )
        check_header(header, len(plan.partition), in_time=isinstance(plan.window, TimeWindow))
        check_arrays(members, header)
        return _resumable(machine, header, members)
    except BadData:
        raise
    except (*_UNREADABLE, CerlabError) as error:
        raise bad_state(str(error)) from None


_UNREADABLE = (
    *(OSError, ValueError, TypeError, KeyError, EOFError, RuntimeError, OverflowError),
    *(zipfile.BadZipFile, NotImplementedError, struct.error, RecursionError),
)


_NPY = re.compile(
    rb"\x93NUMPY\x01\x00..\{'descr': '(?P<dtype>[^']*)', 'fortran_order': False, "
    rb"'shape': \((?P<size>\d{1,18}),\), \} *\n",
    re.DOTALL,
)
"""The header of an array of one dimension in a file of version 1.0."""


def _members(state: bytes) -> dict[str, NDArray[Any]]:
    """Return the members, each no larger than the bytes; raises ValueError and others otherwise."""
    kinds = {**MEMBERS, "digest": np.uint8}
    with zipfile.ZipFile(io.BytesIO(state)) as zip_file:
        infos = {info.filename: info for info in zip_file.infolist()}
        if set(infos) != {f"{name}.npy" for name in kinds}:
            if "header.npy" not in infos:
                raise ValueError("there is no header")
            kinds = {"header": np.uint8}  # of another version, perhaps
        for info in infos.values():
            # so that a few bytes cannot unpack into gigabytes
            if info.compress_type != zipfile.ZIP_STORED or info.file_size > len(state):
                raise ValueError(f"'{info.filename}' is compressed")
        members = {name: _array(zip_file.read(f"{name}.npy"), kind) for name, kind in kinds.items()}
    return {name: np.zeros(0, kind) for name, kind in MEMBERS.items()} | members


def _array(content: bytes, kind: type) -> NDArray[Any]:
    """An array of one dimension as ``.npy`` has it, without a copy larger than its bytes.

    NumPy reads the header as Python, which threads may not do at once (CPython gh-106905).
    """
    header = _NPY.match(content)
    if header is None:
        raise ValueError("no array of one dimension")
    dtype, rest = np.dtype(kind), content[header.end() :]
    if header["dtype"].decode() != dtype.str or len(rest) != int(header["size"]) * dtype.itemsize:
        raise ValueError(f"an array of {header['size'].decode()} times {header['dtype'].decode()}")
    return np.frombuffer(rest, dtype).copy()


def _resumable(
    machine: Machine, header: dict[str, Any], members: dict[str, NDArray[Any]]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Header and arrays with values for their JSON, and the numbers of this machine."""
    times, positions = header["window"]
    run_header = {
        **header,
        "time": axis_from_json(header["time"]),
        "keys": [tuple(map(value_from_json, key)) for key in header["keys"]],
        "window": (
            [Fraction(*t) if isinstance(t, list) else t for t in times],
            positions,
        ),
    }
    arrays = {name: members[name] for name in MEMBERS if name != "header"}
    return run_header, with_numbers(machine, header, arrays)


def axis_of_state(axis: TimeAxis | None, state_axis: TimeAxis | None) -> TimeAxis | None:
    """Return the time axis of a resumed run; raises `UsageError` for another axis than before.

    Either is None where nothing is said of it.
    """
    if axis is not None and state_axis is not None and axis != state_axis:
        raise UsageError(
            "CER0777",
            f"this state measures time on {_axis_text(state_axis)}, not on {_axis_text(axis)}",
            hint="leave time= and unit= out",
        )
    return axis or state_axis


def _axis_text(time: TimeAxis) -> str:
    return f"'{time.attribute}'" + (f" in {time.unit.name.lower()}" if time.unit else "")


def axis_to_json(time: TimeAxis | None) -> list[str | None] | None:
    """A time axis as JSON."""
    return None if time is None else [time.attribute, time.unit.name if time.unit else None]


def axis_from_json(value: list[Any] | None) -> TimeAxis | None:
    """Read a time axis; raises `UsageError` and others for other values."""
    if value is None:
        return None
    attribute, unit = value
    return time_axis(attribute, unit)


def with_names(
    machine: Machine, arrays: Mapping[str, Any]
) -> tuple[dict[str, list[Any]], dict[str, Any]]:
    """The names of the macro-states in the arrays of a run, and the arrays with their numbers.

    Names are by ``states`` and ``idle``, as JSON.
    """
    pool, places = arrays["pool"].copy(), heads(arrays["pool"])
    states, pool[places] = np.unique(pool[places], return_inverse=True)
    idles, idle_state = np.unique(arrays["idle_state"], return_inverse=True)
    names = {
        "states": [name_of_state(machine, q) for q in states.tolist()],
        "idle": [name_of_idle(machine, q) for q in idles.tolist()],
    }
    return names, {**arrays, "pool": pool, "idle_state": idle_state}


def with_numbers(
    machine: Machine, names: Mapping[str, Any], arrays: Mapping[str, Any]
) -> dict[str, Any]:
    """The arrays with the numbers that named macro-states have in this machine."""
    numbers = np.array([state_of_name(machine, name) for name in names["states"]], np.int32)
    # two entries of one state in a list would be answers twice
    expect(len(np.unique(numbers)) == len(numbers), "equal states")
    idles = np.array([idle_of_name(machine, name) for name in names["idle"]], np.int32)
    pool, places = arrays["pool"].copy(), heads(arrays["pool"])
    pool[places] = numbers[pool[places]]
    return {**arrays, "pool": pool, "idle_state": idles[arrays["idle_state"]]}


def _instant_text(time: Any) -> Any:
    if isinstance(time, Fraction):
        return [time.numerator, time.denominator]
    return int(time)


def check_header(header: dict[str, Any], key_length: int, *, in_time: bool) -> None:
    """The header: numbers that are numbers, keys and names in lists, a window in order."""
    read = header["read"]
    expect(is_whole(read), "how many events were read")
    for name in ("keys", "states", "idle", "window"):
        expect(isinstance(header[name], list), f"'{name}' is not a list")
    for key in header["keys"]:
        expect(isinstance(key, list) and len(key) == key_length, "a key of another length")
    expect(len(header["window"]) == 2, "the window")
    time = header["time"]
    is_axis = isinstance(time, list) and len(time) == 2 and isinstance(time[0], str)
    expect(is_axis if in_time else time is None, "what time is measured on")
    times, positions = header["window"]
    expect(isinstance(times, list) and isinstance(positions, list), "the window")
    check_window([_instant(time) for time in times], positions, read)


def _instant(time: Any) -> Any:
    if isinstance(time, list):
        fraction = len(time) == 2 and all(type(part) is int for part in time) and time[1] > 0
        expect(fraction, "a time of the window")
        return Fraction(*time)
    return time


def check_arrays(arrays: dict[str, NDArray[Any]], header: dict[str, Any]) -> None:
    """The arrays: ids, states, positions and sizes in range, nodes and lists in order."""
    nodes, partitions = len(arrays["position"]), len(arrays["length"])
    for name in ("left", "right", "max_start"):
        expect(len(arrays[name]) == nodes, f"'{name}' has another length")
    for name in ("idle_state", "seen"):
        expect(len(arrays[name]) == partitions, f"'{name}' has another length")
    expect(partitions == len(header["keys"]), "a number of partitions that is not that of keys")
    _inside(arrays["idle_state"], 0, len(header["idle"]), "an idle state")
    _inside(arrays["seen"], 0, header["read"] + 1, "how many events a partition has seen")
    latest = int(max(arrays["seen"], default=0))
    check_nodes(arrays, max(latest, header["read"]), header["read"])
    check_pool(arrays, len(header["states"]))


def check_pool(arrays: dict[str, NDArray[Any]], states: int) -> None:
    """The entries of all partitions: states that there are, nodes by decreasing latest start."""
    pool, lengths = arrays["pool"], arrays["length"]
    _inside(lengths, 0, len(pool) + 1, "the length of a partition")
    expect(sum(lengths.tolist()) == len(pool), "the lengths of the partitions")
    heads(pool)
    wrong = misplaced_entry(arrays["max_start"], lengths, pool, states)
    expect(wrong == FINE, f"the entries of partition {wrong}")


def check_nodes(arrays: dict[str, NDArray[Any]], starts: int, read: int) -> None:
    """The nodes of the arena: children before parents, positions and starts in order."""
    number = np.arange(len(arrays["position"]))
    _inside(arrays["position"], NONE, read, "the position of a node")
    _inside(arrays["max_start"], 0, starts, "the start of a node")
    for side in ("left", "right"):
        child = arrays[side]
        expect(((child >= NONE) & (child < number)).all(), "a node that is not after its children")
    arena = Arena(*(arrays[name] for name in Arena._fields))
    expect(misplaced_node(arena, np.empty(len(number), np.int64)) == FINE, "the order of nodes")


def _inside(array: NDArray[Any], low: int, high: int, what: str) -> None:
    expect(((array >= low) & (array < high)).all(), f"{what} is out of range")


def heads(pool: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the first index of each entry of a pool without gaps; raises `BadData`."""
    marks = np.zeros(len(pool), np.uint8)
    expect(mark_entries(pool, marks), "the length of an entry")
    return np.flatnonzero(marks)
