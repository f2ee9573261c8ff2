"""All events of a batch: skip what changes nothing, advance, list, consume (CORE Alg. 1)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cerlab.engine.kernels import arrays as k
from cerlab.engine.kernels.arrays import Bytes, Int32s, Int64s, Symbols
from cerlab.engine.kernels.compiled import inline, kernel
from cerlab.engine.kernels.tecs.advance import advance
from cerlab.engine.kernels.tecs.enumeration import enumerate_event

NO_RESTARTS = np.zeros(0, np.uint8)
NO_IDLE_STATES = np.zeros(0, np.int32)


class Events(NamedTuple):
    """A batch of events; `restarts` and `idles` may be empty.

    Before an event with ``restarts[i]`` all is as in the beginning, but for the idle state, which
    is ``idles[i]``. The answers of the events before `report_from` are not listed, and consume
    nothing.
    """

    symbols: Symbols  # (events,)
    codes: NDArray[np.signedinteger[Any]]  # (events,), the partition, NONE for no partition
    positions: Int64s  # (events,)
    lowest: Int64s  # (events,), the first start that the window allows, unless partitions count
    restarts: Bytes = NO_RESTARTS  # (events,)
    idles: Int32s = NO_IDLE_STATES  # (events,)
    report_from: int = 0


@kernel
def read_batch(tecs: k.Tecs, events: Events, limits: k.Limits, idle: int) -> int:
    """Read the events from register EVENT on; DONE, or what is lacking at that event.

    The window allows starts from ``events.lowest[i]`` on or, if `limits.width` is not NONE, those
    that are at most so many events before in the same partition. `idle` is the idle state at first.
    """
    reg, parts, width = tecs.reg, tecs.parts, limits.width
    while True:
        if reg[k.PHASE] == k.READING:
            reg[k.EVENT] = next_that_matters(tecs, events, idle)
        i = reg[k.EVENT]
        if i == events.symbols.shape[0]:
            return k.DONE
        p, position = events.codes[i], events.positions[i]
        if reg[k.PHASE] == k.READING:
            count = parts.events[p]
            order, lowest = position, events.lowest[i]
            if width != k.NONE:
                order, lowest = count, count - width
            status = advance(tecs, p, events.symbols[i], position, order, lowest)
            if status != k.DONE:
                return status
            parts.events[p] = count + 1
            if i < events.report_from:
                reg[k.EVENT] = i + 1
                continue
            reg[k.PHASE] = k.LISTING
            reg[k.ENTRY] = parts.start[p]
            reg[k.LIST_INDEX] = reg[k.TOP] = reg[k.END_ANSWERS] = 0
        lowest = events.lowest[i] if width == k.NONE else parts.events[p] - 1 - width
        status = enumerate_event(tecs, p, position, lowest, limits.limit)
        if status != k.DONE:
            return status
        if reg[k.END_ANSWERS] > 0 and limits.consume != k.KEEP:
            if limits.consume == k.RESET_ALL:
                reg[k.EPOCH] += 1
            else:
                parts.length[p] = 0
                parts.active[p] = 0
                parts.idle[p] = idle
        reg[k.PHASE] = k.READING
        reg[k.EVENT] = i + 1


@inline
def next_that_matters(tecs: k.Tecs, events: Events, idle: int) -> int:
    """The next event from register EVENT on that some run, or the idle state, does not just skip.

    The events before it are read on the way: they change nothing but how many there were. One that
    needs an unknown cell of the table matters. Its partition is reset if all were since.
    """
    reg, table, parts = tecs.reg, tecs.table, tecs.parts
    symbols, codes, restarts, idles = events.symbols, events.codes, events.restarts, events.idles
    active, silent, counts, epoch = parts.active, table.silent, parts.events, parts.epoch
    by_partition, length = parts.idle, parts.length
    begin_take, begin_skip, wait = table.begin_take, table.begin_skip, table.wait
    now = reg[k.EPOCH]
    for i in range(reg[k.EVENT], symbols.shape[0]):
        p = codes[i]
        fresh = idle
        if restarts.shape[0] and restarts[i]:
            restarts[i] = 0
            now += 1
            reg[k.EPOCH] = now
            if idles.shape[0]:
                fresh = idles[i]
        if p == k.NONE:
            continue
        if epoch[p] != now:
            epoch[p] = now
            length[p] = 0
            active[p] = 0
            by_partition[p] = fresh
        s, w = symbols[i], by_partition[p]
        if (
            (active[p] & ~silent[s]) != 0
            or begin_take[w, s] != k.NONE
            or begin_skip[w, s] != k.NONE
            or wait[w, s] != w
        ):
            return i
        counts[p] += 1
    return symbols.shape[0]
