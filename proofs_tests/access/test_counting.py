"""Counting by end, and its cost in numbers written."""

from __future__ import annotations

from random import Random

import pytest

from cerlab import Event
from cerlab.compile.pattern import as_pattern
from cerlab.engine.reference import totals
from proofs_tests.access.cases import all_of


@pytest.mark.parametrize("text", ["A+", "(A OR B)+ ; C", "A ; B+ ; C", "A:+ ; (B : C)+"])
def test_counting_an_event_costs_a_constant(text: str) -> None:
    """Numbers written: without a window as many at the end of the stream as at its beginning."""

    def costs(*, by_start: bool, width: int | None = None) -> list[int]:
        rng = Random(0)
        running = totals.counting(as_pattern(text).machine, by_start=by_start)
        writes = []
        for j in range(2_000):
            before = running.moved
            if width is not None:
                running.forget(j - width)
            running.advance(Event(rng.choice("AABC")), j)
            writes.append(running.moved - before)
        return writes

    constant = costs(by_start=False)
    states = len(as_pattern(text).machine.final) + 10
    assert max(constant[1_000:]) <= max(constant[:1_000]) <= 2 * states
    in_window = costs(by_start=True, width=50)
    assert max(in_window[1_000:]) <= 2 * max(in_window[:200])
    assert max(costs(by_start=True)[1_000:]) > 5 * max(in_window), "by start without a window"


def test_counts_by_end() -> None:
    """By hand: an answer ends at each B, one for each A before it; LIMIT and windows cut."""

    def counts(clauses: str) -> list[tuple[int, int]]:
        query = as_pattern(f"SELECT * WHERE A ; B {clauses}")
        return list(totals.counts(query.plan, query.machine, all_of("ABAABCB")))

    assert counts("") == [(1, 1), (4, 3), (6, 3)]
    assert counts("LIMIT 2") == [(1, 1), (4, 2), (6, 2)]
    assert counts("WITHIN 3 EVENTS") == [(1, 1), (4, 2), (6, 1)]
    assert counts("CONSUME BY ANY") == [(1, 1), (4, 2)]
