"""Sets of matches as nodes of a tECS, made once for each event (CORE Sec. 4.1)."""

from __future__ import annotations

from cerlab.engine.kernels.arrays import NONE, Arena, Ints
from cerlab.engine.kernels.compiled import inlined
from cerlab.engine.kernels.registers.arrays import ATTEMPT, BOTTOM, Made
from cerlab.engine.kernels.tecs.arena import bottom, extend, is_union, join, union


@inlined
def begun(arena: Arena, reg: Ints, position: int, order: int) -> int:
    """The set of the partial match that begins at the event."""
    if reg[BOTTOM] == NONE:
        reg[BOTTOM] = bottom(arena, reg, position, order)
    return reg[BOTTOM]


@inlined
def marked(arena: Arena, made: Made, reg: Ints, node: int, position: int) -> int:
    """Those matches with the position of the event."""
    if made.of[node] != reg[ATTEMPT]:
        made.extended[node] = extend(arena, reg, node, position)
        made.of[node] = reg[ATTEMPT]
    return made.extended[node]


@inlined
def either(arena: Arena, made: Made, reg: Ints, first: int, second: int, lowest: int) -> int:
    """The matches of both, in the order of latest starts; those out of the window may be left out.

    Adds three nodes at most. Where sets come by ascending latest start, as they do but for
    transitions that skip, each left child is no union, and the delay of listing is constant.
    """
    if arena.max_start[first] < arena.max_start[second]:
        first, second = second, first
    if arena.max_start[second] < lowest or first == second:
        return first
    if made.joined[first] == reg[ATTEMPT] and made.with_right[first] == second:
        return made.union[first]
    if not is_union(arena, first):
        united = join(arena, reg, first, second)
    elif arena.max_start[first] == arena.max_start[second]:
        united = union(arena, reg, first, second)
    else:
        older, left = arena.right[first], arena.left[first]
        if older == NONE or arena.max_start[older] < lowest:
            older = second
        elif arena.max_start[older] >= arena.max_start[second]:
            older = join(arena, reg, older, second)
        else:
            older = join(arena, reg, second, older)
        united = join(arena, reg, left, older)
    made.joined[first] = reg[ATTEMPT]
    made.with_right[first] = second
    made.union[first] = united
    return united
