"""Transducers with registers on a stream: each event moves configurations and lists answers.

An event is first followed, which changes only the head of the arena, and then settled; so if room
is lacking, it can be followed again.
"""

from __future__ import annotations

from cerlab.engine.kernels import arrays as k
from cerlab.engine.kernels import registers as r
from cerlab.engine.kernels.arrays import NONE, Arena, Int64s, inline, kernel
from cerlab.engine.kernels.enumeration import enumerate_event
from cerlab.engine.kernels.registers import (
    ATTEMPT,
    BOTTOM,
    Floats,
    NodeMemo,
    create,
    find,
    forget,
    guard_holds,
    key_bucket,
    link,
    operand,
    restart,
    unlink,
)
from cerlab.engine.kernels.tecs import bottom, extend, is_union, join, union

ENTRY_HEADER = 2
"""A list of nodes in the pool begins with a state and its length."""


@kernel
def read_events(
    rules: r.Rules,
    events: r.Events,
    configurations: r.Configurations,
    tecs: k.Tecs,
    limits: k.Limits,
    limit: int | None,
    total: r.Floats | None,
) -> int:
    """Read the events from ``counters[EVENT]`` on; return DONE or a NEED status.

    Another call continues.

    The accepting nodes of an event are one list in `tecs.pool`, of one partition whose state is
    final. With a `total`, float64 (1,), answers are counted and not listed. `limit` is the most
    answers of one end, None for all.
    """
    counters, pool = tecs.counters, tecs.pool
    while counters[k.EVENT] < events.symbol.shape[0]:
        e = counters[k.EVENT]
        if counters[k.PHASE] == k.READING:
            status = follow(rules, events, configurations, tecs, e)
            if status == k.DONE:
                status = room_to_settle(tecs)
            if status != k.DONE:
                # discard the nodes made in this attempt; nothing refers to them yet
                counters[k.HEAD] = counters[r.HEAD_BEFORE]
                return status
            settle(rules, configurations, tecs, events.lowest[e])
            tecs.parts.length[0] = ENTRY_HEADER + pool[1]
            counters[k.ENTRY] = counters[k.LIST_INDEX] = counters[k.END_ANSWERS] = counters[
                k.TOP
            ] = 0
            counters[k.PHASE] = k.LISTING
        if pool[1] > 0:
            end, lowest = events.position[e], events.lowest[e]
            if total is not None:  # resolved by Numba from the type: only one branch is compiled
                status = count_event(tecs, configurations.memo, lowest, limit, total)
            elif events.lists[e]:
                status = enumerate_event(tecs, 0, end, lowest, limit)
            if status != k.DONE:
                return status
            if limits.consume != k.KEEP and counters[k.END_ANSWERS] > 0:
                restart(configurations.live, counters, configurations.empty)
        counters[k.PHASE] = k.READING
        counters[k.EVENT] += 1
    return k.DONE


@inline
def follow(
    rules: r.Rules, events: r.Events, configurations: r.Configurations, tecs: k.Tecs, e: int
) -> int:
    """Find the configurations that an event adds and removes (SRT Alg. 1)."""
    live, arena, counters = configurations.live, tecs.arena, tecs.counters
    counters[r.ATTEMPT] += 1
    counters[r.HEAD_BEFORE] = counters[k.HEAD]
    counters[r.ARRIVALS] = counters[r.DEPARTURES] = 0
    counters[r.BOTTOM] = k.NONE
    symbol = events.symbol[e]
    for job in range(rules.jobs[symbol], rules.jobs[symbol + 1]):
        state, chain = rules.state[job], rules.chain[job]
        bucket, slot, key = state, k.NONE, k.NONE
        if chain != r.BY_STATE:
            slot, key = live.key_slot[chain, state], events.values[e, rules.value[job]]
            if key == k.NONE:
                continue
            bucket = key_bucket(live, state, key)
        c = live.head[chain, bucket]
        while c != k.NONE:
            # read first, because `visit` may remove c from its lists
            after = live.next[chain, c]
            counters[r.VISITS] += 1
            if chain == r.BY_STATE or (live.state[c] == state and live.slots[c, slot] == key):
                node = live.node[c]
                if node != k.NONE and arena.max_start[node] < events.lowest[e]:
                    forget(live, counters, c)
                else:
                    status = visit(rules, events, configurations, tecs, e, job, c)
                    if status != k.DONE:
                        return status
            c = after
    return k.DONE


