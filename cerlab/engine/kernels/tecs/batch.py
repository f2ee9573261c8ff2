"""All events of a batch: skip what changes nothing, advance, list, consume (CORE Alg. 1)."""

from __future__ import annotations

from cerlab.engine.kernels.arrays import (
    DONE,
    ENTRY,
    EPOCH,
    EVENT,
    FOUND,
    KEEP,
    LIST_INDEX,
    LISTING,
    NONE,
    PHASE,
    READING,
    RESET_ALL,
    TOP,
    Answers,
    Arena,
    Ints,
    Partitions,
    Scratch,
    Stack,
    Table,
)
from cerlab.engine.kernels.compiled import inlined, kernel
from cerlab.engine.kernels.tecs.advance import advance
from cerlab.engine.kernels.tecs.enumeration import enumerate_event


@kernel
def read_batch(
    arena: Arena,
    reg: Ints,
    table: Table,
    parts: Partitions,
    pool: Ints,
    scratch: Scratch,
    stack: Stack,
    answers: Answers,
    symbols: Ints,
    codes: Ints,
    positions: Ints,
    lowest_starts: Ints,
    restarts: Ints,
    idles: Ints,
    unlisted: int,
    width: int,
    limit: int,
    consume: int,
    idle: int,
) -> int:
    """Read the events from register EVENT on; DONE, or what is lacking at that event.

    `symbols`, `codes` (the partition, NONE for no partition) and `positions` have shape (events,).
    The window allows starts from ``lowest_starts[i]`` on or, if `width` is not NONE, those that are
    at most `width` events before in the same partition. Before an event with ``restarts[i]`` all
    is as in the beginning, but for the idle state, which is ``idles[i]``; both may be empty. The
    answers of the events before `unlisted` are not listed and consume nothing.
    """
    while True:
        if reg[PHASE] == READING:
            reg[EVENT] = next_that_matters(reg, table, parts, symbols, codes, restarts, idles, idle)
        i = reg[EVENT]
        if i == symbols.shape[0]:
            return DONE
        p = codes[i]
        if reg[PHASE] == READING:
            seen = parts.seen[p]
            order, lowest = positions[i], lowest_starts[i]
            if width != NONE:
                order, lowest = seen, seen - width
            status = advance(
                arena, reg, table, parts, pool, scratch, p, symbols[i], positions[i], order, lowest
            )
            if status != DONE:
                return status
            parts.seen[p] = seen + 1
            if i < unlisted:
                reg[EVENT] = i + 1
                continue
            reg[PHASE] = LISTING
            reg[ENTRY] = parts.start[p]
            reg[LIST_INDEX] = reg[TOP] = reg[FOUND] = 0
        lowest = lowest_starts[i] if width == NONE else parts.seen[p] - 1 - width
        status = enumerate_event(
            arena, reg, table, parts, pool, stack, answers, p, positions[i], lowest, limit
        )
        if status != DONE:
            return status
        if reg[FOUND] > 0 and consume != KEEP:
            if consume == RESET_ALL:
                reg[EPOCH] += 1
            else:
                parts.length[p] = 0
                parts.active[p] = 0
                parts.idle[p] = idle
        reg[PHASE] = READING
        reg[EVENT] = i + 1


@inlined
def next_that_matters(
    reg: Ints,
    table: Table,
    parts: Partitions,
    symbols: Ints,
    codes: Ints,
    restarts: Ints,
    idles: Ints,
    idle: int,
) -> int:
    """The next event from register EVENT on that some run, or the idle state, does not just skip.

    The events before it are read on the way: they change nothing but how many there were. One that
    needs an unknown cell of the table matters. Its partition is reset if all were since.
    """
    active, silent, seen, epoch = parts.active, table.silent, parts.seen, parts.epoch
    by_partition, length = parts.idle, parts.length
    begin_take, begin_skip, wait = table.begin_take, table.begin_skip, table.wait
    now = reg[EPOCH]
    for i in range(reg[EVENT], symbols.shape[0]):
        p = codes[i]
        fresh = idle
        if restarts.shape[0] and restarts[i]:
            restarts[i] = 0
            now += 1
            reg[EPOCH] = now
            if idles.shape[0]:
                fresh = idles[i]
        if p == NONE:
            continue
        if epoch[p] != now:
            epoch[p] = now
            length[p] = 0
            active[p] = 0
            by_partition[p] = fresh
        s, w = symbols[i], by_partition[p]
        if (
            (active[p] & ~silent[s]) != 0
            or begin_take[w, s] != NONE
            or begin_skip[w, s] != NONE
            or wait[w, s] != w
        ):
            return i
        seen[p] += 1
    return symbols.shape[0]
