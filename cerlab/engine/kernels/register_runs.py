"""Events of a register program: configurations followed, arrivals merged, answers listed.

An event is followed first, which changes nothing but the head of the arena, and then settled; so
where room lacks it is followed anew.
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
    """Read events from number ``reg[EVENT]`` on: DONE, or what lacks; called again it goes on.

    The nodes that accept at an event are one list in `tecs.pool`, of one partition, whose state is
    final. With a `total`, float64 (1,), answers are counted, and not listed. `limit` is the most
    answers of one end, None for all.
    """
    reg, pool = tecs.reg, tecs.pool
    while reg[k.EVENT] < events.symbol.shape[0]:
        e = reg[k.EVENT]
        if reg[k.PHASE] == k.READING:
            status = follow(rules, events, configurations, tecs, e)
            if status == k.DONE:
                status = room_to_settle(tecs)
            if status != k.DONE:
                # the nodes of this attempt are given up: nothing points at them yet
                reg[k.HEAD] = reg[r.HEAD_BEFORE]
                return status
            settle(rules, configurations, tecs, events.lowest[e])
            tecs.parts.length[0] = ENTRY_HEADER + pool[1]
            reg[k.ENTRY] = reg[k.LIST_INDEX] = reg[k.END_ANSWERS] = reg[k.TOP] = 0
            reg[k.PHASE] = k.LISTING
        if pool[1] > 0:
            end, lowest = events.position[e], events.lowest[e]
            if total is not None:  # decided by its type: code for one or the other is made
                status = count_event(tecs, configurations.memo, lowest, limit, total)
            else:
                status = enumerate_event(tecs, 0, end, lowest, limit)
            if status != k.DONE:
                return status
            if limits.consume != k.KEEP and reg[k.END_ANSWERS] > 0:
                restart(configurations.live, reg, configurations.empty)
        reg[k.PHASE] = k.READING
        reg[k.EVENT] += 1
    return k.DONE


@inline
def follow(
    rules: r.Rules, events: r.Events, configurations: r.Configurations, tecs: k.Tecs, e: int
) -> int:
    """Move every configuration at event e: list arrivals and departures (SRT Alg. 1)."""
    live, arena, reg = configurations.live, tecs.arena, tecs.reg
    reg[r.ATTEMPT] += 1
    reg[r.HEAD_BEFORE] = reg[k.HEAD]
    reg[r.ARRIVALS] = reg[r.DEPARTURES] = 0
    reg[r.BOTTOM] = k.NONE
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
            # before the visit, which may take c out of its lists
            after = live.next[chain, c]
            reg[r.VISITS] += 1
            if chain == r.BY_STATE or (live.state[c] == state and live.slots[c, slot] == key):
                node = live.node[c]
                if node != k.NONE and arena.max_start[node] < events.lowest[e]:
                    forget(live, reg, c)
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
    """Move one configuration: list an arrival for each rule of the job that holds."""
    live, arrivals, arena, reg = configurations.live, configurations.arrivals, tecs.arena, tecs.reg
    for rule in range(rules.rules[job], rules.rules[job + 1]):
        if not guard_holds(rules, live.slots, events, c, e, rule):
            continue
        if reg[r.ARRIVALS] == arrivals.move.shape[0]:
            return k.NEED_SCRATCH
        if reg[k.HEAD] + 2 > arena.left.shape[0]:
            return k.NEED_ARENA
        move = rules.move[rule]
        node = live.node[c]
        if rules.begins[move]:
            node = singleton(arena, reg, events.position[e], events.order[e])
        if rules.marks[move]:
            node = with_mark(arena, configurations.memo, reg, node, events.position[e])
        at = reg[r.ARRIVALS]
        arrivals.move[at] = move
        arrivals.node[at] = node
        for s in range(live.slots.shape[1]):
            arrivals.slots[at, s] = operand(live.slots, events, c, e, rules.fill[move, s])
        reg[r.ARRIVALS] = at + 1
    if rules.leaves[job]:
        arrivals.leaving[reg[r.DEPARTURES]] = c
        reg[r.DEPARTURES] += 1
    return k.DONE


@inline
def room_to_settle(tecs: k.Tecs) -> int:
    """Whether all arrivals will find room."""
    reg = tecs.reg
    arrivals = reg[r.ARRIVALS]
    if reg[r.FREE] < arrivals:
        return k.NEED_POOL
    # `either` adds three nodes at most for each arrival
    if reg[k.HEAD] + 3 * arrivals > tecs.arena.left.shape[0]:
        return k.NEED_ARENA
    return k.DONE if ENTRY_HEADER + arrivals <= tecs.pool.shape[0] else k.NEED_SCRATCH


@inline
def settle(rules: r.Rules, configurations: r.Configurations, tecs: k.Tecs, lowest: int) -> None:
    """Let leave what leaves, and arrive what arrives; the nodes that accept go into the pool."""
    live, arrivals, reg, pool = configurations.live, configurations.arrivals, tecs.reg, tecs.pool
    for n in range(reg[r.DEPARTURES]):
        forget(live, reg, arrivals.leaving[n])
    count = 0
    for n in range(reg[r.ARRIVALS]):
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
    """Add the matches of an arrival to the configuration of a state and of its values."""
    live, arrivals, arena, reg = configurations.live, configurations.arrivals, tecs.arena, tecs.reg
    slots, node = arrivals.slots, arrivals.node[row]
    c = find(live, state, slots, row)
    if c == k.NONE:
        create(live, reg, state, slots, row, node)
    # by another rule the same set may arrive again, and adds nothing
    elif node != live.latest[c]:
        both = either(arena, configurations.memo, reg, node, live.node[c], lowest)
        if arena.max_start[both] > arena.max_start[live.node[c]]:
            unlink(live, c)  # lists of a state are by latest start
            link(live, c)
        live.node[c] = both
        live.latest[c] = node


@inline
def singleton(arena: Arena, reg: Int64s, position: int, order: int) -> int:
    """The set of the partial match that begins at the event."""
    if reg[BOTTOM] == NONE:
        reg[BOTTOM] = bottom(arena, reg, position, order)
    return reg[BOTTOM]


@inline
def with_mark(arena: Arena, memo: NodeMemo, reg: Int64s, node: int, position: int) -> int:
    """Return the matches of a node, extended by the position of the event."""
    if memo.extension_at[node] != reg[ATTEMPT]:
        memo.extension[node] = extend(arena, reg, node, position)
        memo.extension_at[node] = reg[ATTEMPT]
    return memo.extension[node]


@inline
def either(arena: Arena, memo: NodeMemo, reg: Int64s, first: int, second: int, lowest: int) -> int:
    """The matches of both, in the order of latest starts; those out of the window may be left out.

    Adds three nodes at most. Where sets come by ascending latest start, as they do but for
    transitions that skip, each left child is no union, and the delay of listing is constant.
    """
    if arena.max_start[first] < arena.max_start[second]:
        first, second = second, first
    if arena.max_start[second] < lowest or first == second:
        return first
    if memo.union_at[first] == reg[ATTEMPT] and memo.with_right[first] == second:
        return memo.union[first]
    if not is_union(arena, first):
        both = join(arena, reg, first, second)
    elif arena.max_start[first] == arena.max_start[second]:
        both = union(arena, reg, first, second)
    else:
        older, left = arena.right[first], arena.left[first]
        if older == NONE or arena.max_start[older] < lowest:
            older = second
        elif arena.max_start[older] >= arena.max_start[second]:
            older = join(arena, reg, older, second)
        else:
            older = join(arena, reg, second, older)
        both = join(arena, reg, left, older)
    memo.union_at[first] = reg[ATTEMPT]
    memo.with_right[first] = second
    memo.union[first] = both
    return both


@inline
def count_event(tecs: k.Tecs, memo: NodeMemo, lowest: int, limit: int | None, total: Floats) -> int:
    """Add the number of the event's answers to `total`, at most `limit`: DONE or NEED_STACK.

    A float64: exact up to 2^53. Costs the nodes that the window reaches, not the answers.
    """
    arena, reg, pool, count = tecs.arena, tecs.reg, tecs.pool, 0.0
    for i in range(reg[k.ENTRY] + 2, tecs.parts.length[0]):
        if arena.max_start[pool[i]] < lowest:
            continue
        if count_node(tecs, memo, pool[i], lowest) != k.DONE:
            return k.NEED_STACK
        count += memo.matches[pool[i]]
    reg[k.END_ANSWERS] = 1 if count > 0 else 0
    total[0] += count if limit is None else min(count, float(limit))
    return k.DONE


@inline
def count_node(tecs: k.Tecs, memo: NodeMemo, root: int, lowest: int) -> int:
    """Write ``memo.matches[root]``: how many matches inside the window the node has."""
    arena, reg, stack = tecs.arena, tecs.reg, tecs.stack
    now = reg[ATTEMPT]
    stack.node[0] = root
    reg[k.TOP] = 1
    while reg[k.TOP] > 0:
        if reg[k.TOP] + 2 > stack.node.shape[0]:
            return k.NEED_STACK
        node = stack.node[reg[k.TOP] - 1]
        left, right = arena.left[node], k.NONE
        if left != k.NONE and arena.position[node] == k.NONE:
            right = arena.right[node]
            if right != k.NONE and arena.max_start[right] < lowest:
                right = k.NONE
        waits = False
        if left != k.NONE and memo.matches_at[left] != now:
            stack.node[reg[k.TOP]] = left
            reg[k.TOP] += 1
            waits = True
        if right != k.NONE and memo.matches_at[right] != now:
            stack.node[reg[k.TOP]] = right
            reg[k.TOP] += 1
            waits = True
        # a node stays on the stack until both of its children are counted
        if waits:
            continue
        reg[k.TOP] -= 1
        if memo.matches_at[node] != now:
            memo.matches_at[node] = now
            memo.matches[node] = 1.0 if left == k.NONE else memo.matches[left]
            if right != k.NONE:
                memo.matches[node] += memo.matches[right]
    return k.DONE
