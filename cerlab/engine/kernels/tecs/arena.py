"""Nodes, unions and union-lists of the tECS, in an arena (CORE Sec. 4.1; CORE Sec. 4.2)."""

from __future__ import annotations

from cerlab.engine.kernels.arrays import HEAD, NONE, Arena, Int32s, Int64s, Scratch
from cerlab.engine.kernels.compiled import inline


@inline
def new_node(
    arena: Arena, reg: Int64s, position: int, left: int, right: int, max_start: int
) -> int:
    """A node at the head of the arena; there must be room."""
    node = reg[HEAD]
    arena.position[node] = position
    arena.left[node] = left
    arena.right[node] = right
    arena.max_start[node] = max_start
    reg[HEAD] = node + 1
    return node


@inline
def bottom(arena: Arena, reg: Int64s, position: int, order: int) -> int:
    """``new-bottom(i)``; `order` is its start as the window counts it."""
    return new_node(arena, reg, position, NONE, NONE, order)


@inline
def extend(arena: Arena, reg: Int64s, node: int, position: int) -> int:
    """``extend(n, j)``."""
    return new_node(arena, reg, position, node, NONE, arena.max_start[node])


@inline
def join(arena: Arena, reg: Int64s, left: int, right: int) -> int:
    """``left | right``, where the left one has no smaller max-start."""
    return new_node(arena, reg, NONE, left, right, arena.max_start[left])


@inline
def is_union(arena: Arena, node: int) -> bool:
    """Whether a node is a union; a bottom node has no left child, an output has a position."""
    return arena.position[node] == NONE


@inline
def union(arena: Arena, reg: Int64s, first: int, second: int) -> int:
    """``union(n1, n2)`` of two safe nodes with equal max-start: safe again (CORE Sec. 4.2)."""
    if not is_union(arena, first):
        return join(arena, reg, first, second)
    if not is_union(arena, second):
        return join(arena, reg, second, first)
    l1, r1 = arena.left[first], arena.right[first]
    l2, r2 = arena.left[second], arena.right[second]
    if r1 == NONE:  # the window has passed what was on the right
        older = r2
    elif r2 == NONE:
        older = r1
    elif arena.max_start[r1] >= arena.max_start[r2]:
        older = join(arena, reg, r1, r2)
    else:
        older = join(arena, reg, r2, r1)
    if older != NONE:
        l2 = join(arena, reg, l2, older)
    return join(arena, reg, l1, l2)


@inline
def insert(arena: Arena, reg: Int64s, scratch: Scratch, entry: int, node: int) -> bool:
    """``insert(ul, n)``, corrected (erratum E11); False if the list has no room."""
    length = scratch.length[entry]
    max_start = arena.max_start[node]
    at = length
    for i in range(1, length):
        other = arena.max_start[scratch.nodes[entry, i]]
        if other == max_start:
            scratch.nodes[entry, i] = union(arena, reg, scratch.nodes[entry, i], node)
            return True
        if other < max_start:
            at = i
            break
    if length == scratch.nodes.shape[1]:
        return False
    for i in range(length, at, -1):
        scratch.nodes[entry, i] = scratch.nodes[entry, i - 1]
    scratch.nodes[entry, at] = node
    scratch.length[entry] = length + 1
    return True


@inline
def merge(arena: Arena, reg: Int64s, pool: Int32s, first: int, length: int) -> int:
    """``merge(ul)`` of the list ``pool[first : first + length]``: ``n0 | (n1 | (.. | nk))``."""
    node = pool[first + length - 1]
    for i in range(length - 2, -1, -1):
        node = join(arena, reg, pool[first + i], node)
    return node
