"""E8: the printed constant-delay enumeration exchanges the two colours (FOUND Alg. 3)."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from cerlab.engine.reference import list_nodes as enumeration
from cerlab.engine.reference.list_nodes import BOTTOM, BlackWhiteStack, Node, Steps, Visit, Walk
from proofs_tests.foundations.anchored_cases import anchored_cea, answers, check, random_case


def printed_enumerate_all_star(root: Node, lowest_start: int, steps: Steps) -> Iterator[int | None]:
    """Lines 3-18 as printed: white if the list is not at its end."""
    s = BlackWhiteStack()
    s.push_black(Visit(root, Walk(root.list, lowest_start)))
    while not s.empty:
        n = s.pop()
        if n.node is BOTTOM:
            s.pop_whites()
            yield None
            yield from s.path_to_top()
        else:
            yield n.node.position
            child = n.walk.next()
            if not n.walk.at_end:
                s.push_white(n)
            else:
                s.push_black(n)
            s.push_black(Visit(child, Walk(child.list, lowest_start)))


def test_the_printed_colours_ask_a_list_for_more_than_it_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cea = anchored_cea(1, "0 ∘ 0, 0 • 0", {0})
    assert answers(cea, None, "A") == [(0,)]
    monkeypatch.setattr(enumeration, "enumerate_all_star", printed_enumerate_all_star)
    with pytest.raises(AssertionError, match="at the end of its list"):
        answers(cea, None, "A")


def test_random_search_finds_the_misprint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(enumeration, "enumerate_all_star", printed_enumerate_all_star)
    wrong = 0
    for seed in range(300):
        try:
            check(random_case(Random(seed)), None)
        except AssertionError:
            wrong += 1
    assert wrong >= 100
