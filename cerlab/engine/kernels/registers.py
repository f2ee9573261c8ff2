"""Configurations of transducers: states, register values and sets of matches (SRT Alg. 1)."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cerlab.engine.kernels.arrays import (
    NONE,
    REGISTERS,
    Arena,
    Bytes,
    Int32s,
    Int64s,
    inline,
    kernel,
)
from cerlab.predicates.columns.ranks import KIND

Floats: TypeAlias = NDArray[np.float64]


EQ, NE, LT, LE, GT, GE = range(6)
"""Comparison operators."""


BY_STATE, BY_CONTENTS, BY_KEY = range(3)
"""The lists of each configuration: those of its state, those of equal contents, and from `BY_KEY`
on those of the slots that index its state."""


class Rules(NamedTuple):
    """The moves at each symbol: a symbol has jobs, one for each state, and a job has rules.

    A job visits the configurations of a state: all, oldest start first (`chain` is BY_STATE), or
    those in list `chain` of the event's value number `value`. If it `leaves`, they do not stay. A
    rule is a disjunction of clauses, a clause a conjunction of literals: a comparison of two
    operands, or its negation. Operands are numbered: slots, then values of the event, then
    constants. `move` of a rule is a row of the arrays below.
    """

    jobs: Int32s  # (symbols + 1,)
    state: Int32s  # (jobs,)
    chain: Int32s  # (jobs,)
    value: Int32s  # (jobs,)
    leaves: Bytes  # (jobs,)
    rules: Int32s  # (jobs + 1,)
    move: Int32s  # (rules,)
    clauses: Int32s  # (rules + 1,)
    literals: Int32s  # (clauses + 1,)
    is_negated: Bytes  # (literals,)
    operator: Bytes  # (literals,)
    left: Int32s  # (literals,)
    right: Int32s  # (literals,)
    marks: Bytes  # (moves,)
    begins: Bytes  # (moves,)
    accepts: Bytes  # (moves,)
    target: Int32s  # (moves,), NONE for nowhere
    fill: Int32s  # (moves, slots): the operand stored in each slot, or NONE


class Live(NamedTuple):
    """The live configurations in doubly linked lists, and the free indices.

    `node` is the set of their matches in the tECS, NONE for only the empty match; `latest` the node
    that was united with it last. List `chain` with bucket b begins at ``head[chain, b]``.
    """

    state: Int32s  # (room,)
    node: Int32s  # (room,)
    latest: Int32s  # (room,)
    slots: Int64s  # (room, slots)
    next: Int32s  # (chains, room)
    previous: Int32s  # (chains, room)
    head: Int32s  # (chains, buckets): a power of two, at least the number of states
    tail: Int32s  # (chains, buckets)
    free: Int32s  # (room,)
    key_slot: Int32s  # (chains, states): the slot whose value chooses the bucket, or NONE


class Arrivals(NamedTuple):
    """The configurations that an event adds and removes, collected before they are applied."""

    move: Int32s  # (arrivals,)
    node: Int32s  # (arrivals,)
    slots: Int64s  # (arrivals, slots)
    leaving: Int32s  # (room of the configurations,)


class NodeMemo(NamedTuple):
    """Cached operations on nodes; an entry is valid for one attempt to read an event."""

    extension_at: Int64s  # (nodes,)
    extension: Int32s  # (nodes,)
    union_at: Int64s  # (nodes,)
    with_right: Int32s  # (nodes,)
    union: Int32s  # (nodes,)
    matches_at: Int64s  # (nodes,)
    matches: Floats  # (nodes,)


class Configurations(NamedTuple):
    """All configurations, their sets of matches, and the changes by the current event."""

    live: Live
    arrivals: Arrivals
    memo: NodeMemo
    empty: Int64s  # (1, slots): the stored values of the first configuration


class Events(NamedTuple):
    """The relevant events in order, with the codes of their values."""

    symbol: NDArray[np.integer[Any]]  # (events,)
    values: Int64s  # (events, values)
    position: Int64s  # (events,), in the stream
    order: Int64s  # (events,), as windows count
    lowest: Int64s  # (events,): the lowest start order in the window
    constants: Int64s  # (constants,)
    lists: Bytes  # (events,): whether to list the answers that end here


FREE, ARRIVALS, DEPARTURES, ATTEMPT, HEAD_BEFORE, BOTTOM, VISITS, ALL = range(
    REGISTERS, REGISTERS + 8
)
"""Further registers after those of `arrays`: free numbers, arrivals, departures, attempts at events
so far, head of the arena before this attempt, the bottom node of the event, counted visits of
configurations; the number of registers."""


@inline
def compare(operator: int, left: int, right: int) -> bool:
    """Return ``left op right`` for two codes; False if the values cannot be compared."""
    # comparing with NULL, or values of different kinds, is false even for `!=`
    if left < 0 or right < 0 or (left >> KIND) != (right >> KIND):
        return False
    if operator == EQ:
        return left == right
    if operator == LT:
        return left < right
    if operator == LE:
        return left <= right
    if operator == GT:
        return left > right
    if operator == GE:
        return left >= right
    return left != right


@inline
def operand(contents: Int64s, events: Events, c: int, e: int, number: int) -> int:
    """Return the code of an operand: a stored value, one of event e, or a constant; -1 for none."""
    if number == NONE:
        return NONE
    slots, values = contents.shape[1], events.values.shape[1]
    if number < slots:
        return contents[c, number]
    if number < slots + values:
        return events.values[e, number - slots]
    return events.constants[number - slots - values]


@inline
def guard_holds(rules: Rules, contents: Int64s, events: Events, c: int, e: int, rule: int) -> bool:
    """Return whether ``(t, v) |= guard``: all literals of some clause are true (SRT Def. 13)."""
    for clause in range(rules.clauses[rule], rules.clauses[rule + 1]):
        holds = True
        for n in range(rules.literals[clause], rules.literals[clause + 1]):
            left = operand(contents, events, c, e, rules.left[n])
            right = operand(contents, events, c, e, rules.right[n])
            # false: the comparison holds and is negated, or it does not hold and is not negated
            if compare(rules.operator[n], left, right) == (rules.is_negated[n] == 1):
                holds = False
                break
        if holds:
            return True
    return False


HASH_MASK = (1 << 31) - 1
"""Hashes are below this, so that no product overflows."""


@inline
def key_bucket(live: Live, state: int, key: int) -> int:
    """Return the bucket of the configurations in a state with the value `key` in one slot."""
    return (((state + 1) * 1_000_003 + key) & HASH_MASK) & (live.head.shape[1] - 1)


@inline
def contents_bucket(live: Live, state: int, slots: Int64s, row: int) -> int:
    """Return the bucket of the configurations in a state with all values ``slots[row]``."""
    code = state + 1
    for s in range(slots.shape[1]):
        code = (code * 1_000_003 + slots[row, s] + 1) & HASH_MASK
    return code & (live.head.shape[1] - 1)


@inline
def bucket_of(live: Live, c: int, chain: int) -> int:
    """Return the bucket of a configuration in list `chain`; NONE if the list excludes its state."""
    state = live.state[c]
    if chain == BY_STATE:
        return state
    if chain == BY_CONTENTS:
        return contents_bucket(live, state, live.slots, c)
    slot = live.key_slot[chain, state]
    return NONE if slot == NONE else key_bucket(live, state, live.slots[c, slot])


@inline
def link(live: Live, c: int) -> None:
    """Append a configuration to all lists that may contain it."""
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
    """Remove a configuration from all lists that contain it."""
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
def forget(live: Live, counters: Int64s, c: int) -> None:
    """Delete a configuration and free its index."""
    unlink(live, c)
    live.free[counters[FREE]] = c
    counters[FREE] += 1


@inline
def find(live: Live, state: int, slots: Int64s, row: int) -> int:
    """Return the configuration in a state with the values ``slots[row]``, or NONE."""
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
def create(live: Live, counters: Int64s, state: int, slots: Int64s, row: int, node: int) -> int:
    """Create a configuration in a state with the values ``slots[row]``; one must be free."""
    counters[FREE] -= 1
    c = live.free[counters[FREE]]
    live.state[c] = state
    live.node[c] = node
    live.latest[c] = node
    for s in range(slots.shape[1]):
        live.slots[c, s] = slots[row, s]
    link(live, c)
    return c


@kernel
def sweep(live: Live, counters: Int64s, arena: Arena, lowest: int) -> None:
    """Delete the configurations whose latest start is outside the window."""
    for state in range(live.key_slot.shape[1]):
        c = live.head[BY_STATE, state]
        while c != NONE:
            after = live.next[BY_STATE, c]
            node = live.node[c]
            if node != NONE and arena.max_start[node] < lowest:
                forget(live, counters, c)
            c = after


@kernel
def restart(live: Live, counters: Int64s, empty: Int64s) -> None:
    """Delete all configurations and create the initial one: state 0, empty slots, no mark."""
    for state in range(live.key_slot.shape[1]):
        while live.head[BY_STATE, state] != NONE:
            forget(live, counters, live.head[BY_STATE, state])
    create(live, counters, 0, empty, 0, NONE)


@kernel
def move_over(live: Live, counters: Int64s, into: Live, room: Int64s) -> None:
    """Copy all configurations into larger, empty arrays, whose counters are in `room`."""
    for state in range(live.key_slot.shape[1]):
        c = live.head[BY_STATE, state]
        while c != NONE:
            create(into, room, state, live.slots, c, live.node[c])
            c = live.next[BY_STATE, c]
    counters[FREE] = room[FREE]