@inline
def visit(
    rules: r.Rules,
    events: r.Events,
    configurations: r.Configurations,
    tecs: k.Tecs,
    e: int,
    job: int,
    c: int,
) -> int:
    """Add an arrival for each rule whose guard holds on the configuration and the event."""
    live, arrivals, arena, counters = (
        configurations.live,
        configurations.arrivals,
        tecs.arena,
        tecs.counters,
    )
    for rule in range(rules.rules[job], rules.rules[job + 1]):
        if not guard_holds(rules, live.slots, events, c, e, rule):
            continue
        if counters[r.ARRIVALS] == arrivals.move.shape[0]:
            return k.NEED_SCRATCH
        if counters[k.HEAD] + 2 > arena.left.shape[0]:
            return k.NEED_ARENA
        move = rules.move[rule]
        node = live.node[c]
        if rules.begins[move]:
            node = singleton(arena, counters, events.position[e], events.order[e])
        if rules.marks[move]:
            node = with_mark(arena, configurations.memo, counters, node, events.position[e])
        at = counters[r.ARRIVALS]
        arrivals.move[at] = move
        arrivals.node[at] = node
        for s in range(live.slots.shape[1]):
            arrivals.slots[at, s] = operand(live.slots, events, c, e, rules.fill[move, s])
        counters[r.ARRIVALS] = at + 1
    if rules.leaves[job]:
        arrivals.leaving[counters[r.DEPARTURES]] = c
        counters[r.DEPARTURES] += 1
    return k.DONE


@inline
def room_to_settle(tecs: k.Tecs) -> int:
    """Return DONE if there is room for all arrivals, otherwise a NEED status."""
    counters = tecs.counters
    arrivals = counters[r.ARRIVALS]
    if counters[r.FREE] < arrivals:
        return k.NEED_POOL
    # bound: `either` makes at most three nodes for each arrival
    if counters[k.HEAD] + 3 * arrivals > tecs.arena.left.shape[0]:
        return k.NEED_ARENA
    return k.DONE if ENTRY_HEADER + arrivals <= tecs.pool.shape[0] else k.NEED_SCRATCH


@inline
def settle(rules: r.Rules, configurations: r.Configurations, tecs: k.Tecs, lowest: int) -> None:
    """Apply an event: remove and add configurations, write the accepting nodes into the pool."""
    live, arrivals, counters, pool = (
        configurations.live,
        configurations.arrivals,
        tecs.counters,
        tecs.pool,
    )
    for n in range(counters[r.DEPARTURES]):
        forget(live, counters, arrivals.leaving[n])
    count = 0
    for n in range(counters[r.ARRIVALS]):
        move, node = arrivals.move[n], arrivals.node[n]
        if rules.accepts[move] and (count == 0 or pool[ENTRY_HEADER + count - 1] != node):
            pool[ENTRY_HEADER + count] = node
            count += 1
        if rules.target[move] != k.NONE:
            arrive(configurations, tecs, rules.target[move], n, lowest)
    pool[0], pool[1] = 0, count


@inline
def arrive(
    configurations: r.Configurations, tecs: k.Tecs, state: int, row: int, lowest: int
) -> None:
    """Add the matches of an arrival to the configuration with equal state and register values."""
    live, arrivals, arena, counters = (
        configurations.live,
        configurations.arrivals,
        tecs.arena,
        tecs.counters,
    )
    slots, node = arrivals.slots, arrivals.node[row]
    c = find(live, state, slots, row)
    if c == k.NONE:
        create(live, counters, state, slots, row, node)
    # a second rule may lead to the node added last: nothing to unite
    elif node != live.latest[c]:
        both = either(arena, configurations.memo, counters, node, live.node[c], lowest)
        if arena.max_start[both] > arena.max_start[live.node[c]]:
            unlink(live, c)  # move c to the end of its lists, which are sorted by latest start
            link(live, c)
        live.node[c] = both
        live.latest[c] = node


