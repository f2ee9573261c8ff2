"""Public values in the hands of eight threads: right answers, or a refusal by name.

Threads begin together on a value that nobody has used yet, and take turns every microsecond. Each
makes the same calls in an order of its own; each result is the one that a fresh value gives alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from random import Random
from threading import Barrier
from typing import Any

import pytest

import cerlab
from cerlab.evaluate import thresholds
from proofs_tests.suite import Suite, random_suite

THREADS = 8
TEXTS = (
    "SELECT * WHERE A AS a ; B+ AS b ; C AS c WITHIN 8 EVENTS",
    "SELECT * WHERE A AS a ; (B OR C)+ AS b",
    "SELECT MAX * WHERE A AS a ; B+ AS b WITHIN 6 [t] LIMIT 3",
    "SELECT * WHERE A AS a ; B AS b ; C AS c PARTITION BY [k] WITHIN 9 EVENTS",
    "SELECT * WHERE A AS a ; B AS b FILTER a.v <= b.v",
)
DECIDED = TEXTS[:2]
OTHER = "SELECT * WHERE A ; B ; C WITHIN 9 EVENTS"
NUMBERS = (0, 1, 5, 17, 3, 40)


@pytest.fixture(autouse=True)
def short_turns() -> Iterator[None]:
    """Let threads take turns every microsecond."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def random_events(rng: Random, length: int) -> list[dict[str, Any]]:
    kinds = rng.choices("AABBC", k=length)
    return [
        {"type": kind, "t": n, "k": rng.randrange(2), "v": rng.randrange(9)}
        for n, kind in enumerate(kinds)
    ]


Call = Callable[[Any], Any]
Case = tuple[Callable[[], Any], list[Call]]
"""A function that makes a fresh value, and the calls of it."""


def number(k: int) -> Call:
    def call(matches: Any) -> Any:
        try:
            return matches[k]
        except IndexError as error:
            return str(error)

    return call


def matches_case(rng: Random) -> Case:
    text, events = rng.choice(TEXTS), random_events(rng, 14)
    calls: list[Call] = [
        *(number(k) for k in (*NUMBERS, *(rng.randrange(30) for _ in range(10)))),
        lambda m: m.count(),
        list,
        lambda m: m.to_arrow().to_pylist(),
        lambda m: m.table(["a.v", "b"]).to_pylist(),
        lambda m: m.sample(4, seed=1) if m.count() else [],
    ]
    if "<=" not in text and "LIMIT" not in text:
        calls.append(lambda m: m.aggregate(sum="a.v").to_pylist())
    return lambda: cerlab.parse_query(text).run(events), calls


def query_case(rng: Random) -> Case:
    text, events = rng.choice(TEXTS), random_events(rng, 14)
    calls: list[Call] = [
        lambda q: list(q.run(events)),
        lambda q: q.run(events).count(),
        lambda q: cerlab.evaluate(q, events),
        lambda q: cerlab.evaluate(q, events, evaluator="compiled"),
        lambda q: q.open().push(events),
        lambda q: q.tabulating(["a.v"]).push(events).to_pylist(),
        lambda q: q.text,
        lambda q: q.first_order.text,
        lambda q: q.machine_kind,
        lambda q: [str(each) for each in q.remarks],
    ]
    if text in DECIDED:
        calls.append(lambda q: cerlab.contained(OTHER, q).holds)
    return lambda: cerlab.parse_query(text), calls


def stream_case(rng: Random) -> Case:
    import pyarrow as pa

    text, events = rng.choice(TEXTS), random_events(rng, 14)
    table = pa.Table.from_pylist(events)
    make = rng.choice(
        (
            lambda: cerlab.Stream(events, time="t", unit="s"),
            lambda: cerlab.Stream.from_events(events),
            lambda: cerlab.Stream.from_arrow(table),
        )
    )
    calls: list[Call] = [
        list,
        len,
        lambda s: s[3],
        lambda s: list(s[4:9]),
        lambda s: list(s.head(5)),
        lambda s: s.to_arrow().to_pylist(),
        lambda s: s.to_pandas().to_dict("list"),
        lambda s: cerlab.evaluate(text, s),
        lambda s: cerlab.evaluate(text, s, evaluator="compiled"),
        lambda s: cerlab.count(text, s),
        lambda s: cerlab.parse_query(text).run(s).table(["a.v"]).to_pylist(),
    ]
    return make, calls


