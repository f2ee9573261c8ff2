"""Patterns of the paper on the real stock stream, against counts by definition (SRT Alg. 1).

The windows of the paper are strict, so its 500 ms are 499 here. It states match frequencies of
0.36 % for the shortest sequence and of 0.61 % for the shortest pattern with an iteration.
"""

from __future__ import annotations

from bisect import bisect_left
from pathlib import Path

import pytest

from cerlab import Event, Stream, parse_query, parse_sremo
from cerlab.compile.sremo_to_srt import register_plan
from cerlab.engine.reference.registers import Runs, SharedRuns
from cerlab.engine.registers.evaluation import RegisterEvaluation
from proofs_tests.benchmarks.registers import PATTERNS, ceql, digest, sremo
from proofs_tests.benchmarks.streams import from_file
from proofs_tests.suite import Suite

WIDTH = 499
PREFIX = 2_000
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
        i for i, e in enumerate(events) if is_named(e, "BUY", "RIMM") and number(e, "price") < 500
    ]
    firsts = [i for i, e in enumerate(events) if is_named(e, "SELL", "INTC")]
    counts = []
    for k, last in enumerate(events):
        if is_named(last, "BUY", "QQQ"):
            for i in reversed(firsts[: bisect_left(firsts, k)]):
                if number(last, "stock_time") - number(events[i], "stock_time") > WIDTH:
                    break
                if number(last, "price") > number(events[i], "price"):
                    counts.append(bisect_left(seconds, k) - bisect_left(seconds, i))
    return counts


def is_named(event: Event, kind: str, name: str) -> bool:
    return event.type == kind and event.attributes["name"] == name


@pytest.mark.long
def test_the_shortest_sequence_and_the_shortest_iteration(stock_file: Path, suite: Suite) -> None:
    """By the compiled engine; by Algorithm 1 a tenth of the stream, all of it if deep."""
    stream = from_file(str(stock_file))
    events = stream.events
    pairs = between(events)
    expected = (sum(pairs), sum(2**m - 1 for m in pairs))
    counts = []
    prefix = len(events) if suite.deep else len(events) // 10
    for pattern in (REG_1, K_1):
        plan = register_plan(parse_sremo(f"({pattern})[within {WIDTH} stock_time]"))
        active = SharedRuns(plan)
        reports = [M for k, t in enumerate(events[:prefix]) for M in active.advance(t, k)]
        answers = [
            answer for batch in RegisterEvaluation(plan, stream).answers() for answer in batch
        ]
        counts.append(len(answers))
        early = [answer.positions for answer in answers if answer.end < prefix]
        assert len(early) == len(reports) > 0
        assert set(early) == set(reports)
    assert tuple(counts) == expected
    percent = [100 * n / len(events) for n in counts]
    assert percent == pytest.approx([0.36, 0.61], abs=0.01)


def test_patterns_and_queries_have_the_same_complex_events(stock_file: Path) -> None:
    """All patterns of the paper in a window of 1,000 ms, with the frequencies that it states."""
    stream = from_file(str(stock_file))
    percent = {}
    for name, pattern in PATTERNS.items():
        count, checksum = digest(
            RegisterEvaluation(register_plan(parse_sremo(sremo(pattern, 1_000))), stream)
        )
        query = parse_query(ceql(pattern, 1_000)).registers
        assert digest(RegisterEvaluation(query, stream)) == (count, checksum), name
        percent[name] = 100 * count / len(stream)
    assert percent["q2"] == 0
    assert percent["q3"] == pytest.approx(13, abs=0.1)
    assert percent["reg_1"] > percent["q1"] > percent["q4"] > 0


@pytest.mark.long
def test_patterns_by_runs_on_a_prefix(stock_file: Path) -> None:
    """By Algorithm 1, with a run for each match, in a window of 1,000 ms (SRT Alg. 1)."""
    events = Stream.read(stock_file).events[:PREFIX]
    with_answers = 0
    for pattern in PATTERNS.values():
        plan = register_plan(parse_sremo(sremo(pattern, 1_000)))
        apart = Runs(plan)
        expected = {M for k, t in enumerate(events) for M in apart.advance(t, k)}
        answers = [a for batch in RegisterEvaluation(plan, Stream(events)).answers() for a in batch]
        assert len(answers) == len(expected)
        assert {answer.positions for answer in answers} == expected
        with_answers += bool(expected)
    assert with_answers >= 3
