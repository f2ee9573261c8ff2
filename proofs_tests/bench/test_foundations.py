"""The queries of FOUND Table 1 as a benchmark: what is processed is the engine; counts are true."""

from __future__ import annotations

import json
from collections import Counter
from random import Random

import pytest

import cerlab
from cerlab.api import parse_query
from cerlab.bench.foundations import (
    QUERIES,
    WEIGHTS,
    measure_consumption,
    process,
    random_stream,
)
from cerlab.cli import main
from cerlab.io import Stream
from proofs_tests.suite import Suite

pytestmark = pytest.mark.services

WORDS = {"Q1": "ABC", "Q2": "ABCD", "Q3": "CD", "Q4": "AAB", "Q5": "AABBC", "Q6": "ABABC"}
"""Types in an order that each query finds."""

STRATEGIES = ("*", "LAST *", "MAX *", "NEXT *")


def test_processing_reads_all_events_as_the_reference_does(suite: Suite) -> None:
    """The last event's answers, listed after all else was read without output (CORE Alg. 1)."""

    def case(rng: Random) -> bool:
        name, strategy = rng.choice(list(QUERIES)), rng.choice(STRATEGIES)
        kinds = rng.choices("ABCDE", rng.choice(list(WEIGHTS.values())), k=rng.randint(1, 5))
        if rng.random() < 0.8:
            first = WORDS[name][:-1]
            for at, kind in zip(sorted(rng.choices(range(6), k=len(first))), first, strict=True):
                kinds.insert(at, kind)
            kinds.append(WORDS[name][-1])
        stream = Stream.from_events([{"type": kind} for kind in kinds])
        text = f"SELECT {strategy} WHERE {QUERIES[name]}"
        last = len(kinds) - 1
        answers = cerlab.evaluate(text, stream, evaluator="reference")
        ending = sorted(answer.positions for answer in answers if answer.end == last)
        _, output = process(parse_query(text), stream, 1)
        assert sorted(output) == ending
        return bool(ending)

    suite.run(case, deep_count=2_000)


def test_nothing_is_listed_unless_asked_for() -> None:
    stream = random_stream("S1", 300)
    visits, output = process(parse_query(f"SELECT * WHERE {QUERIES['Q1']}"), stream)
    assert list(output) == []
    assert visits > 300


@pytest.mark.parametrize(
    ("name", "shares"),
    [("S1", [1 / 5] * 5), ("S2", [4 / 12, 3 / 12, 2 / 12, 1 / 12, 2 / 12])],
)
def test_types_occur_as_often_as_the_paper_says(name: str, shares: list[float]) -> None:
    events = 20_000
    counts = Counter(event.type for event in random_stream(name, events))
    assert [counts[kind] / events for kind in "ABCDE"] == pytest.approx(shares, rel=0.1)


@pytest.mark.parametrize("query", QUERIES)
def test_consumed_answers_are_those_of_the_reference(query: str) -> None:
    stream = random_stream("S1", 300)
    row = measure_consumption(query, stream, 1)
    text = f"SELECT * WHERE {QUERIES[query]} CONSUME BY ANY"
    answers = list(cerlab.evaluate(text, stream, evaluator="tecs"))
    assert row.answers == len(answers) > 0
    assert row.per_end == pytest.approx(row.answers / len({answer.end for answer in answers}))


def test_the_mean_that_is_known_is_found() -> None:
    """Before a D come 4 of A, B and C on average, if any does (Q3)."""
    row = measure_consumption("Q3", random_stream("S1", 20_000), 1)
    assert row.per_end == pytest.approx(4, rel=0.05) == row.paper_per_end


def test_rows_of_both_experiments(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["bench", "--queries", "foundations", "--events", "200", "--runs", "1"]
    assert main([*options, "--format", "ndjson"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    of_processing = [row for row in rows if "strategy" in row]
    assert [(row["stream"], row["query"]) for row in of_processing[::4]] == [
        (stream, query) for stream in WEIGHTS for query in QUERIES
    ]
    assert all(row["events_per_second"] > 0 and row["visits"] > 0 for row in of_processing)
    assert [row["query"] for row in rows if "seconds" in row] == list(QUERIES)
    assert main(options) == 0
    out = capsys.readouterr().out
    assert all(word in out for word in ("S2", "NEXT", "visits/event", "in the paper", "2064"))


@pytest.mark.parametrize(
    "option", ["--memory", "--prefix=9", "--data=x", "--decoy", "--stream=homes", "--spark=2"]
)
def test_options_without_effect_are_errors(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--queries", "foundations", option]) == 2
    assert "CER0820" in capsys.readouterr().err


def test_the_cost_of_an_event_does_not_grow_with_the_stream() -> None:
    """Visits for each event, on streams of which one is ten times as long (FOUND Thm. 5)."""
    for formula in QUERIES.values():
        for strategy in STRATEGIES:
            query = parse_query(f"SELECT {strategy} WHERE {formula}")
            short, long = (
                process(query, random_stream("S1", events))[0] / events
                for events in (2_000, 20_000)
            )
            assert long <= 1.1 * short
