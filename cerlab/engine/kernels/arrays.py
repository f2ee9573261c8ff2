"""The arrays that kernels work on. Capacity and growth are the driver's affair.

Everything is an integer: node ids, states, symbols, partitions, positions. A kernel that finds no
room, or a cell of the table that is not determinised yet, returns a status and has changed nothing.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

Ints: TypeAlias = Any
"""A NumPy array; the dtype is given with each field."""

NONE = -1
"""No node, no state."""

UNKNOWN = -2
"""A cell of the table that is not determinised yet."""

DONE, NEED_CELL, NEED_ARENA, NEED_SCRATCH, NEED_POOL, NEED_STACK, FULL = range(7)
"""What a kernel returns: finished, or what it lacks; `FULL` is the output buffer."""


class Arena(NamedTuple):
    """The nodes of the tECS, by id (CORE Sec. 4.1). A child has a smaller id than its parent.

    bottom: `left` is NONE. output: `position`, `left` is the next node. union: `position` is NONE,
    `right` NONE if nothing there is inside the window any more.
    """

    position: Ints  # int64 (nodes,)
    left: Ints  # int32 (nodes,)
    right: Ints  # int32 (nodes,)
    max_start: Ints  # int64 (nodes,), in the order that the window counts


class Table(NamedTuple):
    """The machine, one row per state and one column per symbol; cells may be UNKNOWN."""

    take: Ints  # int32 (states, symbols)
    skip: Ints  # int32 (states, symbols)
    begin_take: Ints  # int32 (idle states, symbols)
    begin_skip: Ints  # int32 (idle states, symbols)
    wait: Ints  # int32 (idle states, symbols)
    final: Ints  # uint8 (states,)
    silent: Ints  # int64 (symbols,): bit q < 63 if state q is not final and only loops by a skip


class Partitions(NamedTuple):
    """One row per partition: where its active states are in the pool, and its idle state."""

    start: Ints  # int64 (partitions,), offset in the pool
    room: Ints  # int64 (partitions,), reserved there
    length: Ints  # int64 (partitions,), used
    idle: Ints  # int32 (partitions,)
    epoch: Ints  # int64 (partitions,), when it was last reset
    seen: Ints  # int64 (partitions,), events read
    active: Ints  # int64 (partitions,): bit q < 63 if state q is active, bit 63 for all others


class Ops(NamedTuple):
    """What the actions of a program do: action a has the ops ``first[a] .. first[a + 1]``.

    The runs in state `source` go on in `target`, NONE for nowhere, taking the event if `marks`, and
    are answers if `accepts`. `source` is NONE for the run that starts.
    """

    first: Ints  # int32 (actions + 1,)
    source: Ints  # int32 (ops,)
    target: Ints  # int32 (ops,)
    accepts: Ints  # uint8 (ops,)
    marks: Ints  # uint8 (ops,)


class CopySteps(NamedTuple):
    """What the actions of a chained program do to the latest starts, each in as many steps.

    The latest starts are in cells: `BEGINNING` has the event being read, `SPARE` is for steps that
    do nothing, `NEVER` holds NONE, and state q has cell ``3 + q``. Action a copies cell
    ``source[a * width + n]`` to ``target[a * width + n]``, for n from 0 on, and accepts the runs of
    the cells ``accepted[a * accepts + n]``.
    """

    width: int
    source: Ints  # uint32 (actions * width,)
    target: Ints  # uint32 (actions * width,)
    accepts: int
    accepted: Ints  # uint32 (actions * accepts,)


BEGINNING, SPARE, NEVER = 0, 1, 2


class Scratch(NamedTuple):
    """The active states after the event being read: a union-list each."""

    state: Ints  # int32 (entries,)
    length: Ints  # int32 (entries,)
    nodes: Ints  # int32 (entries, longest list)


class Stack(NamedTuple):
    """The depth-first search of an enumeration, kept between calls."""

    node: Ints  # int32 (stack,)
    depth: Ints  # int32 (stack,)
    path: Ints  # int64 (longest answer,), the positions taken from the root down


class Answers(NamedTuple):
    """A buffer of complex events: answer k has ``positions[offsets[k]:offsets[k + 1]]``."""

    start: Ints  # int64 (answers,)
    end: Ints  # int64 (answers,)
    offsets: Ints  # int64 (answers + 1,)
    positions: Ints  # int64 (positions,)


(
    HEAD,
    POOL_END,
    EPOCH,
    EVENT,
    PHASE,
    TOP,
    ENTRY,
    LIST_INDEX,
    FOUND,
    LISTED,
    TAKEN,
    STEPS,
    REGISTERS,
) = range(13)
"""Registers, int64: head of the arena, end of the pool, epoch of CONSUME BY ANY, event of the
batch, what is being done with it, size of the stack, entry and node being enumerated, answers of
this end, answers and positions in the buffer, steps counted; how many registers there are."""

READING, LISTING = 0, 1
"""What is being done with an event."""

KEEP, RESET_PARTITION, RESET_ALL = 0, 1, 2
"""What an answer consumes."""
