"""Ranges of a stream on several threads: the answers of one, in its order, with its errors."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from random import Random
from typing import Any

import pytest

import cerlab
from cerlab import ComplexEvent
from cerlab.api import as_query
from cerlab.engine import flat_program as program
from cerlab.engine import whole_stream as ranges
from cerlab.engine.symbol_tables import learned_tables
from cerlab.engine.whole_stream import compiled_answers
from cerlab.engine.windowed import WindowedEvaluation
from cerlab.evaluate import answers_of
from proofs_tests.engine.windowed_cases import windowed_case
from proofs_tests.suite import random_suite


@random_suite(4_000)
def test_ranges_on_several_threads_have_all_answers_once(
    rng: Random, monkeypatch: pytest.MonkeyPatch
) -> bool:
    pair = windowed_case(rng)
    if pair is None:
        return True
    a, expected = pair
    monkeypatch.setattr(ranges, "RANGE", rng.choice((1, 2, 5, 1 << 20)))
    monkeypatch.setattr(ranges, "SHORTEST", rng.choice((1, 4, 1 << 19)))
    monkeypatch.setattr(program, "BUDGET", rng.choice((20_000, 20_000, 0)))
    query = a.query
    batches = compiled_answers(
        query.plan, query.machine, a.stream, a.stream.time, threads=rng.choice((2, 3))
    )
    answers = [answer for batch in batches for answer in batch]
    if sorted(map(str, answers)) != sorted(map(str, expected)):
        raise AssertionError(a.describe())
    return bool(expected)


def test_an_evaluation_that_begins_anew_remembers_nothing() -> None:
    query = as_query("SELECT * WHERE A ; B PARTITION BY [k] WITHIN 100 [t]")
    run = WindowedEvaluation(query.plan, learned_tables(query.machine))
    for n in range(3):
        assert not list(run.push_columns({"type": ["A"], "k": [n], "t": [50 + n]}, 1))
    run.begin(10, 12)
    columns = {"type": ["B", "A", "B", "B"], "k": [2, 2, 0, 2], "t": [1, 2, 3, 4]}
    answers = [answer for batch in run.push_columns(columns, 4) for answer in batch]
    assert [(a.start, a.end) for a in answers] == [(11, 13)]
    assert run._keys is not None
    assert run._keys.count == 2


@pytest.mark.parametrize("threads", [2, 3, 8])
@pytest.mark.parametrize("length", [1, 7, 100_000, 20_000_000])
def test_ranges_are_shorter_towards_the_end(length: int, threads: int) -> None:
    """So that a thread waits for another one no longer than the shortest takes."""
    cuts = [*ranges.cuts(length, threads), length]
    sizes = [end - start for start, end in pairwise(cuts)]
    assert cuts[0] == 0
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] <= ranges.RANGE
    assert 0 < sizes[-1] <= min(ranges.SHORTEST, -(-length // threads))
    assert len(sizes) >= min(length, threads)


def answers_and_code(
    text: str, rows: list[dict[str, Any]], threads: int
) -> tuple[list[ComplexEvent], str | None]:
    """The answers by so many threads, and the code of the error after them."""
    query, stream = as_query(text), cerlab.Stream.from_events(rows)
    answers: list[ComplexEvent] = []
    try:
        for batch in compiled_answers(query.plan, query.machine, stream, None, threads=threads):
            answers += batch
    except cerlab.BadData as error:
        return answers, error.code
    return answers, None


@pytest.mark.parametrize("bad", [3, 4, 5, 6, 11])
@pytest.mark.parametrize("time", [None, -1])
@pytest.mark.parametrize("threads", [1, 2])
def test_the_answers_before_a_bad_time_are_given_and_then_its_error(
    bad: int, time: int | None, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranges, "RANGE", 3)
    monkeypatch.setattr(ranges, "FIRST_LOOK", 1)
    rows: list[dict[str, Any]] = [{"type": "AB"[n % 2], "t": 10 * n} for n in range(12)]
    rows[bad]["t"] = time
    answers, code = answers_and_code("SELECT * WHERE A : B WITHIN 10 [t]", rows, threads)
    assert [a.end for a in answers] == list(range(1, bad, 2))
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
    answers, code = answers_and_code(text, rows, 2)
    assert (sorted(map(str, answers)), code) == (sorted(map(str, expected)), None)
    assert expected


def test_matches_of_several_threads_count_from_the_same_first_one() -> None:
    rng = Random(5)
    stream = cerlab.Stream.from_events([{"type": rng.choice("ABCDEF")} for _ in range(21_000)])
    query = as_query("SELECT * WHERE A : B ; C WITHIN 12 EVENTS")
    plain, by_two = query.run(stream), query.run(stream, threads=2)
    answers = list(by_two)
    assert sorted(map(str, answers)) == sorted(map(str, plain))
    assert by_two.count() == plain.count() == len(answers)
    assert [by_two[k] for k in (0, 17, len(answers) - 1)] == [answers[0], answers[17], answers[-1]]


def test_ranges_are_refused_where_answers_depend_on_earlier_ones() -> None:
    def reason(text: str) -> str | None:
        return ranges.why_not_by_ranges(as_query(text).plan)

    assert reason("SELECT * WHERE A WITHIN 1 EVENTS") is None
    assert "WITHIN" in str(reason("SELECT * WHERE A"))
    assert "CONSUME BY" in str(reason("SELECT * WHERE A WITHIN 1 [t] CONSUME BY ANY"))
    assert "MAX" in str(reason("SELECT MAX * WHERE A WITHIN 1 [t]"))
    assert "FROM" in str(reason("SELECT * FROM S WHERE A WITHIN 1 EVENTS"))


def test_an_iteration_that_is_given_up_waits_for_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Collection while a thread starts, whose lock a join would wait for, for ever."""

    class NoWaiting(ThreadPoolExecutor):
        def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
            assert not wait
            assert cancel_futures
            super().shutdown(wait, cancel_futures=cancel_futures)

    monkeypatch.setattr(ranges, "ThreadPoolExecutor", NoWaiting)
    monkeypatch.setattr(ranges, "SHORTEST", 4)
    query = as_query("SELECT * WHERE A ; B WITHIN 3 EVENTS")
    stream = cerlab.Stream([{"type": kind} for kind in "AB" * 40])
    answers = ranges.ranged_answers(
        query.plan, learned_tables(query.machine), stream, None, threads=2
    )
    next(answers)
    answers.close()  # type: ignore[attr-defined]  # a generator
    assert len(list(query.run(stream, threads=2))) == query.run(stream).count()
