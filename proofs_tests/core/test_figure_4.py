"""The example tECS, by its operations (CORE Fig. 4)."""

from __future__ import annotations

import pytest

from cerlab.engine.reference.tecs import Node, Tecs, enumerate_node
from proofs_tests.core.tecs_invariants import below, check_node, odepth, open_events

FOUR = [(0, (0, 2, 4)), (1, (1, 2, 4))]
SIX = [(0, (0, 2, 6)), (0, (0, 5, 6)), (1, (1, 2, 6)), (1, (1, 5, 6))]


def nodes_4_and_6() -> tuple[Node, Node]:
    """Nodes of Algorithm 1: 2 and 5 extend both starts, 4 extends 2, and 6 unites both."""
    tecs = Tecs()
    first = tecs.extend(tecs.bottom(0), 0)
    second = tecs.extend(tecs.bottom(1), 1)
    starts = tecs.merge([second, first])
    two = tecs.extend(starts, 2)
    four = tecs.extend(two, 4)
    five = tecs.extend(starts, 5)
    return four, tecs.extend(tecs.union(five, two), 6)


def test_the_nodes_4_and_6_hold_what_the_paper_lists() -> None:
    for node, expected in zip(nodes_4_and_6(), (FOUR, SIX), strict=True):
        assert sorted(open_events(node)) == expected
        check_node(node)
        assert all(odepth(each) <= 1 for each in below(node)), "1-bounded"
        assert node.max_start == 1


@pytest.mark.parametrize(("window", "starts"), [(6, {0, 1}), (5, {1}), (4, set())])
def test_enumerated_in_a_window_they_give_the_answers_of_figure_3(
    window: int, starts: set[int]
) -> None:
    """Node 6 at 6; with a window of 6 all of its answers."""
    _, six = nodes_4_and_6()
    answers = [(C.start, C.positions) for C in enumerate_node(six, 6, lowest_start=6 - window)]
    assert sorted(answers) == [(start, D) for start, D in SIX if start in starts]


def test_node_4_at_4() -> None:
    four, _ = nodes_4_and_6()
    assert sorted((C.start, C.positions) for C in enumerate_node(four, 4, -2)) == FOUR
