"""One query in the hands of several threads: each gets the answers that it would get alone."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from random import Random
from threading import Barrier, Event, Thread
from typing import Any

import pytest

import cerlab
from cerlab import ComplexEvent, Query
from cerlab.computed import cached_property
from cerlab.engine.symbol_tables import LearnedTables
from cerlab.evaluate.physical import BySize
from cerlab.kernel_cache import CompiledKernel
from cerlab.model.answer import by_end
from proofs_tests.suite import random_suite

THREADS = 8
KINDS = "ABCDEFGH"
TEXTS = (
    "SELECT MAX * WHERE A ; (B OR C OR D FILTER D[v > 3])+ ; (E FILTER E[v < 5] OR F); (G OR H)+"
    " WITHIN 12 EVENTS",
    "SELECT LAST * WHERE (A OR E) ; (B OR F)+ ; (C OR D OR G FILTER G[v > 2]) WITHIN 9 EVENTS",
    "SELECT NEXT * WHERE (A OR H) ; (B OR E) ; (C OR F FILTER F[v < 6])+ ; (D OR G)",
    "SELECT * WHERE (A OR D) ; (B : C OR E : F)+ ; (G OR H FILTER H[v > 4]) WITHIN 9 EVENTS",
    "SELECT * WHERE (A OR C) ; (B OR D OR E)+ ; (F OR G) WITHIN 7 EVENTS CONSUME BY ANY",
)

Events = list[dict[str, Any]]
Evaluate = Callable[[Query, Events], list[ComplexEvent]]


def random_events(rng: Random, length: int) -> Events:
    return [{"type": rng.choice(KINDS), "v": rng.randrange(9)} for _ in range(length)]


@pytest.fixture(autouse=True)
def short_turns() -> Iterator[None]:
    """Threads take turns every few microseconds."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(5e-6)
    yield
    sys.setswitchinterval(before)


def by_tecs(query: Query, events: Events) -> list[ComplexEvent]:
    return cerlab.evaluate(query, events, evaluator="tecs")


def by_the_engine(query: Query, events: Events) -> list[ComplexEvent]:
    return cerlab.evaluate(query, events, evaluator="compiled")


def by_sessions(query: Query, events: Events) -> list[ComplexEvent]:
    """One session for the first half, and one that goes on where that was, event by event."""
    half = len(events) // 2
    session = query.open()
    answers = session.push(events[:half])
    session = query.open(state=session.state())
    for event in events[half:]:
        answers += session.push([event])
    return sorted(answers, key=by_end)


def in_threads(evaluate: Evaluate, query: Query, streams: list[Events]) -> list[list[ComplexEvent]]:
    """The answers on each stream, by as many threads that start together on a fresh machine."""
    assert query.learned.machine is query.machine
    together = Barrier(len(streams))

    def work(events: Events) -> list[ComplexEvent]:
        together.wait()
        return evaluate(query, events)

    with ThreadPoolExecutor(len(streams)) as pool:
        return list(pool.map(work, streams))


@pytest.mark.parametrize("evaluate", [by_tecs, by_the_engine, by_sessions])
@random_suite(1_000)
def test_threads_that_share_a_query_get_the_answers_of_one(evaluate: Evaluate, rng: Random) -> bool:
    text = rng.choice(TEXTS)
    pair = [random_events(rng, rng.randrange(16, 28)) for _ in range(2)]
    streams = pair * (THREADS // 2)
    expected = [by_tecs(cerlab.parse_query(text), events) for events in pair] * (THREADS // 2)
    assert in_threads(evaluate, cerlab.parse_query(text), streams) == expected
    return sum(map(bool, expected)) >= THREADS // 2


def test_two_tables_in_use_are_two() -> None:
    tables = cerlab.parse_query(TEXTS[0]).learned
    first, second = tables.take_table(1), tables.take_table(1)
    assert first is not second
    tables.give_back(first)
    assert tables.take_table(1) is first


def test_a_table_knows_the_states_that_were_found_through_another() -> None:
    query = cerlab.parse_query("SELECT * WHERE A ; B ; C")
    session = query.open()
    table = query.learned.take_table(1)
    session.push([{"type": "A"}, {"type": "B"}, {"type": "C"}, {"type": "A"}, {"type": "B"}])
    query.learned.give_back(table)
    assert len(session.push([{"type": "C"}])) == 3, "by the table that was held meanwhile"


def test_each_thread_has_tables_of_its_own() -> None:
    tables = LearnedTables(cerlab.parse_query("SELECT * WHERE A").machine)
    three = tables.for_threads(3)
    assert three[0] is tables
    assert len(set(map(id, three))) == 3
    assert tables.for_threads(2) == three[:2]
    assert tables.for_threads(4)[:3] == three


@pytest.fixture
def long_count(monkeypatch: pytest.MonkeyPatch) -> Iterator[cerlab.Matches]:
    """Let another thread count the answers of these matches, and not come to an end."""
    count, began, go_on = BySize.count, Event(), Event()

    def slow_count(by: BySize, stream: Any) -> int:
        if len(stream) == 3:
            began.set()
            go_on.wait()
        return count(by, stream)

    monkeypatch.setattr(BySize, "count", slow_count)
    matches = cerlab.parse_query("SELECT * WHERE A+").run([{"type": "A"}] * 3)
    thread = Thread(target=matches.count, daemon=True)
    thread.start()
    began.wait()
    yield matches
    go_on.set()
    thread.join()
    assert matches.count() == 7


def other_count() -> int:
    return cerlab.parse_query("SELECT * WHERE A ; B").run([{"type": "A"}, {"type": "B"}]).count()


@pytest.mark.usefixtures("long_count")
def test_a_count_does_not_wait_for_a_longer_one_of_another_thread() -> None:
    with ThreadPoolExecutor(1) as pool:
        # it waits for ever if a lock is shared; ten minutes end the test then
        assert pool.submit(other_count).result(timeout=600) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="signals of POSIX")
def test_a_child_forked_during_a_count_counts(long_count: cerlab.Matches) -> None:
    """The same matches, too, which the child computes anew."""
    if not (child := os.fork()):
        signal.alarm(600)
        sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115
        vars(long_count)["stream"] = cerlab.Stream([{"type": "A"}] * 4)
        os._exit(0 if (other_count(), long_count.count()) == (1, 15) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="signals of POSIX")
def test_a_child_forked_while_a_kernel_is_loaded_loads_others() -> None:
    with CompiledKernel._loading:
        if not (child := os.fork()):
            os._exit(0 if CompiledKernel._loading.acquire(blocking=False) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_threads_that_compute_one_value_keep_the_same_one() -> None:
    together = Barrier(THREADS)

    class Slow:
        @cached_property
        def value(self) -> object:
            together.wait()  # all of them compute it
            return object()

    slow = Slow()
    with ThreadPoolExecutor(THREADS) as pool:
        values = [*pool.map(lambda _: slow.value, range(THREADS))]
    assert len({id(value) for value in values}) == 1
    assert slow.value is values[0]
