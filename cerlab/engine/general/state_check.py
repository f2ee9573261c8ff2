"""Whether the parts of a state are those of some run, checked before a kernel sees them.

A kernel trusts its arrays: an id out of range would read foreign memory, a cycle would never end.
So every id, state and position is checked, and that nodes are ordered as Algorithm 1 makes them.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cerlab.engine.kernels.arrays import NONE, Arena
from cerlab.engine.kernels.tecs.check import FINE, mark_entries, misplaced_entry, misplaced_node
from cerlab.errors import BadData

MOST_EVENTS = 1 << 61
"""Positions are below this."""


def bad_state(why: str) -> BadData:
    """The error for bytes that are no state."""
    return BadData(
        "CER0771",
        f"these bytes are no state of an engine: {why}",
        hint="they are to be kept as ``state()`` gave them; start again from the events",
    )


def expect(holds: object, what: str) -> None:
    """Raise `BadData` if something does not hold."""
    if not holds:
        raise bad_state(what)


def check_header(header: dict[str, Any], key_length: int, *, in_time: bool) -> None:
    """The header: numbers that are numbers, keys and names in lists, a window in order."""
    read = header["read"]
    expect(_is_whole(read) and 0 <= read < MOST_EVENTS, "how many events were read")
    for name in ("keys", "states", "idle", "window"):
        expect(isinstance(header[name], list), f"'{name}' is no list")
    for key in header["keys"]:
        expect(isinstance(key, list) and len(key) == key_length, "a key of another length")
    expect(len(header["window"]) == 2, "the window")
    time = header["time"]
    is_axis = isinstance(time, list) and len(time) == 2 and isinstance(time[0], str)
    expect(is_axis if in_time else time is None, "what time is measured on")
    times, positions = header["window"]
    expect(isinstance(times, list) and isinstance(positions, list), "the window")
    expect(len(times) == len(positions), "the window")
    expect(all(map(_is_whole, positions)), "positions of the window")
    edges = [-1, *positions, read]
    expect(all(a < b for a, b in pairwise(edges)), "positions of the window")
    instants = [_instant(time) for time in times]
    expect(all(a <= b for a, b in pairwise(instants)), "times go back")


def _is_whole(value: object) -> bool:
    return type(value) is int


def _instant(time: Any) -> int | Fraction:
    if isinstance(time, list):
        fraction = len(time) == 2 and all(map(_is_whole, time)) and time[1] > 0
        expect(fraction, "a time of the window")
        return Fraction(*time)
    expect(_is_whole(time), "a time of the window")
    return int(time)


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
    """Where the entries of a pool begin that has them one after the other; raises `BadData`."""
    marks = np.zeros(len(pool), np.uint8)
    expect(mark_entries(pool, marks), "the length of an entry")
    return np.flatnonzero(marks)
