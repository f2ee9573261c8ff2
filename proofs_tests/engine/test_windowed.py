"""Looking ahead: answers and counts are those of the other evaluators (CORE Thm. 4).

Random queries with a window, over every operator, strategy and policy, on streams cut anywhere,
with arrays so small that everything grows.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import numpy as np
import pytest

import cerlab
from cerlab import ComplexEvent
from cerlab.api import as_query
from cerlab.engine import answers
from cerlab.engine import flat_program as program
from cerlab.engine import window_scan as scan
from cerlab.engine.array_totals import ArrayTotals
from cerlab.engine.symbol_tables import learned_tables
from cerlab.engine.tecs_run import GeneralEvaluation
from cerlab.engine.totals import counts_of_ends
from cerlab.engine.whole_stream import compiled_answers
from cerlab.engine.windowed import WindowedEvaluation
from cerlab.evaluate import answers_of
from cerlab.logic.ceql.semantics import query_answers
from cerlab.model.stream import Stream
from proofs_tests.engine.windowed_cases import (
    FOR_THE_ORACLE,
    by_counting,
    by_phases,
    cuts,
    lookable,
    windowed_case,
)
from proofs_tests.random_cases import Case
from proofs_tests.suite import random_suite


def events(text: str) -> list[dict[str, Any]]:
    return [{"type": kind} for kind in text]


@random_suite(20_000)
def test_any_batching_gives_the_answers_of_the_reference(rng: Random) -> bool | None:
    example = lookable(rng, FOR_THE_ORACLE)
    try:
        expected = query_answers(example.ast, example.stream)
    except cerlab.ResourceLimit:  # too large for the oracle: as one without answers
        return None
    cut = cuts(rng, len(example.stream))
    matches = by_phases(example, cut, arena=rng.choice((16, 64)), answers=rng.choice((2, 64)))
    if Counter(matches) != Counter(expected):
        raise AssertionError((example.describe(), cut))
    ends = [answer.end for answer in matches]
    assert ends == sorted(ends)
    return bool(expected)


@random_suite(10_000)
def test_longer_streams_and_limits_against_the_tecs(rng: Random) -> bool:
    pair = windowed_case(rng)
    if pair is None:
        return True
    a, expected = pair
    cut = cuts(rng, len(a.stream))
    matches = by_phases(a, cut)
    if Counter(matches) != Counter(expected):
        raise AssertionError((a.describe(), cut))
    return bool(expected)


def ends_of(answers: list[ComplexEvent]) -> Counter[int]:
    return Counter(answer.end for answer in answers)


@random_suite(10_000)
def test_counts_are_those_of_the_answers(rng: Random) -> bool:
    pair = windowed_case(rng)
    if pair is None:
        return True
    a, expected = pair
    cut = cuts(rng, len(a.stream))
    if by_counting(a) != ends_of(expected):
        raise AssertionError((a.describe(), cut))
    return bool(expected)


@pytest.mark.parametrize(
    ("query", "first", "second"),
    [
        ("SELECT * WHERE A : C WITHIN 3 EVENTS", "A", "C"),
        ("SELECT * WHERE A ; C WITHIN 3 EVENTS", "ABB", "C"),
        ("SELECT * WHERE B ; A ; C WITHIN 9 EVENTS", "BAB", "AC"),
        ("SELECT NXT * WHERE A ; C WITHIN 9 EVENTS", "ABA", "BC"),
        ("SELECT LAST * WHERE (A OR B)+ ; C WITHIN 9 EVENTS CONSUME BY ANY", "AB", "CAC"),
    ],
)
def test_events_before_the_first_of_a_kind_still_count(query: str, first: str, second: str) -> None:
    """As long as no C was seen nothing mattered; the windows are read again when one comes."""
    case = Case(as_query(query).ast, Stream(cerlab.Stream.from_events(events(first + second))))
    expected = query_answers(case.ast, case.stream)
    assert expected
    assert sorted(by_phases(case, [len(first)]), key=str) == sorted(expected, key=str)
    assert by_counting(case) == ends_of(list(expected))


@pytest.mark.parametrize("text", ["BAC", "BAAC", "BABAAC", "BBAACAC"])
def test_an_event_that_only_moves_runs_on_is_read_each_time(text: str) -> None:
    """An A starts, takes and accepts nothing here, but a second one in a row ends the runs."""
    query = as_query("SELECT C WHERE NOT(A) : A : C WITHIN 9 EVENTS")
    case = Case(query.ast, cerlab.Stream.from_events(events(text)))
    expected = list(answers_of(query, case.stream, "reference"))
    assert sorted(by_phases(case, []), key=str) == sorted(expected, key=str)


def test_answers_wait_until_a_window_has_been_read() -> None:
    """Batches smaller than the window are not looked at one by one, and nothing is lost."""
    query = as_query("SELECT * WHERE A ; B WITHIN 100 EVENTS")
    run = WindowedEvaluation(query.plan, learned_tables(query.machine))
    counts = []
    for n in range(400):
        kind = "AB"[n % 2]
        counts.append(sum(map(len, run.push_columns({"type": [kind]}, 1))))
    rest = sum(map(len, run.finish()))
    times_last_scan = sum(1 for n in counts if n)
    expected = cerlab.count(query, events("AB" * 200))
    assert sum(counts) + rest == expected
    assert times_last_scan < 20, "the window is read again after as many new events, not after each"


def test_a_batch_has_no_more_positions_than_its_offsets_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(answers, "MOST_POSITIONS", 40)
    query = as_query("SELECT * WHERE A+ WITHIN 5 EVENTS")
    for run in (
        WindowedEvaluation(query.plan, query.learned, answers=16),
        GeneralEvaluation(query.plan, query.learned, answers=16),
    ):
        batches = [*run.push_columns({"type": ["A"] * 20}, 20), *run.finish()]
        assert sum(map(len, batches)) == cerlab.count(query, events("A" * 20))
        assert max(len(batch.positions) for batch in batches) in range(30, 41)
        assert {batch.offsets.dtype for batch in batches} == {np.dtype(np.int32)}


@pytest.mark.parametrize("budget", [20_000, 0])
def test_keys_that_left_the_window_are_forgotten(
    budget: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keys keep their row while the tECS goes on from batch to batch (no budget for a program)."""
    monkeypatch.setattr(scan, "KEYS_KEPT", 8)
    monkeypatch.setattr(program, "BUDGET", budget)
    query = as_query("SELECT * WHERE A ; B PARTITION BY [k] WITHIN 3 [t]")
    run = WindowedEvaluation(query.plan, learned_tables(query.machine))
    matches: list[ComplexEvent] = []
    most = 0
    for n in range(300):
        columns = {"type": ["A", "B"], "k": [n // 2, (n - 1) // 2], "t": [n, n]}
        for batch in run.push_columns(columns, 2):
            matches += batch
        assert run._keys is not None
        most = max(most, run._keys.count)
    for batch in run.finish():
        matches += batch
    if budget:
        assert most < 40, "300 keys came by, a dozen are in a window"
    rows = [{"type": "A", "k": n // 2, "t": n} for n in range(300)]
    every = [
        event
        for n, row in enumerate(rows)
        for event in (row, {"type": "B", "k": (n - 1) // 2, "t": n})
    ]
    assert matches == list(answers_of(query, cerlab.Stream.from_events(every), "tecs"))
    assert matches


@pytest.mark.parametrize("window", ["", "WITHIN 1000 EVENTS", "WITHIN 1000 EVENTS LIMIT 9"])
def test_numbers_of_any_size_are_counted_by_the_kernel(window: str) -> None:
    """From 2^51 on they have two limbs, and more and more of them."""
    query = as_query(f"SELECT * WHERE A+ {window}")
    stream = cerlab.Stream.from_events(events("A" * 500))
    ((ends, counts),) = counts_of_ends(query.plan, query.learned, stream, None)
    assert ends.tolist() == [*range(500)]
    most = 9 if "LIMIT" in window else 2**500
    assert counts.tolist() == [min(most, 2**n) for n in range(500)]


def test_what_cannot_be_looked_at_says_why() -> None:
    def reason(text: str) -> str | None:
        return scan.why_not_windowed(as_query(text).plan)

    assert reason("SELECT * WHERE A WITHIN 1 EVENTS") is None
    assert "WITHIN" in str(reason("SELECT * WHERE A"))
    assert "EVENTS" in str(reason("SELECT * WHERE A PARTITION BY [k] WITHIN 1 EVENTS"))
    assert "NEXT" in str(reason("SELECT NEXT * WHERE A PARTITION BY [k] WITHIN 1 [t]"))
    assert reason("SELECT STRICT * WHERE A PARTITION BY [k] WITHIN 1 [t]") is None


@pytest.mark.parametrize(
    ("query", "phrase"),
    [
        ("SELECT * WHERE A ; B WITHIN 9 EVENTS", "chains of records"),
        ("SELECT * WHERE A : B WITHIN 9 EVENTS", "general tECS inside the windows"),
        ("SELECT * WHERE A ; B", "one phase, the general tECS: without WITHIN"),
        ("SELECT * WHERE A PARTITION BY [k] WITHIN 1 [t] CONSUME BY ANY", "by k"),
        ("SELECT * WHERE A : B WITHIN 9 EVENTS CONSUME BY ANY", "consume by ANY: an answer"),
        ("SELECT * WHERE A : B WITHIN 9 EVENTS LIMIT 7", "after 7 answers"),
        ("SELECT * WHERE A AS a ; B AS b FILTER a.p < b.p", "4 moves; a run holds a.p\ncompiled"),
        (
            "SELECT MAX * WHERE A AS a ; B AS b FILTER a.p < b.p",
            "4 moves; a run holds a.p\ncompiled",
        ),
    ],
)
def test_explain_names_the_engine_and_the_reason(query: str, phrase: str) -> None:
    assert phrase in str(as_query(query).explain(events("AABB")))


def test_explain_before_any_stream() -> None:
    text = str(as_query("SELECT * WHERE A ; B WITHIN 9 EVENTS").explain())
    assert "when a stream has been seen" in text


@random_suite(4_000)
def test_a_machine_that_outgrows_its_program_goes_on_alone(
    rng: Random, monkeypatch: pytest.MonkeyPatch
) -> bool:
    """The first batch has a program, the second one too many symbols for it."""
    trial = lookable(rng, FOR_THE_ORACLE)
    expected = query_answers(trial.ast, trial.stream)
    half = len(trial.stream) // 2
    query = trial.query
    monkeypatch.setattr(program, "BUDGET", 20_000)
    run = WindowedEvaluation(query.plan, learned_tables(query.machine), trial.stream.time, arena=16)
    matches: list[ComplexEvent] = []
    columns = trial.stream.columns
    for start, end in ((0, half), (half, len(trial.stream) - 1), (len(trial.stream) - 1, None)):
        part = {name: column[start:end] for name, column in columns.items()}
        for batch in run.push_columns(part, len(part["type"])):
            matches += batch
        monkeypatch.setattr(program, "BUDGET", 0)
    for batch in run.finish():
        matches += batch
    assert Counter(matches) == Counter(expected)
    return bool(expected)


def test_what_was_learnt_serves_the_next_stream() -> None:
    query = as_query("SELECT * WHERE A ; B WITHIN 9 EVENTS")
    for text in ("AAAA", "ACB", "BBA", "AB"):
        stream = cerlab.Stream.from_events(events(text))
        batches = compiled_answers(query.plan, query.learned, stream, None)
        matches = [answer for batch in batches for answer in batch]
        assert sorted(matches, key=str) == sorted(answers_of(query, stream, "tecs"), key=str)
    assert query.learned.seen == 2


def test_many_idle_states_survive_a_resumed_run() -> None:
    """More idle states than a fresh table has rows for."""
    text = "SELECT NXT * WHERE A ; B ; A ; C ; B ; D"
    query, other = as_query(text), as_query(text)
    stream = "ABACBABCABDACBDABCABACBD"
    run = GeneralEvaluation(query.plan, query.machine)
    for n in range(len(stream) - 4):
        list(run.push_columns({"type": [stream[n]]}, 1))
    table = run._tables.take_table(1)
    assert len(table.arrays.wait) > 4
    run._tables.give_back(table)
    rest = {"type": list(stream[-4:])}
    run_again = GeneralEvaluation(other.plan, other.machine, state=run.state())
    again = [answer for batch in run_again.push_columns(rest, 4) for answer in batch]
    assert again == [answer for batch in run.push_columns(rest, 4) for answer in batch]
    assert again


def test_steps_of_listing_are_linear_in_the_answers() -> None:
    """Every record that a search visits leads to an answer (CORE Thm. 2)."""
    for length in (200, 400, 800):
        query = as_query("SELECT * WHERE A ; B+ ; C WITHIN 12 EVENTS")
        run = WindowedEvaluation(query.plan, learned_tables(query.machine))
        rng = Random(7)
        stream = [rng.choice("ABC") for _ in range(length)]
        batches = list(run.push_columns({"type": stream}, length))
        size = sum(len(batch.positions) + len(batch) for batch in batches)
        assert size
        assert run.steps <= 3 * size


def test_the_starts_that_are_counted_are_those_of_the_window(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[ArrayTotals] = []
    move = ArrayTotals._move

    def noted(totals: ArrayTotals, *how: Any) -> None:
        made.append(totals)
        move(totals, *how)

    monkeypatch.setattr(ArrayTotals, "_move", noted)
    query = as_query("SELECT * WHERE A ; B WITHIN 50 EVENTS")
    stream = cerlab.Stream.from_events(events("A" * 5_000 + "B"))
    ((_, counts),) = counts_of_ends(query.plan, query.learned, stream, None)
    assert counts.tolist() == [50]
    assert made[-1]._cells.size.tolist() == [128]
    assert len(made[-1]._cells.pool) <= 1 << 11
