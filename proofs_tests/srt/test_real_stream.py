"""Patterns of the paper on the real stock stream, against counts by definition (SRT Alg. 1).

The windows of the paper are strict, so its 500 ms are 499 here. It states match frequencies of
0.36 % for the shortest sequence and of 0.61 % for the shortest pattern with an iteration.
"""

from __future__ import annotations

from bisect import bisect_left
from pathlib import Path

import pytest

from cerlab.compile.register_plan import register_plan
from cerlab.engine.reference.registers.shared import SharedRuns
from cerlab.logic.sremo import parse_sremo
from cerlab.model.event import Event
from cerlab.model.stream import Stream

WIDTH = 499
FIRST = "type = 'SELL' AND name = 'INTC'"
SECOND = "type = 'BUY' AND name = 'RIMM'"
LAST = "type = 'BUY' AND name = 'QQQ' AND price > x.price"
CHEAP = f"{SECOND} AND price < 500"
REG_1 = f"#(<{FIRST}>^ -> x, <{SECOND}>^, <{LAST}>^)"
K_1 = f"#(<{FIRST}>^ -> x, <{CHEAP}>^, #(<{CHEAP}>^*), <{LAST}>^)"


def number(event: Event, attribute: str) -> float:
    value = event.attributes[attribute]
    assert isinstance(value, int | float)
    return value


def between(events: tuple[Event, ...]) -> list[int]:
    """For each first and last event that fit together, how many second ones are between."""
    seconds = [
        i for i, e in enumerate(events) if named(e, "BUY", "RIMM") and number(e, "price") < 500
    ]
    firsts = [i for i, e in enumerate(events) if named(e, "SELL", "INTC")]
    found = []
    for k, last in enumerate(events):
        if named(last, "BUY", "QQQ"):
            for i in reversed(firsts[: bisect_left(firsts, k)]):
                if number(last, "stock_time") - number(events[i], "stock_time") > WIDTH:
                    break
                if number(last, "price") > number(events[i], "price"):
                    found.append(bisect_left(seconds, k) - bisect_left(seconds, i))
    return found


def named(event: Event, kind: str, name: str) -> bool:
    return event.type == kind and event.attributes["name"] == name


def test_the_shortest_sequence_and_the_shortest_iteration(stock_file: Path) -> None:
    events = Stream.read(stock_file).events
    pairs = between(events)
    expected = (sum(pairs), sum(2**m - 1 for m in pairs))
    found = []
    for pattern in (REG_1, K_1):
        active = SharedRuns(register_plan(parse_sremo(f"({pattern})[within {WIDTH} stock_time]")))
        found.append(sum(len(active.advance(t, k)) for k, t in enumerate(events)))
    assert tuple(found) == expected
    percent = [100 * n / len(events) for n in found]
    assert percent == pytest.approx([0.36, 0.61], abs=0.01)