def verdict_case(rng: Random) -> Case:
    left, right = rng.sample([*DECIDED, OTHER], 2)
    calls: list[Call] = [
        lambda v: (v.holds, v.reason),
        lambda v: v.witness and (v.witness.events, v.witness.complex_event, v.witness.side),
        repr,
    ]
    return lambda: cerlab.equivalent(left, right), calls


CASES = {
    "Matches": matches_case,
    "Query": query_case,
    "Stream": stream_case,
    "Verdict": verdict_case,
}


def in_threads(works: list[Callable[[], Any]]) -> list[Any]:
    """Return the results of functions that as many threads begin together."""
    together = Barrier(len(works))

    def begin(work: Callable[[], Any]) -> Any:
        together.wait()
        return work()

    with ThreadPoolExecutor(len(works)) as pool:
        return list(pool.map(begin, works))


@pytest.mark.parametrize("by_engine", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_what_threads_share_answers_as_it_does_alone(
    name: str, by_engine: bool, suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    if by_engine:  # as long streams are: answers are numbered by the batches of the engine
        monkeypatch.setattr(thresholds, "SHORT", 0)
        monkeypatch.setattr(thresholds, "TECS_ORDER", 0)

    def case(rng: Random) -> bool:
        make, calls = CASES[name](rng)
        expected = [call(make()) for call in calls]
        shared = make()

        def work(seed: int) -> Callable[[], bool]:
            order = list(range(len(calls)))
            Random(seed).shuffle(order)

            def run() -> bool:
                for n in order:
                    assert calls[n](shared) == expected[n]
                return True

            return run

        threads = THREADS if suite.deep else THREADS // 2
        return all(in_threads([work(seed) for seed in range(threads)]))

    suite.run(case, deep_count=200)


SESSIONS: dict[str, tuple[Callable[[], Any], Callable[[Any], list[tuple[int, int]]]]] = {
    "answers": (
        lambda: cerlab.parse_query("SELECT * WHERE A AS a").open(),
        lambda answers: [(answer.start, 0) for answer in answers],
    ),
    "rows": (
        lambda: cerlab.parse_query("SELECT * WHERE A AS a").tabulating(["a.v"]),
        lambda table: [(row["start"], row["a.v"]) for row in table.to_pylist()],
    ),
    "totals": (
        lambda: cerlab.parse_query("SELECT * WHERE A AS a").aggregating(sum="a.v", group_by="end"),
        lambda table: [(row["end"], row["sum(a.v)"]) for row in table.to_pylist()],
    ),
}


@pytest.mark.parametrize("kind", SESSIONS)
@random_suite(200)
def test_a_session_takes_one_push_at_a_time_or_refuses(kind: str, rng: Random) -> bool:
    make, places_of = SESSIONS[kind]
    session = make()
    sizes = [[rng.choice((1, 3, 20)) for _ in range(4)] for _ in range(THREADS)]

    def work(thread: int) -> Callable[[], list[list[tuple[int, int]]]]:
        def run() -> list[list[tuple[int, int]]]:
            read = []
            for n, size in enumerate(sizes[thread]):
                value = 10 * thread + n if kind != "answers" else 0
                try:
                    result = session.push([{"type": "A", "v": value}] * size)
                    session.state()
                except cerlab.UsageError as refusal:
                    assert refusal.code == "CER0833"  # noqa: PT017
                    continue
                places = places_of(result)
                assert [each for _, each in places] == [value] * size
                read.append(places)
            return read

        return run

    pushes = [each for read in in_threads([work(n) for n in range(THREADS)]) for each in read]
    for places in pushes:
        first = places[0][0]
        assert [at for at, _ in places] == list(range(first, first + len(places)))
    taken = sorted(at for places in pushes for at, _ in places)
    assert len(set(taken)) == len(taken)
    assert taken[-1] < session.pushed
    assert places_of(session.push([{"type": "A", "v": 0}])) == [(session.pushed - 1, 0)]
    return bool(taken)


@pytest.mark.parametrize("kind", SESSIONS)
def test_a_thread_that_comes_during_a_push_is_refused(kind: str) -> None:
    session = SESSIONS[kind][0]()
    codes = []

    def refused() -> None:
        for use in (lambda: session.push([{"type": "A", "v": 1}]), session.state):
            with pytest.raises(cerlab.UsageError) as caught:
                use()
            codes.append(caught.value.code)

    def events() -> Iterator[dict[str, Any]]:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(refused).result()
        yield {"type": "A", "v": 2}

    assert len(SESSIONS[kind][1](session.push(events()))) == 1
    assert codes == ["CER0833"] * 2
    assert session.pushed == 1
