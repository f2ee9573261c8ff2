"""The three invariants of a tECS and those of union-lists, checked from their definitions."""

from __future__ import annotations

from collections.abc import Iterator

from cerlab.engine.reference.tecs import Bottom, Node, Output, Union, UnionList


def below(node: Node) -> Iterator[Node]:
    """The node and all nodes that it reaches, each once."""
    visits: set[int] = set()
    pending = [node]
    while pending:
        here = pending.pop()
        if id(here) in visits:
            continue
        visits.add(id(here))
        yield here
        if isinstance(here, Union):
            assert here.left is not None
            assert here.right is not None
            pending += [here.left, here.right]
        elif isinstance(here, Output):
            assert here.next is not None
            pending.append(here.next)


def open_events(node: Node) -> list[tuple[int, tuple[int, ...]]]:
    """``[[n]]``, one entry for each full path."""
    if isinstance(node, Bottom):
        return [(node.position, ())]
    if isinstance(node, Output):
        assert node.next is not None
        return [(start, (*positions, node.position)) for start, positions in open_events(node.next)]
    assert node.left is not None
    assert node.right is not None
    return open_events(node.left) + open_events(node.right)


def odepth(node: Node) -> int:
    """The number of unions on left edges before the first other node."""
    depth = 0
    while isinstance(node, Union):
        depth += 1
        assert node.left is not None
        node = node.left
    return depth


def is_safe(node: Node) -> bool:
    """No union, or one of odepth 1 whose right child has odepth at most 2."""
    if not isinstance(node, Union):
        return True
    assert node.right is not None
    return odepth(node) == 1 and odepth(node.right) <= 2


def check_node(node: Node, *, duplicate_free: bool = True) -> None:
    """Time-ordered, 3-bounded, duplicate-free, with the right max-start, at it and all below."""
    for here in below(node):
        paths = open_events(here)
        if duplicate_free:
            assert len(paths) == len(set(paths)), "an open complex event has two paths"
        assert here.max_start == max(start for start, _ in paths)
        assert odepth(here) <= 3
        if isinstance(here, Union):
            assert here.left is not None
            assert here.right is not None
            assert here.left.max_start >= here.right.max_start


def check_union_list(ul: UnionList) -> None:
    """Safe nodes, no union first, which has the largest max-start; strictly decreasing after."""
    assert ul
    assert not isinstance(ul[0], Union)
    assert all(is_safe(node) for node in ul)
    assert all(node.max_start <= ul[0].max_start for node in ul)
    later = [node.max_start for node in ul[1:]]
    assert later == sorted(set(later), reverse=True)
