"""The way to the k-th answer of a DAG, and what the numbers on it may take (CORE Sec. 4.1)."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import pytest

import cerlab
from cerlab import ComplexEvent
from cerlab.api import as_query
from cerlab.engine import subtree_counts
from cerlab.engine.subtree_counts import CountedNode, Parts, Weights
from proofs_tests.access.cases import all_of, weights_of


@dataclass(frozen=True)
class Table:
    """A DAG written down: name to (position, left, right)."""

    nodes: dict[str, tuple[int | None, str | None, str | None]]
    roots: Sequence[str]
    end: int = 9
    scope: int = 0

    def parts(self, node: str) -> Parts[str]:
        return Parts(*self.nodes[node])


# u = (o | v), v = (p | b2): o takes 7 above w = (p | b1), p takes 5 above b3.
BY_HAND = Table(
    {
        "b1": (1, None, None),
        "b2": (2, None, None),
        "b3": (3, None, None),
        "p": (5, "b3", None),
        "w": (None, "p", "b1"),
        "o": (7, "w", None),
        "v": (None, "p", "b2"),
        "u": (None, "o", "v"),
        "alone": (None, "p", None),
    },
    roots=("u", "alone"),
)


def test_answers_of_a_dag_by_hand() -> None:
    expected = [
        ComplexEvent(3, 9, (5, 7)),  # u, o, w, p, b3
        ComplexEvent(1, 9, (7,)),  # u, o, w, b1
        ComplexEvent(3, 9, (5,)),  # u, v, p, b3
        ComplexEvent(2, 9, ()),  # u, v, b2
        ComplexEvent(3, 9, (5,)),  # alone, p, b3; nothing on the right is inside the window
    ]
    dag_weights: Weights[str] = Weights()
    assert [dag_weights.answer(BY_HAND, k) for k in range(5)] == expected
    assert [dag_weights.answer(BY_HAND, k) for k in reversed(range(5))] == expected[::-1]
    assert dag_weights.additions == 3, "w, v and u, each once"


def test_the_way_along_right_edges_is_logarithmic() -> None:
    """A chain of 10,000 starts is passed in some 30 steps; each of them is found."""
    node = CountedNode(1, 0, None, None)
    chain = [node]
    for start in range(1, 10_000):
        node = CountedNode(start + 1, None, CountedNode(1, start, None, None), node)
        chain.append(node)
    steps = 0

    class StepsCounter:
        def __init__(self, node: CountedNode) -> None:
            self._node = node

        @property
        def right(self) -> Any:
            nonlocal steps
            steps += 1
            return StepsCounter(self._node.right) if self._node.right else None

        @property
        def jump(self) -> Any:
            return StepsCounter(self._node.jump)

        @property
        def below(self) -> int:
            return self._node.below

    worst = 0
    for answers in [*range(1, 200), *range(200, 10_000, 97), 10_000]:
        steps = 0
        last: Any = subtree_counts._last_with(StepsCounter(node), answers)  # type: ignore[arg-type]
        assert last._node is chain[answers - 1]
        worst = max(worst, steps)
    assert worst <= 3 * 14


def test_all_starts_of_one_end() -> None:
    """A long chain of right edges, from end to end."""
    matches = as_query("SELECT * WHERE A ; B").run(all_of("A" * 3_000 + "B"))
    assert matches.count() == 3_000
    assert [matches[k].start for k in range(3_000)] == list(range(2_999, -1, -1))


def test_the_budget_is_known_before_it_is_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    """The figures named are those of the numbers themselves."""
    matches = as_query("SELECT * WHERE A+").run(all_of("A" * 400))
    sums = [2 ** (i + 1) - 1 for i in range(400)]
    monkeypatch.setattr(subtree_counts, "BUDGET", 10_000)
    assert matches[2**12] == next(islice(matches, 2**12, None)), "few events, short numbers"
    with pytest.raises(cerlab.ResourceLimit, match="up to each end need") as caught:
        matches[2**400 - 2]
    size = int(re.findall(r"[\d,]+(?= bytes)", str(caught.value))[0].replace(",", ""))
    assert size == sum(map(sys.getsizeof, sums))
    assert matches.count() == sums[-1]

    monkeypatch.setattr(subtree_counts, "BUDGET", size)
    again = as_query("SELECT * WHERE A+").run(matches.stream)
    with pytest.raises(cerlab.ResourceLimit, match=r"below [0-9,]+ nodes need") as caught:
        again[2**400 - 2]
    size = int(re.findall(r"[\d,]+(?= bytes)", str(caught.value))[0].replace(",", ""))
    monkeypatch.undo()
    assert again[2**400 - 2].end == 399
    nodes = weights_of(again)._nodes.values()
    sizes = {id(each.below): sys.getsizeof(each.below) for each in nodes if each.right is not None}
    assert size == pytest.approx(sum(sizes.values()), rel=0.01)


def test_what_is_kept_is_dropped_where_it_would_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each end fits alone; totals of earlier ends are dropped to make room."""
    matches = as_query("SELECT * WHERE (A OR B)+ ; C CONSUME BY ANY").run(all_of("ABABABAC" * 6))
    answers = list(matches)
    monkeypatch.setattr(subtree_counts, "BUDGET", 1_200)
    assert [matches[k] for k in range(len(answers))] == answers
    nodes = weights_of(matches)._nodes
    monkeypatch.undo()
    roomy = as_query(str(matches.query)).run(matches.stream)
    assert [roomy[k] for k in range(len(answers))] == answers
    assert len(nodes) < len(weights_of(roomy)._nodes)


def test_numbers_as_text() -> None:
    assert subtree_counts.shown_number(10**4_000 - 1) == "a number of 4,000 digits"
    assert subtree_counts.shown_number(0) == "0"
