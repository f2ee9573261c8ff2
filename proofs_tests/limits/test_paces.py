"""Kernels read a stream in parts, between which limits and interrupts are seen."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

import cerlab
from cerlab.engine import answers as batches
from cerlab.engine import totals
from cerlab.engine.answers import paces
from cerlab.evaluate import thresholds
from proofs_tests.dials import Dial


def test_parts_cover_the_events_and_follow_the_clock(clock: Dial) -> None:
    clock.step = 1  # each part takes a second
    parts = list(paces(100_000))
    assert [part.stop - part.start for part in parts[:4]] == [1 << 14, 1 << 12, 1 << 10, 1 << 8]
    assert parts[0].start == 0
    assert all(a.stop == b.start for a, b in pairwise(parts))
    assert parts[-1].stop >= 100_000
    clock.step = 0
    assert len(list(paces(1 << 20))) == 4
    assert list(paces(0)) == []


def one_by_one(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Kernels read event by event; the list gets an item whenever limits are looked at."""
    looks: list[int] = []
    monkeypatch.setattr(batches, "PACE", 1)
    monkeypatch.setattr(batches, "SECONDS_OF_PACE", 0.0)
    monkeypatch.setattr(batches, "CAREFUL_PACE", 1)
    monkeypatch.setattr(batches, "poll", lambda *_: looks.append(1))
    return looks


def list_answers(query: str, events: list[dict[str, Any]]) -> object:
    return cerlab.evaluate(query, events, evaluator="compiled")


def count_answers(query: str, events: list[dict[str, Any]]) -> object:
    return cerlab.count(query, events)


def sum_answers(query: str, events: list[dict[str, Any]]) -> object:
    return cerlab.parse_query(query).run(events).aggregate(sum="x.k", avg="x.k").to_pylist()


def by_registers(query: str, events: list[dict[str, Any]]) -> object:
    return cerlab.evaluate(query, events, evaluator="registers")


def list_labels(query: str, events: list[dict[str, Any]]) -> object:
    return cerlab.valuations(query, events, evaluator="compiled")


KERNELS: dict[str, tuple[Callable[[str, list[dict[str, Any]]], object], str]] = {
    "tecs": (list_answers, "SELECT * WHERE A ; B+ ; A LIMIT 2"),
    "ends by copies, chains": (list_answers, "SELECT * WHERE A ; B ; A WITHIN 4 EVENTS"),
    "ends by keys": (list_answers, "SELECT * WHERE A ; B ; A PARTITION BY [k] WITHIN 9 [t]"),
    "ends that consume": (list_answers, "SELECT * WHERE A ; B ; A WITHIN 9 EVENTS CONSUME BY ANY"),
    "ends of a strategy": (list_answers, "SELECT MAX * WHERE A ; B+ ; A WITHIN 4 EVENTS"),
    "counts": (count_answers, "SELECT * WHERE A ; B ; A WITHIN 9 EVENTS"),
    "counts that consume": (count_answers, "SELECT * WHERE A ; B+ ; A WITHIN 9 [t] CONSUME BY ANY"),
    "labels": (list_labels, "SELECT * WHERE (A AS x OR A AS y) ; B ; A WITHIN 4 EVENTS"),
    "totals": (sum_answers, "SELECT * WHERE A AS x ; B+ ; A WITHIN 6 EVENTS"),
    "answers that wait": (list_answers, "SELECT * WHERE (A ; B ; A) WAIT 3 [t]"),
    "answers that wait, counted": (count_answers, "SELECT * WHERE (A ; B ; A) WAIT 3 [t]"),
    "registers": (
        by_registers,
        "SELECT * WHERE (A AS x ; B AS y) FILTER x.k = y.k WITHIN 9 EVENTS",
    ),
    "registers, counted": (count_answers, "SELECT * WHERE (A AS x ; B AS y) FILTER x.k = y.k"),
}


@pytest.mark.parametrize("name", KERNELS)
def test_every_kernel_reads_in_parts(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answers of the whole, and limits are looked at for each event or end of an answer."""
    run, query = KERNELS[name]
    monkeypatch.setattr(totals, "SHORT", 0)
    for name_of_bound in ("SHORT", "TECS_ORDER", "WORTH_A_KERNEL"):
        monkeypatch.setattr(thresholds, name_of_bound, 0)
    events = [{"type": "ABAAB"[n % 5], "k": n % 3, "t": n} for n in range(300)]
    whole = run(query, events)
    assert whole
    looks = one_by_one(monkeypatch)
    assert run(query, events) == whole
    assert len(looks) > 250


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


def test_a_limit_is_seen_between_parts(clock: Dial, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "PACE", 1)
    monkeypatch.setattr(batches, "SECONDS_OF_PACE", 0.0)
    session = cerlab.parse_query("SELECT * WHERE A ; B LIMIT 1").open()
    session.push([{"type": "A"}, {"type": "B"}])  # kernels are compiled
    many = cerlab.Stream.from_events([{"type": "A"}] * 10_000)  # which looks at limits, too
    clock.step = 1
    with cerlab.limits(seconds=1_000), pytest.raises(cerlab.ResourceLimit, match="CER0620"):
        session.push(many)
    assert clock.readings < 1_010  # three of each part
    with pytest.raises(cerlab.UsageError, match="CER0832"):
        session.push([{"type": "B"}])