@inline
def singleton(arena: Arena, counters: Int64s, position: int, order: int) -> int:
    """Return the node of the partial match that begins at the event."""
    if counters[BOTTOM] == NONE:
        counters[BOTTOM] = bottom(arena, counters, position, order)
    return counters[BOTTOM]


@inline
def with_mark(arena: Arena, memo: NodeMemo, counters: Int64s, node: int, position: int) -> int:
    """Return the node of a node's matches extended by the event's position."""
    if memo.extension_at[node] != counters[ATTEMPT]:
        memo.extension[node] = extend(arena, counters, node, position)
        memo.extension_at[node] = counters[ATTEMPT]
    return memo.extension[node]


@inline
def either(
    arena: Arena, memo: NodeMemo, counters: Int64s, first: int, second: int, lowest: int
) -> int:
    """Return a node with the matches of two nodes, those with the latest start first.

    Adds at most three nodes. If sets arrive by ascending latest start, which holds except for
    transitions that skip, no left child is a union, and the delay of listing is constant.
    """
    if arena.max_start[first] < arena.max_start[second]:
        first, second = second, first
    if arena.max_start[second] < lowest or first == second:
        return first
    if memo.union_at[first] == counters[ATTEMPT] and memo.with_right[first] == second:
        return memo.union[first]
    if not is_union(arena, first):
        both = join(arena, counters, first, second)
    elif arena.max_start[first] == arena.max_start[second]:
        both = union(arena, counters, first, second)
    else:
        older, left = arena.right[first], arena.left[first]
        if older == NONE or arena.max_start[older] < lowest:
            older = second
        elif arena.max_start[older] >= arena.max_start[second]:
            older = join(arena, counters, older, second)
        else:
            older = join(arena, counters, second, older)
        both = join(arena, counters, left, older)
    memo.union_at[first] = counters[ATTEMPT]
    memo.with_right[first] = second
    memo.union[first] = both
    return both


@inline
def count_event(tecs: k.Tecs, memo: NodeMemo, lowest: int, limit: int | None, total: Floats) -> int:
    """Add the number of answers at the event, at most `limit`, to `total`.

    Return DONE or NEED_STACK.

    The number is a float64, exact up to 2^53. The cost is the number of nodes in the window.
    """
    arena, counters, pool, count = tecs.arena, tecs.counters, tecs.pool, 0.0
    for i in range(counters[k.ENTRY] + 2, tecs.parts.length[0]):
        if arena.max_start[pool[i]] < lowest:
            continue
        if count_node(tecs, memo, pool[i], lowest) != k.DONE:
            return k.NEED_STACK
        count += memo.matches[pool[i]]
    counters[k.END_ANSWERS] = 1 if count > 0 else 0
    total[0] += count if limit is None else min(count, float(limit))
    return k.DONE


@inline
def count_node(tecs: k.Tecs, memo: NodeMemo, root: int, lowest: int) -> int:
    """Write the number of a node's matches that start in the window into ``memo.matches``."""
    arena, counters, stack = tecs.arena, tecs.counters, tecs.stack
    now = counters[ATTEMPT]
    stack.node[0] = root
    counters[k.TOP] = 1
    while counters[k.TOP] > 0:
        if counters[k.TOP] + 2 > stack.node.shape[0]:
            return k.NEED_STACK
        node = stack.node[counters[k.TOP] - 1]
        left, right = arena.left[node], k.NONE
        if left != k.NONE and arena.position[node] == k.NONE:
            right = arena.right[node]
            if right != k.NONE and arena.max_start[right] < lowest:
                right = k.NONE
        waits = False
        if left != k.NONE and memo.matches_at[left] != now:
            stack.node[counters[k.TOP]] = left
            counters[k.TOP] += 1
            waits = True
        if right != k.NONE and memo.matches_at[right] != now:
            stack.node[counters[k.TOP]] = right
            counters[k.TOP] += 1
            waits = True
        # a node stays on the stack until both children are counted
        if waits:
            continue
        counters[k.TOP] -= 1
        if memo.matches_at[node] != now:
            memo.matches_at[node] = now
            memo.matches[node] = 1.0 if left == k.NONE else memo.matches[left]
            if right != k.NONE:
                memo.matches[node] += memo.matches[right]
    return k.DONE
