"""Kernels read a stream in parts, between which limits and interrupts are seen."""

from __future__ import annotations

from itertools import count, pairwise

import pytest

import cerlab
from cerlab.engine import batches
from cerlab.engine.batches import paces


def test_parts_cover_the_events_and_follow_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = count(0, 1)  # each part takes one
    monkeypatch.setattr(batches, "monotonic", lambda: next(seconds))
    parts = list(paces(100_000))
    assert [part.stop - part.start for part in parts[:4]] == [1 << 14, 1 << 12, 1 << 10, 1 << 8]
    assert parts[0].start == 0
    assert all(a.stop == b.start for a, b in pairwise(parts))
    assert parts[-1].stop >= 100_000
    monkeypatch.setattr(batches, "monotonic", lambda: 0.0)
    assert len(list(paces(1 << 20))) == 4
    assert list(paces(0)) == []


QUERIES = (
    "SELECT * WHERE A ; B+ ; A LIMIT 3",
    "SELECT * WHERE A ; B+ ; A WITHIN 4 EVENTS",
    "SELECT MAX * WHERE A ; B+ ; A PARTITION BY [k] WITHIN 4 EVENTS",
    "SELECT LAST * WHERE A+ ; B WITHIN 5 EVENTS CONSUME BY ANY",
)


@pytest.mark.parametrize("query", QUERIES)
def test_parts_of_one_event_give_the_same(query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    events = [{"type": "ABAAB"[n % 5], "k": n % 2} for n in range(40)]
    whole = cerlab.evaluate(query, events, evaluator="compiled")
    monkeypatch.setattr(batches, "PACE", 1)
    monkeypatch.setattr(batches, "SECONDS_OF_PACE", 0.0)
    assert cerlab.evaluate(query, events, evaluator="compiled") == whole
    if "LIMIT" not in query:
        assert whole == cerlab.evaluate(query, events, evaluator="tecs")
        assert whole


def test_a_limit_is_seen_between_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "PACE", 1)
    monkeypatch.setattr(batches, "SECONDS_OF_PACE", 0.0)
    session = cerlab.parse_query("SELECT * WHERE A ; B LIMIT 1").open()
    session.push([{"type": "A"}, {"type": "B"}])  # kernels are compiled
    with cerlab.limits(seconds=0.05), pytest.raises(cerlab.ResourceLimit, match="CER0620"):
        session.push([{"type": "A"}] * 100_000)
    with pytest.raises(cerlab.UsageError, match="CER0832"):
        session.push([{"type": "B"}])
