"""The cost of an event, counted in executed lines of the kernels (CORE Thm. 3; CORE Sec. 4.2).

Lines are counted where the kernels are plain Python, so these tests run in a process of their own
with the compiler off. What they state does not depend on the machine: the lines for an event do not
grow with the events before it, those for an answer not with anything but its size.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any

import pytest

import cerlab.engine
from cerlab.compile.pattern import as_pattern
from cerlab.engine.symbol_tables import learned_tables
from cerlab.engine.tecs_run import GeneralEvaluation, Tecs
from cerlab.engine.windowed import WindowedEvaluation
from proofs_tests.kernels import JIT

KERNELS = str(Path(cerlab.engine.__file__).parent / "kernels")
plain_only = pytest.mark.skipif(JIT, reason="lines are counted with the compiler off")

SILENT = [
    "SELECT * WHERE A+ ; X",
    "SELECT * WHERE A+ ; B+ ; X WITHIN 30 EVENTS",
    "SELECT * WHERE (A OR B) ; (A OR C) ; X WITHIN 20 EVENTS",
    "SELECT NXT * WHERE A ; B ; X WITHIN 20 EVENTS",
]
"""Queries without answers whose unions are many."""


@contextmanager
def count_lines(lines: list[int]) -> Iterator[None]:
    """Add the number of lines that kernels execute inside to ``lines[0]``."""

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        if not code.co_filename.startswith(KERNELS) and code.co_name != "slow":
            return None
        if event == "line":
            lines[0] += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


def lines_of(make: Callable[[], Any], length: int, kinds: str = "ABC") -> tuple[int, int]:
    """Executed lines for a random stream in batches of 50 events, and the size of the answers."""
    rng = Random(3)
    run, lines, size = make(), [0], 0
    for _ in range(length // 50):
        column = {"type": [rng.choice(kinds) for _ in range(50)]}
        with count_lines(lines):
            for batch in run.push_columns(column, 50):
                size += len(batch.positions) + len(batch)
    with count_lines(lines):
        size += sum(len(batch.positions) + len(batch) for batch in run.finish())
    return lines[0], size


def general(text: str) -> Callable[[], GeneralEvaluation]:
    """Nodes are collected now and then where the window allows, else there is room for all."""
    query = as_pattern(text)
    arena = 1 << (10 if "WITHIN" in text else 14)
    return lambda: GeneralEvaluation(query.plan, query.machine, arena=arena)


def grows_with_the_stream(text: str) -> bool:
    """Whether the second thousand events cost more than a tenth over the first one's share."""
    short, _ = lines_of(general(text), 1_000)
    long, _ = lines_of(general(text), 2_000)
    return long - short > 1.1 * short


@plain_only
@pytest.mark.parametrize("text", SILENT)
def test_an_event_costs_the_same_early_and_late(text: str) -> None:
    assert not grows_with_the_stream(text)


@plain_only
def test_a_union_that_looks_for_an_old_node_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A linear-time bug on purpose: the right answer, slower with every event."""
    from cerlab.engine.kernels import arrays
    from cerlab.engine.kernels import tecs as arena

    union = arena.union

    def slow(tecs: Any, counters: Any, first: int, second: int) -> int:
        node = second
        while tecs.left[node] != arrays.NONE:
            node = tecs.right[node] if tecs.right[node] != arrays.NONE else tecs.left[node]
        return union(tecs, counters, first, second)

    monkeypatch.setattr(arena, "union", slow)
    assert any(grows_with_the_stream(text) for text in SILENT)


@plain_only
def test_a_collection_that_keeps_everything_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reclamation that reclaims nothing: looked at again and again, with ever more nodes."""
    monkeypatch.setattr(Tecs, "_room", keep_and_add_a_little)
    assert any(grows_with_the_stream(text) for text in SILENT)


def keep_and_add_a_little(self: Tecs, lowest: int) -> None:
    """Room for a few more nodes only: what doubling would hide."""
    import numpy as np

    from cerlab.engine.kernels import arrays

    limits, self._limits = self._limits, self._limits._replace(width=arrays.NONE)
    self.forget(-1)
    self._limits = limits
    self._arena = arrays.Arena(*(np.concatenate((a, np.zeros(256, a.dtype))) for a in self._arena))


@plain_only
def test_an_answer_costs_its_size() -> None:
    text = "SELECT * WHERE A ; B+ ; C WITHIN 9 EVENTS"
    silent, nothing = lines_of(general(text + " LIMIT 1"), 1_000)
    lines, size = lines_of(general(text), 1_000)
    assert size > 4 * nothing > 0
    assert lines - silent <= 40 * (size - nothing)


@plain_only
def test_looking_ahead_costs_a_constant_for_each_event_that_matters() -> None:
    query = as_pattern("SELECT * WHERE A ; B ; X WITHIN 30 EVENTS")

    def make() -> WindowedEvaluation:
        return WindowedEvaluation(query.plan, learned_tables(query.machine))

    short, _ = lines_of(make, 1_000, "ABCX")
    long, _ = lines_of(make, 2_000, "ABCX")
    wide = as_pattern("SELECT * WHERE A ; B ; Y WITHIN 300 EVENTS")
    assert long - short <= 1.2 * short
    narrow = as_pattern("SELECT * WHERE A ; B ; Y WITHIN 30 EVENTS")
    costs = [
        lines_of(lambda q=q: WindowedEvaluation(q.plan, learned_tables(q.machine)), 2_000)[0]  # type: ignore[misc]
        for q in (narrow, wide)
    ]
    assert costs[1] <= 1.6 * costs[0], "a window ten times as wide, no answers"
