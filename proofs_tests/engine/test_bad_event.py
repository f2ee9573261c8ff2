"""A batch with an event that cannot be read: the answers before it, and how much was read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, combinations, pairwise
from typing import Any

import pytest

import cerlab
from cerlab import Stream
from cerlab.compile.pattern import as_pattern
from cerlab.engine import tecs_run as evaluation
from cerlab.engine.tecs_run import GeneralEvaluation
from cerlab.engine.windowed import WindowedEvaluation
from cerlab.evaluate import choose
from cerlab.model.answer import by_end

TEXT = "SELECT * WHERE A ; B WITHIN 10 [t]"
GOOD: list[dict[str, Any]] = [{"type": kind, "t": n + 1} for n, kind in enumerate("ABBAB")]
BAD: dict[str, dict[str, Any]] = {"goes back": {"type": "A", "t": 0}, "is missing": {"type": "A"}}
"""Events that no time after the first allows."""

AFTER = [{"type": "B", "t": 6}, {"type": "C", "t": 7}]


def answers(events: list[dict[str, Any]]) -> list[cerlab.ComplexEvent]:
    return cerlab.evaluate(TEXT, events, evaluator="reference")


def by_end_sorted(matches: list[cerlab.ComplexEvent]) -> list[cerlab.ComplexEvent]:
    return sorted(matches, key=by_end)


def splits(length: int) -> Iterator[tuple[int, ...]]:
    """All ways to cut so many events into batches."""
    for n in range(length):
        yield from combinations(range(1, length), n)


def batches(events: list[dict[str, Any]], cuts: tuple[int, ...]) -> list[list[dict[str, Any]]]:
    edges = [0, *cuts, len(events)]
    return [events[a:b] for a, b in pairwise(edges)]


@pytest.mark.parametrize("few", [0, 2, 32])
@pytest.mark.parametrize("bad", BAD)
def test_a_session_gives_the_answers_before_a_bad_event_and_goes_on(
    bad: str, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At every place of the bad event, and however the events are cut into batches."""
    monkeypatch.setattr(evaluation, "FEW", few)
    answers_before = 0
    for at in range(1, len(GOOD) + 1):
        events = [*GOOD[:at], BAD[bad], *GOOD[at:]]
        for cuts in splits(len(events)):
            session = cerlab.parse_query(TEXT).open()
            matches: list[cerlab.ComplexEvent] = []
            for batch in batches(events, cuts):
                if BAD[bad] not in batch:
                    matches += session.push(batch)
                    continue
                with pytest.raises(cerlab.BadData) as caught:
                    session.push(batch)
                matches += caught.value.matches
                answers_before += len(caught.value.matches)
                break
            assert by_end_sorted(matches) == answers(GOOD[:at]), cuts
            assert session.pushed == at
            assert session.answered == len(matches)
            matches += session.push(AFTER)
            assert by_end_sorted(matches) == answers([*GOOD[:at], *AFTER]), cuts
            assert session.pushed == at + len(AFTER)
    assert answers_before


def test_the_answers_of_the_issue() -> None:
    session = cerlab.parse_query(TEXT).open()
    with pytest.raises(cerlab.BadData) as caught:
        session.push([{"type": "A", "t": 1}, {"type": "B", "t": 2}, {"type": "A", "t": 1}])
    assert caught.value.matches == [cerlab.ComplexEvent(0, 1, (0, 1))]
    assert (session.pushed, session.answered) == (2, 1)


def test_of_a_batch_that_is_no_events_nothing_is_read() -> None:
    session = cerlab.parse_query(TEXT).open()
    with pytest.raises(cerlab.BadData) as caught:
        session.push([{"t": 1}])
    assert caught.value.matches == []
    assert session.pushed == 0


def by_columns(run: Any, events: list[dict[str, Any]], cuts: tuple[int, ...]) -> list[Any]:
    """Return the answers of a run before its error, batch by batch."""
    result: list[Any] = []
    with pytest.raises(cerlab.BadData):
        result.extend(push_all(run, batches(events, cuts)))
    return [*result, *run.finish()]


def push_all(run: Any, parts: list[list[dict[str, Any]]]) -> Iterator[Any]:
    for part in parts:
        yield from run.push_columns(Stream.from_events(part).columns, len(part))


def all_answers(parts: list[Any]) -> list[cerlab.ComplexEvent]:
    return [answer for part in parts for answer in part]


@pytest.mark.parametrize("kind", [GeneralEvaluation, WindowedEvaluation])
@pytest.mark.parametrize("bad", BAD)
def test_each_evaluation_gives_the_answers_before_a_bad_event(
    kind: Callable[..., Any], bad: str
) -> None:
    query = as_pattern(TEXT)
    for at in range(1, len(GOOD) + 1):
        events = [*GOOD[:at], BAD[bad], *GOOD[at:]]
        for cuts in splits(len(events)):
            matches = all_answers(by_columns(kind(query.plan, query.learned, None), events, cuts))
            assert by_end_sorted(matches) == answers(GOOD[:at])


@pytest.mark.parametrize("evaluator", ["tecs", "automaton", "registers"])
@pytest.mark.parametrize("bad", BAD)
def test_evaluators_of_single_events_give_the_answers_before_a_bad_event(
    evaluator: Any, bad: str
) -> None:
    for at in range(1, len(GOOD) + 1):
        events = Stream.from_events([*GOOD[:at], BAD[bad], *GOOD[at:]])
        matches: list[cerlab.ComplexEvent] = []
        pushed = choose(as_pattern(TEXT), evaluator).run(None).push(events)
        with pytest.raises(cerlab.BadData):
            matches.extend(chain.from_iterable(pushed))
        assert by_end_sorted(matches) == answers(GOOD[:at])


def test_a_bad_event_in_a_long_batch_costs_a_few_times_the_batch() -> None:
    """Counted in events read: the batch is halved towards the bad event, not read one by one."""
    length = 1 << 12
    query, events_read = as_pattern(TEXT), 0
    run = GeneralEvaluation(query.plan, query.learned, None)
    symbols = query.learned.symbols

    def count_events(columns: Any, size: int) -> Any:
        nonlocal events_read
        events_read += size
        return symbols(columns, size)

    query.learned.symbols = count_events  # type: ignore
    times = [*range(length - 3), 0, length, length + 1]
    with pytest.raises(cerlab.BadData):
        for _ in run.push_columns({"type": ["A"] * length, "t": times}, length):
            pass
    assert run.position == length - 3
    assert events_read <= 4 * length
