"""Configurations in lists: found by state, by what they hold, by the value of one slot."""

from __future__ import annotations

from cerlab.engine.kernels.arrays import NONE, Arena, Int64s
from cerlab.engine.kernels.compiled import inline, kernel
from cerlab.engine.kernels.registers.arrays import BY_CONTENTS, BY_STATE, FREE, Live

HASH_MASK = (1 << 31) - 1
"""Hashes are below this, so that no product overflows."""


@inline
def key_bucket(live: Live, state: int, key: int) -> int:
    """The bucket of a state and the value of one slot."""
    return (((state + 1) * 1_000_003 + key) & HASH_MASK) & (live.head.shape[1] - 1)


@inline
def contents_bucket(live: Live, state: int, slots: Int64s, row: int) -> int:
    """The bucket of a state and the values ``slots[row]``."""
    code = state + 1
    for s in range(slots.shape[1]):
        code = (code * 1_000_003 + slots[row, s] + 1) & HASH_MASK
    return code & (live.head.shape[1] - 1)


@inline
def bucket_of(live: Live, c: int, chain: int) -> int:
    """The bucket that a configuration has in a list; NONE if it is in no such list."""
    state = live.state[c]
    if chain == BY_STATE:
        return state
    if chain == BY_CONTENTS:
        return contents_bucket(live, state, live.slots, c)
    slot = live.key_slot[chain, state]
    return NONE if slot == NONE else key_bucket(live, state, live.slots[c, slot])


@inline
def link(live: Live, c: int) -> None:
    """Put a configuration at the end of its lists."""
    for chain in range(live.next.shape[0]):
        bucket = bucket_of(live, c, chain)
        if bucket != NONE:
            last = live.tail[chain, bucket]
            live.previous[chain, c] = last
            live.next[chain, c] = NONE
            if last == NONE:
                live.head[chain, bucket] = c
            else:
                live.next[chain, last] = c
            live.tail[chain, bucket] = c


@inline
def unlink(live: Live, c: int) -> None:
    """Take a configuration out of its lists."""
    for chain in range(live.next.shape[0]):
        bucket = bucket_of(live, c, chain)
        if bucket != NONE:
            before, after = live.previous[chain, c], live.next[chain, c]
            if before == NONE:
                live.head[chain, bucket] = after
            else:
                live.next[chain, before] = after
            if after == NONE:
                live.tail[chain, bucket] = before
            else:
                live.previous[chain, after] = before


@inline
def forget(live: Live, reg: Int64s, c: int) -> None:
    """Remove a configuration."""
    unlink(live, c)
    live.free[reg[FREE]] = c
    reg[FREE] += 1


@inline
def find(live: Live, state: int, slots: Int64s, row: int) -> int:
    """The configuration of a state with the values ``slots[row]``, or NONE."""
    c = live.head[BY_CONTENTS, contents_bucket(live, state, slots, row)]
    while c != NONE:
        same = live.state[c] == state
        for s in range(slots.shape[1]):
            same = same and live.slots[c, s] == slots[row, s]
        if same:
            return c
        c = live.next[BY_CONTENTS, c]
    return NONE


@inline
def create(live: Live, reg: Int64s, state: int, slots: Int64s, row: int, node: int) -> int:
    """A configuration with the values ``slots[row]``; there must be room."""
    reg[FREE] -= 1
    c = live.free[reg[FREE]]
    live.state[c] = state
    live.node[c] = node
    live.latest[c] = node
    for s in range(slots.shape[1]):
        live.slots[c, s] = slots[row, s]
    link(live, c)
    return c


@kernel
def sweep(live: Live, reg: Int64s, arena: Arena, lowest: int) -> None:
    """Remove the configurations whose latest start is out of the window."""
    for state in range(live.key_slot.shape[1]):
        c = live.head[BY_STATE, state]
        while c != NONE:
            after = live.next[BY_STATE, c]
            node = live.node[c]
            if node != NONE and arena.max_start[node] < lowest:
                forget(live, reg, c)
            c = after


@kernel
def restart(live: Live, reg: Int64s, empty: Int64s) -> None:
    """Only the first configuration: state 0, the slots as in ``empty[0]``, no mark."""
    for state in range(live.key_slot.shape[1]):
        while live.head[BY_STATE, state] != NONE:
            forget(live, reg, live.head[BY_STATE, state])
    create(live, reg, 0, empty, 0, NONE)


@kernel
def move_over(live: Live, reg: Int64s, into: Live, room: Int64s) -> None:
    """Copy all configurations into empty arrays with more room; `room` are its registers."""
    for state in range(live.key_slot.shape[1]):
        c = live.head[BY_STATE, state]
        while c != NONE:
            create(into, room, state, live.slots, c, live.node[c])
            c = live.next[BY_STATE, c]
    reg[FREE] = room[FREE]
