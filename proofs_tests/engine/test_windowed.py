"""Looking ahead: answers and counts are those of the other evaluators (CORE Thm. 4).

Random queries with a window, over every operator, strategy and policy, on streams cut anywhere,
with arrays so small that everything grows.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from random import Random
from typing import Any

import pytest

import cerlab
from cerlab.api import as_query
from cerlab.engine.general.evaluation import GeneralEvaluation
from cerlab.engine.learned import learned_tables
from cerlab.engine.whole_stream import compiled_answers
from cerlab.engine.windowed import program, ranges, scan
from cerlab.engine.windowed.counts import CountOverflow, EndCounts, end_counts
from cerlab.engine.windowed.evaluation import WindowedEvaluation
from cerlab.evaluate import answers_of
from cerlab.logic.ceql.semantics import query_answers
from cerlab.model.answer import ComplexEvent
from cerlab.model.stream import Stream
from proofs_tests.engine.windowed_cases import (
    FOR_THE_ORACLE,
    by_counting,
    by_phases,
    cuts,
    lookable,
    windowed,
)
from proofs_tests.random_cases import Case
from proofs_tests.suite import Suite


def events(text: str) -> list[dict[str, Any]]:
    return [{"type": kind} for kind in text]


def test_any_batching_gives_the_answers_of_the_reference(suite: Suite) -> None:
    def case(rng: Random) -> bool | None:
        drawn = lookable(rng, FOR_THE_ORACLE)
        try:
            expected = query_answers(drawn.ast, drawn.stream)
        except cerlab.ResourceLimit:  # too large for the oracle: as one without answers
            return None
        cut = cuts(rng, len(drawn.stream))
        found = by_phases(drawn, cut, arena=rng.choice((16, 64)), answers=rng.choice((2, 64)))
        if Counter(found) != Counter(expected):
            raise AssertionError((drawn.describe(), cut))
        ends = [answer.end for answer in found]
        assert ends == sorted(ends)
        return bool(expected)

    suite.run(case, deep_count=20_000)


def test_longer_streams_and_limits_against_the_tecs(suite: Suite) -> None:
    def case(rng: Random) -> bool:
        drawn = windowed(rng)
        if drawn is None:
            return True
        a, expected = drawn
        cut = cuts(rng, len(a.stream))
        found = by_phases(a, cut)
        if Counter(found) != Counter(expected):
            raise AssertionError((a.describe(), cut))
        return bool(expected)

    suite.run(case, deep_count=10_000)


def ends_of(answers: list[ComplexEvent]) -> Counter[int]:
    return Counter(answer.end for answer in answers)


def test_counts_are_those_of_the_answers(suite: Suite) -> None:
    def case(rng: Random) -> bool:
        drawn = windowed(rng)
        if drawn is None:
            return True
        a, expected = drawn
        cut = cuts(rng, len(a.stream))
        if by_counting(a, cut) != ends_of(expected):
            raise AssertionError((a.describe(), cut))
        return bool(expected)

    suite.run(case, deep_count=10_000)


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
    assert by_counting(case, [len(first)]) == ends_of(list(expected))


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
    looked = []
    for n in range(400):
        kind = "AB"[n % 2]
        looked.append(sum(map(len, run.push({"type": [kind]}, 1))))
    rest = sum(map(len, run.finish()))
    times_last_scan = sum(1 for n in looked if n)
    expected = cerlab.count(query, events("AB" * 200))
    assert sum(looked) + rest == expected
    assert times_last_scan < 20, "the window is read again after as many new events, not after each"


@pytest.mark.parametrize("budget", [20_000, 0])
def test_keys_that_left_the_window_are_forgotten(
    budget: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the tECS goes on from batch to batch (no budget for a program) they keep their row."""
    monkeypatch.setattr(scan, "KEYS_KEPT", 8)
    monkeypatch.setattr(program, "BUDGET", budget)
    query = as_query("SELECT * WHERE A ; B PARTITION BY [k] WITHIN 3 [t]")
    run = WindowedEvaluation(query.plan, learned_tables(query.machine))
    found: list[ComplexEvent] = []
    most = 0
    for n in range(300):
        columns = {"type": ["A", "B"], "k": [n // 2, (n - 1) // 2], "t": [n, n]}
        for batch in run.push(columns, 2):
            found += batch
        assert run._keys is not None
        most = max(most, run._keys.count)
    for batch in run.finish():
        found += batch
    if budget:
        assert most < 40, "300 keys came by, a dozen are in a window"
    rows = [{"type": "A", "k": n // 2, "t": n} for n in range(300)]
    every = [
        event
        for n, row in enumerate(rows)
        for event in (row, {"type": "B", "k": (n - 1) // 2, "t": n})
    ]
    assert found == list(answers_of(query, cerlab.Stream.from_events(every), "tecs"))
    assert found


def test_ranges_on_several_threads_have_all_answers_once(
    suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    def case(rng: Random) -> bool:
        drawn = windowed(rng)
        if drawn is None:
            return True
        a, expected = drawn
        monkeypatch.setattr(ranges, "RANGE", rng.choice((1, 2, 5, 1 << 20)))
        monkeypatch.setattr(ranges, "SHORTEST", rng.choice((1, 4, 1 << 17)))
        monkeypatch.setattr(program, "BUDGET", rng.choice((20_000, 20_000, 0)))
        query = a.query
        made = compiled_answers(
            query.plan, query.machine, a.stream, a.stream.time, workers=rng.choice((2, 3))
        )
        found = [answer for batch in made for answer in batch]
        if sorted(map(str, found)) != sorted(map(str, expected)):
            raise AssertionError(a.describe())
        return bool(expected)

    suite.run(case, deep_count=4_000)


def test_an_evaluation_that_begins_anew_remembers_nothing() -> None:
    query = as_query("SELECT * WHERE A ; B PARTITION BY [k] WITHIN 100 [t]")
    run = WindowedEvaluation(query.plan, learned_tables(query.machine))
    for n in range(3):
        assert not list(run.push({"type": ["A"], "k": [n], "t": [50 + n]}, 1))
    run.begin(10, 12)
    columns = {"type": ["B", "A", "B", "B"], "k": [2, 2, 0, 2], "t": [1, 2, 3, 4]}
    found = [answer for batch in run.push(columns, 4) for answer in batch]
    assert [(a.start, a.end) for a in found] == [(11, 13)]
    assert run._keys is not None
    assert run._keys.count == 2


@pytest.mark.parametrize("workers", [2, 3, 8])
@pytest.mark.parametrize("length", [1, 7, 100_000, 20_000_000])
def test_ranges_are_shorter_towards_the_end(length: int, workers: int) -> None:
    """So that a worker waits for another one no longer than the shortest takes."""
    cuts = [*ranges.cuts(length, workers), length]
    sizes = [end - start for start, end in pairwise(cuts)]
    assert cuts[0] == 0
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] <= ranges.RANGE
    assert 0 < sizes[-1] <= min(ranges.SHORTEST, -(-length // workers))
    assert len(sizes) >= min(length, workers)


def given(
    text: str, rows: list[dict[str, Any]], workers: int
) -> tuple[list[ComplexEvent], str | None]:
    """The answers by so many threads, and the code of the error after them."""
    query, stream = as_query(text), cerlab.Stream.from_events(rows)
    found: list[ComplexEvent] = []
    try:
        for batch in compiled_answers(query.plan, query.machine, stream, None, workers=workers):
            found += batch
    except cerlab.BadData as error:
        return found, error.code
    return found, None


@pytest.mark.parametrize("bad", [3, 4, 5, 6, 11])
@pytest.mark.parametrize("time", [None, -1])
@pytest.mark.parametrize("workers", [1, 2])
def test_the_answers_before_a_bad_time_are_given_and_then_its_error(
    bad: int, time: int | None, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranges, "RANGE", 3)
    monkeypatch.setattr(ranges, "FIRST_LOOK", 1)
    rows: list[dict[str, Any]] = [{"type": "AB"[n % 2], "t": 10 * n} for n in range(12)]
    rows[bad]["t"] = time
    found, code = given("SELECT * WHERE A : B WITHIN 10 [t]", rows, workers)
    assert [a.end for a in found] == list(range(1, bad, 2))
    assert code == ("CER0712" if time is None else "CER0714")


def test_ranges_do_not_ask_for_the_times_of_events_that_from_removes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ranges, "RANGE", 3)
    monkeypatch.setattr(ranges, "FIRST_LOOK", 1)
    rows: list[dict[str, Any]] = []
    for n in range(12):
        rows.append({"type": "AB"[n % 2], "stream": "S", "t": n})
        rows.append({"type": "B", "stream": "T", "t": None if n % 2 else -n})
    text = "SELECT * FROM S WHERE A ; B WITHIN 3 [t]"
    expected = list(answers_of(as_query(text), cerlab.Stream.from_events(rows), "tecs"))
    found, code = given(text, rows, 2)
    assert (sorted(map(str, found)), code) == (sorted(map(str, expected)), None)
    assert expected


def test_matches_of_several_workers_count_from_the_same_first_one() -> None:
    rng = Random(5)
    stream = cerlab.Stream.from_events([{"type": rng.choice("ABCDEF")} for _ in range(21_000)])
    query = as_query("SELECT * WHERE A : B ; C WITHIN 12 EVENTS")
    plain, shared = query.run(stream), query.run(stream, workers=2)
    listed = list(shared)
    assert sorted(map(str, listed)) == sorted(map(str, plain))
    assert shared.count() == plain.count() == len(listed)
    assert [shared[k] for k in (0, 17, len(listed) - 1)] == [listed[0], listed[17], listed[-1]]


def test_ranges_are_refused_where_answers_depend_on_earlier_ones() -> None:
    def reason(text: str) -> str | None:
        return ranges.why_not_by_ranges(as_query(text).plan)

    assert reason("SELECT * WHERE A WITHIN 1 EVENTS") is None
    assert "WITHIN" in str(reason("SELECT * WHERE A"))
    assert "CONSUME BY" in str(reason("SELECT * WHERE A WITHIN 1 [t] CONSUME BY ANY"))
    assert "MAX" in str(reason("SELECT MAX * WHERE A WITHIN 1 [t]"))
    assert "FROM" in str(reason("SELECT * FROM S WHERE A WITHIN 1 EVENTS"))


def test_numbers_too_large_for_a_kernel_are_refused() -> None:
    query = as_query("SELECT * WHERE A+ WITHIN 100 EVENTS")
    stream = cerlab.Stream.from_events(events("A" * 60))
    with pytest.raises(CountOverflow, match="2\\^53"):
        list(end_counts(query.plan, query.learned, stream, None))
    assert query.run(stream).count() == sum(2**n for n in range(60))


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
    ],
)
def test_explain_names_the_engine_and_the_reason(query: str, phrase: str) -> None:
    assert phrase in str(as_query(query).explain(events("AABB")))


def test_explain_before_any_stream() -> None:
    text = str(as_query("SELECT * WHERE A ; B WITHIN 9 EVENTS").explain())
    assert "when a stream has been seen" in text


def test_a_machine_that_outgrows_its_program_goes_on_alone(
    suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first batch has a program, the second one too many symbols for it."""

    def case(rng: Random) -> bool:
        drawn = lookable(rng, FOR_THE_ORACLE)
        expected = query_answers(drawn.ast, drawn.stream)
        half = len(drawn.stream) // 2
        query = drawn.query
        monkeypatch.setattr(program, "BUDGET", 20_000)
        run = WindowedEvaluation(
            query.plan, learned_tables(query.machine), drawn.stream.time, arena=16
        )
        found: list[ComplexEvent] = []
        columns = drawn.stream.columns
        for start, end in ((0, half), (half, len(drawn.stream) - 1), (len(drawn.stream) - 1, None)):
            part = {name: column[start:end] for name, column in columns.items()}
            for batch in run.push(part, len(part["type"])):
                found += batch
            monkeypatch.setattr(program, "BUDGET", 0)
        for batch in run.finish():
            found += batch
        assert Counter(found) == Counter(expected)
        return bool(expected)

    suite.run(case, deep_count=4_000)


def test_what_was_learnt_serves_the_next_stream() -> None:
    query = as_query("SELECT * WHERE A ; B WITHIN 9 EVENTS")
    for text in ("AAAA", "ACB", "BBA", "AB"):
        stream = cerlab.Stream.from_events(events(text))
        made = compiled_answers(query.plan, query.learned, stream, None)
        found = [answer for batch in made for answer in batch]
        assert sorted(found, key=str) == sorted(answers_of(query, stream, "tecs"), key=str)
    assert query.learned.seen == 2


def test_many_idle_states_survive_a_resumed_run() -> None:
    """More idle states than a fresh table has rows for."""
    text = "SELECT NXT * WHERE A ; B ; A ; C ; B ; D"
    query, other = as_query(text), as_query(text)
    stream = "ABACBABCABDACBDABCABACBD"
    run = GeneralEvaluation(query.plan, query.machine)
    for n in range(len(stream) - 4):
        list(run.push({"type": [stream[n]]}, 1))
    table = run._learned.take_table(1)
    assert len(table.arrays.wait) > 4
    run._learned.give_back(table)
    rest = {"type": list(stream[-4:])}
    resumed = GeneralEvaluation(other.plan, other.machine, state=run.state())
    again = [answer for batch in resumed.push(rest, 4) for answer in batch]
    assert again == [answer for batch in run.push(rest, 4) for answer in batch]
    assert again


def test_steps_of_listing_are_linear_in_the_answers() -> None:
    """Every record that a search visits leads to an answer (CORE Thm. 2)."""
    for length in (200, 400, 800):
        query = as_query("SELECT * WHERE A ; B+ ; C WITHIN 12 EVENTS")
        run = WindowedEvaluation(query.plan, learned_tables(query.machine))
        rng = Random(7)
        stream = [rng.choice("ABC") for _ in range(length)]
        found = list(run.push({"type": stream}, length))
        listed = sum(len(batch.positions) + len(batch) for batch in found)
        assert listed
        assert run.steps <= 3 * listed


def test_the_counting_ring_grows_and_keeps_its_window() -> None:
    query = as_query("SELECT * WHERE A ; B WITHIN 50 EVENTS")
    run = EndCounts(query.plan, learned_tables(query.machine), starts=2)
    list(run.push({"type": ["A"] * 200 + ["B"]}, 201))
    assert run._starts == 64
