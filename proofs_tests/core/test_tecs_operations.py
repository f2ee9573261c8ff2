"""Operations on a tECS, case by case (CORE Fig. 5; CORE Sec. 4.2), enumeration (CORE Thm. 3).

And in any order, on tECSs that no automaton makes: (CORE Lemma 1; CORE Alg. 2) ask for none.
"""

from __future__ import annotations

from random import Random

import pytest

from cerlab import ComplexEvent
from cerlab.engine.reference.tecs import Node, Tecs, Union, UnionList, enumerate_node
from proofs_tests.core.tecs_invariants import (
    check_node,
    check_union_list,
    is_safe,
    open_events,
)
from proofs_tests.suite import Suite


def chain(tecs: Tecs, start: int, *positions: int) -> Node:
    """``output(.., bottom(start))``."""
    node = tecs.bottom(start)
    for position in positions:
        node = tecs.extend(node, position)
    return node


def test_union_of_two_nodes_that_are_no_unions() -> None:
    tecs = Tecs()
    node = tecs.union(chain(tecs, 1, 2), chain(tecs, 1, 3))
    assert is_safe(node)
    assert open_events(node) == [(1, (2,)), (1, (3,))]


def test_union_puts_what_is_no_union_to_the_left() -> None:
    tecs = Tecs()
    union = tecs.union(chain(tecs, 1, 2), chain(tecs, 1, 3))
    single = chain(tecs, 1, 4)
    for node in (tecs.union(union, single), tecs.union(single, union)):
        assert isinstance(node, Union)
        assert node.left is single
        assert is_safe(node)
        check_node(node)


@pytest.mark.parametrize(("first", "second"), [(0, 1), (1, 0)])
def test_union_of_two_unions_orders_their_right_children(first: int, second: int) -> None:
    tecs = Tecs()
    older = [chain(tecs, start, 5 + start) for start in (first, second)]
    unions = [
        tecs.merge([chain(tecs, 2, 3), older[0]]),
        tecs.merge([chain(tecs, 2, 4), older[1]]),
    ]
    node = tecs.union(*unions)
    assert is_safe(node)
    check_node(node)
    assert set(open_events(node)) == {(2, (3,)), (2, (4,)), (0, (5,)), (1, (6,))}


@pytest.mark.parametrize(
    ("starts", "new_start", "expected"),
    [
        pytest.param([5], 5, [5, 5], id="a list of one node, equal to its max-start"),
        pytest.param([5], 3, [5, 3], id="a list of one node, below it"),
        pytest.param([5, 4], 5, [5, 5, 4], id="equal to n0's: at position 1"),
        pytest.param([5, 3], 4, [5, 4, 3], id="between n0's and n1's"),
        pytest.param([5, 4, 2], 3, [5, 4, 3, 2], id="between two later ones"),
        pytest.param([5, 4, 3], 1, [5, 4, 3, 1], id="below the last"),
        pytest.param([5, 4, 3], 3, [5, 4, 3], id="equal to a later one: united with it"),
        pytest.param([5, 5, 3], 5, [5, 5, 3], id="equal to n0's and n1's: united with n1"),
    ],
)
def test_insert_covers_the_cases_that_the_paper_leaves_out(
    starts: list[int], new_start: int, expected: list[int]
) -> None:
    tecs = Tecs()
    ul: UnionList = [chain(tecs, start, 10 + n) for n, start in enumerate(starts)]
    before = {event for node in ul for event in open_events(node)}
    tecs.insert(ul, chain(tecs, new_start, 99))
    assert [node.max_start for node in ul] == expected
    check_union_list(ul)
    after = [event for node in ul for event in open_events(node)]
    assert sorted(after) == sorted({*before, (new_start, (99,))})
    check_node(tecs.merge(ul))


def test_enumeration_gives_each_answer_of_the_window_once() -> None:
    tecs = Tecs()
    node = tecs.merge([chain(tecs, 3, 3), chain(tecs, 2, 2, 3), chain(tecs, 0, 1)])
    assert list(enumerate_node(node, 4, 2)) == [
        ComplexEvent(3, 4, (3,)),
        ComplexEvent(2, 4, (2, 3)),
    ]
    assert list(enumerate_node(node, 4, 4)) == []


def test_forgotten_nodes_are_gone_and_the_others_are_kept() -> None:
    tecs = Tecs()
    old, new = chain(tecs, 0, 1), chain(tecs, 5, 6)
    node = tecs.merge([new, old])
    tecs.forget(5)
    assert tecs.live == 3
    assert list(enumerate_node(node, 7, 5)) == [ComplexEvent(5, 7, (6,))]


Open = tuple[int, tuple[int, ...]]
NodesWithPaths = list[tuple[Node, list[Open]]]
"""Nodes, each with an open complex event for every path that it is to have."""


def nodes_at(j: int, rng: Random, tecs: Tecs, before: NodesWithPaths) -> NodesWithPaths:
    """A bottom node, and three operations on nodes that are there; few paths, so some make none."""
    new: NodesWithPaths = [(tecs.bottom(j), [(j, ())])]
    for _ in range(3):
        some = [each for each in before + new if len(each[1]) < 20]
        first, paths = rng.choice(some)
        match rng.randrange(4):
            case 0:
                first, paths = rng.choice([*before[-6:], new[0]])
                new.append((tecs.extend(first, j), [(start, (*D, j)) for start, D in paths]))
            case 1:
                second, more = rng.choice([n for n in some if n[0].max_start == first.max_start])
                new.append((tecs.union(first, second), paths + more))
            case _ if not isinstance(first, Union):
                older = [each for each in some if each[0].max_start <= first.max_start]
                ul: UnionList = [first]
                paths = [*paths]
                for node, more in rng.choices(older, k=rng.randrange(1, 5)):
                    tecs.insert(ul, node)
                    paths += more
                    check_union_list(ul)
                new.append((tecs.merge(ul), paths))
    return new


def check_operations(rng: Random) -> bool:
    """Safe, time-ordered, 3-bounded; the set asked for; enumerated left first, in each window."""
    tecs = Tecs()
    nodes: NodesWithPaths = []
    for j in range(rng.randrange(2, 6)):
        nodes += nodes_at(j, rng, tecs, nodes)
    for node, paths in nodes:
        assert is_safe(node)
        check_node(node, duplicate_free=False)
        assert sorted(open_events(node)) == sorted(paths)
        for lowest in range(7):
            inside = [ComplexEvent(i, 9, D) for i, D in open_events(node) if i >= lowest]
            assert list(enumerate_node(node, 9, lowest)) == inside
    return any(isinstance(node, Union) for node, _ in nodes)


def test_any_operations_in_any_order(suite: Suite) -> None:
    suite.run(check_operations, deep_count=4_000)
