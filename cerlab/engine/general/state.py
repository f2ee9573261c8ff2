"""The state of a run as bytes, and back: versioned, documented, and no code runs when it is read.

The bytes are an uncompressed ``.npz`` archive (read without pickle). Its member ``header`` is UTF-8
JSON: ``format`` ("cerlab-engine"), ``version``, ``plan`` (the digest of the plan), ``time`` (the
attribute and the unit that a window in hours, minutes or seconds is measured on), ``read`` (events
so far), ``keys`` (of the partitions, by id), ``states`` and ``idle`` (the macro-states that the
arrays number from 0), ``window`` (instants and positions still inside it). The other members are
the arrays ``position, left, right, max_start`` of the arena, and of the partitions ``length,
idle_state, seen`` and ``pool``, which holds their entries one after the other.
"""

from __future__ import annotations

import io
import json
import zipfile
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from cerlab.automata.naming import (
    Machine,
    idle_of_name,
    name_of_idle,
    name_of_state,
    plan_digest,
    state_of_name,
)
from cerlab.errors import BadData, UsageError
from cerlab.model.clauses import TimeWindow
from cerlab.model.clock import TimeAxis, time_axis
from cerlab.model.json_values import value_from_json, value_to_json

if TYPE_CHECKING:
    from cerlab.automata.plan import Plan

FORMAT = "cerlab-engine"
VERSION = 2
ARENA = ("position", "left", "right", "max_start")
PARTITIONS = ("length", "idle_state", "seen")
"""The members that are arrays, besides ``pool``."""


def packed(
    plan: Plan,
    machine: Machine,
    time: TimeAxis | None,
    read: int,
    keys: Any,
    window: Any,
    arrays: dict[str, Any],
) -> bytes:
    """The bytes of a run; `arrays` are by the names above."""
    pool, states = _renumbered(arrays["pool"], arrays["length"])
    idles, idle_state = np.unique(arrays["idle_state"], return_inverse=True)
    times, positions = window
    header = {
        "format": FORMAT,
        "version": VERSION,
        "plan": plan_digest(plan),
        "time": _axis_to_json(time) if isinstance(plan.window, TimeWindow) else None,
        "read": read,
        "keys": [[value_to_json(value) for value in key] for key in keys],
        "states": [name_of_state(machine, q) for q in states],
        "idle": [name_of_idle(machine, int(q)) for q in idles],
        "window": [[_instant(t) for t in times], [int(p) for p in positions]],
    }
    members = {
        **arrays,
        "pool": pool,
        "idle_state": idle_state.astype(np.int32),
        "header": np.frombuffer(json.dumps(header).encode(), np.uint8),
    }
    buffer = io.BytesIO()
    np.savez(buffer, **members)
    return buffer.getvalue()


def unpacked(plan: Plan, machine: Machine, state: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """The header and the arrays of `packed` bytes, with the numbers that states have here.

    Raises `BadData` for bytes that are no state, of another version, or of another query.
    """
    try:
        with np.load(io.BytesIO(state), allow_pickle=False) as members:
            arrays = {name: members[name] for name in (*ARENA, *PARTITIONS, "pool")}
            header: dict[str, Any] = json.loads(members["header"].tobytes())
    except (OSError, ValueError, KeyError, zipfile.BadZipFile, EOFError, RuntimeError) as error:
        raise no_state(str(error)) from None
    if header.get("format") != FORMAT or header.get("version") != VERSION:
        raise BadData(
            "CER0772",
            f"a state of version {header.get('version')!r}, this engine reads {VERSION}",
            hint="start again from the events",
        )
    if header["plan"] != plan_digest(plan):
        raise BadData(
            "CER0773",
            "this state is of another query",
            hint="open the query that it was taken from",
        )
    numbers = np.array([state_of_name(machine, name) for name in header["states"]], np.int32)
    idles = np.array([idle_of_name(machine, name) for name in header["idle"]], np.int32)
    pool = arrays["pool"].copy()
    for at in _entries(pool, arrays["length"]):
        pool[at] = numbers[pool[at]]
    arrays["pool"] = pool
    arrays["idle_state"] = idles[arrays["idle_state"]]
    header["time"] = _axis_from_json(header["time"])
    header["keys"] = [tuple(map(value_from_json, key)) for key in header["keys"]]
    header["window"] = ([_read_instant(t) for t in header["window"][0]], header["window"][1])
    return header, arrays


def axis_of_state(given: TimeAxis | None, kept: TimeAxis | None) -> TimeAxis | None:
    """What a run that goes on measures time on; raises `UsageError` for another axis than before.

    Either is None where nothing is said of it.
    """
    if given is not None and kept is not None and given != kept:
        raise UsageError(
            "CER0777",
            f"this state measures time on {_axis_text(kept)}, not on {_axis_text(given)}",
            hint="leave time= and unit= out",
        )
    return given or kept


def _axis_text(time: TimeAxis) -> str:
    return f"'{time.attribute}'" + (f" in {time.unit.name.lower()}" if time.unit else "")


def _axis_to_json(time: TimeAxis | None) -> list[str | None] | None:
    return None if time is None else [time.attribute, time.unit.name if time.unit else None]


def _axis_from_json(written: list[str | None] | None) -> TimeAxis | None:
    if written is None:
        return None
    attribute, unit = written
    return time_axis(str(attribute), unit)


def no_state(why: str) -> BadData:
    """The error for bytes that `packed` has not made."""
    return BadData(
        "CER0771",
        f"these bytes are no state of an engine: {why}",
        hint="they are to be kept as ``state()`` gave them; start again from the events",
    )


def _renumbered(pool: Any, lengths: Any) -> tuple[Any, list[int]]:
    """The pool with states numbered from 0 in the order in which they come, and what they were."""
    pool = pool.copy()
    numbers: dict[int, int] = {}
    for at in _entries(pool, lengths):
        pool[at] = numbers.setdefault(int(pool[at]), len(numbers))
    return pool, list(numbers)


def _entries(pool: Any, lengths: Any) -> list[int]:
    """Where the entries of the pool begin."""
    found, at = [], 0
    end = int(lengths.sum())
    while at < end:
        found.append(at)
        at += 2 + int(pool[at + 1])
    return found


def _instant(time: Any) -> Any:
    if isinstance(time, Fraction):
        return [time.numerator, time.denominator]
    return int(time)


def _read_instant(time: Any) -> Any:
    return Fraction(*time) if isinstance(time, list) else time
