"""Sets of matches as nodes of a tECS, made once for each event (CORE Sec. 4.1)."""

from __future__ import annotations

from cerlab.engine.kernels.arrays import NONE, Arena, Int64s
from cerlab.engine.kernels.compiled import inline
from cerlab.engine.kernels.registers.arrays import ATTEMPT, BOTTOM, NodeMemo
from cerlab.engine.kernels.tecs.arena import bottom, extend, is_union, join, union


@inline
def singleton(arena: Arena, reg: Int64s, position: int, order: int) -> int:
    """The set of the partial match that begins at the event."""
    if reg[BOTTOM] == NONE:
        reg[BOTTOM] = bottom(arena, reg, position, order)
    return reg[BOTTOM]


@inline
def with_mark(arena: Arena, memo: NodeMemo, reg: Int64s, node: int, position: int) -> int:
    """Those matches with the position of the event."""
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
