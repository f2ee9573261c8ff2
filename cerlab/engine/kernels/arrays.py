"""The decorators of kernels, and the named tuples of arrays that kernels read and write.

Everything is an integer: node ids, states, symbols, partitions, positions. A kernel that finds no
room, or a table cell that is not determinised yet, returns a status and has changed nothing: its
driver provides capacity and calls again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cerlab.kernel_cache import Kernel, jit


def kernel(function: Kernel) -> Kernel:
    """Compile a function on arrays that allocates no memory; its machine code is cached on disk.

    Reference counts are off (``_nrt``): with them, passing a few dozen arrays from one kernel to
    the next costs five times as much as the kernels. With ``NUMBA_DISABLE_JIT=1`` the function
    stays Python.
    """
    return jit(function, nogil=True, _nrt=False)


def inline(function: Kernel) -> Kernel:
    """Compile a part of a kernel inline: in a call, each array would be eight arguments."""
    return jit(function, nogil=True, _nrt=False, forceinline=True)


Bytes: TypeAlias = NDArray[np.uint8]


Int32s: TypeAlias = NDArray[np.int32]


Int64s: TypeAlias = NDArray[np.int64]


Cells: TypeAlias = NDArray[np.uint32]


Offsets: TypeAlias = NDArray[np.int32] | NDArray[np.int64]


Symbols: TypeAlias = NDArray[np.unsignedinteger[Any]]
"""Symbols in the narrowest dtype that holds all of them."""


def row_offsets(rows: Sequence[Sequence[object]]) -> Int32s:
    """Return where each row begins in the concatenation of all rows, and its length."""
    return np.cumsum([0, *map(len, rows)], dtype=np.int32)


def flat(rows: Sequence[Sequence[Sequence[Any]]], *types: Any) -> tuple[Any, ...]:
    """Return where each row of records begins, then one column for each field.

    `types` are the dtypes of the fields.

    >>> [array.tolist() for array in flat([[(1, True)], [], [(2, False)]], np.int32, np.uint8)]
    [[0, 1, 1, 2], [1, 2], [1, 0]]
    """
    records = [record for row in rows for record in row]
    columns = zip(*records, strict=True) if records else ((),) * len(types)
    return row_offsets(rows), *(np.array(c, t) for c, t in zip(columns, types, strict=True))


NO_LIMIT = np.iinfo(np.int64).max
"""Sentinel: no LIMIT."""


NONE = -1
"""Sentinel: no node, no state."""


UNKNOWN = -2
"""A cell of the table that is not determinised yet."""


DONE, NEED_CELL, NEED_ARENA, NEED_SCRATCH, NEED_POOL, NEED_STACK, FULL = range(7)
"""The status that a kernel returns: finished, or what it lacks; `FULL` is the output buffer."""


class Arena(NamedTuple):
    """The tECS nodes in arrays by id (CORE Sec. 4.1). A child has a smaller id than its parent.

    bottom: `left` is NONE. output: `position`, `left` is the next node. union: `position` is NONE,
    `right` is NONE if the window has passed everything there.
    """

    position: Int64s  # (nodes,)
    left: Int32s  # (nodes,)
    right: Int32s  # (nodes,)
    max_start: Int64s  # (nodes,): the latest start below each, as the window counts


class Table(NamedTuple):
    """The determinised machine: a row for each state and a column for each symbol seen."""

    take: Int32s  # (states, symbols)
    skip: Int32s  # (states, symbols)
    begin_take: Int32s  # (idle states, symbols)
    begin_skip: Int32s  # (idle states, symbols)
    wait: Int32s  # (idle states, symbols)
    final: Bytes  # (states,)
    silent: Int64s  # (symbols,): bit q if state q < 63 only loops by a skip and is not final


class Partitions(NamedTuple):
    """The active states and the idle state of each partition."""

    start: Int64s  # (partitions,): where each begins in the pool
    room: Int64s  # (partitions,), reserved there
    length: Int64s  # (partitions,), used
    idle: Int32s  # (partitions,)
    epoch: Int64s  # (partitions,): the last reset (CONSUME BY ANY) that each has applied
    events: Int64s  # (partitions,), events read
    active: Int64s  # (partitions,): bit q if state q < 63 is active; bit 63: others are


class Ops(NamedTuple):
    """The ops of each action: those of action a are ``first[a] .. first[a + 1]``.

    The runs in state `source` move to `target`, NONE for nowhere, and are answers if `accepts`.
    `source` is NONE for the run that starts. `marks` is the number of the mark by which they take
    the event, NONE for runs that skip it.
    """

    first: Int32s  # (actions + 1,)
    source: Int32s  # (ops,)
    marks: Int32s  # (ops,)
    target: Int32s  # (ops,)
    accepts: Bytes  # (ops,)


class Moves(NamedTuple):
    """A program: for each action, ops on a run that starts now and on runs that started earlier.

    `begin` has its ops by idle state and action, at ``idle * actions + action``. `leave` lists the
    states that an action empties, laid out as ops.
    """

    states: int
    actions: int
    begin: Ops
    move: Ops
    leave_first: Int32s  # (actions + 1,)
    leave: Int32s  # (..,)
    wait: Int32s  # (idle states * actions,)


class Limits(NamedTuple):
    """The values of LIMIT, CONSUME BY and WITHIN as integers."""

    limit: int
    """The most answers of one end."""
    consume: int
    """The effect of an answer: KEEP, RESET_PARTITION or RESET_ALL."""
    width: int
    """The width of the window: in events, if partitions count it, otherwise NONE; in a scan the
    width in time, if it is an integer."""


class CopySteps(NamedTuple):
    """The copies of latest starts by each action of a chained program, `width` for each action.

    The latest starts are in cells: `BEGINNING` has the current event, `SPARE` is for steps that
    do nothing, `NEVER` holds NONE, and state q has cell ``3 + q``. Action a copies cell
    ``source[a * width + n]`` to ``target[a * width + n]``, for n from 0 on, and accepts the runs of
    the cells ``accepting[a * accepts + n]``.
    """

    width: int
    source: Cells  # (actions * width,)
    target: Cells  # (actions * width,)
    accepts: int
    accepting: Cells  # (actions * accepts,)


BEGINNING, SPARE, NEVER = 0, 1, 2


class Scratch(NamedTuple):
    """The active states after the current event, each with its union-list."""

    state: Int32s  # (entries,)
    length: Int32s  # (entries,)
    nodes: Int32s  # (entries, longest list)


class Stack(NamedTuple):
    """The stack of an enumeration by depth-first search, kept between calls."""

    node: Int32s  # (stack,)
    depth: Int32s  # (stack,): the depth; with LIMIT, the nodes of the level above
    path: Int64s  # (longest answer,): the positions taken so far


class Tecs(NamedTuple):
    """All arrays of the general engine."""

    arena: Arena
    counters: Int64s  # (REGISTERS,)
    table: Table
    parts: Partitions
    pool: Int32s  # (entries of all partitions,)
    scratch: Scratch
    stack: Stack
    answers: Answers


class Answers(NamedTuple):
    """A buffer of complex events; answer k is ``positions[offsets[k] : offsets[k + 1]]``."""

    start: Int64s  # (answers,)
    end: Int64s  # (answers,)
    offsets: Offsets  # (answers + 1,)
    positions: Int64s  # (positions,)


(
    HEAD,
    POOL_END,
    EPOCH,
    EVENT,
    PHASE,
    TOP,
    ENTRY,
    LIST_INDEX,
    END_ANSWERS,
    ANSWERS,
    POSITIONS,
    STEPS,
    LEVEL,
    BASE,
    REGISTERS,
) = range(15)
"""Registers, int64: head of the arena, end of the pool, epoch of CONSUME BY ANY, event of the
batch, its phase, size of the stack, entry and node being enumerated, answers of this end, answers
and positions in the buffer, counted steps, positions taken on the way down, start of the nodes
below them in the stack; the number of registers."""


READING, LISTING = 0, 1
"""The phases of an event."""


KEEP, RESET_PARTITION, RESET_ALL = 0, 1, 2
"""The effects of an answer (CONSUME BY)."""
