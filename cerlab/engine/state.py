"""Saved states of the general engine, and the checks that protect kernels from damaged arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from cerlab.engine import codec
from cerlab.engine.codec import AXIS, Layout
from cerlab.engine.instants import list_of
from cerlab.engine.kernels.arrays import NONE, Arena
from cerlab.engine.kernels.enumeration import FINE, mark_entries, misplaced_entry, misplaced_node
from cerlab.engine.state_checks import VALUES, check_window, expect, is_inside, reading_state
from cerlab.model.clauses import TimeWindow
from cerlab.model.stream import TimeAxis
from cerlab.predicates.columns.key_codes import KeyCodes

if TYPE_CHECKING:
    from cerlab.automata.plan import Plan

NODES = {
    "position": "<i8 nodes",
    "left": "<i4 nodes",
    "right": "<i4 nodes",
    "max_start": "<i8 nodes",
}
"""The arena."""

TECS = NODES | {
    "length": "<i8 partitions",
    "idle_state": "<i4 partitions",
    "seen": "<i8 partitions",
    "pool": "<i4 pool",
}
"""The arena; for each partition the length of its entries, its idle state and its number of events;
and the entries of all partitions."""

NAMES = {"states": tuple, "idle": tuple}

ENGINE = Layout(
    "cerlab-engine", 5, {"time": AXIS, "read": int, "keys": tuple, **NAMES, "window": tuple}, TECS
)
"""The saved values: the axis of a window in hours, minutes or seconds; the number of events; the
keys of the partitions; the names of the states and idle states that the arrays number from 0; the
instants and the positions of the events inside the window."""


def state_to_bytes(
    plan: Plan,
    machine: Machine,
    time: TimeAxis | None,
    read: int,
    keys: Any,
    window: Any,
    arrays: Mapping[str, Any],
) -> bytes:
    """Return the saved state of a run as bytes; `arrays` are those named in `TECS`."""
    names, arrays = with_names(machine, arrays)
    times, positions = window
    values = {
        "time": time if isinstance(plan.window, TimeWindow) else None,
        "read": read,
        "keys": keys,
        **names,
        "window": (list_of(times), positions.tolist()),
    }
    return codec.write(ENGINE, plan_digest(plan), values, arrays)


def state_from_bytes(
    plan: Plan, machine: Machine, state: bytes
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the values and arrays of a saved state, with this machine's numbers for macro-states.

    Raises `BadData` for bytes that are not a state, of another version, or of another query.
    """
    values, arrays = codec.read(ENGINE, plan_digest(plan), state)
    with reading_state():
        _check(values, arrays, in_time=isinstance(plan.window, TimeWindow))
        return values, with_numbers(machine, values, arrays)


def _check(values: Mapping[str, Any], arrays: Mapping[str, Any], *, in_time: bool) -> None:
    """Raise `BadData`, or another error, if the values of a saved state are inconsistent."""
    read, keys = values["read"], values["keys"]
    expect(len(keys) == len(arrays["length"]), "a number of partitions that is not that of keys")
    expect((values["time"] is not None) == in_time, "what time is measured on")
    times, positions = values["window"]
    check_window(times, positions, read)
    expect(is_inside(arrays["seen"], 0, read + 1), "how many events a partition has seen")
    check_nodes(arrays, read, read)


def number_keys(known: KeyCodes | None, keys: Sequence[Any]) -> None:
    """Register the partition keys of a saved state as numbers 0, 1, ..

    Raises `BadData` and others for equal or invalid keys.
    """
    attributes = () if known is None else known.attributes
    expect({*map(type, keys)} <= {tuple}, "a key")
    expect({*map(len, keys)} <= {len(attributes)}, "a key of another length")
    if known is not None and keys:
        columns = [list(column) for column in zip(*keys, strict=True)]
        expect(all({*map(type, column)} <= VALUES for column in columns), "the value of a key")
        codes = known.codes(dict(zip(attributes, columns, strict=True)), len(keys))
        expect(codes.tolist() == list(range(len(keys))), "equal keys")


def with_names(
    machine: Machine, arrays: Mapping[str, Any]
) -> tuple[dict[str, list[Any]], dict[str, Any]]:
    """Replace macro-states' numbers in arrays by indices into lists of their names; return both.

    The names are under ``states`` and ``idle``.
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
    """Replace indices into lists of names, in saved arrays, by this machine's numbers of states.

    Raises `BadData` and others for arrays that `check_pool` refuses.
    """
    expect(is_inside(arrays["idle_state"], 0, len(names["idle"])), "an idle state")
    check_pool(arrays, len(names["states"]))
    numbers = np.array([state_of_name(machine, name) for name in names["states"]], np.int32)
    # two entries of one state would produce its answers twice
    expect(len(np.unique(numbers)) == len(numbers), "equal states")
    idles = np.array([idle_of_name(machine, name) for name in names["idle"]], np.int32)
    pool, places = arrays["pool"].copy(), heads(arrays["pool"])
    pool[places] = numbers[pool[places]]
    return {**arrays, "pool": pool, "idle_state": idles[arrays["idle_state"]]}


def check_pool(arrays: Mapping[str, NDArray[Any]], states: int) -> None:
    """Raise `BadData` if the union-lists of partitions in a saved state are invalid."""
    pool, lengths = arrays["pool"], arrays["length"]
    expect(is_inside(lengths, 0, len(pool) + 1), "the length of a partition")
    expect(sum(lengths.tolist()) == len(pool), "the lengths of the partitions")
    heads(pool)
    wrong = misplaced_entry(arrays["max_start"], lengths, pool, states)
    expect(wrong == FINE, f"the entries of partition {wrong}")


def check_nodes(arrays: Mapping[str, NDArray[Any]], starts: int, read: int) -> NDArray[np.int64]:
    """Raise `BadData` for an invalid tECS; return the latest position at or below each node.

    Children must come before parents, and positions and starts in order. NONE: no position.
    """
    number = np.arange(len(arrays["position"]))
    expect(is_inside(arrays["position"], NONE, read), "the position of a node")
    expect(is_inside(arrays["max_start"], 0, starts), "the start of a node")
    for side in ("left", "right"):
        child = arrays[side]
        expect(((child >= NONE) & (child < number)).all(), "a node that is not after its children")
    arena = Arena(*(arrays[name] for name in Arena._fields))
    latest = np.empty(len(number), np.int64)
    expect(misplaced_node(arena, latest) == FINE, "the order of nodes")
    return latest


def heads(pool: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return where each entry of a saved pool begins; raise `BadData` if the pool is invalid."""
    marks = np.zeros(len(pool), np.uint8)
    expect(mark_entries(pool, marks), "the length of an entry")
    return np.flatnonzero(marks)
